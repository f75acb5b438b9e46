//! The log of an order: what engine and scenario said, line by line, in the order in which it
//! happened (ORD-25). Only words: values that were changed stand in the events, under their mask.

use std::ops::ControlFlow;

use jiff::Timestamp;
use pagurus_domain::time;
use pagurus_store::hot::history::HistoryEvent;
use pagurus_store::outside::orders::OrderRow as Row;
use pagurus_wire::order::{LogLineView, Page};
use pagurus_wire::problem::Problem;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use crate::history::{ENTERED, parsed, text, time_text};
use crate::part::{self, PageCollector, PartCursor, read_on};
use crate::query::cursor;
use crate::{Views, steps};

/// Query of a log.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
pub struct LogQuery {
    /// First line, counted from 1.
    #[serde(rename = "fromLine")]
    from_line: Option<usize>,
    /// Number of lines; default: 1000, at most 10 000.
    size: Option<usize>,
    /// Place that the header `Link` of the page before names.
    cursor: Option<String>,
}

impl Views {
    /// Returns a page of the log of an order.
    pub async fn log(&self, id: &str, query: &LogQuery) -> Result<Page<LogLineView>, Problem> {
        let point: PartCursor = cursor(query.cursor.as_deref(), PartCursor::default())?;
        let before = query.from_line.unwrap_or(1).saturating_sub(1);
        let size = query.size.unwrap_or(part::USUAL_LIMIT).min(part::MAX_LIMIT);
        let (client, row) = self.found(id).await?;
        let mut lines = LogLines { row: &row, page: PageCollector::of(point, before, size), lost: None };
        let registered =
            if point == PartCursor::default() { lines.begin() } else { ControlFlow::Continue(()) };
        if registered.is_continue() {
            let read = read_on(&client, row.no, point.after, |event| lines.take(event)).await;
            read.map_err(self.failed("read"))?;
        }
        Ok(lines.page())
    }
}

/// Lines of an order, numbered from 1, of which a page is kept.
struct LogLines<'a> {
    row: &'a Row,
    page: PageCollector<LogLineView>,
    /// Line about the loss of a stage's node, by its place on the page. A later event says which node went on with the stage.
    lost: Option<(usize, Value)>,
}

impl LogLines<'_> {
    /// The first line of all, of a row that no event has.
    fn begin(&mut self) -> ControlFlow<()> {
        self.add(0, vec![(time::shown(self.row.created_at), "registered".to_owned())])
    }

    fn add(&mut self, row: i32, lines: Vec<(String, String)>) -> ControlFlow<()> {
        self.page.add(row, lines.into_iter().map(|(at, text)| move |line| LogLineView { line, at, text }))
    }

    fn take(&mut self, event: &HistoryEvent) -> ControlFlow<()> {
        let detail = parsed(&event.detail);
        if let Some(to) = taken_over_by(event, &detail) {
            self.tell_failover(to.as_deref());
        }
        let said = self.tell(event, &detail);
        // A page is complete only when its last word is known.
        if said.is_break() && self.lost.is_none() {
            ControlFlow::Break(())
        } else {
            ControlFlow::Continue(())
        }
    }

    fn tell(&mut self, event: &HistoryEvent, detail: &Value) -> ControlFlow<()> {
        let at = time::shown(event.at);
        if matches!(event.kind.as_str(), "stage" | ENTERED) {
            let attempt = detail.get("attempt").and_then(Value::as_i64).unwrap_or_default();
            let mut lines = Vec::new();
            // What lies before an entry point was logged when that was entered.
            let stage = Some((event.life, attempt));
            if self.page.point.stage != stage {
                let line = format!("stage started by {}, hand-out {attempt}", event.source);
                lines.push((time_text(detail, "startedAt"), line));
            }
            lines.extend(of_stage(detail));
            if event.kind == "stage" {
                lines.push((at, format!("stage ended: {}", text(detail, "status"))));
            }
            self.add(event.number, lines)?;
            self.page.point.stage = stage;
            return ControlFlow::Continue(());
        }
        if event.kind == "reissued" && text(detail, "finding") == "node_lost" {
            let place = self.page.items.len();
            self.add(event.number, vec![(at, String::new())])?;
            if self.page.items.len() > place {
                self.lost = Some((place, detail.clone()));
            }
            return ControlFlow::Continue(());
        }
        self.add(event.number, vec![(at, in_words(&event.kind, &event.source, detail))])
    }

    fn tell_failover(&mut self, to: Option<&str>) {
        if let Some((place, detail)) = self.lost.take()
            && let Some(line) = self.page.items.get_mut(place)
        {
            line.text = failover(&detail, to);
        }
    }

    fn page(mut self) -> Page<LogLineView> {
        self.tell_failover(self.row.node.as_deref());
        self.page.page()
    }
}

fn items<'a>(detail: &'a Value, key: &str) -> &'a [Value] {
    detail.get(key).and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

fn moment(item: &Value) -> Timestamp {
    text(item, "at").parse().unwrap_or(Timestamp::MIN)
}

/// Lines, moves and answers of one stage in the order in which they came. Each move says how many lines came before it, and
/// each answer how many lines and moves; in rows of former versions, which do not, their times decide.
fn of_stage(detail: &Value) -> Vec<(String, String)> {
    let (said, moves) = (items(detail, "log"), items(detail, "transitions"));
    let said_before = |moved: &Value| {
        let at = moment(moved);
        count(moved, "saidBefore", || said.iter().take_while(|line| moment(line) <= at).count())
    };
    let answers = items(detail, "steps").iter().filter_map(|step| {
        let (at, line) = steps::line(step)?;
        let earlier = |items: &[Value]| items.iter().take_while(|item| moment(item) < at).count();
        let place = (
            count(step, "saidBefore", || earlier(said)).min(said.len()),
            count(step, "movedBefore", || earlier(moves)).min(moves.len()),
        );
        Some((place, (time::shown(at), line)))
    });
    let mut answers = answers.peekable();
    let (mut lines, mut place) = (Vec::with_capacity(said.len() + moves.len()), (0, 0));
    loop {
        if let Some((_, answer)) = answers.next_if(|((said, moved), _)| *said <= place.0 && *moved <= place.1)
        {
            lines.push(answer);
        } else if let Some(moved) = moves.get(place.1)
            && said_before(moved).min(said.len()) <= place.0
        {
            let line = format!("{} --{}--> {}", text(moved, "from"), text(moved, "event"), text(moved, "to"));
            lines.push((time_text(moved, "at"), line));
            place.1 += 1;
        } else if let Some(line) = said.get(place.0) {
            lines.push((time_text(line, "at"), text(line, "text")));
            place.0 += 1;
        } else {
            return lines;
        }
    }
}

fn count(item: &Value, key: &str, otherwise: impl FnOnce() -> usize) -> usize {
    item[key].as_u64().and_then(|count| usize::try_from(count).ok()).unwrap_or_else(otherwise)
}

/// Words for what happened outside of the stages.
fn in_words(kind: &str, source: &str, detail: &Value) -> String {
    let of = |key: &str| text(detail, key);
    let because = |line: String| match text(detail, "reason").as_str() {
        "" => line,
        reason => format!("{line}: {reason}"),
    };
    match kind {
        "canceled" | "interrupted" | "killed" | "abandoned" => match detail.get("class").is_some() {
            true => because_of_error(kind, source, detail),
            false => because(format!("{kind} by {source} in `{}`", of("from"))),
        },
        "restarted" | "rerun" | "restart_postponed" => {
            let params = if detail.get("formerParams").is_some_and(Value::is_object) {
                ", with new parameters"
            } else {
                ""
            };
            let later =
                if kind == "restart_postponed" { ", to start when its conditions are met" } else { "" };
            let version = version(detail);
            let line =
                because(format!("restarted by {source} from {}{params}{version}{later}", place(&of("from"))));
            if of("note").is_empty() { line } else { format!("{line}; {}", of("note")) }
        }
        "repaired" => {
            let vars = if detail.get("formerVars").is_some_and(Value::is_object) {
                ", with new variables"
            } else {
                ""
            };
            because(format!(
                "repaired by {source} in `{}`: continues from {}state `{}` instead of `{}`{vars}{}",
                of("from"),
                action_of(detail),
                of("state"),
                of("formerState"),
                version(detail)
            ))
        }
        "updated" => because(format!("updated by {source}: {}", changes(detail))),
        "reissued" => format!(
            "handed out again by {source}, because {}: hand-out {} had been with {} (life {}) since {}",
            finding(&of("finding")),
            scalar(detail.get("attempt")),
            detail.get("nodeName").and_then(Value::as_str).unwrap_or("an unknown node"),
            scalar(detail.get("node")),
            time_text(detail, "startedAt")
        ),
        "queue_released" => because(format!("queue `{}` released by {source}", of("queue"))),
        "resent" => {
            because(format!("{} notifications sent again by {source}", scalar(detail.get("notifications"))))
        }
        "answered_by_hand" => because(format!("request `{}` answered by hand by {source}", of("request"))),
        "cloned" => because(format!("cloned by {source} from order `{}`", of("from"))),
        "scheduled" => format!("registered by {source} for {} of schedule `{}`", of("time"), of("schedule")),
        "migrated" => because(format!(
            "moved by {source} from version {} of its scenario to {}",
            scalar(detail.get("from")),
            scalar(detail.get("to"))
        )),
        "checked" => because(format!("{} by {source}", checked(detail))),
        "jeopardy" => format!(
            "in jeopardy: promised for {}, expected by {}: {}",
            time_text(detail, "promiseAt"),
            time_text(detail, "expectedAt"),
            of("cause")
        ),
        "idle" => format!("made no progress, found by {source}: {}", of("cause")),
        _ if detail.get("message").is_some() => because_of_error(kind, source, detail),
        _ => because(format!("{} by {source}", kind.replace('_', " "))),
    }
}

/// The outcome of a consistency check.
fn checked(detail: &Value) -> String {
    let names =
        |key: &str| items(detail, key).iter().filter_map(Value::as_str).collect::<Vec<_>>().join(", ");
    match (names("repaired"), names("left")) {
        (repaired, left) if repaired.is_empty() && left.is_empty() => {
            "checked and found consistent again".to_owned()
        }
        (repaired, left) if left.is_empty() => format!("checked and repaired ({repaired})"),
        (repaired, left) if repaired.is_empty() => format!("checked and found inconsistent ({left})"),
        (repaired, left) => format!("checked, repaired ({repaired}), but still inconsistent ({left})"),
    }
}

/// The line of a stage whose node was lost; `to` is the node that went on with it.
fn failover(detail: &Value, to: Option<&str>) -> String {
    format!(
        "FAILOVER from {} (life {}) to {}: hand-out {} had been there since {}",
        detail.get("nodeName").and_then(Value::as_str).unwrap_or("an unknown node"),
        scalar(detail.get("node")),
        to.unwrap_or("the next free worker"),
        scalar(detail.get("attempt")),
        time_text(detail, "startedAt")
    )
}

/// Node that had the stage next, if this event says so; the inner value is `None` for a node without a name.
fn taken_over_by(event: &HistoryEvent, detail: &Value) -> Option<Option<String>> {
    match event.kind.as_str() {
        "stage" => Some(Some(event.source.clone())),
        "reissued" => Some(detail.get("nodeName").and_then(Value::as_str).map(str::to_owned)),
        _ => None,
    }
}

fn because_of_error(kind: &str, source: &str, detail: &Value) -> String {
    let line = format!("{} by {source} in `{}`", kind.replace('_', " "), text(detail, "from"));
    match (text(detail, "class").as_str(), text(detail, "message").as_str()) {
        (_, "") => line,
        ("", message) => format!("{line}: {message}"),
        (class, message) => format!("{line} ({class}): {message}"),
    }
}

/// Another version of the scenario, where one was asked for.
fn version(detail: &Value) -> String {
    let version = detail.get("scenarioVersion").and_then(Value::as_i64);
    version.map_or_else(String::new, |version| format!(", with version {version} of its scenario"))
}

/// The action of its state with which a repaired order goes on, where that is not the first.
fn action_of(detail: &Value) -> String {
    let index = detail.get("action").and_then(Value::as_u64);
    let which =
        if detail.get("failedAction").and_then(Value::as_bool) == Some(true) { "the failed " } else { "" };
    index.map_or_else(String::new, |index| format!("{which}action {index} of "))
}

fn place(from: &str) -> String {
    if from == "initial" { "the initial state".to_owned() } else { format!("state `{from}`") }
}

fn finding(word: &str) -> &str {
    match word {
        "overdue" => "its work time-out had passed",
        "released" => "its node was stopping",
        "restored" => "the database was restored from a backup",
        "unheld" => "its node never learned of it",
        other => other,
    }
}

/// Names of what an update changed; values of parameters and notification stand in the event.
fn changes(detail: &Value) -> String {
    let Some(changed) = detail.get("changed").and_then(Value::as_object) else { return "nothing".to_owned() };
    let names: Vec<String> = changed
        .iter()
        .map(|(key, change)| match key.as_str() {
            "params" => "parameters".to_owned(),
            "notify" => "notification".to_owned(),
            key => format!("{key} from {} to {}", scalar(change.get("was")), scalar(change.get("is"))),
        })
        .collect();
    names.join(", ")
}

fn scalar(value: Option<&Value>) -> String {
    match value {
        None | Some(Value::Null) => "none".to_owned(),
        Some(Value::String(text)) => text.clone(),
        Some(value) => value.to_string(),
    }
}

#[cfg(test)]
mod tests;
