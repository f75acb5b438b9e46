//! The sending half of the load: as fast as there is room, or at a steady pace whatever the engine does meanwhile.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use anyhow::{Result, bail};
use futures_util::StreamExt;
use futures_util::future::join_all;
use futures_util::stream::FuturesUnordered;
use lapin::options::BasicPublishOptions;
use lapin::{BasicProperties, Channel, Confirmation};
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};

use super::{Orders, Route, Shared, body};

/// Orders published together; more at once gain nothing and make the stream uneven.
const BATCH: u32 = 200;
/// Seed of the times of a paced load: each run has the same.
const SEED: u64 = 1;

/// The sender of one load.
pub(super) struct Publisher {
    pub shared: Arc<Shared>,
    pub channel: Channel,
    pub route: Route,
    pub orders: Orders,
}

impl Publisher {
    /// Publishes until the load is to stop, and waits for the last confirms.
    ///
    /// # Errors
    /// The broker did not take an order.
    pub async fn run(self, pace: Option<f64>) -> Result<()> {
        match pace {
            Some(pace) => self.at_a_pace(pace).await,
            None => self.as_there_is_room().await,
        }
    }

    async fn as_there_is_room(&self) -> Result<()> {
        let mut number = 0;
        loop {
            let room = tokio::select! {
                biased;
                () = self.shared.stop.cancelled() => return Ok(()),
                room = self.shared.room.acquire() => room?,
            };
            room.forget();
            let mut count = 1;
            while count < BATCH && self.shared.room.try_acquire().map(|permit| permit.forget()).is_ok() {
                count += 1;
            }
            let numbers = number..number + u64::from(count);
            if self.orders.grouped {
                let bodies: Vec<String> = numbers.map(|number| self.body(number, self.now())).collect();
                self.publish(&format!("[{}]", bodies.join(","))).await?;
            } else {
                for sent in join_all(numbers.map(|number| self.send(number, self.now()))).await {
                    sent?;
                }
            }
            number += u64::from(count);
            self.shared.sent.store(number, Ordering::Relaxed);
        }
    }

    /// Sends orders at times that chance draws (a Poisson process). An order waits for no confirm of another, and its
    /// time counts from when it was due: a sender that is late does not hide it.
    async fn at_a_pace(&self, pace: f64) -> Result<()> {
        let mut random = StdRng::seed_from_u64(SEED);
        let (mut number, mut due) = (0, self.now());
        let mut unconfirmed = FuturesUnordered::new();
        loop {
            // A sleep is a millisecond at least: what is due together goes together.
            while due <= self.now()
                && let Ok(room) = self.shared.room.try_acquire()
            {
                room.forget();
                unconfirmed.push(self.send(number, due));
                number += 1;
                due += Duration::from_secs_f64(-(1.0 - random.random::<f64>()).ln() / pace);
            }
            self.shared.sent.store(number, Ordering::Relaxed);
            tokio::select! {
                biased;
                () = self.shared.stop.cancelled() => break,
                Some(sent) = unconfirmed.next() => sent?,
                turn = self.next_turn(due) => turn?,
            }
        }
        while let Some(sent) = unconfirmed.next().await {
            sent?;
        }
        Ok(())
    }

    /// Waits until the next order is due, and there is room for it.
    async fn next_turn(&self, due: Duration) -> Result<()> {
        tokio::time::sleep(due.saturating_sub(self.now())).await;
        drop(self.shared.room.acquire().await?);
        Ok(())
    }

    /// Time since the start of the load.
    fn now(&self) -> Duration {
        self.shared.epoch.elapsed()
    }

    async fn send(&self, number: u64, at: Duration) -> Result<()> {
        self.publish(&self.body(number, at)).await
    }

    /// The body of an order that is sent at this time.
    fn body(&self, number: u64, at: Duration) -> String {
        let correlation = format!("{number}-{}", at.as_micros());
        body(&self.shared.tag, number, self.orders, Some((self.route.notify, &correlation)))
    }

    async fn publish(&self, body: &str) -> Result<()> {
        let Route { exchange, key, .. } = self.route;
        publish_confirmed(&self.channel, exchange, key, body.as_bytes(), BasicProperties::default()).await
    }
}

/// Publishes one persistent message and waits until the broker has it.
///
/// # Errors
/// The broker refused or returned it.
pub async fn publish_confirmed(
    channel: &Channel,
    exchange: &str,
    key: &str,
    body: &[u8],
    properties: BasicProperties,
) -> Result<()> {
    let options = BasicPublishOptions { mandatory: true, ..BasicPublishOptions::default() };
    let properties = properties.with_delivery_mode(2).with_content_type("application/json".into());
    let confirm = channel.basic_publish(exchange.into(), key.into(), options, body, properties).await?;
    match confirm.await? {
        Confirmation::Ack(None) => Ok(()),
        other => bail!("the broker did not take a message: {other:?}"),
    }
}
