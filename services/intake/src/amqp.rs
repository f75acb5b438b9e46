//! The AMQP door: orders, actions and callbacks in, receipts out, refused messages aside.
//!
//! A delivery is acknowledged when what it caused is durable: an order or a callback committed, a
//! hopeless message confirmed in the queue of refused ones. While the database is away nothing is
//! taken: the messages wait where they are. What concerns one message (a value that the database
//! does not take, an order that somebody has locked) holds up no other.

mod alone;
mod aside;
mod callbacks;
mod command;
mod halves;
mod orders;
mod trouble;

use std::time::{Duration, Instant};

use jiff::Timestamp;
use pagurus_broker::{
    ConsumeSpec, Consumer, Delivery, DeliveryTag, Message, Published, QueueSource, is_broken,
};
use pagurus_runtime::metrics::Count;
use pagurus_runtime::node::chain;
use pagurus_runtime::offline::{Intermittent, Taken};
use pagurus_store::Error;
use pagurus_wire::message::{Receipt, key};
use pagurus_wire::problem::{Problem, Type};

use crate::Intake;
use crate::register::Registrar;
use alone::Alone;
use aside::Aside;
use orders::Orders;
use trouble::Trouble;

/// Loops for callbacks: one batch is prepared while another commits. Orders have one loop: what a
/// client sends in a row, orders of one queue or an order and its cancellation, is taken in that row.
const CALLBACK_LANES: usize = 2;

/// Time for which a batch waits for more when the one before was not alone: a commit, a message of news
/// and an acknowledgement are shared by all of a batch. An order that comes alone waits for nobody.
const LINGER: Duration = Duration::from_millis(2);

/// Answer to one delivery and what is done with it, once its batch is through.
struct Handled {
    tag: DeliveryTag,
    /// Receipt and where it goes.
    receipt: Option<(String, Option<String>, Receipt)>,
    /// Put aside, with its reason.
    refused: Option<Message>,
}

/// The outcome of a batch.
struct Outcome {
    handled: Vec<Handled>,
    /// Deliveries that could not be handled now, and the failure of the database that is the cause.
    left: Option<(Vec<DeliveryTag>, Error)>,
}

/// Starts the consumers, each over a connection of its own.
pub(crate) fn start(intake: &Intake) -> anyhow::Result<()> {
    let names = intake.host.broker.names().clone();
    let prefetch = intake.host.settings().broker.prefetch;
    let spec = |queue: &str| ConsumeSpec {
        queue: QueueSource::Named(queue.to_owned()),
        prefetch,
        ack_on_take: false,
        own_connection: true,
    };
    let take = |queue: &str| -> anyhow::Result<Intermittent> {
        let from = Intermittent::new(&intake.host, intake.host.broker.consume(spec(queue))?);
        intake.host.spawn("messages while in service", from.clone().follow());
        Ok(from)
    };
    let (orders, callbacks) = (take(&names.orders_in)?, take(&names.callbacks_in)?);
    let registrar = Registrar { host: intake.host.clone(), catalogue: intake.catalogue.clone() };
    let alone = Alone::new(intake);
    let aside =
        |from: &Intermittent| Aside::start(intake, registrar.clone(), from.consumer().clone(), alone.clone());
    let door = Orders::new(intake, registrar.clone(), aside(&orders));
    let locked = aside(&callbacks);
    intake.host.spawn("orders in", take_orders(intake.clone(), orders, door, alone.clone()));
    for _ in 0..CALLBACK_LANES {
        let take = take_callbacks(intake.clone(), callbacks.clone(), locked.clone(), alone.clone());
        intake.host.spawn("callbacks in", take);
    }
    Ok(())
}

async fn take_orders(intake: Intake, from: Intermittent, door: Orders, alone: Alone) -> anyhow::Result<()> {
    let (mut busy, mut trouble) = (false, Trouble::new("register"));
    let queue = intake.host.broker.names().orders_in.clone();
    while let Some(batch) = next(&intake, &from, busy).await {
        busy = batch.deliveries.len() > 1;
        intake.host.metrics.messages_consumed(&queue, batch.deliveries.len());
        let begun = Instant::now();
        let wary = trouble.is_wary();
        let outcome = alone.in_parts(&batch.deliveries, |part| door.handle(part, wary)).await;
        let left = conclude(&intake, (&from, &queue), outcome, begun).await;
        trouble.wait_out(&intake, &from, left).await;
    }
    Ok(())
}

async fn take_callbacks(
    intake: Intake,
    from: Intermittent,
    aside: Aside,
    alone: Alone,
) -> anyhow::Result<()> {
    let (mut busy, mut trouble) = (false, Trouble::new("answer"));
    let queue = intake.host.broker.names().callbacks_in.clone();
    while let Some(batch) = next(&intake, &from, busy).await {
        busy = batch.deliveries.len() > 1;
        intake.host.metrics.messages_consumed(&queue, batch.deliveries.len());
        let begun = Instant::now();
        let wary = trouble.is_wary();
        let handle = |part| callbacks::handle(&intake, &aside, part, wary);
        let outcome = alone.in_parts(&batch.deliveries, handle).await;
        let left = conclude(&intake, (&from, &queue), outcome, begun).await;
        trouble.wait_out(&intake, &from, left).await;
    }
    Ok(())
}

/// Settles what was handled of a batch, and gives back what is left of it.
async fn conclude(
    intake: &Intake,
    (from, queue): (&Intermittent, &str),
    outcome: Outcome,
    begun: Instant,
) -> Option<(Vec<DeliveryTag>, Error)> {
    let Outcome { handled, left } = outcome;
    let done = handled.len();
    settle(intake, from.consumer(), handled).await;
    let not_done = left.as_ref().map_or(0, |(tags, _)| tags.len());
    for (count, error) in [(done, ""), (not_done, "database")] {
        intake.host.metrics.messages_processed(queue, count, error, begun.elapsed());
    }
    left
}

/// The next batch; `None` when the process is to stop.
async fn next(intake: &Intake, from: &Intermittent, busy: bool) -> Option<Taken> {
    if busy {
        tokio::time::sleep(LINGER).await;
    }
    from.next(intake.host.settings().intake.batch).await
}

/// The word for what a message in the queue of orders asks for: its routing key. One that was sent straight to the queue has
/// no key of its own: its property `type` says the word, and without that it is a registration. Only where that is
/// permitted: the broker lets everybody send so who may write to the default exchange, such as systems that answer.
fn word_of<'a>(intake: &Intake, delivery: &'a Delivery) -> &'a str {
    let straight = intake.host.settings().intake.straight_to_queue
        && delivery.exchange.is_empty()
        && delivery.routing_key == intake.host.broker.names().orders_in;
    match delivery.properties.type_.as_deref() {
        _ if !straight => &delivery.routing_key,
        None | Some("") => key::CREATE,
        Some(word) => word,
    }
}

/// Why a message is refused before anybody looks into it: it is too long, or was not legible.
fn unacceptable(intake: &Intake, delivery: &Delivery) -> Option<Problem> {
    let max = intake.host.settings().intake.max_body_bytes;
    if delivery.body.len() > max {
        let told = format!("the body has {} bytes, more than {max}", delivery.body.len());
        return Some(Problem::new(Type::TooLarge, told));
    }
    delivery.illegible().map(|why| Problem::new(Type::Malformed, why))
}

/// A message that the database does not take, for a reason that lies in its values.
fn reject_unstorable(intake: &Intake, delivery: &Delivery, id: Option<String>, error: &Error) -> Handled {
    intake.host.metrics.count(Count::StoreErrors, "refuse", 1);
    tracing::error!(order = id, error = chain(error), "the database takes no such message; it is put aside");
    let told = "the engine cannot store this message; it is kept, and the log of the engine says more";
    reject(intake, delivery, id, Problem::new(Type::Internal, told))
}

/// A message that can never be handled: answered, put aside, done.
fn reject(intake: &Intake, delivery: &Delivery, id: Option<String>, problem: Problem) -> Handled {
    let reason = format!("{}: {}", problem.type_.rsplit(':').next().unwrap_or_default(), problem.detail);
    intake.host.metrics.count(Count::Refused, problem.type_.rsplit(':').next().unwrap_or_default(), 1);
    let receipt = Receipt {
        id,
        status: "rejected".into(),
        order_status: problem.order_status.clone(),
        note: None,
        error: Some(problem),
        call: None,
    };
    Handled {
        tag: delivery.tag,
        receipt: addressed(delivery, receipt),
        refused: Some(refused(intake, delivery, &reason)),
    }
}

fn refused(intake: &Intake, delivery: &Delivery, reason: &str) -> Message {
    pagurus_broker::refused::refused_message(
        intake.host.broker.names(),
        delivery,
        reason,
        &Timestamp::now().to_string(),
    )
}

fn addressed(delivery: &Delivery, receipt: Receipt) -> Option<(String, Option<String>, Receipt)> {
    let (to, correlation) = address(delivery)?;
    Some((to, correlation, receipt))
}

/// Where the sender of a message wants its receipt, and under which correlation id. An empty `reply_to` is none.
fn address(delivery: &Delivery) -> Option<(String, Option<String>)> {
    let legible = |text: &Option<String>| text.clone().filter(|text| !is_broken(text));
    let to = legible(&delivery.properties.reply_to).filter(|to| !to.is_empty())?;
    Some((to, legible(&delivery.properties.correlation_id)))
}

/// Why a message is refused whose sender wants a receipt where none may go: it would wait for an answer that never comes, and
/// believe that its order was lost.
fn unanswerable(intake: &Intake, delivery: &Delivery) -> Option<Problem> {
    let (to, _) = address(delivery)?;
    let refused = intake.host.settings().reply.permits_receipt(&to).err()?;
    Some(Problem::new(Type::Invalid, refused))
}

/// Puts refused messages aside, acknowledges, and sends receipts. What could not be put aside goes
/// back to its queue: it must not be lost.
async fn settle(intake: &Intake, consumer: &Consumer, handled: Vec<Handled>) {
    let mut done = Vec::with_capacity(handled.len());
    let mut aside = Vec::new();
    let mut receipts = Vec::new();
    for Handled { tag, receipt, refused } in handled {
        match refused {
            None => done.push(tag),
            Some(message) => aside.push((tag, message)),
        }
        receipts.extend(receipt);
    }
    let mut back = Vec::new();
    if !aside.is_empty() {
        let (tags, messages): (Vec<_>, Vec<_>) = aside.into_iter().unzip();
        for (tag, published) in tags.into_iter().zip(intake.host.broker.publish_many(messages).await) {
            match published {
                Published::Confirmed => done.push(tag),
                Published::Unroutable { .. } | Published::Failed(_) => back.push(tag),
            }
        }
    }
    done.sort_unstable();
    let acknowledged = consumer.ack_many(&done).await;
    intake.host.metrics.count(Count::StaleAcknowledgements, "", acknowledged.stale as u64);
    if !back.is_empty() {
        intake.host.metrics.count(Count::BrokerErrors, "refuse", back.len() as u64);
        tokio::time::sleep(Duration::from_millis(500)).await;
        consumer.put_back(&back).await;
    }
    send_receipts(intake, receipts).await;
}

/// A receipt goes where its allow list lets it, and nowhere else: `reply_to` is a client's word, and the message would go out
/// with our rights. Asked again here: the list may have changed, and a message may be refused for its `reply_to` itself.
async fn send_receipts(intake: &Intake, receipts: Vec<(String, Option<String>, Receipt)>) {
    let allow = &intake.host.settings().reply;
    let messages: Vec<Message> = receipts
        .into_iter()
        .filter(|(to, _, _)| {
            let allowed = allow.permits_receipt(to).is_ok();
            if !allowed {
                intake.host.metrics.count(Count::ReceiptsLost, "", 1);
                tracing::warn!(reply_to = to, "no receipt: `reply.allow` does not list this queue");
            }
            allowed
        })
        .map(|(to, correlation_id, receipt)| {
            // Plain data always serializes.
            let mut message = Message::json("", to, serde_json::to_vec(&receipt).unwrap_or_default());
            message.properties.correlation_id = correlation_id;
            // Receipts are told once: a client that is gone asks the API.
            message.properties.persistent = false;
            message
        })
        .collect();
    if messages.is_empty() {
        return;
    }
    let published = intake.host.broker.publish_many_foreign(messages).await;
    let lost = published.iter().filter(|published| !matches!(published, Published::Confirmed)).count();
    intake.host.metrics.count(Count::ReceiptsLost, "", lost as u64);
}
