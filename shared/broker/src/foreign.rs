//! Other virtual hosts of the same broker.
//!
//! Nothing of the engine lives in another virtual host: messages go there, and that is all. Orders may choose the name, so a name
//! holds nothing but its own attempt until the broker has let us in.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex},
    time::Duration,
};

use lapin::uri::AMQPUri;
use tokio::{
    sync::{Mutex as AsyncMutex, OwnedSemaphorePermit, Semaphore},
    time::{Instant, sleep, timeout},
};
use tokio_util::sync::{CancellationToken, DropGuard};

use crate::{
    Error, Message,
    connection::{ConnectionSettings, Link, Purpose},
    locked,
    publisher::{Published, Publisher},
};

/// Most connections to other virtual hosts; the least recently used one makes room.
const MAX_OPEN: usize = 16;
/// Most attempts at a time: each is a socket and a thread, and orders may make up as many names as they like.
const MAX_ATTEMPTS: usize = 32;
/// Time for which callers that wait for the same attempt share its failure; a later one tries again.
const SHARED_FOR: Duration = Duration::from_secs(5);
/// Between two looks for a connection that nobody uses, while all are in use.
const LOOK: Duration = Duration::from_millis(50);

/// The connections of a process to other virtual hosts, opened when they are needed.
pub(crate) struct Foreign {
    settings: Arc<ConnectionSettings>,
    confirm_timeout: Duration,
    stop: CancellationToken,
    /// A place is in use while somebody else holds it, too.
    places: Mutex<HashMap<String, Arc<ForeignVhost>>>,
    attempts: Semaphore,
    room: Arc<Semaphore>,
}

/// A virtual host that somebody publishes to, or that is connected.
struct ForeignVhost {
    used: Mutex<Instant>,
    state: AsyncMutex<State>,
}

#[derive(Default)]
struct State {
    open: Option<Open>,
    /// Outcome of the latest attempt, if it failed.
    failed: Option<(Instant, Error)>,
}

/// A connection, which ends in order when this is dropped.
struct Open {
    link: Link,
    publisher: Arc<Publisher>,
    _room: OwnedSemaphorePermit,
    _stop_at_drop: DropGuard,
}

impl Foreign {
    pub(crate) fn new(
        settings: Arc<ConnectionSettings>,
        confirm_timeout: Duration,
        stop: CancellationToken,
    ) -> Self {
        Self {
            settings,
            confirm_timeout,
            stop,
            places: Mutex::default(),
            attempts: Semaphore::new(MAX_ATTEMPTS),
            room: Arc::new(Semaphore::new(MAX_OPEN)),
        }
    }

    /// Publishes into another virtual host and awaits all confirms.
    pub(crate) async fn publish(&self, vhost: &str, messages: Vec<Message>) -> Vec<Published> {
        let count = messages.len();
        let place = self.place(vhost);
        match self.publisher(&place, vhost).await {
            Ok(publisher) => publisher.foreign(messages).await,
            Err(error) => vec![Published::Failed(error); count],
        }
    }

    /// The place of a virtual host. Those that nobody uses and that are not connected are given up.
    fn place(&self, vhost: &str) -> Arc<ForeignVhost> {
        let mut places = locked(&self.places);
        places.retain(|_, place| Arc::strong_count(place) > 1 || place.is_open());
        let place = places.entry(vhost.to_owned()).or_insert_with(|| {
            Arc::new(ForeignVhost { used: Mutex::new(Instant::now()), state: AsyncMutex::default() })
        });
        *locked(&place.used) = Instant::now();
        Arc::clone(place)
    }

    /// Returns the publisher to a virtual host; all who want the same one share an attempt.
    async fn publisher(&self, place: &ForeignVhost, vhost: &str) -> Result<Arc<Publisher>, Error> {
        let mut state = place.state.lock().await;
        if let Some(open) = state.open.as_ref().filter(|open| !open.link.is_down()) {
            return Ok(Arc::clone(&open.publisher));
        }
        state.open = None;
        if let Some((at, error)) = &state.failed
            && at.elapsed() < SHARED_FOR
        {
            return Err(error.clone());
        }
        match self.open(vhost).await {
            Ok(open) => {
                let publisher = Arc::clone(&open.publisher);
                *state = State { open: Some(open), failed: None };
                Ok(publisher)
            }
            Err(error) => {
                state.failed = Some((Instant::now(), error.clone()));
                Err(error)
            }
        }
    }

    async fn open(&self, vhost: &str) -> Result<Open, Error> {
        let limit = self.settings.connect_timeout;
        let crowded = |_| Error::Down("too many virtual hosts are being tried".to_owned());
        let attempt = timeout(2 * limit, self.attempts.acquire()).await.map_err(crowded)?;
        let settings = ConnectionSettings {
            uri: AMQPUri { vhost: vhost.to_owned(), ..self.settings.uri.clone() },
            tls: self.settings.tls.clone(),
            names: self.settings.names.clone(),
            service: self.settings.service,
            connection_name: self.settings.connection_name.clone(),
            connect_timeout: limit,
        };
        let stop = self.stop.child_token();
        let (link, _supervisor) = Link::start(Arc::new(settings), Purpose::Foreign, stop.clone());
        let stop_at_drop = stop.drop_guard();
        // The link has the same limit, and says more when it is over.
        link.usable_within(2 * limit).await?;
        drop(attempt);
        let room = self.room_for_one(limit).await?;
        let publisher = Arc::new(Publisher::new(link.clone(), self.confirm_timeout, None));
        Ok(Open { link, publisher, _room: room, _stop_at_drop: stop_at_drop })
    }

    /// Room for one more connection; the least recently used one that nobody uses now has to go for it.
    async fn room_for_one(&self, patience: Duration) -> Result<OwnedSemaphorePermit, Error> {
        let begun = Instant::now();
        loop {
            if let Ok(room) = Arc::clone(&self.room).try_acquire_owned() {
                return Ok(room);
            }
            if self.close_least_recent() {
                continue;
            }
            if begun.elapsed() >= patience {
                return Err(Error::Down(format!("all {MAX_OPEN} connections to virtual hosts are in use")));
            }
            sleep(LOOK).await;
        }
    }

    fn close_least_recent(&self) -> bool {
        let mut places = locked(&self.places);
        let unused = places.iter().filter(|(_, place)| Arc::strong_count(place) == 1 && place.is_open());
        let oldest = unused.min_by_key(|(_, place)| *locked(&place.used)).map(|(vhost, _)| vhost.clone());
        oldest.and_then(|vhost| places.remove(&vhost)).is_some()
    }
}

impl ForeignVhost {
    /// True if it is connected. Asked of those alone that nobody uses, so that the lock is free.
    fn is_open(&self) -> bool {
        self.state.try_lock().is_ok_and(|state| state.open.as_ref().is_some_and(|open| !open.link.is_down()))
    }
}
