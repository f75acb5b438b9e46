//! The checks, one function each: what of the facts is no good, how bad that is, and what to do.

mod database;

use std::collections::BTreeSet;
use std::time::Duration;

use self::database::of_database;
use super::{
    BacklogFacts, BrokerFacts, ClusterFacts, ConfigurationFacts, FindingSeverity, InstallationFacts,
    InstallationFinding, NodeFacts, Shown, StandingFacts,
};
use crate::id::Role;
use crate::number::counted;

use FindingSeverity::{Error, Warning};

/// A confirm of a healthy broker takes milliseconds.
const SLOW_CONFIRM: Duration = Duration::from_secs(1);
/// Messages in a queue of clients that intake takes within seconds.
const MANY_MESSAGES: u32 = 10_000;
/// A stage that waits for longer than this while something runs is behind others; while nothing runs, stuck.
const LONG_READY: Duration = Duration::from_secs(5 * 60);
const STUCK_READY: Duration = Duration::from_secs(30);
/// Notifications are sent within milliseconds, and again after minutes.
const LONG_UNSENT: Duration = Duration::from_secs(15 * 60);
/// Sessions that a finding names.
const NAMED: usize = 3;

/// Names of the checks, in the order in which their findings stand.
#[must_use]
pub const fn reviewed() -> &'static [&'static str] {
    &[
        "database",
        "database.settings",
        "database.schema",
        "database.sessions",
        "database.snapshots",
        "database.locks",
        "database.clock",
        "broker",
        "broker.queues",
        "nodes",
        "nodes.versions",
        "backlog",
        "notifications",
        "refused",
        "consistency",
        "stops",
        "flows",
        "systems",
        "configuration",
    ]
}

/// Lists everything that is wrong, errors first, then in the order of the checks.
#[must_use]
pub fn diagnose(facts: &InstallationFacts) -> Vec<InstallationFinding> {
    let mut findings = InstallationFindings::default();
    match &facts.database {
        Ok(database) => of_database(database, &mut findings),
        Err(why) => findings.add(
            "database",
            Error,
            why.clone(),
            "start PostgreSQL, and check that `database.url` points to it; orders wait until then",
        ),
    }
    of_broker(&facts.broker, &mut findings);
    match &facts.cluster {
        Ok(cluster) => of_cluster(cluster, &mut findings),
        Err(why) => findings.unknown("nodes", why),
    }
    match &facts.backlog {
        Ok(backlog) => {
            of_backlog(backlog, &mut findings);
            of_decisions(backlog, &mut findings);
            of_standing(backlog, &mut findings);
        }
        Err(why) => findings.unknown("backlog", why),
    }
    of_configuration(&facts.configuration, &mut findings);
    let mut findings = findings.0;
    findings.sort_by_key(|finding| std::cmp::Reverse(finding.severity));
    findings
}

#[derive(Default)]
struct InstallationFindings(Vec<InstallationFinding>);

impl InstallationFindings {
    fn add(
        &mut self,
        check: &'static str,
        severity: FindingSeverity,
        message: impl Into<String>,
        remedy: impl Into<String>,
    ) {
        self.0.push(InstallationFinding { check, severity, message: message.into(), remedy: remedy.into() });
    }

    /// Notes a part that could not be looked at.
    fn unknown(&mut self, check: &'static str, why: &str) {
        self.add(
            check,
            Error,
            format!("could not be checked: {why}"),
            "fix the cause, then run `pagurus doctor` again",
        );
    }
}

fn of_broker(facts: &BrokerFacts, findings: &mut InstallationFindings) {
    for (connection, why) in &facts.closed {
        let remedy = if why.contains("blocked") {
            "the broker is short of disk space or memory (`rabbitmq-diagnostics alarms` shows which): free some, or raise its limit; \
             meanwhile, orders are accepted over HTTP"
        } else {
            "start RabbitMQ, and check that `broker.url` points to it; meanwhile, orders are accepted over HTTP"
        };
        findings.add("broker", Error, format!("the connection to {connection} is {why}"), remedy);
    }
    match &facts.confirm {
        Some(Err(why)) => findings.add("broker", Error, format!("the broker does not confirm messages: {why}"),
            "check for alarms with `rabbitmq-diagnostics alarms`, and that its quorum queues have a majority of their members"),
        Some(Ok(time)) if *time >= SLOW_CONFIRM => findings.add("broker", Warning,
            format!("the broker took {} to confirm a message", Shown(*time)),
            "check the disk of the broker, and what else it does"),
        _ => {}
    }
    for queue in &facts.queues {
        let name = &queue.name;
        match queue.consumers {
            None => findings.add(
                "broker.queues",
                Error,
                format!("the queue `{name}` does not exist"),
                "start an intake, which declares it, or load `pagurus topology` into the broker",
            ),
            Some(_) if queue.is_of_refused => {
                if queue.messages > 0 {
                    findings.add(
                        "refused",
                        Warning,
                        format!(
                            "{} in `{name}`",
                            counted(queue.messages, "refused message waits", "refused messages wait")
                        ),
                        "decide on each: `pagurus refused list`, then `replay` or `drop`",
                    );
                }
            }
            Some(0) => findings.add(
                "broker.queues",
                Error,
                format!(
                    "nobody consumes from `{name}`, where {}",
                    counted(queue.messages, "message waits", "messages wait")
                ),
                "start an intake; if one runs, its log says why it does not consume",
            ),
            Some(_) if queue.messages >= MANY_MESSAGES => findings.add(
                "broker.queues",
                Warning,
                format!("{} messages wait in `{name}`", queue.messages),
                "start more intakes, or check the database: messages wait while it is slow or unavailable",
            ),
            Some(_) => {}
        }
    }
}

fn of_cluster(facts: &ClusterFacts, findings: &mut InstallationFindings) {
    let lives = |node: &&NodeFacts| node.lives && node.silent.is_some_and(|silent| silent < facts.lost_after);
    for &role in Role::ALL {
        let living: Vec<&NodeFacts> =
            facts.nodes.iter().filter(|node| node.role == role).filter(lives).collect();
        let takes = living.iter().any(|node| ["active", "standby"].contains(&node.status.as_str()));
        if living.is_empty() {
            findings.add(
                "nodes",
                Error,
                format!("no {role} is alive: {}", lacking(role)),
                format!("start one: `pagurus serve --roles {role}`"),
            );
        } else if !takes {
            findings.add(
                "nodes",
                Error,
                format!("no {role} is in service: {}", lacking(role)),
                format!("put one back with `pagurus nodes online {role}/{}`", living[0].name),
            );
        }
    }
    if !facts.is_led && facts.nodes.iter().filter(lives).any(|node| node.role == Role::Dispatcher) {
        findings.add(
            "nodes",
            Error,
            "no dispatcher leads, though one is alive: nothing is handed out",
            "check its log: it may not reach the database or the broker",
        );
    }
    for node in facts.nodes.iter().filter(|node| node.status == "lost" && node.stages.0 > 0) {
        findings.add("nodes", Warning, format!("{}/{} was lost with {}", node.role, node.name,
            counted(node.stages.0, "stage that is not yet taken over", "stages that are not yet taken over")),
            "wait for the activators to take them over (`failover.batch` at a time); those older than `failover.interval` stay until their work time-out");
    }
    for node in facts.nodes.iter().filter(|node| node.lives && !lives(node)) {
        findings.add(
            "nodes",
            Warning,
            format!("{}/{} has not been heard recently and is not declared lost", node.role, node.name),
            "start an activator: it declares silent nodes lost and gives their work to others",
        );
    }
    for (node, since) in facts.nodes.iter().filter_map(|node| Some((node, node.offline_since?))) {
        findings.add(
            "nodes",
            Warning,
            format!("{}/{} has been out of service since {since:.3}", node.role, node.name),
            format!(
                "when it may work again, put it back with `pagurus nodes online {}/{}`",
                node.role, node.name
            ),
        );
    }
    let versions: BTreeSet<&str> =
        facts.nodes.iter().filter(lives).map(|node| node.version.as_str()).collect();
    if versions.len() > 1 {
        let versions: Vec<&str> = versions.into_iter().collect();
        findings.add(
            "nodes.versions",
            Warning,
            format!("nodes of several versions run: {}", versions.join(", ")),
            "finish the upgrade: two versions should run side by side only while it lasts",
        );
    }
}

const fn lacking(role: Role) -> &'static str {
    match role {
        Role::Intake => "no order is accepted",
        Role::Dispatcher => "nothing is handed out",
        Role::Activator => "no sleeping or waiting order is woken, and no lost node is noticed",
        Role::Worker => "no stage runs",
        Role::Notifier => "no notification is sent",
    }
}

fn of_backlog(facts: &BacklogFacts, findings: &mut InstallationFindings) {
    match facts.oldest_ready {
        Some(age) if facts.running == 0 && age >= STUCK_READY => findings.add(
            "backlog",
            Error,
            format!(
                "{}, the oldest for {}, and none runs",
                counted(facts.ready, "stage is ready", "stages are ready"),
                Shown(age)
            ),
            "run `pagurus order explain` for one of them (`pagurus order list --status new`) to see why it does not run",
        ),
        Some(age) if age >= LONG_READY => findings.add(
            "backlog",
            Warning,
            format!("the oldest of {} ready stages has waited for {}", facts.ready, Shown(age)),
            "`pagurus flows list` shows whether a flow is held back; otherwise start more workers",
        ),
        _ => {}
    }
    if let (count, Some(age)) = facts.unsent
        && age >= LONG_UNSENT
    {
        findings.add(
            "notifications",
            Warning,
            format!(
                "{}, the oldest for {}",
                counted(count, "notification is not delivered", "notifications are not delivered"),
                Shown(age)
            ),
            "check the log of the notifiers: a receiver may be unavailable",
        );
    }
}

/// Names what only a person can decide about.
fn of_decisions(facts: &BacklogFacts, findings: &mut InstallationFindings) {
    if facts.parked > 0 {
        findings.add("notifications", Warning, counted(facts.parked, "notification was parked", "notifications were parked"),
            "`pagurus notifications` shows why; once the receiver works again, send them with `pagurus order resend`");
    }
    if !facts.paused_subscriptions.is_empty() {
        let names = facts.paused_subscriptions.join(", ");
        findings.add("subscriptions", Warning, format!("paused, because their receivers are dead: {names}"),
            "repair the receiver, then run `pagurus subscriptions resume --replay`, which sends it what it missed");
    }
    if facts.refused > 0 {
        findings.add(
            "refused",
            Warning,
            counted(
                facts.refused,
                "refused message waits for a decision",
                "refused messages wait for a decision",
            ),
            "decide on each: `pagurus refused list`, then `replay` or `drop`",
        );
    }
    if facts.inconsistent > 0 {
        findings.add("consistency", Error, counted(facts.inconsistent, "order is marked as inconsistent", "orders are marked as inconsistent"),
            "`pagurus order list --inconsistent` lists them, and `pagurus order explain` says what is wrong; `pagurus order check` checks again, \
             and `repair` or `kill` resolves it");
    }
    if !facts.stops.is_empty() {
        let stops: Vec<&str> = facts.stops.iter().map(String::as_str).take(NAMED).collect();
        findings.add(
            "stops",
            Warning,
            format!(
                "{}: {}",
                counted(facts.stops.len(), "stop by hand holds flows back", "stops by hand hold flows back"),
                stops.join(", ")
            ),
            "`pagurus flows stops` shows who made them and why; `pagurus flows resume` lifts one",
        );
    }
}

/// Names what does not work: a part of it is enough to begin with.
fn of_standing(facts: &BacklogFacts, findings: &mut InstallationFindings) {
    let named = |standing: &[StandingFacts]| {
        let named: Vec<String> = standing.iter().take(NAMED).map(described).collect();
        let more = standing.len().saturating_sub(NAMED);
        let more = if more > 0 { format!("; and {more} more") } else { String::new() };
        format!("{}{more}", named.join("; "))
    };
    if !facts.stopped_flows.is_empty() {
        findings.add(
            "flows",
            Warning,
            format!("{}: {}", counted(facts.stopped_flows.len(), "flow is stopped", "flows are stopped"), named(&facts.stopped_flows)),
            "`pagurus flows history NAME` shows when and why each was stopped; their orders lose no attempts meanwhile",
        );
    }
    if !facts.away_systems.is_empty() {
        findings.add(
            "systems",
            Warning,
            format!("{}: {}", counted(facts.away_systems.len(), "called system is stopped", "called systems are stopped"), named(&facts.away_systems)),
            "`pagurus systems history NAME` shows since when and why; ask those who run the system, or open it with `pagurus systems open`",
        );
    }
}

fn described(one: &StandingFacts) -> String {
    let since = one.since.map_or_else(String::new, |since| format!(" since {since:.3}"));
    let why = one.why.as_ref().map_or_else(String::new, |why| format!(" ({why})"));
    format!("`{}` has been `{}`{since}{why}", one.name, one.state)
}

fn of_configuration(facts: &ConfigurationFacts, findings: &mut InstallationFindings) {
    if facts.refused {
        findings.add(
            "configuration",
            Error,
            "the configuration file has faults; the previous version stays in effect",
            "`pagurus config check` lists all of them",
        );
    }
    if !facts.needs_restart.is_empty() {
        findings.add(
            "configuration",
            Warning,
            format!("changed settings take effect only after a restart: {}", facts.needs_restart.join(", ")),
            "restart the nodes, one after the other",
        );
    }
}

#[cfg(test)]
mod tests;
