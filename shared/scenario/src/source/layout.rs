//! Lays actions out flat: the branches of a `choose` stand one after the other, and the end of each
//! skips to what follows all of them. So one index is the whole position of an order in a state.

use super::draft::DraftAction;
use crate::{Action, Branch};

/// The flat form. Only called for actions without faults.
pub(super) fn lay_out(actions: Vec<DraftAction>) -> Vec<Action> {
    let mut flat = Vec::with_capacity(actions.len());
    append(actions, &mut flat);
    flat
}

fn append(actions: Vec<DraftAction>, flat: &mut Vec<Action>) {
    for draft in actions {
        if draft.branches.is_empty() {
            flat.extend(draft.action);
            continue;
        }
        let choice = flat.len();
        // Its place is kept until the places of the branches are known.
        flat.push(Action::Skip(choice));
        let (mut branches, mut otherwise, mut ends) = (Vec::new(), None, Vec::new());
        for branch in draft.branches {
            let first = flat.len();
            append(branch.actions, flat);
            ends.push(flat.len());
            flat.push(Action::Skip(first));
            match branch.when {
                Some(when) => branches.push(Branch { when, first }),
                None => otherwise = Some(first),
            }
        }
        let after = flat.len();
        for end in ends {
            flat[end] = Action::Skip(after);
        }
        flat[choice] = Action::Choose { branches, otherwise: otherwise.unwrap_or(after) };
    }
}
