//! Messages that would hold up others: commands and answers for an order, and registrations into a queue, that
//! somebody else has locked, and registrations whose parameters take long to check. They are carried out beside the
//! entry, so that others go on through it. What came later
//! for the same order or queue waits behind them, in the order in which it came.

use std::collections::{HashMap, HashSet};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use jiff::Timestamp;
use pagurus_broker::{Consumer, Delivery, DeliveryTag};
use pagurus_store::Error;
use tokio::sync::mpsc;
use tokio::time::MissedTickBehavior;

use super::alone::Alone;
use super::carry_out::AmqpEntry;
use super::handled::Handled;
use super::read::Incoming;
use super::settle::settle;

/// Interval at which what waits is tried.
const PAUSE: Duration = Duration::from_millis(200);
/// Longest stay here; then all messages go back to their queue, so that the broker does not take the
/// consumer for stuck.
const LONGEST: Duration = Duration::from_secs(300);

/// Item that waits.
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
    sender: mpsc::Sender<Waiting>,
    locked: LockWaiters,
    /// Largest number of items that wait.
    most: usize,
    count: Arc<AtomicUsize>,
}

/// Number of those that wait for each lock.
type LockWaiters = Arc<Mutex<HashMap<Lock, usize>>>;

struct Waiting {
    delivery: Delivery,
    held: Held,
    locks: Vec<Lock>,
    since: Instant,
}

impl Aside {
    /// Starts the task that tries them again.
    pub fn start(entry: AmqpEntry, consumer: Arc<Consumer>, alone: Alone) -> Self {
        let host = entry.intake.host.clone();
        // Half of what the consumer may hold unacknowledged: the other half is for those who wait for nothing.
        let most = usize::from(host.settings().broker.prefetch).div_ceil(2);
        let (sender, receiver) = mpsc::channel(most);
        let (locked, count) = (LockWaiters::default(), Arc::new(AtomicUsize::new(0)));
        let lane = AsideTask { entry, consumer, alone, locked: locked.clone(), count: count.clone() };
        host.spawn("aside", lane.run(receiver));
        Self { sender, locked, most, count }
    }

    /// True if something waits for this order.
    pub fn holds_order(&self, id: &str) -> bool {
        let locked = of(&self.locked);
        !locked.is_empty() && locked.contains_key(&Lock::Order(id.to_owned()))
    }

    /// True if something waits for this queue.
    pub fn holds_queue(&self, queue: &str) -> bool {
        let locked = of(&self.locked);
        !locked.is_empty() && locked.contains_key(&Lock::Queue(queue.to_owned()))
    }

    /// Hands an item in, which is settled when it is done. False if too many wait: then the message has to
    /// go back to its queue.
    pub async fn put(&self, delivery: &Delivery, message: Incoming) -> bool {
        if self.count.fetch_add(1, Ordering::Relaxed) >= self.most {
            self.count.fetch_sub(1, Ordering::Relaxed);
            return false;
        }
        let locks = Lock::of(&message);
        for lock in &locks {
            *of(&self.locked).entry(lock.clone()).or_default() += 1;
        }
        let held = match message {
            Incoming::Register(submission) => Held::Registration { received_at: submission.received_at },
            message => Held::Read(Box::new(message)),
        };
        let waiting = Waiting { delivery: delivery.clone(), held, locks, since: Instant::now() };
        // Fails when the process ends; then the broker has the message again.
        let _ = self.sender.send(waiting).await;
        true
    }
}

struct AsideTask {
    entry: AmqpEntry,
    consumer: Arc<Consumer>,
    alone: Alone,
    locked: LockWaiters,
    count: Arc<AtomicUsize>,
}

impl AsideTask {
    async fn run(self, mut receiver: mpsc::Receiver<Waiting>) -> anyhow::Result<()> {
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
            if !self.consumer.is_current(one.delivery.tag) {
                // The broker has taken it back, and it comes again.
                self.leave(&one);
            } else if is_closed || self.entry.intake.host.draining.is_cancelled() {
                closed.extend(one.locks.iter().cloned());
                still.push(one);
            } else if let Ok(handled) = self.carry_out(&one).await {
                settle(&self.entry.intake.host, &self.consumer, vec![handled]).await;
                self.leave(&one);
            } else {
                closed.extend(one.locks.iter().cloned());
                still.push(one);
            }
        }
        if still.iter().any(|one| one.since.elapsed() > LONGEST) {
            // All of them at once, so that they come again in the order in which they came.
            let tags: Vec<DeliveryTag> = still.iter().map(|one| one.delivery.tag).collect();
            self.consumer.put_back(&tags).await;
            still.drain(..).for_each(|one| self.leave(&one));
        }
        still
    }

    /// Carries an item out. An error is one that passes.
    async fn carry_out(&self, one: &Waiting) -> Result<Handled, Error> {
        match self.alone.handle(&one.delivery, self.attempt(one), Result::is_ok).await? {
            Some(outcome) => outcome,
            None => Ok(Handled::deadly(&self.entry.intake.host, &one.delivery)),
        }
    }

    async fn attempt(&self, one: &Waiting) -> Result<Handled, Error> {
        match &one.held {
            Held::Read(message) => self.entry.carry_out(&one.delivery, message, true).await,
            Held::Registration { received_at } => match self.entry.read(&one.delivery, *received_at) {
                Ok(message) => self.entry.carry_out(&one.delivery, &message, true).await,
                Err(rejection) => Ok(Handled::rejected(&self.entry.intake.host, &one.delivery, rejection)),
            },
        }
    }

    fn leave(&self, one: &Waiting) {
        self.count.fetch_sub(1, Ordering::Relaxed);
        let mut locked = of(&self.locked);
        for lock in &one.locks {
            if let Some(count) = locked.get_mut(lock) {
                *count -= 1;
                if *count == 0 {
                    locked.remove(lock);
                }
            }
        }
    }
}

fn of(locked: &LockWaiters) -> MutexGuard<'_, HashMap<Lock, usize>> {
    locked.lock().unwrap_or_else(PoisonError::into_inner)
}
