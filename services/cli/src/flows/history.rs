//! `pagurus flows history` and `pagurus systems history`: what was decided about one, when, why and by whom.

use clap::Args;
use pagurus_domain::flow::DecisionNumbers;
use pagurus_scenario::value::percent_encode;
use pagurus_wire::decisions::DecisionView;
use pagurus_wire::order::Page;
use serde::Serialize;

use super::tables::class_count;
use crate::client::ApiClient;
use crate::failure::CliError;
use crate::list::{Column, table, who};
use crate::screen::{Screen, time};

/// Decisions to list.
#[derive(Debug, Args, Serialize)]
pub(crate) struct Arguments {
    /// Name of the flow or system
    #[serde(skip)]
    name: String,
    /// Only decisions since this time, or since this long ago: 2026-01-02T10:00:00Z, 12h
    #[arg(long)]
    since: Option<String>,
    /// Only decisions before this time, or before this long ago
    #[arg(long)]
    until: Option<String>,
    /// Number of decisions to show, 1000 at most
    #[arg(long, default_value_t = 100, value_parser = clap::value_parser!(u16).range(1..=1000))]
    limit: u16,
    /// Continue where an earlier list ended
    #[arg(long)]
    cursor: Option<String>,
}

/// Shows a page of the history of a thing in this list of the API.
pub(crate) async fn show(
    list: &str,
    wanted: &Arguments,
    client: &ApiClient,
    screen: &Screen,
) -> Result<(), CliError> {
    let path = format!("/v1/{list}/{}/decisions", percent_encode(&wanted.name));
    let reply = client.find(&path, wanted).await?;
    if screen.json {
        return screen.document(&reply.text);
    }
    let page: Page<DecisionView> = reply.read()?;
    if page.items.is_empty() {
        screen.note("nothing was decided in this time");
        return Ok(());
    }
    screen.line(&table(DECISIONS, &page.items, screen))?;
    if let Some(cursor) = page.next {
        screen.note(&format!("there are more: --cursor '{cursor}'"));
    }
    Ok(())
}

const DECISIONS: &[Column<DecisionView>] = &[
    ("DECIDED", |decision| time(decision.at)),
    ("STATE", |decision| decision.state.clone()),
    ("LIMIT", |decision| decision.limit.map(|limit| limit.to_string()).unwrap_or_default()),
    ("BY", |decision| {
        decision.by.as_ref().map_or_else(|| "engine".to_owned(), |by| who(by).unwrap_or_default())
    }),
    ("WHY", |decision| match decision.left_out {
        0 => decision.why.clone(),
        count => format!("{} (and {count} like it before)", decision.why),
    }),
    ("NUMBERS", |decision| numbers(&decision.numbers)),
];

fn numbers(numbers: &DecisionNumbers) -> String {
    let ms = |name: &str, ms: Option<f64>| ms.map(|ms| format!("{name} {ms:.0} ms"));
    let errors: Vec<String> = numbers.errors.iter().map(class_count).collect();
    let parts = [
        Some(format!("{} in progress", numbers.in_progress)),
        (numbers.open_requests > 0).then(|| format!("{} open", numbers.open_requests)),
        numbers.ready.map(|ready| format!("{ready} ready")),
        Some(format!("{:.1}/s", numbers.throughput)),
        ms("p50", numbers.p50_ms),
        ms("p99", numbers.p99_ms),
        ms("base", numbers.base_ms),
        (!errors.is_empty()).then(|| errors.join(", ")),
    ];
    parts.into_iter().flatten().collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test may stop at the first surprise")]

    use super::*;

    #[test]
    fn dsp_14_a_line_says_when_why_by_whom_and_with_which_numbers() {
        let text = r#"[
            {"at": "2026-01-02T03:05:00Z", "state": "stopped", "why": "12 of 12 calls failed", "leftOut": 3,
             "numbers": {"inProgress": 7, "throughput": 4.25, "p50Ms": 12.3, "errors": {"refused": 12}}},
            {"at": "2026-01-02T03:04:00Z", "state": "disabled_manually", "why": "stop 7: works", "leftOut": 0,
             "by": {"door": "http", "name": "ann", "from": "10.0.0.7:41000"}, "numbers": {"ready": 2}}
        ]"#;
        let decisions: Vec<DecisionView> = serde_json::from_str(text).unwrap();
        let table = table(DECISIONS, &decisions, &Screen::plain());
        let lines: Vec<&str> = table.lines().skip(1).collect();
        assert_eq!(
            lines[0].split("  ").filter(|cell| !cell.is_empty()).map(str::trim).collect::<Vec<_>>(),
            [
                "2026-01-02T03:05:00.000Z",
                "stopped",
                "engine",
                "12 of 12 calls failed (and 3 like it before)",
                "7 in progress, 4.2/s, p50 12 ms, refused 12"
            ]
        );
        assert!(lines[1].contains("disabled_manually") && lines[1].contains("ann"), "{table}");
        assert!(lines[1].contains("stop 7: works") && lines[1].contains("2 ready"), "{table}");
    }
}
