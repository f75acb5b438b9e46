//! What orders wait for, as outsiders see it.

use jiff::Timestamp;
use pagurus_domain::time;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Condition by which an order waits for another.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ConditionView {
    /// `condition` (of `lifecycle.after`), or `child`: the order awaits the end of an order that it has started.
    #[serde(default = "ConditionView::kind_of_old")]
    pub kind: String,
    /// The order that waits.
    pub order: String,
    /// The one it waits for.
    pub after: String,
    /// The terminal states that would do; none of a child.
    pub states: Vec<String>,
    /// `wait`, `fail` or `cancel`: what happens when it ends in another; of a child `scenario`, which decides that.
    pub otherwise: String,
    /// `reactive` or `polling`: how it is noticed.
    pub mode: String,
    /// `unknown` (not registered yet), `found`, `open`, `met`, `missed`, `closed`.
    pub stand: String,
    /// Time since which it is met or missed.
    #[serde(serialize_with = "time::serialize")]
    pub settled_at: Option<Timestamp>,
}

impl ConditionView {
    /// Kind of the edges of an earlier version, which had no other.
    fn kind_of_old() -> String {
        "condition".to_owned()
    }
}

/// An order of a graph.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct GraphNode {
    /// The client's id.
    pub id: String,
    /// True if it is registered; of one that is not, nothing else is known.
    pub registered: bool,
    /// Name of the scenario.
    pub scenario: Option<String>,
    /// Present status.
    pub status: Option<String>,
    /// Present state.
    pub step: Option<String>,
}

/// Orders that an order waits for and that wait for it, with what those wait for in turn.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct DependencyGraph {
    /// The order in the middle.
    pub id: String,
    /// All orders that are named.
    pub nodes: Vec<GraphNode>,
    /// Edges: which order waits for which.
    pub edges: Vec<ConditionView>,
    /// True if there is more, further away or too much for one answer.
    pub truncated: bool,
}
