//! Callbacks, decisions and heartbeats of actors as they come in.

use pagurus_broker::{Delivery, DeliveryTag, HeaderValue, headers_to_json};
use pagurus_runtime::traces::names;
use pagurus_store::Error;
use serde_json::{Map, Value};

use super::aside::{Aside, Held};
use super::halves::by_halves;
use super::{Handled, Outcome, reject, reject_unstorable, unacceptable};
use crate::answer::{self, NewAnswer, new_answer};
use crate::headers::STEP_STATUS;
use crate::{Intake, traced};

/// The `type` of a message by which an actor says that it is still at work.
const HEARTBEAT: &str = "heartbeat";

/// Stores what came in, and wakes the orders that waited for it.
pub(super) async fn handle(intake: &Intake, aside: &Aside, batch: &[Delivery], wary: bool) -> Outcome {
    let mut handled = Vec::with_capacity(batch.len());
    let (mut senders, mut answers, mut spans) = (Vec::new(), Vec::new(), Vec::new());
    let mut left: Option<(Vec<DeliveryTag>, Error)> = None;
    for delivery in batch {
        if let Some(problem) = unacceptable(intake, delivery) {
            handled.push(reject(intake, delivery, None, problem));
        } else if delivery.properties.type_.as_deref() == Some(HEARTBEAT) {
            match heartbeat(intake, delivery).await {
                Ok(()) => handled.push(done(delivery)),
                Err(error) => leave(&mut left, delivery, error),
            }
        } else {
            answers.push(answer_of(delivery));
            spans.push(traced::message(&intake.host, delivery, &intake.host.broker.names().callbacks_in));
            senders.push(delivery);
        }
    }
    let (outcomes, failure) = by_halves(&answers, wary, |part| intake.recorder.record(part)).await;
    for (span, outcome) in spans.iter_mut().zip(&outcomes) {
        match outcome {
            Ok(verdict) => span.set(names::CALLBACK, verdict.as_str()),
            Err(error) => span.fail("store", &error.to_string()),
        }
    }
    drop(spans);
    let mut senders = senders.into_iter();
    let mut answers = answers.into_iter();
    for (outcome, (delivery, answer)) in outcomes.into_iter().zip(senders.by_ref().zip(answers.by_ref())) {
        match outcome {
            Ok(_) => handled.push(done(delivery)),
            // Its order is locked.
            Err(error) if error.is_transient() => {
                if !aside.put(delivery, Held::Answer(Box::new(answer))).await {
                    leave(&mut left, delivery, error);
                }
            }
            Err(error) => handled.push(reject_unstorable(intake, delivery, None, &error)),
        }
    }
    if let Some(error) = failure {
        let rest: Vec<DeliveryTag> = senders.map(|delivery| delivery.tag).collect();
        let (mut tags, _) = left.take().unwrap_or((Vec::new(), Error::Contended));
        tags.extend(rest);
        left = Some((tags, error));
    }
    Outcome { handled, left }
}

fn leave(left: &mut Option<(Vec<DeliveryTag>, Error)>, delivery: &Delivery, error: Error) {
    match left {
        Some((tags, _)) => tags.push(delivery.tag),
        None => *left = Some((vec![delivery.tag], error)),
    }
}

/// It is stored, and nothing is said about it.
pub(super) fn done(delivery: &Delivery) -> Handled {
    Handled { tag: delivery.tag, receipt: None, refused: None }
}

async fn heartbeat(intake: &Intake, delivery: &Delivery) -> Result<(), Error> {
    let pass = delivery.properties.correlation_id.as_deref().unwrap_or_default();
    // One that is late, or of nobody, means nothing: the next answer says so.
    answer::heartbeat(&intake.host, pass).await.map(drop)
}

fn answer_of(delivery: &Delivery) -> NewAnswer {
    let properties = &delivery.properties;
    let step_status = STEP_STATUS.iter().find_map(|name| properties.header(name));
    let step_status = step_status.and_then(HeaderValue::to_text);
    let mut headers = match headers_to_json(&properties.headers) {
        Value::Object(headers) => headers,
        _ => Map::new(),
    };
    if let (Some(kind), None) = (&properties.content_type, properties.header("content-type")) {
        headers.insert("content-type".to_owned(), kind.as_str().into());
    }
    let named = properties.correlation_id.as_deref().unwrap_or_default();
    new_answer(named, step_status.as_deref(), headers, delivery.body.clone())
}
