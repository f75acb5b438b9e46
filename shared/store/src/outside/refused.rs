//! Refused messages, from the moment at which somebody first asks for them until a person has decided about each.

use std::time::Duration;

use jiff::Timestamp;
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
        INSERT INTO refused (id, reason, refused_at, answered, exchange, key, properties, body)
        SELECT * FROM unnest($1::uuid[], $2::text[], $3::text[], $4::bool[], $5::text[], $6::text[], $7::text[], $8::bytea[])
               AS t (id, reason, refused_at, answered, exchange, key, properties, body)
        ON CONFLICT (id) DO NOTHING";
    // Each status by itself: those that wait for a decision have an index of their own. Times are texts of one form, which
    // sort as they follow each other; what a stranger wrote there is only compared.
    LIST_OPEN = r#"
        SELECT no, id, reason, refused_at, answered, exchange, key, octet_length(body) AS bytes, taken_at
          FROM refused
         WHERE NOT answered AND no < $1 AND ($3::text IS NULL OR split_part(reason, ':', 1) = $3)
           AND ($4::text IS NULL OR refused_at COLLATE "C" < $4)
         ORDER BY no DESC LIMIT $2"#;
    LIST = r#"
        SELECT no, id, reason, refused_at, answered, exchange, key, octet_length(body) AS bytes, taken_at
          FROM refused
         WHERE (answered OR $5) AND no < $1 AND ($3::text IS NULL OR split_part(reason, ':', 1) = $3)
           AND ($4::text IS NULL OR refused_at COLLATE "C" < $4)
         ORDER BY no DESC LIMIT $2"#;
    DROP_SELECTED = r#"
        DELETE FROM refused
         WHERE no = ANY(ARRAY(
               SELECT no FROM refused
                WHERE (answered = $4 OR $4 IS NULL) AND ($2::text IS NULL OR split_part(reason, ':', 1) = $2)
                  AND ($3::text IS NULL OR refused_at COLLATE "C" < $3)
                ORDER BY no LIMIT $1 FOR UPDATE SKIP LOCKED))"#;
    SHOW = "
        SELECT no, id, reason, refused_at, answered, exchange, key, properties, body, octet_length(body) AS bytes, taken_at
          FROM refused WHERE id = $1";
    LOCK = "
        SELECT no, id, reason, refused_at, answered, exchange, key, properties, body, octet_length(body) AS bytes, taken_at
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
    /// True if its sender got a receipt.
    pub answered: bool,
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
        answered: bool = one.answered,
        exchange: &str = one.exchange.as_str(),
        key: &str = one.key.as_str(),
        properties: &str = one.properties.as_str(),
        body: &[u8] = one.body.as_slice(),
    });
    columns.query(tx, TAKE, &[]).await?;
    Ok(())
}

/// Messages to list or to drop: those that meet each condition.
#[derive(Clone, Debug)]
pub struct RefusedSelection {
    /// True for those whose senders got a receipt, false for those that wait for a decision; none for both.
    pub answered: Option<bool>,
    /// First word of the reason: the type of the problem.
    pub reason_type: Option<String>,
    /// Time before which they were refused.
    pub before: Option<Timestamp>,
}

impl RefusedSelection {
    /// The bound as the text of a whole second, which sorts before all times of that second.
    fn before(&self) -> Option<String> {
        self.before.map(|time| time.strftime("%Y-%m-%dT%H:%M:%S").to_string())
    }
}

/// Messages with smaller numbers than this, the newest first, and their numbers.
pub async fn list(
    client: &Client,
    selection: &RefusedSelection,
    below: i64,
    limit: i64,
) -> Result<Vec<(i64, RefusedLine)>> {
    let (reason, before) = (&selection.reason_type, selection.before());
    let rows = match selection.answered {
        Some(false) => {
            let statement = client.prepare_cached(LIST_OPEN).await?;
            client.query(&statement, &[&below, &limit, reason, &before]).await?
        }
        answered => {
            let statement = client.prepare_cached(LIST).await?;
            client.query(&statement, &[&below, &limit, reason, &before, &answered.is_none()]).await?
        }
    };
    Ok(rows.iter().map(|row| (row.get("no"), line(row))).collect())
}

/// Removes the oldest messages of a selection, at most `limit`; returns their number.
pub async fn drop_selected(tx: &Tx<'_>, selection: &RefusedSelection, limit: i64) -> Result<u64> {
    let statement = tx.prepare_cached(DROP_SELECTED).await?;
    let before = selection.before();
    Ok(tx.execute(&statement, &[&limit, &selection.reason_type, &before, &selection.answered]).await?)
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
        reason, refused_at, answered, exchange, key, bytes, taken_at;
        id: row.get::<_, Uuid>("id").to_string()
    })
}

fn whole(row: &Row) -> StoredRefused {
    StoredRefused { line: line(row), properties: row.get("properties"), body: row.get("body") }
}
