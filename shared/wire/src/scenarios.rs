//! Bodies of `/v1/scenarios`.

use jiff::Timestamp;
use pagurus_domain::time;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::problem::Detail;

/// A scenario in a list.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ScenarioLine {
    /// Name of the scenario.
    pub scenario: String,
    /// Newest version.
    pub version: i32,
    /// Time at which that version was applied.
    #[serde(serialize_with = "time::serialize")]
    pub created_at: Timestamp,
}

/// A version of a scenario in a list.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct VersionLine {
    /// Number of the version.
    pub version: i32,
    /// Time at which it was applied.
    #[serde(serialize_with = "time::serialize")]
    pub created_at: Timestamp,
}

/// A scenario that is sound.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CheckedView {
    /// Name of the scenario.
    pub scenario: String,
    /// Number of its states.
    pub states: usize,
    /// Faults: none, because a text with any is answered with a problem.
    pub faults: Vec<Detail>,
    /// Places that mean something else than their author may think.
    pub warnings: Vec<Detail>,
    /// Newest versions of the scenarios that run this operation.
    #[serde(rename = "usedBy", default, skip_serializing_if = "Vec::is_empty")]
    pub used_by: Vec<OperationUserView>,
}

/// The newest version of a scenario that runs an operation. It keeps running the version that it has until it is applied
/// again.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct OperationUserView {
    /// Name of the scenario.
    pub scenario: String,
    /// Version.
    pub version: i32,
    /// The operation that it runs: the one in question, or one that runs that.
    pub operation: String,
    /// The version of that operation which it runs.
    #[serde(rename = "operationVersion")]
    pub operation_version: i32,
    /// Faults of the scenario if it were applied now, with the operation as it is in question.
    pub faults: Vec<Detail>,
}

/// An operation that a version of a scenario runs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PinnedOperationView {
    /// Name of the operation.
    pub operation: String,
    /// Version.
    pub version: i32,
}

/// A scenario that is stored.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AppliedView {
    /// Name of the scenario.
    pub scenario: String,
    /// Version that has this text: a new one, or the newest if that had it already.
    pub version: i32,
    /// Operations that it runs, each with the version that was decided when it was applied.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub operations: Vec<PinnedOperationView>,
    /// Newest versions of the scenarios that run this operation.
    #[serde(rename = "usedBy", default, skip_serializing_if = "Vec::is_empty")]
    pub used_by: Vec<OperationUserView>,
    /// Tag of that version: `If-Match` with it stores a text only if this is still the newest version.
    #[serde(default)]
    pub tag: String,
    /// Places that mean something else than their author may think.
    pub warnings: Vec<Detail>,
}

/// Outcome of a migration, or of a check of what it would do.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct MigratedView {
    /// Name of the scenario.
    pub scenario: String,
    /// Version that the orders had.
    pub from: i32,
    /// Version that they are to run.
    pub to: i32,
    /// True if orders were moved, false if they were only checked.
    pub applied: bool,
    /// Orders that were moved, or could be.
    pub moved: u64,
    /// Orders that were left where they are.
    pub left: u64,
    /// Reasons for which orders were left.
    pub reasons: Vec<LeftView>,
    /// Send it as `after` to continue; absent if all orders were checked.
    pub next: Option<String>,
}

/// Orders that a migration left for one reason.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LeftView {
    /// Reason, as a sentence.
    pub reason: String,
    /// Number of orders.
    pub orders: u64,
    /// Ids of the first of them.
    pub examples: Vec<String>,
}

/// Outcome of the tests of a scenario.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TriedView {
    /// True if all tests passed.
    pub passed: bool,
    /// Tests in the order of the file: name, faults with their places, and the story of the order.
    pub tests: Vec<Value>,
    /// Coverage of the scenario by all of these tests.
    pub coverage: CoverageView,
}

/// Coverage of a scenario by its tests.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CoverageView {
    /// States that an order stood in.
    pub states: CoveredPartsView,
    /// Transitions that an order took.
    pub transitions: CoveredPartsView,
    /// Transitions by a failure or a time that was over; they count among the transitions, too.
    pub error_branches: CoveredPartsView,
    /// Places at which a state runs an operation, each with the operation run to its end.
    pub operations: CoveredPartsView,
}

/// Coverage of the parts of one kind.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CoveredPartsView {
    /// Number of parts that a test reaches.
    pub reached: usize,
    /// Number of all parts.
    pub total: usize,
    /// Parts that no test reaches, in the order of the file.
    pub missed: Vec<String>,
}

/// Items that may be written at a place of a text.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CompletionsView {
    /// Place at which an item starts: text typed after it is replaced.
    pub from: TextPlaceView,
    /// Items that continue what was typed.
    pub items: Vec<CompletionView>,
}

/// A place in a text, counted from 1, its column in units of UTF-16.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TextPlaceView {
    /// Line.
    pub line: usize,
    /// Column.
    pub column: usize,
}

/// Something that may be written.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CompletionView {
    /// Text that is shown.
    pub label: String,
    /// `key`, `word`, `state` or `name`.
    pub kind: String,
    /// Sentence about it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub detail: Option<String>,
    /// Text to be written.
    pub insert: String,
}
