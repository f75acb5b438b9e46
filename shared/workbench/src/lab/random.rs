//! Situations drawn from a seed: what nobody here has thought of. Must never know which rule will be tried: the same seed
//! is the same situation for all of them. The guide of the laboratory says what is drawn from which distributions.

mod figures;
mod page;
mod verdict;

use std::time::Duration;

use pagurus_domain::flow::DistributionMode;
use pagurus_domain::order::Priority;

use super::chance::Chance;
use super::plan::{
    LabCapacity, LabChange, LabFlow, LabPlan, LabSystem, LimitRules, Outage, RateSwing, TimesForm,
};
pub use figures::{RandomFigures, RandomMeasure};
pub use page::random_page;
pub use verdict::{RandomRun, RandomSituation, judge_random, oracle};

/// Calls that all systems of a situation answer in a second, at most: else a thousand situations would take hours.
const MOST_A_SECOND: f64 = 300.0;
/// Calls that a situation is about, more or less.
const CALLS: f64 = 12_000.0;
/// The shortest situation, and the shortest in calls one after the other.
const SHORTEST: (f64, f64) = (120.0, 50.0);
/// Room of a queue that is as good as endless.
const ENDLESS: u32 = 1_000_000;

/// Draws a situation.
#[must_use]
pub fn draw(seed: u64) -> LabPlan {
    // Seeds that follow each other would give rows that are shifted against each other.
    let mut chance = Chance::of(seed.wrapping_mul(0x2545_f491_4f6c_dd1d));
    let count = [1, 1, 1, 2, 3, 5][below(&mut chance, 6)];
    let is_asynchronous = chance.happens(1.0 / 6.0);
    let scale = if is_asynchronous { chance.between(1.0, 600.0) } else { chance.between(0.002, 60.0) };
    let one = |number| system(number, count, (is_asynchronous, scale), &mut chance);
    let mut systems: Vec<LabSystem> = (0..count).map(one).collect();
    let per_second: f64 = systems.iter().map(|system| system.capacity.per_second()).sum();
    let longest = systems.iter().map(|system| system.capacity.takes.as_secs_f64()).fold(0.0, f64::max);
    let seconds = (CALLS / per_second).max(longest * SHORTEST.1).clamp(SHORTEST.0, 30_000.0);
    let flows = flows(&systems, seconds, &mut chance);
    let what = happens(&mut systems, seconds, &mut chance);
    let is_lossy = chance.happens(0.2);
    let is_patient = chance.happens(0.5);
    let patience = (longest * chance.between(3.0, 30.0)).max(1.0);
    let take_overs = if chance.happens(0.1) { vec![span(seconds * 0.7)] } else { Vec::new() };
    LabPlan {
        title: format!("Random situation {seed}"),
        about: about(&systems, &flows, what),
        shows: String::new(),
        behind: None,
        seed,
        duration: span(seconds),
        rules: LimitRules {
            mode: DistributionMode::LimitedFlows,
            parallel: 2000,
            sequential: 2000,
            flow_share: 80,
            initial_limit: 5,
            overload: 90,
        },
        nodes: 2,
        concurrency: 2000,
        news_delay: span(chance.between(0.002, 0.1)),
        lost_samples: if is_lossy { chance.part() * 0.05 } else { 0.0 },
        lost_news: if is_lossy { chance.part() * 0.05 } else { 0.0 },
        take_overs,
        timeout: (!is_patient).then(|| span(patience)),
        retry: span(chance.between(0.5, 10.0).max(longest * 0.1)),
        systems,
        flows,
        bounds: Vec::new(),
        most_happenings: u64::MAX,
    }
}

fn below(chance: &mut Chance, most: usize) -> usize {
    ((chance.part() * most as f64) as usize).min(most - 1)
}

fn span(seconds: f64) -> Duration {
    Duration::from_micros((seconds * 1e6) as u64)
}

fn system(
    number: usize,
    count: usize,
    (is_asynchronous, scale): (bool, f64),
    chance: &mut Chance,
) -> LabSystem {
    let takes = if number == 0 { scale } else { scale * chance.between(0.5, 1.5) };
    let most = (MOST_A_SECOND / count as f64 * takes).clamp(1.0, 500.0);
    let servers = chance.between(1.0, most + 1.0).floor().clamp(1.0, most);
    let queue = match below(chance, 3) {
        0 => 0,
        1 => chance.between(1.0, servers * 4.0).ceil() as u32,
        _ => ENDLESS,
    };
    // One server of two milliseconds answers more than may be: such a system is slower.
    let takes = takes.max(servers.floor() * count as f64 / MOST_A_SECOND);
    LabSystem {
        name: format!("system-{}", number + 1),
        is_named: true,
        is_asynchronous,
        capacity: LabCapacity { servers: servers as u32, queue, takes: span(takes), outage: Outage::None },
        variation: chance.part() * 3.0,
        form: TimesForm::ALL[below(chance, TimesForm::ALL.len())],
        technical_failures: if chance.happens(0.5) { 0.0 } else { chance.between(0.005, 0.3) },
        changes: Vec::new(),
    }
}

fn flows(systems: &[LabSystem], seconds: f64, chance: &mut Chance) -> Vec<LabFlow> {
    let per_system = (chance.between(1.0, if seconds > 5000.0 { 21.0 } else { 201.0 }) / systems.len() as f64)
        .floor()
        .max(1.0) as usize;
    let mut flows = Vec::new();
    for (index, system) in systems.iter().enumerate() {
        let rate = system.capacity.per_second() * chance.between(0.2, 4.0) / per_system as f64;
        let swings = swings(seconds, chance);
        let business = if chance.happens(0.25) { chance.part() * 0.3 } else { 0.0 };
        let calls_two = systems.len() > 1 && chance.happens(0.2);
        for number in 0..per_system {
            flows.push(LabFlow {
                name: format!("flow-{}-{}", index + 1, number + 1),
                count: 1,
                calls: Some(index),
                then_calls: calls_two.then_some((index + 1) % systems.len()),
                rate,
                swings: swings.clone(),
                backlog: 0,
                from: Duration::ZERO,
                until: span(seconds),
                own: Duration::ZERO,
                long_share: 0.0,
                long_own: Duration::ZERO,
                priority: Priority::Normal,
                queues: 0,
                business_failures: business,
                weight: chance.between(1.0, 11.0) as u32,
                call_part: 1.0,
                max_limit: None,
                arrivals: Vec::new(),
            });
        }
    }
    flows
}

/// Bursts, or day and night, or an even rate.
fn swings(seconds: f64, chance: &mut Chance) -> Vec<RateSwing> {
    let kind = chance.part();
    let (parts, high, low) = match kind {
        ..=0.33 => (20, 3.0, 0.5),
        ..=0.53 => (4, 1.6, 0.4),
        _ => return Vec::new(),
    };
    let factor = |part: u32| if part.is_multiple_of(2) { low } else { high };
    let at = |part: u32| span(seconds * f64::from(part) / f64::from(parts));
    (0..parts).map(|part| RateSwing { at: at(part), factor: factor(part) }).collect()
}

/// Changes one system in the middle. What it is, in words.
fn happens(systems: &mut [LabSystem], seconds: f64, chance: &mut Chance) -> &'static str {
    let system = &mut systems[0];
    let usual = system.capacity;
    let fewer = LabCapacity { servers: (usual.servers / 4).max(1), ..usual };
    let slower = LabCapacity { takes: usual.takes * 4, ..usual };
    let away = LabCapacity { outage: Outage::Refuses, ..usual };
    let hangs = LabCapacity { outage: Outage::Hangs, ..usual };
    let (from, until) = (seconds * 0.5, seconds * 0.6);
    let at = |second: f64, capacity| LabChange { at: span(second), until: span(second), capacity };
    let (what, changes) = match below(chance, 12) {
        0 => ("a step down to a quarter of the servers", vec![at(from, fewer), at(until, usual)]),
        1 => {
            let ramp = LabChange { at: span(seconds * 0.4), until: span(from), capacity: slower };
            ("a ramp to four times the time", vec![ramp, at(until, usual)])
        }
        2 => {
            let times = (0..6).map(|part| {
                at(from + (until - from) * f64::from(part) / 6.0, [away, usual][part as usize % 2])
            });
            ("a system that flaps", times.collect())
        }
        3 => ("an outage", vec![at(from, away), at(until, usual)]),
        4 => ("a system that hangs", vec![at(from, hangs), at(until, usual)]),
        5 => ("a herd after an outage", vec![at(seconds * 0.4, away), at(until, usual)]),
        _ => ("nothing in the middle", Vec::new()),
    };
    system.changes = changes;
    what
}

fn about(systems: &[LabSystem], flows: &[LabFlow], what: &str) -> String {
    let one = |(index, system): (usize, &LabSystem)| {
        let capacity = system.capacity;
        let mine = flows.iter().filter(|flow| flow.calls == Some(index));
        let load = mine.map(|flow| flow.rate).sum::<f64>() / capacity.per_second();
        let queue = if capacity.queue == ENDLESS {
            "endless queue".to_owned()
        } else {
            format!("queue {}", capacity.queue)
        };
        let callback = if system.is_asynchronous { ", by callback" } else { "" };
        format!(
            "{} × {:.3} s{callback}, variation {:.1} ({}), {queue}, load {load:.1}, failures {:.3}",
            capacity.servers,
            capacity.takes.as_secs_f64(),
            system.variation,
            system.form,
            system.technical_failures
        )
    };
    let systems: Vec<String> = systems.iter().enumerate().map(one).collect();
    format!("{}; {} flows; {what}", systems.join(" | "), flows.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A sample of the random situations: the same figures in each run, and none that cannot be.
    #[test]
    fn dsp_15_random_situations_have_figures_and_the_same_ones_each_time() {
        let situations = [3, 6].map(|seed| judge_random(seed, false));
        assert_eq!(format!("{:?}", situations[0]), format!("{:?}", judge_random(3, false)));
        for figures in situations.iter().flat_map(|situation| &situation.runs[0].systems) {
            for value in RandomMeasure::ALL.iter().filter_map(|measure| figures.of(*measure)) {
                assert!(value.is_finite() && value >= 0.0, "{figures:?}");
            }
        }
        assert!(situations.iter().all(|situation| situation.runs[0].systems[0].any_share().is_some()));
        let page = random_page(&situations);
        assert!(page.contains("| refused | pagurus |"), "{page}");
    }

    #[test]
    fn dsp_15_a_seed_is_one_situation_and_seeds_reach_the_ends_of_what_is_drawn() {
        let plans: Vec<LabPlan> = (1..=1000).map(draw).collect();
        assert_eq!(format!("{:?}", plans[6]), format!("{:?}", draw(7)));
        let systems = || plans.iter().flat_map(|plan| &plan.systems);
        let has = |of: fn(&LabSystem) -> bool| assert!(systems().filter(|system| of(system)).count() >= 10);
        has(|system| system.capacity.servers == 1);
        has(|system| system.capacity.servers >= 200);
        has(|system| system.capacity.takes < Duration::from_millis(10));
        has(|system| system.capacity.takes > Duration::from_secs(40));
        has(|system| system.variation > 2.5 && system.capacity.queue == 0);
        has(|system| system.variation < 0.5 && system.capacity.queue == ENDLESS);
        has(|system| system.technical_failures > 0.2);
        has(|system| system.is_asynchronous);
        for form in TimesForm::ALL {
            assert!(systems().filter(|system| system.form == *form).count() >= 100, "{form}");
        }
        for plan in &plans {
            let per_second: f64 = plan.systems.iter().map(|system| system.capacity.per_second()).sum();
            assert!(per_second <= MOST_A_SECOND * 1.01, "{}", plan.about);
        }
        assert!(
            plans.iter().any(|plan| plan.flows.len() >= 150)
                && plans.iter().any(|plan| plan.flows.len() == 1)
        );
        assert!(plans.iter().filter(|plan| !plan.take_overs.is_empty()).count() >= 50);
    }
}
