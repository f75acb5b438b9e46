//! Actors over HTTP: who decides the tasks of orders, and how far they have come.

use axum::Json;
use axum::extract::State;
use pagurus_view::ListQuery;
use pagurus_wire::actors::ActorView;
use pagurus_wire::order::Page;

use super::HttpResult;
use super::document::{Table, viewer};
use super::query::{Path, Query};
use crate::Intake;

pub(super) fn routes(table: Table) -> Table {
    table
        .of("Actors", "Programs outside that decide tasks of orders.")
        .get("/v1/actors", actors, viewer("Actors by name: tasks, programs, and when one took a task last."))
        .get("/v1/actors/{name}", actor, viewer("One actor."))
}

/// `GET /v1/actors`
async fn actors(
    State(intake): State<Intake>,
    Query(query): Query<ListQuery>,
) -> HttpResult<Json<Page<ActorView>>> {
    Ok(Json(intake.views.actors(&query).await?))
}

/// `GET /v1/actors/{name}`
async fn actor(State(intake): State<Intake>, Path(name): Path<String>) -> HttpResult<Json<ActorView>> {
    Ok(Json(intake.views.actor(&name).await?))
}
