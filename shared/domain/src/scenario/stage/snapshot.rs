//! What of a stage survives its suspension, and the JSON it is stored as.

use jiff::Timestamp;
use serde_json::{Map, Value, json};
use uuid::Uuid;

use crate::id::RequestId;
use crate::order::OrderError;
use crate::retry::Cycle;

/// A snapshot that cannot be taken up: written by another version, or by hand.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the stored position cannot be resumed: {0}")]
pub struct SnapshotError(pub String);

/// A request that was registered and whose callback has not been handled yet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OpenRequest {
    /// Name that the scenario gave it.
    pub name: String,
    /// Its unguessable id.
    pub id: RequestId,
}

/// Where an order stands, and what it carries.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Snapshot {
    /// The present state; none before the first stage of a life from the initial state.
    pub state: Option<String>,
    /// The action that is next in the state.
    pub action: usize,
    /// How many states were entered in this life.
    pub visit: u32,
    /// Variables of the scenario.
    pub vars: Map<String, Value>,
    /// The last answer; kept over retries only.
    pub response: Option<Value>,
    /// Named answers; kept over retries only.
    pub responses: Map<String, Value>,
    /// The retry cycle that goes on.
    pub cycle: Option<Cycle>,
    /// Since when the action has been repeated, over all cycles that followed one another.
    pub retrying_since: Option<Timestamp>,
    /// The last error that went to the scenario; told if the order ends as failed.
    pub error: Option<OrderError>,
    /// Set by `result(…)`.
    pub result: Option<Value>,
    /// Set by `message(…)`.
    pub message: Option<String>,
    /// Requests since the last wait.
    pub requests: Vec<OpenRequest>,
}

impl Snapshot {
    /// A snapshot that enters this state anew, as a restart does.
    #[must_use]
    pub fn entering(state: Option<String>, vars: Map<String, Value>) -> Self {
        Self { state, vars, visit: 0, ..Self::default() }
    }

    /// Whether there is nothing in it that a fresh start would not have.
    #[must_use]
    pub fn is_blank(&self) -> bool {
        *self == Self::default()
    }

    /// The form in which it is stored.
    #[must_use]
    pub fn to_value(&self) -> Value {
        let mut map = Map::new();
        let mut put = |key: &str, value: Value, keep: bool| {
            if keep {
                map.insert(key.to_owned(), value);
            }
        };
        put("state", json!(self.state), self.state.is_some());
        put("action", json!(self.action), self.action > 0);
        put("visit", json!(self.visit), self.visit > 0);
        put("vars", Value::Object(self.vars.clone()), !self.vars.is_empty());
        put("response", json!(self.response), self.response.is_some());
        put("responses", Value::Object(self.responses.clone()), !self.responses.is_empty());
        put("cycle", self.cycle.as_ref().map_or(Value::Null, Cycle::to_value), self.cycle.is_some());
        let since = self.retrying_since.map(|since| since.to_string());
        put("retryingSince", json!(since), since.is_some());
        let error = self.error.as_ref().map(|error| json!({"class": error.class, "message": error.message}));
        put("error", json!(error), error.is_some());
        put("result", json!(self.result), self.result.is_some());
        put("message", json!(self.message), self.message.is_some());
        let requests: Vec<Value> = self
            .requests
            .iter()
            .map(|request| json!({"name": request.name, "id": request.id.to_string()}))
            .collect();
        put("requests", Value::Array(requests), !self.requests.is_empty());
        Value::Object(map)
    }

    /// Reads the stored form.
    ///
    /// # Errors
    /// Names the field that is not as it should be.
    pub fn from_value(value: &Value) -> Result<Self, SnapshotError> {
        let wrong = |field: &str| SnapshotError(format!("field `{field}`"));
        let map = value.as_object().ok_or_else(|| wrong(""))?;
        let text =
            |field: &str| map.get(field).map(|value| value.as_str().ok_or_else(|| wrong(field))).transpose();
        let number = |field: &str| map.get(field).map_or(Some(0), Value::as_u64).ok_or_else(|| wrong(field));
        let object = |field: &str| {
            map.get(field)
                .map_or(Ok(Map::new()), |value| value.as_object().cloned().ok_or_else(|| wrong(field)))
        };
        let requests = map.get("requests").map_or(Some(&[][..]), |list| list.as_array().map(Vec::as_slice));
        let requests = requests.ok_or_else(|| wrong("requests"))?;
        let request = |value: &Value| {
            let id = value.get("id").and_then(Value::as_str).and_then(|id| Uuid::parse_str(id).ok());
            let name = value.get("name").and_then(Value::as_str);
            name.zip(id)
                .map(|(name, id)| OpenRequest { name: name.to_owned(), id: RequestId(id) })
                .ok_or_else(|| wrong("requests"))
        };
        Ok(Self {
            state: text("state")?.map(str::to_owned),
            action: usize::try_from(number("action")?).map_err(|_| wrong("action"))?,
            visit: u32::try_from(number("visit")?).map_err(|_| wrong("visit"))?,
            vars: object("vars")?,
            response: map.get("response").cloned(),
            responses: object("responses")?,
            cycle: map
                .get("cycle")
                .map(|cycle| Cycle::from_value(cycle).ok_or_else(|| wrong("cycle")))
                .transpose()?,
            retrying_since: text("retryingSince")?
                .map(|since| since.parse().map_err(|_| wrong("retryingSince")))
                .transpose()?,
            error: map
                .get("error")
                .map(|error| read_error(error).ok_or_else(|| wrong("error")))
                .transpose()?,
            result: map.get("result").cloned(),
            message: text("message")?.map(str::to_owned),
            requests: requests.iter().map(request).collect::<Result<_, _>>()?,
        })
    }
}

fn read_error(value: &Value) -> Option<OrderError> {
    Some(OrderError {
        class: value.get("class").and_then(Value::as_str).map(str::to_owned),
        message: value.get("message")?.as_str()?.to_owned(),
    })
}
