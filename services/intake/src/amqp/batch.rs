//! Batches of deliveries, carried out in the row in which they came.

use std::collections::HashSet;
use std::slice;
use std::sync::{Mutex, MutexGuard, PoisonError};

use jiff::Timestamp;
use pagurus_broker::{Delivery, DeliveryTag};
use pagurus_runtime::traces::{TraceSpan, names};
use pagurus_store::Error;

use super::alone::Alone;
use super::aside::Aside;
use super::carry_out::AmqpEntry;
use super::halves::by_halves;
use super::handled::{BatchOutcome, Handled, LeftOver};
use super::many::MessagePart;
use super::read::Incoming;
use super::settle::Settlement;
use crate::answer::NewAnswer;
use crate::register::{self, RegistrationOutcome, Submission};
use crate::traced;

/// Memory that registrations of one transaction take, by estimate; one is taken whatever it takes.
pub(super) const RUN_WEIGHT: usize = 32 * 1024 * 1024;

/// Carries batches of one entry out; what would hold up others waits aside. Cheap to clone.
#[derive(Clone)]
pub(super) struct Batches {
    entry: AmqpEntry,
    aside: Aside,
    settlement: Settlement,
    alone: Alone,
}

/// A batch on its way.
#[derive(Default)]
struct BatchInHand<'a> {
    /// See [`by_halves`].
    wary: bool,
    handled: Vec<Handled>,
    /// Registrations that go into the next transaction.
    orders: Vec<(MessagePart<'a>, Submission)>,
    /// Memory that they take, by estimate.
    weight: usize,
    /// Answers that go into the next transaction.
    answers: Vec<(MessagePart<'a>, NewAnswer)>,
    /// Their spans, one for each.
    spans: Vec<TraceSpan>,
    /// Messages that go back to their queue although the batch goes on, and the first reason.
    back: Vec<DeliveryTag>,
    cause: Option<Error>,
}

impl BatchInHand<'_> {
    fn put_back(&mut self, part: &MessagePart<'_>, why: Error) {
        self.back.push(part.delivery.tag);
        self.cause.get_or_insert(why);
    }

    fn end(self, failure: Option<Error>) -> BatchOutcome {
        let Self { handled, answers, back: mut tags, cause, .. } = self;
        tags.extend(answers.iter().map(|(part, _)| part.delivery.tag));
        tags.sort_unstable();
        tags.dedup();
        let error = failure.or(cause).unwrap_or(Error::Contended);
        BatchOutcome { handled, left: (!tags.is_empty()).then_some(LeftOver { tags, error }) }
    }
}

impl Batches {
    /// Starts the task for what waits aside.
    pub fn start(entry: AmqpEntry, settlement: Settlement, alone: Alone) -> Self {
        let aside = Aside::start(entry.clone(), settlement.clone(), alone.clone());
        Self { entry, aside, settlement, alone }
    }

    /// Carries a batch out. Registrations that stand side by side go into one transaction; a command between them waits
    /// for those before it, and those after wait for it, unless its order is locked. Answers go into one transaction.
    pub async fn handle(&self, deliveries: &[Delivery], wary: bool) -> BatchOutcome {
        let mut batch = BatchInHand { wary, ..BatchInHand::default() };
        let mut behind = deliveries;
        let failure = loop {
            let Some((delivery, rest)) = behind.split_first() else {
                break self.store(&mut batch).await.err();
            };
            if let Err(error) = self.take_message(delivery, &mut batch).await {
                break Some(error);
            }
            behind = rest;
        };
        batch.back.extend(behind.iter().map(|delivery| delivery.tag));
        batch.end(failure)
    }

    /// Handles a message with which processes die. If it holds many orders, each is handled alone, and only those with which
    /// they die are refused.
    pub async fn deadly(&self, message: &Delivery, wary: bool) -> BatchOutcome {
        let host = &self.entry.intake.host;
        let orders = self.entry.orders_of(message).unwrap_or_default();
        if orders.is_empty() {
            return BatchOutcome { handled: vec![Handled::deadly(host, message)], left: None };
        }
        self.settlement.open(message.tag, orders.len());
        let mut whole = BatchOutcome::default();
        for (place, order) in orders.into_iter().enumerate() {
            let part = MessagePart::of(message, order, place);
            let order = part.delivery.as_ref().clone();
            let is_done = |outcome: &BatchOutcome| !outcome.handled.is_empty();
            whole.extend(match self.alone.handle(&order, self.handle_part(part, wary), is_done).await {
                Ok(Some(outcome)) => outcome,
                Ok(None) => {
                    let deadly = Handled::deadly(host, &order).at(Some(place));
                    BatchOutcome { handled: vec![deadly], left: None }
                }
                Err(error) => BatchOutcome::untried(slice::from_ref(message), error),
            });
            if whole.left.is_some() {
                break;
            }
        }
        whole
    }

    async fn handle_part(&self, part: MessagePart<'_>, wary: bool) -> BatchOutcome {
        let mut batch = BatchInHand { wary, ..BatchInHand::default() };
        let tag = part.delivery.tag;
        let failure = match self.take(part, &mut batch).await {
            Ok(()) => self.store(&mut batch).await.err(),
            Err(error) => {
                batch.back.push(tag);
                Some(error)
            }
        };
        batch.end(failure)
    }

    async fn take_message<'a>(
        &self,
        delivery: &'a Delivery,
        batch: &mut BatchInHand<'a>,
    ) -> Result<(), Error> {
        let orders = match self.entry.orders_of(delivery) {
            Ok(orders) => orders,
            Err(rejection) => {
                let rejected = Handled::rejected(&self.entry.intake.host, delivery, rejection);
                batch.handled.push(rejected);
                return Ok(());
            }
        };
        if orders.is_empty() {
            return self.take(MessagePart::whole(delivery), batch).await;
        }
        self.settlement.open(delivery.tag, orders.len());
        for (place, order) in orders.into_iter().enumerate() {
            self.take(MessagePart::of(delivery, order, place), batch).await?;
        }
        Ok(())
    }

    async fn take<'a>(&self, part: MessagePart<'a>, batch: &mut BatchInHand<'a>) -> Result<(), Error> {
        let weight = register::weight(&part.delivery.body);
        let is_full = batch.weight + weight > RUN_WEIGHT
            || batch.orders.len() >= self.entry.intake.host.settings().intake.batch;
        if is_full && !batch.orders.is_empty() {
            self.register(batch).await?;
        }
        let host = &self.entry.intake.host;
        match self.entry.read(&part.delivery, Timestamp::now()) {
            Err(rejection) => {
                let rejected = Handled::rejected(host, &part.delivery, rejection);
                batch.handled.push(rejected.at(part.place));
            }
            Ok(Incoming::Register(submission)) => {
                batch.weight += weight;
                batch.orders.push((part, submission));
            }
            Ok(Incoming::Answer(answer)) => {
                let span = traced::message(host, &part.delivery, &host.broker.names().callbacks_in);
                batch.spans.push(span);
                batch.answers.push((part, answer));
            }
            Ok(message) => {
                self.register(batch).await?;
                return self.carry_out(batch, part, message).await;
            }
        }
        Ok(())
    }

    async fn carry_out(
        &self,
        batch: &mut BatchInHand<'_>,
        part: MessagePart<'_>,
        message: Incoming,
    ) -> Result<(), Error> {
        if message.order().is_some_and(|id| self.aside.holds_order(id)) {
            self.put_aside(batch, &part, message, Error::Contended);
            return Ok(());
        }
        match self.entry.carry_out(&part.delivery, &message, false).await {
            Ok(handled) => batch.handled.push(handled.at(part.place)),
            // No other message waits for what an actor says.
            Err(error) if matches!(message, Incoming::Heartbeat(_)) => batch.put_back(&part, error),
            Err(error) if error.is_contention() => self.put_aside(batch, &part, message, error),
            Err(error) => return Err(error),
        }
        Ok(())
    }

    fn put_aside(&self, batch: &mut BatchInHand<'_>, part: &MessagePart<'_>, message: Incoming, why: Error) {
        if !self.aside.put(part, message) {
            batch.put_back(part, why);
        }
    }

    async fn store(&self, batch: &mut BatchInHand<'_>) -> Result<(), Error> {
        self.register(batch).await?;
        self.record(batch).await
    }

    /// Registers the orders of the batch so far.
    async fn register(&self, batch: &mut BatchInHand<'_>) -> Result<(), Error> {
        batch.weight = 0;
        let (mut parts, mut submissions) = (Vec::new(), Vec::new());
        for (part, submission) in std::mem::take(&mut batch.orders) {
            // An order that follows others into a locked queue stays behind them.
            if submission.queue.as_deref().is_some_and(|queue| self.aside.holds_queue(queue)) {
                self.put_aside(batch, &part, Incoming::Register(submission), Error::Contended);
            } else {
                parts.push(part);
                submissions.push(submission);
            }
        }
        let locked = Mutex::new(HashSet::new());
        let register = |part| self.register_part(part, &locked);
        let outcomes = by_halves(&submissions, batch.wary, register).await;
        let arrived = parts.into_iter().zip(submissions.into_iter().map(Incoming::Register));
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
        let (parts, answers): (Vec<MessagePart<'_>>, Vec<NewAnswer>) =
            std::mem::take(&mut batch.answers).into_iter().unzip();
        let recorder = &self.entry.intake.recorder;
        let outcomes = by_halves(&answers, batch.wary, |part| recorder.record(part)).await;
        for (mut span, outcome) in batch.spans.drain(..).zip(&outcomes.0) {
            match outcome {
                Ok(verdict) => span.set(names::CALLBACK, verdict.as_str()),
                Err(error) => span.fail("store", &error.to_string()),
            }
        }
        let arrived = parts.into_iter().zip(answers.into_iter().map(Incoming::Answer));
        self.conclude(batch, arrived, outcomes, |delivery, _, _| Some(Handled::silently(delivery))).await
    }

    /// Ends a run by its outcomes: one without an end, or whose order or queue is locked, goes on aside, and what the
    /// failure of the rest concerns goes back.
    async fn conclude<'a, R>(
        &self,
        batch: &mut BatchInHand<'_>,
        mut arrived: impl Iterator<Item = (MessagePart<'a>, Incoming)>,
        (outcomes, failure): (Vec<Result<R, Error>>, Option<Error>),
        end: impl Fn(&Delivery, Option<String>, R) -> Option<Handled>,
    ) -> Result<(), Error> {
        for (outcome, (part, message)) in outcomes.into_iter().zip(arrived.by_ref()) {
            let id = message.order().map(str::to_owned);
            match outcome {
                Ok(outcome) => match end(&part.delivery, id, outcome) {
                    Some(handled) => batch.handled.push(handled.at(part.place)),
                    None => self.put_aside(batch, &part, message, Error::Contended),
                },
                Err(error) if error.is_transient() => self.put_aside(batch, &part, message, error),
                Err(error) => {
                    let host = &self.entry.intake.host;
                    let unstorable = Handled::unstorable(host, &part.delivery, id, &error);
                    batch.handled.push(unstorable.at(part.place));
                }
            }
        }
        batch.back.extend(arrived.map(|(part, _)| part.delivery.tag));
        failure.map_or(Ok(()), Err)
    }
}

fn of(locked: &Mutex<HashSet<String>>) -> MutexGuard<'_, HashSet<String>> {
    locked.lock().unwrap_or_else(PoisonError::into_inner)
}
