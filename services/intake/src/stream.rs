//! The stream of orders' news: one listener for a process, however many clients follow it.
//!
//! News of the engine says of which orders something is new, and no more. Several times a second the listener looks up what has
//! happened to those, once for all clients, and hands each what it asked for. Nothing is listened to while nobody follows.
//!
//! A client has a bounded buffer. Whoever reads too slowly is told how many events were left out; nobody else waits for him.

mod client;
mod follower;

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use pagurus_broker::{ConsumeSpec, QueueSource};
use pagurus_runtime::Host;
use pagurus_runtime::metrics::{Count, Level};
use pagurus_view::Views;
use pagurus_wire::message::news;
use pagurus_wire::stream::{StreamLagged, StreamedEvent};
use tokio::sync::{Notify, mpsc};
use tokio::time::{MissedTickBehavior, interval};

use client::Client;
pub(crate) use client::{StreamFilter, Told};
use follower::Follower;

/// Between two looks at what is new.
const LOOK_EVERY: Duration = Duration::from_millis(200);
/// Time for which the listener stays when the last client has gone: one that comes back finds what it missed.
const LINGER: Duration = Duration::from_secs(60);
/// Events that are kept for clients that come back.
const KEPT: usize = 5000;
/// News that wait at the broker, each of many orders; the oldest go first.
const MAX_WAITING_NEWS: u32 = 10_000;

/// Clients of the stream, and what was told of late. Cheap to clone.
#[derive(Clone, Default)]
pub(crate) struct Streams(Arc<Shared>);

#[derive(Default)]
struct Shared {
    state: Mutex<State>,
    /// Somebody follows where nobody did.
    begun: Notify,
}

#[derive(Default)]
struct State {
    clients: Vec<Client>,
    kept: VecDeque<Arc<StreamedEvent>>,
}

/// A client that follows.
pub(crate) struct Joined {
    /// Receiving end of its messages.
    pub receiver: mpsc::Receiver<Told>,
    /// Events that it missed since the one that it got last; none where that is not known any more.
    pub missed: Option<Vec<Arc<StreamedEvent>>>,
}

impl Streams {
    /// Lets a client follow, with the numbers of the orders that it names, from behind the event that it got last; none where so
    /// many follow already.
    pub fn join(
        &self,
        filter: StreamFilter,
        numbers: Vec<i64>,
        last: Option<&str>,
        most: usize,
    ) -> Option<Joined> {
        let mut state = self.lock();
        state.clients.retain(Client::is_there);
        if state.clients.len() >= most {
            return None;
        }
        let place = last.and_then(|last| state.kept.iter().rposition(|event| event.id() == last));
        let behind =
            |place: usize| state.kept.iter().skip(place + 1).filter(|event| filter.takes(event)).cloned();
        let missed = place.map(|place| behind(place).collect());
        let (client, receiver) = Client::new(filter, numbers);
        state.clients.push(client);
        drop(state);
        self.0.begun.notify_one();
        Some(Joined { receiver, missed })
    }

    /// Tells clients what is new, as long as the process takes new work.
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
        let mut look = interval(LOOK_EVERY);
        look.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut alone_since: Option<Instant> = None;
        loop {
            tokio::select! {
                batch = consumer.next_batch(1000) => {
                    if batch.is_empty() {
                        return Ok(());
                    }
                    for delivery in &batch {
                        follower.hear(&host.metrics, &delivery.routing_key, &delivery.body);
                    }
                    continue;
                }
                _ = look.tick() => {}
                () = host.draining.cancelled() => return Ok(()),
            }
            self.turn(&mut follower, host, views).await;
            let is_alone = self.lock().clients.is_empty();
            alone_since = is_alone.then(|| alone_since.unwrap_or_else(Instant::now));
            if alone_since.is_some_and(|since| since.elapsed() >= LINGER) {
                self.lock().kept.clear();
                return Ok(());
            }
        }
    }

    /// One look for all.
    async fn turn(&self, follower: &mut Follower, host: &Host, views: &Views) {
        if let Some(reason) = follower.gap(host.broker.state().consume.is_up()) {
            self.tell_gap(host, reason);
        }
        let named: Vec<i64> = self.lock().clients.iter().flat_map(Client::numbers).collect();
        follower.look_again_at(&named);
        let events = follower.look(views).await;
        let mut state = self.lock();
        state.clients.retain(Client::is_there);
        host.metrics.level(Level::StreamClients, "", state.clients.len() as f64);
        let (mut sent, mut left_out) = (0, 0);
        for event in events.into_iter().map(Arc::new) {
            for client in state.clients.iter_mut().filter(|client| client.takes(&event)) {
                *(if client.offer(&event) { &mut sent } else { &mut left_out }) += 1;
            }
            if state.kept.len() == KEPT {
                state.kept.pop_front();
            }
            state.kept.push_back(event);
        }
        state.clients.iter_mut().for_each(Client::own_up);
        drop(state);
        host.metrics.count(Count::StreamEvents, "sent", sent);
        host.metrics.count(Count::StreamEvents, "left_out", left_out);
    }

    /// Tells everybody that events are missing, and nobody knows which.
    fn tell_gap(&self, host: &Host, reason: &str) {
        let mut state = self.lock();
        // Who comes back must not believe that there was nothing in between.
        state.kept.clear();
        let lagged = StreamLagged { reason: reason.to_owned(), missed: None };
        state.clients.iter_mut().for_each(|client| client.tell_gap(&lagged));
        host.metrics.count(Count::StreamEvents, "lagged", state.clients.len() as u64);
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
