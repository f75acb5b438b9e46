//! The stream of orders' news: one listener for a process, however many clients follow it.
//!
//! News of the engine says of which orders something is new, and no more. Soon after it the listener looks up what has happened
//! to those that a client may want, once for all clients, and hands each what it asked for. Nothing is listened to while nobody
//! follows.
//!
//! A client has a bounded buffer. One that reads too slowly learns how many events were left out; nobody else waits for it.

mod client;
mod coverage;
mod follower;

use std::cmp::Reverse;
use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use pagurus_broker::{ConsumeSpec, QueueSource};
use pagurus_runtime::metrics::{Count, Level};
use pagurus_runtime::{ClientAddress as Address, Host};
use pagurus_view::Views;
use pagurus_wire::message::news;
use pagurus_wire::stream::{StreamLagged, StreamedEvent};
use tokio::sync::{Notify, mpsc};
use tokio::time::sleep_until;

use client::StreamClient;
pub(crate) use client::{StreamFilter, StreamMessage};
pub(crate) use coverage::StreamInterest;
use coverage::{LINGER, StreamCoverage};
use follower::{Follower, Urgency};

/// Shortest time between two looks at what is new: a burst of news is looked at once.
const BETWEEN_LOOKS: Duration = Duration::from_millis(50);
/// The same where it concerns an order that a client names: somebody looks at it.
const BETWEEN_NAMED: Duration = Duration::from_millis(10);
/// Interval at which the listener sees to its clients while nothing is new.
const IDLE: Duration = Duration::from_millis(200);
/// Silence after which a client makes room for one of an address that has as many places.
const SILENCE: Duration = Duration::from_secs(30);
/// Events that are kept for clients that come back.
const KEPT: usize = 5000;
/// News that wait at the broker, each of many orders; the oldest go first.
const MAX_WAITING_NEWS: u32 = 10_000;

/// Clients of the stream, and the recent events. Cheap to clone.
#[derive(Clone, Default)]
pub(crate) struct Streams(Arc<Shared>);

#[derive(Default)]
struct Shared {
    state: Mutex<State>,
    /// Notified when the first client follows.
    begun: Notify,
}

#[derive(Default)]
struct State {
    clients: Vec<StreamClient>,
    coverage: StreamCoverage,
    kept: VecDeque<Arc<StreamedEvent>>,
    /// Number of events that were ever kept.
    ever_kept: u64,
}

impl State {
    /// Drops the clients that have gone.
    fn drop_gone(&mut self) {
        let now = Instant::now();
        for client in self.clients.extract_if(.., |client| !client.is_there()) {
            self.coverage.leave(client.interest(), now);
        }
    }

    /// Returns the kept events behind the last one that a client got, as far as it takes them; `None` if some may be missing.
    fn missed(
        &self,
        last: &str,
        filter: &StreamFilter,
        interest: &StreamInterest,
    ) -> Option<Vec<Arc<StreamedEvent>>> {
        // The first of several: what was sent twice stands between others that were not.
        let place = self.kept.iter().position(|event| event.id() == last)?;
        let before = self.ever_kept - (self.kept.len() - place) as u64;
        let behind = self.kept.iter().skip(place + 1).filter(|event| filter.takes(event));
        self.coverage.has_all_behind(interest, before).then(|| behind.cloned().collect())
    }

    /// Keeps an event for clients that come back.
    fn keep(&mut self, event: Arc<StreamedEvent>) {
        if self.kept.len() == KEPT {
            self.kept.pop_front();
        }
        self.kept.push_back(event);
        self.ever_kept += 1;
    }
}

/// A bound of the number of clients that follow.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Most {
    /// Bound for all clients.
    pub all: usize,
    /// Bound for one address.
    pub of_one: usize,
}

/// The reason for which a client cannot follow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Full {
    /// All places of the node are taken.
    Node,
    /// All places of its address are taken.
    Client,
}

/// A client that follows.
pub(crate) struct Joined {
    /// Receiving end of its messages.
    pub receiver: mpsc::Receiver<StreamMessage>,
    /// Events that it missed since the one that it got last; `None` if that is not known any more.
    pub missed: Option<Vec<Arc<StreamedEvent>>>,
}

/// Returns the index of the client that makes room for one of an address with this number of clients: the one that has been
/// silent for the longest time, of the address that has the most places.
fn leaves(clients: &[StreamClient], address: Address, of_it: usize) -> Option<usize> {
    let mut held: HashMap<Address, usize> = HashMap::new();
    for client in clients {
        *held.entry(client.address()).or_default() += 1;
    }
    let of = |client: &StreamClient| held.get(&client.address()).copied().unwrap_or(0);
    let others = clients.iter().enumerate().filter(|(_, client)| client.address() != address);
    let (index, client) = others.min_by_key(|(_, client)| (Reverse(of(client)), client.heard_at()))?;
    (of(client) > of_it + 1 || client.heard_at().elapsed() >= SILENCE).then_some(index)
}

impl Streams {
    /// Registers a client, which resumes after the last event that it received. If all places are taken, a silent client of
    /// another address is disconnected.
    ///
    /// # Errors
    /// The bound that is reached.
    pub fn join(
        &self,
        address: Address,
        filter: StreamFilter,
        interest: StreamInterest,
        last: Option<&str>,
        most: Most,
    ) -> Result<Joined, Full> {
        let mut state = self.lock();
        state.drop_gone();
        let of_it = state.clients.iter().filter(|client| client.address() == address).count();
        if of_it >= most.of_one && of_it < most.all {
            return Err(Full::Client);
        }
        if state.clients.len() >= most.all {
            let leaves = leaves(&state.clients, address, of_it).ok_or(Full::Node)?;
            // Its connection says so to it, and ends.
            let client = state.clients.swap_remove(leaves);
            state.coverage.leave(client.interest(), Instant::now());
        }
        let missed = last.and_then(|last| state.missed(last, &filter, &interest));
        let kept = state.ever_kept;
        state.coverage.follow(&interest, kept);
        let (client, receiver) = StreamClient::new(address, filter, interest);
        state.clients.push(client);
        drop(state);
        self.0.begun.notify_one();
        Ok(Joined { receiver, missed })
    }

    /// Sends clients what is new, as long as the process takes new work.
    pub async fn run(self, host: Host, views: Views) -> anyhow::Result<()> {
        loop {
            tokio::select! {
                () = self.0.begun.notified() => {}
                () = host.draining.cancelled() => return Ok(()),
            }
            self.follow(&host, &views).await?;
        }
    }

    /// Listens until nobody has followed for a while.
    async fn follow(&self, host: &Host, views: &Views) -> anyhow::Result<()> {
        let exchange = || host.broker.names().news.clone();
        let keys = [news::DISPATCH, news::ORDERS];
        let consumer = host.broker.consume(ConsumeSpec {
            queue: QueueSource::Exclusive {
                name_hint: "stream".to_owned(),
                bindings: keys.map(|key| (exchange(), key.to_owned())).to_vec(),
                max_length: MAX_WAITING_NEWS,
            },
            prefetch: 1000,
            ack_on_take: true,
            own_connection: false,
        })?;
        let mut follower = Follower::new();
        let mut looked_at = Instant::now();
        let mut alone_since: Option<Instant> = None;
        loop {
            let pause = match follower.urgency() {
                Urgency::None => IDLE,
                Urgency::Usual => BETWEEN_LOOKS,
                Urgency::Named => BETWEEN_NAMED,
                Urgency::Behind => Duration::ZERO,
            };
            tokio::select! {
                batch = consumer.next_batch(1000) => {
                    if batch.is_empty() {
                        return Ok(());
                    }
                    self.adopt(&mut follower);
                    for delivery in &batch {
                        follower.hear(&host.metrics, &delivery.routing_key, &delivery.body);
                    }
                    continue;
                }
                () = sleep_until((looked_at + pause).into()) => {}
                () = host.draining.cancelled() => return Ok(()),
            }
            self.turn(&mut follower, host, views).await;
            looked_at = Instant::now();
            let mut state = self.lock();
            alone_since = state.clients.is_empty().then(|| alone_since.unwrap_or_else(Instant::now));
            if alone_since.is_some_and(|since| since.elapsed() >= LINGER) {
                state.kept.clear();
                state.coverage = StreamCoverage::default();
                return Ok(());
            }
        }
    }

    /// Has the follower look up what clients want now.
    fn adopt(&self, follower: &mut Follower) {
        let change = self.lock().coverage.change(Instant::now());
        change.into_iter().for_each(|change| follower.adopt(change));
    }

    /// Looks once for all clients.
    async fn turn(&self, follower: &mut Follower, host: &Host, views: &Views) {
        if let Some(reason) = follower.gap(host.broker.state().consume.is_up()) {
            self.tell_gap(host, reason);
        }
        self.adopt(follower);
        follower.look_again();
        let events = follower.look(views).await;
        let mut state = self.lock();
        state.drop_gone();
        host.metrics.level(Level::StreamClients, "", state.clients.len() as f64);
        let (mut sent, mut left_out) = (0, 0);
        for event in events.into_iter().map(Arc::new) {
            for client in state.clients.iter_mut().filter(|client| client.takes(&event)) {
                *(if client.offer(&event) { &mut sent } else { &mut left_out }) += 1;
            }
            state.keep(event);
        }
        state.clients.iter_mut().for_each(StreamClient::own_up);
        drop(state);
        host.metrics.count(Count::StreamEvents, "sent", sent);
        host.metrics.count(Count::StreamEvents, "left_out", left_out);
    }

    /// Notifies all clients that events are missing, and nobody knows which.
    fn tell_gap(&self, host: &Host, reason: &str) {
        let mut state = self.lock();
        // A client that comes back must not believe that there was nothing in between.
        state.kept.clear();
        let lagged = StreamLagged { reason: reason.to_owned(), missed: None };
        state.clients.iter_mut().for_each(|client| client.tell_gap(&lagged));
        host.metrics.count(Count::StreamEvents, "lagged", state.clients.len() as u64);
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test may stop at the first surprise")]
mod tests {
    use pagurus_domain::access::scope::AccessScope;
    use pagurus_runtime::Peer;
    use serde_json::json;

    use super::*;

    const MOST: Most = Most { all: 4, of_one: 3 };

    fn join(streams: &Streams, host: u8) -> Result<mpsc::Receiver<StreamMessage>, Full> {
        let address = Peer(([10, 0, 0, host], 1).into()).client();
        streams
            .join(address, StreamFilter::within(AccessScope::WHOLE), StreamInterest::All, None, MOST)
            .map(|joined| joined.receiver)
    }

    fn event(no: i64, number: i32) -> Arc<StreamedEvent> {
        let text = json!({
            "no": no, "order": format!("o-{no}"), "scenario": "s", "flow": "s", "number": number, "life": 1, "kind": "killed",
            "at": "2026-01-02T03:04:05Z", "source": "client", "status": "canceled", "final": true,
        });
        Arc::new(serde_json::from_value(text).unwrap())
    }

    #[test]
    fn http_what_a_client_missed_is_what_was_kept_behind_its_event_or_nobody_knows() {
        let mut state = State::default();
        let filter = StreamFilter::within(AccessScope::WHOLE);
        let missed = |state: &State, last: &str| {
            let missed = state.missed(last, &filter, &StreamInterest::All)?;
            Some(missed.iter().map(|event| event.id()).collect::<Vec<_>>())
        };
        state.keep(event(1, 1));
        state.coverage.follow(&StreamInterest::All, state.ever_kept);
        for (no, number) in [(1, 2), (2, 1), (1, 2), (3, 1)] {
            state.keep(event(no, number));
        }
        assert_eq!(missed(&state, "1.1"), None, "nobody followed all then");
        let behind = ["2.1", "1.2", "3.1"].map(str::to_owned);
        assert_eq!(missed(&state, "1.2"), Some(behind.to_vec()), "what was sent twice hides nothing");
        assert_eq!((missed(&state, "3.1"), missed(&state, "9.9")), (Some(Vec::new()), None));
        for number in 0..KEPT as i32 {
            state.keep(event(4, number + 1));
        }
        assert_eq!((state.kept.len(), missed(&state, "3.1")), (KEPT, None));
        assert_eq!(missed(&state, "4.1").unwrap().len(), KEPT - 1);
    }

    #[test]
    fn qlt_8_followers_of_one_address_leave_room_for_those_of_others() {
        let streams = Streams::default();
        let mut first: Vec<_> = (0..3).map(|_| join(&streams, 1).unwrap()).collect();
        assert_eq!(join(&streams, 1).err(), Some(Full::Client));
        let second = join(&streams, 2).unwrap();
        let third = join(&streams, 3).unwrap();
        let gone = |receiver: &mpsc::Receiver<StreamMessage>| receiver.is_closed();
        assert!(gone(&first[0]), "the longest silent client of the address that has the most makes room");
        assert!(!gone(&first[1]) && !gone(&first[2]) && !gone(&second));
        assert_eq!(
            join(&streams, 3).err(),
            Some(Full::Node),
            "nobody has more than it would have, nor is silent"
        );
        streams.lock().clients.iter_mut().for_each(|client| client.was_silent_for(SILENCE));
        assert!(join(&streams, 4).is_ok(), "a client that hears nothing for long makes room for anybody");
        assert_eq!(streams.lock().clients.len(), 4);
        first.clear();
        drop((second, third));
    }
}
