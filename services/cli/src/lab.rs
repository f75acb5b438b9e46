//! `pagurus lab`: runs a situation of the laboratory, and says whether its bounds hold. Needs no server.

mod random;

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};

use anyhow::Context as _;
use clap::Args;
use pagurus_scenario::source::explain_faults;
use pagurus_workbench::lab::{self, LabFigure, LabPlan, LabRun, Situation};
use serde_json::{Value, json};

use crate::failure::{CliError, FAILED};
use crate::input;
use crate::screen::{Paint, ProgressMeter, Screen};

/// Work that is to be run.
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// File of a situation: flows, called systems, what happens to them, and bounds. With `--report`, a folder of such files
    #[arg(value_name = "FLOWS.yaml", required_unless_present = "random")]
    file: Option<PathBuf>,
    /// Generate this many random situations instead, and show the distribution of each measure over all of them
    #[arg(long, value_name = "COUNT", value_parser = clap::value_parser!(u64).range(1..=1_000_000), conflicts_with_all = ["file", "report"])]
    random: Option<u64>,
    /// Write the report with its pictures to this file; with `--random`, a page in Markdown
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Run all situations of the folder, also with other rules, and write one page in Markdown, with the pictures in
    /// `pictures/lab` beside it
    #[arg(long, value_name = "FILE.md", conflicts_with_all = ["out", "compare", "seed"])]
    report: Option<PathBuf>,
    /// Random seed, instead of the one in the file; with `--random`, the seed of the first situation (default 1)
    #[arg(long, value_name = "NUMBER")]
    seed: Option<u64>,
    /// Also run it with three fixed limits, AIMD, Gradient2 and ARC
    #[arg(long)]
    compare: bool,
}

/// Runs the situation, and fails if a bound does not hold of which nobody said so.
pub(crate) fn run(arguments: &Arguments, screen: &Screen) -> Result<(), CliError> {
    let out = arguments.out.as_deref();
    if let Some(count) = arguments.random {
        return random::run(count, arguments.seed.unwrap_or(1), arguments.compare, out, screen);
    }
    let file = arguments.file.as_deref().unwrap_or(Path::new("-"));
    if let Some(page) = &arguments.report {
        return report(file, page, screen);
    }
    let mut plan = plan_of(file)?;
    plan.seed = arguments.seed.unwrap_or(plan.seed);
    let mut runs = vec![lab::run(&plan)];
    if arguments.compare {
        runs.extend(lab::compare(&plan));
    }
    if let Some(out) = out {
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
    let runs = on_all_cores(&plans, screen, |(name, plan)| situation(name, plan))?;
    let mut situations = Vec::new();
    for (situation, picture) in runs {
        write(&pictures.join(format!("{}.svg", situation.name)), &picture)?;
        situations.push(situation);
    }
    Ok(write(page, &lab::library(&situations, PICTURES))?)
}

/// Runs simulations, one on each core at a time, and returns what came out in the order of `what`.
fn on_all_cores<T: Sync, O: Send>(
    what: &[T],
    screen: &Screen,
    run: impl Fn(&T) -> O + Sync,
) -> Result<Vec<O>, CliError> {
    let (next, meter) = (AtomicUsize::new(0), ProgressMeter::new(what.len() as u64, screen));
    let take_turns = || {
        let mut done = Vec::new();
        loop {
            let place = next.fetch_add(1, Ordering::Relaxed);
            let Some(one) = what.get(place) else { return done };
            done.push((place, run(one)));
            meter.step();
        }
    };
    let threads = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    let mut outcomes = Vec::new();
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..threads.min(what.len())).map(|_| scope.spawn(take_turns)).collect();
        for thread in threads {
            let broke = |_| anyhow::anyhow!("a simulation failed: this is a defect of the laboratory");
            outcomes.extend(thread.join().map_err(broke)?);
        }
        anyhow::Ok(())
    })?;
    meter.end();
    outcomes.sort_by_key(|(place, _)| *place);
    Ok(outcomes.into_iter().map(|(_, outcome)| outcome).collect())
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
