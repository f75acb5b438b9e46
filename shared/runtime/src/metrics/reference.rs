//! The list of all metrics, made from their tables.

use super::{BUILD, COUNTERS, GAUGES, HISTOGRAMS, MetricRow, messaging, process};

/// All metrics as a Markdown table, for the documentation.
#[must_use]
pub fn reference_table() -> String {
    let mut table = "| metric | kind | labels | meaning |\n|---|---|---|---|\n".to_owned();
    table.extend(lines("pagurus_", "gauge", &[BUILD]));
    table.extend(lines("pagurus_", "counter", COUNTERS));
    table.extend(lines("pagurus_", "gauge", GAUGES));
    table.extend(lines("pagurus_", "histogram", HISTOGRAMS));
    table.extend(lines("", "counter", &messaging::COUNTERS));
    table.extend(lines("", "histogram", &messaging::TIMES));
    for row in process::ROWS {
        let kind = if row.is_counter { "counter" } else { "gauge" };
        table.extend(lines("process_", kind, &[(row.name, row.help, &[])]));
    }
    table
}

fn lines(prefix: &str, kind: &str, rows: &[MetricRow]) -> Vec<String> {
    let suffix = if kind == "counter" { "_total" } else { "" };
    let line = |(name, help, labels): &MetricRow| {
        let labels: Vec<String> = labels.iter().map(|label| format!("`{label}`")).collect();
        format!("| `{prefix}{name}{suffix}` | {kind} | {} | {help} |\n", labels.join(", "))
    };
    rows.iter().map(line).collect()
}
