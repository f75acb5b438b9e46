//! Answers of a directory, and what follows from them: the outcome of a login, and the groups of a person.

use std::collections::HashSet;

use ldap3::{LdapResult, SearchEntry};

use super::dn::canonical_dn;
use crate::person::LoginFailure;

/// Groups of a person at most. Active Directory lets nobody log in who is in more than 1 015.
pub(super) const MAX_GROUPS: usize = 1024;

/// Result codes of RFC 4511 that are named here.
mod code {
    pub(super) const SUCCESS: u32 = 0;
    pub(super) const SIZE_LIMIT_EXCEEDED: u32 = 4;
    pub(super) const STRONGER_AUTH_REQUIRED: u32 = 8;
    pub(super) const REFERRAL: u32 = 10;
    pub(super) const CONFIDENTIALITY_REQUIRED: u32 = 13;
    pub(super) const CONSTRAINT_VIOLATION: u32 = 19;
    pub(super) const NO_SUCH_OBJECT: u32 = 32;
    pub(super) const INVALID_DN_SYNTAX: u32 = 34;
    pub(super) const INAPPROPRIATE_AUTHENTICATION: u32 = 48;
    pub(super) const INVALID_CREDENTIALS: u32 = 49;
    pub(super) const INSUFFICIENT_ACCESS_RIGHTS: u32 = 50;
    pub(super) const UNWILLING_TO_PERFORM: u32 = 53;
}

/// Codes by which directories refuse a person: the name or the password is wrong, or the account is locked.
const OF_PERSON: [u32; 7] = [
    code::CONSTRAINT_VIOLATION,
    code::NO_SUCH_OBJECT,
    code::INVALID_DN_SYNTAX,
    code::INAPPROPRIATE_AUTHENTICATION,
    code::INVALID_CREDENTIALS,
    code::INSUFFICIENT_ACCESS_RIGHTS,
    code::UNWILLING_TO_PERFORM,
];

/// Outcome of the bind of a person.
///
/// # Errors
/// The directory refuses the person, or cannot answer.
pub(super) fn of_person(answer: &LdapResult) -> Result<(), LoginFailure> {
    match answer.rc {
        code::SUCCESS => Ok(()),
        rc if OF_PERSON.contains(&rc) => {
            Err(LoginFailure::Refused(format!("the directory refuses the person: {}", described(answer))))
        }
        _ => Err(LoginFailure::Unavailable(format!("the bind of the person failed: {}", described(answer)))),
    }
}

/// Outcome of the bind of the account that searches, of which no person is to blame.
///
/// # Errors
/// The directory refuses the account, or cannot answer.
pub(super) fn of_account(answer: &LdapResult) -> Result<(), LoginFailure> {
    let failure = || format!("the bind of `access.ldap.bind_name` failed: {}", described(answer));
    if answer.rc == code::SUCCESS { Ok(()) } else { Err(LoginFailure::Unavailable(failure())) }
}

/// The one entry that a search for a person found.
///
/// # Errors
/// None was found, or several, or the directory cannot answer.
pub(super) fn only_entry(
    (mut entries, answer): (Vec<SearchEntry>, LdapResult),
) -> Result<SearchEntry, LoginFailure> {
    let refused = |message: &str| Err(LoginFailure::Refused(message.to_owned()));
    match (answer.rc, entries.len(), entries.pop()) {
        (code::SUCCESS | code::SIZE_LIMIT_EXCEEDED, 2.., _) => refused("several entries match the name"),
        (code::SUCCESS, _, None) => refused("no entry matches the name"),
        (code::SUCCESS, _, Some(entry)) if entry.dn.trim().is_empty() => {
            refused("the entry of the person has no distinguished name")
        }
        (code::SUCCESS, _, Some(entry)) => Ok(entry),
        _ => {
            let message = format!("the search for the person failed: {}", described(&answer));
            Err(LoginFailure::Unavailable(message))
        }
    }
}

/// The groups that a search found.
///
/// # Errors
/// There are too many, or the directory cannot answer.
pub(super) fn found_groups(
    (entries, answer): (Vec<SearchEntry>, LdapResult),
) -> Result<Vec<String>, LoginFailure> {
    if entries.len() > MAX_GROUPS || answer.rc == code::SIZE_LIMIT_EXCEEDED {
        return Err(too_many_groups());
    }
    if answer.rc != code::SUCCESS {
        let message = format!("the search for groups failed: {}", described(&answer));
        return Err(LoginFailure::Unavailable(message));
    }
    Ok(entries.into_iter().map(|entry| entry.dn).collect())
}

/// The groups that an attribute of a person names; none if the person does not have it.
///
/// # Errors
/// There are too many, or one is no text.
pub(super) fn named_groups(entry: &SearchEntry, attribute: &str) -> Result<Vec<String>, LoginFailure> {
    let is_it = |name: &String| name.eq_ignore_ascii_case(attribute);
    // Active Directory answers with a part of the values, and says in the name which: `memberOf;range=0-1499`.
    let is_part = |name: &String| {
        name.split_once(';').is_some_and(|(name, range)| {
            name.eq_ignore_ascii_case(attribute) && range.to_ascii_lowercase().starts_with("range=")
        })
    };
    if entry.attrs.keys().any(is_part) {
        return Err(too_many_groups());
    }
    if entry.bin_attrs.keys().any(is_it) {
        let message = format!("the attribute `{attribute}` has a value that is not text");
        return Err(LoginFailure::Unavailable(message));
    }
    let groups = entry.attrs.iter().find(|(name, _)| is_it(name)).map(|(_, values)| values.clone());
    Ok(groups.unwrap_or_default())
}

/// All groups, each once, in the order in which they were found.
///
/// # Errors
/// There are too many.
pub(super) fn all_groups(groups: Vec<String>) -> Result<Vec<String>, LoginFailure> {
    let mut known = HashSet::new();
    let once: Vec<String> = groups.into_iter().filter(|group| known.insert(canonical_dn(group))).collect();
    if once.len() > MAX_GROUPS { Err(too_many_groups()) } else { Ok(once) }
}

/// The first value of an attribute that has a text.
pub(super) fn text_of(entry: &SearchEntry, attribute: &str) -> Option<String> {
    let values = entry.attrs.iter().find(|(name, _)| name.eq_ignore_ascii_case(attribute))?.1;
    values.iter().find(|value| !value.trim().is_empty()).cloned()
}

/// Roles follow from groups: a part of them could give too few, and another part at each login.
fn too_many_groups() -> LoginFailure {
    let message = format!(
        "the directory gives more groups than it shows at once, or more than {MAX_GROUPS}: narrow \
         `access.ldap.groups.filter`"
    );
    LoginFailure::Unavailable(message)
}

/// The code of an answer, in words where they help, and what the directory says.
pub(super) fn described(answer: &LdapResult) -> String {
    let words = match answer.rc {
        code::STRONGER_AUTH_REQUIRED | code::CONFIDENTIALITY_REQUIRED => "it requires TLS",
        code::REFERRAL => "it refers to another directory, and referrals are not followed",
        code::NO_SUCH_OBJECT => "no such entry",
        code::INVALID_DN_SYNTAX => "it is not a distinguished name",
        code::INVALID_CREDENTIALS => "wrong name or password",
        code::INSUFFICIENT_ACCESS_RIGHTS => "no right to do this",
        _ => "",
    };
    let said: String =
        answer.text.chars().map(|sign| if sign.is_control() { ' ' } else { sign }).take(200).collect();
    let parts = [words.to_owned(), format!("result code {}", answer.rc), said.trim().to_owned()];
    parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests;
