//! `pagurus lab`: runs a situation of the laboratory, and says whether its bounds hold. Needs no server.

use std::path::PathBuf;

use anyhow::Context as _;
use clap::Args;
use pagurus_domain::lab::{self, LabFigure, LabRun};
use pagurus_domain::scenario::source::explain_faults;
use serde_json::{Value, json};

use crate::failure::{FAILED, Failure};
use crate::input;
use crate::screen::{Paint, Screen};

/// Work that is to be run.
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// The situation: flows, called systems, what happens to them, and bounds
    #[arg(value_name = "FLOWS.yaml")]
    file: PathBuf,
    /// Write the report with its pictures into this file
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Run it with three fixed limits, AIMD, Gradient2 and ARC, too
    #[arg(long)]
    compare: bool,
}

/// Runs the situation, and fails if a bound does not hold of which nobody said so.
pub(crate) fn run(arguments: &Arguments, screen: &Screen) -> Result<(), Failure> {
    let text = input::text_of(&arguments.file)?;
    let plan = lab::read(&text)
        .map_err(|faults| Failure::Input(explain_faults(&text, &input::name_of(&arguments.file), &faults)))?;
    let mut runs = vec![lab::run(&plan)];
    if arguments.compare {
        runs.extend(lab::compare(&plan));
    }
    if let Some(out) = &arguments.out {
        let page = lab::page(&plan, &runs);
        std::fs::write(out, page).with_context(|| format!("cannot write `{}`", out.display()))?;
    }
    if screen.json {
        screen.value(&runs.iter().map(told).collect::<Vec<Value>>())?;
    } else {
        screen.line(&table(&runs, screen))?;
    }
    let is_broken = |figure: &LabFigure| !figure.holds() && figure.bound.missed.is_none();
    if runs[0].figures.iter().any(is_broken) { Err(Failure::Reported(FAILED)) } else { Ok(()) }
}

fn told(run: &LabRun) -> Value {
    let figures = run.figures.iter().map(|figure| {
        let bound = &figure.bound;
        json!({
            "measure": bound.of.as_str(), "of": bound.name, "fromSeconds": bound.from.as_secs_f64(),
            "untilSeconds": bound.until.as_secs_f64(), "bound": bound.bound, "value": figure.value,
            "holds": figure.holds(), "missed": bound.missed,
        })
    });
    json!({"rule": run.rule, "figures": figures.collect::<Vec<Value>>()})
}

fn table(runs: &[LabRun], screen: &Screen) -> String {
    let mut header = vec!["measure", "of", "seconds", "bound"];
    header.extend(runs.iter().map(|run| &*run.rule));
    let rows: Vec<Vec<String>> = (0..runs[0].figures.len())
        .map(|index| {
            let bound = &runs[0].figures[index].bound;
            let sign = if bound.of.is_least() { "≥" } else { "≤" };
            let mut row = vec![
                bound.of.to_string(),
                bound.name.clone(),
                format!("{}–{}", bound.from.as_secs_f64(), bound.until.as_secs_f64()),
                format!("{sign} {}", bound.bound),
            ];
            row.extend(runs.iter().map(|run| shown(&run.figures[index], screen)));
            row
        })
        .collect();
    screen.table(&header, &rows)
}

fn shown(figure: &LabFigure, screen: &Screen) -> String {
    let value = figure.value.map_or_else(|| "never".to_owned(), |value| format!("{value:.3}"));
    let paint = if figure.holds() { Paint::Good } else { Paint::Bad };
    screen.paint(paint, &value)
}
