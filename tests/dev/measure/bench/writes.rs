//! Cost of a work for the database's disk: log bytes, commits and rows.

use std::fmt;

use anyhow::Result;
use tokio_postgres::Client;

/// Counters of the database at one moment. Sessions report theirs at most once a second: a window of some seconds
/// shows them to a few percent.
#[derive(Clone, Copy, Debug)]
pub struct Writes {
    log_bytes: f64,
    commits: f64,
    rows: f64,
}

impl Writes {
    /// Reads the counters.
    pub async fn read(client: &Client) -> Result<Self> {
        let row = client
            .query_one(
                "SELECT (pg_current_wal_lsn() - '0/0'::pg_lsn)::float8 AS log_bytes,
                        (SELECT xact_commit::float8 FROM pg_stat_database WHERE datname = current_database()) AS commits,
                        (SELECT coalesce(sum(n_tup_ins + n_tup_upd + n_tup_del), 0)::float8 FROM pg_stat_user_tables) AS rows",
                &[],
            )
            .await?;
        Ok(Self { log_bytes: row.get("log_bytes"), commits: row.get("commits"), rows: row.get("rows") })
    }

    /// Amounts written since then, per order.
    pub fn since(&self, before: &Self, orders: u64) -> Written {
        let orders = orders.max(1) as f64;
        Written {
            log_kilobytes: (self.log_bytes - before.log_bytes) / 1000.0 / orders,
            commits: (self.commits - before.commits) / orders,
            rows: (self.rows - before.rows) / orders,
        }
    }
}

/// Amounts that an order makes the database write.
#[derive(Clone, Copy, Debug)]
pub struct Written {
    /// Kilobytes of write-ahead log.
    pub log_kilobytes: f64,
    /// Commits of the whole database, background included.
    pub commits: f64,
    /// Rows inserted, changed or deleted.
    pub rows: f64,
}

impl fmt::Display for Written {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { log_kilobytes, commits, rows } = self;
        write!(
            f,
            "{log_kilobytes:.2} KB of write-ahead log, {commits:.3} commits and {rows:.1} row writes an order"
        )
    }
}
