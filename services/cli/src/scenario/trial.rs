//! `pagurus scenario test`: finds the tests, runs them, and reports the result of each.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use pagurus_domain::document::Fault;
use pagurus_scenario::Scenario;
use pagurus_scenario::deployment::Deployment;
use pagurus_scenario::script::Scripting;
use pagurus_scenario::source::{explain_faults, read};
use pagurus_wire::problem::{Problem, Type};
use pagurus_workbench::trial::{self, TrialOutcome, spelled_duration};
use serde_json::{Value, json};

use super::coverage::{self, ByScenario};
use super::files::{files_in, holds_tests};
use super::report::Report;
use crate::failure::{CliError, FAILED};
use crate::input;
use crate::screen::{Paint, Screen, harmless};

/// Parts of the report that are wanted besides what failed.
#[derive(Clone, Debug, Default, clap::Args)]
pub(crate) struct TrialArguments {
    /// Tell what happened in tests that passed, too
    #[arg(long)]
    story: bool,
    /// Tell which states, transitions and error branches of each scenario no test reaches
    #[arg(long)]
    coverage: bool,
    /// Fail where the tests of a scenario reach less of its states, transitions or error branches: per cent
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
    let files = files_in(paths, holds_tests)?;
    if files.is_empty() {
        let message = "there are no files of tests: their names end in `.test.yaml`";
        return Err(CliError::Input(message.to_owned()));
    }
    let reports: Vec<Report> =
        files.iter().map(|path| try_file(path, deployment)).collect::<Result<_, _>>()?;
    let covered = if wanted.coverage { coverage::of(&reports) } else { ByScenario::new() };
    let too_little = wanted.min.map_or_else(Vec::new, |least| coverage::too_little(&covered, least.into()));
    if screen.json {
        let values: Vec<Value> = reports.iter().map(|report| value_of(report, &covered)).collect();
        screen.value(&values)?;
    } else {
        screen.line(&summary(&reports, wanted.story, screen))?;
        if wanted.coverage {
            screen.line(&format!("\n{}", coverage::summary(&covered, screen)))?;
        }
        for line in &too_little {
            screen.line(&screen.paint(Paint::Bad, line))?;
        }
    }
    let good = |report: &Report| match report {
        Report::Run { outcomes, .. } => outcomes.iter().all(TrialOutcome::passed),
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
    let beside = match &tests.scenario {
        Some(name) => path.parent().unwrap_or(Path::new("")).join(name),
        None => scenario_beside(path),
    };
    let source = input::text_of(&beside)?;
    let bounds = &deployment.bounds;
    let scenario = match read(&source, &Scripting::new(bounds.script.clone()), bounds) {
        Ok(scenario) => Arc::new(Scenario { file: Some(input::name_of(&beside)), ..scenario }),
        Err(faults) => {
            return Ok(Report::Refused { file: input::name_of(&beside), text: source, faults });
        }
    };
    let outcomes = try_all(&scenario, deployment, &tests.trials);
    Ok(Report::Run { file, text, scenario, outcomes })
}

fn try_all(scenario: &Arc<Scenario>, deployment: &Deployment, trials: &[trial::Trial]) -> Vec<TrialOutcome> {
    trials.iter().map(|one| trial::run(scenario, deployment, one, &mut || true)).collect()
}

/// `x.test.yaml` tests `x.yaml`, unless it says otherwise.
fn scenario_beside(path: &Path) -> PathBuf {
    let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    path.with_file_name(name.replacen(".test.", ".", 1))
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
            Report::Run { file, text, outcomes, .. } => {
                for outcome in outcomes {
                    let good = outcome.passed();
                    if good {
                        passed += 1
                    } else {
                        failed += 1
                    }
                    let word = if good { "success" } else { "fail" };
                    let lasted = spelled_duration(outcome.duration);
                    rows.push([word.to_owned(), file.clone(), outcome.name.clone(), lasted]);
                    notes.extend(outcome.notes.iter().map(|note| noted(file, note)));
                    if !good || story {
                        details.push(detail(file, text, outcome));
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

/// Differences from what was expected, and the story so far.
fn detail(file: &str, text: &str, outcome: &TrialOutcome) -> String {
    let mut lines = vec![format!("{}: {}", harmless(file), harmless(&outcome.name))];
    if !outcome.passed() {
        lines.push(explain_faults(text, file, &outcome.faults));
    }
    lines.extend(outcome.story.iter().map(|moment| format!("  {}", harmless(&moment.to_string()))));
    lines.join("\n")
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test may stop at the first surprise")]
mod tests {
    use super::*;

    const SCENARIO: &str = "scenario: s\ninitialState: a\nstates: {a: {actions: [log: x], on: {success: done}}, done: {kind: terminal}}\n";
    const TESTS: &str =
        "tests:\n  - {test: good, expect: {status: success}}\n  - {test: bad, expect: {path: [a]}}\n";

    fn reports(tests: &str) -> Vec<Report> {
        let deployment = Deployment::default();
        let scripting = Scripting::new(deployment.bounds.script.clone());
        let scenario = Arc::new(read(SCENARIO, &scripting, &deployment.bounds).unwrap());
        let file = trial::read(tests).unwrap();
        let outcomes = try_all(&scenario, &deployment, &file.trials);
        vec![Report::Run { file: "s.test.yaml".to_owned(), text: tests.to_owned(), scenario, outcomes }]
    }

    #[test]
    fn scn_13_a_failed_test_tells_what_was_expected_and_the_story() {
        let shown = summary(&reports(TESTS), false, &Screen::plain());
        for part in [
            "success  s.test.yaml  good  0s",
            "fail     s.test.yaml  bad   0s",
            "error: at place 2 of the path, expected the end, but it is `done`",
            "--> s.test.yaml:3:32",
            "  +0s  `a` success to `done`",
            "passed: 1, failed: 1",
        ] {
            assert!(shown.contains(part), "{part} in\n{shown}");
        }
        assert_eq!(shown.matches("+0s  the order begins").count(), 1, "{shown}");
        let value = value_of(&reports(TESTS)[0], &ByScenario::new());
        assert_eq!((&value["passed"], &value["tests"][0]["passed"]), (&json!(false), &json!(true)));
    }

    #[test]
    fn scn_13_coverage_is_reported_and_may_be_demanded() {
        let reports = reports(TESTS);
        let covered = coverage::of(&reports);
        assert_eq!(
            coverage::summary(&covered, &Screen::plain()),
            "SCENARIO  STATES  TRANSITIONS  ERROR BRANCHES\ns         2 of 2  1 of 1       0 of 0"
        );
        assert_eq!(coverage::too_little(&covered, 100), Vec::<String>::new());
        assert_eq!(value_of(&reports[0], &covered)["coverage"]["states"]["reached"], 2);
        let none = vec![match &reports[0] {
            Report::Run { scenario, .. } => Report::Run {
                file: "s.test.yaml".to_owned(),
                text: String::new(),
                scenario: scenario.clone(),
                outcomes: Vec::new(),
            },
            Report::Refused { .. } => panic!("it was run"),
        }];
        let covered = coverage::of(&none);
        let text = coverage::summary(&covered, &Screen::plain());
        assert!(text.ends_with("s: no test reaches `a` success to `done`"), "{text}");
        assert_eq!(coverage::too_little(&covered, 50), ["s: 0 % is reached, 50 % is wanted"]);
    }

    #[test]
    fn scn_13_an_answer_that_nothing_asked_for_is_a_line_of_the_report() {
        let tests =
            "tests:\n  - test: good\n    answers: [{http: 'http://h/a'}]\n    expect: {status: success}\n";
        let shown = summary(&reports(tests), false, &Screen::plain());
        assert!(shown.contains("\n\nnote: s.test.yaml:3:15: nothing asked for this answer\n\n"), "{shown}");
        assert!(shown.ends_with("passed: 1, failed: 0"), "{shown}");
    }

    #[test]
    fn scn_13_every_example_passes_its_tests() {
        let folder = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../scenarios"));
        let files = files_in(&[folder.to_owned()], holds_tests).unwrap();
        assert!(files.len() >= 20, "{files:?}");
        let reports: Vec<Report> =
            files.iter().map(|path| try_file(path, &Deployment::default()).unwrap()).collect();
        let shown = summary(&reports, false, &Screen::plain());
        assert!(shown.contains("failed: 0") && !shown.contains("note: "), "{shown}");
        for (report, path) in reports.iter().zip(&files) {
            let Report::Run { outcomes, .. } = report else { panic!("{}", path.display()) };
            assert!(outcomes.len() >= 2, "{}: a good way and a failure", path.display());
            let text = std::fs::read_to_string(scenario_beside(path)).unwrap();
            let lines = text.lines().take_while(|line| line.starts_with("# ")).count();
            assert!(lines >= 2, "{}: say in two lines what it shows", path.display());
        }
        let all = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
        let scenarios = all.filter(|path| path.is_file()).count() - files.len();
        assert_eq!(scenarios, files.len(), "every scenario has its tests");
    }

    #[test]
    fn scn_13_a_file_of_tests_stands_beside_its_scenario() {
        assert_eq!(scenario_beside(Path::new("a/b.test.yaml")), Path::new("a/b.yaml"));
    }
}
