//! Leases: who holds them, until when, and the epochs that fence out former holders. All times are the database's.

use std::time::Duration;

use jiff::Timestamp;
use pagurus_domain::id::{Epoch, Incarnation, Role};
use pagurus_wire::cluster::LeaseLine;

use crate::row::read;
use crate::sql::statements;
use crate::{Client, Connection, Result, Tx};

statements! {
    ACQUIRE = "
        INSERT INTO leases AS l (name, holder, until)
        VALUES ($1, $2, clock_timestamp() + make_interval(secs => $3))
        ON CONFLICT (name) DO UPDATE SET holder = excluded.holder, until = excluded.until
         WHERE l.until < clock_timestamp() OR l.holder = excluded.holder OR l.until = $4
        RETURNING holder";
    NEXT_EPOCH = "
        INSERT INTO epochs AS e (name, epoch) VALUES ($1, 1)
        ON CONFLICT (name) DO UPDATE SET epoch = e.epoch + 1
        RETURNING epoch";
    RENEW = "
        UPDATE leases SET until = clock_timestamp() + make_interval(secs => $3)
         WHERE name = $1 AND holder = $2 AND until > clock_timestamp()
           AND EXISTS (SELECT FROM epochs WHERE name = $1 AND epoch = $4)";
    END_LEASE = "
        UPDATE leases l SET until = clock_timestamp() FROM nodes n
         WHERE l.name = $1 AND n.incarnation = l.holder AND l.until > clock_timestamp() RETURNING n.name";
    RESIGN = "UPDATE leases SET until = clock_timestamp() WHERE name = $1 AND holder = $2";
    LEASES = "
        SELECT l.name, n.name AS holder, l.until, e.epoch
          FROM leases l JOIN epochs e ON e.name = l.name LEFT JOIN nodes n ON n.incarnation = l.holder
         ORDER BY l.name";
    LEASE_LEFT = "
        SELECT until, greatest(extract(epoch FROM until - clock_timestamp()), 0)::float8 AS seconds
          FROM leases WHERE name = $1";
    LEADER = "SELECT until, until > clock_timestamp() AS is_held FROM leases WHERE name = $1";
}

/// The lease of the dispatchers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Leader {
    /// End of the lease.
    pub until: Timestamp,
    /// True while it lasts.
    pub is_held: bool,
}

/// The lease under which hand-outs are made; none where nobody ever led.
pub async fn leader(client: &Client) -> Result<Option<Leader>> {
    let statement = client.prepare_cached(LEADER).await?;
    let row = client.query_opt(&statement, &[&Role::Dispatcher.as_str()]).await?;
    Ok(row.map(|row| Leader { until: row.get("until"), is_held: row.get("is_held") }))
}

/// All leases.
pub async fn all(client: &Client) -> Result<Vec<LeaseLine>> {
    let statement = client.prepare_cached(LEASES).await?;
    let rows = client.query(&statement, &[]).await?;
    Ok(rows.iter().map(|row| read!(row => LeaseLine { name, holder, until, epoch })).collect())
}

/// Takes a lease that is free or over, with a new epoch; `None` while another holds it. The new
/// epoch waits for every write that holds the old one shared, and fences out all later ones. One that has this end is over,
/// too: it is not renewed any more, and only a clock that was set back makes it last.
pub async fn acquire(
    tx: &Tx<'_>,
    name: &str,
    node: Incarnation,
    ttl: Duration,
    unrenewed: Option<Timestamp>,
) -> Result<Option<Epoch>> {
    let acquire = tx.prepare_cached(ACQUIRE).await?;
    if tx.query_opt(&acquire, &[&name, &node.0, &ttl.as_secs_f64(), &unrenewed]).await?.is_none() {
        return Ok(None);
    }
    let epoch = tx.prepare_cached(NEXT_EPOCH).await?;
    Ok(Some(Epoch(tx.query_one(&epoch, &[&name]).await?.get("epoch"))))
}

/// Prolongs a lease that is still held; false where it is not.
pub async fn renew(
    client: &Client,
    name: &str,
    node: Incarnation,
    epoch: Epoch,
    ttl: Duration,
) -> Result<bool> {
    let statement = client.prepare_cached(RENEW).await?;
    Ok(client.execute(&statement, &[&name, &node.0, &ttl.as_secs_f64(), &epoch.0]).await? == 1)
}

/// Ends a lease that somebody holds; the name of the holder, which hears of it with its next renewal.
pub async fn end(client: &impl Connection, name: &str) -> Result<Option<String>> {
    let statement = client.prepare_cached(END_LEASE).await?;
    Ok(client.query_opt(&statement, &[&name]).await?.map(|row| row.get("name")))
}

/// Gives a lease back, so that another can take it at once.
pub async fn resign(client: &Client, name: &str, node: Incarnation) -> Result<()> {
    let statement = client.prepare_cached(RESIGN).await?;
    client.execute(&statement, &[&name, &node.0]).await?;
    Ok(())
}

/// End of a lease, and how long it lasts yet if nobody prolongs it: nothing where it is over. None where it was never taken.
pub async fn left(client: &impl Connection, name: &str) -> Result<Option<(Timestamp, Duration)>> {
    let row = client.query_opt(&client.prepare_cached(LEASE_LEFT).await?, &[&name]).await?;
    Ok(row.map(|row| {
        let left = Duration::try_from_secs_f64(row.get("seconds")).unwrap_or_default();
        (row.get("until"), left)
    }))
}
