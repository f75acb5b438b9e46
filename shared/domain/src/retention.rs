//! Retention (ORD-26): how long an order is kept, and what happens to it then.

use std::time::Duration;

use jiff::Timestamp;

/// Times for which orders are kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RetentionTerms {
    /// After their end.
    pub ended: Duration,
    /// After their registration, while they have not ended.
    pub in_progress: Duration,
}

/// Fate of an order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Retained {
    /// Keeps it.
    Kept,
    /// Ends it `fail`, and keeps it from then on like others that have ended.
    Ended,
    /// Removes it.
    Removed,
}

/// Decides for one order: when it was registered, and when it ended, if it has. `own` is the time after its end for
/// which its scenario wants it kept.
#[must_use]
pub fn retained(
    created_at: Timestamp,
    finished_at: Option<Timestamp>,
    terms: RetentionTerms,
    own: Option<Duration>,
    now: Timestamp,
) -> Retained {
    let is_over = |since: Timestamp, time: Duration| since.checked_add(time).is_ok_and(|end| end <= now);
    match finished_at {
        Some(ended) if is_over(ended, own.unwrap_or(terms.ended)) => Retained::Removed,
        None if is_over(created_at, terms.in_progress) => Retained::Ended,
        _ => Retained::Kept,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ord_26_an_order_goes_when_its_time_after_the_end_is_over_and_one_that_never_ends_is_ended_first() {
        let day = Duration::from_secs(24 * 3600);
        let terms = RetentionTerms { ended: 90 * day, in_progress: 180 * day };
        let at = |days: u32| Timestamp::UNIX_EPOCH.checked_add(days * day).unwrap_or_default();
        let of = |created, ended: Option<u32>, own: Option<u32>, now| {
            retained(at(created), ended.map(at), terms, own.map(|days| days * day), at(now))
        };
        assert_eq!(of(0, Some(10), None, 99), Retained::Kept);
        assert_eq!(of(0, Some(10), None, 100), Retained::Removed);
        assert_eq!(of(0, Some(10), Some(5), 15), Retained::Removed, "its scenario says so");
        assert_eq!(of(0, Some(10), Some(400), 300), Retained::Kept);
        assert_eq!(of(0, None, Some(5), 179), Retained::Kept, "its scenario speaks of ended ones");
        assert_eq!(of(0, None, None, 180), Retained::Ended);
        assert_eq!(of(0, Some(180), None, 200), Retained::Kept, "from its end on it is kept like others");
    }
}
