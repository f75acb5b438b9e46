//! Nodes over HTTP: the registry, and nodes taken out of service and put back.

use axum::Json;
use axum::extract::State;
use pagurus_view::ListQuery;
use pagurus_wire::nodes::{NodeOrderOutcome, NodeOrderRequest, NodeView};
use pagurus_wire::order::Page;

use super::HttpResult;
use super::body::Sent;
use super::caller::{Caller, ScopedViews};
use super::document::{Table, operator, viewer};
use super::query::{Path, Query};
use crate::Intake;

pub(super) fn routes(table: Table) -> Table {
    table
        .of("Nodes", "The processes of the engine, and which of them are in service.")
        .get(
            "/v1/nodes",
            nodes,
            viewer("Living nodes, those that ended within the last hour, and those that are out of service.")
                .scoped(),
        )
        .post(
            "/v1/nodes/{role}/{name}/offline",
            offline,
            operator("Takes a node out of service: it finishes its work and takes nothing new."),
        )
        .post("/v1/nodes/{role}/{name}/online", online, operator("Puts a node back into service."))
}

/// `GET /v1/nodes`
async fn nodes(
    ScopedViews(views): ScopedViews,
    Query(query): Query<ListQuery>,
) -> HttpResult<Json<Page<NodeView>>> {
    Ok(Json(views.nodes(&query).await?))
}

/// `POST /v1/nodes/{role}/{name}/offline`, with a reason
async fn offline(
    state: State<Intake>,
    path: Path<(String, String)>,
    caller: Caller,
    asked: Sent<NodeOrderRequest>,
) -> HttpResult<Json<NodeOrderOutcome>> {
    order_node(state, path, caller, asked, true).await
}

/// `POST /v1/nodes/{role}/{name}/online`, with a reason
async fn online(
    state: State<Intake>,
    path: Path<(String, String)>,
    caller: Caller,
    asked: Sent<NodeOrderRequest>,
) -> HttpResult<Json<NodeOrderOutcome>> {
    order_node(state, path, caller, asked, false).await
}

async fn order_node(
    State(intake): State<Intake>,
    Path((role, name)): Path<(String, String)>,
    Caller(by): Caller,
    Sent(asked): Sent<NodeOrderRequest>,
    offline: bool,
) -> HttpResult<Json<NodeOrderOutcome>> {
    Ok(Json(intake.commands.order_node((&role, &name), offline, &asked, &by).await?))
}
