//! Queues of sequential orders: what is seen of them, and what is done to them.

use axum::Json;
use axum::body::Body;
use axum::extract::State;
use pagurus_command::request::ActionRequest;
use pagurus_view::QueueQuery;
use pagurus_wire::bodies::ReasonBody;
use pagurus_wire::cluster::{QueueDetail, ReleasedView};
use pagurus_wire::problem::Problem;

use super::body::read_json;
use super::caller::{Caller, Scope, ScopedViews};
use super::document::{Table, operator, viewer};
use super::query::{Path, Query};
use super::{HttpResult, views};
use crate::Intake;

pub(super) fn routes(table: Table) -> Table {
    table
        .of("Queues", "Resources that one sequential order at a time owns.")
        .get("/v1/queues", views::queues, viewer("Queues that have members, the longest first.").scoped())
        .get(
            "/v1/queues/{name}",
            queue,
            viewer("One queue: who holds it and since when, and who waits, in their order."),
        )
        .post(
            "/v1/queues/{name}/release",
            release,
            operator("Takes a queue from the order that owns it.").takes::<ReasonBody>(),
        )
}

/// `GET /v1/queues/{name}`
async fn queue(
    ScopedViews(views): ScopedViews,
    Path(name): Path<String>,
    Query(query): Query<QueueQuery>,
) -> HttpResult<Json<QueueDetail>> {
    Ok(Json(views.queue(&name, &query).await?))
}

/// `POST /v1/queues/{name}/release`, with a reason
async fn release(
    State(intake): State<Intake>,
    Path(name): Path<String>,
    Caller(by): Caller,
    Scope(scope): Scope,
    body: Body,
) -> HttpResult<Json<ReleasedView>> {
    let asked = read_json(&intake, body).await?;
    let asked = ActionRequest::read(&asked, &["reason"])?;
    let Some(reason) = asked.reason.filter(|reason| !reason.is_empty()) else {
        return Err(Problem::of_field("/reason", "is missing: say why the queue is released").into());
    };
    let released = intake.commands.release_queue(&name, (&by, &scope), &reason).await?;
    Ok(Json(ReleasedView { queue: name, released }))
}
