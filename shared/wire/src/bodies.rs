//! Bodies that clients send. The engine reads them with readers of its own, which report all faults at once; a test compares
//! the fields here with those that the readers know.

use jiff::Timestamp;
use pagurus_domain::order::labels::Labels;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// An order to be registered.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct OrderBody {
    /// Id of the client's choice, unique in the whole engine: 1 to 255 bytes of UTF-8 without control characters.
    #[schemars(length(min = 1, max = 255))]
    pub id: String,
    /// Name of the scenario.
    #[schemars(length(min = 1, max = 64))]
    pub scenario: String,
    /// Version of the scenario; default: the newest.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1))]
    pub scenario_version: Option<i32>,
    /// Parameters, as the scenario wants them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub params: Option<Map<String, Value>>,
    /// `parallel`, or `sequential`: the orders of one queue run one at a time, in the order of registration.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mode: Option<ModeWord>,
    /// Queue of a sequential order.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 255))]
    pub queue: Option<String>,
    /// Urgency; default: `normal`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub priority: Option<PriorityWord>,
    /// Attributes from which the flow of the order is made.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub flow: Option<Map<String, Value>>,
    /// Id of the business transaction, not interpreted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 1024))]
    pub transaction_id: Option<String>,
    /// Labels, not interpreted: up to 16 texts of at most 255 bytes, by keys of 1 to 64 bytes.
    #[serde(default, skip_serializing_if = "Labels::is_empty")]
    pub labels: Labels,
    /// Receiver of notifications, or a list of up to 8.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub notify: Option<ReceiversBody>,
    /// Conditions of the start.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lifecycle: Option<LifecycleBody>,
}

/// Execution of an order relative to others.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum ModeWord {
    /// Runs in parallel with all other orders.
    #[default]
    Parallel,
    /// Runs alone in its queue.
    Sequential,
}

/// Urgency of an order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum PriorityWord {
    /// Ahead of other orders.
    High,
    /// Usual urgency.
    #[default]
    Normal,
    /// Behind other orders.
    Low,
}

/// Receivers of the notifications of an order.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum ReceiversBody {
    /// A single receiver.
    One(NotifyBody),
    /// Several, each with its own occasions and delivery.
    List(#[schemars(length(min = 1, max = 8))] Vec<NotifyBody>),
}

/// A receiver of the notifications of an order.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct NotifyBody {
    /// Place to write to: `amqp://?exchange=…&key=…`, `amqp://?queue=…`, or a webhook `https://…`.
    pub url: String,
    /// Mark of the client's own, copied into each notification.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 255))]
    pub correlation_id: Option<String>,
    /// IANA name of the zone in which times are written; default: UTC.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timezone: Option<String>,
    /// Occasions: `final`, `transitions`, `parked`, `jeopardy`; default: `final`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub on: Option<Vec<String>>,
    /// `pagurus`, `cloudevents` or `cloudevents-binary`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub format: Option<String>,
    /// Terms on which notifications are gathered into one message; without them each has a message of its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub group: Option<GroupBody>,
}

/// Terms on which the notifications of a receiver over AMQP are gathered into one message.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct GroupBody {
    /// Most notifications in one message; default: 500.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 1000))]
    pub max: Option<u32>,
    /// Longest wait of a notification for others, up to `1s`; default: `50ms`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub within: Option<String>,
}

/// Conditions of the start of an order.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct LifecycleBody {
    /// Earliest start.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub start_at: Option<Timestamp>,
    /// Longest time between sending and start, in seconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1))]
    pub period_to_start: Option<u32>,
    /// Time by which the client must be served.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub promise_at: Option<Timestamp>,
    /// Orders that must have ended before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<Vec<AfterBody>>,
}

/// An order that another waits for.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AfterBody {
    /// Id of the order, which may be registered later.
    #[schemars(length(min = 1, max = 255))]
    pub order: String,
    /// Terminal states of its scenario that would do.
    #[schemars(length(min = 1, max = 100))]
    pub states: Vec<String>,
    /// `wait`, `fail` or `cancel`: what happens to the waiting order if another state is reached.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub otherwise: Option<String>,
}

/// An action on an order.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ActionBody {
    /// Id of the order, which the path has already.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// Reason, for the history.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Status in which the order must still be.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub if_status: Option<String>,
}

/// A restart of an order.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct RestartBody {
    /// Id of the order, which the path has already.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// Reason, for the history.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Status in which the order must still be.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub if_status: Option<String>,
    /// `initial` or the name of a state; default: the last entry point.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<String>,
    /// Other parameters, as a whole.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub params: Option<Map<String, Value>>,
    /// Other version of the scenario.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1))]
    pub scenario_version: Option<i32>,
    /// True to start although conditions are still open.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub ignore_conditions: bool,
    /// True to keep the callbacks of the previous life.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub keep_callbacks: bool,
}

/// A change of an order that has not started; omitted fields stay as they are.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct UpdateBody {
    /// Other parameters, as a whole.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub params: Option<Map<String, Value>>,
    /// Other urgency.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub priority: Option<PriorityWord>,
    /// Other conditions of the start: only `startAt` can be changed; null removes it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lifecycle: Option<LifecycleBody>,
    /// Other receivers, in place of all that there are; null removes them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub notify: Option<ReceiversBody>,
    /// Reason, for the history.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// State and variables with which a stuck order continues.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct RepairBody {
    /// State to enter.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 255))]
    pub state: Option<String>,
    /// Index of the action of that state to continue from, counted from 0, as in the steps of the order; default: the first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub action: Option<u32>,
    /// True, instead of `state`, to continue from the action that failed: the parts of it that succeeded are not repeated.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failed_action: Option<bool>,
    /// Variables; default: those of the order.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub vars: Option<Map<String, Value>>,
    /// Other version of the scenario.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1))]
    pub scenario_version: Option<i32>,
    /// Reason, for the history.
    #[schemars(length(min = 1))]
    pub reason: String,
}

/// An answer to a request of an order, given by hand.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct AnswerBody {
    /// Body that the called system would have sent.
    #[serde(default)]
    pub body: Value,
    /// Status of the called system's step.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub step_status: Option<String>,
    /// Reason, for the history.
    #[schemars(length(min = 1))]
    pub reason: String,
}

/// A call to a live order.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CallBody {
    /// Id of the order, which the path has already.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// Name of the call, as the scenario handles it.
    pub name: String,
    /// Value that the call brings.
    #[serde(default)]
    pub body: Value,
    /// Key of the caller: a call is handled once under it, and its answer can be read by it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 255))]
    pub key: Option<String>,
    /// Reason for the audit log.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// A move of live orders to another version of their scenario.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct MigrationBody {
    /// Version that the orders run.
    #[schemars(range(min = 1))]
    pub from: i32,
    /// Version that they are to run.
    #[schemars(range(min = 1))]
    pub to: i32,
    /// True to move them; default: they are only checked.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub apply: bool,
    /// Reason, for the history.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Word `next` of the answer before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<String>,
}

/// A scenario and its tests, as texts.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TrialBody {
    /// Text of the scenario.
    pub scenario: String,
    /// Text of the tests.
    pub tests: String,
    /// Texts of the operations that the scenario runs; default: those that are stored.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub operations: Option<Vec<String>>,
}

/// A place in the text of a scenario that is not finished. Lines and columns count from 1, columns in units of UTF-16.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CompletionBody {
    /// The text.
    pub text: String,
    /// Line of the place.
    pub line: usize,
    /// Column of the place.
    pub column: usize,
}

/// A reason, for the history.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ReasonBody {
    /// Reason in words.
    #[schemars(length(min = 1))]
    pub reason: String,
}
