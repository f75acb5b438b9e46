//! Bulk operations (REC-12): what is to be done to many orders, how far it is, and its results. The orders of each
//! stand in `items`.

pub mod items;
mod reasons;

use std::time::Duration;

use jiff::Timestamp;
use pagurus_domain::number::saturated;
use pagurus_domain::operation::{Counts, OperationState, Progress};
use pagurus_domain::order::Priority;
use tokio_postgres::Row;

use crate::row::word;
use crate::sql::statements;
use crate::{Connection, Error, Result, Tx};
pub(crate) use reasons::STATEMENTS as REASON_STATEMENTS;
pub use reasons::reasons;

/// All columns of an operation.
macro_rules! operation {
    () => {
        "no, action, fields, search, again, shift, reason, made_by, made_at, urgency, rate, ramp, follow_until, state, because,
         tenants, selection, looked, total, done, skipped, failed, succeeded, failed_again, failed_otherwise, left_alone, speed,
         allowance, allowed_at, acted_at, ended_at, now() AS now"
    };
}

statements! {
    CREATE = "
        INSERT INTO operations (key, asked, action, fields, search, again, reason, made_by, urgency, rate, ramp, follow_until, tenants, state,
                                selection)
        VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, 'running', '')
        ON CONFLICT (key) DO UPDATE SET key = excluded.key RETURNING no, (xmax = 0) AS is_new, asked, action, fields";
    FIND = concat!("SELECT ", operation!(), " FROM operations WHERE no = $1");
    LOCK = concat!("SELECT ", operation!(), " FROM operations WHERE no = $1 FOR UPDATE");
    LIST = concat!("
        SELECT ", operation!(), " FROM operations
         WHERE no < $1 AND ($2::text IS NULL OR state = $2) AND ($4::text[] IS NULL OR tenants <@ $4)
         ORDER BY no DESC LIMIT $3");
    LIVE = concat!("
        SELECT ", operation!(), " FROM operations WHERE state IN ('running', 'paused')
         ORDER BY array_position(ARRAY['high', 'normal', 'low'], urgency), no LIMIT $1");
    // Those whose orders still go on after all was done.
    UNSETTLED = "
        SELECT no FROM operations
         WHERE done > succeeded + failed_again + failed_otherwise + left_alone
           AND (ended_at IS NULL OR ended_at > now() - make_interval(secs => $1))
           -- Most actions begin no life whose end is awaited.
           AND EXISTS (SELECT FROM operation_orders i
                        WHERE i.operation = ANY(ARRAY[operations.no]) AND i.life IS NOT NULL AND i.aftermath IS NULL OFFSET 0)
         ORDER BY ended_at IS NOT NULL, no LIMIT $2";
    SET_STATE = "
        UPDATE operations SET state = $2, because = $3, ended_at = CASE WHEN $2 IN ('done', 'aborted') THEN now() END,
               selection = CASE WHEN $2 = 'aborted' THEN NULL ELSE selection END
         WHERE no = $1";
    SET_SHIFT = "
        UPDATE operations SET shift = $2 WHERE no = $1";
    TRY_LOCK = "SELECT pg_try_advisory_xact_lock(hashtextextended('operation', $1)) AS mine";
    ADVANCE = "
        UPDATE operations SET selection = $2, looked = looked + $3, total = total + $4 WHERE no = $1 AND state = 'running'";
    ALLOW = "UPDATE operations SET allowance = $2, allowed_at = now() WHERE no = $1";
    ACTED = "
        UPDATE operations SET done = done + $2, skipped = skipped + $3, failed = failed + $4, speed = $5, acted_at = now()
         WHERE no = $1";
    SETTLED = "
        UPDATE operations SET succeeded = succeeded + $2, failed_again = failed_again + $3,
               failed_otherwise = failed_otherwise + $4, left_alone = left_alone + $5
         WHERE no = $1";
    FORGET = "
        DELETE FROM operations WHERE no = ANY(ARRAY(
            SELECT no FROM operations o WHERE ended_at < now() - make_interval(secs => $1)
               AND NOT EXISTS (SELECT FROM operation_orders i WHERE i.operation = ANY(ARRAY[o.no])) ORDER BY no LIMIT 100))";
    FORGET_REASONS = "DELETE FROM operation_reasons r WHERE NOT EXISTS (SELECT FROM operations o WHERE o.no = r.operation)";
    OLDEST_ENDED = "SELECT no FROM operations WHERE ended_at < now() - make_interval(secs => $1) ORDER BY no LIMIT 1";
}

/// An operation that is to be made.
#[derive(Clone, Debug)]
pub struct NewOperation<'a> {
    /// Key of the request, by which a repeat is known.
    pub key: &'a str,
    /// Digest of what is asked under the key.
    pub digest: &'a str,
    /// Word of the action.
    pub action: &'a str,
    /// Fields of the action, as JSON.
    pub fields: &'a str,
    /// Conditions of the selection, as JSON.
    pub search: &'a str,
    /// The operation whose failed orders are taken again.
    pub again: Option<i64>,
    /// Why.
    pub reason: &'a str,
    /// Principal that asked, as JSON.
    pub by: &'a str,
    /// Urgency among operations.
    pub urgency: Priority,
    /// Orders a second at most.
    pub rate: Option<f64>,
    /// Growth, as JSON.
    pub ramp: Option<&'a str>,
    /// Until when orders that come to match are taken, too.
    pub follow_until: Option<Timestamp>,
    /// Tenants of those who asked, where they do not see everything.
    pub tenants: Option<&'a [String]>,
}

/// An operation.
#[derive(Clone, Debug)]
pub struct StoredOperation {
    /// Number.
    pub no: i64,
    /// Word of the action.
    pub action: String,
    /// Fields of the action, as JSON.
    pub fields: String,
    /// Conditions of the selection, as JSON.
    pub search: String,
    /// The operation whose failed orders are taken again.
    pub again: Option<i64>,
    /// Record by which moved orders can be moved back.
    pub shift: Option<i64>,
    /// Why.
    pub reason: String,
    /// Principal that asked, as JSON.
    pub made_by: String,
    /// When.
    pub made_at: Timestamp,
    /// Urgency among operations.
    pub urgency: Priority,
    /// Orders a second at most.
    pub rate: Option<f64>,
    /// Growth, as JSON.
    pub ramp: Option<String>,
    /// Until when orders that come to match are taken, too.
    pub follow_until: Option<Timestamp>,
    /// Tenants of those who asked, where they do not see everything.
    pub tenants: Option<Vec<String>>,
    /// State.
    pub state: OperationState,
    /// Why it is in this state, where it came there by itself.
    pub because: Option<String>,
    /// Point at which the selection goes on; none where it has been made.
    pub selection: Option<String>,
    /// Orders that the selection has looked at.
    pub looked: i64,
    /// Counts.
    pub counts: Counts,
    /// Recent orders a second.
    pub speed: f64,
    /// Orders that the rate allows, saved up at `allowed_at`.
    pub allowance: f64,
    /// Time at which the allowance was so much.
    pub allowed_at: Timestamp,
    /// Time at which orders were acted on last.
    pub acted_at: Option<Timestamp>,
    /// Time at which the operation was over.
    pub ended_at: Option<Timestamp>,
    /// Time of the database.
    pub now: Timestamp,
}

impl StoredOperation {
    fn read(row: &Row) -> Result<Self> {
        let count = |column: &str| saturated::<u64>(row.get::<_, i64>(column));
        Ok(Self {
            no: row.get("no"),
            action: row.get("action"),
            fields: row.get("fields"),
            search: row.get("search"),
            again: row.get("again"),
            shift: row.get("shift"),
            reason: row.get("reason"),
            made_by: row.get("made_by"),
            made_at: row.get("made_at"),
            urgency: word(row, "urgency", "operations.urgency")?,
            rate: row.get("rate"),
            ramp: row.get("ramp"),
            follow_until: row.get("follow_until"),
            state: word(row, "state", "operations.state")?,
            because: row.get("because"),
            tenants: row.get("tenants"),
            selection: row.get("selection"),
            looked: row.get("looked"),
            counts: Counts {
                total: count("total"),
                done: count("done"),
                skipped: count("skipped"),
                failed: count("failed"),
                succeeded: count("succeeded"),
                failed_again: count("failed_again"),
                failed_otherwise: count("failed_otherwise"),
                left: count("left_alone"),
            },
            speed: row.get("speed"),
            allowance: row.get("allowance"),
            allowed_at: row.get("allowed_at"),
            acted_at: row.get("acted_at"),
            ended_at: row.get("ended_at"),
            now: row.get("now"),
        })
    }

    /// Progress, by which it is decided what is next; `awaits_ends` where its action begins lives.
    ///
    /// # Errors
    /// The stored ramp cannot be read.
    pub fn progress(&self, awaits_ends: bool) -> Result<Progress> {
        let ramp = self.ramp.as_deref().map(serde_json::from_str).transpose();
        Ok(Progress {
            counts: self.counts,
            selecting: self.selection.is_some(),
            awaits_ends,
            rate: self.rate,
            ramp: ramp.map_err(|error| Error::broken("operations.ramp", error))?,
            allowance: self.allowance,
            allowed_at: self.allowed_at,
            acted_at: self.acted_at,
        })
    }
}

/// An operation that a request has made.
#[derive(Clone, Debug)]
pub struct CreatedOperation {
    /// Number.
    pub no: i64,
    /// False where the same request had made it before.
    pub is_new: bool,
    /// Digest of what was asked under the key; none for an operation of a former version.
    pub digest: Option<String>,
    /// Word and fields of the action that was asked for.
    pub action: [String; 2],
}

/// Makes an operation, or finds the one that a request of the same key has made.
pub async fn create(tx: &Tx<'_>, new: &NewOperation<'_>) -> Result<CreatedOperation> {
    let statement = tx.prepare_cached(CREATE).await?;
    let row = tx
        .query_one(
            &statement,
            &[
                &new.key,
                &new.digest,
                &new.action,
                &new.fields,
                &new.search,
                &new.again,
                &new.reason,
                &new.by,
                &new.urgency.as_str(),
                &new.rate,
                &new.ramp,
                &new.follow_until,
                &new.tenants,
            ],
        )
        .await?;
    Ok(CreatedOperation {
        no: row.get("no"),
        is_new: row.get("is_new"),
        digest: row.get("asked"),
        action: [row.get("action"), row.get("fields")],
    })
}

/// An operation by its number.
pub async fn find(client: &impl Connection, no: i64) -> Result<Option<StoredOperation>> {
    let row = client.query_opt(&client.prepare_cached(FIND).await?, &[&no]).await?;
    row.as_ref().map(StoredOperation::read).transpose()
}

/// The same, locked until the end of the transaction.
pub async fn lock(tx: &Tx<'_>, no: i64) -> Result<Option<StoredOperation>> {
    let row = tx.query_opt(&tx.prepare_cached(LOCK).await?, &[&no]).await?;
    row.as_ref().map(StoredOperation::read).transpose()
}

/// Operations below a number, the newest first, of one state where it is given; where `tenants` are given, only what members of
/// them alone have asked for.
pub async fn list(
    client: &impl Connection,
    below: i64,
    state: Option<OperationState>,
    tenants: Option<&[String]>,
    limit: i64,
) -> Result<Vec<StoredOperation>> {
    let statement = client.prepare_cached(LIST).await?;
    let state = state.map(OperationState::as_str);
    let rows = client.query(&statement, &[&below, &state, &limit, &tenants]).await?;
    rows.iter().map(StoredOperation::read).collect()
}

/// Operations that run or are paused, the most urgent first.
pub async fn live(client: &impl Connection, limit: i64) -> Result<Vec<StoredOperation>> {
    let rows = client.query(&client.prepare_cached(LIVE).await?, &[&limit]).await?;
    rows.iter().map(StoredOperation::read).collect()
}

/// Operations with orders whose end is awaited, and that ended no longer ago than this.
pub async fn unsettled(client: &impl Connection, within: Duration, limit: i64) -> Result<Vec<i64>> {
    let statement = client.prepare_cached(UNSETTLED).await?;
    let rows = client.query(&statement, &[&within.as_secs_f64(), &limit]).await?;
    Ok(rows.iter().map(|row| row.get("no")).collect())
}

/// Puts a locked operation into another state.
pub async fn set_state(tx: &Tx<'_>, no: i64, state: OperationState, because: Option<&str>) -> Result<()> {
    tx.execute(&tx.prepare_cached(SET_STATE).await?, &[&no, &state.as_str(), &because]).await?;
    Ok(())
}

/// Keeps the number of the shift by which a new operation moves orders.
pub async fn set_shift(tx: &Tx<'_>, no: i64, shift: i64) -> Result<()> {
    tx.execute(&tx.prepare_cached(SET_SHIFT).await?, &[&no, &shift]).await?;
    Ok(())
}

/// Takes the turn to select orders for an operation, until the end of the transaction; false where somebody else has it.
pub async fn try_selection(tx: &Tx<'_>, no: i64) -> Result<bool> {
    Ok(tx.query_one(&tx.prepare_cached(TRY_LOCK).await?, &[&no]).await?.get("mine"))
}

/// Notes how far a selection is; false where the operation does not run any more.
pub async fn advance(tx: &Tx<'_>, no: i64, selection: Option<&str>, looked: i64, added: i64) -> Result<bool> {
    let statement = tx.prepare_cached(ADVANCE).await?;
    Ok(tx.execute(&statement, &[&no, &selection, &looked, &added]).await? == 1)
}

/// Keeps the allowance that is left of the rate.
pub async fn allow(tx: &Tx<'_>, no: i64, allowance: f64) -> Result<()> {
    tx.execute(&tx.prepare_cached(ALLOW).await?, &[&no, &allowance]).await?;
    Ok(())
}

/// Adds the outcomes of orders that were acted on: done, skipped, failed.
pub async fn acted(tx: &Tx<'_>, no: i64, [done, skipped, failed]: [i64; 3], speed: f64) -> Result<()> {
    tx.execute(&tx.prepare_cached(ACTED).await?, &[&no, &done, &skipped, &failed, &speed]).await?;
    Ok(())
}

/// Adds the later outcomes of orders: succeeded, failed again, failed otherwise, left.
pub async fn settled(tx: &Tx<'_>, no: i64, counts: [i64; 4]) -> Result<()> {
    let [succeeded, again, otherwise, left] = counts;
    let statement = tx.prepare_cached(SETTLED).await?;
    tx.execute(&statement, &[&no, &succeeded, &again, &otherwise, &left]).await?;
    Ok(())
}

/// Removes what is left of operations that ended longer ago than this: a bounded number of orders of one, and what has
/// no orders any more. How many orders.
pub async fn forget(tx: &Tx<'_>, older_than: Duration, limit: i64) -> Result<u64> {
    let seconds = older_than.as_secs_f64();
    let oldest = tx.query_opt(&tx.prepare_cached(OLDEST_ENDED).await?, &[&seconds]).await?;
    let Some(oldest) = oldest else { return Ok(0) };
    let removed = items::forget(tx, oldest.get("no"), limit).await?;
    if removed == 0 {
        tx.execute(&tx.prepare_cached(FORGET).await?, &[&seconds]).await?;
        tx.execute(&tx.prepare_cached(FORGET_REASONS).await?, &[]).await?;
    }
    Ok(removed)
}
