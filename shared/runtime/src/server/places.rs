//! The places for connections: how many there are, how many of them one client may have, and who makes room when
//! all are taken.
//!
//! Clients cannot block the server. Where all places are taken, the connection that has asked nothing for the
//! longest time is closed for a new one; where none rests, one whose request is still coming, then one whose request
//! waits for something to happen; and then the one that has taken its answer for the longest time, if that is longer
//! than an answer may take. A connection rests when its answer has been written out, not when it has been made: what
//! is on its way to the client is not cut off for somebody who has just come.
//!
//! A client that has its share of the places makes room for itself, by the same order, and takes none from others.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio_util::sync::CancellationToken;

use super::client::ClientAddress;

/// Longest time for a connection that makes room to go, before the new one is sent to the reserve.
pub(super) const ROOM_WITHIN: Duration = Duration::from_millis(200);
/// Connections of one client above its share, while others of it are going.
const GOING: usize = 64;

/// The places for connections, and who of those that have one can make room.
pub(super) struct ConnectionPlaces {
    free: Arc<Semaphore>,
    /// Places of one client at most.
    share: usize,
    /// Longest time for which an answer keeps its place from others.
    answer: Duration,
    known: Arc<Mutex<TakenPlaces>>,
}

/// Outcome of asking for a place.
pub(super) enum ConnectionAdmission {
    Here(ConnectionPlace),
    /// Another connection goes for it.
    Soon(Soon),
    No(PlaceShortage),
}

/// The reason for which there is no place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PlaceShortage {
    /// Every place is at work.
    Node,
    /// The client has its share of them, and all of it is at work.
    Client,
}

/// The ways of a connection not to be at work; the first makes room first.
#[derive(Clone, Copy, Debug)]
enum Stands {
    /// Has never asked anything. Silent connections take no place from those that ask.
    Strange = 1,
    /// Asks nothing now.
    Rests,
    /// Sends the rest of a request.
    Sends,
    /// Waits for something to happen, with a request that has come whole.
    Waits,
    /// Takes an answer.
    Takes,
}

/// Place in the order in which connections make room: how they stand, and since when. 0 is the place of those at work.
type EvictionRank = u64;

/// Bits of a turn that count; those above them say how the connection stands.
const COUNTED: u32 = 56;

impl Stands {
    const fn turn(self, count: u64) -> EvictionRank {
        ((self as u64) << COUNTED) | count
    }

    const fn is(self, turn: EvictionRank) -> bool {
        turn >> COUNTED == self as u64
    }
}

/// All places that are taken, and the connections that are not at work.
#[derive(Default)]
struct TakenPlaces {
    last: u64,
    standing: BTreeMap<EvictionRank, ClosableConnection>,
    of_client: BTreeSet<(ClientAddress, EvictionRank)>,
    held: HashMap<ClientAddress, usize>,
}

struct ClosableConnection {
    client: ClientAddress,
    since: Instant,
    closed: CancellationToken,
}

impl TakenPlaces {
    fn forget(&mut self, turn: EvictionRank) {
        if let Some(standing) = self.standing.remove(&turn) {
            self.of_client.remove(&(standing.client, turn));
        }
    }

    /// Closes the connection that makes room for another, of this client or of anybody; false where there is none.
    fn make_room(&mut self, of: Option<ClientAddress>, answer: Duration) -> bool {
        let turn = match of {
            Some(client) => {
                self.of_client.range((client, 0)..=(client, EvictionRank::MAX)).next().map(|(_, turn)| *turn)
            }
            None => self.standing.first_key_value().map(|(turn, _)| *turn),
        };
        let Some((turn, standing)) = turn.and_then(|turn| Some((turn, self.standing.get(&turn)?))) else {
            return false;
        };
        if Stands::Takes.is(turn) && standing.since.elapsed() <= answer {
            return false;
        }
        standing.closed.cancel();
        self.forget(turn);
        true
    }
}

/// A connection that counts to its client.
struct Counted {
    client: ClientAddress,
    known: Arc<Mutex<TakenPlaces>>,
}

impl Drop for Counted {
    fn drop(&mut self) {
        let mut known = lock(&self.known);
        if let Some(held) = known.held.get_mut(&self.client) {
            *held -= 1;
            if *held == 0 {
                known.held.remove(&self.client);
            }
        }
    }
}

/// A place that another connection is about to leave.
pub(super) struct Soon {
    free: Arc<Semaphore>,
    counted: Counted,
}

impl Soon {
    /// The place; none where nobody left one in time.
    pub async fn wait(self) -> Option<ConnectionPlace> {
        let taken = tokio::time::timeout(ROOM_WITHIN, self.free.acquire_owned()).await.ok()?.ok()?;
        Some(ConnectionPlace::new(self.counted, taken))
    }
}

/// The place of one connection.
pub(super) struct ConnectionPlace {
    /// Turn of the connection among those that are not at work; 0 while it is at work.
    turn: AtomicU64,
    /// True as soon as something was asked.
    asked: AtomicBool,
    /// True from a request to the beginning of its answer.
    owes: AtomicBool,
    /// True while a part of the request has not been read.
    unread: AtomicBool,
    /// True when all of an answer has been handed over to be written.
    whole: AtomicBool,
    /// Set when the connection has to make room.
    pub closed: CancellationToken,
    counted: Counted,
    _taken: OwnedSemaphorePermit,
}

impl ConnectionPlaces {
    /// A number of places, of which one client may have its share.
    pub fn new(most: usize, share: usize, answer: Duration) -> Self {
        Self { free: Arc::new(Semaphore::new(most)), share, answer, known: Arc::default() }
    }

    /// A place for a connection of this client, if need be that of one that makes room.
    pub fn ask(&self, client: ClientAddress) -> ConnectionAdmission {
        let mut known = lock(&self.known);
        let held = known.held.get(&client).copied().unwrap_or(0);
        let mut goes = false;
        if held >= self.share {
            goes = held < self.share + GOING && known.make_room(Some(client), self.answer);
            if !goes {
                return ConnectionAdmission::No(PlaceShortage::Client);
            }
        }
        let taken = self.free.clone().try_acquire_owned();
        if taken.is_err() && !goes && !known.make_room(None, self.answer) {
            return ConnectionAdmission::No(PlaceShortage::Node);
        }
        *known.held.entry(client).or_default() += 1;
        drop(known);
        let counted = Counted { client, known: self.known.clone() };
        match taken {
            Ok(taken) => ConnectionAdmission::Here(ConnectionPlace::new(counted, taken)),
            Err(_) => ConnectionAdmission::Soon(Soon { free: self.free.clone(), counted }),
        }
    }
}

impl ConnectionPlace {
    fn new(counted: Counted, taken: OwnedSemaphorePermit) -> Self {
        let place = Self {
            turn: AtomicU64::new(0),
            asked: AtomicBool::new(false),
            owes: AtomicBool::new(false),
            unread: AtomicBool::new(false),
            whole: AtomicBool::new(false),
            closed: CancellationToken::new(),
            counted,
            _taken: taken,
        };
        place.stand(Stands::Strange);
        place
    }

    /// Something is asked, of which a part may still be unread.
    pub fn ask(&self, unread: bool) {
        self.asked.store(true, Ordering::Relaxed);
        self.owes.store(true, Ordering::Relaxed);
        self.unread.store(unread, Ordering::Relaxed);
        self.whole.store(false, Ordering::Relaxed);
        self.work();
    }

    fn work(&self) {
        let turn = self.turn.swap(0, Ordering::Relaxed);
        if turn != 0 {
            lock(&self.counted.known).forget(turn);
        }
    }

    /// The rest of the request is waited for.
    pub fn sends(&self) {
        if !Stands::Sends.is(self.turn.load(Ordering::Relaxed)) {
            self.stand(Stands::Sends);
        }
    }

    /// All of the request has come.
    pub fn has_sent(&self) {
        if self.unread.swap(false, Ordering::Relaxed) {
            self.work();
        }
    }

    /// The request waits for something to happen, until the guard is dropped.
    pub fn waits(&self) -> impl Drop + '_ {
        struct WaitGuard<'a>(&'a ConnectionPlace);
        impl Drop for WaitGuard<'_> {
            fn drop(&mut self) {
                self.0.work();
            }
        }
        self.stand(Stands::Waits);
        WaitGuard(self)
    }

    /// Ends where nothing is asked within this time from now; else never.
    pub async fn asks_nothing(&self, within: Duration) {
        tokio::time::sleep(within).await;
        if self.asked.load(Ordering::Relaxed) {
            std::future::pending::<()>().await;
        }
    }

    /// An answer begins to be written. True where all of the request was read.
    pub fn answer(&self) -> bool {
        self.stand(Stands::Takes);
        self.owes.store(false, Ordering::Relaxed);
        !self.unread.load(Ordering::Relaxed)
    }

    /// All of an answer has been handed over to be written.
    pub fn handed_over(&self) {
        self.whole.store(true, Ordering::Relaxed);
    }

    /// All that has been handed over was written.
    pub fn written(&self) {
        if self.whole.swap(false, Ordering::Relaxed) {
            self.stand(Stands::Rests);
        }
    }

    fn stand(&self, how: Stands) {
        let mut known = lock(&self.counted.known);
        known.last += 1;
        let turn = how.turn(known.last);
        known.forget(self.turn.swap(turn, Ordering::Relaxed));
        // One that goes already makes no room a second time.
        if !self.closed.is_cancelled() {
            let client = self.counted.client;
            known.of_client.insert((client, turn));
            known.standing.insert(
                turn,
                ClosableConnection { client, since: Instant::now(), closed: self.closed.clone() },
            );
        }
    }

    /// True while something is asked that has come whole, waits for nothing, and has no answer yet.
    pub fn is_at_work(&self) -> bool {
        self.turn.load(Ordering::Relaxed) == 0
    }

    /// True while something is asked that has no answer yet.
    pub fn owes_an_answer(&self) -> bool {
        self.owes.load(Ordering::Relaxed)
    }
}

impl Drop for ConnectionPlace {
    fn drop(&mut self) {
        self.work();
    }
}

fn lock(known: &Mutex<TakenPlaces>) -> std::sync::MutexGuard<'_, TakenPlaces> {
    known.lock().unwrap_or_else(PoisonError::into_inner)
}
