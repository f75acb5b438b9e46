//! The situation of a record: stages come as they came, and call what they called. Must never judge the outcome.

use std::time::Duration;

use pagurus_domain::flow::FlowChanges;
use pagurus_domain::order::Priority;

use super::{CallMinute, FlowMinute, RecordedFlow, Recording, SystemEstimate};
use crate::lab::chance::Chance;
use crate::lab::plan::{LabCapacity, LabChange, LabFlow, LabPlan, LabSystem, LimitRules, TimesForm};

const MINUTE: Duration = Duration::from_secs(60);
const SEED: u64 = 1;
/// Variation of the times of calls. A record has no single times.
const VARIATION: f64 = 0.5;
/// Pause after which a stage whose call failed comes again.
const RETRY: Duration = Duration::from_secs(10);
/// Time after which a caller gives up.
const TIMEOUT: Duration = Duration::from_secs(30);
/// Delay of news between worker and dispatcher.
const NEWS_DELAY: Duration = Duration::from_millis(5);
/// A second system is called by each stage if it got this part of the calls of the first one.
const ALIKE: f64 = 0.5;
/// Stages that are no repeats are this part of all at least.
const LEAST_FRESH: f64 = 0.05;

/// The situation of a record with changes.
pub(super) fn of(recording: &Recording, estimates: &[SystemEstimate], changes: &FlowChanges) -> LabPlan {
    let rules = &recording.rules;
    let length = recording.flows.iter().map(|flow| flow.minutes.len()).max().unwrap_or_default();
    let mut chance = Chance::of(SEED);
    let called: Vec<usize> =
        recording.flows.first().into_iter().flat_map(|flow| flow.calls.keys().copied()).collect();
    let systems = recording.systems.iter().zip(estimates).enumerate().map(|(place, (system, estimate))| {
        let changes = if called.contains(&place) { *changes } else { FlowChanges::default() };
        let capacities: Vec<LabCapacity> =
            estimate.minutes.iter().map(|minute| changed(*minute, &changes)).collect();
        let at = |minute: usize| MINUTE * minute as u32;
        let moves =
            capacities.iter().enumerate().skip(1).filter(|(minute, one)| **one != capacities[minute - 1]);
        LabSystem {
            name: system.name.clone(),
            is_named: system.is_named,
            is_asynchronous: system.is_asynchronous,
            capacity: capacities[0],
            variation: VARIATION,
            form: TimesForm::LogNormal,
            technical_failures: estimate.failed,
            changes: moves
                .map(|(minute, one)| LabChange { at: at(minute), until: at(minute), capacity: *one })
                .collect(),
        }
    });
    let systems = systems.collect();
    let flows = recording.flows.iter().enumerate().map(|(place, flow)| {
        // Of others, only the times of the systems change.
        let of_other = FlowChanges { call_time: changes.call_time, ..FlowChanges::default() };
        lab_flow((place, flow), estimates, if place == 0 { changes } else { &of_other }, &mut chance)
    });
    LabPlan {
        title: String::new(),
        about: String::new(),
        shows: String::new(),
        behind: None,
        seed: SEED,
        duration: MINUTE * length as u32,
        rules: LimitRules { mode: changes.mode.unwrap_or(rules.mode), ..*rules },
        nodes: 1,
        concurrency: rules.parallel.saturating_add(rules.sequential),
        news_delay: NEWS_DELAY,
        lost_samples: 0.0,
        lost_news: 0.0,
        take_overs: Vec::new(),
        timeout: Some(TIMEOUT),
        retry: RETRY,
        systems,
        flows: flows.collect(),
        bounds: Vec::new(),
        most_happenings: super::MOST_HAPPENINGS,
    }
}

fn changed(capacity: LabCapacity, changes: &FlowChanges) -> LabCapacity {
    LabCapacity {
        servers: (f64::from(capacity.servers) * changes.capacity.unwrap_or(1.0)).round().max(1.0) as u32,
        takes: capacity.takes.mul_f64(changes.call_time.unwrap_or(1.0)),
        ..capacity
    }
}

/// A flow of the record, in its place there. A name of its own would be taken apart: it may be made of attributes.
fn lab_flow(
    (place, flow): (usize, &RecordedFlow),
    estimates: &[SystemEstimate],
    changes: &FlowChanges,
    chance: &mut Chance,
) -> LabFlow {
    let sums = Sums::of(flow);
    let mut called: Vec<(usize, CallMinute)> = sums.calls.clone();
    called.sort_by(|one, other| other.1.answered.total_cmp(&one.1.answered));
    let first = called.first().copied();
    let second = called
        .get(1)
        .filter(|second| first.is_some_and(|first| second.1.answered >= ALIKE * first.1.answered));
    let in_calls: f64 =
        first.iter().chain(second).map(|(_, calls)| calls.answer_seconds + calls.failure_seconds).sum();
    let stages = sums.flow.ended.max(1.0);
    let calls =
        first.map_or(1.0, |(_, calls)| (calls.answered + calls.failed) / (stages + sums.flow.repeated));
    // Several calls of a stage, one after the other, keep the system as busy as one that takes as long as all.
    let further = first.map_or(0.0, |(system, _)| estimates[system].calm * (calls - 1.0).max(0.0));
    let fresh = ((sums.flow.came - sums.flow.repeated) / sums.flow.came.max(1.0)).clamp(LEAST_FRESH, 1.0);
    let part = fresh * changes.load.unwrap_or(1.0);
    LabFlow {
        name: place.to_string(),
        count: 1,
        calls: first.map(|first| first.0),
        then_calls: second.map(|second| second.0),
        call_part: calls.min(1.0),
        rate: 0.0,
        swings: Vec::new(),
        backlog: (backlog(&flow.minutes) * fresh).min(super::MOST_STAGES) as u32,
        from: Duration::ZERO,
        until: Duration::ZERO,
        own: Duration::from_secs_f64(((sums.flow.took - in_calls) / stages).max(0.0)),
        long_share: if further > 0.0 { 1.0 } else { 0.0 },
        long_own: Duration::from_secs_f64(further).mul_f64(changes.call_time.unwrap_or(1.0)),
        priority: Priority::Normal,
        queues: 0,
        business_failures: 0.0,
        weight: changes.weight.unwrap_or(flow.weight),
        max_limit: changes.max_limit.or(flow.max_limit),
        arrivals: arrivals(&flow.minutes, part, chance),
    }
}

/// Stages that were ready before the record begins, at least: more ended than came.
pub(super) fn backlog(minutes: &[FlowMinute]) -> f64 {
    let mut ahead = 0.0;
    minutes.iter().fold(0.0_f64, |most, minute| {
        ahead += minute.ended + minute.repeated - minute.came;
        most.max(ahead)
    })
}

/// Times at which this part of the stages comes: in each minute as many as came, at any time within it.
fn arrivals(minutes: &[FlowMinute], part: f64, chance: &mut Chance) -> Vec<Duration> {
    let mut owed = 0.0;
    let mut times = Vec::new();
    for (minute, counts) in minutes.iter().enumerate() {
        owed += counts.came * part;
        for _ in 0..owed as usize {
            times.push(MINUTE * minute as u32 + MINUTE.mul_f64(chance.part()));
        }
        owed = owed.fract();
    }
    times
}

/// Sums of the whole record of a flow.
struct Sums {
    flow: FlowMinute,
    calls: Vec<(usize, CallMinute)>,
}

impl Sums {
    fn of(flow: &RecordedFlow) -> Self {
        let flow_sum = FlowMinute::sum(&flow.minutes);
        let calls = flow.calls.iter().map(|(system, minutes)| (*system, CallMinute::sum(minutes)));
        Self { flow: flow_sum, calls: calls.collect() }
    }
}
