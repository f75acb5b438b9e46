//! The end of deliveries: acknowledged when what they caused is durable, then answered.

use std::time::Duration;

use pagurus_broker::refused::answered;
use pagurus_broker::{Consumer, DeliveryTag, Message, Published};
use pagurus_runtime::Host;
use pagurus_runtime::metrics::Count;

use super::handled::{AddressedReceipt, Handled};

/// Acknowledges, sends receipts in the order of the messages, and puts refused messages aside.
pub(super) async fn settle(host: &Host, consumer: &Consumer, handled: Vec<Handled>) {
    let done = handled.iter().filter(|one| one.refused.is_none()).map(|one| one.tag);
    acknowledge(host, consumer, done.collect()).await;
    let (mut receipts, mut places, mut refused) = (Vec::new(), Vec::new(), Vec::new());
    for one in handled {
        let place = one.is_for_sender().then_some(refused.len());
        let is_refused = one.refused.is_some();
        refused.extend(one.refused.map(|message| (one.tag, message)));
        if let Some(reply) = one.reply {
            receipts.push(reply);
            places.push(place.filter(|_| is_refused));
        }
    }
    let mut is_answered = vec![false; refused.len()];
    for (place, arrived) in places.into_iter().zip(send(host, receipts).await) {
        if let Some(place) = place {
            is_answered[place] = arrived;
        }
    }
    if !refused.is_empty() {
        put_aside(host, consumer, refused, is_answered).await;
    }
}

async fn acknowledge(host: &Host, consumer: &Consumer, mut done: Vec<DeliveryTag>) {
    done.sort_unstable();
    let acknowledged = consumer.ack_many(&done).await;
    host.metrics.count(Count::StaleAcknowledgements, "", acknowledged.stale as u64);
}

/// Puts messages aside, each with the mark whether its sender knows: the receipt went first, and may go again if this process
/// dies before the acknowledgement. What could not be put aside goes back to its queue: it must not be lost.
async fn put_aside(
    host: &Host,
    consumer: &Consumer,
    refused: Vec<(DeliveryTag, Message)>,
    is_answered: Vec<bool>,
) {
    let (tags, messages): (Vec<_>, Vec<_>) = refused.into_iter().unzip();
    let unanswered = is_answered.iter().filter(|answered| !**answered).count();
    host.metrics.count(Count::RefusedUnanswered, "", unanswered as u64);
    let marked = messages.into_iter().zip(is_answered);
    let marked = marked.map(|(message, known)| if known { answered(message) } else { message }).collect();
    let (mut done, mut back) = (Vec::new(), Vec::new());
    for (tag, published) in tags.into_iter().zip(host.broker.publish_many(marked).await) {
        match published {
            Published::Confirmed => done.push(tag),
            Published::Unroutable { .. } | Published::Failed(_) => back.push(tag),
        }
    }
    acknowledge(host, consumer, done).await;
    if !back.is_empty() {
        host.metrics.count(Count::BrokerErrors, "refuse", back.len() as u64);
        tokio::time::sleep(Duration::from_millis(500)).await;
        consumer.put_back(&back).await;
    }
}

/// Sends receipts to queues that the allow list permits, and to no others: `reply_to` is a client's word, and the message would
/// go out with our rights. Checked again here: the list may have changed, or a message may be refused for its `reply_to`.
/// Returns for each whether a queue has it.
pub(super) async fn send(host: &Host, replies: Vec<AddressedReceipt>) -> Vec<bool> {
    let messages: Vec<Option<Message>> = replies.into_iter().map(|reply| message(host, reply)).collect();
    let mut arrived: Vec<bool> = messages.iter().map(Option::is_some).collect();
    let messages: Vec<Message> = messages.into_iter().flatten().collect();
    if messages.is_empty() {
        return arrived;
    }
    let published = host.broker.publish_many_foreign(messages).await;
    let mut lost = 0;
    for (arrived, published) in arrived.iter_mut().filter(|sent| **sent).zip(published) {
        *arrived = matches!(published, Published::Confirmed);
        lost += u64::from(!*arrived);
    }
    host.metrics.count(Count::ReceiptsLost, "", lost);
    arrived
}

/// Returns the message of a receipt, if it may go out.
fn message(host: &Host, AddressedReceipt { to, receipt }: AddressedReceipt) -> Option<Message> {
    if host.settings().reply.permits_receipt(&to.queue).is_err() {
        host.metrics.count(Count::ReceiptsLost, "", 1);
        tracing::warn!(reply_to = to.queue, "no receipt: `reply.allow` does not list this queue");
        return None;
    }
    let body = serde_json::to_vec(&receipt).inspect_err(|error| {
        host.metrics.count(Count::ReceiptsLost, "", 1);
        tracing::error!(reply_to = to.queue, %error, "no receipt: it cannot be written as JSON");
    });
    let mut message = Message::json("", to.queue, body.ok()?);
    message.properties.correlation_id = to.correlation_id;
    // Receipts are sent once: a client that is gone asks the API.
    message.properties.persistent = false;
    Some(message)
}
