//! Bulk operations over HTTP.

use axum::Json;
use axum::body::Body;
use axum::extract::State;
use axum::http::{HeaderMap, Response, StatusCode};
use axum::response::IntoResponse;
use pagurus_command::request::RequestKey;
use pagurus_domain::operation::OperationState;
use pagurus_view::{OperationOrdersQuery, OperationsQuery};
use pagurus_wire::operations::{
    OperationOrderView, OperationOutcome, OperationRequest, OperationSteering, OperationView,
};
use pagurus_wire::order::Page;
use pagurus_wire::problem::{Problem, Type};
use serde::Deserialize as _;

use super::Outcome;
use super::body::{read_json, read_json_if_any};
use super::caller::Caller;
use super::orders::key_of;
use super::query::{Path, Query};
use crate::Intake;

/// `POST /v1/operations`
pub(super) async fn create(
    State(intake): State<Intake>,
    Caller(by): Caller,
    headers: HeaderMap,
    body: Body,
) -> Outcome<Response<Body>> {
    let body = read_json(&intake, body).await?;
    let key = RequestKey::read(key_of(&headers)?, &body)?;
    let asked = OperationRequest::deserialize(&*body);
    let asked = asked.map_err(|error| Problem::new(Type::Invalid, error.to_string()))?;
    let (outcome, made) = intake.commands.operate(&asked, &by, key.as_ref()).await?;
    let Some(no) = made else { return Ok(Json(outcome).into_response()) };
    let operation = Some(intake.views.operation(no).await?);
    Ok((StatusCode::CREATED, Json(OperationOutcome { operation, ..outcome })).into_response())
}

/// `GET /v1/operations`
pub(super) async fn list(
    State(intake): State<Intake>,
    Query(query): Query<OperationsQuery>,
) -> Outcome<Json<Page<OperationView>>> {
    Ok(Json(intake.views.operations(&query).await?))
}

/// `GET /v1/operations/{no}`
pub(super) async fn show(State(intake): State<Intake>, Path(no): Path<i64>) -> Outcome<Json<OperationView>> {
    Ok(Json(intake.views.operation(no).await?))
}

/// `GET /v1/operations/{no}/orders`
pub(super) async fn orders(
    State(intake): State<Intake>,
    Path(no): Path<i64>,
    Query(query): Query<OperationOrdersQuery>,
) -> Outcome<Json<Page<OperationOrderView>>> {
    Ok(Json(intake.views.operation_orders(no, &query).await?))
}

/// `POST /v1/operations/{no}/pause`
pub(super) async fn pause(
    state: State<Intake>,
    path: Path<i64>,
    caller: Caller,
    body: Body,
) -> Outcome<Json<OperationView>> {
    steer(state, path, caller, body, OperationState::Paused).await
}

/// `POST /v1/operations/{no}/resume`
pub(super) async fn resume(
    state: State<Intake>,
    path: Path<i64>,
    caller: Caller,
    body: Body,
) -> Outcome<Json<OperationView>> {
    steer(state, path, caller, body, OperationState::Running).await
}

/// `POST /v1/operations/{no}/abort`
pub(super) async fn abort(
    state: State<Intake>,
    path: Path<i64>,
    caller: Caller,
    body: Body,
) -> Outcome<Json<OperationView>> {
    steer(state, path, caller, body, OperationState::Aborted).await
}

async fn steer(
    State(intake): State<Intake>,
    Path(no): Path<i64>,
    Caller(by): Caller,
    body: Body,
    to: OperationState,
) -> Outcome<Json<OperationView>> {
    let body = read_json_if_any(&intake, body).await?;
    let asked = OperationSteering::deserialize(&*body);
    let asked = asked.map_err(|error| Problem::new(Type::Invalid, error.to_string()))?;
    intake.commands.steer_operation(no, to, &by, asked.reason.as_deref()).await?;
    Ok(Json(intake.views.operation(no).await?))
}
