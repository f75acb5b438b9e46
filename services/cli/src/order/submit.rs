//! `pagurus order submit`: one order from arguments, or one or many from a file.
//!
//! Never judges an order: what the server thinks of it is what counts. A file goes out as it
//! stands, so that no number loses its digits here.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use pagurus_wire::order::{OrderView, RegisteredView};
use reqwest::Method;
use serde::de::IgnoredAny;
use serde_json::{Map, Value, json};
use uuid::Uuid;

use super::{outcome, show, view_of};
use crate::client::{ApiClient, ApiResponse};
use crate::failure::{AWAY, CliError, FAILED, NOT_YET, REFUSED};
use crate::failure_text::problem_text;
use crate::input;
use crate::screen::{Screen, harmless};

/// Orders to register.
#[derive(Debug, Default, Args)]
#[command(group = clap::ArgGroup::new("what").required(true).args(["file", "scenario"]))]
pub(crate) struct Arguments {
    /// File with a JSON object, an array of objects, or one object per line; `-` is standard input
    #[arg(long, short, value_name = "FILE", conflicts_with = "from_arguments")]
    file: Option<PathBuf>,
    #[command(flatten)]
    order: OrderArguments,
    /// Only check, as for a registration, and show the outcome
    #[arg(long, conflicts_with = "wait")]
    dry_run: bool,
    /// Wait for the end; exit code 0 if the order ends in `success`, 6 if --timeout passes first, 1 otherwise
    #[arg(long)]
    wait: bool,
    /// Longest wait, such as `30s` or `1h30m`
    #[arg(long, value_name = "DURATION", requires = "wait", value_parser = input::parse_duration)]
    timeout: Option<Duration>,
}

/// Order from arguments.
#[derive(Debug, Default, Args)]
#[group(id = "from_arguments", multiple = true)]
struct OrderArguments {
    /// Id of the order [default: a new one]
    #[arg(long)]
    id: Option<String>,
    /// Name of the scenario
    #[arg(long)]
    scenario: Option<String>,
    /// Version of the scenario [default: the newest]
    #[arg(long, value_name = "VERSION")]
    scenario_version: Option<i32>,
    /// A parameter: NAME=TEXT, or NAME:=JSON for numbers, lists and other values
    #[arg(long = "param", short, value_name = "NAME=TEXT", value_parser = input::parse_pair)]
    param: Vec<(String, Value)>,
    /// All parameters: a JSON object, or @FILE; --param overrides it
    #[arg(long, value_name = "JSON")]
    params: Option<String>,
    /// Mode of the order; --queue makes it sequential
    #[arg(long, value_parser = ["parallel", "sequential"])]
    mode: Option<String>,
    /// The queue of a sequential order
    #[arg(long)]
    queue: Option<String>,
    /// Priority of the order
    #[arg(long, value_parser = ["high", "normal", "low"])]
    priority: Option<String>,
    /// An attribute for the flow marker: NAME=TEXT
    #[arg(long, value_name = "NAME=TEXT", value_parser = input::parse_pair)]
    flow: Vec<(String, Value)>,
    /// A label: KEY=TEXT
    #[arg(long, value_name = "KEY=TEXT", value_parser = input::parse_pair)]
    label: Vec<(String, Value)>,
    /// Id of the business transaction
    #[arg(long, value_name = "ID")]
    transaction_id: Option<String>,
    /// Address for notifications, such as `amqp://?key=done` or `https://hooks.example/orders`; may be given up to 8 times
    #[arg(long, value_name = "URL")]
    notify_url: Vec<String>,
    /// Correlation id of the notifications; like --notify-on and --notify-format, it applies to each address
    #[arg(long, value_name = "ID", requires = "notify_url")]
    notify_correlation_id: Option<String>,
    /// Occasions for notifications, separated by commas: `final`, `transitions`, `parked`, `jeopardy` [default: final]
    #[arg(long, value_name = "WORDS", requires = "notify_url", value_delimiter = ',')]
    notify_on: Vec<String>,
    /// Format of the notifications: `pagurus`, `cloudevents` or `cloudevents-binary`
    #[arg(long, value_name = "WORD", requires = "notify_url")]
    notify_format: Option<String>,
    /// Earliest start, such as 2026-12-01T00:00:00+03:00
    #[arg(long, value_name = "TIME")]
    start_at: Option<String>,
    /// Longest time from now to the start, in whole seconds, such as `90s` or `1h`
    #[arg(long, value_name = "DURATION", value_parser = input::parse_duration)]
    period_to_start: Option<Duration>,
    /// Time by which the client must be served, such as 2026-12-01T12:00:00+03:00
    #[arg(long, value_name = "TIME")]
    promise_at: Option<String>,
    /// An order that must end first, in one of these states: ORDER=STATE[,STATE…], and :wait, :fail or :cancel after it
    #[arg(long, value_name = "ORDER=STATES", value_parser = input::parse_condition)]
    after: Vec<Value>,
}

/// Registers, and waits if that is asked for.
pub(super) async fn run(arguments: Arguments, client: &ApiClient, screen: &Screen) -> Result<(), CliError> {
    let (reply, many) = match &arguments.file {
        None => {
            let body = body_of(&arguments.order, &Uuid::now_v7().to_string())?;
            let reply = client.post(&path_of("/v1/orders", arguments.dry_run), &body).await;
            (reply.inspect_err(|error| name_again(&body, error, arguments.dry_run, screen))?, false)
        }
        Some(path) => {
            let text = input::text_of(path)?;
            let form =
                form_of(&text).map_err(|why| CliError::Input(format!("{}: {why}", input::name_of(path))))?;
            (send(form, text, arguments.dry_run, client).await?, form != InputFormat::One)
        }
    };
    if screen.json && !arguments.wait {
        screen.document(&reply.text)?;
    }
    let registered: Vec<RegisteredView> = if many { reply.read()? } else { vec![reply.read()?] };
    if !screen.json {
        let shown =
            if many { show::registrations(&registered, screen) } else { summary(&registered[0], screen) };
        screen.line(&shown)?;
    }
    let verdict = verdict(&registered);
    if !arguments.wait {
        return verdict;
    }
    let (mut end, mut documents) = (Ok(()), Vec::new());
    for one in registered {
        let is_there = one.status == "accepted" || one.status == "duplicate";
        match one.id.as_ref().filter(|_| is_there) {
            Some(id) => {
                let (order, outcome) = follow(id, arguments.timeout, client, screen).await?;
                documents.push(json!(order));
                end = end.and(outcome);
            }
            None => documents.push(json!(one)),
        }
    }
    if screen.json {
        // One document, whatever was sent: what ended, and what was refused as it was answered.
        match documents.pop().filter(|_| !many) {
            Some(one) => screen.value(&one)?,
            None => screen.value(&documents)?,
        }
    }
    verdict.and(end)
}

/// Names the order of which nobody knows whether it was registered: the same command would make a second one.
fn name_again(body: &Value, error: &CliError, dry_run: bool, screen: &Screen) {
    if matches!(error, CliError::Away { .. })
        && !dry_run
        && let Some(id) = body["id"].as_str()
    {
        screen.note(&format!(
            "nobody knows whether the order was registered: ask again with --id {}",
            harmless(id)
        ));
    }
}

/// The path of a registration, or of a dry run of one.
fn path_of(path: &str, dry_run: bool) -> String {
    if dry_run { format!("{path}?dryRun=true") } else { path.to_owned() }
}

async fn send(
    form: InputFormat,
    text: String,
    dry_run: bool,
    client: &ApiClient,
) -> Result<ApiResponse, CliError> {
    let (path, kind) = match form {
        InputFormat::One => ("/v1/orders", "application/json"),
        InputFormat::Array => ("/v1/orders/batch", "application/json"),
        InputFormat::Lines => ("/v1/orders/batch", "application/x-ndjson"),
    };
    client.send_text(Method::POST, &path_of(path, dry_run), kind, text).await
}

/// Waits for the end of an order. Returns the order then, and what its status means for the exit code.
async fn follow(
    id: &str,
    timeout: Option<Duration>,
    client: &ApiClient,
    screen: &Screen,
) -> Result<(OrderView, Result<(), CliError>), CliError> {
    let view = client.wait(id, timeout).await?;
    if !view.is_final {
        screen.note(&format!("{id}: the time is over; the order goes on in status {}", view.status));
    }
    let order = view_of(id, None, client).await?;
    if !screen.json {
        screen.line(&format!("\n{}", show::order(&order, screen)))?;
    }
    let outcome = if view.is_final { outcome(&view.status) } else { Err(CliError::Reported(NOT_YET)) };
    Ok((order, outcome))
}

/// The body of one order.
fn body_of(order: &OrderArguments, new_id: &str) -> Result<Value, CliError> {
    let mut params = order.params.as_deref().map_or_else(|| Ok(Map::new()), input::params_of)?;
    params.extend(input::object_of_pairs("--param", &order.param)?);
    let mut body = Map::new();
    let mut put = |key: &str, value: Option<Value>| {
        if let Some(value) = value {
            body.insert(key.to_owned(), value);
        }
    };
    let text = |text: &Option<String>| text.clone().map(Value::String);
    put("id", Some(text(&order.id).unwrap_or_else(|| new_id.into())));
    put("scenario", text(&order.scenario));
    put("scenarioVersion", order.scenario_version.map(Value::from));
    put("params", Some(Value::Object(params)));
    put("mode", text(&order.mode).or_else(|| order.queue.as_ref().map(|_| "sequential".into())));
    put("queue", text(&order.queue));
    put("priority", text(&order.priority));
    put(
        "flow",
        (!order.flow.is_empty()).then_some(Value::Object(input::object_of_pairs("--flow", &order.flow)?)),
    );
    put("transactionId", text(&order.transaction_id));
    put(
        "labels",
        (!order.label.is_empty()).then_some(Value::Object(input::object_of_pairs("--label", &order.label)?)),
    );
    put("notify", notify(order));
    let mut lifecycle = Map::new();
    if let Some(at) = &order.start_at {
        lifecycle.insert("startAt".to_owned(), json!(at));
    }
    if let Some(at) = &order.promise_at {
        lifecycle.insert("promiseAt".to_owned(), json!(at));
    }
    if let Some(period) = order.period_to_start {
        let whole = u32::try_from(period.as_secs()).is_ok() && period.subsec_nanos() == 0;
        if period.is_zero() || !whole {
            return Err(CliError::Usage(format!(
                "--period-to-start must be a whole number of seconds from 1 to {}",
                u32::MAX
            )));
        }
        lifecycle.insert("periodToStart".to_owned(), json!(period.as_secs()));
    }
    if !order.after.is_empty() {
        lifecycle.insert("after".to_owned(), Value::Array(order.after.clone()));
    }
    put("lifecycle", (!lifecycle.is_empty()).then_some(Value::Object(lifecycle)));
    Ok(Value::Object(body))
}

/// Form in which orders stand in a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum InputFormat {
    /// A single object.
    One,
    /// An array of objects.
    Array,
    /// An object on each line.
    Lines,
}

fn form_of(text: &str) -> Result<InputFormat, String> {
    let whole = serde_json::from_str::<IgnoredAny>(text);
    let first = text.trim_start().chars().next();
    match (whole, first) {
        (_, None) => Err("there is nothing in it".to_owned()),
        (Ok(_), Some('{')) => Ok(InputFormat::One),
        (Ok(_), Some('[')) => Ok(InputFormat::Array),
        (Ok(_), _) => Err("an order must be a JSON object".to_owned()),
        (Err(error), first) => {
            let mut lines = text.lines().filter(|line| !line.trim().is_empty());
            let mut several = lines.clone().skip(1).peekable();
            if first == Some('{') && several.peek().is_some() && lines.all(is_json) {
                return Ok(InputFormat::Lines);
            }
            // Where a line is an object of its own, it is the other lines that are wrong.
            let line_by_line = text.lines().find(|line| !line.trim().is_empty()).is_some_and(is_json);
            let bad = text.lines().enumerate().find_map(|(index, line)| {
                let error = serde_json::from_str::<IgnoredAny>(line).err()?;
                (!line.trim().is_empty()).then_some((index + 1, error))
            });
            if let (true, Some((line, error))) = (line_by_line, bad) {
                let message = error.to_string();
                let message = message.split_once(" at line ").map_or(&*message, |(message, _)| message);
                return Err(format!("line {line} is no JSON object: {message} at column {}", error.column()));
            }
            Err(format!("neither JSON nor one JSON object a line: {error}"))
        }
    }
}

fn is_json(line: &str) -> bool {
    serde_json::from_str::<IgnoredAny>(line).is_ok()
}

/// Returns the result for one order, in a line.
fn summary(registered: &RegisteredView, screen: &Screen) -> String {
    let id = registered.id.as_deref().unwrap_or_default();
    let mut text = format!("{}: {}", harmless(id), screen.status(&registered.status));
    let is_new = matches!(&*registered.status, "accepted" | "would_be_accepted");
    if let Some(status) = registered.order_status.as_ref().filter(|_| !is_new) {
        text.push_str(&format!(", it is in status {}", screen.status(status)));
    }
    if let Some(note) = &registered.note {
        text.push_str(&format!("; {}", harmless(note)));
    }
    if let Some(problem) = &registered.error {
        text.push_str(&format!(": {}", problem_text(problem)));
    }
    text
}

/// Worst outcome of any order: rejected, then conflict, then what the same command may register yet.
fn verdict(registered: &[RegisteredView]) -> Result<(), CliError> {
    let worst = [("rejected", FAILED), ("conflict", REFUSED), ("unavailable", AWAY)];
    let found = worst.iter().find(|(status, _)| registered.iter().any(|one| one.status == *status));
    found.map_or(Ok(()), |(_, code)| Err(CliError::Reported(*code)))
}

/// Receivers of notifications, with the occasions and the form: one object, or a list of several.
fn notify(order: &OrderArguments) -> Option<Value> {
    let of_url = |url: &String| {
        let mut notify = json!({"url": url});
        if let Some(id) = &order.notify_correlation_id {
            notify["correlationId"] = json!(id);
        }
        if !order.notify_on.is_empty() {
            notify["on"] = json!(order.notify_on);
        }
        if let Some(format) = &order.notify_format {
            notify["format"] = json!(format);
        }
        notify
    };
    one_or_list(order.notify_url.iter().map(of_url).collect())
}

/// Receivers as a client gives them.
pub(super) fn one_or_list(mut receivers: Vec<Value>) -> Option<Value> {
    match receivers.len() {
        0 | 1 => receivers.pop(),
        _ => Some(Value::Array(receivers)),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test may stop at the first surprise")]
mod tests;
