//! Cost of open requests: the time of their places at a system, as the flow pays for it. Must never know who calls what.
//!
//! Nobody knows when a request is sent how long it will be open, and flows of one system may wait for answers of very
//! different kinds. So a flow pays in advance by the mean of its own requests, and with each answer the difference to what
//! its open requests have taken since: in the long run it pays the time of its places exactly, and a burst at once.

use jiff::Timestamp;

use super::timing::between;

/// Weight of a new answer in the mean.
const PART_OF_NEW: f64 = 0.125;

/// Cost of the open requests of a flow at a system.
#[derive(Clone, Copy, Debug)]
pub(super) struct RequestCost {
    /// Time up to which they are counted.
    since: Timestamp,
    /// Microseconds of places since the last answer.
    taken: f64,
    /// Microseconds that are paid in advance for what is open.
    advance: f64,
    /// Mean microseconds of a request; none before the first answer.
    mean: Option<f64>,
}

impl RequestCost {
    /// Starts with no request.
    pub(super) const fn new(now: Timestamp) -> Self {
        Self { since: now, taken: 0.0, advance: 0.0, mean: None }
    }

    /// Counts the time since the last change, in which this number of requests was open.
    pub(super) fn pass(&mut self, open: u32, now: Timestamp) {
        self.taken += between(self.since, now).as_secs_f64() * 1e6 * f64::from(open);
        self.since = now;
    }

    /// Requests are sent. Returns the microseconds to pay in advance; `usual` is the time of a request of other flows.
    pub(super) fn sent(&mut self, count: u32, usual: f64) -> f64 {
        let advance = self.mean.unwrap_or(usual) * f64::from(count);
        self.advance += advance;
        advance
    }

    /// Requests are answered, of those that were open. Returns the microseconds to pay beyond what was paid in advance, or
    /// to give back.
    pub(super) fn answered(&mut self, count: u32, open: u32) -> f64 {
        let advance = self.advance * (f64::from(count) / f64::from(open.max(1))).min(1.0);
        let taken = std::mem::take(&mut self.taken);
        self.advance -= advance;
        let one = taken / f64::from(count.max(1));
        self.mean = Some(self.mean.map_or(one, |mean| mean + (one - mean) * PART_OF_NEW));
        taken - advance
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn second(second: u64) -> Timestamp {
        Timestamp::UNIX_EPOCH + Duration::from_secs(second)
    }

    #[test]
    fn dsp_16_the_time_of_requests_is_paid_in_the_end_whatever_was_paid_in_advance() {
        let mut cost = RequestCost::new(second(0));
        let mut paid = cost.sent(2, 1e6);
        assert_eq!(paid, 2e6, "as others");
        cost.pass(2, second(4));
        paid += cost.answered(1, 2);
        cost.pass(1, second(6));
        paid += cost.answered(1, 1);
        assert_eq!(paid, 10e6, "one was open for four seconds, and one for six");
        let advance = cost.sent(1, 1e6);
        assert!((2e6..=8e6).contains(&advance), "by its own requests: {advance}");
        cost.pass(1, second(7));
        assert_eq!(advance + cost.answered(1, 1), 1e6);
        assert_eq!(cost.answered(1, 0), 0.0, "an answer that nobody waits for");
    }
}
