//! Actors over HTTP: who decides the tasks of orders, and how far they have come.

use axum::Json;
use pagurus_view::ListQuery;
use pagurus_wire::actors::ActorView;
use pagurus_wire::order::Page;

use super::HttpResult;
use super::caller::ScopedViews;
use super::document::{Table, viewer};
use super::query::{Path, Query};

pub(super) fn routes(table: Table) -> Table {
    table
        .of("Actors", "External programs that decide tasks of orders.")
        .get(
            "/v1/actors",
            actors,
            viewer("Actors by name, with their tasks, their programs, and the time at which a task was last taken.").scoped(),
        )
        .get("/v1/actors/{name}", actor, viewer("One actor.").scoped())
}

/// `GET /v1/actors`
async fn actors(
    ScopedViews(views): ScopedViews,
    Query(query): Query<ListQuery>,
) -> HttpResult<Json<Page<ActorView>>> {
    Ok(Json(views.actors(&query).await?))
}

/// `GET /v1/actors/{name}`
async fn actor(ScopedViews(views): ScopedViews, Path(name): Path<String>) -> HttpResult<Json<ActorView>> {
    Ok(Json(views.actor(&name).await?))
}
