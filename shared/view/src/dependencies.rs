//! Orders that wait for others, as a graph around one order (ORD-16).

use std::collections::{BTreeMap, BTreeSet};

use pagurus_domain::MASKED;
use pagurus_domain::access::scope::AccessScope;
use pagurus_domain::order::dependency::StartMode;
use pagurus_store::hot::dependencies::graph::{self, Edge, Expectation, Graph, Node};
use pagurus_store::lists::scope;
use pagurus_store::outside::orders;
use pagurus_store::{Client, Error};
use pagurus_wire::order::{ConditionView, DependencyGraph, GraphNode};
use pagurus_wire::problem::Problem;

use crate::Views;
use crate::query::invalid;

/// Steps in each direction where the query does not say it.
const DEPTH: usize = 3;
/// Longest way that is followed.
const MAX_DEPTH: usize = 20;

impl Views {
    /// Returns the graph of orders that wait for others, up to `depth` steps around one of them.
    pub async fn dependencies(&self, id: &str, depth: Option<usize>) -> Result<DependencyGraph, Problem> {
        let depth = depth.unwrap_or(DEPTH);
        if !(1..=MAX_DEPTH).contains(&depth) {
            return Err(invalid("/depth", format!("depth must be 1 to {MAX_DEPTH}")));
        }
        let read = async {
            let client = self.host.store.api().await?;
            if orders::status(&client, id).await?.is_none() {
                return Ok(None);
            }
            graph_around(&client, &self.scope, id, depth).await.map(Some)
        };
        let graph = read.await.map_err(self.failed("dependencies"))?;
        Ok(view(id.to_owned(), graph.ok_or_else(|| Problem::no_order(id))?))
    }
}

/// The graph around an order. Of an order that is not seen no more is there than that another one waits for it.
pub(crate) async fn graph_around(
    client: &Client,
    scope: &AccessScope,
    id: &str,
    depth: usize,
) -> Result<Graph, Error> {
    let mut graph = graph::around(client, id, depth).await?;
    let seen = scope::within_by_id(client, scope, graph.nodes.iter().map(|node| node.id.clone())).await?;
    graph.edges.retain(|edge| seen.has(&edge.order));
    for node in graph.nodes.iter_mut().filter(|node| !seen.has(&node.id)) {
        MASKED.clone_into(&mut node.scenario);
        node.step = None;
    }
    Ok(graph)
}

/// True of an order that is not seen: how it stands is shown to nobody.
pub(crate) fn is_hidden(node: &Node) -> bool {
    node.scenario == MASKED
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
                status: node.as_ref().filter(|node| !is_hidden(node)).map(|node| node.status.to_string()),
                step: node.and_then(|node| node.step),
            }
        })
        .collect();
    let edges = graph.edges.into_iter().map(condition).collect();
    DependencyGraph { id, nodes, edges, truncated: graph.truncated }
}

/// Conditions that one order waits for, of a graph around it.
pub(crate) fn conditions(id: &str, graph: Graph) -> Vec<ConditionView> {
    let own = graph.edges.into_iter().filter(|edge| edge.order == id && edge.terms.is_some());
    own.map(condition).collect()
}

fn condition(edge: Edge) -> ConditionView {
    let (kind, states, otherwise, mode) = match edge.terms {
        Some(Expectation { states, otherwise, reactive }) => {
            let mode = if reactive { StartMode::Reactive } else { StartMode::Polling };
            ("condition", states, otherwise.to_string(), mode)
        }
        None => ("child", Vec::new(), "scenario".to_owned(), StartMode::Reactive),
    };
    ConditionView {
        kind: kind.to_owned(),
        order: edge.order,
        after: edge.before,
        states,
        otherwise,
        mode: mode.to_string(),
        stand: edge.stand.to_string(),
        settled_at: edge.settled_at,
    }
}
