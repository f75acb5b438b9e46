//! Where a look at a list that is ordered by time may begin. Under a snapshot that somebody holds, such as a backup, rows
//! that were deleted stay in the index: each look from its very start would walk over all of them again (QLT-2).

use std::collections::BTreeMap;

use jiff::{SignedDuration, Timestamp};

/// Rows may be committed this much later than their own time, by a clock that is this much behind.
const MARGIN: SignedDuration = SignedDuration::from_secs(2);
/// Interval of looks from the very start, if they are cheap.
const WHOLE_EVERY: SignedDuration = SignedDuration::from_secs(1);
/// Looks from the very start that are not cheap take at most one part in this many of the time.
const SHARE_OF_TIME: i32 = 20;
/// Time up to which a look by number always goes from the very start.
const CHEAP: SignedDuration = SignedDuration::from_millis(50);
/// Other looks by number from the very start are this many times as far apart as they take.
const APART: i32 = 60;

/// The time below which nothing was found lately. Whatever was put below it later is found by the next look from the very
/// start, or at once where somebody tells of it ([`LowWater::lower`]).
#[derive(Clone, Copy, Debug, Default)]
pub struct LowWater {
    mark: Option<Timestamp>,
    /// End of the last look from the very start, and how long it took.
    whole: Option<(Timestamp, SignedDuration)>,
    /// Looks from the very start are this far apart at least; none for [`WHOLE_EVERY`].
    apart: Option<SignedDuration>,
}

/// Bounds of a look.
#[derive(Clone, Copy, Debug)]
pub struct Look {
    /// The least time that is looked for; none for all.
    pub from: Option<Timestamp>,
    begun: Timestamp,
}

/// True if it is time for another look from the very start; they are this far apart at least.
fn is_time_for_whole(
    whole: Option<(Timestamp, SignedDuration)>,
    now: Timestamp,
    apart: SignedDuration,
) -> bool {
    whole.is_none_or(|(at, took)| {
        let elapsed = now.duration_since(at);
        // A clock that was set back says nothing.
        elapsed.is_negative() || elapsed >= apart.max(took.saturating_mul(SHARE_OF_TIME))
    })
}

impl LowWater {
    /// Looks are seldom, and so are those from the very start: they are this far apart at least.
    #[must_use]
    pub fn seldom(apart: SignedDuration) -> Self {
        Self { apart: Some(apart), ..Self::default() }
    }

    /// Begins a look.
    #[must_use]
    pub fn begin(&self, now: Timestamp) -> Look {
        let is_whole = is_time_for_whole(self.whole, now, self.apart.unwrap_or(WHOLE_EVERY));
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

/// The same for a list that is ordered by number, of which the first few are looked at. What comes to stand below the mark
/// is found by the next look from the very start.
#[derive(Clone, Copy, Debug, Default)]
pub struct LowNumber {
    mark: Option<i64>,
    whole: Option<(Timestamp, SignedDuration)>,
}

/// Bounds of a look by number.
#[derive(Clone, Copy, Debug)]
pub struct NumberLook {
    /// Number behind which it begins.
    pub after: i64,
    begun: Timestamp,
}

impl LowNumber {
    /// Begins a look.
    #[must_use]
    pub fn begin(&self, now: Timestamp) -> NumberLook {
        let is_cheap = self.whole.is_none_or(|(_, took)| took <= CHEAP);
        let is_whole = is_cheap
            || self.whole.is_none_or(|(at, took)| {
                let elapsed = now.duration_since(at);
                elapsed.is_negative() || elapsed >= took.saturating_mul(APART)
            });
        NumberLook { after: self.mark.filter(|_| !is_whole).unwrap_or(0), begun: now }
    }

    /// The look is over: nothing with a number below `least` is left; none where that is not known.
    pub fn end(&mut self, look: NumberLook, now: Timestamp, least: Option<i64>) {
        self.mark = least.map(|least| least - 1).or(self.mark);
        if look.after == 0 {
            self.whole = Some((now, now.duration_since(look.begun)));
        }
    }
}

/// The same for a list that is ordered by a name and then by time: a mark for each name. A whole look finds the names,
/// too, so that a new name may wait for one; they follow each other as soon as they take no more than their part of the time.
#[derive(Clone, Debug, Default)]
pub struct LowWaterByName {
    marks: BTreeMap<String, Option<Timestamp>>,
    whole: Option<(Timestamp, SignedDuration)>,
    /// True if the present look is at the names that are known.
    is_partial: bool,
}

impl LowWaterByName {
    /// Begins a look: true if all names are to be looked for.
    pub fn begin(&mut self, now: Timestamp) -> bool {
        self.is_partial = !is_time_for_whole(self.whole, now, SignedDuration::ZERO);
        !self.is_partial
    }

    /// Time after which names may be looked for, where the last look was at those that were known: there may be others.
    #[must_use]
    pub fn rest(&self, now: Timestamp) -> Option<SignedDuration> {
        let (at, took) = self.whole.filter(|_| self.is_partial)?;
        Some((took.saturating_mul(SHARE_OF_TIME) - now.duration_since(at)).max(SignedDuration::ZERO))
    }

    /// All names were looked for; each of them is looked at from its very start next.
    pub fn found_names(&mut self, names: Vec<String>) {
        self.marks = names.into_iter().map(|name| (name, None)).collect();
    }

    /// A whole look, at the names and at each of them, went from this time to that.
    pub fn end_whole(&mut self, begun: Timestamp, now: Timestamp) {
        self.whole = Some((now, now.duration_since(begun)));
    }

    /// The names, and the least time that is looked for of each; none for all.
    pub fn names(&self) -> impl Iterator<Item = (&str, Option<Timestamp>)> {
        self.marks.iter().map(|(name, mark)| (name.as_str(), *mark))
    }

    /// The mark of a name.
    #[must_use]
    pub fn mark(&self, name: &str) -> Option<Timestamp> {
        self.marks.get(name).copied().flatten()
    }

    /// Notes that nothing of this name with a time before `least` is left.
    pub fn raise(&mut self, name: &str, least: Timestamp) {
        if let Some(mark) = self.marks.get_mut(name) {
            *mark = least.checked_sub(MARGIN).ok();
        }
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
    fn qlt_2_looks_from_the_very_start_take_a_twentieth_of_the_time() {
        let begin = at("2026-01-01T00:00:00Z");
        let mut low = LowWater::default();
        let (mut now, mut whole) = (begin, SignedDuration::ZERO);
        // A look from the start takes half a second, any other one a millisecond.
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

    #[test]
    fn qlt_2_seldom_looks_go_from_the_very_start_more_seldom_still() {
        let now = at("2026-01-01T00:00:20Z");
        let mut low = LowWater::seldom(SignedDuration::from_secs(60));
        let look = low.begin(now);
        low.end(look, now, now);
        assert!(low.begin(now + SignedDuration::from_secs(10)).from.is_some());
        assert_eq!(low.begin(now + SignedDuration::from_secs(60)).from, None);
    }

    #[test]
    fn qlt_2_a_look_by_number_begins_at_the_first_one_where_walking_to_it_takes_long() {
        let begun = at("2026-01-01T00:00:00Z");
        let after = |seconds: i64| begun + SignedDuration::from_secs(seconds);
        let mut low = LowNumber::default();
        let look = low.begin(begun);
        low.end(look, begun + SignedDuration::from_millis(10), Some(8000));
        let look = low.begin(after(1));
        assert_eq!(look.after, 0, "it is cheap");
        low.end(look, after(2), Some(8000));
        let look = low.begin(after(12));
        assert_eq!(look.after, 7999, "what it found last is found again");
        low.end(look, after(12), None);
        assert_eq!(low.begin(after(61)).after, 7999, "nothing is known of what is left");
        assert_eq!(low.begin(after(62)).after, 0, "it took a second, so once a minute");
        assert_eq!(low.begin(begun).after, 0, "the clock was set back");
    }

    #[test]
    fn qlt_2_each_name_has_a_mark_of_its_own_until_all_names_are_looked_for_again() {
        let now = at("2026-01-01T00:00:20Z");
        let mut low = LowWaterByName::default();
        assert!(low.begin(now), "no name is known yet");
        let ended = now + SignedDuration::from_millis(100);
        low.found_names(vec!["b".to_owned(), "a".to_owned()]);
        low.end_whole(now, ended);
        assert_eq!(low.names().collect::<Vec<_>>(), [("a", None), ("b", None)], "from the very start");
        low.raise("a", at("2026-01-01T00:00:10Z"));
        low.raise("gone", at("2026-01-01T00:00:10Z"));
        let mark = at("2026-01-01T00:00:08Z");
        assert_eq!(low.names().collect::<Vec<_>>(), [("a", Some(mark)), ("b", None)]);
        assert_eq!((low.mark("a"), low.mark("b"), low.mark("gone")), (Some(mark), None, None));
        assert_eq!(low.rest(ended), None, "all names were looked for");
        assert!(!low.begin(ended + SignedDuration::from_millis(1900)), "it took 100 ms");
        let rest = low.rest(ended + SignedDuration::from_millis(1900));
        assert_eq!(rest, Some(SignedDuration::from_millis(100)), "a new name waits no longer");
        let later = ended + SignedDuration::from_secs(2);
        assert_eq!(low.rest(later), Some(SignedDuration::ZERO));
        assert!(low.begin(later) && low.begin(now - SignedDuration::from_hours(1)));
        low.found_names(vec!["a".to_owned()]);
        low.end_whole(later, later);
        assert_eq!(low.names().collect::<Vec<_>>(), [("a", None)]);
        assert!(low.begin(later), "one that costs nothing is made each time");
    }
}
