//! Names in rules that are hardly spelled as they were meant: classes that no rule gives, paths that nothing calls.

use super::ErrorPolicy;
use super::classify::RequestMask;
use crate::classes::{ASYNC_TIMEOUT, POLLING_TIMEOUT};
use crate::document::nearest;

/// Fewest letters of a part of a path that is held against others: shorter ones are near to too many.
const FEWEST_LETTERS: usize = 4;

/// A name in a rule or a policy that is known to nobody.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UnknownName<'a> {
    /// Name of the rule or policy.
    pub within: &'a str,
    /// The name.
    pub name: &'a str,
    /// A known name that is spelled nearly the same.
    pub nearest: Option<&'a str>,
}

impl ErrorPolicy {
    /// The classes that failures can come to have by these rules, or by the engine itself.
    pub(super) fn given_classes(&self) -> impl Iterator<Item = &str> + Clone {
        let direct = self.rules.iter().flat_map(|rule| &rule.classes).map(|one| one.class.as_str());
        let later = self.async_rules.iter().flat_map(|rule| &rule.classes).map(|one| one.class.as_str());
        direct.chain(later).chain([ASYNC_TIMEOUT, POLLING_TIMEOUT])
    }

    /// The classes that policies name outright, and that no rule here gives.
    pub fn unknown_classes(&self) -> impl Iterator<Item = UnknownName<'_>> {
        let policies = self.retries.policies.iter().chain(&self.async_retries.policies);
        let named =
            policies.flat_map(|policy| policy.classes.iter().map(move |class| (&*policy.name, class)));
        named.filter(move |(_, class)| class.is_exact() && !self.gives(class.as_str())).map(
            move |(within, class)| {
                let name = class.as_str();
                UnknownName { within, name, nearest: nearest(name, self.given_classes()) }
            },
        )
    }

    /// The parts of paths in rules that occur in no path that is called, and are spelled nearly as one that does.
    pub fn unknown_paths<'a>(&'a self, called: &'a [String]) -> impl Iterator<Item = UnknownName<'a>> {
        let direct = self.rules.iter().map(|rule| (&*rule.name, &rule.requests));
        let later = self.async_rules.iter().map(|rule| (&*rule.name, &rule.http));
        let masks = direct.chain(later).flat_map(|(name, masks)| masks.iter().map(move |mask| (name, mask)));
        let parts = masks.flat_map(|(name, mask)| parts_of(mask).map(move |part| (name, part)));
        let unknown = parts.filter(move |(_, part)| called.iter().all(|known| known.as_str() != *part));
        unknown.filter_map(move |(within, name)| {
            let nearest = nearest(name, called.iter().map(String::as_str))?;
            Some(UnknownName { within, name, nearest: Some(nearest) })
        })
    }
}

fn parts_of(mask: &RequestMask) -> impl Iterator<Item = &str> {
    let parts = mask.path.as_str().split('/');
    parts.filter(|part| part.len() >= FEWEST_LETTERS && !part.contains('*'))
}
