//! The broker brought to the table: looks what is there, declares what is missing, and binds it.
//!
//! Repeats without harm. Never runs on a channel that carries work: the broker ends a channel with each "no", and a service may
//! have no right to what others own.

use lapin::{
    Channel, Connection,
    options::{ExchangeDeclareOptions, QueueBindOptions, QueueDeclareOptions, QueueDeleteOptions},
    types::FieldTable,
};
use pagurus_domain::id::Role;

use super::{Binding, Exchange, Names, Queue, of_actor, table, topology};
use crate::{
    error::{Error, is_different, is_forbidden},
    message::short,
};

/// Durable parts that were not there.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct TopologyFindings {
    /// Declared again.
    pub(crate) restored: Vec<String>,
    /// Still missing, each with the reason.
    pub(crate) missing: Vec<String>,
}

/// Makes sure that everything durable is there, with its bindings. What others own is declared where the rights suffice.
/// A lost binding cannot be seen over AMQP: its owner binds again each time. `actors` are those whose queues are looked at.
///
/// # Errors
/// The connection failed. What the broker refuses is in the answer.
pub(crate) async fn restore(
    connection: &Connection,
    names: &Names,
    service: Role,
    actors: &[String],
) -> Result<TopologyFindings, Error> {
    look(connection, names, service, actors, false).await
}

/// The same for a connection that was just made: tells of own queues that have other arguments, and deletes those of an
/// earlier version.
///
/// # Errors
/// The connection failed.
pub(crate) async fn prepare(connection: &Connection, names: &Names, service: Role) -> Result<(), Error> {
    let found = look(connection, names, service, &[], true).await?;
    for missing in found.missing {
        tracing::warn!(missing, "the message broker lacks a part of the topology");
    }
    delete_former(connection, names, service).await
}

async fn look(
    connection: &Connection,
    names: &Names,
    service: Role,
    actors: &[String],
    compare: bool,
) -> Result<TopologyFindings, Error> {
    let (table, mut pass) = (topology(names), TopologyPass::new(connection, service, compare));
    let of_actors = actors.iter().map(|actor| of_actor(names, actor));
    let (queues, bindings): (Vec<Queue>, Vec<Binding>) = of_actors.unzip();
    // Before the exchanges: each of these gets its bindings as soon as it is there.
    for queue in table.queues.iter().chain(&queues) {
        pass.queue(queue).await?;
    }
    for exchange in &table.exchanges {
        pass.exchange(exchange).await?;
        let bindings = table.bindings.iter().chain(&bindings);
        for binding in bindings.filter(|binding| binding.exchange == exchange.name) {
            pass.binding(binding).await?;
        }
    }
    Ok(pass.end().await)
}

/// A look at everything.
struct TopologyPass<'a> {
    connection: &'a Connection,
    service: Role,
    /// Declare own queues although they are there: only so the broker tells of a difference.
    compare: bool,
    channel: Option<Channel>,
    /// Names of exchanges and of queues that were declared, whose bindings are missing for sure.
    declared: (Vec<String>, Vec<String>),
    found: TopologyFindings,
}

impl<'a> TopologyPass<'a> {
    fn new(connection: &'a Connection, service: Role, compare: bool) -> Self {
        let (declared, found) = Default::default();
        Self { connection, service, compare, channel: None, declared, found }
    }

    /// The channel of this pass; another one where a "no" has ended it.
    async fn channel(&mut self) -> Result<Channel, Error> {
        if let Some(channel) = self.channel.as_ref().filter(|channel| channel.status().connected()) {
            return Ok(channel.clone());
        }
        let channel = self.connection.create_channel().await?;
        Ok(self.channel.insert(channel).clone())
    }

    async fn queue(&mut self, queue: &Queue) -> Result<(), Error> {
        let compare = self.compare && queue.owner == self.service;
        if !compare && queue_exists(&self.channel().await?, &queue.name).await? {
            return Ok(());
        }
        let answer = declare_queue(&self.channel().await?, queue).await?;
        if compare && answer.as_ref().is_err_and(is_forbidden) {
            // It may be there for all that: with imported definitions nobody has to declare it.
            return self.existing_queue(queue).await;
        }
        if self.took(&format!("queue {}", queue.name), queue.owner, answer)? {
            self.declared.1.push(queue.name.clone());
        }
        Ok(())
    }

    async fn existing_queue(&mut self, queue: &Queue) -> Result<(), Error> {
        if !queue_exists(&self.channel().await?, &queue.name).await? {
            self.found.missing.push(format!("queue {}: its declaration is not permitted", queue.name));
        }
        Ok(())
    }

    async fn exchange(&mut self, exchange: &Exchange) -> Result<(), Error> {
        if exchange_exists(&self.channel().await?, exchange).await? {
            return Ok(());
        }
        let answer = declare_exchange(&self.channel().await?, exchange).await?;
        if self.took(&format!("exchange {}", exchange.name), exchange.owner, answer)? {
            self.declared.0.push(exchange.name.clone());
        }
        Ok(())
    }

    /// Binds what this service owns or has declared. Others lack the right, or need not repeat it.
    async fn binding(&mut self, binding: &Binding) -> Result<(), Error> {
        let Binding { exchange, key, queue, owner } = binding;
        let (exchanges, queues) = &self.declared;
        if *owner != self.service && !exchanges.contains(exchange) && !queues.contains(queue) {
            return Ok(());
        }
        match bind(&self.channel().await?, queue, exchange, key).await {
            Ok(()) => Ok(()),
            Err(error) => self.refused(&format!("binding of queue {queue} to exchange {exchange}"), &error),
        }
    }

    /// True if it was declared. One that somebody else declares at the same moment is there as well.
    fn took(&mut self, what: &str, owner: Role, answer: lapin::Result<()>) -> Result<bool, Error> {
        match answer {
            Ok(()) => {
                self.found.restored.push(what.to_owned());
                Ok(true)
            }
            Err(error) if is_different(&error) => {
                tolerate(what, &error);
                Ok(false)
            }
            Err(error) if error.is_amqp_soft_error() => {
                self.refused(&format!("{what}, which the {owner} declares"), &error.into())?;
                Ok(false)
            }
            Err(error) => Err(error.into()),
        }
    }

    /// Notes what the broker refused; an error where it was not the broker that said no.
    fn refused(&mut self, what: &str, error: &Error) -> Result<(), Error> {
        match error {
            Error::MissingExchange(_) | Error::NotPermitted(_) | Error::ChannelEnded(_) => {
                self.found.missing.push(format!("{what}: {error}"));
                Ok(())
            }
            other => Err(other.clone()),
        }
    }

    async fn end(mut self) -> TopologyFindings {
        if let Some(channel) = self.channel.take()
            && let Ok(text) = short("text", "OK")
            && let Err(error) = channel.close(200, text).await
        {
            tracing::debug!(%error, "the channel of a look at the topology did not close in order");
        }
        self.found
    }
}

/// An existing queue or exchange keeps its arguments for life. One that was made by an older
/// version, or by hand, still works; refusing to start would help nobody.
fn tolerate(what: &str, error: &lapin::Error) {
    tracing::warn!(what, %error, "declared differently at the message broker; used as it is");
}

/// Deletes the queues of an earlier version that nobody consumes. Such a queue held hints, so that nothing in it is missed. One
/// that is in use, or on a node of the broker that is away, stays for the next connection.
async fn delete_former(connection: &Connection, names: &Names, service: Role) -> Result<(), Error> {
    let former = topology(names).former_queues;
    for (name, _) in former.iter().filter(|(_, owner)| *owner == service) {
        let channel = connection.create_channel().await?;
        let unused = QueueDeleteOptions { if_unused: true, ..QueueDeleteOptions::default() };
        match channel.queue_delete(short("queue", name)?, unused).await {
            Ok(_) => {}
            Err(error) if error.is_amqp_soft_error() => {
                tracing::debug!(name, %error, "a queue of an earlier version stays");
            }
            Err(error) => return Err(error.into()),
        }
    }
    Ok(())
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

/// Makes sure that the tasks of an actor have a queue to wait in, also before its first program runs.
pub(crate) async fn declare_actor(connection: &Connection, names: &Names, actor: &str) -> Result<(), Error> {
    let (queue, binding) = of_actor(names, actor);
    match declare_queue(&connection.create_channel().await?, &queue).await? {
        Err(error) if is_different(&error) => tolerate(&queue.name, &error),
        answer => answer?,
    }
    bind(&connection.create_channel().await?, &queue.name, &binding.exchange, &binding.key).await
}

async fn exchange_exists(channel: &Channel, exchange: &Exchange) -> Result<bool, Error> {
    let passive = ExchangeDeclareOptions { passive: true, ..ExchangeDeclareOptions::default() };
    let name = short("exchange", &exchange.name)?;
    exists(channel.exchange_declare(name, exchange.routing.kind(), passive, FieldTable::default()).await)
}

async fn queue_exists(channel: &Channel, name: &str) -> Result<bool, Error> {
    let passive = QueueDeclareOptions::default().passive();
    exists(channel.queue_declare(short("queue", name)?, passive, FieldTable::default()).await.map(drop))
}

fn exists(answer: lapin::Result<()>) -> Result<bool, Error> {
    match answer {
        Ok(()) => Ok(true),
        Err(error) if error.is_amqp_soft_error() => Ok(false),
        Err(error) => Err(error.into()),
    }
}

/// The broker's answer; an error of its own where the name cannot be sent.
async fn declare_exchange(channel: &Channel, exchange: &Exchange) -> Result<lapin::Result<()>, Error> {
    let options = ExchangeDeclareOptions {
        durable: true,
        internal: exchange.internal,
        ..ExchangeDeclareOptions::default()
    };
    let (name, arguments) = (short("exchange", &exchange.name)?, table(exchange.arguments())?);
    Ok(channel.exchange_declare(name, exchange.routing.kind(), options, arguments).await)
}

/// The same of a queue.
async fn declare_queue(channel: &Channel, queue: &Queue) -> Result<lapin::Result<()>, Error> {
    let (name, arguments) = (short("queue", &queue.name)?, table(queue.arguments())?);
    Ok(channel.queue_declare(name, QueueDeclareOptions::durable(), arguments).await.map(drop))
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
