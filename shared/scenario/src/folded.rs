//! The actions of a state as people see them: each operation that it runs is one.

use super::{Action, State};

impl State {
    /// The actions with each operation that it runs as one: its entry.
    pub fn folded(&self) -> impl Iterator<Item = &Action> {
        let mut behind = 0;
        self.actions.iter().enumerate().filter_map(move |(at, action)| {
            let is_shown = at >= behind;
            if let Action::Enter(enter) = action
                && is_shown
            {
                behind = enter.exit + 1;
            }
            is_shown.then_some(action)
        })
    }
}
