//! The random lives are worth what meets in them: each pair of features meets often in as many lives as one run of the
//! properties plays.

use std::collections::BTreeMap;

use proptest::prelude::*;
use proptest::strategy::ValueTree as _;
use proptest::test_runner::TestRunner;

use super::wide::{Life, World, scenarios};
use super::wide_operation::{Course, Vars, operations, parts};
use super::wide_operation_walk::Walk as OperationWalk;
use super::wide_walk::{Met, Walk};

/// Lives that one run plays of workflows: 150 cases, six properties.
const OF_WORKFLOWS: usize = 150 * 6;
/// Lives that it plays of operations, by four properties.
const OF_OPERATIONS: usize = 150 * 4;
/// Least number of lives in which each pair meets.
const OFTEN: usize = 6;

/// Rests of an order, and what can come to each of them.
const RESTS: [&str; 6] = ["child", "polling", "retry", "retry from the entry point", "sleep", "wait"];
const COMES: [&str; 5] = ["call", "queue", "repair", "repeated", "restart"];

/// Actions that come before a rest or behind it, and requests that are given up.
const ACTS: [&str; 5] = ["callbacks", "cancel", "each", "release", "xml"];

type Numbers = BTreeMap<(&'static str, &'static str), usize>;

/// Counts in how many of these lives each pair met.
fn counted<S: Strategy>(count: usize, lives: S, mut walk: impl FnMut(S::Value) -> Met) -> Numbers {
    let mut runner = TestRunner::deterministic();
    let mut numbers = Numbers::new();
    for _ in 0..count {
        let life = lives.new_tree(&mut runner).unwrap().current();
        for pair in walk(life).pairs {
            *numbers.entry(pair).or_default() += 1;
        }
    }
    numbers
}

fn assert_often(numbers: &Numbers, pairs: impl Iterator<Item = (&'static str, &'static str)>) {
    let seldom: Vec<_> = pairs
        .map(|pair| (pair, numbers.get(&pair).copied().unwrap_or(0)))
        .filter(|(_, number)| *number < OFTEN)
        .collect();
    assert!(seldom.is_empty(), "{seldom:?}; all: {numbers:#?}");
}

/// Every rest behind every other one, and with all that comes to it.
fn of_rests(rests: &[&'static str]) -> Vec<(&'static str, &'static str)> {
    let behind = rests.iter().flat_map(|one| rests.iter().map(|other| (*one.min(other), *one.max(other))));
    let with = rests.iter().flat_map(|rest| COMES.map(|comes| (*rest, comes)));
    behind.chain(with).collect()
}

fn dice() -> impl Strategy<Value = Vec<u8>> {
    prop::collection::vec(any::<u8>(), 1..60)
}

#[test]
fn every_pair_of_features_meets_in_the_random_lives_of_workflows() {
    let lives = (
        scenarios(),
        dice(),
        prop::option::of(0..6_usize),
        prop::option::weighted(0.6, (1..6_usize, 0..6_usize)),
        prop::option::of(5..400_i64),
    );
    let numbers = counted(OF_WORKFLOWS, lives, |(states, dice, begin, repair, longest)| {
        let world = World::from(dice);
        let begin = begin.map(|begin| begin % states.len());
        let repair = repair.map(|(rest, to)| (rest, to % states.len()));
        // Every other restart keeps the answers of the life before.
        let before = Walk::through(&Life::of(&states, &world)).answered;
        let names: Vec<String> = before.iter().map(|(state, number)| format!("q{state}_{number}")).collect();
        let kept = if begin.is_some_and(|begin| begin % 2 == 0) { &names[..] } else { &[] };
        Walk::through(&Life { begin, repair, longest, kept, ..Life::of(&states, &world) }).met
    });
    let acts = RESTS.into_iter().flat_map(|rest| ACTS.map(|act| (rest.min(act), rest.max(act))));
    let behind = ACTS.into_iter().flat_map(|one| ACTS.map(|other| (one, other)));
    let behind = behind.filter(|(one, other)| one < other);
    let kept = RESTS.into_iter().map(|rest| (rest, "keepCallbacks"));
    assert_often(&numbers, of_rests(&RESTS).into_iter().chain(acts).chain(behind).chain(kept));
}

#[test]
fn every_pair_of_features_meets_in_the_random_lives_of_operations() {
    let lives = (
        operations(),
        dice(),
        prop::option::of(0..12_usize),
        prop::option::weighted(0.6, (1..6_usize, 0..12_usize)),
        prop::option::of(5..400_i64),
    );
    let numbers = counted(OF_OPERATIONS, lives, |(steps, dice, begin, repair, longest)| {
        let world = World::from(dice);
        let count = parts(&steps).len();
        let begin = begin.map(|begin| begin % count);
        let repair = repair.map(|(rest, to)| (rest, to % count, Vars::default()));
        OperationWalk::of(&Course { begin, repair, longest, ..Course::of(&steps, &world) }).met
    });
    // Only states poll.
    let rests: Vec<&str> = RESTS.into_iter().filter(|rest| *rest != "polling").collect();
    let behind = rests.iter().copied().chain(COMES).map(|met| (met, "savepoint"));
    // What a wait repeats is over with its part, which neither sleeps nor awaits a child before the wait.
    let never = [("child", "repeated"), ("sleep", "repeated")];
    let pairs = of_rests(&rests).into_iter().filter(|pair| !never.contains(pair));
    let released = rests.iter().map(|rest| (*rest.min(&"release"), *rest.max(&"release")));
    assert_often(&numbers, pairs.chain(behind).chain(released));
}
