//! Orders as people read them. Only renders: asks nothing and prints nothing.

use std::time::Duration;

use jiff::Timestamp;
use pagurus_wire::foresight::PromiseView;
use pagurus_wire::order::{
    ConditionView, DependencyGraph, EventView, FailedActionView, GraphNode, OrderLine, OrderView,
    RegisteredView, TransitionView, UnsentView,
};
use pagurus_workbench::trial::spelled_duration;
use serde_json::Value;

use crate::list::{Column, table, text};
use crate::screen::{Screen, harmless, sent_time, time};

/// Orders in a list.
pub(super) const ORDERS: &[Column<OrderLine>] = &[
    ("ID", |line| line.id.clone()),
    ("SCENARIO", |line| format!("{} v{}", line.scenario, line.scenario_version)),
    ("STATUS", |line| line.status.clone()),
    ("STEP", |line| text(&line.step)),
    ("ERROR", |line| text(&line.error_class)),
    ("CREATED", |line| time(line.created_at)),
    ("UPDATED", |line| time(line.updated_at)),
];
/// Orders that one order waits for.
const CONDITIONS: &[Column<ConditionView>] = &[
    ("WAITS FOR", |one| one.after.clone()),
    ("TO END IN", |one| one.states.join(", ")),
    ("OTHERWISE", |one| one.otherwise.clone()),
    ("STANDS", |one| one.stand.clone()),
];
/// Orders of a graph.
const NODES: &[Column<GraphNode>] = &[
    ("ORDER", |node| node.id.clone()),
    ("STATUS", |node| node.status.clone().unwrap_or_else(|| "not registered yet".to_owned())),
    ("STEP", |node| text(&node.step)),
    ("SCENARIO", |node| text(&node.scenario)),
];
/// Conditions of a graph: which order waits for which.
const EDGES: &[Column<ConditionView>] = &[
    ("ORDER", |edge| edge.order.clone()),
    ("KIND", |edge| edge.kind.clone()),
    CONDITIONS[0],
    CONDITIONS[1],
    CONDITIONS[2],
    CONDITIONS[3],
];
/// Moves of an order from state to state.
const TRANSITIONS: &[Column<TransitionView>] = &[
    ("#", |moved| moved.number.to_string()),
    ("LIFE", |moved| moved.life.to_string()),
    ("AT", |moved| sent_time(&moved.at)),
    ("FROM", |moved| moved.from.clone()),
    ("EVENT", |moved| moved.event.clone()),
    ("TO", |moved| moved.to.clone()),
    ("NODE", |moved| moved.node.clone()),
];
/// Notifications that were not delivered.
const UNSENT: &[Column<UnsentView>] = &[
    ("NOT SENT", |unsent| unsent.kind.clone()),
    ("TO", |unsent| unsent.target.clone()),
    ("TRIES", |unsent| unsent.attempts.to_string()),
    ("NEXT", |unsent| unsent.next_at.map(time).unwrap_or_default()),
    ("BECAUSE", |unsent| text(&unsent.parked_because.clone().or_else(|| unsent.last_error.clone()))),
];

/// Returns one order with everything that is worth knowing about it.
pub(super) fn order(view: &OrderView, screen: &Screen) -> String {
    let status = format!("{} ({})", view.status, view.scenario_status);
    // A position is the millisecond in which the order joined, or one soon after it.
    let joined = view.position.and_then(|position| Timestamp::from_millisecond(position).ok());
    let mode = match (&view.queue, joined) {
        (Some(queue), Some(joined)) => format!("{}, queue {queue} since {}", view.mode, time(joined)),
        (Some(queue), None) => format!("{}, queue {queue}", view.mode),
        (None, _) => view.mode.clone(),
    };
    let pairs = [
        ("id", Some(view.id.clone())),
        ("number", Some(view.no.to_string())),
        ("scenario", Some(format!("{} version {}", view.scenario, view.scenario_version))),
        ("status", Some(status)),
        ("step", view.step.clone()),
        ("progress", Some(format!("{:.0} %", view.progress * 100.0))),
        (
            "error",
            view.error.as_ref().map(|error| {
                format!("{}: {}", error.class.as_deref().unwrap_or("unclassified"), error.message)
            }),
        ),
        ("retry", retry(view)),
        ("in jeopardy", view.promise.as_ref().and_then(jeopardy)),
        ("inconsistent", view.inconsistent.as_ref().map(|mark| mark.findings.join(", "))),
        ("message", view.message.clone()),
        ("result", view.result.as_ref().map(Value::to_string)),
        ("mode", Some(mode)),
        ("priority", Some(view.priority.clone())),
        ("flow", Some(view.flow.clone()).filter(|flow| !flow.is_empty())),
        ("transaction", view.transaction_id.clone()),
        ("labels", labels_of(view)),
        ("params", Some(view.params.to_string())),
        ("vars", filled(&view.vars)),
        ("notify", view.notify.as_ref().and_then(receivers)),
        ("life", Some(format!("{}, stages {}, retries {}", view.life, view.stages, view.retries))),
        ("node", view.node.clone()),
        (
            "failed over",
            view.failed_over
                .as_ref()
                .map(|over| format!("times {}, last at {}", over.times, time(over.last_at))),
        ),
        ("entry point", view.entry_point.clone()),
        ("entry points", entry_points(view)),
        ("failed action", view.failed_action.as_ref().map(failed_action)),
        (
            "waits for",
            view.asking.as_ref().map(|asking| {
                format!("{} in state {}, since {}", asking.target, asking.state, time(asking.since))
            }),
        ),
        ("created", Some(time(view.created_at))),
        ("not before", view.start_at.map(time)),
        ("promised for", view.promise.as_ref().map(promise)),
        ("latest start", view.start_deadline.map(time)),
        ("started", view.started_at.map(time)),
        ("ready since", view.ready_since.map(time)),
        ("due", view.due_at.map(time)),
        ("finished", view.finished_at.map(time)),
        ("duration", view.duration_ms.map(lasted)),
        ("updated", Some(time(view.updated_at))),
    ];
    let parts = [
        screen.pairs(&pairs),
        below(CONDITIONS, &view.after, screen),
        below(TRANSITIONS, &view.transitions, screen),
        more_transitions(view),
        below(UNSENT, &view.unsent_notifications, screen),
    ];
    parts.concat()
}

/// Note that names the command for the transitions that are left out.
fn more_transitions(view: &OrderView) -> String {
    if view.more_transitions {
        "\nThere may be more transitions: `pagurus order log` shows all of them.".to_owned()
    } else {
        String::new()
    }
}

/// A table below an empty line; nothing where there is nothing in it.
fn below<T>(columns: &[Column<T>], things: &[T], screen: &Screen) -> String {
    if things.is_empty() { String::new() } else { format!("\n\n{}", table(columns, things, screen)) }
}

/// The entry points that were visited, where there are several: the last one stands by itself.
fn entry_points(view: &OrderView) -> Option<String> {
    let names: Vec<&str> = view.entry_points.iter().map(|visited| visited.state.as_str()).collect();
    (names.len() > 1).then(|| names.join(", "))
}

/// The action from which a repair may go on.
fn failed_action(failed: &FailedActionView) -> String {
    let FailedActionView { state, action, kind, elements_done, elements } = failed;
    let kind = kind.as_ref().map_or_else(String::new, |kind| format!(" ({kind})"));
    let through = elements_done.zip(*elements);
    let through =
        through.map_or_else(String::new, |(done, all)| format!(", {done} of {all} elements went through"));
    format!("{state}[{action}]{kind}{through}; `order repair --failed-action` goes on there")
}

/// The addresses of one receiver, or of several.
fn receivers(notify: &Value) -> Option<String> {
    let all = notify.as_array().map_or(std::slice::from_ref(notify), Vec::as_slice);
    let urls: Vec<&str> = all.iter().filter_map(|one| one["url"].as_str()).collect();
    (!urls.is_empty()).then(|| urls.join(", "))
}

fn filled(value: &Value) -> Option<String> {
    value.as_object().is_some_and(|map| !map.is_empty()).then(|| value.to_string())
}

/// Time by which the client must be served, and the time that is expected.
pub(super) fn promise(promise: &PromiseView) -> String {
    let expected = promise
        .expected_at
        .map_or_else(String::new, |at| format!(", expected by {} in nine of ten cases", time(at)));
    format!("{}{expected}", time(promise.promise_at))
}

/// Returns the time since which the order will probably be late, and the reason.
fn jeopardy(promise: &PromiseView) -> Option<String> {
    let mark = promise.jeopardy.as_ref()?;
    Some(format!("since {}, expected by {}: {}", time(mark.since), time(mark.expected_at), mark.cause))
}

/// Returns the state of an order between two attempts.
pub(super) fn retry(view: &OrderView) -> Option<String> {
    let retry = view.retry.as_ref()?;
    let of = retry.max_attempts.map_or_else(String::new, |most| format!(" of {most}"));
    let next = retry.next_at.map_or_else(String::new, |at| format!(", next at {}", time(at)));
    let end = retry.ends_at.map_or_else(String::new, |at| format!(", none after {}", time(at)));
    Some(format!(
        "{} by policy {}, cycle {}, attempt {}{of}{next}{end}",
        retry.class, retry.policy, retry.cycle, retry.attempt
    ))
}

/// Graph of dependencies as tables: the orders, then which waits for which.
pub(super) fn graph(graph: &DependencyGraph, screen: &Screen) -> String {
    format!("{}\n\n{}", table(NODES, &graph.nodes, screen), table(EDGES, &graph.edges, screen))
}

/// An event in one line.
pub(super) fn event(event: &EventView) -> String {
    let payload = if event.payload.is_null() { String::new() } else { format!("  {}", event.payload) };
    format!(
        "{:>4}  {}  {} by {}{}",
        event.number,
        sent_time(&event.at),
        harmless(&event.kind),
        harmless(&event.source),
        harmless(&payload)
    )
}

/// Outcomes of the orders of a file.
pub(super) fn registrations(registered: &[RegisteredView], screen: &Screen) -> String {
    let rows: Vec<[String; 5]> = registered
        .iter()
        .enumerate()
        .map(|(at, one)| {
            [
                (at + 1).to_string(),
                one.id.clone().unwrap_or_default(),
                one.status.clone(),
                one.order_status.clone().unwrap_or_default(),
                one.error
                    .as_ref()
                    .map(|error| error.detail.clone())
                    .or_else(|| one.note.clone())
                    .unwrap_or_default(),
            ]
        })
        .collect();
    screen.table(&["#", "ID", "STATUS", "ORDER STATUS", "WHY"], &rows)
}

fn lasted(ms: i64) -> String {
    spelled_duration(Duration::from_millis(ms.unsigned_abs()))
}

/// The labels, each as key and value.
fn labels_of(view: &OrderView) -> Option<String> {
    let pairs: Vec<String> = view.labels.iter().map(|(key, value)| format!("{key}={value}")).collect();
    (!pairs.is_empty()).then(|| pairs.join(", "))
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test may stop at the first surprise")]
pub(super) mod tests {
    use super::*;
    use serde_json::json;

    /// An order that has just begun, with some fields changed.
    pub(in crate::order) fn sample(changes: Value) -> OrderView {
        let mut order = json!({
            "id": "o-1", "no": 7, "scenario": "one-action", "scenarioVersion": 2, "status": "running",
            "scenarioStatus": "on_target", "step": "call", "mode": "parallel", "queue": null, "position": null,
            "priority": "normal", "flow": "one-action", "transactionId": null, "params": {"a": 1}, "vars": {},
            "notify": null, "result": null, "message": null, "error": null, "retry": null, "life": 1, "stages": 1, "retries": 0,
            "node": "worker-1", "createdAt": "2026-01-01T00:00:00Z", "startedAt": "2026-01-01T00:00:01Z",
            "finishedAt": null, "updatedAt": "2026-01-01T00:00:02Z", "startAt": null, "startDeadline": null,
            "dueAt": null, "readySince": null, "progress": 0.5, "entryPoint": "call", "transitions": [],
            "unsentNotifications": [],
        });
        for (key, value) in changes.as_object().unwrap() {
            order[key] = value.clone();
        }
        serde_json::from_value(order).unwrap()
    }

    #[test]
    fn ord_28_an_order_shows_what_it_is_and_what_it_did() {
        let transition = json!({
            "number": 1, "life": 1, "from": "call", "event": "success", "to": "done",
            "at": "2026-01-01T00:00:02.5Z", "handOut": 1, "node": "worker-1",
        });
        let view = sample(json!({
            "queue": "q", "position": 1_767_225_600_123_i64, "mode": "sequential", "transitions": [transition],
            "error": {"class": null, "message": "no\u{1b}[2J"},
        }));
        let shown = order(&view, &Screen::plain());
        for part in [
            "scenario     one-action version 2",
            "status       running (on_target)",
            "progress     50 %",
            "mode         sequential, queue q since 2026-01-01T00:00:00.123Z",
            "params       {\"a\":1}",
            "error        unclassified: no\u{fffd}[2J",
            "1  1     2026-01-01T00:00:02.500Z  call  success  done  worker-1",
        ] {
            assert!(shown.contains(part), "{part} in\n{shown}");
        }
        assert!(!shown.contains("vars") && !shown.contains("NOT SENT"), "{shown}");
    }

    #[test]
    fn a_retry_says_when_it_goes_on() {
        let view = sample(json!({"status": "retry", "retry": {
            "class": "net", "policy": "fast", "cycle": 1, "attempt": 3, "maxAttempts": 20,
            "nextAt": "2026-01-01T00:01:00Z", "endsAt": "2026-01-02T00:00:00Z",
        }}));
        assert_eq!(
            retry(&view).unwrap(),
            "net by policy fast, cycle 1, attempt 3 of 20, next at 2026-01-01T00:01:00.000Z, none after 2026-01-02T00:00:00.000Z"
        );
    }

    #[test]
    fn an_event_is_one_line_whatever_it_holds() {
        let text = event(&EventView {
            number: 2,
            life: 1,
            kind: "killed".into(),
            at: "2026-01-01T00:00:00Z".into(),
            source: "api".into(),
            payload: json!({"reason": "a\nb"}),
        });
        assert_eq!(text, "   2  2026-01-01T00:00:00.000Z  killed by api  {\"reason\":\"a\\nb\"}");
    }
}
