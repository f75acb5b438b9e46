//! Faults of the settings of a directory: what no single key of them can tell.

use super::Settings;
use crate::config::builder::SettingsBuilder;
use crate::config::{LdapServer, LdapSettings};

/// A fault: the key that has it, and the message.
type KeyFault = (&'static str, &'static str);

impl SettingsBuilder {
    /// Reports settings by which nobody could log in, or whose passwords would be seen by others.
    pub(super) fn check_ldap(&mut self, settings: &Settings) {
        let ldap = &settings.ldap;
        let Some(url) = ldap.url.as_deref() else { return };
        let sets_start_tls = self.values.found.contains_key("access.ldap.start_tls");
        let of_url = match LdapServer::parse(url) {
            Ok(server) => of_encryption(ldap, &server, sets_start_tls),
            Err(message) => Some(("access.ldap.url", message)),
        };
        let faults = of_url.into_iter().chain(of_account(ldap)).chain(of_people(ldap));
        for (path, message) in faults.chain(of_groups(ldap)).collect::<Vec<_>>() {
            self.values.fault(path, message);
        }
        for (path, text, known) in templates(ldap) {
            if let Some(message) = text.and_then(|text| of_template(text, known, path.ends_with("filter"))) {
                self.values.fault(path, message);
            }
        }
    }
}

fn of_encryption(ldap: &LdapSettings, server: &LdapServer, sets_start_tls: bool) -> Option<KeyFault> {
    let is_plain = !server.is_ldaps && !ldap.start_tls;
    if server.is_ldaps && ldap.start_tls && sets_start_tls {
        let message = "applies only to `ldap://`: `ldaps://` is encrypted from the start";
        return Some(("access.ldap.start_tls", message));
    }
    let message = "passwords would be sent without encryption: use `ldaps://` or StartTLS, or set \
                   `access.ldap.plain_confirmed: true` where nobody can listen";
    let is_open = is_plain && !server.is_loopback() && !ldap.plain_confirmed;
    is_open.then_some(("access.ldap.start_tls", message))
}

/// Exactly one of the two ways to the account of a person.
fn of_account(ldap: &LdapSettings) -> Option<KeyFault> {
    Some(match (&ldap.bind_template, &ldap.bind_name, &ldap.bind_password) {
        (None, None, None) => {
            let message = "needs `access.ldap.bind_template`, or `access.ldap.bind_name` with its password: how \
                           people are found";
            ("access.ldap.url", message)
        }
        (Some(_), Some(_), _) => {
            let message = "cannot be combined with `access.ldap.bind_template`";
            ("access.ldap.bind_name", message)
        }
        (_, Some(_), None) => ("access.ldap.bind_name", "needs `access.ldap.bind_password`"),
        (_, None, Some(_)) => ("access.ldap.bind_password", "needs `access.ldap.bind_name`"),
        _ => return None,
    })
}

/// Base and filter of the search for people, which a template needs that gives no distinguished name.
fn of_people(ldap: &LdapSettings) -> Option<KeyFault> {
    let is_name = ldap.bind_template.as_deref().is_some_and(|template| !template.contains('='));
    Some(match (&ldap.people_base, &ldap.people_filter) {
        (Some(_), None) => ("access.ldap.people.base", "needs `access.ldap.people.filter`"),
        (None, Some(_)) => ("access.ldap.people.filter", "needs `access.ldap.people.base`"),
        (None, None) if ldap.bind_name.is_some() => {
            ("access.ldap.bind_name", "needs `access.ldap.people.base` and `access.ldap.people.filter`")
        }
        (None, None) if is_name => {
            let message = "gives no distinguished name: `access.ldap.people.base` and `access.ldap.people.filter` \
                           are needed besides, to find the entry of the person";
            ("access.ldap.bind_template", message)
        }
        _ => return None,
    })
}

fn of_groups(ldap: &LdapSettings) -> Option<KeyFault> {
    Some(match (&ldap.groups_base, &ldap.groups_filter) {
        (Some(_), None) => ("access.ldap.groups.base", "needs `access.ldap.groups.filter`"),
        (None, Some(_)) => ("access.ldap.groups.filter", "needs `access.ldap.groups.base`"),
        (None, None) if ldap.groups_attribute.is_none() => {
            let message = "needs `access.ldap.groups.attribute`, or `access.ldap.groups.base` and \
                           `access.ldap.groups.filter`: nobody would have a group";
            ("access.ldap.url", message)
        }
        _ => return None,
    })
}

/// Texts with placeholders: the key, the text, and the placeholders of which it needs one.
fn templates(ldap: &LdapSettings) -> [(&'static str, Option<&str>, &'static [&'static str]); 3] {
    [
        ("access.ldap.bind_template", ldap.bind_template.as_deref(), &["name"]),
        ("access.ldap.people.filter", ldap.people_filter.as_deref(), &["name"]),
        ("access.ldap.groups.filter", ldap.groups_filter.as_deref(), &["dn", "name"]),
    ]
}

fn of_template(text: &str, known: &[&str], is_filter: bool) -> Option<String> {
    let named = || text.split('{').skip(1).map(|rest| rest.split_once('}').map(|(name, _)| name));
    let listed = known.iter().map(|name| format!("`{{{name}}}`")).collect::<Vec<_>>().join(" or ");
    if named().any(|name| name.is_none_or(|name| !known.contains(&name))) {
        return Some(format!("has braces around something other than {listed}"));
    }
    if named().next().is_none() {
        return Some(format!("has no {listed}: it would be the same for everybody"));
    }
    if is_filter && !is_balanced(text) {
        return Some("is not a filter: write it in balanced parentheses, such as `(uid={name})`".into());
    }
    None
}

/// True if the text is one pair of parentheses, with pairs in it.
fn is_balanced(filter: &str) -> bool {
    let mut depth = 0_usize;
    for (at, sign) in filter.char_indices() {
        match sign {
            '(' => depth += 1,
            ')' if depth == 0 => return false,
            ')' => depth -= 1,
            _ => {}
        }
        if depth == 0 && at + sign.len_utf8() < filter.len() {
            return false;
        }
    }
    depth == 0 && filter.starts_with('(')
}
