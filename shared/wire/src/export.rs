//! Orders as they are written for archives outside.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::message::CallView;
use crate::order::{EventView, OrderView};
use crate::parts::{CallbackView, RequestView};

/// An order with everything that is stored about it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ExportedOrder {
    /// The order, with its transitions and the notifications that are not delivered.
    pub order: OrderView,
    /// History of the order.
    pub events: Vec<EventView>,
    /// Requests of the order to called systems.
    pub requests: Vec<RequestView>,
    /// The answers to them.
    pub callbacks: Vec<CallbackView>,
    /// Calls from outside.
    pub calls: Vec<CallView>,
}
