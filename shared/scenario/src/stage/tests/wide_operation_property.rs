//! Property for any small operation and any world: the interpreter takes the way of the naive walk, with the variables that its
//! savepoints had, also where an operator restarts or repairs the order, and a crash at any point changes nothing but
//! that requests are repeated, with equal keys.

use proptest::prelude::*;

use super::wide::{Seen, World};
use super::wide_operation::{Course, Vars, operations, parts, text};
use super::wide_operation_walk::Walk;
use super::wide_play::{Ran, Repair, Trial, distinct, trial};
use super::*;

/// A bound that no play comes to.
const LONG: i64 = 100 * 24 * 3600;
/// Variables that an operator gives to an order that is repaired.
const GIVEN: Vars = Vars { own: 500, called: 40 };

fn dice() -> impl Strategy<Value = Vec<u8>> {
    prop::collection::vec(any::<u8>(), 1..60)
}

/// Plays a life that begins here.
fn play(course: &Course<'_>, begin: Snapshot, crashes: &[u8], holds: bool) -> Ran {
    let parts = parts(course.steps);
    let repair = course.repair.map(|(rest, part, vars)| {
        let (state, vars) = (parts[part].name.clone(), Some(vars.map()));
        Repair { rest, state, vars }
    });
    let (text, world, longest) = (text(course.steps), course.world, course.longest);
    trial(Trial { text, operations: Vec::new(), world, begin, repair, longest, crashes, holds, kept: &[] })
}

/// The start of the first life.
fn begin(course: &Course<'_>) -> Snapshot {
    Snapshot { vars: course.vars.map(), ..Snapshot::default() }
}

fn first(course: &Course<'_>, crashes: &[u8]) -> Ran {
    play(course, begin(course), crashes, false)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 150, max_shrink_iters: 200, ..ProptestConfig::default() })]

    #[test]
    fn scn_10_an_operation_takes_the_way_of_the_naive_walk(
        steps in operations(),
        repair in prop::option::of((1..6_usize, 0..12_usize)),
        longest in prop::option::of(Just(LONG)),
        dice in dice(),
        crashes in prop::collection::vec(any::<u8>(), 1..30),
    ) {
        let world = World::from(dice);
        let count = parts(&steps).len();
        let repair = repair.map(|(rest, to)| (rest, to % count, GIVEN));
        let course = Course { repair, longest, ..Course::of(&steps, &world) };
        let Ran { seen, keys, .. } = first(&course, &[]);
        prop_assert_eq!(&seen, &Walk::of(&course).seen, "{:?}: {}", course, text(&steps));
        let mut different: Vec<&Uuid> = keys.values().collect();
        different.sort_unstable();
        different.dedup();
        prop_assert_eq!(different.len(), keys.len(), "no two requests share a key");
        prop_assume!(seen.end != "loop");
        let bumpy = first(&course, &crashes);
        prop_assert_eq!((distinct(&seen.calls), keys), (distinct(&bumpy.seen.calls), bumpy.keys));
        prop_assert_eq!(Seen { calls: seen.calls.clone(), ..bumpy.seen }, seen);
    }

    #[test]
    fn ord_22_scn_10_the_next_life_of_an_operation_has_what_the_one_before_left(
        steps in operations(),
        begin in prop::option::of(0..12_usize),
        dice in dice(),
        more in dice(),
    ) {
        let (world, next) = (World::from(dice), World::from(more));
        let parts = parts(&steps);
        let course = Course::of(&steps, &world);
        let (ran, walked) = (first(&course, &[]), Walk::of(&course));
        prop_assume!(walked.seen.end == "done" || walked.seen.end == "failed");
        // At its last savepoint, or at the one that the operator names.
        let begin = begin.map_or(walked.entry.0, |begin| begin % parts.len());
        let vars = if begin == walked.entry.0 { walked.entry.1 } else { walked.vars };
        let restarted = ran.last.remains().unwrap().restarted_at(&parts[begin].name);
        prop_assert_eq!(&restarted.vars, &vars.map(), "from {} of {}", begin, text(&steps));
        let course = Course { begin: Some(begin), vars, ..Course::of(&steps, &next) };
        prop_assert_eq!(&play(&course, restarted, &[], false).seen, &Walk::of(&course).seen, "{}", text(&steps));
    }

    #[test]
    fn ord_12_scn_10_a_queue_bounds_the_repeats_of_an_operation(
        steps in operations(),
        longest in 5..400_i64,
        dice in dice(),
    ) {
        // The walk does not know how long calls from outside are handled.
        let world = World { dice, is_quiet: true };
        let course = Course { longest: Some(longest), ..Course::of(&steps, &world) };
        prop_assert_eq!(&first(&course, &[]).seen, &Walk::of(&course).seen, "{} s: {}", longest, text(&steps));
    }

    #[test]
    fn dsp_16_scn_10_a_hold_at_any_request_of_an_operation_changes_nothing_but_the_time(
        steps in operations(),
        dice in dice(),
        holds in prop::collection::vec(any::<u8>(), 1..30),
    ) {
        let world = World::from(dice);
        let course = Course::of(&steps, &world);
        let (smooth, held) = (first(&course, &[]), play(&course, begin(&course), &holds, true));
        prop_assume!(smooth.seen.end != "loop");
        prop_assert_eq!((smooth.seen, smooth.keys), (held.seen, held.keys), "{}", text(&steps));
    }
}
