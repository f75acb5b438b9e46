//! Schedules (ORD-39): made, changed, paused, removed and listed. What becomes due stands in `runs`.

pub mod runs;

use jiff::Timestamp;
use tokio_postgres::Row;

use crate::row::read;
use crate::sql::statements;
use crate::{Client, Connection, Result, Tx};

/// Schedules, at most: activators look through all that are due.
pub const MOST: i64 = 10_000;

/// Columns of a schedule, as SQL.
macro_rules! columns_of_schedules {
    () => {
        "name, rule, template, note, revision, paused_at, paused_by, pause_reason, decided_until, next_at, queued,
         registered, skipped, missed, refused, refused_in_row, problem, problem_at, made_by, made_at, changed_by, changed_at,
         clock_timestamp() AS now"
    };
}
pub(crate) use columns_of_schedules;

statements! {
    TIME = "SELECT clock_timestamp() AS now";
    COUNT_SCHEDULES = "SELECT count(*) AS number FROM schedules";
    ADD = concat!("
        INSERT INTO schedules (name, rule, template, note, decided_until, next_at, paused_at, paused_by, pause_reason, made_by, changed_by)
        VALUES ($1, $2, $3, $4, $5, $6, CASE WHEN $7 THEN now() END, CASE WHEN $7 THEN $8 END, CASE WHEN $7 THEN $9 END, $8, $8)
        ON CONFLICT (name) DO NOTHING RETURNING ", columns_of_schedules!());
    LOCK_SCHEDULE = concat!("SELECT ", columns_of_schedules!(), " FROM schedules WHERE name = $1 FOR UPDATE");
    CHANGE = concat!("
        UPDATE schedules
           SET rule = $2, template = $3, note = $4, decided_until = $5, next_at = $6, changed_by = $7, changed_at = now(),
               revision = revision + 1
         WHERE name = $1 RETURNING ", columns_of_schedules!());
    PAUSE = concat!("
        UPDATE schedules
           SET paused_at = now(), paused_by = $2, pause_reason = $3, changed_by = $2, changed_at = now(), revision = revision + 1
         WHERE name = $1 AND paused_at IS NULL RETURNING ", columns_of_schedules!());
    RESUME = concat!("
        UPDATE schedules
           SET paused_at = NULL, paused_by = NULL, pause_reason = NULL, decided_until = greatest(decided_until, $3), next_at = $4,
               changed_by = $2, changed_at = now(), revision = revision + 1
         WHERE name = $1 AND paused_at IS NOT NULL RETURNING ", columns_of_schedules!());
    REMOVE = "DELETE FROM schedules WHERE name = $1";
    REMOVE_RUNS = "DELETE FROM schedule_runs WHERE schedule = $1";
    SCHEDULE = concat!("SELECT ", columns_of_schedules!(), " FROM schedules WHERE name = $1");
    LIST_SCHEDULES = concat!("SELECT ", columns_of_schedules!(), " FROM schedules WHERE name > $1 ORDER BY name LIMIT $2");
}

/// A schedule as it is stored.
#[derive(Clone, Debug)]
pub struct StoredSchedule {
    /// Name.
    pub name: String,
    /// When, and what is done about missed times and orders that have not ended, as JSON.
    pub rule: String,
    /// The registration without its id, as JSON.
    pub template: String,
    /// Note of people.
    pub note: String,
    /// Count of the changes by people.
    pub revision: i64,
    /// Start of its pause, principal as JSON, and reason.
    pub paused: Option<(Timestamp, String, String)>,
    /// About every time until then it has been decided.
    pub decided_until: Timestamp,
    /// The first time behind it.
    pub next_at: Option<Timestamp>,
    /// Times whose orders wait for one of before to end.
    pub queued: i32,
    /// Times by outcome.
    pub counts: RunCounts,
    /// Times that were refused since the last one that was not.
    pub refused_in_row: i32,
    /// The last problem, and when it was found.
    pub problem: Option<(String, Timestamp)>,
    /// Principal that made it, as JSON.
    pub made_by: String,
    /// When.
    pub made_at: Timestamp,
    /// Principal that changed it last, as JSON.
    pub changed_by: String,
    /// When.
    pub changed_at: Timestamp,
    /// Time of the database.
    pub now: Timestamp,
}

/// Times of a schedule by outcome.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RunCounts {
    /// Orders that were registered.
    pub registered: i64,
    /// Times without an order, because one of before had not ended.
    pub skipped: i64,
    /// Times without an order, because nobody came in time.
    pub missed: i64,
    /// Times whose orders were refused.
    pub refused: i64,
}

impl StoredSchedule {
    /// Tag of this state, as people made it. One that was removed and made again has another one.
    #[must_use]
    pub fn tag(&self) -> String {
        format!("{}-{:x}", self.revision, self.made_at.as_microsecond())
    }
}

/// Texts that people give of a schedule.
#[derive(Clone, Copy, Debug)]
pub struct ScheduleTexts<'a> {
    /// Name.
    pub name: &'a str,
    /// Rule, as JSON.
    pub rule: &'a str,
    /// Registration without its id, as JSON.
    pub template: &'a str,
    /// Note.
    pub note: &'a str,
    /// Principal, as JSON.
    pub by: &'a str,
}

/// Place of a schedule in time.
#[derive(Clone, Copy, Debug)]
pub struct SchedulePlace {
    /// About every time until then it has been decided.
    pub decided_until: Timestamp,
    /// The first time behind it.
    pub next_at: Option<Timestamp>,
}

/// Time of the database.
pub async fn now(client: &impl Connection) -> Result<Timestamp> {
    Ok(client.query_one(&client.prepare_cached(TIME).await?, &[]).await?.get("now"))
}

/// Number of schedules.
pub async fn count(client: &impl Connection) -> Result<i64> {
    Ok(client.query_one(&client.prepare_cached(COUNT_SCHEDULES).await?, &[]).await?.get("number"))
}

/// Makes a schedule, paused for a reason or not; `None` where there is one of this name.
pub async fn add(
    tx: &Tx<'_>,
    texts: ScheduleTexts<'_>,
    place: SchedulePlace,
    paused: Option<&str>,
) -> Result<Option<StoredSchedule>> {
    let ScheduleTexts { name, rule, template, note, by } = texts;
    let statement = tx.prepare_cached(ADD).await?;
    let (is_paused, reason) = (paused.is_some(), paused.unwrap_or_default());
    let row = tx
        .query_opt(
            &statement,
            &[&name, &rule, &template, &note, &place.decided_until, &place.next_at, &is_paused, &by, &reason],
        )
        .await?;
    Ok(row.as_ref().map(read_schedule))
}

/// The schedule of this name, which nobody else changes until the end of the transaction.
pub async fn lock(tx: &Tx<'_>, name: &str) -> Result<Option<StoredSchedule>> {
    let row = tx.query_opt(&tx.prepare_cached(LOCK_SCHEDULE).await?, &[&name]).await?;
    Ok(row.as_ref().map(read_schedule))
}

/// Changes a schedule; `None` where there is none.
pub async fn change(
    tx: &Tx<'_>,
    texts: ScheduleTexts<'_>,
    place: SchedulePlace,
) -> Result<Option<StoredSchedule>> {
    let ScheduleTexts { name, rule, template, note, by } = texts;
    let statement = tx.prepare_cached(CHANGE).await?;
    let row = tx
        .query_opt(&statement, &[&name, &rule, &template, &note, &place.decided_until, &place.next_at, &by])
        .await?;
    Ok(row.as_ref().map(read_schedule))
}

/// Pauses a schedule; `None` where there is none that is not paused.
pub async fn pause(tx: &Tx<'_>, name: &str, by: &str, reason: &str) -> Result<Option<StoredSchedule>> {
    let row = tx.query_opt(&tx.prepare_cached(PAUSE).await?, &[&name, &by, &reason]).await?;
    Ok(row.as_ref().map(read_schedule))
}

/// Lets a schedule go on from a place; `None` where there is none that is paused.
pub async fn resume(
    tx: &Tx<'_>,
    name: &str,
    by: &str,
    place: SchedulePlace,
) -> Result<Option<StoredSchedule>> {
    let statement = tx.prepare_cached(RESUME).await?;
    let row = tx.query_opt(&statement, &[&name, &by, &place.decided_until, &place.next_at]).await?;
    Ok(row.as_ref().map(read_schedule))
}

/// Removes a schedule with what is known of its times; false where there was none. Its orders stay.
pub async fn remove(tx: &Tx<'_>, name: &str) -> Result<bool> {
    tx.execute(&tx.prepare_cached(REMOVE_RUNS).await?, &[&name]).await?;
    Ok(tx.execute(&tx.prepare_cached(REMOVE).await?, &[&name]).await? == 1)
}

/// The schedule of this name.
pub async fn find(client: &impl Connection, name: &str) -> Result<Option<StoredSchedule>> {
    let row = client.query_opt(&client.prepare_cached(SCHEDULE).await?, &[&name]).await?;
    Ok(row.as_ref().map(read_schedule))
}

/// Schedules behind a name, by name.
pub async fn list(client: &Client, after: &str, limit: i64) -> Result<Vec<StoredSchedule>> {
    let rows = client.query(&client.prepare_cached(LIST_SCHEDULES).await?, &[&after, &limit]).await?;
    Ok(rows.iter().map(read_schedule).collect())
}

pub(crate) fn read_schedule(row: &Row) -> StoredSchedule {
    let paused: Option<Timestamp> = row.get("paused_at");
    let paused = paused.map(|at| {
        let by: Option<String> = row.get("paused_by");
        let reason: Option<String> = row.get("pause_reason");
        (at, by.unwrap_or_default(), reason.unwrap_or_default())
    });
    let problem: Option<String> = row.get("problem");
    read!(row => StoredSchedule {
        name, rule, template, note, revision, decided_until, next_at, queued, refused_in_row, made_by, made_at, changed_by,
        changed_at, now;
        paused: paused,
        counts: read!(row => RunCounts { registered, skipped, missed, refused }),
        problem: problem.zip(row.get("problem_at"))
    })
}
