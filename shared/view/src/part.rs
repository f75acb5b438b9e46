//! Pages of a part of an order: its events, steps, lines, requests and the like.
//!
//! Histories only grow, so that a page is the same whenever it is read. One that comes from a history begins where the page before
//! has ended, in the middle of a row if need be, and looks at a bounded number of rows.

use std::ops::ControlFlow;
use std::str::FromStr;

use pagurus_domain::id::{Life, OrderNo};
use pagurus_store::hot::history::{self, HistoryEvent};
use pagurus_store::{Client, Error};
use pagurus_wire::order::Page;
use pagurus_wire::problem::Problem;
use schemars::JsonSchema;
use serde::Deserialize;

use crate::query::{cursor, limit};

/// Items of a page, where nothing else is asked for, and at most.
pub(crate) const USUAL_LIMIT: usize = 1000;
pub(crate) const MAX_LIMIT: usize = 10_000;
/// Rows of a history that are read at a time.
pub(crate) const ROWS: i64 = 500;
/// Rows of a history that one page looks at. Where they hold few items, a page is short.
const MOST_ROWS: usize = 10_000;

/// Query of a part of an order.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
pub struct PartQuery {
    /// Items of the page; default: 1000.
    #[schemars(with = "Option<u32>", range(min = 1, max = 10_000))]
    limit: Option<String>,
    /// Place that the header `Link` of the page before names.
    cursor: Option<String>,
}

impl PartQuery {
    /// A page of the usual size from this place on.
    pub(crate) const fn behind(cursor: String) -> Self {
        Self { limit: None, cursor: Some(cursor) }
    }

    fn limit(&self) -> Result<usize, Problem> {
        limit(self.limit.as_deref(), USUAL_LIMIT, MAX_LIMIT)
    }

    /// The page of a part that comes from a history.
    pub(crate) fn collector<T>(&self) -> Result<PageCollector<T>, Problem> {
        Ok(PageCollector::of(cursor(self.cursor.as_deref(), PartCursor::default())?, 0, self.limit()?))
    }

    /// Number of items before the page and on it, for a part whose items are counted.
    pub(crate) fn counted(&self) -> Result<(usize, usize), Problem> {
        let before: u32 = cursor(self.cursor.as_deref(), 0)?;
        Ok((usize::try_from(before).unwrap_or(usize::MAX), self.limit()?))
    }

    /// The number that the items of the page are above, and how many they are, for a part whose items are numbered by the
    /// database.
    pub(crate) fn above(&self) -> Result<(i64, usize), Problem> {
        Ok((cursor(self.cursor.as_deref(), 0)?, self.limit()?))
    }
}

/// Place in a part that comes from a history.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct PartCursor {
    /// Number of the last row all of whose items stand before the place.
    pub after: i32,
    /// Items of the row behind it that stand before the place.
    taken: usize,
    /// Items that stand before the place, of all rows.
    number: usize,
    /// The stage that the row of the place belongs to, by its life and its hand-out, where that is of interest.
    pub stage: Option<(Life, i64)>,
}

impl FromStr for PartCursor {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        let mut parts = text.split('.').map(|part| part.parse::<i64>().ok().filter(|number| *number >= 0));
        let mut next = || parts.next().ok_or(())?.ok_or(());
        let (after, taken, number) = (next()?, next()?, next()?);
        let stage = match (next(), next()) {
            (Ok(life), Ok(attempt)) => Some((Life(i32::try_from(life).map_err(|_| ())?), attempt)),
            _ => None,
        };
        let (taken, number) = (usize::try_from(taken), usize::try_from(number));
        let point = Self {
            after: i32::try_from(after).map_err(|_| ())?,
            taken: taken.map_err(|_| ())?,
            number: number.map_err(|_| ())?,
            stage,
        };
        (point.taken <= point.number).then_some(point).ok_or(())
    }
}

impl std::fmt::Display for PartCursor {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}.{}.{}", self.after, self.taken, self.number)?;
        self.stage.map_or(Ok(()), |(life, attempt)| write!(f, ".{}.{attempt}", life.0))
    }
}

/// Page of a part that comes from a history, whose rows are shown to it one after the other.
#[derive(Debug)]
pub(crate) struct PageCollector<T> {
    /// Place up to which all is seen.
    pub point: PartCursor,
    /// Items of the whole part that the page leaves out at its begin.
    before: usize,
    size: usize,
    rows: usize,
    most_rows: usize,
    pub items: Vec<T>,
    is_cut: bool,
}

impl<T> PageCollector<T> {
    /// A page from this place on, without those of the first `before` items of all that come behind it.
    pub const fn of(point: PartCursor, before: usize, size: usize) -> Self {
        Self { point, before, size, rows: 0, most_rows: MOST_ROWS, items: Vec::new(), is_cut: false }
    }

    /// The same page, for which this many rows are looked at.
    pub fn within(self, rows: usize) -> Self {
        Self { most_rows: rows, ..self }
    }

    /// Adds the items of the next row, each made from its number, which is counted from 1; breaks where the page is full, or
    /// has looked at enough.
    pub fn add(
        &mut self,
        row: i32,
        made: impl IntoIterator<Item = impl FnOnce(usize) -> T>,
    ) -> ControlFlow<()> {
        self.is_cut |= self.rows >= self.most_rows;
        // Adding rows to a full page moves no place.
        if self.is_cut {
            return ControlFlow::Break(());
        }
        self.rows += 1;
        for make in made.into_iter().skip(self.point.taken) {
            if self.items.len() >= self.size {
                self.is_cut = true;
                return ControlFlow::Break(());
            }
            self.point.number += 1;
            self.point.taken += 1;
            if self.point.number > self.before {
                self.items.push(make(self.point.number));
            }
        }
        self.point.after = row;
        self.point.taken = 0;
        ControlFlow::Continue(())
    }

    /// The page, and where the next one begins.
    pub fn page(self) -> Page<T> {
        // Nobody who asks for no items is to ask on.
        let has_next = self.is_cut && self.size > 0;
        Page { items: self.items, next: has_next.then(|| self.point.to_string()) }
    }
}

/// Shows the events of an order behind the one with the number `after`, until `take` has enough.
pub(crate) async fn read_on(
    client: &Client,
    no: OrderNo,
    mut after: i32,
    mut take: impl FnMut(&HistoryEvent) -> ControlFlow<()>,
) -> Result<(), Error> {
    loop {
        let events = history::of_order(client, no, after, ROWS).await?;
        for event in &events {
            if take(event).is_break() {
                return Ok(());
            }
        }
        match events.last() {
            Some(last) if i64::try_from(events.len()).is_ok_and(|read| read >= ROWS) => after = last.number,
            _ => return Ok(()),
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test may stop at the first surprise")]
mod tests {
    use super::*;

    /// Rows of a history, and how many items each has.
    const HISTORY: [(i32, usize); 6] = [(2, 3), (4, 0), (5, 1), (6, 0), (8, 5), (10, 2)];

    fn page(cursor: Option<String>, size: usize, before: usize) -> Page<(i32, usize)> {
        let query = PartQuery { limit: Some(size.to_string()), cursor };
        let mut collector: PageCollector<(i32, usize)> = query.collector().unwrap();
        collector.before = before;
        let after = collector.point.after;
        for (row, items) in HISTORY.into_iter().filter(|(row, _)| *row > after) {
            if collector.add(row, (0..items).map(|_| move |number| (row, number))).is_break() {
                break;
            }
        }
        collector.page()
    }

    #[test]
    fn rec_15_pages_of_any_size_together_are_the_whole() {
        let whole = page(None, 100, 0).items;
        let rows = HISTORY.into_iter().flat_map(|(row, items)| std::iter::repeat_n(row, items));
        assert_eq!(whole, rows.zip(1..).collect::<Vec<_>>());
        for size in [1, 2, 3, 4, 5, 10, 11, 12] {
            for before in [0, 2, 7] {
                let (mut all, mut cursor) = (Vec::new(), None);
                loop {
                    let page = page(cursor, size, before);
                    assert!(page.items.len() <= size);
                    all.extend(page.items);
                    cursor = page.next;
                    if cursor.is_none() {
                        break;
                    }
                }
                assert_eq!(all, whole[before..], "pages of {size} behind {before}");
            }
        }
        assert_eq!(page(None, 11, 0).next, None, "a page that ends the part has no next");
    }

    #[test]
    fn rec_15_rows_that_are_shown_to_a_full_page_move_no_place() {
        let mut collector = PageCollector::of(PartCursor::default(), 0, 2);
        let row = |items: usize| (0..items).map(|_| |number: usize| number);
        assert!(collector.add(1, row(5)).is_break());
        assert!(collector.add(2, row(1)).is_break() && collector.add(3, row(0)).is_break());
        assert_eq!(collector.page().next.as_deref(), Some("0.2.2"));
    }

    #[test]
    fn rec_15_a_page_looks_at_a_bounded_number_of_rows_and_the_next_goes_on_behind_them() {
        let mut collector = PageCollector::of(PartCursor::default(), 0, 10);
        let rows = i32::try_from(MOST_ROWS).unwrap();
        let read =
            (1..=rows + 5).take_while(|row| collector.add(*row, [] as [fn(usize) -> i32; 0]).is_continue());
        assert_eq!(read.count(), MOST_ROWS);
        let page = collector.page();
        assert_eq!((page.items, page.next), (vec![], Some(format!("{rows}.0.0"))));
    }

    #[test]
    fn rec_15_a_cursor_is_one_of_ours_or_refused() {
        for ours in ["0.0.0", "12.3.40", "12.0.40.2.7"] {
            assert_eq!(ours.parse::<PartCursor>().unwrap().to_string(), ours);
        }
        for strange in
            ["x", "", "1", "-1.0.0", "1.5", "1.9.3", "1.-1.2", "99999999999.0.0", "1.0.99999999999999999999"]
        {
            let query = PartQuery::behind(strange.to_owned());
            assert_eq!(
                query.collector::<i32>().unwrap_err().pointer.as_deref(),
                Some("/cursor"),
                "{strange}"
            );
        }
    }

    proptest::proptest! {
        #[test]
        fn ui_3_qlt_8_no_text_breaks_a_cursor_and_one_of_ours_is_read_again(
            text in proptest::prop_oneof!["[-0-9.]{0,24}", "\\PC{0,12}"],
            after in 0_i32.., taken in 0_usize..1000, more in 0_usize..1000, stage in proptest::option::of((0_i32.., 0_i64..)),
        ) {
            if let Ok(read) = text.parse::<PartCursor>() {
                proptest::prop_assert_eq!(read.to_string().parse::<PartCursor>(), Ok(read));
            }
            let stage = stage.map(|(life, attempt)| (Life(life), attempt));
            let ours = PartCursor { after, taken, number: taken + more, stage };
            proptest::prop_assert_eq!(ours.to_string().parse::<PartCursor>(), Ok(ours));
        }
    }
}
