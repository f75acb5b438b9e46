//! The checks against facts of installations that are well, and of those that are not.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

use super::super::{BlockedSession, DatabaseFacts, QueueFacts, SnapshotHolder};
use super::*;

fn well() -> InstallationFacts {
    let node = |role: Role| NodeFacts {
        role,
        name: format!("{role}-1"),
        status: "active".into(),
        version: "1.0.0".into(),
        silent: Some(Duration::from_secs(1)),
        lives: true,
        stages: (3, 100),
        offline_since: None,
    };
    let settings =
        [("fsync", "on"), ("full_page_writes", "on"), ("autovacuum", "on"), ("max_connections", "100")];
    let queue = |name: &str, is_of_refused: bool| QueueFacts {
        name: name.into(),
        messages: 0,
        consumers: Some(u32::from(!is_of_refused)),
        is_of_refused,
    };
    InstallationFacts {
        database: Ok(DatabaseFacts {
            settings: settings.map(|(name, value)| (name.to_owned(), value.to_owned())).to_vec(),
            sessions: 40,
            schema: 26,
            known_schema: 26,
            snapshots: vec![holder(10)],
            ..DatabaseFacts::default()
        }),
        broker: BrokerFacts {
            confirm: Some(Ok(Duration::from_millis(3))),
            queues: vec![queue("orders.in", false), queue("refused", true)],
            ..BrokerFacts::default()
        },
        cluster: Ok(ClusterFacts {
            nodes: Role::ALL.iter().copied().map(node).collect(),
            is_led: true,
            version: "1.0.0".into(),
            lost_after: Duration::from_secs(10),
        }),
        backlog: Ok(BacklogFacts { ready: 4, running: 2, ..BacklogFacts::default() }),
        configuration: ConfigurationFacts::default(),
    }
}

fn holder(seconds: u64) -> SnapshotHolder {
    SnapshotHolder {
        pid: 7,
        application: "report".into(),
        state: "idle in transaction".into(),
        age: Duration::from_secs(seconds),
    }
}

/// Check and severity of all that is found once this was done to an installation that is well.
fn found(spoil: impl FnOnce(&mut InstallationFacts)) -> Vec<(&'static str, FindingSeverity)> {
    let mut facts = well();
    spoil(&mut facts);
    let findings = diagnose(&facts);
    assert!(
        findings.iter().all(|finding| !finding.remedy.is_empty() && reviewed().contains(&finding.check)),
        "{findings:?}"
    );
    findings.iter().map(|finding| (finding.check, finding.severity)).collect()
}

fn database(spoil: impl FnOnce(&mut DatabaseFacts)) -> Vec<(&'static str, FindingSeverity)> {
    found(|facts| spoil(facts.database.as_mut().unwrap()))
}

fn cluster(spoil: impl FnOnce(&mut ClusterFacts)) -> Vec<(&'static str, FindingSeverity)> {
    found(|facts| spoil(facts.cluster.as_mut().unwrap()))
}

fn backlog(spoil: impl FnOnce(&mut BacklogFacts)) -> Vec<(&'static str, FindingSeverity)> {
    found(|facts| spoil(facts.backlog.as_mut().unwrap()))
}

#[test]
fn run_nothing_is_found_where_nothing_is_wrong() {
    assert_eq!(found(|_| {}), []);
}

#[test]
fn run_a_server_that_cannot_keep_what_was_promised_is_an_error() {
    for (name, value) in [("fsync", "off"), ("full_page_writes", "off"), ("autovacuum", "off")] {
        let spoiled = database(|facts| {
            facts.settings.retain(|(known, _)| known != name);
            facts.settings.push((name.to_owned(), value.to_owned()));
        });
        assert_eq!(spoiled, [("database.settings", Error)], "{name}");
    }
    let lazy = ("synchronous_commit".to_owned(), "off".to_owned());
    assert_eq!(database(|facts| facts.settings.push(lazy)), [("database.settings", Error)]);
    assert_eq!(database(|facts| facts.is_standby = true), [("database", Error)]);
    assert_eq!(database(|facts| facts.schema = 25), [("database.schema", Error)]);
    assert_eq!(database(|facts| facts.schema = 27), [("database.schema", Warning)]);
    assert_eq!(database(|facts| facts.sessions = 85), [("database.sessions", Warning)]);
    assert_eq!(
        database(|facts| facts.transactions_until_frozen = database::NEARLY_WRAPPED),
        [("database.sessions", Error)]
    );
    assert_eq!(database(|facts| facts.clock_ahead = -3.0), [("database.clock", Warning)]);
    assert_eq!(found(|facts| facts.database = Err("refused".into())), [("database", Error)]);
}

#[test]
fn run_a_snapshot_harms_by_its_age_and_its_holder_is_named() {
    assert_eq!(database(|facts| facts.snapshots = vec![holder(299)]), []);
    assert_eq!(database(|facts| facts.snapshots = vec![holder(300)]), [("database.snapshots", Warning)]);
    assert_eq!(database(|facts| facts.snapshots = vec![holder(3600)]), [("database.snapshots", Error)]);
    assert_eq!(database(|facts| facts.unseen_sessions = 1), [("database.snapshots", Warning)]);
    let mut facts = well();
    facts.database.as_mut().unwrap().snapshots = vec![holder(3 * 3600)];
    let finding = diagnose(&facts).remove(0);
    assert!(
        finding.message.contains("session 7 (`report`, idle in transaction) has held a snapshot for 3 h"),
        "{finding:?}"
    );
    assert!(finding.remedy.contains("pg_terminate_backend(7)"), "{finding:?}");
    let prepared = Some((2, Duration::from_secs(400)));
    assert_eq!(database(|facts| facts.prepared = prepared), [("database.snapshots", Error)]);
    assert_eq!(database(|facts| facts.idle_slots = vec!["r".into()]), [("database.snapshots", Warning)]);
    let blocked = |seconds| {
        vec![BlockedSession {
            pid: 8,
            application: "pagurus w".into(),
            holders: vec![9],
            time: Duration::from_secs(seconds),
        }]
    };
    assert_eq!(database(|facts| facts.blocked = blocked(9)), []);
    assert_eq!(database(|facts| facts.blocked = blocked(10)), [("database.locks", Warning)]);
}

#[test]
fn run_a_broker_that_is_blocked_slow_or_not_listened_to_is_reported() {
    let closed = |why: &str| vec![("publish".to_owned(), why.to_owned())];
    assert_eq!(found(|facts| facts.broker.closed = closed("blocked: low on disk")), [("broker", Error)]);
    let mut facts = well();
    facts.broker.closed = closed("blocked: low on disk");
    assert!(diagnose(&facts)[0].remedy.contains("alarms"));
    assert_eq!(found(|facts| facts.broker.confirm = Some(Err("no answer".into()))), [("broker", Error)]);
    assert_eq!(found(|facts| facts.broker.confirm = Some(Ok(SLOW_CONFIRM))), [("broker", Warning)]);
    assert_eq!(found(|facts| facts.broker.queues[0].consumers = Some(0)), [("broker.queues", Error)]);
    assert_eq!(found(|facts| facts.broker.queues[0].consumers = None), [("broker.queues", Error)]);
    assert_eq!(found(|facts| facts.broker.queues[0].messages = MANY_MESSAGES), [("broker.queues", Warning)]);
    assert_eq!(
        found(|facts| facts.broker.queues[1].messages = 1),
        [("refused", Warning)],
        "nobody is to take from it"
    );
}

#[test]
fn run_a_role_without_a_node_in_service_is_an_error() {
    for &role in Role::ALL {
        assert_eq!(
            cluster(|facts| facts.nodes.retain(|node| node.role != role))[0],
            ("nodes", Error),
            "{role}"
        );
        let offline = cluster(|facts| {
            let node = facts.nodes.iter_mut().find(|node| node.role == role).unwrap();
            node.status = "offline".into();
            node.offline_since = Some(jiff::Timestamp::UNIX_EPOCH);
        });
        assert_eq!(offline, [("nodes", Error), ("nodes", Warning)], "{role}");
    }
    assert_eq!(cluster(|facts| facts.is_led = false), [("nodes", Error)]);
    let silent = cluster(|facts| {
        let mut other = facts.nodes[0].clone();
        other.silent = Some(Duration::from_secs(11));
        facts.nodes.push(other);
    });
    assert_eq!(silent, [("nodes", Warning)], "nobody has declared it lost");
    let lost = cluster(|facts| {
        let mut other = facts.nodes[0].clone();
        (other.status, other.lives) = ("lost".into(), false);
        facts.nodes.push(other);
    });
    assert_eq!(lost, [("nodes", Warning)]);
    assert_eq!(cluster(|facts| facts.nodes[0].version = "1.1.0".into()), [("nodes.versions", Warning)]);
}

#[test]
fn run_a_backlog_is_judged_by_its_age_and_by_what_runs() {
    let oldest = |seconds| Some(Duration::from_secs(seconds));
    assert_eq!(backlog(|facts| facts.oldest_ready = oldest(299)), []);
    assert_eq!(backlog(|facts| facts.oldest_ready = oldest(300)), [("backlog", Warning)]);
    assert_eq!(backlog(|facts| (facts.running, facts.oldest_ready) = (0, oldest(30))), [("backlog", Error)]);
    assert_eq!(backlog(|facts| facts.unsent = (3, oldest(900))), [("notifications", Warning)]);
    assert_eq!(backlog(|facts| facts.parked = 1), [("notifications", Warning)]);
    assert_eq!(backlog(|facts| facts.refused = 1), [("refused", Warning)]);
    assert_eq!(backlog(|facts| facts.inconsistent = 1), [("consistency", Error)]);
    assert_eq!(backlog(|facts| facts.stops = vec!["tariff".into()]), [("stops", Warning)]);
}

#[test]
fn run_errors_stand_before_warnings() {
    let both = found(|facts| {
        facts.backlog.as_mut().unwrap().parked = 1;
        facts.configuration.needs_restart = vec!["node.listen".into()];
        facts.configuration.refused = true;
    });
    assert_eq!(both, [("configuration", Error), ("notifications", Warning), ("configuration", Warning)]);
}

#[test]
fn dsp_14_flows_that_do_not_work_and_systems_that_are_left_alone_are_named() {
    let standing = |name: &str| StandingFacts {
        name: name.into(),
        state: "probing".into(),
        since: Some("2026-01-02T03:04:05Z".parse().unwrap()),
        why: Some("12 of 12 calls failed".into()),
    };
    let all: Vec<StandingFacts> = ["a", "b", "c", "d", "e"].map(standing).into();
    assert_eq!(backlog(|facts| facts.stopped_flows = all.clone()), [("flows", Warning)]);
    assert_eq!(backlog(|facts| facts.away_systems = all.clone()), [("systems", Warning)]);
    let facts = BacklogFacts { stopped_flows: all, ..BacklogFacts::default() };
    let findings = diagnose(&InstallationFacts { backlog: Ok(facts), ..well() });
    let message = &findings[0].message;
    let first = "5 flows are stopped: `a` has been `probing` since 2026-01-02T03:04:05.000Z (12 of 12 calls failed); `b`";
    assert!(message.starts_with(first) && message.ends_with("; and 2 more"), "{message}");
}
