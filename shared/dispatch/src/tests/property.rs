//! Any sequence of events, against the tables of [`super::model`]: news and messages lost, doubled and late, nodes that die,
//! claims refused, dispatchers replaced.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use jiff::Timestamp;
use pagurus_domain::id::Incarnation;
use pagurus_domain::order::Priority;
use proptest::prelude::*;
use proptest::sample::Index;

use super::super::progress::{Record, StageStanding};
use super::super::*;
use super::model::{End, Life, Message, Model, State};
use super::parts;
use super::step::{Step, step};

/// Small, so that the bounds are reached all the time.
const PARALLEL: u32 = 3;
const SEQUENTIAL: u32 = 2;

/// Action on the dispatcher, kept to repeat it.
#[derive(Clone, Debug)]
enum Done {
    Handled(DispatchEvent, Timestamp),
    Polled(Timestamp, usize, Vec<HandOut>),
    Doubted(Timestamp, Vec<OrderNo>),
    Wanted(Timestamp, Vec<Arc<str>>),
}

struct World {
    model: Model,
    dispatcher: Dispatcher,
    now: Timestamp,
    news: Vec<DispatchEvent>,
    messages: Vec<Message>,
    reading: Option<InProgress>,
    done: Vec<Done>,
    /// Runs by a message that the dispatcher had given up on and did not hear of otherwise.
    unforeseen: BTreeSet<OrderNo>,
    /// Orders of these with possibly more than one message under way.
    sent_again: BTreeSet<(OrderNo, Attempt)>,
    refusals: BTreeMap<&'static str, usize>,
}

impl World {
    fn new() -> Self {
        let mut world = Self {
            model: Model::default(),
            dispatcher: Dispatcher::new(parts::settings(PARALLEL, SEQUENTIAL)),
            now: Timestamp::UNIX_EPOCH,
            news: Vec::new(),
            messages: Vec::new(),
            reading: None,
            done: Vec::new(),
            unforeseen: BTreeSet::new(),
            sent_again: BTreeSet::new(),
            refusals: BTreeMap::new(),
        };
        world.handle(DispatchEvent::Stops(Vec::new()));
        world.node_up(4);
        world.node_up(2);
        world
    }

    fn take(&mut self, step: Step) {
        match step {
            Step::Register(queue, priority) => {
                let queue = queue.map(|queue| format!("queue-{queue}"));
                let priority = Priority::ALL[usize::from(priority)];
                let news = self.model.register(queue.as_deref(), priority, priority.as_str());
                self.news.push(news);
            }
            Step::Claim(index) => {
                if let Some(message) = pick(&mut self.messages, index) {
                    self.claim(message);
                }
            }
            Step::LoseMessage(index) => drop(pick(&mut self.messages, index)),
            Step::Return(index) => {
                if let Some(message) = pick(&mut self.messages, index)
                    && message.epoch == self.model.epoch
                {
                    let (hand_out, why) = (message.hand_out, Refusal::Busy);
                    self.news.push(DispatchEvent::Refused { hand_out, why });
                }
            }
            Step::EndStage(index, how) => {
                let how = match how {
                    0 => End::SuspendedInPlace,
                    1 => End::Sleep,
                    2 => End::ReadyAgain,
                    _ => End::Finally,
                };
                self.change(index, State::is_running, |model, no| model.end(no, how));
            }
            Step::Wake(index) => {
                self.change(index, State::is_suspended, |model, no| vec![model.wake(no)]);
            }
            Step::Cancel(index) => {
                self.change(index, |s| !s.is_running() && s != State::Ended, Model::cancel);
            }
            Step::Release(index) => self.change(index, |s| s != State::Ended, Model::release),
            Step::Hear(_) | Step::HearTwice(_) | Step::LoseNews(_) => self.hear(step),
            Step::NodeUp(_) | Step::NodeDraining(_) | Step::NodeDown(_) => self.node(step),
            Step::ReadReady => self.news.push(DispatchEvent::Ready(self.model.ready_rows())),
            Step::BeginReading => self.begin_reading(),
            Step::FinishReading => self.finish_reading(),
            Step::AskHeads => self.ask_heads(),
            Step::Poll(max) => self.poll(usize::from(max)),
            Step::Pass(seconds) => self.now += Duration::from_secs(u64::from(seconds)),
            Step::Failover => self.failover(),
        }
        self.verify();
    }

    fn handle(&mut self, event: DispatchEvent) {
        self.dispatcher.handle(event.clone(), self.now);
        self.done.push(Done::Handled(event, self.now));
    }

    fn hear(&mut self, step: Step) {
        match step {
            Step::Hear(index) => {
                if let Some(event) = pick(&mut self.news, index) {
                    self.handle(event);
                }
            }
            Step::HearTwice(index) if !self.news.is_empty() => {
                self.handle(index.get(&self.news).clone());
            }
            Step::LoseNews(index) => drop(pick(&mut self.news, index)),
            _ => {}
        }
    }

    fn node(&mut self, step: Step) {
        let up: Vec<Incarnation> = self.model.nodes.keys().copied().collect();
        match step {
            Step::NodeUp(concurrency) if up.len() < 6 => self.node_up(u32::from(concurrency)),
            Step::NodeDraining(index) => {
                let node = *index.get(&up);
                let life = &mut self.model.nodes.get_mut(&node).unwrap().1;
                if *life == Life::Up {
                    *life = Life::Draining;
                    self.news.push(DispatchEvent::NodeDraining { node });
                }
            }
            Step::NodeDown(index) => {
                let node = *index.get(&up);
                self.model.nodes.get_mut(&node).unwrap().1 = Life::Down;
                self.news.push(DispatchEvent::NodeDown { node });
            }
            _ => {}
        }
    }

    fn node_up(&mut self, concurrency: u32) {
        let node = Incarnation(i64::try_from(self.model.nodes.len()).unwrap() + 1);
        self.model.nodes.insert(node, (concurrency, Life::Up));
        self.handle(DispatchEvent::NodeUp { node, concurrency });
    }

    fn change(
        &mut self,
        index: Index,
        wanted: impl Fn(State) -> bool,
        change: impl Fn(&mut Model, OrderNo) -> Vec<DispatchEvent>,
    ) {
        let candidates: Vec<OrderNo> = self.model.in_state(wanted).collect();
        if !candidates.is_empty() {
            let no = *index.get(&candidates);
            let news = change(&mut self.model, no);
            self.news.extend(news);
        }
    }

    fn claim(&mut self, message: Message) {
        let HandOut { no, attempt, .. } = message.hand_out;
        match self.model.claim(message) {
            Ok(true) => {
                let counted = self.dispatcher.progress.get(no);
                if counted.is_none_or(|record| record.stage.attempt != attempt) {
                    // Only where a second message made the dispatcher believe a refusal.
                    assert!(self.sent_again.contains(&(no, attempt)), "{no} was given up too early");
                    self.unforeseen.insert(no);
                } else {
                    self.unforeseen.remove(&no);
                }
            }
            Ok(false) | Err(None) => {}
            Err(Some(why)) => {
                *self.refusals.entry(why.as_str()).or_default() += 1;
                if message.epoch == self.model.epoch {
                    self.news.push(DispatchEvent::Refused { hand_out: message.hand_out, why });
                }
            }
        }
    }

    fn begin_reading(&mut self) {
        if self.reading.is_none() {
            let doubtful = self.dispatcher.doubtful(self.now);
            self.reading = Some(self.model.snapshot(&doubtful));
            self.done.push(Done::Doubted(self.now, doubtful));
        }
    }

    fn finish_reading(&mut self) {
        if let Some(snapshot) = self.reading.take() {
            self.handle(DispatchEvent::InProgress(snapshot));
        }
    }

    fn ask_heads(&mut self) {
        let wanted = self.dispatcher.wanted_queues(self.now, 2);
        let heads = wanted.iter().map(|queue| self.model.queue_head(queue)).collect();
        self.news.push(DispatchEvent::QueueHeads(heads));
        self.done.push(Done::Wanted(self.now, wanted));
    }

    fn poll(&mut self, max: usize) {
        let before = self.dispatcher.stats();
        let hand_outs = self.dispatcher.poll(self.now, max);
        let after = self.dispatcher.stats();
        assert!(after.parallel <= PARALLEL.max(before.parallel), "{after:?}");
        assert!(after.sequential <= SEQUENTIAL.max(before.sequential), "{after:?}");
        parts::verify(&self.dispatcher, &before, &after, hand_outs.len() < max);
        for hand_out in &hand_outs {
            let node = after.nodes.iter().find(|node| node.node == hand_out.node).unwrap();
            assert_eq!(node.state, NodeState::Up);
            assert!(node.in_progress <= node.allowance, "{node:?}");
            let Record { mode, standing, .. } = *self.dispatcher.progress.get(hand_out.no).unwrap();
            let StageStanding::Sent(sent) = standing else { panic!("running, and sent: {hand_out:?}") };
            if sent.again {
                self.sent_again.insert((hand_out.no, hand_out.attempt));
            }
            self.messages.push(Message { hand_out: *hand_out, epoch: self.model.epoch, mode });
        }
        self.done.push(Done::Polled(self.now, max, hand_outs));
    }

    fn failover(&mut self) {
        self.model.epoch += 1;
        self.dispatcher = Dispatcher::new(parts::settings(PARALLEL, SEQUENTIAL));
        self.reading = None;
        self.news.retain(|event| !matches!(event, DispatchEvent::Refused { .. }));
        self.done.clear();
        self.unforeseen.clear();
        self.handle(DispatchEvent::Stops(Vec::new()));
        self.tell_nodes();
    }

    fn tell_nodes(&mut self) {
        for (node, (concurrency, life)) in self.model.nodes.clone() {
            self.handle(DispatchEvent::NodeUp { node, concurrency });
            match life {
                Life::Up => {}
                Life::Draining => self.handle(DispatchEvent::NodeDraining { node }),
                Life::Down => self.handle(DispatchEvent::NodeDown { node }),
            }
        }
    }

    /// Checks what must hold after each step.
    fn verify(&self) {
        let mut owners = BTreeMap::new();
        for record in self.dispatcher.progress.iter() {
            if let (Some(queue), StageStanding::Sent(_)) = (record.stage.queue(), record.standing) {
                let other = owners.insert(queue, record.stage.no);
                assert_eq!(other, None, "two of one queue were handed out");
            }
        }
        for (mode, capacity) in [(Mode::Parallel, PARALLEL), (Mode::Sequential, SEQUENTIAL)] {
            let run = |state| matches!(state, State::Running { mode: of, .. } if of == mode);
            let running: Vec<OrderNo> =
                self.model.in_state(run).filter(|no| !self.unforeseen.contains(no)).collect();
            assert!(running.len() <= capacity as usize, "{mode} over capacity: {running:?}");
        }
        let stats = self.dispatcher.stats();
        let sum = |of: fn(&FlowStats) -> u32| stats.flows.iter().map(of).sum::<u32>();
        assert_eq!(sum(|flow| flow.in_progress), stats.parallel + stats.sequential);
        let waiting: usize = stats.waiting.iter().sum();
        assert_eq!(sum(|flow| flow.waiting.iter().sum()) as usize, waiting);
        let loaded: u32 = stats.nodes.iter().map(|node| node.in_progress).sum();
        assert!(loaded <= stats.parallel + stats.sequential);
    }

    /// News no longer comes, everything is read again and again, and all work gets done.
    fn come_to_rest(&mut self) {
        self.news.clear();
        self.messages.clear();
        self.finish_reading();
        self.node_up(3);
        let rounds = 20 + 10 * self.model.orders.len();
        for _ in 0..rounds {
            self.now += Duration::from_secs(6);
            self.tell_nodes();
            let nodes = self.model.nodes.clone();
            let dead = |state| matches!(state, State::Running { node, .. } if nodes[&node].1 == Life::Down);
            let wake: Vec<OrderNo> = self.model.in_state(|s| s.is_suspended() || dead(s)).collect();
            for no in wake {
                self.model.wake(no);
            }
            self.begin_reading();
            self.finish_reading();
            self.handle(DispatchEvent::Ready(self.model.ready_rows()));
            self.ask_heads();
            self.poll(100);
            for message in std::mem::take(&mut self.messages) {
                self.claim(message);
            }
            for no in self.model.in_state(State::is_running).collect::<Vec<_>>() {
                let news = self.model.end(no, End::Finally);
                self.news.extend(news);
            }
            for event in std::mem::take(&mut self.news) {
                self.handle(event);
            }
            self.verify();
        }
        let left: Vec<OrderNo> = self.model.in_state(|state| state != State::Ended).collect();
        assert!(left.is_empty(), "starved: {left:?}");
        let stats = self.dispatcher.stats();
        let rest = (stats.waiting, stats.parallel, stats.sequential, stats.queues, stats.flows.len());
        assert_eq!(rest, ([0; 3], 0, 0, 0, 0), "something was kept: {stats:?}");
    }

    fn replay(&self) {
        let mut dispatcher = Dispatcher::new(parts::settings(PARALLEL, SEQUENTIAL));
        for done in &self.done {
            match done.clone() {
                Done::Handled(event, now) => dispatcher.handle(event, now),
                Done::Polled(now, max, answer) => assert_eq!(dispatcher.poll(now, max), answer),
                Done::Doubted(now, answer) => assert_eq!(dispatcher.doubtful(now), answer),
                Done::Wanted(now, answer) => assert_eq!(dispatcher.wanted_queues(now, 2), answer),
            }
        }
    }
}

fn pick<T>(from: &mut Vec<T>, index: Index) -> Option<T> {
    if from.is_empty() { None } else { Some(from.remove(index.index(from.len()))) }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn dsp_3_bounds_and_queues_hold_and_nothing_starves_whatever_happens(
        steps in proptest::collection::vec(step(), 1..200),
    ) {
        let mut world = World::new();
        for step in steps {
            world.take(step);
        }
        world.come_to_rest();
        world.replay();
    }

    /// With all news heard in order, a claim is refused only where a suspended owner of a queue was forgotten.
    #[test]
    fn ord_10_in_quiet_times_hardly_any_claim_is_refused(
        steps in proptest::collection::vec(
            prop_oneof![
                3 => (proptest::option::of(0..3_u8), 0..3_u8).prop_map(|(q, p)| Step::Register(q, p)),
                2 => (any::<Index>(), 0..6_u8).prop_map(|(i, how)| Step::EndStage(i, how)),
                1 => any::<Index>().prop_map(Step::Wake),
                1 => any::<Index>().prop_map(Step::Cancel),
                1 => any::<Index>().prop_map(Step::Release),
            ],
            1..100,
        ),
    ) {
        let mut world = World::new();
        world.begin_reading();
        world.finish_reading();
        let mut reasons = 0;
        for step in steps {
            reasons += usize::from(matches!(
                step,
                Step::EndStage(_, 0) | Step::Cancel(_) | Step::Release(_)
            ));
            world.take(step);
            for _ in 0..3 {
                std::mem::take(&mut world.news).into_iter().for_each(|news| world.handle(news));
                world.poll(100);
                for message in std::mem::take(&mut world.messages) {
                    world.claim(message);
                }
                world.ask_heads();
            }
        }
        let behind = world.refusals.remove("behind").unwrap_or(0);
        prop_assert!(behind <= reasons, "{behind} refusals for {reasons} reasons");
        prop_assert!(world.refusals.is_empty(), "{:?}", world.refusals);
        world.come_to_rest();
    }
}
