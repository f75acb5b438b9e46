//! Searches, as the API shows them.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Groups of orders that a search finds.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct OrderCounts {
    /// What the orders are put together by.
    pub by: Vec<String>,
    /// Sum of all groups.
    pub orders: i64,
    /// False where there are more orders than were looked at: then the counts are lower bounds.
    pub complete: bool,
    /// The largest first.
    pub items: Vec<OrderCount>,
}

/// Orders that have the keys in common.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
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
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SavedSearch {
    /// Name.
    pub name: String,
    /// Conditions, with times as they were given.
    pub search: Value,
    /// Who saved it last.
    pub by: Value,
    /// When.
    pub made_at: Timestamp,
}
