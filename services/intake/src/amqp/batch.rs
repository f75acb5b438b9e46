//! Batches of deliveries, carried out in the row in which they came.

use std::collections::HashSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use jiff::Timestamp;
use pagurus_broker::{Consumer, Delivery, DeliveryTag};
use pagurus_runtime::traces::{TraceSpan, names};
use pagurus_store::Error;

use super::alone::Alone;
use super::aside::Aside;
use super::carry_out::AmqpEntry;
use super::halves::by_halves;
use super::handled::{BatchOutcome, Handled, LeftOver};
use super::read::Incoming;
use crate::answer::NewAnswer;
use crate::register::{self, RegistrationOutcome, Submission};
use crate::traced;

/// Memory that registrations of one transaction take, by estimate; one is taken whatever it takes.
const RUN_WEIGHT: usize = 32 * 1024 * 1024;

/// Carries batches of one entry out; what would hold up others waits aside. Cheap to clone.
#[derive(Clone)]
pub(super) struct Batches {
    entry: AmqpEntry,
    aside: Aside,
}

/// A batch on its way.
struct BatchInHand<'a> {
    /// See [`by_halves`].
    wary: bool,
    handled: Vec<Handled>,
    /// Registrations that go into the next transaction.
    orders: Vec<(&'a Delivery, Submission)>,
    /// Memory that they take, by estimate.
    weight: usize,
    /// Answers that go into the next transaction.
    answers: Vec<(&'a Delivery, NewAnswer)>,
    /// Their spans, one for each.
    spans: Vec<TraceSpan>,
    /// Messages that go back to their queue although the batch goes on, and the first reason.
    back: Vec<DeliveryTag>,
    cause: Option<Error>,
}

impl BatchInHand<'_> {
    fn put_back(&mut self, delivery: &Delivery, why: Error) {
        self.back.push(delivery.tag);
        self.cause.get_or_insert(why);
    }
}

impl Batches {
    /// Starts the task for what waits aside.
    pub fn start(entry: AmqpEntry, consumer: Arc<Consumer>, alone: Alone) -> Self {
        let aside = Aside::start(entry.clone(), consumer, alone);
        Self { entry, aside }
    }

    /// Carries a batch out. Registrations that stand side by side go into one transaction; a command between them waits
    /// for those before it, and those after wait for it, unless its order is locked. Answers go into one transaction.
    pub async fn handle(&self, deliveries: &[Delivery], wary: bool) -> BatchOutcome {
        let mut batch = BatchInHand {
            wary,
            handled: Vec::with_capacity(deliveries.len()),
            orders: Vec::new(),
            weight: 0,
            answers: Vec::new(),
            spans: Vec::new(),
            back: Vec::new(),
            cause: None,
        };
        let mut behind = deliveries;
        let failure = loop {
            let Some((delivery, rest)) = behind.split_first() else {
                break self.store(&mut batch).await.err();
            };
            if let Err(error) = self.take(delivery, &mut batch).await {
                break Some(error);
            }
            behind = rest;
        };
        let BatchInHand { handled, answers, mut back, cause, .. } = batch;
        back.extend(answers.iter().map(|(delivery, _)| delivery.tag));
        back.extend(behind.iter().map(|delivery| delivery.tag));
        let error = failure.or(cause).unwrap_or(Error::Contended);
        BatchOutcome { handled, left: (!back.is_empty()).then_some(LeftOver { tags: back, error }) }
    }

    async fn take<'a>(&self, delivery: &'a Delivery, batch: &mut BatchInHand<'a>) -> Result<(), Error> {
        let weight = register::weight(&delivery.body);
        if batch.weight > 0 && batch.weight + weight > RUN_WEIGHT {
            self.register(batch).await?;
        }
        let host = &self.entry.intake.host;
        match self.entry.read(delivery, Timestamp::now()) {
            Err(rejection) => batch.handled.push(Handled::rejected(host, delivery, rejection)),
            Ok(Incoming::Register(submission)) => {
                batch.weight += weight;
                batch.orders.push((delivery, submission));
            }
            Ok(Incoming::Answer(answer)) => {
                batch.spans.push(traced::message(host, delivery, &host.broker.names().callbacks_in));
                batch.answers.push((delivery, answer));
            }
            Ok(message) => {
                self.register(batch).await?;
                return self.carry_out(batch, delivery, message).await;
            }
        }
        Ok(())
    }

    async fn carry_out(
        &self,
        batch: &mut BatchInHand<'_>,
        delivery: &Delivery,
        message: Incoming,
    ) -> Result<(), Error> {
        if message.order().is_some_and(|id| self.aside.holds_order(id)) {
            self.put_aside(batch, delivery, message, Error::Contended).await;
            return Ok(());
        }
        match self.entry.carry_out(delivery, &message, false).await {
            Ok(handled) => batch.handled.push(handled),
            // No other message waits for what an actor says.
            Err(error) if matches!(message, Incoming::Heartbeat(_)) => batch.put_back(delivery, error),
            Err(error) if error.is_contention() => self.put_aside(batch, delivery, message, error).await,
            Err(error) => return Err(error),
        }
        Ok(())
    }

    async fn put_aside(
        &self,
        batch: &mut BatchInHand<'_>,
        delivery: &Delivery,
        message: Incoming,
        why: Error,
    ) {
        if !self.aside.put(delivery, message).await {
            batch.put_back(delivery, why);
        }
    }

    async fn store(&self, batch: &mut BatchInHand<'_>) -> Result<(), Error> {
        self.register(batch).await?;
        self.record(batch).await
    }

    /// Registers the orders of the batch so far.
    async fn register(&self, batch: &mut BatchInHand<'_>) -> Result<(), Error> {
        batch.weight = 0;
        let (mut deliveries, mut submissions) = (Vec::new(), Vec::new());
        for (delivery, submission) in std::mem::take(&mut batch.orders) {
            // An order that follows others into a locked queue stays behind them.
            if submission.queue.as_deref().is_some_and(|queue| self.aside.holds_queue(queue)) {
                self.put_aside(batch, delivery, Incoming::Register(submission), Error::Contended).await;
            } else {
                deliveries.push(delivery);
                submissions.push(submission);
            }
        }
        let locked = Mutex::new(HashSet::new());
        let register = |part| self.register_part(part, &locked);
        let outcomes = by_halves(&submissions, batch.wary, register).await;
        let arrived = deliveries.into_iter().zip(submissions.into_iter().map(Incoming::Register));
        let host = &self.entry.intake.host;
        self.conclude(batch, arrived, outcomes, |delivery, id, outcome| {
            outcome.map(|outcome| Handled::registered(host, delivery, id, outcome))
        })
        .await
    }

    /// Registers a part of the run. Nothing of a queue that was found locked is tried any more: what comes
    /// later must not overtake if the lock has gone meanwhile.
    async fn register_part(
        &self,
        part: &[Submission],
        locked: &Mutex<HashSet<String>>,
    ) -> Result<Vec<Option<RegistrationOutcome>>, Error> {
        let queues = || part.iter().filter_map(|submission| submission.queue.as_ref());
        let is_locked = |queue: &String| of(locked).contains(queue);
        if queues().any(is_locked) {
            return Err(Error::Contended);
        }
        let outcome = self.entry.registrar.register(part).await;
        if part.len() == 1 && outcome.as_ref().is_err_and(Error::is_contention) {
            of(locked).extend(queues().cloned());
        }
        outcome
    }

    /// Stores the answers of the batch, and wakes the orders that waited for them.
    async fn record(&self, batch: &mut BatchInHand<'_>) -> Result<(), Error> {
        let (deliveries, answers): (Vec<&Delivery>, Vec<NewAnswer>) =
            std::mem::take(&mut batch.answers).into_iter().unzip();
        let recorder = &self.entry.intake.recorder;
        let outcomes = by_halves(&answers, batch.wary, |part| recorder.record(part)).await;
        for (mut span, outcome) in batch.spans.drain(..).zip(&outcomes.0) {
            match outcome {
                Ok(verdict) => span.set(names::CALLBACK, verdict.as_str()),
                Err(error) => span.fail("store", &error.to_string()),
            }
        }
        let arrived = deliveries.into_iter().zip(answers.into_iter().map(Incoming::Answer));
        self.conclude(batch, arrived, outcomes, |delivery, _, _| Some(Handled::silently(delivery))).await
    }

    /// Ends a run by its outcomes: one without an end, or whose order or queue is locked, goes on aside, and what the
    /// failure of the rest concerns goes back.
    async fn conclude<'a, R>(
        &self,
        batch: &mut BatchInHand<'_>,
        mut arrived: impl Iterator<Item = (&'a Delivery, Incoming)>,
        (outcomes, failure): (Vec<Result<R, Error>>, Option<Error>),
        end: impl Fn(&Delivery, Option<String>, R) -> Option<Handled>,
    ) -> Result<(), Error> {
        for (outcome, (delivery, message)) in outcomes.into_iter().zip(arrived.by_ref()) {
            let id = message.order().map(str::to_owned);
            match outcome {
                Ok(outcome) => match end(delivery, id, outcome) {
                    Some(handled) => batch.handled.push(handled),
                    None => self.put_aside(batch, delivery, message, Error::Contended).await,
                },
                Err(error) if error.is_transient() => self.put_aside(batch, delivery, message, error).await,
                Err(error) => {
                    let host = &self.entry.intake.host;
                    batch.handled.push(Handled::unstorable(host, delivery, id, &error));
                }
            }
        }
        batch.back.extend(arrived.map(|(delivery, _)| delivery.tag));
        failure.map_or(Ok(()), Err)
    }
}

fn of(locked: &Mutex<HashSet<String>>) -> MutexGuard<'_, HashSet<String>> {
    locked.lock().unwrap_or_else(PoisonError::into_inner)
}
