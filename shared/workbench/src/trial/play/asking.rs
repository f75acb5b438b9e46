//! Questions of a stage to the world, answered by the table.

use std::collections::BTreeMap;
use std::time::Duration;

use pagurus_domain::document::Fault;
use pagurus_domain::id::{Life, OrderNo, RequestId, ScenarioNo};
use pagurus_domain::order::dependency::{around_child, behind_holder, cycle};
use pagurus_domain::order::notification::Content;
use pagurus_domain::order::{Mode, OrderHead, ScenarioStatus, Status};
use pagurus_domain::time;
use pagurus_scenario::stage::{Answer, ChildOrder, HttpCall, HttpFailure, Publication, Response, Task};
use serde_json::{Value, json};

use super::super::{ChildEnd, Made, TrialReply, TrialRule};
use super::{Going, Play, later};

/// Requests of one order; beyond, it is a circle.
const MAX_REQUESTS: usize = 10_000;

impl Play<'_> {
    pub(super) fn http(&mut self, call: &HttpCall, step: &str) -> Going<Answer> {
        let (outcome, took) = self.call(call, step)?;
        self.pass(took);
        self.note_outcome(call, &outcome);
        Ok(outcome.map_or_else(Answer::Failed, Answer::Response))
    }

    /// Makes several calls at once, which take as long as the slowest of them.
    pub(super) fn parallel(&mut self, calls: &[HttpCall], step: &str) -> Going<Answer> {
        let mut outcomes = Vec::with_capacity(calls.len());
        let mut longest = Duration::ZERO;
        for call in calls {
            let (outcome, took) = self.call(call, step)?;
            longest = longest.max(took);
            outcomes.push(outcome);
        }
        self.pass(longest);
        for (call, outcome) in calls.iter().zip(&outcomes) {
            self.note_outcome(call, outcome);
        }
        Ok(Answer::Parallel(outcomes))
    }

    /// Outcome of a call, and the time that it takes.
    fn call(&mut self, call: &HttpCall, step: &str) -> Going<(Result<Response, HttpFailure>, Duration)> {
        let body = call.body.as_ref().map_or(Value::Null, |body| value_of(&body.bytes));
        let line = format!("{} {}", call.method, call.url);
        self.made(&line, &call.headers, &body)?;
        let Some(rule) = self.world.http(call.method, &call.url, &body) else {
            return Err(self.unanswered(&line, &body, step));
        };
        if rule.after > call.timeout {
            // The other side may have taken the request all the same, and calls back later.
            self.expect_callback(call.request, rule);
            return Ok((Err(failure(&["HttpError", "ReadTimeout"])), call.timeout));
        }
        self.expect_callback(call.request, rule);
        let outcome = match &rule.reply {
            TrialReply::Response { status, headers, body } => Ok(Response {
                status: *status,
                headers: headers.clone(),
                body: body.clone(),
                duration: rule.after,
            }),
            TrialReply::Fails(chain) => Err(failure(chain)),
            _ => return Err(self.unanswered(&line, &body, step)),
        };
        Ok((outcome, rule.after))
    }

    fn note_outcome(&mut self, call: &HttpCall, outcome: &Result<Response, HttpFailure>) {
        let text = match outcome {
            Ok(response) => response.status.to_string(),
            Err(failure) => failure.chain.join(" > "),
        };
        self.ask(format!("{} {}: {text}", call.method, call.url));
    }

    /// A task of an actor: its decision comes as the answer to its pass.
    pub(super) fn task(&mut self, task: &Task, step: &str) -> Going<Answer> {
        let body = value_of(&task.body)["body"].clone();
        let line = format!("actor {}", task.actor);
        self.made(&line, &[], &body)?;
        let Some(rule) = self.world.actor(&task.actor, &body) else {
            return Err(self.unanswered(&line, &body, step));
        };
        if matches!(rule.reply, TrialReply::Unroutable) {
            self.ask(format!("{line}: unroutable"));
            return Ok(Answer::Unpublished("the broker has no queue for it".to_owned()));
        }
        if let TrialReply::Decides(decision) = &rule.reply {
            self.answer_later(task.pass, rule.after, decision.clone());
        }
        self.ask(format!("{line}: queued"));
        Ok(Answer::Published)
    }

    /// A child order: its end comes as a callback where it is awaited.
    pub(super) fn child(&mut self, child: &ChildOrder, step: &str) -> Going<Answer> {
        let scenario = child.registration["scenario"].as_str().unwrap_or_default();
        let params = &child.registration["params"];
        let line = format!("order {scenario}");
        self.made(&line, &[], params)?;
        if let Some(why) = self.waits_for_itself(child) {
            self.ask(format!("{line}: refused"));
            return Ok(Answer::OrderRefused(why));
        }
        let Some(rule) = self.world.order(scenario, params) else {
            return Err(self.unanswered(&line, params, step));
        };
        if matches!(rule.reply, TrialReply::Refused) {
            self.ask(format!("{line}: refused"));
            return Ok(Answer::OrderRefused("the test refuses this child order".to_owned()));
        }
        if let (Some(id), TrialReply::Ends(end)) = (child.request, &rule.reply) {
            let notice = self.end_of_child(&child.registration, end, rule.after);
            self.answer_later(id, rule.after, notice);
        }
        self.ask(format!("{line}: started"));
        Ok(Answer::OrderStarted)
    }

    /// Returns why the engine would refuse a child: the order awaits it, and it would wait for the order.
    fn waits_for_itself(&self, child: &ChildOrder) -> Option<String> {
        child.request?;
        let (order, registration) = (&self.trial.order, &child.registration);
        let sequential = registration["mode"] == Mode::Sequential.as_str();
        if let Some(queue) = self.queue.as_deref().filter(|_| sequential && self.holds_queue())
            && registration["queue"] == queue
        {
            return Some(behind_holder(queue, &order.id));
        }
        let after = registration["lifecycle"]["after"].as_array().into_iter().flatten();
        let after: Vec<&str> = after.filter_map(|one| one["order"].as_str()).collect();
        let id = registration["id"].as_str().unwrap_or_default();
        let awaits = BTreeMap::from([(order.id.clone(), vec![id.to_owned()])]);
        cycle(id, &after, &awaits).map(|way| around_child(&way))
    }

    /// Notification by which the parent learns of the end of a child order, like any other.
    fn end_of_child(&self, registration: &Value, end: &ChildEnd, after: Duration) -> Value {
        let text = |key: &str| registration[key].as_str();
        let good = end.status == Status::Success;
        let order = OrderHead {
            no: OrderNo(0),
            id: text("id").unwrap_or_default().to_owned(),
            scenario: ScenarioNo(0),
            mode: Mode::Parallel,
            transaction_id: text("transactionId").map(str::to_owned),
            notify: None,
            answers: None,
            labels: self.trial.order.labels.clone(),
            trace: None,
            life: Life::FIRST,
            created_at: self.now,
            started_at: Some(self.now),
            stages: 0,
            retries: 0,
        };
        let content = Content {
            order: &order,
            scenario: text("scenario").unwrap_or_default(),
            scenario_version: 1,
            status: end.status,
            scenario_status: if good { ScenarioStatus::Target } else { ScenarioStatus::Failed },
            step: end.step.as_deref(),
            result: end.result.as_ref(),
            message: end.message.as_deref(),
            error: end.error.as_ref(),
            started_at: Some(self.now),
            finished_at: later(self.now, after),
            stages: 1,
            retries: 0,
        };
        value_of(content.render(text("correlationId"), None).as_bytes())
    }

    /// Schedules the later answer of a task or of a child order.
    fn answer_later(&mut self, id: RequestId, after: Duration, body: Value) {
        let at = later(self.now, after);
        let value = json!({"body": body, "headers": {}, "stepStatus": null, "receivedAt": time::shown(at)});
        self.requests.expect(id, at, value);
    }

    pub(super) fn publish(&mut self, message: &Publication, step: &str) -> Going<Answer> {
        let body = value_of(&message.body);
        let line = format!("amqp {} {}", message.exchange, message.key);
        self.made(&line, &message.headers, &body)?;
        let Some(rule) = self.world.amqp(&message.exchange, &message.key, &body) else {
            return Err(self.unanswered(&line, &body, step));
        };
        self.expect_callback(message.request, rule);
        self.pass(rule.after);
        if matches!(rule.reply, TrialReply::Unroutable) {
            self.ask(format!("{line}: unroutable"));
            return Ok(Answer::Unpublished("the broker has no queue for it".to_owned()));
        }
        self.ask(format!("{line}: published"));
        Ok(Answer::Published)
    }

    fn made(&mut self, line: &str, headers: &[(String, String)], body: &Value) -> Going<()> {
        self.played.made.push(Made { line: line.to_owned(), headers: headers.to_vec(), body: body.clone() });
        if self.played.made.len() > MAX_REQUESTS {
            return Err(
                self.fault(format!("the order goes round in a circle: more than {MAX_REQUESTS} requests"))
            );
        }
        Ok(())
    }

    fn unanswered(&self, line: &str, body: &Value, step: &str) -> Fault {
        // What went wrong before is the cause more often than not.
        let before = self.failure.as_ref().map_or_else(String::new, |error| {
            let class = error.class_word();
            format!("; the last failure before it was {class}: {}", error.message)
        });
        let mut body = if body.is_null() { String::new() } else { format!(" with body {body}") };
        body.truncate(body.floor_char_boundary(300));
        let fault = self.fault(format!("no answer is left for `{line}`{body} in `{step}`{before}"));
        fault.hint("add one under `answers`, or raise `times` of the one that is used up")
    }

    /// Expects the callback of a request that is just sent.
    fn expect_callback(&mut self, request: Option<RequestId>, rule: &TrialRule) {
        let (Some(id), Some(callback)) = (request, &rule.callback) else {
            return;
        };
        let at = later(self.now, callback.after);
        let value = json!({
            "body": callback.body,
            "headers": callback.headers,
            "stepStatus": callback.step_status,
            "receivedAt": time::shown(at),
        });
        self.requests.expect(id, at, value);
    }
}

fn failure(chain: &[&'static str]) -> HttpFailure {
    let cause = chain.last().copied().unwrap_or_default();
    HttpFailure { chain: chain.to_vec(), message: format!("{cause} of the test") }
}

/// A body as it is compared: JSON by its value, anything else as text.
fn value_of(bytes: &[u8]) -> Value {
    if bytes.is_empty() {
        return Value::Null;
    }
    serde_json::from_slice(bytes)
        .unwrap_or_else(|_| Value::String(String::from_utf8_lossy(bytes).into_owned()))
}
