//! Bulk operations: a selection that is frozen, and the outcome of each of its orders, written with the action.

use std::collections::BTreeMap;

use pagurus_domain::id::OrderNo;
use pagurus_domain::operation::{Counts, ItemOutcome, Next, OperationState, Progress};

use super::Tables;
use super::control::Acted;
use crate::message::Action;
use crate::planted::Planted;

/// An operation.
#[derive(Clone, Debug)]
pub struct OperationRow {
    /// Action on each order.
    pub action: Action,
    /// Orders, each with its outcome.
    pub items: BTreeMap<OrderNo, Option<ItemOutcome>>,
    /// State of the operation.
    pub state: OperationState,
}

impl OperationRow {
    /// Outcomes of its orders so far.
    #[must_use]
    pub fn counts(&self) -> Counts {
        let of = |outcome| self.items.values().filter(|one| **one == Some(outcome)).count() as u64;
        Counts {
            total: self.items.len() as u64,
            done: of(ItemOutcome::Done),
            skipped: of(ItemOutcome::Skipped),
            failed: of(ItemOutcome::Failed),
            ..Counts::default()
        }
    }
}

impl Tables {
    /// Begins an operation; the same key again begins no second one.
    pub fn operate_on(&mut self, key: usize, action: Action, selection: &[OrderNo]) {
        let items = selection.iter().map(|no| (*no, None)).collect();
        let row = OperationRow { action, items, state: OperationState::Running };
        self.operations.entry(key).or_insert(row);
    }

    /// Acts on the next orders of an operation, at most `most`, and notes the outcome of each, in one transaction.
    pub fn act_on_piece(&mut self, key: usize, most: u64) -> Vec<Acted> {
        let piece = self.piece(key, most);
        let (acted, outcomes) = self.act_on(key, &piece);
        self.note_piece(key, &outcomes);
        acted
    }

    /// The next orders of an operation. One that has none left is over.
    #[must_use]
    pub fn piece(&mut self, key: usize, most: u64) -> Vec<OrderNo> {
        let now = self.now;
        let Some(operation) = self.operations.get_mut(&key) else { return Vec::new() };
        let progress = Progress {
            counts: operation.counts(),
            selecting: false,
            awaits_ends: false,
            rate: None,
            ramp: None,
            allowance: 0.0,
            allowed_at: now,
            acted_at: None,
        };
        match progress.next(now, most) {
            Next::Act { orders, .. } => {
                let open = operation.items.iter().filter(|(_, outcome)| outcome.is_none());
                open.map(|(no, _)| *no).take(usize::try_from(orders).unwrap_or(usize::MAX)).collect()
            }
            Next::End => {
                operation.state = OperationState::Done;
                Vec::new()
            }
            Next::Wait(_) | Next::Pause(_) => Vec::new(),
        }
    }

    /// Acts on these orders; returns what was done, and the outcome of each.
    pub fn act_on(&mut self, key: usize, piece: &[OrderNo]) -> (Vec<Acted>, Vec<(OrderNo, ItemOutcome)>) {
        let Some(action) = self.operations.get(&key).map(|operation| operation.action) else {
            return (Vec::new(), Vec::new());
        };
        let (mut done, mut outcomes) = (Vec::new(), Vec::new());
        for no in piece {
            let outcome = match self.act(action, *no) {
                Some(Ok(acted)) => {
                    self.witness.operated(key, *no);
                    done.push(acted);
                    ItemOutcome::Done
                }
                Some(Err(_)) => ItemOutcome::Skipped,
                None => ItemOutcome::Failed,
            };
            outcomes.push((*no, outcome));
        }
        (done, outcomes)
    }

    /// Notes the outcomes of orders of an operation.
    pub fn note_piece(&mut self, key: usize, outcomes: &[(OrderNo, ItemOutcome)]) {
        let Some(operation) = self.operations.get_mut(&key) else { return };
        for (no, outcome) in outcomes {
            operation.items.insert(*no, Some(*outcome));
        }
    }

    /// Operations that are not over.
    #[must_use]
    pub fn open_operations(&self) -> Vec<usize> {
        let open = self.operations.iter().filter(|(_, operation)| !operation.state.is_over());
        open.map(|(key, _)| *key).collect()
    }

    /// Orders that an operator would choose for an action: those that the law lets it be done to, every other one.
    #[must_use]
    pub fn selection(&self, action: Action) -> Vec<OrderNo> {
        let fits = |no: &OrderNo| self.shown_status(*no).is_some_and(|status| action.fits(status));
        self.orders.keys().filter(|no| fits(no)).copied().collect()
    }

    /// True if the results of pieces are noted apart from what is done.
    #[must_use]
    pub fn notes_apart(&self) -> bool {
        self.has(Planted::PieceNotedAfterwards) || self.has(Planted::PieceNotedBefore)
    }
}
