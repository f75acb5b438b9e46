//! The one table of exchanges, queues, bindings and permissions, and how it is declared.
//!
//! No other file names an exchange or queue of the engine. `rabbitmq/definitions.json` is the same
//! table in the broker's own format ([`definitions()`]); a test compares the two.

mod definitions;

use lapin::{
    Channel, Connection, ExchangeKind,
    options::{ExchangeDeclareOptions, QueueBindOptions, QueueDeclareOptions, QueueDeleteOptions},
    types::{AMQPValue, FieldTable},
};

pub use definitions::{definitions, password_hash};

use crate::{
    error::{Error, PRECONDITION_FAILED, reply_code},
    message::short,
    service::Service,
};

/// RabbitMQ 3.10 knows no limit by default, 4.x drops after 20 deliveries, and -1 means opposite
/// things on the two. A number that no honest message reaches is right on both.
const DELIVERY_LIMIT: i64 = 100_000;

/// Names of everything that the engine owns at the broker, with the installation's prefix.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Names {
    /// The configured prefix.
    pub prefix: String,
    /// Exchange (topic) that takes orders from clients.
    pub orders: String,
    /// Queue of orders and commands that wait for intake.
    pub orders_in: String,
    /// Exchange (topic) that takes callbacks from called systems.
    pub callbacks: String,
    /// Queue of callbacks that wait for intake.
    pub callbacks_in: String,
    /// Exchange (topic) for notifications, the default of `notify.url`.
    pub notifications: String,
    /// Exchange (topic) for tasks of actors, keyed by the name of the actor.
    pub actors: String,
    /// Exchange (fanout) for messages that can never be handled.
    pub refused: String,
    /// Queue of the same.
    pub refused_queue: String,
    /// Exchange (topic) for transient news between services.
    pub news: String,
    /// Exchange (direct) for hand-outs, keyed by the incarnation of the worker node.
    pub work: String,
}

impl Names {
    /// The queue in which tasks of an actor wait.
    #[must_use]
    pub fn actor_queue(&self, actor: &str) -> String {
        format!("{}.{actor}", self.actors)
    }

    /// All names under one prefix.
    #[must_use]
    pub fn new(prefix: &str) -> Self {
        let name = |rest: &str| format!("{prefix}.{rest}");
        Self {
            prefix: prefix.to_owned(),
            orders: name("orders"),
            orders_in: name("orders.in"),
            callbacks: name("callbacks"),
            callbacks_in: name("callbacks.in"),
            notifications: name("notifications"),
            actors: name("actors"),
            refused: name("refused"),
            refused_queue: name("refused"),
            news: name("news"),
            work: name("work"),
        }
    }

    /// Name of a queue that only one connection of one service uses and that ends with it.
    pub(crate) fn private_queue(&self, service: Service, hint: &str, number: u32) -> String {
        let prefix = &self.prefix;
        format!("{prefix}.private.{service}.{hint}.{number:08x}")
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Routing {
    Topic,
    Direct,
    Fanout,
}

impl Routing {
    fn as_str(self) -> &'static str {
        match self {
            Self::Topic => "topic",
            Self::Direct => "direct",
            Self::Fanout => "fanout",
        }
    }

    fn kind(self) -> ExchangeKind {
        match self {
            Self::Topic => ExchangeKind::Topic,
            Self::Direct => ExchangeKind::Direct,
            Self::Fanout => ExchangeKind::Fanout,
        }
    }
}

/// A durable exchange. Its owner declares it at start; others only look whether it is there.
pub(crate) struct Exchange {
    pub(crate) name: String,
    pub(crate) routing: Routing,
    pub(crate) owner: Service,
}

/// A quorum queue with its one binding. News and hand-outs have none: a durable queue of another kind dies with the one node
/// that it is on, and nobody can declare it anew before that node is back. Their queues are private, and made anew
/// wherever their consumer connects.
pub(crate) struct Queue {
    pub(crate) name: String,
    pub(crate) exchange: String,
    pub(crate) key: String,
    /// Where messages go that exceed the delivery limit.
    pub(crate) dead_letter: Option<String>,
    pub(crate) owner: Service,
}

pub(crate) enum Argument {
    Text(&'static str, String),
    Number(&'static str, i64),
}

impl Queue {
    /// Arguments are frozen at the first declaration: change one only with a new queue name.
    pub(crate) fn arguments(&self) -> Vec<Argument> {
        let text = |name, value: &str| Argument::Text(name, value.to_owned());
        let mut arguments =
            vec![text("x-queue-type", "quorum"), Argument::Number("x-delivery-limit", DELIVERY_LIMIT)];
        if let Some(exchange) = &self.dead_letter {
            arguments.push(text("x-dead-letter-exchange", exchange));
            // Needs the overflow below; without it a dead letter can be lost on its way.
            arguments.push(text("x-dead-letter-strategy", "at-least-once"));
            arguments.push(text("x-overflow", "reject-publish"));
        }
        arguments
    }

    fn table(&self) -> Result<FieldTable, Error> {
        let mut table = FieldTable::default();
        for argument in self.arguments() {
            match argument {
                Argument::Text(name, value) => {
                    table.insert(short("argument", name)?, AMQPValue::LongString(value.into_bytes().into()))
                }
                Argument::Number(name, value) => {
                    table.insert(short("argument", name)?, AMQPValue::LongLongInt(value))
                }
            };
        }
        Ok(table)
    }
}

pub(crate) struct Topology {
    pub(crate) exchanges: Vec<Exchange>,
    pub(crate) queues: Vec<Queue>,
    /// Queues that earlier versions declared, with the owner, who deletes each.
    pub(crate) former_queues: Vec<(String, Service)>,
}

pub(crate) fn topology(names: &Names) -> Topology {
    use Service::{Dispatcher, Intake, Notifier, Worker};
    let exchange = |name: &str, routing, owner| Exchange { name: name.to_owned(), routing, owner };
    let queue = |name: &str, exchange: &str, key: &str, dead_letter: Option<&str>| Queue {
        name: name.to_owned(),
        exchange: exchange.to_owned(),
        key: key.to_owned(),
        dead_letter: dead_letter.map(str::to_owned),
        owner: Intake,
    };
    let refused = Some(names.refused.as_str());
    Topology {
        exchanges: vec![
            exchange(&names.refused, Routing::Fanout, Intake),
            exchange(&names.orders, Routing::Topic, Intake),
            exchange(&names.callbacks, Routing::Topic, Intake),
            exchange(&names.notifications, Routing::Topic, Notifier),
            exchange(&names.actors, Routing::Topic, Worker),
            exchange(&names.news, Routing::Topic, Dispatcher),
            exchange(&names.work, Routing::Direct, Dispatcher),
        ],
        queues: vec![
            queue(&names.refused_queue, &names.refused, "", None),
            queue(&names.orders_in, &names.orders, "#", refused),
            queue(&names.callbacks_in, &names.callbacks, "#", refused),
        ],
        former_queues: vec![(format!("{}.outbox", names.prefix), Notifier)],
    }
}

/// Makes sure that everything is there. What `service` owns is declared; the rest is looked up
/// first, so that a broker user needs rights only over its own part, and declared if missing.
pub(crate) async fn declare(connection: &Connection, names: &Names, service: Service) -> Result<(), Error> {
    let topology = topology(names);
    for exchange in &topology.exchanges {
        if service == exchange.owner || !exchange_exists(connection, exchange).await? {
            declare_exchange(connection, exchange).await?;
        }
    }
    for queue in &topology.queues {
        if service == queue.owner || !queue_exists(connection, queue).await? {
            declare_queue(connection, queue).await?;
        }
    }
    for (name, owner) in &topology.former_queues {
        if service == *owner {
            delete_former(connection, name).await?;
        }
    }
    Ok(())
}

/// Deletes a queue of an earlier version that nobody consumes. Such a queue held hints, so that nothing in it is missed. One that
/// is in use, or on a node of the broker that is away, stays for the next connection.
async fn delete_former(connection: &Connection, name: &str) -> Result<(), Error> {
    let channel = connection.create_channel().await?;
    let unused = QueueDeleteOptions { if_unused: true, ..QueueDeleteOptions::default() };
    match channel.queue_delete(short("queue", name)?, unused).await {
        Ok(_) => Ok(()),
        Err(error) if error.is_amqp_soft_error() => {
            tracing::debug!(name, %error, "a queue of an earlier version stays");
            Ok(())
        }
        Err(error) => Err(error.into()),
    }
}

/// Each question and each declaration has a channel of its own, because a "no" ends the channel.
async fn exchange_exists(connection: &Connection, exchange: &Exchange) -> Result<bool, Error> {
    let channel = connection.create_channel().await?;
    let passive = ExchangeDeclareOptions { passive: true, ..ExchangeDeclareOptions::default() };
    let name = short("exchange", &exchange.name)?;
    let answer =
        channel.exchange_declare(name, exchange.routing.kind(), passive, FieldTable::default()).await;
    exists(answer)
}

async fn queue_exists(connection: &Connection, queue: &Queue) -> Result<bool, Error> {
    let channel = connection.create_channel().await?;
    let passive = QueueDeclareOptions::default().passive();
    let name = short("queue", &queue.name)?;
    let answer = channel.queue_declare(name, passive, FieldTable::default()).await;
    exists(answer.map(drop))
}

/// Messages that are ready in a queue, and its consumers; none where there is no such queue. Asks, and declares nothing.
pub(crate) async fn depth(connection: &Connection, queue: &str) -> Result<Option<(u32, u32)>, Error> {
    let channel = connection.create_channel().await?;
    let passive = QueueDeclareOptions::default().passive();
    match channel.queue_declare(short("queue", queue)?, passive, FieldTable::default()).await {
        Ok(queue) => Ok(Some((queue.message_count(), queue.consumer_count()))),
        Err(error) if error.is_amqp_soft_error() => Ok(None),
        Err(error) => Err(error.into()),
    }
}

fn exists(answer: lapin::Result<()>) -> Result<bool, Error> {
    match answer {
        Ok(()) => Ok(true),
        Err(error) if error.is_amqp_soft_error() => Ok(false),
        Err(error) => Err(error.into()),
    }
}

async fn declare_exchange(connection: &Connection, exchange: &Exchange) -> Result<(), Error> {
    let channel = connection.create_channel().await?;
    let options = ExchangeDeclareOptions { durable: true, ..ExchangeDeclareOptions::default() };
    let name = short("exchange", &exchange.name)?;
    let answer =
        channel.exchange_declare(name, exchange.routing.kind(), options, FieldTable::default()).await;
    tolerate_difference(&exchange.name, answer)
}

async fn declare_queue(connection: &Connection, queue: &Queue) -> Result<(), Error> {
    let channel = connection.create_channel().await?;
    let name = short("queue", &queue.name)?;
    let options = QueueDeclareOptions::durable();
    let answer = channel.queue_declare(name, options, queue.table()?).await;
    tolerate_difference(&queue.name, answer.map(drop))?;
    bind(&connection.create_channel().await?, &queue.name, &queue.exchange, &queue.key).await
}

/// Makes sure that the tasks of an actor have a queue to wait in, also before its first program runs.
pub(crate) async fn declare_actor(connection: &Connection, names: &Names, actor: &str) -> Result<(), Error> {
    let queue = Queue {
        name: names.actor_queue(actor),
        exchange: names.actors.clone(),
        key: actor.to_owned(),
        dead_letter: None,
        owner: Service::Worker,
    };
    declare_queue(connection, &queue).await
}

/// An existing queue or exchange keeps its arguments for life. One that was made by an older
/// version, or by hand, still works; refusing to start would help nobody.
fn tolerate_difference(name: &str, answer: lapin::Result<()>) -> Result<(), Error> {
    match answer {
        Err(error) if reply_code(&error) == Some(PRECONDITION_FAILED) => {
            tracing::warn!(name, %error, "declared differently at the message broker; used as it is");
            Ok(())
        }
        answer => Ok(answer?),
    }
}

pub(crate) async fn bind(channel: &Channel, queue: &str, exchange: &str, key: &str) -> Result<(), Error> {
    channel
        .queue_bind(
            short("queue", queue)?,
            short("exchange", exchange)?,
            short("binding key", key)?,
            QueueBindOptions::default(),
            FieldTable::default(),
        )
        .await?;
    Ok(())
}
