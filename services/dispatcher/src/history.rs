//! Rows of the history of one flow or called system (DSP-14): which of its decisions have a row of their own. An outage of
//! days and a limit that moves all the time leave a bounded number of rows; what is left out is counted in the next row.

use jiff::{SignedDuration, Timestamp};
use pagurus_domain::flow::{Decision, DecisionNumbers, DecisionSubject, FlowState, SystemOrder};
use pagurus_store::upkeep::decisions::{DecisionOrigin, NewDecision};

use crate::holding::{HoldingRule, RuleName};

/// Stops and probes of one outage that all have rows; of further ones one a minute has.
const ALL_TRIES: u32 = 20;
/// Least time between rows of further ones.
const APART: SignedDuration = SignedDuration::from_secs(60);
/// A limit that has moved by less than this part of it since its last row has none: it may move several times a second.
const NOISE: u32 = 5;

/// Flow or system that rows are about, as it is now.
#[derive(Debug)]
pub(crate) struct About<'a> {
    /// Kind.
    pub subject: DecisionSubject,
    /// Name.
    pub name: &'a str,
    /// State.
    pub state: &'a str,
    /// Figures.
    pub numbers: &'a DecisionNumbers,
}

impl About<'_> {
    fn row(&self, at: Timestamp, key: String, why: String, origin: DecisionOrigin) -> NewDecision {
        NewDecision {
            subject: self.subject,
            name: self.name.to_owned(),
            at,
            key,
            state: self.state.to_owned(),
            limit: None,
            why,
            numbers: self.numbers.clone(),
            left_out: 0,
            origin,
        }
    }
}

/// Memory of the rows of a flow or a system.
#[derive(Debug, Default)]
pub(crate) struct SubjectHistory {
    held_by: Vec<HoldingRule>,
    /// True while a flow does not go because of systems that it calls.
    is_left_alone: bool,
    /// State, limit and time of the last row of a decision.
    last: Option<(String, Option<u32>, Timestamp)>,
    /// Stops and probes in a row.
    tries: u32,
    left_out: u32,
}

impl SubjectHistory {
    /// History that another dispatcher has begun.
    pub fn known(held_by: Vec<HoldingRule>, is_left_alone: bool) -> Self {
        Self { held_by, is_left_alone, ..Self::default() }
    }

    /// True while a rule of an operator holds it.
    pub const fn is_held(&self) -> bool {
        !self.held_by.is_empty()
    }

    /// Writes which rules of operators came to hold it, and which are over.
    pub fn held(
        &mut self,
        about: &About<'_>,
        held_by: Vec<HoldingRule>,
        now: Timestamp,
        rows: &mut Vec<NewDecision>,
    ) {
        let lacks = |rules: &[HoldingRule], one: &HoldingRule| !rules.iter().any(|other| other.is(one));
        let is_replaced = held_by.iter().any(|one| matches!(one.name, RuleName::Order(_)));
        for gone in self.held_by.iter().filter(|one| lacks(&held_by, one)) {
            // The row of the new order says it all.
            if !(is_replaced && matches!(gone.name, RuleName::Order(_))) {
                rows.push(over(about, gone, now));
            }
        }
        for come in held_by.iter().filter(|one| lacks(&self.held_by, one)) {
            let (key, why, origin) = match come.name {
                RuleName::Stop(no) => (
                    format!("stop {no}"),
                    format!("stop {no} of flows with `{}`", come.keyword),
                    DecisionOrigin::Stop(no),
                ),
                RuleName::Window(no) => (
                    format!("window {no}"),
                    format!("maintenance window {no} began"),
                    DecisionOrigin::Window(no),
                ),
                RuleName::Order(order) => {
                    ("order".to_owned(), format!("ordered to {}", words(order)), DecisionOrigin::Order)
                }
            };
            rows.push(about.row(come.from, key, why, origin));
        }
        self.held_by = held_by;
    }

    /// Writes that a flow does not go because of a system that it calls, or goes again.
    pub fn left_alone(
        &mut self,
        about: &About<'_>,
        is_left_alone: bool,
        system: Option<&str>,
        now: Timestamp,
        rows: &mut Vec<NewDecision>,
    ) {
        if std::mem::replace(&mut self.is_left_alone, is_left_alone) == is_left_alone {
            return;
        }
        let (key, why) = match (is_left_alone, system) {
            (true, Some(system)) => ("away", format!("the system `{system}` that it calls is left alone")),
            (true, None) => ("away", "a system that it calls is left alone".to_owned()),
            (false, _) => ("back", "no system that it calls holds it any more".to_owned()),
        };
        rows.push(about.row(now, key.to_owned(), why, DecisionOrigin::Engine));
    }

    /// Writes decisions of the control, each with its number among those of its moment.
    pub fn decided(
        &mut self,
        about: &About<'_>,
        decisions: &[(usize, &Decision)],
        rows: &mut Vec<NewDecision>,
    ) {
        // The rules that stop a flow have rows of their own.
        let is_rule = |state: &str| state == FlowState::DisabledManually.as_str();
        for (number, decision) in decisions.iter().filter(|(_, one)| !is_rule(&one.state)) {
            if !self.deserves_a_row(decision) {
                self.left_out = self.left_out.saturating_add(1);
                continue;
            }
            self.last = Some((decision.state.clone(), decision.limit, decision.at));
            let key = format!("decision {number}");
            rows.push(NewDecision {
                state: decision.state.clone(),
                limit: decision.limit,
                left_out: std::mem::take(&mut self.left_out),
                ..about.row(decision.at, key, decision.why.clone(), DecisionOrigin::Engine)
            });
        }
    }

    fn deserves_a_row(&mut self, decision: &Decision) -> bool {
        let is_try = |state: &str| matches!(state, "stopped" | "probing");
        if !is_try(&decision.state) {
            self.tries = 0;
        }
        let Some((state, limit, at)) = &self.last else { return true };
        if is_try(&decision.state) {
            self.tries = self.tries.saturating_add(1);
            return self.tries <= ALL_TRIES || decision.at.duration_since(*at) >= APART;
        }
        *state != decision.state || has_moved(*limit, decision.limit)
    }
}

/// Row of a rule that is over, by itself or by hand.
fn over(about: &About<'_>, rule: &HoldingRule, now: Timestamp) -> NewDecision {
    let by_itself = rule.until.filter(|until| *until <= now);
    let how = |by_hand: &'static str| if by_itself.is_some() { "is over" } else { by_hand };
    let (key, why, by_hand) = match rule.name {
        RuleName::Stop(no) => (
            format!("stop {no} over"),
            format!("stop {no} of flows with `{}` {}", rule.keyword, how("was lifted")),
            DecisionOrigin::StopLifted(no),
        ),
        RuleName::Window(no) => (
            format!("window {no} over"),
            format!("maintenance window {no} {}", how("was ended early")),
            DecisionOrigin::WindowOver(no),
        ),
        RuleName::Order(order) => (
            "order over".to_owned(),
            format!("the order to {} {}", words(order), how("was taken back")),
            DecisionOrigin::OrderOver,
        ),
    };
    let origin = if by_itself.is_some() { DecisionOrigin::Engine } else { by_hand };
    about.row(by_itself.unwrap_or(now), key, why, origin)
}

const fn words(order: SystemOrder) -> &'static str {
    match order {
        SystemOrder::KeepStopped => "keep it stopped",
        SystemOrder::ForceOpen => "call it whatever its failures say",
    }
}

/// True if a limit has moved by more than noise.
fn has_moved(before: Option<u32>, after: Option<u32>) -> bool {
    match (before, after) {
        (Some(before), Some(after)) => before.abs_diff(after).saturating_mul(NOISE) >= before.max(1),
        (before, after) => before != after,
    }
}
