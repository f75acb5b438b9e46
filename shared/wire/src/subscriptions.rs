//! Bodies of `/v1/subscriptions`: standing receivers of notifications, and replays for them.

use std::collections::BTreeMap;

use jiff::Timestamp;
use pagurus_domain::time;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Body of `PUT /v1/subscriptions/{name}`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct SubscriptionBody {
    /// Place to write to: `amqp://?exchange=…&key=…`, `amqp://?queue=…`, or a webhook `https://…`.
    pub url: String,
    /// `pagurus`, `cloudevents` or `cloudevents-binary`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub format: Option<String>,
    /// Name of the secret with which webhooks are signed; default: that of `notify.allow`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub secret: Option<String>,
    /// Occasions: `final`, `parked`, `jeopardy`; default: `final`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub on: Vec<String>,
    /// Masks of names of scenarios, with `*` for any run of characters; default: all.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 16))]
    pub scenarios: Vec<String>,
    /// Labels that an order must have, each with this value.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub labels: BTreeMap<String, String>,
    /// Final statuses: `success`, `fail`, `canceled`, `interrupted`; default: all.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub outcomes: Vec<String>,
    /// True to only check.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub dry_run: bool,
}

/// Body of `POST /v1/subscriptions/{name}/pause`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct PauseBody {
    /// Reason, for the record.
    #[serde(default)]
    pub reason: String,
}

/// Body of `POST /v1/subscriptions/{name}/resume`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ResumeBody {
    /// True to also notify of the orders that ended while it was paused.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub replay: bool,
    /// Reason, for the record.
    #[serde(default)]
    pub reason: String,
}

/// Body of `POST /v1/subscriptions/{name}/replays`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ReplayRequest {
    /// Orders that ended from this time on.
    #[serde(serialize_with = "time::serialize")]
    pub from: Timestamp,
    /// Orders that ended before this time; default: now.
    #[serde(default, skip_serializing_if = "Option::is_none", serialize_with = "time::serialize")]
    pub until: Option<Timestamp>,
    /// Reason, for the record.
    #[serde(default)]
    pub reason: String,
}

/// A subscription.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SubscriptionView {
    /// Name.
    pub name: String,
    /// Tag of this version of the rule, for `If-Match`.
    pub tag: String,
    /// `active` or `paused`.
    pub state: String,
    /// Place to write to; of a webhook without its query.
    pub url: String,
    /// Format of the notifications.
    pub format: String,
    /// Name of the secret with which webhooks are signed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub secret: Option<String>,
    /// Occasions.
    pub on: Vec<String>,
    /// Masks of names of scenarios; empty: all.
    pub scenarios: Vec<String>,
    /// Labels that an order must have.
    pub labels: BTreeMap<String, String>,
    /// Final statuses; empty: all.
    pub outcomes: Vec<String>,
    /// Notifications that wait to be delivered, up to 100 000.
    pub waiting: i64,
    /// Notifications that only a person can help.
    pub parked: i64,
    /// Time since which nothing is stored for it.
    #[serde(default, skip_serializing_if = "Option::is_none", serialize_with = "time::serialize")]
    pub paused_at: Option<Timestamp>,
    /// Principal who paused it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub paused_by: Option<Value>,
    /// `by_hand`, `backlog` or `gone`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub paused_because: Option<String>,
    /// Principal who made or changed it last.
    pub by: Value,
    /// Time of that.
    #[serde(serialize_with = "time::serialize")]
    pub made_at: Timestamp,
}

/// Outcome of a change of a subscription.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SubscriptionOutcome {
    /// The subscription.
    pub subscription: SubscriptionView,
    /// Number of the replay that follows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replay: Option<i64>,
}

/// A replay.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ReplayView {
    /// Number.
    pub replay: i64,
    /// `waiting`, `running` or `done`.
    pub state: String,
    /// Orders that ended from this time on.
    #[serde(serialize_with = "time::serialize")]
    pub from: Timestamp,
    /// Orders that ended before this time.
    #[serde(serialize_with = "time::serialize")]
    pub until: Timestamp,
    /// Share of all orders that was checked, from 0 to 1.
    pub progress: f64,
    /// Orders that were checked.
    pub looked_at: i64,
    /// Notifications that were stored.
    pub stored: i64,
    /// Reason.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Principal who requested it.
    pub by: Value,
    /// Time at which it was asked.
    #[serde(serialize_with = "time::serialize")]
    pub made_at: Timestamp,
    /// Time at which it was done, or stopped.
    #[serde(default, skip_serializing_if = "Option::is_none", serialize_with = "time::serialize")]
    pub done_at: Option<Timestamp>,
}
