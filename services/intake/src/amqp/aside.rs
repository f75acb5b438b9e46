//! Messages that would hold up others: commands and answers for an order, and registrations into a queue, that
//! somebody else has locked, and registrations whose parameters take long to check. They are carried out beside the
//! entry, so that others go on through it. What came later
//! for the same order or queue waits behind them, in the order in which it came.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::hash::Hash;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use jiff::Timestamp;
use pagurus_broker::DeliveryTag;
use pagurus_store::Error;
use tokio::sync::mpsc;
use tokio::time::MissedTickBehavior;

use super::alone::Alone;
use super::carry_out::AmqpEntry;
use super::handled::Handled;
use super::many::MessagePart;
use super::read::Incoming;
use super::settle::Settlement;

/// Interval at which what waits is tried.
const PAUSE: Duration = Duration::from_millis(200);
/// Longest stay here; then all messages go back to their queue, so that the broker does not take the
/// consumer for stuck.
const LONGEST: Duration = Duration::from_secs(300);

/// The content of an item that waits.
enum Held {
    Read(Box<Incoming>),
    /// A registration. It is read again when its turn comes: what is read may be a hundred times as large
    /// as the message.
    Registration {
        received_at: Timestamp,
    },
}

/// Something that is locked: no two of one lock are tried side by side.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Lock {
    Order(String),
    Queue(String),
    Request(String),
}

impl Lock {
    /// Returns the locks behind which a message waits, and behind which others wait for it.
    fn of(message: &Incoming) -> Vec<Self> {
        let queue = match message {
            Incoming::Register(submission) => submission.queue.clone(),
            _ => None,
        };
        let request = match message {
            Incoming::Answer(answer) => Some(answer.named.clone()),
            _ => None,
        };
        let order = message.order().map(str::to_owned);
        let queue = queue.map(Self::Queue).into_iter();
        queue.chain(order.map(Self::Order)).chain(request.map(Self::Request)).collect()
    }
}

/// Sender to the task that tries again what waits. Cheap to clone.
#[derive(Clone)]
pub(super) struct Aside {
    sender: mpsc::UnboundedSender<Waiting>,
    counts: Arc<Mutex<AsideCounts>>,
    /// Largest number of messages of which something waits.
    most: usize,
}

/// Numbers of items that wait, by what for and by message.
#[derive(Default)]
struct AsideCounts {
    locks: HashMap<Lock, usize>,
    messages: HashMap<DeliveryTag, usize>,
}

impl AsideCounts {
    fn add(&mut self, tag: DeliveryTag, locks: &[Lock]) {
        *self.messages.entry(tag).or_default() += 1;
        for lock in locks {
            *self.locks.entry(lock.clone()).or_default() += 1;
        }
    }

    fn remove(&mut self, tag: DeliveryTag, locks: &[Lock]) {
        count_down(&mut self.messages, &tag);
        locks.iter().for_each(|lock| count_down(&mut self.locks, lock));
    }
}

fn count_down<K: Eq + Hash>(counts: &mut HashMap<K, usize>, key: &K) {
    if let Some(count) = counts.get_mut(key) {
        *count -= 1;
        if *count == 0 {
            counts.remove(key);
        }
    }
}

struct Waiting {
    item: MessagePart<'static>,
    held: Held,
    locks: Vec<Lock>,
    since: Instant,
}

impl Aside {
    /// Starts the task that tries them again.
    pub fn start(entry: AmqpEntry, settlement: Settlement, alone: Alone) -> Self {
        let host = entry.intake.host.clone();
        // Half of what the consumer may hold unacknowledged: the other half is for those who wait for nothing.
        let most = usize::from(host.settings().broker.prefetch).div_ceil(2);
        // Bounded by the counts: a lane that puts something aside must not wait for what stands aside.
        let (sender, receiver) = mpsc::unbounded_channel();
        let counts = Arc::<Mutex<AsideCounts>>::default();
        let lane = AsideTask { entry, settlement, alone, counts: counts.clone() };
        host.spawn("aside", lane.run(receiver));
        Self { sender, counts, most }
    }

    /// True if something waits for this order.
    pub fn holds_order(&self, id: &str) -> bool {
        let locked = &of(&self.counts).locks;
        !locked.is_empty() && locked.contains_key(&Lock::Order(id.to_owned()))
    }

    /// True if something waits for this queue.
    pub fn holds_queue(&self, queue: &str) -> bool {
        let locked = &of(&self.counts).locks;
        !locked.is_empty() && locked.contains_key(&Lock::Queue(queue.to_owned()))
    }

    /// Hands an item in, which is settled when it is done. False if too many wait: then the message has to
    /// go back to its queue.
    pub fn put(&self, item: &MessagePart<'_>, message: Incoming) -> bool {
        let (tag, locks) = (item.delivery.tag, Lock::of(&message));
        {
            let mut counts = of(&self.counts);
            // The orders of one message count once: the broker counts messages, and what they hold is in memory already.
            if counts.messages.len() >= self.most && !counts.messages.contains_key(&tag) {
                return false;
            }
            counts.add(tag, &locks);
        }
        let held = match message {
            Incoming::Register(submission) => Held::Registration { received_at: submission.received_at },
            message => Held::Read(Box::new(message)),
        };
        let item =
            MessagePart { delivery: Cow::Owned(item.delivery.clone().into_owned()), place: item.place };
        let waiting = Waiting { item, held, locks, since: Instant::now() };
        // Fails when the process ends; then the broker has the message again.
        let _ = self.sender.send(waiting);
        true
    }
}

struct AsideTask {
    entry: AmqpEntry,
    settlement: Settlement,
    alone: Alone,
    counts: Arc<Mutex<AsideCounts>>,
}

impl AsideTask {
    async fn run(self, mut receiver: mpsc::UnboundedReceiver<Waiting>) -> anyhow::Result<()> {
        let mut waiting: Vec<Waiting> = Vec::new();
        // A clock of its own: no arrival puts a round off.
        let mut rounds = tokio::time::interval(PAUSE);
        rounds.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            tokio::select! {
                biased;
                () = self.entry.intake.host.draining.cancelled() => return Ok(()),
                _ = rounds.tick(), if !waiting.is_empty() => waiting = self.round(waiting).await,
                more = receiver.recv() => match more {
                    Some(more) => waiting.push(more),
                    None => return Ok(()),
                },
            }
        }
    }

    /// Tries each item, the first of each lock first. Returns those that wait on.
    async fn round(&self, waiting: Vec<Waiting>) -> Vec<Waiting> {
        let mut still: Vec<Waiting> = Vec::new();
        let mut closed: HashSet<Lock> = HashSet::new();
        for one in waiting {
            let is_closed = one.locks.iter().any(|lock| closed.contains(lock));
            if !self.settlement.is_open(&one.item) {
                // The broker has taken it back, and it comes again.
                self.leave(&one);
            } else if is_closed || self.entry.intake.host.draining.is_cancelled() {
                closed.extend(one.locks.iter().cloned());
                still.push(one);
            } else if let Ok(handled) = self.carry_out(&one).await {
                self.settlement.settle(vec![handled.at(one.item.place)]).await;
                self.leave(&one);
            } else {
                closed.extend(one.locks.iter().cloned());
                still.push(one);
            }
        }
        if still.iter().any(|one| one.since.elapsed() > LONGEST) {
            // All of them at once, so that they come again in the order in which they came.
            let tags: Vec<DeliveryTag> = still.iter().map(|one| one.item.delivery.tag).collect();
            self.settlement.put_back(tags).await;
            still.drain(..).for_each(|one| self.leave(&one));
        }
        still
    }

    /// Carries an item out. An error is one that passes.
    async fn carry_out(&self, one: &Waiting) -> Result<Handled, Error> {
        match self.alone.handle(&one.item.delivery, self.attempt(one), Result::is_ok).await? {
            Some(outcome) => outcome,
            None => Ok(Handled::deadly(&self.entry.intake.host, &one.item.delivery)),
        }
    }

    async fn attempt(&self, one: &Waiting) -> Result<Handled, Error> {
        let delivery = &*one.item.delivery;
        match &one.held {
            Held::Read(message) => self.entry.carry_out(delivery, message, true).await,
            Held::Registration { received_at } => match self.entry.read(delivery, *received_at) {
                Ok(message) => self.entry.carry_out(delivery, &message, true).await,
                Err(rejection) => Ok(Handled::rejected(&self.entry.intake.host, delivery, rejection)),
            },
        }
    }

    fn leave(&self, one: &Waiting) {
        of(&self.counts).remove(one.item.delivery.tag, &one.locks);
    }
}

fn of(counts: &Mutex<AsideCounts>) -> MutexGuard<'_, AsideCounts> {
    counts.lock().unwrap_or_else(PoisonError::into_inner)
}
