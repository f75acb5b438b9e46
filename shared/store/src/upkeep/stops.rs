//! Decisions of operators about flows and called systems: stops by hand (DSP-10) and orders about systems (DSP-16);
//! maintenance windows stand beside (`windows`). Each change gives the rules the next revision, and the active
//! dispatcher tells which one it goes by.

use std::time::Duration;

use jiff::Timestamp;
use pagurus_domain::flow::{FlowStop, SystemOrder, SystemOverride};
use pagurus_domain::id::Epoch;
use pagurus_domain::maintenance::MaintenanceWindow;
use pagurus_domain::number::saturated;

use crate::row::word;
use crate::sql::statements;
use crate::upkeep::revision::{revise, revision};
use crate::upkeep::shift::{Shift, read_shift};
use crate::upkeep::windows;
use crate::{Client, Result, Tx};

statements! {
    STOP = "
        INSERT INTO flow_stops (key, keyword, from_at, until_at, reason, made_by)
        VALUES ($6, $1, greatest($2, clock_timestamp()), $3, $4, $5)
        ON CONFLICT (key) DO UPDATE SET key = excluded.key RETURNING no";
    LIFT = "
        UPDATE flow_stops SET lifted_at = clock_timestamp(), lifted_by = $2, lift_reason = $3
         WHERE lifted_at IS NULL AND no = ANY($1::bigint[]) RETURNING no";
    CONFIRMED = "SELECT known, epoch, serial FROM flow_rules";
    HELD = "
        SELECT no, keyword, from_at, until_at FROM flow_stops
         WHERE lifted_at IS NULL AND (until_at IS NULL OR until_at > clock_timestamp()) ORDER BY no";
    OVERRIDES = "
        SELECT system, what, from_at, until_at FROM system_overrides
         WHERE until_at IS NULL OR until_at > clock_timestamp() ORDER BY system";
    CONFIRM = "
        WITH present AS (SELECT epoch FROM epochs WHERE name = 'dispatcher' FOR SHARE)
        UPDATE flow_rules f SET known = $1, epoch = $2, serial = $3 FROM present p WHERE p.epoch = $2";
    LIST = "
        SELECT no, keyword, from_at, until_at, reason, made_by, made_at, lifted_at, lifted_by, lift_reason,
               lifted_at IS NULL AND (until_at IS NULL OR until_at > clock_timestamp()) AS holds
          FROM flow_stops
         WHERE no < $3 AND ($1 OR (lifted_at IS NULL AND (until_at IS NULL OR until_at > clock_timestamp())))
         ORDER BY no DESC LIMIT $2";
    STOPS_OF_FLOW = "
        SELECT no, keyword, from_at, until_at, reason, made_by, made_at, lifted_at, lifted_by, lift_reason, true AS holds
          FROM flow_stops
         WHERE lifted_at IS NULL AND from_at <= clock_timestamp() AND (until_at IS NULL OR until_at > clock_timestamp())
           AND strpos($1, keyword) > 0
         ORDER BY no";
    OVERRIDE = "
        INSERT INTO system_overrides AS o (system, what, from_at, until_at, reason, made_by)
        VALUES ($1, $2, greatest($3, clock_timestamp()), $4, $5, $6)
        ON CONFLICT (system) DO UPDATE
           SET what = excluded.what, from_at = excluded.from_at, until_at = excluded.until_at, reason = excluded.reason,
               made_by = excluded.made_by, made_at = now()";
    NOTE_STOP_SHIFT = "UPDATE flow_stops SET shift = $2 WHERE no = $1 AND shift IS NULL";
    SHIFT_OF_STOP = "SELECT shift FROM flow_stops WHERE no = $1";
    SHIFTING_STOPS = "
        SELECT f.no, f.shift, s.keyword, s.seconds, s.from_at, s.until_at, s.reason
          FROM flow_stops f JOIN shifts s ON s.no = f.shift
         WHERE f.lifted_at IS NULL AND s.undone_at IS NULL AND s.undoing_at IS NULL AND s.until_at > clock_timestamp()
         ORDER BY f.no LIMIT $1";
    TAKE_STOP_SHIFT = "
        UPDATE flow_stops f SET shift_held_by = $2, shift_held_until = clock_timestamp() + make_interval(secs => $3)
          FROM shifts s
         WHERE f.no = $1 AND f.lifted_at IS NULL AND s.no = f.shift AND s.undone_at IS NULL AND s.undoing_at IS NULL
           AND (f.shift_held_by = $2 OR f.shift_held_until IS NULL OR f.shift_held_until < clock_timestamp())";
    LOCK_OVERRIDE = "
        SELECT system, what, from_at, until_at, reason, made_by, made_at FROM system_overrides WHERE system = $1 FOR UPDATE";
    CLEAR = "DELETE FROM system_overrides WHERE system = $1";
    OVERRIDE_VIEWS = "
        SELECT system, what, from_at, until_at, reason, made_by, made_at FROM system_overrides ORDER BY system LIMIT $1";
    OVERRIDE_OF_SYSTEM = "
        SELECT system, what, from_at, until_at, reason, made_by, made_at FROM system_overrides
         WHERE system = $1 AND from_at <= clock_timestamp() AND (until_at IS NULL OR until_at > clock_timestamp())";
}

/// A stop that is to be made.
#[derive(Clone, Debug)]
pub struct NewStop<'a> {
    /// Key of the request, by which a repeat is known.
    pub key: &'a str,
    /// Stops every flow whose name contains it.
    pub keyword: &'a str,
    /// Time at which it begins; not before now.
    pub from: Timestamp,
    /// Time at which it ends by itself; none if only by hand.
    pub until: Option<Timestamp>,
    /// Why.
    pub reason: &'a str,
    /// Principal that asked, as JSON.
    pub by: &'a str,
}

/// Makes a stop, or finds the one that the same request has made; its number, and the revision of the rules that it is
/// part of.
pub async fn stop(tx: &Tx<'_>, stop: &NewStop<'_>) -> Result<(i64, i64)> {
    let statement = tx.prepare_cached(STOP).await?;
    let row = tx
        .query_one(&statement, &[&stop.keyword, &stop.from, &stop.until, &stop.reason, &stop.by, &stop.key])
        .await?;
    Ok((row.get("no"), revise(tx).await?))
}

/// Lifts stops by their numbers; those that were lifted by it, and the revision of the rules without them.
pub async fn lift(tx: &Tx<'_>, stops: &[i64], by: &str, reason: &str) -> Result<(Vec<i64>, i64)> {
    let statement = tx.prepare_cached(LIFT).await?;
    let rows = tx.query(&statement, &[&stops, &by, &reason]).await?;
    Ok((rows.iter().map(|row| row.get("no")).collect(), revise(tx).await?))
}

/// A stop for planned works, which moves what would run out within them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ShiftingStop {
    /// Number of the stop.
    pub no: i64,
    /// Number of its shift.
    pub shift: i64,
    /// The shift.
    pub moves: Shift,
}

/// Notes that a stop has this shift, which was begun in the same transaction.
pub async fn note_shift(tx: &Tx<'_>, stop: i64, shift: i64) -> Result<()> {
    tx.execute(&tx.prepare_cached(NOTE_STOP_SHIFT).await?, &[&stop, &shift]).await?;
    Ok(())
}

/// The shift of a stop, where it has one.
pub async fn shift_of(tx: &Tx<'_>, stop: i64) -> Result<Option<i64>> {
    let row = tx.query_opt(&tx.prepare_cached(SHIFT_OF_STOP).await?, &[&stop]).await?;
    Ok(row.and_then(|row| row.get("shift")))
}

/// The stops for planned works that are not over, at most `limit`.
pub async fn shifting(client: &Client, limit: i64) -> Result<Vec<ShiftingStop>> {
    let rows = client.query(&client.prepare_cached(SHIFTING_STOPS).await?, &[&limit]).await?;
    Ok(rows
        .iter()
        .map(|row| ShiftingStop { no: row.get("no"), shift: row.get("shift"), moves: read_shift(row) })
        .collect())
}

/// This node moves the orders of a stop, and no other will for a while; false where another one is at it, or the stop was
/// lifted, or its shift undone.
pub async fn take_shift(client: &Client, stop: i64, (node, hold): (&str, Duration)) -> Result<bool> {
    let statement = client.prepare_cached(TAKE_STOP_SHIFT).await?;
    Ok(client.execute(&statement, &[&stop, &node, &hold.as_secs_f64()]).await? == 1)
}

/// The rules of operators, and the revision that they have at least.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OperatorRules {
    /// Revision.
    pub revision: i64,
    /// Stops that hold now or later.
    pub stops: Vec<FlowStop>,
    /// Orders about systems that hold now or later.
    pub overrides: Vec<SystemOverride>,
    /// Maintenance windows that are open now or later.
    pub windows: Vec<MaintenanceWindow>,
}

/// Reads the rules that hold now or later.
///
/// # Errors
/// The database fails, or holds a word that is not known.
pub async fn rules(client: &Client) -> Result<OperatorRules> {
    // Before the rules: what is confirmed was seen.
    let revision = revision(client).await?;
    let stops = client.query(&client.prepare_cached(HELD).await?, &[]).await?;
    let stops = stops.iter().map(|row| FlowStop {
        no: row.get("no"),
        keyword: row.get("keyword"),
        from: row.get("from_at"),
        until: row.get("until_at"),
    });
    let stops = stops.collect();
    let overrides = client.query(&client.prepare_cached(OVERRIDES).await?, &[]).await?;
    let overrides = overrides.iter().map(|row| {
        Ok(SystemOverride {
            system: row.get("system"),
            order: word::<SystemOrder>(row, "what", "system_overrides.what")?,
            from: row.get("from_at"),
            until: row.get("until_at"),
        })
    });
    let overrides = overrides.collect::<Result<_>>()?;
    let windows = windows::held(client).await?.into_iter().map(|window| window.rule).collect();
    Ok(OperatorRules { revision, stops, overrides, windows })
}

/// Tells that the dispatcher of this epoch goes by this revision, and that its last hand-out before had this serial;
/// false where another leads by now.
pub async fn confirm(client: &Client, epoch: Epoch, revision: i64, serial: u64) -> Result<bool> {
    let statement = client.prepare_cached(CONFIRM).await?;
    let serial = saturated::<i64>(serial);
    Ok(client.execute(&statement, &[&revision, &epoch.0, &serial]).await? == 1)
}

/// Rules that the active dispatcher last confirmed to go by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Confirmation {
    /// The revision that it goes by.
    pub revision: i64,
    /// Epoch.
    pub epoch: Epoch,
    /// Last hand-out before.
    pub serial: i64,
}

/// Rules that the active dispatcher last confirmed to go by.
pub async fn confirmed(client: &Client) -> Result<Confirmation> {
    let row = client.query_one(&client.prepare_cached(CONFIRMED).await?, &[]).await?;
    Ok(Confirmation { revision: row.get("known"), epoch: Epoch(row.get("epoch")), serial: row.get("serial") })
}

/// A stop, as people see it.
#[derive(Clone, Debug)]
pub struct StoredStop {
    /// The rule.
    pub rule: FlowStop,
    /// Why.
    pub reason: String,
    /// Principal that asked, as JSON.
    pub made_by: String,
    /// When.
    pub made_at: Timestamp,
    /// When it was lifted by hand, by whom, and why.
    pub lifted: Option<(Timestamp, String, String)>,
    /// True while it holds, or will.
    pub holds: bool,
}

fn read_stop(row: &tokio_postgres::Row) -> StoredStop {
    let lifted: Option<Timestamp> = row.get("lifted_at");
    StoredStop {
        rule: FlowStop {
            no: row.get("no"),
            keyword: row.get("keyword"),
            from: row.get("from_at"),
            until: row.get("until_at"),
        },
        reason: row.get("reason"),
        made_by: row.get("made_by"),
        made_at: row.get("made_at"),
        lifted: lifted.map(|at| {
            let by: Option<String> = row.get("lifted_by");
            let reason: Option<String> = row.get("lift_reason");
            (at, by.unwrap_or_default(), reason.unwrap_or_default())
        }),
        holds: row.get("holds"),
    }
}

/// Stops with smaller numbers than this, the newest first; those that are over, too, if `ended` is true.
pub async fn list(client: &Client, ended: bool, below: i64, limit: i64) -> Result<Vec<StoredStop>> {
    let statement = client.prepare_cached(LIST).await?;
    Ok(client.query(&statement, &[&ended, &limit, &below]).await?.iter().map(read_stop).collect())
}

/// The stops that hold a flow now.
pub async fn of_flow(client: &Client, flow: &str) -> Result<Vec<StoredStop>> {
    let statement = client.prepare_cached(STOPS_OF_FLOW).await?;
    Ok(client.query(&statement, &[&flow]).await?.iter().map(read_stop).collect())
}

/// An operator's order about a called system, with who gave it.
#[derive(Clone, Debug)]
pub struct StoredOverride {
    /// The order.
    pub rule: SystemOverride,
    /// Why.
    pub reason: String,
    /// Principal that asked, as JSON.
    pub made_by: String,
    /// When.
    pub made_at: Timestamp,
}

/// The order about this system, which nobody else changes until the end of the transaction.
///
/// # Errors
/// The database fails, or holds a word that is not known.
pub async fn lock_override(tx: &Tx<'_>, system: &str) -> Result<Option<StoredOverride>> {
    let statement = tx.prepare_cached(LOCK_OVERRIDE).await?;
    tx.query_opt(&statement, &[&system]).await?.as_ref().map(read_override).transpose()
}

/// Gives an order about a system, in place of the one before; the revision of the rules with it.
pub async fn override_system(tx: &Tx<'_>, rule: &SystemOverride, reason: &str, by: &str) -> Result<i64> {
    let statement = tx.prepare_cached(OVERRIDE).await?;
    let what = rule.order.as_str();
    tx.execute(&statement, &[&rule.system, &what, &rule.from, &rule.until, &reason, &by]).await?;
    revise(tx).await
}

/// Takes the order about a system back; the revision of the rules without it, none where there was none.
pub async fn clear_system(tx: &Tx<'_>, system: &str) -> Result<Option<i64>> {
    let statement = tx.prepare_cached(CLEAR).await?;
    if tx.execute(&statement, &[&system]).await? == 0 {
        return Ok(None);
    }
    revise(tx).await.map(Some)
}

/// The orders about systems.
///
/// # Errors
/// The database fails, or holds a word that is not known.
pub async fn overrides(client: &Client, limit: i64) -> Result<Vec<StoredOverride>> {
    let statement = client.prepare_cached(OVERRIDE_VIEWS).await?;
    client.query(&statement, &[&limit]).await?.iter().map(read_override).collect()
}

/// The order about this system that holds now.
///
/// # Errors
/// The database fails, or holds a word that is not known.
pub async fn override_of(client: &Client, system: &str) -> Result<Option<StoredOverride>> {
    let statement = client.prepare_cached(OVERRIDE_OF_SYSTEM).await?;
    client.query_opt(&statement, &[&system]).await?.as_ref().map(read_override).transpose()
}

fn read_override(row: &tokio_postgres::Row) -> Result<StoredOverride> {
    Ok(StoredOverride {
        rule: SystemOverride {
            system: row.get("system"),
            order: word(row, "what", "system_overrides.what")?,
            from: row.get("from_at"),
            until: row.get("until_at"),
        },
        reason: row.get("reason"),
        made_by: row.get("made_by"),
        made_at: row.get("made_at"),
    })
}
