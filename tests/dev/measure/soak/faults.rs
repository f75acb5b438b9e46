//! The random faults of a soak: each kind once in an order that the seed decides, then all of them again. A window
//! breaks something, waits, and mends it; between two windows everything is well for a while.

mod notice;
mod windows;

use std::time::{Duration, Instant};

use anyhow::Result;
use pagurus_harness::nodes::Role;
use pagurus_harness::postgres::Stop;
use pagurus_harness::proxy::Mode;
use rand::Rng;
use rand::rngs::StdRng;
use rand::seq::SliceRandom;

use super::ground::Ground;
pub use notice::Notices;

/// A fault that fills a window.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Fault {
    /// `kill -9` of one node of a role, which is started again soon.
    Kill(Role),
    /// `kill -9` of one node of a role, which stays away until its loss was noticed.
    Lose(Role),
    /// `kill -9` of all nodes at once.
    KillAll,
    /// SIGSTOP of one node of a role for this many seconds, then SIGCONT.
    Freeze(Role, u64),
    /// SIGTERM of one node of a role, started again.
    Stop(Role),
    /// A node of a role cannot reach PostgreSQL.
    Database(Role, Mode),
    /// No node can.
    Databases(Mode),
    /// A node of a role cannot reach RabbitMQ.
    Broker(Role, Mode),
    /// No node can.
    Brokers(Mode),
    /// A session locks a third of the orders, and half of the queues.
    Lock,
    /// PostgreSQL ends all sessions.
    Sessions,
    /// PostgreSQL takes no writes.
    ReadOnly,
    /// A session holds a snapshot for minutes, beside the windows that follow.
    Snapshot,
    /// PostgreSQL is stopped and started.
    Postgres(Stop),
    /// `kill -9` of RabbitMQ, started again.
    Rabbit,
    /// RabbitMQ has no memory left, and takes no messages.
    Alarm,
    /// A node of a role is taken out of service, and put back.
    Offline(Role),
    /// All orders that failed are restarted by a bulk operation.
    Bulk,
}

/// Returns every kind once.
fn all() -> Vec<Fault> {
    use Fault::{
        Alarm, Broker, Brokers, Bulk, Database, Databases, Freeze, Kill, KillAll, Lock, Lose, Offline,
        Postgres, Rabbit, ReadOnly, Sessions, Snapshot,
    };
    use Role::{Activator, Dispatcher, Intake, Notifier, Worker};
    let mut all: Vec<Fault> = Role::ALL.into_iter().map(Kill).collect();
    // What is muted loses the answers of its commits; a hole followed by a cut, the commits themselves.
    all.extend(Role::ALL.into_iter().map(|role| Database(role, Mode::Mute)));
    all.extend([Intake, Worker, Activator, Notifier].map(|role| Database(role, Mode::CutAtCommit)));
    all.extend([Freeze(Worker, 20), Freeze(Dispatcher, 6), Freeze(Activator, 3), Freeze(Notifier, 3)]);
    all.extend([Lose(Worker), Lose(Dispatcher), Freeze(Intake, 3), Fault::Stop(Worker), KillAll]);
    all.extend([Database(Worker, Mode::BlackHole), Database(Intake, Mode::Cut), Databases(Mode::Cut)]);
    all.extend([Databases(Mode::BlackHole), Databases(Mode::Delay(Duration::from_millis(100)))]);
    all.extend([Broker(Notifier, Mode::Mute), Broker(Worker, Mode::BlackHole), Brokers(Mode::Cut)]);
    all.extend([Lock, Sessions, ReadOnly, Snapshot, Postgres(Stop::Immediate), Postgres(Stop::Fast)]);
    all.extend([Rabbit, Alarm, Offline(Worker), Offline(Intake), Bulk]);
    all
}

impl Fault {
    /// The words for it, without what varies.
    pub fn name(self) -> String {
        let mode = |mode| match mode {
            Mode::Mute => "answers dropped, then cut",
            Mode::CutAtCommit => "cut between a commit and its answer",
            Mode::BlackHole => "black hole",
            Mode::Delay(_) => "slow",
            Mode::Cut => "cut",
            Mode::Pass => "well",
        };
        match self {
            Self::Kill(role) => format!("kill -9 {role}"),
            Self::Lose(role) => format!("kill -9 {role}, left dead"),
            Self::KillAll => "kill -9 of all nodes".to_owned(),
            Self::Freeze(role, seconds) => format!("SIGSTOP {role} for {seconds} s"),
            Self::Stop(role) => format!("SIGTERM {role}"),
            Self::Database(role, how) => format!("PostgreSQL from {role}: {}", mode(how)),
            Self::Databases(how) => format!("PostgreSQL from all: {}", mode(how)),
            Self::Broker(role, how) => format!("RabbitMQ from {role}: {}", mode(how)),
            Self::Brokers(how) => format!("RabbitMQ from all: {}", mode(how)),
            Self::Lock => "a third of the orders locked".to_owned(),
            Self::Sessions => "all sessions ended".to_owned(),
            Self::ReadOnly => "PostgreSQL read-only".to_owned(),
            Self::Snapshot => "a snapshot held for 2 min".to_owned(),
            Self::Postgres(Stop::Fast) => "PostgreSQL restarted".to_owned(),
            Self::Postgres(Stop::Immediate) => "PostgreSQL stopped as by a power cut".to_owned(),
            Self::Rabbit => "kill -9 RabbitMQ".to_owned(),
            Self::Alarm => "RabbitMQ memory alarm".to_owned(),
            Self::Offline(role) => format!("{role} offline and online"),
            Self::Bulk => "bulk restart of failed orders".to_owned(),
        }
    }
}

/// A fault that was done.
#[derive(Clone, Debug)]
pub struct Window {
    /// The fault.
    pub fault: Fault,
    /// Start of the fault.
    pub from: Instant,
    /// Time at which all of it was mended.
    pub until: Instant,
}

/// The faults of a soak.
pub struct Faults {
    dice: StdRng,
    deck: Vec<Fault>,
    done: Vec<Window>,
    notices: Notices,
}

impl Faults {
    /// Creates faults in an order that the dice decide.
    pub fn of(dice: StdRng) -> Self {
        Self { dice, deck: Vec::new(), done: Vec::new(), notices: Notices::default() }
    }

    /// Window after window until this moment.
    pub async fn go_on_until(&mut self, end: Instant, ground: &mut Ground) -> Result<()> {
        let begun = Instant::now();
        loop {
            let rest = Duration::from_millis(self.dice.random_range(4000..10_000));
            tokio::time::sleep(rest.min(end.saturating_duration_since(Instant::now()))).await;
            if Instant::now() >= end {
                return Ok(());
            }
            if self.deck.is_empty() {
                self.deck = all();
                self.deck.shuffle(&mut self.dice);
            }
            let Some(fault) = self.deck.pop() else { continue };
            eprintln!("    {:>6.1} s  {}", begun.elapsed().as_secs_f64(), fault.name());
            let from = Instant::now();
            windows::blow(fault, ground, &mut self.dice, &mut self.notices).await?;
            self.done.push(Window { fault, from, until: Instant::now() });
        }
    }

    /// Faults that were done so far.
    pub fn windows(&self) -> &[Window] {
        &self.done
    }

    /// Times after which losses were noticed.
    pub const fn notices(&self) -> &Notices {
        &self.notices
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_role_is_killed_and_no_fault_is_named_like_another() {
        let names: std::collections::BTreeSet<String> = all().into_iter().map(Fault::name).collect();
        assert_eq!(names.len(), all().len());
        assert!(Role::ALL.into_iter().all(|role| all().contains(&Fault::Kill(role))));
    }
}
