//! Replays: notifications of orders that ended in a time range, stored again for one subscription (ORD-38).
//!
//! A replay walks over all orders by number. It begins once no transaction is open that could still end an order in its range
//! without knowing the subscription as it was when the replay was asked for.

use jiff::Timestamp;
use pagurus_domain::order::change::LifeEnd;
use pagurus_domain::order::{OrderError, OrderHead, ScenarioStatus, Status};
use pagurus_domain::subscription::SubscriptionRule;
use serde_json::Value;

use crate::hot::standing::read_rule;
use crate::row::{head, word};
use crate::sql::statements;
use crate::{Connection, Result, Tx};

statements! {
    CREATE = "
        INSERT INTO replays (subscription, ended_from, ended_until, reason, made_by)
        SELECT $1, $2, least(coalesce($3, now()), now()), $4, $5
         WHERE (SELECT count(*) FROM replays WHERE subscription = $1 AND done_at IS NULL) < 4
        RETURNING no";
    LIST = "
        SELECT r.no, r.ended_from, r.ended_until, r.position, r.last, r.looked_at, r.stored, r.reason, r.made_by, r.made_at, r.done_at
          FROM replays r JOIN subscriptions s ON s.no = r.subscription
         WHERE s.name = $1 AND s.removed_at IS NULL ORDER BY r.no DESC LIMIT 100";
    STOP = "UPDATE replays SET done_at = now() WHERE no = $2 AND subscription = $1 AND done_at IS NULL";
    // One whose subscription is paused, or has much that waits, leaves its turn to others.
    TAKE = "
        SELECT r.no AS replay, r.position, r.last, r.ended_from, r.ended_until, r.barrier IS NULL AS is_new,
               coalesce(r.barrier <= pg_snapshot_xmin(pg_current_snapshot()), false) AS may_begin,
               s.no, s.url, s.format, s.secret, s.occasions, s.scenarios, s.labels::text AS labels, s.outcomes
          FROM replays r JOIN subscriptions s ON s.no = r.subscription
         WHERE r.done_at IS NULL AND s.paused_at IS NULL AND s.removed_at IS NULL AND r.made_at < now() - interval '2 seconds'
           AND (SELECT count(*) FROM (SELECT FROM outbox o WHERE o.subscription = s.no LIMIT $1) AS b) < $1
         ORDER BY r.no LIMIT 1 FOR UPDATE OF r SKIP LOCKED";
    BEGIN_REPLAY = "
        UPDATE replays SET barrier = pg_snapshot_xmax(pg_current_snapshot()), last = (SELECT coalesce(max(no), 0) FROM orders)
         WHERE no = $1";
    PIECE = "
        SELECT count(*) AS looked_at, max(p.no) AS last
          FROM (SELECT o.no FROM orders o WHERE o.no > $1 AND o.no <= $2 ORDER BY o.no LIMIT $3) AS p";
    // The end of an order that had failed or was interrupted is another end of its life: its event says from where.
    ENDED = r#"
        SELECT o.no, o.id, o.scenario, o.mode, o.transaction_id, o.notify, o.answers, o.labels::text AS labels, o.trace, o.life, o.created_at,
               o.started_at, o.stages, o.retries, o.status, o.scenario_status, o.step, o.result, o.message, o.error_class,
               o.error_message, o.finished_at, s.name AS scenario_name, s.version AS scenario_version,
               o.status = 'canceled' AND EXISTS (
                   SELECT FROM history h
                    WHERE h.order_no = ANY(ARRAY[o.no]) AND h.life = o.life AND h.kind = 'canceled'
                      AND (h.detail LIKE '%"from":"fail"%' OR h.detail LIKE '%"from":"interrupted"%')) AS is_second
          FROM orders o JOIN scenarios s ON s.no = o.scenario
         WHERE o.no > $1 AND o.no <= $2 AND o.finished_at >= $3 AND o.finished_at < $4
         ORDER BY o.no"#;
    ADVANCE = "
        UPDATE replays
           SET position = $2, looked_at = looked_at + $3, stored = stored + $4,
               done_at = CASE WHEN $2 >= last THEN clock_timestamp() END
         WHERE no = $1";
}

/// A replay, as people see it.
#[derive(Clone, Debug)]
pub struct StoredReplay {
    /// Number.
    pub no: i64,
    /// Orders that ended from this time on.
    pub from: Timestamp,
    /// Orders that ended before this time.
    pub until: Timestamp,
    /// Number of the last order that was looked at.
    pub position: i64,
    /// Number of the last order that is to be looked at; none before it has begun.
    pub last: Option<i64>,
    /// Orders that were looked at.
    pub looked_at: i64,
    /// Notifications that were stored.
    pub stored: i64,
    /// Why.
    pub reason: Option<String>,
    /// Principal that asked, as JSON.
    pub made_by: String,
    /// When.
    pub made_at: Timestamp,
    /// When it was done, or stopped.
    pub done_at: Option<Timestamp>,
}

/// Asks for a replay, until now where no end is given; its number. `None` where this subscription has too many.
pub async fn create(
    tx: &Tx<'_>,
    subscription: i64,
    (from, until): (Timestamp, Option<Timestamp>),
    reason: Option<&str>,
    by: &str,
) -> Result<Option<i64>> {
    let statement = tx.prepare_cached(CREATE).await?;
    let row = tx.query_opt(&statement, &[&subscription, &from, &until, &reason, &by]).await?;
    Ok(row.map(|row| row.get("no")))
}

/// The latest replays of a subscription, the newest first.
pub async fn list(on: &impl Connection, name: &str) -> Result<Vec<StoredReplay>> {
    let rows = on.query(&on.prepare_cached(LIST).await?, &[&name]).await?;
    Ok(rows
        .iter()
        .map(|row| StoredReplay {
            no: row.get("no"),
            from: row.get("ended_from"),
            until: row.get("ended_until"),
            position: row.get("position"),
            last: row.get("last"),
            looked_at: row.get("looked_at"),
            stored: row.get("stored"),
            reason: row.get("reason"),
            made_by: row.get("made_by"),
            made_at: row.get("made_at"),
            done_at: row.get("done_at"),
        })
        .collect())
}

/// Stops a replay of a subscription; false where there is none that goes on.
pub async fn stop(tx: &Tx<'_>, subscription: i64, no: i64) -> Result<bool> {
    Ok(tx.execute(&tx.prepare_cached(STOP).await?, &[&subscription, &no]).await? == 1)
}

/// A replay that goes on in this transaction.
#[derive(Clone, Debug)]
pub struct ReplayInHand {
    /// Number of the replay.
    pub no: i64,
    /// Number of the subscription.
    pub subscription: i64,
    /// The rule, as it is now.
    pub rule: SubscriptionRule,
    position: i64,
    last: i64,
    from: Timestamp,
    until: Timestamp,
}

/// Takes a replay for whose subscription less than this waits, so that nobody else goes on with it. One that may not begin yet is
/// none.
///
/// # Errors
/// The database fails, or holds a word that this version does not know.
pub async fn take(tx: &Tx<'_>, fewer_than: i64) -> Result<Option<ReplayInHand>> {
    let Some(row) = tx.query_opt(&tx.prepare_cached(TAKE).await?, &[&fewer_than]).await? else {
        return Ok(None);
    };
    let no: i64 = row.get("replay");
    if row.get("is_new") {
        tx.execute(&tx.prepare_cached(BEGIN_REPLAY).await?, &[&no]).await?;
    }
    if !row.get::<_, bool>("may_begin") {
        return Ok(None);
    }
    Ok(Some(ReplayInHand {
        no,
        subscription: row.get("no"),
        rule: read_rule(&row)?,
        position: row.get("position"),
        last: row.get::<_, Option<i64>>("last").unwrap_or_default(),
        from: row.get("ended_from"),
        until: row.get("ended_until"),
    }))
}

/// An order that ended in the range of a replay.
#[derive(Clone, Debug)]
pub struct ReplayedEnd {
    /// The order.
    pub head: OrderHead,
    /// Name of its scenario.
    pub scenario: String,
    /// Version of it.
    pub scenario_version: i32,
    /// Status in which it ended.
    pub status: Status,
    /// Relation of the end to the targets of the scenario.
    pub scenario_status: ScenarioStatus,
    /// Last state.
    pub step: Option<String>,
    /// Result.
    pub result: Option<Value>,
    /// Message of the scenario.
    pub message: Option<String>,
    /// Error of this end.
    pub error: Option<OrderError>,
    /// Time of the end.
    pub finished_at: Timestamp,
    /// The end of its life that it is.
    pub end: LifeEnd,
}

/// The next orders of a replay.
#[derive(Clone, Debug)]
pub struct ReplayPiece {
    /// Orders that were looked at.
    pub looked_at: i64,
    /// Orders among them that ended in the range.
    pub ended: Vec<ReplayedEnd>,
    /// Number of the last order that was looked at.
    position: i64,
}

/// Looks at the next orders of a replay.
///
/// # Errors
/// The database fails, or holds a word that this version does not know.
pub async fn piece(tx: &Tx<'_>, replay: &ReplayInHand, limit: i64) -> Result<ReplayPiece> {
    let statement = tx.prepare_cached(PIECE).await?;
    let row = tx.query_one(&statement, &[&replay.position, &replay.last, &limit]).await?;
    let position = row.get::<_, Option<i64>>("last").unwrap_or(replay.last);
    let statement = tx.prepare_cached(ENDED).await?;
    let rows = tx.query(&statement, &[&replay.position, &position, &replay.from, &replay.until]).await?;
    let ended: Result<Vec<ReplayedEnd>> = rows.iter().map(read_end).collect();
    Ok(ReplayPiece { looked_at: row.get("looked_at"), ended: ended?, position })
}

fn read_end(row: &tokio_postgres::Row) -> Result<ReplayedEnd> {
    let is_second: bool = row.get("is_second");
    let class: Option<String> = row.get("error_class");
    let message: Option<String> = row.get("error_message");
    // The failure before a second end is not why it ended so.
    let error =
        message.filter(|_| !is_second).map(|message| OrderError { class, ..OrderError::new("", message) });
    let result: Option<String> = row.get("result");
    Ok(ReplayedEnd {
        head: head(row)?,
        scenario: row.get("scenario_name"),
        scenario_version: row.get("scenario_version"),
        status: word(row, "status", "orders.status")?,
        scenario_status: word(row, "scenario_status", "orders.scenario_status")?,
        step: row.get("step"),
        result: result.and_then(|text| serde_json::from_str(&text).ok()),
        message: row.get("message"),
        error,
        finished_at: row.get("finished_at"),
        end: if is_second { LifeEnd::Second } else { LifeEnd::First },
    })
}

/// Notes how far a replay has come; it is done where that is the end.
pub async fn advance(tx: &Tx<'_>, replay: &ReplayInHand, piece: &ReplayPiece, stored: u64) -> Result<()> {
    let statement = tx.prepare_cached(ADVANCE).await?;
    let stored = i64::try_from(stored).unwrap_or(i64::MAX);
    tx.execute(&statement, &[&replay.no, &piece.position, &piece.looked_at, &stored]).await?;
    Ok(())
}
