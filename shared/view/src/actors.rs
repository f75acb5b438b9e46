//! Actors: tasks that orders wait for, the programs that take them, and when one took a task last.

use std::collections::BTreeMap;
use std::time::Duration;

use pagurus_domain::number::saturated;
use pagurus_runtime::stats::Series;
use pagurus_store::lists::actors::{self, ActorSigns, OpenTasks};
use pagurus_store::{Client, Error};
use pagurus_wire::actors::ActorView;
use pagurus_wire::order::Page;
use pagurus_wire::problem::{Problem, Type};

use crate::Views;
use crate::query::ListQuery;

/// Actors of a page at most: the broker is asked about each.
const MOST: usize = 200;
/// Longest time for the broker to say what waits in a queue, and who takes from it.
const PATIENCE: Duration = Duration::from_secs(1);

/// Tasks in the queue of an actor, and the programs that take from it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ActorQueue {
    pub queued: u32,
    pub consumers: u32,
}

impl Views {
    /// Actors that orders wait for, or that decided a task within a day, by name.
    pub async fn actors(&self, query: &ListQuery) -> Result<Page<ActorView>, Problem> {
        let limit = query.limit()?.min(MOST);
        let after = query.cursor().unwrap_or_default();
        let read = async {
            let client = self.host.store.reports().await?;
            let known = known(&client, None).await?;
            let mut page: Vec<_> = known.into_iter().filter(|(name, _)| name.as_str() > after).collect();
            page.truncate(limit);
            let mut items = Vec::with_capacity(page.len());
            let mut answers = true;
            for (name, one) in page {
                // Who did not answer about one will not about the next.
                let queue = if answers { self.actor_queue(&name).await } else { None };
                answers = queue.is_some();
                items.push(view(&client, name, one, queue).await?);
            }
            Ok::<_, Error>(items)
        };
        let items = read.await.map_err(self.failed("actors"))?;
        let next = items.last().filter(|_| items.len() == limit).map(|one| one.actor.clone());
        Ok(Page { items, next })
    }

    /// An actor by its name.
    pub async fn actor(&self, name: &str) -> Result<ActorView, Problem> {
        let read = async {
            let client = self.host.store.reports().await?;
            let one = known(&client, Some(name)).await?.remove(name);
            let queue = self.actor_queue(name).await;
            let is_known = one.is_some() || queue.is_some_and(|queue| queue.is_there());
            match is_known {
                true => view(&client, name.to_owned(), one.unwrap_or_default(), queue).await.map(Some),
                false => Ok(None),
            }
        };
        let found = read.await.map_err(self.failed("actors"))?;
        found.ok_or_else(|| Problem::new(Type::NotFound, format!("no task was handed to an actor `{name}`")))
    }

    /// Queue of an actor; empty where there is none yet, and `None` where the broker does not answer.
    pub(crate) async fn actor_queue(&self, name: &str) -> Option<ActorQueue> {
        let queue = self.host.broker.names().actor_queue(name);
        let depth = self.host.broker.depth_of(&queue, PATIENCE).await.ok()?;
        let (queued, consumers) = depth.unwrap_or_default();
        Some(ActorQueue { queued, consumers })
    }
}

impl ActorQueue {
    const fn is_there(self) -> bool {
        self.queued > 0 || self.consumers > 0
    }
}

/// Knowledge of the tables about an actor.
#[derive(Debug, Default)]
struct KnownActor {
    open: Option<OpenTasks>,
    signs: ActorSigns,
}

/// All that the tables know of actors, by name; of one where it is named.
async fn known(client: &Client, name: Option<&str>) -> Result<BTreeMap<String, KnownActor>, Error> {
    let mut known: BTreeMap<String, KnownActor> = BTreeMap::new();
    for open in actors::open_tasks(client, name).await? {
        let name = open.actor.clone();
        known.entry(name).or_default().open = Some(open);
    }
    let (decided, overdue) = (Series::TasksDecided.as_str(), Series::TasksOverdue.as_str());
    for signs in actors::signs(client, decided, overdue).await? {
        if name.is_none_or(|name| name == signs.actor) {
            let name = signs.actor.clone();
            known.entry(name).or_default().signs = signs;
        }
    }
    Ok(known)
}

async fn view(
    client: &Client,
    actor: String,
    KnownActor { open, signs }: KnownActor,
    queue: Option<ActorQueue>,
) -> Result<ActorView, Error> {
    let tasks = open.as_ref().map_or(0, |open| saturated::<u32>(open.tasks));
    let in_hand = queue.map(|queue| tasks.saturating_sub(queue.queued));
    let taken_at = match queue {
        Some(queue) if in_hand > Some(0) => {
            actors::newest_taken(client, &actor, i64::from(queue.queued)).await?
        }
        _ => None,
    };
    Ok(ActorView {
        state: state(tasks, queue).to_owned(),
        actor,
        consumers: queue.map(|queue| queue.consumers),
        queued: queue.map(|queue| queue.queued),
        tasks,
        in_hand,
        oldest_since: open.map(|open| open.oldest),
        last_taken_at: taken_at.max(signs.decided_at),
        decided: saturated::<u64>(signs.decided),
        work_timeouts: saturated::<u64>(signs.work_timeouts),
    })
}

const fn state(tasks: u32, queue: Option<ActorQueue>) -> &'static str {
    match queue {
        None => "unknown",
        Some(ActorQueue { queued: 1.., consumers: 1.. }) => "busy",
        Some(ActorQueue { consumers: 0, .. }) if tasks > 0 => "unserved",
        Some(_) if tasks == 0 => "idle",
        Some(_) => "served",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dsp_14_the_state_of_an_actor_tells_whom_its_tasks_wait_for() {
        let of = |queued, consumers| Some(ActorQueue { queued, consumers });
        let cases = [
            (3, of(2, 1), "busy"),
            (3, of(0, 1), "served"),
            (3, of(3, 0), "unserved"),
            (3, of(0, 0), "unserved"),
            (0, of(0, 2), "idle"),
            (0, of(0, 0), "idle"),
            (3, None, "unknown"),
        ];
        for (tasks, queue, expected) in cases {
            assert_eq!(state(tasks, queue), expected, "{tasks} {queue:?}");
        }
    }
}
