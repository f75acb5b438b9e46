//! Gathering of new notifications into groups: each waits for others at most as long as its client permits.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use futures_util::future::join_all;
use pagurus_runtime::batch::{Linger, Shape};
use pagurus_runtime::{Batcher, Host};
use pagurus_store::Error;
use pagurus_store::hot::outbox::sending::{Notification, OutboxKey};

use crate::group::GroupKey;
use crate::publish::{keep, publish};

/// Groups that gather at a time. A client can name any number of them, and those beyond it start over.
const MOST_GROUPS: usize = 1000;
/// Messages of one group on their way at a time: one is confirmed while the next one fills.
const LANES: usize = 2;

type GroupBatcher = Batcher<Notification, Option<OutboxKey>, Error>;

/// The groups that gather.
#[derive(Default)]
pub(crate) struct Gathering(Mutex<HashMap<GroupKey, GroupBatcher>>);

impl Gathering {
    /// Sends notifications, each with the others of its group. Returns those that the broker has.
    pub async fn send(&self, host: &Host, notifications: Vec<Notification>) -> Vec<OutboxKey> {
        let sending = notifications.into_iter().filter_map(|notification| {
            let group = self.group(host, GroupKey::of(&notification)?);
            Some(async move { group.submit(notification).await.ok().flatten() })
        });
        join_all(sending.collect::<Vec<_>>()).await.into_iter().flatten().collect()
    }

    fn group(&self, host: &Host, key: GroupKey) -> GroupBatcher {
        let mut groups = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if groups.len() >= MOST_GROUPS && !groups.contains_key(&key) {
            groups.clear();
        }
        let terms = key.terms;
        groups
            .entry(key)
            .or_insert_with(|| {
                let linger = Linger::Always(terms.within());
                let shape = Shape { max: terms.max.into(), lanes: LANES, linger };
                let host = host.clone();
                Batcher::start(shape, Error::concerns_one_item, move |group| send_group(host.clone(), group))
            })
            .clone()
    }
}

/// Sends the notifications of a group. What the broker does not take is kept for later.
async fn send_group(host: Host, group: Arc<[Notification]>) -> Result<Vec<Option<OutboxKey>>, Error> {
    let outcome = publish(&host, &group).await;
    let mut confirmed = outcome.confirmed.into_iter().peekable();
    // Those that are confirmed come in the order of the group.
    let answers = group.iter().map(|one| confirmed.next_if(|key| one.has_key(key))).collect();
    keep(&host, outcome.failed).await?;
    Ok(answers)
}
