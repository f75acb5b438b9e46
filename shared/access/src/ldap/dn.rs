//! Distinguished names, and whether two of them name the same entry.

use ldap3::dn_escape;

/// The one form of all distinguished names that differ only in case, in spaces that do not count, and in the way in which
/// characters are escaped (RFC 4514, RFC 4518).
#[must_use]
pub fn canonical_dn(dn: &str) -> String {
    let part = |part: &str| {
        let mut values: Vec<String> = cut(part, &['+']).into_iter().map(canonical_value).collect();
        values.sort();
        values.join("+")
    };
    cut(dn, &[',', ';']).into_iter().map(part).collect::<Vec<_>>().join(",")
}

/// True if both name the same entry.
#[must_use]
pub fn is_same_dn(one: &str, other: &str) -> bool {
    canonical_dn(one) == canonical_dn(other)
}

/// The pieces of a text between these signs, where they are not escaped.
fn cut<'t>(text: &'t str, signs: &[char]) -> Vec<&'t str> {
    let (mut pieces, mut from, mut is_escaped) = (Vec::new(), 0, false);
    for (at, sign) in text.char_indices() {
        if is_escaped {
            is_escaped = false;
        } else if sign == '\\' {
            is_escaped = true;
        } else if signs.contains(&sign) {
            pieces.push(&text[from..at]);
            from = at + sign.len_utf8();
        }
    }
    pieces.push(&text[from..]);
    pieces
}

fn canonical_value(pair: &str) -> String {
    let (name, value) = pair.split_once('=').unwrap_or(("", pair));
    let name = name.trim().to_lowercase();
    let value = value.trim_start_matches(' ');
    // The value in hexadecimal digits of its encoding is no text.
    if value.starts_with('#') {
        return format!("{name}={}", value.trim_end().to_lowercase());
    }
    let Some(value) = plain(value) else { return format!("{name}={}", value.to_lowercase()) };
    let words: Vec<&str> = value.split(' ').filter(|word| !word.is_empty()).collect();
    format!("{name}={}", dn_escape(words.join(" ").to_lowercase()))
}

/// The value without its escapes; `None` if these give no text.
fn plain(value: &str) -> Option<String> {
    let (mut bytes, mut rest) = (Vec::with_capacity(value.len()), value.as_bytes());
    loop {
        rest = match rest {
            [] => return String::from_utf8(bytes).ok(),
            [b'\\', high, low, behind @ ..] if high.is_ascii_hexdigit() && low.is_ascii_hexdigit() => {
                bytes.push((digit(*high) << 4) | digit(*low));
                behind
            }
            [b'\\', sign, behind @ ..] | [sign, behind @ ..] => {
                bytes.push(*sign);
                behind
            }
        };
    }
}

/// Value of a hexadecimal digit.
const fn digit(digit: u8) -> u8 {
    if digit.is_ascii_digit() { digit - b'0' } else { digit.to_ascii_lowercase() - b'a' + 10 }
}

/// Types and values of a name, without escapes.
#[cfg(test)]
pub(super) fn attributes(dn: &str) -> Vec<(String, String)> {
    let pairs = cut(dn, &[',', ';']).into_iter().flat_map(|part| cut(part, &['+']));
    let pair = |pair: &str| {
        let (name, value) = pair.split_once('=').unwrap_or_default();
        (name.to_owned(), plain(value).unwrap_or_default())
    };
    pairs.map(pair).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn ui_1_names_of_entries_are_compared_without_case_and_spaces_that_do_not_count() {
        let same = [
            ("CN=Admins,OU=Groups,DC=corp", "cn=admins, ou=groups ,dc = corp"),
            ("cn=a  b,dc=x", "cn= a b ,dc=x"),
            (r"cn=Smith\, John,dc=x", r"CN=smith\2C john,dc=x"),
            (r"cn=\ a,dc=x", "cn=a,dc=x"),
            ("cn=a+uid=b,dc=x", "UID=B+CN=A,dc=x"),
            (r"cn=J\C3\BCrgen,dc=x", "cn=jürgen;dc=x"),
            ("", " "),
        ];
        for (one, other) in same {
            assert!(is_same_dn(one, other), "{one} {other}: {} {}", canonical_dn(one), canonical_dn(other));
        }
        let different = [
            ("cn=admins,dc=x", "cn=ad mins,dc=x"),
            (r"cn=a\,dc=x", "cn=a,dc=x"),
            (r"cn=a\2cdc=x", "cn=a,dc=x"),
            (r"cn=a\2buid=b", "cn=a+uid=b"),
            (r"cn=\#0401", "cn=#0401"),
            ("cn=admins,dc=x", "cn=admins,dc=x,dc=y"),
            ("cn=admins", "ou=admins"),
            ("admins", "cn=admins"),
            (r"cn=a\5c2cb", r"cn=a\2cb"),
        ];
        for (one, other) in different {
            assert!(!is_same_dn(one, other), "{one} {other}: {}", canonical_dn(one));
        }
    }

    proptest! {
        #[test]
        fn ui_1_the_one_form_of_a_name_is_its_own(dn in "[a-cA-C,+=;#\\\\ 2\"é]{0,24}") {
            let once = canonical_dn(&dn);
            prop_assert_eq!(canonical_dn(&once), once);
        }
    }
}
