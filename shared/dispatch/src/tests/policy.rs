//! Any sequence of samples, stops and orders of operators: what is stopped stays stopped, no limit is exceeded, nothing
//! is lost or starves, and another dispatcher goes on where the first one was. News is heard here in order; what happens
//! when it is not, [`super::property`] plays.

use std::collections::{BTreeMap, BTreeSet};

use pagurus_domain::{flow::*, id::Attempt, order::Priority, system::*};
use proptest::prelude::*;

use super::super::control::Phase;
use super::super::*;
use super::{NODE, nothing, second};

pub(super) const FLOWS: [&str; 4] = ["a|1", "a|2", "b|1", "c"];
pub(super) const SYSTEMS: [&str; 3] = ["named", "other", "third"];

#[derive(Clone, Debug)]
enum Step {
    Register(usize, u8, Option<u8>),
    Poll(u8),
    /// Number of stages that end, and the outcome of their calls.
    End(u8, u8),
    Stop(Option<u8>, u8),
    Override(usize, bool, u8),
    NoOverride,
    RetryAfter(usize, u8),
    Pass(u16),
    Open(usize, u8),
    TakeOver,
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        6 => (0..4_usize, 0..3_u8, proptest::option::of(0..3_u8)).prop_map(|(f, p, q)| Step::Register(f, p, q)),
        8 => (1..40_u8).prop_map(Step::Poll),
        8 => (1..20_u8, 0..8_u8).prop_map(|(count, how)| Step::End(count, how)),
        1 => (proptest::option::of(0..4_u8), 1..9_u8).prop_map(|(which, time)| Step::Stop(which, time)),
        1 => (0..3_usize, any::<bool>(), 1..9_u8).prop_map(|(s, keep, time)| Step::Override(s, keep, time)),
        1 => Just(Step::NoOverride),
        1 => (0..3_usize, 1..9_u8).prop_map(|(system, time)| Step::RetryAfter(system, time)),
        6 => (1..2000_u16).prop_map(Step::Pass),
        1 => (0..4_usize, 0..9_u8).prop_map(|(flow, count)| Step::Open(flow, count)),
        1 => Just(Step::TakeOver),
    ]
}

fn settings() -> DispatchSettings {
    let classes = ["a", "b", "c"].map(|scenario| ("away".to_owned(), scenario.to_owned()));
    let policy = FlowPolicy {
        name: "small".into(),
        scenarios: ["c".to_owned()].into(),
        mode: Some(DistributionMode::StoppedFlows),
        max_limit: Some(3),
        weight: None,
    };
    let flows = FlowRules {
        mode: DistributionMode::LimitedFlows,
        initial_limit: 2,
        policies: vec![policy],
        limiting_classes: classes.into(),
        ..FlowRules::default()
    };
    let named = ["named".to_owned()].into();
    DispatchSettings {
        flows: Arc::new(flows),
        systems: Arc::new(SystemRules { named, ..SystemRules::default() }),
        ..super::settings(20, 20)
    }
}

pub(super) struct World {
    pub(super) dispatcher: Dispatcher,
    now: Timestamp,
    /// Ready rows that were not handed out, and stages that run.
    ready: BTreeMap<i64, Ready>,
    running: BTreeMap<i64, Ready>,
    /// Open requests by flow, as the rows have them.
    pub(super) asked: BTreeMap<usize, u32>,
    stops: Vec<FlowStop>,
    overrides: Vec<SystemOverride>,
    registered: i64,
    done: BTreeSet<i64>,
    /// Receives the same, and must decide the same.
    twin: Dispatcher,
}

impl World {
    fn new() -> Self {
        let mut world = Self {
            dispatcher: Dispatcher::new(settings()),
            now: second(1),
            ready: BTreeMap::new(),
            running: BTreeMap::new(),
            asked: BTreeMap::new(),
            stops: Vec::new(),
            overrides: Vec::new(),
            registered: 0,
            done: BTreeSet::new(),
            twin: Dispatcher::new(settings()),
        };
        world.lead(Vec::new(), Vec::new());
        world
    }

    fn lead(&mut self, flows: Vec<FlowRecord>, systems: Vec<SystemRecord>) {
        let running = self.running.values().map(|row| Running {
            no: row.no,
            attempt: row.attempt,
            node: NODE,
            flow: Arc::clone(&row.flow),
            queue: row.place.as_ref().map(|place| Arc::clone(&place.queue)),
        });
        let running = InProgress { running: running.collect(), ..nothing() };
        self.tell(DispatchEvent::Remembered { flows, systems });
        self.tell(DispatchEvent::NodeUp { node: NODE, concurrency: 30 });
        self.tell(DispatchEvent::Ready(self.ready.values().cloned().collect()));
        self.tell(DispatchEvent::InProgress(running));
        assert!(self.dispatcher.poll(self.now, 9).is_empty(), "the stops are not known yet");
        assert!(self.twin.poll(self.now, 9).is_empty());
        self.tell(DispatchEvent::SystemOverrides(self.overrides.clone()));
        self.tell(DispatchEvent::Stops(self.stops.clone()));
        let rows = self.requests();
        self.tell(DispatchEvent::OpenRequests(rows));
        self.judge_requests();
    }

    pub(super) fn tell(&mut self, event: DispatchEvent) {
        self.dispatcher.handle(event.clone(), self.now);
        self.twin.handle(event, self.now);
    }

    fn take(&mut self, step: Step) {
        match step {
            Step::Register(flow, priority, queue) => self.register(flow, priority, queue),
            Step::Poll(max) => self.poll(usize::from(max)),
            Step::End(count, how) => self.end(usize::from(count), how),
            Step::Stop(which, time) => {
                self.stops = which
                    .map(|which| FlowStop {
                        no: 1,
                        keyword: ["a", "1", "c", ""][usize::from(which)].to_owned(),
                        from: self.now,
                        until: Some(self.now + Duration::from_secs(u64::from(time))),
                    })
                    .into_iter()
                    .collect();
                self.tell(DispatchEvent::Stops(self.stops.clone()));
            }
            Step::Override(system, keep, time) => {
                let order = if keep { SystemOrder::KeepStopped } else { SystemOrder::ForceOpen };
                let until = Some(self.now + Duration::from_secs(u64::from(time)));
                let system = SYSTEMS[system].to_owned();
                self.overrides = vec![SystemOverride { system, order, from: self.now, until }];
                self.tell(DispatchEvent::SystemOverrides(self.overrides.clone()));
            }
            Step::NoOverride => {
                self.overrides.clear();
                self.tell(DispatchEvent::SystemOverrides(Vec::new()));
            }
            Step::RetryAfter(system, time) => {
                let mut calls = calls("a|1", system, CallOutcome::Failed(CallFailure::of_class("away")));
                calls.retry_after = Some(Duration::from_secs(u64::from(time)));
                self.tell(DispatchEvent::Called(vec![calls]));
            }
            Step::Pass(millis) => self.now += Duration::from_millis(u64::from(millis)),
            Step::Open(flow, count) => {
                self.ask(flow, count);
            }
            Step::TakeOver => {
                let flows = self.dispatcher.changed_flows(self.now);
                let systems = self.dispatcher.changed_systems(self.now);
                let limits = |dispatcher: &Dispatcher| {
                    dispatcher
                        .flows
                        .iter()
                        .map(|(_, flow)| (flow.name.to_string(), flow.control.limit(flow.bounds)))
                        .collect::<BTreeMap<_, _>>()
                };
                let before = limits(&self.dispatcher);
                let known: BTreeSet<String> = flows.iter().map(|flow| flow.flow.clone()).collect();
                self.dispatcher = Dispatcher::new(settings());
                self.twin = Dispatcher::new(settings());
                self.lead(flows, systems);
                for (flow, limit) in limits(&self.dispatcher) {
                    if known.contains(&flow) && self.stops.is_empty() {
                        assert_eq!(limit, before[&flow], "a take-over changes nothing: {flow}");
                    }
                }
            }
        }
    }

    fn register(&mut self, flow: usize, priority: u8, queue: Option<u8>) {
        self.registered += 1;
        let no = self.registered;
        let queue = queue.map(|queue| format!("q{queue}"));
        let place = queue.map(|queue| QueuePosition { queue: Arc::from(queue), position: no });
        let row = Ready {
            no: OrderNo(no),
            attempt: Attempt(1),
            flow: Arc::from(FLOWS[flow]),
            priority: Priority::ALL[usize::from(priority)],
            lane: Lane::Fresh,
            place,
        };
        self.ready.insert(no, row.clone());
        self.tell(DispatchEvent::Ready(vec![row]));
    }

    fn end(&mut self, count: usize, how: u8) {
        let ending: Vec<Ready> = self.running.values().take(count).cloned().collect();
        for row in ending {
            let system = FLOWS.iter().position(|flow| **flow == *row.flow).unwrap() % 3;
            let outcome = match how {
                0..=1 => CallOutcome::Failed(CallFailure::of_class("away")),
                2 => CallOutcome::Failed(CallFailure::of_class("parse")),
                _ => CallOutcome::Answered,
            };
            let class = matches!(outcome, CallOutcome::Failed(_)).then(|| Arc::from("away"));
            self.tell(DispatchEvent::Called(vec![calls(&row.flow, system, outcome)]));
            self.running.remove(&row.no.0);
            self.done.insert(row.no.0);
            let took = Duration::from_millis(100);
            self.tell(DispatchEvent::Ended {
                no: row.no,
                attempt: row.attempt,
                left_queue: row.place.map(|place| place.queue),
                measured: Some(StageMeasured { took, waited: took, class }),
            });
        }
    }

    fn poll(&mut self, max: usize) {
        let heads = self.dispatcher.wanted_queues(self.now, 9);
        assert_eq!(self.twin.wanted_queues(self.now, 9), heads);
        let heads = heads.iter().map(|queue| self.head(queue)).collect();
        self.tell(DispatchEvent::QueueHeads(heads));
        // By time alone something may have ended.
        self.dispatcher.pass_time(self.now);
        let before: BTreeMap<Arc<str>, (u32, u32)> = self
            .dispatcher
            .flows
            .iter()
            .map(|(_, flow)| (Arc::clone(&flow.name), (flow.in_use(), flow.control.probes_left())))
            .collect();
        let hand_outs = self.dispatcher.poll(self.now, max);
        assert!(hand_outs.len() <= max);
        for hand_out in &hand_outs {
            let row = self.ready.remove(&hand_out.no.0).expect("nothing is handed out twice");
            for stop in &self.stops {
                assert!(!stop.holds(&row.flow, self.now), "{} is stopped: {stop:?}", row.flow);
            }
            if let Some(place) = &row.place {
                let ahead = |other: &&Ready| other.place.as_ref().is_some_and(|one| one.queue == place.queue);
                assert!(!self.running.values().any(|other| ahead(&other)), "two of one queue");
                assert!(self.ready.values().filter(ahead).all(|other| other.no > row.no), "out of order");
            }
            self.running.insert(hand_out.no.0, row);
        }
        self.verify(&before, &hand_outs);
        assert_eq!(self.twin.poll(self.now, max), hand_outs, "the same events, the same decisions");
    }

    fn verify(&self, before: &BTreeMap<Arc<str>, (u32, u32)>, hand_outs: &[HandOut]) {
        for (_, flow) in self.dispatcher.flows.iter() {
            let (had, probes) = before[&flow.name];
            let of_flow = |one: &&HandOut| self.running[&one.no.0].flow == flow.name;
            let got = hand_outs.iter().filter(of_flow).count() as u32;
            match flow.control.phase() {
                Phase::Stopped(_) => assert_eq!(got, 0, "{flow:?}"),
                Phase::Probing(_) => assert!(got <= probes, "{got} probes of {probes}: {flow:?}"),
                Phase::Open => {
                    let limit = flow.control.limit(flow.bounds).unwrap_or(u32::MAX);
                    assert!(flow.in_use() <= limit.max(had), "{flow:?}");
                }
            }
        }
        self.judge_systems();
        for (_, system) in self.dispatcher.systems.iter() {
            let in_use = system
                .flows
                .iter()
                .map(|flow| self.dispatcher.flows.get(*flow).unwrap().stages_in_progress());
            assert_eq!(system.stages, in_use.sum::<u32>(), "{}", system.name);
        }
        for (_, system) in self.dispatcher.systems.iter().filter(|(_, system)| system.has_room()) {
            for priority in Priority::ALL.iter().filter(|priority| system.first_due(**priority).is_some()) {
                let tries = system.trying(*priority).and_then(|flow| self.dispatcher.flows.get(flow));
                let tries = tries.filter(|flow| flow.blocked_by.is_none() && flow.is_busy());
                assert!(tries.is_some(), "a place that is free and wanted is nobody's: {system:?}");
            }
        }
        let stats = self.dispatcher.stats();
        assert_eq!(stats.waiting.iter().sum::<usize>(), self.ready.len());
        assert_eq!((stats.parallel + stats.sequential) as usize, self.running.len());
    }

    fn head(&self, queue: &Arc<str>) -> QueueHead {
        let member = |row: &&Ready| row.place.as_ref().is_some_and(|place| place.queue == *queue);
        let head = self.running.values().chain(self.ready.values()).filter(member).min_by_key(|row| row.no);
        let head = head.map(|row| QueueMember {
            no: row.no,
            position: row.no.0,
            ready: self.ready.get(&row.no.0).cloned(),
        });
        QueueHead { queue: Arc::clone(queue), head }
    }

    /// All is well from now on, and all work gets done.
    fn come_to_rest(&mut self) {
        self.stops.clear();
        self.tell(DispatchEvent::Stops(Vec::new()));
        self.take(Step::NoOverride);
        self.asked.clear();
        self.count_requests();
        self.count_requests();
        for _ in 0..100 + 2 * self.registered {
            self.now += Duration::from_millis(700);
            self.poll(100);
            self.end(100, 9);
        }
        assert_eq!(self.done.len() as i64, self.registered, "starved: {:?}", self.ready);
    }
}

pub(super) fn calls(flow: &str, system: usize, outcome: CallOutcome) -> CallSamples {
    let mut latencies = Latencies::default();
    latencies.note(Duration::from_millis(100));
    CallSamples {
        flow: Arc::from(flow),
        scenario: Arc::from(flow.split('|').next().unwrap()),
        system: Arc::from(SYSTEMS[system]),
        kind: CallKind::Direct,
        outcome,
        count: 1,
        stages: 1,
        latencies,
        retry_after: None,
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn dsp_7_limits_and_stops_hold_and_nothing_starves_whatever_is_reported(
        steps in proptest::collection::vec(step(), 1..150),
    ) {
        let mut world = World::new();
        for step in steps {
            world.take(step);
        }
        world.come_to_rest();
    }
}

/// Each of two flows that call the same systems is due at one of them and not at the other. Found by the steps above.
#[test]
fn dsp_16_flows_that_are_due_at_different_systems_do_not_wait_for_each_other() {
    use Step::*;
    let steps = [
        RetryAfter(2, 1),
        RetryAfter(1, 1),
        Register(0, 0, None),
        Poll(1),
        RetryAfter(0, 5),
        Register(0, 1, None),
        Register(1, 0, Some(1)),
        Register(3, 2, Some(1)),
        Register(0, 1, None),
        Register(2, 0, None),
        Register(0, 1, None),
        Register(0, 1, None),
        Register(1, 0, None),
        Poll(3),
        TakeOver,
        End(2, 0),
        End(1, 0),
        Register(2, 1, None),
        Register(3, 1, None),
        Register(1, 0, Some(1)),
        Stop(Some(2), 1),
        Register(0, 0, None),
        Override(1, false, 1),
        Register(0, 1, Some(0)),
        Register(1, 0, Some(1)),
        Register(0, 0, None),
        Register(1, 1, Some(1)),
        Register(1, 1, Some(0)),
        Override(0, false, 1),
        Register(3, 0, None),
        Register(2, 1, Some(1)),
    ];
    let mut world = World::new();
    for step in steps {
        world.take(step);
    }
    world.come_to_rest();
}
