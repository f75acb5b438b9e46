//! Parts of the news of notifications: each message carries one, and each part is heard by one notifier.
//!
//! Every notifier decides by itself, from the list of those that are at work. While two of them see different lists, a part may be
//! heard by both, or by none: then a notification is sent twice under one id, or taken from the outbox a few seconds later.

use crate::id::Incarnation;

/// Divided evenly among one to four, six, and twelve notifiers; further ones hear nothing, and take what is due.
pub const PARTS: u32 = 12;

/// The parts that `me` hears, of the notifiers `at_work`, whether it is on the list or not.
#[must_use]
pub fn parts_of(me: Incarnation, at_work: &[Incarnation]) -> Vec<u32> {
    let mut notifiers: Vec<Incarnation> = at_work.to_vec();
    notifiers.push(me);
    notifiers.sort_unstable();
    notifiers.dedup();
    let heard_by = |part: &u32| notifiers[*part as usize % notifiers.len()];
    (0..PARTS).filter(|part| heard_by(part) == me).collect()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test may panic")]

    use proptest::prelude::*;

    use super::*;

    #[test]
    fn ord_19_one_notifier_hears_everything_also_before_it_is_on_the_list() {
        let all: Vec<u32> = (0..PARTS).collect();
        assert_eq!(parts_of(Incarnation(7), &[]), all);
        assert_eq!(parts_of(Incarnation(7), &[Incarnation(7)]), all);
    }

    proptest! {
        /// Whatever the order and the doubles of the list.
        #[test]
        fn ord_19_every_part_is_heard_by_exactly_one_of_those_who_see_the_same(
            mut list in prop::collection::vec(1i64..60, 1..20),
        ) {
            let seen: Vec<Incarnation> = list.iter().map(|one| Incarnation(*one)).collect();
            list.sort_unstable();
            list.dedup();
            let parts: Vec<Vec<u32>> =
                list.iter().map(|one| parts_of(Incarnation(*one), &seen)).collect();
            let mut heard: Vec<u32> = parts.concat();
            heard.sort_unstable();
            prop_assert_eq!(heard, (0..PARTS).collect::<Vec<u32>>());
            let most = parts.iter().map(Vec::len).max().unwrap();
            let least = parts.iter().map(Vec::len).min().unwrap();
            prop_assert!(most - least <= 1, "{most} and {least} parts");
        }
    }
}
