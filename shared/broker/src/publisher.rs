//! Batches of messages, each with its own result.
//!
//! Every confirm is awaited, under a deadline, by a task that its caller cannot cancel half-way: a
//! confirm that nobody awaits hides a refusal. A channel carries one batch at a time. That keeps
//! the order of confirms ours, and a returned message belongs to the batch in flight.

mod results;

use std::{sync::Arc, time::Duration};

use lapin::{
    BasicProperties, Channel, Confirmation,
    options::{BasicPublishOptions, ConfirmSelectOptions},
    types::ShortString,
};
use tokio::{
    sync::Mutex,
    time::{Instant, sleep_until},
};

use crate::{
    connection::Link,
    error::Error,
    in_flight,
    keeper::Keeper,
    message::{Message, short, to_amqp_for},
};
use results::{Results, Returned};

/// lapin scans all open confirms at each `multiple` confirm, so the window stays small.
const WINDOW: usize = 1000;
/// Long enough for a connection that comes back from a blip. Waiting longer is the caller's
/// decision, who knows what else it could do.
const PATIENCE: Duration = Duration::from_secs(1);
/// Lanes for one batch on its way and one being confirmed.
const OWN_LANES: usize = 2;
/// A part of the topology that is missing is restored in milliseconds, if it can be.
const RESTORED_WITHIN: Duration = Duration::from_secs(5);
/// A foreign queue that never confirms holds a lane until the deadline; the others go on.
const FOREIGN_LANES: usize = 4;

/// Fate of one message.
#[derive(Clone, Debug, PartialEq)]
pub enum Published {
    /// The broker has it, on disk if it is persistent and routed to a durable queue.
    Confirmed,
    /// No queue took it, which is reported for mandatory messages only.
    Unroutable {
        /// Reply code of AMQP, 312 for "no route".
        code: u16,
        /// The broker's words.
        text: String,
    },
    /// Not known to be taken.
    Failed(Error),
}

/// A channel that is opened when needed, and again when it or its connection has ended.
struct PublisherLane {
    confirms: bool,
    open: Mutex<Option<OpenChannel>>,
}

#[derive(Clone)]
struct OpenChannel {
    generation: u64,
    channel: Channel,
}

impl PublisherLane {
    fn new(confirms: bool) -> Self {
        Self { confirms, open: Mutex::new(None) }
    }

    /// The channel to use now, opened by the deadline at the latest.
    async fn channel(
        &self,
        open: &mut Option<OpenChannel>,
        (link, keeper): (&Link, Option<&Keeper>),
        patience: Duration,
        deadline: Instant,
    ) -> Result<OpenChannel, Error> {
        let generation = link.usable_within(patience).await?;
        if let Some(open) = open
            && open.generation == generation.number
        {
            if open.channel.status().connected() {
                return Ok(open.clone());
            }
            // The broker has ended it, as it does where an exchange is missing. Without confirms nothing else says so.
            if let Some(keeper) = keeper {
                keeper.ask();
            }
        }
        *open = None;
        let began = Instant::now();
        let create = async {
            let channel = generation.connection.create_channel().await?;
            if self.confirms {
                let options = ConfirmSelectOptions::default();
                channel.confirm_select(options).await?;
            }
            Ok::<_, Error>(channel)
        };
        let channel = tokio::select! {
            created = create => created?,
            () = link.lost(generation.number) => return Err(connection_lost()),
            // Nothing was sent.
            () = sleep_until(deadline) => {
                return Err(Error::Down(format!("no channel was opened within {:?}", began.elapsed())));
            }
        };
        let opened = OpenChannel { generation: generation.number, channel };
        Ok(open.insert(opened).clone())
    }
}

fn connection_lost() -> Error {
    Error::Down("the connection ended".to_owned())
}

pub(crate) struct Publisher {
    shared: Arc<Shared>,
}

struct Shared {
    link: Link,
    /// Keeper of the topology; none where nothing of the engine is.
    keeper: Option<Keeper>,
    confirm_timeout: Duration,
    own: Vec<PublisherLane>,
    foreign: Vec<PublisherLane>,
    transient: PublisherLane,
}

impl Publisher {
    pub(crate) fn new(link: Link, confirm_timeout: Duration, keeper: Option<Keeper>) -> Self {
        let lanes = |count| (0..count).map(|_| PublisherLane::new(true)).collect();
        let shared = Shared {
            link,
            keeper,
            confirm_timeout,
            own: lanes(OWN_LANES),
            foreign: lanes(FOREIGN_LANES),
            transient: PublisherLane::new(false),
        };
        Self { shared: Arc::new(shared) }
    }

    pub(crate) async fn own(&self, messages: Vec<Message>) -> Vec<Published> {
        let shared = Arc::clone(&self.shared);
        let count = messages.len();
        let task = async move {
            let mut results = Results::new(&messages);
            let all = results.all();
            shared.send(&shared.own, &mut results, &all).await;
            shared.send_restored(&shared.own, &mut results).await;
            results.finish()
        };
        in_own_task(count, task).await
    }

    pub(crate) async fn foreign(&self, messages: Vec<Message>) -> Vec<Published> {
        let shared = Arc::clone(&self.shared);
        let count = messages.len();
        let task = async move {
            let mut results = Results::new(&messages);
            shared.send_foreign(&mut results).await;
            results.finish()
        };
        in_own_task(count, task).await
    }

    pub(crate) async fn transient(&self, messages: Vec<Message>) -> Result<(), Error> {
        let Shared { link, keeper, transient, .. } = &*self.shared;
        let deadline = Instant::now() + self.shared.confirm_timeout;
        let mut open = transient.open.lock().await;
        let now = transient.channel(&mut open, (link, keeper.as_ref()), Duration::ZERO, deadline).await?;
        let prepared = messages.iter().map(Prepared::new).collect::<Result<Vec<_>, _>>()?;
        let publishes = messages.iter().zip(prepared).map(|(message, prepared)| {
            let options = BasicPublishOptions::default();
            publish(&now.channel, message, prepared, options)
        });
        let mut outcome = Ok(());
        let lost = link.lost(now.generation);
        for sent in in_flight::all_until(deadline, lost, publishes).await {
            match sent {
                Some(Ok(_)) => {}
                Some(Err(error)) => outcome = outcome.and(Err(error.into())),
                None => outcome = outcome.and(Err(self.shared.unfinished(deadline))),
            }
        }
        if outcome.is_err() {
            *open = None;
        }
        outcome
    }
}

/// Runs to its end even if the caller goes away.
async fn in_own_task(
    count: usize,
    task: impl Future<Output = Vec<Published>> + Send + 'static,
) -> Vec<Published> {
    tokio::spawn(task).await.unwrap_or_else(|error| {
        let failure = Error::ChannelEnded(format!("the publishing task ended: {error}"));
        vec![Published::Failed(failure); count]
    })
}

impl Shared {
    /// Sends all, then sends those again that another message took down with it.
    async fn send_foreign(&self, results: &mut Results<'_>) {
        let all = results.all();
        self.send(&self.foreign, results, &all).await;
        self.send_restored(&self.foreign, results).await;
        // "No such exchange" holds for a whole exchange: try exchange by exchange.
        for group in results.innocent() {
            self.send(&self.foreign, results, &group).await;
            // What failed now failed for a reason of its own: one by one.
            if self.link.usable().is_err() {
                return;
            }
            let again: Vec<usize> = group
                .iter()
                .copied()
                .filter(|&index| group.len() > 1 && results.may_be_innocent(index))
                .collect();
            for index in again {
                if self.link.usable().is_err() {
                    return;
                }
                self.send(&self.foreign, results, &[index]).await;
            }
        }
    }

    /// Sends those again that met a missing part of the engine's own topology, once that is restored. What then still has no
    /// queue waits for the service that owns the binding: a lost binding is neither seen over AMQP nor restored by others.
    async fn send_restored(&self, lanes: &[PublisherLane], results: &mut Results<'_>) {
        let Some(keeper) = &self.keeper else { return };
        let unbound = |message: &Message, result: &Published| {
            matches!(result, Published::Unroutable { .. }) && keeper.routes(&message.exchange, &message.key)
        };
        let is_missing = |result: &Published| match result {
            Published::Failed(Error::MissingExchange(missing)) => keeper.owns(missing),
            _ => false,
        };
        let ends_channel = !results.places(|_, result| is_missing(result)).is_empty();
        let again = results.places(|message, result| match result {
            // Messages behind the one that ended the channel were not sent.
            Published::Failed(Error::ChannelEnded(_)) => ends_channel,
            result => is_missing(result) || unbound(message, result),
        });
        if !again.is_empty() && keeper.restore(RESTORED_WITHIN).await {
            self.send(lanes, results, &again).await;
        }
        for index in results.places(unbound) {
            let exchange = results.messages()[index].exchange.clone();
            results.set(index, Published::Failed(Error::MissingBinding(exchange)));
        }
    }

    /// Sends some of the messages over the first lane that is free.
    async fn send(&self, lanes: &[PublisherLane], results: &mut Results<'_>, indices: &[usize]) {
        let free = lanes.iter().find_map(|lane| lane.open.try_lock().ok().map(|open| (lane, open)));
        let (lane, mut open) = match free {
            Some(free) => free,
            None => {
                // All are busy: those who wait spread over them.
                let lane = &lanes[rand::random_range(0..lanes.len())];
                (lane, lane.open.lock().await)
            }
        };
        // The broker's time begins when it gets the batch.
        let deadline = Instant::now() + self.confirm_timeout;
        for window in indices.chunks(WINDOW) {
            self.send_window(lane, &mut open, results, window, deadline).await;
        }
    }

    async fn send_window(
        &self,
        lane: &PublisherLane,
        open: &mut Option<OpenChannel>,
        results: &mut Results<'_>,
        window: &[usize],
        deadline: Instant,
    ) {
        let now = match lane.channel(open, (&self.link, self.keeper.as_ref()), PATIENCE, deadline).await {
            Ok(now) => now,
            Err(error) => return results.set_all(window, &Published::Failed(error)),
        };
        let messages = results.messages();
        let mut sent = Vec::with_capacity(window.len());
        let mut confirms = Vec::with_capacity(window.len());
        for &index in window {
            let message = &messages[index];
            match Prepared::new(message) {
                Ok(prepared) => {
                    sent.push(index);
                    confirms.push(confirmed(&now.channel, message, prepared));
                }
                Err(fault) => results.set(index, Published::Failed(fault)),
            }
        }
        let lost = self.link.lost(now.generation);
        let outcomes = in_flight::all_until(deadline, lost, confirms).await;
        let mut returned = Vec::new();
        for (&index, outcome) in sent.iter().zip(outcomes) {
            let (published, back) = match outcome {
                Some(Ok(Confirmation::Ack(back))) => (Published::Confirmed, back),
                Some(Ok(Confirmation::Nack(back))) => (Published::Failed(Error::NotTaken), back),
                Some(Ok(Confirmation::NotRequested)) => {
                    let text = "the channel does not confirm".to_owned();
                    (Published::Failed(Error::ChannelEnded(text)), None)
                }
                Some(Err(error)) => (Published::Failed(error.into()), None),
                None => (Published::Failed(self.unfinished(deadline)), None),
            };
            let lost = matches!(&published, Published::Failed(error) if *error != Error::NotTaken);
            results.set(index, published);
            if lost {
                // Its open confirms, and what they could mean, go with the channel.
                *open = None;
            }
            if let Some(back) = back {
                returned.push((index, Returned::new(back)));
            }
        }
        results.attribute(&sent, returned);
    }

    /// Why an operation was not done when its batch was given up.
    fn unfinished(&self, deadline: Instant) -> Error {
        if Instant::now() < deadline { connection_lost() } else { Error::TimedOut(self.confirm_timeout) }
    }
}

/// A message whose names are known to fit.
struct Prepared {
    exchange: ShortString,
    key: ShortString,
    properties: BasicProperties,
}

impl Prepared {
    fn new(message: &Message) -> Result<Self, Error> {
        Ok(Self {
            exchange: short("exchange", &message.exchange)?,
            key: short("routing key", &message.key)?,
            properties: to_amqp_for(message)?,
        })
    }
}

async fn publish(
    channel: &Channel,
    message: &Message,
    prepared: Prepared,
    options: BasicPublishOptions,
) -> lapin::Result<lapin::PublisherConfirm> {
    let Prepared { exchange, key, properties } = prepared;
    channel.basic_publish(exchange, key, options, &message.body, properties).await
}

async fn confirmed(channel: &Channel, message: &Message, prepared: Prepared) -> lapin::Result<Confirmation> {
    let options = BasicPublishOptions { mandatory: message.mandatory, ..BasicPublishOptions::default() };
    publish(channel, message, prepared, options).await?.await
}
