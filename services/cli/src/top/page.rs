//! The page of `pagurus top`, from answers of the server. Asks nothing.

use std::collections::BTreeMap;

use pagurus_domain::flow::{FlowState, SystemState};
use pagurus_domain::number::saturated;
use pagurus_wire::flows::{FlowView, SystemView};
use pagurus_wire::nodes::NodeView;
use pagurus_wire::stats::{NamedCount, StatsCount, StatsStep, StatsView};

use super::Sight;
use crate::list::shown_key;
use crate::screen::{Paint, Screen, bars, harmless, time};
use crate::systems::{millis, share};

/// Minutes of the pictures.
const MINUTES: i64 = 20;
/// Classes of errors in their line.
const CLASSES: usize = 5;

/// Returns the whole page, with the `rows` busiest flows and systems.
pub(super) fn page(sight: &Sight, rows: usize, screen: &Screen) -> String {
    let mut parts = vec![head(sight, screen), figures(&sight.stats, screen)];
    parts.extend(flows(&sight.flows, rows, screen));
    parts.extend(systems(&sight.systems, rows, screen));
    parts.push(nodes(&sight.nodes, screen));
    parts.join("\n\n")
}

fn head(sight: &Sight, screen: &Screen) -> String {
    let mut roles: BTreeMap<&str, usize> = BTreeMap::new();
    let living = |node: &&NodeView| node.ended_at.is_none();
    for node in sight.nodes.iter().filter(living) {
        *roles.entry(&node.role).or_default() += 1;
    }
    let roles: Vec<String> = roles.iter().map(|(role, count)| format!("{count} {role}")).collect();
    let now = sight.stats.at;
    let leader = sight.leases.iter().find(|lease| lease.name == "dispatcher" && lease.until > now);
    let leads = match leader.and_then(|lease| lease.holder.as_deref()) {
        Some(holder) => format!("{} leads", harmless(holder)),
        None => screen.paint(Paint::Bad, "no dispatcher leads"),
    };
    format!("{}  {}; {leads}", time(now), roles.join(", "))
}

/// Rates, waits and what is open, each on a line of its own.
fn figures(stats: &StatsView, screen: &Screen) -> String {
    let rates = &stats.rates;
    let rate = |name: &str, rate: f64| format!("{name} {rate:.1}");
    let rates = [
        rate("registered", rates.registered),
        rate("ended", rates.ended),
        rate("failed", rates.failed),
        rate("stages", rates.stages),
        rate("calls", rates.calls),
    ];
    let now = &stats.now;
    let oldest = now.oldest_ready_seconds.map_or_else(String::new, |age| format!(" (oldest {})", shown(age)));
    let waiting = now.waiting.iter().filter(|one| one.count.count > 0).map(|one| match one.name.as_str() {
        "worker" => format!("{}{oldest}", named(one)),
        _ => named(one),
    });
    let waiting: Vec<String> = waiting.collect();
    let age =
        now.oldest_notification_seconds.map_or_else(String::new, |age| format!(" (oldest {})", shown(age)));
    let open = [
        format!("requests {}", number(now.open_requests)),
        format!("notifications {}{age}", number(now.unsent_notifications)),
    ];
    let trouble = [
        ("parked", now.parked_notifications),
        ("refused", now.refused_messages),
        ("inconsistent", now.inconsistent),
    ];
    let trouble = trouble.into_iter().filter(|(_, count)| count.count > 0);
    let trouble: Vec<String> = trouble
        .map(|(name, count)| screen.paint(Paint::Under, &format!("{name} {}", number(count))))
        .collect();
    let statuses: Vec<String> = now.statuses.iter().map(named).collect();
    let errors = stats
        .errors
        .iter()
        .take(CLASSES)
        .map(|one| format!("{} {}", harmless(shown_key("class", &one.class)), one.count));
    let errors: Vec<String> = errors.collect();
    let check = now.consistency_check.map(|check| {
        let last =
            check.ended_at.map_or_else(String::new, |at| format!(" (the last one ended {})", time(at)));
        format!("{:.0} % of round {}{last}", check.share * 100.0, check.rounds + 1)
    });
    let check: Vec<String> = check.into_iter().collect();
    let line = |title: &str, words: &[String]| {
        let words = if words.is_empty() { "-".to_owned() } else { words.join("  ") };
        format!("{title:<11}{words}")
    };
    let picture = |name: &str, count: fn(&StatsStep) -> i64| format!("{name} {}", over_time(stats, count));
    [
        line("a second", &rates),
        line("waiting", &waiting),
        line("open", &[&open[..], &trouble[..]].concat()),
        line("orders", &statuses),
        line(
            "20 minutes",
            &[picture("registered", |step| step.registered), picture("ended", |step| step.ended.total())],
        ),
        line("errors", &errors),
        line("check", &check),
    ]
    .join("\n")
}

/// A cell for each of the last minutes.
fn over_time(stats: &StatsView, count: fn(&StatsStep) -> i64) -> String {
    let begin = stats.at.as_second() - MINUTES * 60;
    let mut counts = vec![0; saturated::<usize>(MINUTES)];
    for step in &stats.steps {
        let cell = usize::try_from((step.at.as_second() - begin) / 60).ok();
        if let Some(cell) = cell.and_then(|cell| counts.get_mut(cell)) {
            *cell += count(step);
        }
    }
    bars(&counts)
}

fn number(count: StatsCount) -> String {
    format!("{}{}", if count.estimated { "~" } else { "" }, count.count)
}

fn named(one: &NamedCount) -> String {
    format!("{} {}", harmless(&one.name), number(one.count))
}

/// Returns a time for people.
fn shown(seconds: f64) -> String {
    match seconds {
        seconds if seconds < 120.0 => format!("{seconds:.0} s"),
        seconds if seconds < 7200.0 => format!("{:.0} min", seconds / 60.0),
        seconds => format!("{:.0} h", seconds / 3600.0),
    }
}

/// The busiest flows; nothing where there are none.
fn flows(flows: &[FlowView], rows: usize, screen: &Screen) -> Option<String> {
    let mut flows: Vec<&FlowView> = flows.iter().collect();
    let busy = |flow: &FlowView| {
        let record = &flow.record;
        (record.state != FlowState::Enabled, record.ready.sum().saturating_add(record.in_progress))
    };
    flows.sort_by_key(|flow| std::cmp::Reverse(busy(flow)));
    let shown: Vec<[String; 7]> = flows
        .into_iter()
        .take(rows)
        .map(|FlowView { record, .. }| {
            let limit = record.limit.map_or_else(String::new, |limit| format!(" / {limit}"));
            [
                record.flow.clone(),
                record.state.to_string(),
                format!("{}{limit}", record.in_progress),
                record.ready.sum().to_string(),
                record.open_requests.to_string(),
                format!("{:.1}", record.throughput),
                record.short_term.p99_ms.map(|ms| format!("{ms:.0}")).unwrap_or_default(),
            ]
        })
        .collect();
    let head = ["FLOW", "STATE", "IN PROGRESS", "READY", "OPEN", "ENDED/S", "P99 MS"];
    (!shown.is_empty()).then(|| screen.table(&head, &shown))
}

/// The busiest systems, those in trouble first; nothing where there are none.
fn systems(systems: &[SystemView], rows: usize, screen: &Screen) -> Option<String> {
    let mut systems: Vec<&SystemView> = systems.iter().collect();
    systems.sort_by_key(|system| {
        let record = &system.record;
        std::cmp::Reverse((record.state != SystemState::Healthy, record.in_progress))
    });
    let shown: Vec<[String; 5]> = systems
        .into_iter()
        .take(rows)
        .map(|SystemView { record, .. }| {
            let limit = record.limit.map_or_else(String::new, |limit| format!(" / {limit}"));
            [
                record.system.clone(),
                record.state.to_string(),
                format!("{}{limit}", record.in_progress),
                share(record.failed_share),
                millis(record.short_term.p99_ms),
            ]
        })
        .collect();
    (!shown.is_empty()).then(|| screen.table(&["SYSTEM", "STATE", "IN PROGRESS", "FAILED", "P99 MS"], &shown))
}

/// The living nodes.
fn nodes(nodes: &[NodeView], screen: &Screen) -> String {
    let rows: Vec<[String; 4]> = nodes
        .iter()
        .filter(|node| node.ended_at.is_none())
        .map(|node| {
            let load = match node.concurrency {
                1.. => format!("{} / {}", node.stages, node.concurrency),
                _ => String::new(),
            };
            [format!("{}/{}", node.role, node.name), node.status.clone(), load, node.version.clone()]
        })
        .collect();
    screen.table(&["NODE", "STATUS", "STAGES", "VERSION"], &rows)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test may stop at the first surprise")]

    use super::*;

    fn sight() -> Sight {
        let stats = r#"{"at": "2026-01-01T12:20:30Z", "since": "2026-01-01T12:00:00Z", "stepSeconds": 60,
            "now": {"statuses": [{"name": "success", "count": 7000, "estimated": true}],
                "waiting": [{"name": "worker", "count": 12}, {"name": "wait", "count": 0}, {"name": "running", "count": 3}],
                "openRequests": {"count": 4}, "unsentNotifications": {"count": 1}, "parkedNotifications": {"count": 2},
                "refusedMessages": {"count": 0}, "inconsistent": {"count": 0}, "oldestReadySeconds": 90.4,
                "consistencyCheck": {"rounds": 6, "share": 0.42, "begunAt": "2026-01-01T12:00:00Z", "endedAt": "2026-01-01T12:00:00Z"}},
            "rates": {"registered": 2.5, "ended": 2.0, "failed": 0.0, "stages": 4.0, "calls": 4.0},
            "steps": [{"at": "2026-01-01T12:20:00Z", "registered": 8, "success": 4, "fail": 0, "interrupted": 0,
                "canceled": 0, "stages": 4, "calls": 4}],
            "scenarios": [], "errors": [{"class": "", "count": 3}], "systems": []}"#;
        let flow = |name: &str, ready: u64, state: &str| {
            serde_json::from_value(serde_json::json!({"flow": name, "state": state, "inProgress": 1,
                "ready": {"high": 0, "normal": ready, "low": 0}, "writtenAt": "2026-01-01T12:20:29Z"}))
            .unwrap()
        };
        let node = r#"{"name": "w-1", "role": "worker", "incarnation": 4, "address": "127.0.0.1:1", "version": "0.1.0",
            "status": "active", "statusSince": "2026-01-01T00:00:01Z", "startedAt": "2026-01-01T00:00:00Z",
            "endedAt": null, "seenAt": "2026-01-01T12:20:29Z", "concurrency": 1000, "stages": 3, "left": 3}"#;
        Sight {
            stats: serde_json::from_str(stats).unwrap(),
            flows: vec![flow("idle", 0, "enabled"), flow("busy", 9, "enabled"), flow("held", 1, "stopped")],
            systems: Vec::new(),
            nodes: vec![serde_json::from_str(node).unwrap()],
            leases: Vec::new(),
        }
    }

    #[test]
    fn ui_the_page_tells_rates_waits_flows_and_nodes() {
        let shown = page(&sight(), 2, &Screen::plain());
        let lines: Vec<&str> = shown.lines().collect();
        assert_eq!(lines[0], "2026-01-01T12:20:30.000Z  1 worker; no dispatcher leads");
        for line in [
            "a second   registered 2.5  ended 2.0  failed 0.0  stages 4.0  calls 4.0",
            "waiting    worker 12 (oldest 90 s)  running 3",
            "open       requests 4  notifications 1  parked 2",
            "orders     success ~7000",
            "20 minutes registered ···················█  ended ···················█",
            "errors     unclassified 3",
            "check      42 % of round 7 (the last one ended 2026-01-01T12:00:00.000Z)",
            "held  stopped  1            1      0     0.0",
            "worker/w-1  active  3 / 1000  0.1.0",
        ] {
            assert!(lines.contains(&line), "no `{line}` in\n{shown}");
        }
        assert!(!shown.contains("idle"), "more rows than wanted:\n{shown}");
    }
}
