//! Memory of the logout tokens that were taken. Never reads a clock: `now` is an argument.

use std::collections::{HashSet, VecDeque};

use jiff::{SignedDuration, Timestamp};

/// Tokens that are remembered at most. Only tokens that the provider signed get here. Beyond it the oldest is forgotten: a logout
/// that counts twice costs a login, one that is refused leaves a session open.
const MOST: usize = 10_000;

/// Identifiers of tokens that still could be repeated.
#[derive(Debug, Default)]
pub(super) struct TakenTokens {
    known: HashSet<String>,
    /// In the order of their ends.
    ends: VecDeque<(Timestamp, String)>,
}

impl TakenTokens {
    /// True if the token was not taken before; takes it. A token that could be repeated for no longer than `lasts` is forgotten then.
    pub(super) fn takes(&mut self, jti: &str, lasts: SignedDuration, now: Timestamp) -> bool {
        while self.ends.front().is_some_and(|(end, _)| *end < now) || self.ends.len() >= MOST {
            if let Some((_, oldest)) = self.ends.pop_front() {
                self.known.remove(&oldest);
            }
        }
        if !self.known.insert(jti.to_owned()) {
            return false;
        }
        self.ends.push_back((now.saturating_add(lasts).unwrap_or(Timestamp::MAX), jti.to_owned()));
        true
    }
}
