//! End of the rest of an order: a timer, an answer, a call, or the time of the whole order.

use jiff::Timestamp;
use pagurus_domain::classes::{CALL_ENDED, PROCESS_TIMEOUT};
use pagurus_domain::id::RequestId;
use pagurus_domain::order::stage::{Then, Wake};
use pagurus_domain::order::{OrderError, ScenarioStatus, Status};
use pagurus_scenario::stage::{self, Snapshot, StageEnd};

use super::super::{Moment, TrialCall, TrialEnd};
use super::{Play, between, later};

impl Play<'_> {
    /// Event that wakes the order after this stage, with its time.
    pub(super) fn next_wake(&mut self, end: &StageEnd) -> (Wake, Timestamp) {
        let (wake, due) = match &end.then {
            Then::Sleep { until } => {
                self.tell(format!("sleeps until {until:.3}"));
                self.released = false;
                (Wake::Timer, *until)
            }
            Then::Retry { at, error } => {
                let class = error.class_word();
                self.tell(format!("retries at {at:.3} ({class}: {})", error.message));
                (Wake::Retry, *at)
            }
            Then::Poll { at } => {
                self.tell(format!("polls again at {at:.3}"));
                (Wake::Poll, *at)
            }
            Then::Wait { until, requests } => {
                self.tell(format!("waits until {until:.3}"));
                self.wait(*until, requests)
            }
            Then::Hold { until } => (Wake::Timer, *until),
            Then::End { .. } => (Wake::Start, self.now),
        };
        self.call_before(wake, due, &end.snapshot)
    }

    fn wait(&self, until: Timestamp, requests: &[RequestId]) -> (Wake, Timestamp) {
        // A timer that was blocked while a call was handled fires late, and until then answers count.
        let until = until.max(self.now);
        match self.requests.all_answered_at(requests, self.now) {
            Some(last) if last <= until => (Wake::Callback, last),
            _ => (Wake::Timer, until),
        }
    }

    /// Returns the wake by a call, if one comes before the rest is over; calls come before timers. While
    /// another call is in hand, it waits its turn.
    fn call_before(&self, wake: Wake, due: Timestamp, snapshot: &Snapshot) -> (Wake, Timestamp) {
        if snapshot.handling.is_some() {
            return (wake, due);
        }
        let next = self.open_calls(snapshot).map(|(_, at, _)| at).next();
        match next.map(|at| at.max(self.now)) {
            Some(at) if at <= due => (Wake::Call, at),
            _ => (wake, due),
        }
    }

    /// Calls that nobody has taken up yet: their numbers, times, and what they bring.
    fn open_calls(&self, snapshot: &Snapshot) -> impl Iterator<Item = (i64, Timestamp, &TrialCall)> {
        let taken: Vec<i64> = snapshot.calls_in_hand().collect();
        let calls = self.trial.calls.iter().zip(&self.played.answers).zip(0_i64..);
        calls.filter_map(move |((call, answer), no)| {
            let open = answer.is_none() && !taken.contains(&no);
            open.then(|| (no, later(self.trial.now, call.after), call))
        })
    }

    pub(super) fn waiting_calls(&self, snapshot: &Snapshot) -> Vec<stage::Call> {
        let come = self.open_calls(snapshot).filter(|(_, at, _)| *at <= self.now);
        come.map(|(no, _, call)| stage::Call { no, name: call.name.clone(), body: call.body.clone().into() })
            .collect()
    }

    /// Ends the calls that came before the order ended, and that no stage has handled.
    pub(super) fn end_calls(&mut self) {
        if self.played.end.is_none() {
            return;
        }
        let over = self.elapsed();
        let open = self.trial.calls.iter().zip(&mut self.played.answers);
        for (_, answer) in open.filter(|(call, answer)| answer.is_none() && call.after <= over) {
            *answer = Some(Err(OrderError::new(CALL_ENDED, "the order ended before the call was handled")));
        }
    }

    /// Goes on to the time at which the order wakes; what comes by then is there.
    pub(super) fn advance(&mut self, due: Timestamp, wake: Wake, then: &Then) {
        self.now = due.max(self.now);
        for came in self.requests.deliver(self.now) {
            let late = if came.too_late { " comes too late" } else { "" };
            self.tell_at(came.at, format!("callback `{}`{late}", came.name));
        }
        // What comes after the time-out comes too late: the engine keeps it, but shows it to nobody.
        if let (Then::Wait { requests, .. }, Wake::Timer) = (then, wake) {
            self.requests.time_out(requests, self.now);
            self.give_up(false);
        }
    }

    /// Ends an order that outlived its time, at rest or in a stage whose end is never written.
    pub(super) fn outlive(&mut self, last: Snapshot) -> TrialEnd {
        self.now = self.deadline.unwrap_or(self.now);
        self.give_up_all();
        let over = self.elapsed();
        // The lines of the present stage are not stored, except for its requests, which were made.
        let lines = self.played.story.split_off(self.begin.min(self.played.story.len()));
        let requests = lines.into_iter().zip(self.begin..).filter(|(_, at)| self.asked.contains(at));
        let requests: Vec<Moment> = requests
            .map(|(moment, _)| match moment.text.rsplit_once(": ") {
                // The answer to this one was nobody's any more.
                Some((line, _)) if moment.after > over => Moment::new(over, format!("{line}: broken off")),
                _ => moment,
            })
            .collect();
        self.played.story.extend(requests);
        let vars = last.known_vars();
        let step =
            last.visit.state.unwrap_or_else(|| self.scenario.state(self.scenario.initial).name.clone());
        let error = OrderError::new(PROCESS_TIMEOUT, "the order outlived its process time-out");
        self.tell(format!("the order ends `fail` in `{step}`: {}", error.message));
        TrialEnd {
            status: Status::Fail,
            scenario_status: ScenarioStatus::Failed,
            step,
            error: Some(error),
            result: last.result,
            message: last.message,
            vars,
            duration: between(self.trial.now, self.now),
        }
    }
}
