//! Bodies of `/v1/doctor`.

use jiff::Timestamp;
use pagurus_domain::{diagnosis, time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Verdict over an installation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct DoctorView {
    /// Time at which it was checked.
    #[serde(serialize_with = "time::serialize")]
    pub at: Timestamp,
    /// `ok` if nothing is wrong; otherwise `warning` or `error`, the worst of the findings.
    #[schemars(extend("enum" = ["ok", "warning", "error"]))]
    pub verdict: String,
    /// Everything that is wrong, errors first.
    pub findings: Vec<DoctorFinding>,
    /// Names of all checks.
    pub checks: Vec<String>,
}

/// Something that is wrong with an installation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DoctorFinding {
    /// Name of the check that found it.
    #[schemars(extend("enum" = diagnosis::reviewed()))]
    pub check: String,
    /// `warning`: it works, and will not for long, or not as fast as it could; `error`: something does not work, or what was
    /// promised does not hold.
    #[schemars(extend("enum" = ["warning", "error"]))]
    pub severity: String,
    /// Finding in a sentence.
    pub message: String,
    /// Remedy.
    pub remedy: String,
}
