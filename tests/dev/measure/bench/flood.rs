//! Acceptance at a steady pace: alone, beside a client at its limit, and beside the flood of that client.
//! The steady client never waits with an order for the answer to the one before it; the flood does while all its connections wait.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Result, bail, ensure};
use tokio::task::JoinSet;
use tokio::time::sleep_until;

use super::cpu::Usage;
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
/// Length of a turn, and of what the other client sends before it.
const TURN: Duration = Duration::from_secs(5);
const SETTLE: Duration = Duration::from_secs(1);

const ACCEPTED: u16 = 201;
const REFUSED: u16 = 429;

/// Situations of the steady client, each with the requests a second of the other one.
const SITUATIONS: [(&str, Option<u32>); 3] = [
    ("steady, alone", None),
    ("steady, beside one at its limit", Some(LIMIT)),
    ("steady, beside its flood", Some(FLOOD)),
];

/// Measurements in a situation, in all of its turns.
#[derive(Default)]
struct Measured {
    /// Microseconds to each answer, turn by turn.
    turns: Vec<Vec<u32>>,
    usage: Vec<Usage>,
    /// Requests of the other client that were accepted and refused.
    answered: [u64; 2],
}

impl Works<'_> {
    /// Times from sending to acceptance of the steady client: alone, beside a client at its limit, and beside its flood. The three take
    /// short turns, so that what else happens on the machine meets all of them alike.
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
        let mut measured: [Measured; 3] = std::array::from_fn(|_| Measured::default());
        for _ in 0..self.extent.longest.as_secs().div_ceil(TURN.as_secs()) {
            for ((_, rate), measured) in SITUATIONS.into_iter().zip(&mut measured) {
                self.turn([&steady, &other], rate, measured).await?;
            }
        }
        ensure!(steady.answered()[1] == 0, "the steady client was refused");
        Ok(SITUATIONS.into_iter().zip(measured).map(|((work, _), measured)| measured.row(work)).collect())
    }

    async fn turn(
        &self,
        [steady, other]: [&Arc<Client>; 2],
        rate: Option<u32>,
        measured: &mut Measured,
    ) -> Result<()> {
        let sending = rate.map(|rate| {
            let other = Arc::clone(other);
            tokio::spawn(async move { other.send(rate, Duration::MAX).await })
        });
        tokio::time::sleep(SETTLE).await;
        let meter = self.installation.meter()?;
        let (reading, before) = (meter.read()?, other.answered());
        measured.turns.push(steady.send(STEADY, TURN).await?);
        measured.usage.push(reading.until(&meter.read()?));
        for ((sum, before), after) in measured.answered.iter_mut().zip(before).zip(other.answered()) {
            *sum += after - before;
        }
        if let Some(sending) = sending {
            ensure!(!sending.is_finished(), "the other client has failed: {:?}", sending.await);
            // Requests that wait for a connection would go on into the next turn.
            sending.abort();
        }
        Ok(())
    }
}

impl Measured {
    fn row(self, work: &'static str) -> Row {
        let [accepted, refused] = self.answered;
        let typical = typical_p99(&self.turns).map_or_else(String::new, |p99| {
            format!("; p99 of a turn, median of {}: {p99:.1} ms", self.turns.len())
        });
        let latencies = Latencies::of(self.turns.concat());
        Row {
            work,
            orders: self.turns.iter().map(|turn| turn.len() as u64).sum(),
            rate: None,
            cpu: Usage::of_turns(&self.usage),
            latencies,
            memory: None,
            notes: vec![format!(
                "{accepted} requests of the other client were accepted, {refused} refused{typical}"
            )],
        }
    }
}

/// The median of the p99 of each turn, in milliseconds. A disk that hangs for a second delays a hundred requests at once: it decides the
/// p99 of all turns together, and of one turn only here.
fn typical_p99(turns: &[Vec<u32>]) -> Option<f64> {
    let mut of_turns: Vec<f64> =
        turns.iter().filter_map(|turn| Latencies::of(turn.clone()).percentile(0.99)).collect();
    of_turns.sort_by(f64::total_cmp);
    of_turns.get(of_turns.len() / 2).copied()
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
