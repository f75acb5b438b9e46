//! Versions of scenarios: they never change, and none is removed while an order names it.

pub mod operations;

use std::collections::{HashMap, HashSet};

use jiff::Timestamp;
use pagurus_domain::id::{OrderNo, ScenarioNo};
use pagurus_domain::order::Status;
use pagurus_domain::order::change::shown;
use pagurus_scenario::Library;
use sha2::{Digest as _, Sha256};

use crate::hot::history;
use crate::hot::ready::ReadyStage;
use crate::hot::ready::read_ready;
use crate::row::word;
use crate::sql::statements;
use crate::{Client, Connection, Result, Tx};

statements! {
    // One writer at a time: versions count without gaps, and numbers are seen in their order. One who
    // has read up to a number has read every version below it.
    LOCK = "SELECT pg_advisory_xact_lock(hashtextextended('scenarios', 0))";
    NEWEST = "SELECT no, version, digest FROM scenarios WHERE name = $1 ORDER BY version DESC LIMIT 1";
    INSERT = "
        INSERT INTO scenarios (name, version, source, digest) VALUES ($1, $2, $3, $4) RETURNING no";
    LAST = "SELECT coalesce(max(no), 0) AS last FROM scenarios";
    SINCE = "SELECT no, name, version, source FROM scenarios WHERE no > $1 ORDER BY no LIMIT 20";
    ONE = "SELECT no, name, version, source FROM scenarios WHERE no = ANY($1::integer[])";
    NAMED = "SELECT no, name, version, source FROM scenarios WHERE name = $1 AND version = $2";
    LIST = "
        SELECT name, version, created_at FROM (
            SELECT DISTINCT ON (name) name, version, created_at FROM scenarios WHERE name > $1 ORDER BY name, version DESC) AS newest
         ORDER BY name LIMIT $2";
    // Page by page through the three places and the failed orders: no index knows the version of an order.
    LIVE = "
        SELECT p.no, o.scenario = $3 AS is_wanted, o.id, o.status, o.entry_point, p.busy, CASE WHEN o.scenario = $3 THEN c.snapshot END AS snapshot
          FROM (SELECT all_three.no, bool_or(all_three.busy) AS busy
                  FROM ((SELECT order_no AS no, false AS busy FROM due
                          WHERE order_no > $1 ORDER BY order_no LIMIT $2)
                        UNION ALL
                        (SELECT order_no, reissued FROM ready WHERE order_no > $1 ORDER BY order_no LIMIT $2)
                        UNION ALL
                        (SELECT order_no, true FROM running WHERE order_no > $1 ORDER BY order_no LIMIT $2)
                        UNION ALL
                        (SELECT order_no, false FROM failures WHERE order_no > $1 ORDER BY order_no LIMIT $2)) AS all_three
                 GROUP BY all_three.no ORDER BY all_three.no LIMIT $2) AS p
          JOIN orders o ON o.no = ANY(ARRAY[p.no])
          LEFT JOIN contexts c ON c.order_no = ANY(ARRAY[p.no])
         ORDER BY p.no";
    LOCK_READY = "
        SELECT order_no FROM ready WHERE order_no = ANY($1::bigint[]) AND NOT reissued
         ORDER BY order_no FOR UPDATE";
    LOCK_ORDERS = "
        SELECT no, id, status, entry_point FROM orders WHERE no = ANY($1::bigint[]) AND scenario = $2
         ORDER BY no FOR UPDATE";
    LOCK_DUE = "SELECT order_no FROM due WHERE order_no = ANY($1::bigint[]) ORDER BY order_no FOR UPDATE";
    SNAPSHOTS = "SELECT order_no, snapshot FROM contexts WHERE order_no = ANY($1::bigint[])";
    // A restart must find its entry point; one that is none any more is forgotten.
    MOVE = "
        UPDATE orders
           SET scenario = $2, entry_point = CASE WHEN entry_point = ANY($3::text[]) THEN entry_point END
         WHERE no = ANY($1::bigint[])";
    // A worker may be about to claim such a stage, and reads the version in the same statement: the
    // new number makes that claim find nothing.
    RENUMBER = "
        UPDATE ready SET attempt = attempt + 1 WHERE order_no = ANY($1::bigint[])
        RETURNING order_no, attempt, flow, priority, queue, position, woken";
    VERSIONS = "SELECT version, created_at FROM scenarios WHERE name = $1 AND version < $2 ORDER BY version DESC LIMIT $3";
    TEXT = "
        SELECT version, source FROM scenarios WHERE name = $1 AND ($2::integer IS NULL OR version = $2)
         ORDER BY version DESC LIMIT 1";
}

/// A stored version.
#[derive(Clone, Debug)]
pub struct Version {
    /// Our number of it.
    pub no: ScenarioNo,
    /// The name.
    pub name: String,
    /// Counts from 1 for each name.
    pub version: i32,
    /// The text as it was applied.
    pub source: String,
}

/// Outcome of applying a scenario.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Applied {
    /// A new version.
    New(i32),
    /// The newest version has this very text, and means the same by the operations that it names.
    Unchanged(i32),
    /// The newest version is another than was expected: its tag; none where there is none.
    Unexpected(Option<String>),
}

/// The newest version that the one who applies a scenario expects to find.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Expected {
    /// Any, or none.
    #[default]
    Anything,
    /// Any, but one.
    Something,
    /// No version.
    Nothing,
    /// A version with any of these tags.
    Tagged(Vec<String>),
}

impl Expected {
    /// True if this tag, of what is there by now, is expected; none where nothing is there.
    #[must_use]
    pub fn allows(&self, newest: Option<&str>) -> bool {
        match self {
            Self::Anything => true,
            Self::Something => newest.is_some(),
            Self::Nothing => newest.is_none(),
            Self::Tagged(tags) => newest.is_some_and(|newest| tags.iter().any(|tag| tag == newest)),
        }
    }
}

/// Bytes of the digest of a text that stand in its tag.
const TAG_BYTES: usize = 8;

/// The tag of a version: its number and its content, so that neither another text nor the same text under another number
/// has the same one.
#[must_use]
pub fn tag_of(version: i32, source: &str) -> String {
    tag(version, &Sha256::digest(source.as_bytes()))
}

fn tag(version: i32, digest: &[u8]) -> String {
    let digest: String = digest.iter().take(TAG_BYTES).map(|byte| format!("{byte:02x}")).collect();
    format!("{version}-{digest}")
}

/// Stores a text as the newest version of a name, where the one before is expected, with what it means by the operations
/// that it names. The newest version with this very text, which means the same, is left as it is, whatever was expected: the
/// request may be a repeat.
pub async fn apply(
    tx: &Tx<'_>,
    name: &str,
    source: &str,
    library: &Library,
    expected: &Expected,
) -> Result<Applied> {
    let digest: Vec<u8> = Sha256::digest(source.as_bytes()).to_vec();
    tx.query(LOCK, &[]).await?;
    let newest = tx.query_opt(NEWEST, &[&name]).await?;
    let version: i32 = newest.as_ref().map_or(0, |row| row.get("version"));
    let no: Option<i32> = newest.as_ref().map(|row| row.get("no"));
    let newest: Option<Vec<u8>> = newest.map(|row| row.get("digest"));
    if newest.as_ref() == Some(&digest)
        && let Some(no) = no
        && operations::is_pinned(tx, no, library).await?
    {
        return Ok(Applied::Unchanged(version));
    }
    let found = newest.map(|digest| tag(version, &digest));
    if !expected.allows(found.as_deref()) {
        return Ok(Applied::Unexpected(found));
    }
    let row = tx.query_one(INSERT, &[&name, &(version + 1), &source, &digest]).await?;
    operations::pin(tx, row.get("no"), library).await?;
    Ok(Applied::New(version + 1))
}

/// The greatest number given to a version: it grows with every new one.
pub async fn last(client: &Client) -> Result<ScenarioNo> {
    let statement = client.prepare_cached(LAST).await?;
    Ok(ScenarioNo(client.query_one(&statement, &[]).await?.get("last")))
}

/// The next versions with a greater number: a page of them, all of which may be long.
pub async fn since(client: &Client, no: ScenarioNo) -> Result<Vec<Version>> {
    read(client, SINCE, &[&no.0]).await
}

/// These versions.
pub async fn get(client: &impl Connection, nos: &[i32]) -> Result<Vec<Version>> {
    read(client, ONE, &[&nos]).await
}

/// A version of a name, if it is stored.
pub async fn find(client: &impl Connection, name: &str, version: i32) -> Result<Vec<Version>> {
    read(client, NAMED, &[&name, &version]).await
}

async fn read(
    client: &impl Connection,
    sql: &str,
    parameters: &[&(dyn tokio_postgres::types::ToSql + Sync)],
) -> Result<Vec<Version>> {
    let statement = client.prepare_cached(sql).await?;
    let rows = client.query(&statement, parameters).await?;
    Ok(rows
        .iter()
        .map(|row| Version {
            no: ScenarioNo(row.get("no")),
            name: row.get("name"),
            version: row.get("version"),
            source: row.get("source"),
        })
        .collect())
}

/// Names behind this one, with their newest version and when it came, at most `limit`.
pub async fn list(client: &Client, behind: &str, limit: i64) -> Result<Vec<(String, i32, Timestamp)>> {
    let statement = client.prepare_cached(LIST).await?;
    let rows = client.query(&statement, &[&behind, &limit]).await?;
    Ok(rows.iter().map(|row| (row.get("name"), row.get("version"), row.get("created_at"))).collect())
}

/// The versions of a name below this one, newest first, at most `limit`, each with when it came.
pub async fn versions(client: &Client, name: &str, below: i32, limit: i64) -> Result<Vec<(i32, Timestamp)>> {
    let statement = client.prepare_cached(VERSIONS).await?;
    let rows = client.query(&statement, &[&name, &below, &limit]).await?;
    Ok(rows.iter().map(|row| (row.get("version"), row.get("created_at"))).collect())
}

/// The text of a version with its number; of the newest one where none is named.
pub async fn text(client: &Client, name: &str, version: Option<i32>) -> Result<Option<(i32, String)>> {
    let row = client.query_opt(&client.prepare_cached(TEXT).await?, &[&name, &version]).await?;
    Ok(row.map(|row| (row.get("version"), row.get("source"))))
}

/// A live order of a version.
#[derive(Clone, Debug)]
pub struct Live {
    /// Our number.
    pub no: OrderNo,
    /// The client's id.
    pub id: String,
    /// Status as outsiders see it.
    pub status: Status,
    /// The state at which a restart would begin.
    pub entry_point: Option<String>,
    /// Position and variables, as JSON; none before its first suspension.
    pub snapshot: Option<String>,
}

/// A page of the live orders.
#[derive(Clone, Debug)]
pub struct LivePage {
    /// Orders of the version.
    pub orders: Vec<Live>,
    /// The last order looked at, of whatever version; none where there are no more.
    pub last: Option<OrderNo>,
}

/// Looks at the next live orders after a number, and picks those of one version. Locks nothing: what
/// it says may have changed already.
pub async fn live(client: &Client, version: ScenarioNo, after: OrderNo, limit: i64) -> Result<LivePage> {
    let statement = client.prepare_cached(LIVE).await?;
    let rows = client.query(&statement, &[&after.0, &limit, &version.0]).await?;
    let mut orders = Vec::new();
    for row in rows.iter().filter(|row| row.get::<_, bool>("is_wanted")) {
        let busy: bool = row.get("busy");
        orders.push(Live {
            no: OrderNo(row.get("no")),
            id: row.get("id"),
            status: shown(word(row, "status", "orders.status")?, busy, false),
            entry_point: row.get("entry_point"),
            snapshot: row.get("snapshot"),
        });
    }
    Ok(LivePage { orders, last: rows.last().map(|row| OrderNo(row.get("no"))) })
}

/// Locks those of these orders that rest, or have failed, and are still of the version; the others are left out.
pub async fn lock_resting(tx: &Tx<'_>, version: ScenarioNo, nos: &[i64]) -> Result<Vec<Live>> {
    // In the order of all locks: `ready`, `orders`, `due`. Who is in neither place now is with a
    // worker, or on the way there.
    let ready = tx.query(&tx.prepare_cached(LOCK_READY).await?, &[&nos]).await?;
    let orders = tx.query(&tx.prepare_cached(LOCK_ORDERS).await?, &[&nos, &version.0]).await?;
    let due = tx.query(&tx.prepare_cached(LOCK_DUE).await?, &[&nos]).await?;
    let resting: HashSet<i64> = ready.iter().chain(&due).map(|row| row.get("order_no")).collect();
    let snapshots = tx.query(&tx.prepare_cached(SNAPSHOTS).await?, &[&nos]).await?;
    let mut snapshots: HashMap<i64, String> =
        snapshots.iter().map(|row| (row.get("order_no"), row.get("snapshot"))).collect();
    let mut locked = Vec::new();
    for row in &orders {
        let no: i64 = row.get("no");
        let status = word(row, "status", "orders.status")?;
        if resting.contains(&no) || status == Status::Fail {
            let (id, entry_point) = (row.get("id"), row.get("entry_point"));
            locked.push(Live { no: OrderNo(no), id, status, entry_point, snapshot: snapshots.remove(&no) });
        }
    }
    Ok(locked)
}

/// Moves locked orders to another version. Returns the stages among them that may run: their
/// hand-outs under way are void, and the dispatcher is to be informed of the new ones.
pub async fn migrate(
    tx: &Tx<'_>,
    nos: &[i64],
    to: ScenarioNo,
    entry_points: &[&str],
    source: &str,
    detail: &str,
) -> Result<Vec<ReadyStage>> {
    tx.execute(&tx.prepare_cached(MOVE).await?, &[&nos, &to.0, &entry_points]).await?;
    for no in nos {
        history::append(tx, OrderNo(*no), "migrated", source, detail).await?;
    }
    let rows = tx.query(&tx.prepare_cached(RENUMBER).await?, &[&nos]).await?;
    rows.iter().map(read_ready).collect()
}
