//! An installation as large as UI-3 says.

use anyhow::Result;
use pagurus_harness::client::{Api, http};
use serde_json::{Value, json};
use tokio_postgres::Client;

use super::super::copies;
use super::super::works::Works;

/// Queues, each with two orders of a stopped flow.
const QUEUES: usize = 100_000;
const QUEUED: &str = "bench-queued";
const BATCH: usize = 5_000;
/// Sleeping orders.
const SLEEPERS: i64 = 100_000;
/// Order with a long history, and its events.
const LONG: &str = "long";
const EVENTS: i32 = 50_000;

impl Works<'_> {
    /// Fresh services with ten million ended orders, a hundred thousand failed and as many sleeping ones, queues, and an order with a
    /// long history, whose ID is returned.
    pub(super) async fn large_installation(&mut self) -> Result<String> {
        self.millions().await?;
        let database = self.installation.database().await?;
        let api = Api::new(http()?, format!("http://{}", self.installation.intake()));
        eprintln!("    {QUEUES} queues");
        let queued = include_str!("../one-action.yaml").replace("bench-one-action", QUEUED);
        api.put_scenario(QUEUED, &queued).await?;
        let stop = json!({"keyword": QUEUED, "reason": "the queues stay"});
        api.post("/v1/flows/stop", &stop).await?.success()?;
        for first in (0..QUEUES).step_by(BATCH) {
            let orders: Vec<Value> = (first..first + BATCH).flat_map(in_queue).collect();
            api.post("/v1/orders/batch", &Value::Array(orders)).await?.success()?;
        }
        self.submit("sleeper", "bench-sleeper").await?;
        let sleeper = copies::template(&database, "sleeper", "sleep").await?;
        copies::make(&database, sleeper, SLEEPERS).await?;
        self.submit(LONG, super::super::operations::MENDED).await?;
        let long = copies::template(&database, LONG, "success").await?;
        lengthen(&database, long).await?;
        database.batch_execute("VACUUM ANALYZE").await?;
        database.batch_execute("CHECKPOINT").await?;
        Ok(LONG.to_owned())
    }
}

fn in_queue(number: usize) -> [Value; 2] {
    ["first", "second"].map(|place| {
        json!({
            "id": format!("queued-{number}-{place}"), "scenario": QUEUED, "mode": "sequential",
            "queue": format!("queue-{number}"), "params": {"account": "79110000001"},
        })
    })
}

/// Gives an order a long history: its last stage again and again.
async fn lengthen(database: &Client, no: i64) -> Result<()> {
    let stages = "INSERT INTO history (order_no, number, life, kind, at, source, detail)
         SELECT order_no, n, life, kind, at + make_interval(secs => n), source, detail
           FROM (SELECT * FROM history WHERE order_no = $1 AND kind = 'stage' ORDER BY number DESC LIMIT 1) AS stage,
                (SELECT events FROM orders WHERE no = $1) AS known,
                generate_series(known.events + 1, $2::integer - 1, 2) AS n";
    database.execute(stages, &[&no, &EVENTS]).await?;
    database.execute("UPDATE orders SET events = $2 WHERE no = $1", &[&no, &EVENTS]).await?;
    Ok(())
}
