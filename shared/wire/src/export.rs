//! Orders as they are written for archives outside.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::message::CallView;
use crate::order::{EventView, OrderView};

/// An order with everything that is kept of it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ExportedOrder {
    /// The order, with its transitions and the notifications that are not delivered.
    pub order: OrderView,
    /// Its history.
    pub events: Vec<EventView>,
    /// Its requests to called systems.
    pub requests: Vec<Value>,
    /// The answers to them.
    pub callbacks: Vec<Value>,
    /// Calls from outside.
    pub calls: Vec<CallView>,
}
