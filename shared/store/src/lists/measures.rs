//! Figures of the tables for metrics: bounded looks and estimates, never a count of everything.

use jiff::Timestamp;
use pagurus_domain::activation::Stream;
use pagurus_domain::low_water::LowNumber;

use crate::sql::statements;
use crate::{Client, Result};

statements! {
    COUNT_DUE = "SELECT count(*)::float8 AS counted FROM (SELECT FROM due WHERE stream = $1 LIMIT $2) AS first";
    COUNT_READY = "SELECT count(*)::float8 AS counted FROM (SELECT FROM ready LIMIT $1) AS first";
    COUNT_RUNNING = "SELECT count(*)::float8 AS counted FROM (SELECT FROM running LIMIT $1) AS first";
    // What the planner knows since the table was last analyzed.
    ESTIMATE_DUE = "
        SELECT (greatest(c.reltuples, 0) * coalesce(v.part, 0))::float8 AS estimated
          FROM pg_class c
          LEFT JOIN pg_stats s ON s.schemaname = current_schema() AND s.tablename = 'due' AND s.attname = 'stream'
          LEFT JOIN LATERAL (
               SELECT part FROM unnest(s.most_common_vals::text::smallint[], s.most_common_freqs) AS known (stream, part)
                WHERE known.stream = $1) AS v ON true
         WHERE c.oid = 'due'::regclass";
    ESTIMATE_ROWS = "SELECT greatest(reltuples, 0)::float8 AS estimated FROM pg_class WHERE oid = $1::text::regclass";
    // The first by number stand for all where there are no more of them.
    FIRST_STATUSES = "
        SELECT first.status, count(*)::float8 AS counted FROM (
            SELECT status FROM orders WHERE no > 0 ORDER BY no LIMIT $1) AS first GROUP BY first.status";
    FIRST_REQUESTS = "
        SELECT first.status, count(*)::float8 AS counted FROM (
            SELECT status FROM requests WHERE order_no > 0 ORDER BY order_no LIMIT $1) AS first GROUP BY first.status";
    ESTIMATE_WORDS = "
        SELECT known.word, (greatest(c.reltuples, 0) * known.part)::float8 AS estimated
          FROM pg_class c
          JOIN pg_stats s ON s.schemaname = current_schema() AND s.tablename = $1 AND s.attname = 'status'
         CROSS JOIN LATERAL unnest(s.most_common_vals::text::text[], s.most_common_freqs) AS known (word, part)
         WHERE c.oid = $1::text::regclass";
    COUNT_REFUSED = "SELECT count(*)::float8 AS counted FROM (SELECT FROM refused WHERE NOT answered LIMIT $1) AS first";
    COUNT_INCONSISTENT = "SELECT count(*)::float8 AS counted FROM (SELECT FROM inconsistencies LIMIT $1) AS first";
    // What stands in no queue: a member of a queue waits for those before it.
    OLDEST_READY = "
        SELECT extract(epoch FROM clock_timestamp() - min(first.since) FILTER (WHERE first.queue IS NULL))::float8 AS seconds,
               coalesce(min(first.order_no), (SELECT last_value FROM orders_no_seq)) AS least
          FROM (SELECT order_no, since, queue FROM ready WHERE order_no > $2 ORDER BY order_no LIMIT $1) AS first";
    IS_LED = "
        SELECT EXISTS (SELECT FROM leases WHERE name = 'dispatcher' AND holder IS NOT NULL AND until > clock_timestamp()) AS is_led";
    // Of sessions of other users the server shows nothing to those who may not see it (`pg_monitor`).
    OLDEST_SNAPSHOT = "
        SELECT extract(epoch FROM clock_timestamp()
                   - min(xact_start) FILTER (WHERE backend_xmin IS NOT NULL AND backend_type = 'client backend'))::float8 AS seconds,
               count(*) FILTER (WHERE usesysid IS NOT NULL AND backend_type IS NULL) AS unseen
          FROM pg_stat_activity WHERE pid <> pg_backend_pid()";
}

/// Rows that are counted one by one.
const COUNTED: i64 = 1000;

/// A number of rows: counted as far as a thousand, and beyond that an estimate.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Measured {
    /// The number.
    pub count: f64,
    /// True where it is what the statistics of the server say.
    pub is_estimated: bool,
}

impl Measured {
    fn of(counted: f64, estimated: f64) -> Self {
        Self { count: counted.max(estimated).round(), is_estimated: counted >= COUNTED as f64 }
    }
}

/// Orders that are not final by what they wait for: the stream of what is suspended, `worker` and `running`. Beyond a
/// thousand an estimate.
pub async fn waiting(client: &Client) -> Result<Vec<(&'static str, Measured)>> {
    let mut waiting = Vec::with_capacity(Stream::ALL.len() + 2);
    for stream in Stream::ALL {
        let number = stream.number();
        let statement = client.prepare_cached(COUNT_DUE).await?;
        let counted: f64 = client.query_one(&statement, &[&number, &COUNTED]).await?.get("counted");
        let estimated = if counted >= COUNTED as f64 {
            let statement = client.prepare_cached(ESTIMATE_DUE).await?;
            client.query_one(&statement, &[&number]).await?.get("estimated")
        } else {
            0.0
        };
        waiting.push((stream.as_str(), Measured::of(counted, estimated)));
    }
    for (reason, table, count) in [("worker", "ready", COUNT_READY), ("running", "running", COUNT_RUNNING)] {
        let statement = client.prepare_cached(count).await?;
        let counted: f64 = client.query_one(&statement, &[&COUNTED]).await?.get("counted");
        let estimated = if counted >= COUNTED as f64 {
            let statement = client.prepare_cached(ESTIMATE_ROWS).await?;
            client.query_one(&statement, &[&table]).await?.get("estimated")
        } else {
            0.0
        };
        waiting.push((reason, Measured::of(counted, estimated)));
    }
    Ok(waiting)
}

/// Rows of a table by the word in its column `status`. Of a table with more than a thousand rows it is what the
/// statistics of the server say, and words that they do not know are left out.
async fn by_status(client: &Client, table: &str, first: &str) -> Result<Vec<(String, Measured)>> {
    let rows = client.query(&client.prepare_cached(first).await?, &[&COUNTED]).await?;
    let counted: Vec<(String, f64)> =
        rows.iter().map(|row| (row.get("status"), row.get("counted"))).collect();
    if counted.iter().map(|(_, count)| count).sum::<f64>() < COUNTED as f64 {
        return Ok(counted.into_iter().map(|(word, count)| (word, Measured::of(count, 0.0))).collect());
    }
    let rows = client.query(&client.prepare_cached(ESTIMATE_WORDS).await?, &[&table]).await?;
    let estimate = |row: &tokio_postgres::Row| {
        let count = row.get::<_, f64>("estimated").round();
        (row.get("word"), Measured { count, is_estimated: true })
    };
    Ok(rows.iter().map(estimate).collect())
}

/// Orders by the status in their rows. What runs has the status of before.
pub async fn statuses(client: &Client) -> Result<Vec<(String, Measured)>> {
    by_status(client, "orders", FIRST_STATUSES).await
}

/// Questions to other systems that are not answered yet.
pub async fn open_requests(client: &Client) -> Result<Measured> {
    let known = by_status(client, "requests", FIRST_REQUESTS).await?;
    let is_estimated = known.iter().any(|(_, measured)| measured.is_estimated);
    let open = known.into_iter().find(|(word, _)| word == "open").map(|(_, measured)| measured);
    Ok(open.unwrap_or(Measured { count: 0.0, is_estimated }))
}

/// Refused messages that were taken out of their broker queue and wait for a decision, a thousand at most.
pub async fn refused(client: &Client) -> Result<Measured> {
    first_thousand(client, COUNT_REFUSED).await
}

/// Orders that are marked as inconsistent, a thousand at most.
pub async fn inconsistent(client: &Client) -> Result<Measured> {
    first_thousand(client, COUNT_INCONSISTENT).await
}

async fn first_thousand(client: &Client, sql: &str) -> Result<Measured> {
    let row = client.query_one(&client.prepare_cached(sql).await?, &[&COUNTED]).await?;
    Ok(Measured::of(row.get("counted"), 0.0))
}

/// Seconds for which the oldest stage could have run that stands in no queue, among the thousand orders with the smallest
/// numbers; none where there is none.
pub async fn oldest_ready_seconds(client: &Client, low: &mut LowNumber) -> Result<Option<f64>> {
    let look = low.begin(Timestamp::now());
    let row = client.query_one(&client.prepare_cached(OLDEST_READY).await?, &[&COUNTED, &look.after]).await?;
    low.end(look, Timestamp::now(), Some(row.get("least")));
    Ok(row.get("seconds"))
}

/// Snapshots that other sessions hold.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct HeldSnapshots {
    /// Age of the oldest that is seen, in seconds; none where none is seen.
    pub oldest_seconds: Option<f64>,
    /// Sessions of other users that show nothing to ours.
    pub unseen: u32,
}

impl HeldSnapshots {
    /// Age of the oldest in seconds, zero where there is none; none where sessions that are not seen may hold one.
    #[must_use]
    pub fn known_seconds(&self) -> Option<f64> {
        self.oldest_seconds.or((self.unseen == 0).then_some(0.0))
    }
}

/// The snapshots that other sessions hold.
pub async fn held_snapshots(client: &Client) -> Result<HeldSnapshots> {
    let row = client.query_one(&client.prepare_cached(OLDEST_SNAPSHOT).await?, &[]).await?;
    let unseen = u32::try_from(row.get::<_, i64>("unseen")).unwrap_or(u32::MAX);
    Ok(HeldSnapshots { oldest_seconds: row.get("seconds"), unseen })
}

/// True while a dispatcher holds its lease.
pub async fn is_led(client: &Client) -> Result<bool> {
    let statement = client.prepare_cached(IS_LED).await?;
    Ok(client.query_one(&statement, &[]).await?.get("is_led"))
}
