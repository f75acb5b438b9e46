//! `pagurus order clone | repair | update | dependencies`: changes of one order by hand, and what it waits for.

use clap::Args;
use jiff::Timestamp;
use pagurus_domain::order::Priority;
use pagurus_wire::order::{DependencyGraph, OrderView, RegisteredView, StatusView};
use serde::Serialize;
use serde_json::{Map, Value, json};

use super::submit::one_or_list;
use super::{ActionRun, show, standing};
use crate::client::{ApiClient, order_path};
use crate::failure::CliError;
use crate::input;
use crate::screen::{Screen, harmless};

/// A new order made from an old one.
#[derive(Debug, Args, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct CloneArguments {
    /// Id of the old order
    #[serde(skip)]
    id: String,
    /// Id of the new order [default: derived from the old one]
    #[arg(long, value_name = "ID")]
    #[serde(rename = "id")]
    new_id: Option<String>,
    /// New parameters, which replace the old ones: a JSON object, or @FILE
    #[arg(long, value_name = "JSON")]
    #[serde(skip)]
    params: Option<String>,
    /// Any other fields of the new order: a JSON object, or @FILE; null removes a field
    #[arg(long, value_name = "JSON")]
    #[serde(skip)]
    with: Option<String>,
    /// Reason, for the history
    #[arg(long)]
    reason: Option<String>,
}

/// Repair of a stuck order.
#[derive(Debug, Args, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct RepairArguments {
    /// Id of the order
    #[serde(skip)]
    id: String,
    /// State to continue from
    #[arg(long, required_unless_present = "failed_action")]
    state: Option<String>,
    /// Action of that state to continue from, as `order steps` numbers it [default: the first]
    #[arg(long, value_name = "INDEX", requires = "state")]
    action: Option<u32>,
    /// Continue from the failed action instead of a state; the parts of it that succeeded are not repeated
    #[arg(long, conflicts_with = "state")]
    failed_action: bool,
    /// New variables, which replace the old ones: a JSON object, or @FILE [default: unchanged]
    #[arg(long, value_name = "JSON")]
    #[serde(skip)]
    vars: Option<String>,
    /// Version of its scenario to run by [default: its present version]
    #[arg(long, value_name = "NUMBER")]
    scenario_version: Option<i32>,
    /// Reason, for the history
    #[arg(long)]
    reason: String,
    #[command(flatten)]
    #[serde(skip)]
    run: ActionRun,
}

/// Change of an order that has not gone on yet.
#[derive(Debug, Args)]
pub(crate) struct UpdateArguments {
    /// Id of the order
    id: String,
    /// New parameters, which replace the old ones: a JSON object, or @FILE
    #[arg(long, value_name = "JSON")]
    params: Option<String>,
    /// New priority
    #[arg(long)]
    priority: Option<Priority>,
    /// New start: a time such as 2026-12-01T00:00:00+03:00, or `now`
    #[arg(long, value_name = "TIME")]
    start_at: Option<String>,
    /// New address for notifications, such as amqp://?key=done; replaces all old ones; may be given up to 8 times
    #[arg(long, value_name = "URL")]
    notify_url: Vec<String>,
    /// Correlation id of the notifications, for each address
    #[arg(long, value_name = "ID", requires = "notify_url")]
    notify_correlation_id: Option<String>,
    /// Reason, for the history
    #[arg(long)]
    reason: Option<String>,
}

/// Part of the graph to show.
#[derive(Debug, Args)]
pub(crate) struct DependencyArguments {
    /// Id of the order
    id: String,
    /// Number of steps to follow in each direction
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u8).range(1..=20))]
    depth: u8,
}

pub(super) async fn clone(
    arguments: &CloneArguments,
    client: &ApiClient,
    screen: &Screen,
) -> Result<(), CliError> {
    let mut body = match &arguments.with {
        Some(with) => input::object_of("--with", with)?,
        None => Map::new(),
    };
    body.extend(input::given(arguments)?);
    body.extend(input::object_field("params", arguments.params.as_ref())?);
    let reply = client.post(&order_path(&arguments.id, "clone"), &body).await?;
    reply.show(screen, |made: &RegisteredView| {
        let id = made.id.as_deref().unwrap_or_default();
        format!("{}: {}", harmless(id), screen.status(&made.status))
    })
}

pub(super) async fn repair(
    arguments: &RepairArguments,
    client: &ApiClient,
    screen: &Screen,
) -> Result<(), CliError> {
    let mut body = input::given(arguments)?;
    body.extend(input::object_field("vars", arguments.vars.as_ref())?);
    let reply = client.post(&arguments.run.path(&arguments.id, "repair"), &body).await?;
    reply.show(screen, |view: &StatusView| arguments.run.standing(view, screen))
}

pub(super) async fn update(
    arguments: &UpdateArguments,
    client: &ApiClient,
    screen: &Screen,
) -> Result<(), CliError> {
    let body = update_body(arguments)?;
    let reply = client.patch(&order_path(&arguments.id, ""), &body).await?;
    reply.show(screen, |view: &OrderView| standing(&view.id, &view.status, screen))
}

fn update_body(arguments: &UpdateArguments) -> Result<Value, CliError> {
    let mut body = Map::new();
    body.extend(input::object_field("params", arguments.params.as_ref())?);
    if let Some(priority) = arguments.priority {
        body.insert("priority".to_owned(), json!(priority.as_str()));
    }
    if let Some(at) = &arguments.start_at {
        let at = if at == "now" { Timestamp::now().to_string() } else { at.clone() };
        body.insert("lifecycle".to_owned(), json!({"startAt": at}));
    }
    let receivers = arguments.notify_url.iter().map(|url| match &arguments.notify_correlation_id {
        Some(id) => json!({"url": url, "correlationId": id}),
        None => json!({"url": url}),
    });
    if let Some(notify) = one_or_list(receivers.collect()) {
        body.insert("notify".to_owned(), notify);
    }
    if body.is_empty() {
        let message = "nothing to change: give --params, --priority, --start-at or --notify-url";
        return Err(CliError::Usage(message.to_owned()));
    }
    if let Some(reason) = &arguments.reason {
        body.insert("reason".to_owned(), json!(reason));
    }
    Ok(Value::Object(body))
}

pub(super) async fn dependencies(
    arguments: &DependencyArguments,
    client: &ApiClient,
    screen: &Screen,
) -> Result<(), CliError> {
    let query = [("depth", arguments.depth.to_string())];
    let reply = client.get(&order_path(&arguments.id, "dependencies"), &query).await?;
    if screen.json {
        return screen.document(&reply.text);
    }
    let graph: DependencyGraph = reply.read()?;
    if graph.edges.is_empty() {
        screen.note("it waits for no other order, and no other waits for it");
        return Ok(());
    }
    screen.line(&show::graph(&graph, screen))?;
    if graph.truncated {
        screen.note("there is more: ask with a greater --depth, or for an order further away");
    }
    Ok(())
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test may stop at the first surprise")]
mod tests {
    use super::*;
    use crate::failure::USAGE;

    fn arguments() -> UpdateArguments {
        UpdateArguments {
            id: "a".to_owned(),
            params: None,
            priority: None,
            start_at: None,
            notify_url: Vec::new(),
            notify_correlation_id: None,
            reason: Some("because".to_owned()),
        }
    }

    #[test]
    fn ord_27_an_update_names_only_what_changes() {
        assert_eq!(update_body(&arguments()).unwrap_err().code(), USAGE);
        let changed = UpdateArguments {
            priority: Some(Priority::High),
            start_at: Some("2026-12-01T00:00:00Z".to_owned()),
            ..arguments()
        };
        assert_eq!(
            update_body(&changed).unwrap(),
            json!({"priority": "high", "lifecycle": {"startAt": "2026-12-01T00:00:00Z"}, "reason": "because"})
        );
        let now = UpdateArguments { start_at: Some("now".to_owned()), ..arguments() };
        let now = update_body(&now).unwrap()["lifecycle"]["startAt"].clone();
        assert!(now.as_str().unwrap().parse::<Timestamp>().is_ok(), "a sleeper wakes then: {now}");
    }
}
