//! A workflow as a picture: SVG for pages and files, Mermaid for texts that draw it themselves
//! (SCN-13).
//!
//! The same scenario always gives the same picture. A picture holds no script and fetches nothing;
//! every text of the scenario is escaped.

mod layout;
mod mermaid;
mod svg;

use pagurus_scenario::{Action, CalledOperation, Scenario, State, StateId, StateKind, TerminalOutcome};

/// Draws the workflow as an SVG document that works on light and on dark pages.
///
/// Shapes tell the kind of a state, colours tell its end: green is a target, red a failure. A bar
/// at the left marks an entry point. By the names in its `data` attributes pages find states, ways and
/// operations.
#[must_use]
pub fn svg(scenario: &Scenario) -> String {
    svg::draw(scenario)
}

/// Writes the workflow as a Mermaid state diagram.
#[must_use]
pub fn mermaid(scenario: &Scenario) -> String {
    mermaid::write(scenario)
}

/// A way from state to state, with all events that lead along it.
#[derive(Clone, Debug, PartialEq, Eq)]
struct GraphEdge {
    from: usize,
    to: usize,
    /// Words and names of events, and `call:NAME` of calls.
    events: Vec<String>,
}

impl GraphEdge {
    /// The events as the label of an arrow.
    fn label(&self) -> String {
        self.events.join(", ")
    }
}

/// The operations that a state runs.
fn operations(state: &State) -> impl Iterator<Item = &CalledOperation> {
    state.folded().filter_map(|action| match action {
        Action::Enter(enter) => Some(&*enter.operation),
        _ => None,
    })
}

/// The operations that a state runs as people read them, each with its version where it is a stored one.
fn runs(state: &State) -> String {
    let name = |operation: &CalledOperation| match operation.version {
        Some(version) => format!("{} version {version}", operation.name),
        None => operation.name.clone(),
    };
    operations(state).map(name).collect::<Vec<String>>().join(", ")
}

/// All ways, in the order of the states and of their events.
fn ways(scenario: &Scenario) -> Vec<GraphEdge> {
    let mut ways: Vec<GraphEdge> = Vec::new();
    for (from, state) in scenario.states.iter().enumerate() {
        let events = state.on.iter().map(|(event, to)| (event.to_string(), to));
        let named = state.named.iter().map(|(name, to)| (name.clone(), to));
        let calls = state.calls.iter().map(|(name, to)| (format!("call:{name}"), to));
        for (word, StateId(to)) in events.chain(named).chain(calls) {
            match ways.iter_mut().find(|way| way.from == from && way.to == *to) {
                Some(way) => way.events.push(word),
                None => ways.push(GraphEdge { from, to: *to, events: vec![word] }),
            }
        }
    }
    ways
}

/// Meaning of a terminal state for the order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Tone {
    /// A state that is no end.
    Between,
    Target,
    /// Another success.
    End,
    Fail,
}

fn tone(scenario: &Scenario, at: usize) -> Tone {
    let state = &scenario.states[at];
    match (state.kind, state.outcome) {
        (StateKind::Terminal, TerminalOutcome::Fail) => Tone::Fail,
        (StateKind::Terminal, _) if scenario.targets.contains(&StateId(at)) => Tone::Target,
        (StateKind::Terminal, _) => Tone::End,
        _ => Tone::Between,
    }
}

#[cfg(test)]
mod tests;
