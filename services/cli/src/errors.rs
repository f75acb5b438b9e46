//! `pagurus errors`: failed and retrying orders in groups, one by one, and actions on a group.

mod act;
mod list;

use clap::{Args, Subcommand, ValueEnum};
use jiff::{SignedDuration, Timestamp};
use pagurus_domain::number::saturated;
use pagurus_wire::errors::{ErrorGroup, ErrorGroups, ErrorHour};

use crate::client::ApiClient;
use crate::failure::CliError;
use crate::list::shown_key;
use crate::screen::{Screen, bars, time};

/// Cells of the picture of counts over time.
const CELLS: usize = 24;

/// Commands about failed and retrying orders; without one they are shown in groups.
#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    command: Option<Command>,
    #[command(flatten)]
    groups: GroupArguments,
}

/// True if failed orders are only shown.
pub(crate) const fn only_shows(arguments: &Arguments) -> bool {
    matches!(arguments.command, None | Some(Command::Orders(_)))
}

#[derive(Debug, Subcommand)]
enum Command {
    /// List the orders of a group
    Orders(list::Arguments),
    /// Restart every failed order of a group
    Restart {
        #[command(flatten)]
        act: act::Arguments,
        /// State to start from, or `initial` [default: the last entry point of each order]
        #[arg(long, value_name = "STATE")]
        from: Option<String>,
    },
    /// Cancel every failed order of a group
    Cancel(act::Arguments),
    /// Stop every retrying order of a group
    Kill(act::Arguments),
}

/// Conditions for orders. An empty text means the orders that have none.
#[derive(Debug, Args)]
struct ErrorFilter {
    /// Only errors of this class
    #[arg(long)]
    class: Option<String>,
    /// Only this scenario
    #[arg(long)]
    scenario: Option<String>,
    /// Only errors that occurred in this state
    #[arg(long)]
    state: Option<String>,
    /// Only orders that are in this state; for failed orders, their terminal state
    #[arg(long)]
    step: Option<String>,
    /// Only this called system, as `--by system` shows it
    #[arg(long)]
    system: Option<String>,
    /// Only failures since this time: a time, or a duration back from now; 31 days at most
    #[arg(long, default_value = "24h", value_name = "DURATION|TIME")]
    since: String,
}

impl ErrorFilter {
    fn query(&self) -> Vec<(&'static str, String)> {
        let Self { class, scenario, state, step, system, since } = self;
        let fields =
            [("class", class), ("scenario", scenario), ("state", state), ("step", step), ("system", system)];
        let given = fields.into_iter().filter_map(|(name, value)| Some((name, value.clone()?)));
        given.chain([("since", since.clone())]).collect()
    }
}

/// Field by which orders are put together.
#[derive(Debug, Args)]
struct GroupArguments {
    /// Field to group by
    #[arg(long, value_enum, default_value_t = GroupBy::Class)]
    by: GroupBy,
    #[command(flatten)]
    filter: ErrorFilter,
    /// Number of groups to show
    #[arg(long, default_value_t = 50, value_parser = clap::value_parser!(u16).range(1..=500))]
    limit: u16,
    /// Most failed orders to examine, and most retrying ones [default: 100000]
    #[arg(long, value_name = "NUMBER")]
    examine: Option<u32>,
    /// Continue where an earlier page ended
    #[arg(long)]
    cursor: Option<String>,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum GroupBy {
    /// The class of the error
    Class,
    /// The scenario
    Scenario,
    /// The state in which the error occurred
    State,
    /// The state in which the order is
    Step,
    /// The called system
    System,
}

impl GroupBy {
    const fn word(self) -> &'static str {
        match self {
            Self::Class => "class",
            Self::Scenario => "scenario",
            Self::State => "state",
            Self::Step => "step",
            Self::System => "system",
        }
    }
}

/// Runs the command.
pub(crate) async fn run(arguments: Arguments, client: &ApiClient, screen: &Screen) -> Result<(), CliError> {
    match arguments.command {
        None => groups(&arguments.groups, client, screen).await,
        Some(Command::Orders(arguments)) => list::run(&arguments, client, screen).await,
        Some(Command::Restart { act, from }) => {
            act::run(&act::GroupAction::Restart { from }, &act, client, screen).await
        }
        Some(Command::Cancel(act)) => act::run(&act::GroupAction::Cancel, &act, client, screen).await,
        Some(Command::Kill(act)) => act::run(&act::GroupAction::Kill, &act, client, screen).await,
    }
}

async fn groups(asked: &GroupArguments, client: &ApiClient, screen: &Screen) -> Result<(), CliError> {
    let mut query = asked.filter.query();
    query.extend([("by", asked.by.word().to_owned()), ("limit", asked.limit.to_string())]);
    query.extend(asked.examine.map(|examine| ("examine", examine.to_string())));
    query.extend(asked.cursor.clone().map(|cursor| ("cursor", cursor)));
    let reply = client.get("/v1/errors", &query).await?;
    if screen.json {
        return screen.document(&reply.text);
    }
    let groups: ErrorGroups = reply.read()?;
    if groups.items.is_empty() {
        screen.note(&format!("no order has failed since {}, and none is in retry", time(groups.since)));
        return Ok(());
    }
    screen.line(&listed(&groups, Timestamp::now(), screen))?;
    screen.note(&summary(&groups));
    if let Some(next) = &groups.next {
        screen.note(&format!("more with --cursor {next}"));
    }
    Ok(())
}

fn summary(groups: &ErrorGroups) -> String {
    let bound = if groups.complete { "" } else { "; there are more, only the newest were counted" };
    format!("{} failed since {}, {} in retry now{bound}", groups.failed, time(groups.since), groups.retrying)
}

fn listed(groups: &ErrorGroups, now: Timestamp, screen: &Screen) -> String {
    let title = groups.by.to_uppercase();
    let rows: Vec<[String; 6]> = groups
        .items
        .iter()
        .map(|group| {
            [
                name(group, &groups.by),
                group.failed.to_string(),
                group.retrying.to_string(),
                time(group.last_at),
                over_time(&group.hours, groups.since, now),
                group.orders.join(" "),
            ]
        })
        .collect();
    screen.table(&[&title, "FAILED", "IN RETRY", "LAST", "OVER TIME", "ORDERS"], &rows)
}

fn name(group: &ErrorGroup, by: &str) -> String {
    let key = shown_key(by, group.key.as_deref().unwrap_or_default());
    group.scenario.as_ref().map_or_else(|| key.to_owned(), |scenario| format!("{scenario}: {key}"))
}

/// The counts from the beginning of the window to now, a cell for each part of it.
fn over_time(hours: &[ErrorHour], since: Timestamp, now: Timestamp) -> String {
    let hour = SignedDuration::from_hours(1).as_secs();
    let first = since.as_second().div_euclid(hour);
    let cell_of = |at: Timestamp| saturated::<usize>(at.as_second().div_euclid(hour) - first);
    let all = cell_of(now) + 1;
    let cells = all.min(CELLS);
    let mut counts = vec![0_i64; cells];
    for hour in hours {
        let cell = (cell_of(hour.from) * cells / all).min(cells - 1);
        counts[cell] += hour.failed + hour.retrying;
    }
    bars(&counts)
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test may stop at the first surprise")]
mod tests {
    use super::*;

    fn at(text: &str) -> Timestamp {
        format!("2026-01-02T{text}Z").parse().unwrap()
    }

    #[test]
    fn err_14_groups_are_a_table_with_their_counts_over_time() {
        let text = r#"{"by": "state", "since": "2026-01-02T08:30:00Z", "complete": false, "failed": 9, "retrying": 1,
          "items": [
            {"key": "pay", "scenario": "order", "failed": 9, "retrying": 1, "lastAt": "2026-01-02T11:05:00Z",
             "hours": [{"from": "2026-01-02T08:00:00Z", "failed": 1, "retrying": 0},
                       {"from": "2026-01-02T11:00:00Z", "failed": 8, "retrying": 1}], "orders": ["a", "b"]},
            {"key": null, "scenario": "order", "failed": 0, "retrying": 0, "lastAt": "2026-01-02T11:05:00Z", "hours": [], "orders": []}
          ], "next": "2"}"#;
        let groups: ErrorGroups = serde_json::from_str(text).unwrap();
        let by_class: ErrorGroups = serde_json::from_str(&text.replace("\"state\"", "\"class\"")).unwrap();
        assert!(listed(&by_class, at("12:10:00"), &Screen::plain()).contains("order: unclassified  "));
        assert_eq!(
            listed(&groups, at("12:10:00"), &Screen::plain()),
            "STATE          FAILED  IN RETRY  LAST                      OVER TIME  ORDERS\n\
             order: pay     9       1         2026-01-02T11:05:00.000Z  ▁··█·      a b\n\
             order: (none)  0       0         2026-01-02T11:05:00.000Z  ·····"
        );
        assert_eq!(
            summary(&groups),
            "9 failed since 2026-01-02T08:30:00.000Z, 1 in retry now; there are more, only the newest were counted"
        );
    }

    #[test]
    fn err_14_a_long_window_is_drawn_in_as_many_cells_as_a_day_has_hours() {
        let hours = [ErrorHour { from: at("00:00:00"), failed: 5, retrying: 0 }];
        let since = at("00:00:00") - SignedDuration::from_hours(24 * 30);
        let drawn = over_time(&hours, since, at("00:30:00"));
        assert_eq!(drawn.chars().count(), CELLS);
        assert!(drawn.ends_with('█'), "{drawn}");
    }
}
