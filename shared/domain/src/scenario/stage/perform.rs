//! One action of a state: what is done at once, and what is asked of the world for it.
//!
//! Must never move the order by itself: an action goes through, fails, or raises an event.

use jiff::Timestamp;
use serde_json::json;
use uuid::Uuid;

use super::super::folded::text_bytes;
use super::super::script::{Raised, RunError, Script};
use super::super::source::reader::LONGEST_DURATION;
use super::super::{Action, Branch, Event, HttpAction, SleepUntil, State};
use super::call::asked_by_http;
use super::need::{HttpCall, Publication};
use super::snapshot::{Asked, OpenRequest};
use super::{Need, Pending, Stage, later};
use crate::id::RequestId;
use crate::order::{Mode, OrderError};

impl Stage {
    /// Performs the action under the cursor, or says what is needed for it.
    pub(super) fn perform(&mut self, action: &Action, now: Timestamp) -> Option<Need> {
        match action {
            Action::Http(_) | Action::Amqp(_) | Action::Order(_) => {
                return match action.request() {
                    // Its answer was good: only what failed is sent again.
                    Some(name) if self.cursor.answered.contains(&self.place_of(name)) => {
                        self.advance();
                        None
                    }
                    Some(name) => Some(self.register(name)),
                    None => self.send(action, None, now),
                };
            }
            Action::Parallel(steps) => return self.send_parallel(steps, now),
            Action::Actor(actor) => return Some(self.hand_out(actor, now)),
            Action::Choose { branches, otherwise } => match self.chosen(branches) {
                Ok(first) => self.go_on_at(first.unwrap_or(*otherwise)),
                Err(error) => self.fail_script(error, now),
            },
            Action::Skip(to) => self.go_on_at(*to),
            Action::Script(script) => self.run_script(script, now),
            Action::Wait { timeout } => {
                let longest = match self.facts.mode {
                    Mode::Sequential => self.settings.max_wait_sequential,
                    Mode::Parallel => self.settings.max_wait_parallel,
                };
                let wait = timeout.unwrap_or(longest).min(longest);
                self.rest_until = Some(later(now, wait));
                self.raise(Event::Wait, now);
            }
            Action::Sleep(until) => match self.sleep_until(until, now) {
                Ok(until) => {
                    self.rest_until = Some(until);
                    self.raise(Event::Sleep, now);
                }
                Err(error) => self.fail_script(error, now),
            },
            Action::Log(line) => match line.render_text(&self.context, &self.settings.scripting) {
                Ok(line) => {
                    self.end.log(now, line);
                    self.advance();
                }
                Err(error) => self.fail_script(error, now),
            },
            // Who owns no queue, or gave it up before, has none to give.
            Action::Release if self.facts.queue.is_none() || self.end.is_released() => self.advance(),
            Action::Release => {
                self.pending = Pending::Release;
                return Some(Need::Release);
            }
        }
        None
    }

    /// A request is stored before it is sent, so that an answer that comes at once finds it.
    fn register(&mut self, name: &str) -> Need {
        self.pending = Pending::Registration { name: name.to_owned() };
        Need::Register {
            name: name.to_owned(),
            visit: self.cursor.visit,
            action: u32::try_from(self.cursor.action).unwrap_or(u32::MAX),
            task: None,
        }
    }

    /// Where the first branch whose condition holds begins.
    fn chosen(&self, branches: &[Branch]) -> Result<Option<usize>, RunError> {
        for branch in branches {
            match branch.when.render(&self.context, &self.settings.scripting)? {
                serde_json::Value::Bool(true) => return Ok(Some(branch.first)),
                serde_json::Value::Bool(false) => {}
                other => {
                    return Err(RunError::new(format!("a condition is `true` or `false`, not `{other}`")));
                }
            }
        }
        Ok(None)
    }

    /// Sends those steps of a `parallel` that have not gone through yet.
    fn send_parallel(&mut self, steps: &[HttpAction], now: Timestamp) -> Option<Need> {
        let mut calls: Vec<HttpCall> = Vec::new();
        let mut made = Vec::new();
        let done = self.cursor.parallel_done.clone();
        for (index, step) in steps.iter().enumerate().filter(|(index, _)| !done.contains(index)) {
            self.conceal_secrets(&step.secrets);
            match self.render_http(step) {
                Ok(call) => {
                    let key = Uuid::new_v5(&call.idempotency_key, &index.to_be_bytes());
                    made.push((index, call.url.clone()));
                    calls.push(HttpCall { idempotency_key: key, ..call });
                }
                Err(error) => {
                    self.fail_script(error, now);
                    return None;
                }
            }
        }
        self.pending = Pending::Parallel { made };
        Some(Need::Parallel(calls))
    }

    /// The name of a request, with the state that registers it.
    fn place_of(&self, request: &str) -> String {
        format!("{}/{request}", self.scenario.state(self.state).name)
    }

    fn conceal_secrets(&mut self, names: &[String]) {
        for name in names {
            if let Some(secret) = self.settings.secrets.secret(name) {
                self.end.conceal(&secret);
            }
        }
    }

    /// What an earlier stage saved from an answer may hold a secret that this stage does not use.
    pub(super) fn conceal_secrets_of_scenario(&mut self) {
        self.scenario.clone().secrets().for_each(|names| self.conceal_secrets(names));
    }

    /// Renders the call under the cursor, with id and URL of its request where it has one.
    pub(super) fn send(
        &mut self,
        action: &Action,
        request: Option<RequestId>,
        now: Timestamp,
    ) -> Option<Need> {
        if let Action::Order(order) = action {
            return self.start_order(order, request, now);
        }
        match action {
            Action::Http(http) => self.conceal_secrets(&http.secrets),
            Action::Amqp(amqp) => self.conceal_secrets(&amqp.secrets),
            _ => {}
        }
        self.context.request = request.map(|id| {
            let url = format!("{}/v1/callbacks/{id}", self.settings.callback_base);
            json!({"id": id.to_string(), "url": url})
        });
        let rendered = match action {
            Action::Http(http) => self.render_http(http).map(Need::Http),
            Action::Amqp(amqp) => {
                self.render_amqp(amqp).map(|message| Need::Publish(Publication { request, ..message }))
            }
            other => Err(RunError::new(format!("`{}` calls nobody", other.word()))),
        };
        self.context.request = None;
        match rendered {
            Ok(need) => {
                self.note_where_asked(action, &need, request);
                self.pending = match &need {
                    Need::Http(call) => Pending::Http { url: call.url.clone() },
                    _ => Pending::Publication,
                };
                Some(need)
            }
            Err(error) => {
                self.fail_script(error, now);
                None
            }
        }
    }

    /// The rules judge the answer to a request by where the request itself went (ERR-7), and a
    /// failure names the system that was called.
    fn note_where_asked(&mut self, action: &Action, need: &Need, request: Option<RequestId>) {
        let asked = match (action, need) {
            (Action::Http(http), Need::Http(call)) => asked_by_http(http, &call.url),
            (_, Need::Publish(message)) => Asked::Amqp {
                vhost: message.vhost.clone().unwrap_or_else(|| self.settings.vhost.clone()),
                exchange: message.exchange.clone(),
                key: message.key.clone(),
            },
            _ => return,
        };
        self.cursor.called = Some(asked.system());
        if let Some(open) = self.cursor.requests.iter_mut().find(|open| Some(open.id) == request) {
            open.asked = Some(asked);
        }
    }

    /// Notes a request that is stored now.
    pub(super) fn note_request(&mut self, name: String, id: RequestId) {
        let State { retry_failed_only: keep_answer, name: state, .. } = self.scenario.state(self.state);
        let (keep_answer, state) = (*keep_answer, state.clone());
        self.cursor.requests.retain(|request| request.id != id);
        self.cursor.requests.push(OpenRequest { name, state, id, asked: None, keep_answer, earlier: false });
    }

    fn run_script(&mut self, script: &Script, now: Timestamp) {
        let settings = self.settings.clone();
        let vars = self.context.vars.clone();
        let said = match settings.scripting.run(script, &mut self.context) {
            Ok(said) => said,
            Err(error) => return self.fail_script(error, now),
        };
        self.end.said(&said, now);
        if let Err(error) = self.check_vars() {
            self.context.vars = vars;
            return self.fail_action(error, now);
        }
        match said.raised {
            None => self.advance(),
            Some(Raised::Success) if self.cursor.call.is_some() => self.finish_call(now),
            Some(Raised::Success) => self.raise(Event::Success, now),
            Some(Raised::Poll) => {
                let scenario = self.scenario.clone();
                self.poll_again(scenario.state(self.state), now);
            }
            Some(Raised::Fail { message, class }) => {
                let message = message.unwrap_or_else(|| "the scenario said so".into());
                let error = OrderError { class, message, system: self.cursor.called.clone() };
                if !self.retries(&error, None, now, self.dice) {
                    self.fail_action(error, now);
                }
            }
        }
    }

    /// The action under the cursor has gone through: what was retried is over with it.
    pub(super) fn advance(&mut self) {
        let next = self.position() + 1;
        let here = Some((self.cursor.visit, self.cursor.action));
        if self.cursor.call.is_some() || here >= self.cursor.failed_at {
            self.set_cycle(None);
        }
        if self.cursor.call.is_none() {
            self.cursor.hand_out = 0;
        }
        self.go_on_at(next);
    }

    fn fail_script(&mut self, error: RunError, now: Timestamp) {
        self.fail_action(error.into(), now);
    }

    /// The action has failed for good: the state's event is `fail`.
    pub(super) fn fail_action(&mut self, error: OrderError, now: Timestamp) {
        if self.cursor.call.is_some() {
            return self.fail_call(error, now);
        }
        // What was not sent will not be answered: no later wait is for it.
        let scenario = self.scenario.clone();
        if let Some(request) = self.present(&scenario).and_then(Action::request) {
            self.cursor.requests.retain(|open| open.name != request);
        }
        self.end.failed(error, now);
        self.raise(Event::Fail, now);
    }

    fn sleep_until(&self, until: &SleepUntil, now: Timestamp) -> Result<Timestamp, RunError> {
        let scripting = &self.settings.scripting;
        let earliest = later(now, self.settings.bounds.min_sleep);
        let wanted = match until {
            SleepUntil::For(text) => {
                let text = text.render_text(&self.context, scripting)?;
                let duration = crate::document::parse_duration(&text).map_err(RunError::new)?;
                if duration > LONGEST_DURATION {
                    return Err(RunError::new(format!("`{text}` is longer than ten years")));
                }
                later(now, duration)
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

    pub(super) fn check_vars(&self) -> Result<(), OrderError> {
        let max = self.settings.bounds.max_vars_bytes;
        let bytes = text_bytes(&self.context.vars);
        if bytes <= max {
            return Ok(());
        }
        Err(OrderError::new("scenario.vars", format!("vars have {bytes} bytes, more than {max}")))
    }

    /// A stable key of the present action: the same over its repeats, another for another visit.
    pub(super) fn idempotency_key(&self) -> Uuid {
        let mut name = format!(
            "{}\0{}\0{}\0{}\0{}",
            self.facts.id,
            self.facts.life,
            self.cursor.visit,
            self.scenario.state(self.state).name,
            self.position()
        );
        // Each attempt of a polling asks anew; a repeat of one attempt does not.
        if let Some(attempt) =
            self.cursor.poll.as_ref().map(|polling| polling.attempt).filter(|attempt| *attempt > 1)
        {
            name.push_str(&format!("\0poll {attempt}"));
        }
        if let Some(call) = &self.cursor.call {
            name.push_str(&format!("\0call {}", call.no));
        }
        Uuid::new_v5(&Uuid::NAMESPACE_OID, name.as_bytes())
    }
}
