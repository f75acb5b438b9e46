//! Flows that share the limit of one called system by weight (DSP-16).

use proptest::prelude::*;

use super::super::*;
use super::limits::{rules, with};
use super::*;
use crate::{LimitRule, LimitWindow};

/// A limit that never moves.
#[derive(Clone, Debug)]
struct Fixed(f64);

impl LimitRule for Fixed {
    fn limit(&self) -> Option<f64> {
        Some(self.0)
    }

    fn begin(&mut self, _limit: f64, _borne: Option<f64>, _now: Timestamp) {}

    fn learn(&mut self, _window: &LimitWindow) -> Option<String> {
        None
    }

    fn stops(&self) -> bool {
        false
    }
}

/// A flow that always has work.
#[derive(Clone, Copy, Debug)]
struct Busy {
    weight: u32,
    /// Tenths of a second that its stages take.
    takes: u64,
    /// Tenths of a second after which its requests are answered; zero where its calls are direct.
    answers: u64,
    mode: Mode,
    priority: Priority,
}

fn busy() -> impl Strategy<Value = Busy> {
    let answers = prop_oneof![Just(0), 2..30_u64];
    (1..6_u32, 1..12_u64, answers, any::<bool>()).prop_map(|(weight, takes, answers, in_queue)| Busy {
        weight,
        takes,
        answers,
        mode: if in_queue { Mode::Sequential } else { Mode::Parallel },
        priority: Priority::Normal,
    })
}

/// A dispatcher of flows that call one system with this limit.
fn leading(flows: &[Busy], limit: u32) -> Dispatcher {
    let policies = flows.iter().enumerate().map(|(index, flow)| FlowPolicy {
        name: index.to_string(),
        scenarios: [index.to_string()].into(),
        mode: None,
        max_limit: None,
        weight: Some(flow.weight),
    });
    let rules = FlowRules { policies: policies.collect(), ..rules(DistributionMode::LimitedFlows) };
    let mut dispatcher =
        Dispatcher::with_rule(with(rules, &["stock"]), move || Box::new(Fixed(f64::from(limit))));
    dispatcher.handle(DispatchEvent::Stops(Vec::new()), second(0));
    dispatcher.handle(DispatchEvent::NodeUp { node: NODE, concurrency: 1000 }, second(0));
    dispatcher.handle(DispatchEvent::InProgress(nothing()), second(0));
    let link = |flow: usize| called(flow, flows[flow]);
    dispatcher.handle(DispatchEvent::Called((0..flows.len()).map(link).collect()), second(0));
    dispatcher
}

/// A sample of a call of a flow, or of an answer to its request.
fn called(number: usize, flow: Busy) -> CallSamples {
    let is_direct = flow.answers == 0;
    let took = Duration::from_millis(100 * if is_direct { 1 } else { flow.answers });
    CallSamples {
        flow: Arc::from(number.to_string()),
        scenario: Arc::from(number.to_string()),
        system: Arc::from("stock"),
        kind: if is_direct { CallKind::Direct } else { CallKind::Asynchronous },
        outcome: CallOutcome::Answered,
        count: 1,
        stages: 1,
        latencies: Latencies::of_counts([(step_of(took), 1)]),
        retry_after: None,
    }
}

fn moved(number: usize, by: i32) -> DispatchEvent {
    let flow = Arc::from(number.to_string());
    DispatchEvent::RequestsMoved(vec![RequestsMoved { flow, system: Arc::from("stock"), by }])
}

/// The time of places that each of these flows had in `tenths` tenths of seconds. `batch` tenths pass between two words of
/// what has ended.
fn shared(flows: &[Busy], limit: u32, batch: u64, tenths: u64) -> Vec<u64> {
    let mut dispatcher = leading(flows, limit);
    let mut next = 1;
    let mut row = |flow: usize| {
        let place = (flows[flow].mode == Mode::Sequential)
            .then(|| QueuePosition { queue: Arc::from(format!("{flow}-{next}")), position: 1 });
        let row =
            Ready { priority: flows[flow].priority, place, ..of_flow(&flow.to_string(), parallel(next)) };
        next += 1;
        row
    };
    let mut of = std::collections::BTreeMap::new();
    let mut ready = Vec::new();
    for flow in 0..flows.len() {
        for _ in 0..2 * limit {
            let row = row(flow);
            of.insert(row.no, flow);
            ready.push(row);
        }
    }
    dispatcher.handle(DispatchEvent::Ready(ready), second(0));
    let mut running: Vec<(u64, OrderNo)> = Vec::new();
    let mut open: Vec<(u64, usize)> = Vec::new();
    let mut had = vec![0; flows.len()];
    for tenth in 0..tenths {
        let now = Timestamp::from_millisecond(tenth as i64 * 100).unwrap();
        if tenth % batch == 0 {
            let (over, rest): (Vec<_>, Vec<_>) = running.into_iter().partition(|(end, _)| *end <= tenth);
            running = rest;
            let (answered, rest): (Vec<_>, Vec<_>) = open.into_iter().partition(|(end, _)| *end <= tenth);
            open = rest;
            for (_, flow) in answered {
                dispatcher.handle(DispatchEvent::Called(vec![called(flow, flows[flow])]), now);
                dispatcher.handle(moved(flow, -1), now);
            }
            for (_, no) in over {
                let flow = of[&no];
                let measured = StageMeasured {
                    took: Duration::from_millis(100 * flows[flow].takes),
                    waited: Duration::ZERO,
                    class: None,
                };
                let left = (flows[flow].mode == Mode::Sequential).then(|| Arc::from(format!("{flow}-{no}")));
                let event = DispatchEvent::Ended {
                    no,
                    attempt: Attempt(1),
                    left_queue: left,
                    measured: Some(measured),
                };
                dispatcher.handle(event, now);
                let stage = CallSamples { outcome: CallOutcome::Declined, ..called(flow, flows[flow]) };
                dispatcher.handle(DispatchEvent::Called(vec![stage]), now);
                if flows[flow].answers > 0 {
                    dispatcher.handle(moved(flow, 1), now);
                    open.push((tenth + flows[flow].answers, flow));
                }
                let row = row(flow);
                of.insert(row.no, flow);
                dispatcher.handle(DispatchEvent::Ready(vec![row]), now);
            }
        }
        for hand_out in dispatcher.poll(now, 1000) {
            let flow = of[&hand_out.no];
            had[flow] += flows[flow].takes + flows[flow].answers;
            running.push((tenth + flows[flow].takes, hand_out.no));
        }
        // Until the first look at the times of answers, requests hold nobody back.
        let used = running.len() + if tenth > 100 { open.len() } else { 0 };
        assert!(used <= limit as usize, "{used} of {limit}");
    }
    had
}

fn fairness(flows: &[Busy], had: &[u64]) -> f64 {
    let parts: Vec<f64> =
        flows.iter().zip(had).map(|(flow, had)| *had as f64 / f64::from(flow.weight)).collect();
    let squares: f64 = parts.iter().map(|part| part * part).sum();
    parts.iter().sum::<f64>().powi(2) / (parts.len() as f64 * squares)
}

const PLAIN: Busy =
    Busy { weight: 1, takes: 2, answers: 0, mode: Mode::Parallel, priority: Priority::Normal };

#[test]
fn dsp_16_flows_share_the_limit_of_a_system_by_weight() {
    let flows = [Busy { weight: 3, ..PLAIN }, PLAIN, Busy { takes: 8, ..PLAIN }];
    for batch in [1, 5] {
        let had = shared(&flows, 10, batch, 3000);
        let all: u64 = had.iter().sum();
        for (flow, had) in flows.iter().zip(&had) {
            let part = *had as f64 / all as f64;
            assert!(
                (part - f64::from(flow.weight) / 5.0).abs() < 0.02,
                "{flow:?} had {part}, in batches of {batch}"
            );
        }
    }
}

#[test]
fn dsp_16_a_flow_that_waits_for_callbacks_starves_none_that_began_with_it() {
    // Requests that are open when a flow has to wait are charged while it waits.
    let flows: Vec<Busy> = (1..=8).map(|weight| Busy { weight, takes: 1, answers: 40, ..PLAIN }).collect();
    let had = shared(&flows, 40, 1, 6000);
    assert!(fairness(&flows, &had) >= 0.99, "{had:?}");
}

#[test]
fn dsp_16_a_small_weight_starves_nobody_and_priorities_stay_outermost() {
    let had = shared(&[Busy { weight: 1000, ..PLAIN }, PLAIN], 1, 1, 20_000);
    assert!(had[1] >= 10, "{had:?}");
    let urgent = Busy { priority: Priority::High, ..PLAIN };
    let had = shared(&[Busy { weight: 10, priority: Priority::Low, ..PLAIN }, urgent], 4, 1, 4000);
    let part = had[1] as f64 / had.iter().sum::<u64>() as f64;
    assert!((part - 70.0 / 75.0).abs() < 0.03, "{had:?}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    #[test]
    fn dsp_16_whatever_the_weights_modes_and_times_are_places_are_shared_by_weight(
        flows in proptest::collection::vec(busy(), 2..6),
        limit in 3..24_u32,
        batch in 1..4_u64,
    ) {
        let had = shared(&flows, limit, batch, 4000);
        let fair = fairness(&flows, &had);
        prop_assert!(fair >= 0.95, "{} {:?}", fair, had);
    }
}
