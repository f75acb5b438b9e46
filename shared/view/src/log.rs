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
mod tests {
    use serde_json::json;

    use super::*;

    const AT: &str = "2026-01-01T00:00:00.000Z";

    /// Lines and moves of a stage; moves are given as `FROM EVENT TO`, with the lines before each, and answers with the lines
    /// and moves before each.
    fn stage(said: &[&str], moves: &[(&str, usize)], answers: &[(&str, usize, usize)]) -> Vec<String> {
        let said: Vec<Value> = said.iter().map(|text| json!({"at": AT, "text": text})).collect();
        let moves = moves.iter().map(|(moved, said)| {
            let words: Vec<&str> = moved.split(' ').collect();
            json!({"at": AT, "from": words[0], "event": words[1], "to": words[2], "saidBefore": said})
        });
        let steps = answers.iter().map(|(target, said, moved)| {
            json!({"kind": "amqp", "target": target, "at": AT, "ms": 0, "outcome": "sent", "saidBefore": said, "movedBefore": moved})
        });
        let (moves, steps): (Vec<Value>, Vec<Value>) = (moves.collect(), steps.collect());
        let detail = json!({"log": said, "transitions": moves, "steps": steps});
        of_stage(&detail).into_iter().map(|(_, text)| text).collect()
    }

    #[test]
    fn ord_25_lines_moves_and_answers_of_one_moment_stand_in_the_order_in_which_they_came() {
        let lines = stage(
            &["in a", "in b", "failed (x.y): no"],
            &[("a success b", 1), ("b fail c", 3), ("c success d", 3)],
            &[("first", 0, 0), ("asked", 2, 1), ("last", 3, 2)],
        );
        let expected = [
            "message to first: taken in 0 ms",
            "in a",
            "a --success--> b",
            "in b",
            "message to asked: taken in 0 ms",
            "failed (x.y): no",
            "b --fail--> c",
            "message to last: taken in 0 ms",
            "c --success--> d",
        ];
        assert_eq!(lines, expected);
        assert_eq!(stage(&[], &[("a success b", 7)], &[("x", 7, 7)]).len(), 2, "beyond what there is");
    }

    #[test]
    fn ord_25_lines_and_moves_of_former_versions_stand_in_the_order_of_their_time() {
        let at = |second: u8| format!("2026-01-01T00:00:{second:02}Z");
        let detail = json!({
            "log": [{"at": at(1), "text": "in a"}, {"at": at(3), "text": "in b"}],
            "transitions": [{"at": at(2), "from": "a", "event": "success", "to": "b"}],
            "steps": [{"kind": "http", "target": "GET x/y", "at": at(2), "ms": 500, "outcome": "answered", "status": 200}],
        });
        let lines: Vec<String> = of_stage(&detail).into_iter().map(|(_, text)| text).collect();
        assert_eq!(lines, ["in a", "a --success--> b", "GET x/y: 200 in 500 ms", "in b"]);
    }

    #[test]
    fn rec_10_the_line_of_a_failover_says_from_where_to_where() {
        let lost = json!({"attempt": 1, "finding": "node_lost", "node": 7, "nodeName": "worker-1", "startedAt": "T"});
        let line = "FAILOVER from worker-1 (life 7) to worker-2: hand-out 1 had been there since T";
        assert_eq!(failover(&lost, Some("worker-2")), line);
        assert!(failover(&lost, None).contains("to the next free worker"));
    }

    #[test]
    fn ord_25_what_happened_outside_of_stages_is_said_in_words() {
        let started =
            json!({"attempt": 1, "finding": "overdue", "node": 7, "nodeName": "worker-1", "startedAt": "T"});
        assert_eq!(
            in_words("reissued", "activator-1", &started),
            "handed out again by activator-1, because its work time-out had passed: hand-out 1 had been with worker-1 (life 7) since T"
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
            "restarted by api from the initial state, with new parameters: why"
        );
    }
}
