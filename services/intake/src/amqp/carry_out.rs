//! Single messages: read, and carried out in a try of their own.

use std::slice;
use std::time::Duration;

use jiff::Timestamp;
use pagurus_broker::Delivery;
use pagurus_command::Terms;
use pagurus_command::call::NewCall;
use pagurus_domain::order::principal::Principal;
use pagurus_runtime::config::Settings;
use pagurus_store::Error;
use pagurus_wire::Problem;
use pagurus_wire::message::Receipt;
use serde_json::value::RawValue;

use super::handled::Handled;
use super::many::{self, Receipts};
use super::read::{
    AskedAction, Incoming, IntakeQueue, ReadRules, Rejection, ReplyTo, is_registration, read, sent_at,
};
use super::settle;
use crate::register::Registrar;
use crate::traced::RegistrationTrace;
use crate::{Intake, answer, calls};

/// Longest time for the answer to a call, if somebody wants it.
const PATIENCE: Duration = Duration::from_secs(5 * 60);

/// Entry of one broker queue, with all that its messages need. Cheap to clone.
#[derive(Clone)]
pub(super) struct AmqpEntry {
    pub intake: Intake,
    pub registrar: Registrar,
    pub entry: IntakeQueue,
}

impl AmqpEntry {
    fn rules<'a>(&'a self, settings: &'a Settings) -> ReadRules<'a> {
        ReadRules {
            entry: self.entry,
            orders_in: &self.intake.host.broker.names().orders_in,
            straight_to_queue: settings.intake.straight_to_queue,
            max_body_bytes: settings.intake.max_body_bytes,
            reply: &settings.reply,
        }
    }

    /// Returns the orders of a message that holds many; nothing for every other message.
    ///
    /// # Errors
    /// It holds too many, or the time at which it was sent cannot be read: that concerns all of them.
    pub fn orders_of<'a>(&self, delivery: &'a Delivery) -> Result<Vec<&'a RawValue>, Rejection> {
        let settings = self.intake.host.settings();
        if !many::is_array(delivery) || !is_registration(delivery, &self.rules(&settings)) {
            return Ok(Vec::new());
        }
        let orders = many::orders_of(delivery, settings.intake.max_batch_orders)?;
        if !orders.is_empty() {
            sent_at(delivery)?;
        }
        Ok(orders)
    }

    /// Reads a message that was received at this time.
    ///
    /// # Errors
    /// The message can never be handled.
    pub fn read(&self, delivery: &Delivery, received_at: Timestamp) -> Result<Incoming, Rejection> {
        let host = &self.intake.host;
        let mut message = read(delivery, &self.rules(&host.settings()), received_at)?;
        if let Incoming::Register(submission) = &mut message {
            submission.trace = RegistrationTrace::over_amqp(host, delivery);
            submission.queue = self.intake.catalogue.queue_of(&submission.request);
        }
        Ok(message)
    }

    /// Carries a message out alone, in one try; `again` where one before it may have been committed.
    ///
    /// # Errors
    /// The database failed, or the order is locked: the message must be tried again. Every other problem
    /// is an answer.
    pub async fn carry_out(
        &self,
        delivery: &Delivery,
        message: &Incoming,
        again: bool,
    ) -> Result<Handled, Error> {
        let host = &self.intake.host;
        let id = || message.order().map(str::to_owned);
        let outcome = match message {
            Incoming::Register(submission) => {
                let outcome = self.registrar.register_alone(submission).await;
                outcome.map(|outcome| Handled::registered(host, delivery, id(), outcome))
            }
            Incoming::Action(act) => self.act(delivery, act, again).await,
            Incoming::Call { id, call } => self.call(delivery, id, call).await,
            Incoming::Answer(answer) => {
                let stored = self.intake.recorder.record(slice::from_ref(answer)).await;
                stored.map(|_| Handled::silently(delivery))
            }
            // One that is late, or of nobody, means nothing: the next answer says so.
            Incoming::Heartbeat(pass) => {
                answer::heartbeat(host, pass).await.map(|_| Handled::silently(delivery))
            }
        };
        match outcome {
            Err(error) if !error.is_transient() => Ok(Handled::unstorable(host, delivery, id(), &error)),
            outcome => outcome,
        }
    }

    async fn act(&self, delivery: &Delivery, act: &AskedAction, again: bool) -> Result<Handled, Error> {
        let by = Principal::amqp(delivery.properties.user_id.clone(), delivery.exchange.clone());
        let terms = Terms {
            by: &by,
            reason: act.asked.reason.as_deref(),
            if_status: act.asked.if_status,
            key: Some(&act.key),
            dry_run: false,
        };
        let may_be_done = again || !act.is_own_key;
        let outcome = self.intake.commands.act_at_once(&act.id, &act.action, terms, may_be_done).await?;
        Ok(match outcome {
            Ok(acted) => Handled::acted(delivery, &act.id, acted),
            Err(problem) => self.rejected(delivery, &act.id, problem),
        })
    }

    /// Stores a call; its answer follows as the receipt, as soon as there is one.
    async fn call(&self, delivery: &Delivery, id: &str, new: &NewCall) -> Result<Handled, Error> {
        let by = Principal::amqp(delivery.properties.user_id.clone(), delivery.exchange.clone());
        if let Err(problem) = self.intake.commands.call_at_once(id, new, &by).await? {
            return Ok(self.rejected(delivery, id, problem));
        }
        if let Some(to) = ReplyTo::of(delivery) {
            let (intake, id, key) = (self.intake.clone(), id.to_owned(), new.key.clone());
            // Beside the consumer: an order may take its time, and others do not wait for it. Who gets no
            // answer, because this node ends first, asks again with the same key; who comes when too many
            // wait learns at once that the call waits.
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
                    settle::send(&intake.host, vec![(to, Receipts::One(receipt.into()))]).await;
                }
            });
        }
        Ok(Handled::silently(delivery))
    }

    fn rejected(&self, delivery: &Delivery, id: &str, problem: Problem) -> Handled {
        Handled::rejected(&self.intake.host, delivery, Rejection { id: Some(id.to_owned()), problem })
    }
}
