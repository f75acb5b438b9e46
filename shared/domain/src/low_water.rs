//! Where a look at a list that is ordered by time may begin. Under a snapshot that somebody holds, such as a backup, rows
//! that were deleted stay in the index: each look from its very begin would walk over all of them again (QLT-2).

use jiff::{SignedDuration, Timestamp};

/// Rows may be committed this much later than the time that they bear, by a clock that is this much behind.
const MARGIN: SignedDuration = SignedDuration::from_secs(2);
/// A look from the very begin is made so often, if it is cheap.
const WHOLE_EVERY: SignedDuration = SignedDuration::from_secs(1);
/// If it is not, looks from the very begin take at most one part in so many of the time.
const SHARE_OF_TIME: i32 = 20;

/// The time below which nothing was found lately. Whatever was put below it later is found by the next look from the very
/// begin, or at once where somebody tells of it ([`LowWater::lower`]).
#[derive(Clone, Copy, Debug, Default)]
pub struct LowWater {
    mark: Option<Timestamp>,
    /// End of the last look from the very begin, and how long it took.
    whole: Option<(Timestamp, SignedDuration)>,
}

/// One look.
#[derive(Clone, Copy, Debug)]
pub struct Look {
    /// The least time that is looked for; none for all.
    pub from: Option<Timestamp>,
    begun: Timestamp,
}

impl LowWater {
    /// Begins a look.
    #[must_use]
    pub fn begin(&self, now: Timestamp) -> Look {
        let is_whole = self.whole.is_none_or(|(at, took)| {
            let elapsed = now.duration_since(at);
            // A clock that was set back says nothing.
            elapsed.is_negative() || elapsed >= WHOLE_EVERY.max(took.saturating_mul(SHARE_OF_TIME))
        });
        Look { from: self.mark.filter(|_| !is_whole), begun: now }
    }

    /// The look is over: nothing with a time before `least` is left.
    pub fn end(&mut self, look: Look, now: Timestamp, least: Timestamp) {
        self.mark = least.checked_sub(MARGIN).ok();
        if look.from.is_none() {
            self.whole = Some((now, now.duration_since(look.begun)));
        }
    }

    /// Somebody tells that there is something at this time.
    pub fn lower(&mut self, to: Timestamp) {
        self.mark = self.mark.map(|mark| mark.min(to));
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test may panic")]

    use super::*;

    fn at(text: &str) -> Timestamp {
        text.parse().unwrap()
    }

    #[test]
    fn qlt_2_a_look_begins_where_the_last_one_found_the_first() {
        let now = at("2026-01-01T00:00:20Z");
        let mut low = LowWater::default();
        let look = low.begin(now);
        assert_eq!(look.from, None, "nothing is known yet");
        low.end(look, now, at("2026-01-01T00:00:10Z"));
        let from = |low: &LowWater| low.begin(now + SignedDuration::from_millis(100)).from;
        assert_eq!(from(&low), Some(at("2026-01-01T00:00:08Z")), "what is committed late is seen");
        low.lower(at("2026-01-01T00:00:03Z"));
        assert_eq!(from(&low), Some(at("2026-01-01T00:00:03Z")));
        low.lower(at("2026-01-01T00:00:05Z"));
        assert_eq!(from(&low), Some(at("2026-01-01T00:00:03Z")), "it is never raised so");
        assert_eq!(low.begin(now - SignedDuration::from_hours(1)).from, None, "the clock was set back");
    }

    #[test]
    fn qlt_2_looks_from_the_very_begin_take_a_twentieth_of_the_time() {
        let begin = at("2026-01-01T00:00:00Z");
        let mut low = LowWater::default();
        let (mut now, mut whole) = (begin, SignedDuration::ZERO);
        // A look from the begin takes half a second, any other one a millisecond.
        while now < begin + SignedDuration::from_secs(1000) {
            let look = low.begin(now);
            let took = SignedDuration::from_millis(if look.from.is_none() { 500 } else { 1 });
            whole += if look.from.is_none() { took } else { SignedDuration::ZERO };
            now += took;
            low.end(look, now, begin);
            now += SignedDuration::from_millis(10);
        }
        assert!(whole <= SignedDuration::from_secs(50), "{whole:?}");
        assert!(
            whole >= SignedDuration::from_secs(45),
            "what was put below the mark is found some time: {whole:?}"
        );
    }
}
