//! The course of an order through its states: what it is woken for, what it enters, where it stands.

use std::borrow::Cow;

use jiff::Timestamp;
use serde_json::Value;

use super::super::source::reader::LONGEST_DURATION;
use super::super::{Action, Event, ScenarioKind, State, StateId, StateKind, TerminalOutcome};
use super::failing::Failing;
use super::snapshot::{ActionHold, Answers, EntryPoint, Polling, Savepoint};
use super::{Need, Run, Then, Transition, Turn, Wake, error_value, later};
use crate::order::{OrderError, PROCESS_TIMEOUT, ScenarioStatus, Status};

impl Run {
    /// One step of the present state.
    pub(super) fn go_on(&mut self, turn: &Turn<'_>) -> Option<Need> {
        let state = turn.scenario.state(self.state);
        let until = self.rest_until.take_if(|_| state.is_rest()).unwrap_or(turn.now);
        match state.kind {
            StateKind::Terminal => self.arrive(state, turn),
            StateKind::Sleeping => self.end.over(Then::Sleep { until }),
            StateKind::Waiting => self.end.over(Then::Wait { until, requests: self.awaited_requests() }),
            StateKind::Polling if self.cursor.visit.poll.is_none() => self.begin_polling(state, turn),
            StateKind::Plain | StateKind::Polling => return self.work(turn),
        }
        None
    }

    /// Carries out the next action of the frame, or leaves the frame after its last.
    pub(super) fn work(&mut self, turn: &Turn<'_>) -> Option<Need> {
        self.cursor.end_hold(turn.now);
        if let Some(action) = self.present(turn) {
            if action.asks_the_world() && turn.is_over() {
                self.go_on_in_another_stage(turn);
                return None;
            }
            return self.perform(action, turn);
        }
        self.leave_frame(Ok(()), turn);
        None
    }

    /// The actions of the frame are over: nothing is left to do, or one has failed for good. What that
    /// means is all that the handling of a call and the order's own course do not have in common.
    pub(super) fn leave_frame(&mut self, outcome: Result<(), OrderError>, turn: &Turn<'_>) {
        match (self.cursor.handling.is_some(), outcome) {
            (true, Ok(())) => self.finish_call(turn),
            (true, Err(error)) => self.fail_call(error, turn),
            (false, Ok(())) => self.raise(Event::Success, turn),
            (false, Err(error)) => {
                // What was not sent will not be answered: no later wait is for it.
                if let Some(request) = self.present(turn).and_then(Action::request) {
                    self.cursor.requests.retain(|open| open.name != request);
                }
                self.note_failure(error, turn);
                self.raise(Event::Fail, turn);
            }
        }
    }

    /// The error is told if the order ends as failed.
    pub(super) fn note_failure(&mut self, error: OrderError, turn: &Turn<'_>) {
        let class = error.class.as_deref().unwrap_or("unclassified");
        self.end.log(turn.now, format!("failed ({class}): {}", error.message));
        let error = error.storable();
        self.context.error = Some(error_value(&error));
        self.cursor.error = Some(error);
    }

    /// The action has failed for good.
    pub(super) fn fail(&mut self, error: impl Failing, turn: &Turn<'_>) {
        let error = error.told(self, turn);
        self.leave_frame(Err(error), turn);
    }

    /// The order rests before the action under the cursor, which was not carried out.
    pub(super) fn hold(&mut self, until: Timestamp, system: String, turn: &Turn<'_>) {
        // Its request was noted last. What an earlier attempt has sent may still be answered.
        if self.cursor.frame().retry.is_none() && self.present(turn).and_then(Action::request).is_some() {
            self.cursor.requests.pop();
        }
        self.cursor.frame_mut().held = Some(ActionHold { since: turn.now, system: Some(system) });
        self.end.over(Then::Hold { until });
    }

    /// The stage has lasted as long as one of a sequential order may: what comes next has a stage of its own.
    fn go_on_in_another_stage(&mut self, turn: &Turn<'_>) {
        self.cursor.frame_mut().held = Some(ActionHold { since: turn.now, system: None });
        self.end.over(Then::Hold { until: turn.now });
    }

    fn begin_polling(&mut self, state: &State, turn: &Turn<'_>) {
        // Only polling states come here, and each has its rhythm.
        let Some(poll) = &state.poll else { return self.raise(Event::Success, turn) };
        let delay = self.lapse_or_zero(&poll.delay, LONGEST_DURATION, turn);
        let timeout = self.lapse(&poll.timeout, LONGEST_DURATION, turn);
        let (delay, timeout) = match delay.and_then(|delay| Ok((delay, timeout?))) {
            Ok(rhythm) => rhythm,
            Err(error) => return self.fail(error, turn),
        };
        self.cursor.visit.poll = Some(Polling { ends_at: later(turn.now, timeout), attempt: 1 });
        if !delay.is_zero() {
            // No attempt comes after the end, the first no more than the last.
            self.end.over(Then::Poll { at: later(turn.now, delay.min(timeout)) });
        }
    }

    /// What the order was woken for.
    pub(super) fn leave_rest(&mut self, wake: Wake, turn: &Turn<'_>) -> Option<Need> {
        self.resting = None;
        if wake == Wake::Call {
            self.rest_again(turn);
            return None;
        }
        self.cursor.main.rest = None;
        if wake == Wake::ProcessTimeout {
            self.outlive(turn);
            return None;
        }
        if self.cursor.asynchronous.as_ref().is_some_and(|retry| retry.from_entry_point) {
            self.repeat_from_entry_point(turn);
            return None;
        }
        match (turn.scenario.state(self.state).kind, wake) {
            (StateKind::Sleeping, _) => {
                self.requests_are_earlier();
                self.raise(Event::Timeout, turn);
            }
            (StateKind::Waiting, Wake::Callback) => self.leave_wait(Event::Callback, turn),
            (StateKind::Waiting, _) => self.leave_wait(Event::Timeout, turn),
            (StateKind::Plain, _) if self.cursor.visit.awaiting.is_some() => {
                return self.take_awaited(wake, turn);
            }
            // A retry and a polling go on at the action under the cursor.
            (StateKind::Plain | StateKind::Polling | StateKind::Terminal, _) => {}
        }
        None
    }

    /// The time of the whole order is over. What it waited for, and what it repeated, is over with it.
    fn outlive(&mut self, turn: &Turn<'_>) {
        self.cursor.visit.awaiting = None;
        self.cursor.main.retry = None;
        self.cursor.main.held = None;
        self.requests_are_earlier();
        self.cursor.forget_async_retry();
        let error = OrderError::new(PROCESS_TIMEOUT, "the order outlived its process time-out");
        self.note_failure(error.clone(), turn);
        match turn.scenario.state(self.state).target_of(Event::ProcessTimeout) {
            Some(to) => self.go(Event::ProcessTimeout.as_str().into(), to, turn),
            // Another version of the scenario, which says nothing of it.
            None => self.end.over(Then::failed(error)),
        }
    }

    /// What was asked so far belongs to a stage that is over: the next `wait` is for its own requests
    /// first.
    pub(super) fn requests_are_earlier(&mut self) {
        self.cursor.requests.iter_mut().for_each(|request| request.earlier = true);
    }

    /// The state whose actions run; none while those of a call do.
    pub(super) fn own_state<'t>(&self, turn: &Turn<'t>) -> Option<&'t State> {
        self.cursor.handling.is_none().then(|| turn.scenario.state(self.state))
    }

    /// The action under the cursor.
    pub(super) fn present<'t>(&self, turn: &Turn<'t>) -> Option<&'t Action> {
        self.actions(turn).get(self.cursor.frame().action)
    }

    /// The actions of the frame.
    pub(super) fn actions<'t>(&self, turn: &Turn<'t>) -> &'t [Action] {
        match &self.cursor.handling {
            Some(call) => turn.scenario.handler(&call.name).map_or(&[], |handler| &handler.actions),
            None => &turn.scenario.state(self.state).actions,
        }
    }

    /// The moment from which a sequential order has been holding its queue in retries, as if all of
    /// them had been one piece (ORD-12); none where it holds no queue.
    pub(super) fn holding_since(&self, turn: &Turn<'_>) -> Option<Timestamp> {
        (turn.facts.holds_queue && !self.end.released).then(|| self.cursor.retrying_since(turn.now))
    }

    /// The queue is given up.
    pub(super) fn released(&mut self) {
        self.end.released = true;
        self.context.release_queue();
        self.cursor.advance();
    }

    pub(super) fn enter(&mut self, state: StateId, turn: &Turn<'_>) {
        self.state = state;
        let state = turn.scenario.state(state);
        self.cursor.enter(state.name.clone());
        // The state that an operator named goes for an entry point until another one is visited.
        let named = self.cursor.entry_point.as_ref().is_some_and(|entry| entry.state == state.name);
        if state.entry_point || named {
            let savepoint = (turn.scenario.kind == ScenarioKind::Operation).then(|| self.savepoint());
            let entry = EntryPoint { savepoint, ..EntryPoint::new(&state.name, self.cursor.visit.number) };
            self.cursor.entry_point = Some(entry);
            self.end.entry_point = Some(state.name.clone());
        }
    }

    fn savepoint(&self) -> Box<Savepoint> {
        let (last, named) = (self.context.response.clone(), self.context.responses.clone());
        let vars = Value::Object(self.context.vars.clone()).into();
        Box::new(Savepoint { vars, answers: Answers { last, named } })
    }

    /// The order has again what it had at its savepoint.
    pub(super) fn restore(&mut self, saved: Savepoint) {
        self.context.vars = saved.vars.into_map();
        let Answers { last, named } = saved.answers;
        (self.context.response, self.context.responses) = (last, named);
    }

    pub(super) fn raise(&mut self, event: Event, turn: &Turn<'_>) {
        let from = turn.scenario.state(self.state);
        let Some(to) = from.target_of(event) else {
            let message = format!("state `{}` has no transition for event `{event}`", from.name);
            return self.end.over(Then::failed(OrderError::new("scenario.incomplete", message)));
        };
        self.go(event.as_str().into(), to, turn);
    }

    /// A script raises an event of the scenario's own (SCN-16).
    pub(super) fn raise_named(&mut self, name: String, turn: &Turn<'_>) {
        let state = self.own_state(turn);
        match state.and_then(|state| state.named_event(&name)) {
            Some(to) => self.go(name.into(), to, turn),
            None => {
                let message = match state {
                    Some(state) => format!("state `{}` has no transition for event `{name}`", state.name),
                    None => format!("event `{name}` is raised in a call, which does not move the order"),
                };
                self.fail(OrderError::new("scenario.incomplete", message), turn);
            }
        }
    }

    /// Moves the order to another state.
    pub(super) fn go(&mut self, event: Cow<'static, str>, to: StateId, turn: &Turn<'_>) {
        let (from, into) = (turn.scenario.state(self.state), turn.scenario.state(to));
        // The repeat of what failed asynchronously does it again.
        if event != Event::Retry.as_str() {
            self.save_so_far(turn);
        }
        let passed = self.cursor.asynchronous.as_ref().is_some_and(|retry| retry.state == from.name);
        // From another entry point on, what failed before it is not repeated any more.
        if event != Event::Retry.as_str() && (passed || into.entry_point) {
            self.cursor.forget_async_retry();
        }
        // The repeat of an operation passes states that had gone well before.
        self.cursor.come_to(self.cursor.visit.number + 1, 0);
        let (from, into) = (from.name.clone(), into.name.clone());
        let said_before = self.end.log.len();
        self.end.transitions.push(Transition { from, event, to: into, at: turn.now, said_before });
        self.moves += 1;
        let bound = turn.settings.bounds.max_transitions_per_stage;
        if self.moves > bound {
            let message = format!("more than {bound} transitions without a suspension");
            return self.end.over(Then::failed(OrderError::new("scenario.loop", message)));
        }
        self.enter(to, turn);
        self.is_unsaved |= turn.scenario.state(to).entry_point;
    }

    fn arrive(&mut self, state: &State, turn: &Turn<'_>) {
        let target = turn.scenario.targets.contains(&self.state);
        let (status, error) = match state.outcome {
            TerminalOutcome::Success => (Status::Success, None),
            TerminalOutcome::Fail => (Status::Fail, self.cursor.error.clone()),
        };
        let scenario_status = if target { ScenarioStatus::Target } else { ScenarioStatus::Failed };
        self.end.over(Then::End { status, scenario_status, error });
    }
}
