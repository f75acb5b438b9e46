//! Durable acceptance alone: orders over AMQP and in batches over HTTP, with no worker to run them.
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
/// Orders of one HTTP request, and requests at a time.
const BATCH: u64 = 500;
const REQUESTS: u64 = 4;
/// Factor by which intake needs more orders than the rest for a window of the same length, since it is faster.
const MORE: u64 = 4;
/// Interval at which the database is asked how many there are.
const LOOK: Duration = Duration::from_millis(5);
/// Reads the last order number given out: cheap, and right where no registration is refused.
const REGISTERED: &str = "SELECT last_value FROM orders_no_seq";

impl Works<'_> {
    /// Acceptance over AMQP.
    pub async fn intake_amqp(&mut self) -> Result<Row> {
        self.installation.renew().await?;
        self.installation.stop_role(Role::Worker).await?;
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
        self.installation.renew().await?;
        self.installation.stop_role(Role::Worker).await?;
        let meter = self.installation.meter()?;
        let caller = Arc::new(Caller::new(&self.installation.intake(), usize::try_from(REQUESTS)?));
        let next = Arc::new(AtomicU64::new(0));
        submit(&caller, &next, self.extent.orders / 4).await?;
        let (begun, before, first) = (Instant::now(), meter.read()?, next.load(Ordering::Relaxed));
        submit(&caller, &next, first + MORE * self.extent.orders).await?;
        let orders = next.load(Ordering::Relaxed) - first;
        Ok(Row {
            work: "intake, HTTP",
            orders,
            rate: Some(orders as f64 / begun.elapsed().as_secs_f64()),
            cpu: before.until(&meter.read()?),
            latencies: Latencies::default(),
            memory: None,
            notes: Vec::new(),
        })
    }
}

/// Sends several requests at a time, until order number `until`.
async fn submit(caller: &Arc<Caller>, next: &Arc<AtomicU64>, until: u64) -> Result<()> {
    let tag = tag();
    let lanes = (0..REQUESTS).map(|_| {
        let (caller, next, tag) = (Arc::clone(caller), Arc::clone(next), tag.clone());
        async move {
            loop {
                let first = next.fetch_add(BATCH, Ordering::Relaxed);
                if first >= until {
                    next.fetch_sub(BATCH, Ordering::Relaxed);
                    return anyhow::Ok(());
                }
                let lines: Vec<String> =
                    (first..first + BATCH).map(|number| body(&tag, number, ONE_ACTION, None)).collect();
                let lines = lines.join("\n");
                let answer =
                    caller.post("/v1/orders/batch", "application/x-ndjson", lines.as_bytes()).await?;
                let text = String::from_utf8_lossy(&answer.body);
                let accepted = text.matches("\"accepted\"").count() as u64;
                if answer.status() != Some(200) || accepted != BATCH {
                    let start: String = text.chars().take(300).collect();
                    bail!("only {accepted} of {BATCH} orders were accepted: {start}");
                }
            }
        }
    });
    try_join_all(lanes).await?;
    Ok(())
}

fn tag() -> String {
    uuid::Uuid::new_v4().simple().to_string()[..8].to_owned()
}
