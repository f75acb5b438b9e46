//! Orders as they are sent, and the answers about them.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use uuid::Uuid;

use crate::Problem;

/// An order to be registered.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Order {
    /// An id of the client's choice, unique in the whole engine.
    pub id: String,
    /// The scenario that is run.
    pub scenario: String,
    /// Version of the scenario; none is the newest.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scenario_version: Option<u32>,
    /// Values that the scenario works on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub params: Option<Value>,
    /// `parallel` or `sequential`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mode: Option<String>,
    /// The queue of a sequential order.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub queue: Option<String>,
    /// `high`, `normal` or `low`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub priority: Option<String>,
    /// Attributes by which capacity is shared.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub flow: Option<Value>,
    /// The business transaction.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub transaction_id: Option<String>,
    /// Labels, which the engine does not interpret.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub labels: BTreeMap<String, String>,
    /// Receivers of notifications.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notify: Vec<Notify>,
    /// Conditions of its start.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lifecycle: Option<Lifecycle>,
}

impl Order {
    /// An order with nothing but the required fields.
    #[must_use]
    pub fn new(id: impl Into<String>, scenario: impl Into<String>) -> Self {
        Self { id: id.into(), scenario: scenario.into(), ..Self::default() }
    }

    /// An order whose id is made up here, once: it is the same over all repeats.
    #[must_use]
    pub fn with_new_id(scenario: impl Into<String>) -> Self {
        Self::new(Uuid::new_v4().to_string(), scenario)
    }

    /// The same order with these parameters.
    #[must_use]
    pub fn params(self, params: Value) -> Self {
        Self { params: Some(params), ..self }
    }

    /// The same order as the next of a queue, whose orders run one at a time.
    #[must_use]
    pub fn in_queue(self, queue: impl Into<String>) -> Self {
        Self { mode: Some("sequential".to_owned()), queue: Some(queue.into()), ..self }
    }
}

/// Choices of a registration.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Options {
    /// True to only check the order: one that would be registered is answered with `would_be_accepted`.
    pub dry_run: bool,
    /// W3C trace context in which the order runs.
    pub traceparent: Option<String>,
}

/// Request for notifications of an order.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Notify {
    /// Address: `amqp://?key=K`, `amqp://?queue=Q`, or a webhook `https://…`.
    pub url: String,
    /// A mark of the client's own, which comes back.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub correlation_id: Option<String>,
    /// The IANA name of the zone in which times are written.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timezone: Option<String>,
    /// Occasions: `final`, `transitions`, `parked`, `jeopardy`; none is `final`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub on: Option<Vec<String>>,
    /// `pagurus`, `cloudevents` or `cloudevents-binary`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub format: Option<String>,
    /// Terms on which notifications over AMQP come in one message; without them each has its own.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub group: Option<NotifyGroup>,
}

/// Terms on which notifications come in one message.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct NotifyGroup {
    /// Most notifications in one message; 500 unless it is set.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max: Option<u16>,
    /// Longest wait of a notification for others, such as `50ms`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub within: Option<String>,
}

/// Conditions of the start of an order.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Lifecycle {
    /// Earliest start, in RFC 3339.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub start_at: Option<String>,
    /// Time by which the client must be served, in RFC 3339.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub promise_at: Option<String>,
    /// Seconds after sending within which it must start.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub period_to_start: Option<u32>,
    /// Orders that must have ended before.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub after: Option<Vec<After>>,
}

/// An order that must have ended before.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct After {
    /// The id of that order.
    pub order: String,
    /// Acceptable final states.
    pub states: Vec<String>,
    /// `wait`, `fail` or `cancel`: what happens to the waiting order if that one ends in another state.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub otherwise: Option<String>,
}

/// The outcome of a registration.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Registered {
    /// The id.
    pub id: Option<String>,
    /// `accepted` or `duplicate`; of many orders also `conflict`, `rejected` or `unavailable`.
    pub status: String,
    /// The present status of the order, where it exists.
    pub order_status: Option<String>,
    /// Why one of many orders was not registered.
    pub error: Option<Problem>,
    /// A remark on what was not done exactly as asked.
    pub note: Option<String>,
}

/// Status of an order.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct Status {
    /// The id.
    pub id: String,
    /// The status.
    pub status: String,
    /// True if this life is over.
    #[serde(rename = "final")]
    pub is_final: bool,
    /// Number of the life.
    pub life: i32,
    /// A remark on what was not done exactly as asked.
    pub note: Option<String>,
}

/// The answer of a live order to a call.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Answered {
    /// The key of the call.
    pub key: String,
    /// The name of the call.
    pub name: String,
    /// Status of the call.
    pub status: String,
    /// Time at which it came.
    pub received_at: String,
    /// Time at which it was answered; none as long as it is not.
    pub answered_at: Option<String>,
    /// The answer.
    pub answer: Option<Value>,
    /// Error in place of an answer.
    pub error: Option<Value>,
}
