//! Decisions about flows and called systems in the log of the active dispatcher, and as rows of their history: a line for
//! each stop, trip, probe, resumption and change by hand, with the numbers behind it. Never decides anything.

use std::collections::{HashMap, HashSet};

use jiff::Timestamp;
use pagurus_domain::flow::{
    Decision, DecisionNumbers, DecisionSubject, FlowRecord, FlowState, SystemRecord, SystemState,
};
use pagurus_domain::maintenance::WindowTarget;
use pagurus_store::upkeep::decisions::NewDecision;
use pagurus_store::upkeep::stops::OperatorRules;

use crate::history::{About, SubjectHistory};
use crate::holding::HoldingRules;

/// Flows and systems whose last line is remembered at most. Of more, those whose lines are old are forgotten: each may
/// repeat its line once, and its row is known by its time.
const MOST: usize = 20_000;

/// Lines that were written.
#[derive(Debug)]
pub(crate) struct Journal {
    /// Decisions from before are in the log of the dispatcher that made them, and their rows were written with its records.
    since: Timestamp,
    subjects: HashMap<(DecisionSubject, String), SubjectMemory>,
    /// Called systems that are left alone, as of their last records.
    away: HashSet<String>,
    rules: OperatorRules,
    /// True if rules have changed since everything that is remembered was held against them.
    rules_changed: bool,
}

/// Memory of a flow or a system.
#[derive(Debug, Default)]
struct SubjectMemory {
    /// Time of the last decision that was written, and how many of that moment were.
    written: Option<(Timestamp, usize)>,
    history: SubjectHistory,
}

impl Journal {
    /// Creates a journal that begins now.
    pub fn new(since: Timestamp) -> Self {
        Self {
            since,
            subjects: HashMap::new(),
            away: HashSet::new(),
            rules: OperatorRules::default(),
            rules_changed: false,
        }
    }

    /// Takes over from the dispatcher before: what its records and these rules say is written already.
    pub fn remember(
        &mut self,
        flows: &[FlowRecord],
        systems: &[SystemRecord],
        rules: OperatorRules,
        now: Timestamp,
    ) {
        self.away = systems.iter().filter(|one| is_away(one)).map(|one| one.system.clone()).collect();
        let holding = HoldingRules::at(&rules, now);
        for flow in flows.iter().filter(|flow| !goes(flow)) {
            let held_by = match flow.state {
                FlowState::DisabledManually => holding.of_flow(&flow.flow),
                _ => Vec::new(),
            };
            let history = SubjectHistory::known(held_by, is_held_by_systems(flow));
            self.seed(DecisionSubject::Flow, &flow.flow, history);
        }
        for system in systems.iter().filter(|one| one.state == SystemState::Stopped) {
            let history = SubjectHistory::known(holding.of_system(&system.system), false);
            self.seed(DecisionSubject::System, &system.system, history);
        }
        self.rules = rules;
    }

    fn seed(&mut self, subject: DecisionSubject, name: &str, history: SubjectHistory) {
        self.subjects.insert((subject, name.to_owned()), SubjectMemory { written: None, history });
    }

    /// Goes by these rules from now on.
    pub fn follow(&mut self, rules: OperatorRules) {
        self.rules = rules;
        self.rules_changed = true;
    }

    /// Writes the decisions about these that were not written yet; the rows of them.
    pub fn note(
        &mut self,
        flows: &[FlowRecord],
        systems: &[SystemRecord],
        now: Timestamp,
    ) -> Vec<NewDecision> {
        let rules = self.rules.clone();
        let holding = HoldingRules::at(&rules, now);
        let mut rows = Vec::new();
        for system in systems {
            if is_away(system) {
                self.away.insert(system.system.clone());
            } else {
                self.away.remove(&system.system);
            }
            self.note_system(system, &holding, &mut rows);
        }
        for flow in flows {
            self.note_flow(flow, &holding, &mut rows);
        }
        if std::mem::take(&mut self.rules_changed) {
            self.note_overlaps(&holding, &mut rows);
        }
        self.forget_old();
        rows
    }

    fn note_flow(&mut self, flow: &FlowRecord, holding: &HoldingRules<'_>, rows: &mut Vec<NewDecision>) {
        let name = flow.flow.as_str();
        let fresh = self.fresh(DecisionSubject::Flow, name, &flow.decisions);
        for (_, decision) in &fresh {
            let Decision { state, limit, why, .. } = decision;
            let (in_progress, open, ready) = (flow.in_progress, flow.open_requests, flow.ready.sum());
            if is_step(decision, &flow.decisions) {
                tracing::debug!(flow = name, state, limit, in_progress, open, ready, "{why}");
            } else {
                tracing::info!(flow = name, state, limit, in_progress, open, ready, "{why}");
            }
        }
        let held_by = holding.of_flow(name);
        let by_systems = is_held_by_systems(flow);
        let key = (DecisionSubject::Flow, name.to_owned());
        if fresh.is_empty() && held_by.is_empty() && !by_systems && !self.subjects.contains_key(&key) {
            return;
        }
        let history = &mut self.subjects.entry(key).or_default().history;
        let numbers = DecisionNumbers::of_flow(flow);
        let about =
            About { subject: DecisionSubject::Flow, name, state: flow.state.as_str(), numbers: &numbers };
        history.held(&about, held_by, holding.now, rows);
        let away = || flow.systems.iter().find(|system| self.away.contains(*system)).map(String::as_str);
        history.left_alone(&about, by_systems, away(), holding.now, rows);
        history.decided(&about, &fresh, rows);
    }

    fn note_system(
        &mut self,
        system: &SystemRecord,
        holding: &HoldingRules<'_>,
        rows: &mut Vec<NewDecision>,
    ) {
        let name = system.system.as_str();
        let fresh = self.fresh(DecisionSubject::System, name, &system.decisions);
        for (_, decision) in &fresh {
            let Decision { state, limit, why, .. } = decision;
            let (in_progress, open) = (system.in_progress, system.open_requests);
            if is_step(decision, &system.decisions) {
                tracing::debug!(system = name, state, limit, in_progress, open, "{why}");
            } else {
                tracing::info!(system = name, state, limit, in_progress, open, "{why}");
            }
        }
        let held_by = holding.of_system(name);
        let key = (DecisionSubject::System, name.to_owned());
        if fresh.is_empty() && held_by.is_empty() && !self.subjects.contains_key(&key) {
            return;
        }
        let history = &mut self.subjects.entry(key).or_default().history;
        let numbers = DecisionNumbers::of_system(system);
        let about =
            About { subject: DecisionSubject::System, name, state: system.state.as_str(), numbers: &numbers };
        history.held(&about, held_by, holding.now, rows);
        history.decided(&about, &fresh, rows);
    }

    /// Notes rules that came to hold what others hold already: that changes nothing, so no record shows it.
    fn note_overlaps(&mut self, holding: &HoldingRules<'_>, rows: &mut Vec<NewDecision>) {
        let numbers = DecisionNumbers::default();
        for ((subject, name), one) in &mut self.subjects {
            let (held_by, state) = match subject {
                DecisionSubject::Flow => (holding.of_flow(name), FlowState::DisabledManually.as_str()),
                DecisionSubject::System => (holding.of_system(name), SystemState::Stopped.as_str()),
            };
            if !held_by.is_empty() && one.history.is_held() {
                let about = About { subject: *subject, name, state, numbers: &numbers };
                one.history.held(&about, held_by, holding.now, rows);
            }
        }
    }

    fn forget_old(&mut self) {
        if self.subjects.len() > MOST {
            let mut times: Vec<_> = self.subjects.values().map(|one| one.written).collect();
            times.sort_unstable();
            let middle = times[times.len() / 2];
            self.subjects.retain(|_, one| one.written > middle);
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

    /// Returns the decisions that were not written yet, each with its number among those of its moment, and marks them as
    /// written.
    fn fresh<'a>(
        &mut self,
        subject: DecisionSubject,
        name: &str,
        decisions: &'a [Decision],
    ) -> Vec<(usize, &'a Decision)> {
        let Some(last) = decisions.last().filter(|last| last.at >= self.since) else { return Vec::new() };
        let remembered = self.subjects.entry((subject, name.to_owned())).or_default();
        let (at, count) = remembered.written.unwrap_or((self.since, 0));
        let known = decisions.iter().filter(|one| one.at < at).count();
        let of_moment = decisions.iter().filter(|one| one.at == at).count().min(count);
        let same = |moment: Timestamp| decisions.iter().filter(|one| one.at == moment).count();
        remembered.written = Some((last.at, same(last.at)));
        let first_of = |moment: Timestamp| decisions.iter().filter(|one| one.at < moment).count();
        let fresh = decisions.iter().enumerate().skip(known + of_moment);
        fresh.map(|(index, one)| (index - first_of(one.at).min(index), one)).collect()
    }
}

/// True for a step of a limit, of which there may be several in a second, and not for the first limit after a stop.
fn is_step(decision: &Decision, all: &[Decision]) -> bool {
    let before = all.iter().take_while(|one| !std::ptr::eq(*one, decision)).last();
    let resumes = before.is_some_and(|before| matches!(before.state.as_str(), "stopped" | "probing"));
    matches!(decision.state.as_str(), "limited" | "slowing") && !resumes
}

const fn is_away(system: &SystemRecord) -> bool {
    matches!(system.state, SystemState::Stopped | SystemState::Probing)
}

const fn goes(flow: &FlowRecord) -> bool {
    matches!(flow.state, FlowState::Enabled | FlowState::Limited)
}

/// True if a flow does not go because of systems that it calls, and not by its own failures or by a rule.
fn is_held_by_systems(flow: &FlowRecord) -> bool {
    let own = flow.decisions.last().is_some_and(|last| matches!(last.state.as_str(), "stopped" | "probing"));
    matches!(flow.state, FlowState::Stopped | FlowState::Probing) && !own
}

#[cfg(test)]
mod tests;
