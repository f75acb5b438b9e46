//! Words of the database server on itself: settings, sessions in the way of others, and the schema. Reads only.

use std::time::Duration;

use jiff::Timestamp;
use pagurus_domain::diagnosis::{BlockedSession, DatabaseFacts, SnapshotHolder};

use crate::sql::statements;
use crate::upkeep::migrate;
use crate::{Client, Result};

statements! {
    SETTINGS = "
        SELECT name, setting FROM pg_settings
         WHERE name IN ('fsync', 'full_page_writes', 'autovacuum', 'synchronous_commit', 'max_connections') ORDER BY name";
    SERVER = "
        SELECT pg_is_in_recovery() AS is_standby, clock_timestamp() AS now,
               a.sessions, a.unseen,
               (SELECT age(datfrozenxid)::bigint FROM pg_database WHERE datname = current_database()) AS unfrozen
          FROM (SELECT count(*) FILTER (WHERE coalesce(backend_type, 'client backend') = 'client backend') AS sessions,
                       count(*) FILTER (WHERE backend_type IS NULL) AS unseen
                  FROM pg_stat_activity WHERE usesysid IS NOT NULL) AS a";
    // Sessions of other users show nothing to those who may not see it, and are counted as unseen. A snapshot holds
    // rows of its own database only, but one that was made for a replica, or by a backup, holds those of all.
    SNAPSHOTS = "
        SELECT pid, coalesce(application_name, '') AS application, coalesce(state, '') AS state,
               extract(epoch FROM clock_timestamp() - xact_start)::float8 AS seconds
          FROM pg_stat_activity
         WHERE backend_xmin IS NOT NULL AND xact_start IS NOT NULL AND pid <> pg_backend_pid()
           AND backend_type IN ('client backend', 'walsender')
         ORDER BY xact_start LIMIT $1";
    BLOCKED = "
        SELECT waiting.pid, coalesce(waiting.application_name, '') AS application, pg_blocking_pids(waiting.pid) AS holders,
               extract(epoch FROM clock_timestamp() - waiting.query_start)::float8 AS seconds
          FROM pg_stat_activity waiting
         WHERE waiting.wait_event_type = 'Lock' AND waiting.datname = current_database() AND waiting.query_start IS NOT NULL
         ORDER BY waiting.query_start LIMIT $1";
    PREPARED = "
        SELECT count(*) AS prepared, extract(epoch FROM clock_timestamp() - min(prepared))::float8 AS seconds
          FROM pg_prepared_xacts WHERE database = current_database()";
    IDLE_SLOTS = "SELECT slot_name::text AS slot FROM pg_replication_slots WHERE NOT active ORDER BY slot_name LIMIT $1";
}

/// Sessions of each kind that are read.
const SESSIONS: i64 = 20;

/// Facts about the database, as its server tells them. `now` is the time of the process that asks.
pub async fn facts(client: &Client, now: impl Fn() -> Timestamp) -> Result<DatabaseFacts> {
    let settings = client.query(&client.prepare_cached(SETTINGS).await?, &[]).await?;
    let statement = client.prepare_cached(SERVER).await?;
    let begun = now();
    let server = client.query_one(&statement, &[]).await?;
    let (ended, theirs): (Timestamp, Timestamp) = (now(), server.get("now"));
    let (schema, known_schema) = migrate::versions(client).await?;
    let snapshots = client.query(&client.prepare_cached(SNAPSHOTS).await?, &[&SESSIONS]).await?;
    let blocked = client.query(&client.prepare_cached(BLOCKED).await?, &[&SESSIONS]).await?;
    let prepared = client.query_one(&client.prepare_cached(PREPARED).await?, &[]).await?;
    let slots = client.query(&client.prepare_cached(IDLE_SLOTS).await?, &[&SESSIONS]).await?;
    Ok(DatabaseFacts {
        settings: settings.iter().map(|row| (row.get("name"), row.get("setting"))).collect(),
        is_standby: server.get("is_standby"),
        sessions: server.get("sessions"),
        unseen_sessions: server.get("unseen"),
        schema,
        known_schema,
        snapshots: snapshots.iter().map(holder).collect(),
        blocked: blocked.iter().map(waiting).collect(),
        prepared: Some((prepared.get("prepared"), time_of(prepared.get("seconds"))))
            .filter(|(count, _)| *count > 0),
        idle_slots: slots.iter().map(|row| row.get("slot")).collect(),
        transactions_until_frozen: server.get("unfrozen"),
        clock_ahead: ahead(begun, ended, theirs),
    })
}

/// Lead of the server's clock, in seconds: zero where its time lies between question and answer.
fn ahead(begun: Timestamp, ended: Timestamp, theirs: Timestamp) -> f64 {
    let seconds = |at: Timestamp| at.duration_since(begun).as_secs_f64();
    let (length, theirs) = (seconds(ended), seconds(theirs));
    if theirs > length { theirs - length } else { theirs.min(0.0) }
}

fn time_of(seconds: Option<f64>) -> Duration {
    Duration::try_from_secs_f64(seconds.unwrap_or_default()).unwrap_or_default()
}

fn holder(row: &tokio_postgres::Row) -> SnapshotHolder {
    SnapshotHolder {
        pid: row.get("pid"),
        application: row.get("application"),
        state: row.get("state"),
        age: time_of(row.get("seconds")),
    }
}

fn waiting(row: &tokio_postgres::Row) -> BlockedSession {
    BlockedSession {
        pid: row.get("pid"),
        application: row.get("application"),
        holders: row.get("holders"),
        time: time_of(row.get("seconds")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn run_a_clock_is_ahead_only_by_what_the_way_does_not_explain() {
        let at = |millis: i64| Timestamp::from_millisecond(1_000_000 + millis).unwrap_or_default();
        assert!(ahead(at(0), at(50), at(20)).abs() < 1e-9);
        assert!((ahead(at(0), at(50), at(3050)) - 3.0).abs() < 1e-9);
        assert!((ahead(at(0), at(50), at(-4000)) + 4.0).abs() < 1e-9);
    }
}
