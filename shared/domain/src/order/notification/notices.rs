//! Bodies of notifications, as they are written and as their schemas describe them.

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

use crate::order::labels::Labels;

/// A notification of the end of a life, or of an order that needs a person.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct EndNotice<'a> {
    /// Id of the order.
    pub id: &'a str,
    /// Mark of the client.
    pub correlation_id: Option<&'a str>,
    /// Id of the business transaction.
    pub transaction_id: Option<&'a str>,
    /// Labels that the client chose; absent if there are none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub labels: Option<&'a Labels>,
    /// Name of the scenario.
    pub scenario: &'a str,
    /// Version of the scenario.
    pub scenario_version: i32,
    /// Status of the order.
    pub status: &'static str,
    /// Relation of the end to the targets of the scenario.
    pub scenario_status: &'static str,
    /// Last state.
    pub step: Option<&'a str>,
    /// Result that the scenario set.
    #[serde(default)]
    #[schemars(extend("x-payload" = true))]
    pub result: Option<&'a Value>,
    /// Message that the scenario set.
    #[schemars(extend("x-payload" = true))]
    pub message: Option<&'a str>,
    /// Cause of a failure.
    pub error: Option<NoticeError<'a>>,
    /// Registration, in the time zone that the client asked for.
    pub created_at: String,
    /// Start of the first stage of this life.
    pub started_at: Option<String>,
    /// End of this life.
    pub finished_at: Option<String>,
    /// Milliseconds from the start to the end.
    pub duration_ms: Option<i64>,
    /// Number of the life.
    pub life: i32,
    /// Stages of this life that ran.
    pub stages: i32,
    /// Stages of this life that repeated another after a classified error.
    pub retries: i32,
    /// Need of a person; none if the notification reports an end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parked: Option<NoticeParked>,
    /// Jeopardy of the order; none if the notification reports an end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub jeopardy: Option<NoticeJeopardy<'a>>,
}

/// Jeopardy of an order in a notification.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct NoticeJeopardy<'a> {
    /// Time since which it is so.
    pub since: String,
    /// Time by which the client must be served.
    pub promise_at: String,
    /// Time at which nine of ten orders like it would have ended.
    pub expected_at: String,
    /// Words for people.
    pub cause: &'a str,
}

/// Cause of a failure in a notification.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NoticeError<'a> {
    /// Class; none if no rule assigned one.
    pub class: Option<&'a str>,
    /// Words for people.
    #[schemars(extend("x-payload" = true))]
    pub message: &'a str,
}

/// Need of a person in a notification.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NoticeParked {
    /// `retries_exhausted`, `suspended` or `inconsistent`.
    pub reason: &'static str,
    /// Time since which it is so.
    pub since: String,
}

/// A notification of a move from state to state.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct MoveNotice<'a> {
    /// Id of the order.
    pub id: &'a str,
    /// Mark of the client.
    pub correlation_id: Option<&'a str>,
    /// Id of the business transaction.
    pub transaction_id: Option<&'a str>,
    /// Labels that the client chose; absent if there are none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub labels: Option<&'a Labels>,
    /// Name of the scenario.
    pub scenario: &'a str,
    /// Version of the scenario.
    pub scenario_version: i32,
    /// Number of the life.
    pub life: i32,
    /// Move.
    pub transition: NoticeMove<'a>,
}

/// A move in a notification.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NoticeMove<'a> {
    /// State that the order left.
    pub from: &'a str,
    /// Event that moved the order.
    pub event: &'a str,
    /// State that was entered.
    pub to: &'a str,
    /// Time of the move.
    pub at: String,
}
