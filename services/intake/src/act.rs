//! Actions of clients and operators on one order: each asks the law, then writes under a lock.

use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use pagurus_domain::id::OrderNo;
use pagurus_domain::order::registration;
use pagurus_domain::order::transition::{self, Cause};
use pagurus_domain::order::{Mode, Status};
use pagurus_domain::scenario::stage::Snapshot;
use pagurus_domain::scenario::{Scenario, StateKind};
use pagurus_runtime::metrics::Count;
use pagurus_runtime::news;
use pagurus_store::amend::{self, Reopening};
use pagurus_store::control::{self, Ended, Ending, Locked, Place};
use pagurus_store::{Error, Tx, stages};
use pagurus_wire::message::{Left, News, OutboxNews, Ready, news as key};
use pagurus_wire::problem::{Problem, Type};
use serde_json::{Map, Value, json};

use crate::Intake;
use crate::register::tell_conditions;

/// An order that moves while it is locked is tried this often.
const TRIES: u32 = 8;

/// What is asked.
#[derive(Clone, Debug)]
pub(crate) enum Action {
    /// Give the order up.
    Cancel,
    /// Stop it before it begins.
    Interrupt,
    /// Stop it while it runs or waits.
    Kill,
    /// Begin a new life.
    Restart(Restart),
}

/// How a restart is asked for.
#[derive(Clone, Debug, Default)]
pub(crate) struct Restart {
    /// `initial`, or the name of a state; none means the last entry point.
    pub from: Option<String>,
    /// Changed parameters.
    pub params: Option<Value>,
    /// When the client says it sent the request.
    pub sent_at: Option<Timestamp>,
}

/// What stands in the body of an action, whichever door it came through.
#[derive(Clone, Debug, Default)]
pub(crate) struct Asked {
    /// The order, where the body names it.
    pub id: Option<String>,
    /// Why.
    pub reason: Option<String>,
    /// Where a restart begins.
    pub from: Option<String>,
    /// Changed parameters of a restart.
    pub params: Option<Value>,
    /// The status in which the order must still be: who acts on what a list showed says so.
    pub if_status: Option<Status>,
}

impl Asked {
    /// Reads a body. A field of the wrong type is refused, never taken for one left out: a restart
    /// would else begin where nobody meant it to.
    ///
    /// # Errors
    /// The problem to answer with.
    pub fn read(body: &Value) -> Result<Self, Problem> {
        let invalid = |pointer: &str, told: &str| {
            let mut problem =
                Problem::new(Type::Invalid, format!("{pointer} {told}").trim_start().to_owned());
            problem.pointer = Some(pointer.to_owned());
            problem
        };
        let Some(map) = body.as_object() else {
            return Err(invalid("", "the body of an action is a JSON object"));
        };
        let text = |key: &str| match map.get(key) {
            None | Some(Value::Null) => Ok(None),
            Some(Value::String(text)) if text.contains('\0') => {
                Err(invalid(&format!("/{key}"), "contains the character NUL"))
            }
            Some(Value::String(text)) => Ok(Some(text.clone())),
            Some(_) => Err(invalid(&format!("/{key}"), "must be text")),
        };
        let params = map.get("params").filter(|params| !params.is_null()).cloned();
        if let Some(found) = params.as_ref().and_then(registration::unstorable) {
            return Err(invalid(&format!("/params{}", found.pointer), &found.message));
        }
        let if_status = text("ifStatus")?.map(|word| {
            word.parse().map_err(|_| invalid("/ifStatus", &format!("`{word}` is no status of an order")))
        });
        let if_status = if_status.transpose()?;
        Ok(Self { id: text("id")?, reason: text("reason")?, from: text("from")?, params, if_status })
    }
}

impl Action {
    const fn cause(&self) -> Cause {
        match self {
            Self::Cancel => Cause::Canceled,
            Self::Interrupt => Cause::Interrupted,
            Self::Kill => Cause::Killed,
            Self::Restart(_) => Cause::Restarted,
        }
    }
}

/// Who acts, why, and on what condition.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Terms<'a> {
    /// Which door it came through.
    pub source: &'a str,
    /// Why, for the history.
    pub reason: Option<&'a str>,
    /// The status in which the order must still be.
    pub if_status: Option<Status>,
}

/// What was done: the status that followed, and what is to be told below the commit.
struct Done {
    status: Status,
    ready: Vec<Ready>,
    left: Option<Left>,
    notify: Option<(i64, i32)>,
    /// The stage that no worker is to go on with.
    over: Option<(OrderNo, i32)>,
}

/// Carries an action out; the status that followed.
///
/// # Errors
/// The problem to answer with: not found, refused by the law, invalid, or not available.
pub(crate) async fn act(
    intake: &Intake,
    id: &str,
    action: &Action,
    terms: Terms<'_>,
) -> Result<Status, Problem> {
    let mut tries = Tries::default();
    let done = loop {
        let outcome = try_act(intake, id, action, terms).await;
        if let Some(done) = tries.judge(intake, "act", outcome).await {
            break done?;
        }
    };
    intake.host.metrics.count(Count::Actions, action.cause().as_str(), 1);
    // Before the next order of its queue hears of it.
    news::break_off(&intake.host, done.over.into_iter().collect()).await;
    tell(intake, done.ready, done.left, done.notify).await;
    if matches!(action, Action::Cancel | Action::Interrupt | Action::Kill) {
        tell_conditions(&intake.host).await;
    }
    Ok(done.status)
}

/// Tries of something that is done to one order, while the order moves under the hand.
#[derive(Default)]
pub(crate) struct Tries(u32);

impl Tries {
    /// What a try came to; none where there is to be another, after a pause.
    pub async fn judge<T>(
        &mut self,
        intake: &Intake,
        operation: &str,
        outcome: Result<Result<T, Problem>, Error>,
    ) -> Option<Result<T, Problem>> {
        let error = match outcome {
            Ok(outcome) => return Some(outcome),
            Err(error) => error,
        };
        self.0 += 1;
        if error.is_transient() && self.0 < TRIES {
            tokio::time::sleep(Duration::from_millis(10 << self.0)).await;
            return None;
        }
        if matches!(error, Error::Contended) {
            let told = "the order changes too fast to be acted on; try again";
            return Some(Err(Problem::new(Type::Busy, told)));
        }
        Some(Err(crate::http::store_problem(&intake.host, operation, &error)))
    }
}

async fn try_act(
    intake: &Intake,
    id: &str,
    action: &Action,
    Terms { source, reason, if_status }: Terms<'_>,
) -> Result<Result<Done, Problem>, Error> {
    let mut client = intake.host.store.recovery().await?;
    intake.catalogue.refresh(&client).await?;
    let tx = client.transaction().await?;
    let Some(order) = control::lock(&tx, id).await? else {
        return Ok(Err(not_found(id)));
    };
    if let Some(wanted) = if_status.filter(|wanted| *wanted != order.status) {
        let told = format!("the order is `{}` and not `{wanted}` any more", order.status);
        return Ok(Err(Problem::new(Type::Refused, told).with_status(order.status)));
    }
    let cause = action.cause();
    let status = match transition::next(order.status, cause) {
        Ok(status) => status,
        Err(refused) => {
            return Ok(Err(Problem::new(Type::Refused, refused.to_string()).with_status(refused.status)));
        }
    };
    let detail = json!({"reason": reason, "from": order.status.as_str()}).to_string();
    let done = match action {
        Action::Restart(restart) => match reopen(intake, &tx, &order, restart, source, reason).await? {
            Ok(ready) => Done { status, ready: vec![ready], left: None, notify: None, over: None },
            Err(problem) => return Ok(Err(problem)),
        },
        Action::Cancel | Action::Interrupt | Action::Kill => {
            let ending = Ending { status, error: None, kind: cause.as_str(), source, detail };
            let Ended { notified, ready } = control::end_life(&tx, &order, &ending).await?;
            Done {
                status,
                ready: ready.iter().map(news::of_stage).collect(),
                left: Some(Left {
                    no: order.no.0,
                    attempt: ready_attempt(&order),
                    queue: order.queue.clone(),
                }),
                notify: notified.then_some((order.no.0, order.life)),
                over: order.running().map(|attempt| (order.no, attempt)),
            }
        }
    };
    tx.commit().await?;
    Ok(Ok(done))
}

pub(crate) fn ready_attempt(order: &Locked) -> Option<i32> {
    match order.place {
        Place::Ready { attempt } => Some(attempt),
        _ => None,
    }
}

async fn reopen(
    intake: &Intake,
    tx: &Tx<'_>,
    order: &Locked,
    restart: &Restart,
    source: &str,
    reason: Option<&str>,
) -> Result<Result<Ready, Problem>, Error> {
    let scenario = match scenario_of(intake, order) {
        Ok(scenario) => scenario,
        Err(problem) => return Ok(Err(problem)),
    };
    let from = match restart.from.as_deref() {
        None => order.entry_point.clone(),
        Some("initial") => None,
        Some(name) => match scenario.state_named(name).map(|state| scenario.state(state).kind) {
            Some(StateKind::Plain | StateKind::Polling) => Some(name.to_owned()),
            found => {
                let told = match found {
                    None => format!("the scenario has no state `{name}`"),
                    Some(kind) => format!("state `{name}` is {kind}: nothing could begin there"),
                };
                let mut problem = Problem::new(Type::Invalid, told);
                problem.pointer = Some("/from".into());
                return Ok(Err(problem));
            }
        },
    };
    if let Some(params) = &restart.params {
        let fault = match (&scenario.params_validator, params.is_object()) {
            (_, false) => Some("must be an object".to_owned()),
            (Some(validator), true) => validator.iter_errors(params).next().map(|error| error.to_string()),
            (None, true) => None,
        };
        if let Some(fault) = fault {
            let mut problem = Problem::new(Type::Invalid, format!("/params {fault}"));
            problem.pointer = Some("/params".into());
            return Ok(Err(problem));
        }
    }
    // From an entry point the scenario goes on with what it had; from the start it has nothing.
    let snapshot = match &from {
        None => None,
        Some(_) => {
            let vars = stored_vars(tx, order).await?;
            Some(Snapshot::entering(from.clone(), vars).to_value().to_string())
        }
    };
    let sent_at = restart.sent_at.map_or(order.now, |sent| sent.min(order.now));
    let start_deadline = order
        .start_period
        .and_then(|seconds| u64::try_from(seconds).ok())
        .and_then(|seconds| sent_at.checked_add(Duration::from_secs(seconds)).ok());
    let former_params = match &restart.params {
        Some(_) => serde_json::from_str::<Value>(&control::params(tx, order.no).await?).ok(),
        None => None,
    };
    let detail = json!({
        "reason": reason, "from": from.as_deref().unwrap_or("initial"), "formerParams": former_params,
    });
    let reopening = Reopening {
        snapshot,
        params: restart.params.as_ref().map(ToString::to_string),
        start_deadline,
        process_timeout: scenario.timeouts.process.or(intake.rules.process_timeout),
        kind: Cause::Restarted.as_str(),
        source,
        detail: detail.to_string(),
    };
    Ok(Ok(news::of_stage(&amend::reopen(tx, order, &reopening).await?)))
}

async fn stored_vars(tx: &Tx<'_>, order: &Locked) -> Result<Map<String, Value>, Error> {
    Ok(stored_snapshot(tx, order).await?.vars)
}

/// Position and variables of an order; blank where it has none that could be read.
pub(crate) async fn stored_snapshot(tx: &Tx<'_>, order: &Locked) -> Result<Snapshot, Error> {
    let stored = control::snapshot(tx, order.no).await?;
    let snapshot = stored
        .and_then(|text| serde_json::from_str::<Value>(&text).ok())
        .and_then(|value| Snapshot::from_value(&value).ok());
    Ok(snapshot.unwrap_or_default())
}

/// The version of the scenario that an order runs.
pub(crate) fn scenario_of(intake: &Intake, order: &Locked) -> Result<Arc<Scenario>, Problem> {
    let known = intake.catalogue.known(order.scenario_no);
    known.and_then(|known| known.scenario.ok()).ok_or_else(|| {
        let told = format!("scenario `{}` version {} cannot be read", order.scenario, order.scenario_version);
        Problem::new(Type::UnknownScenario, told)
    })
}

/// Releases a queue by hand: its owner goes on, but owns the queue no longer (ORD-13). The id of
/// the order that owned it.
///
/// # Errors
/// The problem to answer with.
pub(crate) async fn release_queue(
    intake: &Intake,
    queue: &str,
    source: &str,
    reason: &str,
) -> Result<String, Problem> {
    match try_release(intake, queue, source, reason).await {
        Ok(Some((id, no))) => {
            intake.host.metrics.count(Count::Actions, "released", 1);
            tell(intake, Vec::new(), Some(Left { no, attempt: None, queue: Some(queue.to_owned()) }), None)
                .await;
            Ok(id)
        }
        Ok(None) => Err(Problem::new(Type::NotFound, format!("nobody is in queue `{queue}`"))),
        Err(error) => Err(crate::http::store_problem(&intake.host, "release", &error)),
    }
}

async fn try_release(
    intake: &Intake,
    queue: &str,
    source: &str,
    reason: &str,
) -> Result<Option<(String, i64)>, Error> {
    let mut client = intake.host.store.recovery().await?;
    let Some((id, _)) = control::holder(&client, queue).await? else { return Ok(None) };
    let tx = client.transaction().await?;
    let Some(order) = control::lock(&tx, &id).await? else { return Ok(None) };
    debug_assert!(order.mode == Mode::Sequential, "only sequential orders are in queues");
    stages::disown(&tx, order.no).await?;
    pagurus_store::queues::leave(&tx, &[order.no.0]).await?;
    let detail = json!({"queue": queue, "reason": reason}).to_string();
    pagurus_store::history::append(&tx, order.no, "queue_released", source, &detail).await?;
    tx.commit().await?;
    Ok(Some((id, order.no.0)))
}

async fn tell(intake: &Intake, ready: Vec<Ready>, left: Option<Left>, notify: Option<(i64, i32)>) {
    let told = News { ready, left: left.into_iter().collect(), ..News::default() };
    if told != News::default() {
        news::send(&intake.host, key::DISPATCH, &told).await;
    }
    if let Some(ended) = notify {
        news::send(&intake.host, key::OUTBOX, &OutboxNews { ended: vec![ended] }).await;
    }
}

/// No such order.
pub(crate) fn not_found(id: &str) -> Problem {
    let mut id = id.to_owned();
    id.truncate(id.floor_char_boundary(255));
    Problem::new(Type::NotFound, format!("there is no order `{id}`"))
}
