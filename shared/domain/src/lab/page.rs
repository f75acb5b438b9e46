//! The report as one HTML page.
use super::{LabPlan, LabRun};

/// The report as one HTML page, with its pictures in it.
#[must_use]
pub fn page(_plan: &LabPlan, _runs: &[LabRun]) -> String {
    String::new()
}
