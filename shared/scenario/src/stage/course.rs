//! The course of an order through its states: what it is woken for, what it enters, where it stands.

use std::borrow::Cow;
use std::str::FromStr as _;

use jiff::{SignedDuration, Timestamp};
use pagurus_domain::classes::{PROCESS_TIMEOUT, SCENARIO_INCOMPLETE, SCENARIO_LOOP};
use pagurus_domain::order::stage::{Then, Wake};
use pagurus_domain::order::{OrderError, ScenarioStatus, Status};
use serde_json::Value;

use super::super::source::reader::{LONGEST_CALL, LONGEST_DURATION};
use super::super::{Action, Event, HttpAction, ScenarioKind, State, StateId, StateKind, TerminalOutcome};
use super::snapshot::{ActionHold, Answers, EntryPoint, FailurePoint, Polling, Savepoint};
use super::{Need, StageRun, StageTurn, Transition, error_value, later};

/// A held order rests again for the time for which it has been held, divided by this.
const LOOKS_AGAIN_AFTER: i64 = 8;
/// Longest rest of a held order whose system does not say when it is to be called again.
const LONGEST_HOLD: SignedDuration = SignedDuration::from_secs(30);

impl StageRun {
    /// Does one step of the present state.
    pub(super) fn go_on(&mut self, turn: &StageTurn<'_>) -> Option<Need> {
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
    pub(super) fn work(&mut self, turn: &StageTurn<'_>) -> Option<Need> {
        self.held = self.cursor.end_hold(turn.now);
        if let Some(action) = self.present(turn) {
            if action.asks_the_world() && !self.has_time_for(action, turn) {
                self.go_on_in_another_stage(turn);
                return None;
            }
            return self.perform(action, turn);
        }
        self.leave_frame(Ok(()), turn);
        None
    }

    /// True if the stage may last as long as the calls of this action. Those that it begins with are made in any case: no
    /// stage has more time for them.
    fn has_time_for(&self, action: &Action, turn: &StageTurn<'_>) -> bool {
        let has_room = |http: &HttpAction| match http.timeout.as_ref() {
            None => turn.has_room_for(None),
            // What is computed of an element is known when that is called.
            Some(own) => self.lapse(own, LONGEST_CALL, turn).map_or(true, |own| turn.has_room_for(Some(own))),
        };
        let have_room = match action {
            Action::Http(http) => has_room(http),
            Action::Parallel(steps) => steps.iter().all(has_room),
            Action::Each(each) => each.actions.iter().all(|action| match action {
                Action::Http(http) => has_room(http),
                _ => true,
            }),
            _ => true,
        };
        !turn.is_over() && (have_room || !self.has_asked)
    }

    /// The actions of the frame are over: nothing is left to do, or one has failed for good. What that
    /// means is all that the handling of a call and the order's own course do not have in common.
    pub(super) fn leave_frame(
        &mut self,
        outcome: Result<(), (OrderError, Option<FailurePoint>)>,
        turn: &StageTurn<'_>,
    ) {
        match (self.cursor.handling.is_some(), outcome) {
            (true, Ok(())) => self.finish_call(turn),
            (true, Err((error, _))) => self.fail_call(error, turn),
            (false, Ok(())) if self.cursor.operation().is_some() => self.end_part(turn),
            (false, Ok(())) => self.raise(Event::Success, turn),
            (false, Err((mut error, point))) => {
                // What was not sent will not be answered: no later wait is for it.
                if let Some(request) = self.present(turn).and_then(Action::request) {
                    self.cursor.drop_requests(request);
                }
                if let Some(enter) = self.entry(turn) {
                    error.message = format!("operation `{}`: {}", enter.path(), error.message);
                }
                self.note_failure(error, turn);
                self.cursor.failed = point;
                self.raise(Event::Fail, turn);
            }
        }
    }

    /// Notes the error, which is reported if the order ends as failed.
    pub(super) fn note_failure(&mut self, mut error: OrderError, turn: &StageTurn<'_>) {
        let repeated = self.cursor.frame().retry.iter().map(|retry| &retry.cycle.class);
        error.exhausted |= repeated.into_iter().any(|class| Some(class.as_str()) == error.class.as_deref());
        let class = error.class_word();
        self.end.log(turn.now, format!("failed ({class}): {}", error.message));
        error.state = Some(turn.scenario.state(self.state).name.clone());
        let error = error.storable();
        self.context.error = Some(error_value(&error));
        (self.cursor.error, self.cursor.failed) = (Some(error), None);
    }

    /// Rests before the action under the cursor, which was not carried out. The longer it has been held there, the later it
    /// looks again: an order of many costs little, however long the system is away.
    pub(super) fn hold(&mut self, until: Timestamp, system: String, turn: &StageTurn<'_>) {
        let now = turn.now;
        let first = self.held.take().filter(|hold| hold.system.is_some()).map(|hold| hold.first);
        // A repeat was counted when its call was made for the first time.
        if first.is_none() && self.cursor.frame().retry.is_none() {
            self.sample_held(&system);
        }
        let first = first.unwrap_or(now);
        let rest = SignedDuration::from_secs(now.duration_since(first).as_secs() / LOOKS_AGAIN_AFTER);
        let rest = rest.min(LONGEST_HOLD);
        let until = now.checked_add(rest).map_or(until, |rested| rested.max(until));
        // Its request was noted last. What an earlier attempt has sent may still be answered.
        if self.cursor.frame().retry.is_none() && self.present(turn).and_then(Action::request).is_some() {
            self.cursor.requests.pop();
        }
        self.cursor.frame_mut().held = Some(ActionHold { since: now, first, system: Some(system) });
        self.end.over(Then::Hold { until });
    }

    /// Ends a stage that has lasted as long as one of a sequential order may: the rest gets a stage of its own.
    fn go_on_in_another_stage(&mut self, turn: &StageTurn<'_>) {
        self.cursor.frame_mut().held = Some(ActionHold { since: turn.now, first: turn.now, system: None });
        self.end.over(Then::Hold { until: turn.now });
    }

    fn begin_polling(&mut self, state: &State, turn: &StageTurn<'_>) {
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

    /// Takes the event that woke the order.
    pub(super) fn leave_rest(&mut self, wake: Wake, turn: &StageTurn<'_>) -> Option<Need> {
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
        if self.cursor.operation().is_some()
            && matches!(self.present(turn), Some(Action::Wait { .. } | Action::Sleep(_)))
        {
            self.leave_rest_in_operation(wake, turn);
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

    /// Ends an order whose whole time is over, with all that it waited for and repeated.
    fn outlive(&mut self, turn: &StageTurn<'_>) {
        self.close_operations(turn);
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

    /// Marks the open requests as those of a stage that is over: the next `wait` is for its own requests
    /// first.
    pub(super) fn requests_are_earlier(&mut self) {
        self.cursor.requests.iter_mut().for_each(|request| request.earlier = true);
    }

    /// Returns the state whose actions run; `None` while those of a call do.
    pub(super) fn own_state<'t>(&self, turn: &StageTurn<'t>) -> Option<&'t State> {
        self.cursor.handling.is_none().then(|| turn.scenario.state(self.state))
    }

    /// The action under the cursor.
    pub(super) fn present<'t>(&self, turn: &StageTurn<'t>) -> Option<&'t Action> {
        self.actions(turn).get(self.cursor.frame().action)
    }

    /// The actions of the frame.
    pub(super) fn actions<'t>(&self, turn: &StageTurn<'t>) -> &'t [Action] {
        match &self.cursor.handling {
            Some(call) => turn.scenario.handler(&call.name).map_or(&[], |handler| &handler.actions),
            None => &turn.scenario.state(self.state).actions,
        }
    }

    /// Returns the moment from which a sequential order has been holding its queue in retries, as if all of
    /// them had been one piece (ORD-12); `None` if it holds no queue.
    pub(super) fn holding_since(&self, turn: &StageTurn<'_>) -> Option<Timestamp> {
        (turn.facts.holds_queue && !self.end.released).then(|| self.cursor.retrying_since(turn.now))
    }

    /// Notes that the queue is given up.
    pub(super) fn released(&mut self) {
        self.end.released = true;
        self.context.release_queue();
        self.cursor.advance();
    }

    pub(super) fn enter(&mut self, state: StateId, turn: &StageTurn<'_>) {
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

    /// Restores what the order had at its savepoint.
    pub(super) fn restore(&mut self, saved: Savepoint) {
        self.context.vars = saved.vars.into_map();
        let Answers { last, named } = saved.answers;
        (self.context.response, self.context.responses) = (last, named);
    }

    pub(super) fn raise(&mut self, event: Event, turn: &StageTurn<'_>) {
        let from = turn.scenario.state(self.state);
        let Some(to) = from.target_of(event) else {
            let message = format!("state `{}` has no transition for event `{event}`", from.name);
            return self.end.over(Then::failed(OrderError::new(SCENARIO_INCOMPLETE, message)));
        };
        self.go(event.as_str().into(), to, turn);
    }

    /// Takes an event of the scenario's own that a script raised (SCN-16).
    pub(super) fn raise_named(&mut self, name: String, turn: &StageTurn<'_>) {
        let state = self.own_state(turn).filter(|_| self.cursor.operations.is_empty());
        match state.and_then(|state| state.named_event(&name)) {
            Some(to) => self.go(name.into(), to, turn),
            None => {
                let message = match state {
                    Some(state) => format!("state `{}` has no transition for event `{name}`", state.name),
                    None => {
                        format!(
                            "event `{name}` is raised in a call or an operation, which does not move the order"
                        )
                    }
                };
                self.fail(OrderError::new(SCENARIO_INCOMPLETE, message), turn);
            }
        }
    }

    /// Moves the order to another state.
    pub(super) fn go(&mut self, event: Cow<'static, str>, to: StateId, turn: &StageTurn<'_>) {
        self.close_operations(turn);
        let (from, into) = (turn.scenario.state(self.state), turn.scenario.state(to));
        if self.is_got_over(&event, to, turn) {
            (self.cursor.error, self.context.error, self.cursor.failed) = (None, None, None);
        }
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
            return self.end.over(Then::failed(OrderError::new(SCENARIO_LOOP, message)));
        }
        self.enter(to, turn);
        self.forget_failure_point(turn);
        self.is_unsaved |= turn.scenario.state(to).entry_point;
    }

    /// True if the order got over its last failure, so that it led to nothing that comes from here on (ORD-20): after a success it
    /// can still reach its target, or a script or a caller decides where it could. What undoes its work does not.
    fn is_got_over(&self, event: &str, to: StateId, turn: &StageTurn<'_>) -> bool {
        let reaches_target = |state| turn.scenario.distance_to_target(state).is_some();
        match Event::from_str(event) {
            Ok(Event::Success) => reaches_target(to),
            Ok(_) => false,
            Err(_) => reaches_target(self.state),
        }
    }

    fn arrive(&mut self, state: &State, turn: &StageTurn<'_>) {
        let target = turn.scenario.targets.contains(&self.state);
        let (status, error) = match state.outcome {
            TerminalOutcome::Success => (Status::Success, None),
            TerminalOutcome::Fail => (Status::Fail, self.cursor.error.clone()),
        };
        let scenario_status = if target { ScenarioStatus::Target } else { ScenarioStatus::Failed };
        self.end.over(Then::End { status, scenario_status, error });
    }
}
