//! Nodes and their heartbeats. All times are the database's.

use std::time::Duration;

use jiff::Timestamp;
use pagurus_domain::id::{Incarnation, IntakeTransport, Role};
use pagurus_domain::number::saturated;
use tokio_postgres::types::ToSql;

use crate::recovery::marks::OfflineMark;
use crate::row::word;
use crate::sql::statements;
use crate::{Client, Connection, Result, Tx};

statements! {
    // A process that comes back under its name ends its former life; its work is failed over.
    SUPERSEDE = "
        UPDATE nodes SET status = 'lost', ended_at = clock_timestamp()
         WHERE role = $1 AND name = $2 AND ended_at IS NULL
        RETURNING incarnation";
    SUPERSEDED = "
        SELECT EXISTS (SELECT FROM nodes former JOIN nodes other USING (role, name)
                        WHERE former.incarnation = $1 AND other.incarnation > former.incarnation) AS is_superseded";
    INTAKE = "
        SELECT address FROM nodes n
         WHERE n.role = 'intake' AND n.transport IS DISTINCT FROM 'amqp'
         ORDER BY n.ended_at IS NULL DESC,
                  NOT EXISTS (SELECT FROM node_marks m WHERE m.role = n.role AND m.name = n.name) DESC, n.incarnation DESC
         LIMIT 1";
    REGISTER = "
        INSERT INTO nodes (name, role, address, version, concurrency, transport, status)
        VALUES ($1, $2, $3, $4, $5, $6, 'starting') RETURNING incarnation";
    FIRST_BEAT = "
        INSERT INTO heartbeats (incarnation, at, steady_since) VALUES ($1, clock_timestamp(), clock_timestamp())";
    // Each beat says what the node is to be: where that was lost before, it is mended by the next. A clock that is set back is
    // a gap, too.
    BEAT = "
        WITH mended AS (
            UPDATE nodes SET status = $2 WHERE incarnation = $1 AND ended_at IS NULL AND status <> $2)
        INSERT INTO heartbeats AS h (incarnation, at, steady_since, in_hand)
        SELECT incarnation, clock_timestamp(), clock_timestamp(), $4 FROM nodes WHERE incarnation = $1 AND ended_at IS NULL
        ON CONFLICT (incarnation) DO UPDATE
           SET at = excluded.at, in_hand = excluded.in_hand,
               steady_since = CASE WHEN h.at BETWEEN excluded.at - make_interval(secs => $3)
                                                 AND excluded.at + make_interval(secs => $3)
                                   THEN h.steady_since ELSE excluded.at END";
    STATUS = "
        UPDATE nodes SET status = $2, ended_at = CASE WHEN $2 IN ('stopped', 'lost') THEN clock_timestamp() END
         WHERE incarnation = $1 AND ended_at IS NULL";
    // Who judges has beaten all the while: otherwise it may have been the way to the database that was
    // shut, for everybody. After a restart of the database the others get as long to come back. Times that are still to come
    // are of a clock that was set back since, and a living node has beaten again.
    LOSE = "
        UPDATE nodes n SET status = 'lost', ended_at = clock_timestamp()
         WHERE n.ended_at IS NULL
           AND NOT EXISTS (SELECT FROM heartbeats h WHERE h.incarnation = n.incarnation
                              AND h.at BETWEEN clock_timestamp() - make_interval(secs => $1)
                                           AND clock_timestamp() + make_interval(secs => $1))
           AND n.started_at NOT BETWEEN clock_timestamp() - make_interval(secs => $1) AND clock_timestamp()
           AND pg_postmaster_start_time() NOT BETWEEN clock_timestamp() - make_interval(secs => $1) AND clock_timestamp()
           AND EXISTS (SELECT FROM heartbeats judge WHERE judge.incarnation = $2
                          AND judge.at BETWEEN clock_timestamp() - make_interval(secs => $3) AND clock_timestamp()
                          AND judge.steady_since < clock_timestamp() - make_interval(secs => $1))
        RETURNING n.incarnation, n.name, n.role";
    // A worker takes nothing from the moment of its mark on, before it has noticed it.
    WORKERS = "
        SELECT n.incarnation, n.concurrency,
               n.status = 'active' AND NOT EXISTS (SELECT FROM node_marks m WHERE m.role = n.role AND m.name = n.name) AS takes
          FROM nodes n WHERE n.role = 'worker' AND n.ended_at IS NULL";
    // Of the dispatchers that one is active who holds the lease, whatever another may still say of itself.
    LIST = "
        SELECT n.incarnation, n.name, n.role, n.address, n.version,
               CASE WHEN n.role = 'dispatcher' AND n.status = 'active' AND NOT EXISTS (
                         SELECT FROM leases l WHERE l.name = n.role AND l.holder = n.incarnation AND l.until > clock_timestamp())
                    THEN 'standby' ELSE n.status END AS status,
               n.status_since, n.started_at, n.ended_at, h.at AS seen_at, n.concurrency, n.transport, coalesce(h.in_hand, 0) AS in_hand,
               m.reason, m.made_by, m.made_at
          FROM nodes n
          LEFT JOIN heartbeats h ON h.incarnation = n.incarnation
          LEFT JOIN node_marks m ON m.role = n.role AND m.name = n.name
         WHERE n.ended_at IS NULL OR n.ended_at > clock_timestamp() - interval '1 hour'
            OR m.name IS NOT NULL AND NOT EXISTS (
                   SELECT FROM nodes later WHERE later.role = n.role AND later.name = n.name AND later.incarnation > n.incarnation)
         ORDER BY n.role, n.name, n.incarnation";
}

/// A process that registers.
#[derive(Clone, Debug)]
pub struct NewNode {
    /// Name, unique among the living of the role.
    pub name: String,
    /// Service.
    pub role: Role,
    /// Address at which its health is asked.
    pub address: String,
    /// Version of the program.
    pub version: String,
    /// Stages it takes at most; 0 for all but workers.
    pub concurrency: i32,
    /// Transports of an intake.
    pub transport: Option<IntakeTransport>,
}

/// Registers a process; a living one of the same role and name is over with that.
pub async fn register(tx: &Tx<'_>, node: &NewNode) -> Result<Incarnation> {
    let role = node.role.as_str();
    tx.query(SUPERSEDE, &[&role, &node.name]).await?;
    let transport = node.transport.map(IntakeTransport::as_str);
    let values: [&(dyn ToSql + Sync); 6] =
        [&node.name, &role, &node.address, &node.version, &node.concurrency, &transport];
    let row = tx.query_one(REGISTER, &values).await?;
    let incarnation: i64 = row.get("incarnation");
    tx.execute(FIRST_BEAT, &[&incarnation]).await?;
    Ok(Incarnation(incarnation))
}

/// True if another process has registered under the role and name of this life since it began. Who
/// has lost its name so must not take it back: the two would displace each other for ever.
pub async fn superseded(client: &Client, former: Incarnation) -> Result<bool> {
    Ok(client.query_one(SUPERSEDED, &[&former.0]).await?.get("is_superseded"))
}

/// Tells that the process lives, and what it is now; false where it has been declared over, so that
/// it must stop what it does, and register again unless it was [`superseded`]. A beat that comes later
/// than `steady` allows begins a new unbroken row of beats.
pub async fn beat(client: &Client, node: Incarnation, beat: Beat, lost_after: Duration) -> Result<bool> {
    let statement = client.prepare_cached(BEAT).await?;
    let (gap, in_hand) = (steady(lost_after).as_secs_f64(), saturated::<i32>(beat.in_hand));
    Ok(client.execute(&statement, &[&node.0, &beat.status.as_str(), &gap, &in_hand]).await? == 1)
}

/// Content of a sign of life.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Beat {
    /// Status that the node is to have.
    pub status: NodeStatus,
    /// Pieces of work that it has in hand, beside stages.
    pub in_hand: usize,
}

/// The longest time between two beats that is no gap: half of what makes a node lost. A pause of all
/// nodes that is no gap for the judge leaves the others the other half to be heard again.
fn steady(lost_after: Duration) -> Duration {
    lost_after / 2
}

/// Phase of the life of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NodeStatus {
    /// Registered, not yet at work.
    Starting,
    /// At work.
    Active,
    /// Waits to take over.
    Standby,
    /// Taken out of service by an operator: takes nothing new, ends what it has, and lives on.
    Offline,
    /// Takes nothing new, ends what it has.
    Stopping,
    /// Has ended in good order.
    Stopped,
}

impl NodeStatus {
    /// Every status of a living node.
    pub const LIVING: [Self; 5] =
        [Self::Starting, Self::Active, Self::Standby, Self::Offline, Self::Stopping];

    /// The one spelling.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Starting => "starting",
            Self::Active => "active",
            Self::Standby => "standby",
            Self::Offline => "offline",
            Self::Stopping => "stopping",
            Self::Stopped => "stopped",
        }
    }
}

/// Sets the status of a living node.
pub async fn set_status(client: &Client, node: Incarnation, status: NodeStatus) -> Result<bool> {
    let statement = client.prepare_cached(STATUS).await?;
    Ok(client.execute(&statement, &[&node.0, &status.as_str()]).await? == 1)
}

/// Address of an intake: one that lives, else the last one that did.
pub async fn intake_address(client: &Client) -> Result<Option<String>> {
    let statement = client.prepare_cached(INTAKE).await?;
    Ok(client.query_opt(&statement, &[]).await?.map(|row| row.get("address")))
}

/// Declares nodes lost that were silent for so long; who they were. The judge must have been heard
/// itself all that time: else nobody is lost.
pub async fn lose_silent(
    client: &Client,
    judge: Incarnation,
    after: Duration,
) -> Result<Vec<(Incarnation, String, Role)>> {
    let statement = client.prepare_cached(LOSE).await?;
    let (silent, gap) = (after.as_secs_f64(), steady(after).as_secs_f64());
    let rows = client.query(&statement, &[&silent, &judge.0, &gap]).await?;
    rows.iter()
        .map(|row| {
            Ok((Incarnation(row.get("incarnation")), row.get("name"), word(row, "role", "nodes.role")?))
        })
        .collect()
}

/// The living workers: how many stages each takes, and whether it takes new ones.
pub async fn workers(client: &Client) -> Result<Vec<(Incarnation, u32, bool)>> {
    let statement = client.prepare_cached(WORKERS).await?;
    let rows = client.query(&statement, &[]).await?;
    Ok(rows
        .iter()
        .map(|row| {
            let concurrency = saturated::<u32>(row.get::<_, i32>("concurrency"));
            (Incarnation(row.get("incarnation")), concurrency, row.get("takes"))
        })
        .collect())
}

/// A node, as people see it.
#[derive(Clone, Debug)]
pub struct RegisteredNode {
    /// Number of its life.
    pub incarnation: Incarnation,
    /// Name.
    pub name: String,
    /// Service.
    pub role: Role,
    /// Address at which its health is asked.
    pub address: String,
    /// Version of the program.
    pub version: String,
    /// Status, as one word.
    pub status: String,
    /// Time since which it has that status.
    pub status_since: Timestamp,
    /// Begin of its life.
    pub started_at: Timestamp,
    /// End of its life.
    pub ended_at: Option<Timestamp>,
    /// Last beat.
    pub seen_at: Option<Timestamp>,
    /// Stages it takes at most.
    pub concurrency: i32,
    /// Transports of an intake, as one word.
    pub transport: Option<String>,
    /// Pieces of work that it has in hand, beside stages, by its last beat.
    pub in_hand: i32,
    /// Set where it is marked offline.
    pub mark: Option<OfflineMark>,
}

/// The living nodes, those that ended within the last hour, and the last life of each that is marked offline.
pub async fn nodes(client: &Client) -> Result<Vec<RegisteredNode>> {
    let statement = client.prepare_cached(LIST).await?;
    let rows = client.query(&statement, &[]).await?;
    rows.iter()
        .map(|row| {
            Ok(RegisteredNode {
                incarnation: Incarnation(row.get("incarnation")),
                name: row.get("name"),
                role: word(row, "role", "nodes.role")?,
                address: row.get("address"),
                version: row.get("version"),
                status: row.get("status"),
                status_since: row.get("status_since"),
                started_at: row.get("started_at"),
                ended_at: row.get("ended_at"),
                seen_at: row.get("seen_at"),
                concurrency: row.get("concurrency"),
                transport: row.get("transport"),
                in_hand: row.get("in_hand"),
                mark: row.get::<_, Option<String>>("reason").map(|reason| OfflineMark {
                    reason,
                    by: row.get("made_by"),
                    at: row.get("made_at"),
                }),
            })
        })
        .collect()
}
