//! Actions whose answer comes later, and that the order awaits right where it stands: tasks of
//! actors (SCN-11); child orders stand in `child`.

use std::time::Duration;

use jiff::Timestamp;
use pagurus_domain::classes::{ACTOR_FAILED, ACTOR_INVALID, ACTOR_TIMEOUT, MAX_CLASS_BYTES, ORDER_TIMEOUT};
use pagurus_domain::id::RequestId;
use pagurus_domain::order::OrderError;
use pagurus_domain::order::stage::{Then, Wake};
use serde_json::{Value, json};
use uuid::Uuid;

use super::super::script::RunError;
use super::super::source::reader::LONGEST_DURATION;
use super::super::{Action, ActorAction, Folded, INSIDE};
use super::cancel::Cancel;
use super::need::{Task, TaskTerms};
use super::snapshot::{Awaiting, TaskTimes};
use super::{Need, Pending, StageRun, StageTurn, later};

/// Names of requests that stand for tasks begin so; no scenario can name a request like this. Names of operations in
/// front of a request may.
pub const TASK_PREFIX: &str = "actor.";

/// True if a request of this name stands for a task, which is no callback of the scenario.
pub(super) fn is_task(name: &str) -> bool {
    name.starts_with(TASK_PREFIX) && !name.contains(INSIDE)
}

/// The actor as [`OrderError::system`] names it.
fn system_of(actor: &ActorAction) -> String {
    system_of_actor(&actor.name)
}

fn system_of_actor(name: &str) -> String {
    format!("actor:{name}")
}

/// Returns the actor to which a request of this name hands a task, as [`OrderError::system`] names it; `None` for others.
#[must_use]
pub fn system_of_task(request: &str) -> Option<String> {
    request.strip_prefix(TASK_PREFIX).filter(|_| is_task(request)).map(system_of_actor)
}

impl StageRun {
    /// Hands a task out for the first time, or again.
    pub(super) fn hand_out(&mut self, actor: &ActorAction, turn: &StageTurn<'_>) -> Option<Need> {
        let name = format!("{TASK_PREFIX}{}", actor.name);
        let queued_at = self.cursor.visit.awaiting.as_ref().map_or(turn.now, |awaiting| awaiting.queued_at);
        let times = match self.task_times(actor, queued_at, turn) {
            Ok(times) => times,
            Err(error) => {
                self.cursor.visit.awaiting = None;
                self.fail(error, turn);
                return None;
            }
        };
        self.cursor.visit.hand_out += 1;
        let again = self.cursor.visit.awaiting.is_some();
        let awaiting = self.cursor.visit.awaiting.get_or_insert_with(|| Awaiting {
            name: name.clone(),
            id: None,
            queued_at,
            task: None,
        });
        awaiting.task = Some(times);
        self.pending = Pending::Task { again };
        Some(Need::Register {
            name,
            visit: self.cursor.visit.number,
            action: u32::try_from(self.cursor.frame().action).unwrap_or(u32::MAX),
            hand_out: self.cursor.visit.hand_out,
            task: Some(TaskTerms {
                work_timeout: Duration::from_millis(times.work_ms),
                // Without a restart the time-out is the end of the task.
                accept_first: actor.accept_first && actor.restart_after_work_timeout,
                task_ends_at: times.ends_at,
                force_finish: actor.force_finish_after_task_timeout,
                wait_ends_at: turn.longest_wait_since(queued_at),
            }),
            cancel: Cancel::Never,
        })
    }

    /// Holds a task, as the actor must be left alone: nothing was handed out. An earlier hand-out that is awaited keeps
    /// its times, and is decided if its decision comes meanwhile.
    pub(super) fn hold_task(&mut self, again: bool, until: Timestamp, system: String, turn: &StageTurn<'_>) {
        let visit = &mut self.cursor.visit;
        visit.hand_out = visit.hand_out.saturating_sub(1);
        if !again {
            visit.awaiting = None;
        }
        self.hold(until, system, turn);
    }

    /// The times of a task, as they are when it is handed out for the first time.
    fn task_times(
        &self,
        actor: &ActorAction,
        queued_at: Timestamp,
        turn: &StageTurn<'_>,
    ) -> Result<TaskTimes, RunError> {
        if let Some(known) = self.cursor.visit.awaiting.as_ref().and_then(|awaiting| awaiting.task) {
            return Ok(known);
        }
        let work = self.lapse(&actor.work_timeout, LONGEST_DURATION, turn)?;
        let task = actor.task_timeout.as_ref();
        let task = task.map(|task| self.lapse_or_zero(task, LONGEST_DURATION, turn)).transpose()?;
        Ok(TaskTimes {
            work_ms: u64::try_from(work.as_millis()).unwrap_or(u64::MAX),
            ends_at: task.filter(|task| !task.is_zero()).map(|task| later(queued_at, task)),
        })
    }

    /// Returns since when the task is awaited, and its times.
    fn awaited_task(&self, turn: &StageTurn<'_>) -> (Timestamp, TaskTimes) {
        let awaiting = self.cursor.visit.awaiting.as_ref();
        let task = awaiting.and_then(|awaiting| Some((awaiting.queued_at, awaiting.task?)));
        task.unwrap_or((turn.now, TaskTimes { work_ms: 0, ends_at: None }))
    }

    /// Queues the task, as the pass of the hand-out is there.
    pub(super) fn queue_task(&mut self, pass: RequestId, turn: &StageTurn<'_>) -> Option<Need> {
        let Some(Action::Actor(actor)) = self.present(turn) else { return None };
        let body = match actor.body.as_ref().map(|body| body.render(&self.context, &turn.settings.scripting))
        {
            None => Value::Null,
            Some(Ok(body)) => body,
            Some(Err(error)) => {
                self.cursor.visit.awaiting = None;
                self.fail(error, turn);
                return None;
            }
        };
        if let Some(awaiting) = &mut self.cursor.visit.awaiting {
            awaiting.id = Some(pass);
        }
        self.cursor.visit.called = Some(system_of(actor));
        let task = self.idempotency_key(turn);
        let hand_out = self.cursor.visit.hand_out;
        let (_, times) = self.awaited_task(turn);
        let message = json!({
            "task": task.to_string(),
            "pass": pass.to_string(),
            "actor": actor.name,
            "order": turn.facts.id,
            "transactionId": turn.facts.transaction_id,
            "handOut": hand_out,
            "workTimeoutMs": times.work_ms,
            "body": body,
        });
        Some(Need::Task(Task {
            actor: actor.name.clone(),
            pass,
            body: message.to_string().into_bytes(),
            message_id: Uuid::new_v5(&task, &hand_out.to_be_bytes()),
            useful_for: self.left_of_task(turn).min(Duration::from_millis(times.work_ms)),
        }))
    }

    /// Rests until the decision on the queued task.
    pub(super) fn await_task(&mut self, turn: &StageTurn<'_>) {
        let Some(Action::Actor(actor)) = self.present(turn) else { return };
        let (queued_at, times) = self.awaited_task(turn);
        let work =
            later(turn.now, Duration::from_millis(times.work_ms)).min(turn.longest_wait_since(queued_at));
        let until = match times.ends_at {
            Some(bound) if actor.force_finish_after_task_timeout => work.min(bound),
            _ => work,
        };
        self.end.over(Then::Wait { until, requests: self.awaited_requests() });
    }

    /// Returns when hand-outs of the task end: its own time is over, or that of any wait (ORD-12).
    fn last_hand_out_by(&self, turn: &StageTurn<'_>) -> Timestamp {
        let (queued_at, times) = self.awaited_task(turn);
        let longest = turn.longest_wait_since(queued_at);
        times.ends_at.map_or(longest, |bound| bound.min(longest))
    }

    /// Returns the time for which the task may still be handed out.
    fn left_of_task(&self, turn: &StageTurn<'_>) -> Duration {
        let left = self.last_hand_out_by(turn).duration_since(turn.now);
        Duration::try_from(left).unwrap_or(Duration::ZERO)
    }

    /// True if a decision came since the task was queued. Its request was answered in time then,
    /// also if the time-out passed before this stage began.
    fn is_decided(&self, turn: &StageTurn<'_>) -> bool {
        let Some(awaiting) = &self.cursor.visit.awaiting else { return false };
        let decisions = turn.received.iter().filter(|callback| callback.name == awaiting.name);
        let times =
            decisions.filter_map(|callback| callback.value.value()["receivedAt"].as_str()?.parse().ok());
        times.max().is_some_and(|at: Timestamp| at >= awaiting.queued_at)
    }

    /// Takes an answer to what the order awaits here, or the end of its time.
    pub(super) fn take_awaited(&mut self, wake: Wake, turn: &StageTurn<'_>) -> Option<Need> {
        self.held = self.cursor.end_hold(turn.now);
        match (self.present(turn), wake) {
            (Some(Action::Actor(actor)), Wake::Callback) => self.take_decision(actor, turn),
            (Some(Action::Actor(actor)), _) if self.is_decided(turn) => self.take_decision(actor, turn),
            (Some(Action::Actor(actor)), _) => return self.work_timed_out(actor, turn),
            (Some(Action::Order(order)), Wake::Callback) => self.take_end_of_child(order, turn),
            (Some(Action::Order(_)), _) => {
                self.cursor.visit.awaiting = None;
                let message = "the child order did not end in time";
                self.fail(OrderError::new(ORDER_TIMEOUT, message), turn);
            }
            // The version of the scenario was changed under the order.
            _ => (self.cursor.visit.awaiting, self.cursor.visit.hand_out) = (None, 0),
        }
        None
    }

    fn work_timed_out(&mut self, actor: &ActorAction, turn: &StageTurn<'_>) -> Option<Need> {
        let over = self.last_hand_out_by(turn) <= turn.now;
        if actor.restart_after_work_timeout && !over {
            self.end.log(
                turn.now,
                format!("actor `{}` did not decide in time: the task is handed out again", actor.name),
            );
            return self.hand_out(actor, turn);
        }
        let message = if over {
            format!("actor `{}` did not decide before the task time-out", actor.name)
        } else {
            let (_, times) = self.awaited_task(turn);
            let work = Duration::from_millis(times.work_ms);
            format!("actor `{}` did not decide within {work:?}", actor.name)
        };
        self.end_task(OrderError::new(ACTOR_TIMEOUT, message), actor, turn);
        None
    }

    fn take_decision(&mut self, actor: &ActorAction, turn: &StageTurn<'_>) {
        let name = format!("{TASK_PREFIX}{}", actor.name);
        let callback = turn.received.iter().find(|callback| callback.name == name);
        let retry_after = callback.and_then(|callback| callback.retry_after(turn.now));
        self.sample_decision(system_of(actor), retry_after);
        let decision = callback.map_or(Value::Null, |callback| callback.value.value()["body"].clone());
        let result = decision.get("result").cloned().unwrap_or(Value::Null);
        match decision.get("decision").and_then(Value::as_str) {
            Some("success") => {
                let answer = Folded::from(json!({"decision": "success", "body": result}));
                self.note_answered(turn);
                self.context.responses.insert(actor.name.replace(['-', '.'], "_"), answer.clone());
                self.context.response = Some(answer);
                self.cursor.visit.awaiting = None;
                self.cursor.visit.hand_out = 0;
                match self.save(&actor.save, turn) {
                    Ok(()) => self.cursor.advance(),
                    Err(error) => self.fail(error, turn),
                }
            }
            Some("fail") => {
                let error = decision.get("error");
                let text = |key: &str| {
                    error.and_then(|error| error.get(key)).and_then(Value::as_str).map(str::to_owned)
                };
                let class = text("class").filter(|class| !class.is_empty());
                if class.as_ref().is_some_and(|class| class.len() > MAX_CLASS_BYTES) {
                    let message = format!(
                        "actor `{}` named a class of error that is longer than {MAX_CLASS_BYTES} bytes",
                        actor.name
                    );
                    return self.end_task(OrderError::new(ACTOR_INVALID, message), actor, turn);
                }
                let class = class.unwrap_or_else(|| ACTOR_FAILED.into());
                let message = text("message").unwrap_or_else(|| format!("actor `{}` decided so", actor.name));
                self.cursor.visit.awaiting = None;
                let error = OrderError::new(class, message).about(Some(system_of(actor)));
                // A repeat says what this hand-out said, so that it sees what this one saw.
                if !self.retries(&error, retry_after, turn) {
                    self.context.response = Some(json!({"decision": "fail", "body": result}).into());
                    self.fail(error, turn);
                }
            }
            _ => {
                let message = format!(
                    "actor `{}` answered without a decision; write {{\"decision\": \"success\" or \"fail\", …}}",
                    actor.name
                );
                self.end_task(OrderError::new(ACTOR_INVALID, message), actor, turn);
            }
        }
    }

    /// Ends a failed task: it is queued again if a policy says so, else the action fails.
    fn end_task(&mut self, error: OrderError, actor: &ActorAction, turn: &StageTurn<'_>) {
        let error = error.about(Some(system_of(actor)));
        self.cursor.visit.awaiting = None;
        if !self.retries(&error, None, turn) {
            self.fail(error, turn);
        }
    }

    /// The requests whose answers end the present rest.
    pub(super) fn awaited_requests(&self) -> Vec<RequestId> {
        self.cursor.awaited()
    }
}
