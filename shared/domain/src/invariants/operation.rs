//! Bulk operations: the accounts of what was done balance.

use super::{Invariant, Violation};
use crate::id::OrderNo;
use crate::operation::{ItemOutcome, OperationState};

/// Judges an operation when all is over: it has ended, and it acted once on each order of which it says so, and on no other.
/// The items are its orders, each with what it says of it, and how often it acted on it.
#[must_use]
pub fn of_operation(
    name: &str,
    state: OperationState,
    items: impl IntoIterator<Item = (OrderNo, Option<ItemOutcome>, u32)>,
) -> Vec<Violation> {
    let ended = Violation::unless(state.is_over(), Invariant::AccountsBalance, || {
        format!("{name} is `{state}` after everything is over")
    });
    let balances = |(no, outcome, acted): (OrderNo, Option<ItemOutcome>, u32)| {
        let expected = u32::from(outcome == Some(ItemOutcome::Done));
        let is_settled = outcome.is_some() || !state.is_over();
        Violation::unless(acted == expected && is_settled, Invariant::AccountsBalance, || {
            format!("{name} acted {acted} times on order {no}, and says {outcome:?} of it")
        })
    };
    ended.into_iter().chain(items.into_iter().filter_map(balances)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rec_12_an_operation_acts_once_on_each_order_and_says_with_what_outcome() {
        let of = |state, outcome, acted| of_operation("o", state, [(OrderNo(1), outcome, acted)]).len();
        let (done, running) = (OperationState::Done, OperationState::Running);
        assert_eq!(of(done, Some(ItemOutcome::Done), 1), 0);
        assert_eq!(of(done, Some(ItemOutcome::Skipped), 0), 0);
        assert_eq!(of(done, Some(ItemOutcome::Done), 2), 1, "twice");
        assert_eq!(of(done, Some(ItemOutcome::Done), 0), 1, "it says so, and did not");
        assert_eq!(of(done, Some(ItemOutcome::Skipped), 1), 1, "it did, and says otherwise");
        assert_eq!(of(done, None, 0), 1, "nothing is said of it");
        assert_eq!(of(running, None, 0), 1, "it is not over");
    }
}
