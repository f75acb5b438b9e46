//! Bodies of `/v1/errors` and `/v1/classify`.

use jiff::Timestamp;
use pagurus_domain::retry;
use pagurus_domain::time;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A failure to be classified.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct QuestionView {
    /// The scenario; without it only policies for all scenarios count.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scenario: Option<String>,
    /// The path of the URL, or the URL as a whole.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// The HTTP method; without it `GET`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub method: Option<String>,
    /// The host, with the port if the URL has one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub host: Option<String>,
    /// Address of a message: `vhost?exchange=a&key=b`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub amqp: Option<String>,
    /// The status of the answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status: Option<u16>,
    /// The body of the answer or callback, as text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub body: Option<String>,
    /// A name of the failure, or its chain of names with `>` between them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub exception: Option<String>,
    /// Message of the failure.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// True if the callback did not come in time.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub timeout: bool,
    /// The step status of the callback.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub step_status: Option<String>,
}

impl QuestionView {
    /// Converts to the question that the rules answer. The fault in the body is for others to find: this crate reads no XML.
    #[must_use]
    pub fn as_asked(&self) -> retry::Question<'_> {
        retry::Question {
            scenario: self.scenario.as_deref(),
            path: self.path.as_deref(),
            method: self.method.as_deref(),
            host: self.host.as_deref(),
            amqp: self.amqp.as_deref(),
            status: self.status,
            body: self.body.as_deref(),
            fault: None,
            exception: self.exception.as_deref(),
            message: self.message.as_deref(),
            timeout: self.timeout,
            step_status: self.step_status.as_deref(),
        }
    }
}

/// Rule, class and policy that a failure would get.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ExplanationView {
    /// The rule that gave the class; none for a built-in class, or for none.
    pub rule: Option<String>,
    /// The class.
    pub class: Option<String>,
    /// The policy by which it is retried.
    pub policy: Option<String>,
    /// Reasons for that, a sentence each.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub why: Vec<String>,
}

impl From<retry::Explained> for ExplanationView {
    fn from(explained: retry::Explained) -> Self {
        Self {
            rule: explained.rule,
            class: explained.class.map(|class| class.to_string()),
            policy: explained.policy,
            why: explained.why,
        }
    }
}

/// Failed and retrying orders in groups, the largest first.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ErrorGroups {
    /// `class`, `scenario`, `state`, `step` or `system`.
    pub by: String,
    /// Start of the time in which failures are counted.
    #[serde(serialize_with = "time::serialize")]
    pub since: Timestamp,
    /// True if all are counted; otherwise there were too many, and only the newest are.
    pub complete: bool,
    /// Failed orders of all groups.
    pub failed: i64,
    /// Orders of all groups that wait for their next attempt now.
    pub retrying: i64,
    /// The groups of this page.
    pub items: Vec<ErrorGroup>,
    /// Give it as `cursor` to get the next page; none on the last.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next: Option<String>,
}

/// Orders that failed, or are retried, for the same reason or at the same place.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ErrorGroup {
    /// The class, scenario, state, step or system; none if the orders have none.
    pub key: Option<String>,
    /// The scenario of a state.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scenario: Option<String>,
    /// Orders that ended `fail`.
    pub failed: i64,
    /// Orders that wait for their next attempt now.
    pub retrying: i64,
    /// Time at which the last of them failed or entered retry.
    #[serde(serialize_with = "time::serialize")]
    pub last_at: Timestamp,
    /// The hours of the window in which any did, the first one first.
    pub hours: Vec<ErrorHour>,
    /// Ids of a few of them.
    pub orders: Vec<String>,
}

/// Failures of one hour.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ErrorHour {
    /// Time at which it starts.
    #[serde(serialize_with = "time::serialize")]
    pub from: Timestamp,
    /// Orders that ended `fail` in it.
    pub failed: i64,
    /// Orders that entered retry then, of those in retry now.
    pub retrying: i64,
}

/// Failed orders, the newest first, or orders in retry, those that are due first.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ErrorOrders {
    /// The orders of this page.
    pub items: Vec<ErrorOrder>,
    /// Give it as `cursor` to get the next page; none on the last. A page may be short before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next: Option<String>,
}

/// An order that failed, or that waits for its next attempt.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ErrorOrder {
    /// Id of the order.
    pub id: String,
    /// `fail` or `retry`.
    pub status: String,
    /// Time at which it failed, or at which its next attempt is due.
    #[serde(serialize_with = "time::serialize")]
    pub at: Timestamp,
    /// Scenario of the order.
    pub scenario: String,
    /// The state in which its error arose.
    pub state: Option<String>,
    /// The state in which it is: of a failed order the terminal state.
    #[serde(default)]
    pub step: Option<String>,
    /// The class of its error.
    pub class: Option<String>,
    /// The called system that the error is about.
    pub system: Option<String>,
    /// Message of the error.
    #[schemars(extend("x-payload" = true))]
    pub message: Option<String>,
}
