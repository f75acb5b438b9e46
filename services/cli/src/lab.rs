//! `pagurus lab`: runs a situation of the laboratory, and says whether its bounds hold. Needs no server.

use std::path::{Path, PathBuf};

use anyhow::Context as _;
use clap::Args;
use pagurus_scenario::source::explain_faults;
use pagurus_workbench::lab::{self, LabFigure, LabPlan, LabRun, Situation};
use serde_json::{Value, json};

use crate::failure::{CliError, FAILED};
use crate::input;
use crate::screen::{Paint, Screen};

/// Situations that run at the same time, each on a thread of its own.
const AT_ONCE: usize = 4;

/// Work that is to be run.
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// The situation: flows, called systems, what happens to them, and bounds. With `--report`, the folder of many
    #[arg(value_name = "FLOWS.yaml")]
    file: PathBuf,
    /// Write the report with its pictures into this file
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Run all situations of the folder, with other rules too, and write one page in Markdown, with the pictures in
    /// `pictures/lab` beside it
    #[arg(long, value_name = "FILE.md", conflicts_with_all = ["out", "compare", "seed"])]
    report: Option<PathBuf>,
    /// Draw chance from here, whatever the file says
    #[arg(long, value_name = "NUMBER")]
    seed: Option<u64>,
    /// Run it with three fixed limits, AIMD, Gradient2 and ARC, too
    #[arg(long)]
    compare: bool,
}

/// Runs the situation, and fails if a bound does not hold of which nobody said so.
pub(crate) fn run(arguments: &Arguments, screen: &Screen) -> Result<(), CliError> {
    if let Some(page) = &arguments.report {
        return report(&arguments.file, page, screen);
    }
    let mut plan = plan_of(&arguments.file)?;
    plan.seed = arguments.seed.unwrap_or(plan.seed);
    let mut runs = vec![lab::run(&plan)];
    if arguments.compare {
        runs.extend(lab::compare(&plan));
    }
    if let Some(out) = &arguments.out {
        write(out, &lab::page(&plan, &runs))?;
    }
    if screen.json {
        screen.value(&runs.iter().map(run_value).collect::<Vec<Value>>())?;
    } else {
        screen.line(&table(&runs, screen))?;
    }
    let is_broken = |figure: &LabFigure| !figure.holds() && figure.bound.missed.is_none();
    if runs[0].figures.iter().any(is_broken) { Err(CliError::Reported(FAILED)) } else { Ok(()) }
}

fn plan_of(file: &Path) -> Result<LabPlan, CliError> {
    let text = input::text_of(file)?;
    lab::read(&text).map_err(|faults| CliError::Input(explain_faults(&text, &input::name_of(file), &faults)))
}

/// Runs all situations of a folder, and writes their results.
fn report(folder: &Path, page: &Path, screen: &Screen) -> Result<(), CliError> {
    const PICTURES: &str = "pictures/lab";
    let pictures = page.parent().unwrap_or(Path::new("")).join(PICTURES);
    std::fs::create_dir_all(&pictures)
        .with_context(|| format!("cannot make the folder `{}`", pictures.display()))?;
    let mut plans = Vec::new();
    for file in situations_in(folder)? {
        let name = file.file_stem().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        plans.push((name, plan_of(&file)?));
    }
    let mut situations = Vec::new();
    for some in plans.chunks(AT_ONCE) {
        let begun: Vec<&str> = some.iter().map(|(name, _)| name.as_str()).collect();
        screen.line(&begun.join(", "))?;
        let run = std::thread::scope(|scope| {
            let threads: Vec<_> =
                some.iter().map(|(name, plan)| scope.spawn(|| situation(name, plan))).collect();
            threads.into_iter().map(std::thread::ScopedJoinHandle::join).collect::<Vec<_>>()
        });
        for outcome in run {
            let Ok((situation, picture)) = outcome else {
                return Err(
                    anyhow::anyhow!("a simulation broke off: this is a fault of the laboratory").into()
                );
            };
            write(&pictures.join(format!("{}.svg", situation.name)), &picture)?;
            situations.push(situation);
        }
    }
    Ok(write(page, &lab::library(&situations, PICTURES))?)
}

fn situations_in(folder: &Path) -> anyhow::Result<Vec<PathBuf>> {
    let context = || format!("cannot read the folder `{}`", folder.display());
    let mut files = Vec::new();
    for entry in std::fs::read_dir(folder).with_context(context)? {
        let path = entry.with_context(context)?.path();
        files.extend(path.extension().is_some_and(|extension| extension == "yaml").then_some(path));
    }
    files.sort();
    Ok(files)
}

/// A situation with its runs, and its picture. What was seen is dropped: only figures are needed from here on.
fn situation(name: &str, plan: &LabPlan) -> (Situation, String) {
    let mut runs = vec![lab::run(plan)];
    let picture = lab::picture(plan, &runs[0]);
    if plan.learns_limits() {
        runs.extend(lab::compare(plan));
    }
    let runs = runs.into_iter().map(LabRun::without_trace).collect();
    (Situation { name: name.to_owned(), plan: plan.clone(), runs }, picture)
}

fn write(file: &Path, text: &str) -> anyhow::Result<()> {
    std::fs::write(file, text).with_context(|| format!("cannot write `{}`", file.display()))
}

fn run_value(run: &LabRun) -> Value {
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
