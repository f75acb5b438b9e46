//! Batches of deliveries, which the caller acknowledges after its own commit.
//!
//! A consumer survives the loss of its connection by itself: it consumes again, and what was not
//! acknowledged comes again. Acknowledging a delivery from before is counted and does nothing, so
//! handling must be idempotent. Deliveries are never dropped and never rejected here: they are
//! acknowledged or go back to the queue.

mod ledger;
mod session;

use std::{
    sync::{Arc, Weak},
    time::Duration,
};

use lapin::options::{BasicAckOptions, BasicNackOptions};
use tokio::{
    sync::{Mutex, mpsc},
    time::Instant,
};
use tokio_util::sync::{CancellationToken, DropGuard};

use crate::{
    connection::{ConnectionSettings, Link},
    delivery::{Delivery, DeliveryTag},
    error::Error,
    in_flight,
    keeper::Keeper,
    local::LocalConsumers,
    message::short,
};
use session::{Session, Shared, Source};

/// Writing an acknowledgement takes microseconds unless the connection is dying.
const ACKNOWLEDGE: Duration = Duration::from_secs(10);
/// A batch ends with the delivery that makes it so long: its handler makes several copies of what
/// it holds, and some of them are many times as large.
const BATCH_BYTES: usize = 8 * 1024 * 1024;
/// Room for the number that makes the name of a private queue unique.
const LONGEST_HINT: usize = 100;

/// Queue to consume, and the way of it.
#[derive(Clone, Debug)]
pub struct ConsumeSpec {
    /// Source of the deliveries.
    pub queue: QueueSource,
    /// Deliveries that may be unacknowledged at a time, and the greatest number kept in memory.
    /// 50 at least pays; up to 2000 helps quorum queues.
    pub prefetch: u16,
    /// Acknowledge deliveries when [`Consumer::next_batch`] hands them out: for hints, whose loss
    /// is made good from Postgres.
    pub ack_on_take: bool,
    /// Consume over a connection of its own: what breaks it, or fills it, is nobody else's.
    pub own_connection: bool,
}

/// The queue of a consumer.
#[derive(Clone, Debug)]
pub enum QueueSource {
    /// A durable queue that exists.
    Named(String),
    /// A queue of this consumer alone, which ends with its connection and is made again with the
    /// next one.
    Exclusive {
        /// Part of its name, for people who look at the broker.
        name_hint: String,
        /// Pairs of exchange and binding key; [`Consumer::bind_only`] changes them.
        bindings: Vec<(String, String)>,
        /// Most messages that it keeps; the oldest go first.
        max_length: u32,
    },
}

/// Outcome of acknowledgements.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Acknowledged {
    /// Written to the broker.
    pub sent: usize,
    /// Acknowledgements of deliveries that the broker has taken back meanwhile, or answered already: they come
    /// again.
    pub stale: usize,
}

#[derive(Clone, Copy)]
enum Acknowledgement {
    Ack,
    PutBack,
}

/// A consumer of one queue. Ends when dropped.
pub struct Consumer {
    shared: Arc<Shared>,
    deliveries: Mutex<mpsc::Receiver<Delivery>>,
    ack_on_take: bool,
    /// Source of hints beside the broker.
    local: Option<LocalConsumers>,
    queue: String,
    _stop_at_drop: DropGuard,
}

/// A look at a consumer that does not keep it.
pub(crate) struct Watch {
    queue: String,
    shared: Weak<Shared>,
}

impl Watch {
    /// True if the consumer is still held.
    pub(crate) fn is_live(&self) -> bool {
        self.shared.strong_count() > 0
    }

    /// The queue, if nothing came from it for at least `time` though deliveries are wanted.
    pub(crate) fn starved_for(&self, time: Duration) -> Option<String> {
        let shared = self.shared.upgrade()?;
        (shared.starved()? >= time).then(|| self.queue.clone())
    }
}

impl Consumer {
    pub(crate) fn start(
        spec: ConsumeSpec,
        settings: &ConnectionSettings,
        (link, keeper): (Link, Keeper),
        local: Option<LocalConsumers>,
        stop: CancellationToken,
    ) -> Result<Self, Error> {
        check_names(&spec.queue)?;
        // Nothing but hints may come without a number for its acknowledgement.
        let local = local.filter(|_| spec.ack_on_take);
        let prefetch = spec.prefetch.max(1);
        // The broker sends no more than the prefetch before something is acknowledged.
        let (sender, receiver) = mpsc::channel(usize::from(prefetch));
        let (queue, bindings) = match &spec.queue {
            QueueSource::Named(name) => (name.clone(), Vec::new()),
            QueueSource::Exclusive { name_hint, bindings, .. } => (name_hint.clone(), bindings.clone()),
        };
        let shared = Arc::new(Shared::new(bindings));
        let source = Source {
            queue: spec.queue,
            prefetch,
            names: settings.names.clone(),
            service: settings.service,
            keeper,
            local: local.clone(),
        };
        let run = session::run(link, source, Arc::clone(&shared), sender, stop.clone());
        tokio::spawn(run);
        Ok(Self {
            shared,
            deliveries: Mutex::new(receiver),
            ack_on_take: spec.ack_on_take,
            local,
            queue,
            _stop_at_drop: stop.drop_guard(),
        })
    }

    /// Waits for a delivery and takes at most `max` of those that are there already, fewer where their
    /// bodies are long. Empty only
    /// when the broker handle is closed. Cancelling the future loses nothing.
    pub async fn next_batch(&self, max: usize) -> Vec<Delivery> {
        let mut deliveries = self.deliveries.lock().await;
        let mut batch = Vec::new();
        while batch.is_empty() {
            let Some(first) = deliveries.recv().await else {
                return Vec::new();
            };
            let mut bytes = first.body.len();
            batch.push(first);
            while batch.len() < max
                && bytes < BATCH_BYTES
                && let Ok(next) = deliveries.try_recv()
            {
                bytes += next.body.len();
                batch.push(next);
            }
            if self.ack_on_take {
                self.accept(&mut batch);
            } else {
                // What the broker has taken back comes again; handling it now would be double.
                let generation = self.shared.generation();
                batch.retain(|delivery| Some(delivery.tag.generation) == generation);
            }
        }
        batch
    }

    /// Acknowledges hints, and passes over those that came within this process already.
    fn accept(&self, batch: &mut Vec<Delivery>) {
        let tags = batch.iter().map(|delivery| delivery.tag).filter(|tag| !tag.is_local());
        let tags: Vec<DeliveryTag> = tags.collect();
        if !tags.is_empty() {
            // In a task of its own, so that cancelling the caller cannot lose the batch.
            let shared = Arc::clone(&self.shared);
            tokio::spawn(async move { answer(&shared, &tags, Acknowledgement::Ack).await });
        }
        if let Some(local) = &self.local {
            batch.retain(|delivery| !local.is_copy(delivery));
        }
    }

    /// Acknowledges deliveries, with as few frames as possible.
    pub async fn ack_many(&self, tags: &[DeliveryTag]) -> Acknowledged {
        answer(&self.shared, tags, Acknowledgement::Ack).await
    }

    /// Gives deliveries back to the queue, which delivers them again at once: while the reason
    /// lasts, [`Consumer::pause`] instead.
    pub async fn put_back(&self, tags: &[DeliveryTag]) -> Acknowledged {
        answer(&self.shared, tags, Acknowledgement::PutBack).await
    }

    /// Stops consuming and gives back all that is not acknowledged, taken or not. Returns when the
    /// broker has it. Does nothing if paused already.
    pub async fn pause(&self) {
        let request = self.shared.request(true);
        let mut reached = self.shared.reached();
        // Ends early only when the consumer is closed, which is a pause as well.
        let _ = reached.wait_for(|paused| *paused >= request).await;
    }

    /// Consumes again after [`Consumer::pause`].
    pub fn resume(&self) {
        self.shared.request(false);
    }

    /// Binds the exclusive queue of this consumer by these pairs of exchange and key and by no others, now and in each later life.
    /// Returns at once. A named queue has its one binding, and keeps it.
    ///
    /// # Errors
    /// [`Error::InvalidName`] if a name is too long.
    pub fn bind_only(&self, bindings: Vec<(String, String)>) -> Result<(), Error> {
        check_bindings(&bindings)?;
        self.shared.bind_only(bindings);
        Ok(())
    }

    /// View that the broker's handle keeps of this consumer, to tell whether it consumes.
    pub(crate) fn watch(&self) -> Watch {
        Watch { queue: self.queue.clone(), shared: Arc::downgrade(&self.shared) }
    }

    /// True if a delivery can still be acknowledged: else the broker has taken it back.
    #[must_use]
    pub fn is_current(&self, tag: DeliveryTag) -> bool {
        self.shared.generation() == Some(tag.generation)
    }

    /// True if deliveries can arrive now.
    #[must_use]
    pub fn is_consuming(&self) -> bool {
        self.shared.generation().is_some()
    }

    /// Acknowledgements so far that came too late.
    #[must_use]
    pub fn stale_acknowledgements(&self) -> u64 {
        self.shared.stale()
    }
}

fn check_names(queue: &QueueSource) -> Result<(), Error> {
    match queue {
        QueueSource::Named(name) => short("queue", name).map(drop),
        QueueSource::Exclusive { name_hint, bindings, .. } => {
            if name_hint.len() > LONGEST_HINT {
                return Err(Error::InvalidName {
                    field: "queue",
                    bytes: name_hint.len(),
                    limit: LONGEST_HINT,
                });
            }
            check_bindings(bindings)
        }
    }
}

fn check_bindings(bindings: &[(String, String)]) -> Result<(), Error> {
    for (exchange, key) in bindings {
        short("exchange", exchange)?;
        short("binding key", key)?;
    }
    Ok(())
}

/// Planning and writing happen under one lock: a later plan counts on an earlier one being written.
async fn answer(shared: &Shared, tags: &[DeliveryTag], kind: Acknowledgement) -> Acknowledged {
    let _turn = shared.turn().await;
    let mut sent = 0;
    if let Some(session) = shared.current() {
        let own = tags.iter().filter(|tag| tag.generation == session.generation);
        let plan = session.ledger().settle(own.map(|tag| tag.tag));
        let until = plan.until.into_iter().map(|tag| (tag, true));
        let singles = plan.singles.into_iter().map(|tag| (tag, false));
        let frames = until.chain(singles).map(|(tag, multiple)| write(&session, kind, tag, multiple));
        let deadline = Instant::now() + ACKNOWLEDGE;
        let written = in_flight::all_until(deadline, session.lost(), frames).await;
        if written.iter().all(|frame| matches!(frame, Some(Ok(())))) {
            sent = plan.count;
        }
    }
    let stale = tags.len() - sent;
    shared.count_stale(stale);
    Acknowledged { sent, stale }
}

async fn write(session: &Session, kind: Acknowledgement, tag: u64, multiple: bool) -> lapin::Result<()> {
    match kind {
        Acknowledgement::Ack => {
            let options = BasicAckOptions { multiple };
            session.channel.basic_ack(tag, options).await
        }
        Acknowledgement::PutBack => {
            let options = BasicNackOptions { multiple, requeue: true };
            session.channel.basic_nack(tag, options).await
        }
    }
}
