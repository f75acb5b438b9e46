//! The course of an order through its states: what it is woken for, what it enters, where it stands.

use std::borrow::Cow;
use std::time::Duration;

use jiff::Timestamp;

use super::super::{Action, Event, Outcome, Scenario, State, StateId, StateKind};
use super::snapshot::{EntryPoint, Polling};
use super::{Need, Stage, Then, Wake, later};
use crate::order::{Mode, OrderError, ScenarioStatus, Status};
use crate::retry::Cycle;

impl Stage {
    /// One step of the present state.
    pub(super) fn go_on(&mut self, now: Timestamp) -> Option<Need> {
        let scenario = self.scenario.clone();
        let state = scenario.state(self.state);
        match state.kind {
            StateKind::Terminal => self.arrive(state),
            StateKind::Sleeping => {
                let until = self.rest_until.take().unwrap_or(now);
                self.end.over(Then::Sleep { until });
            }
            StateKind::Waiting => {
                let until = self.rest_until.take().unwrap_or(now);
                self.end.over(Then::Wait { until, requests: self.awaited_requests() });
            }
            StateKind::Polling if self.cursor.poll.is_none() => self.begin_polling(state, now),
            StateKind::Plain | StateKind::Polling => match state.actions.get(self.cursor.action) {
                None => self.raise(Event::Success, now),
                Some(action) => return self.perform(action, now),
            },
        }
        None
    }

    pub(super) fn begin_polling(&mut self, state: &State, now: Timestamp) {
        // Only polling states come here, and each has its rhythm.
        let Some(poll) = state.poll else { return self.raise(Event::Success, now) };
        self.cursor.poll = Some(Polling { ends_at: later(now, poll.timeout), attempt: 1 });
        if !poll.delay.is_zero() {
            // No attempt comes after the end, the first no more than the last.
            self.end.over(Then::Poll { at: later(now, poll.delay.min(poll.timeout)) });
        }
    }

    /// What the order was woken for.
    pub(super) fn leave_rest(&mut self, wake: Wake, now: Timestamp) -> Option<Need> {
        self.resting = None;
        if wake == Wake::Call {
            self.rest_again(now);
            return None;
        }
        self.cursor.rest = None;
        if self.cursor.from_entry_point {
            self.repeat_from_entry_point(now);
            return None;
        }
        match (self.scenario.state(self.state).kind, wake) {
            (StateKind::Sleeping, _) => {
                self.requests_are_earlier();
                self.raise(Event::Timeout, now);
            }
            (StateKind::Waiting, Wake::Callback) => self.leave_wait(Event::Callback, now),
            (StateKind::Waiting, _) => self.leave_wait(Event::Timeout, now),
            (StateKind::Plain, _) if self.cursor.awaiting.is_some() => return self.take_awaited(wake, now),
            // A retry and a polling go on at the action under the cursor.
            (StateKind::Plain | StateKind::Polling | StateKind::Terminal, _) => {}
        }
        None
    }

    /// What was asked so far belongs to a stage that is over: the next `wait` is for its own requests
    /// first.
    pub(super) fn requests_are_earlier(&mut self) {
        self.cursor.requests.iter_mut().for_each(|request| request.earlier = true);
    }

    /// The action under the cursor: of the call that is being handled, or of the state.
    pub(super) fn present<'s>(&self, scenario: &'s Scenario) -> Option<&'s Action> {
        let actions = match &self.cursor.call {
            Some(call) => scenario.handler(&call.name).map_or(&[][..], |handler| &handler.actions),
            None => &scenario.state(self.state).actions,
        };
        actions.get(self.position())
    }

    pub(super) fn position(&self) -> usize {
        self.cursor.call.as_ref().map_or(self.cursor.action, |call| call.action)
    }

    pub(super) fn go_on_at(&mut self, action: usize) {
        match &mut self.cursor.call {
            Some(call) => call.action = action,
            None => self.cursor.action = action,
        }
    }

    pub(super) fn cycle(&self) -> Option<&Cycle> {
        match &self.cursor.call {
            Some(call) => call.cycle.as_ref(),
            None => self.cursor.cycle.as_ref(),
        }
    }

    /// Goes on with this cycle, or ends the one that went on.
    pub(super) fn set_cycle(&mut self, cycle: Option<Cycle>) {
        match &mut self.cursor.call {
            Some(call) => call.cycle = cycle,
            None => {
                if cycle.is_none() {
                    self.cursor.failed_at = None;
                }
                self.cursor.cycle = cycle;
            }
        }
        self.sum_up_retries();
    }

    /// The moment from which a sequential order has been holding its queue in retries, as if all of
    /// them had been one piece (ORD-12); none where it holds no queue.
    pub(super) fn holding_since(&self, now: Timestamp) -> Option<Timestamp> {
        let holds = self.facts.mode == Mode::Sequential && self.facts.queue.is_some();
        (holds && !self.end.is_released()).then(|| self.retrying_since(now))
    }

    fn retrying_since(&self, now: Timestamp) -> Timestamp {
        let before = Duration::from_millis(self.cursor.retried_ms);
        self.cursor.retrying_since.unwrap_or_else(|| now.checked_sub(before).unwrap_or(now))
    }

    /// A retry is due then.
    pub(super) fn note_retry(&mut self, now: Timestamp, due: Timestamp) {
        self.cursor.retrying_since = Some(self.retrying_since(now));
        self.cursor.retrying_until = Some(due);
    }

    /// When the last of the cycles is over, the time that they took is kept as a sum.
    fn sum_up_retries(&mut self) {
        if self.cursor.is_retrying() {
            return;
        }
        let span = (self.cursor.retrying_since.take(), self.cursor.retrying_until.take());
        if let (Some(since), Some(until)) = span {
            self.cursor.retried_ms = u64::try_from(until.duration_since(since).as_millis()).unwrap_or(0);
        }
    }

    pub(super) fn enter(&mut self, state: StateId) {
        self.state = state;
        self.cursor.visit += 1;
        self.cursor.action = 0;
        self.cursor.hand_out = 0;
        self.cursor.poll = None;
        self.cursor.awaiting = None;
        self.cursor.called = None;
        self.cursor.parallel_done.clear();
        let state = self.scenario.state(state);
        self.cursor.state = Some(state.name.clone());
        if state.entry_point {
            self.cursor.entry_point =
                Some(EntryPoint { state: state.name.clone(), visit: self.cursor.visit });
            self.end.entry_point(&state.name);
        }
    }

    pub(super) fn raise(&mut self, event: Event, now: Timestamp) {
        let from = self.scenario.state(self.state);
        let Some(to) = from.target_of(event) else {
            let message = format!("state `{}` has no transition for event `{event}`", from.name);
            self.end.over(Then::End {
                status: Status::Fail,
                scenario_status: ScenarioStatus::Failed,
                error: Some(OrderError::new("scenario.incomplete", message)),
            });
            return;
        };
        self.go(event.as_str().into(), to, now);
    }

    /// Moves the order to another state.
    pub(super) fn go(&mut self, event: Cow<'static, str>, to: StateId, now: Timestamp) {
        let scenario = self.scenario.clone();
        let from = scenario.state(self.state);
        let passed = self.cursor.async_state.as_ref() == Some(&from.name);
        // From another entry point on, what failed before it is not repeated any more.
        if event != Event::Retry.as_str() && (passed || scenario.state(to).entry_point) {
            self.forget_async_cycle();
        }
        // The repeat of an operation passes states that had gone well before.
        if Some((self.cursor.visit + 1, 0)) > self.cursor.failed_at {
            (self.cursor.cycle, self.cursor.failed_at) = (None, None);
            self.sum_up_retries();
        }
        let to_name = self.scenario.state(to).name.clone();
        self.end.transition(&from.name, event, &to_name, now);
        let bound = self.settings.bounds.max_transitions_per_stage;
        if self.end.transitions() > bound {
            self.end.over(Then::End {
                status: Status::Fail,
                scenario_status: ScenarioStatus::Failed,
                error: Some(OrderError::new(
                    "scenario.loop",
                    format!("more than {bound} transitions without a suspension"),
                )),
            });
            return;
        }
        self.enter(to);
    }

    pub(super) fn arrive(&mut self, state: &State) {
        let target = self.scenario.targets.contains(&self.state);
        let (status, error) = match state.outcome {
            Outcome::Success => (Status::Success, None),
            Outcome::Fail => (Status::Fail, self.end.last_error()),
        };
        let scenario_status = if target { ScenarioStatus::Target } else { ScenarioStatus::Failed };
        self.end.over(Then::End { status, scenario_status, error });
    }

    /// The asynchronous cycle is over, and what it kept for its repeats.
    pub(super) fn forget_async_cycle(&mut self) {
        self.cursor.async_cycle = None;
        self.cursor.async_state = None;
        self.cursor.answered.clear();
        self.sum_up_retries();
    }
}
