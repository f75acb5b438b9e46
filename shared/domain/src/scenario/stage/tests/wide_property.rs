//! Any small scenario of the whole language and any world: the interpreter takes the way of the
//! naive walk, also where an operator repairs the order in one of its rests, answers every call from
//! outside once, and a crash at any point changes nothing but that requests are repeated, with equal keys.

use proptest::prelude::*;

use super::wide::{Seen, World, scenarios, text};
use super::wide_play::{distinct, run, run_from};
use super::wide_walk::Walk;
use super::*;

proptest! {
    #![proptest_config(ProptestConfig { cases: 150, max_shrink_iters: 60, ..ProptestConfig::default() })]

    #[test]
    fn scn_1_the_whole_language_takes_the_way_of_the_naive_walk(
        states in scenarios(),
        dice in prop::collection::vec(any::<u8>(), 1..60),
    ) {
        let world = World { dice };
        let (seen, keys) = run(&states, &world, &[], false);
        prop_assert_eq!(&seen, &Walk::of(&states, &world), "{}", text(&states));
        let mut different: Vec<&Uuid> = keys.values().collect();
        different.sort_unstable();
        different.dedup();
        prop_assert_eq!(different.len(), keys.len(), "no two requests share a key");
    }

    #[test]
    fn ord_22_a_life_from_any_state_takes_the_way_of_the_naive_walk_from_there(
        states in scenarios(),
        begin in 0..5_usize,
        dice in prop::collection::vec(any::<u8>(), 1..60),
        crashes in prop::collection::vec(any::<u8>(), 1..30),
    ) {
        let world = World { dice };
        let begin = begin % states.len();
        let restarted = || Snapshot::entering(&format!("s{begin}"), serde_json::Map::new());
        let (seen, keys) = run_from(restarted(), &states, &world, &[], false, None);
        prop_assert_eq!(&seen, &Walk::from(&states, &world, begin), "from s{}: {}", begin, text(&states));
        prop_assume!(seen.end != "loop");
        let (bumpy, bumpy_keys) = run_from(restarted(), &states, &world, &crashes, false, None);
        prop_assert_eq!((distinct(&seen.calls), keys), (distinct(&bumpy.calls), bumpy_keys));
        prop_assert_eq!(Seen { calls: seen.calls.clone(), ..bumpy }, seen);
    }

    #[test]
    fn ord_23_an_order_that_is_repaired_in_any_rest_takes_the_way_of_the_naive_walk_from_there(
        states in scenarios(),
        rest in 1..6_usize,
        to in 0..5_usize,
        dice in prop::collection::vec(any::<u8>(), 1..60),
        crashes in prop::collection::vec(any::<u8>(), 1..30),
    ) {
        let world = World { dice };
        let repair = Some((rest, to % states.len()));
        let (seen, keys) = run_from(Snapshot::default(), &states, &world, &[], false, repair);
        prop_assert_eq!(&seen, &Walk::repaired(&states, &world, repair), "{:?} of {}", repair, text(&states));
        prop_assume!(seen.end != "loop");
        let (bumpy, bumpy_keys) = run_from(Snapshot::default(), &states, &world, &crashes, false, repair);
        prop_assert_eq!((distinct(&seen.calls), keys), (distinct(&bumpy.calls), bumpy_keys));
        prop_assert_eq!(Seen { calls: seen.calls.clone(), ..bumpy }, seen);
    }

    #[test]
    fn scn_14_a_crash_of_the_whole_language_repeats_requests_and_changes_nothing(
        states in scenarios(),
        dice in prop::collection::vec(any::<u8>(), 1..60),
        crashes in prop::collection::vec(any::<u8>(), 1..30),
    ) {
        let world = World { dice };
        let (smooth, keys) = run(&states, &world, &[], false);
        // Whoever goes on at an entry point counts the moves without a rest from there.
        prop_assume!(smooth.end != "loop");
        let (bumpy, bumpy_keys) = run(&states, &world, &crashes, false);
        prop_assert_eq!(distinct(&smooth.calls), distinct(&bumpy.calls), "{}", text(&states));
        prop_assert_eq!(keys, bumpy_keys);
        let unlike = Seen { calls: smooth.calls.clone(), ..bumpy };
        prop_assert_eq!(smooth, unlike);
    }

    #[test]
    fn dsp_16_a_hold_at_any_request_changes_nothing_but_the_time(
        states in scenarios(),
        dice in prop::collection::vec(any::<u8>(), 1..60),
        holds in prop::collection::vec(any::<u8>(), 1..30),
    ) {
        let world = World { dice };
        let smooth = run(&states, &world, &[], false);
        // A hold ends its stage, and with it the count of the moves without a rest.
        prop_assume!(smooth.0.end != "loop");
        prop_assert_eq!(smooth, run(&states, &world, &holds, true), "{}", text(&states));
    }
}
