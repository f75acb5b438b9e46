//! Changes by hand over HTTP: update, repair, and the clone of an order.

use axum::Json;
use axum::body::Body;
use axum::extract::State;
use axum::http::{HeaderMap, Response, StatusCode};
use pagurus_command::answer::AnswerByHand;
use pagurus_command::request::RequestKey;
use pagurus_domain::document::Fault;
use pagurus_domain::order::amendment::{Repair, Update};
use pagurus_wire::bodies::{AnswerBody, RepairBody, UpdateBody};
use pagurus_wire::order::{OrderView, RegisteredView, StatusView};
use pagurus_wire::problem::{Problem, Type};
use serde_json::{Map, Value};

use super::body::read_json_if_any;
use super::caller::{Caller, Scope, ScopedViews};
use super::document::{Table, admin, operator};
use super::dry_run::ActionQuery;
use super::idempotency::key_of;
use super::query::{Path, Query};
use super::registration::{answer_with, register_one};
use super::{HttpResult, ProblemResponse};
use crate::Intake;
use crate::register::RegistrationOutcome;

pub(super) fn routes(table: Table) -> Table {
    table
        .of("Changes by hand", "Orders that are changed, repaired, answered or copied.")
        .patch(
            "/v1/orders/{id}",
            update,
            operator("Changes an order that has not started.").key().takes::<UpdateBody>(),
        )
        .post(
            "/v1/orders/{id}/repair",
            repair,
            admin("Continues a stuck order from a state.").key().takes::<RepairBody>(),
        )
        .post(
            "/v1/orders/{id}/requests/{request}/answer",
            answer,
            operator("Answers a request of an order by hand, as the called system would have done.")
                .takes::<AnswerBody>(),
        )
        .post(
            "/v1/orders/{id}/clone",
            clone,
            operator("Registers a new order that is filled from an old one.")
                .more("The body is merged into the registration of the old order; null removes a field.")
                .key()
                .may_take::<Map<String, Value>>()
                .gives::<RegisteredView>(201, "Registered.")
                .gives::<RegisteredView>(200, "Registered before."),
        )
}

fn invalid(faults: Vec<Fault>) -> ProblemResponse {
    ProblemResponse(Problem::of_faults(Type::Invalid, &faults))
}

/// `PATCH /v1/orders/{id}`
async fn update(
    State(intake): State<Intake>,
    ScopedViews(views): ScopedViews,
    Path(id): Path<String>,
    Caller(by): Caller,
    headers: HeaderMap,
    body: Body,
) -> HttpResult<Json<OrderView>> {
    let body = read_json_if_any(&intake, body).await?;
    let key = RequestKey::read(key_of(&headers)?, &body)?;
    let asked = Update::read(&body).map_err(invalid)?;
    intake.commands.update(&id, &asked, &by, key.as_ref()).await?;
    Ok(Json(views.order(&id).await?))
}

/// `PATCH /v1/orders/batch`: an order may have this name.
pub(super) async fn update_named_batch(
    state: State<Intake>,
    views: ScopedViews,
    caller: Caller,
    headers: HeaderMap,
    body: Body,
) -> HttpResult<Json<OrderView>> {
    update(state, views, Path("batch".to_owned()), caller, headers, body).await
}

/// `POST /v1/orders/{id}/repair`
async fn repair(
    State(intake): State<Intake>,
    ScopedViews(views): ScopedViews,
    Path(id): Path<String>,
    Query(query): Query<ActionQuery>,
    Caller(by): Caller,
    headers: HeaderMap,
    body: Body,
) -> HttpResult<Json<StatusView>> {
    let body = read_json_if_any(&intake, body).await?;
    let key = RequestKey::read(key_of(&headers)?, &body)?;
    let asked = Repair::read(&body).map_err(invalid)?;
    let status = intake.commands.repair(&id, &asked, &by, key.as_ref(), query.dry_run).await?;
    let view = views.status(&id).await?;
    // The status that the repair gives it: an order that was repaired may run already.
    Ok(Json(StatusView { status: status.to_string(), is_final: status.is_final(), ..view }))
}

/// `POST /v1/orders/{id}/requests/{request}/answer`: what the called system would have answered, by hand.
async fn answer(
    State(intake): State<Intake>,
    ScopedViews(views): ScopedViews,
    Path((id, request)): Path<(String, String)>,
    Caller(by): Caller,
    body: Body,
) -> HttpResult<Json<StatusView>> {
    let asked = AnswerByHand::read(&*read_json_if_any(&intake, body).await?)?;
    intake.commands.answer(&id, &request, &asked, &by).await?;
    Ok(Json(views.status(&id).await?))
}

/// `POST /v1/orders/{id}/clone`: the body is laid over what the old order was registered with.
async fn clone(
    State(intake): State<Intake>,
    Path(id): Path<String>,
    Caller(by): Caller,
    Scope(scope): Scope,
    headers: HeaderMap,
    body: Body,
) -> HttpResult<Response<Body>> {
    let asked = read_json_if_any(&intake, body).await?;
    let key = RequestKey::read(key_of(&headers)?, &asked)?;
    if let Some((clone, status)) = intake.commands.cloned_before(&id, &asked, key.as_ref()).await? {
        return answer_with(clone, &RegistrationOutcome::Duplicate(status), None);
    }
    let (request, origin) = intake.commands.clone_of(&id, &asked, key.as_ref()).await?;
    let answer = register_one(&intake, &scope, request, &headers, origin.note.clone()).await?;
    // An id that was made from the key is of no other order: a process may have died before it was noted.
    let is_repeat = key.is_some() && asked["id"].is_null();
    if answer.status() == StatusCode::CREATED || is_repeat {
        intake.commands.note_origin(&origin, &by).await;
    }
    Ok(answer)
}
