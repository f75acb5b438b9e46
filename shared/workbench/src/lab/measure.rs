//! The figures of a run, and whether they keep to their bounds.

use std::time::Duration;

use super::plan::{LabBound, LabPlan, Measure};
use super::trace::{FlowLook, SystemLook, Trace};

/// A bound with what was measured.
#[derive(Clone, Debug)]
pub struct LabFigure {
    /// The bound.
    pub bound: LabBound,
    /// Measured value; `None` if there was nothing to measure.
    pub value: Option<f64>,
}

impl LabFigure {
    /// True if the bound holds.
    #[must_use]
    pub fn holds(&self) -> bool {
        let bound = self.bound.bound;
        self.value.is_some_and(|value| if self.bound.of.is_least() { value >= bound } else { value <= bound })
    }
}

/// Times from when to when each flow had a stage, and what it would have been alone.
#[derive(Clone, Copy, Debug)]
pub(super) struct Dwells<'a> {
    /// By flow: when a stage ended, and how long it was since it was ready.
    pub(super) together: &'a [Vec<(u64, f32)>],
    /// The same of a flow that was alone.
    pub(super) alone: Option<&'a [(u64, f32)]>,
}

/// Measures one thing.
pub(super) fn measure(plan: &LabPlan, bound: &LabBound, trace: &Trace, dwells: Dwells) -> LabFigure {
    let (from, until) = (bound.from.as_secs_f64(), bound.until.as_secs_f64());
    let system = plan.systems.iter().position(|system| system.name == bound.name);
    let looks = system.map(|system| &*trace.systems[system]);
    let flows: Vec<usize> =
        (0..trace.names.len()).filter(|flow| trace.names[*flow].starts_with(&bound.name)).collect();
    let value = match (bound.of, looks) {
        (Measure::Share, Some(looks)) => share(looks, from, until),
        (Measure::Refused, Some(looks)) => refused(looks, from, until),
        (Measure::Back, Some(looks)) => back(looks, from, until),
        (Measure::Trip, Some(looks)) => {
            let [before, after] = [from, until].map(|second| Trace::system_at(looks, second));
            Some((after.failed - before.failed).saturating_sub(u64::from(before.in_use)) as f64)
        }
        (Measure::Base, Some(looks)) => system.and_then(|system| base(plan, system, looks, until)),
        (Measure::Swing, Some(looks)) => {
            let within = (0..looks.len()).filter(|at| (from..until).contains(&(*at as f64 / 4.0)));
            swing(within.map(|at| looks[at].limit.unwrap_or(looks[at].in_use)))
        }
        (Measure::Swing, None) => swing(limits(trace, &flows, from, until).map(|limit| limit.unwrap_or(0))),
        (Measure::Moves, _) => {
            let limits: Vec<Option<u32>> = limits(trace, &flows, from, until).collect();
            Some(limits.windows(2).filter(|pair| pair[0] != pair[1]).count() as f64)
        }
        (Measure::Fairness, None) => fairness(plan, trace, &flows, (from, until)),
        (Measure::Starved, None) => {
            let at = |flow: &&usize, second| Trace::flow_at(&trace.flows[**flow], second);
            let had_work = |flow: &&usize| at(flow, until).came > at(flow, from).ended;
            let starved =
                flows.iter().filter(had_work).filter(|flow| at(flow, until).ended == at(flow, from).ended);
            Some(starved.count() as f64)
        }
        (Measure::Wait, None) => flows.first().and_then(|flow| {
            let window = micros(bound.from)..micros(bound.until);
            let together = p99(&dwells.together[*flow], &window)?;
            Some(together / p99(dwells.alone?, &window)?)
        }),
        (Measure::Forecast, None) => {
            flows.first().and_then(|flow| forecast(&trace.flows[*flow], (from, until)))
        }
        _ => None,
    };
    LabFigure { bound: bound.clone(), value }
}

fn share(looks: &[SystemLook], from: f64, until: f64) -> Option<f64> {
    let [before, after] = [from, until].map(|second| Trace::system_at(looks, second));
    let within = looks.iter().enumerate().filter(|(at, _)| (from..until).contains(&(*at as f64 / 4.0)));
    let capacity: f64 = within.map(|(_, look)| look.capacity / 4.0).sum();
    (capacity > 0.0).then(|| (after.answered - before.answered) as f64 / capacity)
}

fn refused(looks: &[SystemLook], from: f64, until: f64) -> Option<f64> {
    let [before, after] = [from, until].map(|second| Trace::system_at(looks, second));
    let refused = (after.refused - before.refused) as f64;
    let all = refused + (after.answered - before.answered) as f64;
    (all > 0.0).then(|| refused / all)
}

/// A second in which nine tenths of the capacity are answered ends so long after the beginning.
fn back(looks: &[SystemLook], from: f64, until: f64) -> Option<f64> {
    let quarters = (from * 4.0).round() as usize + 4..=(until * 4.0).round() as usize;
    quarters.map(|quarter| quarter as f64 / 4.0).find_map(|end| {
        let [before, after] = [end - 1.0, end].map(|second| Trace::system_at(looks, second));
        let answered = (after.answered - before.answered) as f64;
        (answered >= 0.9 * after.capacity.min(before.capacity.max(1e-9)) && after.capacity > 0.0)
            .then_some(end - from)
    })
}

/// The learnt time of a calm call by the true mean.
fn base(plan: &LabPlan, system: usize, looks: &[SystemLook], until: f64) -> Option<f64> {
    let learnt = Trace::system_at(looks, until).base_ms?;
    let system = &plan.systems[system];
    let at = Duration::from_secs_f64(until);
    let last = system.changes.iter().rfind(|change| change.until <= at);
    let capacity = last.map_or(system.capacity, |change| change.capacity);
    Some(learnt / (capacity.takes.as_secs_f64() * 1e3))
}

fn limits<'a>(
    trace: &'a Trace,
    flows: &[usize],
    from: f64,
    until: f64,
) -> impl Iterator<Item = Option<u32>> + use<'a> {
    let looks: &[FlowLook] = flows.first().map_or(&[], |flow| &trace.flows[*flow]);
    let within =
        looks.iter().enumerate().filter(move |(second, _)| (from..until).contains(&(*second as f64)));
    within.map(|(_, look)| look.limit)
}

fn swing(values: impl Iterator<Item = u32>) -> Option<f64> {
    let values: Vec<f64> = values.map(f64::from).collect();
    let mean = values.iter().sum::<f64>() / values.len() as f64;
    let variance = values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / values.len() as f64;
    (mean > 0.0).then(|| variance.sqrt() / mean)
}

/// Jain, Chiu and Hawe 1984: one if all get the same for their weight, one by their number if one gets all.
fn fairness(plan: &LabPlan, trace: &Trace, flows: &[usize], (from, until): (f64, f64)) -> Option<f64> {
    let weight = |flow: &usize| {
        let planned = plan.flows.iter().find(|planned| planned.name == trace.names[*flow]);
        planned.map_or(1.0, |planned| f64::from(planned.weight))
    };
    let worked = |flow: &usize| {
        let at = |second| f64::from(Trace::flow_at(&trace.flows[*flow], second).worked);
        (at(until) - at(from)) / weight(flow)
    };
    let times: Vec<f64> = flows.iter().map(worked).collect();
    let squares: f64 = times.iter().map(|time| time * time).sum();
    (squares > 0.0).then(|| times.iter().sum::<f64>().powi(2) / (times.len() as f64 * squares))
}

/// The part of the seconds with a backlog in which the forecast of its end is right within a tenth, or within the second between two
/// looks. The backlog has gone when no more is ready than ends in a second.
fn forecast(looks: &[FlowLook], (from, until): (f64, f64)) -> Option<f64> {
    let is_gone = |pair: &[FlowLook]| pair[1].ready <= pair[1].ended - pair[0].ended;
    let start = from.round() as usize;
    let gone = looks.windows(2).skip(start).position(is_gone).filter(|after| *after > 0)? + start + 1;
    let end = gone.min(until.round() as usize);
    let is_right = |second: &usize| {
        let left = (gone - second) as f64;
        looks[*second].to_empty.is_some_and(|forecast| (forecast - left).abs() <= (left / 10.0).max(1.0))
    };
    (end > start).then(|| (start..end).filter(is_right).count() as f64 / (end - start) as f64)
}

fn p99(dwells: &[(u64, f32)], window: &std::ops::Range<u64>) -> Option<f64> {
    let mut times: Vec<f32> =
        dwells.iter().filter(|(at, _)| window.contains(at)).map(|(_, time)| *time).collect();
    times.sort_by(f32::total_cmp);
    let index = (times.len() * 99).div_ceil(100).checked_sub(1)?;
    Some(f64::from(times[index]))
}

fn micros(time: Duration) -> u64 {
    time.as_micros() as u64
}
