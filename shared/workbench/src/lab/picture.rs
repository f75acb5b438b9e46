//! Charts of a run: the capacity of a called system, its calls, its limit, and the workers that flows have. The report and the
//! pictures of the documents show the same ones. Must never compute a figure.

use std::fmt::Write as _;

use super::chart::{Chart, ChartLine, HEIGHT, SHEET, WIDTH, escaped};
use super::plan::LabPlan;
use super::trace::{FlowLook, SystemLook};
use super::{LabRun, Trace};

/// Looks at a system in a second.
const LOOKS: usize = 4;
/// Flows that a picture shows.
const SHOWN_FLOWS: usize = 4;
/// Colours of flows.
const COLOURS: [&str; SHOWN_FLOWS] = ["a", "b", "c", "d"];

/// Draws a run, as a document of its own: its first named system, and its flows where there are several or where no system
/// bounds them.
#[must_use]
pub fn picture(plan: &LabPlan, run: &LabRun) -> String {
    let seconds = plan.duration.as_secs_f64();
    let mut charts = Vec::new();
    let systems = plan.systems.iter().zip(&run.trace.systems);
    if let Some((_, looks)) = systems.into_iter().find(|_| plan.learns_limits()) {
        charts.extend(of_system(looks, seconds));
    }
    if plan.flows.iter().map(|flow| flow.count).sum::<u32>() > 1 || charts.is_empty() {
        charts.push(of_flows(plan, &run.trace));
    }
    let below_title = 26.0;
    let height = below_title + HEIGHT * charts.len() as f64;
    let mut out = String::new();
    // Writing into a String cannot fail.
    let _ = write!(
        out,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height:.0}\" width=\"{WIDTH}\" \
         height=\"{height:.0}\" role=\"img\"><title>{0}</title><style>{SHEET}.title{{font-size:14px;font-weight:600;\
         fill:#16202a}}</style><rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>\
         <text class=\"title\" x=\"4\" y=\"16\">{0}</text>",
        escaped(&plan.title)
    );
    for (at, chart) in charts.iter().enumerate() {
        chart.draw(&mut out, below_title + HEIGHT * at as f64);
    }
    out.push_str("</svg>\n");
    out
}

/// Calls of a system in a second, and what is in use beside its limit.
pub(super) fn of_system(looks: &[SystemLook], seconds: f64) -> [Chart; 2] {
    let line = |name: &str, class, of: &dyn Fn(&SystemLook) -> Option<f64>| ChartLine {
        name: name.to_owned(),
        class,
        values: looks.iter().map(of).collect(),
    };
    let rate = |name: &str, class, of: fn(&SystemLook) -> u64| {
        let at = |index: usize| index.checked_sub(LOOKS).map_or(0, |before| of(&looks[before]));
        let values = (0..looks.len()).map(|index| Some((of(&looks[index]) - at(index)) as f64));
        ChartLine { name: name.to_owned(), class, values: values.collect() }
    };
    let calls = vec![
        line("capacity", "d", &|look| Some(look.capacity)),
        rate("answered", "b", |look| look.answered),
        rate("refused or failed", "c", |look| look.refused + look.failed),
    ];
    let places = vec![
        line("in use", "b", &|look| Some(f64::from(look.in_use))),
        line("limit", "e", &|look| look.limit.map(f64::from)),
    ];
    [
        Chart { scale: "calls in a second", lines: calls, seconds },
        Chart { scale: "stages in progress and open requests", lines: places, seconds },
    ]
}

/// Workers that flows have: of each entry of the plan, the first and the last.
fn of_flows(plan: &LabPlan, trace: &Trace) -> Chart {
    let mut shown = Vec::new();
    let mut first = 0;
    for flow in &plan.flows {
        let count = flow.count as usize;
        shown.push(first);
        if count > 1 {
            shown.push(first + count - 1);
        }
        first += count;
    }
    let seconds = plan.duration.as_secs_f64();
    let lines = shown.into_iter().take(SHOWN_FLOWS).zip(COLOURS).map(|(flow, class)| {
        let looks = trace.flows.get(flow).map_or(&[][..], |looks| looks);
        let name = trace.names.get(flow).cloned().unwrap_or_default();
        // Time is counted when a stage ends: a short window would show the ends of long stages.
        let window = (seconds / 20.0).clamp(1.0, 60.0) as usize;
        ChartLine { name, class, values: gained(looks, window, |look| f64::from(look.worked)) }
    });
    Chart { scale: "workers in use", lines: lines.collect(), seconds }
}

/// Stages of a flow that ended in a second, and its orders that were ready.
pub(super) fn of_flow(looks: &[FlowLook], seconds: f64) -> [Chart; 2] {
    let ended = ChartLine {
        name: "ended".to_owned(),
        class: "b",
        values: gained(looks, 1, |look| f64::from(look.ended)),
    };
    let waiting = looks.iter().map(|look| Some(f64::from(look.ready)));
    let waiting = ChartLine { name: "ready".to_owned(), class: "a", values: waiting.collect() };
    [
        Chart { scale: "stages in a second", lines: vec![ended], seconds },
        Chart { scale: "orders that wait", lines: vec![waiting], seconds },
    ]
}

/// Growth of a sum in a second, over the last `window` seconds.
fn gained(looks: &[FlowLook], window: usize, of: impl Fn(&FlowLook) -> f64) -> Vec<Option<f64>> {
    let gain = |index: usize| {
        let before = index.checked_sub(window).map_or(0.0, |before| of(&looks[before]));
        Some((of(&looks[index]) - before) / window.min(index + 1) as f64)
    };
    (0..looks.len()).map(gain).collect()
}
