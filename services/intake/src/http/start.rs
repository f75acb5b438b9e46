//! Registration of one order, and waiting for its end (ORD-33).

use std::time::{Duration, Instant};

use axum::Json;
use axum::body::Body;
use axum::extract::State;
use axum::http::{HeaderMap, Response};
use axum::response::IntoResponse;
use axum::{Extension, http::header};
use pagurus_runtime::Connection;
use pagurus_wire::order::StatusView;
use pagurus_wire::problem::{Problem, Type};
use schemars::JsonSchema;
use serde::Deserialize;

use super::body::read_order;
use super::caller::{Scope, ScopedViews};
use super::dry_run::DryRun;
use super::query::{Path, Query, duration};
use super::registration::{answer_with, location, status_of, submit};
use super::{HttpResult, ProblemResponse};
use crate::{Intake, register};

/// Longest long poll.
const MAX_WAIT: Duration = Duration::from_secs(120);

/// Query of a registration of one order.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct StartQuery {
    /// True for a dry run, as of a batch.
    #[serde(default)]
    dry_run: bool,
    /// Longest wait for the end of the order: a number of seconds, or a duration like `1m30s`, at most 120 s. The answer is
    /// then the order as it ended, or as it is when the time has passed; it continues all the same.
    wait: Option<String>,
}

/// `POST /v1/orders`
pub(super) async fn create(
    State(intake): State<Intake>,
    ScopedViews(views): ScopedViews,
    Query(query): Query<StartQuery>,
    Scope(scope): Scope,
    Extension(connection): Extension<Connection>,
    headers: HeaderMap,
    body: Body,
) -> HttpResult<Response<Body>> {
    let timeout = query.wait.as_deref().map(|text| duration("wait", text)).transpose()?;
    let mut body = read_order(&intake, body).await?;
    let request = register::read_value(body.take())?;
    if query.dry_run {
        if timeout.is_some() {
            let text = "a dry run starts no order to wait for: remove `wait` or `dryRun`";
            return Err(ProblemResponse(Problem::new(Type::Invalid, text).at("/wait")));
        }
        return Ok(DryRun::of(&intake, scope, &headers)?.one(request).await?.into_response());
    }
    let id = request.id.clone();
    let outcome = submit(&intake, &scope, request, &headers).await?;
    let Some(timeout) = timeout.filter(|_| outcome.problem().is_none()) else {
        return answer_with(id, &outcome, None);
    };
    until_final(&intake, &connection, &id, timeout).await?;
    let view = views.started(&id, outcome.word(), outcome.note()).await?;
    Ok((status_of(&outcome), [(header::LOCATION, location(&id))], Json(view)).into_response())
}

/// Query of a long poll.
#[derive(Debug, Deserialize, JsonSchema)]
pub(super) struct WaitQuery {
    /// Longest wait: a number of seconds, or a duration like `1m30s`; default: 30 s, at most 120 s.
    timeout: Option<String>,
}

/// `GET /v1/orders/{id}/wait?timeout=`: answers when the order is final, or the time is over.
pub(super) async fn wait(
    State(intake): State<Intake>,
    Path(id): Path<String>,
    Query(query): Query<WaitQuery>,
    Extension(connection): Extension<Connection>,
) -> HttpResult<Json<StatusView>> {
    let timeout = match query.timeout.as_deref() {
        None => Duration::from_secs(30),
        Some(text) => duration("timeout", text)?,
    };
    Ok(Json(until_final(&intake, &connection, &id, timeout).await?))
}

/// Waits until an order is final, or the time is over, and returns how it stands then.
async fn until_final(
    intake: &Intake,
    connection: &Connection,
    id: &str,
    timeout: Duration,
) -> HttpResult<StatusView> {
    let begun = Instant::now();
    let mut pause = Duration::from_millis(10);
    loop {
        let view = intake.whole_views().status(id).await?;
        let left = timeout.min(MAX_WAIT).saturating_sub(begun.elapsed());
        if view.is_final || left.is_zero() {
            return Ok(view);
        }
        // A node that stops answers what it knows, and so does a connection that makes room for another.
        if connection.wait(intake.host.sleep_unless_draining(pause.min(left))).await != Some(false) {
            return Ok(view);
        }
        pause = (pause * 3 / 2).min(Duration::from_millis(500));
    }
}
