//! Outcome of the files of tests that `pagurus scenario test` runs.

use std::sync::Arc;

use pagurus_domain::document::Fault;
use pagurus_scenario::Scenario;
use pagurus_workbench::trial::TrialOutcome;

/// Outcome of one file.
pub(super) enum Report {
    /// The tests of the file were run.
    Run { file: String, text: String, scenario: Arc<Scenario>, outcomes: Vec<TrialOutcome> },
    /// The file, or the scenario that it names, cannot be read.
    Refused { file: String, text: String, faults: Vec<Fault> },
}
