//! Metrics of the dispatcher.

use std::time::Duration;

use pagurus_dispatch::Stats;
use pagurus_domain::flow::{ByPriority, FlowRecord, FlowState, Quantiles, SystemRecord, SystemState};
use pagurus_domain::order::{Mode, Priority};
use pagurus_runtime::metrics::{Level, Metrics};

/// Shows how much waits and runs.
pub(crate) fn show(metrics: &Metrics, stats: &Stats, longest_wait: Duration) {
    for (priority, waiting) in Priority::ALL.iter().zip(stats.waiting) {
        metrics.level(Level::Ready, priority.as_str(), waiting as f64);
    }
    for (mode, count) in [(Mode::Parallel, stats.parallel), (Mode::Sequential, stats.sequential)] {
        metrics.level(Level::InProgress, mode.as_str(), count as f64);
    }
    metrics.level(Level::AtCapacity, "", one_if(is_full(stats)));
    metrics.level(Level::ReadyAge, "", longest_wait.as_secs_f64());
}

/// True while stages wait and no node may take one more.
pub(crate) fn is_full(stats: &Stats) -> bool {
    let (places, in_progress) = stats.nodes.iter().fold((0, 0), |(places, in_progress), node| {
        (places + u64::from(node.allowance), in_progress + u64::from(node.in_progress))
    });
    stats.waiting.iter().sum::<usize>() > 0 && places > 0 && in_progress >= places
}

/// Shows the flows and systems that have changed.
pub(crate) fn show_flows(metrics: &Metrics, flows: &[FlowRecord], systems: &[SystemRecord]) {
    for flow in flows {
        let name = flow.flow.as_str();
        let ByPriority { high, normal, low } = flow.ready;
        for (priority, ready) in [(Priority::High, high), (Priority::Normal, normal), (Priority::Low, low)] {
            metrics.level_of(Level::FlowReady, &[name, priority.as_str()], f64::from(ready));
        }
        let oldest = flow.oldest_ready_since.map_or(f64::NAN, |since| since.as_millisecond() as f64 / 1e3);
        metrics.level(Level::FlowOldestReady, name, oldest);
        metrics.level(Level::FlowInProgress, name, f64::from(flow.in_progress));
        metrics.level(Level::FlowLimit, name, flow.limit.map_or(f64::NAN, f64::from));
        for state in FlowState::ALL {
            metrics.level_of(Level::FlowState, &[name, state.as_str()], one_if(flow.state == *state));
        }
        metrics.level(Level::FlowThroughput, name, flow.throughput);
        for (term, times) in [("short", flow.short_term), ("long", flow.long_term)] {
            for (quantile, seconds) in quantiles(times) {
                metrics.level_of(Level::FlowStage, &[name, term, quantile], seconds);
            }
        }
        for (quantile, seconds) in quantiles(flow.waits) {
            metrics.level_of(Level::FlowWait, &[name, quantile], seconds);
        }
        metrics.level(Level::FlowToEmpty, name, flow.seconds_to_empty.unwrap_or(f64::NAN));
        metrics.level(Level::FlowOpenRequests, name, f64::from(flow.open_requests));
    }
    for system in systems {
        let name = system.system.as_str();
        metrics.level(Level::SystemLimit, name, system.limit.map_or(f64::NAN, f64::from));
        for state in SystemState::ALL {
            let is_so = one_if(system.shown_state() == *state);
            metrics.level_of(Level::SystemState, &[name, state.as_str()], is_so);
        }
        metrics.level(Level::SystemFailedShare, name, system.failed_share.unwrap_or(f64::NAN));
        for (quantile, seconds) in quantiles(system.short_term) {
            metrics.level_of(Level::SystemRecentCall, &[name, quantile], seconds);
        }
        metrics.level(Level::SystemInProgress, name, f64::from(system.in_progress));
        metrics.level(Level::SystemThroughput, name, system.throughput);
    }
}

/// The middle and the far end of a distribution in seconds, by the value of the label.
fn quantiles(times: Quantiles) -> [(&'static str, f64); 2] {
    let seconds = |ms: Option<f64>| ms.map_or(f64::NAN, |ms| ms / 1000.0);
    [("0.5", seconds(times.p50_ms)), ("0.99", seconds(times.p99_ms))]
}

const fn one_if(holds: bool) -> f64 {
    if holds { 1.0 } else { 0.0 }
}
