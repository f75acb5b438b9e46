//! Delivery of notifications to the broker: what news tells of, and what is due.

use std::sync::Arc;
use std::time::{Duration, Instant};

use futures_util::StreamExt as _;
use futures_util::stream::FuturesUnordered;
use pagurus_broker::Delivery;
use pagurus_domain::id::{Life, OrderNo};
use pagurus_domain::low_water::LowWater;
use pagurus_domain::order::notification::{NotifyForm, NotifyFormat};
use pagurus_runtime::metrics::{Level, Work};
use pagurus_runtime::offline::{Intermittent, Taken};
use pagurus_runtime::task::{BackgroundTask, NextTurn, TurnPause};
use pagurus_runtime::{Host, news};
use pagurus_store::Error;
use pagurus_store::hot::outbox::sending::{self, Notification, Unread};
use pagurus_store::hot::outbox::shown;
use pagurus_store::upkeep::first::{self, TimedList};
use pagurus_wire::message::{OutboxNews, OutboxRow};
use tokio::sync::{OwnedSemaphorePermit, RwLockReadGuard, Semaphore};

use crate::gathering::Gathering;
use crate::note;
use crate::publish::{PublishOutcome, keep, publish};
use crate::removal::{self, Removal};
use crate::webhooks::Webhooks;

/// Notifications of one batch: as many as fit a window of confirms.
const BATCH: i64 = 500;
/// Messages of news taken at once.
const MESSAGES: usize = 50;
/// Batches of news that are published at a time, as the publisher has lanes: one is on its way while the other is confirmed.
const PUBLISHING: usize = 2;
/// Batches of news in progress; those that are published only wait for their removal, and hold keys of rows.
const MOST_IN_PROGRESS: usize = 64;
/// Interval at which the slow pass looks.
const LOOK_EVERY: Duration = Duration::from_secs(1);

/// Sends what news tells of, until the process is to stop.
pub(crate) async fn fresh(host: Host, from: Intermittent, webhooks: Arc<Webhooks>) -> anyhow::Result<()> {
    let removal = Arc::new(Removal::start(&host));
    let gathering = Gathering::start(&host, &removal);
    let fresh = Fresh { host: &host, removal: &removal, gathering: &gathering, webhooks: &webhooks };
    let publishing = Arc::new(Semaphore::new(PUBLISHING));
    // Nothing is taken that could not be published at once: news that waits in the broker's queue is dropped when it gets old.
    let next = async || {
        let permit = publishing.clone().acquire_owned().await.ok()?;
        Some((permit, from.next(MESSAGES).await?))
    };
    let mut in_progress = FuturesUnordered::new();
    loop {
        tokio::select! {
            taken = next(), if in_progress.len() < MOST_IN_PROGRESS => match taken {
                Some((permit, taken)) => {
                    in_progress.push(fresh.send_announced(taken, permit));
                }
                None => break,
            },
            Some(()) = in_progress.next() => {}
        }
    }
    while in_progress.next().await.is_some() {}
    Ok(())
}

/// The way of new notifications, from their news to their removal.
#[derive(Clone, Copy)]
struct Fresh<'a> {
    host: &'a Host,
    removal: &'a Removal,
    gathering: &'a Gathering,
    webhooks: &'a Webhooks,
}

impl Fresh<'_> {
    /// Sends what a batch of news tells of, and removes what was confirmed. What is in a group only begins to gather here.
    async fn send_announced(self, mut taken: Taken, permit: OwnedSemaphorePermit) {
        let mut announced = Announced::default();
        for delivery in std::mem::take(&mut taken.deliveries) {
            announced.hear(self.host, self.webhooks, &delivery);
        }
        self.gathering.add(announced.grouped).await;
        let permit = Arc::new(permit);
        // Before the reader of ends beside it, who waits for them.
        let sending = self.removal.sending.share().await;
        tokio::join!(
            self.send_rows(announced.rows, (permit.clone(), sending)),
            self.send_unread(announced.ended, permit),
        );
    }

    /// Sends notifications that the news contains.
    async fn send_rows(
        self,
        rows: Vec<Notification>,
        (permit, _sending): (Arc<OwnedSemaphorePermit>, RwLockReadGuard<'_, ()>),
    ) {
        let mut confirmed = Vec::new();
        for window in rows.chunks(BATCH as usize) {
            confirmed.extend(removal::published(self.host, window).await);
        }
        drop((rows, permit));
        self.removal.remove(self.host, confirmed).await;
    }

    /// Sends notifications that are still to be read.
    async fn send_unread(self, unread: Vec<Unread>, _permit: Arc<OwnedSemaphorePermit>) {
        // All ends of a life are read: one that was sent and still stands there would be sent again, and hold up the second.
        let reads_ends = unread.iter().any(|one| one.kind.is_none());
        let sending = &self.removal.sending;
        let _sending = if reads_ends { sending.share_after_others().await } else { sending.share().await };
        for window in unread.chunks(BATCH as usize) {
            note(self.host, "new notifications", self.send_fresh(window).await);
        }
    }

    async fn send_fresh(self, unread: &[Unread]) -> Result<(), Error> {
        let client = self.host.store.work().await?;
        let read = sending::read(&client, unread).await?;
        drop(client);
        let (grouped, alone): (Vec<_>, Vec<_>) = read.into_iter().partition(|one| one.form.group.is_some());
        self.gathering.add(grouped).await;
        send(self.host, &alone).await
    }
}

/// New notifications announced by news.
#[derive(Default)]
struct Announced {
    /// Notifications that the news contains.
    rows: Vec<Notification>,
    /// Notifications that the news contains and that wait for others of their groups.
    grouped: Vec<Notification>,
    /// Notifications that are still to be read.
    ended: Vec<Unread>,
}

impl Announced {
    fn hear(&mut self, host: &Host, webhooks: &Webhooks, delivery: &Delivery) {
        let read = news::read::<OutboxNews>(&host.metrics, "outbox", &delivery.body);
        let Some(news) = read else { return };
        if news.webhooks {
            webhooks.wake();
        }
        for row in news.rows.into_iter().filter_map(stored) {
            if row.form.group.is_some() { &mut self.grouped } else { &mut self.rows }.push(row);
        }
        let unread = news.ended.into_iter();
        self.ended.extend(unread.map(|one| Unread {
            no: OrderNo(one.no),
            life: Life(one.life),
            kind: one.kind,
        }));
    }
}

/// Returns the stored form of a row that nobody has tried to send yet.
fn stored(row: OutboxRow) -> Option<Notification> {
    Some(Notification {
        no: OrderNo(row.no),
        life: Life(row.life),
        kind: row.kind,
        message_id: row.message_id.parse().ok()?,
        target: row.target,
        correlation_id: row.correlation_id,
        transaction_id: row.transaction_id,
        trace: row.trace,
        body: row.body,
        // What has another form, has a number or goes over HTTP is not sent as a row.
        form: NotifyForm { format: NotifyFormat::Pagurus, group: row.group },
        number: None,
        receiver: None,
        secret: None,
        attempts: 0,
    })
}

/// Sending of what is due in the outbox: of everything once its time has come.
#[derive(Default)]
pub(crate) struct DueNotifications {
    low_water: LowWater,
}

impl BackgroundTask for DueNotifications {
    const PAUSE: TurnPause = |_| LOOK_EVERY;

    async fn turn(&mut self, host: &Host) -> NextTurn {
        let sent = send_due(host, &mut self.low_water).await;
        let full = matches!(sent, Ok(count) if count >= BATCH as usize);
        note(host, "due notifications", sent.map(|_| ()));
        note(host, "outbox", show(host).await);
        if full { NextTurn::AtOnce } else { NextTurn::AfterPause }
    }
}

async fn send_due(host: &Host, low_water: &mut LowWater) -> Result<usize, Error> {
    // Without the broker nothing is taken: the rows would only count attempts.
    if !host.broker.state().publish.is_up() {
        return Ok(0);
    }
    let client = host.store.recovery().await?;
    let Some(from) = first::look(&client, TimedList::Outbox, low_water).await?.come() else { return Ok(0) };
    let notifications = sending::take(&client, from, BATCH).await?;
    drop(client);
    send(host, &notifications).await?;
    Ok(notifications.len())
}

async fn show(host: &Host) -> Result<(), Error> {
    let client = host.store.api().await?;
    let (waiting, parked, age) = shown::backlog(&client).await?;
    host.metrics.level(Level::Outbox, "waiting", waiting as f64);
    host.metrics.level(Level::Outbox, "parked", parked as f64);
    host.metrics.level(Level::OutboxAge, "", age.unwrap_or(0.0));
    Ok(())
}

/// Sends notifications and removes those that were confirmed.
async fn send(host: &Host, notifications: &[Notification]) -> Result<(), Error> {
    if notifications.is_empty() {
        return Ok(());
    }
    let begun = Instant::now();
    let PublishOutcome { confirmed, failed } = publish(host, notifications).await;
    removal::remove(host, &confirmed).await?;
    keep(host, failed).await?;
    host.metrics.batch(Work::Notify, begun.elapsed());
    Ok(())
}
