//! Estimates of the start of an order that waits, as far as its flow tells (ORD-30). Pure arithmetic over a stored record.

use std::time::Duration;

use jiff::Timestamp;

use super::record::{FlowRecord, FlowState, QueuePace};

/// Less than this many stages in a second is no rate to reckon with.
const LEAST_RATE: f64 = 1.0 / 3600.0;
/// Seconds below which a line is no longer than the ways between the services.
const SHORT: f64 = 1.0;
/// Factor by which nine of ten waits last longer than expected at the most, where only the rate is known: rates of busy
/// flows vary by about this much within the time that is looked ahead.
const SPREAD: f64 = 1.5;

/// The time until a stage starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StartEstimate {
    /// In half of the cases it is not longer.
    pub p50: Duration,
    /// In nine of ten cases it is not longer.
    pub p90: Duration,
}

/// A record may be so old.
const RECORD_AGE: Duration = Duration::from_secs(3);

/// Start of a standstill: since when nothing of the flow has ended, where that is longer than the stage was forecast to wait
/// in all. No forecast holds then. `ready_since` is the time since which the stage may run.
#[must_use]
pub fn standstill(
    flow: &FlowRecord,
    estimate: StartEstimate,
    ready_since: Timestamp,
    now: Timestamp,
) -> Option<Timestamp> {
    let since = flow.seen_at.map_or(ready_since, |ended| ended.max(ready_since));
    let quiet = Duration::try_from(now.duration_since(since)).unwrap_or_default();
    (quiet > estimate.p90.saturating_add(RECORD_AGE)).then_some(since)
}

/// Estimates the time until a stage starts that has `position` ready ones of its flow before it; `None` while the flow is
/// stopped, or when nothing is known of its pace.
#[must_use]
pub fn start_estimate(flow: &FlowRecord, position: u32) -> Option<StartEstimate> {
    if matches!(flow.state, FlowState::Stopped | FlowState::Probing | FlowState::DisabledManually) {
        return None;
    }
    let rate = pace(flow)?;
    // With hardly anything before it a stage waits as others did recently; longer waits of others were made of lines.
    let [own, own_far] = [flow.waits.p50_ms, flow.waits.p99_ms].map(|ms| ms.unwrap_or_default() / 1000.0);
    let ahead = f64::from(position) / rate;
    // The more go before, the better single differences cancel each other out.
    let doubt = 1.0 + (SPREAD - 1.0) * (1.0 + 1.0 / f64::from(position.max(1)).sqrt());
    let (middle, far) = match position {
        0 => (own, own_far),
        _ if ahead < SHORT => (ahead.max(own.min(SHORT)), (ahead * doubt).max(own_far.min(SHORT))),
        _ => (ahead, ahead * doubt),
    };
    Some(estimate(middle, far))
}

/// The wait of the order that holds a queue, between two stages of it: no other member goes on before its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HolderWait {
    /// Time until it goes on, at the latest.
    pub left: Duration,
    /// Time for which it has held the queue.
    pub held: Duration,
    /// True if an answer may end the wait before its time.
    pub is_answerable: bool,
}

/// Estimates the time until an order starts that has `before` others before it in its queue: each of them has a stage, at
/// least, and they go one by one. Where the holder of the queue waits, that is the first of them, and those behind it are
/// taken to wait as long. `None` while the flow is stopped, or when nothing is known of its stages.
#[must_use]
pub fn queue_estimate(flow: &FlowRecord, before: u32, holder: Option<HolderWait>) -> Option<StartEstimate> {
    if matches!(flow.state, FlowState::Stopped | FlowState::Probing | FlowState::DisabledManually) {
        return None;
    }
    let behind = f64::from(before.saturating_sub(1));
    let before = f64::from(before);
    if let Some(QueuePace { turn, doubt }) = flow.queue_pace {
        // What was seen of waits has those of holders in it; a wait that ends at its time only is known better.
        let expected = match holder.filter(|holder| !holder.is_answerable) {
            Some(holder) => holder.left.as_secs_f64() + behind * turn,
            None => before * turn,
        };
        return Some(estimate(expected, expected + doubt * before.sqrt()));
    }
    let known = [flow.short_term, flow.long_term].into_iter().find(|times| times.p50_ms.is_some())?;
    let (middle, far) = (known.p50_ms? / 1000.0, known.p99_ms.or(known.p50_ms)? / 1000.0);
    // Sums of many differ less from their middle than one does.
    let doubt = (far - middle).max(0.0) * before.sqrt();
    let [wait, far_wait] = holder.map_or([0.0; 2], |holder| waits_of(flow, holder, behind));
    let expected = before * middle + wait;
    Some(estimate(expected, before * middle + doubt + far_wait))
}

fn estimate(middle: f64, far: f64) -> StartEstimate {
    let time = |seconds: f64| Duration::try_from_secs_f64(seconds).unwrap_or(Duration::MAX);
    StartEstimate { p50: time(middle), p90: time(far.max(middle)) }
}

/// Seconds for which the holder of a queue waits yet, and then as many others as are `behind` it: in the middle, and at most.
fn waits_of(flow: &FlowRecord, holder: HolderWait, behind: f64) -> [f64; 2] {
    let (left, held) = (holder.left.as_secs_f64(), holder.held.as_secs_f64());
    let answered = [flow.answers.p50_ms, flow.answers.p99_ms.or(flow.answers.p50_ms)];
    answered.map(|ms| match ms.filter(|_| holder.is_answerable) {
        Some(ms) => {
            let whole = (ms / 1000.0).min(left + held);
            // One that has waited for longer than others did may wait to its end.
            let rest = if whole > held { whole - held } else { left };
            rest + behind * whole
        }
        // Nobody was seen to be answered: waits last to their end.
        None => left + behind * (left + held),
    })
}

/// Returns the stages that start in a second: as many as ended recently; before any has ended, by its stages in progress
/// and their time.
fn pace(flow: &FlowRecord) -> Option<f64> {
    if let Some(known) = [flow.pace, flow.throughput].into_iter().find(|rate| *rate >= LEAST_RATE) {
        return Some(known);
    }
    let took = flow.short_term.p50().or_else(|| flow.long_term.p50())?.as_secs_f64().max(1e-3);
    // A request holds its place until it is answered.
    let answered = flow.answers.p50().filter(|_| flow.counted_requests > 0).unwrap_or_default().as_secs_f64();
    let places = flow.limit.unwrap_or(flow.in_progress).max(1);
    Some(f64::from(places) / (took + answered)).filter(|rate| *rate >= LEAST_RATE)
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test may panic")]
mod tests {
    use super::*;
    use crate::flow::Quantiles;

    #[test]
    fn ord_30_the_start_follows_from_the_position_and_the_pace() {
        let flow = FlowRecord { throughput: 10.0, ..FlowRecord::default() };
        let estimate = start_estimate(&flow, 600).unwrap();
        assert_eq!(estimate.p50, Duration::from_secs(60));
        assert!(estimate.p90 > estimate.p50 && estimate.p90 < Duration::from_secs(120), "{estimate:?}");
        let next = start_estimate(&flow, 1).unwrap();
        assert!(next.p90 >= next.p50 * 2, "a single stage may take long: {next:?}");
        let waits = Quantiles { p50_ms: Some(20.0), p99_ms: Some(90.0) };
        let at_once = start_estimate(&FlowRecord { waits, ..flow }, 0).unwrap();
        assert_eq!(at_once, StartEstimate { p50: Duration::from_millis(20), p90: Duration::from_millis(90) });
        let quick = FlowRecord { throughput: 1000.0, waits, ..FlowRecord::default() };
        assert_eq!(
            start_estimate(&quick, 1),
            Some(at_once),
            "one in front does not make it start earlier than none"
        );
        let waits = Quantiles { p50_ms: Some(80_000.0), p99_ms: Some(90_000.0) };
        let long = start_estimate(&FlowRecord { waits, ..quick }, 2000).unwrap();
        assert_eq!(long.p50, Duration::from_secs(2), "others waited in lines that were longer");
    }

    #[test]
    fn ord_30_without_a_pace_the_time_of_stages_tells_and_a_stop_tells_nothing() {
        let long_term = Quantiles { p50_ms: Some(500.0), p99_ms: None };
        let flow = FlowRecord { long_term, limit: Some(5), ..FlowRecord::default() };
        assert_eq!(start_estimate(&flow, 100).unwrap().p50, Duration::from_secs(10));
        for state in [FlowState::Stopped, FlowState::Probing, FlowState::DisabledManually] {
            assert_eq!(start_estimate(&FlowRecord { state, ..flow.clone() }, 100), None);
        }
        assert_eq!(start_estimate(&FlowRecord::default(), 3), None);
    }

    #[test]
    fn ord_30_requests_hold_their_places_until_they_are_answered() {
        let times = |ms| Quantiles { p50_ms: Some(ms), p99_ms: None };
        let flow = FlowRecord {
            short_term: times(100.0),
            answers: times(900.0),
            limit: Some(5),
            ..FlowRecord::default()
        };
        let asking = FlowRecord { counted_requests: 5, ..flow.clone() };
        assert_eq!(start_estimate(&asking, 50).unwrap().p50, Duration::from_secs(10));
        assert_eq!(start_estimate(&flow, 50).unwrap().p50, Duration::from_secs(1));
    }

    #[test]
    fn ord_30_no_forecast_where_nothing_has_ended_for_longer_than_it_says() {
        let second = |second| Timestamp::from_second(second).unwrap();
        let estimate = StartEstimate { p50: Duration::from_secs(1), p90: Duration::from_secs(10) };
        let flow = FlowRecord { seen_at: Some(second(100)), ..FlowRecord::default() };
        assert_eq!(standstill(&flow, estimate, second(50), second(113)), None);
        assert_eq!(standstill(&flow, estimate, second(50), second(114)), Some(second(100)));
        assert_eq!(
            standstill(&flow, estimate, second(105), second(114)),
            None,
            "it has not waited for so long"
        );
        assert_eq!(standstill(&FlowRecord::default(), estimate, second(50), second(114)), Some(second(50)));
    }

    #[test]
    fn ord_30_in_a_queue_each_before_takes_its_time() {
        let short_term = Quantiles { p50_ms: Some(1000.0), p99_ms: Some(3000.0) };
        let flow = FlowRecord { short_term, ..FlowRecord::default() };
        let estimate = queue_estimate(&flow, 4, None).unwrap();
        assert_eq!((estimate.p50, estimate.p90), (Duration::from_secs(4), Duration::from_secs(8)));
        let seen = FlowRecord { queue_pace: Some(QueuePace { turn: 2.0, doubt: 1.5 }), ..flow.clone() };
        let estimate = queue_estimate(&seen, 4, None).unwrap();
        assert_eq!(
            (estimate.p50, estimate.p90),
            (Duration::from_secs(8), Duration::from_secs(11)),
            "as waits were"
        );
        // The waits of a flow are those of its queues: none of them is counted for each that goes before.
        let waits = Quantiles { p50_ms: Some(90_000.0), p99_ms: None };
        assert_eq!(
            queue_estimate(&FlowRecord { waits, ..flow.clone() }, 4, None),
            queue_estimate(&flow, 4, None)
        );
        let stopped = FlowRecord { state: FlowState::Stopped, ..flow };
        assert_eq!(queue_estimate(&stopped, 4, None), None);
        assert_eq!(queue_estimate(&FlowRecord::default(), 4, None), None, "nothing is known");
    }

    #[test]
    fn ord_30_behind_a_holder_that_waits_an_order_is_forecast_by_the_time_of_that_wait() {
        let seconds = Duration::from_secs;
        let short_term = Quantiles { p50_ms: Some(1000.0), p99_ms: Some(1000.0) };
        let flow = FlowRecord { short_term, ..FlowRecord::default() };
        let times = |flow: &FlowRecord, before, holder| {
            let estimate = queue_estimate(flow, before, Some(holder)).unwrap();
            (estimate.p50.as_secs(), estimate.p90.as_secs())
        };
        let sleeps = HolderWait { left: seconds(15), held: seconds(5), is_answerable: false };
        assert_eq!((times(&flow, 1, sleeps), times(&flow, 2, sleeps)), ((16, 16), (37, 37)));
        // Of a wait for an answer only the latest end is known, until others were answered.
        let asks = HolderWait { is_answerable: true, ..sleeps };
        assert_eq!((times(&flow, 1, asks), times(&flow, 2, asks)), ((16, 16), (37, 37)));
        let answers = Quantiles { p50_ms: Some(8000.0), p99_ms: Some(12_000.0) };
        let answered = FlowRecord { answers, ..flow.clone() };
        assert_eq!((times(&answered, 1, asks), times(&answered, 2, asks)), ((4, 8), (13, 21)));
        assert_eq!(times(&answered, 1, sleeps), (16, 16), "an answer does not end a sleep");
        let late = HolderWait { left: seconds(100), held: seconds(60), is_answerable: true };
        assert_eq!(times(&answered, 1, late), (101, 101), "longer than any answer took");
        // A pace that was seen has the waits in it, but for one that ends at its time only.
        let seen = FlowRecord { queue_pace: Some(QueuePace { turn: 20.0, doubt: 2.0 }), ..flow };
        assert_eq!((times(&seen, 2, asks).0, times(&seen, 2, sleeps).0), (40, 35));
    }
}
