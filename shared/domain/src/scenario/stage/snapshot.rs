//! What of a stage survives its suspension, and the JSON it is stored as.
//!
//! Fields are only ever added: an order may rest for months while the engine is upgraded, so that
//! every version reads what an earlier one wrote, and passes over what a later one added.

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::super::Folded;
use crate::id::RequestId;
use crate::order::{OrderError, Status};
use crate::retry::Cycle;

/// A snapshot that cannot be taken up: written by another version, or by hand.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the stored position cannot be resumed: {0}")]
pub struct SnapshotError(pub String);

/// Where a request went, for the rules that judge its answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Asked {
    /// An HTTP request.
    Http {
        /// The method.
        method: String,
        /// The host, with the port where the URL has one.
        host: String,
        /// The path, without the query.
        path: String,
    },
    /// A message.
    Amqp {
        /// The virtual host, by its name.
        vhost: String,
        /// The exchange.
        exchange: String,
        /// The routing key.
        key: String,
    },
}

impl Asked {
    /// The system that was asked, as [`OrderError::system`] names it.
    #[must_use]
    pub fn system(&self) -> String {
        match self {
            Self::Http { host, .. } => host.to_ascii_lowercase(),
            Self::Amqp { vhost, exchange, key } => {
                // The default exchange hands on to the queue that the key names.
                let place = if exchange.is_empty() { key } else { exchange };
                if vhost == "/" { format!("amqp:{place}") } else { format!("amqp:{vhost}/{place}") }
            }
        }
    }
}

/// A request that was registered and whose callback has not been handled yet.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct OpenRequest {
    /// Name that the scenario gave it.
    pub name: String,
    /// The state that registered it.
    #[serde(default, skip_serializing_if = "is_default")]
    pub state: String,
    /// Its unguessable id.
    #[serde(with = "text")]
    pub id: RequestId,
    /// Where it went; none for a child order.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub asked: Option<Asked>,
    /// A retry does not send it again once it has a good answer.
    #[serde(default, skip_serializing_if = "is_default")]
    pub keep_answer: bool,
    /// It was registered before the order slept, or before a call moved it.
    #[serde(default, skip_serializing_if = "is_default")]
    pub earlier: bool,
}

/// The last entry point that was visited.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct EntryPoint {
    /// The state.
    pub state: String,
    /// Number of the visit.
    pub visit: u32,
}

/// A polling that goes on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Polling {
    /// Until when there are attempts.
    pub ends_at: Timestamp,
    /// Number of the attempt that is made or comes next, from 1.
    pub attempt: u32,
}

/// What the order awaits in the middle of a state.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Awaiting {
    /// Name of the request.
    pub name: String,
    /// Its id, once it is registered.
    #[serde(with = "text_or_none")]
    pub id: Option<RequestId>,
    /// Since when.
    pub queued_at: Timestamp,
}

/// A suspension, as it goes on after something else was done in between.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rest {
    /// The status of the suspension.
    #[serde(with = "text")]
    pub status: Status,
    /// Until when it lasts.
    pub until: Timestamp,
    /// Why, where it waits for a retry.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<OrderError>,
}

/// A call from outside that is being handled beside the rest of the order.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct HandledCall {
    /// Number under which it is stored.
    pub no: i64,
    /// Its name.
    pub name: String,
    /// What it brings.
    pub body: Folded,
    /// The action that is next in its handling.
    pub action: usize,
    /// The retry cycle of its handling.
    #[serde(default, with = "cycle", skip_serializing_if = "Option::is_none")]
    pub cycle: Option<Cycle>,
    /// The last answer of the order itself, put aside.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub response: Option<Folded>,
    /// The named answers of the order itself, put aside.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub responses: BTreeMap<String, Folded>,
    /// The steps of the order's own `parallel` that went through, put aside.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub parallel_done: Vec<usize>,
    /// Until when a repeat of its handling waits.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rest: Option<Rest>,
    /// What it finds again if the handling fails.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before: Option<Remembered>,
}

/// What an order said and remembers, as it was at a moment.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Remembered {
    /// Its variables, a map.
    pub vars: Folded,
    /// Its result.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub result: Option<Value>,
    /// Its message.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
}

/// Where an order stands, and what it carries.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Snapshot {
    /// The present state; none before the first stage of a life from the initial state.
    #[serde(skip_serializing_if = "is_default")]
    pub state: Option<String>,
    /// The action that is next in the state.
    #[serde(skip_serializing_if = "is_default")]
    pub action: usize,
    /// How many states were entered in this life.
    #[serde(skip_serializing_if = "is_default")]
    pub visit: u32,
    /// Variables of the scenario.
    #[serde(skip_serializing_if = "is_default")]
    pub vars: Map<String, Value>,
    /// The last answer; kept where the state goes on.
    #[serde(skip_serializing_if = "is_default")]
    pub response: Option<Folded>,
    /// Named answers; kept where the state goes on.
    #[serde(skip_serializing_if = "is_default")]
    pub responses: BTreeMap<String, Folded>,
    /// The retry cycle of a synchronous failure that goes on.
    #[serde(with = "cycle", skip_serializing_if = "Option::is_none")]
    pub cycle: Option<Cycle>,
    /// Since when the order has been retrying, while any cycle goes on. What it spent in retries that
    /// are over is counted in, as if all had been one piece.
    #[serde(skip_serializing_if = "is_default")]
    pub retrying_since: Option<Timestamp>,
    /// When the last attempt of the cycles that go on is due, or was.
    #[serde(skip_serializing_if = "is_default")]
    pub retrying_until: Option<Timestamp>,
    /// The time spent in retries that are over, in milliseconds.
    #[serde(skip_serializing_if = "is_default")]
    pub retried_ms: u64,
    /// Visit and action whose success ends that cycle, where the repeat begins before them.
    #[serde(skip_serializing_if = "is_default")]
    pub failed_at: Option<(u32, usize)>,
    /// The retry cycle of an asynchronous failure that goes on, over the states that it repeats.
    #[serde(with = "cycle", skip_serializing_if = "Option::is_none")]
    pub async_cycle: Option<Cycle>,
    /// The waiting or polling state that is to be passed for that cycle to be over.
    #[serde(skip_serializing_if = "is_default")]
    pub async_state: Option<String>,
    /// The next attempt begins at the last entry point.
    #[serde(skip_serializing_if = "is_default")]
    pub from_entry_point: bool,
    /// The last entry point that was visited.
    #[serde(skip_serializing_if = "is_default")]
    pub entry_point: Option<EntryPoint>,
    /// The last error that went to the scenario; told if the order ends as failed.
    #[serde(skip_serializing_if = "is_default")]
    pub error: Option<OrderError>,
    /// Set by `result(…)`.
    #[serde(skip_serializing_if = "is_default")]
    pub result: Option<Value>,
    /// Set by `message(…)`.
    #[serde(skip_serializing_if = "is_default")]
    pub message: Option<String>,
    /// Requests since the last wait.
    #[serde(skip_serializing_if = "is_default")]
    pub requests: Vec<OpenRequest>,
    /// Requests that a retry does not send again, because their answers were good: `STATE/NAME`.
    #[serde(skip_serializing_if = "is_default")]
    pub answered: Vec<String>,
    /// The system that the present state called last.
    #[serde(skip_serializing_if = "is_default")]
    pub called: Option<String>,
    /// Steps of the present `parallel` that went through.
    #[serde(skip_serializing_if = "is_default")]
    pub parallel_done: Vec<usize>,
    /// The polling that goes on.
    #[serde(skip_serializing_if = "is_default")]
    pub poll: Option<Polling>,
    /// What is awaited in the middle of the state.
    #[serde(skip_serializing_if = "is_default")]
    pub awaiting: Option<Awaiting>,
    /// How often the task of the present action was handed out.
    #[serde(skip_serializing_if = "is_default")]
    pub hand_out: u32,
    /// The suspension that goes on.
    #[serde(skip_serializing_if = "is_default")]
    pub rest: Option<Rest>,
    /// The call that is being handled beside it.
    #[serde(skip_serializing_if = "is_default")]
    pub call: Option<Box<HandledCall>>,
    /// The call that moved the order and is not answered yet.
    #[serde(skip_serializing_if = "is_default")]
    pub moved_by: Option<i64>,
    /// Name and body of that call, which the repeats of what it led to see, too.
    #[serde(skip_serializing_if = "is_default")]
    pub event: Option<Folded>,
    /// What a script said by `answer(…)` to the call that is not answered yet.
    #[serde(skip_serializing_if = "is_default")]
    pub answer: Option<Value>,
}

impl Snapshot {
    /// A snapshot that enters this state anew, as a restart does.
    #[must_use]
    pub fn entering(state: Option<String>, vars: Map<String, Value>) -> Self {
        Self { state, vars, visit: 0, ..Self::default() }
    }

    /// The calls that were taken up and are not answered yet: nobody may take them up again.
    pub fn calls_in_hand(&self) -> impl Iterator<Item = i64> {
        [self.call.as_ref().map(|call| call.no), self.moved_by].into_iter().flatten()
    }

    /// Whether any retry cycle goes on.
    pub(super) fn is_retrying(&self) -> bool {
        let of_call = self.call.as_ref().is_some_and(|call| call.cycle.is_some());
        self.cycle.is_some() || self.async_cycle.is_some() || of_call
    }

    /// Every retry cycle that goes on.
    pub(super) fn cycles_mut(&mut self) -> impl Iterator<Item = &mut Cycle> {
        let of_call = self.call.as_mut().and_then(|call| call.cycle.as_mut());
        [self.cycle.as_mut(), self.async_cycle.as_mut(), of_call].into_iter().flatten()
    }

    /// Whether there is nothing in it that a fresh start would not have.
    #[must_use]
    pub fn is_blank(&self) -> bool {
        *self == Self::default()
    }

    /// The form in which it is stored, as JSON.
    #[must_use]
    pub fn to_value(&self) -> Value {
        // Maps with text as keys always become JSON.
        serde_json::to_value(self).unwrap_or_default()
    }

    /// The form in which it is stored, as text.
    #[must_use]
    pub fn to_text(&self) -> String {
        serde_json::to_string(self).unwrap_or_default()
    }

    /// Reads the stored form.
    ///
    /// # Errors
    /// Names what is not as it should be.
    pub fn from_value(value: &Value) -> Result<Self, SnapshotError> {
        if !value.is_object() {
            return Err(SnapshotError("it is no mapping".into()));
        }
        Self::deserialize(value).map_err(|error| SnapshotError(error.to_string()))
    }

    /// Reads the stored text.
    ///
    /// # Errors
    /// As [`Snapshot::from_value`].
    pub fn from_text(text: &str) -> Result<Self, SnapshotError> {
        // A list would be read field by field.
        if !text.trim_start().starts_with('{') {
            return Err(SnapshotError("it is no mapping".into()));
        }
        serde_json::from_str(text).map_err(|error| SnapshotError(error.to_string()))
    }
}

fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

/// Values whose one spelling is their form.
mod text {
    use std::fmt::Display;
    use std::str::FromStr;

    use serde::{Deserialize as _, Deserializer, Serializer, de};

    pub fn serialize<T: Display, S: Serializer>(value: &T, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(value)
    }

    pub fn deserialize<'de, T: FromStr<Err: Display>, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<T, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(de::Error::custom)
    }
}

mod text_or_none {
    use serde::{Deserialize as _, Deserializer, Serializer, de};

    use crate::id::RequestId;

    pub fn serialize<S: Serializer>(value: &Option<RequestId>, serializer: S) -> Result<S::Ok, S::Error> {
        match value {
            Some(value) => serializer.collect_str(value),
            None => serializer.serialize_none(),
        }
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<RequestId>, D::Error> {
        let text = Option::<String>::deserialize(deserializer)?;
        text.map(|text| text.parse().map_err(de::Error::custom)).transpose()
    }
}

/// Cycles know their own form.
mod cycle {
    use serde::{Deserialize as _, Deserializer, Serialize as _, Serializer, de};
    use serde_json::Value;

    use crate::retry::Cycle;

    pub fn serialize<S: Serializer>(cycle: &Option<Cycle>, serializer: S) -> Result<S::Ok, S::Error> {
        cycle.as_ref().map(Cycle::to_value).serialize(serializer)
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Cycle>, D::Error> {
        let value = Option::<Value>::deserialize(deserializer)?;
        value
            .map(|value| Cycle::from_value(&value).ok_or_else(|| de::Error::custom("a broken cycle")))
            .transpose()
    }
}
