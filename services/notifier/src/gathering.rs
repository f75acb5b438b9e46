//! Gathering of new notifications into groups: each waits for others at most as long as its client permits.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use futures_util::StreamExt as _;
use futures_util::stream::FuturesUnordered;
use pagurus_runtime::Host;
use pagurus_store::hot::outbox::sending::Notification;
use tokio::sync::mpsc;

use crate::group::{GroupKey, MOST_BYTES};
use crate::removal::{Removal, published};

/// Batches of notifications that wait to be gathered.
const WAITING_BATCHES: usize = 4;
/// Batches of groups that are published at a time: one is confirmed while the next one gathers.
const PUBLISHING: usize = 2;
/// Batches of groups that wait for their removal from the outbox.
const MOST_REMOVALS: usize = 64;
/// Bytes of content that gather at most: beyond them all groups go.
const MOST_GATHERED_BYTES: usize = 32 * 1024 * 1024;
/// Time to sleep where nothing gathers; whatever comes ends it.
const IDLE: Duration = Duration::from_secs(3600);

/// Sender to the task that gathers. The task sends what it has, and ends, when the last one is dropped.
#[derive(Clone)]
pub(crate) struct Gathering(mpsc::Sender<Vec<Notification>>);

impl Gathering {
    /// Starts the task.
    pub fn start(host: &Host, removal: &Arc<Removal>) -> Self {
        let (sender, receiver) = mpsc::channel(WAITING_BATCHES);
        host.spawn("groups of notifications", gather(host.clone(), removal.clone(), receiver));
        Self(sender)
    }

    /// Hands notifications in. They stay in the outbox until their messages are confirmed.
    pub async fn add(&self, notifications: Vec<Notification>) {
        if !notifications.is_empty() {
            // Fails when the process ends; then the slow pass of another sends them.
            let _ = self.0.send(notifications).await;
        }
    }
}

async fn gather(
    host: Host,
    removal: Arc<Removal>,
    mut receiver: mpsc::Receiver<Vec<Notification>>,
) -> anyhow::Result<()> {
    let (mut gathered, mut ready) = (GatheredGroups::default(), Vec::new());
    let (mut publishing, mut removing) = (FuturesUnordered::new(), FuturesUnordered::new());
    let mut is_open = true;
    while is_open || !ready.is_empty() || !publishing.is_empty() || !removing.is_empty() {
        let due = gathered.next_due().unwrap_or_else(|| Instant::now() + IDLE);
        let has_room = publishing.len() < PUBLISHING && removing.len() < MOST_REMOVALS;
        tokio::select! {
            Some(confirmed) = publishing.next(), if !publishing.is_empty() => {
                removing.push(removal.remove(&host, confirmed));
            }
            Some(()) = removing.next(), if !removing.is_empty() => {}
            new = receiver.recv(), if is_open && has_room => match new {
                Some(new) => new.into_iter().for_each(|one| ready.extend(gathered.add(one, Instant::now()))),
                None => {
                    is_open = false;
                    ready.extend(gathered.take_all());
                }
            },
            () = tokio::time::sleep_until(due.into()), if has_room && gathered.next_due().is_some() => {
                ready.extend(gathered.take_due(Instant::now()));
            }
        }
        if !ready.is_empty() && publishing.len() < PUBLISHING {
            let (host, ready) = (&host, std::mem::take(&mut ready));
            publishing.push(async move { published(host, &ready).await });
        }
    }
    Ok(())
}

/// Notifications that gather.
#[derive(Default)]
struct GatheredGroups {
    groups: HashMap<GroupKey, GatheredGroup>,
    /// Bytes of content of all of them.
    bytes: usize,
}

/// Notifications that will go in one message.
struct GatheredGroup {
    notifications: Vec<Notification>,
    bytes: usize,
    /// Time at which the first of them has waited as long as it may.
    due: Instant,
}

impl GatheredGroups {
    /// Adds a notification. Returns what is to be sent now, because it is full.
    fn add(&mut self, notification: Notification, now: Instant) -> Vec<Notification> {
        let Some(key) = GroupKey::of(&notification) else { return vec![notification] };
        let bytes = notification.body.len();
        let is_over = self.groups.get(&key).is_some_and(|group| group.bytes + bytes > MOST_BYTES);
        let mut full = if is_over { self.take(&key) } else { Vec::new() };
        let (max, within) = (usize::from(key.terms.max), key.terms.within());
        let group = self.groups.entry(key.clone()).or_insert_with(|| GatheredGroup {
            notifications: Vec::new(),
            bytes: 0,
            due: now + within,
        });
        group.notifications.push(notification);
        group.bytes += bytes;
        self.bytes += bytes;
        if group.notifications.len() >= max {
            full.extend(self.take(&key));
        }
        if self.bytes > MOST_GATHERED_BYTES {
            full.extend(self.take_all());
        }
        full
    }

    /// Takes the groups whose time has come.
    fn take_due(&mut self, now: Instant) -> Vec<Notification> {
        let due = self.groups.iter().filter(|(_, group)| group.due <= now);
        let due: Vec<GroupKey> = due.map(|(key, _)| key.clone()).collect();
        due.iter().flat_map(|key| self.take(key)).collect()
    }

    fn take_all(&mut self) -> Vec<Notification> {
        self.bytes = 0;
        self.groups.drain().flat_map(|(_, group)| group.notifications).collect()
    }

    fn take(&mut self, key: &GroupKey) -> Vec<Notification> {
        let Some(group) = self.groups.remove(key) else { return Vec::new() };
        self.bytes -= group.bytes;
        group.notifications
    }

    /// Time at which the first group is due.
    fn next_due(&self) -> Option<Instant> {
        self.groups.values().map(|group| group.due).min()
    }
}

#[cfg(test)]
mod tests {
    use pagurus_domain::order::notification::{NotifyForm, NotifyFormat, NotifyGroup};

    use super::*;
    use crate::form::tests::notification;

    /// A notification of the group for this key, with a body of that many bytes.
    fn of(key: &str, (max, within_ms): (u16, u16), bytes: usize) -> Notification {
        Notification {
            target: format!("amqp://?key={key}"),
            body: "x".repeat(bytes),
            form: NotifyForm { format: NotifyFormat::Pagurus, group: Some(NotifyGroup { max, within_ms }) },
            ..notification(NotifyFormat::Pagurus)
        }
    }

    const fn ms(ms: u64) -> Duration {
        Duration::from_millis(ms)
    }

    #[test]
    fn ord_18_a_group_goes_when_it_is_full_or_its_first_member_has_waited_and_no_later() {
        let (mut gathered, start) = (GatheredGroups::default(), Instant::now());
        let mut add = |key, after| gathered.add(of(key, (2, 100), 10), start + ms(after)).len();
        assert_eq!((add("a", 0), add("b", 50), add("a", 60)), (0, 0, 2), "the second fills the group");
        assert_eq!(add("a", 70), 0, "the next one waits from then on");
        assert_eq!(gathered.next_due(), Some(start + ms(150)));
        assert!(gathered.take_due(start + ms(149)).is_empty());
        assert_eq!(gathered.take_due(start + ms(150)).len(), 1, "that of b");
        assert_eq!(gathered.take_due(start + ms(170)).len(), 1);
        assert_eq!((gathered.next_due(), gathered.bytes, gathered.groups.len()), (None, 0, 0));
    }

    #[test]
    fn ord_18_what_gathers_is_bounded_in_bytes() {
        let (mut gathered, now) = (GatheredGroups::default(), Instant::now());
        let mut add = |key: &str, bytes| gathered.add(of(key, (1000, 1000), bytes), now).len();
        assert_eq!((add("a", MOST_BYTES - 1), add("a", 2)), (0, 1), "the second begins another message");
        let most = MOST_GATHERED_BYTES / MOST_BYTES;
        let sent: Vec<usize> = (0..most).map(|n| add(&n.to_string(), MOST_BYTES)).collect();
        assert_eq!(sent.iter().sum::<usize>(), most + 1, "all of them at once, with the rest of a");
        assert!(sent[..most - 1].iter().all(|count| *count == 0), "{sent:?}");
    }
}
