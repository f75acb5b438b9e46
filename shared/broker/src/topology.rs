//! The one table of exchanges, queues, bindings and permissions; `declare` brings the broker to it.
//!
//! No other file names an exchange or queue of the engine. `rabbitmq/definitions.json` is the same
//! table in the broker's own format ([`definitions()`]); a test compares the two.

mod declare;
mod definitions;

use lapin::{
    ExchangeKind,
    types::{AMQPValue, FieldTable},
};
use pagurus_domain::id::Role;

use crate::{error::Error, message::short};
pub(crate) use declare::{TopologyFindings, bind, declare_actor, depth, prepare, restore};
pub use definitions::{definitions, password_hash};

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
    /// Queue of orders and commands that wait for intake, and the internal exchange (fanout) that leads there.
    pub orders_in: String,
    /// Exchange (topic) that takes callbacks from called systems.
    pub callbacks: String,
    /// Queue of callbacks that wait for intake, and the internal exchange (fanout) that leads there.
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
    pub(crate) fn private_queue(&self, service: Role, hint: &str, number: u32) -> String {
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
    pub(crate) owner: Role,
    /// Takes only what another exchange could not route.
    pub(crate) internal: bool,
    /// Exchange that gets what this one cannot route: the way to the queue while a binding of this one is missing.
    pub(crate) alternate: Option<String>,
}

impl Exchange {
    /// Arguments are frozen at the first declaration: an exchange that is there is used as it is.
    pub(crate) fn arguments(&self) -> Vec<Argument> {
        let alternate = self.alternate.iter();
        alternate.map(|name| Argument::Text("alternate-exchange", name.clone())).collect()
    }
}

/// A quorum queue. News and hand-outs have none: a durable queue of another kind dies with the one node
/// that it is on, and nobody can declare it again before that node is back. Their queues are private, and made
/// wherever their consumer connects.
pub(crate) struct Queue {
    pub(crate) name: String,
    /// Exchange for messages that exceed the delivery limit.
    pub(crate) dead_letter: Option<String>,
    pub(crate) owner: Role,
}

/// Way from an exchange into a durable queue.
pub(crate) struct Binding {
    pub(crate) exchange: String,
    pub(crate) key: String,
    pub(crate) queue: String,
    pub(crate) owner: Role,
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
}

fn table(arguments: Vec<Argument>) -> Result<FieldTable, Error> {
    let mut table = FieldTable::default();
    for argument in arguments {
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

pub(crate) struct Topology {
    /// In the order of their declaration: an alternate exchange leads to its queue before anybody can use it.
    pub(crate) exchanges: Vec<Exchange>,
    pub(crate) queues: Vec<Queue>,
    pub(crate) bindings: Vec<Binding>,
    /// Queues that earlier versions declared, with the owner, who deletes each.
    pub(crate) former_queues: Vec<(String, Role)>,
}

pub(crate) fn topology(names: &Names) -> Topology {
    use Role::{Dispatcher, Intake, Notifier, Worker};
    let exchange = |name: &str, routing, owner| Exchange {
        name: name.to_owned(),
        routing,
        owner,
        internal: false,
        alternate: None,
    };
    let otherwise = |name: &str| Exchange { internal: true, ..exchange(name, Routing::Fanout, Intake) };
    let inward = |name: &str, queue: &str| Exchange {
        alternate: Some(queue.to_owned()),
        ..exchange(name, Routing::Topic, Intake)
    };
    let queue = |name: &str, dead_letter: Option<&str>| Queue {
        name: name.to_owned(),
        dead_letter: dead_letter.map(str::to_owned),
        owner: Intake,
    };
    let binding = |exchange: &str, key: &str, queue: &str| Binding {
        exchange: exchange.to_owned(),
        key: key.to_owned(),
        queue: queue.to_owned(),
        owner: Intake,
    };
    let refused = Some(names.refused.as_str());
    Topology {
        exchanges: vec![
            exchange(&names.refused, Routing::Fanout, Intake),
            otherwise(&names.orders_in),
            otherwise(&names.callbacks_in),
            inward(&names.orders, &names.orders_in),
            inward(&names.callbacks, &names.callbacks_in),
            exchange(&names.notifications, Routing::Topic, Notifier),
            exchange(&names.actors, Routing::Topic, Worker),
            exchange(&names.news, Routing::Topic, Dispatcher),
            exchange(&names.work, Routing::Direct, Dispatcher),
        ],
        queues: vec![
            queue(&names.refused_queue, None),
            queue(&names.orders_in, refused),
            queue(&names.callbacks_in, refused),
        ],
        bindings: vec![
            binding(&names.refused, "", &names.refused_queue),
            binding(&names.orders_in, "", &names.orders_in),
            binding(&names.callbacks_in, "", &names.callbacks_in),
            binding(&names.orders, "#", &names.orders_in),
            binding(&names.callbacks, "#", &names.callbacks_in),
        ],
        former_queues: vec![(format!("{}.outbox", names.prefix), Notifier)],
    }
}

/// The queue in which tasks of an actor wait, and its binding.
pub(crate) fn of_actor(names: &Names, actor: &str) -> (Queue, Binding) {
    let (name, owner) = (names.actor_queue(actor), Role::Worker);
    let binding =
        Binding { exchange: names.actors.clone(), key: actor.to_owned(), queue: name.clone(), owner };
    (Queue { name, dead_letter: None, owner }, binding)
}
