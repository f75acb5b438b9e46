//! Calls to live orders over HTTP: a long poll, or later by the caller's key.

use std::time::Duration;

use axum::Json;
use axum::body::Body;
use axum::extract::State;
use axum::http::{HeaderMap, Response, StatusCode};
use axum::response::IntoResponse;
use pagurus_command::call::NewCall;
use pagurus_domain::order::principal::Door;
use pagurus_wire::message::CallView;
use serde::Deserialize;

use super::Outcome;
use super::body::read_json;
use super::query::{Path, Query, duration};
use crate::Intake;
use crate::calls;

/// How long a caller waits that says nothing of it.
const PATIENCE: Duration = Duration::from_secs(30);
/// Longest wait.
const MAX_PATIENCE: Duration = Duration::from_secs(5 * 60);

/// Query of a call.
#[derive(Debug, Deserialize)]
pub(super) struct CallQuery {
    timeout: Option<String>,
}

impl CallQuery {
    fn patience(&self) -> Outcome<Duration> {
        let Some(text) = self.timeout.as_deref() else { return Ok(PATIENCE) };
        Ok(duration("timeout", text)?.min(MAX_PATIENCE))
    }
}

/// `POST /v1/orders/{id}/calls?timeout=`: 200 with the answer, 202 while it is not there yet.
pub(super) async fn call(
    State(intake): State<Intake>,
    Path(id): Path<String>,
    Query(query): Query<CallQuery>,
    headers: HeaderMap,
    body: Body,
) -> Outcome<Response<Body>> {
    let patience = query.patience()?;
    let asked = read_json(&intake, body).await?;
    let beside = headers.get("idempotency-key").and_then(|value| value.to_str().ok());
    let new = NewCall::read(&asked, beside)?;
    intake.commands.call(&id, &new, Door::Http).await?;
    Ok(told(calls::answered(&intake, &id, &new.key, patience).await?))
}

/// `GET /v1/orders/{id}/calls/{key}?timeout=`
pub(super) async fn show(
    State(intake): State<Intake>,
    Path((id, key)): Path<(String, String)>,
    Query(query): Query<CallQuery>,
) -> Outcome<Response<Body>> {
    let patience = if query.timeout.is_some() { query.patience()? } else { Duration::ZERO };
    Ok(told(calls::answered(&intake, &id, &key, patience).await?))
}

fn told(call: CallView) -> Response<Body> {
    let status = if call.answered_at.is_some() { StatusCode::OK } else { StatusCode::ACCEPTED };
    (status, Json(call)).into_response()
}
