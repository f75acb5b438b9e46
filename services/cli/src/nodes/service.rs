//! `pagurus nodes offline` and `online`: a node is taken out of service, followed until nothing is left of what it had in
//! hand, and put back.

use std::time::{Duration, Instant};

use clap::Args;
use clap::builder::NonEmptyStringValueParser as Text;
use pagurus_scenario::value::percent_encode;
use pagurus_wire::nodes::{NodeOrderOutcome, NodeOrderRequest, NodeView};
use serde_json::json;

use crate::client::ApiClient;
use crate::failure::{CliError, NOT_FOUND, NOT_YET};
use crate::input;
use crate::screen::{ProgressMeter, Screen, harmless};

/// Interval between two looks at what is left.
const LOOK_EVERY: Duration = Duration::from_millis(500);

/// A node that is taken out of service.
#[derive(Debug, Args)]
pub(crate) struct Offline {
    #[command(flatten)]
    order: Order,
    /// Wait until the node has nothing left in hand
    #[arg(long)]
    wait: bool,
    /// Longest wait; the node stays out of service afterwards
    #[arg(long, value_name = "DURATION", requires = "wait", value_parser = input::parse_duration)]
    timeout: Option<Duration>,
}

/// Node that is taken out of service or put back, and the reason.
#[derive(Debug, Args)]
pub(crate) struct Order {
    /// The node: its name, or ROLE/NAME
    #[arg(value_name = "NODE", value_parser = Text::new())]
    node: String,
    /// Reason
    #[arg(long, value_parser = Text::new())]
    reason: String,
}

/// Takes a node out of service.
pub(crate) async fn offline(asked: Offline, client: &ApiClient, screen: &Screen) -> Result<(), CliError> {
    let outcome = send(&asked.order, "offline", client).await?;
    if outcome.others == 0 {
        screen.note(&format!("no other {} is in service: its work waits until one is", outcome.role));
    }
    let left = if asked.wait { Some(wait(&outcome, asked.timeout, client, screen).await?) } else { None };
    if screen.json {
        let mut shown = serde_json::to_value(&outcome).map_err(anyhow::Error::from)?;
        if let Some(left) = left {
            shown["left"] = json!(left);
        }
        screen.value(&shown)?;
    } else {
        screen.line(&summary(&outcome, left))?;
    }
    if left.is_some_and(|left| left > 0) { Err(CliError::Reported(NOT_YET)) } else { Ok(()) }
}

/// Puts a node back to service.
pub(crate) async fn online(order: Order, client: &ApiClient, screen: &Screen) -> Result<(), CliError> {
    screen.show(&send(&order, "online", client).await?, |outcome| summary(outcome, None))
}

async fn send(order: &Order, word: &str, client: &ApiClient) -> Result<NodeOrderOutcome, CliError> {
    let (role, name) = match order.node.split_once('/') {
        Some((role, name)) => (role.to_owned(), name.to_owned()),
        None => (role_of(&order.node, &nodes(client).await?)?, order.node.clone()),
    };
    let path = format!("/v1/nodes/{}/{}/{word}", percent_encode(&role), percent_encode(&name));
    let asked = NodeOrderRequest { reason: order.reason.clone() };
    client.post(&path, &serde_json::to_value(&asked).map_err(anyhow::Error::from)?).await?.read()
}

async fn nodes(client: &ApiClient) -> Result<Vec<NodeView>, CliError> {
    client.all("/v1/nodes").await
}

/// The role of the node of this name.
fn role_of(name: &str, nodes: &[NodeView]) -> Result<String, CliError> {
    let mut roles: Vec<&str> =
        nodes.iter().filter(|node| node.name == name).map(|node| node.role.as_str()).collect();
    roles.sort_unstable();
    roles.dedup();
    match roles[..] {
        [role] => Ok(role.to_owned()),
        [] => {
            let mut names: Vec<String> = nodes.iter().map(|node| harmless(&node.name)).collect();
            names.sort_unstable();
            names.dedup();
            let message =
                format!("no node `{}` was seen recently; there are: {}", harmless(name), names.join(", "));
            eprintln!("error: {message}");
            Err(CliError::Reported(NOT_FOUND))
        }
        _ => {
            let which: Vec<String> = roles.iter().map(|role| format!("{role}/{name}")).collect();
            Err(CliError::Usage(format!("nodes of several roles have this name; say {}", which.join(" or "))))
        }
    }
}

/// Waits until nothing is left; returns what still is if the time is over.
async fn wait(
    outcome: &NodeOrderOutcome,
    timeout: Option<Duration>,
    client: &ApiClient,
    screen: &Screen,
) -> Result<u32, CliError> {
    let begun = Instant::now();
    let mut progress = ProgressMeter::new(0, screen);
    let mut most = 0;
    let left = loop {
        let seen = match nodes(client).await {
            Ok(nodes) => Some(left_of(outcome, &nodes)),
            // The intake that answers may itself be one that is restarted.
            Err(failure) if failure.is_away() => None,
            Err(failure) => return Err(failure),
        };
        if let Some((left, is_empty)) = seen {
            if is_empty {
                break 0;
            }
            most = most.max(left);
            progress.at(u64::from(most - left), u64::from(most));
        }
        if timeout.is_some_and(|longest| begun.elapsed() >= longest) {
            // One that has not noticed its mark yet counts as one piece of work.
            break seen.map_or(1, |(left, _)| left.max(1));
        }
        tokio::time::sleep(LOOK_EVERY).await;
    };
    progress.end();
    Ok(left)
}

/// Pieces of work that all lives of a node have in hand, and true if that is nothing and will stay so.
fn left_of(outcome: &NodeOrderOutcome, nodes: &[NodeView]) -> (u32, bool) {
    let lives = || nodes.iter().filter(|node| node.role == outcome.role && node.name == outcome.name);
    (lives().map(|node| node.left).sum(), lives().all(NodeView::is_empty))
}

fn summary(outcome: &NodeOrderOutcome, left: Option<u32>) -> String {
    let node = format!("{} {}", outcome.role, harmless(&outcome.name));
    match (outcome.offline, outcome.changed, left) {
        (true, _, Some(0)) => format!("{node} is offline, and has nothing in hand"),
        (true, _, Some(left)) => {
            format!("{node} is offline, and still has {left} in hand: the time to wait is over")
        }
        (true, true, None) => format!("{node} is taken offline: it takes nothing new, and ends what it has"),
        (true, false, None) => format!("{node} was offline already"),
        (false, true, _) => format!("{node} is back online"),
        (false, false, _) => format!("{node} was online already"),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test may stop at the first surprise")]
mod tests {
    use super::*;

    fn node(role: &str, name: &str, status: &str, left: u32) -> NodeView {
        let ended = if status == "lost" { json!("2026-01-01T00:00:07Z") } else { json!(null) };
        serde_json::from_value(json!({
            "name": name, "role": role, "incarnation": 4, "address": "127.0.0.1:1", "version": "0.1.0", "status": status,
            "statusSince": "2026-01-01T00:00:00Z", "startedAt": "2026-01-01T00:00:00Z", "endedAt": ended,
            "seenAt": null, "concurrency": 8, "stages": left, "left": left,
        }))
        .unwrap()
    }

    fn outcome(offline: bool, changed: bool) -> NodeOrderOutcome {
        NodeOrderOutcome { role: "worker".into(), name: "w-1".into(), offline, changed, others: 1 }
    }

    #[test]
    fn rec_8_a_name_alone_finds_its_role_where_one_role_has_it() {
        let nodes = [
            node("worker", "w-1", "lost", 0),
            node("worker", "w-1", "active", 3),
            node("intake", "a", "active", 0),
            node("worker", "a", "active", 0),
        ];
        assert_eq!(role_of("w-1", &nodes).unwrap(), "worker");
        assert_eq!(role_of("x", &nodes).unwrap_err().code(), NOT_FOUND);
        let text = role_of("a", &nodes).unwrap_err().to_string();
        assert!(text.ends_with("say intake/a or worker/a"), "{text}");
    }

    #[test]
    fn rec_8_a_node_is_empty_once_it_says_that_it_is_offline_and_all_its_lives_have_nothing_in_hand() {
        let left = |nodes: &[NodeView]| left_of(&outcome(true, true), nodes);
        assert_eq!(
            left(&[node("worker", "w-1", "active", 0)]),
            (0, false),
            "it has not noticed its mark yet"
        );
        assert_eq!(left(&[node("worker", "w-1", "offline", 2)]), (2, false));
        assert_eq!(
            left(&[node("worker", "w-1", "offline", 0), node("worker", "w-2", "active", 9)]),
            (0, true)
        );
        let lost = [node("worker", "w-1", "lost", 5), node("worker", "w-1", "offline", 0)];
        assert_eq!(left(&lost), (5, false), "its former life is not taken over yet");
        assert_eq!(left(&[]), (0, true), "no node has the name any more");
    }

    #[test]
    fn rec_8_what_was_done_is_reported() {
        assert_eq!(summary(&outcome(true, true), Some(0)), "worker w-1 is offline, and has nothing in hand");
        assert_eq!(summary(&outcome(true, false), None), "worker w-1 was offline already");
        assert_eq!(summary(&outcome(false, true), None), "worker w-1 is back online");
    }
}
