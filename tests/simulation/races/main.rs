//! Five races, each as a small model that is looked through in full: every order of its steps, with crashes and doubled
//! messages. Beside each stand broken twins, with one wrong rule, which must be refused with the steps that lead there.
//!
//! The rules that the models go by (the law, what follows from a cause, remedies of recovery) and what is held against them
//! (`pagurus_domain::invariants`) are the engine's own. The simulation tries what is large by chance; this tries what is
//! small, and leaves nothing out.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test may stop at the first surprise")]

mod callback;
mod claim;
mod lease;
mod outbox;
mod queue;

use std::fmt::Debug;
use std::hash::Hash;

use stateright::{Checker, Model};

/// States of the longest way that a twin is looked for.
const DEEPEST: usize = 30;

/// Looks through all states of a model: each property holds, and there are at least `least` states.
fn holds<M>(model: M, least: usize)
where
    M: Model + Send + Sync + 'static,
    M::State: Clone + Debug + Hash + PartialEq + Send + Sync + 'static,
    M::Action: Clone + Debug + PartialEq,
{
    let checker = model.checker().spawn_bfs().join();
    checker.assert_properties();
    let states = checker.unique_state_count();
    println!("{states} states");
    assert!(states >= least, "only {states} states: the model leaves something out");
}

/// Looks through the states of a broken twin, deeper and deeper: this property is refused, by the fewest steps that lead there.
fn is_refused<M>(twin: M, property: &'static str)
where
    M: Model + Clone + Send + Sync + 'static,
    M::State: Clone + Debug + Hash + PartialEq + Send + Sync + 'static,
    M::Action: Clone + Debug + PartialEq,
{
    let within =
        |depth| twin.clone().checker().target_max_depth(depth).spawn_bfs().join().discovery(property);
    let path = (1..DEEPEST).find_map(within).expect("the twin is sound, as far as this property says");
    let steps: Vec<String> = path.into_actions().iter().map(|step| format!("{step:?}")).collect();
    println!("`{property}` is refused by: {}", steps.join(", "));
}

/// True if a model has no step left.
fn is_over<M: Model>(model: &M, state: &M::State) -> bool {
    let mut actions = Vec::new();
    model.actions(state, &mut actions);
    actions.into_iter().all(|action| model.next_state(state, action).is_none())
}
