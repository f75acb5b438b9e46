//! Versions of scenarios: they never change, and none is removed while an order names it.

use jiff::Timestamp;
use pagurus_domain::id::ScenarioNo;
use sha2::{Digest as _, Sha256};

use crate::sql::statements;
use crate::{Client, Result, Tx};

statements! {
    // One writer at a time for each name: versions count without gaps.
    LOCK_NAME = "SELECT pg_advisory_xact_lock(hashtextextended('scenario:' || $1, 0))";
    NEWEST = "SELECT no, version, digest FROM scenarios WHERE name = $1 ORDER BY version DESC LIMIT 1";
    INSERT = "
        INSERT INTO scenarios (name, version, source, digest) VALUES ($1, $2, $3, $4) RETURNING no";
    LAST = "SELECT coalesce(max(no), 0) FROM scenarios";
    SINCE = "SELECT no, name, version, source FROM scenarios WHERE no > $1 ORDER BY no";
    ONE = "SELECT no, name, version, source FROM scenarios WHERE no = ANY($1::integer[])";
    LIST = "
        SELECT name, version, created_at FROM (
            SELECT DISTINCT ON (name) name, version, created_at FROM scenarios ORDER BY name, version DESC) AS newest
         ORDER BY name";
    VERSIONS = "SELECT version, created_at, source FROM scenarios WHERE name = $1 ORDER BY version DESC";
}

/// One stored version.
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

/// What became of an applied scenario.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Applied {
    /// A new version.
    New(i32),
    /// The newest version has this very text.
    Unchanged(i32),
}

/// Stores a text as the newest version of a name.
///
/// # Errors
/// The database fails.
pub async fn apply(tx: &Tx<'_>, name: &str, source: &str) -> Result<Applied> {
    let digest: Vec<u8> = Sha256::digest(source.as_bytes()).to_vec();
    tx.query(LOCK_NAME, &[&name]).await?;
    let newest = tx.query_opt(NEWEST, &[&name]).await?;
    let version: i32 = newest.as_ref().map_or(0, |row| row.get(1));
    if newest.is_some_and(|row| row.get::<_, Vec<u8>>(2) == digest) {
        return Ok(Applied::Unchanged(version));
    }
    tx.query_one(INSERT, &[&name, &(version + 1), &source, &digest]).await?;
    Ok(Applied::New(version + 1))
}

/// The greatest number given to a version: it grows with every new one.
///
/// # Errors
/// The database fails.
pub async fn last(client: &Client) -> Result<ScenarioNo> {
    let statement = client.prepare_cached(LAST).await?;
    Ok(ScenarioNo(client.query_one(&statement, &[]).await?.get(0)))
}

/// All versions with a greater number.
///
/// # Errors
/// The database fails.
pub async fn since(client: &Client, no: ScenarioNo) -> Result<Vec<Version>> {
    read(client, SINCE, &no.0).await
}

/// These versions.
///
/// # Errors
/// The database fails.
pub async fn get(client: &Client, nos: &[i32]) -> Result<Vec<Version>> {
    read(client, ONE, &nos).await
}

async fn read(
    client: &Client,
    sql: &str,
    parameter: &(dyn tokio_postgres::types::ToSql + Sync),
) -> Result<Vec<Version>> {
    let statement = client.prepare_cached(sql).await?;
    let rows = client.query(&statement, &[parameter]).await?;
    Ok(rows
        .iter()
        .map(|row| Version {
            no: ScenarioNo(row.get(0)),
            name: row.get(1),
            version: row.get(2),
            source: row.get(3),
        })
        .collect())
}

/// Names with their newest version and when it came.
///
/// # Errors
/// The database fails.
pub async fn list(client: &Client) -> Result<Vec<(String, i32, Timestamp)>> {
    let statement = client.prepare_cached(LIST).await?;
    let rows = client.query(&statement, &[]).await?;
    Ok(rows.iter().map(|row| (row.get(0), row.get(1), row.get(2))).collect())
}

/// The versions of a name, newest first, with their texts.
///
/// # Errors
/// The database fails.
pub async fn versions(client: &Client, name: &str) -> Result<Vec<(i32, Timestamp, String)>> {
    let statement = client.prepare_cached(VERSIONS).await?;
    let rows = client.query(&statement, &[&name]).await?;
    Ok(rows.iter().map(|row| (row.get(0), row.get(1), row.get(2))).collect())
}
