//! Names and passwords as people type them, and templates that are filled with names.

use ldap3::{dn_escape, ldap_escape};

use crate::person::LoginFailure;

/// Longest name, in characters: no directory in use has longer ones, and each is sent and logged.
const MAX_NAME: usize = 256;

/// Returns the name without the spaces around it.
///
/// # Errors
/// The name is empty, too long, or has characters that cannot be seen. Directories leave many of those out when they compare, so that one
/// person would have many names.
pub(super) fn usable_name(name: &str) -> Result<&str, LoginFailure> {
    let name = name.trim();
    let fault = if name.is_empty() {
        "the name is empty"
    } else if name.chars().count() > MAX_NAME {
        "the name is longer than 256 characters"
    } else if name.chars().any(is_unseen) {
        "the name has invisible characters"
    } else {
        return Ok(name);
    };
    Err(LoginFailure::Refused(fault.to_owned()))
}

/// Refuses a password by which a bind would succeed without proving anything: many directories take a bind with a name and
/// no password for an anonymous one (RFC 4513, 5.1.2).
///
/// # Errors
/// The password is empty or blank.
pub(super) fn require_password(password: &str) -> Result<(), LoginFailure> {
    if password.chars().all(|sign| sign.is_whitespace() || sign.is_control()) {
        return Err(LoginFailure::Refused("the password is empty".to_owned()));
    }
    Ok(())
}

/// Control characters, and the marks of format that RFC 4518 (2.2) maps to nothing.
fn is_unseen(sign: char) -> bool {
    let is_mark = matches!(
        sign,
        '\u{ad}' | '\u{34f}' | '\u{1806}' | '\u{180b}'..='\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{fff9}'..='\u{fffc}'
    );
    sign.is_control() || is_mark
}

/// Name of a bind, from its template: escaped by RFC 4514 where the template gives a distinguished name.
pub(super) fn bind_name(template: &str, name: &str) -> String {
    if template.contains('=') { filled(template, &dn_escape(name), "") } else { filled(template, name, "") }
}

/// Filter with the name and the distinguished name of a person, escaped by RFC 4515.
pub(super) fn filter(template: &str, name: &str, dn: &str) -> String {
    filled(template, &ldap_escape(name), &ldap_escape(dn))
}

/// The template with these values. What a value holds is never taken for a placeholder.
fn filled(template: &str, name: &str, dn: &str) -> String {
    let (mut filled, mut rest) = (String::with_capacity(template.len() + name.len() + dn.len()), template);
    while let Some((before, behind)) = rest.split_once('{') {
        filled.push_str(before);
        let value = [("name}", name), ("dn}", dn)];
        let value = value.iter().find_map(|(mark, value)| Some((behind.strip_prefix(mark)?, *value)));
        let (behind, value) = value.unwrap_or((behind, "{"));
        filled.push_str(value);
        rest = behind;
    }
    filled + rest
}

#[cfg(test)]
mod tests {
    use ldap3::asn1::{PL, StructureTag, Tag};
    use ldap3::parse_filter;
    use proptest::prelude::*;

    use super::super::dn::{attributes, canonical_dn};
    use super::*;

    /// The texts of a filter, as they are sent.
    fn sent(filter: &str) -> Vec<String> {
        fn texts(tag: &StructureTag, into: &mut Vec<String>) {
            match &tag.payload {
                PL::P(bytes) => into.push(String::from_utf8_lossy(bytes).into_owned()),
                PL::C(inner) => inner.iter().for_each(|tag| texts(tag, into)),
            }
        }
        use ldap3::asn1::ASNTag as _;
        let tag: Tag = parse_filter(filter).unwrap_or_else(|()| panic!("no filter: {filter}"));
        let mut found = Vec::new();
        texts(&tag.into_structure(), &mut found);
        found
    }

    #[test]
    fn qlt_9_nothing_is_sent_for_an_empty_password() {
        for password in ["", " ", "\t\n", "\u{a0}", "\0", "\0\0 "] {
            assert!(matches!(require_password(password), Err(LoginFailure::Refused(_))), "{password:?}");
        }
        for password in ["a", " a ", "*", "0"] {
            assert_eq!(require_password(password), Ok(()));
        }
    }

    #[test]
    fn qlt_9_names_that_are_nobodys_are_refused() {
        let long = "é".repeat(257);
        for name in ["", "  ", "a\0", "a\nb", "anna\u{200b}", "a\u{202e}b", "\u{7f}", &long] {
            assert!(matches!(usable_name(name), Err(LoginFailure::Refused(_))), "{name:?}");
        }
        assert_eq!(usable_name(&"é".repeat(256)), Ok("é".repeat(256).as_str()));
        assert_eq!(usable_name(" anna "), Ok("anna"));
        assert_eq!(usable_name("*)(uid=*"), Ok("*)(uid=*"));
    }

    #[test]
    fn qlt_9_templates_are_filled_once_and_escaped_by_what_they_are() {
        assert_eq!(bind_name("uid={name},ou=p", "a,ou=x+y=\"#"), "uid=a\\2cou\\3dx\\2by\\3d\\22#,ou=p");
        assert_eq!(bind_name("{name}@corp.example", "an{name}na"), "an{name}na@corp.example");
        assert_eq!(
            filter("(|(m={dn})(u={name}))", "{dn}*", "cn=a\\2cb(c)"),
            "(|(m=cn=a\\5c2cb\\28c\\29)(u={dn}\\2a))"
        );
        assert_eq!(filter("({x}{name}", "a", ""), "({x}a");
    }

    proptest! {
        #[test]
        fn qlt_9_no_name_changes_the_filter_that_it_stands_in(name in "\\PC{0,30}|[()*\\\\{}a=&|!\0]{0,30}", dn in "[()*\\\\{}nd,=]{0,30}") {
            let made = filter("(&(uid={name})(member:1.2.840.113556.1.4.1941:={dn}))", &name, &dn);
            let sent = sent(&made);
            prop_assert_eq!(sent, ["uid", name.as_str(), "1.2.840.113556.1.4.1941", "member", dn.as_str()].map(str::to_owned));
        }

        #[test]
        fn qlt_9_no_name_changes_the_place_that_a_template_names(name in "\\PC{1,30}|[,+=\"\\\\<>;# {}a\0]{1,30}") {
            let made = bind_name("uid={name},ou=people,dc=x", &name);
            let parts = attributes(&made);
            prop_assert_eq!(parts.len(), 3, "{}", made);
            prop_assert_eq!(&parts[0], &("uid".to_owned(), name.clone()));
            prop_assert!(canonical_dn(&made).ends_with(",ou=people,dc=x"));
        }
    }
}
