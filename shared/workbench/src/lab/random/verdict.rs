//! What a rule made of random situations: figures of each, their distribution over all, and the worst by seed.
//!
//! Steady state lies between a fifth and two fifths of the time, before anything happens in the middle, and begins after
//! twenty calls one after the other at the earliest: calls last up to hours, and a limit cannot be learnt sooner.

use std::fmt::Write as _;
use std::time::Duration;

use super::super::plan::{LabFlow, LabPlan};
use super::super::trace::Trace;
use super::super::{LabRun, fixed, rules, run_random};
use super::draw;

/// Factors of the servers that the oracle tries as fixed limits.
const ORACLE: [f64; 6] = [0.15, 0.4, 0.7, 0.9, 1.0, 1.3];
/// Part of the time at which the steady state begins, and at which it ends.
const STEADY: (f64, f64) = (0.2, 0.4);
/// Worst situations that the page names.
const WORST: usize = 10;

/// Measure of a random situation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RandomMeasure {
    /// Worked-off calls by capacity while there is work, of the worst system.
    Share,
    /// Calls refused by all, of the worst system.
    Refused,
    /// Time in the system by the time alone, of the worst system.
    Standing,
    /// Jain's index by weight of the flows of a system with more work than it takes.
    Fairness,
}

pagurus_domain::id::spelled!(RandomMeasure {
    Share => "share",
    Refused => "refused",
    Standing => "standing",
    Fairness => "fairness",
});

impl RandomMeasure {
    const fn is_least(self) -> bool {
        matches!(self, Self::Share | Self::Fairness)
    }
}

/// Figures of one rule in one situation.
#[derive(Clone, Debug)]
pub struct RandomRun {
    /// The rule.
    pub rule: String,
    /// Values of each system, in the order of [`RandomMeasure::ALL`]; none where there was nothing to measure.
    pub systems: Vec<RandomValues>,
}

/// Values of one system, in the order of [`RandomMeasure::ALL`].
pub type RandomValues = [Option<f64>; 4];

/// Runs the situation of a seed with our rule, and with the others if they are wanted.
#[must_use]
pub fn judge_random(seed: u64, with_others: bool) -> Vec<RandomRun> {
    let plan = draw(seed);
    let one = |run: LabRun| RandomRun { systems: figures(&plan, &run.trace), rule: run.rule };
    let mut runs = vec![one(super::super::run(&plan))];
    if with_others {
        runs.extend(rules().map(|(name, make)| one(run_random(&plan, name, make))));
        runs.push(oracle(&plan));
    }
    runs
}

/// Judges the fixed limit, a factor of what occupies all servers, with the best of share less refusals: each system with the
/// flows that call it, alone.
#[must_use]
pub fn oracle(plan: &LabPlan) -> RandomRun {
    let systems = (0..plan.systems.len()).map(|system| oracle_of(plan, system)).collect();
    RandomRun { rule: "fixed by an oracle".to_owned(), systems }
}

fn oracle_of(plan: &LabPlan, system: usize) -> RandomValues {
    let mine = plan.flows.iter().filter(|flow| flow.calls == Some(system));
    let alone = |flow: &LabFlow| LabFlow { calls: Some(0), then_calls: None, ..flow.clone() };
    let steady = plan.duration.mul_f64(STEADY.1) + Duration::from_secs(2);
    let part = LabPlan {
        systems: vec![plan.systems[system].clone()],
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
        of_system(&part, &trace, 0, span_of(plan, system))
    });
    let worth = |values: &RandomValues| values[0].unwrap_or(1.0) - 2.0 * values[1].unwrap_or(0.0);
    let best = runs.into_iter().max_by(|one, other| worth(one).total_cmp(&worth(other)));
    best.unwrap_or_default()
}

/// Seconds of the steady state.
fn span_of(plan: &LabPlan, system: usize) -> (f64, f64) {
    let seconds = plan.duration.as_secs_f64();
    let from = (seconds * STEADY.0).max(plan.systems[system].capacity.takes.as_secs_f64() * 20.0);
    (from, seconds * STEADY.1)
}

fn figures(plan: &LabPlan, trace: &Trace) -> Vec<RandomValues> {
    let one = |system| of_system(plan, trace, system, span_of(plan, system));
    (0..plan.systems.len()).map(one).collect()
}

fn of_system(plan: &LabPlan, trace: &Trace, system: usize, (from, until): (f64, f64)) -> RandomValues {
    if from + 10.0 > until {
        return [None; 4];
    }
    let looks = &trace.systems[system];
    let [before, after] = [from, until].map(|second| Trace::system_at(looks, second));
    let mine: Vec<usize> =
        (0..plan.flows.len()).filter(|flow| plan.flows[*flow].calls == Some(system)).collect();
    let is_alone = plan.flows.iter().all(|flow| flow.then_calls.is_none());
    let waits = |second: usize| {
        mine.iter().map(|flow| trace.flows[*flow].get(second).map_or(0, |look| look.ready)).sum::<u32>()
    };
    let [first, last] = [from, until].map(|second| second as usize);
    let has_work = |second: usize| waits(second) > 0 && waits(second + 1) > 0;
    let answered_in = |second: usize| {
        let [one, other] = [second, second + 1].map(|second| Trace::system_at(looks, second as f64).answered);
        (other - one) as f64
    };
    let busy: Vec<usize> = (first..last).filter(|second| has_work(*second)).collect();
    let capacity = plan.systems[system].capacity.per_second() * busy.len() as f64;
    let answered: f64 = busy.iter().map(|second| answered_in(*second)).sum();
    // Of fewer calls the share would be chance.
    let share = (capacity >= 200.0 && is_alone).then(|| answered / capacity);
    let all = (after.answered - before.answered + after.refused - before.refused) as f64;
    let refused = (all >= 50.0).then(|| (after.refused - before.refused) as f64 / all);
    let alone = after.alone - before.alone;
    let standing = (alone > 0.0 && all >= 200.0).then(|| (after.stood - before.stood) / alone);
    let is_full = busy.len() as f64 >= (last - first) as f64 * 0.98
        && after.answered - before.answered >= 50 * mine.len() as u64;
    let fairness = (is_full && is_alone && mine.len() > 1).then(|| jain(plan, trace, &mine, (from, until)));
    [share, refused, standing, fairness]
}

fn jain(plan: &LabPlan, trace: &Trace, flows: &[usize], (from, until): (f64, f64)) -> f64 {
    let part = |flow: &usize| {
        let worked = |second| f64::from(Trace::flow_at(&trace.flows[*flow], second).worked);
        (worked(until) - worked(from)) / f64::from(plan.flows[*flow].weight)
    };
    let parts: Vec<f64> = flows.iter().map(part).collect();
    let squares: f64 = parts.iter().map(|part| part * part).sum();
    if squares > 0.0 { parts.iter().sum::<f64>().powi(2) / (parts.len() as f64 * squares) } else { 1.0 }
}

/// Values of a measure of all systems of all situations, with the seeds.
fn values_of(runs: &[(u64, Vec<RandomRun>)], rule: usize, at: usize) -> Vec<(f64, u64)> {
    let one = |(seed, runs): &(u64, Vec<RandomRun>)| {
        let systems = runs.get(rule).map(|run| run.systems.clone()).unwrap_or_default();
        let seed = *seed;
        systems.into_iter().filter_map(move |values| Some((values[at]?, seed)))
    };
    runs.iter().flat_map(one).collect()
}

/// Writes the distribution of each measure for each rule, and the worst situations of ours, as Markdown.
#[must_use]
pub fn random_page(runs: &[(u64, Vec<RandomRun>)]) -> String {
    let mut page = String::from(
        "| measure | rule | situations | median | worst 5 % | worst |\n|---|---|---|---|---|---|\n",
    );
    let rules = runs.first().map_or(0, |(_, runs)| runs.len());
    for (at, measure) in RandomMeasure::ALL.iter().enumerate() {
        for rule in 0..rules {
            let mut values: Vec<(f64, u64)> = values_of(runs, rule, at);
            values.sort_by(|one, other| one.0.total_cmp(&other.0));
            if measure.is_least() {
                values.reverse();
            }
            let Some(last) = values.last() else { continue };
            let of = |part: f64| values[((values.len() - 1) as f64 * part).round() as usize].0;
            let name = &runs[0].1[rule].rule;
            // Writing into a String cannot fail.
            let _ = writeln!(
                page,
                "| {measure} | {name} | {} | {:.3} | {:.3} | {:.3} |",
                values.len(),
                of(0.5),
                of(0.95),
                last.0
            );
        }
    }
    for (at, measure) in RandomMeasure::ALL.iter().enumerate() {
        let mut values: Vec<(f64, u64)> = values_of(runs, 0, at);
        values.sort_by(|one, other| one.0.total_cmp(&other.0));
        if !measure.is_least() {
            values.reverse();
        }
        let _ = writeln!(page, "\nThe worst of `{measure}`:\n\n| seed | value | situation |\n|---|---|---|");
        for (value, seed) in values.into_iter().take(WORST) {
            let _ = writeln!(page, "| {seed} | {value:.3} | {} |", draw(seed).about.replace('|', "and"));
        }
    }
    page
}
