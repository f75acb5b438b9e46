//! `pagurus schedules …`: orders at planned times.
//!
//! A schedule is applied from a file, so that it can be kept and reviewed like a scenario.

use std::path::PathBuf;

use clap::builder::NonEmptyStringValueParser as Text;
use clap::{Args, Subcommand};
use jiff::Timestamp;
use pagurus_scenario::value::percent_encode;
use pagurus_wire::order::Page;
use pagurus_wire::schedules::{
    ScheduleOutcome, ScheduleRunOutcome, ScheduleRunView, ScheduleTimesView, ScheduleView,
};
use serde::Serialize;
use serde_json::{Value, json};

use crate::client::ApiClient;
use crate::failure::CliError;
use crate::input::{self, given, name_of, text_of};
use crate::list::{Column, List, moment, table, text, who};
use crate::screen::{Screen, harmless, time};

/// Commands about schedules.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// List schedules with their next times
    List,
    /// Show one schedule
    Get {
        /// Name of the schedule
        schedule: String,
    },
    /// Make schedules, or replace those of the same names
    Apply(Apply),
    /// Pause a schedule: it registers no orders until it is resumed
    Pause(ScheduleArguments),
    /// Resume a paused schedule with its next time
    Resume(ScheduleArguments),
    /// Register an order of a schedule now, or the order of a planned time that has passed without one
    Run(RunArguments),
    /// Remove a schedule; its orders stay
    Remove {
        /// Name of the schedule
        schedule: String,
    },
    /// Show the next times of a schedule
    Times(TimesArguments),
    /// Show past times, each with its order or the reason why it has none
    Runs {
        /// Name of the schedule
        schedule: String,
        /// Most times to show
        #[arg(long, default_value_t = 100)]
        limit: usize,
    },
}

/// Schedules in files.
#[derive(Debug, Args)]
pub(crate) struct Apply {
    /// YAML or JSON files, with one or more schedules separated by `---`; `-` is standard input
    #[arg(required = true)]
    files: Vec<PathBuf>,
    /// Apply only if the stored schedule has this tag, as `get` shows it; only for a single schedule
    #[arg(long, value_name = "TAG", conflicts_with = "dry_run")]
    if_match: Option<String>,
    /// Only check, and show the next times
    #[arg(long)]
    dry_run: bool,
}

/// A schedule that is paused or resumed.
#[derive(Debug, Args, Serialize)]
pub(crate) struct ScheduleArguments {
    /// Name of the schedule
    #[serde(skip)]
    schedule: String,
    /// Reason
    #[arg(long, value_parser = Text::new())]
    reason: String,
}

/// A schedule of which an order is wanted.
#[derive(Debug, Args, Serialize)]
pub(crate) struct RunArguments {
    /// Name of the schedule
    #[serde(skip)]
    schedule: String,
    /// Planned time that has passed, such as 2026-12-01T03:00:00Z [default: now]
    #[arg(long, value_name = "TIME", value_parser = input::parse_time)]
    at: Option<Timestamp>,
    /// Reason
    #[arg(long, value_parser = Text::new())]
    reason: String,
}

/// A schedule whose times are wanted.
#[derive(Debug, Args, Serialize)]
pub(crate) struct TimesArguments {
    /// Name of the schedule
    #[serde(skip)]
    schedule: String,
    /// Number of times
    #[arg(long, default_value_t = 5)]
    count: usize,
    /// Show times after this one [default: now]
    #[arg(long, value_name = "TIME", value_parser = input::parse_time)]
    after: Option<Timestamp>,
}

/// Runs a command.
pub(crate) async fn run(command: Command, client: &ApiClient, screen: &Screen) -> Result<(), CliError> {
    match command {
        Command::List => SCHEDULES.all(&(), client, screen).await,
        Command::Get { schedule } => {
            let reply = client.get(&path(&schedule, ""), &[]).await?;
            reply.show(screen, |schedule| shown(schedule, screen))
        }
        Command::Apply(apply) => put(&apply, client, screen).await,
        Command::Pause(which) => act(&which, "/pause", client, screen).await,
        Command::Resume(which) => act(&which, "/resume", client, screen).await,
        Command::Run(which) => {
            let reply = client.post(&path(&which.schedule, "/run"), &given(&which)?).await?;
            reply.show(screen, |outcome: &ScheduleRunOutcome| {
                format!("{}: {}, {}", harmless(&outcome.order), outcome.status, outcome.order_status)
            })
        }
        Command::Remove { schedule } => {
            client.delete(&path(&schedule, "")).await?;
            screen.note(&format!("schedule {} is removed", harmless(&schedule)));
            Ok(())
        }
        Command::Times(wanted) => {
            let reply = client.find(&path(&wanted.schedule, "/times"), &wanted).await?;
            reply.show(screen, |found: &ScheduleTimesView| {
                let times: Vec<String> = found.times.iter().map(|at| time(*at)).collect();
                if times.is_empty() { "there are no further times".to_owned() } else { times.join("\n") }
            })
        }
        Command::Runs { schedule, limit } => {
            let page: Page<ScheduleRunView> =
                client.pages(&path(&schedule, "/runs"), &(), Some(limit)).await?;
            if screen.json {
                return screen.value(&page);
            }
            if page.items.is_empty() {
                screen.note("no time of it has come yet");
                return Ok(());
            }
            screen.line(&table(RUNS, &page.items, screen))
        }
    }
}

fn path(schedule: &str, part: &str) -> String {
    format!("/v1/schedules/{}{part}", percent_encode(schedule))
}

async fn act(
    which: &ScheduleArguments,
    part: &str,
    client: &ApiClient,
    screen: &Screen,
) -> Result<(), CliError> {
    let reply = client.post(&path(&which.schedule, part), &given(which)?).await?;
    reply.show(screen, sentence)
}

/// Puts the schedules of files, one after the other.
async fn put(apply: &Apply, client: &ApiClient, screen: &Screen) -> Result<(), CliError> {
    let mut schedules = Vec::new();
    for file in &apply.files {
        schedules.append(&mut read(&text_of(file)?, &name_of(file))?);
    }
    if apply.if_match.is_some() && schedules.len() != 1 {
        let message = format!("--if-match is for one schedule, and these are {}", schedules.len());
        return Err(CliError::Usage(message));
    }
    let query = if apply.dry_run { "?dryRun=true" } else { "" };
    let mut outcomes: Vec<ScheduleOutcome> = Vec::with_capacity(schedules.len());
    for (name, schedule) in schedules {
        let reply = client.put_json(&path(&name, query), &schedule, apply.if_match.as_deref()).await?;
        let outcome = reply.read()?;
        if !screen.json {
            screen.line(&sentence(&outcome))?;
        }
        outcomes.push(outcome);
    }
    if screen.json { screen.value(&json!({"items": outcomes})) } else { Ok(()) }
}

/// The schedules of a text, each with its name.
fn read(text: &str, file: &str) -> Result<Vec<(String, Value)>, CliError> {
    let read: Result<Vec<Value>, _> = serde_saphyr::from_multiple(text);
    let read = read.map_err(|error| CliError::Input(format!("{file} is no YAML: {error}")))?;
    let named = |schedule: Value| match schedule["name"].as_str() {
        Some(name) => Ok((name.to_owned(), schedule)),
        None => Err(CliError::Input(format!(
            "{file}: a schedule has a `name`, beside `cron` or `every`, and `order`"
        ))),
    };
    read.into_iter().map(named).collect()
}

fn sentence(outcome: &ScheduleOutcome) -> String {
    let next = match outcome.next.first() {
        _ if outcome.paused => "paused".to_owned(),
        Some(next) => format!("next at {}", time(*next)),
        None => "no further time".to_owned(),
    };
    let change =
        if outcome.tag.is_some() { outcome.change.clone() } else { format!("would be {}", outcome.change) };
    format!("{}: {change}, {next}", harmless(&outcome.schedule))
}

/// The times at which the orders of a schedule are due, in words.
fn rule(schedule: &ScheduleView) -> String {
    let zone = schedule.rule.zone.as_deref().unwrap_or("UTC");
    match (&schedule.rule.cron, &schedule.rule.every) {
        (Some(cron), _) => format!("{cron} {zone}"),
        (None, Some(every)) => format!("every {every}"),
        (None, None) => String::new(),
    }
}

fn scenario(schedule: &ScheduleView) -> String {
    schedule.order["scenario"].as_str().unwrap_or_default().to_owned()
}

fn last(run: &ScheduleRunView) -> String {
    let status = run.order_status.as_deref().unwrap_or_default();
    format!("{} {} {status}", time(run.time), run.outcome).trim_end().to_owned()
}

/// Schedules.
const SCHEDULES: List<ScheduleView> = List {
    path: "/v1/schedules",
    none: "there are no schedules",
    hint: None,
    columns: &[
        ("SCHEDULE", |schedule| schedule.name.clone()),
        ("STATE", |schedule| schedule.state.clone()),
        ("RULE", rule),
        ("SCENARIO", scenario),
        ("NEXT", |schedule| moment(schedule.next.first().copied().filter(|_| !schedule.paused))),
        ("LAST", |schedule| schedule.last.as_ref().map(last).unwrap_or_default()),
        ("PROBLEM", |schedule| {
            let problem = schedule.problem.as_ref().filter(|problem| problem.lasts);
            problem.map(|problem| problem.message.clone()).unwrap_or_default()
        }),
    ],
};

/// Times that have come.
const RUNS: &[Column<ScheduleRunView>] = &[
    ("TIME", |run| time(run.time)),
    ("OUTCOME", |run| match run.missed {
        Some(count) if count > 1 => format!("{} ({count} since {})", run.outcome, moment(run.missed_from)),
        _ => run.outcome.clone(),
    }),
    ("ORDER", |run| text(&run.order)),
    ("STATUS", |run| text(&run.order_status)),
    ("REASON", |run| text(&run.reason)),
];

fn shown(schedule: &ScheduleView, screen: &Screen) -> String {
    let counts = schedule.counts;
    let next: Vec<String> = schedule.next.iter().map(|at| time(*at)).collect();
    screen.pairs(&[
        ("schedule", Some(schedule.name.clone())),
        ("state", Some(schedule.state.clone())),
        ("tag", Some(schedule.tag.clone())),
        ("rule", Some(rule(schedule))),
        ("not before", schedule.rule.from.map(time)),
        ("not from", schedule.rule.until.map(time)),
        (
            "exceptions",
            Some(schedule.rule.exceptions.len()).filter(|count| *count > 0).map(|count| count.to_string()),
        ),
        ("missed times", Some(schedule.rule.catch_up.policy.to_string())),
        ("overlap", Some(schedule.rule.overlap.to_string())),
        ("order", Some(schedule.order.to_string())),
        ("note", Some(schedule.note.clone()).filter(|note| !note.is_empty())),
        ("next", Some(next.join(", ")).filter(|next| !next.is_empty())),
        ("waiting", Some(schedule.queued).filter(|count| *count > 0).map(|count| count.to_string())),
        ("last", schedule.last.as_ref().map(last)),
        (
            "times",
            Some(format!(
                "{} registered, {} skipped, {} missed, {} refused",
                counts.registered, counts.skipped, counts.missed, counts.refused
            )),
        ),
        (
            "problem",
            schedule.problem.as_ref().map(|problem| format!("{} ({})", problem.message, time(problem.at))),
        ),
        ("paused", schedule.paused_at.map(time)),
        ("paused because", schedule.pause_reason.clone()),
        ("made", Some(time(schedule.made_at))),
        ("by", who(&schedule.by)),
        ("changed", Some(time(schedule.changed_at))),
        ("changed by", who(&schedule.changed_by)),
    ])
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test may stop at the first surprise")]
mod tests {
    use pagurus_wire::schedules::ScheduleBody;

    use super::*;

    #[test]
    fn ord_39_a_file_has_schedules_by_their_names() {
        let file = "name: nightly\ncron: 0 3 * * 1-5\nzone: Europe/Moscow\nexceptions: [2026-12-31, 01-01]\n\
            order: {scenario: load, params: {day: '${schedule.date}'}}\n---\nname: b\nevery: 15m\norder: {scenario: s}\n";
        let read = read(file, "f").unwrap();
        assert_eq!((read.len(), read[0].0.as_str(), read[1].0.as_str()), (2, "nightly", "b"));
        let body: ScheduleBody = serde_json::from_value(read[0].1.clone()).unwrap();
        assert_eq!((body.cron.as_deref(), body.exceptions.len()), (Some("0 3 * * 1-5"), 2));
        assert!(super::read("cron: x", "f").is_err() && super::read("a: [", "f").is_err());
    }

    #[test]
    fn ord_39_an_outcome_says_what_comes_next() {
        let mut outcome = ScheduleOutcome {
            schedule: "nightly".into(),
            change: "changed".into(),
            tag: Some("2-1".into()),
            paused: false,
            next: vec!["2026-12-01T03:00:00Z".parse().unwrap()],
        };
        assert_eq!(sentence(&outcome), "nightly: changed, next at 2026-12-01T03:00:00.000Z");
        outcome.paused = true;
        outcome.tag = None;
        assert_eq!(sentence(&outcome), "nightly: would be changed, paused");
    }
}
