//! An exclusive queue and its bindings: what is wanted, and what the broker has of it.
//!
//! Binds before it unbinds, so that no message falls between a former and a new binding of the same consumer. Binds again after
//! each look at the topology: an exchange that was deleted comes back without bindings, and a lost one cannot be seen.

use std::{collections::BTreeSet, future::pending, time::Duration};

use lapin::{
    Channel,
    options::QueueDeclareOptions,
    types::{AMQPValue, FieldTable, ShortString},
};
use tokio::{sync::watch, time::timeout};

use super::{QueueSource, Source};
use crate::{connection::Generation, error::Error, keeper::Looked, message::short, topology::bind};

/// Limit for binding again; the broker answers each in milliseconds.
const LIMIT: Duration = Duration::from_secs(10);

/// Declares an exclusive queue under a new name: the broker may not have noticed the end of the last one yet.
pub(super) async fn declare_exclusive(channel: &Channel, source: &Source) -> Result<ShortString, Error> {
    let QueueSource::Exclusive { name_hint, max_length, .. } = &source.queue else {
        return Err(Error::InvalidSetting("not an exclusive queue".to_owned()));
    };
    let name = source.names.private_queue(source.service, name_hint, rand::random());
    let options = QueueDeclareOptions::exclusive().auto_delete();
    let mut arguments = FieldTable::default();
    let length = AMQPValue::LongLongInt(i64::from(*max_length));
    arguments.insert(short("argument", "x-max-length")?, length);
    channel.queue_declare(short("queue", &name)?, options, arguments).await?;
    short("queue", &name)
}

/// The bindings of one life of an exclusive queue.
pub(super) struct Bindings {
    wanted: watch::Receiver<Vec<(String, String)>>,
    bound: BTreeSet<(String, String)>,
    looks: watch::Receiver<Looked>,
}

impl Bindings {
    /// Bindings of a queue that has none yet.
    pub(super) fn wanted(
        wanted: watch::Receiver<Vec<(String, String)>>,
        looks: watch::Receiver<Looked>,
    ) -> Self {
        Self { wanted, bound: BTreeSet::new(), looks }
    }

    /// Makes the bindings of the queue those that are wanted now.
    pub(super) async fn apply(&mut self, channel: &Channel, queue: &ShortString) -> Result<(), Error> {
        let wanted: BTreeSet<_> = self.wanted.borrow_and_update().iter().cloned().collect();
        for (exchange, key) in wanted.difference(&self.bound) {
            bind(channel, queue.as_str(), exchange, key).await?;
        }
        for (exchange, key) in self.bound.difference(&wanted) {
            let (exchange, key) = (short("exchange", exchange)?, short("binding key", key)?);
            channel.queue_unbind(queue.clone(), exchange, key, FieldTable::default()).await?;
        }
        self.bound = wanted;
        Ok(())
    }

    /// Does so with every change, and binds again after each look; ends only by an error.
    pub(super) async fn follow(
        mut self,
        connection: &Generation,
        channel: &Channel,
        queue: &ShortString,
    ) -> Error {
        loop {
            tokio::select! {
                changed = self.wanted.changed() => match changed {
                    Ok(()) => if let Err(error) = self.apply(channel, queue).await {
                        return error;
                    },
                    // The consumer is gone, which its session notices by itself.
                    Err(_) => pending().await,
                },
                looked = self.looks.changed() => match looked {
                    Ok(()) => self.repeat(connection, queue).await,
                    Err(_) => pending().await,
                },
            }
        }
    }

    /// Binds again, on a channel of its own: the broker ends it where an exchange is missing, which the next look restores.
    async fn repeat(&self, connection: &Generation, queue: &ShortString) {
        let bound = async {
            let channel = connection.connection.create_channel().await?;
            for (exchange, key) in &self.bound {
                bind(&channel, queue.as_str(), exchange, key).await?;
            }
            channel.close(200, short("text", "OK")?).await?;
            Ok::<_, Error>(())
        };
        match timeout(LIMIT, bound).await {
            Ok(Ok(())) => {}
            Ok(Err(error)) => tracing::debug!(%queue, %error, "a private queue was not bound again"),
            Err(_) => tracing::debug!(%queue, "a private queue was not bound again in time"),
        }
    }
}
