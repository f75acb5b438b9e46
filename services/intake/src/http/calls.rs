//! Calls to live orders over HTTP: a long poll, or later by the caller's key.

use std::time::Duration;

use axum::body::Body;
use axum::extract::State;
use axum::http::{HeaderMap, Response, StatusCode, Uri};
use axum::response::IntoResponse;
use axum::{Extension, Json};
use pagurus_command::call::NewCall;
use pagurus_runtime::Connection;
use pagurus_view::PartQuery;
use pagurus_wire::bodies::CallBody;
use pagurus_wire::message::CallView;
use schemars::JsonSchema;
use serde::Deserialize;

use super::HttpResult;
use super::body::read_json;
use super::caller::{Caller, ScopedViews};
use super::document::{Table, client};
use super::idempotency::key_of;
use super::pages::Part;
use super::query::{Path, Query, duration};
use crate::Intake;
use crate::calls;

/// Waiting time of a caller that names none.
const PATIENCE: Duration = Duration::from_secs(30);
/// Longest wait.
const MAX_PATIENCE: Duration = Duration::from_secs(5 * 60);

pub(super) fn routes(table: Table) -> Table {
    table
        .of("Calls", "Questions to live orders, which their scenarios answer.")
        .get(
            "/v1/orders/{id}/calls",
            list,
            client("Calls to an order, in the sequence in which they arrived."),
        )
        .post(
            "/v1/orders/{id}/calls",
            call,
            client("Calls a live order, and waits for its answer.")
                .key()
                .takes::<CallBody>()
                .gives::<CallView>(200, "The order has answered, or cannot answer.")
                .gives::<CallView>(202, "There is no answer yet: read it by its key later."),
        )
        .get(
            "/v1/orders/{id}/calls/{key}",
            show,
            client("One call by the key of its caller.")
                .gives::<CallView>(200, "The order has answered, or cannot answer.")
                .gives::<CallView>(202, "There is no answer yet."),
        )
}

/// `GET /v1/orders/{id}/calls`
async fn list(
    ScopedViews(views): ScopedViews,
    Path(id): Path<String>,
    Query(query): Query<PartQuery>,
    uri: Uri,
) -> HttpResult<Part<CallView>> {
    Ok(Part::of(views.calls(&id, &query).await?, &uri, "cursor"))
}

/// Query of a call.
#[derive(Debug, Deserialize, JsonSchema)]
struct CallQuery {
    /// Longest wait: a number of seconds, or a duration like `1m30s`; at most 5 minutes.
    timeout: Option<String>,
}

impl CallQuery {
    fn patience(&self) -> HttpResult<Duration> {
        let Some(text) = self.timeout.as_deref() else { return Ok(PATIENCE) };
        Ok(duration("timeout", text)?.min(MAX_PATIENCE))
    }
}

/// `POST /v1/orders/{id}/calls?timeout=`: 200 with the answer, 202 while it is not there yet.
async fn call(
    State(intake): State<Intake>,
    Path(id): Path<String>,
    Query(query): Query<CallQuery>,
    Extension(connection): Extension<Connection>,
    Caller(by): Caller,
    headers: HeaderMap,
    body: Body,
) -> HttpResult<Response<Body>> {
    let patience = query.patience()?;
    let asked = read_json(&intake, body).await?;
    let new = NewCall::read(&asked, key_of(&headers)?)?;
    intake.commands.call(&id, &new, &by).await?;
    wait(&intake, &id, &new.key, patience, &connection).await
}

/// `GET /v1/orders/{id}/calls/{key}?timeout=`
async fn show(
    State(intake): State<Intake>,
    Path((id, key)): Path<(String, String)>,
    Query(query): Query<CallQuery>,
    Extension(connection): Extension<Connection>,
) -> HttpResult<Response<Body>> {
    let patience = if query.timeout.is_some() { query.patience()? } else { Duration::ZERO };
    wait(&intake, &id, &key, patience, &connection).await
}

/// Answers with the call: when it is answered, or the patience is over, or its connection makes room for another.
async fn wait(
    intake: &Intake,
    id: &str,
    key: &str,
    patience: Duration,
    connection: &Connection,
) -> HttpResult<Response<Body>> {
    let call = match connection.wait(calls::answered(intake, id, key, patience)).await {
        Some(call) => call?,
        None => calls::answered(intake, id, key, Duration::ZERO).await?,
    };
    let status = if call.answered_at.is_some() { StatusCode::OK } else { StatusCode::ACCEPTED };
    Ok((status, Json(call)).into_response())
}
