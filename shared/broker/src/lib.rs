//! RabbitMQ: topology, publishing with confirms, consuming, and connections that come back.
//!
//! | file | duty |
//! |---|---|
//! | [`topology`] | every exchange, queue, binding and right, in one table |
//! | `keeper` | restores what somebody deletes of the topology while the services run |
//! | `address` | where the broker is, and how it is reached by TLS |
//! | `connection` | a supervised connection, one generation after another |
//! | `socket`, `frames` | what comes in is mended where the client library could not read it |
//! | [`publisher`] | batches of messages to results, one for each, none forgotten |
//! | [`consumer`] | batches of deliveries, acknowledged by the caller |
//! | `foreign` | messages into other virtual hosts |
//! | `local` | transient messages between services of one process |
//! | [`refused`] | what is kept of a message that can never be handled |
//!
//! Two rules hold everywhere. A process publishes and consumes over different connections, because
//! the broker blocks connections that publish when it is short of memory, and what clients send
//! comes over connections of its own. And nothing waits
//! for the broker without a limit. This crate knows nothing of orders and never touches Postgres.

mod address;
mod connection;
pub mod consumer;
mod delivery;
mod error;
mod foreign;
mod frames;
mod illegible;
mod in_flight;
mod keeper;
mod local;
mod message;
pub mod publisher;
mod reconnect;
pub mod refused;
mod silence;
mod socket;
mod state;
pub mod topology;

use std::{
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use pagurus_domain::id::Role;
use pagurus_tls::ReloadingTls;
use tokio::task::JoinHandle;
use tokio::time::Instant;
use tokio_util::sync::{CancellationToken, DropGuard};

use address::usable_address;
pub use address::{server_of, tls_fault, unusable, vhost_of};
use connection::{ConnectionSettings, Link, Purpose};
use consumer::Watch;
pub use consumer::{Acknowledged, ConsumeSpec, Consumer, QueueSource};
pub use delivery::{Delivery, DeliveryTag};
pub use error::Error;
use foreign::Foreign;
pub use illegible::is_broken;
use keeper::Keeper;
pub use local::LocalConsumers;
pub use message::{HeaderValue, Message, Properties, headers_to_json};
pub use publisher::Published;
use publisher::Publisher;
use silence::{QueueAddress, SilentDestinations, destination};
pub use state::{BrokerState, LinkState, STARVED};
use topology::Names;

/// A connection that is not there after this long is tried again.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
/// A quorum queue confirms in milliseconds; half a minute means that it cannot.
const CONFIRM_TIMEOUT: Duration = Duration::from_secs(30);
/// Longest prefix in bytes: names built on it must stay well below the 255 of AMQP.
const LONGEST_PREFIX: usize = 64;

/// Address of the broker, and the name of who connects.
#[derive(Clone)]
pub struct Config {
    /// `amqp://user:password@host:port/vhost`.
    pub url: String,
    /// First part of all names, so that several installations can share a broker.
    pub prefix: String,
    /// Role that connects: decides what it declares and how its private queues are called.
    pub service: Role,
    /// Name of the node, shown by the broker as part of the connection's name.
    pub node: String,
    /// Limit for connecting and declaring; then the next attempt.
    pub connect_timeout: Duration,
    /// Limit for the confirms of one batch.
    pub confirm_timeout: Duration,
    /// Private queues of all services of this process; none where it has one service.
    pub local: Option<LocalConsumers>,
}

impl Config {
    /// A configuration with the default time-outs (5 s to connect, 30 s to confirm).
    pub fn new(
        url: impl Into<String>,
        prefix: impl Into<String>,
        service: Role,
        node: impl Into<String>,
    ) -> Self {
        Self {
            url: url.into(),
            prefix: prefix.into(),
            service,
            node: node.into(),
            connect_timeout: CONNECT_TIMEOUT,
            confirm_timeout: CONFIRM_TIMEOUT,
            local: None,
        }
    }
}

/// The handle of a process on the broker. Cheap to clone; the connections end with the last clone
/// or with [`Broker::close`].
#[derive(Clone)]
pub struct Broker {
    inner: Arc<Inner>,
}

struct Inner {
    settings: Arc<ConnectionSettings>,
    publish: Link,
    consume: Link,
    publisher: Publisher,
    keeper: Keeper,
    foreign: Foreign,
    silent: SilentDestinations,
    confirm_timeout: Duration,
    local: Option<LocalConsumers>,
    stop: CancellationToken,
    supervisors: Mutex<Vec<JoinHandle<()>>>,
    consumers: Mutex<Vec<Watch>>,
    _stop_at_drop: DropGuard,
}

impl Broker {
    /// Starts both connections in the background and returns at once, also without a broker.
    ///
    /// # Errors
    /// [`Error::InvalidSetting`] if the address or the prefix can never work.
    pub fn connect(config: Config) -> Result<Self, Error> {
        let (uri, tls) = usable_address(&config)?;
        let names = Names::new(usable_prefix(&config.prefix)?);
        let settings = Arc::new(ConnectionSettings {
            uri,
            tls: tls.map(|tls| Arc::new(ReloadingTls::new(tls))),
            names,
            service: config.service,
            connection_name: format!("{} {} {}", config.prefix, config.service, config.node),
            connect_timeout: config.connect_timeout,
        });
        let stop = CancellationToken::new();
        let (publish, first) = Link::start(Arc::clone(&settings), Purpose::Publish, stop.clone());
        let (consume, second) = Link::start(Arc::clone(&settings), Purpose::Consume, stop.clone());
        let keeper = Keeper::new(&settings.names, settings.service);
        let third = tokio::spawn(keeper.clone().run(consume.clone(), stop.clone()));
        let inner = Inner {
            publisher: Publisher::new(publish.clone(), config.confirm_timeout, Some(keeper.clone())),
            keeper,
            foreign: Foreign::new(Arc::clone(&settings), config.confirm_timeout, stop.child_token()),
            silent: SilentDestinations::default(),
            confirm_timeout: config.confirm_timeout,
            local: config.local,
            settings,
            publish,
            consume,
            stop: stop.clone(),
            supervisors: Mutex::new(vec![first, second, third]),
            consumers: Mutex::default(),
            _stop_at_drop: stop.drop_guard(),
        };
        Ok(Self { inner: Arc::new(inner) })
    }

    /// The names of the engine's exchanges and queues.
    #[must_use]
    pub fn names(&self) -> &Names {
        &self.inner.settings.names
    }

    /// State of both connections, of the consumers and of the topology.
    #[must_use]
    pub fn state(&self) -> BrokerState {
        let starved = |watch: &Watch| watch.starved_for(STARVED);
        BrokerState {
            publish: self.inner.publish.state(),
            consume: self.inner.consume.state(),
            starved: locked(&self.inner.consumers).iter().filter_map(starved).collect(),
            missing: self.inner.keeper.missing(),
        }
    }

    /// Waits until both connections are up, for at most `patience`.
    ///
    /// # Errors
    /// Why one of them is not up.
    pub async fn ready(&self, patience: Duration) -> Result<(), Error> {
        let (publish, consume) = tokio::join!(
            self.inner.publish.usable_within(patience),
            self.inner.consume.usable_within(patience)
        );
        publish.and(consume).map(drop)
    }

    /// Publishes to exchanges of the engine, all at once, and awaits all confirms. The results are
    /// in the order of the messages. What meets a part of the topology that somebody deleted is sent again when that is restored,
    /// and so is what shared its channel: that can send a good one twice, with the same `message_id`. Gives up early, with [`Error::Down`] or [`Error::Blocked`],
    /// when there is no usable connection within a second.
    pub async fn publish_many(&self, messages: Vec<Message>) -> Vec<Published> {
        self.inner.publisher.own(messages).await
    }

    /// The same for exchanges and queues that clients named. They have channels of their own, and
    /// when a message ends the channel (no such exchange, no right), the rest is sent again, so
    /// that only the bad one fails. That can send a good one twice, with the same `message_id`.
    pub async fn publish_many_foreign(&self, messages: Vec<Message>) -> Vec<Published> {
        self.inner.publisher.foreign(messages).await
    }

    /// The same for messages that are sent again by others or not at all, such as notifications and receipts: a destination that
    /// has let the time for a confirm pass is left alone for a while, with [`Error::Silent`], so that it holds up no others.
    pub async fn publish_to_receivers(&self, messages: Vec<Message>) -> Vec<Published> {
        let Inner { silent, confirm_timeout, .. } = &*self.inner;
        let names = self.names();
        let is_own =
            |message: &Message| [&names.callbacks, &names.notifications].contains(&&message.exchange);
        let admitted = silent.admit(&messages, Instant::now(), *confirm_timeout * 2);
        let goes = messages.iter().zip(admitted).map(|(message, admitted)| admitted || is_own(message));
        let goes: Vec<bool> = goes.collect();
        let going = messages.into_iter().zip(&goes).filter_map(|(message, goes)| goes.then_some(message));
        let going: Vec<Message> = going.collect();
        let noted: Vec<Option<QueueAddress>> =
            going.iter().map(|message| (!is_own(message)).then(|| destination(message))).collect();
        let published = if going.is_empty() { Vec::new() } else { self.publish_many_foreign(going).await };
        let (destinations, outcomes): (Vec<_>, Vec<_>) =
            noted.into_iter().zip(published.iter().cloned()).filter_map(|(to, one)| Some((to?, one))).unzip();
        silent.note(&destinations, &outcomes, Instant::now());
        let mut published = published.into_iter();
        let left_alone = || Published::Failed(Error::Silent);
        goes.into_iter()
            .map(|went| went.then(|| published.next()).flatten().unwrap_or_else(left_alone))
            .collect()
    }

    /// The same in another virtual host, over a connection of its own that is opened when it is first
    /// needed.
    pub async fn publish_many_in_vhost(&self, vhost: &str, messages: Vec<Message>) -> Vec<Published> {
        if vhost == self.vhost() {
            return self.publish_many_foreign(messages).await;
        }
        self.inner.foreign.publish(vhost, messages).await
    }

    /// The engine's own virtual host.
    #[must_use]
    pub fn vhost(&self) -> &str {
        &self.inner.settings.uri.vhost
    }

    /// Makes sure that the tasks of an actor have a queue to wait in. Once there, it is kept like the rest of the topology.
    ///
    /// # Errors
    /// There is no connection within `patience`, or the broker refuses.
    pub async fn ensure_actor_queue(&self, actor: &str, patience: Duration) -> Result<(), Error> {
        let Inner { keeper, publish, .. } = &*self.inner;
        if keeper.knows(actor) {
            return Ok(());
        }
        let generation = publish.usable_within(patience).await?;
        let declare = || topology::declare_actor(&generation.connection, self.names(), actor);
        let mut declared = declare().await;
        if matches!(declared, Err(Error::MissingExchange(_))) && keeper.restore(patience).await {
            declared = declare().await;
        }
        declared?;
        keeper.learn(actor);
        Ok(())
    }

    /// Number of programs that take tasks of an actor; none where there is no queue of that name.
    ///
    /// # Errors
    /// There is no connection within `patience`, or the broker fails.
    pub async fn consumers_of_actor(&self, actor: &str, patience: Duration) -> Result<Option<u32>, Error> {
        let generation = self.inner.publish.usable_within(patience).await?;
        let found = topology::depth(&generation.connection, &self.names().actor_queue(actor)).await?;
        Ok(found.map(|(_, consumers)| consumers))
    }

    /// Messages that wait in a queue of the engine, and its consumers; none where there is no queue of that name.
    ///
    /// # Errors
    /// There is no connection within `patience`, or the broker fails.
    pub async fn depth_of(&self, queue: &str, patience: Duration) -> Result<Option<(u32, u32)>, Error> {
        let generation = self.inner.publish.usable_within(patience).await?;
        topology::depth(&generation.connection, queue).await
    }

    /// Publishes without confirms: for news and hand-outs, which are hints about what Postgres
    /// knows. `Ok` means written to the socket, or delivered within this process, no more. `mandatory` is ignored.
    ///
    /// # Errors
    /// The first one of the batch; does not wait for a connection.
    pub async fn publish_transient(&self, messages: Vec<Message>) -> Result<(), Error> {
        let messages = match &self.inner.local {
            Some(local) => local.deliver(messages),
            None => messages,
        };
        if messages.is_empty() {
            return Ok(());
        }
        self.inner.publisher.transient(messages).await
    }

    /// Starts to consume. Returns at once, also without a broker.
    ///
    /// # Errors
    /// [`Error::InvalidName`] if the name of the queue is too long.
    pub fn consume(&self, spec: ConsumeSpec) -> Result<Consumer, Error> {
        let Inner { settings, consume, keeper, stop, .. } = &*self.inner;
        let stop = stop.child_token();
        let link = if spec.own_connection {
            let (link, supervisor) = Link::start(Arc::clone(settings), Purpose::Consume, stop.clone());
            locked(&self.inner.supervisors).push(supervisor);
            link
        } else {
            consume.clone()
        };
        let local = self.inner.local.clone();
        let consumer = Consumer::start(spec, settings, (link, keeper.clone()), local, stop)?;
        let mut consumers = locked(&self.inner.consumers);
        consumers.retain(Watch::is_live);
        consumers.push(consumer.watch());
        Ok(consumer)
    }

    /// Ends consumers and connections in order. Unacknowledged deliveries go back to their queues.
    pub async fn close(&self) {
        self.inner.stop.cancel();
        let supervisors = std::mem::take(&mut *locked(&self.inner.supervisors));
        for supervisor in supervisors {
            if let Err(error) = supervisor.await {
                tracing::error!(%error, "a connection supervisor broke down");
            }
        }
    }
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Returns the fault of a prefix of names; none where it can be used.
#[must_use]
pub fn unusable_prefix(prefix: &str) -> Option<String> {
    usable_prefix(prefix).err().map(|error| match error {
        Error::InvalidSetting(fault) => fault,
        other => other.to_string(),
    })
}

fn usable_prefix(prefix: &str) -> Result<&str, Error> {
    let allowed = |character: char| character.is_ascii_alphanumeric() || "._-".contains(character);
    if prefix.is_empty() || prefix.len() > LONGEST_PREFIX || !prefix.chars().all(allowed) {
        return Err(Error::InvalidSetting(format!(
            "the prefix {prefix:?} must be 1 to {LONGEST_PREFIX} letters, digits, '.', '_' or '-'"
        )));
    }
    if prefix.starts_with("amq.") {
        let text = "the prefix may not start with \"amq.\", which belongs to the broker";
        return Err(Error::InvalidSetting(text.to_owned()));
    }
    Ok(prefix)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test may stop at the first surprise")]

    use super::*;

    #[test]
    fn amqp_5_prefixes_are_checked() {
        assert!(usable_prefix("team-1.pagurus").is_ok());
        for prefix in ["", "a b", "a*", "amq.x", &"x".repeat(65)] {
            assert!(usable_prefix(prefix).is_err(), "{prefix}");
        }
    }
}
