//! Answers to registrations.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Problem;
use crate::notices::EndNotice;

/// The answer to a registration.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RegisteredView {
    /// The client's id; none if the item had no readable one.
    pub id: Option<String>,
    /// `accepted`, `duplicate`, `conflict`, `rejected`, or, of a batch, `unavailable`: whether the item was
    /// registered is not known, and the same one may be sent again. Of a dry run `would_be_accepted` in place of `accepted`.
    pub status: String,
    /// Present status of the order, if it exists; of a dry run, the status with which it would start.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub order_status: Option<String>,
    /// Remark that a value was changed, such as a sending time in the future.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    /// Reason for which it was not registered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<Problem>,
}

/// The answer to a registration that waits for the end of its order: the order as its notification reports it, when it has
/// ended, or as it is when the time has passed.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct StartedView<'a> {
    /// Outcome of the registration: `accepted` or `duplicate`.
    pub registered: &'a str,
    /// True if the order has ended; false if the time passed first.
    #[serde(rename = "final")]
    pub is_final: bool,
    /// Remark that a value was changed, such as a sending time in the future.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    /// The order.
    #[serde(flatten)]
    pub order: EndNotice<'a>,
}

/// The answer to a registration: with `wait`, and without it.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(untagged)]
pub enum RegistrationAnswer<'a> {
    /// With `wait`.
    Started(Box<StartedView<'a>>),
    /// Without it.
    Registered(Box<RegisteredView>),
}
