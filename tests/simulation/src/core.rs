//! State that all processes of a run share: the clock, the events to come, the store, the broker, the log. Knows no role.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, BinaryHeap, VecDeque};
use std::fmt::Write as _;

use jiff::Timestamp;
use pagurus_domain::id::{Incarnation, OrderNo, Role};
use pagurus_domain::invariants::traffic::{ObservedCall, ObservedNotification};
use sha2::{Digest, Sha256};
use uuid::Uuid;

use crate::chance::Chance;
use crate::message::{Durable, Event, Input, Message};
pub use crate::moment::{Millis, ProcessId, millis, moment, stamp};
use crate::plan::Plan;
use crate::planted::Planted;
use crate::store::Tables;

/// Reason why a call of the store has no answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trouble {
    /// Nothing was done.
    Away,
    /// The call was done, or not: nobody knows.
    Unknown,
    /// The caller is dead.
    Died,
}

/// A durable queue of the broker.
#[derive(Debug, Default)]
pub struct DurableQueue {
    waiting: VecDeque<Durable>,
    unacked: BTreeMap<(ProcessId, u32), Vec<Durable>>,
}

/// Deaths in a million between two transactions of a planted bug: many, because runs have few of them, and because time passes.
const DIES_BETWEEN: u64 = 50_000;
/// Lines of the log that a failure shows.
const LAST: usize = 60;

/// Shared by all.
#[derive(Debug)]
pub struct Core {
    /// The plan.
    pub plan: Plan,
    /// The bug that is in it.
    pub planted: Option<Planted>,
    /// The present moment.
    pub now: Millis,
    agenda: BinaryHeap<Reverse<(Millis, u64, Slot)>>,
    numbered: u64,
    questions: u32,
    /// Chance of faults, of the world, of everything.
    pub chance: Chance,
    /// The store.
    pub tables: Tables,
    /// The process whose turn it is, and which life of it.
    pub turn: (ProcessId, u32),
    /// Set where it died in its turn.
    pub died: bool,
    /// True while faults happen.
    pub faulty: bool,
    /// Time at which they ended; 0 while they go on.
    pub healed_at: Millis,
    /// Time at which the database comes back.
    pub database_away: Millis,
    /// Time at which the broker comes back.
    pub broker_away: Millis,
    /// Processes that cannot reach the database, each with the time at which it can again.
    pub cut: BTreeMap<ProcessId, Millis>,
    /// Roles of the processes that live.
    pub living: BTreeMap<ProcessId, (Role, u32)>,
    /// The process of each node that is, or was, registered.
    pub nodes: BTreeMap<Incarnation, ProcessId>,
    /// Dispatchers that listen.
    pub listeners: BTreeSet<ProcessId>,
    orders: DurableQueue,
    callbacks: DurableQueue,
    /// Calls that called systems got.
    pub calls: Vec<ObservedCall>,
    /// Children that stages have asked for, by id: their contents.
    pub children: BTreeMap<String, Vec<Vec<u8>>>,
    /// Confirmed children, by id: their contents.
    pub confirmed_children: BTreeMap<String, Vec<u8>>,
    /// Ends of children that were reported to their parents, by request.
    pub reported_to_parents: BTreeMap<Uuid, usize>,
    /// Notifications that clients got.
    pub notified: Vec<ObservedNotification>,
    /// The last lines of the log.
    log: VecDeque<String>,
    digest: Sha256,
    /// True if every line of the log is kept.
    pub verbose: bool,
}

/// An event, which has no order of its own.
#[derive(Debug)]
struct Slot(Event);

impl PartialEq for Slot {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}
impl Eq for Slot {}
impl PartialOrd for Slot {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}
impl Ord for Slot {
    fn cmp(&self, _: &Self) -> std::cmp::Ordering {
        std::cmp::Ordering::Equal
    }
}

impl Core {
    /// Creates the core of a run that has not begun.
    #[must_use]
    pub fn new(seed: u64, plan: Plan, planted: Option<Planted>) -> Self {
        Self {
            plan,
            planted,
            now: 0,
            agenda: BinaryHeap::new(),
            numbered: 0,
            questions: 0,
            chance: Chance::of(seed, 2),
            tables: Tables::new(seed, planted),
            turn: (usize::MAX, 0),
            died: false,
            faulty: true,
            healed_at: 0,
            database_away: 0,
            broker_away: 0,
            cut: BTreeMap::new(),
            living: BTreeMap::new(),
            nodes: BTreeMap::new(),
            listeners: BTreeSet::new(),
            orders: DurableQueue::default(),
            callbacks: DurableQueue::default(),
            calls: Vec::new(),
            children: BTreeMap::new(),
            confirmed_children: BTreeMap::new(),
            reported_to_parents: BTreeMap::new(),
            notified: Vec::new(),
            log: VecDeque::new(),
            digest: Sha256::new(),
            verbose: false,
        }
    }

    /// True if this bug is in the run.
    #[must_use]
    pub fn has(&self, planted: Planted) -> bool {
        self.planted == Some(planted)
    }

    /// The present moment, as the clock of the database shows it.
    #[must_use]
    pub fn stamp(&self) -> Timestamp {
        stamp(self.now)
    }

    /// Schedules an event after this number of milliseconds.
    pub fn schedule(&mut self, after: Millis, event: Event) {
        self.numbered += 1;
        self.agenda.push(Reverse((self.now + after.max(0), self.numbered, Slot(event))));
    }

    /// The same for the process whose turn it is.
    pub fn later(&mut self, after: Millis, input: Input) {
        let (process, life) = self.turn;
        self.schedule(after, Event::To { process, life, input });
    }

    /// The number of a question to the world, which no other has: a stage may be with its worker a second time when the answer to
    /// its first time comes.
    pub const fn question(&mut self) -> u32 {
        self.questions += 1;
        self.questions
    }

    /// The next event; the clock goes on to it.
    pub fn next_event(&mut self) -> Option<Event> {
        let Reverse((at, _, Slot(event))) = self.agenda.pop()?;
        self.now = self.now.max(at);
        Some(event)
    }

    /// Writes a line into the log, which makes the digest of the run.
    pub fn note(&mut self, line: std::fmt::Arguments<'_>) {
        let mut text = String::with_capacity(80);
        let _ = write!(text, "{} p{} {line}", self.now, self.turn.0.cast_signed());
        self.digest.update(text.as_bytes());
        if !self.verbose && self.log.len() == LAST {
            self.log.pop_front();
        }
        self.log.push_back(text);
    }

    /// The digest of all lines so far.
    #[must_use]
    pub fn digest(&self) -> String {
        let mut text = String::new();
        for byte in self.digest.clone().finalize() {
            let _ = write!(text, "{byte:02x}");
        }
        text
    }

    /// The last lines, or all of them.
    #[must_use]
    pub fn lines(&self) -> Vec<String> {
        self.log.iter().cloned().collect()
    }

    /// Calls the store in the turn of a process: one transaction, before and after which the process may die, and whose
    /// answer may be lost.
    ///
    /// # Errors
    /// There is no answer.
    pub fn call<T>(&mut self, name: &str, transaction: impl FnOnce(&mut Tables) -> T) -> Result<T, Trouble> {
        let is_cut = self.cut.get(&self.turn.0).is_some_and(|until| *until > self.now);
        if self.database_away > self.now || is_cut {
            self.note(format_args!("{name}: the database is away"));
            return Err(Trouble::Away);
        }
        if self.faulty && self.chance.happens(self.plan.dies_before) {
            self.note(format_args!("{name}: dies before"));
            self.died = true;
            return Err(Trouble::Died);
        }
        self.tables.now = self.stamp();
        let done = transaction(&mut self.tables);
        if self.faulty && self.chance.happens(self.plan.dies_after) {
            self.note(format_args!("{name}: dies after"));
            self.tables.witness.saw("a process died after a commit");
            self.died = true;
            return Err(Trouble::Died);
        }
        if self.faulty && self.chance.happens(self.plan.answer_lost) {
            self.note(format_args!("{name}: the answer is lost"));
            self.tables.witness.saw("the answer of a commit was lost");
            return Err(Trouble::Unknown);
        }
        Ok(done)
    }

    /// Goes on from one transaction to the next of what should be one: the process whose turn it is may die in between.
    ///
    /// # Errors
    /// It has died.
    pub fn pass_between(&mut self, name: &str) -> Result<(), Trouble> {
        if self.faulty && self.chance.happens(DIES_BETWEEN) {
            self.note(format_args!("{name}: dies in between"));
            self.died = true;
            return Err(Trouble::Died);
        }
        Ok(())
    }

    /// Sends what may be lost, doubled, delayed and overtaken.
    pub fn send(&mut self, process: ProcessId, message: &Message) {
        let Some((_, life)) = self.living.get(&process).copied() else { return };
        if self.broker_away > self.now || (self.faulty && self.chance.happens(self.plan.lost)) {
            return;
        }
        let copies = if self.faulty && self.chance.happens(self.plan.doubled) { 2 } else { 1 };
        for _ in 0..copies {
            let slow = self.faulty && self.chance.happens(self.plan.delayed);
            let after = if slow { self.chance.between(50, 9_000) } else { self.chance.between(1, 6) };
            self.schedule(after, Event::To { process, life, input: Input::Message(message.clone()) });
        }
    }

    /// Processes of a role that live.
    #[must_use]
    pub fn of_role(&self, role: Role) -> Vec<ProcessId> {
        self.living.iter().filter(|(_, (of, _))| *of == role).map(|(process, _)| *process).collect()
    }

    /// The process that runs under this number.
    #[must_use]
    pub fn process_of(&self, node: Incarnation) -> Option<ProcessId> {
        self.nodes.get(&node).copied()
    }

    /// Any process of a role.
    pub fn any_of(&mut self, role: Role) -> Option<ProcessId> {
        let processes = self.of_role(role);
        let index = self.chance.below(processes.len().max(1) as u64);
        processes.get(usize::try_from(index).unwrap_or(0)).copied()
    }

    fn queue(&mut self, of_callbacks: bool) -> &mut DurableQueue {
        if of_callbacks { &mut self.callbacks } else { &mut self.orders }
    }

    /// Publishes what is durable; false where nothing was confirmed, whether it is there or not.
    pub fn publish(&mut self, message: Durable) -> bool {
        if self.broker_away > self.now {
            return false;
        }
        let of_callbacks = matches!(message, Durable::Callback { .. });
        self.queue(of_callbacks).waiting.push_back(message);
        if let Some(process) = self.any_of(Role::Intake)
            && let Some((_, life)) = self.living.get(&process).copied()
        {
            let after = self.chance.between(1, 8);
            self.schedule(after, Event::To { process, life, input: Input::Consume });
        }
        !(self.faulty && self.chance.happens(self.plan.answer_lost))
    }

    /// Takes deliveries for the process whose turn it is; they stay with it until they are acknowledged.
    pub fn consume(&mut self, of_callbacks: bool, most: usize) -> Vec<Durable> {
        if self.broker_away > self.now {
            return Vec::new();
        }
        let turn = self.turn;
        let queue = self.queue(of_callbacks);
        let count = queue.waiting.len().min(most);
        let taken: Vec<Durable> = queue.waiting.drain(..count).collect();
        if !taken.is_empty() {
            queue.unacked.entry(turn).or_default().extend(taken.iter().cloned());
        }
        taken
    }

    /// Acknowledges all that the process whose turn it is has taken.
    pub fn acknowledge(&mut self, of_callbacks: bool) {
        let turn = self.turn;
        if self.broker_away <= self.now {
            self.queue(of_callbacks).unacked.remove(&turn);
        }
    }

    /// Gives back what a process has taken: its connection is gone.
    pub fn give_back(&mut self, process: ProcessId, life: u32) {
        for of_callbacks in [false, true] {
            let queue = self.queue(of_callbacks);
            for message in queue.unacked.remove(&(process, life)).unwrap_or_default().into_iter().rev() {
                queue.waiting.push_front(message);
            }
        }
    }

    /// The same with everything that anybody has taken: the broker went down.
    pub fn give_all_back(&mut self) {
        let takers: Vec<(ProcessId, u32)> =
            self.orders.unacked.keys().chain(self.callbacks.unacked.keys()).copied().collect();
        takers.into_iter().for_each(|(process, life)| self.give_back(process, life));
    }

    /// Durable messages that nobody has acknowledged.
    #[must_use]
    pub fn undone(&self) -> usize {
        let of =
            |queue: &DurableQueue| queue.waiting.len() + queue.unacked.values().map(Vec::len).sum::<usize>();
        of(&self.orders) + of(&self.callbacks)
    }

    /// An order that the run has, by its number.
    #[must_use]
    pub fn id_of(&self, no: OrderNo) -> String {
        self.tables.orders.get(&no).map_or_else(|| no.to_string(), |order| order.id.clone())
    }
}
