//! `pagurus scenario test`: finds the tests, runs them, and reports the result of each.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::Context as _;
use pagurus_domain::document::Fault;
use pagurus_scenario::Scenario;
use pagurus_scenario::deployment::Deployment;
use pagurus_scenario::script::Scripting;
use pagurus_scenario::source::{explain_faults, read_with};
use pagurus_wire::problem::{Problem, Type};
use pagurus_wire::scenarios::TriedView;
use pagurus_workbench::trial::{self, TrialOutcome, spelled_duration};
use serde_json::{Value, json};

use super::coverage::{self, ByScenario};
use super::files::{files_in, holds_tests};
use super::library::Libraries;
use super::report::{Report, TriedFault, TriedTest};
use crate::client::ApiClient;
use crate::failure::{CliError, FAILED, faults_of};
use crate::input;
use crate::screen::{Paint, Screen, harmless};

/// Parts of the report that are wanted besides what failed.
#[derive(Clone, Debug, Default, clap::Args)]
pub(crate) struct TrialArguments {
    /// Also show what happened in tests that passed
    #[arg(long)]
    story: bool,
    /// Show which states, transitions and error branches of each scenario no test reaches
    #[arg(long)]
    coverage: bool,
    /// Fail if the tests of a scenario reach less than this percentage of its states, transitions or error branches
    #[arg(long, value_name = "PERCENT", requires = "coverage", value_parser = clap::value_parser!(u8).range(1..=100))]
    min: Option<u8>,
}

/// Runs all tests of all files, even if the first ones fail.
pub(super) fn run(
    paths: &[PathBuf],
    wanted: &TrialArguments,
    deployment: &Deployment,
    screen: &Screen,
) -> Result<(), CliError> {
    let files = files_of_tests(paths)?;
    let reports = files.iter().map(|path| try_file(path, deployment)).collect::<Result<Vec<_>, _>>()?;
    show(&reports, wanted, screen)
}

/// Has a server run all tests of all files, by the rules for errors and the bounds that hold there.
pub(super) async fn run_there(
    paths: &[PathBuf],
    wanted: &TrialArguments,
    client: &ApiClient,
    screen: &Screen,
) -> Result<(), CliError> {
    if wanted.coverage {
        return Err(CliError::Usage("--coverage needs tests that run here: remove --server".to_owned()));
    }
    let mut reports = Vec::new();
    for path in files_of_tests(paths)? {
        reports.push(try_file_there(&path, client).await?);
    }
    show(&reports, wanted, screen)
}

fn files_of_tests(paths: &[PathBuf]) -> Result<Vec<PathBuf>, CliError> {
    let files = files_in(paths, holds_tests)?;
    if files.is_empty() {
        let message = "no tests found: names of their files end in `.test.yaml`";
        return Err(CliError::Input(message.to_owned()));
    }
    Ok(files)
}

fn show(reports: &[Report], wanted: &TrialArguments, screen: &Screen) -> Result<(), CliError> {
    let covered = if wanted.coverage { coverage::of(reports) } else { ByScenario::new() };
    let too_little = wanted.min.map_or_else(Vec::new, |least| coverage::too_little(&covered, least.into()));
    if screen.json {
        let values: Vec<Value> = reports.iter().map(|report| value_of(report, &covered)).collect();
        screen.value(&values)?;
    } else {
        screen.line(&summary(reports, wanted.story, screen))?;
        if wanted.coverage {
            screen.line(&format!("\n{}", coverage::summary(&covered, screen)))?;
        }
        for line in &too_little {
            screen.line(&screen.paint(Paint::Bad, line))?;
        }
    }
    let good = |report: &Report| match report {
        Report::Run { outcomes, .. } => outcomes.iter().all(TrialOutcome::passed),
        Report::Tried { tests, .. } => tests.iter().all(|test| test.passed),
        Report::Refused { .. } => false,
    };
    if reports.iter().all(good) && too_little.is_empty() { Ok(()) } else { Err(CliError::Reported(FAILED)) }
}

fn try_file(path: &Path, deployment: &Deployment) -> Result<Report, CliError> {
    let (file, text) = (input::name_of(path), input::text_of(path)?);
    let tests = match trial::read(&text) {
        Ok(tests) => tests,
        Err(faults) => return Ok(Report::Refused { file, text, faults }),
    };
    let beside = scenario_named(path, tests.scenario.as_deref());
    let source = input::text_of(&beside)?;
    let bounds = &deployment.bounds;
    let mut libraries = Libraries::of(&[]);
    let library = libraries.beside(&beside, &source)?;
    let scenario = match read_with(&source, library, &Scripting::new(bounds.script.clone()), bounds) {
        Ok(scenario) => Arc::new(Scenario { file: Some(input::name_of(&beside)), ..scenario }),
        Err(faults) => {
            return Ok(Report::Refused { file: input::name_of(&beside), text: source, faults });
        }
    };
    let outcomes = try_all(&scenario, deployment, &tests.trials);
    Ok(Report::Run { file, text, scenario, outcomes })
}

/// Has a server run the tests of a file. What is wrong with a text is shown with its places.
async fn try_file_there(path: &Path, client: &ApiClient) -> Result<Report, CliError> {
    let (file, text) = (input::name_of(path), input::text_of(path)?);
    let named = match trial::read(&text) {
        Ok(tests) => tests.scenario,
        Err(faults) => return Ok(Report::Refused { file, text, faults }),
    };
    let beside = scenario_named(path, named.as_deref());
    let source = input::text_of(&beside)?;
    let mut body = json!({"scenario": source, "tests": text});
    let mut libraries = Libraries::of(&[]);
    let operations = libraries.beside(&beside, &source)?.texts();
    if !operations.is_empty() {
        body["operations"] = json!(operations);
    }
    match client.post("/v1/scenarios/test", &body).await {
        Ok(reply) => {
            let tried: TriedView = reply.read()?;
            let tests = TriedTest::read_all(tried.tests)
                .context("the server reports no tests; is it an older version?")?;
            Ok(Report::Tried { file, text, tests })
        }
        Err(CliError::Problem(problem)) if !problem.errors.is_empty() => {
            let is_of_tests = problem.errors.iter().all(|error| error.pointer.starts_with("/tests"));
            let (file, text) = if is_of_tests { (file, text) } else { (input::name_of(&beside), source) };
            Ok(Report::Refused { file, text, faults: faults_of(&problem) })
        }
        Err(failure) => Err(failure),
    }
}

fn try_all(scenario: &Arc<Scenario>, deployment: &Deployment, trials: &[trial::Trial]) -> Vec<TrialOutcome> {
    trials.iter().map(|one| trial::run(scenario, deployment, one, &mut || true)).collect()
}

/// The scenario that a file of tests is for: the one that it names, or the one that is named like it.
pub(super) fn scenario_of(tests: &Path) -> PathBuf {
    let named = input::text_of(tests).ok().and_then(|text| trial::read(&text).ok()?.scenario);
    scenario_named(tests, named.as_deref())
}

fn scenario_named(tests: &Path, named: Option<&str>) -> PathBuf {
    match named {
        Some(name) => tests.with_file_name(name),
        None => {
            let own = tests.file_name().unwrap_or_default().to_string_lossy();
            tests.with_file_name(own.replacen(".test.", ".", 1))
        }
    }
}

fn value_of(report: &Report, covered: &ByScenario) -> Value {
    match report {
        Report::Run { file, outcomes, scenario, .. } => {
            let passed = outcomes.iter().all(TrialOutcome::passed);
            let tests: Vec<Value> = outcomes.iter().map(TrialOutcome::to_value).collect();
            let mut value = json!({"file": file, "passed": passed, "tests": tests});
            if let Some(coverage) = covered.get(&coverage::file_of(scenario)) {
                value["coverage"] = coverage.to_value();
            }
            value
        }
        Report::Tried { file, tests, .. } => {
            let passed = tests.iter().all(|test| test.passed);
            let tests: Vec<Value> = tests
                .iter()
                .map(|test| json!({"test": test.test, "passed": test.passed, "duration": test.duration}))
                .collect();
            json!({"file": file, "passed": passed, "tests": tests})
        }
        Report::Refused { file, faults, .. } => {
            let faults = Problem::of_faults(Type::Invalid, faults).errors;
            json!({"file": file, "passed": false, "faults": faults})
        }
    }
}

fn summary(reports: &[Report], story: bool, screen: &Screen) -> String {
    let mut rows = Vec::new();
    let (mut notes, mut details) = (Vec::new(), Vec::new());
    let (mut passed, mut failed) = (0, 0);
    for report in reports {
        match report {
            Report::Refused { file, text, faults } => {
                failed += 1;
                rows.push(["fail".to_owned(), file.clone(), "cannot be read".to_owned(), String::new()]);
                details.push(explain_faults(text, file, faults));
            }
            Report::Run { .. } | Report::Tried { .. } => {
                for test in shown_tests(report) {
                    *(if test.passed { &mut passed } else { &mut failed }) += 1;
                    let word = if test.passed { "success" } else { "fail" };
                    rows.push([
                        word.to_owned(),
                        test.file.to_owned(),
                        test.name.to_owned(),
                        test.lasted.clone(),
                    ]);
                    notes.extend(test.notes.iter().map(|note| noted(test.file, note)));
                    if !test.passed || story {
                        details.push(detail(&test));
                    }
                }
            }
        }
    }
    let mut parts = vec![screen.table(&["STATUS", "FILE", "TEST", "TIME"], &rows)];
    if !notes.is_empty() {
        parts.push(notes.join("\n"));
    }
    parts.extend(details);
    let paint = if failed == 0 { Paint::Good } else { Paint::Bad };
    parts.push(screen.paint(paint, &format!("passed: {passed}, failed: {failed}")));
    parts.join("\n\n")
}

/// Returns a note as one line: what is no fault must not hide what is.
fn noted(file: &str, note: &Fault) -> String {
    let place = note.at.map_or_else(String::new, |at| format!(":{at}"));
    harmless(&format!("note: {file}{place}: {}", note.message))
}

/// A test as it is shown, wherever it was run.
struct ShownTest<'a> {
    file: &'a str,
    text: &'a str,
    name: &'a str,
    passed: bool,
    lasted: String,
    faults: Vec<Fault>,
    notes: Vec<Fault>,
    story: Vec<String>,
}

fn shown_tests(report: &Report) -> Vec<ShownTest<'_>> {
    match report {
        Report::Run { file, text, outcomes, .. } => {
            let shown = outcomes.iter().map(|outcome| ShownTest {
                file,
                text,
                name: &outcome.name,
                passed: outcome.passed(),
                lasted: spelled_duration(outcome.duration),
                faults: outcome.faults.clone(),
                notes: outcome.notes.clone(),
                story: outcome.story.iter().map(ToString::to_string).collect(),
            });
            shown.collect()
        }
        Report::Tried { file, text, tests } => {
            let shown = tests.iter().map(|test| ShownTest {
                file,
                text,
                name: &test.test,
                passed: test.passed,
                lasted: test.duration.clone(),
                faults: test.faults(),
                notes: test.notes.iter().map(TriedFault::to_fault).collect(),
                story: test
                    .story
                    .iter()
                    .map(|moment| format!("+{}  {}", moment.after, moment.text))
                    .collect(),
            });
            shown.collect()
        }
        Report::Refused { .. } => Vec::new(),
    }
}

/// Differences from what was expected, and the story so far.
fn detail(test: &ShownTest<'_>) -> String {
    let mut lines = vec![format!("{}: {}", harmless(test.file), harmless(test.name))];
    if !test.passed {
        lines.push(explain_faults(test.text, test.file, &test.faults));
    }
    lines.extend(test.story.iter().map(|moment| format!("  {}", harmless(moment))));
    lines.join("\n")
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test may stop at the first surprise")]
mod tests;
