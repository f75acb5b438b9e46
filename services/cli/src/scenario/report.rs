//! Outcome of the files of tests that `pagurus scenario test` runs.

use std::sync::Arc;

use pagurus_domain::document::{Fault, Position};
use pagurus_scenario::Scenario;
use pagurus_workbench::trial::TrialOutcome;
use serde::Deserialize;
use serde_json::Value;

/// Outcome of one file.
pub(super) enum Report {
    /// The tests of the file were run.
    Run { file: String, text: String, scenario: Arc<Scenario>, outcomes: Vec<TrialOutcome> },
    /// The tests of the file were run by a server, by the rules that hold there.
    Tried { file: String, text: String, tests: Vec<TriedTest> },
    /// The file, or the scenario that it names, cannot be read.
    Refused { file: String, text: String, faults: Vec<Fault> },
}

/// A test that a server has run.
#[derive(Debug, Deserialize)]
pub(super) struct TriedTest {
    pub test: String,
    pub passed: bool,
    pub duration: String,
    #[serde(default)]
    pub faults: Vec<TriedFault>,
    #[serde(default)]
    pub notes: Vec<TriedFault>,
    #[serde(default)]
    pub story: Vec<TriedMoment>,
}

/// A fault or a note of a test, with its place in the file.
#[derive(Debug, Deserialize)]
pub(super) struct TriedFault {
    message: String,
    hint: Option<String>,
    line: Option<u32>,
    column: Option<u32>,
}

/// An event of a test.
#[derive(Debug, Deserialize)]
pub(super) struct TriedMoment {
    pub after: String,
    pub text: String,
}

impl TriedTest {
    /// Reads the tests of an answer.
    pub fn read_all(tests: Vec<Value>) -> Result<Vec<Self>, serde_json::Error> {
        tests.into_iter().map(serde_json::from_value).collect()
    }

    /// Faults, as they are shown beside the text.
    pub fn faults(&self) -> Vec<Fault> {
        self.faults.iter().map(TriedFault::to_fault).collect()
    }
}

impl TriedFault {
    pub fn to_fault(&self) -> Fault {
        Fault {
            at: self.line.zip(self.column).map(|(line, column)| Position { line, column }),
            pointer: String::new(),
            message: self.message.clone(),
            hint: self.hint.clone(),
        }
    }
}
