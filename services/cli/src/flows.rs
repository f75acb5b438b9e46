//! `pagurus flows …`: how flows go, what the dispatcher decided about them and why; stopping and resuming them by hand.
//!
//! Never stops anything without a reason: it stands beside the stop for all who wonder.

pub(crate) mod tables;
mod watch;

use clap::builder::NonEmptyStringValueParser as Text;
use clap::{Args, Subcommand};
use jiff::Timestamp;
use pagurus_domain::scenario::value::percent_encode;
use pagurus_wire::flows::{
    FlowView, ResumeRequest, ShiftOutcome, ShiftRequest, StopOutcome, StopRequest, StopView,
};
use pagurus_wire::order::Page;
use serde::Serialize;

use crate::client::Client;
use crate::failure::Failure;
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
    /// Show flows anew each second, until interrupted
    Watch(Which),
    /// Stop every flow whose name contains a keyword, also those that appear later
    Stop(Stop),
    /// Lift a stop: the flows come back with the initial limit, and grow
    Resume(Resume),
    /// List stops by hand, with who made them and why
    Stops {
        /// Those that are over, too
        #[arg(long)]
        ended: bool,
    },
}

/// Which flows are shown.
#[derive(Debug, Args)]
pub(crate) struct Which {
    /// Only flows whose name contains it
    keyword: Option<String>,
    /// Only flows in this state: enabled, limited, stopped, probing, disabled_manually
    #[arg(long)]
    state: Option<String>,
}

/// A stop.
#[derive(Debug, Args)]
pub(crate) struct Stop {
    /// Every flow whose name contains it
    #[arg(value_parser = Text::new())]
    keyword: String,
    /// Why
    #[arg(long, value_parser = Text::new())]
    reason: String,
    /// For how long: what waits or retries until then is moved behind the end
    #[arg(long = "for", value_name = "DURATION")]
    duration: Option<String>,
    /// From when on; left out: at once
    #[arg(long, value_name = "TIME")]
    from: Option<Timestamp>,
    /// Go on by itself at the end of --for
    #[arg(long, requires = "duration")]
    resume: bool,
    /// Only tell which flows, and how many orders, it would be
    #[arg(long)]
    dry_run: bool,
}

/// A resumption.
#[derive(Debug, Args)]
pub(crate) struct Resume {
    /// Keyword of the stop, exactly
    #[arg(required_unless_present = "stop", conflicts_with = "stop")]
    keyword: Option<String>,
    /// Number of the stop
    #[arg(long)]
    stop: Option<i64>,
    /// Why
    #[arg(long, value_parser = Text::new())]
    reason: String,
    /// Only tell which flows it would be
    #[arg(long)]
    dry_run: bool,
}

/// Which orders are moved in time.
#[derive(Debug, Args)]
pub(crate) struct Shift {
    /// Waiting and retrying orders of every flow whose name contains it
    #[arg(long, value_parser = Text::new(), required_unless_present = "undo", requires = "distance")]
    flow: Option<String>,
    /// Distance of the move, such as `3h`
    #[arg(long = "by", value_name = "DURATION", conflicts_with = "undo")]
    distance: Option<String>,
    /// Undo the shift of this number
    #[arg(long, value_name = "SHIFT", conflicts_with = "flow")]
    undo: Option<i64>,
    /// Why, for the history of each order
    #[arg(long, value_parser = Text::new())]
    reason: String,
    /// Only tell how many orders it would be
    #[arg(long, conflicts_with = "undo")]
    dry_run: bool,
}

/// Runs a command.
pub(crate) async fn run(command: Command, client: &Client, screen: &Screen) -> Result<(), Failure> {
    match command {
        Command::List(which) => {
            let flows = flows(&which, client).await?;
            if screen.json {
                return screen.value(&Page { items: flows, next: None });
            }
            if flows.is_empty() {
                screen.note("no such flow was seen yet");
                return Ok(());
            }
            screen.line(&tables::listed(&flows, screen))
        }
        Command::Show { flow } => {
            let reply = client.get(&format!("/v1/flows/{}", percent_encode(&flow)), &[]).await?;
            if screen.json {
                return screen.document(&reply.text);
            }
            screen.line(&tables::shown(&reply.read()?, screen))
        }
        Command::Watch(which) => watch::run(&which, client, screen).await,
        Command::Stop(stop) => {
            let asked = StopRequest {
                keyword: stop.keyword,
                reason: stop.reason,
                from: stop.from,
                duration: stop.duration,
                resume: stop.resume,
                dry_run: stop.dry_run,
            };
            let mut outcome: StopOutcome = client.post("/v1/flows/stop", &value(&asked)?).await?.read()?;
            if let Some(shift) = outcome.shift.take() {
                outcome.shift = Some(finish(shift, client).await?);
            }
            told(&outcome, asked.dry_run, "stopped", screen)
        }
        Command::Resume(resume) => {
            let asked = ResumeRequest {
                keyword: resume.keyword,
                stop: resume.stop,
                reason: resume.reason,
                dry_run: resume.dry_run,
            };
            let outcome: StopOutcome = client.post("/v1/flows/resume", &value(&asked)?).await?.read()?;
            told(&outcome, asked.dry_run, "resumed", screen)
        }
        Command::Stops { ended } => {
            let stops: Page<StopView> =
                client.list("/v1/stops", &[("ended", ended.to_string())], None).await?;
            if screen.json {
                return screen.value(&stops);
            }
            if stops.items.is_empty() {
                screen.note("nothing is stopped by hand");
                return Ok(());
            }
            screen.line(&stops_listed(&stops.items, screen))
        }
    }
}

/// Moves orders in time, or moves them back.
pub(crate) async fn shift(shift: Shift, client: &Client, screen: &Screen) -> Result<(), Failure> {
    let asked = ShiftRequest {
        flow: shift.flow,
        by: shift.distance,
        go_on: None,
        undo: shift.undo,
        reason: shift.reason,
        dry_run: shift.dry_run,
    };
    let mut done: ShiftOutcome = client.post("/v1/flows/shift", &value(&asked)?).await?.read()?;
    match shift.undo {
        None => done = finish(done, client).await?,
        Some(_) => {
            while done.more {
                let next: ShiftOutcome = client.post("/v1/flows/shift", &value(&asked)?).await?.read()?;
                done = ShiftOutcome { orders: done.orders + next.orders, ..next };
            }
        }
    }
    if screen.json {
        return screen.value(&done);
    }
    screen.line(&match (shift.undo, done.shift) {
        (Some(no), _) => format!("{} orders were moved back: shift {no} is undone", done.orders),
        (None, Some(no)) => format!("{} orders were moved by shift {no}", done.orders),
        (None, None) => format!("{} orders would be moved", done.orders),
    })
}

/// Goes on with a shift that has more to move than one request does.
async fn finish(mut shift: ShiftOutcome, client: &Client) -> Result<ShiftOutcome, Failure> {
    while let (true, Some(no)) = (shift.more, shift.shift) {
        let asked = ShiftRequest { go_on: Some(no), ..ShiftRequest::default() };
        let next: ShiftOutcome = client.post("/v1/flows/shift", &value(&asked)?).await?.read()?;
        shift = ShiftOutcome { orders: shift.orders + next.orders, ..next };
    }
    Ok(shift)
}

fn value(asked: &impl Serialize) -> Result<serde_json::Value, Failure> {
    Ok(serde_json::to_value(asked).map_err(anyhow::Error::from)?)
}

/// The flows of all pages.
async fn flows(which: &Which, client: &Client) -> Result<Vec<FlowView>, Failure> {
    let conditions = [("contains", &which.keyword), ("state", &which.state)];
    let conditions: Vec<(&str, String)> =
        conditions.into_iter().filter_map(|(name, value)| Some((name, value.clone()?))).collect();
    Ok(client.list("/v1/flows", &conditions, None).await?.items)
}

/// Says what a stop or a resumption came to.
fn told(outcome: &StopOutcome, dry_run: bool, done: &str, screen: &Screen) -> Result<(), Failure> {
    if screen.json {
        return screen.value(outcome);
    }
    for line in sentences(outcome, dry_run, done) {
        screen.line(&line)?;
    }
    Ok(())
}

fn sentences(outcome: &StopOutcome, dry_run: bool, done: &str) -> Vec<String> {
    let would = if dry_run { "would be " } else { "" };
    let mut lines: Vec<String> =
        outcome.flows.iter().map(|flow| format!("{would}{done}: {}", harmless(flow))).collect();
    if outcome.more_flows {
        lines.push("… and more".to_owned());
    }
    if outcome.flows.is_empty() {
        lines.push(format!("no flow that is known by now {would}{done}; those that appear later are"));
    }
    if let Some(shift) = &outcome.shift {
        lines.push(match shift.shift {
            Some(no) => format!("{} orders were moved behind the end by shift {no}", shift.orders),
            None => format!("{} orders would be moved behind the end", shift.orders),
        });
    }
    if !dry_run {
        let numbers: Vec<String> = outcome.stops.iter().map(ToString::to_string).collect();
        let numbers = numbers.join(", ");
        lines.push(match (outcome.confirmation.confirmed, outcome.confirmation.serial) {
            (true, Some(serial)) => {
                format!("stop {numbers}: the dispatcher goes by it since its hand-out {serial}")
            }
            (true, None) => format!("stop {numbers}: the dispatcher goes by it"),
            (false, _) => {
                format!("stop {numbers}: stored; no dispatcher has confirmed it yet: is one active?")
            }
        });
    }
    lines
}

fn stops_listed(stops: &[StopView], screen: &Screen) -> String {
    let rows: Vec<[String; 6]> = stops
        .iter()
        .map(|stop| {
            let until = match (stop.until, stop.lifted_at) {
                (_, Some(at)) => format!("lifted {}", time(at)),
                (Some(at), None) => time(at),
                (None, None) => "resumed by hand".to_owned(),
            };
            let by = |key: &str| stop.by.get(key).and_then(serde_json::Value::as_str);
            let by = by("name").or_else(|| by("from")).unwrap_or_default().to_owned();
            [stop.stop.to_string(), stop.keyword.clone(), time(stop.from), until, by, stop.reason.clone()]
        })
        .collect();
    screen.table(&["STOP", "KEYWORD", "FROM", "UNTIL", "BY", "REASON"], &rows)
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test may stop at the first surprise")]
mod tests {
    use pagurus_wire::flows::ConfirmationView;

    use super::*;

    #[test]
    fn dsp_10_a_stop_names_the_flows_it_hits_and_who_goes_by_it() {
        let confirmation = ConfirmationView { confirmed: true, epoch: Some(3), serial: Some(41) };
        let outcome = StopOutcome {
            stops: vec![7],
            flows: vec!["tariff|200".into(), "tariff|300".into()],
            shift: Some(ShiftOutcome { shift: Some(2), orders: 12, more: false }),
            confirmation,
            ..StopOutcome::default()
        };
        assert_eq!(
            sentences(&outcome, false, "stopped"),
            [
                "stopped: tariff|200",
                "stopped: tariff|300",
                "12 orders were moved behind the end by shift 2",
                "stop 7: the dispatcher goes by it since its hand-out 41",
            ]
        );
        let none = StopOutcome { stops: vec![8], ..StopOutcome::default() };
        assert_eq!(
            sentences(&none, false, "stopped"),
            [
                "no flow that is known by now stopped; those that appear later are",
                "stop 8: stored; no dispatcher has confirmed it yet: is one active?",
            ]
        );
        let dry = StopOutcome { flows: vec!["a".into()], ..StopOutcome::default() };
        assert_eq!(sentences(&dry, true, "stopped"), ["would be stopped: a"]);
    }
}
