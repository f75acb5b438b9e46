//! What metrics show of the tables: bounded looks and estimates, never a count of everything.

use pagurus_domain::activation::Stream;

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
    IS_LED = "
        SELECT EXISTS (SELECT FROM leases WHERE name = 'dispatcher' AND holder IS NOT NULL AND until > clock_timestamp()) AS is_led";
    // Sessions of others show their times to those who may see them; a role of its own sees at least its own.
    OLDEST_SNAPSHOT = "
        SELECT coalesce(extract(epoch FROM clock_timestamp() - min(xact_start)), 0)::float8 AS seconds
          FROM pg_stat_activity
         WHERE backend_xmin IS NOT NULL AND pid <> pg_backend_pid() AND backend_type = 'client backend'";
}

/// Rows that are counted one by one.
const COUNTED: i64 = 1000;

/// Orders that are not final by what they wait for: the stream of what is suspended, `worker` and `running`. Beyond a
/// thousand an estimate.
///
/// # Errors
/// The database fails.
pub async fn waiting(client: &Client) -> Result<Vec<(&'static str, f64)>> {
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
        waiting.push((stream.as_str(), counted.max(estimated)));
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
        waiting.push((reason, counted.max(estimated)));
    }
    Ok(waiting)
}

/// Age of the oldest snapshot that another session holds, in seconds.
///
/// # Errors
/// The database fails.
pub async fn oldest_snapshot_seconds(client: &Client) -> Result<f64> {
    let statement = client.prepare_cached(OLDEST_SNAPSHOT).await?;
    Ok(client.query_one(&statement, &[]).await?.get("seconds"))
}

/// True while a dispatcher holds its lease.
///
/// # Errors
/// The database fails.
pub async fn is_led(client: &Client) -> Result<bool> {
    let statement = client.prepare_cached(IS_LED).await?;
    Ok(client.query_one(&statement, &[]).await?.get("is_led"))
}
