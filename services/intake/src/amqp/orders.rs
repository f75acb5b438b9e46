//! Orders and commands as they come in.

use std::collections::HashSet;
use std::sync::{Mutex, MutexGuard, PoisonError};

use jiff::Timestamp;
use pagurus_broker::{Delivery, DeliveryTag, HeaderValue};
use pagurus_runtime::Host;
use pagurus_store::Error;
use pagurus_wire::message::{Receipt, key};
use pagurus_wire::problem::Problem;

use super::aside::{Aside, Held};
use super::command::{self, Command};
use super::halves::by_halves;
use super::{
    Handled, Outcome, addressed, refused, reject, reject_unstorable, unacceptable, unanswerable, word_of,
};
use crate::register::{self, Outcome as Registration, Registrar, Submission};
use crate::traced::RegistrationTrace;
use crate::{Intake, headers};

/// Memory that registrations of one transaction take, by estimate; one is taken whatever it takes.
const RUN_WEIGHT: usize = 32 * 1024 * 1024;

/// The door of orders.
pub(super) struct Orders {
    intake: Intake,
    registrar: Registrar,
    aside: Aside,
}

/// A registration with the message that brought it.
type Arrived<'a> = (&'a Delivery, Submission);

impl Orders {
    /// The door, and where those wait who would hold up others.
    pub fn new(intake: &Intake, registrar: Registrar, aside: Aside) -> Self {
        Self { intake: intake.clone(), registrar, aside }
    }

    /// Registrations that stand side by side go into one transaction; a command between them waits
    /// for those before it, and those after wait for it, unless its order is locked.
    pub async fn handle(&self, batch: &[Delivery], wary: bool) -> Outcome {
        let mut turn = Turn {
            wary,
            handled: Vec::with_capacity(batch.len()),
            run: Vec::new(),
            weight: 0,
            back: Vec::new(),
        };
        let mut failed = None;
        for (index, delivery) in batch.iter().enumerate() {
            if let Err(error) = self.take(delivery, &mut turn).await {
                failed = Some((index, error));
                break;
            }
        }
        if failed.is_none()
            && let Err(error) = self.register(&mut turn).await
        {
            failed = Some((batch.len(), error));
        }
        // What is left stands in the run, behind the delivery at which the database failed, and where
        // there was no room aside.
        let Turn { handled, run, mut back, .. } = turn;
        let (behind, error) = failed.unwrap_or((batch.len(), Error::Contended));
        back.extend(run.iter().map(|(delivery, _)| delivery.tag));
        back.extend(batch[behind..].iter().map(|delivery| delivery.tag));
        Outcome { handled, left: (!back.is_empty()).then_some((back, error)) }
    }

    async fn take<'a>(&self, delivery: &'a Delivery, turn: &mut Turn<'a>) -> Result<(), Error> {
        let problem = unacceptable(&self.intake, delivery).or_else(|| unanswerable(&self.intake, delivery));
        if let Some(problem) = problem {
            turn.handled.push(reject(&self.intake, delivery, None, problem));
            return Ok(());
        }
        let word = word_of(&self.intake, delivery);
        if word == key::CREATE {
            let weight = register::weight(&delivery.body);
            if turn.weight > 0 && turn.weight + weight > RUN_WEIGHT {
                self.register(turn).await?;
            }
            match submission(&self.intake.host, delivery) {
                Ok(submission) => {
                    turn.weight += weight;
                    turn.run.push((delivery, submission));
                }
                Err((id, problem)) => turn.handled.push(reject(&self.intake, delivery, id, problem)),
            }
            return Ok(());
        }
        self.register(turn).await?;
        match Command::read(delivery, word) {
            Err((id, problem)) => turn.handled.push(reject(&self.intake, delivery, id, problem)),
            Ok(command) if self.aside.holds_order(&command.id) => {
                self.put_aside(turn, delivery, Held::Command(Box::new(command))).await;
            }
            Ok(command) => match command::carry_out(&self.intake, delivery, &command, false).await {
                Ok(done) => turn.handled.push(done),
                Err(error) if error.is_contention() => {
                    self.put_aside(turn, delivery, Held::Command(Box::new(command))).await;
                }
                Err(error) if error.is_transient() => return Err(error),
                Err(error) => {
                    let id = Some(command.id);
                    turn.handled.push(reject_unstorable(&self.intake, delivery, id, &error));
                }
            },
        }
        Ok(())
    }

    async fn put_aside(&self, turn: &mut Turn<'_>, delivery: &Delivery, held: Held) {
        if !self.aside.put(delivery, held).await {
            turn.back.push(delivery.tag);
        }
    }

    /// Registers the run, and empties it as far as that is done.
    async fn register(&self, turn: &mut Turn<'_>) -> Result<(), Error> {
        // What follows others into a locked queue stays behind them.
        turn.weight = 0;
        let run = std::mem::take(&mut turn.run);
        let (behind, run): (Vec<_>, Vec<_>) = run.into_iter().partition(|(_, submission)| {
            submission.request.queue.as_deref().is_some_and(|queue| self.aside.holds_queue(queue))
        });
        for (delivery, submission) in behind {
            self.put_aside(turn, delivery, Held::of(submission)).await;
        }
        turn.run = run;
        let submissions: Vec<Submission> =
            turn.run.iter().map(|(_, submission)| submission.clone()).collect();
        let locked = Mutex::new(HashSet::new());
        let register = |part| self.register_part(part, &locked);
        let (outcomes, failure) = by_halves(&submissions, turn.wary, register).await;
        let done: Vec<Arrived<'_>> = turn.run.drain(..outcomes.len()).collect();
        for ((delivery, submission), outcome) in done.into_iter().zip(outcomes) {
            match outcome {
                Ok(Some(outcome)) => {
                    let id = submission.request.id.clone();
                    turn.handled.push(registered(&self.intake, delivery, id, &outcome));
                }
                Ok(None) => {
                    self.put_aside(turn, delivery, Held::of(submission)).await;
                }
                Err(error) if error.is_transient() => {
                    self.put_aside(turn, delivery, Held::of(submission)).await;
                }
                Err(error) => {
                    let id = Some(submission.request.id.clone());
                    turn.handled.push(reject_unstorable(&self.intake, delivery, id, &error));
                }
            }
        }
        failure.map_or(Ok(()), Err)
    }

    /// Registers a part of the run. Of a queue that was found locked nothing is tried any more: what comes
    /// later must not overtake, should the lock have gone meanwhile.
    async fn register_part(
        &self,
        part: &[Submission],
        locked: &Mutex<HashSet<String>>,
    ) -> Result<Vec<Option<Registration>>, Error> {
        let queues = || part.iter().filter_map(|submission| submission.request.queue.as_ref());
        let is_locked = |queue: &String| of(locked).contains(queue);
        if queues().any(is_locked) {
            return Err(Error::Contended);
        }
        let outcome = self.registrar.register(part).await;
        if part.len() == 1 && outcome.as_ref().is_err_and(Error::is_contention) {
            of(locked).extend(queues().cloned());
        }
        outcome
    }
}

fn of(locked: &Mutex<HashSet<String>>) -> MutexGuard<'_, HashSet<String>> {
    locked.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A batch on its way.
struct Turn<'a> {
    /// See [`by_halves`].
    wary: bool,
    handled: Vec<Handled>,
    /// Registrations that go into the next transaction.
    run: Vec<Arrived<'a>>,
    /// Memory that the run takes, by estimate.
    weight: usize,
    /// Messages that go back to their queue, because too many wait for locks.
    back: Vec<DeliveryTag>,
}

/// Answer to a registration, and what is done with its message.
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

pub(super) fn submission(host: &Host, delivery: &Delivery) -> Result<Submission, (Option<String>, Problem)> {
    let value = register::parse(&delivery.body).map_err(|problem| (None, problem))?;
    let named = value.get("id").and_then(|id| id.as_str()).map(str::to_owned);
    let request = register::read_value(value).map_err(|problem| (named.clone(), problem))?;
    let sent_at = sent_at(delivery).map_err(|problem| (named, problem))?;
    let trace = RegistrationTrace::over_amqp(host, delivery);
    Ok(Submission { request: request.into(), sent_at, received_at: Timestamp::now(), trace })
}

/// Time at which the client says it sent the message: a header, or the property of AMQP. One that cannot be
/// read is refused (ORD-17).
pub(super) fn sent_at(delivery: &Delivery) -> Result<Option<Timestamp>, Problem> {
    use pagurus_domain::time;
    let properties = &delivery.properties;
    if let Some((name, value)) =
        headers::SENT_TIME.iter().find_map(|name| Some((name, properties.header(name)?)))
    {
        let read = match value {
            HeaderValue::Integer(milliseconds) => time::of_milliseconds(*milliseconds),
            HeaderValue::Timestamp(seconds) => of_seconds(*seconds),
            other => other.as_text().and_then(time::read_sending_time),
        };
        return read.map(Some).ok_or_else(|| headers::unreadable_sent_time(&format!("the header `{name}`")));
    }
    match properties.timestamp {
        // Some clients write it where they mean none.
        None | Some(0) => Ok(None),
        Some(seconds) => of_seconds(seconds)
            .map(Some)
            .ok_or_else(|| headers::unreadable_sent_time("the property `timestamp`")),
    }
}

fn of_seconds(seconds: u64) -> Option<Timestamp> {
    let seconds = Timestamp::from_second(i64::try_from(seconds).ok()?).ok()?;
    pagurus_domain::time::within_range(seconds)
}
