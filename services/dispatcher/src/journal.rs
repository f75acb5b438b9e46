//! Decisions about flows and called systems in the log of the active dispatcher: a line for each stop, trip, probe, resumption
//! and change by hand, with the numbers behind it. Never decides anything.

use std::collections::HashMap;

use jiff::Timestamp;
use pagurus_domain::flow::{Decision, FlowRecord, SystemRecord};
use pagurus_domain::maintenance::WindowTarget;
use pagurus_store::upkeep::stops::OperatorRules;

/// Flows and systems whose last line is remembered at most. Of more, those whose lines are old are forgotten: each may
/// repeat its line once.
const MOST: usize = 20_000;

/// Lines that were written.
#[derive(Debug)]
pub(crate) struct Journal {
    /// Decisions from before are in the log of the dispatcher that made them.
    since: Timestamp,
    /// Time of the last decision that was written, and how many of that moment were, by flow or system.
    written: HashMap<(Subject, String), (Timestamp, usize)>,
}

/// Kind of thing that a decision is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Subject {
    Flow,
    System,
}

impl Journal {
    /// Creates a journal that begins now.
    pub fn new(since: Timestamp) -> Self {
        Self { since, written: HashMap::new() }
    }

    /// Writes the decisions about these that were not written yet.
    pub fn note(&mut self, flows: &[FlowRecord], systems: &[SystemRecord]) {
        for flow in flows {
            for decision in self.fresh(Subject::Flow, &flow.flow, &flow.decisions) {
                let Decision { state, limit, why, .. } = decision;
                let (in_progress, open, ready) = (flow.in_progress, flow.open_requests, flow.ready.sum());
                if is_step(&decision.state) {
                    tracing::debug!(flow = flow.flow, state, limit, in_progress, open, ready, "{why}");
                } else {
                    tracing::info!(flow = flow.flow, state, limit, in_progress, open, ready, "{why}");
                }
            }
        }
        for system in systems {
            for decision in self.fresh(Subject::System, &system.system, &system.decisions) {
                let Decision { state, limit, why, .. } = decision;
                let (in_progress, open) = (system.in_progress, system.open_requests);
                if is_step(&decision.state) {
                    tracing::debug!(system = system.system, state, limit, in_progress, open, "{why}");
                } else {
                    tracing::info!(system = system.system, state, limit, in_progress, open, "{why}");
                }
            }
        }
        if self.written.len() > MOST {
            let mut times: Vec<Timestamp> = self.written.values().map(|(at, _)| *at).collect();
            times.sort_unstable();
            let middle = times[times.len() / 2];
            self.written.retain(|_, (at, _)| *at > middle);
        }
    }

    /// Writes which rules of operators came and went.
    pub fn rules(before: &OperatorRules, after: &OperatorRules) {
        let news = |is: bool| if is { "set" } else { "over or lifted" };
        let mut changes = Vec::new();
        for (rules, others, is_new) in [(after, before, true), (before, after, false)] {
            let gone = rules.stops.iter().filter(|stop| !others.stops.contains(stop));
            changes.extend(
                gone.map(|stop| (format!("stop {} of `{}`", stop.no, stop.keyword), stop.until, is_new)),
            );
            let gone = rules.overrides.iter().filter(|order| !others.overrides.contains(order));
            changes.extend(
                gone.map(|one| (format!("order {} about `{}`", one.order, one.system), one.until, is_new)),
            );
            let gone = rules.windows.iter().filter(|window| !others.windows.contains(window));
            changes.extend(gone.map(|window| {
                let target = match &window.target {
                    WindowTarget::Flows(keyword) => format!("flows with `{keyword}`"),
                    WindowTarget::System(system) => format!("system `{system}`"),
                };
                (format!("maintenance window {} of {target}", window.no), None, is_new)
            }));
        }
        for (rule, until, is_new) in changes {
            let until = until.map(|until: Timestamp| until.to_string());
            tracing::info!(until, "{rule} is {}", news(is_new));
        }
    }

    /// Returns the decisions that were not written yet, and marks them as written.
    fn fresh<'a>(&mut self, subject: Subject, name: &str, decisions: &'a [Decision]) -> &'a [Decision] {
        let Some(last) = decisions.last().filter(|last| last.at >= self.since) else { return &[] };
        let key = (subject, name.to_owned());
        let (at, count) = self.written.get(&key).copied().unwrap_or((self.since, 0));
        let known = decisions.iter().filter(|one| one.at < at).count();
        let of_moment = decisions.iter().filter(|one| one.at == at).count().min(count);
        let same = decisions.iter().filter(|one| one.at == last.at).count();
        self.written.insert(key, (last.at, same));
        &decisions[known + of_moment..]
    }
}

/// True for a step of a limit, of which there may be several in a second.
fn is_step(state: &str) -> bool {
    matches!(state, "limited" | "slowing")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dsp_14_each_decision_is_written_once() {
        let at = |second| Timestamp::from_second(second).unwrap_or_default();
        let decision = |second, why: &str| Decision {
            at: at(second),
            state: "stopped".into(),
            limit: None,
            why: why.into(),
        };
        let all = [decision(1, "a"), decision(5, "b"), decision(5, "c"), decision(6, "d"), decision(9, "e")];
        let mut journal = Journal::new(at(5));
        let mut fresh = |count: usize| {
            let fresh = journal.fresh(Subject::Flow, "f", &all[..count]);
            fresh.iter().map(|one| one.why.as_str()).collect::<String>()
        };
        assert_eq!(fresh(1), "", "another dispatcher has written it");
        assert_eq!(fresh(2), "b");
        assert_eq!(fresh(3), "c", "two of one moment");
        assert_eq!(fresh(3), "");
        assert_eq!(fresh(5), "de");
        assert_eq!(
            journal.fresh(Subject::System, "f", &all).len(),
            4,
            "a system may have the name of a flow"
        );
    }
}
