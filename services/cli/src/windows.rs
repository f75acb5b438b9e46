//! `pagurus windows …`: maintenance windows of flows and called systems, set ahead once or by a calendar.
//!
//! Never changes a window without a reason: it stands beside it for all who wonder.

use clap::builder::NonEmptyStringValueParser as Text;
use clap::{Args, Subcommand};
use jiff::Timestamp;
use pagurus_domain::maintenance::{CalendarRule, Period};
use pagurus_wire::flows::OpenWindowView;
use pagurus_wire::windows::{OccurrenceView, WindowOutcome, WindowView};
use serde::Serialize;

use crate::client::ApiClient;
use crate::failure::CliError;
use crate::input::{self, given};
use crate::list::{List, who};
use crate::screen::{Screen, harmless, time};

/// Commands about maintenance windows.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// List the windows that are open or to come
    List {
        /// Include windows that are over or removed
        #[arg(long)]
        ended: bool,
    },
    /// Show one window
    Show {
        /// Number of the window
        window: i64,
    },
    /// Plan a window: once, starting at --from, or --every day, week or month
    Add(Box<Add>),
    /// End the present time of a window early; the next ones stay
    End(WindowArguments),
    /// Cancel the next time of a window
    Skip(WindowArguments),
    /// Remove a window; if it is open, it ends at once
    Remove(WindowArguments),
}

/// A window that is to be.
#[derive(Debug, Args, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Add {
    /// Stop every flow whose name contains this text, including flows that appear later
    #[arg(long, value_parser = Text::new(), required_unless_present = "system", conflicts_with = "system")]
    flow: Option<String>,
    /// Pause calls to the system of this name
    #[arg(long, value_parser = Text::new())]
    system: Option<String>,
    /// Start of a single window: a time, or `now`; with --every, no window starts before it
    #[arg(long, value_name = "TIME", value_parser = input::parse_time, required_unless_present = "every")]
    from: Option<Timestamp>,
    /// No window starts at or after this time
    #[arg(long, value_name = "TIME", value_parser = input::parse_time, requires = "every")]
    until: Option<Timestamp>,
    /// Period: day, week or month
    #[arg(long, requires = "at")]
    every: Option<Period>,
    /// Days, separated by commas: monday to sunday; for a month, 1 to 31, last, or days such as "second sunday"
    #[arg(long, value_name = "DAYS", value_delimiter = ',', requires = "every")]
    on: Vec<String>,
    /// Time of day at which it starts, such as 22:00
    #[arg(long, value_name = "HH:MM", requires = "every")]
    at: Option<String>,
    /// Time zone of the start, such as Europe/Berlin [default: UTC]
    #[arg(long, requires = "every")]
    zone: Option<String>,
    /// Length
    #[arg(long = "for", value_name = "DURATION")]
    #[serde(rename = "for")]
    duration: String,
    /// Move orders of the flows that wait or retry until a time within the window past its end
    #[arg(long, requires = "flow")]
    shift: bool,
    /// Reason
    #[arg(long, value_parser = Text::new())]
    reason: String,
    /// Only show when the window would be open, and which flows it would stop
    #[arg(long)]
    dry_run: bool,
}

/// A window that is changed.
#[derive(Debug, Args, Serialize)]
pub(crate) struct WindowArguments {
    /// Number of the window
    #[serde(skip)]
    window: i64,
    /// Reason
    #[arg(long, value_parser = Text::new())]
    reason: String,
}

/// Runs a command.
pub(crate) async fn run(command: Command, client: &ApiClient, screen: &Screen) -> Result<(), CliError> {
    match command {
        Command::List { ended } => {
            let options = [("ended", ended.to_string()), ("limit", "1000".to_owned())];
            WINDOWS.page(&options, client, screen).await
        }
        Command::Show { window } => {
            let reply = client.get(&format!("/v1/windows/{window}"), &[]).await?;
            reply.show(screen, |window| shown(window, screen))
        }
        Command::Add(add) => {
            let outcome = client.post("/v1/windows", &given(&add)?).await?.read()?;
            report(&outcome, "open", add.dry_run, screen)
        }
        Command::End(which) => act(which, "end", client, screen).await,
        Command::Skip(which) => act(which, "skip", client, screen).await,
        Command::Remove(which) => act(which, "remove", client, screen).await,
    }
}

async fn act(
    which: WindowArguments,
    word: &str,
    client: &ApiClient,
    screen: &Screen,
) -> Result<(), CliError> {
    let path = format!("/v1/windows/{}/{word}", which.window);
    let outcome = client.post(&path, &given(&which)?).await?.read()?;
    report(&outcome, "next open", false, screen)
}

/// Prints the outcome of a change.
fn report(outcome: &WindowOutcome, open: &str, dry_run: bool, screen: &Screen) -> Result<(), CliError> {
    if screen.json {
        return screen.value(outcome);
    }
    for line in sentences(outcome, open, dry_run) {
        screen.line(&line)?;
    }
    Ok(())
}

fn sentences(outcome: &WindowOutcome, open: &str, dry_run: bool) -> Vec<String> {
    let next = outcome.next.iter().map(|one| format!("{open}: {}", span(*one)));
    let flows = outcome.flows.iter().map(|flow| format!("stopped meanwhile: {}", harmless(flow)));
    let mut lines: Vec<String> = next.chain(flows).collect();
    if outcome.more_flows {
        lines.push("… and more".to_owned());
    }
    if let Some(shift) = outcome.shift {
        lines.push(format!(
            "shift {shift} has moved orders behind its end: `pagurus orders shift --undo {shift}` moves them back"
        ));
    }
    if !dry_run {
        let window = outcome.window.unwrap_or_default();
        lines.push(if outcome.confirmation.confirmed {
            format!("window {window} is in force")
        } else {
            format!("window {window}: stored; no dispatcher has confirmed it yet: is one active?")
        });
    }
    lines
}

fn span(one: OccurrenceView) -> String {
    format!("{} to {}", time(one.from), time(one.until))
}

/// The window that holds a flow or a system now, in words.
pub(crate) fn held_by(open: &OpenWindowView) -> String {
    format!(
        "stopped by maintenance window {} until {}: {}",
        open.window,
        time(open.until),
        harmless(&open.reason)
    )
}

/// A calendar in words.
fn calendar(rule: &CalendarRule) -> String {
    let Some(every) = rule.every else { return format!("once, {}", rule.duration) };
    let on = if rule.on.is_empty() { String::new() } else { format!(" on {}", rule.on.join(", ")) };
    let at = rule.at.as_deref().unwrap_or_default();
    format!("every {every}{on} at {at} {}, {}", rule.zone.as_deref().unwrap_or("UTC"), rule.duration)
}

fn target(window: &WindowView) -> String {
    match (&window.flow, &window.system) {
        (Some(keyword), _) => format!("flows {keyword}"),
        (None, system) => format!("system {}", system.as_deref().unwrap_or_default()),
    }
}

/// Maintenance windows.
const WINDOWS: List<WindowView> = List {
    path: "/v1/windows",
    none: "there are no maintenance windows",
    hint: None,
    columns: &[
        ("WINDOW", |window| window.window.to_string()),
        ("OF", target),
        ("NEXT", |window| match (window.open, window.next, window.removed_at) {
            (_, _, Some(at)) => format!("removed {}", time(at)),
            (Some(open), ..) => format!("open until {}", time(open.until)),
            (None, Some(next), _) => time(next.from),
            (None, None, None) => "over".to_owned(),
        }),
        ("CALENDAR", |window| calendar(&window.calendar)),
        ("SHIFT", |window| if window.shift { "yes".to_owned() } else { String::new() }),
        ("REASON", |window| window.reason.clone()),
    ],
};

fn shown(window: &WindowView, screen: &Screen) -> String {
    screen.pairs(&[
        ("window", Some(window.window.to_string())),
        ("of", Some(target(window))),
        ("calendar", Some(calendar(&window.calendar))),
        ("not before", window.calendar.from.filter(|_| window.calendar.every.is_some()).map(time)),
        ("not from", window.calendar.until.map(time)),
        ("open", window.open.map(span)),
        ("next", window.next.map(span)),
        ("called off until", window.void_until.map(time)),
        ("shift", window.shift.then(|| "orders that wait or retry are moved behind the end".to_owned())),
        ("reason", Some(window.reason.clone())),
        ("by", who(&window.by)),
        ("made", Some(time(window.made_at))),
        ("removed", window.removed_at.map(time)),
        ("removed because", window.remove_reason.clone()),
    ])
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test may stop at the first surprise")]
mod tests {
    use clap::Parser as _;
    use pagurus_wire::flows::ConfirmationView;
    use pagurus_wire::windows::WindowRequest;

    use super::*;

    #[test]
    fn dsp_16_options_are_the_fields_of_a_request() {
        let line = "pagurus windows add --flow tariff --every week --on saturday,sunday --at 22:00 --for 3h --shift --reason r";
        let parsed = crate::CommandLine::try_parse_from(line.split_whitespace()).unwrap();
        let crate::Command::Windows(Command::Add(add)) = parsed.command else { panic!("{parsed:?}") };
        let asked = WindowRequest {
            flow: Some("tariff".into()),
            every: Some(Period::Week),
            on: vec!["saturday".into(), "sunday".into()],
            at: Some("22:00".into()),
            duration: "3h".into(),
            shift: true,
            reason: "r".into(),
            ..WindowRequest::default()
        };
        let body = serde_json::Value::Object(given(&add).unwrap());
        assert_eq!(serde_json::from_value::<WindowRequest>(body).unwrap(), asked);
    }

    #[test]
    fn dsp_16_a_window_tells_its_times_and_who_goes_by_it() {
        let at = |text: &str| text.parse::<Timestamp>().unwrap();
        let one = OccurrenceView { from: at("2026-12-05T21:00:00Z"), until: at("2026-12-06T00:00:00Z") };
        let outcome = WindowOutcome {
            window: Some(3),
            next: vec![one],
            flows: vec!["tariff|200".into()],
            shift: Some(9),
            confirmation: ConfirmationView { confirmed: true, epoch: Some(1), serial: Some(2) },
            ..WindowOutcome::default()
        };
        assert_eq!(
            sentences(&outcome, "open", false),
            [
                "open: 2026-12-05T21:00:00.000Z to 2026-12-06T00:00:00.000Z",
                "stopped meanwhile: tariff|200",
                "shift 9 has moved orders behind its end: `pagurus orders shift --undo 9` moves them back",
                "window 3 is in force",
            ]
        );
        let rule = CalendarRule {
            every: Some(Period::Week),
            on: vec!["saturday".into()],
            at: Some("22:00".into()),
            zone: Some("Europe/Berlin".into()),
            duration: "3h".into(),
            ..CalendarRule::default()
        };
        assert_eq!(calendar(&rule), "every week on saturday at 22:00 Europe/Berlin, 3h");
    }
}
