//! Rounds of the re-reading: which part of a table that grows at its end is read next. Reads nothing
//! itself.
//!
//! A round ends at the highest number that there was when it began. What comes later has news of its
//! own and is read in the next round: however fast it comes, a round has at most as many pages as
//! there were rows at its start, and whatever lies anywhere in the table is read within two whole rounds.
//!
//! A whole round begins at the first number. Under a snapshot that somebody holds, its first page walks over all that
//! is gone (QLT-2): where that takes long, the next rounds begin at the lowest number that the last one found, and whole
//! ones are rare. What came to stand below meanwhile has news of its own, too; if that is lost, a whole round finds it.

use std::time::{Duration, Instant};

use pagurus_domain::id::OrderNo;

/// A first page that takes no longer is read from the first number in each round.
const CHEAP: Duration = Duration::from_millis(50);
/// Distance of other whole rounds, as a multiple of the time of their first pages: one that takes a second, once a minute.
const APART: u32 = 60;

/// Before the first number.
const START: OrderNo = OrderNo(0);

/// Position of a round.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Round {
    /// Number behind which the next page begins.
    pub after: OrderNo,
    /// The last number of this round.
    pub until: OrderNo,
}

/// Memory from round to round.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Rounds {
    /// Number behind which everything lay that the last round found.
    mark: Option<OrderNo>,
    /// End of the first page of the last whole round, and how long that took.
    whole: Option<(Instant, Duration)>,
}

impl Rounds {
    /// Begins a round over what there is now, up to this number.
    pub fn begin(&self, until: OrderNo, now: Instant) -> Round {
        let is_whole = self
            .whole
            .is_none_or(|(at, took)| took <= CHEAP || now.saturating_duration_since(at) >= took * APART);
        let after = self.mark.filter(|_| !is_whole).unwrap_or(START);
        Round { after: after.min(until), until }
    }

    /// Notes that the first page of a round was read, how long that took, and its first number.
    pub fn begun(&mut self, round: Round, first: Option<OrderNo>, now: Instant, took: Duration) {
        self.mark = Some(first.map_or(round.until, |first| OrderNo(first.0 - 1)));
        if round.after == START {
            self.whole = Some((now, took));
        }
    }
}

impl Round {
    /// Returns the round after a page of at most `limit` rows with these numbers; `None` if the round is
    /// over: a page that is not full was the last one.
    pub fn after_page(self, page: &[OrderNo], limit: usize) -> Option<Self> {
        let last = *page.last()?;
        (page.len() >= limit && last < self.until).then_some(Self { after: last, ..self })
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use pagurus_domain::number::saturated;

    use super::*;

    const PAGE: usize = 5;

    /// Reads one page of a round over a table, as the reader does.
    fn turn(round: &mut Option<Round>, table: &BTreeSet<i64>) -> Vec<i64> {
        let until = OrderNo(table.last().copied().unwrap_or(0));
        let now = round.unwrap_or_else(|| Rounds::default().begin(until, Instant::now()));
        let page: Vec<i64> =
            table.range(now.after.0 + 1..).take_while(|no| **no <= now.until.0).take(PAGE).copied().collect();
        let numbers: Vec<OrderNo> = page.iter().map(|no| OrderNo(*no)).collect();
        *round = now.after_page(&numbers, PAGE);
        page
    }

    #[test]
    fn rec_4_an_old_row_is_read_in_bounded_time_whatever_the_rate_of_new_ones() {
        for rate in [0, 1, 3, 5, 20, 1000] {
            let mut table: BTreeSet<i64> = (1_000..1_100).collect();
            let mut round = None;
            let mut next = 2_000;
            // The re-reading has passed the place of the old one when that appears.
            turn(&mut round, &table);
            table.insert(7);
            let rest_of_round = table.len().div_ceil(PAGE);
            let rows_of_next = table.len() + rest_of_round * saturated::<usize>(rate);
            let bound = rest_of_round + rows_of_next.div_ceil(PAGE);
            let found = (1..=bound).find(|_| {
                table.extend(next..next + rate);
                next += rate;
                turn(&mut round, &table).contains(&7)
            });
            assert!(found.is_some(), "not within {bound} pages at {rate} new ones for each");
        }
    }

    #[test]
    fn rec_4_a_short_page_ends_the_round_and_a_full_one_does_not() {
        let begin = |until| Rounds::default().begin(OrderNo(until), Instant::now());
        let round = begin(100);
        let page = |count: i64| (1..=count).map(OrderNo).collect::<Vec<_>>();
        assert_eq!(round.after_page(&page(0), 3), None);
        assert_eq!(round.after_page(&page(2), 3), None);
        assert_eq!(round.after_page(&page(3), 3), Some(Round { after: OrderNo(3), until: OrderNo(100) }));
        assert_eq!(begin(3).after_page(&page(3), 3), None);
    }

    #[test]
    fn qlt_2_rounds_begin_behind_what_is_gone_where_walking_over_it_takes_long_and_whole_ones_are_rare() {
        let begun_at = Instant::now();
        let at = |seconds: u64| begun_at + Duration::from_secs(seconds);
        let (until, slow) = (OrderNo(9000), Duration::from_secs(1));
        let mut rounds = Rounds::default();
        // Cheap ones are always whole.
        for second in 0..5 {
            let round = rounds.begin(until, at(second));
            assert_eq!(round, Round { after: START, until });
            rounds.begun(round, Some(OrderNo(8000)), at(second), CHEAP);
        }
        let round = rounds.begin(until, at(5));
        rounds.begun(round, Some(OrderNo(8000)), at(6), slow);
        let round = rounds.begin(until, at(8));
        assert_eq!(round.after, OrderNo(7999), "what it found last is found again");
        rounds.begun(round, Some(OrderNo(8500)), at(8), Duration::from_millis(1));
        assert_eq!(rounds.begin(until, at(65)).after, OrderNo(8499), "a quick one is no whole one");
        let round = rounds.begin(until, at(66));
        assert_eq!(round.after, START, "what came to stand below is found");
        rounds.begun(round, None, at(67), slow);
        let later = OrderNo(9500);
        assert_eq!(rounds.begin(later, at(68)), Round { after: until, until: later }, "nothing was there");
        // After a restore the numbers may be lower.
        assert_eq!(rounds.begin(OrderNo(10), at(68)).after, OrderNo(10));
    }
}
