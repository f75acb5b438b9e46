//! Keeps the topology while the services run: looks again and again, and at once when something seems to be missing.
//!
//! Runs on channels of its own of the connection that consumes, which the broker never blocks. Publishes nothing.

use std::{
    collections::BTreeSet,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use pagurus_domain::id::Role;
use tokio::{
    sync::watch,
    time::{sleep, timeout},
};
use tokio_util::sync::CancellationToken;

use crate::{
    connection::Link,
    error::Error,
    topology::{self, Names, Topology, TopologyFindings},
};

/// Time between two looks: two dozen small questions, for which a part that somebody deleted is missing at most where nothing is
/// published to it.
const LOOK_EVERY: Duration = Duration::from_secs(10);
/// Least time between two looks, however many ask for one: what cannot be restored is asked for without end.
const PAUSE: Duration = Duration::from_millis(200);
/// Limit for one look; the broker answers each question in milliseconds.
const LIMIT: Duration = Duration::from_secs(10);

/// Handle on the keeper of a process. Clones are the same.
#[derive(Clone)]
pub(crate) struct Keeper {
    shared: Arc<Shared>,
}

struct Shared {
    names: Names,
    service: Role,
    topology: Topology,
    /// Actors whose queues this process has declared: as many as scenarios name.
    actors: Mutex<BTreeSet<String>>,
    /// Number of the latest wish for a look.
    asked: watch::Sender<u64>,
    looked: watch::Sender<Looked>,
}

/// Outcome of the latest look.
#[derive(Clone, Debug, Default)]
pub(crate) struct Looked {
    /// Number of looks so far.
    pub(crate) count: u64,
    /// Latest wish that was made before it.
    answers: u64,
    /// Parts that are missing, each with the reason.
    missing: Vec<String>,
}

impl Keeper {
    pub(crate) fn new(names: &Names, service: Role) -> Self {
        let shared = Shared {
            names: names.clone(),
            service,
            topology: topology::topology(names),
            actors: Mutex::default(),
            asked: watch::Sender::default(),
            looked: watch::Sender::default(),
        };
        Self { shared: Arc::new(shared) }
    }

    /// Looks until stopped.
    pub(crate) async fn run(self, link: Link, stop: CancellationToken) {
        let mut asked = self.shared.asked.subscribe();
        loop {
            let wish = *asked.borrow_and_update();
            tokio::select! {
                () = stop.cancelled() => return,
                found = self.look(&link, wish) => self.note(wish, found),
            }
            let next = async {
                sleep(PAUSE).await;
                // Its sender is this handle.
                let _ = timeout(LOOK_EVERY, asked.changed()).await;
            };
            tokio::select! {
                () = stop.cancelled() => return,
                () = next => {}
            }
        }
    }

    async fn look(&self, link: &Link, wish: u64) -> Result<TopologyFindings, Error> {
        let Shared { names, service, .. } = &*self.shared;
        let generation = link.connected().await?;
        // A message without a queue tells when one of these is missing, so that they need no regular look.
        let asked = wish > self.shared.looked.borrow().answers;
        let actors: Vec<String> = if asked { self.actors().iter().cloned().collect() } else { Vec::new() };
        tokio::select! {
            found = timeout(LIMIT, topology::restore(&generation.connection, names, *service, &actors)) => {
                found.map_err(|_| Error::TimedOut(LIMIT))?
            }
            () = link.lost(generation.number) => Err(Error::Down("the connection ended".to_owned())),
        }
    }

    fn note(&self, answers: u64, found: Result<TopologyFindings, Error>) {
        let TopologyFindings { restored, missing } = match found {
            Ok(found) => found,
            // The state of the connection says so already.
            Err(error) => return tracing::debug!(%error, "the topology could not be looked at"),
        };
        for part in restored {
            tracing::warn!(part, "the message broker lacked a part of the topology; declared again");
        }
        self.shared.looked.send_modify(|looked| {
            for part in missing.iter().filter(|part| !looked.missing.contains(part)) {
                tracing::warn!(part, "the message broker lacks a part of the topology");
            }
            *looked = Looked { count: looked.count + 1, answers, missing };
        });
    }

    /// Parts that were missing at the latest look, each with the reason.
    pub(crate) fn missing(&self) -> Vec<String> {
        self.shared.looked.borrow().missing.clone()
    }

    /// Asks for a look soon.
    pub(crate) fn ask(&self) -> u64 {
        self.shared.asked.send_modify(|wish| *wish += 1);
        *self.shared.asked.borrow()
    }

    /// Restores what is missing now. True if there was a look within `patience`.
    pub(crate) async fn restore(&self, patience: Duration) -> bool {
        let mut looked = self.shared.looked.subscribe();
        let wish = self.ask();
        let answered = looked.wait_for(|looked| looked.answers >= wish);
        matches!(timeout(patience, answered).await, Ok(Ok(_)))
    }

    /// Tells of each look.
    pub(crate) fn looks(&self) -> watch::Receiver<Looked> {
        self.shared.looked.subscribe()
    }

    /// True if this is an exchange of the engine.
    pub(crate) fn owns(&self, exchange: &str) -> bool {
        self.shared.topology.exchanges.iter().any(|one| one.name == exchange)
    }

    /// True if a durable queue of the engine takes what is published so.
    pub(crate) fn routes(&self, exchange: &str, key: &str) -> bool {
        let bound = self.shared.topology.bindings.iter().any(|binding| binding.exchange == exchange);
        bound || (exchange == self.shared.names.actors && self.knows(key))
    }

    /// True if this process has declared the queue of the actor.
    pub(crate) fn knows(&self, actor: &str) -> bool {
        self.actors().contains(actor)
    }

    /// Notes that the queue of the actor was declared.
    pub(crate) fn learn(&self, actor: &str) {
        self.actors().insert(actor.to_owned());
    }

    fn actors(&self) -> std::sync::MutexGuard<'_, BTreeSet<String>> {
        self.shared.actors.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
