//! Orders and commands as they come in.

use std::sync::Arc;

use jiff::Timestamp;
use pagurus_broker::{Consumer, Delivery, DeliveryTag, HeaderValue};
use pagurus_store::Error;
use pagurus_wire::message::{Receipt, key};
use pagurus_wire::problem::Problem;

use super::aside::{Aside, Held};
use super::command::{self, Command};
use super::halves::by_halves;
use super::{Handled, Outcome, addressed, refused, reject, reject_unstorable, unacceptable};
use crate::register::{self, Outcome as Registration, Registrar, Submission};
use crate::{Intake, http};

/// The door of orders.
pub(super) struct Orders {
    intake: Intake,
    registrar: Registrar,
    aside: Aside,
}

/// A registration with the message that brought it.
type Arrived<'a> = (&'a Delivery, Submission);

impl Orders {
    /// Starts what carries out commands whose orders are locked.
    pub fn start(intake: &Intake, consumer: &Arc<Consumer>) -> Self {
        let registrar = Registrar {
            host: intake.host.clone(),
            catalogue: intake.catalogue.clone(),
            rules: intake.rules.clone(),
        };
        let aside = Aside::start(intake, registrar.clone(), consumer.clone());
        Self { intake: intake.clone(), registrar, aside }
    }

    /// Registrations that stand side by side go into one transaction; a command between them waits
    /// for those before it, and those after wait for it, unless its order is locked.
    pub async fn handle(&self, batch: &[Delivery]) -> Outcome {
        let mut handled = Vec::with_capacity(batch.len());
        let mut run: Vec<Arrived<'_>> = Vec::new();
        let mut failed = None;
        for (index, delivery) in batch.iter().enumerate() {
            if let Err(error) = self.take(delivery, &mut run, &mut handled).await {
                failed = Some((index, error));
                break;
            }
        }
        if failed.is_none()
            && let Err(error) = self.register(&mut run, &mut handled).await
        {
            failed = Some((batch.len(), error));
        }
        // What is left stands in the run and behind the delivery at which the database failed.
        let left = failed.map(|(index, error)| {
            let mut tags: Vec<DeliveryTag> = run.iter().map(|(delivery, _)| delivery.tag).collect();
            tags.extend(batch[index..].iter().map(|delivery| delivery.tag));
            (tags, error)
        });
        Outcome { handled, left }
    }

    async fn take<'a>(
        &self,
        delivery: &'a Delivery,
        run: &mut Vec<Arrived<'a>>,
        handled: &mut Vec<Handled>,
    ) -> Result<(), Error> {
        if let Some(problem) = unacceptable(&self.intake, delivery) {
            handled.push(reject(&self.intake, delivery, None, problem));
            return Ok(());
        }
        if delivery.routing_key == key::CREATE {
            match submission(delivery) {
                Ok(submission) => run.push((delivery, submission)),
                Err((id, problem)) => handled.push(reject(&self.intake, delivery, id, problem)),
            }
            return Ok(());
        }
        self.register(run, handled).await?;
        match Command::read(delivery) {
            Err((id, problem)) => handled.push(reject(&self.intake, delivery, id, problem)),
            Ok(command) if self.aside.holds_order(&command.id) => {
                self.aside.put(delivery, Held::Command(Box::new(command))).await;
            }
            Ok(command) => match command::carry_out(&self.intake, delivery, &command).await {
                Ok(done) => handled.push(done),
                Err(error) if error.is_contention() => {
                    self.aside.put(delivery, Held::Command(Box::new(command))).await;
                }
                Err(error) if error.is_transient() => return Err(error),
                Err(error) => {
                    handled.push(reject_unstorable(&self.intake, delivery, Some(command.id), &error));
                }
            },
        }
        Ok(())
    }

    /// Registers the run, and empties it as far as that is done.
    async fn register(&self, run: &mut Vec<Arrived<'_>>, handled: &mut Vec<Handled>) -> Result<(), Error> {
        // What follows others into a locked queue stays behind them.
        let mut behind = Vec::new();
        run.retain(|(delivery, submission)| {
            let waits =
                submission.request.queue.as_deref().is_some_and(|queue| self.aside.holds_queue(queue));
            if waits {
                behind.push(((*delivery).clone(), submission.clone()));
            }
            !waits
        });
        for (delivery, submission) in behind {
            self.aside.put(&delivery, Held::Registration(Box::new(submission))).await;
        }
        let submissions: Vec<Submission> = run.iter().map(|(_, submission)| submission.clone()).collect();
        let (outcomes, failure) = by_halves(&submissions, |part| self.registrar.register(part)).await;
        for ((delivery, submission), outcome) in run.drain(..outcomes.len()).zip(outcomes) {
            match outcome {
                Ok(Some(outcome)) => {
                    handled.push(registered(&self.intake, delivery, submission.request.id, &outcome));
                }
                Ok(None) => self.aside.put(delivery, Held::Registration(Box::new(submission))).await,
                Err(error) if error.is_contention() => {
                    self.aside.put(delivery, Held::Registration(Box::new(submission))).await;
                }
                Err(error) => {
                    let id = Some(submission.request.id);
                    handled.push(reject_unstorable(&self.intake, delivery, id, &error));
                }
            }
        }
        failure.map_or(Ok(()), Err)
    }
}

/// What is said and done about a registration.
pub(super) fn registered(
    intake: &Intake,
    delivery: &Delivery,
    id: String,
    outcome: &Registration,
) -> Handled {
    if let Registration::Rejected(problem) = outcome {
        return reject(intake, delivery, Some(id), problem.clone());
    }
    let receipt = Receipt {
        id: Some(id),
        status: outcome.word().to_owned(),
        order_status: outcome.status().map(|status| status.to_string()),
        note: outcome.note(),
        error: outcome.problem(),
        call: None,
    };
    // A conflict can never succeed: the sender is told, and the message is kept for people.
    let conflict = matches!(outcome, Registration::Conflict(_));
    Handled {
        tag: delivery.tag,
        receipt: addressed(delivery, receipt),
        refused: conflict.then(|| refused(intake, delivery, "conflict")),
    }
}

fn submission(delivery: &Delivery) -> Result<Submission, (Option<String>, Problem)> {
    let value = register::parse(&delivery.body).map_err(|problem| (None, problem))?;
    let named = value.get("id").and_then(|id| id.as_str()).map(str::to_owned);
    let request = register::read_value(&value).map_err(|problem| (named.clone(), problem))?;
    let sent_at = sent_at(delivery).map_err(|problem| (named, problem))?;
    Ok(Submission { request, sent_at, received_at: Timestamp::now(), trace: trace(delivery) })
}

/// When the client says it sent the message: a header, or the property of AMQP. One that cannot be
/// read is refused (ORD-17).
pub(super) fn sent_at(delivery: &Delivery) -> Result<Option<Timestamp>, Problem> {
    use pagurus_domain::time;
    let properties = &delivery.properties;
    if let Some((name, value)) =
        http::SENT_TIME.iter().find_map(|name| Some((name, properties.header(name)?)))
    {
        let read = match value {
            HeaderValue::Integer(milliseconds) => time::of_milliseconds(*milliseconds),
            HeaderValue::Timestamp(seconds) => of_seconds(*seconds),
            other => other.as_text().and_then(time::read_sending_time),
        };
        return read.map(Some).ok_or_else(|| http::unreadable_sent_time(&format!("the header `{name}`")));
    }
    match properties.timestamp {
        // Some clients write it where they mean none.
        None | Some(0) => Ok(None),
        Some(seconds) => of_seconds(seconds)
            .map(Some)
            .ok_or_else(|| http::unreadable_sent_time("the property `timestamp`")),
    }
}

fn of_seconds(seconds: u64) -> Option<Timestamp> {
    let seconds = Timestamp::from_second(i64::try_from(seconds).ok()?).ok()?;
    pagurus_domain::time::within_range(seconds)
}

fn trace(delivery: &Delivery) -> Option<String> {
    let parent = delivery.properties.header("traceparent")?.as_text()?;
    http::read_trace(parent)
}
