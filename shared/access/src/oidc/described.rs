//! People as claims describe them.

use serde_json::{Map, Value};

use super::claims::texts;
use super::flaw::Flaw;
use crate::Person;

/// Names of the claims that describe a person.
#[derive(Clone, Debug)]
pub(super) struct Described {
    pub(super) groups_claim: String,
    pub(super) name_claim: String,
}

impl Described {
    /// True if these claims have the groups.
    pub(super) fn has_groups(&self, claims: &Map<String, Value>) -> bool {
        at(claims, &self.groups_claim).is_some()
    }

    /// The person, by the first of these sets of claims that has what is asked for. Without any groups, there are none.
    pub(super) fn person(
        &self,
        issuer: &str,
        sub: &str,
        sources: &[&Map<String, Value>],
    ) -> Result<Person, Flaw> {
        let groups = sources.iter().find_map(|claims| at(claims, &self.groups_claim));
        let groups = groups.map_or(Some(Vec::new()), texts);
        let groups = groups.ok_or_else(|| Flaw::form(&self.groups_claim, "a list of texts, or one text"))?;
        let name = [self.name_claim.as_str(), "name"].into_iter().find_map(|claim| named(sources, claim));
        let name = name.unwrap_or(sub).to_owned();
        Ok(Person { subject: subject(issuer, sub), name, groups })
    }
}

/// Identity of a person: issuer and subject. An issuer has no `#`, so that those of two issuers are never equal.
pub(super) fn subject(issuer: &str, sub: &str) -> String {
    format!("{issuer}#{sub}")
}

fn named<'a>(sources: &[&'a Map<String, Value>], claim: &str) -> Option<&'a str> {
    let names = sources.iter().filter_map(|claims| at(claims, claim)?.as_str());
    names.map(str::trim).find(|name| !name.is_empty() && !name.contains(char::is_control))
}

/// The value at a path with dots. A claim whose own name has dots, such as `https://id.example/groups`, is found as well.
fn at<'a>(claims: &'a Map<String, Value>, path: &str) -> Option<&'a Value> {
    if let Some(value) = claims.get(path) {
        return Some(value).filter(|value| !value.is_null());
    }
    path.match_indices('.').find_map(|(dot, _)| {
        let inner = claims.get(&path[..dot])?.as_object()?;
        at(inner, &path[dot + 1..])
    })
}
