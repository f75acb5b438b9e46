//! Trials of scenarios: what is shown of their stories.

use pagurus_scenario::Library;

use super::*;

const SCENARIO: &str = "scenario: s\ninitialState: a\nstates: {a: {actions: [log: x], on: {success: done}}, done: {kind: terminal}}\n";
const TESTS: &str =
    "tests:\n  - {test: good, expect: {status: success}}\n  - {test: bad, expect: {path: [a]}}\n";

fn reports(tests: &str) -> Vec<Report> {
    let deployment = Deployment::default();
    let scripting = Scripting::new(deployment.bounds.script.clone());
    let scenario =
        Arc::new(read_with(SCENARIO, &Library::default(), &scripting, &deployment.bounds).unwrap());
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
fn scn_13_a_test_that_a_server_has_run_is_shown_like_one_that_ran_here() {
    let here = reports(TESTS);
    let Report::Run { file, text, outcomes, .. } = &here[0] else { panic!("it was run") };
    let tests = TriedTest::read_all(outcomes.iter().map(TrialOutcome::to_value).collect()).unwrap();
    let there = [Report::Tried { file: file.clone(), text: text.clone(), tests }];
    let screen = Screen::plain();
    assert_eq!(summary(&there, true, &screen), summary(&here, true, &screen));
    assert_eq!(value_of(&there[0], &ByScenario::new())["tests"][1]["passed"], false);
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
        Report::Tried { .. } | Report::Refused { .. } => panic!("it was run"),
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
        let text = std::fs::read_to_string(scenario_of(path)).unwrap();
        let lines = text.lines().take_while(|line| line.starts_with("# ")).count();
        assert!(lines >= 2, "{}: say in two lines what it shows", path.display());
    }
    let all = files_in(&[folder.to_owned()], super::super::files::is_scenario).unwrap();
    let scenarios = all.iter().filter(|path| !path.starts_with(folder.join("lab"))).count();
    assert_eq!(scenarios, files.len(), "every scenario has its tests");
}

#[test]
fn scn_13_a_file_of_tests_stands_beside_its_scenario() {
    assert_eq!(scenario_of(Path::new("a/b.test.yaml")), Path::new("a/b.yaml"));
}
