//! What is done to queues.

use axum::Json;
use axum::body::Body;
use axum::extract::State;
use pagurus_wire::problem::{Problem, Type};
use serde_json::{Value, json};

use super::Outcome;
use super::body::read_json;
use super::caller::Caller;
use super::query::Path;
use crate::Intake;

/// `POST /v1/queues/{name}/release`, with a reason
pub(super) async fn release(
    State(intake): State<Intake>,
    Path(name): Path<String>,
    Caller(by): Caller,
    body: Body,
) -> Outcome<Json<Value>> {
    let asked = read_json(&intake, body).await?;
    let Some(reason) = asked.get("reason").and_then(Value::as_str).filter(|reason| !reason.is_empty()) else {
        let told = "/reason is missing: say why the queue is released";
        return Err(Problem::new(Type::Invalid, told).at("/reason").into());
    };
    let released = intake.commands.release_queue(&name, &by, reason).await?;
    Ok(Json(json!({"queue": name, "released": released})))
}
