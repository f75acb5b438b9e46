//! Acceptance at a steady pace: alone, beside a client at its limit, and beside the flood of that client.
//! The steady client never waits with an order for the answer to the one before it; the flood does while all its connections wait.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Result, bail, ensure};
use tokio::task::JoinSet;
use tokio::time::sleep_until;

use super::http::Caller;
use super::intake::tag;
use super::load::{Latencies, body};
use super::works::{ONE_ACTION, Row, Works};

/// Requests a second that a client may send.
const LIMIT: u32 = 200;
/// Requests a second of the steady client.
const STEADY: u32 = 100;
/// Requests a second that the flood has to send, if its connections let it.
const FLOOD: u32 = 2000;
/// Connections of a client.
const CONNECTIONS: usize = 64;
const WARM_UP: Duration = Duration::from_secs(5);

const ACCEPTED: u16 = 201;
const REFUSED: u16 = 429;

impl Works<'_> {
    /// Times from sending to acceptance of the steady client: alone, beside a client at its limit, and beside its flood.
    pub async fn flood(&mut self) -> Result<Vec<Row>> {
        self.accepting().await?;
        let tokens = self.installation.guard(LIMIT, ["steady", "flood"]).await?;
        let address = self.installation.intake();
        let client = |token: &String| Client {
            caller: Caller::new(&address, CONNECTIONS).with_token(token),
            tag: tag(),
            sent: AtomicU64::new(0),
            accepted: AtomicU64::new(0),
            refused: AtomicU64::new(0),
        };
        let [steady, other] = tokens.each_ref().map(|token| Arc::new(client(token)));
        steady.send(STEADY, WARM_UP).await?;
        let mut rows = vec![self.steady("steady, alone", &steady).await?];
        for (work, rate) in [("steady, beside one at its limit", LIMIT), ("steady, beside its flood", FLOOD)]
        {
            let sending = tokio::spawn({
                let other = Arc::clone(&other);
                async move { other.send(rate, Duration::MAX).await }
            });
            tokio::time::sleep(WARM_UP).await;
            let before = other.answered();
            let mut row = self.steady(work, &steady).await?;
            ensure!(!sending.is_finished(), "the other client has failed: {:?}", sending.await);
            sending.abort();
            let [accepted, refused] = other.answered();
            let (accepted, refused) = (accepted - before[0], refused - before[1]);
            row.notes
                .push(format!("{accepted} requests of the other client were accepted, {refused} refused"));
            rows.push(row);
        }
        Ok(rows)
    }

    async fn steady(&self, work: &'static str, client: &Arc<Client>) -> Result<Row> {
        let meter = self.installation.meter()?;
        let before = meter.read()?;
        let microseconds = client.send(STEADY, self.extent.longest).await?;
        ensure!(client.answered()[1] == 0, "the steady client was refused");
        Ok(Row {
            work,
            orders: microseconds.len() as u64,
            rate: None,
            cpu: before.until(&meter.read()?),
            latencies: Latencies::of(microseconds),
            memory: None,
            notes: Vec::new(),
        })
    }
}

/// A sender of orders.
struct Client {
    caller: Caller,
    tag: String,
    sent: AtomicU64,
    accepted: AtomicU64,
    refused: AtomicU64,
}

impl Client {
    /// Numbers of requests that were accepted and refused so far.
    fn answered(&self) -> [u64; 2] {
        [&self.accepted, &self.refused].map(|count| count.load(Ordering::Relaxed))
    }

    /// Sends this many requests a second on average for this time; returns the microseconds to each answer, from the moment at which its request
    /// was due.
    async fn send(self: &Arc<Self>, per_second: u32, time: Duration) -> Result<Vec<u32>> {
        let (mut requests, begun) = (JoinSet::new(), Instant::now());
        let (mut times, mut due) = (Vec::new(), begun);
        while begun.elapsed() < time {
            // Times of many independent users: none is in step with those of another client.
            let chance: f64 = rand::random();
            due += Duration::from_secs_f64(-(1.0 - chance).ln() / f64::from(per_second));
            sleep_until(due.into()).await;
            let client = Arc::clone(self);
            requests.spawn(async move { client.one(due).await });
            while let Some(done) = requests.try_join_next() {
                times.push(done??);
            }
        }
        while let Some(done) = requests.join_next().await {
            times.push(done??);
        }
        Ok(times)
    }

    /// Sends one order; returns the microseconds to its answer.
    async fn one(&self, due: Instant) -> Result<u32> {
        let order = body(&self.tag, self.sent.fetch_add(1, Ordering::Relaxed), ONE_ACTION, None);
        let answer = self.caller.post("/v1/orders", "application/json", order.as_bytes()).await?;
        let count = match answer.status() {
            Some(ACCEPTED) => &self.accepted,
            Some(REFUSED) => &self.refused,
            _ => bail!("an order was not answered: {}", answer.head),
        };
        count.fetch_add(1, Ordering::Relaxed);
        Ok(u32::try_from(due.elapsed().as_micros())?)
    }
}
