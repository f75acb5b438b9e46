//! `pagurus order …`: register, read, follow, act.
//!
//! Does nothing by itself that the API does not do: it asks and shows.

mod amend;
mod answer;
mod call;
mod export;
mod ledger;
mod parts;
mod show;
mod submit;
mod watch;

use std::time::{Duration, Instant};

use clap::{Args, Subcommand};
use pagurus_domain::order::Status;
use pagurus_wire::explain::Explanation;
use pagurus_wire::foresight::{EtaRecord, EtaView};
use pagurus_wire::order::{EventView, LogLineView, OrderLine, OrderView, Page, StatusView};
use serde::Serialize;
use serde_json::{Map, Value};

use crate::client::{ApiClient, order_path};
use crate::failure::{CliError, FAILED};
use crate::flows;
use crate::input::{self, given, object_field};
use crate::list::table;
use crate::screen::{Screen, harmless, sent_time, time};
use crate::search::{self, SearchOrSaved};

/// Lines of a log in one answer.
const LOG_PAGE: usize = 1000;

/// Commands about orders.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Register an order, or a file of them
    Submit(Box<submit::Arguments>),
    /// Show an order
    Get {
        /// Id of the order
        id: String,
    },
    /// List orders, the newest first
    List(Box<OrderListArguments>),
    /// Count orders by status, scenario, state or another field
    Count(Box<search::CountArguments>),
    /// Follow an order until it ends; exit code 0 if it ends in `success`, 6 if --timeout passes first, 1 otherwise
    Watch {
        /// Id of the order
        id: String,
        /// Stop waiting after this time, such as `30s` or `1h30m`
        #[arg(long, value_name = "DURATION", value_parser = input::parse_duration)]
        timeout: Option<Duration>,
    },
    /// Cancel an order that has not started, sleeps or has failed
    Cancel(EndArguments),
    /// Stop an order before it starts
    Interrupt(EndArguments),
    /// Stop an order that runs or waits
    Kill(EndArguments),
    /// Restart an order that has ended, in a new life
    Restart(RestartArguments),
    /// Call a live order and show its answer
    Call(call::CallArguments),
    /// Answer an open request of an order by hand, as the called system would have done
    Answer(answer::AnswerArguments),
    /// Register a new order that is like an old one
    Clone(amend::CloneArguments),
    /// Set the state and variables of a stuck order by hand, and resume it
    Repair(amend::RepairArguments),
    /// Change parameters, priority, start or notification of an order that has not started
    Update(Box<amend::UpdateArguments>),
    /// Show what an order waits for, and what waits for it
    Dependencies(amend::DependencyArguments),
    /// Shift waiting and retrying orders in time, for planned maintenance
    Shift(flows::ShiftArguments),
    /// Resend the undelivered notifications of an order
    Resend(ActionArguments),
    /// Check the stored rows of an order for contradictions, and repair those that have one right repair
    Check(ActionArguments),
    /// Export orders with everything stored about them, as JSON lines, the oldest first
    Export(export::ExportArguments),
    /// Show the log of an order: lines of the engine and of its scenario
    Log {
        /// Id of the order
        id: String,
        /// First line to show, from 1
        #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..))]
        from_line: u32,
        /// Most lines to show [default: all]
        #[arg(long)]
        size: Option<usize>,
    },
    /// Show the recorded steps of an order: calls, messages, tasks and children of its actions, with their results
    Steps {
        /// Id of the order
        id: String,
    },
    /// Show the stages, requests and notifications of an order
    Tasks {
        /// Id of the order
        id: String,
    },
    /// Explain in a sentence why an order does not run
    Explain {
        /// Id of the order
        id: String,
    },
    /// Show what an order, or many orders, spent their time on
    Ledger(Box<ledger::Arguments>),
    /// Show the history of an order
    Events {
        /// Id of the order
        id: String,
        /// Only events with a higher number
        #[arg(long, default_value_t = 0)]
        after: i32,
    },
}

/// Orders to list.
#[derive(Debug, Args)]
pub(crate) struct OrderListArguments {
    #[command(flatten)]
    orders: SearchOrSaved,
    /// Orders per page, 500 at most
    #[arg(long, default_value_t = 50, value_parser = clap::value_parser!(u16).range(1..=500))]
    limit: u16,
    /// Continue where an earlier list ended
    #[arg(long)]
    cursor: Option<String>,
    /// Show all pages
    #[arg(long)]
    all: bool,
}

/// An action on an order.
#[derive(Debug, Args, Serialize)]
pub(crate) struct ActionArguments {
    /// Id of the order
    #[serde(skip)]
    id: String,
    /// Reason, for the history
    #[arg(long)]
    reason: Option<String>,
}

/// An action that ends the life of an order, or begins one.
#[derive(Debug, Args)]
pub(crate) struct EndArguments {
    #[command(flatten)]
    action: ActionArguments,
    #[command(flatten)]
    run: ActionRun,
}

/// Choice between carrying an action out and trying it.
#[derive(Clone, Copy, Debug, Default, Args)]
pub(crate) struct ActionRun {
    /// Only show the status that would follow, and change nothing
    #[arg(long)]
    dry_run: bool,
}

impl ActionRun {
    /// The path of an action on an order.
    fn path(self, id: &str, action: &str) -> String {
        let query = if self.dry_run { "?dryRun=true" } else { "" };
        format!("{}{query}", order_path(id, action))
    }

    /// Status that an order has after an action, or would have.
    fn standing(self, view: &StatusView, screen: &Screen) -> String {
        let (id, status) = (harmless(&view.id), screen.status(&view.status));
        let note = view.note.as_ref().map_or_else(String::new, |note| format!(": {}", harmless(note)));
        let is = if self.dry_run { "would be" } else { "is" };
        format!("{id} {is} in status {status}{note}")
    }
}

/// A new life of an order.
#[derive(Debug, Args, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct RestartArguments {
    #[command(flatten)]
    #[serde(skip)]
    action: ActionArguments,
    #[command(flatten)]
    #[serde(skip)]
    run: ActionRun,
    /// State to start from, or `initial` [default: the last entry point]
    #[arg(long, value_name = "STATE")]
    from: Option<String>,
    /// New parameters: a JSON object, or @FILE
    #[arg(long, value_name = "JSON")]
    #[serde(skip)]
    params: Option<String>,
    /// Version of its scenario to run by [default: its present version]
    #[arg(long, value_name = "NUMBER")]
    scenario_version: Option<i32>,
    /// Start now, even if its start time has not come or orders that it waits for have not ended
    #[arg(long)]
    ignore_conditions: bool,
    /// Keep the callbacks of the previous life
    #[arg(long)]
    keep_callbacks: bool,
}

/// Runs a command.
pub(crate) async fn run(command: Command, client: &ApiClient, screen: &Screen) -> Result<(), CliError> {
    match command {
        Command::Submit(arguments) => submit::run(*arguments, client, screen).await,
        Command::Get { id } => get(&id, client, screen).await,
        Command::List(arguments) => list(*arguments, client, screen).await,
        Command::Count(arguments) => search::count(&arguments, client, screen).await,
        Command::Watch { id, timeout } => watch::run(&id, timeout, client, screen).await,
        Command::Shift(shift) => flows::shift(shift, client, screen).await,
        Command::Call(arguments) => call::run(&arguments, client, screen).await,
        Command::Cancel(action) => {
            act("cancel", (&action.action, action.run), Map::new(), client, screen).await
        }
        Command::Interrupt(action) => {
            act("interrupt", (&action.action, action.run), Map::new(), client, screen).await
        }
        Command::Kill(action) => act("kill", (&action.action, action.run), Map::new(), client, screen).await,
        Command::Resend(action) => {
            act("resend", (&action, ActionRun::default()), Map::new(), client, screen).await
        }
        Command::Check(action) => {
            act("check", (&action, ActionRun::default()), Map::new(), client, screen).await
        }
        Command::Restart(restart) => {
            let mut body = given(&restart)?;
            body.extend(object_field("params", restart.params.as_ref())?);
            act("restart", (&restart.action, restart.run), body, client, screen).await
        }
        Command::Export(arguments) => export::run(&arguments, client, screen).await,
        Command::Answer(arguments) => answer::run(&arguments, client, screen).await,
        Command::Clone(arguments) => amend::clone(&arguments, client, screen).await,
        Command::Repair(arguments) => amend::repair(&arguments, client, screen).await,
        Command::Update(arguments) => amend::update(&arguments, client, screen).await,
        Command::Dependencies(arguments) => amend::dependencies(&arguments, client, screen).await,
        Command::Log { id, from_line, size } => {
            log(&id, from_line as usize, size.unwrap_or(usize::MAX), client, screen).await
        }
        Command::Steps { id } => parts::part(&order_path(&id, "steps"), parts::STEPS, client, screen).await,
        Command::Tasks { id } => parts::part(&order_path(&id, "tasks"), parts::TASKS, client, screen).await,
        Command::Explain { id } => explain(&id, client, screen).await,
        Command::Ledger(arguments) => ledger::run(&arguments, client, screen).await,
        Command::Events { id, after } => events(&id, after, client, screen).await,
    }
}

async fn get(id: &str, client: &ApiClient, screen: &Screen) -> Result<(), CliError> {
    client.get(&order_path(id, ""), &[]).await?.show(screen, |view| show::order(view, screen))
}

async fn list(arguments: OrderListArguments, client: &ApiClient, screen: &Screen) -> Result<(), CliError> {
    let conditions = arguments.orders.query()?;
    let query: Vec<(&str, String)> =
        conditions.iter().map(|(name, value)| (name.as_str(), value.clone())).collect();
    let limit = usize::from(arguments.limit);
    let mut page = Page { items: Vec::<OrderLine>::new(), next: arguments.cursor };
    loop {
        // Where few of the orders fit, a page of the server is short, and there are more all the same.
        let wanted = if arguments.all { limit } else { limit - page.items.len() };
        let mut asked = query.clone();
        asked.push(("limit", wanted.to_string()));
        asked.extend(page.next.map(|cursor| ("cursor", cursor)));
        let found: Page<OrderLine> = client.get("/v1/orders", &asked).await?.read()?;
        page.items.extend(found.items);
        page.next = found.next;
        if page.next.is_none() || (!arguments.all && page.items.len() >= limit) {
            break;
        }
    }
    if screen.json {
        return screen.value(&page);
    }
    if page.items.is_empty() {
        screen.note("no orders");
        return Ok(());
    }
    screen.line(&table(show::ORDERS, &page.items, screen))?;
    if let Some(cursor) = page.next {
        screen.note(&format!("there are more: --cursor {cursor}, or --all"));
    }
    Ok(())
}

async fn act(
    action: &str,
    (arguments, run): (&ActionArguments, ActionRun),
    mut body: Map<String, Value>,
    client: &ApiClient,
    screen: &Screen,
) -> Result<(), CliError> {
    body.extend(given(arguments)?);
    let reply = client.post(&run.path(&arguments.id, action), &body).await?;
    reply.show(screen, |view: &StatusView| run.standing(view, screen))
}

/// Status that an order has after an action.
fn standing(id: &str, status: &str, screen: &Screen) -> String {
    format!("{} is in status {}", harmless(id), screen.status(status))
}

async fn log(
    id: &str,
    from: usize,
    size: usize,
    client: &ApiClient,
    screen: &Screen,
) -> Result<(), CliError> {
    let query = [("fromLine", from.to_string()), ("size", LOG_PAGE.min(size).to_string())];
    let lines: Vec<LogLineView> = client.part(&order_path(id, "log"), &query, size).await?;
    if screen.json {
        return screen.value(&lines);
    }
    for line in &lines {
        screen.line(&format!("{}  {}", sent_time(&line.at), harmless(&line.text)))?;
    }
    Ok(())
}

async fn explain(id: &str, client: &ApiClient, screen: &Screen) -> Result<(), CliError> {
    let reply = client.get(&order_path(id, "explain"), &[]).await?;
    if screen.json {
        return screen.document(&reply.text);
    }
    let answer: Explanation = reply.read()?;
    let sentence = harmless(&answer.explanation);
    screen.line(&format!("{} ({}): {sentence}", harmless(&answer.id), screen.status(&answer.status)))?;
    if let Some(EtaView { p50, p90, record }) = answer.eta {
        let record = record.map_or_else(String::new, |EtaRecord { forecasts, held }| {
            format!(" ({held} of the last {forecasts} forecasts held)")
        });
        let times = format!("likely to start at {}, by {} in nine of ten cases", time(p50), time(p90));
        screen.line(&format!("{times}{record}"))?;
    }
    if let Some(promise) = &answer.promise {
        screen.line(&format!("promised for {}", show::promise(promise)))?;
        if let Some(mark) = &promise.jeopardy {
            screen.line(&format!("in jeopardy since {}: {}", time(mark.since), harmless(&mark.cause)))?;
        }
    }
    Ok(())
}

async fn events(id: &str, after: i32, client: &ApiClient, screen: &Screen) -> Result<(), CliError> {
    let events: Vec<EventView> =
        client.part(&order_path(id, "events"), &[("after", after.to_string())], usize::MAX).await?;
    if screen.json {
        return screen.value(&events);
    }
    for event in &events {
        screen.line(&show::event(event))?;
    }
    Ok(())
}

/// The order, read for showing while it is followed, until this time at most.
async fn view_of(id: &str, until: Option<Instant>, client: &ApiClient) -> Result<OrderView, CliError> {
    client.patiently(until, || async { client.get(&order_path(id, ""), &[]).await?.read() }).await
}

/// Exit code that tells of an order that was followed.
fn outcome(status: &str) -> Result<(), CliError> {
    if status == Status::Success.as_str() { Ok(()) } else { Err(CliError::Reported(FAILED)) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_exit_code_tells_how_an_order_ended() {
        assert!(outcome("success").is_ok());
        for status in ["fail", "interrupted", "canceled", "running"] {
            assert_eq!(outcome(status).map_err(|failure| failure.code()), Err(FAILED), "{status}");
        }
    }
}
