//! Orders that wait for others: conditions written at registration, settled when those have ended, looked at by activators.

use pagurus_domain::activation::Stream;
use pagurus_domain::id::OrderNo;
use pagurus_domain::order::Status;
use pagurus_domain::order::change::Waking;
use pagurus_domain::order::dependency::{Otherwise, Stand, StartDecision, StartMode, judge, verdict};
use pagurus_domain::order::registration::NewOrder;

use super::Tables;
use super::rows::{DueRow, ReadyStage};
use crate::planted::Planted;

/// A condition of an order that waits, by the id of the order that it waits for.
#[derive(Clone, Debug)]
pub struct DependencyRow {
    /// The states that would do.
    pub states: Vec<String>,
    /// Consequence if it ends in another state.
    pub otherwise: Otherwise,
    /// True if the end of the other order settles it.
    pub is_reactive: bool,
    /// State of the condition at the last look.
    pub stand: Stand,
}

/// Result of a look at the conditions of orders.
#[derive(Clone, Debug, Default)]
pub struct Settled {
    /// Stages that may run now.
    pub ready: Vec<ReadyStage>,
    /// Orders that are to end, and whether they fail by it.
    pub ends: Vec<(OrderNo, bool)>,
}

impl Tables {
    /// Status and state of the order with this id.
    fn known(&self, id: &str) -> Option<(Status, Option<&str>)> {
        let order = self.orders.get(self.by_id.get(id)?)?;
        Some((order.status, order.step.as_deref()))
    }

    /// The conditions of an order that is registered now, by what is there.
    pub(super) fn first_conditions(&self, order: &NewOrder) -> Vec<(String, DependencyRow)> {
        let of = |one: &pagurus_domain::order::dependency::Precondition| DependencyRow {
            states: one.states.clone(),
            otherwise: one.otherwise.unwrap_or(order.start_mode.otherwise()),
            is_reactive: order.start_mode == StartMode::Reactive,
            stand: judge(Stand::Unknown, &one.states, self.known(&one.order)),
        };
        order.request.after.iter().map(|one| (one.order.clone(), of(one))).collect()
    }

    /// Makes an order that is registered only now known to the orders that wait for it.
    pub(super) fn notice(&mut self, id: &str) {
        for ((_, before), row) in &mut self.dependencies {
            if before == id && row.stand == Stand::Unknown {
                row.stand = Stand::Found;
            }
        }
    }

    fn conditions_of(&self, no: OrderNo) -> Vec<String> {
        let own = (no, String::new())..;
        self.dependencies
            .range(own)
            .take_while(|((of, _), _)| *of == no)
            .map(|((_, id), _)| id.clone())
            .collect()
    }

    /// The conditions of an order, judged by what is there now, and stored so; what follows.
    fn judged(&mut self, no: OrderNo) -> StartDecision {
        let mut stands = Vec::new();
        for before in self.conditions_of(no) {
            let key = (no, before);
            let Some(row) = self.dependencies.get(&key) else { continue };
            let stand = judge(row.stand, &row.states, self.known(&key.1));
            let otherwise = row.otherwise;
            if let Some(row) = self.dependencies.get_mut(&key) {
                row.stand = stand;
            }
            stands.push((stand, otherwise));
        }
        verdict(&stands)
    }

    fn waits_for_others(&self, no: OrderNo) -> bool {
        self.due.get(&no).is_some_and(|due| due.stream == Stream::Dependent)
    }

    /// An order has ended: what waits for it is settled; what may run by that.
    pub(super) fn settle_dependants(&mut self, no: OrderNo) -> Vec<ReadyStage> {
        let Some(id) = self.orders.get(&no).map(|order| order.id.clone()) else { return Vec::new() };
        let is_live =
            |row: &DependencyRow| row.is_reactive && !matches!(row.stand, Stand::Met | Stand::Closed);
        let of = self.dependencies.iter().filter(|((_, before), row)| *before == id && is_live(row));
        let dependants: Vec<OrderNo> = of.map(|((no, _), _)| *no).collect();
        dependants.into_iter().filter_map(|no| self.settle(no)).collect()
    }

    fn settle(&mut self, no: OrderNo) -> Option<ReadyStage> {
        if !self.waits_for_others(no) {
            return None;
        }
        let decision = self.judged(no);
        let goes = decision == StartDecision::Start || self.has(Planted::AnyEndStarts);
        if goes { self.start(no) } else { None }
    }

    /// Lets an order go whose conditions are met: one whose start lies in the future waits for it.
    fn start(&mut self, no: OrderNo) -> Option<ReadyStage> {
        self.witness.saw("an order waited for others, and they ended as it needs");
        let start_at = self.orders.get(&no)?.start_at.filter(|at| *at > self.now);
        if let Some(at) = start_at {
            self.due.insert(no, DueRow { stream: Stream::Postponed, at });
            return None;
        }
        self.due.remove(&no);
        self.make_ready(no, Waking::Settled, None, None)
    }

    /// Closes the conditions of an order that has ended.
    pub(super) fn close_conditions(&mut self, no: OrderNo) {
        for before in self.conditions_of(no) {
            if let Some(row) = self.dependencies.get_mut(&(no, before))
                && row.stand != Stand::Met
            {
                row.stand = Stand::Closed;
            }
        }
    }

    /// True if an order ended before all of its conditions were met.
    #[must_use]
    pub fn has_closed_conditions(&self, no: OrderNo) -> bool {
        let own = self.conditions_of(no);
        own.into_iter().any(|before| self.dependencies[&(no, before)].stand == Stand::Closed)
    }

    /// The new life of an order waits for what it waited for before.
    pub(super) fn reopen_conditions(&mut self, no: OrderNo) {
        for before in self.conditions_of(no) {
            let stand = if self.by_id.contains_key(&before) { Stand::Found } else { Stand::Unknown };
            if let Some(row) = self.dependencies.get_mut(&(no, before))
                && row.stand == Stand::Closed
            {
                row.stand = stand;
            }
        }
        self.wait_for_others(no);
    }

    pub(super) fn wait_for_others(&mut self, no: OrderNo) {
        self.due.insert(no, DueRow { stream: Stream::Dependent, at: jiff::Timestamp::MAX });
    }

    /// Orders that wait for others, by ascending number.
    #[must_use]
    pub fn waiting_for_others(&self) -> Vec<OrderNo> {
        self.due.iter().filter(|(_, due)| due.stream == Stream::Dependent).map(|(no, _)| *no).collect()
    }

    /// Looks at the conditions of these orders. `can_end_in` tells of a scenario whether it ends in a state.
    pub fn look_at_conditions(
        &mut self,
        nos: &[OrderNo],
        can_end_in: impl Fn(usize, &str) -> bool,
    ) -> Settled {
        let mut settled = Settled::default();
        for no in nos.iter().copied() {
            if !self.waits_for_others(no) {
                continue;
            }
            let decision = self.judged(no);
            match decision {
                _ if !self.fits_scenarios(no, &can_end_in) => settled.ends.push((no, true)),
                StartDecision::Fail(_) => settled.ends.push((no, true)),
                StartDecision::Cancel(_) => settled.ends.push((no, false)),
                StartDecision::Wait | StartDecision::Start => {
                    self.open_found(no);
                    if decision == StartDecision::Start {
                        settled.ready.extend(self.start(no));
                    }
                }
            }
        }
        settled
    }

    fn found_conditions(&self, no: OrderNo) -> Vec<(OrderNo, String)> {
        let own = self.conditions_of(no).into_iter().map(|before| (no, before));
        own.filter(|key| self.dependencies[key].stand == Stand::Found).collect()
    }

    /// Holds the expected states of what was found against its scenario; false where they are none of it.
    fn fits_scenarios(&self, no: OrderNo, can_end_in: impl Fn(usize, &str) -> bool) -> bool {
        self.found_conditions(no).iter().all(|key| {
            let other = self.by_id.get(&key.1).and_then(|no| self.orders.get(no));
            let states = &self.dependencies[key].states;
            other.is_none_or(|other| states.iter().all(|state| can_end_in(other.scenario, state)))
        })
    }

    /// Accepts the conditions of an order whose scenarios were found to fit.
    fn open_found(&mut self, no: OrderNo) {
        if self.has(Planted::FoundIsNeverHeld) {
            return;
        }
        for key in self.found_conditions(no) {
            if let Some(row) = self.dependencies.get_mut(&key) {
                row.stand = Stand::Open;
            }
        }
    }

    /// The conditions of an order that nobody has ever met.
    pub(super) fn never_met(&self, no: OrderNo) -> Vec<String> {
        let own = self.conditions_of(no).into_iter();
        own.filter(|before| {
            !self.witness.has_ended_in(before, &self.dependencies[&(no, before.clone())].states)
        })
        .collect()
    }
}
