//! Outcomes of deliveries: what is answered, what is kept for people, and what is left for later.

use jiff::Timestamp;
use pagurus_broker::refused::refused_message;
use pagurus_broker::{Delivery, DeliveryTag, Message};
use pagurus_command::Acted;
use pagurus_domain::time;
use pagurus_runtime::Host;
use pagurus_runtime::metrics::Count;
use pagurus_runtime::node::chain;
use pagurus_store::Error;
use pagurus_wire::message::Receipt;
use pagurus_wire::problem::{Problem, Type};

use super::read::{Rejection, ReplyTo};
use crate::register::RegistrationOutcome;

/// Answer to one message, or to one order of a message, and what is done with it, once its batch is through.
pub(super) struct Handled {
    pub tag: DeliveryTag,
    /// Index of the order in a message that holds many.
    pub place: Option<usize>,
    pub reply: Option<AddressedReceipt>,
    pub refused: Option<RefusedMessage>,
}

/// A message to be put aside, with its reason.
pub(super) struct RefusedMessage {
    pub message: Message,
    /// True if its receipt says what the sender has to change; a failure of the engine is for its operators.
    pub is_for_sender: bool,
}

/// A receipt on its way to the sender of a message.
pub(super) struct AddressedReceipt {
    pub to: ReplyTo,
    pub receipt: Receipt,
}

/// The outcome of a batch.
#[derive(Default)]
pub(super) struct BatchOutcome {
    pub handled: Vec<Handled>,
    pub left: Option<LeftOver>,
}

/// Deliveries that could not be handled now, and the failure of the database that is the cause.
pub(super) struct LeftOver {
    pub tags: Vec<DeliveryTag>,
    pub error: Error,
}

impl BatchOutcome {
    /// Creates the outcome of deliveries that were not tried.
    pub fn untried(part: &[Delivery], error: Error) -> Self {
        let tags = part.iter().map(|delivery| delivery.tag).collect();
        Self { handled: Vec::new(), left: Some(LeftOver { tags, error }) }
    }

    /// True if the database failed for all: nothing more is to be tried.
    pub fn database_failed(&self) -> bool {
        self.left.as_ref().is_some_and(|left| !left.error.is_contention())
    }

    /// Adds the outcome of the part that follows. A failure that concerns all counts for more than a lock.
    pub fn extend(&mut self, next: Self) {
        self.handled.extend(next.handled);
        self.left = match (self.left.take(), next.left) {
            (Some(mut left), Some(more)) => {
                left.tags.extend(more.tags);
                let error = if left.error.is_contention() { more.error } else { left.error };
                Some(LeftOver { tags: left.tags, error })
            }
            (left, more) => left.or(more),
        };
    }
}

impl Handled {
    /// Returns the outcome of a delivery about which nothing is said.
    pub const fn silently(delivery: &Delivery) -> Self {
        Self { tag: delivery.tag, place: None, reply: None, refused: None }
    }

    /// Returns the outcome as that of the order at this index of its message.
    pub fn at(self, place: Option<usize>) -> Self {
        Self { place, ..self }
    }

    fn answered(delivery: &Delivery, receipt: Receipt) -> Self {
        let reply = ReplyTo::of(delivery).map(|to| AddressedReceipt { to, receipt });
        Self { reply, ..Self::silently(delivery) }
    }

    fn kept(self, host: &Host, delivery: &Delivery, reason: &str) -> Self {
        let at = time::shown(Timestamp::now());
        let message = refused_message(host.broker.names(), delivery, reason, &at);
        let error = self.reply.as_ref().and_then(|reply| reply.receipt.error.as_ref());
        let is_for_sender = error.is_some_and(|problem| problem.status != Type::Internal.status());
        Self { refused: Some(RefusedMessage { message, is_for_sender }), ..self }
    }

    /// Returns the outcome of an action that was done.
    pub fn acted(delivery: &Delivery, id: &str, acted: Acted) -> Self {
        let receipt = Receipt {
            id: Some(id.to_owned()),
            status: "done".into(),
            order_status: Some(acted.status.to_string()),
            note: acted.note,
            error: None,
            call: None,
        };
        Self::answered(delivery, receipt)
    }

    /// Returns the outcome of a registration.
    pub fn registered(
        host: &Host,
        delivery: &Delivery,
        id: Option<String>,
        outcome: RegistrationOutcome,
    ) -> Self {
        if let RegistrationOutcome::Rejected(problem) = outcome {
            return Self::rejected(host, delivery, Rejection { id, problem });
        }
        let receipt = Receipt {
            id,
            status: outcome.word().to_owned(),
            order_status: outcome.status().map(|status| status.to_string()),
            note: outcome.note(),
            error: outcome.problem(),
            call: None,
        };
        let answered = Self::answered(delivery, receipt);
        match outcome {
            // A conflict can never succeed: the sender is informed, and the message is kept for people.
            RegistrationOutcome::Conflict(_) => answered.kept(host, delivery, "conflict"),
            _ => answered,
        }
    }

    /// Rejects a message that can never be handled: it is answered and put aside.
    pub fn rejected(host: &Host, delivery: &Delivery, Rejection { id, problem }: Rejection) -> Self {
        let word = problem.type_.rsplit(':').next().unwrap_or_default();
        let reason = format!("{word}: {}", problem.detail);
        host.metrics.count(Count::Refused, word, 1);
        let receipt = Receipt {
            id,
            status: "rejected".into(),
            order_status: problem.order_status.clone(),
            note: None,
            error: Some(problem),
            call: None,
        };
        Self::answered(delivery, receipt).kept(host, delivery, &reason)
    }

    /// Rejects a message that the database does not take, for a reason that lies in its values.
    pub fn unstorable(host: &Host, delivery: &Delivery, id: Option<String>, error: &Error) -> Self {
        host.metrics.count(Count::StoreErrors, "refuse", 1);
        tracing::error!(
            order = id,
            error = chain(error),
            "the database cannot store this message; it is kept as refused"
        );
        let detail =
            "the engine cannot store this message; it is kept, and the log of the engine has details";
        Self::rejected(host, delivery, Rejection { id, problem: Problem::new(Type::Internal, detail) })
    }

    /// Rejects a message with which processes die: it is put aside, with its reason.
    pub fn deadly(host: &Host, delivery: &Delivery) -> Self {
        tracing::error!(
            key = delivery.routing_key,
            message_id = delivery.properties.message_id,
            bytes = delivery.body.len(),
            "processes died each time that they handled this message; it is kept as refused"
        );
        let detail = "the process ended each time that it handled this message, even alone; \
                      it is kept unhandled, and the logs of the ended processes say more";
        Self::rejected(host, delivery, Problem::new(Type::Internal, detail).into())
    }
}
