//! Refused messages, from the moment at which somebody first asks for them until a person has decided about each.

use std::time::Duration;

use pagurus_domain::number::saturated;
use pagurus_wire::refused::RefusedLine;
use tokio_postgres::Row;
use uuid::Uuid;

use crate::columns::columns;
use crate::row::read;
use crate::sql::statements;
use crate::{Client, Result, Tx};

statements! {
    TAKE = "
        INSERT INTO refused (id, reason, refused_at, exchange, key, properties, body)
        SELECT * FROM unnest($1::uuid[], $2::text[], $3::text[], $4::text[], $5::text[], $6::text[], $7::bytea[])
               AS t (id, reason, refused_at, exchange, key, properties, body)
        ON CONFLICT (id) DO NOTHING";
    LIST = "
        SELECT no, id, reason, refused_at, exchange, key, octet_length(body) AS bytes, taken_at
          FROM refused WHERE no < $1 ORDER BY no DESC LIMIT $2";
    SHOW = "
        SELECT no, id, reason, refused_at, exchange, key, properties, body, octet_length(body) AS bytes, taken_at
          FROM refused WHERE id = $1";
    LOCK = "
        SELECT no, id, reason, refused_at, exchange, key, properties, body, octet_length(body) AS bytes, taken_at
          FROM refused WHERE id = $1 FOR UPDATE";
    // Of the oldest only: whatever there is, no more rows are read than may be deleted.
    FORGET = "
        DELETE FROM refused
         WHERE no = ANY(ARRAY(
               SELECT no FROM (SELECT no, taken_at FROM refused WHERE no > 0 ORDER BY no LIMIT $2) AS oldest
                WHERE taken_at < now() - make_interval(secs => $1)))";
    // Lengths are read without what they are of.
    TRIM = "
        WITH held AS (
            SELECT no, octet_length(body) + octet_length(properties) AS bytes FROM refused),
        trimmed AS (
            DELETE FROM refused WHERE no IN (
                SELECT no FROM (SELECT no, sum(bytes) OVER (ORDER BY no DESC) AS up_to FROM held) AS newest
                 WHERE up_to > $1)
            RETURNING no)
        SELECT count(*) AS messages, coalesce(sum(held.bytes), 0)::bigint AS bytes
          FROM trimmed JOIN held USING (no)";
    DROP = "DELETE FROM refused WHERE id = $1";
}

/// A refused message, as it came out of its broker queue.
#[derive(Clone, Debug)]
pub struct NewRefused {
    /// Given at its refusal.
    pub id: Uuid,
    /// Reason of the refusal.
    pub reason: String,
    /// Time of the refusal, as it was written then.
    pub refused_at: String,
    /// Exchange to which it had been published.
    pub exchange: String,
    /// Key with which it had been published.
    pub key: String,
    /// Properties, as JSON.
    pub properties: String,
    /// Body, byte for byte.
    pub body: Vec<u8>,
}

/// A refused message with everything.
#[derive(Clone, Debug)]
pub struct StoredRefused {
    /// Line that a list shows of it.
    pub line: RefusedLine,
    /// Properties, as JSON.
    pub properties: String,
    /// Body, byte for byte.
    pub body: Vec<u8>,
}

/// Stores messages; those that are there already stay as they are.
pub async fn take(tx: &Tx<'_>, messages: &[NewRefused]) -> Result<()> {
    let columns = columns!(one in messages => {
        id: Uuid = one.id,
        reason: &str = one.reason.as_str(),
        refused_at: &str = one.refused_at.as_str(),
        exchange: &str = one.exchange.as_str(),
        key: &str = one.key.as_str(),
        properties: &str = one.properties.as_str(),
        body: &[u8] = one.body.as_slice(),
    });
    columns.query(tx, TAKE, &[]).await?;
    Ok(())
}

/// Messages with smaller numbers than this, the newest first, and their numbers.
pub async fn list(client: &Client, below: i64, limit: i64) -> Result<Vec<(i64, RefusedLine)>> {
    let rows = client.query(&client.prepare_cached(LIST).await?, &[&below, &limit]).await?;
    Ok(rows.iter().map(|row| (row.get("no"), line(row))).collect())
}

/// Reads a message.
pub async fn show(client: &Client, id: Uuid) -> Result<Option<StoredRefused>> {
    let row = client.query_opt(&client.prepare_cached(SHOW).await?, &[&id]).await?;
    Ok(row.as_ref().map(whole))
}

/// The same, locked: nobody else decides about it meanwhile.
pub async fn lock(tx: &Tx<'_>, id: Uuid) -> Result<Option<StoredRefused>> {
    let row = tx.query_opt(&tx.prepare_cached(LOCK).await?, &[&id]).await?;
    Ok(row.as_ref().map(whole))
}

/// Removes a locked message.
pub async fn drop_locked(tx: &Tx<'_>, id: Uuid) -> Result<()> {
    tx.execute(&tx.prepare_cached(DROP).await?, &[&id]).await?;
    Ok(())
}

/// Messages that were removed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Trimmed {
    /// Number of them.
    pub messages: u64,
    /// Length of their bodies and properties.
    pub bytes: u64,
}

/// Removes the oldest messages as long as all together have more bytes than this.
pub async fn trim(client: &Client, max_bytes: usize) -> Result<Trimmed> {
    let max = saturated::<i64>(max_bytes);
    let row = client.query_one(&client.prepare_cached(TRIM).await?, &[&max]).await?;
    let number = |column: &str| saturated::<u64>(row.get::<_, i64>(column));
    Ok(Trimmed { messages: number("messages"), bytes: number("bytes") })
}

/// Removes messages that were taken out of their broker queue longer ago than this, at most `limit`; returns their number.
pub async fn forget(client: &Client, older_than: Duration, limit: i64) -> Result<u64> {
    let statement = client.prepare_cached(FORGET).await?;
    Ok(client.execute(&statement, &[&older_than.as_secs_f64(), &limit]).await?)
}

fn line(row: &Row) -> RefusedLine {
    read!(row => RefusedLine {
        reason, refused_at, exchange, key, bytes, taken_at;
        id: row.get::<_, Uuid>("id").to_string()
    })
}

fn whole(row: &Row) -> StoredRefused {
    StoredRefused { line: line(row), properties: row.get("properties"), body: row.get("body") }
}
