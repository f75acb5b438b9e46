//! Time until the loss of a node is noticed, by the clock of the database.
//! Never trusts the moment of a look: what was written is read.

use std::time::{Duration, Instant};

use anyhow::Result;
use tokio_postgres::Client;

/// Times from a death to what was done about it.
#[derive(Clone, Debug, Default)]
pub struct Notices {
    /// Seconds from the death of a worker until the registry has its life as lost.
    pub workers: Vec<f64>,
    /// Seconds from the death of the active dispatcher until another one leads.
    pub dispatchers: Vec<f64>,
}

/// The clock of the database, in seconds.
pub async fn now(session: &Client) -> Result<f64> {
    Ok(session.query_one("SELECT extract(epoch FROM clock_timestamp())::float8", &[]).await?.get(0))
}

/// Waits until the last life of a node has ended as lost; the seconds from `since` to that, if it came in time.
pub async fn lost(session: &Client, name: &str, since: f64, within: Duration) -> Result<Option<f64>> {
    let deadline = Instant::now() + within;
    let ended = "SELECT extract(epoch FROM ended_at)::float8 FROM nodes WHERE name = $1 AND status = 'lost' \
                  AND extract(epoch FROM ended_at) > $2::float8";
    while Instant::now() < deadline {
        if let Some(row) = session.query_opt(ended, &[&name, &since]).await? {
            return Ok(Some(row.get::<_, f64>(0) - since));
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    Ok(None)
}

/// The name of the node that leads, and its epoch.
pub async fn leader(session: &Client) -> Result<Option<String>> {
    let holder = "SELECT n.name FROM leases l JOIN nodes n ON n.incarnation = l.holder \
                   WHERE l.name = 'dispatcher' AND l.until > clock_timestamp()";
    Ok(session.query_opt(holder, &[]).await?.map(|row| row.get(0)))
}

/// Waits until another node than this one leads; the seconds from `since` to that, if it came in time.
pub async fn taken_over(session: &Client, former: &str, since: f64, within: Duration) -> Result<Option<f64>> {
    let deadline = Instant::now() + within;
    while Instant::now() < deadline {
        if leader(session).await?.is_some_and(|leader| leader != former) {
            return Ok(Some(now(session).await? - since));
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    Ok(None)
}
