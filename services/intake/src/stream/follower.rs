//! Events that the listener of the stream has heard, and how far each order was sent.

use std::collections::{BTreeSet, HashMap};
use std::time::{Duration, Instant};

use jiff::{SignedDuration, Timestamp};
use pagurus_domain::id::OrderNo;
use pagurus_runtime::{Metrics, news as runtime_news};
use pagurus_store::outside::changes::FollowedOrder;
use pagurus_view::{FoundEvents, Views};
use pagurus_wire::message::{News, OrdersNews, news};
use pagurus_wire::stream::StreamedEvent;

use super::coverage::{CoverageChange, Covered};

/// Largest number of orders of one look: those that clients name wait for no more than these.
const ORDERS: usize = 250;
/// Largest number of orders that wait for a look; with more, nobody would ever catch up.
const MOST_WAITING: usize = 20_000;
/// Orders of which the last sent event is kept; with more, all is forgotten, and what is not older than [`BACK`] may be sent
/// twice.
const MOST_KNOWN: usize = 50_000;
/// Time that is looked back over for an order that is heard of for the first time: far more than clocks differ.
const BACK: SignedDuration = SignedDuration::from_secs(60);
/// Interval at which orders that clients name are looked at, whatever is heard: news may be lost.
const NAMED_EVERY: Duration = Duration::from_secs(5);

/// Urgency of a look.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Urgency {
    /// Nothing is new.
    None,
    /// Something is.
    Usual,
    /// Something is new of an order that a client names, as the page of an order does.
    Named,
    /// More is new than one look takes.
    Behind,
}

/// Orders of which something is new, and the last event sent of each.
pub(super) struct Follower {
    covered: Covered,
    changed: BTreeSet<i64>,
    sent: HashMap<i64, i32>,
    since: Timestamp,
    named_at: Instant,
    /// True if the last look was at orders that clients name, and at no others.
    was_of_named: bool,
    /// True if more is new than can be looked at.
    is_flooded: bool,
    /// True if news came, up to the last look.
    was_up: bool,
    /// True if the database did not answer to the last look.
    has_failed: bool,
}

impl Follower {
    pub fn new() -> Self {
        Self {
            covered: Covered::default(),
            changed: BTreeSet::new(),
            sent: HashMap::new(),
            since: back_from_now(),
            named_at: Instant::now(),
            was_of_named: false,
            is_flooded: false,
            was_up: true,
            has_failed: false,
        }
    }

    /// Looks up other orders from now on.
    pub fn adopt(&mut self, change: CoverageChange) {
        let CoverageChange { covered, all_began, began } = change;
        if all_began {
            // What happened to the others so far was not followed.
            self.sent.retain(|no, _| self.covered.has(*no));
            self.since = back_from_now();
        }
        for order in began {
            let sent = self.sent.entry(order.no.0).or_default();
            *sent = order.sent.max(*sent);
            // It may have changed since a client named it.
            self.changed.insert(order.no.0);
        }
        self.changed.retain(|no| covered.has(*no));
        self.covered = covered;
    }

    /// Takes down the orders that a message of news is about, as far as they are looked up.
    pub fn hear(&mut self, metrics: &Metrics, key: &str, body: &[u8]) {
        let covered = &self.covered;
        let mut note =
            |nos: &mut dyn Iterator<Item = i64>| self.changed.extend(nos.filter(|no| covered.has(*no)));
        if key == news::ORDERS {
            let message: Option<OrdersNews> = runtime_news::read(metrics, "orders", body);
            note(&mut message.into_iter().flat_map(|message| message.changed));
        } else if let Some(News { ready, ended, left, .. }) = runtime_news::read(metrics, "news", body) {
            note(&mut ready.iter().map(|one| one.no));
            note(&mut ended.iter().map(|one| one.no));
            note(&mut left.iter().map(|one| one.no));
        }
        // Those that are named are looked at from time to time anyway.
        if self.changed.len() > MOST_WAITING + self.covered.named.len() {
            self.changed.clear();
            self.is_flooded = true;
        }
    }

    /// Urgency of the next look.
    pub fn urgency(&self) -> Urgency {
        if self.has_failed || (self.changed.is_empty() && !self.is_flooded) {
            Urgency::None
        } else if self.changed.len() > ORDERS {
            Urgency::Behind
        } else if self.covered.named.iter().any(|no| self.changed.contains(no)) {
            Urgency::Named
        } else {
            Urgency::Usual
        }
    }

    /// Returns why events are missing, if some are and nobody knows which.
    pub fn gap(&mut self, is_up: bool) -> Option<&'static str> {
        let was_up = std::mem::replace(&mut self.was_up, is_up);
        let came_back = is_up && !was_up;
        if std::mem::take(&mut self.is_flooded) {
            return Some("more happened at once than could be looked up");
        }
        came_back.then_some("the message broker was away, and news of that time is lost")
    }

    /// Looks at named orders from time to time, whatever is heard.
    pub fn look_again(&mut self) {
        if self.named_at.elapsed() >= NAMED_EVERY {
            self.named_at = Instant::now();
            self.changed.extend(&self.covered.named);
        }
    }

    /// Takes the orders of the next look: every other time those that clients name alone, so that neither they nor the others wait
    /// for long.
    fn next(&mut self) -> Vec<i64> {
        if !std::mem::take(&mut self.was_of_named) {
            let nos: Vec<i64> =
                self.covered.named.intersection(&self.changed).copied().take(ORDERS).collect();
            self.was_of_named = !nos.is_empty();
            if self.was_of_named {
                return nos;
            }
        }
        self.changed.iter().copied().take(ORDERS).collect()
    }

    /// Returns the events of the next orders, those that clients name before all others; none while the database is away, and then
    /// they are looked at again.
    pub async fn look(&mut self, views: &Views) -> Vec<StreamedEvent> {
        let nos = self.next();
        if nos.is_empty() {
            return Vec::new();
        }
        let sent = |no: i64| self.sent.get(&no).copied().unwrap_or_default();
        let followed: Vec<FollowedOrder> =
            nos.iter().map(|no| FollowedOrder { no: OrderNo(*no), sent: sent(*no) }).collect();
        let looked_up = views.changes(&followed, self.since).await;
        self.has_failed = looked_up.is_err();
        let FoundEvents { events, cut } = match looked_up {
            Ok(found) => found,
            Err(problem) => {
                tracing::debug!(why = problem.detail, "news of orders could not be looked up");
                return Vec::new();
            }
        };
        for event in &events {
            let last = self.sent.entry(event.no).or_default();
            *last = event.number.max(*last);
        }
        // Of an order with more events than are read at once, the rest comes with the next look.
        for no in nos.iter().filter(|no| !cut.contains(no)) {
            self.changed.remove(no);
        }
        if self.sent.len() > MOST_KNOWN {
            self.sent.clear();
            self.since = back_from_now();
        }
        events
    }
}

fn back_from_now() -> Timestamp {
    let now = Timestamp::now();
    now.saturating_sub(BACK).unwrap_or(now)
}

#[cfg(test)]
mod tests {
    use pagurus_domain::id::Role;

    use super::*;

    #[test]
    fn http_news_names_the_orders_to_look_at_and_a_flood_is_reported() {
        let metrics = Metrics::new(Role::Intake);
        let mut follower = Follower::new();
        follower.covered.all = true;
        follower.hear(
            &metrics,
            news::DISPATCH,
            br#"{"ready": [{"no": 3, "attempt": 1, "flow": "f", "priority": "normal"}], "left": [{"no": 5}], "new": 1}"#,
        );
        follower.hear(&metrics, news::ORDERS, br#"{"changed": [7, 3]}"#);
        follower.hear(&metrics, news::ORDERS, b"no JSON");
        assert_eq!(follower.changed.iter().copied().collect::<Vec<_>>(), [3, 5, 7]);
        assert_eq!(follower.gap(true), None);
        let many: Vec<String> = (0..=MOST_WAITING).map(|no| no.to_string()).collect();
        follower.hear(&metrics, news::ORDERS, format!(r#"{{"changed": [{}]}}"#, many.join(",")).as_bytes());
        assert!(follower.gap(true).is_some() && follower.changed.is_empty());
        assert_eq!(follower.gap(true), None, "it is reported once");
    }

    #[test]
    fn ui_2_orders_that_clients_name_come_first_and_keep_no_others_waiting() {
        let mut follower = Follower::new();
        follower.covered.all = true;
        assert_eq!(follower.urgency(), Urgency::None);
        follower.changed.extend([7, 900]);
        assert_eq!(follower.urgency(), Urgency::Usual);
        follower.covered.named = BTreeSet::from([700, 900, 5000]);
        assert_eq!(follower.urgency(), Urgency::Named);
        follower.changed.extend(0..800);
        assert_eq!(follower.urgency(), Urgency::Behind);
        assert_eq!(follower.next(), [700, 900]);
        let others = follower.next();
        assert_eq!(
            (others.len(), others[0]),
            (ORDERS, 0),
            "the named ones have not been looked at, and wait a turn"
        );
        assert_eq!(follower.next(), [700, 900]);
        follower.covered.named.clear();
        assert_eq!(follower.next().len(), ORDERS);
        follower.has_failed = true;
        assert_eq!(
            follower.urgency(),
            Urgency::None,
            "a database that does not answer is not asked again and again"
        );
    }

    #[test]
    fn ui_2_news_of_orders_that_nobody_wants_is_not_looked_up() {
        let metrics = Metrics::new(Role::Intake);
        let mut follower = Follower::new();
        follower.sent.extend([(3, 9), (4, 2)]);
        let began = vec![3, 5].into_iter().map(|no| FollowedOrder { no: OrderNo(no), sent: 6 }).collect();
        let covered = Covered { named: BTreeSet::from([3, 5]), ..Covered::default() };
        follower.adopt(CoverageChange { covered, all_began: false, began });
        assert_eq!(follower.next(), [3, 5], "each may have changed since it was named");
        assert_eq!((follower.sent[&3], follower.sent[&5]), (9, 6));
        follower.changed.clear();
        follower.hear(&metrics, news::ORDERS, br#"{"changed": [4, 5]}"#);
        assert_eq!(follower.changed, BTreeSet::from([5]));
        let covered = Covered { all: true, named: BTreeSet::from([3]), left: BTreeSet::new() };
        follower.adopt(CoverageChange { covered, all_began: true, began: Vec::new() });
        let followed = HashMap::from([(3, 9), (5, 6)]);
        assert_eq!(follower.sent, followed, "what happened to the others so far was not followed");
        follower.hear(&metrics, news::ORDERS, br#"{"changed": [4]}"#);
        assert_eq!(follower.changed, BTreeSet::from([4, 5]));
        // What a client names in the same moment is not sent again to who follows all from now on.
        let began = vec![FollowedOrder { no: OrderNo(8), sent: 12 }];
        let covered = Covered { all: true, named: BTreeSet::from([8]), left: BTreeSet::new() };
        follower.adopt(CoverageChange { covered, all_began: true, began });
        assert_eq!((follower.sent[&8], follower.changed.contains(&8)), (12, true));
    }

    #[test]
    fn http_who_did_not_hear_for_a_while_says_so_when_news_comes_again() {
        let mut follower = Follower::new();
        assert_eq!(follower.gap(false), None);
        assert_eq!(follower.gap(false), None);
        assert!(follower.gap(true).is_some());
        assert_eq!(follower.gap(true), None);
    }
}
