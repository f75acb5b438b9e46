//! Actions that come as messages: `order.cancel`, `order.restart` and their like.

use std::time::Duration;

use pagurus_broker::Delivery;
use pagurus_domain::order::registration;
use pagurus_store::Error;
use pagurus_wire::message::{Receipt, key};
use pagurus_wire::problem::{Problem, Type};
use serde_json::Value;

use super::{Handled, addressed, reject, send_receipts, sent_at};
use crate::Intake;
use crate::act::{self, Acted, Action, Asked, Key, OF_OTHERS, OF_RESTART, Restart, Terms};
use crate::calls::{self, NewCall};

/// How long the answer to a call is waited for, if somebody wants it.
const PATIENCE: Duration = Duration::from_secs(5 * 60);

/// Carries one action out.
///
/// # Errors
/// The database is away: the message must be tried again. Every other problem is an answer.
pub(super) async fn carry_out(intake: &Intake, delivery: &Delivery) -> Result<Handled, Error> {
    if delivery.routing_key == key::CALL {
        return call(intake, delivery).await;
    }
    let (id, action, asked, key) = match read(delivery) {
        Ok(read) => read,
        Err((id, problem)) => return Ok(reject(intake, delivery, id, problem)),
    };
    let terms = Terms {
        source: "client",
        reason: asked.reason.as_deref(),
        if_status: asked.if_status,
        key: key.as_ref(),
    };
    match act::act(intake, &id, &action, terms).await {
        Ok(Acted { status, note, .. }) => {
            let receipt = Receipt {
                id: Some(id),
                status: "done".into(),
                order_status: Some(status.to_string()),
                note,
                error: None,
                call: None,
            };
            Ok(Handled { tag: delivery.tag, receipt: addressed(delivery, receipt), refused: None })
        }
        Err(problem) if matches!(problem.status, 429 | 503) => Err(Error::Contended),
        Err(problem) => Ok(reject(intake, delivery, Some(id), problem)),
    }
}

/// Stores a call; its answer follows as the receipt, as soon as there is one.
async fn call(intake: &Intake, delivery: &Delivery) -> Result<Handled, Error> {
    let (id, new) = match read_call(delivery) {
        Ok(read) => read,
        Err((id, problem)) => return Ok(reject(intake, delivery, id, problem)),
    };
    match calls::submit(intake, &id, &new).await {
        Ok(()) => {}
        Err(problem) if matches!(problem.status, 429 | 503) => return Err(Error::Contended),
        Err(problem) => return Ok(reject(intake, delivery, Some(id), problem)),
    }
    if let Some(to) = delivery.properties.reply_to.clone() {
        let (intake, correlation) = (intake.clone(), delivery.properties.correlation_id.clone());
        // Beside the consumer: an order may take its time, and others do not wait for it. Who gets no
        // answer, because this node ends first, asks again with the same key; who comes when too many
        // wait is told at once that the call waits.
        tokio::spawn(async move {
            if let Ok(call) = calls::answered(&intake, &id, &new.key, PATIENCE).await {
                let receipt = Receipt {
                    id: Some(id),
                    status: call.status.clone(),
                    order_status: None,
                    note: None,
                    error: None,
                    call: Some(call),
                };
                send_receipts(&intake, vec![(to, correlation, receipt)]).await;
            }
        });
    }
    Ok(Handled { tag: delivery.tag, receipt: None, refused: None })
}

fn read_call(delivery: &Delivery) -> Result<(String, NewCall), (Option<String>, Problem)> {
    let value = crate::register::parse(&delivery.body).map_err(|problem| (None, problem))?;
    let id = id_of(&value);
    let new = NewCall::read(&value, delivery.properties.message_id.as_deref());
    let new = new.map_err(|problem| (id.clone().ok(), problem))?;
    Ok((id.map_err(|problem| (None, problem))?, new))
}

/// The order that a message names.
fn id_of(value: &Value) -> Result<String, Problem> {
    registration::named_id(value).map_err(|fault| {
        let mut problem = Problem::new(Type::Invalid, format!("{} {}", fault.pointer, fault.message));
        problem.pointer = Some(fault.pointer);
        problem
    })
}

/// The order, the action, what else was asked, and the key of the request; or the order, if it was
/// named, and the problem.
type Read = Result<(String, Action, Asked, Option<Key>), (Option<String>, Problem)>;

fn read(delivery: &Delivery) -> Read {
    let value = crate::register::parse(&delivery.body).map_err(|problem| (None, problem))?;
    let id = id_of(&value);
    let named = id.clone().ok();
    let action = match delivery.routing_key.as_str() {
        key::CANCEL => Action::Cancel,
        key::INTERRUPT => Action::Interrupt,
        key::KILL => Action::Kill,
        key::RESTART => Action::Restart(Restart { sent_at: sent_at(delivery), ..Restart::default() }),
        other => {
            let told = format!(
                "routing key `{}` means nothing here; there are: {}, {}, {}, {}, {}, {}",
                other.chars().take(100).collect::<String>(),
                key::CREATE,
                key::RESTART,
                key::CANCEL,
                key::INTERRUPT,
                key::KILL,
                key::CALL
            );
            return Err((named, Problem::new(Type::UnknownKey, told)));
        }
    };
    let fields = if matches!(action, Action::Restart(_)) { OF_RESTART } else { OF_OTHERS };
    let asked = Asked::read(&value, fields).map_err(|problem| (named.clone(), problem))?;
    // A message without an id of its own is another one each time.
    let message_id = delivery.properties.message_id.as_deref().filter(|id| !id.is_empty());
    let key = Key::read(message_id, &value).map_err(|problem| (named, problem))?;
    let id = id.map_err(|problem| (None, problem))?;
    Ok((id, action.with(&asked), asked, key))
}
