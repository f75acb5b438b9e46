//! The end of deliveries: acknowledged when what they caused is durable, then answered.

use std::time::Duration;

use pagurus_broker::{Consumer, Message, Published};
use pagurus_runtime::Host;
use pagurus_runtime::metrics::Count;

use super::handled::{AddressedReceipt, Handled};

/// Puts refused messages aside, acknowledges, and sends receipts. What could not be put aside goes
/// back to its queue: it must not be lost.
pub(super) async fn settle(host: &Host, consumer: &Consumer, handled: Vec<Handled>) {
    let mut done = Vec::with_capacity(handled.len());
    let (mut refused, mut refusals) = (Vec::new(), Vec::new());
    let mut replies = Vec::new();
    for one in handled {
        match one.refused {
            None => done.push(one.tag),
            Some(message) => {
                refused.push(one.tag);
                refusals.push(message);
            }
        }
        replies.extend(one.reply);
    }
    let mut back = Vec::new();
    if !refused.is_empty() {
        for (tag, published) in refused.into_iter().zip(host.broker.publish_many(refusals).await) {
            match published {
                Published::Confirmed => done.push(tag),
                Published::Unroutable { .. } | Published::Failed(_) => back.push(tag),
            }
        }
    }
    done.sort_unstable();
    let acknowledged = consumer.ack_many(&done).await;
    host.metrics.count(Count::StaleAcknowledgements, "", acknowledged.stale as u64);
    if !back.is_empty() {
        host.metrics.count(Count::BrokerErrors, "refuse", back.len() as u64);
        tokio::time::sleep(Duration::from_millis(500)).await;
        consumer.put_back(&back).await;
    }
    send(host, replies).await;
}

/// Sends receipts to queues that the allow list permits, and to no others: `reply_to` is a client's word, and the message would
/// go out with our rights. Checked again here: the list may have changed, or a message may be refused for its `reply_to`.
pub(super) async fn send(host: &Host, replies: Vec<AddressedReceipt>) {
    let messages: Vec<Message> = replies.into_iter().filter_map(|reply| message(host, reply)).collect();
    if messages.is_empty() {
        return;
    }
    let published = host.broker.publish_many_foreign(messages).await;
    let lost = published.iter().filter(|published| !matches!(published, Published::Confirmed)).count();
    host.metrics.count(Count::ReceiptsLost, "", lost as u64);
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
