//! Notifications to receivers over HTTP: taken from the outbox for each receiver as its lane has room, so that one that hangs
//! or refuses holds up neither another nor what goes to the broker. No row waits in memory.

mod call;
mod settle;

use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use jiff::Timestamp;
use pagurus_domain::low_water::LowWaterByName;
use pagurus_domain::order::notification::{Lanes, ReceiverBounds};
use pagurus_http::HttpClient;
use pagurus_runtime::Host;
use pagurus_runtime::config::{CallRules, NotifySettings};
use pagurus_runtime::metrics::{Level, Span, Work};
use pagurus_runtime::secrets::DeploymentSecrets;
use pagurus_store::hot::outbox::sending::Notification;
use pagurus_store::hot::outbox::webhooks::{self, TakenWebhooks, Wanted};
use pagurus_store::{Client, Error};
use tokio::sync::Notify;
use tokio::task::JoinSet;

use crate::webhooks::call::WebhookOutcome;
use crate::webhooks::settle::Settler;

/// Interval at which the outbox is looked at when nobody tells of anything.
const LOOK_EVERY: Duration = Duration::from_secs(1);
/// Time for which more places are waited for where one has come free.
const GATHER: Duration = Duration::from_millis(5);
/// Notifications that are taken at a time; their bodies are not known before.
const TAKEN: usize = 100;
/// Time for which others are kept off what was taken, beyond the time of its call: to write its outcome.
const BESIDE_THE_CALL: Duration = Duration::from_secs(30);

/// The deliverer of webhooks of this process.
pub(crate) struct Webhooks {
    host: Host,
    secrets: DeploymentSecrets,
    /// The client, with the settings that it was made of.
    client: Mutex<((CallRules, Duration), Arc<HttpClient>)>,
    lanes: Mutex<Lanes>,
    /// Low water marks of what is kept for each receiver.
    low_water: Mutex<LowWaterByName>,
    /// Bytes of the bodies that are held.
    held: AtomicUsize,
    /// Signals that there is something to take, or room for it.
    wake: Notify,
    settler: Settler,
    begun: Instant,
}

impl Webhooks {
    pub fn new(host: &Host) -> Self {
        let settings = host.settings();
        let of = (settings.worker.calls.clone(), settings.worker.connect_timeout);
        let client = Arc::new(HttpClient::new(of.0.clone(), of.1));
        Self {
            secrets: DeploymentSecrets::of(&host.live),
            client: Mutex::new((of, client)),
            lanes: Mutex::default(),
            low_water: Mutex::default(),
            held: AtomicUsize::new(0),
            wake: Notify::new(),
            settler: settle::settler(host),
            begun: Instant::now(),
            host: host.clone(),
        }
    }

    /// Signals that there may be something to take.
    pub fn wake(&self) {
        self.wake.notify_one();
    }

    /// Delivers until the process is to stop, and then ends what is under way.
    pub async fn run(self: Arc<Self>) -> anyhow::Result<()> {
        let mut calls = JoinSet::new();
        let mut shown = Instant::now();
        while let Some(turn) = self.host.turn().await {
            let taken = self.take().await;
            crate::note(&self.host, "webhooks", taken.as_ref().map(|_| ()));
            let taken = taken.unwrap_or_default();
            let full = taken.len() >= TAKEN;
            for notification in taken {
                let (webhooks, work) = (self.clone(), self.host.piece_of_work());
                calls.spawn(async move {
                    webhooks.deliver(notification).await;
                    drop(work);
                });
            }
            drop(turn);
            while calls.try_join_next().is_some() {}
            if shown.elapsed() >= LOOK_EVERY {
                self.show();
                shown = Instant::now();
            }
            if !full {
                let busy = !calls.is_empty();
                tokio::select! {
                    () = self.host.draining.cancelled() => {}
                    () = self.wake.notified() => {}
                    () = tokio::time::sleep(self.rest()) => {}
                }
                if busy {
                    // Places that come free together are filled together.
                    tokio::time::sleep(GATHER).await;
                }
            }
        }
        while calls.join_next().await.is_some() {}
        Ok(())
    }

    /// Takes what there is room for. What is taken has a place in its lane.
    async fn take(&self) -> Result<Vec<Notification>, Error> {
        let settings = self.host.settings();
        let (notify, connect) = (&settings.notify, settings.worker.connect_timeout);
        if self.held.load(Ordering::Relaxed) >= notify.webhook.max_held_bytes {
            return Ok(Vec::new());
        }
        let client: Client = self.host.store.recovery().await?;
        let begun = Instant::now();
        let looks_at_all = self.look_for_receivers(&client).await?;
        let rooms = self.rooms(&bounds(notify));
        let lease = notify.webhook.timeout + connect + BESIDE_THE_CALL;
        let TakenWebhooks { notifications: taken, first } =
            webhooks::take(&client, &Wanted { rooms: &rooms, limit: TAKEN, lease }).await?;
        drop(client);
        let mut low_water = self.low_water();
        first.iter().for_each(|(receiver, least)| low_water.raise(receiver, *least));
        if let Some(begun) = looks_at_all {
            low_water.end_whole(begun, Timestamp::now());
        }
        drop(low_water);
        if !taken.is_empty() {
            self.host.metrics.batch(Work::TakeWebhooks, begun.elapsed());
        }
        let mut lanes = self.lanes();
        for notification in &taken {
            lanes.begun(receiver(notification));
            self.held.fetch_add(notification.body.len(), Ordering::Relaxed);
        }
        Ok(taken)
    }

    /// Time after which it looks again by itself: as soon as receivers may be looked for, where the last look was at those
    /// that are known.
    fn rest(&self) -> Duration {
        let rest = self.low_water().rest(Timestamp::now());
        rest.map_or(LOOK_EVERY, |rest| rest.unsigned_abs().clamp(GATHER, LOOK_EVERY))
    }

    /// Looks for receivers, if it is time to; since when.
    async fn look_for_receivers(&self, client: &Client) -> Result<Option<Timestamp>, Error> {
        let begun = Timestamp::now();
        if !self.low_water().begin(begun) {
            return Ok(None);
        }
        let receivers = webhooks::receivers(client).await?;
        self.low_water().found_names(receivers);
        Ok(Some(begun))
    }

    /// The room of each receiver that is known, and where a look at it begins.
    fn rooms(&self, bounds: &ReceiverBounds) -> Vec<(String, usize, Option<Timestamp>)> {
        let unusual: HashMap<String, usize> =
            self.lanes().rooms(bounds, self.begun.elapsed()).into_iter().collect();
        let room = |receiver: &str| unusual.get(receiver).copied().unwrap_or(bounds.width);
        self.low_water().names().map(|(name, since)| (name.to_owned(), room(name), since)).collect()
    }

    async fn deliver(self: Arc<Self>, notification: Notification) {
        let mut place = LaneSlot { webhooks: &self, notification: Arc::new(notification), outcome: None };
        let begun = Instant::now();
        let outcome = self.call(&place.notification).await;
        self.host.metrics.span(Span::Webhook, outcome.word(), begun.elapsed());
        place.outcome = Some(outcome.clone());
        self.settler.settle(&self.host, place.notification.clone(), outcome.clone()).await;
        if let WebhookOutcome::Trouble { error, .. } = &outcome
            && place.leave()
        {
            let receiver = receiver(&place.notification);
            let since = self.low_water().mark(receiver);
            settle::give_up(&self.host, (receiver, since), error).await;
        }
    }

    fn show(&self) {
        let in_trouble = self.lanes().in_trouble();
        self.host.metrics.level(Level::ReceiversInTrouble, "", in_trouble as f64);
        self.present_client().close_idle();
    }

    /// The client of the settings of this moment. Other settings make another one: a connection that is kept open leads
    /// where a new one might not be let.
    fn present_client(&self) -> Arc<HttpClient> {
        let settings = self.host.settings();
        let mut present = self.client.lock().unwrap_or_else(PoisonError::into_inner);
        let of = (&settings.worker.calls, settings.worker.connect_timeout);
        if (&present.0.0, present.0.1) != of {
            *present = ((of.0.clone(), of.1), Arc::new(HttpClient::new(of.0.clone(), of.1)));
        }
        present.1.clone()
    }

    fn low_water(&self) -> std::sync::MutexGuard<'_, LowWaterByName> {
        self.low_water.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn lanes(&self) -> std::sync::MutexGuard<'_, Lanes> {
        self.lanes.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The place of a notification in its lane: left however its call ends, a panic included.
struct LaneSlot<'a> {
    webhooks: &'a Webhooks,
    notification: Arc<Notification>,
    /// `None` if nothing is known of the receiver, or once the place was left.
    outcome: Option<WebhookOutcome>,
}

impl LaneSlot<'_> {
    /// Tells the lane the outcome of the call. True if the receiver is in trouble.
    fn leave(&mut self) -> bool {
        let Some(outcome) = self.outcome.take() else { return false };
        let mut lanes = self.webhooks.lanes();
        let receiver = receiver(&self.notification);
        match outcome {
            WebhookOutcome::Delivered | WebhookOutcome::Gone | WebhookOutcome::Refused(_) => {
                lanes.well(receiver)
            }
            WebhookOutcome::Parked(..) | WebhookOutcome::Ours(_) => lanes.ended(receiver),
            WebhookOutcome::Trouble { retry_after, .. } => {
                let now = self.webhooks.begun.elapsed();
                let bounds = bounds(&self.webhooks.host.settings().notify);
                return lanes.failed(receiver, &bounds, retry_after, now, rand::random());
            }
        }
        false
    }
}

impl Drop for LaneSlot<'_> {
    fn drop(&mut self) {
        self.leave();
        self.webhooks.held.fetch_sub(self.notification.body.len(), Ordering::Relaxed);
        self.webhooks.wake.notify_one();
    }
}

fn receiver(notification: &Notification) -> &str {
    notification.receiver.as_deref().unwrap_or_default()
}

fn bounds(settings: &NotifySettings) -> ReceiverBounds {
    ReceiverBounds {
        width: settings.webhook.concurrency,
        initial: settings.retry_initial,
        max: settings.retry_max,
    }
}
