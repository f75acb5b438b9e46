//! Messages that hold many orders: each order is handled like a message of its own, and the message is settled when all of
//! them are.

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use pagurus_broker::{Delivery, DeliveryTag};
use pagurus_wire::message::Receipt;
use pagurus_wire::problem::{Problem, Type};
use serde::Serialize;
use serde_json::value::RawValue;

use super::handled::{AddressedReceipt, Handled, RefusedMessage};
use super::read::ReplyTo;

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

    pub const fn part(order: Delivery, place: usize) -> Self {
        Self { delivery: Cow::Owned(order), place: Some(place) }
    }
}

/// Returns the orders of a registration that holds many, each as a message of its own; nothing for every other one, also
/// if its content cannot be read or none of it is an object: such a message is read, and refused, as a whole.
///
/// # Errors
/// It holds more than `most` orders.
pub(super) fn orders_of(message: &Delivery, most: usize) -> Result<Vec<Delivery>, Problem> {
    if message.body.trim_ascii_start().first() != Some(&b'[') {
        return Ok(Vec::new());
    }
    let orders: Vec<&RawValue> = serde_json::from_slice(&message.body).unwrap_or_default();
    if !orders.iter().any(|order| order.get().starts_with('{')) {
        return Ok(Vec::new());
    }
    if orders.len() > most {
        let count = orders.len();
        return Err(Problem::new(
            Type::TooLarge,
            format!("the message has {count} orders, more than {most}"),
        ));
    }
    let frame = Delivery { body: Vec::new(), ..message.clone() };
    Ok(orders.into_iter().map(|order| Delivery { body: order.get().into(), ..frame.clone() }).collect())
}

/// The answer to a sender: the receipt of its message, or those of the orders in it, in their order.
#[derive(Debug, PartialEq, Serialize)]
#[serde(untagged)]
pub(super) enum Receipts {
    One(Box<Receipt>),
    Each(Vec<Receipt>),
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
