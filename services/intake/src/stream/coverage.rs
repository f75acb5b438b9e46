//! Orders that the listener looks up: all of which something is new while a client wants that, otherwise those that clients name.
//!
//! What a client wants stays covered for a while after it has gone: one that comes back finds what it missed.

use std::collections::{BTreeSet, HashMap};
use std::time::{Duration, Instant};

use pagurus_store::outside::changes::FollowedOrder;

/// Time for which the listener goes on with what no client wants any more.
pub(super) const LINGER: Duration = Duration::from_secs(60);
/// Largest number of orders that no client names any more; the ones left first are dropped first.
const MOST_LINGERING: usize = 5_000;

/// Orders whose events a client may take.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum StreamInterest {
    /// All, or those that only a look at their events can select.
    All,
    /// Orders that it names.
    Named(Vec<FollowedOrder>),
}

/// Orders that are looked up now.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Covered {
    /// True if all are.
    pub all: bool,
    /// Numbers of those that clients name.
    pub named: BTreeSet<i64>,
    /// Numbers of those that clients have named until lately.
    pub left: BTreeSet<i64>,
}

impl Covered {
    /// True if an order is looked up.
    pub fn has(&self, no: i64) -> bool {
        self.all || self.named.contains(&no) || self.left.contains(&no)
    }
}

/// Change of what is looked up.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct CoverageChange {
    /// Orders that are looked up from now on.
    pub covered: Covered,
    /// True if all are now and were not before.
    pub all_began: bool,
    /// Named orders that were not looked up before, with the last event of each that nobody is to hear: none where a client
    /// followed all before another named the order.
    pub began: Vec<FollowedOrder>,
}

/// Interests of all clients, and since when the listener looks up what they are in.
#[derive(Debug, Default)]
pub(super) struct StreamCoverage {
    all: Option<CoverageSpan>,
    named: HashMap<i64, CoverageSpan>,
    all_began: bool,
    began: Vec<FollowedOrder>,
    is_changed: bool,
}

/// Time for which something is looked up without a break.
#[derive(Debug)]
struct CoverageSpan {
    /// Number of events that were kept before.
    from: u64,
    clients: usize,
    /// Time at which its last client left.
    left_at: Option<Instant>,
}

impl CoverageSpan {
    const fn since(from: u64) -> Self {
        Self { from, clients: 0, left_at: None }
    }

    const fn follow(&mut self) {
        self.clients += 1;
        self.left_at = None;
    }

    fn leave(&mut self, now: Instant) {
        self.clients = self.clients.saturating_sub(1);
        self.left_at = (self.clients == 0).then_some(now);
    }

    fn is_over(&self, now: Instant) -> bool {
        self.left_at.is_some_and(|left| now.saturating_duration_since(left) >= LINGER)
    }
}

impl StreamCoverage {
    /// Covers what a client wants that comes when this number of events has been kept.
    pub fn follow(&mut self, interest: &StreamInterest, kept: u64) {
        match interest {
            StreamInterest::All => {
                if self.all.is_none() {
                    self.all_began = true;
                    self.is_changed = true;
                }
                self.all.get_or_insert(CoverageSpan::since(kept)).follow();
            }
            StreamInterest::Named(orders) => {
                let hears_before = self.all.is_some();
                for order in orders {
                    let span = self.named.entry(order.no.0).or_insert_with(|| {
                        let sent = if hears_before { 0 } else { order.sent };
                        self.began.push(FollowedOrder { sent, ..*order });
                        CoverageSpan::since(kept)
                    });
                    self.is_changed |= span.clients == 0;
                    span.follow();
                }
            }
        }
    }

    /// Notes that a client has gone which wanted this.
    pub fn leave(&mut self, interest: &StreamInterest, now: Instant) {
        match interest {
            StreamInterest::All => self.all.iter_mut().for_each(|span| span.leave(now)),
            StreamInterest::Named(orders) => {
                for order in orders {
                    if let Some(span) = self.named.get_mut(&order.no.0) {
                        span.leave(now);
                        self.is_changed |= span.clients == 0;
                    }
                }
            }
        }
    }

    /// True if no event of this is missing behind a kept one with this number of events before it.
    pub fn has_all_behind(&self, interest: &StreamInterest, before: u64) -> bool {
        let has = |span: Option<&CoverageSpan>| span.is_some_and(|span| span.from <= before);
        has(self.all.as_ref())
            || match interest {
                StreamInterest::All => false,
                StreamInterest::Named(orders) => orders.iter().all(|order| has(self.named.get(&order.no.0))),
            }
    }

    /// Ends what no client has wanted for a while; returns what has changed since the last time.
    pub fn change(&mut self, now: Instant) -> Option<CoverageChange> {
        let ended = self.all.take_if(|span| span.is_over(now)).is_some();
        let before = self.named.len();
        self.named.retain(|_, span| !span.is_over(now));
        if !std::mem::take(&mut self.is_changed) && !ended && self.named.len() == before {
            return None;
        }
        self.drop_oldest();
        let numbers = |is_left: bool| {
            let of = self.named.iter().filter(move |(_, span)| span.left_at.is_some() == is_left);
            of.map(|(no, _)| *no).collect()
        };
        let covered = Covered { all: self.all.is_some(), named: numbers(false), left: numbers(true) };
        Some(CoverageChange {
            covered,
            all_began: std::mem::take(&mut self.all_began),
            began: std::mem::take(&mut self.began),
        })
    }

    /// Bounds the orders that no client names any more.
    fn drop_oldest(&mut self) {
        let left = self.named.iter().filter_map(|(no, span)| Some((span.left_at?, *no)));
        let mut left: Vec<(Instant, i64)> = left.collect();
        let excess = left.len().saturating_sub(MOST_LINGERING);
        if excess > 0 {
            left.sort_unstable();
            for (_, no) in &left[..excess] {
                self.named.remove(no);
            }
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test may stop at the first surprise")]
mod tests {
    use pagurus_domain::id::OrderNo;

    use super::*;

    fn named(orders: &[(i64, i32)]) -> StreamInterest {
        StreamInterest::Named(
            orders.iter().map(|&(no, sent)| FollowedOrder { no: OrderNo(no), sent }).collect(),
        )
    }

    fn nos(change: &CoverageChange) -> (bool, Vec<i64>, Vec<i64>) {
        let Covered { all, named, left } = &change.covered;
        (*all, named.iter().copied().collect(), left.iter().copied().collect())
    }

    #[test]
    fn ui_2_only_orders_that_clients_name_are_looked_up_unless_one_wants_all() {
        let mut coverage = StreamCoverage::default();
        let now = Instant::now();
        assert_eq!(coverage.change(now), None);
        coverage.follow(&named(&[(3, 7), (5, 1)]), 0);
        let change = coverage.change(now).unwrap();
        assert_eq!(nos(&change), (false, vec![3, 5], vec![]));
        assert_eq!(StreamInterest::Named(change.began), named(&[(3, 7), (5, 1)]));
        assert!(change.covered.has(3) && !change.covered.has(4));
        coverage.follow(&named(&[(5, 2)]), 0);
        assert_eq!(coverage.change(now), None, "it is looked up already");
        coverage.follow(&StreamInterest::All, 0);
        let change = coverage.change(now).unwrap();
        assert!(change.all_began && change.began.is_empty() && change.covered.has(4));
    }

    #[test]
    fn ui_2_what_the_last_client_leaves_is_looked_up_for_a_while() {
        let mut coverage = StreamCoverage::default();
        let (now, one) = (Instant::now(), named(&[(5, 1)]));
        for interest in [&one, &one, &StreamInterest::All] {
            coverage.follow(interest, 0);
        }
        coverage.change(now).unwrap();
        coverage.leave(&one, now);
        coverage.leave(&StreamInterest::All, now);
        assert_eq!(coverage.change(now + LINGER / 2), None);
        let change = coverage.change(now + LINGER).unwrap();
        assert_eq!(nos(&change), (false, vec![5], vec![]), "one client is there");
        coverage.leave(&one, now + LINGER);
        let change = coverage.change(now + LINGER).unwrap();
        assert_eq!(nos(&change), (false, vec![], vec![5]), "it is looked up, though nobody waits for it");
        assert!(change.covered.has(5));
        coverage.follow(&one, 0);
        let change = coverage.change(now + LINGER * 3).unwrap();
        assert_eq!(nos(&change), (false, vec![5], vec![]), "one has come back");
        assert!(change.began.is_empty());
        coverage.leave(&one, now + LINGER * 3);
        assert_eq!(nos(&coverage.change(now + LINGER * 4).unwrap()), (false, vec![], vec![]));
    }

    #[test]
    fn http_who_follows_all_hears_what_happened_before_another_named_the_order_and_after_no_more() {
        let sent = |first: StreamInterest, second: StreamInterest| {
            let mut coverage = StreamCoverage::default();
            coverage.follow(&first, 0);
            coverage.follow(&second, 0);
            coverage.change(Instant::now()).unwrap().began.iter().map(|order| order.sent).collect::<Vec<_>>()
        };
        assert_eq!(sent(StreamInterest::All, named(&[(5, 4)])), [0]);
        assert_eq!(sent(named(&[(5, 4)]), StreamInterest::All), [4], "it came after the fourth event");
    }

    #[test]
    fn qlt_3_of_orders_that_nobody_names_any_more_only_the_last_are_looked_up() {
        let mut coverage = StreamCoverage::default();
        let now = Instant::now();
        for no in 0..=MOST_LINGERING as u64 {
            let one = named(&[(no as i64, 1)]);
            coverage.follow(&one, 0);
            coverage.leave(&one, now + Duration::from_millis(no));
        }
        let covered = coverage.change(now).unwrap().covered;
        assert_eq!((covered.left.len(), covered.has(0), covered.has(1)), (MOST_LINGERING, false, true));
    }

    #[test]
    fn http_all_is_known_behind_an_event_only_if_all_was_looked_up_since() {
        let mut coverage = StreamCoverage::default();
        let (now, one, both) = (Instant::now(), named(&[(5, 1)]), named(&[(5, 1), (6, 1)]));
        coverage.follow(&one, 10);
        coverage.follow(&named(&[(6, 1)]), 12);
        assert!(coverage.has_all_behind(&one, 10) && !coverage.has_all_behind(&one, 9));
        assert!(coverage.has_all_behind(&both, 12) && !coverage.has_all_behind(&both, 11));
        assert!(
            !coverage.has_all_behind(&named(&[(7, 1)]), 12)
                && !coverage.has_all_behind(&StreamInterest::All, 12)
        );
        coverage.follow(&StreamInterest::All, 20);
        assert!(
            coverage.has_all_behind(&named(&[(7, 1)]), 20)
                && !coverage.has_all_behind(&StreamInterest::All, 19)
        );
        // An order that nobody wanted in between: what it did then was not kept.
        coverage = StreamCoverage::default();
        coverage.follow(&one, 10);
        coverage.leave(&one, now);
        coverage.change(now + LINGER);
        coverage.follow(&one, 11);
        assert!(!coverage.has_all_behind(&one, 10), "its last event was the last one kept");
    }
}
