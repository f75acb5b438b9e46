//! Counts of open requests, that news moves and counted rows correct.

/// A number that news moves and counted rows correct.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Tally {
    /// Below zero for a moment where an answer is heard of before its request.
    count: i64,
    /// The number when the rows began to be counted.
    marked: i64,
    /// Difference that the last count showed and that was not corrected.
    doubt: i64,
}

impl Tally {
    /// The number.
    pub(super) fn value(self) -> u32 {
        u32::try_from(self.count.max(0)).unwrap_or(u32::MAX)
    }

    /// Takes what belongs to another away.
    pub(super) const fn subtract(&mut self, other: Self) {
        self.add(-other.count);
    }

    /// Moves it by what news says.
    pub(super) const fn add(&mut self, by: i64) {
        self.count = self.count.saturating_add(by);
    }

    /// The rows begin to be counted now.
    pub(super) const fn mark(&mut self) {
        self.marked = self.count;
    }

    /// Corrects by the rows counted since the mark what two counts agree on, or all of it. Returns the correction.
    pub(super) fn correct(&mut self, rows: u32, is_first: bool) -> i64 {
        let difference = i64::from(rows).saturating_sub(self.marked);
        let correction = match (is_first, difference.signum() == self.doubt.signum()) {
            (true, _) => difference,
            (false, true) => difference.signum() * difference.abs().min(self.doubt.abs()),
            (false, false) => 0,
        };
        self.doubt = difference - correction;
        self.add(correction);
        correction
    }
}

/// Time in which a system answers requests, beside the time in which a limit can react.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Promptness {
    /// No answer yet, and no wait longer than that.
    #[default]
    Unknown,
    /// Half of the answers within that time.
    Prompt,
    /// Slower: people or partners answer.
    Late,
}

/// Open requests of a flow at a system.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct OpenTally {
    /// All of them.
    pub(super) all: Tally,
    /// Requests that were sent within the time in which a limit can react.
    pub(super) recent: Tally,
}

#[cfg(test)]
mod tests {
    use super::Tally;

    #[test]
    fn inv_36_news_under_way_is_no_error_and_what_two_counts_agree_on_is_one() {
        let mut tally = Tally::default();
        tally.mark();
        assert_eq!(tally.correct(7, true), 7, "a new dispatcher goes by the rows");
        // One was sent and is in the rows; its news is still under way.
        tally.mark();
        assert_eq!(tally.correct(8, false), 0);
        tally.add(1);
        tally.mark();
        assert_eq!((tally.correct(8, false), tally.value()), (0, 8));
        // Five waits were ended by somebody who said nothing, and three more are sent meanwhile.
        for expected in [0, -5] {
            tally.mark();
            tally.add(3);
            assert_eq!(tally.correct(tally.marked as u32 - 5, false), expected);
        }
        assert_eq!(tally.value(), 9);
        // An answer is heard of before its request.
        let mut tally = Tally::default();
        tally.add(-1);
        assert_eq!(tally.value(), 0);
        tally.add(1);
        assert_eq!(tally.value(), 0);
    }
}
