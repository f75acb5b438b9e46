//! Rounds of the re-reading: which part of a table that grows at its end is read next. Reads nothing
//! itself.
//!
//! A round ends at the highest number that there was when it began. What comes later has news of its
//! own and is read in the next round: however fast it comes, a round has at most as many pages as
//! there were rows at its begin, and whatever lies anywhere in the table is read within two rounds.

use pagurus_domain::id::OrderNo;

/// Before the first number.
const START: OrderNo = OrderNo(0);

/// Where a round stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Round {
    /// Number behind which the next page begins.
    pub after: OrderNo,
    /// The last number of this round.
    pub until: OrderNo,
}

impl Round {
    /// Begins a round over all there is now, up to this number.
    pub fn begin(until: OrderNo) -> Self {
        Self { after: START, until }
    }

    /// The round after a page of at most `limit` rows, with the numbers that it held; none where the
    /// round is over: a page that is not full was the last one.
    pub fn after_page(self, page: &[OrderNo], limit: usize) -> Option<Self> {
        let last = *page.last()?;
        (page.len() >= limit && last < self.until).then_some(Self { after: last, ..self })
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    const PAGE: usize = 5;

    /// One page of a round over a table, as the reader reads it.
    fn turn(round: &mut Option<Round>, table: &BTreeSet<i64>) -> Vec<i64> {
        let now = round.unwrap_or_else(|| Round::begin(OrderNo(table.last().copied().unwrap_or(0))));
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
            let rows_of_next = table.len() + rest_of_round * usize::try_from(rate).unwrap_or(0);
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
        let round = Round::begin(OrderNo(100));
        let page = |count: i64| (1..=count).map(OrderNo).collect::<Vec<_>>();
        assert_eq!(round.after_page(&page(0), 3), None);
        assert_eq!(round.after_page(&page(2), 3), None);
        assert_eq!(round.after_page(&page(3), 3), Some(Round { after: OrderNo(3), until: OrderNo(100) }));
        assert_eq!(Round::begin(OrderNo(3)).after_page(&page(3), 3), None);
    }
}
