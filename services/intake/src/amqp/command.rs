//! Commands that come as messages: `order.cancel`, `order.restart`, `order.call` and their like.

use std::time::Duration;

use pagurus_broker::Delivery;
use pagurus_command::call::NewCall;
use pagurus_command::request::{ActionRequest, OF_OTHERS, OF_RESTART, RequestKey};
use pagurus_command::{Acted, LifeAction, Restart, Terms};
use pagurus_domain::order::principal::{Door, Principal};
use pagurus_domain::order::registration;
use pagurus_store::Error;
use pagurus_wire::message::{Receipt, key};
use pagurus_wire::problem::{Problem, Type};
use serde_json::Value;

use super::orders::sent_at;
use super::{Handled, addressed, reject, send_receipts};
use crate::Intake;
use crate::calls;

/// Longest time for the answer to a call, if somebody wants it.
const PATIENCE: Duration = Duration::from_secs(5 * 60);

/// Request about one order.
pub(super) struct Command {
    /// The order.
    pub id: String,
    asked: What,
}

enum What {
    /// The key is the client's, or one of our own, by which a try knows what one before it did.
    Action {
        action: LifeAction,
        asked: ActionRequest,
        key: RequestKey,
        is_own_key: bool,
    },
    Call(NewCall),
}

/// The order, if it was named, and the problem to answer with.
type Unreadable = (Option<String>, Problem);

impl Command {
    /// Reads a message that is no registration, but what this word asks for.
    ///
    /// # Errors
    /// The problem to answer with.
    pub fn read(delivery: &Delivery, word: &str) -> Result<Self, Unreadable> {
        if word == key::CALL {
            let (id, call) = read_call(delivery)?;
            return Ok(Self { id, asked: What::Call(call) });
        }
        read(delivery, word)
    }
}

/// Carries a command out, in one try; `again` where one before it may have been committed.
///
/// # Errors
/// The database failed, or the order is locked: the command must be tried again. Every other problem
/// is an answer.
pub(super) async fn carry_out(
    intake: &Intake,
    delivery: &Delivery,
    command: &Command,
    again: bool,
) -> Result<Handled, Error> {
    match &command.asked {
        What::Call(new) => call(intake, delivery, &command.id, new).await,
        What::Action { action, asked, key, is_own_key } => {
            let by = Principal::amqp(delivery.properties.user_id.clone(), delivery.exchange.clone());
            let terms = Terms {
                by: &by,
                reason: asked.reason.as_deref(),
                if_status: asked.if_status,
                key: Some(key),
            };
            Ok(match intake.commands.act_at_once(&command.id, action, terms, again || !is_own_key).await? {
                Ok(acted) => Handled {
                    tag: delivery.tag,
                    receipt: addressed(delivery, done(&command.id, acted)),
                    refused: None,
                },
                Err(problem) => reject(intake, delivery, Some(command.id.clone()), problem),
            })
        }
    }
}

fn done(id: &str, acted: Acted) -> Receipt {
    Receipt {
        id: Some(id.to_owned()),
        status: "done".into(),
        order_status: Some(acted.status.to_string()),
        note: acted.note,
        error: None,
        call: None,
    }
}

/// Stores a call; its answer follows as the receipt, as soon as there is one.
async fn call(intake: &Intake, delivery: &Delivery, id: &str, new: &NewCall) -> Result<Handled, Error> {
    if let Err(problem) = intake.commands.call_at_once(id, new, Door::Amqp).await? {
        return Ok(reject(intake, delivery, Some(id.to_owned()), problem));
    }
    if let Some((to, correlation)) = super::address(delivery) {
        let (intake, id, key) = (intake.clone(), id.to_owned(), new.key.clone());
        // Beside the consumer: an order may take its time, and others do not wait for it. Who gets no
        // answer, because this node ends first, asks again with the same key; who comes when too many
        // wait is told at once that the call waits.
        tokio::spawn(async move {
            if let Ok(call) = calls::answered(&intake, &id, &key, PATIENCE).await {
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

fn read_call(delivery: &Delivery) -> Result<(String, NewCall), Unreadable> {
    let value = crate::register::parse(&delivery.body).map_err(|problem| (None, problem))?;
    let id = id_of(&value);
    let new = NewCall::read(&value, delivery.properties.message_id.as_deref());
    let new = new.map_err(|problem| (id.clone().ok(), problem))?;
    Ok((id.map_err(|problem| (None, problem))?, new))
}

/// The order that a message names.
fn id_of(value: &Value) -> Result<String, Problem> {
    registration::named_id(value).map_err(|fault| {
        Problem::new(Type::Invalid, format!("{} {}", fault.pointer, fault.message)).at(fault.pointer)
    })
}

fn read(delivery: &Delivery, word: &str) -> Result<Command, Unreadable> {
    let value = crate::register::parse(&delivery.body).map_err(|problem| (None, problem))?;
    let id = id_of(&value);
    let named = id.clone().ok();
    let action = match word {
        key::CANCEL => LifeAction::Cancel,
        key::INTERRUPT => LifeAction::Interrupt,
        key::KILL => LifeAction::Kill,
        key::RESTART => {
            let sent_at = sent_at(delivery).map_err(|problem| (named.clone(), problem))?;
            LifeAction::Restart(Restart { sent_at, ..Restart::default() })
        }
        other => {
            let named_by = if delivery.routing_key == other { "routing key" } else { "type" };
            let told = format!(
                "{named_by} `{}` means nothing here; there are: {}, {}, {}, {}, {}, {}",
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
    let fields = if matches!(action, LifeAction::Restart(_)) { OF_RESTART } else { OF_OTHERS };
    let asked = ActionRequest::read(&value, fields).map_err(|problem| (named.clone(), problem))?;
    // A message without an id of its own is another one each time.
    let message_id = delivery.properties.message_id.as_deref().filter(|id| !id.is_empty());
    let key = RequestKey::read(message_id, &value).map_err(|problem| (named, problem))?;
    let id = id.map_err(|problem| (None, problem))?;
    let (is_own_key, key) = (key.is_none(), key.unwrap_or_else(RequestKey::of_our_own));
    Ok(Command { id, asked: What::Action { action: action.with(&asked), asked, key, is_own_key } })
}
