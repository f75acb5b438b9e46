//! A verdict over the installation: facts are gathered from the database, its registry and its tables, those of the message
//! broker are brought along by callers that can ask it, and the core judges them.
//!
//! Whatever cannot be asked is a finding, never a failure: there is always a verdict.

use std::time::Duration;

use jiff::Timestamp;
use pagurus_domain::diagnosis::{
    self, BacklogFacts, BrokerFacts, ClusterFacts, ConfigurationFacts, Fact, FindingSeverity,
    InstallationFacts, InstallationFinding, NodeFacts, StandingFacts,
};
use pagurus_domain::flow::Decision;
use pagurus_domain::number::saturated;
use pagurus_runtime::node::chain;
use pagurus_store::Error;
use pagurus_store::lists::measures;
use pagurus_store::outside::subscriptions;
use pagurus_store::recovery::cluster::{self, RegisteredNode};
use pagurus_store::recovery::presence::{self, NodeLoad};
use pagurus_store::upkeep::doctor;
use pagurus_store::upkeep::{flows, stops};
use pagurus_wire::doctor::{DoctorFinding, DoctorView};
use pagurus_wire::stats::NamedCount;

use crate::Views;

/// Longest time for each server to answer: a doctor that hangs is of no use.
const PATIENCE: Duration = Duration::from_secs(5);
/// Stops by hand that are read.
const STOPS: i64 = 100;
/// Flows that do not work, and systems that are left alone, that are read.
const STANDING: i64 = 1000;

impl Views {
    /// Verdict over the installation, with the facts about the message broker, which are gathered meanwhile.
    pub async fn doctor(&self, broker: impl Future<Output = BrokerFacts>) -> DoctorView {
        let (database, broker, cluster, backlog) = tokio::join!(
            patiently(self.database_facts()),
            broker,
            patiently(self.cluster_facts()),
            patiently(self.backlog_facts()),
        );
        let state = self.host.live.state();
        let configuration = ConfigurationFacts {
            refused: state.refused,
            needs_restart: state.needs_restart.iter().map(ToString::to_string).collect(),
        };
        let facts = InstallationFacts { database, broker, cluster, backlog, configuration };
        let findings = diagnosis::diagnose(&facts);
        let worst = findings.iter().map(|finding| finding.severity).max();
        DoctorView {
            at: Timestamp::now(),
            verdict: worst.map_or("ok", FindingSeverity::as_str).to_owned(),
            findings: findings.into_iter().map(view).collect(),
            checks: diagnosis::reviewed().iter().map(|check| (*check).to_owned()).collect(),
        }
    }

    async fn database_facts(&self) -> Result<diagnosis::DatabaseFacts, Error> {
        doctor::facts(&self.host.store.reports().await?, Timestamp::now).await
    }

    async fn cluster_facts(&self) -> Result<ClusterFacts, Error> {
        let client = self.host.store.reports().await?;
        let load = presence::load(&client).await?;
        let nodes = cluster::nodes(&client).await?;
        let now = Timestamp::now();
        Ok(ClusterFacts {
            nodes: nodes.into_iter().map(|node| node_facts(node, &load, now)).collect(),
            is_led: measures::is_led(&client).await?,
            version: env!("CARGO_PKG_VERSION").to_owned(),
            lost_after: self.host.settings().node.lost_after,
        })
    }

    async fn backlog_facts(&self) -> Result<BacklogFacts, Error> {
        let client = self.host.store.reports().await?;
        let (_, now) = self.now(&client).await?;
        let stops = stops::list(&client, false, i64::MAX, STOPS).await?;
        let (stopped, away) = flows::standing(&client, STANDING).await?;
        let stopped = stopped.into_iter();
        let away = away.into_iter();
        let waits_for = |name: &str| {
            let found = |one: &&NamedCount| one.name == name;
            now.waiting.iter().find(found).map_or(0, |one| one.count.count)
        };
        Ok(BacklogFacts {
            ready: waits_for("worker"),
            running: waits_for("running"),
            oldest_ready: now.oldest_ready_seconds.and_then(seconds),
            unsent: (now.unsent_notifications.count, now.oldest_notification_seconds.and_then(seconds)),
            parked: now.parked_notifications.count,
            refused: now.refused_messages.count,
            paused_subscriptions: subscriptions::paused_by_engine(&client).await?,
            inconsistent: now.inconsistent.count,
            stops: stops.into_iter().map(|stop| stop.rule.keyword).collect(),
            stopped_flows: stopped
                .map(|one| standing(one.flow, one.state.as_str(), one.stopped_since, &one.decisions))
                .collect(),
            away_systems: away
                .map(|one| standing(one.system, one.state.as_str(), one.stopped_since, &one.decisions))
                .collect(),
        })
    }
}

/// The fact, unless the database fails or is too slow.
async fn patiently<T>(asked: impl Future<Output = Result<T, Error>>) -> Fact<T> {
    match tokio::time::timeout(PATIENCE, asked).await {
        Ok(found) => found.map_err(|error| chain(&error)),
        Err(_) => Err(format!("the database gave no answer within {PATIENCE:?}")),
    }
}

fn standing(name: String, state: &str, since: Option<Timestamp>, decisions: &[Decision]) -> StandingFacts {
    let last = decisions.last();
    StandingFacts {
        name,
        state: state.to_owned(),
        since: since.or(last.map(|last| last.at)),
        why: last.map(|last| last.why.clone()),
    }
}

fn seconds(seconds: f64) -> Option<Duration> {
    Duration::try_from_secs_f64(seconds).ok()
}

fn node_facts(node: RegisteredNode, load: &[NodeLoad], now: Timestamp) -> NodeFacts {
    let stages = load.iter().find(|load| load.node == node.incarnation).map_or(0, |load| load.total());
    NodeFacts {
        role: node.role,
        name: node.name,
        status: node.status,
        version: node.version,
        silent: node.seen_at.map(|at| Duration::try_from(now.duration_since(at)).unwrap_or_default()),
        lives: node.ended_at.is_none(),
        stages: (stages, saturated::<u32>(node.concurrency)),
        offline_since: node.mark.map(|mark| mark.at),
    }
}

fn view(finding: InstallationFinding) -> DoctorFinding {
    DoctorFinding {
        check: finding.check.to_owned(),
        severity: finding.severity.to_string(),
        message: finding.message,
        remedy: finding.remedy,
    }
}
