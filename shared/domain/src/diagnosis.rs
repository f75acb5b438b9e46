//! Diagnosis of an installation: from facts about servers, nodes and backlog to findings, each with what to do.
//!
//! Never guesses: a fact that could not be had is a finding of its own, and what is not asked is not judged.

mod judge;

use std::fmt;
use std::time::Duration;

use jiff::Timestamp;

use crate::id::{Role, spelled};

pub use judge::{diagnose, reviewed};

/// Severity of a finding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum FindingSeverity {
    /// Works, but not for long, or not as fast as it could.
    Warning,
    /// Something does not work, or what was promised does not hold.
    Error,
}

spelled!(FindingSeverity {
    Warning => "warning",
    Error => "error",
});

/// Something that is wrong with an installation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InstallationFinding {
    /// Name of the check, for programs.
    pub check: &'static str,
    /// Severity of it.
    pub severity: FindingSeverity,
    /// Finding in a sentence.
    pub message: String,
    /// Remedy.
    pub remedy: String,
}

/// A fact, or why it could not be had.
pub type Fact<T> = Result<T, String>;

/// Facts about an installation.
#[derive(Clone, Debug)]
pub struct InstallationFacts {
    /// About the database.
    pub database: Fact<DatabaseFacts>,
    /// About the message broker.
    pub broker: BrokerFacts,
    /// About the nodes, and about who leads.
    pub cluster: Fact<ClusterFacts>,
    /// About what waits.
    pub backlog: Fact<BacklogFacts>,
    /// About the configuration of the process that was asked.
    pub configuration: ConfigurationFacts,
}

/// Facts about the database.
#[derive(Clone, Debug, Default)]
pub struct DatabaseFacts {
    /// Settings of the server, by name.
    pub settings: Vec<(String, String)>,
    /// True where the server only repeats what another one writes.
    pub is_standby: bool,
    /// Sessions of clients.
    pub sessions: i64,
    /// Sessions among them that show nothing to the user of the engine.
    pub unseen_sessions: i64,
    /// Newest migration of the schema.
    pub schema: i64,
    /// Newest migration that this program knows.
    pub known_schema: i64,
    /// Sessions that hold a snapshot, the oldest first.
    pub snapshots: Vec<SnapshotHolder>,
    /// Sessions that wait for locks, the longest first.
    pub blocked: Vec<BlockedSession>,
    /// Transactions that were prepared for a commit in two phases, and the age of the oldest.
    pub prepared: Option<(i64, Duration)>,
    /// Names of replication slots that nobody reads.
    pub idle_slots: Vec<String>,
    /// Transactions since the oldest row that is not frozen.
    pub transactions_until_frozen: i64,
    /// Clock of the server, less that of the process that was asked, in seconds.
    pub clock_ahead: f64,
}

/// A session that holds a snapshot: rows that died since cannot be removed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SnapshotHolder {
    /// Process of the server.
    pub pid: i32,
    /// Name that the session gave itself.
    pub application: String,
    /// State of the session.
    pub state: String,
    /// Age of the snapshot.
    pub age: Duration,
}

/// A session that waits for a lock.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BlockedSession {
    /// Process of the server.
    pub pid: i32,
    /// Name that the session gave itself.
    pub application: String,
    /// Processes of the server that hold the lock.
    pub holders: Vec<i32>,
    /// Time for which it waits.
    pub time: Duration,
}

/// Facts about the message broker.
#[derive(Clone, Debug, Default)]
pub struct BrokerFacts {
    /// Why a connection of the process that was asked cannot be used, by connection.
    pub closed: Vec<(String, String)>,
    /// Time of a message with its confirm; why there was none.
    pub confirm: Option<Fact<Duration>>,
    /// Queues of the engine.
    pub queues: Vec<QueueFacts>,
}

/// Content of a queue of the engine at the message broker.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QueueFacts {
    /// Name of the queue.
    pub name: String,
    /// Messages that wait in it.
    pub messages: u32,
    /// Consumers; none where the queue is not there.
    pub consumers: Option<u32>,
    /// True for the queue of messages that wait for the decision of a person.
    pub is_of_refused: bool,
}

/// Facts about the nodes.
#[derive(Clone, Debug, Default)]
pub struct ClusterFacts {
    /// Living nodes, and those that ended recently.
    pub nodes: Vec<NodeFacts>,
    /// True while a dispatcher leads.
    pub is_led: bool,
    /// Version of the program that was asked.
    pub version: String,
    /// Silence after which a node is lost.
    pub lost_after: Duration,
}

/// Facts about a node.
#[derive(Clone, Debug)]
pub struct NodeFacts {
    /// Role of the node.
    pub role: Role,
    /// Name of the node.
    pub name: String,
    /// Status of the node.
    pub status: String,
    /// Version of its program.
    pub version: String,
    /// Time since its last sign of life.
    pub silent: Option<Duration>,
    /// True while its life lasts.
    pub lives: bool,
    /// Stages that it has, and those it takes at most.
    pub stages: (u32, u32),
    /// Time since which an operator has it out of service.
    pub offline_since: Option<Timestamp>,
}

/// Facts about what waits.
#[derive(Clone, Debug, Default)]
pub struct BacklogFacts {
    /// Stages that may run.
    pub ready: u64,
    /// Stages that run.
    pub running: u64,
    /// Time for which the oldest stage could have run that stands in no queue.
    pub oldest_ready: Option<Duration>,
    /// Notifications that are on their way, and the age of the oldest.
    pub unsent: (u64, Option<Duration>),
    /// Notifications that were parked.
    pub parked: u64,
    /// Refused messages that wait for a decision.
    pub refused: u64,
    /// Orders that are marked as inconsistent.
    pub inconsistent: u64,
    /// Names of the subscriptions that the engine has paused.
    pub paused_subscriptions: Vec<String>,
    /// Keywords of the flows that operators have stopped.
    pub stops: Vec<String>,
    /// Flows that do not work.
    pub stopped_flows: Vec<StandingFacts>,
    /// Called systems that are left alone.
    pub away_systems: Vec<StandingFacts>,
}

/// Facts about a flow or a called system that does not work.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StandingFacts {
    /// Name of it.
    pub name: String,
    /// State of it.
    pub state: String,
    /// Time since which it does not work, where that is known.
    pub since: Option<Timestamp>,
    /// Last decision about it.
    pub why: Option<String>,
}

/// Facts about the configuration of a process.
#[derive(Clone, Debug, Default)]
pub struct ConfigurationFacts {
    /// True while the file has faults and the former one counts.
    pub refused: bool,
    /// Keys with another value that takes effect with a restart.
    pub needs_restart: Vec<String>,
}

/// A duration as people read it.
pub(crate) struct Shown(pub Duration);

impl fmt::Display for Shown {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0.as_secs() {
            0 => write!(formatter, "{} ms", self.0.as_millis()),
            seconds @ 1..120 => write!(formatter, "{seconds} s"),
            seconds @ 120..7200 => write!(formatter, "{} min", seconds / 60),
            seconds => write!(formatter, "{} h", seconds / 3600),
        }
    }
}
