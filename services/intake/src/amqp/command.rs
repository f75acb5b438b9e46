//! Actions that come as messages: `order.cancel`, `order.restart` and their like.

use pagurus_broker::Delivery;
use pagurus_store::Error;
use pagurus_wire::message::{Receipt, key};
use pagurus_wire::problem::{Problem, Type};
use serde_json::Value;

use super::{Handled, addressed, reject, sent_at};
use crate::Intake;
use crate::act::{self, Action, Asked, Restart};

/// Carries one action out.
///
/// # Errors
/// The database is away: the message must be tried again. Every other problem is an answer.
pub(super) async fn carry_out(intake: &Intake, delivery: &Delivery) -> Result<Handled, Error> {
    let (id, action, reason) = match read(delivery) {
        Ok(read) => read,
        Err((id, problem)) => return Ok(reject(intake, delivery, id, problem)),
    };
    match act::act(intake, &id, &action, "client", reason.as_deref()).await {
        Ok(status) => {
            let receipt = Receipt {
                id: Some(id),
                status: "done".into(),
                order_status: Some(status.to_string()),
                error: None,
            };
            Ok(Handled { tag: delivery.tag, receipt: addressed(delivery, receipt), refused: None })
        }
        Err(problem) if matches!(problem.status, 429 | 503) => Err(Error::Contended),
        Err(problem) => Ok(reject(intake, delivery, Some(id), problem)),
    }
}

/// The order, the action and its reason; or the order, if it was named, and the problem.
type Read = Result<(String, Action, Option<String>), (Option<String>, Problem)>;

fn read(delivery: &Delivery) -> Read {
    let value = crate::register::parse(&delivery.body).map_err(|problem| (None, problem))?;
    let named = value.get("id").and_then(Value::as_str).map(str::to_owned);
    let Asked { id, reason, from, params } = Asked::read(&value).map_err(|problem| (named, problem))?;
    let action = match delivery.routing_key.as_str() {
        key::CANCEL => Action::Cancel,
        key::INTERRUPT => Action::Interrupt,
        key::KILL => Action::Kill,
        key::RESTART => Action::Restart(Restart { from, params, sent_at: sent_at(delivery) }),
        other => {
            let told = format!(
                "routing key `{}` means nothing here; there are: {}, {}, {}, {}, {}",
                other.chars().take(100).collect::<String>(),
                key::CREATE,
                key::RESTART,
                key::CANCEL,
                key::INTERRUPT,
                key::KILL
            );
            return Err((id, Problem::new(Type::UnknownKey, told)));
        }
    };
    let Some(id) = id else {
        let mut problem = Problem::new(Type::Invalid, "/id is missing");
        problem.pointer = Some("/id".into());
        return Err((None, problem));
    };
    Ok((id, action, reason))
}
