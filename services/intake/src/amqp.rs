//! The AMQP door: orders, actions and callbacks in, receipts out, refused messages aside.
//!
//! A delivery is acknowledged when what it caused is durable: an order or a callback committed, a
//! hopeless message confirmed in the queue of refused ones. While the database is away nothing is
//! taken: the messages wait where they are.

mod command;
mod trouble;

use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use pagurus_broker::{
    ConsumeSpec, Consumer, Delivery, DeliveryTag, HeaderValue, Message, Published, QueueSource,
    headers_to_json,
};
use pagurus_domain::order::notification::Target;
use pagurus_runtime::metrics::Count;
use pagurus_store::Error;
use pagurus_wire::message::{Receipt, key};
use pagurus_wire::problem::{Problem, Type};

use crate::Intake;
use crate::answer::{self, new_answer};
use crate::register::{self, Outcome, Registrar, Submission};

/// Loops for callbacks: one batch is prepared while another commits. Orders have one loop: what a
/// client sends in a row, orders of one queue or an order and its cancellation, is taken in that row.
const CALLBACK_LANES: usize = 2;

/// How long a batch waits for more when the one before was not alone: a commit, a message of news
/// and an acknowledgement are shared by all of a batch. An order that comes alone waits for nobody.
const LINGER: Duration = Duration::from_millis(2);

/// What is to be said and done about one delivery, once its batch is through.
struct Handled {
    tag: DeliveryTag,
    /// Receipt and where it goes.
    receipt: Option<(String, Option<String>, Receipt)>,
    /// Put aside, with its reason.
    refused: Option<Message>,
}

/// Starts the consumers.
pub(crate) fn start(intake: &Intake) -> anyhow::Result<()> {
    let names = intake.host.broker.names().clone();
    let prefetch = intake.host.settings.broker.prefetch;
    let spec = |queue: &str| ConsumeSpec {
        queue: QueueSource::Named(queue.to_owned()),
        prefetch,
        ack_on_take: false,
    };
    let orders = Arc::new(intake.host.broker.consume(spec(&names.orders_in))?);
    let callbacks = Arc::new(intake.host.broker.consume(spec(&names.callbacks_in))?);
    intake.host.spawn("orders in", take_orders(intake.clone(), orders));
    for _ in 0..CALLBACK_LANES {
        intake.host.spawn("callbacks in", take_callbacks(intake.clone(), callbacks.clone()));
    }
    Ok(())
}

async fn take_orders(intake: Intake, consumer: Arc<Consumer>) -> anyhow::Result<()> {
    let mut busy = false;
    while let Some(batch) = next(&intake, &consumer, busy).await {
        busy = batch.len() > 1;
        match handle_orders(&intake, &batch).await {
            Ok(handled) => settle(&intake, &consumer, handled).await,
            Err(error) => trouble::wait_for_store(&intake, &consumer, &batch, "register", &error).await,
        }
    }
    Ok(())
}

async fn take_callbacks(intake: Intake, consumer: Arc<Consumer>) -> anyhow::Result<()> {
    let mut busy = false;
    while let Some(batch) = next(&intake, &consumer, busy).await {
        busy = batch.len() > 1;
        match handle_callbacks(&intake, &batch).await {
            Ok(handled) => settle(&intake, &consumer, handled).await,
            Err(error) => trouble::wait_for_store(&intake, &consumer, &batch, "answer", &error).await,
        }
    }
    Ok(())
}

/// The next batch; `None` when the process is to stop. What was not taken goes back to the queue
/// with the end of the consumer.
async fn next(intake: &Intake, consumer: &Consumer, busy: bool) -> Option<Vec<Delivery>> {
    if busy {
        tokio::time::sleep(LINGER).await;
    }
    tokio::select! {
        biased;
        () = intake.host.draining.cancelled() => None,
        batch = consumer.next_batch(intake.host.settings.intake.batch) => Some(batch),
    }
}

/// Registrations that stand side by side go into one transaction; an action between them waits
/// for those before it, and those after wait for it.
async fn handle_orders(intake: &Intake, batch: &[Delivery]) -> Result<Vec<Handled>, Error> {
    let mut handled = Vec::with_capacity(batch.len());
    let mut run: Vec<(&Delivery, Submission)> = Vec::new();
    for delivery in batch {
        let known = delivery.routing_key.as_str();
        if delivery.body.len() > intake.host.settings.intake.max_body_bytes {
            let max = intake.host.settings.intake.max_body_bytes;
            let problem = Problem::new(
                Type::TooLarge,
                format!("the body has {} bytes, more than {max}", delivery.body.len()),
            );
            handled.push(reject(intake, delivery, None, problem));
        } else if known == key::CREATE {
            match submission(delivery) {
                Ok(submission) => run.push((delivery, submission)),
                Err((id, problem)) => handled.push(reject(intake, delivery, id, problem)),
            }
        } else {
            register_run(intake, &mut run, &mut handled).await?;
            handled.push(command::carry_out(intake, delivery).await?);
        }
    }
    register_run(intake, &mut run, &mut handled).await?;
    Ok(handled)
}

async fn register_run(
    intake: &Intake,
    run: &mut Vec<(&Delivery, Submission)>,
    handled: &mut Vec<Handled>,
) -> Result<(), Error> {
    if run.is_empty() {
        return Ok(());
    }
    let (deliveries, submissions): (Vec<&Delivery>, Vec<Submission>) =
        std::mem::take(run).into_iter().unzip();
    let registrar = Registrar {
        host: intake.host.clone(),
        catalogue: intake.catalogue.clone(),
        rules: intake.rules.clone(),
    };
    let outcomes = registrar.register(&submissions).await?;
    for ((delivery, submission), outcome) in deliveries.into_iter().zip(submissions).zip(outcomes) {
        let id = Some(submission.request.id);
        if let Outcome::Rejected(problem) = outcome {
            handled.push(reject(intake, delivery, id, problem));
            continue;
        }
        let receipt = Receipt {
            id,
            status: outcome.word().to_owned(),
            order_status: outcome.status().map(|status| status.to_string()),
            note: outcome.note(),
            error: outcome.problem(),
            call: None,
        };
        // A conflict can never succeed: the sender is told, and the message is kept for people.
        let refused = match &outcome {
            Outcome::Conflict(_) => Some(refused(intake, delivery, "conflict")),
            _ => None,
        };
        handled.push(Handled { tag: delivery.tag, receipt: addressed(delivery, receipt), refused });
    }
    Ok(())
}

fn submission(delivery: &Delivery) -> Result<Submission, (Option<String>, Problem)> {
    let value = register::parse(&delivery.body).map_err(|problem| (None, problem))?;
    let named = value.get("id").and_then(|id| id.as_str()).map(str::to_owned);
    let request = register::read_value(&value).map_err(|problem| (named, problem))?;
    Ok(Submission {
        request,
        sent_at: sent_at(delivery),
        received_at: Timestamp::now(),
        trace: trace(delivery),
    })
}

/// When the client says it sent the message: a header, or the property of AMQP.
fn sent_at(delivery: &Delivery) -> Option<Timestamp> {
    let header = ["request-sent-time", "Crab-Request-Sent-Time"]
        .iter()
        .find_map(|name| delivery.properties.header(name))
        .and_then(|value| match value {
            pagurus_broker::HeaderValue::Integer(milliseconds) => {
                Timestamp::from_millisecond(*milliseconds).ok()
            }
            other => other.as_text().and_then(crate::http::read_sent_time),
        });
    let property = || {
        let seconds = i64::try_from(delivery.properties.timestamp?).ok()?;
        Timestamp::from_second(seconds).ok().filter(|_| seconds > 0)
    };
    header.or_else(property)
}

fn trace(delivery: &Delivery) -> Option<String> {
    let parent = delivery.properties.header("traceparent")?.as_text()?;
    crate::http::read_trace(parent)
}

/// The `type` of a message by which an actor says that it is still at work.
const HEARTBEAT: &str = "heartbeat";

async fn handle_callbacks(intake: &Intake, batch: &[Delivery]) -> Result<Vec<Handled>, Error> {
    let max = intake.host.settings.intake.max_body_bytes;
    let mut handled = Vec::with_capacity(batch.len());
    let mut answers = Vec::with_capacity(batch.len());
    for delivery in batch {
        if delivery.body.len() > max {
            let problem = Problem::new(
                Type::TooLarge,
                format!("the body has {} bytes, more than {max}", delivery.body.len()),
            );
            handled.push(reject(intake, delivery, None, problem));
            continue;
        }
        let properties = &delivery.properties;
        if properties.type_.as_deref() == Some(HEARTBEAT) {
            // One that is late, or of nobody, means nothing: the next answer says so.
            answer::heartbeat(&intake.host, properties.correlation_id.as_deref().unwrap_or_default()).await?;
            handled.push(Handled { tag: delivery.tag, receipt: None, refused: None });
            continue;
        }
        let step_status = properties.header("step-status").and_then(HeaderValue::to_text);
        let mut headers = headers_to_json(&properties.headers);
        if let (Some(kind), None) = (&properties.content_type, properties.header("content-type")) {
            headers["content-type"] = kind.as_str().into();
        }
        let named = properties.correlation_id.as_deref().unwrap_or_default();
        let headers = Some(headers.to_string()).filter(|text| text != "{}");
        answers.push(new_answer(named, step_status.as_deref(), headers, delivery.body.clone()));
        handled.push(Handled { tag: delivery.tag, receipt: None, refused: None });
    }
    if !answers.is_empty() {
        answer::answer(&intake.host, &answers).await?;
    }
    Ok(handled)
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
    let to = delivery.properties.reply_to.clone()?;
    Some((to, delivery.properties.correlation_id.clone(), receipt))
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

/// A receipt goes where its allow list lets it, and nowhere else: `reply_to` is a client's word,
/// and the message would go out with our rights.
async fn send_receipts(intake: &Intake, receipts: Vec<(String, Option<String>, Receipt)>) {
    let messages: Vec<Message> = receipts
        .into_iter()
        .filter(|(to, _, _)| {
            let direct = to.starts_with("amq.rabbitmq.reply-to.");
            let allowed = direct || intake.reply.permits(&Target::Queue(to.clone())).is_ok();
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
