//! Messages as they are read: what a delivery asks for, or why it is refused. Nothing here touches the world.

use jiff::Timestamp;
use pagurus_broker::{Delivery, HeaderValue, headers_to_json, is_broken};
use pagurus_command::call::NewCall;
use pagurus_command::request::{ActionRequest, OF_OTHERS, OF_RESTART, RequestKey};
use pagurus_command::{LifeAction, Restart};
use pagurus_domain::order::notification::AllowList;
use pagurus_domain::order::registration;
use pagurus_domain::time;
use pagurus_wire::message::key;
use pagurus_wire::problem::{Problem, Type};
use serde_json::{Map, Value};

use crate::answer::{NewAnswer, new_answer};
use crate::headers::{self, STEP_STATUS};
use crate::register::{self, Submission};

/// The `type` of a message by which an actor says that it is still at work.
const HEARTBEAT: &str = "heartbeat";

/// Queue from which a delivery came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum IntakeQueue {
    /// Orders, actions and calls.
    Orders,
    /// Callbacks, decisions and heartbeats of actors.
    Callbacks,
}

/// Settings by which deliveries of one entry are read.
pub(super) struct ReadRules<'a> {
    pub entry: IntakeQueue,
    /// Name of the queue of orders.
    pub orders_in: &'a str,
    /// True if messages may be sent straight to the queue of orders.
    pub straight_to_queue: bool,
    pub max_body_bytes: usize,
    /// Queues that may get receipts.
    pub reply: &'a AllowList,
}

/// Request that a delivery brings.
#[derive(Debug)]
pub(super) enum Incoming {
    /// A registration; its place in a trace is still to be given.
    Register(Submission),
    Action(Box<AskedAction>),
    Call {
        /// Id of the order.
        id: String,
        call: NewCall,
    },
    Answer(NewAnswer),
    /// The sign of life of an actor, with the token of its hand-out.
    Heartbeat(String),
}

/// An action on an order.
#[derive(Debug)]
pub(super) struct AskedAction {
    /// Id of the order.
    pub id: String,
    pub action: LifeAction,
    pub asked: ActionRequest,
    /// The client's key, or one of our own, by which a try knows what one before it did.
    pub key: RequestKey,
    pub is_own_key: bool,
}

/// Refusal of a message that can never be handled.
#[derive(Debug)]
pub(super) struct Rejection {
    /// The order, if the message named one.
    pub id: Option<String>,
    /// Problem to answer with.
    pub problem: Problem,
}

/// Place to which the sender of a message wants its receipt.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct ReplyTo {
    pub queue: String,
    pub correlation_id: Option<String>,
}

impl Incoming {
    /// Returns the id of the order that the message names.
    pub fn order(&self) -> Option<&str> {
        match self {
            Self::Register(submission) => Some(&submission.request.id),
            Self::Action(act) => Some(&act.id),
            Self::Call { id, .. } => Some(id),
            Self::Answer(_) | Self::Heartbeat(_) => None,
        }
    }
}

impl From<Problem> for Rejection {
    fn from(problem: Problem) -> Self {
        Self { id: None, problem }
    }
}

impl ReplyTo {
    /// Returns the queue and the correlation id that the sender asks for. An empty `reply_to` is none.
    pub fn of(delivery: &Delivery) -> Option<Self> {
        let legible = |text: &Option<String>| text.clone().filter(|text| !is_broken(text));
        let queue = legible(&delivery.properties.reply_to).filter(|queue| !queue.is_empty())?;
        Some(Self { queue, correlation_id: legible(&delivery.properties.correlation_id) })
    }
}

/// Reads a delivery that was received at this time.
///
/// # Errors
/// The message can never be handled.
pub(super) fn read(delivery: &Delivery, rules: &ReadRules<'_>, at: Timestamp) -> Result<Incoming, Rejection> {
    check(delivery, rules)?;
    if rules.entry == IntakeQueue::Callbacks {
        return Ok(callback(delivery));
    }
    let word = word_of(delivery, rules);
    let value = register::parse(&delivery.body)?;
    if word == key::CREATE {
        let id = value.get("id").and_then(Value::as_str).map(str::to_owned);
        return registration(delivery, value, at).map_err(|problem| Rejection { id, problem });
    }
    let id = id_of(&value);
    command(delivery, word, &value, id.clone()).map_err(|problem| Rejection { id: id.ok(), problem })
}

/// True if a message registers orders, and nothing but its content can be wrong.
pub(super) fn is_registration(delivery: &Delivery, rules: &ReadRules<'_>) -> bool {
    rules.entry == IntakeQueue::Orders
        && word_of(delivery, rules) == key::CREATE
        && check(delivery, rules).is_ok()
}

/// Refuses what is too long or not legible, and an order whose sender wants a receipt in a queue that may get none: it would
/// wait for an answer that never comes, and believe that its order was lost.
fn check(delivery: &Delivery, rules: &ReadRules<'_>) -> Result<(), Problem> {
    let (bytes, max) = (delivery.body.len(), rules.max_body_bytes);
    if bytes > max {
        return Err(Problem::new(Type::TooLarge, format!("the body has {bytes} bytes, more than {max}")));
    }
    if let Some(why) = delivery.illegible() {
        return Err(Problem::new(Type::Malformed, why));
    }
    match ReplyTo::of(delivery) {
        Some(to) if rules.entry == IntakeQueue::Orders => {
            rules.reply.permits_receipt(&to.queue).map_err(|why| Problem::new(Type::Invalid, why))
        }
        _ => Ok(()),
    }
}

/// Returns the word for what a message in the queue of orders asks for: its routing key. One that was sent straight to the
/// queue has no key of its own: its property `type` says the word, and without that it is a registration. Only if that is
/// permitted: everybody who may write to the default exchange can send so, such as systems that answer.
fn word_of<'a>(delivery: &'a Delivery, rules: &ReadRules<'_>) -> &'a str {
    let straight =
        rules.straight_to_queue && delivery.exchange.is_empty() && delivery.routing_key == rules.orders_in;
    match delivery.properties.type_.as_deref() {
        _ if !straight => &delivery.routing_key,
        None | Some("") => key::CREATE,
        Some(word) => word,
    }
}

fn registration(delivery: &Delivery, value: Value, received_at: Timestamp) -> Result<Incoming, Problem> {
    let request = register::read_value(value)?;
    let sent_at = sent_at(delivery)?;
    Ok(Incoming::Register(Submission::of(request, sent_at, received_at)))
}

fn command(
    delivery: &Delivery,
    word: &str,
    value: &Value,
    id: Result<String, Problem>,
) -> Result<Incoming, Problem> {
    let message_id = delivery.properties.message_id.as_deref();
    if word == key::CALL {
        let call = NewCall::read(value, message_id.filter(|id| !id.is_empty()))?;
        return Ok(Incoming::Call { id: id?, call });
    }
    let (action, fields) = match word {
        key::CANCEL => (LifeAction::Cancel, OF_OTHERS),
        key::INTERRUPT => (LifeAction::Interrupt, OF_OTHERS),
        key::KILL => (LifeAction::Kill, OF_OTHERS),
        key::RESTART => {
            let sent_at = sent_at(delivery)?;
            (LifeAction::Restart(Restart { sent_at, ..Restart::default() }), OF_RESTART)
        }
        other => return Err(unknown(delivery, other)),
    };
    let asked = ActionRequest::read(value, fields)?;
    // A message without an id of its own is another one each time.
    let key = RequestKey::read(message_id.filter(|id| !id.is_empty()), value)?;
    let (is_own_key, key) = (key.is_none(), key.unwrap_or_else(RequestKey::of_our_own));
    Ok(Incoming::Action(Box::new(AskedAction {
        id: id?,
        action: action.with(&asked),
        asked,
        key,
        is_own_key,
    })))
}

fn unknown(delivery: &Delivery, word: &str) -> Problem {
    let named_by = if delivery.routing_key == word { "routing key" } else { "type" };
    let word: String = word.chars().take(100).collect();
    let known = [key::CREATE, key::RESTART, key::CANCEL, key::INTERRUPT, key::KILL, key::CALL].join(", ");
    Problem::new(Type::UnknownKey, format!("{named_by} `{word}` is not known here; known are: {known}"))
}

/// Returns the order that a message names.
fn id_of(value: &Value) -> Result<String, Problem> {
    registration::named_id(value).map_err(|fault| Problem::of_field(&fault.pointer, fault.message))
}

/// Returns the time at which the client says it sent the message: a header, or the property of AMQP. One that cannot be
/// read is refused (ORD-17).
///
/// # Errors
/// It cannot be read.
pub(super) fn sent_at(delivery: &Delivery) -> Result<Option<Timestamp>, Problem> {
    let properties = &delivery.properties;
    if let Some((name, value)) =
        headers::SENT_TIME.iter().find_map(|name| Some((name, properties.header(name)?)))
    {
        let read = match value {
            HeaderValue::Integer(milliseconds) => time::sending_time_of_milliseconds(*milliseconds),
            HeaderValue::Timestamp(seconds) => of_seconds(*seconds),
            other => other.as_text().and_then(time::read_sending_time),
        };
        let text = value.to_text().unwrap_or_default();
        return read
            .map(Some)
            .ok_or_else(|| headers::unreadable_sent_time(&format!("the header `{name}`"), &text));
    }
    match properties.timestamp {
        // Some clients write it where they mean none.
        None | Some(0) => Ok(None),
        Some(seconds) => of_seconds(seconds)
            .map(Some)
            .ok_or_else(|| headers::unreadable_sent_time("the property `timestamp`", "")),
    }
}

fn of_seconds(seconds: u64) -> Option<Timestamp> {
    let seconds = Timestamp::from_second(i64::try_from(seconds).ok()?).ok()?;
    time::within_range(seconds)
}

fn callback(delivery: &Delivery) -> Incoming {
    let properties = &delivery.properties;
    let named = properties.correlation_id.as_deref().unwrap_or_default();
    if properties.type_.as_deref() == Some(HEARTBEAT) {
        return Incoming::Heartbeat(named.to_owned());
    }
    let step_status = STEP_STATUS.iter().find_map(|name| properties.header(name));
    let step_status = step_status.and_then(HeaderValue::to_text);
    let mut headers = match headers_to_json(&properties.headers) {
        Value::Object(headers) => headers,
        _ => Map::new(),
    };
    if let (Some(kind), None) = (&properties.content_type, properties.header("content-type")) {
        headers.insert("content-type".to_owned(), kind.as_str().into());
    }
    Incoming::Answer(new_answer(named, step_status.as_deref(), headers, delivery.body.clone()))
}

#[cfg(test)]
mod tests;
