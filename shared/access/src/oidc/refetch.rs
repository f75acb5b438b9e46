//! When something of the provider is fetched again. Never reads a clock: `now` is an argument.

use std::time::{Duration, Instant};

/// Age at which the discovery document and the keys are fetched again, so that keys that the provider withdrew stop counting.
const AGE: Duration = Duration::from_secs(3600);
/// Time between two attempts for the same reason. Anybody can send tokens that name unknown keys, and must not make us flood
/// the provider.
const PAUSE: Duration = Duration::from_secs(30);

/// Times of the attempts to fetch document and keys.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Refetch {
    fetched_at: Option<Instant>,
    tried_at: Option<Instant>,
    tried_for_key_at: Option<Instant>,
}

impl Refetch {
    /// True if document and keys are to be fetched now; takes the attempt.
    pub(super) fn takes_turn(&mut self, now: Instant) -> bool {
        let is_old = self.fetched_at.is_none_or(|at| now.duration_since(at) >= AGE);
        // Without any, there is nothing to go on with meanwhile.
        let may_try = self.fetched_at.is_none() || is_over(self.tried_at, now);
        if is_old && may_try {
            self.tried_at = Some(now);
        }
        is_old && may_try
    }

    /// True if the keys may be fetched now because a token names an unknown one; takes the attempt.
    pub(super) fn takes_turn_for_key(&mut self, now: Instant) -> bool {
        let may_try = is_over(self.tried_for_key_at, now);
        if may_try {
            self.tried_for_key_at = Some(now);
        }
        may_try
    }

    /// Notes that document and keys were fetched.
    pub(super) fn fetched(&mut self, now: Instant) {
        self.fetched_at = Some(now);
    }
}

fn is_over(tried_at: Option<Instant>, now: Instant) -> bool {
    tried_at.is_none_or(|at| now.duration_since(at) >= PAUSE)
}
