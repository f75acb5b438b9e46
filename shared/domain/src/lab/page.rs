//! The report as one HTML page with its pictures in it: nothing is fetched. Must never compute a figure.

use std::fmt::Write as _;

use super::trace::{FlowLook, SystemLook};
use super::{LabPlan, LabRun};

/// Width of a picture.
const WIDTH: f64 = 860.0;
/// Height of a picture.
const HEIGHT: f64 = 150.0;
/// Room for the scale at the left.
const LEFT: f64 = 52.0;
/// Room below and above.
const MARGIN: f64 = 20.0;
/// Points of a line: more are not seen.
const POINTS: usize = 400;
/// Flows that have pictures of their own.
const SHOWN_FLOWS: usize = 6;

const SHEET: &str = "\
body{font:15px/1.45 system-ui,sans-serif;max-width:900px;margin:2em auto;padding:0 1em;color:#16202a;background:#fff}\
h2{margin-top:2em}table{border-collapse:collapse;width:100%}td,th{padding:.25em .6em;text-align:right;\
border-bottom:1px solid #d5dde4}td:first-child,th:first-child{text-align:left}.no{color:#b42318}.known{color:#9a6b00}\
svg{width:100%;height:auto}text{font:11px system-ui,sans-serif;fill:#4a5560}\
.a{stroke:#0969da}.b{stroke:#1a7f37}.c{stroke:#b42318}.d{stroke:#9a6b00}path{fill:none;stroke-width:1.5}\
.axis{stroke:#c3ccd4;stroke-width:1}.key{font-weight:600}\
.key.a{fill:#0969da;stroke:none}.key.b{fill:#1a7f37;stroke:none}.key.c{fill:#b42318;stroke:none}.key.d{fill:#9a6b00;stroke:none}\
@media(prefers-color-scheme:dark){body{background:#14181d;color:#e6edf3}text{fill:#b3bec9}td,th{border-color:#333d47}\
.axis{stroke:#44515e}}";

/// A line of a picture.
struct Line {
    name: &'static str,
    class: &'static str,
    values: Vec<Option<f64>>,
}

/// The report of a situation; the first run is that of the policy.
#[must_use]
pub fn page(plan: &LabPlan, runs: &[LabRun]) -> String {
    let mut out = String::new();
    // Writing into a String cannot fail.
    let _ = write!(
        out,
        "<!doctype html><html lang=\"en\"><meta charset=\"utf-8\"><title>{0}</title><style>{SHEET}</style>\
         <h1>{0}</h1><p>{1}</p>",
        escaped(&plan.title),
        escaped(&plan.about)
    );
    figures(&mut out, runs);
    for run in runs {
        let _ = write!(out, "<h2>{}</h2>", escaped(&run.rule));
        for (system, looks) in plan.systems.iter().zip(&run.trace.systems) {
            let _ = write!(out, "<h3>System {}</h3>", escaped(&system.name));
            of_system(&mut out, looks, plan.duration.as_secs_f64());
        }
        for (name, looks) in run.trace.names.iter().zip(&run.trace.flows).take(SHOWN_FLOWS) {
            let _ = write!(out, "<h3>Flow {}</h3>", escaped(name));
            of_flow(&mut out, looks, plan.duration.as_secs_f64());
        }
    }
    out.push_str("</html>\n");
    out
}

fn figures(out: &mut String, runs: &[LabRun]) {
    out.push_str("<table><tr><th>bound</th>");
    for run in runs {
        let _ = write!(out, "<th>{}</th>", escaped(&run.rule));
    }
    out.push_str("</tr>");
    let Some(first) = runs.first() else { return };
    for (index, figure) in first.figures.iter().enumerate() {
        let bound = &figure.bound;
        let _ = write!(
            out,
            "<tr><td>{} of {}, from {} to {} s, {} {}",
            bound.of,
            escaped(&bound.name),
            bound.from.as_secs_f64(),
            bound.until.as_secs_f64(),
            if bound.of.is_least() { "at least" } else { "at most" },
            bound.bound
        );
        if let Some(missed) = &bound.missed {
            let _ = write!(out, "<br><small class=\"known\">{}</small>", escaped(missed));
        }
        out.push_str("</td>");
        for figure in runs.iter().filter_map(|run| run.figures.get(index)) {
            let class = if figure.holds() { "yes" } else { "no" };
            let value = figure.value.map_or_else(|| "never".to_owned(), |value| format!("{value:.3}"));
            let _ = write!(out, "<td class=\"{class}\">{value}</td>");
        }
        out.push_str("</tr>");
    }
    out.push_str("</table>");
}

fn of_system(out: &mut String, looks: &[SystemLook], seconds: f64) {
    let rate = |of: fn(&SystemLook) -> u64| {
        // A second is four looks.
        let at = |index: usize| index.checked_sub(4).map_or(0, |before| of(&looks[before]));
        (0..looks.len()).map(|index| Some((of(&looks[index]) - at(index)) as f64)).collect()
    };
    let calls = [
        Line { name: "capacity", class: "d", values: looks.iter().map(|look| Some(look.capacity)).collect() },
        Line { name: "answered", class: "b", values: rate(|look| look.answered) },
        Line { name: "refused or failed", class: "c", values: rate(|look| look.refused + look.failed) },
    ];
    picture(out, "calls in a second", &calls, seconds);
    let places = [
        Line {
            name: "in use",
            class: "b",
            values: looks.iter().map(|look| Some(f64::from(look.in_use))).collect(),
        },
        Line {
            name: "limit",
            class: "a",
            values: looks.iter().map(|look| look.limit.map(f64::from)).collect(),
        },
    ];
    picture(out, "stages in progress and open requests", &places, seconds);
}

fn of_flow(out: &mut String, looks: &[FlowLook], seconds: f64) {
    let ended = (0..looks.len()).map(|index| {
        let before = index.checked_sub(1).map_or(0, |before| looks[before].ended);
        Some(f64::from(looks[index].ended - before))
    });
    let waiting = looks.iter().map(|look| Some(f64::from(look.ready)));
    let lines = [Line { name: "stages ended in a second", class: "b", values: ended.collect() }];
    picture(out, "throughput", &lines, seconds);
    picture(out, "waiting", &[Line { name: "ready", class: "d", values: waiting.collect() }], seconds);
}

fn picture(out: &mut String, title: &str, lines: &[Line], seconds: f64) {
    let most = lines.iter().flat_map(|line| &line.values).flatten().copied().fold(1.0, f64::max);
    let _ = write!(
        out,
        "<svg viewBox=\"0 0 {WIDTH} {:.0}\" role=\"img\"><title>{title}</title>",
        HEIGHT + 2.0 * MARGIN
    );
    let (bottom, right) = (HEIGHT + MARGIN, WIDTH - 4.0);
    let _ = write!(
        out,
        "<path class=\"axis\" d=\"M{LEFT},{MARGIN}V{bottom}H{right}\"/><text x=\"2\" y=\"{:.0}\">{most:.0}</text>\
         <text x=\"2\" y=\"{bottom}\">0</text><text x=\"{LEFT}\" y=\"12\">{title}</text>\
         <text x=\"{:.0}\" y=\"{:.0}\">{seconds:.0} s</text>",
        MARGIN + 8.0,
        right - 40.0,
        bottom + 14.0
    );
    let mut key = LEFT + 260.0;
    for line in lines {
        let _ =
            write!(out, "<text class=\"key {}\" x=\"{key:.0}\" y=\"12\">{}</text>", line.class, line.name);
        key += 30.0 + 7.0 * line.name.len() as f64;
        let _ =
            write!(out, "<path class=\"{}\" d=\"{}\"/>", line.class, path(&line.values, most, right, bottom));
    }
    out.push_str("</svg>");
}

/// A gap in the values is a gap in the line.
fn path(values: &[Option<f64>], most: f64, right: f64, bottom: f64) -> String {
    let every = values.len().div_ceil(POINTS).max(1);
    let mut path = String::new();
    let mut is_down = false;
    for (index, value) in values.iter().enumerate().step_by(every) {
        let Some(value) = value else {
            is_down = false;
            continue;
        };
        let x = LEFT + (right - LEFT) * index as f64 / values.len().max(1) as f64;
        let y = bottom - HEIGHT * value / most;
        let _ = write!(path, "{}{x:.1},{y:.1}", if is_down { "L" } else { "M" });
        is_down = true;
    }
    path
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}
