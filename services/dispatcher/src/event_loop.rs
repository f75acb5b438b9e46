//! The loop of the active dispatcher: one task owns all it knows, without a lock.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use anyhow::Context as _;
use jiff::Timestamp;
use pagurus_broker::{ConsumeSpec, Consumer, Delivery, QueueSource};
use pagurus_dispatch::{DispatchEvent, DispatchSettings as PolicySettings, Dispatcher, HandOut};
use pagurus_domain::activation::Stream;
use pagurus_domain::id::{Attempt, Incarnation, OrderNo};
use pagurus_domain::system::CallSamples;
use pagurus_runtime::lasting::Lasting;
use pagurus_runtime::metrics::{Count, Level};
use pagurus_runtime::node::chain;
use pagurus_runtime::stats::Series;
use pagurus_runtime::{Host, news as runtime_news};
use pagurus_wire::message::{self, HandOuts, HandedOut, News, news, work};

use crate::closed::ClosedSystems;
use crate::heard;
use crate::journal::Journal;
use crate::knowledge::{self, Knowledge, Learnt, Records};
use crate::lease::Lease;
use crate::policy::policy;
use crate::reading::{Reader, queue_heads};
use crate::shortage::Shortage;
use crate::shown;
use crate::unheard::Unheard;

/// Hand-outs of one turn: more wait for the next, so that news is heard in between.
const MAX_HAND_OUTS: usize = 2000;
/// Messages of news taken in one turn; each carries many items.
const MAX_NEWS: usize = 200;
/// News kept by the broker while a turn takes long; what is dropped is found by re-reading.
const MAX_WAITING_NEWS: u32 = 50_000;
/// Time that all places must be in use before it is reported.
const FULL_FOR: Duration = Duration::from_secs(60);
/// Longest turn that is not logged.
const SLOW_TURN: Duration = Duration::from_millis(250);

/// Leads until the lease is lost or the process is to stop.
///
/// # Errors
/// The tables could not be read at the start.
pub(crate) async fn lead(host: &Host, lease: &Lease) -> anyhow::Result<()> {
    // News is listened to before the tables are read: what happens in between is heard.
    let consumer = host.broker.consume(ConsumeSpec {
        queue: QueueSource::Exclusive {
            name_hint: format!("news.{}", lease.epoch),
            bindings: vec![(host.broker.names().news.clone(), news::DISPATCH.to_owned())],
            max_length: MAX_WAITING_NEWS,
        },
        prefetch: 1000,
        ack_on_take: true,
        own_connection: false,
    })?;
    let policy = policy(&host.settings());
    let mut dispatcher = Dispatcher::new(policy.clone());
    let mut closed = ClosedSystems::default();
    knowledge::read_clock(&host.store.recovery().await?, host)
        .await
        .context("reading the clock of the database")?;
    let mut journal = Journal::new(host.clock.now());
    let knowledge = knowledge::remember(host, lease.epoch, &mut dispatcher, &mut closed, &mut journal).await;
    let knowledge = knowledge.context("reading what the dispatcher before knew")?;
    let mut leader = EventLoop {
        host,
        lease,
        dispatcher,
        policy,
        reader: Reader::of(host),
        unheard: Unheard::default(),
        shortage: Shortage::default(),
        fullness: Lasting::noted_after(FULL_FOR),
        knowledge,
        closed,
        journal,
        workers_changed: true,
    };
    let begun = Instant::now();
    let count = leader.reader.rebuild(&mut leader.dispatcher).await.context("reading what is ready")?;
    tracing::info!(ready = count, took_ms = begun.elapsed().as_millis(), "all that may run is known");
    leader.lead(&consumer).await;
    host.readiness.note(None);
    host.metrics.level(Level::RequestsCorrected, "", 0.0);
    Ok(())
}

struct EventLoop<'a> {
    host: &'a Host,
    lease: &'a Lease,
    dispatcher: Dispatcher,
    /// The policy that the dispatcher goes by.
    policy: PolicySettings,
    reader: Reader,
    unheard: Unheard,
    shortage: Shortage,
    fullness: Lasting,
    knowledge: Knowledge,
    closed: ClosedSystems,
    journal: Journal,
    workers_changed: bool,
}

/// Things that the loop wakes up for.
enum Turn {
    News(Vec<Delivery>),
    Learnt(Learnt),
    Reread,
    Wake,
    Stop,
}

impl EventLoop<'_> {
    async fn lead(&mut self, consumer: &Consumer) {
        let (mut reread_at, mut full) = (Instant::now(), false);
        loop {
            let turn = self.next_turn(consumer, reread_at, full).await;
            let begun = Instant::now();
            self.follow_settings();
            match turn {
                Turn::Stop => return,
                Turn::Wake => {}
                Turn::News(deliveries) => deliveries.iter().for_each(|delivery| self.hear(delivery)),
                Turn::Learnt(learnt) => self.learn(learnt).await,
                Turn::Reread => {
                    reread_at = begun;
                    self.reread().await;
                }
            }
            if self.workers_changed {
                self.workers_changed = false;
                self.read_workers().await;
                // One that has just started knows of none, and is handed stages next.
                self.closed.repeat();
            }
            if let Err(error) = queue_heads(self.host, &mut self.dispatcher).await {
                self.trouble("queue heads", &error);
            }
            let hand_outs = self.dispatcher.poll(self.host.clock.now(), MAX_HAND_OUTS);
            full = hand_outs.len() == MAX_HAND_OUTS;
            self.tell_workers(self.host.clock.now()).await;
            if !hand_outs.is_empty() {
                self.send(hand_outs).await;
            }
            if begun.elapsed() > SLOW_TURN {
                tracing::info!(took_ms = begun.elapsed().as_millis(), "a slow turn");
            }
        }
    }

    async fn next_turn(&mut self, consumer: &Consumer, reread_at: Instant, full: bool) -> Turn {
        let wake = async {
            match self.dispatcher.next_wake() {
                _ if full => {}
                None => std::future::pending::<()>().await,
                Some(at) => {
                    let wait =
                        Duration::try_from(at.duration_since(self.host.clock.now())).unwrap_or_default();
                    tokio::time::sleep(wait).await;
                }
            }
        };
        tokio::select! {
            biased;
            () = self.lease.lost.cancelled() => Turn::Stop,
            () = self.host.draining.cancelled() => Turn::Stop,
            () = self.host.offline() => Turn::Stop,
            () = self.host.live.sleep_since(reread_at, |settings| settings.dispatcher.reread) => Turn::Reread,
            learnt = self.knowledge.next() => Turn::Learnt(learnt),
            deliveries = consumer.next_batch(MAX_NEWS) => Turn::News(deliveries),
            () = wake => Turn::Wake,
        }
    }

    /// Goes on by the policy of the moment.
    fn follow_settings(&mut self) {
        let policy = policy(&self.host.settings());
        if policy != self.policy {
            self.policy = policy.clone();
            self.dispatcher.reconfigure(policy);
        }
    }

    fn hear(&mut self, delivery: &Delivery) {
        let content = runtime_news::read::<News>(&self.host.metrics, "news", &delivery.body);
        let Some(content) = content else { return };
        let now = self.host.clock.now();
        // Before what is ready: it may be the same order, under its next number.
        for left in content.left {
            let no = OrderNo(left.no);
            if let Some(attempt) = left.attempt {
                self.dispatcher.handle(DispatchEvent::LeftReady { no, attempt: Attempt(attempt) }, now);
            }
            if let Some(queue) = left.queue {
                self.dispatcher.handle(DispatchEvent::LeftQueue { no, queue: queue.into() }, now);
            }
        }
        if !content.ready.is_empty() {
            content.ready.iter().for_each(|ready| self.note_command(ready));
            let metrics = &self.host.metrics;
            let ready =
                content.ready.into_iter().filter_map(|news| heard::ready_news(metrics, news)).collect();
            self.dispatcher.handle(DispatchEvent::Ready(ready), now);
        }
        for ended in content.ended {
            let measured = heard::measured(&ended);
            let event = DispatchEvent::Ended {
                measured,
                no: OrderNo(ended.no),
                attempt: Attempt(ended.attempt),
                left_queue: ended.left_queue.map(Into::into),
            };
            self.dispatcher.handle(event, now);
        }
        for refused in content.refused {
            if let Some(event) = self.refusal(&refused) {
                self.dispatcher.handle(event, now);
            }
        }
        if !content.calls.is_empty() {
            let samples: Vec<CallSamples> = content.calls.into_iter().map(heard::samples).collect();
            samples.iter().for_each(|samples| self.host.stats.calls(samples));
            self.dispatcher.handle(DispatchEvent::Called(samples), now);
        }
        if !content.requests.is_empty() {
            let moves = content.requests.into_iter().map(heard::requests).collect();
            self.dispatcher.handle(DispatchEvent::RequestsMoved(moves), now);
        }
        self.workers_changed |= content.workers_changed;
        if content.rules_changed {
            self.knowledge.look();
        }
    }

    /// Notifies all workers which systems are closed or forced open, where that has changed or is to be repeated.
    async fn tell_workers(&mut self, now: Timestamp) {
        let closed = self.dispatcher.closed_systems();
        if let Some(word) = self.closed.word(closed, now, Instant::now()) {
            runtime_news::tell_workers(self.host, work::SYSTEMS, &word).await;
        }
    }

    async fn learn(&mut self, learnt: Learnt) {
        let now = self.host.clock.now();
        match learnt {
            Learnt::Rules(rules) => {
                let revision = rules.revision;
                self.closed.decided(&rules.overrides);
                self.journal.follow(rules.clone());
                knowledge::tell(&mut self.dispatcher, rules, now);
                self.tell_workers(now).await;
                self.knowledge.confirm(revision, self.dispatcher.last_serial()).await;
            }
            Learnt::Counting(begun) => {
                self.dispatcher.handle(DispatchEvent::RequestsMarked, now);
                // Who does not wait for it any more ends with the loop.
                let _ = begun.send(());
            }
            Learnt::OpenRequests(counts) => {
                self.dispatcher.handle(DispatchEvent::OpenRequests(counts), now);
                let corrected = self.dispatcher.requests_corrected();
                self.host.metrics.level(Level::RequestsCorrected, "", corrected as f64);
            }
            Learnt::Due => {
                // A worker that is marked offline gets nothing more within a second, though the news of it is lost.
                self.workers_changed = true;
                self.show_and_write(now).await;
            }
        }
    }

    /// Shows what has changed of flows and systems, and has it written for the next dispatcher.
    async fn show_and_write(&mut self, now: Timestamp) {
        if !self.knowledge.takes() {
            return;
        }
        let flows = self.dispatcher.changed_flows(now);
        let systems = self.dispatcher.changed_systems(now);
        shown::show_flows(&self.host.metrics, &flows, &systems);
        let decisions = self.journal.note(&flows, &systems, now);
        if !flows.is_empty() || !systems.is_empty() || !decisions.is_empty() {
            self.knowledge.write(Records { flows, systems, decisions });
        }
    }

    /// Notes a command to wake. A repeated one was lost before if its stage is unknown; one that comes for the
    /// first time was not, even where the tables were read before it came.
    fn note_command(&mut self, ready: &message::ReadyNews) {
        let (no, attempt) = (OrderNo(ready.no), Attempt(ready.attempt));
        if !self.dispatcher.knows(no, attempt) {
            self.host.stats.count(Series::FlowCame, &ready.flow);
        }
        match &ready.repeat_of {
            Some(stream) => {
                if let (false, Ok(stream)) = (self.dispatcher.knows(no, attempt), stream.parse::<Stream>()) {
                    let labels = [stream.as_str(), ready.flow.as_str()];
                    self.host.metrics.count_by(Count::ActivationRepeats, &labels, 1);
                }
            }
            None => self.unheard.heard(no, attempt),
        }
    }

    /// Event of a refusal; `None` if another dispatcher handed the stage out.
    fn refusal(&self, refused: &message::RefusedHandOut) -> Option<DispatchEvent> {
        let (hand_out, why) = heard::refused(refused);
        (refused.epoch == self.lease.epoch.0).then_some(DispatchEvent::Refused { hand_out, why })
    }

    async fn reread(&mut self) {
        if let Err(error) = self.reader.turn(&mut self.dispatcher, &mut self.unheard).await {
            self.trouble("re-reading", &error);
        }
        for ((stream, flow), count) in self.unheard.lost(Instant::now()) {
            self.host.metrics.count_by(Count::ActivationRepeats, &[stream.as_str(), &flow], count);
        }
        self.show();
    }

    async fn read_workers(&mut self) {
        let read = async {
            let client = self.host.store.recovery().await?;
            self.reader.workers(&client, &mut self.dispatcher).await
        };
        if let Err(error) = read.await {
            self.trouble("workers", &error);
        }
    }

    /// Sends each node one message with all that it is to run.
    async fn send(&self, hand_outs: Vec<HandOut>) {
        self.host.metrics.count(Count::HandOuts, "", hand_outs.len() as u64);
        let mut by_node: BTreeMap<Incarnation, Vec<HandedOut>> = BTreeMap::new();
        for hand_out in hand_outs {
            let given = HandedOut { no: hand_out.no.0, attempt: hand_out.attempt.0, serial: hand_out.serial };
            by_node.entry(hand_out.node).or_default().push(given);
        }
        let messages = by_node
            .into_iter()
            .map(|(node, orders)| {
                let batch = HandOuts { epoch: self.lease.epoch.0, orders };
                (node.to_string(), runtime_news::body(&batch))
            })
            .collect();
        // What does not arrive is doubted after the grace, looked up, and handed out again.
        runtime_news::hand_out(self.host, messages).await;
    }

    fn show(&mut self) {
        let stats = self.dispatcher.stats();
        shown::show(&self.host.metrics, &stats, self.reader.longest_wait());
        if let Some(ready) = self.shortage.look(&stats, Instant::now()) {
            tracing::warn!(
                ready,
                "stages may run, and no worker takes any: start one, or see why those there take none"
            );
        }
        if self.fullness.look(shown::is_full(&stats), Instant::now()) {
            tracing::warn!(
                ready = stats.waiting.iter().sum::<usize>(),
                in_progress = stats.parallel + stats.sequential,
                "all places of stages have been in use for a minute while others wait: see \
                 distribution.capacity and worker.concurrency, or start more workers"
            );
        }
        let shortage = self.shortage.is_there().then_some("stages may run, and no worker takes any");
        let fullness =
            self.fullness.is_there().then_some("all places of stages are in use while others wait");
        self.host.readiness.note(shortage.or(fullness));
    }

    fn trouble(&self, operation: &'static str, error: &pagurus_store::Error) {
        self.host.metrics.count(Count::StoreErrors, operation, 1);
        tracing::warn!(operation, error = chain(error), "the tables could not be read");
    }
}
