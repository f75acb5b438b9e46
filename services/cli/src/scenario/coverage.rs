//! `pagurus scenario test --coverage`: what the tests of each scenario reach, all files of tests of one scenario together.

use std::collections::BTreeMap;
use std::sync::Arc;

use pagurus_scenario::Scenario;
use pagurus_workbench::trial::{Coverage, CoveredParts, TrialOutcome};

use super::report::Report;
use crate::screen::{Screen, harmless};

/// Coverage of each scenario, by the name of its file.
pub(super) type ByScenario = BTreeMap<String, Coverage>;

/// Coverage by all tests that were run.
pub(super) fn of(reports: &[Report]) -> ByScenario {
    let mut tested: BTreeMap<String, (&Arc<Scenario>, Vec<&TrialOutcome>)> = BTreeMap::new();
    for report in reports {
        if let Report::Run { scenario, outcomes, .. } = report {
            tested.entry(file_of(scenario)).or_insert_with(|| (scenario, Vec::new())).1.extend(outcomes);
        }
    }
    tested.into_iter().map(|(file, (scenario, outcomes))| (file, Coverage::of(scenario, outcomes))).collect()
}

/// The name of the file of a scenario.
pub(super) fn file_of(scenario: &Scenario) -> String {
    scenario.file.clone().unwrap_or_else(|| scenario.name.clone())
}

/// Returns the coverage for people: a table, and what is missed.
pub(super) fn summary(covered: &ByScenario, screen: &Screen) -> String {
    let count = |parts: &CoveredParts| format!("{} of {}", parts.reached, parts.total());
    let rows: Vec<[String; 4]> = covered
        .iter()
        .map(|(file, coverage)| {
            let Coverage { states, transitions, error_branches, .. } = coverage;
            [harmless(file), count(states), count(transitions), count(error_branches)]
        })
        .collect();
    let mut lines = vec![screen.table(&["SCENARIO", "STATES", "TRANSITIONS", "ERROR BRANCHES"], &rows)];
    for (file, coverage) in covered {
        let missed = coverage.states.missed.iter().chain(&coverage.transitions.missed);
        let missed = missed.chain(&coverage.operations.missed);
        lines.extend(missed.map(|part| harmless(&format!("{file}: no test reaches {part}"))));
    }
    lines.join("\n")
}

/// A line for each scenario of which less is reached than wanted.
pub(super) fn too_little(covered: &ByScenario, least: usize) -> Vec<String> {
    let poor = covered.iter().filter(|(_, coverage)| coverage.least() < least);
    poor.map(|(file, coverage)| {
        harmless(&format!("{file}: {} % is reached, {least} % is wanted", coverage.least()))
    })
    .collect()
}
