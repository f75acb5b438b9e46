//! What would hold up others: commands for an order, and registrations into a queue, that somebody else
//! has locked, and registrations whose parameters take long to check. They are carried out beside the
//! door, so that others go on through it. What came later
//! for the same order or queue waits behind them, in the order in which it came.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use pagurus_broker::{Consumer, Delivery};
use pagurus_store::Error;
use tokio::sync::mpsc;

use super::command::{self, Command};
use super::orders::registered;
use super::{Handled, reject_unstorable, settle};
use crate::Intake;
use crate::register::{Registrar, Submission};

/// How often what waits is tried.
const PAUSE: Duration = Duration::from_millis(200);
/// How long one waits here; then its message goes back to its queue, so that the broker does not take
/// the consumer for stuck.
const LONGEST: Duration = Duration::from_secs(300);

/// One that waits.
pub(super) enum Held {
    Command(Box<Command>),
    Registration(Box<Submission>),
}

/// What is locked: no two of one lock are tried side by side.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Lock {
    Order(String),
    Queue(String),
}

impl Held {
    fn lock(&self) -> Lock {
        match self {
            Self::Command(command) => Lock::Order(command.id.clone()),
            Self::Registration(submission) => match &submission.request.queue {
                Some(queue) => Lock::Queue(queue.clone()),
                None => Lock::Order(submission.request.id.clone()),
            },
        }
    }
}

/// The way to what waits. Cheap to clone.
#[derive(Clone)]
pub(super) struct Aside {
    sender: mpsc::Sender<Waiting>,
    locked: Locked,
}

/// How many wait for each lock.
type Locked = Arc<Mutex<HashMap<Lock, usize>>>;

struct Waiting {
    delivery: Delivery,
    held: Held,
    lock: Lock,
    since: Instant,
}

impl Aside {
    /// Starts the task that tries them again.
    pub fn start(intake: &Intake, registrar: Registrar, consumer: Arc<Consumer>) -> Self {
        // No more can wait than the consumer may hold unacknowledged.
        let (sender, receiver) = mpsc::channel(usize::from(intake.host.settings.broker.prefetch));
        let locked = Locked::default();
        let lane = Lane { intake: intake.clone(), registrar, consumer, locked: locked.clone() };
        intake.host.spawn("orders aside", lane.run(receiver));
        Self { sender, locked }
    }

    /// Whether something waits for this order.
    pub fn holds_order(&self, id: &str) -> bool {
        let locked = of(&self.locked);
        !locked.is_empty() && locked.contains_key(&Lock::Order(id.to_owned()))
    }

    /// Whether something waits for this queue.
    pub fn holds_queue(&self, queue: &str) -> bool {
        let locked = of(&self.locked);
        !locked.is_empty() && locked.contains_key(&Lock::Queue(queue.to_owned()))
    }

    /// Hands one in. It is settled when it is done.
    pub async fn put(&self, delivery: &Delivery, held: Held) {
        let lock = held.lock();
        *of(&self.locked).entry(lock.clone()).or_default() += 1;
        let waiting = Waiting { delivery: delivery.clone(), held, lock, since: Instant::now() };
        // Fails when the process ends; then the broker has the message again.
        let _ = self.sender.send(waiting).await;
    }
}

struct Lane {
    intake: Intake,
    registrar: Registrar,
    consumer: Arc<Consumer>,
    locked: Locked,
}

impl Lane {
    async fn run(self, mut receiver: mpsc::Receiver<Waiting>) -> anyhow::Result<()> {
        let mut waiting: Vec<Waiting> = Vec::new();
        loop {
            tokio::select! {
                () = self.intake.host.draining.cancelled() => return Ok(()),
                more = receiver.recv() => match more {
                    Some(more) => waiting.push(more),
                    None => return Ok(()),
                },
                () = tokio::time::sleep(PAUSE), if !waiting.is_empty() => {
                    waiting = self.round(waiting).await;
                }
            }
        }
    }

    /// Tries each, the first of each lock first. Answers with those that wait on.
    async fn round(&self, waiting: Vec<Waiting>) -> Vec<Waiting> {
        let mut still = Vec::new();
        let mut closed: HashSet<Lock> = HashSet::new();
        for one in waiting {
            if !self.consumer.is_current(one.delivery.tag) {
                // The broker has taken it back, and it comes again.
                self.leave(&one.lock);
            } else if closed.contains(&one.lock) {
                still.push(one);
            } else {
                match self.carry_out(&one).await {
                    Ok(handled) => {
                        settle(&self.intake, &self.consumer, vec![handled]).await;
                        self.leave(&one.lock);
                    }
                    Err(_) if one.since.elapsed() > LONGEST => {
                        self.consumer.put_back(&[one.delivery.tag]).await;
                        self.leave(&one.lock);
                    }
                    Err(_) => {
                        closed.insert(one.lock.clone());
                        still.push(one);
                    }
                }
            }
        }
        still
    }

    /// An error is one that passes.
    async fn carry_out(&self, one: &Waiting) -> Result<Handled, Error> {
        let (id, outcome) = match &one.held {
            Held::Command(command) => {
                (&command.id, command::carry_out(&self.intake, &one.delivery, command).await)
            }
            Held::Registration(submission) => {
                let id = &submission.request.id;
                let outcome = self.registrar.register_alone(submission).await;
                (id, outcome.map(|outcome| registered(&self.intake, &one.delivery, id.clone(), &outcome)))
            }
        };
        match outcome {
            Err(error) if !error.is_transient() => {
                Ok(reject_unstorable(&self.intake, &one.delivery, Some(id.clone()), &error))
            }
            other => other,
        }
    }

    fn leave(&self, lock: &Lock) {
        let mut locked = of(&self.locked);
        if let Some(count) = locked.get_mut(lock) {
            *count -= 1;
            if *count == 0 {
                locked.remove(lock);
            }
        }
    }
}

fn of(locked: &Locked) -> MutexGuard<'_, HashMap<Lock, usize>> {
    locked.lock().unwrap_or_else(PoisonError::into_inner)
}
