//! The checks of the database: its settings, its schema, and sessions that are in the way of others.

use std::time::Duration;

use super::super::{DatabaseFacts, FindingSeverity, Shown};
use super::{InstallationFindings, NAMED};

use FindingSeverity::{Error, Warning};

/// Age from which a snapshot keeps more dead rows than the work lists can take.
const OLD_SNAPSHOT: Duration = Duration::from_secs(5 * 60);
/// Age at which the work lists are so full of dead rows that everything is slow.
const HARMFUL_SNAPSHOT: Duration = Duration::from_secs(60 * 60);
/// Wait for a lock that no transaction of the engine's own is long enough for.
const LONG_LOCK: Duration = Duration::from_secs(10);
/// Part of the sessions that the server allows, in percent.
const MANY_SESSIONS: i64 = 85;
/// Transactions after which the server soon takes no more writes; it stops at two thousand million.
pub(super) const NEARLY_WRAPPED: i64 = 1_500_000_000;
/// Difference of clocks that shows in what people read.
const CLOCKS_APART: f64 = 2.0;

/// Settings of the database with the value without which nothing that was promised holds, and why.
const SAFE: [(&str, &str, &str); 3] = [
    ("fsync", "on", "an accepted order can be lost when the machine of the database fails"),
    ("full_page_writes", "on", "the database can be damaged when its machine fails"),
    ("autovacuum", "on", "dead rows are never removed, and everything becomes slower"),
];

pub(super) fn of_database(facts: &DatabaseFacts, findings: &mut InstallationFindings) {
    if facts.is_standby {
        findings.add(
            "database",
            Error,
            "the database is a standby: it takes no writes",
            "point `database.url` to the primary, or promote this server",
        );
    }
    let setting =
        |name: &str| facts.settings.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str());
    for (name, wanted, why) in SAFE {
        if let Some(value) = setting(name).filter(|value| *value != wanted) {
            findings.add(
                "database.settings",
                Error,
                format!("`{name}` is `{value}`: {why}"),
                format!("set `{name} = {wanted}` in postgresql.conf and reload"),
            );
        }
    }
    if setting("synchronous_commit") == Some("off") {
        findings.add("database.settings", Error,
            "`synchronous_commit` is `off`: orders that were accepted in the last moments are lost when the database fails",
            "set `synchronous_commit = on` for the database or its role");
    }
    if facts.schema < facts.known_schema {
        findings.add(
            "database.schema",
            Error,
            format!("the schema is at version {}, this program needs {}", facts.schema, facts.known_schema),
            "run `pagurus migrate`",
        );
    }
    if facts.schema > facts.known_schema {
        findings.add(
            "database.schema",
            Warning,
            format!(
                "the schema is at version {}, and this program, which is older, knows {}",
                facts.schema, facts.known_schema
            ),
            "finish the upgrade: start the newer version on all nodes",
        );
    }
    sessions(facts, setting("max_connections"), findings);
    snapshots(facts, findings);
    for blocked in facts.blocked.iter().filter(|blocked| blocked.time >= LONG_LOCK).take(NAMED) {
        let holders: Vec<String> = blocked.holders.iter().map(ToString::to_string).collect();
        let holders = holders.join(", ");
        findings.add("database.locks", Warning,
            format!("session {} (`{}`) has waited for a lock for {}; it is held by session {holders}",
                blocked.pid, blocked.application, Shown(blocked.time)),
            format!("check what session {holders} does (`pg_stat_activity`); if nobody needs it, end it with `SELECT pg_terminate_backend({holders})`"));
    }
    if facts.clock_ahead.abs() > CLOCKS_APART {
        findings.add("database.clock", Warning,
            format!("the clocks of the database and of this node are {:.1} s apart", facts.clock_ahead.abs()),
            "set both from the same source (NTP); the engine compares only times of the database, but the times that people read differ");
    }
}

fn sessions(facts: &DatabaseFacts, most: Option<&str>, findings: &mut InstallationFindings) {
    if let Some(most) = most.and_then(|most| most.parse::<i64>().ok())
        && facts.sessions * 100 >= most * MANY_SESSIONS
    {
        findings.add("database.sessions", Warning, format!("{} of {most} sessions are in use", facts.sessions),
            "raise `max_connections`, or lower `database.*_connections` of the nodes, before you start another node");
    }
    if facts.transactions_until_frozen >= NEARLY_WRAPPED {
        findings.add(
            "database.sessions",
            Error,
            format!(
                "{} transactions since the oldest row was frozen: the server will soon refuse writes",
                facts.transactions_until_frozen
            ),
            "end what holds old snapshots, and run `VACUUM (FREEZE)` on the oldest tables",
        );
    }
}

fn snapshots(facts: &DatabaseFacts, findings: &mut InstallationFindings) {
    let old = facts.snapshots.iter().filter(|holder| holder.age >= OLD_SNAPSHOT);
    for holder in old.take(NAMED) {
        let severity = if holder.age >= HARMFUL_SNAPSHOT { Error } else { Warning };
        findings.add("database.snapshots", severity,
            format!("session {} (`{}`, {}) has held a snapshot for {}: rows that have died since cannot be removed, and all work becomes slower",
                holder.pid, holder.application, holder.state, Shown(holder.age)),
            format!("end it with `SELECT pg_terminate_backend({})`; run reports on a replica", holder.pid));
    }
    if facts.unseen_sessions > 0 {
        findings.add(
            "database.snapshots",
            Warning,
            format!(
                "the user of the engine cannot see the snapshots and locks of {} sessions of other users",
                facts.unseen_sessions
            ),
            "`GRANT pg_monitor TO` the user in `database.url`; until then, an old snapshot may go unnoticed",
        );
    }
    if let Some((count, age)) = facts.prepared.filter(|(_, age)| *age >= OLD_SNAPSHOT) {
        findings.add(
            "database.snapshots",
            Error,
            format!(
                "{count} prepared transactions are open, the oldest for {}; the engine prepares none",
                Shown(age)
            ),
            "find them in `pg_prepared_xacts`, and commit or roll back each",
        );
    }
    if !facts.idle_slots.is_empty() {
        findings.add("database.snapshots", Warning,
            format!("nobody reads the replication slots {}: the server keeps its log for them, and its disk fills up", facts.idle_slots.join(", ")),
            "bring the replica back, or drop the slot with `pg_drop_replication_slot`");
    }
}
