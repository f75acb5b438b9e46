//! Times of schedules that have come: which are due, what was decided about each, and what has not ended. The caller
//! registers the orders in the same transaction.

use jiff::Timestamp;
use pagurus_domain::id::OrderNo;
use pagurus_domain::order::Status;
use pagurus_domain::schedule::RunOutcome;
use tokio_postgres::Row;

use super::{RunCounts, SchedulePlace, StoredSchedule, columns_of_schedules, read_schedule};
use crate::columns::columns;
use crate::row::{read, word};
use crate::sql::{shown_status, statements};
use crate::{Client, Connection, Result, Tx};

/// Times of a schedule that are kept: the last ones, and those whose orders have not ended.
pub const KEPT: i64 = 100;

statements! {
    DUE = "
        SELECT name FROM schedules WHERE paused_at IS NULL AND next_at <= clock_timestamp() ORDER BY next_at LIMIT $1";
    // The end of what they wait for makes them due.
    FREE = "
        SELECT name FROM schedules s
         WHERE paused_at IS NULL AND queued > 0
           AND NOT EXISTS (SELECT FROM schedule_runs r JOIN orders o ON o.id = ANY(ARRAY[r.order_id])
                            WHERE r.schedule = s.name AND o.finished_at IS NULL)
         ORDER BY name LIMIT $1";
    SECONDS_LEFT = "
        SELECT extract(epoch FROM next_at - clock_timestamp())::float8 AS seconds FROM schedules
         WHERE paused_at IS NULL AND next_at IS NOT NULL ORDER BY next_at LIMIT 1";
    // Who holds it is at the same work.
    TAKE = concat!("SELECT ", columns_of_schedules!(), " FROM schedules WHERE name = $1 FOR UPDATE SKIP LOCKED");
    UNENDED = concat!("
        SELECT o.no, o.id, ", shown_status!(), " AS status
          FROM schedule_runs u
          JOIN orders o ON o.id = ANY(ARRAY[u.order_id])
          LEFT JOIN running w ON w.order_no = ANY(ARRAY[o.no])
          LEFT JOIN ready r ON r.order_no = ANY(ARRAY[o.no])
         WHERE u.schedule = $1 AND o.finished_at IS NULL
         ORDER BY u.due_at LIMIT $2");
    FIRST_QUEUED = "
        SELECT due_at FROM schedule_runs WHERE schedule = $1 AND outcome = 'queued' ORDER BY due_at LIMIT 1";
    PUT_RUNS = "
        INSERT INTO schedule_runs (schedule, due_at, outcome, order_id, reason, missed, missed_from)
        SELECT $7, due_at, outcome, order_id, reason, missed, missed_from
          FROM unnest($1::timestamptz[], $2::text[], $3::text[], $4::text[], $5::integer[], $6::timestamptz[])
               AS t (due_at, outcome, order_id, reason, missed, missed_from)
        ON CONFLICT (schedule, due_at) DO UPDATE
           SET outcome = excluded.outcome, order_id = excluded.order_id, reason = excluded.reason,
               missed = excluded.missed, missed_from = excluded.missed_from, decided_at = clock_timestamp()";
    // What waits stays, and so does what the next times wait for.
    PRUNE_RUNS = "
        DELETE FROM schedule_runs r
         WHERE schedule = $1 AND outcome <> 'queued'
           AND due_at < (SELECT due_at FROM schedule_runs WHERE schedule = $1 ORDER BY due_at DESC OFFSET $2 LIMIT 1)
           AND ($3 OR NOT EXISTS (SELECT FROM orders o WHERE o.id = ANY(ARRAY[r.order_id]) AND o.finished_at IS NULL))";
    MOVE_ON = "
        UPDATE schedules
           SET decided_until = $2, next_at = $3, queued = queued + $4, registered = registered + $5, skipped = skipped + $6,
               missed = missed + $7, refused = refused + $8,
               refused_in_row = CASE WHEN $9 THEN $10 ELSE refused_in_row + $10 END,
               problem = coalesce($11, problem), problem_at = CASE WHEN $11 IS NULL THEN problem_at ELSE clock_timestamp() END
         WHERE name = $1";
    PUT_OFF = "
        UPDATE schedules
           SET next_at = clock_timestamp() + interval '1 minute', problem = $2, problem_at = clock_timestamp(),
               refused_in_row = greatest(refused_in_row, 1)
         WHERE name = $1";
    RUN = concat!("
        SELECT u.due_at, u.outcome, u.order_id, u.reason, u.missed, u.missed_from, u.decided_at,
               CASE WHEN o.no IS NOT NULL THEN ", shown_status!(), " END AS status
          FROM schedule_runs u
          LEFT JOIN orders o ON o.id = ANY(ARRAY[u.order_id])
          LEFT JOIN running w ON w.order_no = ANY(ARRAY[o.no])
          LEFT JOIN ready r ON r.order_no = ANY(ARRAY[o.no])
         WHERE u.schedule = $1 AND u.due_at = $2");
    RUNS = concat!("
        SELECT u.due_at, u.outcome, u.order_id, u.reason, u.missed, u.missed_from, u.decided_at,
               CASE WHEN o.no IS NOT NULL THEN ", shown_status!(), " END AS status
          FROM schedule_runs u
          LEFT JOIN orders o ON o.id = ANY(ARRAY[u.order_id])
          LEFT JOIN running w ON w.order_no = ANY(ARRAY[o.no])
          LEFT JOIN ready r ON r.order_no = ANY(ARRAY[o.no])
         WHERE u.schedule = $1 AND u.due_at < $2 ORDER BY u.due_at DESC LIMIT $3");
    SCHEDULE_LEVELS = "
        SELECT count(*) FILTER (WHERE paused_at IS NULL AND (next_at IS NOT NULL OR queued > 0)) AS active,
               count(*) FILTER (WHERE paused_at IS NOT NULL) AS paused,
               count(*) FILTER (WHERE paused_at IS NULL AND next_at IS NULL AND queued = 0) AS over,
               count(*) FILTER (WHERE refused_in_row > 0) AS failing,
               coalesce(greatest(extract(epoch FROM clock_timestamp() - min(next_at) FILTER (WHERE paused_at IS NULL)), 0), 0)::float8 AS lag
          FROM schedules";
}

/// Names of schedules of which times have come.
pub async fn due(client: &Client, limit: i64) -> Result<Vec<String>> {
    names(client.query(&client.prepare_cached(DUE).await?, &[&limit]).await?)
}

/// Names of schedules of which orders wait, and nothing is left that they wait for.
pub async fn free(client: &Client, limit: i64) -> Result<Vec<String>> {
    names(client.query(&client.prepare_cached(FREE).await?, &[&limit]).await?)
}

fn names(rows: Vec<Row>) -> Result<Vec<String>> {
    Ok(rows.iter().map(|row| row.get("name")).collect())
}

/// Seconds until the next time of any schedule, by the clock of the database; `None` where there is none.
pub async fn seconds_left(client: &Client) -> Result<Option<f64>> {
    let row = client.query_opt(&client.prepare_cached(SECONDS_LEFT).await?, &[]).await?;
    Ok(row.map(|row| row.get("seconds")))
}

/// The schedule of this name, which nobody else decides about until the end of the transaction; `None` where there is none,
/// or somebody is at it.
pub async fn take(tx: &Tx<'_>, name: &str) -> Result<Option<StoredSchedule>> {
    let row = tx.query_opt(&tx.prepare_cached(TAKE).await?, &[&name]).await?;
    Ok(row.as_ref().map(read_schedule))
}

/// An order of a schedule that has not ended.
#[derive(Clone, Debug)]
pub struct UnendedOrder {
    /// Our number of it.
    pub no: OrderNo,
    /// The id.
    pub id: String,
    /// Status that outsiders see.
    pub status: Status,
}

/// Orders of a schedule that have not ended, of those whose times are kept.
///
/// # Errors
/// The database fails, or holds a word that is not known.
pub async fn unended(client: &impl Connection, name: &str) -> Result<Vec<UnendedOrder>> {
    let rows = client.query(&client.prepare_cached(UNENDED).await?, &[&name, &KEPT]).await?;
    let one = |row: &Row| {
        let (no, status) = (OrderNo(row.get("no")), word(row, "status", "orders.status")?);
        Ok(read!(row => UnendedOrder { id; no: no, status: status }))
    };
    rows.iter().map(one).collect()
}

/// The first time whose order waits for one of before.
pub async fn first_queued(client: &impl Connection, name: &str) -> Result<Option<Timestamp>> {
    let row = client.query_opt(&client.prepare_cached(FIRST_QUEUED).await?, &[&name]).await?;
    Ok(row.map(|row| row.get("due_at")))
}

/// A time of a schedule with its outcome.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DecidedRun {
    /// The time.
    pub due_at: Timestamp,
    /// Decision.
    pub outcome: RunOutcome,
    /// The order that was registered.
    pub order_id: Option<String>,
    /// Reason, where there is none.
    pub reason: Option<String>,
    /// Missed times up to this one, and the first of them.
    pub missed: Option<(i32, Timestamp)>,
}

/// Writes what was decided, and forgets what is long past. `all` forgets orders that have not ended as well: where nothing
/// waits for them, nobody needs to know.
pub async fn put(tx: &Tx<'_>, name: &str, runs: &[DecidedRun], all: bool) -> Result<()> {
    if runs.is_empty() {
        return Ok(());
    }
    let columns = columns!(run in runs => {
        due_at: Timestamp = run.due_at,
        outcome: &str = run.outcome.as_str(),
        order_id: Option<&str> = run.order_id.as_deref(),
        reason: Option<&str> = run.reason.as_deref(),
        missed: Option<i32> = run.missed.map(|(count, _)| count),
        missed_from: Option<Timestamp> = run.missed.map(|(_, from)| from),
    });
    columns.execute(tx, PUT_RUNS, &[&name]).await?;
    tx.execute(&tx.prepare_cached(PRUNE_RUNS).await?, &[&name, &KEPT, &all]).await?;
    Ok(())
}

/// Change of a schedule by a turn.
#[derive(Clone, Debug, Default)]
pub struct ScheduleChange {
    /// Times by outcome, in addition.
    pub counts: RunCounts,
    /// Times that wait, in addition; negative where fewer do.
    pub queued: i32,
    /// Times that were refused since the last one that was not, of this turn.
    pub refused_in_row: i32,
    /// True where one of this turn was registered: those of before do not count any more.
    pub has_registered: bool,
    /// The last problem.
    pub problem: Option<String>,
}

/// Moves a schedule to another place.
pub async fn move_on(tx: &Tx<'_>, name: &str, place: SchedulePlace, change: &ScheduleChange) -> Result<()> {
    let RunCounts { registered, skipped, missed, refused } = change.counts;
    let statement = tx.prepare_cached(MOVE_ON).await?;
    tx.execute(
        &statement,
        &[
            &name,
            &place.decided_until,
            &place.next_at,
            &change.queued,
            &registered,
            &skipped,
            &missed,
            &refused,
            &change.has_registered,
            &change.refused_in_row,
            &change.problem,
        ],
    )
    .await?;
    Ok(())
}

/// Looks at a schedule again in a minute, because it cannot be read; nothing is decided about its times.
pub async fn put_off(tx: &Tx<'_>, name: &str, problem: &str) -> Result<()> {
    tx.execute(&tx.prepare_cached(PUT_OFF).await?, &[&name, &problem]).await?;
    Ok(())
}

/// A time of a schedule as people see it.
#[derive(Clone, Debug)]
pub struct ShownRun {
    /// Time and outcome.
    pub run: DecidedRun,
    /// When it was decided.
    pub decided_at: Timestamp,
    /// Status of its order; `None` where there is none any more.
    pub status: Option<Status>,
}

/// A time of a schedule.
///
/// # Errors
/// The database fails, or holds a word that is not known.
pub async fn one(client: &impl Connection, name: &str, at: Timestamp) -> Result<Option<ShownRun>> {
    let row = client.query_opt(&client.prepare_cached(RUN).await?, &[&name, &at]).await?;
    row.as_ref().map(read_run).transpose()
}

/// Times of a schedule before this one, the newest first.
///
/// # Errors
/// The database fails, or holds a word that is not known.
pub async fn page(
    client: &impl Connection,
    name: &str,
    before: Timestamp,
    limit: i64,
) -> Result<Vec<ShownRun>> {
    let rows = client.query(&client.prepare_cached(RUNS).await?, &[&name, &before, &limit]).await?;
    rows.iter().map(read_run).collect()
}

fn read_run(row: &Row) -> Result<ShownRun> {
    let outcome = word(row, "outcome", "schedule_runs.outcome")?;
    let missed: Option<i32> = row.get("missed");
    let has_status = row.get::<_, Option<&str>>("status").is_some();
    let status = if has_status { Some(word(row, "status", "orders.status")?) } else { None };
    let run = read!(row => DecidedRun { due_at, order_id, reason; outcome: outcome, missed: missed.zip(row.get("missed_from")) });
    Ok(ShownRun { run, decided_at: row.get("decided_at"), status })
}

/// Schedules by state.
#[derive(Clone, Copy, Debug)]
pub struct ScheduleLevels {
    /// Neither paused nor over.
    pub active: i64,
    /// Paused.
    pub paused: i64,
    /// Without a further time.
    pub over: i64,
    /// Whose last time was refused.
    pub failing: i64,
    /// Seconds by which the time that is to be decided first is late.
    pub lag: f64,
}

/// Schedules by state.
pub async fn levels(client: &Client) -> Result<ScheduleLevels> {
    let row = client.query_one(&client.prepare_cached(SCHEDULE_LEVELS).await?, &[]).await?;
    Ok(read!(row => ScheduleLevels { active, paused, over, failing, lag }))
}
