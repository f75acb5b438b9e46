//! Registration: what a client sent becomes an order, or a list of everything wrong with it.
//!
//! The same reader serves AMQP and HTTP, so that both refuse the same things in the
//! same words.

mod after;
mod digest;
mod lifecycle;
mod queue;
mod reader;
mod storable;

use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use serde_json::{Map, Value};

use super::dependency::{Precondition, StartMode};
use super::labels::Labels;
use super::notification::{AllowList, Receivers};
use super::{Mode, Priority};
use crate::attributes::{AttributeValue, SearchAttribute, attribute_values, written};
use crate::document::{Fault, nearest};
use crate::id::{RequestId, ScenarioNo};

pub use digest::digest;
use digest::{digest_of_fields, has_null_field};
use lifecycle::Lifecycle;
pub(super) use lifecycle::start_at;
pub use queue::queue_name;
use reader::RegistrationReader;
pub use storable::unstorable;

/// Longest id of an order, in bytes of UTF-8.
pub const MAX_ID_BYTES: usize = 255;
/// Longest business transaction id, in characters.
pub const MAX_TRANSACTION_ID_CHARS: usize = 1024;
/// Longest name of a queue, and longest name and text of a flow attribute, in bytes.
const MAX_NAME_BYTES: usize = 255;
/// Longest flow marker, in bytes; a longer one is cut, because it only groups.
const MAX_FLOW_BYTES: usize = 255;

/// Fields of an order, as clients write it.
pub const KEYS: &[&str] = &[
    "id",
    "scenario",
    "scenarioVersion",
    "params",
    "mode",
    "queue",
    "priority",
    "flow",
    "transactionId",
    "labels",
    "notify",
    "lifecycle",
];

/// Request of a client, well-formed, not yet held against its scenario.
#[derive(Clone, Debug, PartialEq)]
pub struct Request {
    /// The client's id of the order.
    pub id: String,
    /// Name of the scenario.
    pub scenario: String,
    /// A version of it, where not the newest is wanted.
    pub scenario_version: Option<i32>,
    /// Parameters: always a map. Shared by all copies, because it may be a hundred times as large as its
    /// text.
    pub params: Arc<Value>,
    /// Parallel or sequential, where it says so.
    pub mode: Option<Mode>,
    /// The queue, where it names one.
    pub queue: Option<String>,
    /// Urgency.
    pub priority: Priority,
    /// Attributes for the flow marker; shared like the parameters.
    pub flow: Arc<Map<String, Value>>,
    /// The business transaction.
    pub transaction_id: Option<String>,
    /// Labels.
    pub labels: Labels,
    /// Receiver of the notification of the end.
    pub notify: Option<Receivers>,
    /// Not before.
    pub start_at: Option<Timestamp>,
    /// Longest time between sending and start.
    pub period_to_start: Option<Duration>,
    /// Time at which the client must be served.
    pub promise_at: Option<Timestamp>,
    /// Orders that must have ended before.
    pub after: Vec<Precondition>,
    /// SHA-256 of the canonical content: key order, escapes and number form do not matter.
    pub digest: [u8; 32],
    /// The same as former versions took it, where a field is null: that was another content than none.
    pub former_digest: Option<[u8; 32]>,
}

/// Rules that registration is held against besides the scenario.
#[derive(Clone, Debug)]
pub struct Rules {
    /// Attributes of the flow marker (ORD-7): `scenario`, keys of `flow`, or `params.…`.
    pub flow_attributes: Vec<String>,
    /// Targets that notifications may go to.
    pub notify: AllowList,
    /// Longest life of orders whose scenario names none.
    pub process_timeout: Option<Duration>,
    /// Mode in which orders that wait for others are activated.
    pub start_mode: StartMode,
}

/// Terms of the scenario that a request names, as far as registration needs them.
#[derive(Debug)]
pub struct ScenarioTerms<'s> {
    /// Our number of the pinned version.
    pub no: ScenarioNo,
    /// Faults of the parameters by its schema.
    pub params_faults: Vec<Fault>,
    /// Longest life of its orders; `None` leaves it to the deployment.
    pub process_timeout: Option<Duration>,
    /// Attributes by which its orders are found.
    pub search: &'s [SearchAttribute],
    /// The queue that it gives the order; `None` where the order itself says its mode.
    pub queue: Option<QueueOfScenario>,
}

/// The queue that a scenario gives an order by its parameters (SCN-21), or the fault of these.
pub type QueueOfScenario = Result<String, Fault>;

/// An order that may be stored.
#[derive(Clone, Debug, PartialEq)]
pub struct NewOrder {
    /// Request of the client.
    pub request: Arc<Request>,
    /// The pinned version.
    pub scenario: ScenarioNo,
    /// Parallel or sequential.
    pub mode: Mode,
    /// The queue of a sequential order.
    pub queue: Option<String>,
    /// The flow marker.
    pub flow: String,
    /// Latest start, by the client's clock as far as it can be trusted.
    pub start_deadline: Option<Timestamp>,
    /// Longest life of the order, from now.
    pub process_timeout: Option<Duration>,
    /// Mode in which it is activated if it waits for others: that of its registration counts.
    pub start_mode: StartMode,
    /// W3C trace context of the request, opaque.
    pub trace: Option<String>,
    /// The request of its parent that its end answers, where an order starts it and awaits it.
    pub answers: Option<RequestId>,
    /// Values of the attributes by which it is found.
    pub attributes: Vec<AttributeValue>,
}

impl Request {
    /// True if the digest that was stored with an order is one of this request.
    #[must_use]
    pub fn has_digest(&self, stored: &[u8]) -> bool {
        [Some(self.digest), self.former_digest].iter().flatten().any(|digest| digest[..] == *stored)
    }

    /// Reads the JSON body of a registration. The body is taken, so that nothing of it is copied.
    ///
    /// # Errors
    /// Everything that is wrong with it, each with a JSON pointer.
    pub fn read(body: Value) -> Result<Self, Vec<Fault>> {
        let is_object = body.is_object();
        let not_object = || Some(fault("", "an order must be a JSON object"));
        if let Some(found) = if is_object { unstorable(&body) } else { not_object() } {
            return Err(vec![found]);
        }
        let former_digest = has_null_field(&body).then(|| digest(&body));
        let digest = digest_of_fields(&body);
        let mut map = match body {
            Value::Object(map) => map,
            _ => Map::new(),
        };
        let (params, flow, labels) = (map.remove("params"), map.remove("flow"), map.remove("labels"));
        let mut reader = RegistrationReader { map: &map, faults: Vec::new() };
        reader.faults = unknown_members(&map, KEYS, "", "is not a field of an order");
        let Lifecycle { start_at, period_to_start, promise_at, after } = reader.lifecycle();
        let request = Self {
            id: reader.id(),
            scenario: reader.required_text("scenario", 64).unwrap_or_default(),
            scenario_version: reader.scenario_version(),
            params: Arc::new(Value::Object(reader.object("params", params))),
            mode: reader.word("mode"),
            queue: reader.text("queue", MAX_NAME_BYTES),
            priority: reader.word("priority").unwrap_or(Priority::Normal),
            flow: Arc::new(reader.flow(flow)),
            transaction_id: reader.transaction_id(),
            labels: reader.labels(labels),
            notify: reader.notify(),
            start_at,
            period_to_start,
            promise_at,
            after,
            digest,
            former_digest,
        };
        if reader.faults.is_empty() { Ok(request) } else { Err(reader.faults) }
    }

    /// Holds the request against the terms of its scenario and the rules of the deployment.
    ///
    /// `sent_at` is when the client says it sent the request; the receipt time where that is unknown or in the future.
    ///
    /// # Errors
    /// Everything that is wrong, each with a JSON pointer.
    pub fn check(
        self: Arc<Self>,
        terms: ScenarioTerms<'_>,
        rules: &Rules,
        sent_at: Timestamp,
    ) -> Result<NewOrder, Vec<Fault>> {
        let mut faults = terms.params_faults;
        let (mode, queue) = self.mode_and_queue(terms.queue).unwrap_or_else(|found| {
            faults.push(found);
            (Mode::Parallel, None)
        });
        if let Some(notify) = &self.notify {
            faults.extend(notify.refused(&rules.notify));
        }
        let start_deadline = self.period_to_start.and_then(|period| match sent_at.checked_add(period) {
            Ok(deadline) => Some(deadline),
            Err(_) => {
                faults.push(fault("/lifecycle/periodToStart", "ends after the year 9999"));
                None
            }
        });
        if let (Some(start), Some(deadline)) = (self.start_at, start_deadline)
            && deadline < start
        {
            let message = format!("ends at {deadline}, before `startAt`: the order could only miss it");
            let hint = "remove it, or make it long enough to reach from the request to after `startAt`";
            faults.push(fault("/lifecycle/periodToStart", message).hint(hint));
        }
        if !faults.is_empty() {
            return Err(faults);
        }
        Ok(NewOrder {
            flow: flow_marker(&rules.flow_attributes, &self),
            scenario: terms.no,
            mode,
            queue,
            start_deadline,
            process_timeout: terms.process_timeout.or(rules.process_timeout),
            start_mode: rules.start_mode,
            trace: None,
            answers: None,
            attributes: attribute_values(terms.search, &self.params),
            request: self,
        })
    }
}

/// The flow marker: the values of the attributes, joined by `|` (ORD-7).
#[must_use]
pub fn flow_marker(attributes: &[String], request: &Request) -> String {
    let values: Vec<String> = attributes
        .iter()
        .map(|attribute| match attribute.strip_prefix("params.") {
            _ if attribute == "scenario" => request.scenario.clone(),
            Some(path) => plain_text(path.split('.').try_fold(&*request.params, |value, key| value.get(key))),
            None => plain_text(request.flow.get(attribute)),
        })
        .collect();
    let mut marker = values.join("|");
    marker.truncate(marker.floor_char_boundary(MAX_FLOW_BYTES));
    marker
}

/// The text that a value is written as; empty for what is none.
fn plain_text(value: Option<&Value>) -> String {
    value.and_then(written).unwrap_or_default()
}

/// Text without control characters, not empty, of bounded length.
pub(super) fn text_at(value: &Value, pointer: &str, max_bytes: usize) -> Result<String, Fault> {
    match value.as_str() {
        None => Err(fault(pointer, "must be text")),
        Some("") => Err(fault(pointer, "must not be empty")),
        Some(text) if text.len() > max_bytes => {
            Err(fault(pointer, format!("is longer than {max_bytes} bytes of UTF-8")))
        }
        Some(text) if text.chars().any(char::is_control) => {
            Err(fault(pointer, "must not contain control characters"))
        }
        Some(text) => Ok(text.to_owned()),
    }
}

/// A fault of a message at this JSON pointer.
#[must_use]
pub fn fault(pointer: &str, message: impl Into<String>) -> Fault {
    Fault { at: None, pointer: pointer.to_owned(), message: message.into(), hint: None }
}

/// The id by which a message names an order, by the rules of its registration: nothing else can be one.
///
/// # Errors
/// The fault under `/id`.
pub fn named_id(message: &Value) -> Result<String, Fault> {
    match message.get("id") {
        None | Some(Value::Null) => Err(fault("/id", "is missing")),
        Some(id) => text_at(id, "/id", MAX_ID_BYTES),
    }
}

/// Maximum number of unknown members with a hint: nobody reads more, and each is compared with all names.
const HINTED: usize = 100;

/// The members of an object that nobody knows, each with the nearest name that is known.
pub(super) fn unknown_members(
    map: &Map<String, Value>,
    known: &[&'static str],
    parent: &str,
    message: &str,
) -> Vec<Fault> {
    let unknown = map.keys().filter(|key| !known.contains(&key.as_str()));
    unknown
        .enumerate()
        .map(|(index, key)| {
            let mut found = fault(&format!("{parent}/{}", escape(key)), message);
            let meant = if index < HINTED { nearest(key, known.iter().copied()) } else { None };
            found.hint = meant.map(|near| format!("did you mean `{near}`?"));
            found
        })
        .collect()
}

pub(super) fn escape(key: &str) -> String {
    let mut key = key.replace('~', "~0").replace('/', "~1");
    key.truncate(key.floor_char_boundary(100));
    key
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests")]
mod tests;
