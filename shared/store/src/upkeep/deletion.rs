//! Upkeep: of the work lists, tables whose every row is deleted within seconds, and of what is kept for
//! some time only.

use std::time::Duration;

use crate::sql::statements;
use crate::{Client, Result};

statements! {
    // Of those only that this user may vacuum: as their owner, or from PostgreSQL 17 on by a right of its own.
    DEAD = "
        SELECT coalesce(sum(s.n_dead_tup), 0)::bigint AS dead
          FROM pg_stat_user_tables s JOIN pg_class c ON c.oid = s.relid
         WHERE s.relname IN ('ready', 'running', 'due', 'outbox', 'queued', 'deadlines')
           AND CASE WHEN pg_has_role(c.relowner, 'USAGE') THEN true
                    WHEN current_setting('server_version_num')::integer >= 170000 THEN has_table_privilege(s.relid, 'MAINTAIN')
                    ELSE false END";
    // Of the oldest only: whatever there is, no more rows are read than may be deleted.
    FORGET_ORPHANS = "
        DELETE FROM callbacks
         WHERE no = ANY(ARRAY(
               SELECT no FROM (SELECT no, received_at FROM callbacks
                                WHERE verdict = 'orphan' AND verdict <> 'accepted' ORDER BY no LIMIT $2) AS oldest
                WHERE received_at < now() - make_interval(secs => $1)))";
}

/// The work lists.
pub const WORK_LISTS: [&str; 6] = ["ready", "running", "due", "outbox", "queued", "deadlines"];
/// Dead rows from which a vacuum pays.
const WORTH_IT: i64 = 10_000;

/// Vacuums the work lists where they have gathered dead rows; whether they had. The server's own
/// autovacuum looks once a minute, and at thousands of orders a second these tables would hold
/// hundreds of thousands of dead rows by then, which every scan of them reads. A table that
/// somebody else vacuums is passed over. Where this user may not vacuum, it is left to autovacuum.
pub async fn vacuum_work_lists(client: &Client) -> Result<bool> {
    let statement = client.prepare_cached(DEAD).await?;
    if client.query_one(&statement, &[]).await?.get::<_, i64>("dead") < WORTH_IT {
        return Ok(false);
    }
    client.batch_execute(&format!("VACUUM (SKIP_LOCKED, TRUNCATE false) {}", WORK_LISTS.join(", "))).await?;
    Ok(true)
}

/// Deletes callbacks for nobody that are older than this, at most `limit`; returns their number.
pub async fn forget_orphans(client: &Client, older_than: Duration, limit: i64) -> Result<u64> {
    let statement = client.prepare_cached(FORGET_ORPHANS).await?;
    Ok(client.execute(&statement, &[&older_than.as_secs_f64(), &limit]).await?)
}
