//! The control centre's section of the report.

use std::fmt::Write as _;

use super::super::report::table;
use super::{Centre, LOAD, OPEN, PageFigures};

const HEAD: [&str; 8] =
    ["page", "requests", "KiB", "elements", "p50 ms", "p99 ms", "p50 under load", "p99 under load"];

/// The section, in Markdown.
pub fn section(centre: &Centre) -> String {
    let mut lines = vec![HEAD.map(str::to_owned).to_vec()];
    lines.extend(centre.pages.iter().map(cells));
    let date = jiff::Zoned::now().strftime("%Y-%m-%d");
    let mut text = format!(
        "\n### The control centre\n\nMeasured on {date} by `./dev bench centre`.\n\n{}",
        table(&lines)
    );
    let [quiet, busy] = &centre.sight;
    let an_order = |with: usize| centre.open[with].all() * 1000.0 / centre.orders[with].max(1) as f64;
    let _ = writeln!(
        text,
        "\nUnder load: {:.0} orders a second, {:.0} % of what the engine can do here. From the commit of a change of an order to the frame that shows it: \
         p50 {:.0} ms, p99 {:.0} ms; under load p50 {:.0} ms, p99 {:.0} ms, of {} changes. {OPEN} open pages ask {:.0} times a second: CPU an \
         order {:.3} ms with them, {:.3} without.",
        centre.rate,
        LOAD * 100.0,
        quiet.p50,
        quiet.p99,
        busy.p50,
        busy.p99,
        busy.changes,
        centre.requests,
        an_order(1),
        an_order(0),
    );
    let scrolled = centre.scrolled.iter().map(|one| format!("`{}` {:.0}", one.page, one.frames));
    let _ = writeln!(
        text,
        "\nFrames a second when scrolled, without load: {}.",
        scrolled.collect::<Vec<_>>().join(", ")
    );
    text
}

fn cells(page: &PageFigures) -> Vec<String> {
    let bytes: u64 = page.asked.requests.values().sum();
    let mut cells = vec![
        page.asked.page.clone(),
        page.asked.requests.len().to_string(),
        format!("{:.1}", bytes as f64 / 1024.0),
        page.asked.nodes.to_string(),
    ];
    for times in &page.times {
        for share in [0.5, 0.99] {
            cells.push(times.percentile(share).map_or_else(String::new, |time| format!("{time:.1}")));
        }
    }
    cells
}
