//! Messages that hold many orders: each order is handled like a message of its own, and the message is settled when all of
//! them are.

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use pagurus_broker::{Delivery, DeliveryTag, headers_to_json};
use pagurus_wire::message::Receipt;
use pagurus_wire::problem::{Problem, Type};
use serde::Serialize;
use serde_json::value::RawValue;

use super::handled::{AddressedReceipt, Handled, RefusedMessage};
use super::read::ReplyTo;

/// Bytes that the copies of the headers of a message take, at most.
const MOST_HEADER_BYTES: usize = 16 * 1024 * 1024;
/// Bytes of receipts that go in one message, at most: a broker takes no longer ones.
const MOST_RECEIPT_BYTES: usize = 2 * 1024 * 1024;
/// Characters of a reason where receipts are shortened.
const SHORT_REASON: usize = 80;

/// A message, or one order of a message that holds many.
pub(super) struct MessagePart<'a> {
    /// The message; for one of many orders, a message with this order alone.
    pub delivery: Cow<'a, Delivery>,
    /// Index of the order in its message.
    pub place: Option<usize>,
}

impl<'a> MessagePart<'a> {
    pub const fn whole(delivery: &'a Delivery) -> Self {
        Self { delivery: Cow::Borrowed(delivery), place: None }
    }

    /// The order at this index of a message, as a message of its own.
    pub fn of(message: &Delivery, order: &RawValue, place: usize) -> Self {
        let Delivery { tag, exchange, routing_key, redelivered, properties, body: _ } = message;
        let order = Delivery {
            tag: *tag,
            exchange: exchange.clone(),
            routing_key: routing_key.clone(),
            redelivered: *redelivered,
            properties: properties.clone(),
            body: order.get().into(),
        };
        Self { delivery: Cow::Owned(order), place: Some(place) }
    }
}

/// True if a message may hold many orders: a look that costs nothing.
pub(super) fn is_array(message: &Delivery) -> bool {
    message.body.trim_ascii_start().first() == Some(&b'[')
}

/// Returns the orders of a registration that holds many; nothing for every other one, also if its content cannot be read or
/// none of it is an object: such a message is read, and refused, as a whole.
///
/// # Errors
/// It holds more than `most` orders, or its headers are too long to be kept with each of them.
pub(super) fn orders_of(message: &Delivery, most: usize) -> Result<Vec<&RawValue>, Problem> {
    let orders: Vec<&RawValue> = serde_json::from_slice(&message.body).unwrap_or_default();
    if !orders.iter().any(|order| order.get().starts_with('{')) {
        return Ok(Vec::new());
    }
    let count = orders.len();
    if count > most {
        return Err(too_large(format!("the message has {count} orders, more than {most}")));
    }
    let headers = headers_to_json(&message.properties.headers).to_string().len();
    if count * headers > MOST_HEADER_BYTES {
        return Err(too_large(format!(
            "the message has {count} orders, each of which keeps its headers of {headers} bytes: more than \
             {MOST_HEADER_BYTES} bytes in all"
        )));
    }
    Ok(orders)
}

fn too_large(detail: String) -> Problem {
    Problem::new(Type::TooLarge, detail)
}

/// The answer to a sender: the receipt of its message, or those of the orders in it, in their order.
#[derive(Debug, PartialEq, Serialize)]
#[serde(untagged)]
pub(super) enum Receipts {
    One(Box<Receipt>),
    Each(Vec<Receipt>),
}

impl Receipts {
    /// Returns the content of the message to the sender. Where many orders are refused, their problems are shortened: first
    /// by the single faults, then to the start of their reasons.
    ///
    /// # Errors
    /// It cannot be written as JSON.
    pub fn into_body(mut self) -> Result<Vec<u8>, serde_json::Error> {
        let body = serde_json::to_vec(&self)?;
        let Self::Each(receipts) = &mut self else { return Ok(body) };
        if body.len() <= MOST_RECEIPT_BYTES {
            return Ok(body);
        }
        for problem in receipts.iter_mut().filter_map(|receipt| receipt.error.as_mut()) {
            problem.errors.clear();
        }
        let body = serde_json::to_vec(receipts)?;
        if body.len() <= MOST_RECEIPT_BYTES {
            return Ok(body);
        }
        for receipt in receipts.iter_mut() {
            receipt.note = None;
            if let Some(problem) = receipt.error.as_mut()
                && let Some((end, _)) = problem.detail.char_indices().nth(SHORT_REASON)
            {
                problem.detail.replace_range(end.., "…");
            }
        }
        serde_json::to_vec(receipts)
    }
}

/// A message of which all is handled.
pub(super) struct HandledMessage {
    pub tag: DeliveryTag,
    pub reply: Option<(ReplyTo, Receipts)>,
    /// Messages to be put aside: this one, or some of its orders.
    pub refused: Vec<RefusedMessage>,
}

impl From<Handled> for HandledMessage {
    fn from(Handled { tag, reply, refused, .. }: Handled) -> Self {
        let reply = reply.map(|AddressedReceipt { to, receipt }| (to, Receipts::One(receipt.into())));
        Self { tag, reply, refused: refused.into_iter().collect() }
    }
}

/// The messages of one consumer of which some orders are handled and some are not. Cheap to clone.
#[derive(Clone, Default)]
pub(super) struct OpenMessages(Arc<Mutex<HashMap<DeliveryTag, OpenMessage>>>);

/// The outcomes of the orders of a message, so far.
struct OpenMessage {
    left: usize,
    orders: Vec<Option<Handled>>,
}

impl OpenMessage {
    /// Returns the message as a whole, once all of its orders are handled.
    fn whole(self, tag: DeliveryTag) -> HandledMessage {
        let (mut addressee, mut receipts, mut refused) = (None, Vec::new(), Vec::new());
        for order in self.orders.into_iter().flatten() {
            if let Some(AddressedReceipt { to, receipt }) = order.reply {
                addressee = Some(to);
                receipts.push(receipt);
            }
            refused.extend(order.refused);
        }
        HandledMessage { tag, reply: addressee.map(|to| (to, Receipts::Each(receipts))), refused }
    }
}

impl OpenMessages {
    /// Opens a message that holds this number of orders. Those of former lives of the consumer are forgotten: the broker
    /// delivers them again.
    pub fn open(&self, tag: DeliveryTag, orders: usize) {
        let mut open = self.lock();
        open.retain(|known, _| known.generation == tag.generation);
        open.insert(tag, OpenMessage { left: orders, orders: (0..orders).map(|_| None).collect() });
    }

    /// True while orders of this message are awaited.
    pub fn contains(&self, tag: DeliveryTag) -> bool {
        self.lock().contains_key(&tag)
    }

    /// Forgets messages: they go back to their queue, and their orders come again.
    pub fn forget(&self, tags: &[DeliveryTag]) {
        let mut open = self.lock();
        for tag in tags {
            open.remove(tag);
        }
    }

    /// Returns the messages that are complete with these. An order of a forgotten message is passed over.
    pub fn gather(&self, handled: Vec<Handled>) -> Vec<HandledMessage> {
        let mut complete = Vec::with_capacity(handled.len());
        let mut open = self.lock();
        for one in handled {
            let Some(place) = one.place else {
                complete.push(one.into());
                continue;
            };
            let tag = one.tag;
            let Some(message) = open.get_mut(&tag) else { continue };
            message.left -= usize::from(message.orders[place].is_none());
            message.orders[place] = Some(one);
            if message.left == 0 {
                complete.extend(open.remove(&tag).map(|message| message.whole(tag)));
            }
        }
        complete
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<DeliveryTag, OpenMessage>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests;
