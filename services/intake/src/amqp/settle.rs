//! The end of deliveries: acknowledged when what they caused is durable, then answered.

use std::sync::Arc;
use std::time::Duration;

use pagurus_broker::refused::answered;
use pagurus_broker::{Consumer, DeliveryTag, Message, Published};
use pagurus_runtime::Host;
use pagurus_runtime::metrics::Count;

use super::handled::{Handled, RefusedMessage};
use super::many::{HandledMessage, MessagePart, OpenMessages, Receipts};
use super::read::ReplyTo;

/// Settles the deliveries of one consumer. Cheap to clone.
#[derive(Clone)]
pub(super) struct Settlement {
    host: Host,
    consumer: Arc<Consumer>,
    open: OpenMessages,
}

/// The refused parts of a message, and the mark whether its sender has the receipt.
struct SetAside {
    tag: DeliveryTag,
    refused: Vec<RefusedMessage>,
    has_receipt: bool,
}

impl Settlement {
    pub fn of(host: &Host, consumer: &Arc<Consumer>) -> Self {
        Self { host: host.clone(), consumer: consumer.clone(), open: OpenMessages::default() }
    }

    /// Opens a message that holds this number of orders: it is settled when all of them are handled.
    pub fn open(&self, tag: DeliveryTag, orders: usize) {
        self.open.open(tag, orders);
    }

    /// True if the outcome of an item is still awaited: else the broker has its message again.
    pub fn is_open(&self, item: &MessagePart<'_>) -> bool {
        let tag = item.delivery.tag;
        self.consumer.is_current(tag) && (item.place.is_none() || self.open.contains(tag))
    }

    /// Gives messages back to their queue.
    pub async fn put_back(&self, mut tags: Vec<DeliveryTag>) {
        tags.sort_unstable();
        tags.dedup();
        self.open.forget(&tags);
        self.consumer.put_back(&tags).await;
    }

    /// Acknowledges, sends receipts in the order of the messages, and puts refused messages aside. Returns the number of
    /// messages that were complete.
    pub async fn settle(&self, handled: Vec<Handled>) -> usize {
        let messages = self.open.gather(handled);
        let count = messages.len();
        let done = messages.iter().filter(|message| message.refused.is_empty()).map(|message| message.tag);
        self.acknowledge(done.collect()).await;
        let (mut receipts, mut aside) = (Vec::new(), Vec::new());
        for HandledMessage { tag, reply, refused } in messages {
            let place = reply.is_some().then_some(receipts.len());
            receipts.extend(reply);
            if !refused.is_empty() {
                aside.push((tag, refused, place));
            }
        }
        let arrived = send(&self.host, receipts).await;
        let aside = aside.into_iter().map(|(tag, refused, place)| {
            let has_receipt = place.is_some_and(|place| arrived[place]);
            SetAside { tag, refused, has_receipt }
        });
        self.put_aside(aside.collect()).await;
        count
    }

    async fn acknowledge(&self, mut done: Vec<DeliveryTag>) {
        done.sort_unstable();
        let acknowledged = self.consumer.ack_many(&done).await;
        self.host.metrics.count(Count::StaleAcknowledgements, "", acknowledged.stale as u64);
    }

    /// Puts messages aside, each with the mark whether its sender knows: the receipt went first, and may go again if this process
    /// dies before the acknowledgement. What could not be put aside goes back to its queue: it must not be lost.
    async fn put_aside(&self, aside: Vec<SetAside>) {
        if aside.is_empty() {
            return;
        }
        let metrics = &self.host.metrics;
        let (mut places, mut marked, mut unanswered) = (Vec::new(), Vec::new(), 0);
        for SetAside { tag, refused, has_receipt } in aside {
            places.push((tag, refused.len()));
            for RefusedMessage { message, is_for_sender } in refused {
                let is_answered = has_receipt && is_for_sender;
                unanswered += u64::from(!is_answered);
                marked.push(if is_answered { answered(message) } else { message });
            }
        }
        metrics.count(Count::RefusedUnanswered, "", unanswered);
        let (mut done, mut back) = (Vec::new(), Vec::new());
        let mut published = self.host.broker.publish_many(marked).await.into_iter();
        for (tag, count) in places {
            let lost = published.by_ref().take(count).filter(|one| !matches!(one, Published::Confirmed));
            if lost.count() == 0 { done.push(tag) } else { back.push(tag) }
        }
        self.acknowledge(done).await;
        if !back.is_empty() {
            metrics.count(Count::BrokerErrors, "refuse", back.len() as u64);
            tokio::time::sleep(Duration::from_millis(500)).await;
            self.put_back(back).await;
        }
    }
}

/// Sends receipts to queues that the allow list permits, and to no others: `reply_to` is a client's word, and the message would
/// go out with our rights. Checked again here: the list may have changed, or a message may be refused for its `reply_to`.
/// Returns for each whether a queue has it.
pub(super) async fn send(host: &Host, replies: Vec<(ReplyTo, Receipts)>) -> Vec<bool> {
    let messages: Vec<Option<Message>> =
        replies.into_iter().map(|(to, receipts)| message(host, to, receipts)).collect();
    let mut arrived: Vec<bool> = messages.iter().map(Option::is_some).collect();
    let messages: Vec<Message> = messages.into_iter().flatten().collect();
    if messages.is_empty() {
        return arrived;
    }
    let published = host.broker.publish_to_receivers(messages).await;
    let mut lost = 0;
    for (arrived, published) in arrived.iter_mut().filter(|sent| **sent).zip(published) {
        *arrived = matches!(published, Published::Confirmed);
        lost += u64::from(!*arrived);
    }
    host.metrics.count(Count::ReceiptsLost, "", lost);
    arrived
}

/// Returns the message of a receipt, if it may go out.
fn message(host: &Host, to: ReplyTo, receipts: Receipts) -> Option<Message> {
    if host.settings().reply.permits_receipt(&to.queue).is_err() {
        host.metrics.count(Count::ReceiptsLost, "", 1);
        tracing::warn!(reply_to = to.queue, "no receipt: `reply.allow` does not list this queue");
        return None;
    }
    let body = receipts.into_body().inspect_err(|error| {
        host.metrics.count(Count::ReceiptsLost, "", 1);
        tracing::error!(reply_to = to.queue, %error, "no receipt: it cannot be written as JSON");
    });
    let mut message = Message::json("", to.queue, body.ok()?);
    message.properties.correlation_id = to.correlation_id;
    // Receipts are sent once: a client that is gone asks the API.
    message.properties.persistent = false;
    Some(message)
}
