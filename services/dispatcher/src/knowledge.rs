//! Knowledge that outlives the active dispatcher: of flows and systems, which it writes, and what operators
//! decided about them, which it reads. One task does both, so that the loop never waits for the database.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use jiff::Timestamp;
use pagurus_domain::dispatch::{DispatchEvent, Dispatcher, FlowRecord, OpenRequests, SystemRecord};
use pagurus_domain::id::Epoch;
use pagurus_runtime::Host;
use pagurus_runtime::metrics::{Count, Guard};
use pagurus_runtime::node::chain;
use pagurus_store::stops::{self, OperatorRules};
use pagurus_store::{Error, flows, requests};
use tokio::sync::{Notify, mpsc, oneshot};
use tokio_util::sync::{CancellationToken, DropGuard};

use crate::closed::ClosedSystems;
use crate::journal::Journal;

/// Between two looks at what operators decided, and two writings.
const EVERY: Duration = Duration::from_secs(1);
/// From the end of a count of open requests to the next, at least: two counts correct what news left wrong, within two seconds.
const COUNT_EVERY: Duration = Duration::from_millis(700);
/// Counting takes at most one part in so many of the time.
const COUNT_SHARE: u32 = 20;
/// Between two removals of what was not seen for long.
const FORGET_EVERY: Duration = Duration::from_secs(600);
/// Flows and systems that are removed in one go.
const FORGET_AT_ONCE: i64 = 1000;

/// Word of the task to the loop.
#[derive(Debug)]
pub(crate) enum Learnt {
    /// Rules of operators, which have changed.
    Rules(OperatorRules),
    /// Open requests begin to be counted as soon as this is answered.
    Counting(oneshot::Sender<()>),
    /// The requests that were open then.
    OpenRequests(Vec<OpenRequests>),
    /// The records that were asked for last are written: there may be the next.
    Due,
}

/// Word of the loop to the task.
#[derive(Debug)]
enum Told {
    Records { flows: Vec<FlowRecord>, systems: Vec<SystemRecord> },
    Confirmed { revision: i64, serial: u64 },
}

/// The way to the task.
#[derive(Debug)]
pub(crate) struct Knowledge {
    learnt: mpsc::Receiver<Learnt>,
    told: mpsc::Sender<Told>,
    rules_changed: Arc<Notify>,
    _stop: DropGuard,
}

/// Tells the dispatcher what the one before knew, and what operators decided: to be done before anything is handed out.
///
/// # Errors
/// The database fails.
pub(crate) async fn remember(
    host: &Host,
    epoch: Epoch,
    dispatcher: &mut Dispatcher,
    closed: &mut ClosedSystems,
) -> Result<Knowledge, Error> {
    let client = host.store.recovery().await?;
    let limit = i64::try_from(host.settings().distribution.flows.max_known).unwrap_or(i64::MAX);
    let (flows, systems) = flows::all(&client, limit).await?;
    let now = Timestamp::now();
    closed.note(&systems);
    dispatcher.handle(DispatchEvent::Remembered { flows, systems }, now);
    let rules = stops::rules(&client).await?;
    closed.decided(&rules.overrides, now);
    tell(dispatcher, rules.clone());
    let within = host.settings().distribution.flows.open_requests_within;
    let open = requests::open(&client, within).await?;
    dispatcher.handle(DispatchEvent::OpenRequests(open), Timestamp::now());
    // Nothing was handed out under this epoch before.
    stops::confirm(&client, epoch, rules.revision, 0).await?;
    let (learnt_sender, learnt) = mpsc::channel(4);
    let (told, told_receiver) = mpsc::channel(16);
    let stop = CancellationToken::new();
    let rules_changed = Arc::<Notify>::default();
    let task = Task {
        host: host.clone(),
        epoch,
        rules,
        unwritten: Default::default(),
        learnt: learnt_sender,
        told: told_receiver,
        rules_changed: rules_changed.clone(),
        stop: stop.clone(),
    };
    tokio::spawn(task.run());
    Ok(Knowledge { learnt, told, rules_changed, _stop: stop.drop_guard() })
}

/// Tells the dispatcher what operators decided.
pub(crate) fn tell(dispatcher: &mut Dispatcher, rules: OperatorRules) {
    let now = Timestamp::now();
    // First, so that what a stop takes over from a window, or the other way, does not go on for a moment.
    dispatcher.handle(DispatchEvent::Windows(rules.windows), now);
    dispatcher.handle(DispatchEvent::Stops(rules.stops), now);
    dispatcher.handle(DispatchEvent::SystemOverrides(rules.overrides), now);
}

impl Knowledge {
    /// The next thing that the task has learnt. Nothing is lost if it is not awaited to the end.
    pub async fn next(&mut self) -> Learnt {
        match self.learnt.recv().await {
            Some(learnt) => learnt,
            // The task ends with this value only.
            None => std::future::pending().await,
        }
    }

    /// Has records written. What finds no room is written later: it counts as changed as long.
    pub fn write(&self, flows: Vec<FlowRecord>, systems: Vec<SystemRecord>) {
        let _ = self.told.try_send(Told::Records { flows, systems });
    }

    /// True if records would be taken now.
    pub fn takes(&self) -> bool {
        self.told.capacity() > 1
    }

    /// Tells operators that the dispatcher goes by these rules.
    pub async fn confirm(&self, revision: i64, serial: u64) {
        let _ = self.told.send(Told::Confirmed { revision, serial }).await;
    }

    /// The rules have changed: they are read at once, not in a second.
    pub fn look(&self) {
        self.rules_changed.notify_one();
    }
}

struct Task {
    host: Host,
    epoch: Epoch,
    rules: OperatorRules,
    /// Records that could not be written yet.
    unwritten: (BTreeMap<String, FlowRecord>, BTreeMap<String, SystemRecord>),
    learnt: mpsc::Sender<Learnt>,
    told: mpsc::Receiver<Told>,
    /// However often it is told, one look is enough.
    rules_changed: Arc<Notify>,
    stop: CancellationToken,
}

impl Task {
    async fn run(mut self) {
        let mut tick = tokio::time::interval(EVERY);
        tick.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        let mut count_at = Instant::now();
        let mut forget = tokio::time::interval(FORGET_EVERY);
        loop {
            let (operation, done) = tokio::select! {
                () = self.stop.cancelled() => return,
                told = self.told.recv() => match told {
                    Some(Told::Records { flows, systems }) => ("flows", self.write(flows, systems).await),
                    Some(Told::Confirmed { revision, serial }) => {
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

    /// Under another epoch nothing is written; the loop hears of its lost lease by itself.
    async fn write(&mut self, flows: Vec<FlowRecord>, systems: Vec<SystemRecord>) -> Result<(), Error> {
        let (later_flows, later_systems) = &mut self.unwritten;
        later_flows.extend(flows.into_iter().map(|one| (one.flow.clone(), one)));
        later_systems.extend(systems.into_iter().map(|one| (one.system.clone(), one)));
        let flows: Vec<FlowRecord> = later_flows.values().cloned().collect();
        let systems: Vec<SystemRecord> = later_systems.values().cloned().collect();
        let client = self.host.store.recovery().await?;
        let written = flows::write_flows(&client, self.epoch, &flows).await?
            + flows::write_systems(&client, self.epoch, &systems).await?;
        self.host
            .metrics
            .guard_refused(Guard::Epoch, (flows.len() + systems.len()).saturating_sub(written as usize));
        self.unwritten = Default::default();
        Ok(())
    }

    async fn confirm(&self, revision: i64, serial: u64) -> Result<(), Error> {
        let client = self.host.store.recovery().await?;
        let is_ours = stops::confirm(&client, self.epoch, revision, serial).await?;
        self.host.metrics.guard_refused(Guard::Epoch, usize::from(!is_ours));
        Ok(())
    }

    async fn read_rules(&mut self) -> Result<(), Error> {
        let rules = stops::rules(&self.host.store.recovery().await?).await?;
        if rules != self.rules {
            Journal::rules(&self.rules, &rules);
            self.rules = rules.clone();
            let _ = self.learnt.send(Learnt::Rules(rules)).await;
        }
        Ok(())
    }

    /// What the loop knows when the count begins is what it is compared with: news that comes meanwhile is no difference.
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
