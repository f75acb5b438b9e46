//! Knowledge that outlives the active dispatcher: of flows and systems, which it writes, and what operators
//! decided about them, which it reads. One task does both, so that the loop never waits for the database.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use jiff::Timestamp;
use pagurus_dispatch::{DispatchEvent, Dispatcher};
use pagurus_domain::flow::{FlowRecord, OpenRequests, SystemRecord};
use pagurus_domain::id::Epoch;
use pagurus_domain::number::saturated;
use pagurus_runtime::Host;
use pagurus_runtime::metrics::{Count, Guard};
use pagurus_runtime::node::chain;
use pagurus_store::hot::requests;
use pagurus_store::upkeep::decisions::{self, NewDecision};
use pagurus_store::upkeep::stops::{self, OperatorRules};
use pagurus_store::upkeep::{clock, flows};
use pagurus_store::{Client, Error};
use tokio::sync::{Notify, mpsc, oneshot};
use tokio_util::sync::{CancellationToken, DropGuard};

use crate::closed::ClosedSystems;
use crate::journal::Journal;

/// Interval between two looks at what operators decided, and two writings.
const EVERY: Duration = Duration::from_secs(1);
/// Least pause between two counts of open requests: two counts correct what news left wrong, within two seconds.
const COUNT_EVERY: Duration = Duration::from_millis(700);
/// Counting takes at most one part in this many of the time.
const COUNT_SHARE: u32 = 20;
/// Interval between two removals of what was not seen for long.
const FORGET_EVERY: Duration = Duration::from_secs(600);
/// Flows and systems that are removed in one go.
const FORGET_AT_ONCE: i64 = 1000;

/// Decisions that wait to be written at most, while the database is away; of more, the oldest are lost.
const MOST_DECISIONS: usize = 20_000;

/// Message of the task to the loop.
#[derive(Debug)]
pub(crate) enum Learnt {
    /// Rules of operators, which have changed.
    Rules(OperatorRules),
    /// Start of a count of open requests, which waits for the answer.
    Counting(oneshot::Sender<()>),
    /// Requests that were open at the start of the count.
    OpenRequests(Vec<OpenRequests>),
    /// Time for the next records to be written.
    Due,
}

/// Records of flows and systems to be written, with the decisions about them.
#[derive(Debug, Default)]
pub(crate) struct Records {
    /// Flows that have changed.
    pub flows: Vec<FlowRecord>,
    /// Systems that have changed.
    pub systems: Vec<SystemRecord>,
    /// Decisions about them.
    pub decisions: Vec<NewDecision>,
}

/// Records that could not be written yet, of each flow and system the last.
#[derive(Debug, Default)]
struct Unwritten {
    flows: BTreeMap<String, FlowRecord>,
    systems: BTreeMap<String, SystemRecord>,
    decisions: Vec<NewDecision>,
}

/// Command of the loop to the task.
#[derive(Debug)]
enum Command {
    Records(Records),
    Confirmed { revision: i64, serial: u64 },
}

/// Handle of the task.
#[derive(Debug)]
pub(crate) struct Knowledge {
    learnt: mpsc::Receiver<Learnt>,
    commands: mpsc::Sender<Command>,
    rules_changed: Arc<Notify>,
    _stop: DropGuard,
}

/// Tells the dispatcher what the one before knew, and what operators decided: to be done before anything is handed out.
pub(crate) async fn remember(
    host: &Host,
    epoch: Epoch,
    dispatcher: &mut Dispatcher,
    closed: &mut ClosedSystems,
    journal: &mut Journal,
) -> Result<Knowledge, Error> {
    let client = host.store.recovery().await?;
    let limit = saturated::<i64>(host.settings().distribution.flows.max_known);
    let (flows, systems) = flows::all(&client, limit).await?;
    let rules = read_rules(&client, host).await?;
    let now = host.clock.now();
    journal.remember(&flows, &systems, rules.clone(), now);
    dispatcher.handle(DispatchEvent::Remembered { flows, systems }, now);
    closed.decided(&rules.overrides);
    tell(dispatcher, rules.clone(), now);
    let within = host.settings().distribution.flows.open_requests_within;
    let open = requests::open(&client, within).await?;
    dispatcher.handle(DispatchEvent::OpenRequests(open), host.clock.now());
    // Nothing was handed out under this epoch before.
    stops::confirm(&client, epoch, rules.revision, 0).await?;
    let (learnt_sender, learnt) = mpsc::channel(4);
    let (commands, command_receiver) = mpsc::channel(16);
    let stop = CancellationToken::new();
    let rules_changed = Arc::<Notify>::default();
    let task = KnowledgeTask {
        host: host.clone(),
        epoch,
        rules,
        unwritten: Unwritten::default(),
        learnt: learnt_sender,
        commands: command_receiver,
        rules_changed: rules_changed.clone(),
        stop: stop.clone(),
    };
    tokio::spawn(task.run());
    Ok(Knowledge { learnt, commands, rules_changed, _stop: stop.drop_guard() })
}

/// Reads what operators decided, and the clock that their times are of. A rule that holds from its commit holds by that clock.
async fn read_rules(client: &Client, host: &Host) -> Result<OperatorRules, Error> {
    let rules = stops::rules(client).await?;
    read_clock(client, host).await?;
    Ok(rules)
}

/// Reads the clock of the database.
pub(crate) async fn read_clock(client: &Client, host: &Host) -> Result<(), Error> {
    let asked = Instant::now();
    host.clock.note(clock::now(client).await?, asked);
    Ok(())
}

/// Tells the dispatcher what operators decided.
pub(crate) fn tell(dispatcher: &mut Dispatcher, rules: OperatorRules, now: Timestamp) {
    // First, so that what a stop takes over from a window, or the other way, does not go on for a moment.
    dispatcher.handle(DispatchEvent::Windows(rules.windows), now);
    dispatcher.handle(DispatchEvent::Stops(rules.stops), now);
    dispatcher.handle(DispatchEvent::SystemOverrides(rules.overrides), now);
}

impl Knowledge {
    /// Returns the next thing that the task has learnt. Safe to cancel: nothing is lost.
    pub async fn next(&mut self) -> Learnt {
        match self.learnt.recv().await {
            Some(learnt) => learnt,
            // The task ends with this value only.
            None => std::future::pending().await,
        }
    }

    /// Has records written. Those that find no room are written later: they count as changed until then.
    pub fn write(&self, records: Records) {
        let _ = self.commands.try_send(Command::Records(records));
    }

    /// True if records would be taken now.
    pub fn takes(&self) -> bool {
        self.commands.capacity() > 1
    }

    /// Tells operators that the dispatcher goes by these rules.
    pub async fn confirm(&self, revision: i64, serial: u64) {
        let _ = self.commands.send(Command::Confirmed { revision, serial }).await;
    }

    /// Has the rules read at once, because they have changed.
    pub fn look(&self) {
        self.rules_changed.notify_one();
    }
}

struct KnowledgeTask {
    host: Host,
    epoch: Epoch,
    rules: OperatorRules,
    /// Records that could not be written yet.
    unwritten: Unwritten,
    learnt: mpsc::Sender<Learnt>,
    commands: mpsc::Receiver<Command>,
    /// Signals changed rules; any number of signals leads to one read.
    rules_changed: Arc<Notify>,
    stop: CancellationToken,
}

impl KnowledgeTask {
    async fn run(mut self) {
        let mut tick = tokio::time::interval(EVERY);
        tick.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        let mut count_at = Instant::now();
        let mut forget = tokio::time::interval(FORGET_EVERY);
        loop {
            let (operation, done) = tokio::select! {
                () = self.stop.cancelled() => return,
                command = self.commands.recv() => match command {
                    Some(Command::Records(records)) => ("flows", self.write(records).await),
                    Some(Command::Confirmed { revision, serial }) => {
                        ("confirm", self.confirm(revision, serial).await)
                    }
                    None => return,
                },
                () = self.rules_changed.notified() => ("rules", self.read_rules().await),
                _ = tick.tick() => {
                    let done = self.read_rules().await;
                    let _ = self.learnt.send(Learnt::Due).await;
                    ("rules", done)
                }
                () = tokio::time::sleep_until(count_at.into()) => {
                    let begun = Instant::now();
                    let done = self.count_requests().await;
                    count_at = Instant::now() + (begun.elapsed() * COUNT_SHARE).max(COUNT_EVERY);
                    ("open requests", done)
                }
                _ = forget.tick() => ("forget flows", self.forget().await),
            };
            if let Err(error) = done {
                self.host.metrics.count(Count::StoreErrors, operation, 1);
                tracing::warn!(operation, error = chain(&error), "flows could not be read or written");
            }
        }
    }

    /// Writes records, unless the epoch has changed; the loop hears of its lost lease by itself. The decisions first: what
    /// the next dispatcher finds in a record is in the history already.
    async fn write(&mut self, records: Records) -> Result<(), Error> {
        let unwritten = &mut self.unwritten;
        unwritten.flows.extend(records.flows.into_iter().map(|one| (one.flow.clone(), one)));
        unwritten.systems.extend(records.systems.into_iter().map(|one| (one.system.clone(), one)));
        unwritten.decisions.extend(records.decisions);
        let lost = unwritten.decisions.len().saturating_sub(MOST_DECISIONS);
        if lost > 0 {
            tracing::warn!(lost, "decisions have no row in the history: the database took none for long");
            unwritten.decisions.drain(..lost);
        }
        let flows: Vec<FlowRecord> = unwritten.flows.values().cloned().collect();
        let systems: Vec<SystemRecord> = unwritten.systems.values().cloned().collect();
        let client = self.host.store.recovery().await?;
        decisions::write(&client, self.epoch, &unwritten.decisions).await?;
        unwritten.decisions.clear();
        let written = flows::write_flows(&client, self.epoch, &flows).await?
            + flows::write_systems(&client, self.epoch, &systems).await?;
        self.host
            .metrics
            .guard_refused(Guard::Epoch, (flows.len() + systems.len()).saturating_sub(written as usize));
        self.unwritten = Unwritten::default();
        Ok(())
    }

    async fn confirm(&self, revision: i64, serial: u64) -> Result<(), Error> {
        let client = self.host.store.recovery().await?;
        let is_ours = stops::confirm(&client, self.epoch, revision, serial).await?;
        self.host.metrics.guard_refused(Guard::Epoch, usize::from(!is_ours));
        Ok(())
    }

    async fn read_rules(&mut self) -> Result<(), Error> {
        let rules = read_rules(&self.host.store.recovery().await?, &self.host).await?;
        if rules != self.rules {
            Journal::rules(&self.rules, &rules);
            self.rules = rules.clone();
            let _ = self.learnt.send(Learnt::Rules(rules)).await;
        }
        Ok(())
    }

    /// Counts open requests, compared with what the loop knows at the start: news that comes meanwhile is no difference.
    async fn count_requests(&self) -> Result<(), Error> {
        let client = self.host.store.reports().await?;
        let (marked, begun) = oneshot::channel();
        let _ = self.learnt.send(Learnt::Counting(marked)).await;
        if begun.await.is_err() {
            return Ok(());
        }
        let within = self.host.settings().distribution.flows.open_requests_within;
        let counts = requests::open(&client, within).await?;
        let _ = self.learnt.send(Learnt::OpenRequests(counts)).await;
        Ok(())
    }

    async fn forget(&self) -> Result<(), Error> {
        let age = self.host.settings().distribution.flow_retention;
        flows::forget(&self.host.store.operations().await?, age, FORGET_AT_ONCE).await?;
        Ok(())
    }
}
