//! The report as one HTML page with its pictures in it: nothing is fetched. Must never compute a figure.

use std::fmt::Write as _;

use super::chart::{self, Chart, HEIGHT, WIDTH, escaped};
use super::picture::{of_flow, of_system};
use super::{LabPlan, LabRun};

/// Flows that have pictures of their own.
const SHOWN_FLOWS: usize = 6;

const SHEET: &str = "\
body{font:15px/1.45 system-ui,sans-serif;max-width:900px;margin:2em auto;padding:0 1em;color:#16202a;background:#fff}\
h2{margin-top:2em}table{border-collapse:collapse;width:100%}td,th{padding:.25em .6em;text-align:right;\
border-bottom:1px solid #d5dde4}td:first-child,th:first-child{text-align:left}.no{color:#b42318}.known{color:#9a6b00}\
svg{width:100%;height:auto;display:block}";

/// The report of a situation; the first run is that of the policy.
#[must_use]
pub fn page(plan: &LabPlan, runs: &[LabRun]) -> String {
    let mut out = String::new();
    // Writing into a String cannot fail.
    let _ = write!(
        out,
        "<!doctype html><html lang=\"en\"><meta charset=\"utf-8\"><title>{0}</title><style>{SHEET}{2}</style>\
         <h1>{0}</h1><p>{1}</p><p>{3}</p>",
        escaped(&plan.title),
        escaped(&plan.about),
        chart::SHEET,
        escaped(&plan.shows)
    );
    figures(&mut out, runs);
    for run in runs {
        let _ = write!(out, "<h2>{}</h2>", escaped(&run.rule));
        for (system, looks) in plan.systems.iter().zip(&run.trace.systems) {
            let _ = write!(out, "<h3>System {}</h3>", escaped(&system.name));
            draw(&mut out, &of_system(looks, plan.duration.as_secs_f64()));
        }
        for (name, looks) in run.trace.names.iter().zip(&run.trace.flows).take(SHOWN_FLOWS) {
            let _ = write!(out, "<h3>Flow {}</h3>", escaped(name));
            draw(&mut out, &of_flow(looks, plan.duration.as_secs_f64()));
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

fn draw(out: &mut String, charts: &[Chart]) {
    for chart in charts {
        let _ =
            write!(out, "<svg viewBox=\"0 0 {WIDTH} {HEIGHT}\" role=\"img\"><title>{}</title>", chart.scale);
        chart.draw(out, 0.0);
        out.push_str("</svg>");
    }
}
