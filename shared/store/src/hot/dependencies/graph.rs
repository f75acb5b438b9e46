//! Graph of waiting orders, for people: the part around one order (ORD-16).

use std::collections::BTreeSet;

use jiff::Timestamp;
use pagurus_domain::number::saturated;
use pagurus_domain::order::Status;
use pagurus_domain::order::dependency::{Otherwise, Stand};

use super::states_of;
use crate::row::word;
use crate::sql::{shown_status, statements};
use crate::{Client, Result};

/// Edges of one answer.
pub const MAX_EDGES: usize = 1000;

/// Columns of an edge from an order `o` to a child `k` of it that answers its request `r`.
macro_rules! edge_to_child {
    () => {
        "SELECT o.id, k.id AS before_id, NULL AS states, NULL AS otherwise,
               CASE WHEN r.status = 'answered' THEN 'met' WHEN r.status = 'timeout' THEN 'missed'
                    WHEN r.status = 'open' AND o.finished_at IS NULL THEN 'open' ELSE 'closed' END AS stand,
               r.closed_at AS settled_at, NULL AS reactive, o.no"
    };
}

statements! {
    BEFORE = concat!("
        SELECT o.id, d.before_id, d.states, d.otherwise, d.stand, d.settled_at, d.reactive, o.no
          FROM orders o JOIN dependencies d ON d.order_no = ANY(ARRAY[o.no])
         WHERE o.id = ANY($1::text[])
         UNION ALL
        ", edge_to_child!(), "
          FROM orders o
          JOIN children c ON c.parent_no = ANY(ARRAY[o.no])
          JOIN orders k ON k.no = ANY(ARRAY[c.order_no])
          JOIN requests r ON r.id = ANY(ARRAY[k.answers]) AND r.life = o.life
         WHERE o.id = ANY($1::text[])
         ORDER BY id, before_id LIMIT $2");
    AFTER = concat!("
        SELECT o.id, d.before_id, d.states, d.otherwise, d.stand, d.settled_at, d.reactive, o.no
          FROM dependencies d JOIN orders o ON o.no = ANY(ARRAY[d.order_no])
         WHERE d.before_id = ANY($1::text[])
         UNION ALL
        ", edge_to_child!(), "
          FROM orders k
          JOIN children c ON c.order_no = ANY(ARRAY[k.no])
          JOIN orders o ON o.no = ANY(ARRAY[c.parent_no])
          JOIN requests r ON r.id = ANY(ARRAY[k.answers]) AND r.life = o.life
         WHERE k.id = ANY($1::text[])
         ORDER BY before_id, no LIMIT $2");
    NODES = concat!("
        SELECT o.id, s.name AS scenario, ", shown_status!(), " AS status, o.step
          FROM orders o
          JOIN scenarios s ON s.no = o.scenario
          LEFT JOIN running w ON w.order_no = ANY(ARRAY[o.no])
          LEFT JOIN ready r ON r.order_no = ANY(ARRAY[o.no])
         WHERE o.id = ANY($1::text[])");
}

/// A wait of one order for another.
#[derive(Clone, Debug)]
pub struct Edge {
    /// The order that waits.
    pub order: String,
    /// The one it waits for.
    pub before: String,
    /// Stand of the wait.
    pub stand: Stand,
    /// Time since which it is met or missed.
    pub settled_at: Option<Timestamp>,
    /// Expectation of the end; none of a child that the order awaits: its scenario looks at that.
    pub terms: Option<Expectation>,
}

/// Expectation of an order about the end of another.
#[derive(Clone, Debug)]
pub struct Expectation {
    /// The states that would do.
    pub states: Vec<String>,
    /// Consequence of an end in another status.
    pub otherwise: Otherwise,
    /// True if the end of the one activates the other at once.
    pub reactive: bool,
}

/// An order of the graph that is registered.
#[derive(Clone, Debug)]
pub struct Node {
    /// The client's id.
    pub id: String,
    /// Name of the scenario.
    pub scenario: String,
    /// Present status.
    pub status: Status,
    /// Present state.
    pub step: Option<String>,
}

/// The graph around an order.
#[derive(Clone, Debug, Default)]
pub struct Graph {
    /// The orders that are registered; others are only named by edges.
    pub nodes: Vec<Node>,
    /// Waits of orders for orders.
    pub edges: Vec<Edge>,
    /// True if there is more than was read.
    pub truncated: bool,
}

/// Orders that an order waits for and orders that wait for it, at most `depth` steps away in each direction.
pub async fn around(client: &Client, id: &str, depth: usize) -> Result<Graph> {
    let mut graph = Graph::default();
    let mut named = BTreeSet::from([id.to_owned()]);
    for (statement, upward) in [(BEFORE, true), (AFTER, false)] {
        let statement = client.prepare_cached(statement).await?;
        let mut seen = BTreeSet::from([id.to_owned()]);
        let mut frontier = vec![id.to_owned()];
        for step in 0..=depth {
            let room = MAX_EDGES.saturating_sub(graph.edges.len());
            if frontier.is_empty() {
                break;
            }
            // Behind the last step only whether there is more.
            let limit = saturated::<i64>(if step == depth { 1 } else { room + 1 });
            let mut edges = read(&client.query(&statement, &[&frontier, &limit]).await?)?;
            let room = if step == depth { 0 } else { room };
            graph.truncated |= edges.len() > room;
            edges.truncate(room);
            frontier = edges
                .iter()
                .map(|edge| if upward { edge.before.clone() } else { edge.order.clone() })
                .filter(|id| seen.insert(id.clone()))
                .collect();
            graph.edges.append(&mut edges);
        }
        named.append(&mut seen);
    }
    let named: Vec<String> = named.into_iter().collect();
    let rows = client.query(&client.prepare_cached(NODES).await?, &[&named]).await?;
    graph.nodes = rows
        .iter()
        .map(|row| {
            let status = word(row, "status", "orders.status")?;
            Ok(Node { id: row.get("id"), scenario: row.get("scenario"), status, step: row.get("step") })
        })
        .collect::<Result<_>>()?;
    graph.nodes.sort_by(|one, two| one.id.cmp(&two.id));
    Ok(graph)
}

fn read(rows: &[tokio_postgres::Row]) -> Result<Vec<Edge>> {
    rows.iter()
        .map(|row| {
            Ok(Edge {
                order: row.get("id"),
                before: row.get("before_id"),
                stand: word(row, "stand", "dependencies.stand")?,
                settled_at: row.get("settled_at"),
                terms: row.get::<_, Option<&str>>("states").map(|states| terms(row, states)).transpose()?,
            })
        })
        .collect()
}

fn terms(row: &tokio_postgres::Row, states: &str) -> Result<Expectation> {
    Ok(Expectation {
        states: states_of(states)?,
        otherwise: word(row, "otherwise", "dependencies.otherwise")?,
        reactive: row.get("reactive"),
    })
}
