//! Durable acceptance alone: orders over AMQP, and over HTTP in batches or one a request, with no worker to run them.
//! Never counts an order before it is committed.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Result, bail};
use futures_util::future::{join_all, try_join_all};
use lapin::options::ConfirmSelectOptions;
use lapin::{BasicProperties, Connection, ConnectionProperties};
use pagurus_harness::nodes::Role;

use super::http::Caller;
use super::load::{Latencies, body, publish_confirmed};
use super::works::{ENGINE, ONE_ACTION, Row, Works};

/// Orders that are published and not yet committed, at most.
const OPEN: u64 = 5000;
const PUBLISHED_TOGETHER: u64 = 500;
/// HTTP requests of a load.
struct Requests {
    at_a_time: usize,
    /// Orders of one request.
    orders: u64,
    path: &'static str,
    content_type: &'static str,
    /// Status of the answer, and the text that stands in it once for each order that was accepted.
    status: u16,
    accepted: &'static str,
}

const BATCHES: Requests = Requests {
    at_a_time: 4,
    orders: 500,
    path: "/v1/orders/batch",
    content_type: "application/x-ndjson",
    status: 200,
    accepted: "\"accepted\"",
};
const SINGLE: Requests = Requests {
    at_a_time: 64,
    orders: 1,
    path: "/v1/orders",
    content_type: "application/json",
    status: 201,
    accepted: "\"id\"",
};
/// Factor by which intake needs more orders than the rest for a window of the same length, since it is faster.
const MORE: u64 = 4;
/// Interval at which the database is asked how many there are.
const LOOK: Duration = Duration::from_millis(5);
/// Reads the last order number given out: cheap, and right where no registration is refused.
const REGISTERED: &str = "SELECT last_value FROM orders_no_seq";

impl Works<'_> {
    /// Acceptance over AMQP.
    pub async fn intake_amqp(&mut self) -> Result<Row> {
        self.accepting().await?;
        let connection =
            Connection::connect(&self.installation.amqp_url(), ConnectionProperties::default()).await?;
        let channel = connection.create_channel().await?;
        channel.confirm_select(ConfirmSelectOptions::default()).await?;
        let database = self.installation.database().await?;
        let meter = self.installation.meter()?;
        let (warm_up, tag) = (self.extent.orders / 4, tag());
        let last = warm_up + self.extent.orders;
        let (mut published, mut registered) = (0, 0);
        let mut begin = None;
        while registered < last {
            if published < last && published - registered < OPEN {
                let batch: Vec<String> = (published..last.min(published + PUBLISHED_TOGETHER))
                    .map(|number| body(&tag, number, ONE_ACTION, None))
                    .collect();
                published += batch.len() as u64;
                let none = BasicProperties::default();
                let sent = batch.iter().map(|body| {
                    publish_confirmed(&channel, ENGINE.exchange, ENGINE.key, body.as_bytes(), none.clone())
                });
                join_all(sent).await.into_iter().collect::<Result<Vec<()>>>()?;
            } else {
                tokio::time::sleep(LOOK).await;
            }
            registered = u64::try_from(database.query_one(REGISTERED, &[]).await?.get::<_, i64>(0))?;
            if begin.is_none() && registered >= warm_up {
                begin = Some((Instant::now(), meter.read()?, registered));
            }
        }
        let Some((begun, before, first)) = begin else { bail!("nothing was registered") };
        let orders = registered - first;
        Ok(Row {
            work: "intake, AMQP",
            orders,
            rate: Some(orders as f64 / begun.elapsed().as_secs_f64()),
            cpu: before.until(&meter.read()?),
            latencies: Latencies::default(),
            memory: None,
            notes: Vec::new(),
        })
    }

    /// Acceptance in batches over HTTP.
    pub async fn intake_http(&mut self) -> Result<Row> {
        self.accepting().await?;
        let caller = Caller::new(&self.installation.intake(), BATCHES.at_a_time);
        self.accepted("intake, HTTP", caller, &BATCHES, MORE * self.extent.orders).await
    }

    /// Acceptance of one order a request, by an API that asks nobody who calls.
    pub async fn single(&mut self) -> Result<Row> {
        self.accepting().await?;
        // A process that was started a moment ago, as that with a token.
        self.installation.stop_role(Role::Intake).await?;
        self.installation.start_role(Role::Intake).await?;
        let caller = Caller::new(&self.installation.intake(), SINGLE.at_a_time);
        self.accepted("one a request", caller, &SINGLE, self.extent.orders).await
    }

    /// The same by an API that asks for a token.
    pub async fn single_with_token(&mut self) -> Result<Row> {
        self.accepting().await?;
        let [token] = self.installation.guard(0, ["bench"]).await?;
        let caller = Caller::new(&self.installation.intake(), SINGLE.at_a_time).with_token(&token);
        self.accepted("with a token", caller, &SINGLE, self.extent.orders).await
    }

    /// Services that accept orders and run none.
    pub async fn accepting(&mut self) -> Result<()> {
        self.installation.renew().await?;
        self.installation.stop_role(Role::Worker).await
    }

    async fn accepted(
        &mut self,
        work: &'static str,
        caller: Caller,
        requests: &'static Requests,
        orders: u64,
    ) -> Result<Row> {
        let meter = self.installation.meter()?;
        let (caller, next) = (Arc::new(caller), Arc::new(AtomicU64::new(0)));
        submit(&caller, &next, requests, self.extent.orders / 4).await?;
        let (begun, before, first) = (Instant::now(), meter.read()?, next.load(Ordering::Relaxed));
        submit(&caller, &next, requests, first + orders).await?;
        let orders = next.load(Ordering::Relaxed) - first;
        Ok(Row {
            work,
            orders,
            rate: Some(orders as f64 / begun.elapsed().as_secs_f64()),
            cpu: before.until(&meter.read()?),
            latencies: Latencies::default(),
            memory: None,
            notes: Vec::new(),
        })
    }
}

/// Sends requests until order number `until`.
async fn submit(
    caller: &Arc<Caller>,
    next: &Arc<AtomicU64>,
    requests: &'static Requests,
    until: u64,
) -> Result<()> {
    let tag = tag();
    let senders = (0..requests.at_a_time).map(|_| {
        let (caller, next, tag) = (Arc::clone(caller), Arc::clone(next), tag.clone());
        async move {
            loop {
                let first = next.fetch_add(requests.orders, Ordering::Relaxed);
                if first >= until {
                    next.fetch_sub(requests.orders, Ordering::Relaxed);
                    return anyhow::Ok(());
                }
                let lines: Vec<String> = (first..first + requests.orders)
                    .map(|number| body(&tag, number, ONE_ACTION, None))
                    .collect();
                let answer =
                    caller.post(requests.path, requests.content_type, lines.join("\n").as_bytes()).await?;
                let text = String::from_utf8_lossy(&answer.body);
                if answer.status() != Some(requests.status)
                    || text.matches(requests.accepted).count() as u64 != requests.orders
                {
                    let start: String = text.chars().take(300).collect();
                    bail!("not all of {} orders were accepted: {} {start}", requests.orders, answer.head);
                }
            }
        }
    });
    try_join_all(senders).await?;
    Ok(())
}

/// The start of the ids of a load.
pub fn tag() -> String {
    uuid::Uuid::new_v4().simple().to_string()[..8].to_owned()
}
