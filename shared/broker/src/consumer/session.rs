//! The task behind a consumer: one session after another, each with a channel of its own.
//!
//! A session ends with its channel or connection, or by a pause. All of its unanswered deliveries
//! are then the broker's again, and their tags mean nothing any more.

mod bindings;

use std::{
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use futures_util::StreamExt;
use lapin::{
    Channel,
    message::Delivery as Arrived,
    options::{BasicCancelOptions, BasicConsumeOptions, BasicNackOptions, BasicQosOptions},
    types::{FieldTable, ShortString},
};
use pagurus_domain::id::Role;
use pagurus_domain::number::saturated;
use tokio::{
    sync::{Mutex as AsyncMutex, MutexGuard as AsyncMutexGuard, mpsc, watch},
    time::{Instant, timeout},
};
use tokio_util::sync::CancellationToken;

use super::{QueueSource, ledger::Ledger};
use crate::{
    connection::{Generation, Link},
    delivery::{Delivery, DeliveryTag},
    error::Error,
    keeper::Keeper,
    local::{Listening, LocalConsumers},
    message::{from_amqp, short},
    reconnect::Delays,
    topology::Names,
};
use bindings::{Bindings, declare_exclusive};

/// Limit for opening a session on a connection that is up, and for ending one.
const STEP: Duration = Duration::from_secs(5);

/// Queue that a session consumes.
pub(super) struct Source {
    pub(super) queue: QueueSource,
    pub(super) prefetch: u16,
    pub(super) names: Names,
    pub(super) service: Role,
    pub(super) keeper: Keeper,
    /// Consumers of this process, if hints may come within it.
    pub(super) local: Option<LocalConsumers>,
}

impl Source {
    /// Hears what the services of this process tell each other, if this is a private queue for hints.
    fn listen(&self, shared: &Shared, sender: &mpsc::Sender<Delivery>) -> Option<Listening> {
        let local = self.local.as_ref().filter(|_| matches!(self.queue, QueueSource::Exclusive { .. }))?;
        Some(local.listen(shared.bindings.subscribe(), sender.clone()))
    }
}

/// A life of the consumer.
pub(super) struct Session {
    pub(super) generation: u64,
    pub(super) channel: Channel,
    link: Link,
    connection: Arc<Generation>,
    ledger: Mutex<Ledger>,
    queue: ShortString,
}

impl Session {
    /// Waits until the connection is gone.
    pub(super) async fn lost(&self) {
        self.link.lost(self.connection.number).await;
    }

    pub(super) fn ledger(&self) -> MutexGuard<'_, Ledger> {
        self.ledger.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Wish of the caller. Each request has a number, so that a pause that follows a resume cannot
/// be taken for the one before it.
#[derive(Clone, Copy, Default)]
pub(super) struct PauseRequest {
    request: u64,
    paused: bool,
}

/// State that the consumer's handle and its task share.
pub(super) struct Shared {
    current: Mutex<Option<Arc<Session>>>,
    answers: AsyncMutex<()>,
    wanted: watch::Sender<PauseRequest>,
    /// Pairs of exchange and key by which an exclusive queue is to be bound.
    bindings: watch::Sender<Vec<(String, String)>>,
    reached: watch::Sender<u64>,
    stale: AtomicU64,
    /// Time since which nothing can arrive; none while it can.
    silent_since: Mutex<Option<Instant>>,
}

impl Shared {
    pub(super) fn new(bindings: Vec<(String, String)>) -> Self {
        Self {
            current: Mutex::default(),
            answers: AsyncMutex::default(),
            wanted: watch::Sender::default(),
            bindings: watch::Sender::new(bindings),
            reached: watch::Sender::default(),
            stale: AtomicU64::default(),
            silent_since: Mutex::new(Some(Instant::now())),
        }
    }

    /// Time for which deliveries have been wanted and could not arrive; none while they can, or during a
    /// pause.
    pub(super) fn starved(&self) -> Option<Duration> {
        let since = *self.silent_since.lock().unwrap_or_else(PoisonError::into_inner);
        since.filter(|_| !self.wanted.borrow().paused).map(|since| since.elapsed())
    }

    fn set_silent(&self, silent: bool) {
        let mut since = self.silent_since.lock().unwrap_or_else(PoisonError::into_inner);
        *since = silent.then(|| since.unwrap_or_else(Instant::now));
    }

    pub(super) fn current(&self) -> Option<Arc<Session>> {
        let current = self.current.lock().unwrap_or_else(PoisonError::into_inner);
        current.clone()
    }

    fn set_current(&self, session: Option<Arc<Session>>) {
        self.set_silent(session.is_none());
        *self.current.lock().unwrap_or_else(PoisonError::into_inner) = session;
    }

    pub(super) fn generation(&self) -> Option<u64> {
        self.current().map(|session| session.generation)
    }

    /// Waits for the turn to answer deliveries, which lasts until it is dropped.
    pub(super) async fn turn(&self) -> AsyncMutexGuard<'_, ()> {
        self.answers.lock().await
    }

    /// Asks for a pause or its end and returns the number of the request in force.
    pub(super) fn request(&self, paused: bool) -> u64 {
        self.wanted.send_if_modified(|wanted| {
            let change = wanted.paused != paused;
            if change {
                // A pause is nobody's fault: what follows it is counted from its end.
                self.set_silent(false);
                self.set_silent(!paused && self.current().is_none());
                wanted.paused = paused;
                wanted.request += 1;
            }
            change
        });
        self.wanted.borrow().request
    }

    /// The bindings of an exclusive queue from now on.
    pub(super) fn bind_only(&self, bindings: Vec<(String, String)>) {
        self.bindings.send_if_modified(|present| {
            let change = *present != bindings;
            *present = bindings;
            change
        });
    }

    /// The number of the latest pause that is reached.
    pub(super) fn reached(&self) -> watch::Receiver<u64> {
        self.reached.subscribe()
    }

    pub(super) fn count_stale(&self, count: usize) {
        let count = saturated::<u64>(count);
        self.stale.fetch_add(count, Ordering::Relaxed);
    }

    pub(super) fn stale(&self) -> u64 {
        self.stale.load(Ordering::Relaxed)
    }
}

enum SessionEnd {
    /// The handle is gone or the broker closed.
    Stopped,
    Paused,
    Lost(String),
}

/// Runs until stopped.
pub(super) async fn run(
    link: Link,
    source: Source,
    shared: Arc<Shared>,
    sender: mpsc::Sender<Delivery>,
    stop: CancellationToken,
) {
    let mut delays = Delays::new();
    let mut wanted = shared.wanted.subscribe();
    let mut generation = 0;
    loop {
        generation += 1;
        let connected = tokio::select! {
            () = stop.cancelled() => Err(SessionEnd::Stopped),
            () = until_paused(&mut wanted) => Err(SessionEnd::Paused),
            connected = link.connected() => connected.map_err(|error| SessionEnd::Lost(error.to_string())),
        };
        let end = match connected {
            Err(end) => end,
            // Opening goes to its end whatever is wanted meanwhile: a consumer that the broker makes when nobody waits for it any
            // more would keep the messages that it gets.
            Ok(connection) => match open(&link, connection, &source, &shared, generation).await {
                Ok((session, stream, bindings)) => {
                    delays.reset();
                    let _listening = source.listen(&shared, &sender);
                    live(&shared, Arc::new(session), stream, bindings, &sender, &stop).await
                }
                Err(error) => {
                    if matches!(error, Error::MissingExchange(_) | Error::ChannelEnded(_)) {
                        // Somebody deleted the queue, or what it is bound to: what is published meanwhile is lost to it.
                        source.keeper.restore(STEP).await;
                    }
                    SessionEnd::Lost(error.to_string())
                }
            },
        };
        match end {
            SessionEnd::Stopped => break,
            SessionEnd::Paused => {
                tokio::select! {
                    () = stop.cancelled() => break,
                    () = rest(&shared, &mut wanted) => {}
                }
            }
            SessionEnd::Lost(reason) => {
                let delay = delays.next();
                if delays.worth_logging() {
                    tracing::warn!(queue = ?source.queue, %reason, ?delay, "not consuming; trying on");
                }
                tokio::select! {
                    () = stop.cancelled() => break,
                    () = until_paused(&mut wanted) => {}
                    () = tokio::time::sleep(delay) => {}
                }
            }
        }
    }
    // Nobody waits for a pause any more.
    shared.reached.send_replace(u64::MAX);
}

async fn until_paused(wanted: &mut watch::Receiver<PauseRequest>) {
    // Fails only without a sender, and the caller holds that.
    let _ = wanted.wait_for(|wanted| wanted.paused).await;
}

/// Says that the pause is reached, and waits for its end. A resume and a new pause can both come
/// before this wakes: then the new one is reached already.
async fn rest(shared: &Shared, wanted: &mut watch::Receiver<PauseRequest>) {
    loop {
        let now = *wanted.borrow_and_update();
        shared.reached.send_replace(now.request);
        if !now.paused || wanted.changed().await.is_err() {
            return;
        }
    }
}

async fn open(
    link: &Link,
    connection: Arc<Generation>,
    source: &Source,
    shared: &Shared,
    generation: u64,
) -> Result<(Session, lapin::Consumer, Bindings), Error> {
    let late = |_| Error::TimedOut(STEP);
    let channel = timeout(STEP, connection.connection.create_channel()).await.map_err(late)??;
    let mut bindings = Bindings::wanted(shared.bindings.subscribe(), source.keeper.looks());
    let steps = async {
        channel.basic_qos(source.prefetch, BasicQosOptions::default()).await?;
        let queue = match &source.queue {
            QueueSource::Named(name) => short("queue", name)?,
            QueueSource::Exclusive { .. } => {
                let queue = declare_exclusive(&channel, source).await?;
                bindings.apply(&channel, &queue).await?;
                queue
            }
        };
        let (tag, options) = (ShortString::default(), BasicConsumeOptions::default());
        let stream = channel.basic_consume(queue.clone(), tag, options, FieldTable::default()).await?;
        Ok::<_, Error>((queue, stream))
    };
    let (queue, stream) = match timeout(STEP, steps).await {
        Ok(consuming) => consuming?,
        Err(elapsed) => {
            // Takes along what the broker may still make of the last step.
            let _ = timeout(STEP, channel.close(200, short("text", "OK")?)).await;
            return Err(late(elapsed));
        }
    };
    let ledger = Mutex::default();
    let session = Session { generation, channel, link: link.clone(), connection, ledger, queue };
    Ok((session, stream, bindings))
}

/// Makes the session the current one, forwards its deliveries, and ends it.
async fn live(
    shared: &Shared,
    session: Arc<Session>,
    mut stream: lapin::Consumer,
    bindings: Bindings,
    sender: &mpsc::Sender<Delivery>,
    stop: &CancellationToken,
) -> SessionEnd {
    shared.set_current(Some(Arc::clone(&session)));
    let mut wanted = shared.wanted.subscribe();
    let end = tokio::select! {
        biased;
        () = stop.cancelled() => SessionEnd::Stopped,
        () = sender.closed() => SessionEnd::Stopped,
        () = until_paused(&mut wanted) => SessionEnd::Paused,
        () = session.lost() => SessionEnd::Lost("the connection ended".to_owned()),
        error = bindings.follow(&session.connection, &session.channel, &session.queue) => SessionEnd::Lost(error.to_string()),
        end = forward(&session, &mut stream, sender) => end,
    };
    // From here on no answer is written: what is being written is waited for.
    let _turn = shared.turn().await;
    shared.set_current(None);
    if !matches!(end, SessionEnd::Lost(_)) {
        let give_back = give_back(&session.channel, stream.tag());
        match timeout(STEP, give_back).await {
            Ok(Ok(())) => {}
            // The channel is gone, and the deliveries with it.
            Ok(Err(error)) => tracing::debug!(%error, "ending a consumer on a lost channel"),
            Err(_) => tracing::warn!("ending a consumer timed out"),
        }
    }
    end
}

async fn forward(
    session: &Session,
    stream: &mut lapin::Consumer,
    sender: &mpsc::Sender<Delivery>,
) -> SessionEnd {
    while let Some(arrived) = stream.next().await {
        match arrived {
            Ok(arrived) => {
                session.ledger().delivered(arrived.delivery_tag);
                let delivery = delivery(session.generation, arrived);
                if sender.send(delivery).await.is_err() {
                    return SessionEnd::Stopped;
                }
            }
            Err(error) => return SessionEnd::Lost(error.to_string()),
        }
    }
    SessionEnd::Lost("the message broker ended the consumer".to_owned())
}

/// `basic.nack` and not the mere end of the channel: RabbitMQ 4.3 counts only the latter as a
/// failed delivery.
async fn give_back(channel: &Channel, consumer: ShortString) -> Result<(), Error> {
    channel.basic_cancel(consumer, BasicCancelOptions::default()).await?;
    let everything = BasicNackOptions { multiple: true, requeue: true };
    channel.basic_nack(0, everything).await?;
    channel.close(200, short("text", "OK")?).await?;
    Ok(())
}

fn delivery(generation: u64, arrived: Arrived) -> Delivery {
    Delivery {
        tag: DeliveryTag { generation, tag: arrived.delivery_tag },
        exchange: arrived.exchange.to_string(),
        routing_key: arrived.routing_key.to_string(),
        redelivered: arrived.redelivered,
        properties: from_amqp(&arrived.properties),
        body: arrived.data,
    }
}
