//! Reading of the dispatcher: everything at the start, a little all the time, so that lost news
//! is found.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::time::{Duration, Instant};

use jiff::Timestamp;
use pagurus_dispatch::{
    DispatchEvent, Dispatcher, InProgress, Lane, QueueHead, QueueMember, QueuePosition, Ready, Running,
};
use pagurus_domain::id::{Incarnation, OrderNo};
use pagurus_domain::number::saturated;
use pagurus_runtime::Host;
use pagurus_runtime::stats::Series;
use pagurus_store::hot::queues;
use pagurus_store::hot::stages::{self, ReadyRow, ReadyStage};
use pagurus_store::recovery::cluster;
use pagurus_store::{Client, Error};

use crate::round::{Round, Rounds};
use crate::unheard::Unheard;

/// Rows of one page: a few milliseconds each.
const PAGE: usize = 5000;
/// Queues looked up in one turn.
const QUEUES: usize = 500;
/// Reading what is ready and in progress takes at most one part in this many of the time: with a snapshot that somebody
/// holds, all that was deleted since is walked over (QLT-2).
const SHARE_OF_TIME: u32 = 20;

/// Reads on where the last call ended.
pub(crate) struct Reader {
    host: Host,
    /// The round of what is ready that is under way.
    round: Option<Round>,
    /// Memory from round to round.
    rounds: Rounds,
    /// The longest that a stage of the round under way has waited.
    waited: Duration,
    /// The same of the last finished round.
    longest_wait: Duration,
    /// Time since which the oldest stage of each flow may run, of the round under way.
    oldest: HashMap<String, Timestamp>,
    /// The same of a finished round, until the dispatcher has received it.
    ended_round: Option<HashMap<String, Timestamp>>,
    /// End of the last reading of the slow pass, and how long it took.
    read: Option<(Instant, Duration)>,
    /// Workers as the dispatcher received them last.
    workers: BTreeMap<Incarnation, (u32, bool)>,
}

impl Reader {
    /// A reader that has read nothing yet.
    pub fn of(host: &Host) -> Self {
        Self {
            host: host.clone(),
            round: None,
            rounds: Rounds::default(),
            waited: Duration::ZERO,
            longest_wait: Duration::ZERO,
            oldest: HashMap::new(),
            ended_round: None,
            read: None,
            workers: BTreeMap::new(),
        }
    }

    /// Reads everything, page by page; returns the number of stages that may run.
    pub async fn rebuild(&mut self, dispatcher: &mut Dispatcher) -> Result<usize, Error> {
        let client = self.host.store.recovery().await?;
        let mut count = 0;
        // What was known of a former time is void: everything is read.
        (self.round, self.rounds) = (None, Rounds::default());
        self.oldest.clear();
        loop {
            let page = self.page(&client).await?;
            count += page.len();
            let rows = page.into_iter().map(|row| ready(row.stage)).collect();
            dispatcher.handle(DispatchEvent::Ready(rows), self.host.clock.now());
            self.tell_oldest(dispatcher);
            // Between two pages the lease is renewed and signals are seen.
            tokio::task::yield_now().await;
            if self.round.is_none() {
                break;
            }
        }
        self.workers(&client, dispatcher).await?;
        self.in_progress(&client, dispatcher).await?;
        Ok(count)
    }

    /// Takes one turn of the slow pass: a page of what is ready, what is in progress, the workers. Stages that
    /// nothing was known of are counted as their news would be, and the woken ones among them noted.
    pub async fn turn(&mut self, dispatcher: &mut Dispatcher, unheard: &mut Unheard) -> Result<(), Error> {
        let client = self.host.store.recovery().await?;
        if self.read.is_some_and(|(at, took)| at.elapsed() < took * SHARE_OF_TIME) {
            return self.workers(&client, dispatcher).await;
        }
        let begun = Instant::now();
        let page = self.page(&client).await?;
        for ReadyRow { stage, stream, .. } in &page {
            if note_found(&self.host, dispatcher, stage)
                && let Some(stream) = stream
            {
                unheard.read((stage.no, stage.attempt), *stream, &stage.flow, Instant::now());
            }
        }
        let rows = page.into_iter().map(|row| ready(row.stage)).collect();
        dispatcher.handle(DispatchEvent::Ready(rows), self.host.clock.now());
        self.tell_oldest(dispatcher);
        self.workers(&client, dispatcher).await?;
        self.in_progress(&client, dispatcher).await?;
        self.read = Some((Instant::now(), begun.elapsed()));
        Ok(())
    }

    /// Age of the oldest stage that may run, as of the last round.
    pub const fn longest_wait(&self) -> Duration {
        self.longest_wait
    }

    /// The next page of the present round, or the first of a new one.
    async fn page(&mut self, client: &Client) -> Result<Vec<ReadyRow>, Error> {
        let begun = Instant::now();
        let (is_first, round) = match self.round {
            Some(round) => (false, round),
            None => (true, self.rounds.begin(stages::last_order(client).await?, begun)),
        };
        let limit = saturated::<i64>(PAGE);
        let page = stages::ready_page(client, round.after, round.until, limit).await?;
        let numbers: Vec<OrderNo> = page.iter().map(|row| row.stage.no).collect();
        if is_first {
            self.rounds.begun(round, numbers.first().copied(), Instant::now(), begun.elapsed());
        }
        self.round = round.after_page(&numbers, PAGE);
        self.waited = page.iter().map(|row| row.waited).fold(self.waited, Duration::max);
        let now = self.host.clock.now();
        for row in &page {
            let since = now.checked_sub(row.waited).unwrap_or(now);
            match self.oldest.get_mut(&row.stage.flow) {
                Some(oldest) => *oldest = since.min(*oldest),
                None => {
                    self.oldest.insert(row.stage.flow.clone(), since);
                }
            }
        }
        if self.round.is_none() {
            self.longest_wait = std::mem::take(&mut self.waited);
            self.ended_round = Some(std::mem::take(&mut self.oldest));
        }
        Ok(page)
    }

    /// Tells since when the oldest stage of each flow may run, once a round is over.
    fn tell_oldest(&mut self, dispatcher: &mut Dispatcher) {
        if let Some(oldest) = self.ended_round.take() {
            let rows = oldest.into_iter().map(|(flow, since)| (flow.into(), since)).collect();
            dispatcher.handle(DispatchEvent::OldestReady(rows), self.host.clock.now());
        }
    }

    /// Tells the dispatcher which workers came, changed and went.
    pub async fn workers(&mut self, client: &Client, dispatcher: &mut Dispatcher) -> Result<(), Error> {
        let now = self.host.clock.now();
        let present: BTreeMap<Incarnation, (u32, bool)> = cluster::workers(client)
            .await?
            .into_iter()
            .map(|(node, room, takes)| (node, (room, takes)))
            .collect();
        for (node, state) in &present {
            if self.workers.get(node) == Some(state) {
                continue;
            }
            let event = match *state {
                (concurrency, true) => DispatchEvent::NodeUp { node: *node, concurrency },
                (_, false) => DispatchEvent::NodeDraining { node: *node },
            };
            dispatcher.handle(event, now);
        }
        for node in self.workers.keys().filter(|node| !present.contains_key(node)) {
            dispatcher.handle(DispatchEvent::NodeDown { node: *node }, now);
        }
        self.workers = present;
        Ok(())
    }

    /// Orders in progress, by the rows: ready ones first, so that a stage that is being claimed
    /// is seen in one of the two.
    async fn in_progress(&self, client: &Client, dispatcher: &mut Dispatcher) -> Result<(), Error> {
        let doubtful: Vec<i64> = dispatcher.doubtful(self.host.clock.now()).iter().map(|no| no.0).collect();
        let still =
            if doubtful.is_empty() { Vec::new() } else { stages::still_ready(client, &doubtful).await? };
        let running = stages::running(client).await?;
        let snapshot = InProgress {
            ready: still.into_iter().collect(),
            running: running
                .into_iter()
                .map(|stage| Running {
                    no: stage.no,
                    attempt: stage.attempt,
                    node: stage.node,
                    flow: stage.flow.into(),
                    queue: stage.queue.map(Arc::from),
                })
                .collect(),
        };
        dispatcher.handle(DispatchEvent::InProgress(snapshot), self.host.clock.now());
        Ok(())
    }
}

/// Reads the heads of queues that the dispatcher is in doubt about.
pub(crate) async fn queue_heads(host: &Host, dispatcher: &mut Dispatcher) -> Result<(), Error> {
    let wanted = dispatcher.wanted_queues(host.clock.now(), QUEUES);
    if wanted.is_empty() {
        return Ok(());
    }
    let client = host.store.recovery().await?;
    let names: Vec<String> = wanted.iter().map(ToString::to_string).collect();
    let mut heads: BTreeMap<String, QueueMember> = queues::heads(&client, &names)
        .await?
        .into_iter()
        .map(|member| {
            if let Some(stage) = &member.ready {
                note_found(host, dispatcher, stage);
            }
            let head =
                QueueMember { no: member.no, position: member.position, ready: member.ready.map(ready) };
            (member.queue, head)
        })
        .collect();
    let events = wanted.into_iter().map(|queue| QueueHead { head: heads.remove(&*queue), queue }).collect();
    dispatcher.handle(DispatchEvent::QueueHeads(events), host.clock.now());
    Ok(())
}

/// Counts a stage that was read and is not known, and returns whether it is one. Its news, if that comes, counts no more
/// while the stage is remembered.
fn note_found(host: &Host, dispatcher: &Dispatcher, stage: &ReadyStage) -> bool {
    let is_found = !dispatcher.knows(stage.no, stage.attempt);
    if is_found {
        host.stats.count(Series::FlowCame, &stage.flow);
    }
    is_found
}

fn ready(stage: ReadyStage) -> Ready {
    Ready {
        no: stage.no,
        attempt: stage.attempt,
        flow: stage.flow.into(),
        priority: stage.priority,
        lane: if stage.woken { Lane::Woken } else { Lane::Fresh },
        place: stage.place.map(|(queue, position)| QueuePosition { queue: queue.into(), position }),
    }
}
