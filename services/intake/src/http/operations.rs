//! Bulk operations over HTTP.

use axum::body::Body;
use axum::extract::State;
use axum::http::{HeaderMap, Response, StatusCode};
use axum::response::IntoResponse;
use axum::{Extension, Json};
use pagurus_command::request::RequestKey;
use pagurus_domain::access::{AccessRole, Identity};
use pagurus_domain::operation::{BulkKind, OperationState};
use pagurus_view::{OperationOrdersQuery, OperationsQuery};
use pagurus_wire::operations::{
    OperationOrderView, OperationOutcome, OperationRequest, OperationSteering, OperationView,
};
use pagurus_wire::order::Page;
use pagurus_wire::problem::{Problem, Type};

use super::HttpResult;
use super::body::{Sent, read_json, typed};
use super::caller::{Caller, ScopedViews};
use super::document::{Table, operator, viewer};
use super::idempotency::key_of;
use super::query::{Path, Query};
use crate::Intake;

pub(super) fn routes(table: Table) -> Table {
    table
        .of("Operations", "What is done to many orders, in the background.")
        .post(
            "/v1/operations",
            create,
            operator("Acts on every order that a search finds, or shows what would be done.")
                .scoped()
                .more("Orders are selected first, then acted on by all activators, at the requested rate, and no faster than their flows take them.")
                .key()
                .takes::<OperationRequest>()
                .gives::<OperationOutcome>(201, "Begun.")
                .gives::<OperationOutcome>(200, "What would be done."),
        )
        .get("/v1/operations", list, viewer("Operations, the newest first.").scoped())
        .get("/v1/operations/{no}", show, viewer("One operation, with the reasons of what it did not do."))
        .get("/v1/operations/{no}/orders", orders, viewer("Orders of an operation, with the result of each."))
        .post("/v1/operations/{no}/pause", pause, operator("Pauses an operation."))
        .post("/v1/operations/{no}/resume", resume, operator("Resumes a paused operation."))
        .post("/v1/operations/{no}/abort", abort, operator("Ends an operation; what was done stays done."))
}

/// `POST /v1/operations`
async fn create(
    State(intake): State<Intake>,
    ScopedViews(views): ScopedViews,
    Caller(by): Caller,
    Extension(identity): Extension<Identity>,
    headers: HeaderMap,
    body: Body,
) -> HttpResult<Response<Body>> {
    let body = read_json(&intake, body).await?;
    let key = RequestKey::read(key_of(&headers)?, &body)?;
    let asked: OperationRequest = typed(&body)?;
    may_do(&identity, &asked.action)?;
    let (outcome, made) = intake.commands.operate(&asked, &by, &identity.scope, key.as_ref()).await?;
    let Some(no) = made else { return Ok(Json(outcome).into_response()) };
    let operation = Some(views.operation(no).await?);
    Ok((StatusCode::CREATED, Json(OperationOutcome { operation, ..outcome })).into_response())
}

/// Refuses what takes another role for one order already.
fn may_do(identity: &Identity, action: &str) -> Result<(), Problem> {
    let needed = if action == BulkKind::Repair.as_str() { AccessRole::Admin } else { AccessRole::Operator };
    if identity.role.admits_to(needed, false) {
        return Ok(());
    }
    let detail = format!("the role `{}` does not permit `{action}`; it needs `{needed}`", identity.role);
    Err(Problem::new(Type::Forbidden, detail))
}

/// `GET /v1/operations`
async fn list(
    ScopedViews(views): ScopedViews,
    Query(query): Query<OperationsQuery>,
) -> HttpResult<Json<Page<OperationView>>> {
    Ok(Json(views.operations(&query).await?))
}

/// `GET /v1/operations/{no}`
async fn show(ScopedViews(views): ScopedViews, Path(no): Path<i64>) -> HttpResult<Json<OperationView>> {
    Ok(Json(views.operation(no).await?))
}

/// `GET /v1/operations/{no}/orders`
async fn orders(
    ScopedViews(views): ScopedViews,
    Path(no): Path<i64>,
    Query(query): Query<OperationOrdersQuery>,
) -> HttpResult<Json<Page<OperationOrderView>>> {
    Ok(Json(views.operation_orders(no, &query).await?))
}

/// `POST /v1/operations/{no}/pause`
async fn pause(
    state: State<Intake>,
    views: ScopedViews,
    path: Path<i64>,
    caller: Caller,
    asked: Sent<OperationSteering>,
) -> HttpResult<Json<OperationView>> {
    steer(state, views, path, caller, asked, OperationState::Paused).await
}

/// `POST /v1/operations/{no}/resume`
async fn resume(
    state: State<Intake>,
    views: ScopedViews,
    path: Path<i64>,
    caller: Caller,
    Extension(identity): Extension<Identity>,
    asked: Sent<OperationSteering>,
) -> HttpResult<Json<OperationView>> {
    may_do(&identity, &views.0.operation(path.0).await?.action)?;
    steer(state, views, path, caller, asked, OperationState::Running).await
}

/// `POST /v1/operations/{no}/abort`
async fn abort(
    state: State<Intake>,
    views: ScopedViews,
    path: Path<i64>,
    caller: Caller,
    asked: Sent<OperationSteering>,
) -> HttpResult<Json<OperationView>> {
    steer(state, views, path, caller, asked, OperationState::Aborted).await
}

async fn steer(
    State(intake): State<Intake>,
    ScopedViews(views): ScopedViews,
    Path(no): Path<i64>,
    Caller(by): Caller,
    Sent(asked): Sent<OperationSteering>,
    to: OperationState,
) -> HttpResult<Json<OperationView>> {
    intake.commands.steer_operation(no, to, &by, asked.reason.as_deref()).await?;
    Ok(Json(views.operation(no).await?))
}
