//! `POST /v1/scenarios/{name}/migrate`: live and failed orders of one version go on under another (SCN-13).
//!
//! Looks first, at everything, without a lock; with `apply` each batch is looked at again under
//! locks, because what an order was a moment ago decides nothing.

use std::collections::BTreeMap;
use std::sync::Arc;

use axum::Json;
use axum::body::Body;
use axum::extract::State;
use pagurus_domain::id::{OrderNo, ScenarioNo};
use pagurus_domain::order::Status;
use pagurus_domain::scenario::Scenario;
use pagurus_domain::scenario::diff::{Hindrance, move_to, restart_under};
use pagurus_domain::scenario::stage::Snapshot;
use pagurus_runtime::Effects;
use pagurus_runtime::scenarios::Known;
use pagurus_runtime::trouble::store_problem;
use pagurus_store::scenarios::{self, Live};
use pagurus_store::stages::ReadyStage;
use pagurus_store::{Client, Error};
use pagurus_wire::problem::{Problem, Type};
use serde_json::{Value, json};

use super::super::body::read_json;
use super::super::query::Path;
use super::super::{Answer, Outcome};
use super::cut;
use crate::Intake;

/// Orders of one transaction: few enough that nobody waits long for their locks.
const BATCH: i64 = 100;
/// Live orders that one request looks at; the answer says where the next one goes on.
const LOOKED_AT: i64 = 20_000;
/// Orders that are named for each reason.
const EXAMPLES: usize = 10;
/// A batch that meets another writer is tried this often.
const TRIES: u32 = 5;

/// What is asked for.
struct Asked {
    from: i32,
    to: i32,
    apply: bool,
    reason: Option<String>,
    after: i64,
}

/// Both versions, ready to be compared.
struct Versions {
    from: ScenarioNo,
    to: ScenarioNo,
    old: Arc<Scenario>,
    new: Arc<Scenario>,
    detail: String,
}

/// What came of it so far.
#[derive(Default)]
struct Tally {
    moved: u64,
    left: BTreeMap<String, (u64, Vec<String>)>,
}

impl Tally {
    fn leave(&mut self, id: &str, why: &Hindrance) {
        let (count, examples) = self.left.entry(why.to_string()).or_default();
        *count += 1;
        if examples.len() < EXAMPLES {
            examples.push(id.to_owned());
        }
    }
}

/// `POST /v1/scenarios/{name}/migrate`
pub(in crate::http) async fn migrate(
    State(intake): State<Intake>,
    Path(name): Path<String>,
    body: Body,
) -> Outcome<Json<Value>> {
    let asked = read(&*read_json(&intake, body).await?)?;
    let failed = |error: Error| Answer(store_problem(&intake.host, "migrate", &error));
    let store = &intake.host.store;
    // A look pages by keys, and wants the plans of the hot path like the change itself.
    let mut client = store.operations().await.map_err(failed)?;
    intake.catalogue.refresh(&client).await.map_err(failed)?;
    let mut found = Vec::with_capacity(2);
    for version in [asked.from, asked.to] {
        found.push(intake.catalogue.find(&client, &name, Some(version)).await.map_err(failed)?);
    }
    let versions = versions(&name, &asked, found)?;
    let mut tally = Tally::default();
    let next = walk(&intake, &mut client, &versions, &asked, &mut tally).await.map_err(failed)?;
    let left: u64 = tally.left.values().map(|(count, _)| count).sum();
    let reasons: Vec<Value> = tally
        .left
        .into_iter()
        .map(|(reason, (orders, examples))| json!({"reason": reason, "orders": orders, "examples": examples}))
        .collect();
    Ok(Json(json!({
        "scenario": name, "from": asked.from, "to": asked.to, "applied": asked.apply,
        "moved": tally.moved, "left": left, "reasons": reasons, "next": next.map(|next| next.0.to_string()),
    })))
}

fn read(body: &Value) -> Result<Asked, Answer> {
    let invalid = |pointer: &str, told: &str| {
        let mut problem = Problem::new(Type::Invalid, format!("{pointer} {told}"));
        problem.pointer = Some(pointer.to_owned());
        Answer(problem)
    };
    let version = |key: &str| {
        let number = body.get(key).and_then(Value::as_i64).and_then(|number| i32::try_from(number).ok());
        number
            .filter(|number| *number > 0)
            .ok_or_else(|| invalid(&format!("/{key}"), "must be a version, like 1"))
    };
    let (from, to) = (version("from")?, version("to")?);
    if from == to {
        return Err(invalid("/to", "is the version that the orders have already"));
    }
    let apply = match body.get("apply") {
        None | Some(Value::Null) => false,
        Some(Value::Bool(apply)) => *apply,
        Some(_) => return Err(invalid("/apply", "must be true or false")),
    };
    let reason = match body.get("reason") {
        None | Some(Value::Null) => None,
        Some(Value::String(reason)) if !reason.contains('\0') => Some(reason.clone()),
        Some(_) => return Err(invalid("/reason", "must be text")),
    };
    let after = match body.get("after") {
        None | Some(Value::Null) => Some(0),
        Some(after) => after.as_str().and_then(|after| after.parse().ok()),
    };
    let after = after.ok_or_else(|| invalid("/after", "must be what `next` of an answer says"))?;
    Ok(Asked { from, to, apply, reason, after })
}

fn versions(name: &str, asked: &Asked, found: Vec<Option<Known>>) -> Result<Versions, Answer> {
    let mut found = found.into_iter();
    let mut find = |version: i32| -> Result<(ScenarioNo, Arc<Scenario>), Answer> {
        let Some(Known { no, scenario, .. }) = found.next().flatten() else {
            let told = format!("scenario `{}` has no version {version}", cut(name));
            return Err(Answer(Problem::new(Type::NotFound, told)));
        };
        let told = |why: Arc<str>| format!("version {version} cannot be read: {why}");
        Ok((no, scenario.map_err(|why| Answer(Problem::new(Type::Invalid, told(why))))?))
    };
    let ((from, old), (to, new)) = (find(asked.from)?, find(asked.to)?);
    let detail = json!({"from": asked.from, "to": asked.to, "reason": asked.reason}).to_string();
    Ok(Versions { from, to, old, new, detail })
}

/// Goes through the live orders, batch by batch; where the next request goes on, if there is more.
async fn walk(
    intake: &Intake,
    client: &mut Client,
    versions: &Versions,
    asked: &Asked,
    tally: &mut Tally,
) -> Result<Option<OrderNo>, Error> {
    let mut after = OrderNo(asked.after);
    for _ in 0..LOOKED_AT / BATCH {
        let page = scenarios::live(client, versions.from, after, BATCH).await?;
        let Some(last) = page.last else { return Ok(None) };
        after = last;
        let mut fit = Vec::new();
        for order in &page.orders {
            match judge(versions, order) {
                Ok(()) => fit.push(order.clone()),
                Err(why) => tally.leave(&order.id, &why),
            }
        }
        if !asked.apply {
            tally.moved += fit.len() as u64;
        } else if !fit.is_empty() {
            let stages = patiently(client, versions, &fit, tally).await?;
            Effects::of_ready(&stages).send(&intake.host).await;
        }
    }
    Ok(Some(after))
}

/// Moves a batch; one that met another writer is tried again, and counts only once.
async fn patiently(
    client: &mut Client,
    versions: &Versions,
    fit: &[Live],
    tally: &mut Tally,
) -> Result<Vec<ReadyStage>, Error> {
    let mut tried = 0;
    loop {
        tried += 1;
        match apply(client, versions, fit).await {
            Ok((moved, left, stages)) => {
                tally.moved += moved;
                for (id, why) in left {
                    tally.leave(&id, &why);
                }
                return Ok(stages);
            }
            Err(error) if error.is_transient() && tried < TRIES => {
                tokio::time::sleep(std::time::Duration::from_millis(20 << tried)).await;
            }
            Err(error) => return Err(error),
        }
    }
}

type Applied = (u64, Vec<(String, Hindrance)>, Vec<ReadyStage>);

async fn apply(client: &mut Client, versions: &Versions, fit: &[Live]) -> Result<Applied, Error> {
    let nos: Vec<i64> = fit.iter().map(|order| order.no.0).collect();
    let tx = client.transaction().await?;
    let locked = scenarios::lock_resting(&tx, versions.from, &nos).await?;
    let mut left = Vec::new();
    let mut moving = Vec::new();
    for order in fit {
        match locked.iter().find(|one| one.no == order.no).map(|one| judge(versions, one)) {
            Some(Ok(())) => moving.push(order.no.0),
            Some(Err(why)) => left.push((order.id.clone(), why)),
            // It was claimed since it was looked at, or it ended.
            None => left.push((order.id.clone(), Hindrance::NotResting("running"))),
        }
    }
    // One that an operator named needs only be there.
    let marked = |name: &str| {
        versions.old.state_named(name).is_some_and(|state| versions.old.state(state).entry_point)
    };
    let states = versions.new.states.iter().filter(|state| state.entry_point || !marked(&state.name));
    let entry_points: Vec<&str> = states.map(|state| state.name.as_str()).collect();
    let stages =
        scenarios::migrate(&tx, &moving, versions.to, &entry_points, "api", &versions.detail).await?;
    tx.commit().await?;
    Ok((moving.len() as u64, left, stages))
}

fn judge(versions: &Versions, order: &Live) -> Result<(), Hindrance> {
    if order.status == Status::Fail {
        return restart_under(&versions.new, order.entry_point.as_deref());
    }
    let snapshot = match &order.snapshot {
        None => Snapshot::default(),
        Some(text) => serde_json::from_str::<Value>(text)
            .ok()
            .and_then(|value| Snapshot::from_value(&value).ok())
            .ok_or(Hindrance::Unreadable)?,
    };
    move_to(&versions.old, &versions.new, order.status, &snapshot)
}
