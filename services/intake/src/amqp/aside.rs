//! Messages that would hold up others: commands and answers for an order, and registrations into a queue, that
//! somebody else has locked, and registrations whose parameters take long to check. They are carried out beside the
//! door, so that others go on through it. What came later
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

use super::alone::{Alone, deadly};
use super::command::{self, Command};
use super::orders::{registered, submission};
use super::{Handled, callbacks, reject, reject_unstorable, settle};
use crate::Intake;
use crate::answer::NewAnswer;
use crate::register::{Registrar, Submission};

/// Interval at which what waits is tried.
const PAUSE: Duration = Duration::from_millis(200);
/// Longest stay here; then all messages go back to their queue, so that the broker does not take the
/// consumer for stuck.
const LONGEST: Duration = Duration::from_secs(300);

/// One that waits.
pub(super) enum Held {
    Command(Box<Command>),
    Registration(Box<Late>),
    Answer(Box<NewAnswer>),
}

/// A registration that waits. It is read again when its turn comes: what is read may be a hundred times
/// as large as the message.
pub(super) struct Late {
    id: String,
    queue: Option<String>,
    received_at: Timestamp,
}

/// Something that is locked: no two of one lock are tried side by side.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Lock {
    Order(String),
    Queue(String),
    Request(String),
}

impl Held {
    /// A registration that waits.
    pub fn of(submission: Submission) -> Self {
        let Submission { request, received_at, .. } = submission;
        Self::Registration(Box::new(Late {
            id: request.id.clone(),
            queue: request.queue.clone(),
            received_at,
        }))
    }

    /// The locks behind which it waits, and behind which others wait for it.
    fn locks(&self) -> Vec<Lock> {
        match self {
            Self::Command(command) => vec![Lock::Order(command.id.clone())],
            Self::Registration(late) => {
                let queue = late.queue.clone().map(Lock::Queue);
                queue.into_iter().chain([Lock::Order(late.id.clone())]).collect()
            }
            Self::Answer(answer) => vec![Lock::Request(answer.named.clone())],
        }
    }
}

/// The way to what waits. Cheap to clone.
#[derive(Clone)]
pub(super) struct Aside {
    sender: mpsc::Sender<Waiting>,
    locked: Locked,
    /// Bound of their number.
    most: usize,
    count: Arc<AtomicUsize>,
}

/// Number of those that wait for each lock.
type Locked = Arc<Mutex<HashMap<Lock, usize>>>;

struct Waiting {
    delivery: Delivery,
    held: Held,
    locks: Vec<Lock>,
    since: Instant,
}

impl Aside {
    /// Starts the task that tries them again.
    pub fn start(intake: &Intake, registrar: Registrar, consumer: Arc<Consumer>, alone: Alone) -> Self {
        // Half of what the consumer may hold unacknowledged: the other half is for those who wait for nothing.
        let most = usize::from(intake.host.settings().broker.prefetch).div_ceil(2);
        let (sender, receiver) = mpsc::channel(most);
        let (locked, count) = (Locked::default(), Arc::new(AtomicUsize::new(0)));
        let lane = Lane {
            intake: intake.clone(),
            registrar,
            consumer,
            alone,
            locked: locked.clone(),
            count: count.clone(),
        };
        intake.host.spawn("aside", lane.run(receiver));
        Self { sender, locked, most, count }
    }

    /// True where something waits for this order.
    pub fn holds_order(&self, id: &str) -> bool {
        let locked = of(&self.locked);
        !locked.is_empty() && locked.contains_key(&Lock::Order(id.to_owned()))
    }

    /// True where something waits for this queue.
    pub fn holds_queue(&self, queue: &str) -> bool {
        let locked = of(&self.locked);
        !locked.is_empty() && locked.contains_key(&Lock::Queue(queue.to_owned()))
    }

    /// Hands one in, which is settled when it is done. False where too many wait: then the message has to
    /// go back to its queue.
    pub async fn put(&self, delivery: &Delivery, held: Held) -> bool {
        if self.count.fetch_add(1, Ordering::Relaxed) >= self.most {
            self.count.fetch_sub(1, Ordering::Relaxed);
            return false;
        }
        let locks = held.locks();
        for lock in &locks {
            *of(&self.locked).entry(lock.clone()).or_default() += 1;
        }
        let waiting = Waiting { delivery: delivery.clone(), held, locks, since: Instant::now() };
        // Fails when the process ends; then the broker has the message again.
        let _ = self.sender.send(waiting).await;
        true
    }
}

struct Lane {
    intake: Intake,
    registrar: Registrar,
    consumer: Arc<Consumer>,
    alone: Alone,
    locked: Locked,
    count: Arc<AtomicUsize>,
}

impl Lane {
    async fn run(self, mut receiver: mpsc::Receiver<Waiting>) -> anyhow::Result<()> {
        let mut waiting: Vec<Waiting> = Vec::new();
        // A clock of its own: no arrival puts a round off.
        let mut rounds = tokio::time::interval(PAUSE);
        rounds.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            tokio::select! {
                biased;
                () = self.intake.host.draining.cancelled() => return Ok(()),
                _ = rounds.tick(), if !waiting.is_empty() => waiting = self.round(waiting).await,
                more = receiver.recv() => match more {
                    Some(more) => waiting.push(more),
                    None => return Ok(()),
                },
            }
        }
    }

    /// Tries each, the first of each lock first. Answers with those that wait on.
    async fn round(&self, waiting: Vec<Waiting>) -> Vec<Waiting> {
        let mut still: Vec<Waiting> = Vec::new();
        let mut closed: HashSet<Lock> = HashSet::new();
        for one in waiting {
            let is_closed = one.locks.iter().any(|lock| closed.contains(lock));
            if !self.consumer.is_current(one.delivery.tag) {
                // The broker has taken it back, and it comes again.
                self.leave(&one);
            } else if is_closed || self.intake.host.draining.is_cancelled() {
                closed.extend(one.locks.iter().cloned());
                still.push(one);
            } else if let Ok(handled) = self.carry_out(&one).await {
                settle(&self.intake, &self.consumer, vec![handled]).await;
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

    /// An error is one that passes.
    async fn carry_out(&self, one: &Waiting) -> Result<Handled, Error> {
        match self.alone.handle(&one.delivery, self.attempt(one), Result::is_ok).await? {
            Some(outcome) => outcome,
            None => Ok(deadly(&self.intake, &one.delivery)),
        }
    }

    async fn attempt(&self, one: &Waiting) -> Result<Handled, Error> {
        let (id, outcome) = match &one.held {
            Held::Command(command) => {
                let done = command::carry_out(&self.intake, &one.delivery, command, true).await;
                (Some(command.id.clone()), done)
            }
            Held::Registration(late) => (Some(late.id.clone()), self.register(&one.delivery, late).await),
            Held::Answer(answer) => {
                let stored = self.intake.recorder.record(std::slice::from_ref(answer)).await;
                (None, stored.map(|_| callbacks::done(&one.delivery)))
            }
        };
        match outcome {
            Err(error) if !error.is_transient() => {
                Ok(reject_unstorable(&self.intake, &one.delivery, id, &error))
            }
            other => other,
        }
    }

    async fn register(&self, delivery: &Delivery, late: &Late) -> Result<Handled, Error> {
        let submission = match submission(&self.intake.host, delivery) {
            Ok(submission) => Submission { received_at: late.received_at, ..submission },
            Err((id, problem)) => return Ok(reject(&self.intake, delivery, id, problem)),
        };
        let outcome = self.registrar.register_alone(&submission).await?;
        Ok(registered(&self.intake, delivery, late.id.clone(), &outcome))
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

fn of(locked: &Locked) -> MutexGuard<'_, HashMap<Lock, usize>> {
    locked.lock().unwrap_or_else(PoisonError::into_inner)
}
