//! Works beside a mass of orders: a million sleepers of which many are due at once, and millions that have ended.
//! Never measures while the mass is being made.

use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use pagurus_harness::client::{Api, http};
use pagurus_harness::nodes::Role;
use serde_json::json;
use tokio_postgres::Client;

use super::copies;
use super::load::{Flow, Generator, Latencies, Orders};
use super::works::{ENGINE, Memory, ONE_ACTION, Row, Works};

/// Sleeping orders.
pub const SLEEPERS: u32 = 1_000_000;
/// Ready orders that a new dispatcher finds.
const READY: i64 = 1_000_000;
/// Ended orders in the tables.
const HISTORY: i64 = 5_000_000;
/// Number of other orders a second while the sleepers wake: well below what the machine can do, so that a wait shows.
const PACE: f64 = 200.0;
/// Number of other orders that run alone before, for comparison.
const ALONE: u64 = 1000;
/// Time after which the sleepers are due, and the time that is added for each of them.
const NOTICE: Duration = Duration::from_secs(8);
const NOTICE_EACH: Duration = Duration::from_micros(80);
const PATIENCE: Duration = Duration::from_secs(600);
/// Longest time for each of the sleepers that are due.
const PATIENCE_EACH: Duration = Duration::from_millis(2);

impl Works<'_> {
    /// Many sleepers, many of them due at once, and others that go on meanwhile.
    pub async fn sleepers(&mut self) -> Result<Row> {
        self.installation.renew().await?;
        let empty = self.installation.meter()?.memory();
        self.submit("sleeper", "bench-sleeper").await?;
        let database = self.installation.database().await?;
        let template = copies::template(&database, "sleeper", "sleep").await?;
        let first = copies::make(&database, template, i64::from(SLEEPERS)).await?;
        let meter = self.installation.meter()?;
        let flow = Flow { in_flight: self.extent.in_flight, pace: Some(PACE) };
        let generator = Generator::start(&self.installation.amqp_url(), ENGINE, ONE_ACTION, flow).await?;
        generator.wait_received(ALONE / 2, None).await?;
        let alone = self.measure(&generator, &meter, ALONE).await?.latencies;
        let due = self.extent.due.min(SLEEPERS);
        let last = first + i64::from(due) - 1;
        wake(&database, first, last).await?;
        generator.take_latencies();
        let (before, begun) = (meter.read()?, Instant::now());
        wait_for_success(&database, first, last).await?;
        let seconds = begun.elapsed().as_secs_f64();
        let (cpu, latencies) = (before.until(&meter.read()?), generator.take_latencies());
        let after = meter.memory();
        generator.finish().await?;
        let p99 = |latencies: &Latencies| latencies.percentile(0.99).unwrap_or_default();
        let notes = vec![format!(
            "{due} of {SLEEPERS} sleepers due within one second had run after {seconds:.1} s; the latencies are those of \
             {PACE} other orders a second meanwhile (p99 before: {:.0} ms); memory is before the mass and after the wave",
            p99(&alone)
        )];
        Ok(Row {
            work: if due == SLEEPERS { "sleepers, all due" } else { "sleepers" },
            orders: u64::from(due),
            rate: Some(f64::from(due) / seconds),
            cpu,
            latencies,
            memory: Some((empty, after)),
            notes,
        })
    }

    /// Measures one-action with many ended orders in the tables.
    pub async fn with_history(&mut self) -> Result<Row> {
        self.installation.renew().await?;
        self.submit("ended", "bench-one-action").await?;
        let database = self.installation.database().await?;
        let template = copies::template(&database, "ended", "success").await?;
        copies::make(&database, template, HISTORY).await?;
        database.batch_execute("CHECKPOINT").await?;
        let mut row = self.loaded("with history", ENGINE, ONE_ACTION).await?;
        row.notes.push(format!("{HISTORY} ended orders in the tables"));
        Ok(row)
    }

    /// Measures one-action over more and more queues, so that each has less to do at a time.
    pub async fn queues(&mut self) -> Result<Vec<Row>> {
        let mut rows = Vec::new();
        for (work, queues) in [("1 000 queues", 1000), ("10 000 queues", 10_000), ("100 000 queues", 100_000)]
        {
            self.installation.renew().await?;
            rows.push(self.loaded(work, ENGINE, Orders { queues: Some(queues), ..ONE_ACTION }).await?);
        }
        Ok(rows)
    }

    /// Measures one-action while another session of the database holds a snapshot: what is deleted stays in the tables.
    pub async fn pinned(&mut self) -> Result<Row> {
        self.installation.renew().await?;
        let holder = self.installation.database().await?;
        holder.batch_execute("BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT 1").await?;
        let mut row = self.loaded("pinned", ENGINE, ONE_ACTION).await?;
        holder.batch_execute("COMMIT").await?;
        row.notes.push("a session held a snapshot from before the load on".to_owned());
        Ok(row)
    }

    /// Measures the time that a dispatcher that takes over needs until it knows all that may run, and its memory.
    pub async fn take_over(&mut self) -> Result<Row> {
        self.installation.renew().await?;
        self.installation.stop_role(Role::Worker).await?;
        self.submit("waiting", "bench-one-action").await?;
        let database = self.installation.database().await?;
        let template = copies::template(&database, "waiting", "new").await?;
        self.installation.stop_role(Role::Dispatcher).await?;
        copies::make(&database, template, READY).await?;
        let begun = Instant::now();
        self.installation.start_role(Role::Dispatcher).await?;
        let meter = self.installation.meter()?;
        let (empty, cpu) = (meter.memory(), meter.read()?);
        while self.installation.metric(Role::Dispatcher, "pagurus_ready{").await? < READY as f64 {
            if begun.elapsed() > PATIENCE {
                bail!("after {PATIENCE:?} the dispatcher does not know all that may run");
            }
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
        let (seconds, full) = (begun.elapsed().as_secs_f64(), meter.memory());
        let of = |memory: &Memory| memory.get(&Role::Dispatcher).copied().unwrap_or_default();
        let bytes = (of(&full) - of(&empty)) * 1024.0 * 1024.0 / READY as f64;
        Ok(Row {
            work: "take-over",
            orders: READY.unsigned_abs(),
            rate: Some(READY as f64 / seconds),
            cpu: cpu.until(&meter.read()?),
            latencies: Latencies::default(),
            memory: Some((empty, full)),
            notes: vec![format!(
                "{READY} ready orders were known {seconds:.1} s after the start of the dispatcher, which holds {bytes:.0} \
                 bytes of each"
            )],
        })
    }

    /// Sends one order over HTTP.
    pub async fn submit(&self, id: &str, scenario: &str) -> Result<()> {
        let api = Api::new(http()?, format!("http://{}", self.installation.intake()));
        let params = json!({"account": "79110000001", "tariff": "light"});
        let order = json!({"id": id, "scenario": scenario, "params": params});
        api.post("/v1/orders", &order).await?.success().with_context(|| format!("order {id}"))?;
        Ok(())
    }
}

/// Lets these sleepers be due within the same second, and returns a second before.
async fn wake(database: &Client, first: i64, last: i64) -> Result<()> {
    let count = (last - first + 1).unsigned_abs();
    let notice = NOTICE + NOTICE_EACH.saturating_mul(u32::try_from(count)?);
    let begun = Instant::now();
    let due = "UPDATE due SET due_at = statement_timestamp() + make_interval(secs => $3 + random())
                WHERE order_no BETWEEN $1 AND $2";
    let moved = database.execute(due, &[&first, &last, &notice.as_secs_f64()]).await?;
    if moved != count {
        bail!("only {moved} sleepers could be made due");
    }
    database.batch_execute("CHECKPOINT").await?;
    let left = notice.saturating_sub(Duration::from_secs(1)).checked_sub(begun.elapsed());
    let Some(left) = left else { bail!("the sleepers were due before all of them were prepared") };
    tokio::time::sleep(left).await;
    Ok(())
}

/// Waits until all of these have ended well. Each is looked at until it has, and not again: a count of a million twice a
/// second would be a load of its own.
async fn wait_for_success(database: &Client, first: i64, last: i64) -> Result<()> {
    let begun = Instant::now();
    let count = u32::try_from(last - first + 1)?;
    let patience = PATIENCE.max(PATIENCE_EACH.saturating_mul(count));
    let open = "SELECT no FROM orders WHERE no BETWEEN $1 AND $2 AND status <> 'success' ORDER BY no LIMIT 1";
    let mut next = first;
    loop {
        tokio::time::sleep(Duration::from_millis(500)).await;
        match database.query_opt(open, &[&next, &last]).await? {
            None => return Ok(()),
            Some(row) => next = row.get(0),
        }
        if begun.elapsed() > patience {
            bail!("after {patience:?} the sleeper {} of {count} has not run", next - first + 1);
        }
    }
}
