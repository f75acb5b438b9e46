//! The laboratory (DSP-15): the dispatcher in virtual time, with flows, workers, called systems and news that comes late
//! or not at all, all of them from a file. Pure like the rest: chance comes from the seed of the file, time from a queue
//! of what happens, and the same file always gives the same report.

mod chance;
mod chart;
mod forecasts;
mod foresight;
mod instance;
mod library;
mod measure;
mod news;
mod page;
mod picture;
mod plan;
mod random;
mod read;
mod replay;
mod rivals;
mod server;
mod simulation;
mod stages;
#[cfg(test)]
// DSP-15: the library of situations, each held against its bounds.
mod tests;
mod trace;

use std::sync::Arc;

use pagurus_dispatch::{DispatchSettings, Dispatcher, LimitRule, Weights};
use pagurus_domain::flow::{Capacity, FlowPolicy, FlowRules, FlowShare, SystemRules};

pub use forecasts::Forecasts;
pub use library::{Situation, UNEXPLAINED, library, row_of};
use measure::Dwells;
pub use measure::LabFigure;
pub use page::page;
pub use picture::picture;
pub use plan::{
    LabBound, LabCapacity, LabChange, LabFlow, LabPlan, LabSystem, LimitRules, Measure, Outage, RateSwing,
    TimesForm,
};
pub use random::{
    RandomFigures, RandomMeasure, RandomRun, RandomSituation, draw, judge_random, oracle, random_page,
};
pub use read::read;
pub use replay::{
    CallMinute, FlowMinute, NoReplay, RecordedFlow, RecordedSystem, Recording, Replay, SystemEstimate, replay,
};
use simulation::Simulation;
pub use trace::{FlowLook, SystemLook, Trace};

/// Outcome under one rule.
#[derive(Clone, Debug)]
pub struct LabRun {
    /// The rule.
    pub rule: String,
    /// Measurements.
    pub figures: Vec<LabFigure>,
    /// Recorded figures.
    pub trace: Trace,
    /// Start estimates of orders that had to wait, by flow.
    pub forecasts: Vec<Forecasts>,
}

impl LabRun {
    /// The same with its figures only: what was seen takes much memory.
    #[must_use]
    pub fn without_trace(self) -> Self {
        let nothing = Trace { systems: Vec::new(), names: Vec::new(), flows: Vec::new() };
        Self { trace: nothing, ..self }
    }
}

/// Runs a situation with the rule of the policy.
#[must_use]
pub fn run(plan: &LabPlan) -> LabRun {
    run_with(plan, "pagurus", Dispatcher::new)
}

/// Runs a situation with other rules: three fixed limits, AIMD, Gradient2 and ARC.
#[must_use]
pub fn compare(plan: &LabPlan) -> Vec<LabRun> {
    let servers = plan.systems.first().map_or(10.0, |system| f64::from(system.capacity.servers));
    let with = |name: &str, make: fn(f64) -> Box<dyn LimitRule>, limit: f64| {
        run_with(plan, name, |settings| Dispatcher::with_rule(settings, move || make(limit)))
    };
    vec![
        with("fixed, too low", |limit| Box::new(rivals::Fixed(limit)), (servers * 0.4).ceil()),
        with("fixed, right", |limit| Box::new(rivals::Fixed(limit)), (servers * 1.25).ceil()),
        with("fixed, too high", |limit| Box::new(rivals::Fixed(limit)), servers * 10.0),
        with("AIMD", |_| Box::new(rivals::Aimd::default()), 0.0),
        with("Gradient2", |_| Box::new(rivals::Gradient2::default()), 0.0),
        with("ARC", |_| Box::new(rivals::Arc::default()), 0.0),
    ]
}

/// A rule of others, by its name.
type NamedRule = (&'static str, fn() -> Box<dyn LimitRule>);

/// The rules of others that learn, and no limit at all.
fn rules() -> [NamedRule; 4] {
    [
        ("AIMD", || Box::new(rivals::Aimd::default())),
        ("Gradient2", || Box::new(rivals::Gradient2::default())),
        ("ARC", || Box::new(rivals::Arc::default())),
        ("no limit", || Box::new(rivals::Fixed(f64::from(u32::MAX)))),
    ]
}

fn run_random(plan: &LabPlan, name: &str, make: fn() -> Box<dyn LimitRule>) -> LabRun {
    run_with(plan, name, |settings| Dispatcher::with_rule(settings, make))
}

/// Runs a situation with a limit that never moves.
fn fixed(plan: &LabPlan, limit: f64) -> LabRun {
    run_with(plan, "fixed", |settings| {
        Dispatcher::with_rule(settings, move || Box::new(rivals::Fixed(limit)))
    })
}

fn run_with(plan: &LabPlan, rule: &str, make: impl Fn(DispatchSettings) -> Dispatcher) -> LabRun {
    let settings = settings(plan);
    let make = || make(settings.clone());
    let mut world = Simulation::new(plan, &make);
    world.run();
    let together: Vec<Vec<(u64, f32)>> =
        world.instances.iter_mut().map(|instance| std::mem::take(&mut instance.dwells)).collect();
    let figures = plan.bounds.iter().map(|bound| {
        let alone = (bound.of == Measure::Wait).then(|| alone(plan, &bound.name, &make)).flatten();
        let dwells = Dwells { together: &together, alone: alone.as_deref() };
        measure::measure(plan, bound, &world.trace, dwells)
    });
    let figures = figures.collect();
    let forecasts = world.instances.iter().map(|instance| instance.forecasts).collect();
    LabRun { rule: rule.to_owned(), figures, trace: world.trace.clone(), forecasts }
}

/// Runs a flow alone: when its stages ended and how long they were.
fn alone(plan: &LabPlan, name: &str, make: &impl Fn() -> Dispatcher) -> Option<Vec<(u64, f32)>> {
    let flows = plan.flows.iter().filter(|flow| flow.name.starts_with(name)).cloned().collect();
    let plan = LabPlan { flows, ..plan.clone() };
    let mut world = Simulation::new(&plan, make);
    world.run();
    world.instances.first_mut().map(|instance| std::mem::take(&mut instance.dwells))
}

fn settings(plan: &LabPlan) -> DispatchSettings {
    let named = plan.systems.iter().filter(|system| system.is_named).map(|system| system.name.clone());
    let classes = plan
        .flows
        .iter()
        .flat_map(|flow| ["away", "throttling"].map(|class| (class.to_owned(), flow.name.clone())));
    let bounded = plan.flows.iter().filter(|flow| flow.weight != 1 || flow.max_limit.is_some());
    let policy = |flow: &LabFlow| FlowPolicy {
        name: flow.name.clone(),
        scenarios: [flow.name.clone()].into(),
        mode: None,
        max_limit: flow.max_limit,
        weight: Some(flow.weight),
    };
    let flows = FlowRules {
        mode: plan.rules.mode,
        overload_threshold_percentage: plan.rules.overload,
        initial_limit: plan.rules.initial_limit,
        policies: bounded.map(policy).collect(),
        limiting_classes: classes.collect(),
        ..FlowRules::default()
    };
    DispatchSettings {
        capacity: Capacity { parallel: plan.rules.parallel, sequential: plan.rules.sequential },
        weights: Weights { high: 70, normal: 25, low: 5 },
        flow_share: FlowShare { percentage: plan.rules.flow_share },
        flows: Arc::new(flows),
        systems: Arc::new(SystemRules { named: named.collect(), ..SystemRules::default() }),
        ..DispatchSettings::default()
    }
}
