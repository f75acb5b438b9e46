//! Searches, as the API shows them.

use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// Groups of orders that a search finds.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct OrderCounts {
    /// Fields that the orders are put together by.
    pub by: Vec<String>,
    /// Sum of all groups.
    pub orders: i64,
    /// False where there are more orders than were looked at: then the counts are lower bounds.
    pub complete: bool,
    /// The largest first.
    pub items: Vec<OrderCount>,
}

/// Orders that have the keys in common.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct OrderCount {
    /// Values, in the order of `by`; an empty text where the orders have none.
    pub key: Vec<String>,
    /// Number of orders.
    pub orders: i64,
    /// Id of the newest.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub newest: Option<String>,
}

/// A search that somebody gave a name.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SavedSearch {
    /// Name.
    pub name: String,
    /// Conditions, with times as they were given.
    pub search: Value,
    /// Person or program that saved it last.
    pub by: Value,
    /// When.
    pub made_at: Timestamp,
}

/// Conditions of a search; all that are given are fulfilled. Times are such, or a duration back from now, like `2h`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase")]
pub struct SearchBody {
    /// Ids, 10 000 at most.
    pub ids: Vec<String>,
    /// Begin of the id.
    pub id_prefix: Option<String>,
    /// Business transaction.
    pub transaction_id: Option<String>,
    /// Statuses.
    pub status: Vec<String>,
    /// Scenario statuses: `undefined`, `on_target`, `off_target`, `target`, `failed`.
    pub scenario_status: Vec<String>,
    /// Scenario, all its versions unless one is named.
    pub scenario: Option<String>,
    /// Version of it.
    pub scenario_version: Option<i32>,
    /// Present or last states; an empty text for orders that have none.
    pub state: Vec<String>,
    /// Classes of errors.
    pub class: Vec<String>,
    /// Called systems that the error is about.
    pub system: Vec<String>,
    /// Flow.
    pub flow: Option<String>,
    /// Sequential queue.
    pub queue: Option<String>,
    /// True for orders that will probably be late for what their clients were promised, false for all others.
    pub jeopardy: Option<bool>,
    /// True for orders whose rows contradict each other and need a person, false for all others.
    pub inconsistent: Option<bool>,
    /// Name of the node that runs a stage of the order.
    pub node: Option<String>,
    /// Urgency.
    pub priority: Option<String>,
    /// `parallel` or `sequential`.
    pub mode: Option<String>,
    /// Source of an event in the history of the order: `api`, `client`, `operation:NO`, or the name of a node.
    pub source: Option<String>,
    /// Text that the message of the order, or of its error, contains.
    pub text: Option<String>,
    /// Registered then or later.
    pub created_since: Option<String>,
    /// Registered before.
    pub created_until: Option<String>,
    /// Ended then or later.
    pub finished_since: Option<String>,
    /// Ended before.
    pub finished_until: Option<String>,
    /// Values of attributes that scenarios declare under `search`.
    pub attributes: Map<String, Value>,
    /// Values of parameters by their paths, like `customer.id`.
    pub params: Map<String, Value>,
    /// Values of variables by their paths.
    pub vars: Map<String, Value>,
}
