//! `pagurus flows …`: state of flows, decisions of the dispatcher and their reasons; stopping and resuming them by hand.
//!
//! Never stops anything without a reason: it stands beside the stop for all who wonder.

pub(crate) mod history;
pub(crate) mod tables;
mod watch;
mod what_if;

use clap::builder::NonEmptyStringValueParser as Text;
use clap::{Args, Subcommand};
use jiff::Timestamp;
use pagurus_scenario::value::percent_encode;
use pagurus_wire::flows::{ShiftOutcome, ShiftRequest, StopOutcome, StopView};
use serde::Serialize;

use crate::client::ApiClient;
use crate::failure::CliError;
use crate::input::{self, given};
use crate::list::{List, who};
use crate::screen::{Screen, harmless, time};

/// Commands on flows.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// List flows with state, limit and figures
    List(Which),
    /// Show one flow, with the last decisions about it and the numbers behind them
    Show {
        /// Name of the flow
        flow: String,
    },
    /// List the decisions about a flow: when, why, with which numbers, and by whom if made by hand
    History(history::Arguments),
    /// Show flows, refreshed each second, until interrupted
    Watch(Which),
    /// Play the last hour of a flow through other settings, and show what would have been; changes nothing
    WhatIf(what_if::WhatIf),
    /// Stop every flow whose name contains a keyword, including flows that appear later
    Stop(Stop),
    /// Lift a stop: the flows resume with the initial limit, which then grows
    Resume(Resume),
    /// List stops made by hand, with who made them and why
    Stops {
        /// Include stops that are over
        #[arg(long)]
        ended: bool,
    },
}

/// Flows to show.
#[derive(Debug, Args, Serialize)]
pub(crate) struct Which {
    /// Only flows whose name contains this text
    #[serde(rename = "contains")]
    keyword: Option<String>,
    /// Only flows in this state: enabled, limited, stopped, probing, disabled_manually
    #[arg(long)]
    state: Option<String>,
}

/// A stop.
#[derive(Debug, Args, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Stop {
    /// Every flow whose name contains this text
    #[arg(value_parser = Text::new())]
    keyword: String,
    /// Reason
    #[arg(long, value_parser = Text::new())]
    reason: String,
    /// Length of the stop; orders that wait or retry until a time within it are moved past its end
    #[arg(long = "for", value_name = "DURATION")]
    #[serde(rename = "for")]
    duration: Option<String>,
    /// Start of the stop: a time, or `now` [default: now]
    #[arg(long, value_name = "TIME", value_parser = input::parse_time)]
    from: Option<Timestamp>,
    /// Resume automatically at the end of --for
    #[arg(long, requires = "duration")]
    resume: bool,
    /// Only show which flows and how many orders would be affected
    #[arg(long)]
    dry_run: bool,
}

/// A resumption.
#[derive(Debug, Args, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Resume {
    /// Exact keyword of the stop
    #[arg(required_unless_present = "stop", conflicts_with = "stop")]
    keyword: Option<String>,
    /// Number of the stop
    #[arg(long)]
    stop: Option<i64>,
    /// Reason
    #[arg(long, value_parser = Text::new())]
    reason: String,
    /// Only show which flows would resume
    #[arg(long)]
    dry_run: bool,
}

/// Orders to move in time.
#[derive(Debug, Args, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ShiftArguments {
    /// Waiting and retrying orders of every flow whose name contains this text
    #[arg(long, value_parser = Text::new(), required_unless_present = "undo", requires = "distance")]
    flow: Option<String>,
    /// Distance of the move, such as `3h`
    #[arg(long = "by", value_name = "DURATION", conflicts_with = "undo")]
    #[serde(rename = "by")]
    distance: Option<String>,
    /// Undo the shift of this number
    #[arg(long, value_name = "SHIFT", conflicts_with = "flow")]
    undo: Option<i64>,
    /// Reason, for the history of each order
    #[arg(long, value_parser = Text::new())]
    reason: String,
    /// Only show how many orders would be moved
    #[arg(long, conflicts_with = "undo")]
    dry_run: bool,
}

/// Runs a command.
pub(crate) async fn run(command: Command, client: &ApiClient, screen: &Screen) -> Result<(), CliError> {
    match command {
        Command::List(which) => tables::FLOWS.all(&which, client, screen).await,
        Command::Show { flow } => {
            let reply = client.get(&format!("/v1/flows/{}", percent_encode(&flow)), &[]).await?;
            reply.show(screen, |flow| tables::shown(flow, screen))
        }
        Command::History(wanted) => history::show("flows", &wanted, client, screen).await,
        Command::Watch(which) => watch::run(&which, client, screen).await,
        Command::WhatIf(asked) => what_if::run(&asked, client, screen).await,
        Command::Stop(stop) => {
            let mut outcome: StopOutcome = client.post("/v1/flows/stop", &given(&stop)?).await?.read()?;
            if let Some(shift) = outcome.shift.take() {
                outcome.shift = Some(finish(shift, client).await?);
            }
            report(&outcome, stop.dry_run, "stopped", screen)
        }
        Command::Resume(resume) => {
            let outcome = client.post("/v1/flows/resume", &given(&resume)?).await?.read()?;
            report(&outcome, resume.dry_run, "resumed", screen)
        }
        Command::Stops { ended } => STOPS.all(&[("ended", ended)], client, screen).await,
    }
}

/// Moves orders in time, or moves them back.
pub(crate) async fn shift(
    shift: ShiftArguments,
    client: &ApiClient,
    screen: &Screen,
) -> Result<(), CliError> {
    let asked = given(&shift)?;
    let mut done: ShiftOutcome = client.post("/v1/flows/shift", &asked).await?.read()?;
    match shift.undo {
        None => done = finish(done, client).await?,
        Some(_) => {
            while done.more {
                let next: ShiftOutcome = client.post("/v1/flows/shift", &asked).await?.read()?;
                done = ShiftOutcome { orders: done.orders + next.orders, ..next };
            }
        }
    }
    screen.show(&done, |done| match (shift.undo, done.shift) {
        (Some(no), _) => format!("{} orders were moved back: shift {no} is undone", done.orders),
        (None, Some(no)) => format!("{} orders were moved by shift {no}", done.orders),
        (None, None) => format!("{} orders would be moved", done.orders),
    })
}

/// Goes on with a shift that has more to move than one request does.
async fn finish(mut shift: ShiftOutcome, client: &ApiClient) -> Result<ShiftOutcome, CliError> {
    while let (true, Some(no)) = (shift.more, shift.shift) {
        let asked = ShiftRequest { go_on: Some(no), ..ShiftRequest::default() };
        let next: ShiftOutcome = client.post("/v1/flows/shift", &asked).await?.read()?;
        shift = ShiftOutcome { orders: shift.orders + next.orders, ..next };
    }
    Ok(shift)
}

/// Prints the outcome of a stop or a resumption.
fn report(outcome: &StopOutcome, dry_run: bool, done: &str, screen: &Screen) -> Result<(), CliError> {
    screen.show(outcome, |outcome| sentences(outcome, dry_run, done).join("\n"))
}

fn sentences(outcome: &StopOutcome, dry_run: bool, done: &str) -> Vec<String> {
    let (would, is) = if dry_run { ("would be ", "would be ") } else { ("", "is ") };
    let mut lines: Vec<String> =
        outcome.flows.iter().map(|flow| format!("{would}{done}: {}", harmless(flow))).collect();
    if outcome.more_flows {
        lines.push("… and more".to_owned());
    }
    if outcome.flows.is_empty() {
        let later = if done == "stopped" { "; flows that appear later are" } else { "" };
        lines.push(format!("no known flow {is}{done}{later}"));
    }
    if dry_run && !outcome.flows.is_empty() {
        lines.push(format!("stages ready to run in them: {}", outcome.ready));
    }
    if let Some(shift) = &outcome.shift {
        lines.push(match shift.shift {
            Some(no) => format!("{} orders were moved past the end by shift {no}", shift.orders),
            None => format!("{} orders would be moved past the end", shift.orders),
        });
    }
    if !dry_run {
        let numbers: Vec<String> = outcome.stops.iter().map(ToString::to_string).collect();
        let numbers = numbers.join(", ");
        lines.push(match (outcome.confirmation.confirmed, outcome.confirmation.serial) {
            (true, _) if outcome.stops.is_empty() => "no stop by hand was lifted".to_owned(),
            (true, _) if done == "resumed" => format!("stop {numbers} is lifted"),
            (false, _) if done == "resumed" => {
                format!("stop {numbers} is lifted; no dispatcher has confirmed it yet: is one active?")
            }
            (true, Some(serial)) => {
                format!("stop {numbers} is in force; the last stage was handed out before it as {serial}")
            }
            (true, None) => format!("stop {numbers} is in force"),
            (false, _) => {
                format!("stop {numbers}: stored; no dispatcher has confirmed it yet: is one active?")
            }
        });
    }
    lines
}

/// Stops by hand.
const STOPS: List<StopView> = List {
    path: "/v1/stops",
    none: "nothing is stopped by hand",
    hint: None,
    columns: &[
        ("STOP", |stop| stop.stop.to_string()),
        ("KEYWORD", |stop| stop.keyword.clone()),
        ("FROM", |stop| time(stop.from)),
        ("UNTIL", |stop| match (stop.until, stop.lifted_at) {
            (_, Some(at)) => format!("lifted {}", time(at)),
            (Some(at), None) => time(at),
            (None, None) => "resumed by hand".to_owned(),
        }),
        ("BY", |stop| who(&stop.by).unwrap_or_default()),
        ("REASON", |stop| stop.reason.clone()),
    ],
};

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test may stop at the first surprise")]
mod tests {
    use clap::Parser as _;
    use pagurus_wire::flows::{ConfirmationView, ResumeRequest, StopRequest};

    use super::*;

    #[test]
    fn dsp_10_options_are_the_fields_of_a_request() {
        let body = |line: &str| {
            let parsed = crate::CommandLine::try_parse_from(line.split_whitespace()).unwrap();
            let body = match parsed.command {
                crate::Command::Flows(Command::Stop(stop)) => given(&stop),
                crate::Command::Flows(Command::Resume(resume)) => given(&resume),
                crate::Command::Order(crate::order::Command::Shift(shift)) => given(&shift),
                other => panic!("{other:?}"),
            };
            serde_json::Value::Object(body.unwrap())
        };
        let stop = body("pagurus flows stop tariff --reason works --for 3h --resume");
        let asked = StopRequest {
            keyword: "tariff".into(),
            reason: "works".into(),
            duration: Some("3h".into()),
            resume: true,
            ..StopRequest::default()
        };
        assert_eq!(serde_json::from_value::<StopRequest>(stop).unwrap(), asked);
        let resume = body("pagurus flows resume --stop 7 --reason done --dry-run");
        let asked =
            ResumeRequest { stop: Some(7), reason: "done".into(), dry_run: true, ..ResumeRequest::default() };
        assert_eq!(serde_json::from_value::<ResumeRequest>(resume).unwrap(), asked);
        let shift = body("pagurus order shift --flow tariff --by 3h --reason works --dry-run");
        let asked = ShiftRequest {
            flow: Some("tariff".into()),
            by: Some("3h".into()),
            reason: "works".into(),
            dry_run: true,
            ..ShiftRequest::default()
        };
        assert_eq!(serde_json::from_value::<ShiftRequest>(shift).unwrap(), asked);
    }

    #[test]
    fn dsp_10_a_stop_names_the_flows_it_hits_and_who_goes_by_it() {
        let confirmation = ConfirmationView { confirmed: true, epoch: Some(3), serial: Some(41) };
        let outcome = StopOutcome {
            stops: vec![7],
            flows: vec!["tariff|200".into(), "tariff|300".into()],
            shift: Some(ShiftOutcome { shift: Some(2), orders: 12, more: false }),
            confirmation: confirmation.clone(),
            ..StopOutcome::default()
        };
        assert_eq!(
            sentences(&outcome, false, "stopped"),
            [
                "stopped: tariff|200",
                "stopped: tariff|300",
                "12 orders were moved past the end by shift 2",
                "stop 7 is in force; the last stage was handed out before it as 41",
            ]
        );
        let none = StopOutcome { stops: vec![8], ..StopOutcome::default() };
        assert_eq!(
            sentences(&none, false, "stopped"),
            [
                "no known flow is stopped; flows that appear later are",
                "stop 8: stored; no dispatcher has confirmed it yet: is one active?",
            ]
        );
        let lifted =
            StopOutcome { stops: vec![7], flows: vec!["a".into()], confirmation, ..StopOutcome::default() };
        assert_eq!(sentences(&lifted, false, "resumed"), ["resumed: a", "stop 7 is lifted"]);
        let unconfirmed = StopOutcome { stops: vec![7], ..StopOutcome::default() };
        assert_eq!(
            sentences(&unconfirmed, false, "resumed"),
            [
                "no known flow is resumed",
                "stop 7 is lifted; no dispatcher has confirmed it yet: is one active?",
            ]
        );
        let dry = StopOutcome { flows: vec!["a".into()], ready: 12, ..StopOutcome::default() };
        let would_be = ["would be stopped: a", "stages ready to run in them: 12"];
        assert_eq!(sentences(&dry, true, "stopped"), would_be);
    }
}
