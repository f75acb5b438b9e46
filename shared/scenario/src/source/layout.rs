//! Lays actions out flat: the branches of a `choose` stand one after the other, and the end of each
//! skips to what follows all of them. An operation that is run by `do` stands between its entry and its exit. So one index
//! is the whole position of an order in a state.

use super::draft::{DraftAction, DraftOperation};
use crate::{Action, Branch, EnterAction, ExitAction};

/// The flat form. Only called for actions without faults.
pub(super) fn lay_out(actions: Vec<DraftAction>) -> Vec<Action> {
    let mut flat = Vec::with_capacity(actions.len());
    append(actions, &mut flat);
    flat
}

fn append(actions: Vec<DraftAction>, flat: &mut Vec<Action>) {
    for draft in actions {
        if let Some(operation) = draft.operation {
            append_operation(*operation, flat);
            continue;
        }
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

fn append_operation(operation: DraftOperation, flat: &mut Vec<Action>) {
    let DraftOperation { enter, parts, save } = operation;
    let entry = flat.len();
    // Its place is kept until that of the exit is known.
    flat.push(Action::Skip(entry));
    for (index, part) in parts.into_iter().enumerate() {
        if index > 0 {
            flat.push(Action::Savepoint(part.savepoint));
        }
        append(part.actions, flat);
    }
    let exit = flat.len();
    flat.push(Action::Exit(Box::new(ExitAction { entry, save })));
    flat[entry] = Action::Enter(Box::new(EnterAction { exit, ..enter }));
}
