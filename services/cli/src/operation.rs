//! `pagurus operation`: what is done to many orders, in the background and with a progress bar.

mod tables;
pub(crate) mod watch;

use clap::{Args, Subcommand};
use pagurus_domain::operation::BulkKind;
use pagurus_wire::operations::{
    OperationOrderView, OperationOutcome, OperationRequest, OperationSteering, OperationView,
};
use pagurus_wire::order::Page;
use serde_json::{Map, Value, json};

use crate::client::ApiClient;
use crate::failure::CliError;
use crate::input::object_of;
use crate::screen::Screen;
use crate::search::SearchOrSaved;

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Act on every order that meets the conditions, and show the progress
    Start(Box<Start>),
    /// Repeat an operation for those of its orders that failed
    Again {
        /// Number of the operation
        no: i64,
        #[command(flatten)]
        how: How,
    },
    /// List operations, the newest first
    List {
        /// Only operations in this state: running, paused, done or aborted
        #[arg(long)]
        state: Option<String>,
        /// Number of operations to show, 500 at most
        #[arg(long, default_value_t = 50, value_parser = clap::value_parser!(u16).range(1..=500))]
        limit: u16,
    },
    /// Show an operation, with the reasons why it skipped or failed orders
    #[command(visible_alias = "get")]
    Show {
        /// Number of the operation
        no: i64,
    },
    /// Show the progress of an operation until it is over
    Watch {
        /// Number of the operation
        no: i64,
    },
    /// List the orders of an operation
    Orders {
        /// Number of the operation
        no: i64,
        /// Only orders with this outcome: open, done, skipped or failed
        #[arg(long)]
        outcome: Option<String>,
        /// Only orders with this result: succeeded, failed_again, failed_otherwise or left
        #[arg(long)]
        aftermath: Option<String>,
        /// Number of orders to show, 1000 at most
        #[arg(long, default_value_t = 100, value_parser = clap::value_parser!(u16).range(1..=1000))]
        limit: u16,
        /// Continue where an earlier list ended
        #[arg(long)]
        cursor: Option<String>,
    },
    /// Pause an operation
    Pause(Steer),
    /// Resume a paused operation
    Resume(Steer),
    /// Abort an operation; what is done stays done
    Abort(Steer),
}

/// Action, the orders that it is for, and its settings.
#[derive(Debug, Args)]
pub(crate) struct Start {
    #[arg(help = format!("The action: {}", BulkKind::listed("")))]
    action: String,
    /// Fields of the action: a JSON object, or @FILE, such as {"from": "initial"} or {"priority": "low"}
    #[arg(long, value_name = "JSON")]
    with: Option<String>,
    #[command(flatten)]
    orders: SearchOrSaved,
    #[command(flatten)]
    how: How,
}

/// Pace and bounds of an operation.
#[derive(Clone, Debug, Args)]
pub(crate) struct How {
    /// Reason, for the history of each order
    #[arg(long)]
    pub reason: String,
    /// Most orders per second
    #[arg(long, value_name = "NUMBER")]
    pub rate: Option<f64>,
    /// Start with START orders, then FACTOR times as many each time those have ended: START:FACTOR, such as 1:3
    #[arg(long, value_name = "START:FACTOR", value_parser = parse_ramp)]
    pub ramp: Option<(u64, f64)>,
    /// Pause the ramp if a larger share of the orders than this fails again, from 0 to 1
    #[arg(long, value_name = "SHARE", requires = "ramp")]
    pub stop_if_failed: Option<f64>,
    /// Time during which orders that come to meet the conditions are also taken, such as 2h
    #[arg(long, value_name = "DURATION")]
    pub follow: Option<String>,
    /// Priority among operations: high, normal or low
    #[arg(long)]
    pub urgency: Option<String>,
    /// Only show how many orders would be affected
    #[arg(long)]
    pub dry_run: bool,
    /// Do not ask for confirmation
    #[arg(long)]
    pub yes: bool,
    /// Do not wait for the end; print the number of the operation
    #[arg(long)]
    pub no_wait: bool,
}

/// Operation to steer, and the reason.
#[derive(Debug, Args)]
pub(crate) struct Steer {
    /// Number of the operation
    no: i64,
    /// Reason
    #[arg(long)]
    reason: Option<String>,
}

fn parse_ramp(argument: &str) -> Result<(u64, f64), String> {
    let read = || {
        let (start, factor) = argument.split_once(':')?;
        Some((start.parse().ok()?, factor.parse().ok()?))
    };
    read().ok_or_else(|| "write it like 1:3".to_owned())
}

/// Runs a command.
pub(crate) async fn run(command: Command, client: &ApiClient, screen: &Screen) -> Result<(), CliError> {
    match command {
        Command::Start(start) => {
            let Start { action, with, orders: SearchOrSaved { search, saved }, how } = *start;
            let with = with.as_deref().map_or(Ok(Map::new()), |text| object_of("--with", text))?;
            let search = search.body()?;
            let search = (!search.is_empty()).then_some(Value::Object(search));
            let asked = OperationRequest { action, with, search, saved, ..OperationRequest::default() };
            begin(how.asked(asked), &how, client, screen).await
        }
        Command::Again { no, how } => {
            let former: OperationView = client.get(&path_of(no, ""), &[]).await?.read()?;
            let with = former.with.as_object().cloned().unwrap_or_default();
            let action = former.action;
            let asked = OperationRequest { action, with, again: Some(no), ..OperationRequest::default() };
            begin(how.asked(asked), &how, client, screen).await
        }
        Command::List { state, limit } => {
            let mut query = vec![("limit", limit.to_string())];
            query.extend(state.map(|state| ("state", state)));
            let reply = client.get("/v1/operations", &query).await?;
            if screen.json {
                return screen.document(&reply.text);
            }
            let page: Page<OperationView> = reply.read()?;
            if page.items.is_empty() {
                screen.note("no operations");
                return Ok(());
            }
            screen.line(&tables::listed(&page.items, screen))
        }
        Command::Show { no } => {
            client.get(&path_of(no, ""), &[]).await?.show(screen, |view| tables::shown(view, screen))
        }
        Command::Watch { no } => watch::run(no, client, screen).await,
        Command::Orders { no, outcome, aftermath, limit, cursor } => {
            let mut query = vec![("limit", limit.to_string())];
            let given = [("outcome", outcome), ("aftermath", aftermath), ("cursor", cursor)];
            query.extend(given.into_iter().filter_map(|(name, value)| Some((name, value?))));
            let reply = client.get(&path_of(no, "orders"), &query).await?;
            if screen.json {
                return screen.document(&reply.text);
            }
            let page: Page<OperationOrderView> = reply.read()?;
            screen.line(&tables::orders(&page.items, screen))?;
            if let Some(cursor) = page.next {
                screen.note(&format!("there are more: --cursor {cursor}"));
            }
            Ok(())
        }
        Command::Pause(steer) => steered("pause", &steer, client, screen).await,
        Command::Resume(steer) => steered("resume", &steer, client, screen).await,
        Command::Abort(steer) => steered("abort", &steer, client, screen).await,
    }
}

impl How {
    /// The request with how it is to be carried out.
    pub fn asked(&self, what: OperationRequest) -> OperationRequest {
        OperationRequest {
            reason: self.reason.clone(),
            urgency: self.urgency.clone(),
            rate: self.rate,
            ramp: self.ramp.map(|(start, factor)| {
                let stop_if = self.stop_if_failed.map(|share| json!({"failed_share": share}));
                json!({"start": start, "factor": factor, "stop_if": stop_if})
            }),
            follow: self.follow.clone(),
            ..what
        }
    }
}

/// Asks what it would be, and whether it is meant; begins it, and shows its progress.
pub(crate) async fn begin(
    asked: OperationRequest,
    how: &How,
    client: &ApiClient,
    screen: &Screen,
) -> Result<(), CliError> {
    if how.dry_run || !how.yes {
        let dry = OperationRequest { dry_run: true, ..asked.clone() };
        let would_be: OperationOutcome = post(client, "/v1/operations", &dry).await?.read()?;
        if how.dry_run && screen.json {
            return screen.value(&would_be);
        }
        screen.note(&tables::would_be(&asked.action, &would_be));
        if how.dry_run {
            return Ok(());
        }
        if would_be.orders == Some(0) && asked.follow.is_none() {
            return Ok(());
        }
        watch::confirm(screen)?;
    }
    let made: OperationOutcome = post(client, "/v1/operations", &asked).await?.read()?;
    let Some(operation) = made.operation else { return screen.value(&made) };
    if how.no_wait {
        return if screen.json { screen.value(&operation) } else { screen.line(&operation.no.to_string()) };
    }
    screen.note(&format!("operation {}: it continues if you end this command", operation.no));
    watch::run(operation.no, client, screen).await
}

async fn post(
    client: &ApiClient,
    path: &str,
    body: &impl serde::Serialize,
) -> Result<crate::client::ApiResponse, CliError> {
    let body = serde_json::to_value(body).map_err(anyhow::Error::from)?;
    client.post(path, &body).await
}

async fn steered(word: &str, steer: &Steer, client: &ApiClient, screen: &Screen) -> Result<(), CliError> {
    let reply =
        post(client, &path_of(steer.no, word), &OperationSteering { reason: steer.reason.clone() }).await?;
    reply.show(screen, |operation: &OperationView| {
        format!("operation {} is {}", operation.no, operation.state)
    })
}

fn path_of(no: i64, part: &str) -> String {
    if part.is_empty() { format!("/v1/operations/{no}") } else { format!("/v1/operations/{no}/{part}") }
}
