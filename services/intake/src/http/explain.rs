//! "Why is it not running?", in one plain sentence (ORD-28).

use pagurus_domain::order::Status;
use pagurus_domain::order::dependency::{Otherwise, Stand};
use pagurus_store::dependencies::graph::{self, Edge, Node};
use pagurus_store::orders::OrderView as Row;
use pagurus_store::{Client, Error, control, queues, requests};
use pagurus_wire::order::Explanation;

use super::retry::{self, Cycles};

/// Pre-conditions that are named one by one.
const MAX_REASONS: usize = 5;

/// Explains where an order stands and what it waits for.
///
/// # Errors
/// The database fails.
pub(super) async fn explain(client: &Client, row: &Row, cycles: &Cycles) -> Result<Explanation, Error> {
    let explanation = match row.status {
        Status::Running => running(row),
        status if status.is_final() => ended(row),
        _ => match (row.ready_since, row.due_at) {
            (Some(since), _) => ready(client, row, since).await?,
            (None, Some(due)) => suspended(client, row, due, cycles).await?,
            (None, None) if row.status == Status::Postponed => waiting(client, row).await?,
            (None, None) => {
                "it has neither a place among what may run nor a timer; recovery looks at it".into()
            }
        },
    };
    Ok(Explanation { id: row.id.clone(), status: row.status.to_string(), explanation })
}

fn running(row: &Row) -> String {
    match (&row.running, &row.node) {
        (Some((attempt, since)), Some(node)) => {
            format!("handed out to node {node} at {since}, attempt {attempt}")
        }
        (Some((attempt, since)), None) => {
            format!(
                "handed out at {since}, attempt {attempt}, to a node that is gone; it will fail over soon"
            )
        }
        (None, _) => format!(
            "its worker was lost or late; it waits to be handed out again as attempt {}",
            row.attempt + 1
        ),
    }
}

fn ended(row: &Row) -> String {
    let at = row.finished_at.map(|at| at.to_string()).unwrap_or_default();
    match &row.error_message {
        Some(message) => {
            let class = row.error_class.as_deref().unwrap_or("unclassified");
            format!("it ended `{}` at {at}: {class}: {message}", row.status)
        }
        None => format!("it ended `{}` at {at}", row.status),
    }
}

async fn ready(client: &Client, row: &Row, since: jiff::Timestamp) -> Result<String, Error> {
    if let (Some(queue), Some(position)) = (&row.queue, row.position) {
        let before = queues::before(client, queue, position).await?;
        if let Some((holder, since)) = control::holder(client, queue).await?.filter(|_| before > 0) {
            return Ok(format!(
                "number {} in queue `{queue}`, which order `{holder}`, there since {since}, holds",
                before + 1
            ));
        }
    }
    Ok(format!("it may run since {since} and waits for the dispatcher to hand it to a worker"))
}

/// What stands in no line and has no timer waits for other orders.
async fn waiting(client: &Client, row: &Row) -> Result<String, Error> {
    let graph = graph::around(client, &row.id, 1).await?;
    let reasons: Vec<String> = graph
        .edges
        .iter()
        .filter(|edge| edge.order == row.id && edge.stand != Stand::Met)
        .map(|edge| reason(edge, graph.nodes.iter().find(|node| node.id == edge.before)))
        .collect();
    let more = reasons.len().saturating_sub(MAX_REASONS);
    Ok(match (reasons.is_empty(), more) {
        (true, _) => "all that it waited for has come; the activator is about to start it".to_owned(),
        (false, 0) => reasons.join("; "),
        (false, more) => format!("{}; and for {more} more", reasons[..MAX_REASONS].join("; ")),
    })
}

fn reason(edge: &Edge, node: Option<&Node>) -> String {
    let (order, states) = (&edge.before, edge.states.join(", "));
    let Some(node) = node else { return format!("waits for order `{order}`, which is not registered yet") };
    let step = node.step.as_deref().map_or_else(String::new, |step| format!(" in state `{step}`"));
    if !node.status.is_final() {
        return format!("waits for order `{order}`, now `{}`{step}, to end in: {states}", node.status);
    }
    let then = match edge.otherwise {
        Otherwise::Wait => "a restart of that order may still satisfy it",
        Otherwise::Fail => "it is about to fail by that",
        Otherwise::Cancel => "it is about to be canceled by that",
    };
    format!("waits for order `{order}` to end in: {states}; that ended `{}`{step}: {then}", node.status)
}

async fn suspended(
    client: &Client,
    row: &Row,
    due: jiff::Timestamp,
    cycles: &Cycles,
) -> Result<String, Error> {
    Ok(match row.status {
        Status::Wait => {
            let open: Vec<String> = requests::of_order(client, row.no)
                .await?
                .iter()
                .filter(|request| request["status"] == "open" && request["awaited"] == true)
                .filter_map(|request| request["name"].as_str().map(|name| format!("`{name}`")))
                .collect();
            format!("waits for the callback of {} until {due}", open.join(", "))
        }
        Status::Retry => {
            let class = row.error_class.as_deref().unwrap_or("unclassified");
            let message = row.error_message.as_deref().unwrap_or_default();
            let cycle =
                cycles.waiting.as_ref().map_or_else(String::new, |view| format!(", {}", retry::told(view)));
            format!("waits to repeat after `{class}` ({message}); next attempt at {due}{cycle}")
        }
        Status::Postponed => format!("it is not to start before {due}"),
        _ => format!("it sleeps until {due}"),
    })
}
