//! Flows as tables.

use pagurus_domain::dispatch::{Decision, Quantiles};
use pagurus_wire::flows::FlowView;

use crate::screen::{Screen, harmless, time};
use crate::windows::held_by;

/// Flows in a table.
pub(super) fn listed(flows: &[FlowView], screen: &Screen) -> String {
    let rows: Vec<[String; 9]> = flows
        .iter()
        .map(|FlowView { record, maintenance, .. }| {
            let until = maintenance.as_ref().map(|open| format!(" until {}", time(open.until)));
            let limit = record.limit.map_or_else(String::new, |limit| format!(" / {limit}"));
            [
                record.flow.clone(),
                format!("{}{}", record.state, until.unwrap_or_default()),
                format!("{}{limit}", record.in_progress),
                record.open_requests.to_string(),
                record.ready.sum().to_string(),
                format!("{:.1}", record.throughput),
                both(record.short_term),
                both(record.long_term),
                both(record.waits),
            ]
        })
        .collect();
    let head =
        ["FLOW", "STATE", "IN PROGRESS", "OPEN", "READY", "ENDED/S", "P50/P99 MS", "LONG TERM", "WAITED MS"];
    screen.table(&head, &rows)
}

/// One flow with all that is known of it.
pub(super) fn shown(flow: &FlowView, screen: &Screen) -> String {
    let FlowView { record, written_at, maintenance } = flow;
    let ready = record.ready;
    let errors: Vec<String> =
        record.errors.iter().map(|(class, count)| format!("{} {count}", harmless(class))).collect();
    let listed = |texts: Vec<String>| Some(texts.join(", ")).filter(|text| !text.is_empty());
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
        ("stage, of late", Some(both(record.short_term))),
        ("stage, long term", Some(both(record.long_term))),
        ("ready to claimed", Some(both(record.waits))),
        ("empty in", record.seconds_to_empty.map(|seconds| format!("{seconds:.0} s"))),
        ("errors", listed(errors)),
        ("systems", listed(record.systems.clone())),
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
    let rows: Vec<[String; 4]> = decisions
        .iter()
        .rev()
        .map(|decision| {
            let limit = decision.limit.map(|limit| limit.to_string()).unwrap_or_default();
            [time(decision.at), decision.state.clone(), limit, decision.why.clone()]
        })
        .collect();
    format!("\n\n{}", screen.table(&["DECIDED", "STATE", "LIMIT", "WHY"], &rows))
}

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
        let table = listed(std::slice::from_ref(&flow), &Screen::plain());
        let row = table.lines().nth(1).unwrap();
        assert!(row.starts_with("tariff  limited  18 / 20") && row.contains("5.2 / 120"), "{table}");
        let shown = shown(&flow, &Screen::plain());
        for part in
            ["1 high, 40 normal, 0 low", "throttling 4", "billing", "2026-01-01 00:00:00Z  limited  20"]
        {
            assert!(shown.contains(part), "{part}: {shown}");
        }
    }
}
