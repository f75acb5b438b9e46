//! Nodes, leases and queues.

use axum::Json;
use axum::body::Body;
use axum::extract::State;
use pagurus_runtime::trouble::store_problem;
use pagurus_store::{cluster, queues};
use pagurus_wire::problem::{Problem, Type};
use serde_json::{Value, json};

use super::body::read_json;
use super::caller::Caller;
use super::query::{Nothing, Path, Query};
use super::{Answer, Outcome};
use crate::Intake;

/// Queues listed at most.
const MAX_QUEUES: i64 = 500;

/// `GET /v1/nodes`
pub(super) async fn nodes(State(intake): State<Intake>, _: Query<Nothing>) -> Outcome<Json<Value>> {
    let nodes = async {
        let client = intake.host.store.reports().await?;
        cluster::nodes(&client).await
    }
    .await
    .map_err(|error| store_problem(&intake.host, "nodes", &error))?;
    let items: Vec<Value> = nodes
        .into_iter()
        .map(|node| {
            json!({
                "name": node.name, "role": node.role.as_str(), "incarnation": node.incarnation.0,
                "address": node.address, "version": node.version, "status": node.status,
                "startedAt": node.started_at, "endedAt": node.ended_at, "seenAt": node.seen_at,
                "concurrency": node.concurrency,
            })
        })
        .collect();
    Ok(Json(json!({"items": items})))
}

/// `GET /v1/leases`
pub(super) async fn leases(State(intake): State<Intake>, _: Query<Nothing>) -> Outcome<Json<Value>> {
    let leases = async {
        let client = intake.host.store.api().await?;
        cluster::leases(&client).await
    }
    .await
    .map_err(|error| store_problem(&intake.host, "leases", &error))?;
    let items: Vec<Value> = leases
        .into_iter()
        .map(|lease| json!({"name": lease.name, "holder": lease.holder, "until": lease.until, "epoch": lease.epoch.0}))
        .collect();
    Ok(Json(json!({"items": items})))
}

/// `GET /v1/queues`
pub(super) async fn queues(State(intake): State<Intake>, _: Query<Nothing>) -> Outcome<Json<Value>> {
    let listed = async {
        let client = intake.host.store.reports().await?;
        queues::list(&client, MAX_QUEUES).await
    }
    .await
    .map_err(|error| store_problem(&intake.host, "queues", &error))?;
    let items: Vec<Value> = listed
        .into_iter()
        .map(|queue| {
            let since = jiff::Timestamp::from_millisecond(queue.position).ok();
            json!({"queue": queue.name, "holder": queue.holder, "orders": queue.members, "holderRegisteredAt": since})
        })
        .collect();
    Ok(Json(json!({"items": items})))
}

/// `POST /v1/queues/{name}/release`, with a reason
pub(super) async fn release(
    State(intake): State<Intake>,
    Path(name): Path<String>,
    Caller(by): Caller,
    body: Body,
) -> Outcome<Json<Value>> {
    let asked = read_json(&intake, body).await?;
    let Some(reason) = asked.get("reason").and_then(Value::as_str).filter(|reason| !reason.is_empty()) else {
        let mut problem = Problem::new(Type::Invalid, "/reason is missing: say why the queue is released");
        problem.pointer = Some("/reason".into());
        return Err(Answer(problem));
    };
    let released = intake.commands.release_queue(&name, &by, reason).await?;
    Ok(Json(json!({"queue": name, "released": released})))
}
