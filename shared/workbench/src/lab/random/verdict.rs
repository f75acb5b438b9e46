//! Figures of random situations, with the rule of the engine and with others.

use std::time::Duration;

use super::super::plan::{LabFlow, LabPlan};
use super::super::trace::Trace;
use super::super::{LabRun, fixed, rules, run, run_random};
use super::draw;
use super::figures::{ObservedSystem, RandomFigures, RandomMeasure, STEADY};

/// Factors of the servers that the oracle tries as fixed limits.
const ORACLE: [f64; 6] = [0.15, 0.4, 0.7, 0.9, 1.0, 1.3];

/// Figures of one rule in one situation.
#[derive(Clone, Debug)]
pub struct RandomRun {
    /// The rule.
    pub rule: String,
    /// Figures of each system.
    pub systems: Vec<RandomFigures>,
}

/// A random situation with the figures of each rule: ours first, the oracle last where it was asked.
#[derive(Clone, Debug)]
pub struct RandomSituation {
    /// Seed.
    pub seed: u64,
    /// Description.
    pub about: String,
    /// Runs of the rules.
    pub runs: Vec<RandomRun>,
}

/// Runs the situation of a seed with our rule, and, to compare, with the others, with no limit, and with the fixed limit that an oracle
/// chose.
#[must_use]
pub fn judge_random(seed: u64, is_compared: bool) -> RandomSituation {
    let plan = draw(seed);
    let one = |run: LabRun| RandomRun { systems: figures(&plan, &run.trace), rule: run.rule };
    let mut runs = vec![one(run(&plan))];
    if is_compared {
        runs.extend(rules().map(|(name, make)| one(run_random(&plan, name, make))));
        runs.push(oracle(&plan));
    }
    RandomSituation { seed, about: plan.about, runs }
}

fn figures(plan: &LabPlan, trace: &Trace) -> Vec<RandomFigures> {
    (0..plan.systems.len()).map(|system| ObservedSystem::new(plan, plan, trace, system).figures()).collect()
}

/// Judges the fixed limit, a factor of what occupies all servers, with the best of share less refusals: each system with the
/// flows that call it, alone, in the steady state.
#[must_use]
pub fn oracle(plan: &LabPlan) -> RandomRun {
    let systems = (0..plan.systems.len()).map(|system| oracle_of(plan, system)).collect();
    RandomRun { rule: "fixed by an oracle".to_owned(), systems }
}

fn oracle_of(plan: &LabPlan, system: usize) -> RandomFigures {
    let mine = plan.flows.iter().filter(|flow| flow.calls == Some(system));
    let alone = |flow: &LabFlow| LabFlow { calls: Some(0), then_calls: None, ..flow.clone() };
    let steady = plan.duration.mul_f64(STEADY.1) + Duration::from_secs(2);
    let mut it = plan.systems[system].clone();
    it.changes.clear();
    let part = LabPlan {
        systems: vec![it],
        flows: mine.map(alone).collect(),
        duration: plan.duration.min(steady),
        take_overs: Vec::new(),
        ..plan.clone()
    };
    let capacity = plan.systems[system].capacity;
    let takes = capacity.takes.as_secs_f64();
    // From the end of a call until the next one takes its place, news goes to and fro.
    let pause = 2.0 * plan.news_delay.as_secs_f64() + 0.01;
    let busy = f64::from(capacity.servers) * (takes + pause) / takes;
    let runs = ORACLE.map(|factor| {
        let trace = fixed(&part, (busy * factor).ceil().max(1.0)).trace;
        ObservedSystem::new(plan, &part, &trace, 0).figures()
    });
    let worth = |figures: &RandomFigures| {
        figures.any_share().unwrap_or(1.0) - 2.0 * figures.of(RandomMeasure::Refused).unwrap_or(0.0)
    };
    let best = runs.into_iter().max_by(|one, other| worth(one).total_cmp(&worth(other)));
    best.unwrap_or_default()
}
