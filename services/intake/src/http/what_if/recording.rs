//! A record of the database as the laboratory plays it, with the rules that hold.

use std::collections::BTreeMap;

use pagurus_domain::number::saturated;
use pagurus_runtime::config::Settings;
use pagurus_runtime::stats::Series;
use pagurus_view::Recorded;
use pagurus_workbench::lab::{CallMinute, FlowMinute, LimitRules, RecordedFlow, RecordedSystem, Recording};

/// The record of a flow with the rules of the moment.
pub(super) fn of(flow: &str, record: &Recorded, settings: &Settings) -> Recording {
    let distribution = &settings.distribution;
    let rules = &distribution.flows;
    // The name under which the flow is counted may be cut.
    let names = std::iter::once(flow).chain(record.flows.iter().skip(1).map(String::as_str));
    let mut flows: Vec<RecordedFlow> = names
        .map(|name| {
            let policy = rules.policy_of(name);
            RecordedFlow {
                name: name.to_owned(),
                weight: policy.and_then(|policy| policy.weight).unwrap_or(1),
                max_limit: policy.and_then(|policy| policy.max_limit),
                minutes: vec![FlowMinute::default(); record.minutes],
                calls: BTreeMap::new(),
            }
        })
        .collect();
    let mut called_back = vec![0.0; record.systems.len()];
    for one in &record.counts {
        let Some(flow) = flows.get_mut(one.flow) else { continue };
        if let Some(minute) = flow.minutes.get_mut(one.minute) {
            match one.series {
                Series::FlowCame => minute.came += one.count,
                Series::FlowWaits => minute.waited += one.seconds,
                Series::FlowRepeats => minute.repeated += one.count,
                Series::FlowStages => {
                    minute.ended += one.count;
                    minute.took += one.seconds;
                }
                _ => {}
            }
        }
        let Some(system) = one.system else { continue };
        let calls = flow.calls.entry(system).or_insert_with(|| vec![CallMinute::default(); record.minutes]);
        let Some(minute) = calls.get_mut(one.minute) else { continue };
        match one.series {
            Series::CallsFailed => {
                minute.failed += one.count;
                minute.failure_seconds += one.seconds;
            }
            series => {
                minute.answered += one.count;
                minute.answer_seconds += one.seconds;
                called_back[system] += if series == Series::CalledBack { one.count } else { -one.count };
            }
        }
    }
    let system = |(name, called_back): (&String, f64)| RecordedSystem {
        name: name.clone(),
        is_named: settings.systems.rules.named.contains(name),
        is_asynchronous: called_back > 0.0,
    };
    Recording {
        rules: LimitRules {
            mode: rules.mode_of(flow),
            parallel: saturated::<u32>(distribution.parallel_count),
            sequential: saturated::<u32>(distribution.sequential_count),
            flow_share: distribution.flow_share,
            initial_limit: rules.initial_limit,
            overload: rules.overload_threshold_percentage,
        },
        flows,
        systems: record.systems.iter().zip(called_back).map(system).collect(),
    }
}
