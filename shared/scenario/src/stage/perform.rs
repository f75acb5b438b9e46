//! Performs one action of a state: at once, or by a request to the world.
//!
//! Must never move the order by itself: an action goes through, fails, or raises an event.

use jiff::Timestamp;
use pagurus_domain::classes::{SCRIPT_LIMIT, VARS_TOO_LARGE};
use pagurus_domain::depth::{MAX_DEPTH, is_within};
use pagurus_domain::folded::text_bytes;
use pagurus_domain::id::RequestId;
use pagurus_domain::order::OrderError;
use serde_json::Value;
use uuid::Uuid;

use super::super::script::{Raised, RunError, Script};
use super::super::source::reader::LONGEST_DURATION;
use super::super::{Action, Branch, Event, HttpAction, Lapse, SleepUntil, State};
use super::asked::{asked_by_amqp, request_value};
use super::cancel::Cancel;
use super::names::local_name;
use super::need::{HttpCall, Publication};
use super::response::asked_by_http;
use super::snapshot::{Destination, Digest, OpenRequest};
use super::{Need, Pending, StageRun, StageTurn, later};

impl StageRun {
    /// Performs the action under the cursor, or says what is needed for it.
    pub(super) fn perform(&mut self, action: &Action, turn: &StageTurn<'_>) -> Option<Need> {
        match action {
            Action::Http(_) | Action::Amqp(_) | Action::Order(_) => {
                let Some(name) = action.request() else { return self.send(action, None, turn) };
                let content = self.content_of(action, turn);
                // Its answer was good: only what failed is sent again.
                if self.is_answered(name, content, turn) {
                    self.cursor.advance();
                    return None;
                }
                return match self.cancel_of(action, turn) {
                    Ok(cancel) => Some(self.register(action, name, content, cancel)),
                    Err(error) => {
                        self.fail(error, turn);
                        None
                    }
                };
            }
            Action::Parallel(steps) => return self.send_parallel(steps, turn),
            Action::Each(each) => return self.go_through(each, turn),
            Action::Actor(actor) => return self.hand_out(actor, turn),
            Action::Choose { branches, otherwise } => match self.chosen(branches, turn) {
                Ok(first) => self.cursor.frame_mut().action = first.unwrap_or(*otherwise),
                Err(error) => self.fail(error, turn),
            },
            Action::Skip(to) => self.cursor.frame_mut().action = *to,
            Action::Enter(enter) => self.enter_operation(enter, turn),
            Action::Savepoint(_) => self.pass_savepoint(turn),
            Action::Exit(exit) => self.exit_operation(exit, turn),
            Action::Script(script) => self.run_script(script, turn),
            Action::Wait { timeout } => match self.wait_until(timeout.as_ref(), turn) {
                Ok(until) => {
                    self.rest_until = Some(until);
                    self.rest(Event::Wait, turn);
                }
                Err(error) => self.fail(error, turn),
            },
            Action::Sleep(until) => match self.sleep_until(until, turn) {
                Ok(until) => {
                    self.rest_until = Some(until);
                    self.rest(Event::Sleep, turn);
                }
                Err(error) => self.fail(error, turn),
            },
            Action::Log(line) => match line.render_text(&self.context, &turn.settings.scripting) {
                Ok(line) => {
                    self.end.log(turn.now, line);
                    self.cursor.advance();
                }
                Err(error) => self.fail(error, turn),
            },
            // Who owns no queue, or gave it up before, has none to give.
            Action::Release if !turn.facts.holds_queue || self.end.released => self.cursor.advance(),
            Action::Release => {
                self.pending = Pending::Release;
                return Some(Need::Release);
            }
        }
        None
    }

    /// Ends the stage by a rest: in a state of its own, or right here in an operation.
    fn rest(&mut self, event: Event, turn: &StageTurn<'_>) {
        match self.cursor.operation() {
            Some(_) => self.rest_in_operation(event, turn),
            None => self.raise(event, turn),
        }
    }

    /// Registers a request before it is sent, so that an answer that comes at once finds it.
    fn register(&mut self, action: &Action, name: &str, content: Option<Digest>, cancel: Cancel) -> Need {
        self.pending = Pending::Registration(name.to_owned(), content);
        Need::Register {
            name: name.to_owned(),
            visit: self.cursor.visit.number,
            action: u32::try_from(self.cursor.frame().action).unwrap_or(u32::MAX),
            hand_out: self.started_before(action),
            task: None,
            cancel,
        }
    }

    /// Returns where the first branch whose condition holds begins.
    fn chosen(&self, branches: &[Branch], turn: &StageTurn<'_>) -> Result<Option<usize>, RunError> {
        for branch in branches {
            match branch.when.render(&self.context, &turn.settings.scripting)? {
                Value::Bool(true) => return Ok(Some(branch.first)),
                Value::Bool(false) => {}
                other => {
                    return Err(RunError::new(format!("a condition is `true` or `false`, not `{other}`")));
                }
            }
        }
        Ok(None)
    }

    /// Sends those steps of a `parallel` that have not gone through yet.
    fn send_parallel(&mut self, steps: &[HttpAction], turn: &StageTurn<'_>) -> Option<Need> {
        let mut calls: Vec<HttpCall> = Vec::new();
        let mut made = Vec::new();
        let done = self.cursor.frame().parallel_done.clone();
        for (index, step) in steps.iter().enumerate().filter(|(index, _)| !done.contains(index)) {
            self.conceal_secrets(&step.secrets, turn);
            match self.render_http(step, turn) {
                Ok(call) => {
                    let key = Uuid::new_v5(&call.idempotency_key, &index.to_be_bytes());
                    made.push((index, call.url.clone()));
                    calls.push(HttpCall { idempotency_key: key, ..call });
                }
                Err(error) => {
                    self.fail(error, turn);
                    return None;
                }
            }
        }
        self.pending = Pending::Parallel(made);
        Some(Need::Parallel(calls))
    }

    pub(super) fn conceal_secrets(&mut self, names: &[String], turn: &StageTurn<'_>) {
        for name in names {
            if let Some(secret) = turn.settings.secrets.secret(name) {
                self.end.secrets.add(&secret);
            }
        }
    }

    /// Conceals all secrets of the scenario: what an earlier stage saved from an answer may hold one that this stage does
    /// not use. Constants are read anywhere, in scripts, too.
    pub(super) fn conceal_secrets_of_scenario(&mut self, turn: &StageTurn<'_>) {
        self.end.secrets.join(&turn.settings.secret_constants);
        turn.scenario.secrets().for_each(|names| self.conceal_secrets(names, turn));
    }

    /// Renders the call under the cursor, with id and URL of its request where it has one.
    pub(super) fn send(
        &mut self,
        action: &Action,
        request: Option<RequestId>,
        turn: &StageTurn<'_>,
    ) -> Option<Need> {
        if let Action::Order(order) = action {
            return self.start_order(order, request, turn);
        }
        match action {
            Action::Http(http) => self.conceal_secrets(&http.secrets, turn),
            Action::Amqp(amqp) => self.conceal_secrets(&amqp.secrets, turn),
            _ => {}
        }
        self.context.request = request.map(|id| request_value(id, turn));
        let rendered = match action {
            Action::Http(http) => {
                self.render_http(http, turn).map(|call| Need::Http(HttpCall { request, ..call }))
            }
            Action::Amqp(amqp) => {
                self.render_amqp(amqp, turn).map(|message| Need::Publish(Publication { request, ..message }))
            }
            other => Err(RunError::new(format!("`{}` calls nobody", other.word()))),
        };
        self.context.request = None;
        match rendered {
            Ok(need) => {
                self.note_where_asked(action, &need, request, turn);
                self.pending = match &need {
                    Need::Http(call) => Pending::Http(call.url.clone()),
                    _ => Pending::Publication,
                };
                Some(need)
            }
            Err(error) => {
                self.fail(error, turn);
                None
            }
        }
    }

    /// Notes where a request went: the rules judge its answer by that (ERR-7), and a failure names the
    /// system that was called.
    fn note_where_asked(
        &mut self,
        action: &Action,
        need: &Need,
        request: Option<RequestId>,
        turn: &StageTurn<'_>,
    ) {
        let asked = match (action, need) {
            (Action::Http(http), Need::Http(call)) => asked_by_http(http, &call.url),
            (_, Need::Publish(message)) => asked_by_amqp(message, turn),
            _ => return,
        };
        self.note_asked(asked, request, turn);
    }

    /// Like `note_where_asked`, if the place is known.
    pub(super) fn note_asked(
        &mut self,
        asked: Destination,
        request: Option<RequestId>,
        turn: &StageTurn<'_>,
    ) {
        self.cursor.visit.called = Some(turn.system_of(&asked));
        if let Some(open) = self.cursor.requests.iter_mut().find(|open| Some(open.id) == request) {
            open.asked = Some(asked);
        }
    }

    /// Notes that the request under the cursor, if it is one, was sent: its answer comes by callback.
    pub(super) fn note_sent(&mut self, turn: &StageTurn<'_>) {
        if self.present(turn).and_then(Action::request).is_none() {
            return;
        }
        // It was noted last.
        if let Some(id) = self.cursor.requests.last().map(|open| open.id) {
            self.note_sent_request(id, turn);
        }
    }

    /// Like `note_sent`, if the request is known.
    pub(super) fn note_sent_request(&mut self, id: RequestId, turn: &StageTurn<'_>) {
        let Some(open) = self.cursor.requests.iter_mut().find(|open| open.id == id) else { return };
        open.sent_at = Some(turn.now);
        if let Some(asked) = open.asked.clone() {
            self.sample_sent(&asked, turn);
        }
    }

    /// Notes a request that is stored now.
    pub(super) fn note_request(
        &mut self,
        name: String,
        id: RequestId,
        content: Option<Digest>,
        turn: &StageTurn<'_>,
    ) {
        if let Some(operation) = self.cursor.operation_mut() {
            let base = local_name(&name).split('.').next().unwrap_or_default();
            operation.asked.insert(base.to_owned());
        }
        self.cursor.forget_answer(&name);
        self.cursor.rounds.remove(&name);
        let State { retry_failed_only: keep_answer, name: state, .. } = turn.scenario.state(self.state);
        let (keep_answer, state) = (*keep_answer, state.clone());
        self.cursor.requests.retain(|request| request.id != id);
        self.cursor.requests.push(OpenRequest {
            name,
            state,
            id,
            asked: None,
            sent_at: None,
            content,
            keep_answer,
            earlier: false,
            cancel: None,
            over: false,
        });
    }

    fn run_script(&mut self, script: &Script, turn: &StageTurn<'_>) {
        let vars = self.context.vars.clone();
        let said = match turn.settings.scripting.run(script, &mut self.context) {
            Ok(said) => said,
            Err(error) => return self.fail(error, turn),
        };
        said.log.into_iter().for_each(|line| self.end.log(turn.now, line));
        let message = self.hear(said.result, said.message, turn);
        self.cursor.hear(message.0, message.1, said.answer);
        if let Err(error) = self.check_vars(turn) {
            self.context.vars = vars;
            return self.fail(error, turn);
        }
        match said.raised {
            None => self.cursor.advance(),
            Some(Raised::Success) => self.leave_frame(Ok(()), turn),
            Some(Raised::Poll) => self.poll_again(turn),
            Some(Raised::Event(name)) => self.raise_named(name, turn),
            Some(Raised::Fail { message, class }) => {
                let message = message.unwrap_or_else(|| "the scenario said so".into());
                let error = OrderError {
                    class,
                    message,
                    system: self.cursor.visit.called.clone(),
                    ..OrderError::default()
                };
                if self.retries(&error, None, turn) {
                    self.back_to_call(turn);
                } else {
                    self.fail(error, turn);
                }
            }
        }
    }

    /// Returns the end of a wait.
    pub(super) fn wait_until(
        &self,
        timeout: Option<&Lapse>,
        turn: &StageTurn<'_>,
    ) -> Result<Timestamp, RunError> {
        let timeout = timeout.map(|timeout| self.lapse(timeout, LONGEST_DURATION, turn)).transpose()?;
        Ok(turn.longest_wait(timeout))
    }

    fn sleep_until(&self, until: &SleepUntil, turn: &StageTurn<'_>) -> Result<Timestamp, RunError> {
        let scripting = &turn.settings.scripting;
        let earliest = later(turn.now, turn.settings.bounds.min_sleep);
        let wanted = match until {
            SleepUntil::For(text) => {
                let text = text.render_text(&self.context, scripting)?;
                let duration = pagurus_domain::document::parse_duration(&text).map_err(RunError::new)?;
                if duration > LONGEST_DURATION {
                    return Err(RunError::new(format!("`{text}` is longer than ten years")));
                }
                later(turn.now, duration)
            }
            SleepUntil::Until(text) => {
                let text = text.render_text(&self.context, scripting)?;
                text.parse::<Timestamp>().map_err(|_| {
                    RunError::new(format!("`{text}` is no time like 2026-12-01T00:00:00+03:00"))
                })?
            }
        };
        Ok(wanted.max(earliest))
    }

    pub(super) fn check_vars(&self, turn: &StageTurn<'_>) -> Result<(), OrderError> {
        let max = turn.settings.bounds.max_vars_bytes;
        if !self.context.vars.values().all(|value| is_within(value, MAX_DEPTH)) {
            let text = format!("vars are nested deeper than {MAX_DEPTH} levels");
            return Err(OrderError::new(SCRIPT_LIMIT, text));
        }
        let bytes = text_bytes(&self.context.vars);
        if bytes <= max {
            return Ok(());
        }
        Err(OrderError::new(VARS_TOO_LARGE, format!("vars have {bytes} bytes, more than {max}")))
    }

    /// A stable key of the present action: the same over its repeats, another for another visit.
    pub(super) fn idempotency_key(&self, turn: &StageTurn<'_>) -> Uuid {
        let mut name = format!(
            "{}\0{}\0{}\0{}\0{}",
            turn.facts.id,
            turn.facts.life,
            self.cursor.visit.number,
            turn.scenario.state(self.state).name,
            self.cursor.frame().action
        );
        // Each attempt of a polling asks again; a repeat of one attempt does not.
        if let Some(attempt) =
            self.cursor.visit.poll.as_ref().map(|polling| polling.attempt).filter(|attempt| *attempt > 1)
        {
            name.push_str(&format!("\0poll {attempt}"));
        }
        if let Some(call) = &self.cursor.handling {
            name.push_str(&format!("\0call {}", call.no));
        }
        if let Some((number, action)) = self.place_in_each() {
            name.push_str(&format!("\0each {number} {action}"));
        }
        Uuid::new_v5(&Uuid::NAMESPACE_OID, name.as_bytes())
    }
}
