//! Ledger of an order: every millisecond from its registration to its end, or to now, by the reason for which it passed
//! (ORD-32). Spans follow each other without a gap and without an overlap, so that their lengths add up to the whole.

use std::collections::BTreeMap;

use jiff::Timestamp;

use super::Status;
use crate::id::spelled;

/// Reason for which a time of an order passed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum LedgerReason {
    /// Waited for its start time, or for other orders.
    Postponed,
    /// Might have run, and stood behind others of its queue, or was about to be handed out.
    Queue,
    /// Might have run, and its flow was stopped.
    FlowStopped,
    /// Might have run, and all places were taken, its flow had as much in progress as it might, or it was about to be handed
    /// out.
    Capacity,
    /// Was with a worker, which waited for the answer of a call.
    Call,
    /// Was with a worker, which did the rest of its work.
    Work,
    /// Waited for callbacks, decisions of actors, children, or calls from outside.
    Wait,
    /// Waited before an action, because the called system was to be left alone.
    System,
    /// Slept, as its scenario says.
    Sleep,
    /// Rested between two attempts of polling.
    Polling,
    /// Had failed, and waited to be repeated.
    Retry,
    /// Had ended, and was restarted later.
    Ended,
}

spelled!(LedgerReason {
    Postponed => "postponed",
    Queue => "queue",
    FlowStopped => "flow_stopped",
    Capacity => "capacity",
    Call => "call",
    Work => "work",
    Wait => "wait",
    System => "system",
    Sleep => "sleep",
    Polling => "polling",
    Retry => "retry",
    Ended => "ended",
});

impl LedgerReason {
    /// The reason for which time passes in a status, unless a worker has the order.
    #[must_use]
    pub const fn of(status: Status) -> Self {
        match status {
            Status::Postponed => Self::Postponed,
            Status::Sleep => Self::Sleep,
            Status::Wait => Self::Wait,
            Status::Polling => Self::Polling,
            Status::Retry => Self::Retry,
            Status::New | Status::Reopen | Status::Running => Self::Capacity,
            Status::Success | Status::Fail | Status::Interrupted | Status::Canceled => Self::Ended,
        }
    }
}

/// A time of an order that passed for one reason. Its ends are whole milliseconds since 1970.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LedgerSpan {
    /// First millisecond.
    pub from: i64,
    /// The first millisecond behind it.
    pub until: i64,
    /// Reason.
    pub reason: LedgerReason,
    /// The called system, the class of the error, the queue: what the reason is about.
    pub about: Option<String>,
}

/// A reason, with what it is about.
pub type LedgerEntry = (LedgerReason, Option<String>);

/// Spans of an order, as far as its history has been shown to it, in order.
#[derive(Debug)]
pub struct OrderLedger {
    /// End of what has a reason.
    at: i64,
    /// Time behind which nothing counts: the end of the order, or now.
    end: i64,
    /// Reason for which time passes since then.
    present: LedgerEntry,
    spans: Vec<LedgerSpan>,
}

/// A stage, or the part of it up to an entry point, as the history has it.
#[derive(Clone, Debug)]
pub struct LedgerStage {
    /// Time since which it might have run; none where the history does not say.
    pub ready_at: Option<Timestamp>,
    /// Time at which a worker took it.
    pub started_at: Timestamp,
    /// Calls that it waited for, with their targets. Some may have been made side by side.
    pub calls: Vec<(Timestamp, Timestamp, String)>,
    /// Time at which it ended.
    pub until: Timestamp,
    /// Reason for which time passes behind it; work, where the stage goes on.
    pub then: LedgerEntry,
}

impl OrderLedger {
    /// An order that was registered, and that ended or stands somewhere at `end`.
    #[must_use]
    pub fn new(registered_at: Timestamp, end: Timestamp, present: LedgerEntry) -> Self {
        let (at, end) = (registered_at.as_millisecond(), end.as_millisecond());
        Self { at, end, present, spans: Vec::new() }
    }

    /// Takes the next stage. Where it might have run before it did, that time passed for the reason `ready`.
    pub fn stage(&mut self, stage: LedgerStage, ready: LedgerEntry) {
        if !matches!(self.present.0, LedgerReason::Work)
            && let Some(ready_at) = stage.ready_at
        {
            self.reach(ready_at);
            self.present = ready;
        }
        self.reach(stage.started_at);
        self.present = (LedgerReason::Work, None);
        let mut calls = stage.calls;
        calls.sort();
        for (from, until, target) in calls {
            self.reach(from);
            self.present = (LedgerReason::Call, Some(target));
            self.reach(until);
            self.present = (LedgerReason::Work, None);
        }
        self.reach(stage.until);
        self.present = stage.then;
    }

    /// Takes a change outside of stages: from then on time passes for another reason.
    pub fn turn(&mut self, at: Timestamp, then: LedgerEntry) {
        self.reach(at);
        self.present = then;
    }

    /// All spans up to the end. What is left behind the last stage of an order that has ended is the time until its end was
    /// written.
    #[must_use]
    pub fn finish(mut self) -> Vec<LedgerSpan> {
        if self.present.0 == LedgerReason::Ended {
            self.present = (LedgerReason::Work, None);
        }
        self.reach_ms(self.end);
        self.spans
    }

    fn reach(&mut self, time: Timestamp) {
        self.reach_ms(time.as_millisecond());
    }

    /// Lets time pass for the present reason. Times of several clocks may lie a little before each other: none goes back.
    fn reach_ms(&mut self, time: i64) {
        let until = time.min(self.end);
        if until <= self.at {
            return;
        }
        let (reason, about) = &self.present;
        match self.spans.last_mut() {
            Some(last) if last.reason == *reason && last.about == *about => last.until = until,
            _ => self.spans.push(LedgerSpan { from: self.at, until, reason: *reason, about: about.clone() }),
        }
        self.at = until;
    }
}

/// Gives the parts of waiting spans in which a flow was stopped that reason. `stopped` has times of stops in order, with
/// what stopped it.
#[must_use]
pub fn with_stops(spans: Vec<LedgerSpan>, stopped: &[(Timestamp, Timestamp, String)]) -> Vec<LedgerSpan> {
    let mut out = Vec::with_capacity(spans.len());
    for span in spans {
        if !matches!(span.reason, LedgerReason::Queue | LedgerReason::Capacity) {
            out.push(span);
            continue;
        }
        let mut at = span.from;
        for (from, until, why) in stopped {
            let (from, until) = (from.as_millisecond().max(at), until.as_millisecond().min(span.until));
            if from >= until {
                continue;
            }
            if from > at {
                out.push(LedgerSpan { from: at, until: from, ..span.clone() });
            }
            out.push(LedgerSpan { from, until, reason: LedgerReason::FlowStopped, about: Some(why.clone()) });
            at = until;
        }
        if at < span.until {
            out.push(LedgerSpan { from: at, ..span });
        }
    }
    out
}

/// Milliseconds by reason and by what it is about, of one order or of many. Only what passed in its range counts.
#[derive(Clone, Debug)]
pub struct LedgerSums {
    from: i64,
    until: i64,
    by_entry: BTreeMap<LedgerEntry, i64>,
}

impl LedgerSums {
    /// Sums of the time from the first moment up to the second.
    #[must_use]
    pub fn within(from: Timestamp, until: Timestamp) -> Self {
        Self { from: from.as_millisecond(), until: until.as_millisecond(), by_entry: BTreeMap::new() }
    }

    /// Adds the times of an order.
    pub fn add(&mut self, spans: &[LedgerSpan]) {
        for span in spans {
            let ms = span.until.min(self.until) - span.from.max(self.from);
            if ms > 0 {
                *self.by_entry.entry((span.reason, span.about.clone())).or_default() += ms;
            }
        }
    }

    /// Sum of all milliseconds.
    #[must_use]
    pub fn total(&self) -> i64 {
        self.by_entry.values().sum()
    }

    /// The longest times first, `most` of them, and behind them what is left of each reason, about nothing by name.
    #[must_use]
    pub fn shares(self, most: usize) -> Vec<(LedgerEntry, i64)> {
        let mut shares: Vec<(LedgerEntry, i64)> = self.by_entry.into_iter().collect();
        shares.sort_by_key(|(_, ms)| std::cmp::Reverse(*ms));
        let mut rest: BTreeMap<LedgerReason, i64> = BTreeMap::new();
        for ((reason, _), ms) in shares.drain(most.min(shares.len())..) {
            *rest.entry(reason).or_default() += ms;
        }
        for (reason, ms) in rest {
            match shares.iter_mut().find(|(entry, _)| *entry == (reason, None)) {
                Some((_, sum)) => *sum += ms,
                None => shares.push(((reason, None), ms)),
            }
        }
        shares
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test may panic")]

    use proptest::prelude::*;

    use super::*;

    fn at(ms: i64) -> Timestamp {
        Timestamp::from_millisecond(1_000_000 + ms).unwrap()
    }

    fn shown(spans: &[LedgerSpan]) -> Vec<(i64, i64, &'static str)> {
        spans
            .iter()
            .map(|span| (span.from - 1_000_000, span.until - 1_000_000, span.reason.as_str()))
            .collect()
    }

    fn stage(ready: i64, started: i64, calls: &[(i64, i64)], until: i64, then: LedgerReason) -> LedgerStage {
        LedgerStage {
            ready_at: Some(at(ready)),
            started_at: at(started),
            calls: calls.iter().map(|(from, until)| (at(*from), at(*until), "h".to_owned())).collect(),
            until: at(until),
            then: (then, None),
        }
    }

    const CAPACITY: LedgerEntry = (LedgerReason::Capacity, None);

    fn summed(spans: &[LedgerSpan], from: i64, until: i64) -> LedgerSums {
        let mut sums = LedgerSums::within(at(from), at(until));
        sums.add(spans);
        sums
    }

    #[test]
    fn ord_32_sums_of_many_orders_count_their_range_only_and_lose_nothing_where_they_are_cut() {
        let queue = |name: &str| (LedgerReason::Queue, Some(name.to_owned()));
        let mut sums = LedgerSums::within(at(100), at(200));
        for (from, until, (reason, about)) in [
            (0, 150, queue("a")),
            (150, 300, queue("b")),
            (90, 120, queue("c")),
            (120, 130, CAPACITY),
            (200, 900, queue("d")),
        ] {
            let (from, until) = (at(from).as_millisecond(), at(until).as_millisecond());
            sums.add(&[LedgerSpan { from, until, reason, about }]);
        }
        assert_eq!(sums.total(), 130);
        let all = [(queue("a"), 50), (queue("b"), 50), (queue("c"), 20), (CAPACITY, 10)];
        assert_eq!(sums.clone().shares(9), all);
        assert_eq!(
            sums.clone().shares(1),
            [(queue("a"), 50), ((LedgerReason::Queue, None), 70), (CAPACITY, 10)]
        );
        assert_eq!(sums.shares(0), [((LedgerReason::Queue, None), 120), (CAPACITY, 10)]);
    }

    #[test]
    fn ord_32_stages_split_into_calls_and_work_and_waits_have_their_reasons() {
        let mut ledger = OrderLedger::new(at(0), at(1000), (LedgerReason::Postponed, None));
        ledger.stage(
            stage(100, 110, &[(120, 150), (140, 160)], 200, LedgerReason::Sleep),
            (LedgerReason::Queue, None),
        );
        ledger.stage(stage(700, 705, &[], 710, LedgerReason::Ended), CAPACITY);
        let spans = ledger.finish();
        assert_eq!(
            shown(&spans),
            [
                (0, 100, "postponed"),
                (100, 110, "queue"),
                (110, 120, "work"),
                (120, 160, "call"),
                (160, 200, "work"),
                (200, 700, "sleep"),
                (700, 705, "capacity"),
                (705, 1000, "work"),
            ]
        );
        assert_eq!(summed(&spans, 0, 1000).shares(1)[0], ((LedgerReason::Sleep, None), 500));
    }

    #[test]
    fn ord_32_a_stop_of_the_flow_takes_its_part_of_a_wait_and_of_nothing_else() {
        let mut ledger = OrderLedger::new(at(0), at(100), CAPACITY);
        ledger.stage(stage(0, 60, &[], 100, LedgerReason::Ended), CAPACITY);
        let stopped = [(at(-50), at(10), "by hand".to_owned()), (at(40), at(80), "away".to_owned())];
        let spans = with_stops(ledger.finish(), &stopped);
        assert_eq!(
            shown(&spans),
            [(0, 10, "flow_stopped"), (10, 40, "capacity"), (40, 60, "flow_stopped"), (60, 100, "work")]
        );
    }

    proptest! {
        #[test]
        fn ord_32_spans_follow_each_other_and_add_up_whatever_the_clocks_say(
            end in 0i64..2000,
            stages in prop::collection::vec((0i64..2000, 0i64..2000, 0i64..2000, 0i64..2000, 0i64..2000), 0..8),
            stops in prop::collection::vec((0i64..1000, 0i64..1000), 0..4),
        ) {
            let mut ledger = OrderLedger::new(at(0), at(end), CAPACITY);
            for (ready, started, from, until, ended) in stages {
                ledger.stage(stage(ready, started, &[(from, until)], ended, LedgerReason::Wait), CAPACITY);
            }
            let (mut stopped, mut last) = (Vec::new(), 0);
            for (pause, length) in stops {
                stopped.push((at(last + pause), at(last + pause + length), String::new()));
                last += pause + length;
            }
            let spans = with_stops(ledger.finish(), &stopped);
            let mut reached = 0;
            for (from, until, _) in shown(&spans) {
                prop_assert!(from == reached && until > from);
                reached = until;
            }
            prop_assert_eq!(reached, end);
            prop_assert_eq!(summed(&spans, 0, end).total(), end);
            let (from, until) = (end / 3, end / 2);
            prop_assert_eq!(summed(&spans, from, until).total(), until - from, "every millisecond of a range has its reason");
        }
    }
}
