//! DSP-15: a replay against the truth. Situations are drawn at random, run, and recorded as the engine records; what the
//! replay says about a change is held against the run of the situation with that change.

use std::collections::BTreeMap;
use std::time::Duration;

use pagurus_domain::flow::{DistributionMode, FlowChanges, MinuteFigures};
use pagurus_domain::order::Priority;

use super::*;
use crate::lab::chance::Chance;
use crate::lab::plan::{LabCapacity, LabChange, LabFlow, LabPlan, LabSystem, Outage, RateSwing, TimesForm};
use crate::lab::trace::Trace;
use crate::lab::{LabRun, run};

const MINUTE: Duration = Duration::from_secs(60);
const MINUTES: u32 = 12;
/// Greatest logarithm of an answer by the truth that is near: from three quarters to four thirds.
const NEAR: f64 = 0.29;
/// Situations that are asked about.
const SITUATIONS: u64 = 16;
const MOST_A_SECOND: f64 = 5.0;

/// A flow and its system: rates over two powers of ten, systems that are idle or overloaded, with a rush, and with an
/// outage, a slowdown or a bound of the rules in some.
fn draw(seed: u64) -> LabPlan {
    let mut chance = Chance::of(seed);
    let servers = chance.between(1.0, 40.0).round();
    let load = chance.between(0.1, 1.3);
    // What a second brings is bounded, so that a run takes little time.
    let takes = chance.between(0.02, 2.0).max(load * servers / MOST_A_SECOND);
    let rate = load * servers / takes;
    let capacity = LabCapacity {
        servers: servers as u32,
        queue: u32::MAX,
        takes: Duration::from_secs_f64(takes),
        outage: Outage::None,
    };
    let from = MINUTE * (4 + (chance.part() * 6.0) as u32);
    let until = from + MINUTE * (1 + (chance.part() * 4.0) as u32);
    let worse = match (chance.part() * 4.0) as u32 {
        0 => Some(LabCapacity { outage: Outage::Refuses, ..capacity }),
        1 => Some(LabCapacity { takes: capacity.takes.mul_f64(chance.between(1.5, 4.0)), ..capacity }),
        _ => None,
    };
    let change = |at: Duration, capacity| LabChange { at, until: at, capacity };
    let changes = worse.map_or_else(Vec::new, |worse| vec![change(from, worse), change(until, capacity)]);
    let rush = MINUTE * (2 + (chance.part() * 6.0) as u32);
    let factor = chance.between(0.3, 3.0);
    let swings = vec![RateSwing { at: rush, factor }, RateSwing { at: rush + 3 * MINUTE, factor: 1.0 }];
    let system = LabSystem {
        name: "system".to_owned(),
        is_named: chance.happens(0.5),
        is_asynchronous: false,
        capacity,
        variation: chance.between(0.1, 1.0),
        form: TimesForm::LogNormal,
        technical_failures: if chance.happens(0.3) { 0.02 } else { 0.0 },
        changes,
    };
    let flow = LabFlow {
        name: "flow".to_owned(),
        count: 1,
        calls: Some(0),
        then_calls: None,
        rate,
        swings,
        backlog: 0,
        from: Duration::ZERO,
        until: MINUTE * MINUTES,
        own: Duration::from_millis(2),
        long_share: 0.0,
        long_own: Duration::ZERO,
        priority: Priority::Normal,
        queues: 0,
        business_failures: 0.0,
        weight: 1,
        call_part: 1.0,
        max_limit: chance.happens(0.3).then(|| (servers * chance.between(0.3, 2.0)).ceil() as u32),
        arrivals: Vec::new(),
    };
    plan_of(seed, system, flow)
}

/// A plan with one system and one flow.
fn plan_of(seed: u64, system: LabSystem, flow: LabFlow) -> LabPlan {
    LabPlan {
        title: String::new(),
        about: String::new(),
        shows: String::new(),
        behind: None,
        seed,
        duration: MINUTE * MINUTES,
        rules: LimitRules {
            mode: DistributionMode::LimitedFlows,
            parallel: 2_000,
            sequential: 500,
            flow_share: 80,
            initial_limit: 5,
            overload: 90,
        },
        nodes: 2,
        concurrency: 1_250,
        news_delay: Duration::from_millis(5),
        lost_samples: 0.0,
        lost_news: 0.0,
        take_overs: Vec::new(),
        timeout: Some(Duration::from_secs(30)),
        retry: Duration::from_secs(15),
        systems: vec![system],
        flows: vec![flow],
        bounds: Vec::new(),
        most_happenings: u64::MAX,
    }
}

/// The record of a run, as the engine makes it.
fn record(plan: &LabPlan, run: &LabRun) -> Recording {
    let (flow, system) = (&plan.flows[0], &plan.systems[0]);
    let mut minutes = Vec::new();
    let mut calls = Vec::new();
    for minute in 0..MINUTES {
        let [before, after] = [minute, minute + 1].map(|minute| f64::from(minute) * 60.0);
        let flow = |second| Trace::flow_at(&run.trace.flows[0], second);
        let system = |second| Trace::system_at(&run.trace.systems[0], second);
        let (one, other) = (flow(before), flow(after));
        let more = |one: u32, other: u32| f64::from(other - one);
        minutes.push(FlowMinute {
            came: more(one.came, other.came) + more(one.failed, other.failed),
            ended: more(one.ended, other.ended) - more(one.failed, other.failed),
            repeated: more(one.failed, other.failed),
            waited: f64::from(other.waited - one.waited),
            took: f64::from(other.worked - one.worked),
        });
        let (one, other) = (system(before), system(after));
        calls.push(CallMinute {
            answered: (other.answered - one.answered) as f64,
            answer_seconds: other.stood - one.stood,
            failed: more(flow(before).failed, flow(after).failed),
            failure_seconds: 0.01,
        });
    }
    Recording {
        rules: plan.rules,
        flows: vec![RecordedFlow {
            name: flow.name.clone(),
            weight: flow.weight,
            max_limit: flow.max_limit,
            minutes,
            calls: BTreeMap::from([(0, calls)]),
        }],
        systems: vec![RecordedSystem {
            name: system.name.clone(),
            is_named: system.is_named,
            is_asynchronous: system.is_asynchronous,
        }],
    }
}

/// The situation with a change.
fn changed(plan: &LabPlan, changes: &FlowChanges) -> LabPlan {
    let mut plan = plan.clone();
    plan.flows[0].rate *= changes.load.unwrap_or(1.0);
    plan.flows[0].max_limit = changes.max_limit.or(plan.flows[0].max_limit);
    let system = &mut plan.systems[0];
    let all =
        std::iter::once(&mut system.capacity).chain(system.changes.iter_mut().map(|one| &mut one.capacity));
    for capacity in all {
        capacity.takes = capacity.takes.mul_f64(changes.call_time.unwrap_or(1.0));
        capacity.servers =
            (f64::from(capacity.servers) * changes.capacity.unwrap_or(1.0)).round().max(1.0) as u32;
    }
    plan
}

fn sum(minutes: &[MinuteFigures]) -> (f64, f64) {
    let ended: f64 = minutes.iter().map(|minute| minute.ended).sum();
    let waited: f64 =
        minutes.iter().map(|minute| minute.wait_ms.unwrap_or_default() / 1e3 * minute.ended).sum();
    (ended, waited / ended.max(1.0))
}

/// Changes that are asked about a situation.
fn questions(plan: &LabPlan) -> [(&'static str, FlowChanges); 4] {
    let servers = plan.systems[0].capacity.servers;
    let nothing = FlowChanges::default();
    [
        ("load 2", FlowChanges { load: Some(2.0), ..nothing }),
        ("capacity 0.5", FlowChanges { capacity: Some(0.5), ..nothing }),
        ("half the limit", FlowChanges { max_limit: Some((servers / 2).max(1)), ..nothing }),
        ("call time 2", FlowChanges { call_time: Some(2.0), ..nothing }),
    ]
}

/// An answer of a replay beside the truth.
struct Judged {
    /// True if the replay is like the record, and the system was seen at its limit.
    is_sure: bool,
    /// Distance of the stages that ended from the truth: the logarithm of one by the other.
    off: f64,
    /// The answer in words.
    line: String,
}

/// Asks one of the questions about the situation of each seed.
fn ask(asked: impl Iterator<Item = (u64, usize)>) -> Vec<Judged> {
    let judge = |(seed, question): (u64, usize)| {
        let plan = draw(seed);
        let recording = record(&plan, &run(&plan));
        let (name, changes) = questions(&plan)[question];
        let replay = replay(&recording, &changes).unwrap();
        let truth = record(&changed(&plan, &changes), &run(&changed(&plan, &changes)));
        let (ended, wait) = sum(&minutes::recorded(&truth.flows[0]));
        let (foretold, foretold_wait) = sum(&replay.changed);
        let estimate = &replay.systems[0].1;
        let line = format!(
            "{seed}: {name}: ended {foretold:.0} instead of {ended:.0}, wait {foretold_wait:.1} s instead of {wait:.1} s; \
             likeness {:.2}, at once {} instead of {}{}",
            replay.likeness,
            estimate.servers,
            plan.systems[0].capacity.servers,
            if estimate.was_full { "" } else { " (not seen)" },
        );
        Judged {
            is_sure: replay.likeness >= 0.8 && estimate.was_full,
            off: (foretold / ended.max(1.0)).ln().abs(),
            line,
        }
    };
    asked.map(judge).collect()
}

/// Asserts that this part of the answers that are sure is near the truth.
fn assert_near(answers: &[Judged], near: f64, part: f64) {
    let sure: Vec<&Judged> = answers.iter().filter(|answer| answer.is_sure).collect();
    let count = sure.iter().filter(|answer| answer.off <= near).count();
    let lines: Vec<&str> = answers.iter().map(|answer| answer.line.as_str()).collect();
    let said = format!("{count} of {} are near: {lines:#?}", sure.len());
    assert!(sure.len() >= 3 && count as f64 >= part * sure.len() as f64, "{said}");
}

#[test]
fn dsp_15_what_a_replay_foretells_comes_true_where_it_says_that_it_knows_the_system() {
    assert_near(&ask((0..SITUATIONS).map(|seed| (seed, seed as usize % 4))), NEAR, 0.75);
}

// The figures of the guide (docs/guides/operating-flows.md).
#[test]
#[ignore = "takes minutes in a build for tests"]
fn dsp_15_all_questions_about_sixty_situations_are_answered_as_the_guide_says() {
    let asked = (0..60).flat_map(|seed| (0..4).map(move |question| (seed, question)));
    assert_near(&ask(asked), 0.15, 0.85);
}

/// A record of minutes that are all alike.
fn steady(length: usize, came: f64, answered: f64, seconds: f64) -> Recording {
    let plan = draw(0);
    let mut recording = record(&plan, &run(&LabPlan { duration: Duration::from_secs(1), ..plan.clone() }));
    let flow = &mut recording.flows[0];
    flow.max_limit = None;
    flow.minutes =
        vec![
            FlowMinute { came, ended: answered, waited: 0.0, took: seconds * answered, repeated: 0.0 };
            length
        ];
    let calls = CallMinute { answered, answer_seconds: seconds * answered, ..CallMinute::default() };
    flow.calls = BTreeMap::from([(0, vec![calls; length])]);
    recording
}

#[test]
fn dsp_15_a_system_is_known_only_where_more_came_than_it_could_take() {
    let calm = estimate::of(&steady(10, 60.0, 60.0, 0.5), 0);
    assert!(!calm.was_full && (calm.calm - 0.5).abs() < 1e-9, "{calm:?}");
    // Ten at once take half a second each, and more come.
    let full = estimate::of(&steady(10, 1_500.0, 1_200.0, 0.5), 0);
    assert_eq!((full.was_full, full.servers), (true, 10), "{full:?}");
    // The same under a limit of the rules says nothing about the system.
    let mut bounded = steady(10, 1_500.0, 1_200.0, 0.5);
    bounded.flows[0].max_limit = Some(10);
    assert!(!estimate::of(&bounded, 0).was_full);
}

#[test]
fn dsp_15_a_minute_of_failures_is_an_outage_of_its_kind_and_lasts_until_a_call_is_answered() {
    let mut recording = steady(6, 60.0, 60.0, 0.5);
    let calls = recording.flows[0].calls.get_mut(&0).unwrap();
    let away =
        |seconds: f64| CallMinute { failed: 4.0, failure_seconds: 4.0 * seconds, ..CallMinute::default() };
    calls[1] = away(0.01);
    calls[2] = CallMinute::default();
    calls[4] = away(5.0);
    let outages: Vec<Outage> =
        estimate::of(&recording, 0).minutes.iter().map(|minute| minute.outage).collect();
    let [none, refuses, hangs] = [Outage::None, Outage::Refuses, Outage::Hangs];
    assert_eq!(outages, [none, refuses, refuses, none, hangs, none]);
}

#[test]
fn dsp_15_more_comes_with_more_load_and_of_too_much_only_the_newest_minutes_are_played() {
    let double = FlowChanges { load: Some(2.0), ..FlowChanges::default() };
    let replay = replay(&steady(5, 30.0, 30.0, 0.1), &double).unwrap();
    let came = |minutes: &[MinuteFigures]| minutes.iter().map(|minute| minute.came).sum::<f64>();
    assert_eq!((came(&replay.replayed), came(&replay.changed), replay.skipped), (150.0, 300.0, 0));
    let minutes =
        |recording: &Recording, load: f64| newest(recording, load).map(|kept| kept.flows[0].minutes.len());
    let many = steady(10, MOST_STAGES / 4.0, 1.0, 0.1);
    assert_eq!((minutes(&many, 1.0), minutes(&many, 2.0)), (Ok(4), Ok(2)));
    assert_eq!(minutes(&many, 5.0), Err(NoReplay::TooMuch), "one minute is too much");
    assert_eq!(super::replay(&steady(0, 1.0, 1.0, 0.1), &double), Err(NoReplay::Empty));
}

#[test]
fn dsp_15_a_flow_that_calls_nothing_and_one_without_an_end_are_played_too() {
    let mut recording = steady(5, 30.0, 30.0, 0.1);
    recording.flows[0].calls.clear();
    let played = replay(&recording, &FlowChanges::default()).unwrap();
    assert!(played.likeness > 0.9 && played.systems.is_empty(), "{played:?}");
    for minute in &mut recording.flows[0].minutes {
        *minute = FlowMinute { came: 5.0, ..FlowMinute::default() };
    }
    assert!(replay(&recording, &FlowChanges::default()).is_ok());
}

#[test]
fn dsp_15_stages_that_call_seldom_or_often_are_played_as_stages() {
    for calls in [0.5, 1.0, 3.0] {
        let mut recording = steady(6, 120.0, 120.0, 0.1);
        for minute in recording.flows[0].calls.get_mut(&0).unwrap() {
            minute.answered *= calls;
            minute.answer_seconds *= calls;
        }
        let replay = replay(&recording, &FlowChanges::default()).unwrap();
        assert!(replay.likeness > 0.95, "{calls} calls a stage: {}", replay.likeness);
    }
}

#[test]
fn dsp_15_a_flow_whose_name_is_made_of_attributes_has_the_limit_that_is_asked_about() {
    let mut recording = steady(6, 1_500.0, 1_200.0, 0.5);
    recording.flows[0].name = "tariff|north".to_owned();
    let limited = FlowChanges { max_limit: Some(3), ..FlowChanges::default() };
    let replay = replay(&recording, &limited).unwrap();
    let ended = |minutes: &[MinuteFigures]| minutes.iter().map(|minute| minute.ended).sum::<f64>();
    assert!(ended(&replay.changed) < ended(&replay.replayed) / 2.0, "{replay:?}");
    assert_eq!(replay.changed[3].limit, Some(3));
}

#[test]
fn dsp_15_a_replay_in_which_too_much_happens_ends_before_its_time() {
    let recording = steady(5, 60.0, 60.0, 0.1);
    let estimates = [estimate::of(&recording, 0)];
    let plan = situation::of(&recording, &estimates, &FlowChanges::default());
    assert_eq!(minutes::played(&run(&plan)).len(), 5);
    // So it has fewer minutes than the record, and is refused.
    let short = LabPlan { most_happenings: 500, ..plan };
    assert!(minutes::played(&run(&short)).len() < 5);
}
