//! Changes by hand over HTTP: update, repair, and the clone of an order.

use axum::Json;
use axum::body::Body;
use axum::extract::State;
use axum::http::{HeaderMap, Response, StatusCode};
use pagurus_command::answer::AnswerByHand;
use pagurus_domain::document::Fault;
use pagurus_domain::order::amendment::{Repair, Update};
use pagurus_wire::order::{OrderView, StatusView};
use pagurus_wire::problem::{Problem, Type};

use super::body::read_json_if_any;
use super::caller::Caller;
use super::orders::{key_of, register_one};
use super::query::Path;
use super::{Answer, Outcome};
use crate::Intake;

fn invalid(faults: Vec<Fault>) -> Answer {
    Answer(Problem::of_faults(Type::Invalid, &faults))
}

/// `PATCH /v1/orders/{id}`
pub(super) async fn update(
    State(intake): State<Intake>,
    Path(id): Path<String>,
    Caller(by): Caller,
    body: Body,
) -> Outcome<Json<OrderView>> {
    let asked = Update::read(&*read_json_if_any(&intake, body).await?).map_err(invalid)?;
    intake.commands.update(&id, &asked, &by).await?;
    Ok(Json(intake.views.order(&id).await?))
}

/// `PATCH /v1/orders/batch`: an order may bear this name.
pub(super) async fn update_named_batch(
    state: State<Intake>,
    caller: Caller,
    body: Body,
) -> Outcome<Json<OrderView>> {
    update(state, Path("batch".to_owned()), caller, body).await
}

/// `POST /v1/orders/{id}/repair`
pub(super) async fn repair(
    State(intake): State<Intake>,
    Path(id): Path<String>,
    Caller(by): Caller,
    body: Body,
) -> Outcome<Json<StatusView>> {
    let asked = Repair::read(&*read_json_if_any(&intake, body).await?).map_err(invalid)?;
    intake.commands.repair(&id, &asked, &by).await?;
    Ok(Json(intake.views.status(&id).await?))
}

/// `POST /v1/orders/{id}/requests/{name}/answer`: what the called system would have answered, by hand.
pub(super) async fn answer(
    State(intake): State<Intake>,
    Path((id, request)): Path<(String, String)>,
    Caller(by): Caller,
    body: Body,
) -> Outcome<Json<StatusView>> {
    let asked = AnswerByHand::read(&*read_json_if_any(&intake, body).await?)?;
    intake.commands.answer(&id, &request, &asked, &by).await?;
    Ok(Json(intake.views.status(&id).await?))
}

/// `POST /v1/orders/{id}/clone`: the body is laid over what the old order was registered with.
pub(super) async fn clone(
    State(intake): State<Intake>,
    Path(id): Path<String>,
    Caller(by): Caller,
    headers: HeaderMap,
    body: Body,
) -> Outcome<Response<Body>> {
    let asked = read_json_if_any(&intake, body).await?;
    let (request, origin) = intake.commands.clone_of(&id, &asked, key_of(&headers)?).await?;
    let answer = register_one(&intake, request, &headers).await?;
    if answer.status() == StatusCode::CREATED {
        intake.commands.note_origin(&origin, &by).await;
    }
    Ok(answer)
}
