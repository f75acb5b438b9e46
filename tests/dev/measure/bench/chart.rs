//! The picture of a run: processor time of each work, by process, as an SVG that needs nothing but itself.

use std::fmt::Write as _;

use pagurus_harness::nodes::Role;

use super::cpu::Part;
use super::works::Row;

/// Parts of a bar from left to right, with their names and colours.
const PARTS: [(Part, &str, &str); 9] = [
    (Part::OneProcess, "one process", "#5b6770"),
    (Part::Service(Role::Intake), "intake", "#2a78b8"),
    (Part::Service(Role::Dispatcher), "dispatcher", "#7b52ab"),
    (Part::Service(Role::Activator), "activator", "#b07aa1"),
    (Part::Service(Role::Worker), "worker", "#1f9d78"),
    (Part::Service(Role::Notifier), "notifier", "#8cbf3f"),
    (Part::Postgres, "Postgres", "#c98a1b"),
    (Part::Rabbit, "RabbitMQ", "#d1495b"),
    (Part::Load, "load", "#b9bec4"),
];
/// Left edge of the bars and length of the longest one, in pixels.
const LEFT: f64 = 120.0;
const LONGEST: f64 = 560.0;
const LINE: f64 = 30.0;
const TOP: f64 = 58.0;

/// Draws works whose orders do about as much: those of one at a time, which mostly wait, would dwarf the others.
pub fn draw(rows: &[&Row]) -> Option<String> {
    let drawn: Vec<&Row> = rows.iter().copied().filter(|row| row.rate.is_some() && row.orders > 0).collect();
    let per_order = |row: &Row, part: &Part| {
        row.cpu.used.get(part).map_or(0.0, |seconds| seconds * 1000.0 / row.orders as f64)
    };
    let whole = |row: &Row| PARTS.iter().map(|(part, ..)| per_order(row, part)).sum::<f64>();
    let longest = drawn.iter().map(|row| whole(row)).fold(0.0, f64::max);
    if longest <= 0.0 {
        return None;
    }
    let height = TOP + LINE * drawn.len() as f64 + 10.0;
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 780 {height:.0}\" width=\"780\" height=\"{height:.0}\" \
         font-family=\"sans-serif\" font-size=\"12\">\n\
         <rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>\n\
         <text x=\"10\" y=\"20\" font-size=\"14\">Processor time of an order in milliseconds, by process</text>\n"
    );
    let mut x = 10.0;
    for (_, name, colour) in &PARTS {
        let _ = writeln!(
            svg,
            "<rect x=\"{x:.0}\" y=\"32\" width=\"10\" height=\"10\" fill=\"{colour}\"/><text x=\"{:.0}\" y=\"41\">{name}</text>",
            x + 14.0
        );
        x += 30.0 + 7.0 * name.len() as f64;
    }
    for (number, row) in drawn.iter().enumerate() {
        let y = TOP + LINE * number as f64;
        let _ = writeln!(svg, "<text x=\"10\" y=\"{:.0}\">{}</text>", y + 15.0, row.work);
        let mut x = LEFT;
        for (part, name, colour) in &PARTS {
            let width = per_order(row, part) / longest * LONGEST;
            if width > 0.0 {
                let _ = writeln!(
                    svg,
                    "<rect x=\"{x:.1}\" y=\"{y:.0}\" width=\"{width:.1}\" height=\"20\" fill=\"{colour}\"><title>{name} {:.3} ms</title></rect>",
                    per_order(row, part)
                );
            }
            x += width;
        }
        let rate = row.rate.unwrap_or_default();
        let _ = writeln!(
            svg,
            "<text x=\"{:.0}\" y=\"{:.0}\">{:.3} · {rate:.0}/s</text>",
            x + 6.0,
            y + 15.0,
            whole(row)
        );
    }
    svg.push_str("</svg>\n");
    Some(svg)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test may panic")]

    use super::*;
    use crate::bench::cpu::{Seconds, Usage};
    use crate::bench::load::Latencies;

    #[test]
    fn the_longest_bar_is_the_work_that_costs_most_and_one_at_a_time_is_left_out() {
        let row = |work, rate, seconds| Row {
            work,
            orders: 1000,
            rate,
            cpu: Usage { used: Seconds::from([(Part::Postgres, seconds)]), idle: 0.0, others: 0.0 },
            latencies: Latencies::of(vec![1]),
            memory: None,
            notes: Vec::new(),
        };
        let svg =
            draw(&[&row("limit", Some(2.0), 0.1), &row("dear", Some(1.0), 0.2), &row("idle", None, 9.0)])
                .unwrap();
        assert!(svg.contains("width=\"560.0\"") && svg.contains("width=\"280.0\""), "{svg}");
        assert!(svg.contains("0.200 · 1/s") && !svg.contains(">idle<"), "{svg}");
        assert!(draw(&[]).is_none());
    }
}
