//! Upkeep of the work lists: tables whose every row is deleted within seconds.

use crate::sql::statements;
use crate::{Client, Result};

statements! {
    DEAD = "
        SELECT coalesce(sum(n_dead_tup), 0)::bigint FROM pg_stat_user_tables
         WHERE relname IN ('ready', 'running', 'due', 'outbox', 'queued', 'deadlines')";
}

/// Dead rows from which a vacuum pays.
const WORTH_IT: i64 = 10_000;

/// Vacuums the work lists where they have gathered dead rows; whether they had. The server's own
/// autovacuum looks once a minute, and at thousands of orders a second these tables would hold
/// hundreds of thousands of dead rows by then, which every scan of them reads. A table that
/// somebody else vacuums is passed over.
///
/// # Errors
/// The database fails.
pub async fn vacuum_work_lists(client: &Client) -> Result<bool> {
    let statement = client.prepare_cached(DEAD).await?;
    if client.query_one(&statement, &[]).await?.get::<_, i64>(0) < WORTH_IT {
        return Ok(false);
    }
    client
        .batch_execute("VACUUM (SKIP_LOCKED, TRUNCATE false) ready, running, due, outbox, queued, deadlines")
        .await?;
    Ok(true)
}
