//! What waits for what, as a graph around one order (ORD-16).

use std::collections::{BTreeMap, BTreeSet};

use axum::Json;
use axum::extract::State;
use pagurus_domain::order::dependency::StartMode;
use pagurus_runtime::trouble::store_problem;
use pagurus_store::dependencies::graph::{self, Edge, Graph, Node};
use pagurus_store::orders;
use pagurus_wire::order::{ConditionView, DependencyGraph, GraphNode};
use serde::Deserialize;

use super::Outcome;
use super::query::{Path, Query, invalid};
use crate::Intake;
use pagurus_command::not_found;

/// Steps in each direction where the query does not say it.
const DEPTH: usize = 3;
/// Longest way that is followed.
const MAX_DEPTH: usize = 20;

/// Query of a graph.
#[derive(Debug, Deserialize)]
pub(super) struct GraphQuery {
    depth: Option<usize>,
}

/// `GET /v1/orders/{id}/dependencies?depth=`
pub(super) async fn graph(
    State(intake): State<Intake>,
    Path(id): Path<String>,
    Query(query): Query<GraphQuery>,
) -> Outcome<Json<DependencyGraph>> {
    let depth = query.depth.unwrap_or(DEPTH);
    if !(1..=MAX_DEPTH).contains(&depth) {
        return Err(invalid("/depth", &format!("depth must be 1 to {MAX_DEPTH}")));
    }
    let read = async {
        let client = intake.host.store.api().await?;
        if orders::status(&client, &id).await?.is_none() {
            return Ok(None);
        }
        graph::around(&client, &id, depth).await.map(Some)
    }
    .await;
    let graph = read.map_err(|error| store_problem(&intake.host, "dependencies", &error))?;
    Ok(Json(view(id.clone(), graph.ok_or_else(|| not_found(&id))?)))
}

fn view(id: String, graph: Graph) -> DependencyGraph {
    let mut registered: BTreeMap<String, Node> =
        graph.nodes.into_iter().map(|node| (node.id.clone(), node)).collect();
    let named: BTreeSet<&String> =
        graph.edges.iter().flat_map(|edge| [&edge.order, &edge.before]).chain([&id]).collect();
    let nodes = named
        .into_iter()
        .map(|id| {
            let node = registered.remove(id);
            GraphNode {
                id: id.clone(),
                registered: node.is_some(),
                scenario: node.as_ref().map(|node| node.scenario.clone()),
                status: node.as_ref().map(|node| node.status.to_string()),
                step: node.and_then(|node| node.step),
            }
        })
        .collect();
    let edges = graph.edges.into_iter().map(condition).collect();
    DependencyGraph { id, nodes, edges, truncated: graph.truncated }
}

/// What one order waits for, of a graph around it.
pub(super) fn conditions(id: &str, graph: Graph) -> Vec<ConditionView> {
    graph.edges.into_iter().filter(|edge| edge.order == id).map(condition).collect()
}

fn condition(edge: Edge) -> ConditionView {
    let mode = if edge.reactive { StartMode::Reactive } else { StartMode::Polling };
    ConditionView {
        order: edge.order,
        after: edge.before,
        states: edge.states,
        otherwise: edge.otherwise.to_string(),
        mode: mode.to_string(),
        stand: edge.stand.to_string(),
        settled_at: edge.settled_at,
    }
}
