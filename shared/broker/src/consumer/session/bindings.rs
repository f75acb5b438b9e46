//! The bindings of an exclusive queue: what is wanted, and what the broker has of it.
//!
//! Binds before it unbinds, so that no message falls between a former and a new binding of the same consumer.

use std::{collections::BTreeSet, future::pending};

use lapin::{
    Channel,
    types::{FieldTable, ShortString},
};
use tokio::sync::watch;

use crate::{error::Error, message::short, topology::bind};

/// The bindings of one life of an exclusive queue.
pub(super) struct Bindings {
    wanted: watch::Receiver<Vec<(String, String)>>,
    bound: BTreeSet<(String, String)>,
}

impl Bindings {
    /// Those of a queue that has none yet.
    pub(super) fn wanted(wanted: watch::Receiver<Vec<(String, String)>>) -> Self {
        Self { wanted, bound: BTreeSet::new() }
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

    /// Does so with every change; ends only by an error.
    pub(super) async fn follow(mut self, channel: &Channel, queue: &ShortString) -> Error {
        while self.wanted.changed().await.is_ok() {
            if let Err(error) = self.apply(channel, queue).await {
                return error;
            }
        }
        // The consumer is gone, which its session notices by itself.
        pending().await
    }
}
