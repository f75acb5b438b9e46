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

/// Start of the line by which an action says that it failed for good.
const FAILED: &str = "failed (";

/// Query of a log.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
pub struct LogQuery {
    /// First line, counted from 1.
    #[serde(rename = "fromLine")]
    from_line: Option<usize>,
    /// Number of lines; left out: 1000, at most 10 000.
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
            let read = read_on(&client, &row, point.after, |event| lines.take(event)).await;
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
                let line = format!("stage begun by {}, hand-out {attempt}", event.source);
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

/// Lines and moves of one stage by their time. What a stage does without waiting for anybody
/// happens at one moment; there a move comes before what the state that it leads to says, and after
/// what it follows from.
fn of_stage(detail: &Value) -> Vec<(String, String)> {
    let (said, moves) = (items(detail, "log"), items(detail, "transitions"));
    let begins = text(detail, "wake") == "start";
    let moves_on_at_its_end = !matches!(text(detail, "status").as_str(), "polling" | "retry");
    let mut lines = Vec::with_capacity(said.len() + moves.len());
    let (mut next, mut failures) = (0, 0);
    let say = |next: &mut usize, failures: &mut usize| {
        let line = text(&said[*next], "text");
        *failures += usize::from(line.starts_with(FAILED));
        *next += 1;
        (time_text(&said[*next - 1], "at"), line)
    };
    for (index, moved) in moves.iter().enumerate() {
        let at = moment(moved);
        let fails = text(moved, "event") == "fail";
        let is_last = index + 1 == moves.len()
            && moves_on_at_its_end
            && said.last().is_none_or(|line| moment(line) <= at);
        while let Some(line) = said.get(next).filter(|line| moment(line) <= at) {
            let tied = moment(line) == at;
            let of_failure = fails && failures == 0 && tells_failure_at(&said[next..], at);
            let first_of_all = begins && index == 0 && next == 0;
            let said_before = !tied || is_last || of_failure || first_of_all;
            if !said_before {
                break;
            }
            lines.push(say(&mut next, &mut failures));
        }
        failures = failures.saturating_sub(usize::from(fails));
        let line = format!("{} --{}--> {}", text(moved, "from"), text(moved, "event"), text(moved, "to"));
        lines.push((time_text(moved, "at"), line));
    }
    while next < said.len() {
        lines.push(say(&mut next, &mut failures));
    }
    with_steps(lines, items(detail, "steps"))
}

/// Adds a line for each answer from outside, before what was said and done because of it.
fn with_steps(mut lines: Vec<(String, String)>, steps: &[Value]) -> Vec<(String, String)> {
    let mut from = 0;
    for (at, line) in steps.iter().filter_map(steps::line) {
        let is_before =
            |line: &&(String, String)| line.0.parse::<Timestamp>().is_ok_and(|moment| moment < at);
        from += lines[from..].iter().take_while(is_before).count();
        lines.insert(from, (time::shown(at), line));
        from += 1;
    }
    lines
}

fn tells_failure_at(said: &[Value], at: Timestamp) -> bool {
    said.iter().take_while(|line| moment(line) <= at).any(|line| text(line, "text").starts_with(FAILED))
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
                ", with other parameters"
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
                ", with other variables"
            } else {
                ""
            };
            because(format!(
                "repaired by {source} in `{}`: goes on from state `{}` instead of `{}`{vars}{}",
                of("from"),
                of("state"),
                of("formerState"),
                version(detail)
            ))
        }
        "updated" => because(format!("updated by {source}: {}", changes(detail))),
        "reissued" => format!(
            "handed out again by {source}, because {}: hand-out {} was with {} (life {}) since {}",
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
        "idle" => format!("stood still, found by {source}: {}", of("cause")),
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
            "checked, and found consistent again".to_owned()
        }
        (repaired, left) if left.is_empty() => format!("checked, and repaired ({repaired})"),
        (repaired, left) if repaired.is_empty() => format!("checked, and found inconsistent ({left})"),
        (repaired, left) => format!("checked, repaired ({repaired}), and found inconsistent ({left})"),
    }
}

/// The line of a stage whose node was lost; `to` is the node that went on with it.
fn failover(detail: &Value, to: Option<&str>) -> String {
    format!(
        "FAILOVER from {} (life {}) to {}: hand-out {} was there since {}",
        detail.get("nodeName").and_then(Value::as_str).unwrap_or("an unknown node"),
        scalar(detail.get("node")),
        to.unwrap_or("the next worker that is free"),
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
    version.map_or_else(String::new, |version| format!(", under version {version} of its scenario"))
}

fn place(from: &str) -> String {
    if from == "initial" { "the initial state".to_owned() } else { format!("state `{from}`") }
}

fn finding(word: &str) -> &str {
    match word {
        "overdue" => "its work time-out was over",
        "released" => "its node was stopping",
        "restored" => "the database was restored from a backup",
        "unheld" => "its node never learned that it had it",
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
mod tests {
    use serde_json::json;

    use super::*;

    /// Lines and moves are given as the second of their time and their text, moves as `FROM EVENT TO`.
    fn stage(wake: &str, status: &str, said: &[(u8, &str)], moves: &[(u8, &str)]) -> Vec<String> {
        let at = |second: &u8| format!("2026-01-01T00:00:{second:02}Z");
        let said: Vec<Value> = said.iter().map(|(at_, text)| json!({"at": at(at_), "text": text})).collect();
        let moves: Vec<Value> = moves
            .iter()
            .map(|(second, moved)| {
                let words: Vec<&str> = moved.split(' ').collect();
                json!({"at": at(second), "from": words[0], "event": words[1], "to": words[2]})
            })
            .collect();
        let detail = json!({"wake": wake, "status": status, "log": said, "transitions": moves});
        of_stage(&detail).into_iter().map(|(_, text)| text).collect()
    }

    #[test]
    fn ord_25_lines_and_moves_of_a_stage_stand_in_the_order_of_their_time() {
        let said = [(1, "in a"), (2, "in b"), (3, "last words"), (3, "failed (x.y): no")];
        let lines = stage("start", "fail", &said, &[(2, "a success b"), (3, "b fail failed")]);
        let expected =
            ["in a", "a --success--> b", "in b", "last words", "failed (x.y): no", "b --fail--> failed"];
        assert_eq!(lines, expected);
    }

    #[test]
    fn ord_25_at_one_moment_a_move_comes_between_what_it_follows_from_and_what_follows() {
        let lines =
            stage("start", "success", &[(1, "in a"), (1, "in b")], &[(1, "a success b"), (1, "b success c")]);
        assert_eq!(lines, ["in a", "a --success--> b", "in b", "b --success--> c"]);
        let lines = stage("timer", "polling", &[(1, "in p")], &[(1, "s timeout p")]);
        assert_eq!(lines, ["s --timeout--> p", "in p"]);
        let said = [(1, "failed (one): 1"), (1, "failed (two): 2")];
        let lines = stage("timer", "fail", &said, &[(1, "a fail b"), (1, "b fail c")]);
        assert_eq!(lines, ["failed (one): 1", "a --fail--> b", "failed (two): 2", "b --fail--> c"]);
        assert_eq!(stage("timer", "retry", &[(1, "x"), (2, "y")], &[]), ["x", "y"]);
    }

    #[test]
    fn rec_10_the_line_of_a_failover_says_from_where_to_where() {
        let lost = json!({"attempt": 1, "finding": "node_lost", "node": 7, "nodeName": "worker-1", "startedAt": "T"});
        let line = "FAILOVER from worker-1 (life 7) to worker-2: hand-out 1 was there since T";
        assert_eq!(failover(&lost, Some("worker-2")), line);
        assert!(failover(&lost, None).contains("to the next worker that is free"));
    }

    #[test]
    fn ord_25_what_happened_outside_of_stages_is_said_in_words() {
        let started =
            json!({"attempt": 1, "finding": "overdue", "node": 7, "nodeName": "worker-1", "startedAt": "T"});
        assert_eq!(
            in_words("reissued", "activator-1", &started),
            "handed out again by activator-1, because its work time-out was over: hand-out 1 was with worker-1 (life 7) since T"
        );
        assert_eq!(
            in_words("canceled", "api", &json!({"reason": null, "from": "fail"})),
            "canceled by api in `fail`"
        );
        let changed = json!({"reason": "r", "changed": {
            "params": {"was": {"a": 1}, "is": {"a": 2}}, "priority": {"was": "low", "is": "high"}}});
        assert_eq!(
            in_words("updated", "api", &changed),
            "updated by api: parameters, priority from low to high: r"
        );
        let poisoned = json!({"class": "poison", "message": "too often", "from": "running"});
        assert_eq!(
            in_words("poisoned", "a-1", &poisoned),
            "poisoned by a-1 in `running` (poison): too often"
        );
        let restarted = json!({"reason": "why", "from": "initial", "formerParams": {"pin": "4321"}});
        assert_eq!(
            in_words("restarted", "api", &restarted),
            "restarted by api from the initial state, with other parameters: why"
        );
    }
}
