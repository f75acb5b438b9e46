//! Pages of a part of an order: its events, steps, lines, requests and the like.
//!
//! A part is counted from its begin, and a page stands behind so many items of it. Histories only grow, so that a page is the
//! same whenever it is read; and they are read piece by piece, so that one of any length takes little memory.

use std::ops::ControlFlow;

use pagurus_store::history::{self, HistoryEvent};
use pagurus_store::orders::OrderRow as Row;
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
const ROWS: i64 = 500;

/// Query of a part of an order.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
pub struct PartQuery {
    /// Items of the page; left out: 1000.
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

    pub(crate) fn window(&self) -> Result<Window, Problem> {
        let before: u32 = cursor(self.cursor.as_deref(), 0)?;
        Ok(Window {
            before: usize::try_from(before).unwrap_or(usize::MAX),
            size: limit(self.limit.as_deref(), USUAL_LIMIT, MAX_LIMIT)?,
        })
    }

    /// The number that the items of the page are above, and how many they are, for a part whose items are numbered by the
    /// database.
    pub(crate) fn above(&self) -> Result<(i64, usize), Problem> {
        Ok((cursor(self.cursor.as_deref(), 0)?, limit(self.limit.as_deref(), USUAL_LIMIT, MAX_LIMIT)?))
    }
}

/// The items of a page among all of a part.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Window {
    /// Items that stand before the page.
    pub before: usize,
    /// Items of the page, at most.
    pub size: usize,
}

impl Window {
    /// One more than all items up to the end of the page, so that it is known if there are others.
    pub const fn reach(self) -> usize {
        self.before.saturating_add(self.size).saturating_add(1)
    }

    /// The page of a part of which all items up to the reach are given.
    pub fn cut<T>(self, items: Vec<T>) -> Page<T> {
        let mut collector = Collector::of(self);
        for item in items {
            if collector.add(|_| item).is_break() {
                break;
            }
        }
        collector.page()
    }
}

/// Page of a part whose items are made one after the other.
#[derive(Debug)]
pub(crate) struct Collector<T> {
    window: Window,
    seen: usize,
    pub items: Vec<T>,
    has_more: bool,
}

impl<T> Collector<T> {
    pub const fn of(window: Window) -> Self {
        Self { window, seen: 0, items: Vec::new(), has_more: false }
    }

    /// The next item, made from its number, which is counted from 1. Breaks at the first one behind the page.
    pub fn add(&mut self, make: impl FnOnce(usize) -> T) -> ControlFlow<()> {
        if self.has_more {
            return ControlFlow::Break(());
        }
        self.seen += 1;
        if self.seen > self.window.before {
            if self.items.len() >= self.window.size {
                self.has_more = true;
                return ControlFlow::Break(());
            }
            self.items.push(make(self.seen));
        }
        ControlFlow::Continue(())
    }

    /// The page, and where the next one begins.
    pub fn page(self) -> Page<T> {
        let next = self.has_more.then(|| self.window.before.saturating_add(self.items.len()).to_string());
        Page { items: self.items, next }
    }
}

/// Shows the events of an order behind the one with the number `after`, until `take` has enough.
pub(crate) async fn read_on(
    client: &Client,
    row: &Row,
    mut after: i32,
    mut take: impl FnMut(&HistoryEvent) -> ControlFlow<()>,
) -> Result<(), Error> {
    loop {
        let events = history::of_order(client, row.no, after, ROWS).await?;
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

    #[test]
    fn rec_15_pages_of_any_size_together_are_the_whole() {
        let whole: Vec<usize> = (1..=25).collect();
        for size in [1, 2, 5, 24, 25, 26] {
            let (mut all, mut cursor) = (Vec::new(), None);
            loop {
                let query = PartQuery { limit: Some(size.to_string()), cursor };
                let window = query.window().unwrap();
                let page = window.cut(whole.iter().copied().take(window.reach()).collect());
                assert!(page.items.len() <= size);
                all.extend(page.items);
                cursor = page.next;
                if cursor.is_none() {
                    break;
                }
            }
            assert_eq!(all, whole, "pages of {size}");
        }
    }

    #[test]
    fn rec_15_a_page_that_ends_the_part_has_no_next() {
        assert_eq!(Window { before: 2, size: 2 }.cut(vec![1, 2, 3, 4]).next, None);
        assert_eq!(Window { before: 2, size: 1 }.cut(vec![1, 2, 3, 4]).next.as_deref(), Some("3"));
        let empty = Window { before: 9, size: 1 }.cut(vec![1]);
        assert_eq!((empty.items, empty.next), (vec![], None));
        let none = Window { before: 0, size: 0 }.cut(vec![1]);
        assert_eq!((none.items, none.next.as_deref()), (vec![], Some("0")));
    }

    #[test]
    fn rec_15_a_strange_cursor_is_refused() {
        for strange in ["x", "-1", "1.5", "99999999999999999999"] {
            let query = PartQuery::behind(strange.to_owned());
            assert_eq!(query.window().unwrap_err().pointer.as_deref(), Some("/cursor"), "{strange}");
        }
    }
}
