//! Nodes over HTTP: the registry, and nodes taken out of service and put back.

use axum::Json;
use axum::body::Body;
use axum::extract::State;
use pagurus_wire::nodes::{NodeOrderOutcome, NodeOrderRequest, NodeView};
use pagurus_wire::order::Page;
use pagurus_wire::problem::{Problem, Type};
use serde::Deserialize as _;

use super::Outcome;
use super::body::read_json_if_any;
use super::caller::Caller;
use super::query::{Nothing, Path, Query};
use crate::Intake;

/// `GET /v1/nodes`
pub(super) async fn nodes(State(intake): State<Intake>, _: Query<Nothing>) -> Outcome<Json<Page<NodeView>>> {
    Ok(Json(intake.views.nodes().await?))
}

/// `POST /v1/nodes/{role}/{name}/offline` and `…/online`, with a reason
pub(super) async fn order_node(
    State(intake): State<Intake>,
    Path((role, name, order)): Path<(String, String, String)>,
    Caller(by): Caller,
    body: Body,
) -> Outcome<Json<NodeOrderOutcome>> {
    let offline = match order.as_str() {
        "offline" => true,
        "online" => false,
        _ => return Err(Problem::new(Type::NotFound, "orders to a node are: offline, online").into()),
    };
    let asked = read_json_if_any(&intake, body).await?;
    let asked = NodeOrderRequest::deserialize(&*asked)
        .map_err(|error| Problem::new(Type::Invalid, error.to_string()))?;
    Ok(Json(intake.commands.order_node((&role, &name), offline, &asked, &by).await?))
}
