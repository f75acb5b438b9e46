//! Actions whose answer comes later, and that the order awaits right where it stands: tasks of
//! actors (SCN-11) and child orders.

use std::time::Duration;

use jiff::Timestamp;
use serde_json::{Map, Value, json};
use uuid::Uuid;

use super::super::script::RunError;
use super::super::{Action, ActorAction, Folded, OrderAction};
use super::need::{ChildOrder, Task, TaskTerms};
use super::snapshot::{Awaiting, OpenRequest};
use super::{Need, Pending, Stage, Then, Wake, later};
use crate::id::RequestId;
use crate::order::{Mode, OrderError};

/// Error class of a task without a decision in time.
pub const ACTOR_TIMEOUT: &str = "actor.timeout";
/// Error class of a task whose actor decided `fail` and named no class.
pub const ACTOR_FAILED: &str = "actor.failed";
/// Error class of a task whose actor answered something else than a decision.
pub const ACTOR_INVALID: &str = "actor.invalid";
/// Error class of a child order that cannot be registered.
pub const ORDER_REFUSED: &str = "order.refused";
/// Error class of a child order that did not end `success`.
pub const ORDER_FAILED: &str = "order.failed";
/// Error class of a child order that did not end in time.
pub const ORDER_TIMEOUT: &str = "order.timeout";

/// Names of requests that stand for tasks begin so; no scenario can name a request like this.
const TASK: &str = "actor.";

/// Fields of a child order that are words of the engine or name a scenario. A short secret may be the same
/// word by chance, and anything else in them is refused.
const WORDS: [&str; 4] = ["scenario", "scenarioVersion", "mode", "priority"];

/// Whether a request of this name stands for a task, which is no callback of the scenario.
pub(super) fn is_task(name: &str) -> bool {
    name.starts_with(TASK)
}

/// The actor as [`OrderError::system`] names it.
fn system_of(actor: &ActorAction) -> String {
    format!("actor:{}", actor.name)
}

/// Those of these requests that a wait is for: the ones of its own stage; without any, those from
/// before that are still open.
pub(super) fn awaited(requests: &[OpenRequest]) -> impl Iterator<Item = &OpenRequest> {
    let all_earlier = requests.iter().all(|request| request.earlier);
    requests.iter().filter(move |request| all_earlier || !request.earlier)
}

impl Stage {
    /// Hands a task out for the first time, or again.
    pub(super) fn hand_out(&mut self, actor: &ActorAction, now: Timestamp) -> Need {
        self.cursor.hand_out += 1;
        let name = format!("{TASK}{}", actor.name);
        if self.cursor.awaiting.is_none() {
            self.cursor.awaiting = Some(Awaiting { name: name.clone(), id: None, queued_at: now });
        }
        self.pending = Pending::Task;
        Need::Register {
            name,
            visit: self.cursor.visit,
            action: u32::try_from(self.cursor.action).unwrap_or(u32::MAX),
            task: Some(TaskTerms {
                hand_out: self.cursor.hand_out,
                work_timeout: actor.work_timeout,
                // Without a restart the time-out is the end of the task.
                accept_first: actor.accept_first && actor.restart_after_work_timeout,
                task_ends_at: self.task_ends_at(actor),
                force_finish: actor.force_finish_after_task_timeout,
            }),
        }
    }

    /// The pass of the hand-out is there: the task can be queued.
    pub(super) fn queue_task(&mut self, pass: RequestId, now: Timestamp) -> Option<Need> {
        let scenario = self.scenario.clone();
        let Some(Action::Actor(actor)) = self.present(&scenario) else { return None };
        let body = match actor.body.as_ref().map(|body| body.render(&self.context, &self.settings.scripting))
        {
            None => Value::Null,
            Some(Ok(body)) => body,
            Some(Err(error)) => {
                self.cursor.awaiting = None;
                self.fail_action(error.into(), now);
                return None;
            }
        };
        if let Some(awaiting) = &mut self.cursor.awaiting {
            awaiting.id = Some(pass);
        }
        self.cursor.called = Some(system_of(actor));
        let task = self.idempotency_key();
        let hand_out = self.cursor.hand_out;
        let told = json!({
            "task": task.to_string(),
            "pass": pass.to_string(),
            "actor": actor.name,
            "order": self.facts.id,
            "transactionId": self.facts.transaction_id,
            "handOut": hand_out,
            "workTimeoutMs": u64::try_from(actor.work_timeout.as_millis()).unwrap_or(u64::MAX),
            "body": body,
        });
        Some(Need::Task(Task {
            actor: actor.name.clone(),
            pass,
            body: told.to_string().into_bytes(),
            message_id: Uuid::new_v5(&task, &hand_out.to_be_bytes()),
            useful_for: self.left_of_task(actor, now).min(actor.work_timeout),
        }))
    }

    /// The task is queued: the order rests until its decision.
    pub(super) fn await_task(&mut self, now: Timestamp) {
        let scenario = self.scenario.clone();
        let Some(Action::Actor(actor)) = self.present(&scenario) else { return };
        let work = later(now, actor.work_timeout);
        let bound = self.task_ends_at(actor);
        let until = match bound {
            Some(bound) if actor.force_finish_after_task_timeout => work.min(bound),
            _ => work,
        };
        self.end.over(Then::Wait { until, requests: self.awaited_requests() });
    }

    fn task_ends_at(&self, actor: &ActorAction) -> Option<Timestamp> {
        let queued_at = self.cursor.awaiting.as_ref()?.queued_at;
        Some(later(queued_at, actor.task_timeout?))
    }

    /// How long the task may still be handed out.
    fn left_of_task(&self, actor: &ActorAction, now: Timestamp) -> Duration {
        let left = self.task_ends_at(actor).map(|bound| bound.duration_since(now));
        left.map_or(Duration::MAX, |left| Duration::try_from(left).unwrap_or(Duration::ZERO))
    }

    /// Whether a decision came since the task was queued. Its request was answered in time then,
    /// also if the time-out passed before this stage began.
    fn is_decided(&self) -> bool {
        let Some(awaiting) = &self.cursor.awaiting else { return false };
        let decisions = self.received.iter().filter(|callback| callback.name == awaiting.name);
        let times =
            decisions.filter_map(|callback| callback.value.value()["receivedAt"].as_str()?.parse().ok());
        times.max().is_some_and(|at: Timestamp| at >= awaiting.queued_at)
    }

    /// Something came of what the order awaits here, or its time is over.
    pub(super) fn take_awaited(&mut self, wake: Wake, now: Timestamp) -> Option<Need> {
        let scenario = self.scenario.clone();
        match (self.present(&scenario), wake) {
            (Some(Action::Actor(actor)), Wake::Callback) => self.take_decision(actor, now),
            (Some(Action::Actor(actor)), _) if self.is_decided() => self.take_decision(actor, now),
            (Some(Action::Actor(actor)), _) => return self.work_timed_out(actor, now),
            (Some(Action::Order(order)), Wake::Callback) => self.take_end_of_child(order, now),
            (Some(Action::Order(_)), _) => {
                self.cursor.awaiting = None;
                let message = "the child order did not end in time";
                self.fail_action(OrderError::new(ORDER_TIMEOUT, message), now);
            }
            // The version of the scenario was changed under the order.
            _ => self.cursor.awaiting = None,
        }
        None
    }

    fn work_timed_out(&mut self, actor: &ActorAction, now: Timestamp) -> Option<Need> {
        let over = self.task_ends_at(actor).is_some_and(|bound| bound <= now);
        if actor.restart_after_work_timeout && !over {
            self.end.log(
                now,
                format!("actor `{}` did not decide in time: the task is handed out again", actor.name),
            );
            return Some(self.hand_out(actor, now));
        }
        let message = if over {
            format!("actor `{}` did not decide before the task time-out", actor.name)
        } else {
            format!("actor `{}` did not decide within {:?}", actor.name, actor.work_timeout)
        };
        self.end_task(OrderError::new(ACTOR_TIMEOUT, message), actor, now);
        None
    }

    fn take_decision(&mut self, actor: &ActorAction, now: Timestamp) {
        let name = format!("{TASK}{}", actor.name);
        let callback = self.received.iter().find(|callback| callback.name == name);
        let decision = callback.map_or(Value::Null, |callback| callback.value.value()["body"].clone());
        let result = decision.get("result").cloned().unwrap_or(Value::Null);
        match decision.get("decision").and_then(Value::as_str) {
            Some("success") => {
                let told = Folded::from(json!({"decision": "success", "body": result}));
                self.context.responses.insert(actor.name.replace(['-', '.'], "_"), told.clone());
                self.context.response = Some(told);
                self.cursor.awaiting = None;
                match self.save(&actor.save) {
                    Ok(()) => self.advance(),
                    Err(error) => self.fail_action(error, now),
                }
            }
            Some("fail") => {
                let error = decision.get("error");
                let text = |key: &str| {
                    error.and_then(|error| error.get(key)).and_then(Value::as_str).map(str::to_owned)
                };
                let class = text("class").unwrap_or_else(|| ACTOR_FAILED.into());
                let message = text("message").unwrap_or_else(|| format!("actor `{}` decided so", actor.name));
                self.cursor.awaiting = None;
                let error = OrderError::new(class, message).about(Some(system_of(actor)));
                // A repeat says what this hand-out said, so that it sees what this one saw.
                if !self.retries(&error, None, now, self.dice) {
                    self.context.response = Some(json!({"decision": "fail", "body": result}).into());
                    self.fail_action(error, now);
                }
            }
            _ => {
                let message = format!(
                    "actor `{}` answered without a decision; write {{\"decision\": \"success\" or \"fail\", …}}",
                    actor.name
                );
                self.end_task(OrderError::new(ACTOR_INVALID, message), actor, now);
            }
        }
    }

    /// The task has failed: it is queued anew where a policy says so, or the action fails.
    fn end_task(&mut self, error: OrderError, actor: &ActorAction, now: Timestamp) {
        let error = error.about(Some(system_of(actor)));
        self.cursor.awaiting = None;
        if !self.retries(&error, None, now, self.dice) {
            self.fail_action(error, now);
        }
    }

    /// Starts a child order; its request, if it has one, is registered by now.
    pub(super) fn start_order(
        &mut self,
        order: &OrderAction,
        request: Option<RequestId>,
        now: Timestamp,
    ) -> Option<Need> {
        match self.render_order(order) {
            Ok(registration) => {
                self.pending = Pending::Order { request };
                Some(Need::Order(ChildOrder { registration, request }))
            }
            Err(error) => {
                self.fail_action(error.into(), now);
                None
            }
        }
    }

    fn render_order(&self, order: &OrderAction) -> Result<Value, RunError> {
        let mut fields = Map::new();
        for (name, template) in &order.fields {
            let value = template.render(&self.context, &self.settings.scripting)?;
            // It is stored. What a called system told back of a secret reaches the child as it would reach
            // a later stage.
            let value = if WORDS.contains(&name.as_str()) { value } else { self.end.kept(&value) };
            fields.insert(name.clone(), value);
        }
        if !fields.contains_key("id") {
            // Of the place and not of chance, so that a repeat starts no second child.
            let mut place = format!("{}.{}.{}", self.facts.life, self.cursor.visit, self.position());
            if let Some(call) = &self.cursor.call {
                place.push_str(&format!(".call-{}", call.no));
            }
            let id = format!("{}.{place}", self.facts.id);
            let id = if id.len() <= crate::order::registration::MAX_ID_BYTES {
                id
            } else {
                self.idempotency_key().to_string()
            };
            fields.insert("id".into(), id.into());
        }
        if !fields.contains_key("transactionId")
            && let Some(transaction) = &self.facts.transaction_id
        {
            fields.insert("transactionId".into(), transaction.as_str().into());
        }
        Ok(Value::Object(fields))
    }

    /// The child is durable.
    pub(super) fn order_started(&mut self, request: Option<RequestId>, now: Timestamp) {
        let scenario = self.scenario.clone();
        let Some(Action::Order(order)) = self.present(&scenario) else { return };
        let Some((name, id)) = order.request.clone().zip(request).filter(|_| order.waits_here) else {
            return self.advance();
        };
        self.cursor.awaiting = Some(Awaiting { name, id: Some(id), queued_at: now });
        let longest = match self.facts.mode {
            Mode::Sequential => self.settings.max_wait_sequential,
            Mode::Parallel => self.settings.max_wait_parallel,
        };
        let until = later(now, order.timeout.unwrap_or(longest).min(longest));
        self.end.over(Then::Wait { until, requests: self.awaited_requests() });
    }

    fn take_end_of_child(&mut self, order: &OrderAction, now: Timestamp) {
        self.cursor.awaiting = None;
        let name = order.request.as_deref().unwrap_or_default();
        let end = self.received.iter().find(|callback| callback.name == name);
        let end = end.map_or(Value::Null, |callback| callback.value.value()["body"].clone());
        if end["status"] == "success" {
            return self.advance();
        }
        let text = |value: &Value| value.as_str().map(str::to_owned);
        let class = text(&end["error"]["class"]).unwrap_or_else(|| ORDER_FAILED.into());
        let status = text(&end["status"]).unwrap_or_else(|| "unknown".into());
        let why = text(&end["error"]["message"]).or_else(|| text(&end["message"])).unwrap_or_default();
        let message = format!("child order `{}` ended {status}: {why}", text(&end["id"]).unwrap_or_default());
        self.fail_action(OrderError::new(class, message), now);
    }

    /// The requests whose answers end the present rest.
    pub(super) fn awaited_requests(&self) -> Vec<RequestId> {
        match &self.cursor.awaiting {
            Some(awaiting) => awaiting.id.into_iter().collect(),
            None => awaited(&self.cursor.requests).map(|OpenRequest { id, .. }| *id).collect(),
        }
    }
}
