//! Transient messages between services of one process, without the way through the broker.
//!
//! A message goes straight to every private queue of this process that is bound by its exchange and key, while the broker would
//! deliver to that queue as well. One that a single queue is to have ([`Message::to_one`]) needs the broker no more then.
//! Every other goes there too, because other processes may listen; it has the name of this process, and the copies that come
//! back are passed over.
//!
//! Never waits: where a consumer has no room, the message goes the usual way.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::{mpsc, watch};

use crate::delivery::{Delivery, DeliveryTag};
use crate::message::Message;

/// The bindings of a private queue: pairs of exchange and key.
type QueueBindings = watch::Receiver<Vec<(String, String)>>;

/// The private queues of the services of one process, bound by plain keys: one with a wildcard would miss what is marked as heard.
/// Clones are the same.
#[derive(Clone, Debug)]
pub struct LocalConsumers {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    /// Name of this process on the copies that go through the broker.
    name: String,
    listeners: Mutex<Listeners>,
}

#[derive(Debug, Default)]
struct Listeners {
    latest: u64,
    all: Vec<Listener>,
}

#[derive(Debug)]
struct Listener {
    number: u64,
    bindings: QueueBindings,
    deliveries: mpsc::Sender<Delivery>,
}

/// A queue that is consumed. It hears nothing more from this process once this is dropped.
pub(crate) struct Listening {
    consumers: LocalConsumers,
    number: u64,
}

impl Default for LocalConsumers {
    fn default() -> Self {
        let name = format!("pagurus-{:016x}", rand::random::<u64>());
        Self { inner: Arc::new(Inner { name, listeners: Mutex::default() }) }
    }
}

impl LocalConsumers {
    /// Delivers to a queue of this process from now on.
    pub(crate) fn listen(&self, bindings: QueueBindings, deliveries: mpsc::Sender<Delivery>) -> Listening {
        let mut listeners = self.listeners();
        listeners.latest += 1;
        let number = listeners.latest;
        listeners.all.push(Listener { number, bindings, deliveries });
        Listening { consumers: self.clone(), number }
    }

    /// Delivers messages to the queues of this process. What is left is for the broker.
    pub(crate) fn deliver(&self, messages: Vec<Message>) -> Vec<Message> {
        let listeners = self.listeners();
        let for_broker = messages.into_iter().filter_map(|mut message| {
            if listeners.take(&message) {
                if message.to_one {
                    return None;
                }
                message.properties.app_id = Some(self.inner.name.clone());
            }
            Some(message)
        });
        for_broker.collect()
    }

    /// True if a delivery of the broker is a copy of what this process delivered itself.
    pub(crate) fn is_copy(&self, delivery: &Delivery) -> bool {
        !delivery.tag.is_local() && delivery.properties.app_id.as_deref() == Some(&*self.inner.name)
    }

    fn listeners(&self) -> MutexGuard<'_, Listeners> {
        self.inner.listeners.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Listeners {
    /// Gives a message to all that are bound by its key. True if there is one, and every one of them has it.
    fn take(&self, message: &Message) -> bool {
        let bound = |listener: &&Listener| {
            let bindings = listener.bindings.borrow();
            bindings.iter().any(|(exchange, key)| *key == message.key && *exchange == message.exchange)
        };
        let mut taken: Option<bool> = None;
        for listener in self.all.iter().filter(bound) {
            let has_it = listener.deliveries.try_send(delivery(message)).is_ok();
            taken = Some(has_it && taken.unwrap_or(true));
        }
        taken.unwrap_or_default()
    }
}

impl Drop for Listening {
    fn drop(&mut self) {
        self.consumers.listeners().all.retain(|listener| listener.number != self.number);
    }
}

fn delivery(message: &Message) -> Delivery {
    Delivery {
        tag: DeliveryTag::LOCAL,
        exchange: message.exchange.clone(),
        routing_key: message.key.clone(),
        redelivered: false,
        properties: message.properties.clone(),
        body: message.body.clone(),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test may stop at the first surprise")]

    use super::*;

    fn bound_by(keys: &[&str]) -> watch::Sender<Vec<(String, String)>> {
        watch::Sender::new(keys.iter().map(|key| ("news".to_owned(), (*key).to_owned())).collect())
    }

    fn news(key: &str, to_one: bool) -> Message {
        Message { exchange: "news".to_owned(), key: key.to_owned(), to_one, ..Message::default() }
    }

    #[test]
    fn amqp_2_what_one_queue_is_to_have_needs_no_broker_and_the_rest_goes_there_marked() {
        let consumers = LocalConsumers::default();
        let (sender, mut deliveries) = mpsc::channel(10);
        let bindings = bound_by(&["work", "all"]);
        let listening = consumers.listen(bindings.subscribe(), sender);
        let left = consumers.deliver(vec![news("work", true), news("all", false), news("other", true)]);
        let keys: Vec<&str> = left.iter().map(|message| &*message.key).collect();
        assert_eq!(keys, ["all", "other"]);
        assert_eq!(
            [deliveries.try_recv().unwrap(), deliveries.try_recv().unwrap()].map(|one| one.routing_key),
            ["work", "all"]
        );
        assert!(deliveries.try_recv().is_err());
        // The copy that comes back, and the message of another process.
        let from_broker =
            |message: &Message| Delivery { tag: DeliveryTag { generation: 1, tag: 1 }, ..delivery(message) };
        assert!(consumers.is_copy(&from_broker(&left[0])) && !consumers.is_copy(&from_broker(&left[1])));
        assert!(!LocalConsumers::default().is_copy(&from_broker(&left[0])));

        bindings.send_replace(Vec::new());
        assert_eq!(consumers.deliver(vec![news("work", true)]).len(), 1, "it is bound again");
        bindings.send_replace(vec![("news".to_owned(), "work".to_owned())]);
        assert_eq!(consumers.deliver(vec![news("work", true)]).len(), 0);
        drop(listening);
        assert_eq!(consumers.deliver(vec![news("work", true)]).len(), 1, "it is not consumed");
    }

    #[test]
    fn amqp_2_a_consumer_without_room_hears_through_the_broker() {
        let consumers = LocalConsumers::default();
        let (sender, mut deliveries) = mpsc::channel(1);
        let (bindings, roomy) = (bound_by(&["all"]), mpsc::channel(10));
        let _full = consumers.listen(bindings.subscribe(), sender);
        let _roomy = consumers.listen(bindings.subscribe(), roomy.0);
        let left = consumers.deliver(vec![news("all", false), news("all", false)]);
        let marks: Vec<bool> = left.iter().map(|message| message.properties.app_id.is_some()).collect();
        assert_eq!(marks, [true, false], "twice for one of them is no harm, not at all would be");
        assert!(deliveries.try_recv().is_ok() && deliveries.try_recv().is_err());
        assert_eq!(roomy.1.len(), 2);
    }
}
