//! Maintenance windows of flows and called systems (DSP-16). Each change gives the rules of operators the next revision,
//! as stops do, and the active dispatcher tells which one it goes by.

use std::time::Duration;

use jiff::Timestamp;
use pagurus_domain::json::json_text;
use pagurus_domain::maintenance::{Calendar, CalendarRule, MaintenanceWindow, Occurrence, WindowTarget};

use crate::sql::statements;
use crate::upkeep::revision::revise;
use crate::{Client, Connection, Error, Result, Tx};

/// Windows that are to come or open, at most: the dispatcher holds them all.
pub const MOST: i64 = 1000;

statements! {
    ADD = "
        INSERT INTO maintenance_windows (key, flow, system, calendar, ends_at, shifts, reason, made_by)
        VALUES ($1, $2, $3, $4, $5, $6, $7, $8)
        ON CONFLICT (key) DO UPDATE SET key = excluded.key RETURNING no";
    COUNT_HELD = "
        SELECT count(*) AS held FROM maintenance_windows
         WHERE removed_at IS NULL AND (ends_at IS NULL OR ends_at > clock_timestamp())";
    HELD_WINDOWS = "
        SELECT no, flow, system, calendar, void_until, shifts, reason, made_by, made_at, removed_at, removed_by, remove_reason
          FROM maintenance_windows
         WHERE removed_at IS NULL AND (ends_at IS NULL OR ends_at > clock_timestamp()) ORDER BY no LIMIT $1";
    WINDOWS_PAGE = "
        SELECT no, flow, system, calendar, void_until, shifts, reason, made_by, made_at, removed_at, removed_by, remove_reason
          FROM maintenance_windows
         WHERE no < $3
           AND ($1 OR (removed_at IS NULL AND (ends_at IS NULL OR ends_at > clock_timestamp())))
         ORDER BY no DESC LIMIT $2";
    WINDOW = "
        SELECT no, flow, system, calendar, void_until, shifts, reason, made_by, made_at, removed_at, removed_by, remove_reason
          FROM maintenance_windows WHERE no = $1";
    LOCK_WINDOW = "
        SELECT no, flow, system, calendar, void_until, shifts, reason, made_by, made_at, removed_at, removed_by, remove_reason
          FROM maintenance_windows WHERE no = $1 FOR UPDATE";
    CALL_OFF = "
        UPDATE maintenance_windows SET void_until = greatest(void_until, $2) WHERE no = $1 AND removed_at IS NULL";
    REMOVE = "
        UPDATE maintenance_windows SET removed_at = clock_timestamp(), removed_by = $2, remove_reason = $3
         WHERE no = $1 AND removed_at IS NULL";
    // Not one that was undone: its orders stay where they went back to.
    TAKE_SHIFT = "
        UPDATE window_shifts w SET held_by = $3, held_until = clock_timestamp() + make_interval(secs => $4)
          FROM shifts s
         WHERE w.window_no = $1 AND w.begins_at = $2 AND s.no = w.shift AND s.undone_at IS NULL AND s.undoing_at IS NULL
           AND (w.held_by = $3 OR w.held_until < clock_timestamp())
        RETURNING w.shift";
    SHIFT_OF_WINDOW = "SELECT shift FROM window_shifts WHERE window_no = $1 AND begins_at = $2";
    NOTE_SHIFT = "
        INSERT INTO window_shifts (window_no, begins_at, shift, held_by, held_until)
        VALUES ($1, $2, $3, $4, clock_timestamp() + make_interval(secs => $5))
        ON CONFLICT (window_no, begins_at) DO NOTHING";
}

/// A window that is to be made.
#[derive(Clone, Debug)]
pub struct NewWindow<'a> {
    /// Key of the request, by which a repeat is known.
    pub key: &'a str,
    /// Flows or system that it is for.
    pub target: &'a WindowTarget,
    /// Times of it.
    pub calendar: &'a Calendar,
    /// True if orders that wait or retry meanwhile are moved behind the end.
    pub shifts: bool,
    /// Why.
    pub reason: &'a str,
    /// Principal that asked, as JSON.
    pub by: &'a str,
}

/// A window, as people see it.
#[derive(Clone, Debug)]
pub struct StoredWindow {
    /// The rule.
    pub rule: MaintenanceWindow,
    /// True if orders that wait or retry meanwhile are moved behind the end.
    pub shifts: bool,
    /// Why.
    pub reason: String,
    /// Principal that asked, as JSON.
    pub made_by: String,
    /// When.
    pub made_at: Timestamp,
    /// When it was removed, by whom, and why.
    pub removed: Option<(Timestamp, String, String)>,
}

impl StoredWindow {
    /// True while it is open or to come.
    #[must_use]
    pub fn is_held(&self, now: Timestamp) -> bool {
        self.removed.is_none() && self.rule.due(now).is_some()
    }
}

/// Makes a window, or finds the one that the same request has made; its number, and the revision of the rules with it.
/// `None` where there are too many.
pub async fn add(tx: &Tx<'_>, window: &NewWindow<'_>) -> Result<Option<(i64, i64)>> {
    let held: i64 = tx.query_one(&tx.prepare_cached(COUNT_HELD).await?, &[]).await?.get("held");
    if held >= MOST {
        return Ok(None);
    }
    let (flow, system) = match window.target {
        WindowTarget::Flows(keyword) => (Some(keyword), None),
        WindowTarget::System(name) => (None, Some(name)),
    };
    let calendar = json_text(window.calendar.rule());
    let end = window.calendar.end();
    let statement = tx.prepare_cached(ADD).await?;
    let row = tx
        .query_one(
            &statement,
            &[&window.key, &flow, &system, &calendar, &end, &window.shifts, &window.reason, &window.by],
        )
        .await?;
    Ok(Some((row.get("no"), revise(tx).await?)))
}

/// The windows that are open or to come.
///
/// # Errors
/// The database fails, or holds a calendar that cannot be read.
pub async fn held(client: &Client) -> Result<Vec<StoredWindow>> {
    let rows = client.query(&client.prepare_cached(HELD_WINDOWS).await?, &[&MOST]).await?;
    rows.iter().map(read_window).collect()
}

/// Windows with smaller numbers than this, the newest first; those that are over or removed, too, if `ended` is true.
///
/// # Errors
/// The database fails, or holds a calendar that cannot be read.
pub async fn page(client: &Client, ended: bool, below: i64, limit: i64) -> Result<Vec<StoredWindow>> {
    let statement = client.prepare_cached(WINDOWS_PAGE).await?;
    client.query(&statement, &[&ended, &limit, &below]).await?.iter().map(read_window).collect()
}

/// A window by its number.
///
/// # Errors
/// The database fails, or the calendar cannot be read.
pub async fn one(client: &Client, no: i64) -> Result<Option<StoredWindow>> {
    let row = client.query_opt(&client.prepare_cached(WINDOW).await?, &[&no]).await?;
    row.as_ref().map(read_window).transpose()
}

/// A window by its number, which nobody else changes meanwhile.
///
/// # Errors
/// The database fails, or the calendar cannot be read.
pub async fn lock(tx: &Tx<'_>, no: i64) -> Result<Option<StoredWindow>> {
    let row = tx.query_opt(&tx.prepare_cached(LOCK_WINDOW).await?, &[&no]).await?;
    row.as_ref().map(read_window).transpose()
}

/// Calls off what begins at this time or earlier; the revision of the rules without it, none where there is no such
/// window.
pub async fn call_off(tx: &Tx<'_>, no: i64, until: Timestamp) -> Result<Option<i64>> {
    let statement = tx.prepare_cached(CALL_OFF).await?;
    if tx.execute(&statement, &[&no, &until]).await? == 0 {
        return Ok(None);
    }
    revise(tx).await.map(Some)
}

/// Removes a window; the revision of the rules without it, none where there is no such window.
pub async fn remove(tx: &Tx<'_>, no: i64, by: &str, reason: &str) -> Result<Option<i64>> {
    let statement = tx.prepare_cached(REMOVE).await?;
    if tx.execute(&statement, &[&no, &by, &reason]).await? == 0 {
        return Ok(None);
    }
    revise(tx).await.map(Some)
}

/// The shift of an occurrence, if it was begun and not undone, and no other node moves its orders; no other will for a while.
pub async fn take_shift(
    client: &Client,
    no: i64,
    occurrence: Occurrence,
    (node, hold): (&str, Duration),
) -> Result<Option<i64>> {
    let statement = client.prepare_cached(TAKE_SHIFT).await?;
    let row = client.query_opt(&statement, &[&no, &occurrence.begin, &node, &hold.as_secs_f64()]).await?;
    Ok(row.map(|row| row.get("shift")))
}

/// The shift of an occurrence, if it was begun.
pub async fn shift_of(on: &impl Connection, no: i64, occurrence: Occurrence) -> Result<Option<i64>> {
    let statement = on.prepare_cached(SHIFT_OF_WINDOW).await?;
    let row = on.query_opt(&statement, &[&no, &occurrence.begin]).await?;
    Ok(row.map(|row| row.get("shift")))
}

/// Notes that the shift of an occurrence was begun, and that this node moves its orders for a while; false where another
/// was begun before.
pub async fn note_shift(
    tx: &Tx<'_>,
    no: i64,
    occurrence: Occurrence,
    shift: i64,
    (node, hold): (&str, Duration),
) -> Result<bool> {
    let statement = tx.prepare_cached(NOTE_SHIFT).await?;
    let noted = tx.execute(&statement, &[&no, &occurrence.begin, &shift, &node, &hold.as_secs_f64()]).await?;
    Ok(noted == 1)
}

fn read_window(row: &tokio_postgres::Row) -> Result<StoredWindow> {
    const CALENDAR: &str = "maintenance_windows.calendar";
    let rule: CalendarRule =
        serde_json::from_str(row.get("calendar")).map_err(|error| Error::broken(CALENDAR, error))?;
    let calendar = Calendar::read(&rule).map_err(|error| Error::broken(CALENDAR, error))?;
    let (flow, system): (Option<String>, Option<String>) = (row.get("flow"), row.get("system"));
    let target = match system {
        Some(system) => WindowTarget::System(system),
        None => WindowTarget::Flows(flow.unwrap_or_default()),
    };
    let removed: Option<Timestamp> = row.get("removed_at");
    Ok(StoredWindow {
        rule: MaintenanceWindow { no: row.get("no"), target, calendar, void_until: row.get("void_until") },
        shifts: row.get("shifts"),
        reason: row.get("reason"),
        made_by: row.get("made_by"),
        made_at: row.get("made_at"),
        removed: removed.map(|at| {
            let by: Option<String> = row.get("removed_by");
            let reason: Option<String> = row.get("remove_reason");
            (at, by.unwrap_or_default(), reason.unwrap_or_default())
        }),
    })
}
