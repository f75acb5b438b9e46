//! Flows as tables.

use std::fmt::Display;

use pagurus_domain::flow::{Decision, Quantiles};
use pagurus_wire::flows::FlowView;

use crate::list::{Column, List, table};
use crate::screen::{Screen, harmless, time};
use crate::windows::held_by;

/// Flows, with their figures.
pub(super) const FLOWS: List<FlowView> = List {
    path: "/v1/flows",
    none: "no such flow was seen yet",
    hint: None,
    columns: &[
        ("FLOW", |flow| flow.record.flow.clone()),
        ("STATE", |FlowView { record, maintenance, .. }| {
            let until = maintenance.as_ref().map(|open| format!(" until {}", time(open.until)));
            format!("{}{}", record.state, until.unwrap_or_default())
        }),
        ("IN PROGRESS", |flow| of_limit(flow.record.in_progress, flow.record.limit)),
        ("OPEN", |flow| flow.record.open_requests.to_string()),
        ("READY", |flow| flow.record.ready.sum().to_string()),
        ("ENDED/S", |flow| format!("{:.1}", flow.record.throughput)),
        ("P50/P99 MS", |flow| both(flow.record.short_term)),
        ("LONG TERM", |flow| both(flow.record.long_term)),
        ("WAITED MS", |flow| both(flow.record.waits)),
    ],
};

/// The work in progress, and its limit where there is one.
pub(crate) fn of_limit(in_progress: impl Display, limit: Option<impl Display>) -> String {
    let limit = limit.map_or_else(String::new, |limit| format!(" / {limit}"));
    format!("{in_progress}{limit}")
}

/// Texts in one line; `None` where there are none.
pub(crate) fn joined(texts: impl IntoIterator<Item = String>) -> Option<String> {
    let texts: Vec<String> = texts.into_iter().collect();
    (!texts.is_empty()).then(|| texts.join(", "))
}

/// A class of errors and their number.
pub(crate) fn class_count((class, count): (&String, impl Display)) -> String {
    format!("{} {count}", harmless(class))
}

/// Returns one flow with all that is known of it.
pub(super) fn shown(flow: &FlowView, screen: &Screen) -> String {
    let FlowView { record, written_at, maintenance } = flow;
    let ready = record.ready;
    let pairs = [
        ("flow", Some(record.flow.clone())),
        ("state", Some(record.state.to_string())),
        ("stopped since", record.stopped_since.map(time)),
        ("maintenance", maintenance.as_ref().map(held_by)),
        ("limit", record.limit.map(|limit| limit.to_string())),
        ("in progress", Some(record.in_progress.to_string())),
        ("open requests", Some(record.open_requests.to_string())),
        ("ready", Some(format!("{} high, {} normal, {} low", ready.high, ready.normal, ready.low))),
        ("oldest ready since", record.oldest_ready_since.map(time)),
        ("ended a second", Some(format!("{:.1}", record.throughput))),
        ("stage, recently", Some(both(record.short_term))),
        ("stage, long term", Some(both(record.long_term))),
        ("ready to claimed", Some(both(record.waits))),
        ("empty in", record.seconds_to_empty.map(|seconds| format!("{seconds:.0} s"))),
        ("errors", joined(record.errors.iter().map(class_count))),
        ("systems", joined(record.systems.clone())),
        ("as of", Some(time(*written_at))),
    ];
    let mut text = screen.pairs(&pairs);
    text.push_str(&decided(&record.decisions, screen));
    text
}

/// The last decisions about a flow or a system, the newest first, below an empty line; nothing where there are none.
pub(crate) fn decided(decisions: &[Decision], screen: &Screen) -> String {
    if decisions.is_empty() {
        return String::new();
    }
    format!("\n\n{}", table(DECISIONS, decisions.iter().rev(), screen))
}

const DECISIONS: &[Column<Decision>] = &[
    ("DECIDED", |decision| time(decision.at)),
    ("STATE", |decision| decision.state.clone()),
    ("LIMIT", |decision| decision.limit.map(|limit| limit.to_string()).unwrap_or_default()),
    ("WHY", |decision| decision.why.clone()),
];

fn both(quantiles: Quantiles) -> String {
    match (quantiles.p50_ms, quantiles.p99_ms) {
        (Some(p50), Some(p99)) => format!("{} / {}", short(p50), short(p99)),
        _ => String::new(),
    }
}

fn short(ms: f64) -> String {
    if ms < 10.0 { format!("{ms:.1}") } else { format!("{ms:.0}") }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test may stop at the first surprise")]
mod tests {
    use super::*;

    #[test]
    fn dsp_14_a_flow_shows_its_figures_and_why_it_is_as_it_is() {
        let text = r#"{"flow": "tariff", "state": "limited", "limit": 20, "inProgress": 18, "openRequests": 3,
            "ready": {"high": 1, "normal": 40, "low": 0}, "throughput": 12.34,
            "shortTerm": {"p50Ms": 5.25, "p99Ms": 120.0}, "errors": {"throttling": 4}, "systems": ["billing"],
            "decisions": [{"at": "2026-01-01T00:00:00Z", "state": "limited", "limit": 20, "why": "slower"}],
            "writtenAt": "2026-01-01T00:00:01Z"}"#;
        let flow: FlowView = serde_json::from_str(text).unwrap();
        let table = table(FLOWS.columns, [&flow], &Screen::plain());
        let row = table.lines().nth(1).unwrap();
        assert!(row.starts_with("tariff  limited  18 / 20") && row.contains("5.2 / 120"), "{table}");
        let shown = shown(&flow, &Screen::plain());
        for part in
            ["1 high, 40 normal, 0 low", "throttling 4", "billing", "2026-01-01T00:00:00.000Z  limited  20"]
        {
            assert!(shown.contains(part), "{part}: {shown}");
        }
    }
}
