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
            format!("the database does not answer: {why}"),
            "start PostgreSQL, and look whether `database.url` leads to it; until then orders wait where they are",
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
            format!("could not be looked at: {why}"),
            "mend what keeps the look from it, then ask again",
        );
    }
}

fn of_broker(facts: &BrokerFacts, findings: &mut InstallationFindings) {
    for (connection, why) in &facts.closed {
        let remedy = if why.contains("blocked") {
            "the broker is short of disk or memory: free some (`rabbitmq-diagnostics alarms` tells which), or raise its limit; \
             orders over HTTP are taken meanwhile"
        } else {
            "start RabbitMQ, and look whether `broker.url` leads to it; orders over HTTP are taken meanwhile"
        };
        findings.add("broker", Error, format!("the connection to {connection} is {why}"), remedy);
    }
    match &facts.confirm {
        Some(Err(why)) => findings.add("broker", Error, format!("the broker confirms no message: {why}"),
            "look for alarms with `rabbitmq-diagnostics alarms`, and whether its quorum queues have a majority of their members"),
        Some(Ok(time)) if *time >= SLOW_CONFIRM => findings.add("broker", Warning,
            format!("the broker took {} to confirm a message", Shown(*time)),
            "look at the disk of the broker, and at what else it does"),
        _ => {}
    }
    for queue in &facts.queues {
        let name = &queue.name;
        match queue.consumers {
            None => findings.add(
                "broker.queues",
                Error,
                format!("the queue `{name}` is not there"),
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
                        "decide about each: `pagurus refused list`, then `replay` or `drop`",
                    );
                }
            }
            Some(0) => findings.add(
                "broker.queues",
                Error,
                format!(
                    "nobody takes from `{name}`, where {}",
                    counted(queue.messages, "message waits", "messages wait")
                ),
                "start an intake; where one runs, its log says why it does not consume",
            ),
            Some(_) if queue.messages >= MANY_MESSAGES => findings.add(
                "broker.queues",
                Warning,
                format!("{} messages wait in `{name}`", queue.messages),
                "start more intakes, or look at the database: messages wait while it is slow or away",
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
            "look into its log: it may not reach the database or the broker",
        );
    }
    for node in facts.nodes.iter().filter(|node| node.status == "lost" && node.stages.0 > 0) {
        findings.add("nodes", Warning, format!("{}/{} was lost with {}", node.role, node.name,
            counted(node.stages.0, "stage that is not taken over yet", "stages that are not taken over yet")),
            "wait for the activators to take them over (`failover.batch` at a time); older ones than `failover.interval` stay until their work time-out");
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
            format!("{}/{} is out of service since {since:.3}", node.role, node.name),
            format!(
                "`pagurus nodes online {}/{}` puts it back, when it may work again",
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
            "finish the upgrade: two versions beside each other are meant for its length only",
        );
    }
}

const fn lacking(role: Role) -> &'static str {
    match role {
        Role::Intake => "no order is taken",
        Role::Dispatcher => "nothing is handed out",
        Role::Activator => "nothing that sleeps or waits is woken, and no lost node is noticed",
        Role::Worker => "no stage runs",
        Role::Notifier => "nobody is notified of ends",
    }
}

fn of_backlog(facts: &BacklogFacts, findings: &mut InstallationFindings) {
    match facts.oldest_ready {
        Some(age) if facts.running == 0 && age >= STUCK_READY => findings.add(
            "backlog",
            Error,
            format!(
                "{}, the oldest for {}, and none runs",
                counted(facts.ready, "stage may run", "stages may run"),
                Shown(age)
            ),
            "`pagurus order explain` of one of them (`pagurus order list --status new`) tells what holds it",
        ),
        Some(age) if age >= LONG_READY => findings.add(
            "backlog",
            Warning,
            format!("the oldest of {} stages that may run has waited for {}", facts.ready, Shown(age)),
            "`pagurus flows list` tells whether one flow is held back; otherwise start more workers",
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
                counted(count, "notification is on its way", "notifications are on their way"),
                Shown(age)
            ),
            "look at the log of the notifiers: a receiver may be away",
        );
    }
}

/// Names what only a person can decide about.
fn of_decisions(facts: &BacklogFacts, findings: &mut InstallationFindings) {
    if facts.parked > 0 {
        findings.add("notifications", Warning, counted(facts.parked, "notification was parked", "notifications were parked"),
            "`pagurus notifications` tells why; when the receiver is mended, `pagurus order resend` sends them again");
    }
    if !facts.paused_subscriptions.is_empty() {
        let names = facts.paused_subscriptions.join(", ");
        findings.add("subscriptions", Warning, format!("paused, because their receivers are dead: {names}"),
            "mend the receiver, then `pagurus subscriptions resume --replay`, which notifies it of what it missed");
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
            "decide about each: `pagurus refused list`, then `replay` or `drop`",
        );
    }
    if facts.inconsistent > 0 {
        findings.add("consistency", Error, counted(facts.inconsistent, "order is marked as inconsistent", "orders are marked as inconsistent"),
            "`pagurus order list --inconsistent` names each, and `pagurus order explain` says what is wrong; `pagurus order check` looks again, \
             `repair` and `kill` end the trouble");
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
            "`pagurus flows stops` tells who made them and why; `pagurus flows resume` lifts one",
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
            format!("{}: {}", counted(facts.stopped_flows.len(), "flow does not work", "flows do not work"), named(&facts.stopped_flows)),
            "`pagurus flows history NAME` tells when and why each was stopped; nothing of them loses an attempt meanwhile",
        );
    }
    if !facts.away_systems.is_empty() {
        findings.add(
            "systems",
            Warning,
            format!("{}: {}", counted(facts.away_systems.len(), "called system is left alone", "called systems are left alone"), named(&facts.away_systems)),
            "`pagurus systems history NAME` tells since when and why; ask those who run the system, or `pagurus systems open` it",
        );
    }
}

fn described(one: &StandingFacts) -> String {
    let since = one.since.map_or_else(String::new, |since| format!(" since {since:.3}"));
    let why = one.why.as_ref().map_or_else(String::new, |why| format!(" ({why})"));
    format!("`{}` is `{}`{since}{why}", one.name, one.state)
}

fn of_configuration(facts: &ConfigurationFacts, findings: &mut InstallationFindings) {
    if facts.refused {
        findings.add(
            "configuration",
            Error,
            "the configuration file has faults; the former one counts",
            "`pagurus config check` tells all of them",
        );
    }
    if !facts.needs_restart.is_empty() {
        findings.add(
            "configuration",
            Warning,
            format!("changed keys wait for a restart: {}", facts.needs_restart.join(", ")),
            "restart the nodes, one after the other",
        );
    }
}

#[cfg(test)]
mod tests;
