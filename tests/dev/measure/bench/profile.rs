//! Processor time of a window by function (perf) and by statement (pg_stat_statements).
//! Never part of a recorded measurement: watching costs time of its own.

use std::process::{Child, Command, Stdio};
use std::time::Duration;

use anyhow::{Context, Result, bail};
use lapin::options::QueueDeclareOptions;
use lapin::types::FieldTable;
use lapin::{Connection, ConnectionProperties};
use pagurus_harness::process::{Identity, Signal};
use tokio::task::JoinHandle;
use tokio_postgres::Client;
use tokio_util::sync::CancellationToken;

use super::cpu::Meter;
use super::installation::Installation;

/// Functions and statements that are shown.
const SHOWN: usize = 60;
const STATEMENTS: &str = "
    SELECT calls, rows, total_exec_time, wal_bytes::float8, regexp_replace(query, '\\s+', ' ', 'g')
      FROM pg_stat_statements ORDER BY total_exec_time DESC LIMIT 25";

/// Interval at which it is looked where the orders are.
const LOOK: Duration = Duration::from_millis(200);
const PLACES: &str = "
    SELECT (SELECT count(*) FROM ready), (SELECT count(*) FROM running), (SELECT count(*) FROM due),
           (SELECT count(*) FROM outbox)";

/// A profile being taken.
pub struct Profile {
    perf: Option<Child>,
    data: String,
    database: Client,
    places: JoinHandle<Result<()>>,
    stop: CancellationToken,
}

impl Profile {
    /// Begins to watch all processes of the meter.
    pub async fn start(installation: &Installation, meter: &Meter) -> Result<Self> {
        let database = installation.database().await?;
        database.batch_execute("CREATE EXTENSION IF NOT EXISTS pg_stat_statements").await?;
        database.batch_execute("SELECT pg_stat_statements_reset()").await?;
        let data = installation.folder().join("perf.data").to_string_lossy().into_owned();
        let pids: Vec<String> = meter.pids()?.iter().map(u32::to_string).collect();
        let record = ["record", "--quiet", "-F", "499", "-g", "-o", &data, "-p", &pids.join(",")];
        let perf = Command::new("perf").args(record).stdin(Stdio::null()).spawn();
        if let Err(error) = &perf {
            eprintln!(
                "    no profile by function: perf cannot be run ({error}); Debian's package is linux-perf"
            );
        }
        let stop = CancellationToken::new();
        let places =
            tokio::spawn(watch_places(installation.database().await?, installation.amqp_url(), stop.clone()));
        Ok(Self { perf: perf.ok(), data, database, places, stop })
    }

    /// Ends the watching and prints what was seen.
    pub async fn finish(self, orders: u64) -> Result<()> {
        self.stop.cancel();
        self.places.await??;
        if let Some(mut perf) = self.perf {
            Identity::of(perf.id()).context("perf has ended early")?.signal(Signal::Interrupt)?;
            while perf.try_wait()?.is_none() {
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
            for sort in ["comm", "comm,dso,symbol"] {
                print_report(&self.data, sort)?;
            }
        }
        println!("\nstatements by time, per order:");
        for row in self.database.query(STATEMENTS, &[]).await? {
            let (calls, rows, milliseconds): (i64, i64, f64) = (row.get(0), row.get(1), row.get(2));
            let (wal, text): (f64, String) = (row.get(3), row.get(4));
            let per_order = |value: f64| value / orders as f64;
            let text: String = text.trim().chars().take(110).collect();
            println!(
                "{:8.4} ms {:6.1} rows/call {:7} calls {:7.0} B WAL  {text}",
                per_order(milliseconds),
                rows as f64 / calls as f64,
                calls,
                per_order(wal)
            );
        }
        Ok(())
    }
}

/// Prints the places of the orders in flight, averaged over many looks: the fullest one is before the slowest step.
async fn watch_places(database: Client, amqp_url: String, stop: CancellationToken) -> Result<()> {
    let connection = Connection::connect(&amqp_url, ConnectionProperties::default()).await?;
    let channel = connection.create_channel().await?;
    let names = ["in orders.in and not taken", "ready", "running", "due", "outbox"];
    let (mut sums, mut looks) = ([0_i64; 5], 0);
    while stop.run_until_cancelled(tokio::time::sleep(LOOK)).await.is_some() {
        let passive = QueueDeclareOptions { passive: true, ..QueueDeclareOptions::default() };
        let queue = channel.queue_declare("pagurus.orders.in".into(), passive, FieldTable::default()).await?;
        let row = database.query_one(PLACES, &[]).await?;
        let found = [i64::from(queue.message_count()), row.get(0), row.get(1), row.get(2), row.get(3)];
        sums.iter_mut().zip(found).for_each(|(sum, found)| *sum += found);
        looks += 1;
    }
    let averages = names.iter().zip(sums).map(|(name, sum)| format!("{name} {}", sum / looks.max(1)));
    println!("\norders on the average: {}", averages.collect::<Vec<_>>().join(", "));
    Ok(())
}

fn print_report(data: &str, sort: &str) -> Result<()> {
    let words = ["report", "-i", data, "--stdio", "--no-children", "-g", "none", "--sort", sort];
    let output = Command::new("perf").args(words).args(["--percent-limit", "0.3"]).output()?;
    if !output.status.success() {
        bail!("perf report: {}", String::from_utf8_lossy(&output.stderr));
    }
    println!("\nprocessor time by {sort}:");
    let text = String::from_utf8_lossy(&output.stdout);
    let lines = text.lines().filter(|line| !line.starts_with('#') && !line.trim().is_empty());
    lines.take(SHOWN).for_each(|line| println!("{}", line.trim_end()));
    Ok(())
}
