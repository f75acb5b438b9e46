//! `pagurus systems …`: the systems that orders call, how they fare, and what operators decided about them.

use clap::builder::NonEmptyStringValueParser as Text;
use clap::{Args, Subcommand};
use jiff::Timestamp;
use pagurus_domain::scenario::value::percent_encode;
use pagurus_wire::flows::{ConfirmationView, SystemOrderRequest, SystemView};
use pagurus_wire::order::Page;
use serde_json::json;

use crate::client::Client;
use crate::failure::Failure;
use crate::flows::tables::decided;
use crate::screen::{Screen, harmless, time};
use crate::windows::held_by;

/// Commands about called systems.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// List called systems with state and limit
    List,
    /// Show one, with the last decisions about it
    Show {
        /// Name of the system
        system: String,
    },
    /// Keep a system from being called, whatever it says: orders wait and lose no attempt
    Stop(Order),
    /// Have a system called, whatever its failures say
    Open(Order),
    /// Take such an order back: the engine decides by itself again
    Clear {
        /// Name of the system
        system: String,
    },
}

/// An order about a system.
#[derive(Debug, Args)]
pub(crate) struct Order {
    /// Name of the system
    #[arg(value_parser = Text::new())]
    system: String,
    /// Why
    #[arg(long, value_parser = Text::new())]
    reason: String,
    /// For how long; left out: until it is taken back
    #[arg(long = "for", value_name = "DURATION")]
    duration: Option<String>,
    /// From when on; left out: at once
    #[arg(long, value_name = "TIME")]
    from: Option<Timestamp>,
}

/// Runs a command.
pub(crate) async fn run(command: Command, client: &Client, screen: &Screen) -> Result<(), Failure> {
    match command {
        Command::List => {
            let systems: Page<SystemView> = client.list("/v1/systems", &[], None).await?;
            if screen.json {
                return screen.value(&systems);
            }
            if systems.items.is_empty() {
                screen.note("no system was called yet");
                return Ok(());
            }
            screen.line(&listed(&systems.items, screen))
        }
        Command::Show { system } => {
            let reply = client.get(&path(&system, None), &[]).await?;
            if screen.json {
                return screen.document(&reply.text);
            }
            screen.line(&shown(&reply.read()?, screen))
        }
        Command::Stop(order) => give(order, "stop", client, screen).await,
        Command::Open(order) => give(order, "open", client, screen).await,
        Command::Clear { system } => {
            let reply = client.post(&path(&system, Some("clear")), &json!({})).await?;
            told(&reply.read()?, &system, screen)
        }
    }
}

async fn give(order: Order, word: &str, client: &Client, screen: &Screen) -> Result<(), Failure> {
    let asked = SystemOrderRequest { reason: order.reason, from: order.from, duration: order.duration };
    let body = serde_json::to_value(&asked).map_err(anyhow::Error::from)?;
    let reply = client.post(&path(&order.system, Some(word)), &body).await?;
    told(&reply.read()?, &order.system, screen)
}

fn path(system: &str, order: Option<&str>) -> String {
    let system = percent_encode(system);
    order.map_or_else(|| format!("/v1/systems/{system}"), |order| format!("/v1/systems/{system}/{order}"))
}

fn told(confirmation: &ConfirmationView, system: &str, screen: &Screen) -> Result<(), Failure> {
    if screen.json {
        return screen.value(confirmation);
    }
    let system = harmless(system);
    screen.line(&if confirmation.confirmed {
        format!("the dispatcher goes by it for `{system}`")
    } else {
        format!("stored for `{system}`; no dispatcher has confirmed it yet: is one active?")
    })
}

fn listed(systems: &[SystemView], screen: &Screen) -> String {
    let rows: Vec<[String; 6]> = systems
        .iter()
        .map(|SystemView { record, order, maintenance, .. }| {
            let ordered = order.as_ref().map(|order| format!("{}: {}", order.order, order.reason));
            let in_window =
                maintenance.as_ref().map(|open| format!("window {}: {}", open.window, open.reason));
            let limit = record.limit.map_or_else(String::new, |limit| format!(" / {limit}"));
            [
                record.system.clone(),
                record.state.to_string(),
                format!("{}{limit}", record.in_progress),
                format!("{:.1}", record.throughput),
                record.closed_until.map(time).unwrap_or_default(),
                ordered.into_iter().chain(in_window).collect::<Vec<_>>().join("; "),
            ]
        })
        .collect();
    screen.table(&["SYSTEM", "STATE", "IN PROGRESS", "CALLS/S", "CLOSED UNTIL", "ORDER"], &rows)
}

fn shown(system: &SystemView, screen: &Screen) -> String {
    let SystemView { record, written_at, order, maintenance } = system;
    let errors: Vec<String> =
        record.errors.iter().map(|(class, count)| format!("{} {count}", harmless(class))).collect();
    let joined = |texts: Vec<String>| Some(texts.join(", ")).filter(|text| !text.is_empty());
    let order = order.as_ref().map(|order| {
        let until = order.until.map_or_else(String::new, |until| format!(", until {}", time(until)));
        format!("{} since {}{until}: {}", order.order, time(order.from), harmless(&order.reason))
    });
    let mut text = screen.pairs(&[
        ("system", Some(record.system.clone())),
        ("state", Some(record.state.to_string())),
        ("limit", record.limit.map(|limit| limit.to_string())),
        ("in progress", Some(record.in_progress.to_string())),
        ("calls a second", Some(format!("{:.1}", record.throughput))),
        ("stopped since", record.stopped_since.map(time)),
        ("closed until", record.closed_until.map(time)),
        ("ordered", order),
        ("maintenance", maintenance.as_ref().map(held_by)),
        ("errors", joined(errors)),
        ("flows", joined(record.flows.clone())),
        ("as of", Some(time(*written_at))),
    ]);
    text.push_str(&decided(&record.decisions, screen));
    text
}
