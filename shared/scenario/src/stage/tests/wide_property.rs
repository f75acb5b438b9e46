//! Property for any small scenario of the whole language and any world: the interpreter takes the way of the
//! naive walk, also where an operator restarts or repairs the order, and where a queue bounds its repeats, answers every
//! call from outside once, and a crash at any point changes nothing but that requests are repeated, with equal keys.

use proptest::prelude::*;

use super::wide::{Act, Cancels, Kind, Life, Seen, Wide, World, scenarios, text, without_knowledge};
use super::wide_play::{distinct, run, whole};
use super::wide_walk::{Walk, place_of};
use super::*;

/// A bound that no play comes to.
const LONG: i64 = 100 * 24 * 3600;

fn dice() -> impl Strategy<Value = Vec<u8>> {
    prop::collection::vec(any::<u8>(), 1..60)
}

/// Deaths of workers.
fn crashes() -> impl Strategy<Value = Vec<u8>> {
    prop::collection::vec(any::<u8>(), 1..30)
}

/// A parallel order, or a sequential one.
fn queues() -> impl Strategy<Value = Option<i64>> {
    prop::option::of(Just(LONG))
}

/// Asserts that a life that crashes looks like the one that does not, except for requests that are made again.
fn assert_crash_changes_nothing(life: &Life<'_>, crashes: &[u8]) -> Result<(), TestCaseError> {
    let states = without_knowledge(life.states);
    let life = &Life { states: &states, ..*life };
    let (smooth, keys) = run(life, &[], false);
    // An order that goes on at an entry point counts the moves without a rest from there.
    if smooth.end == "loop" {
        return Ok(());
    }
    let (bumpy, bumpy_keys) = run(life, crashes, false);
    prop_assert_eq!(distinct(&smooth.calls), distinct(&bumpy.calls), "{}", text(life.states));
    prop_assert_eq!(keys, bumpy_keys);
    prop_assert_eq!(Seen { calls: smooth.calls.clone(), ..bumpy }, smooth);
    Ok(())
}

fn state(kind: Kind, entry: bool, fail: usize) -> Wide {
    Wide { kind, entry, fail, late: 0 }
}

/// A life that once went astray.
struct Known {
    states: Vec<Wide>,
    begin: Option<usize>,
    dice: &'static [u8],
    crashes: &'static [u8],
}

fn known() -> [Known; 4] {
    let http = || Kind::Plain(vec![Act::Http]);
    let ask = |only| Kind::Ask { requests: 2, only, child: false, soap: false, cancels: Cancels::Later };
    [
        Known {
            states: vec![state(http(), false, 1), state(ask(false), true, 0)],
            begin: None,
            dice: &[
                54, 191, 252, 52, 81, 239, 123, 94, 156, 95, 82, 165, 192, 156, 159, 181, 225, 195, 44, 83,
                148, 234, 38, 121, 26, 89,
            ],
            crashes: &[],
        },
        Known {
            states: vec![state(ask(true), false, 0), state(ask(true), false, 0)],
            begin: None,
            dice: &[0, 0, 44, 23, 28, 33, 225, 72, 10, 193, 132, 135, 98],
            crashes: &[],
        },
        Known {
            states: vec![state(http(), false, 1), state(http(), false, 2), state(http(), true, 0)],
            begin: Some(0),
            dice: &[21],
            crashes: &[0, 139, 148, 103],
        },
        Known {
            states: vec![state(Kind::Plain(vec![Act::Each, Act::Http]), false, 0)],
            begin: Some(0),
            dice: &[6, 24],
            crashes: &[0],
        },
    ]
}

#[test]
fn scn_1_lives_that_once_went_astray_take_the_way_of_the_naive_walk() {
    for Known { states, begin, dice, crashes } in known() {
        let world = World::from(dice.to_vec());
        let life = Life { begin, ..Life::of(&states, &world) };
        assert_eq!(run(&life, &[], false).0, Walk::of(&life), "{}", text(&states));
        assert_crash_changes_nothing(&life, crashes).unwrap();
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 150, max_shrink_iters: 60, ..ProptestConfig::default() })]

    #[test]
    fn scn_1_the_whole_language_takes_the_way_of_the_naive_walk(
        states in scenarios(),
        dice in dice(),
    ) {
        let world = World::from(dice);
        let life = Life::of(&states, &world);
        let (seen, keys) = run(&life, &[], false);
        prop_assert_eq!(&seen, &Walk::of(&life), "{}", text(&states));
        let mut different: Vec<&Uuid> = keys.values().collect();
        different.sort_unstable();
        different.dedup();
        prop_assert_eq!(different.len(), keys.len(), "no two requests share a key");
    }

    #[test]
    fn ord_22_a_life_from_any_state_takes_the_way_of_the_naive_walk_from_there(
        states in scenarios(),
        begin in 0..6_usize,
        dice in dice(),
        crashes in crashes(),
        longest in queues(),
    ) {
        let world = World::from(dice);
        let life = Life { begin: Some(begin % states.len()), longest, ..Life::of(&states, &world) };
        prop_assert_eq!(&run(&life, &[], false).0, &Walk::of(&life), "{:?}: {}", life.begin, text(&states));
        assert_crash_changes_nothing(&life, &crashes)?;
    }

    #[test]
    fn ord_22_a_life_that_keeps_the_answers_of_the_one_before_takes_the_way_of_the_naive_walk(
        states in scenarios(),
        begin in 0..6_usize,
        (dice, more) in (dice(), dice()),
        crashes in crashes(),
        longest in queues(),
    ) {
        let (world, next) = (World::from(dice), World::from(more));
        let before = Life::of(&states, &world);
        let (ran, walked) = (whole(&before, &[], false), Walk::through(&before));
        prop_assume!(walked.seen.end != "open");
        let mut answered: Vec<_> = ran.answered.iter().map(|name| place_of(name)).collect();
        answered.sort_unstable();
        prop_assert_eq!(answered, walked.answered, "{}", text(&states));
        let begin = Some(begin % states.len());
        let life = Life { begin, longest, kept: &ran.answered, ..Life::of(&states, &next) };
        prop_assert_eq!(&run(&life, &[], false).0, &Walk::of(&life), "{:?}: {}", life, text(&states));
        assert_crash_changes_nothing(&life, &crashes)?;
    }

    #[test]
    fn ord_23_an_order_that_is_repaired_in_any_rest_takes_the_way_of_the_naive_walk_from_there(
        states in scenarios(),
        rest in 1..6_usize,
        to in 0..6_usize,
        dice in dice(),
        crashes in crashes(),
        longest in queues(),
    ) {
        let world = World::from(dice);
        let repair = Some((rest, to % states.len()));
        let life = Life { repair, longest, ..Life::of(&states, &world) };
        prop_assert_eq!(&run(&life, &[], false).0, &Walk::of(&life), "{:?} of {}", repair, text(&states));
        assert_crash_changes_nothing(&life, &crashes)?;
    }

    #[test]
    fn ord_12_a_queue_bounds_the_repeats_of_its_order_as_in_the_naive_walk(
        states in scenarios(),
        repair in prop::option::of((1..6_usize, 0..6_usize)),
        longest in 5..400_i64,
        dice in dice(),
    ) {
        // The walk does not know how long calls from outside are handled.
        let world = World { dice, is_quiet: true };
        let repair = repair.map(|(rest, to)| (rest, to % states.len()));
        let life = Life { repair, longest: Some(longest), ..Life::of(&states, &world) };
        prop_assert_eq!(&run(&life, &[], false).0, &Walk::of(&life), "{} s: {}", longest, text(&states));
    }

    #[test]
    fn scn_14_a_crash_of_the_whole_language_repeats_requests_and_changes_nothing(
        states in scenarios(),
        dice in dice(),
        crashes in crashes(),
        longest in queues(),
    ) {
        let world = World::from(dice);
        assert_crash_changes_nothing(&Life { longest, ..Life::of(&states, &world) }, &crashes)?;
    }

    #[test]
    fn dsp_16_a_hold_at_any_request_changes_nothing_but_the_time(
        states in scenarios(),
        dice in dice(),
        holds in crashes(),
        longest in queues(),
    ) {
        let (world, states) = (World::from(dice), without_knowledge(&states));
        let life = Life { longest, ..Life::of(&states, &world) };
        let smooth = run(&life, &[], false);
        // A hold ends its stage, and with it the count of the moves without a rest.
        prop_assume!(smooth.0.end != "loop");
        prop_assert_eq!(smooth, run(&life, &holds, true), "{}", text(&states));
    }
}
