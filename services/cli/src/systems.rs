//! `pagurus systems …`: the systems that orders call, how they fare, and what operators decided about them.

use clap::builder::NonEmptyStringValueParser as Text;
use clap::{Args, Subcommand};
use jiff::Timestamp;
use pagurus_scenario::value::percent_encode;
use pagurus_wire::flows::{ConfirmationView, SystemView};
use serde::Serialize;
use serde_json::json;

use crate::client::ApiClient;
use crate::failure::CliError;
use crate::flows::history;
use crate::flows::tables::{class_count, decided, joined, of_limit};
use crate::input::{self, given};
use crate::list::{List, moment};
use crate::screen::{Screen, harmless, time};
use crate::windows::held_by;

/// Commands about called systems.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// List called systems with state and limit
    List,
    /// Show one called system, with the last decisions about it
    Show {
        /// Name of the system
        system: String,
    },
    /// List the decisions about a system: when, why, with which numbers, and by whom if made by hand
    History(history::Arguments),
    /// Stop all calls to a system, even if it answers well; orders wait without losing attempts
    Stop(OverrideArguments),
    /// Keep calling a system even if its calls fail
    Open(OverrideArguments),
    /// Remove a stop or an opening made by hand; the engine decides again
    Clear {
        /// Name of the system
        system: String,
    },
}

/// An order about a system.
#[derive(Debug, Args, Serialize)]
pub(crate) struct OverrideArguments {
    /// Name of the system
    #[arg(value_parser = Text::new())]
    #[serde(skip)]
    system: String,
    /// Reason
    #[arg(long, value_parser = Text::new())]
    reason: String,
    /// Duration [default: until `clear`]
    #[arg(long = "for", value_name = "DURATION")]
    #[serde(rename = "for")]
    duration: Option<String>,
    /// Start: a time, or `now` [default: now]
    #[arg(long, value_name = "TIME", value_parser = input::parse_time)]
    from: Option<Timestamp>,
}

/// Runs a command.
pub(crate) async fn run(command: Command, client: &ApiClient, screen: &Screen) -> Result<(), CliError> {
    match command {
        Command::List => SYSTEMS.all(&(), client, screen).await,
        Command::Show { system } => {
            let reply = client.get(&path(&system, None), &[]).await?;
            reply.show(screen, |system| shown(system, screen))
        }
        Command::History(wanted) => history::show("systems", &wanted, client, screen).await,
        Command::Stop(order) => give(order, "stop", client, screen).await,
        Command::Open(order) => give(order, "open", client, screen).await,
        Command::Clear { system } => {
            let reply = client.post(&path(&system, Some("clear")), &json!({})).await?;
            screen.show(&reply.read::<ConfirmationView>()?, |confirmation| {
                confirmed(&format!("`{}` has no order any more", harmless(&system)), confirmation)
            })
        }
    }
}

async fn give(
    order: OverrideArguments,
    word: &str,
    client: &ApiClient,
    screen: &Screen,
) -> Result<(), CliError> {
    let reply = client.post(&path(&order.system, Some(word)), &given(&order)?).await?;
    screen.show(&reply.read::<ConfirmationView>()?, |confirmation| {
        confirmed(&stand(&order, word == "stop"), confirmation)
    })
}

/// The state in which an order puts its system.
fn stand(order: &OverrideArguments, stopped: bool) -> String {
    let from = order.from.map_or_else(String::new, |from| format!(" from {} on", time(from)));
    let length = order.duration.as_ref().map_or_else(String::new, |length| format!(" for {length}"));
    let state = if stopped { "is stopped" } else { "is open, however its calls end" };
    harmless(&format!("`{}` {state}{from}{length}", order.system))
}

fn path(system: &str, order: Option<&str>) -> String {
    let system = percent_encode(system);
    order.map_or_else(|| format!("/v1/systems/{system}"), |order| format!("/v1/systems/{system}/{order}"))
}

fn confirmed(sentence: &str, confirmation: &ConfirmationView) -> String {
    let doubt = "; no dispatcher has confirmed it yet: is one active?";
    format!("{sentence}{}", if confirmation.confirmed { "" } else { doubt })
}

/// Called systems, how they fare, and what was ordered for them.
const SYSTEMS: List<SystemView> = List {
    path: "/v1/systems",
    none: "no system was called yet",
    hint: None,
    columns: &[
        ("SYSTEM", |system| system.record.system.clone()),
        ("CALLS", |system| system.record.calls.to_string()),
        ("CONTROL", |system| system.record.control.to_string()),
        ("IN PROGRESS", |system| of_limit(system.record.in_progress, system.record.limit)),
        ("CALLS/S", |system| format!("{:.1}", system.record.throughput)),
        ("FAILED", |system| share(system.record.failed_share)),
        ("P99 MS", |system| millis(system.record.short_term.p99_ms)),
        ("CLOSED UNTIL", |system| moment(system.record.closed_until)),
        ("ORDER", |SystemView { order, maintenance, .. }| {
            let order = order.as_ref().map(|order| format!("{}: {}", order.order, order.reason));
            let window = maintenance.as_ref().map(|open| format!("window {}: {}", open.window, open.reason));
            order.into_iter().chain(window).collect::<Vec<_>>().join("; ")
        }),
    ],
};

/// Returns a part of calls in percent; nothing where none has ended.
pub(crate) fn share(part: Option<f64>) -> String {
    part.map(|part| format!("{:.1} %", part * 100.0)).unwrap_or_default()
}

/// Returns a time in whole milliseconds; nothing where none was measured.
pub(crate) fn millis(ms: Option<f64>) -> String {
    ms.map(|ms| format!("{ms:.0}")).unwrap_or_default()
}

fn shown(system: &SystemView, screen: &Screen) -> String {
    let SystemView { record, written_at, order, maintenance } = system;
    let order = order.as_ref().map(|order| {
        let until = order.until.map_or_else(String::new, |until| format!(", until {}", time(until)));
        format!("{} since {}{until}: {}", order.order, time(order.from), harmless(&order.reason))
    });
    let mut text = screen.pairs(&[
        ("system", Some(record.system.clone())),
        ("state", Some(record.state.to_string())),
        ("calls", Some(record.calls.to_string())),
        ("control", Some(record.control.to_string())),
        ("limit", record.limit.map(|limit| limit.to_string())),
        ("in progress", Some(record.in_progress.to_string())),
        ("calls a second", Some(format!("{:.1}", record.throughput))),
        ("failed of the recent ones", record.failed_share.map(|part| share(Some(part)))),
        ("p50 ms", record.short_term.p50_ms.map(|ms| millis(Some(ms)))),
        ("p99 ms", record.short_term.p99_ms.map(|ms| millis(Some(ms)))),
        ("stopped since", record.stopped_since.map(time)),
        ("closed until", record.closed_until.map(time)),
        ("ordered", order),
        ("maintenance", maintenance.as_ref().map(held_by)),
        ("errors", joined(record.errors.iter().map(class_count))),
        ("flows", joined(record.flows.clone())),
        ("as of", Some(time(*written_at))),
    ]);
    text.push_str(&decided(&record.decisions, screen));
    text
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test may stop at the first surprise")]
mod tests {
    use super::*;

    #[test]
    fn dsp_10_the_answer_to_an_order_says_how_its_system_stands() {
        let order = |duration: Option<&str>, from: Option<&str>| OverrideArguments {
            system: "billing".into(),
            reason: "r".into(),
            duration: duration.map(str::to_owned),
            from: from.map(|from| from.parse().unwrap()),
        };
        let taken = ConfirmationView { confirmed: true, ..ConfirmationView::default() };
        assert_eq!(
            confirmed(&stand(&order(None, None), false), &taken),
            "`billing` is open, however its calls end"
        );
        let later = order(Some("2h"), Some("2026-12-01T00:00:00Z"));
        assert_eq!(
            confirmed(&stand(&later, true), &ConfirmationView::default()),
            "`billing` is stopped from 2026-12-01T00:00:00.000Z on for 2h; no dispatcher has confirmed it yet: is one active?"
        );
    }
}
