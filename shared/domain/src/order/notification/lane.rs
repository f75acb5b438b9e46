//! Lanes of receivers: how many notifications a receiver of webhooks gets at a time, and when it is left alone.
//!
//! A receiver that hangs or refuses has few calls under way and none waiting in memory, so that it costs others
//! nothing. What it is to get stays in the outbox.

use crate::number::saturated;
use std::collections::HashMap;
use std::time::Duration;

/// Failures in a row after which a receiver counts as being in trouble: one bad notification is no trouble.
const TOLERATED: u32 = 3;

/// Bounds for each receiver.
#[derive(Clone, Copy, Debug)]
pub struct ReceiverBounds {
    /// Calls at a time.
    pub width: usize,
    /// First pause of a receiver in trouble.
    pub initial: Duration,
    /// Longest pause.
    pub max: Duration,
}

#[derive(Clone, Copy, Debug, Default)]
struct NotificationLane {
    under_way: usize,
    /// Failures in a row.
    failures: u32,
    closed_until: Duration,
}

impl NotificationLane {
    fn room(&self, bounds: &ReceiverBounds, now: Duration) -> usize {
        let width = match self.failures {
            0..TOLERATED => bounds.width,
            _ if now < self.closed_until => 0,
            // One that was in trouble is asked by one call.
            _ => 1,
        };
        width.saturating_sub(self.under_way)
    }
}

/// Lanes of all receivers that have calls under way or are in trouble. Times are those of a clock that never goes back.
#[derive(Clone, Debug, Default)]
pub struct Lanes {
    lanes: HashMap<String, NotificationLane>,
}

impl Lanes {
    /// The room of each receiver whose room is not the full one.
    #[must_use]
    pub fn rooms(&self, bounds: &ReceiverBounds, now: Duration) -> Vec<(String, usize)> {
        self.lanes.iter().map(|(receiver, lane)| (receiver.clone(), lane.room(bounds, now))).collect()
    }

    /// A call begins.
    pub fn begun(&mut self, receiver: &str) {
        self.lanes.entry(receiver.to_owned()).or_default().under_way += 1;
    }

    /// A call has ended, and nothing can be said of the receiver.
    pub fn ended(&mut self, receiver: &str) {
        if let Some(lane) = self.lanes.get_mut(receiver) {
            lane.under_way = lane.under_way.saturating_sub(1);
            if lane.under_way == 0 && lane.failures == 0 {
                self.lanes.remove(receiver);
            }
        }
    }

    /// A call has ended, and the receiver is at work.
    pub fn well(&mut self, receiver: &str) {
        if let Some(lane) = self.lanes.get_mut(receiver) {
            lane.failures = 0;
        }
        self.ended(receiver);
    }

    /// A call has ended in a way that is the receiver's: it is left alone for a while, longer each time, and for as long
    /// as it asks for within the longest pause. `chance` is between 0 and 1. True where it is in trouble.
    pub fn failed(
        &mut self,
        receiver: &str,
        bounds: &ReceiverBounds,
        retry_after: Option<Duration>,
        now: Duration,
        chance: f64,
    ) -> bool {
        let lane = self.lanes.entry(receiver.to_owned()).or_default();
        lane.under_way = lane.under_way.saturating_sub(1);
        // What was under way together failed together: while it is left alone nothing is added.
        if now >= lane.closed_until {
            lane.failures = lane.failures.saturating_add(1);
            if let Some(times) = lane.failures.checked_sub(TOLERATED) {
                let times = saturated::<i32>(times);
                let pause = delay(times, bounds.initial, bounds.max, chance);
                lane.closed_until = now + pause.max(retry_after.unwrap_or_default().min(bounds.max));
            }
        }
        lane.failures >= TOLERATED
    }

    /// Number of receivers that are in trouble.
    #[must_use]
    pub fn in_trouble(&self) -> usize {
        self.lanes.values().filter(|lane| lane.failures >= TOLERATED).count()
    }
}

/// Exponential back-off: doubles with each attempt, up to the longest; by chance, from 0 to 1, up to half of it earlier, so
/// that what failed together does not come back in step.
#[must_use]
pub fn delay(attempts: i32, initial: Duration, max: Duration, chance: f64) -> Duration {
    let doublings = saturated::<u32>(attempts.clamp(0, 30));
    let longest = initial.saturating_mul(1 << doublings).min(max);
    longest - longest.mul_f64(chance / 2.0)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const BOUNDS: ReceiverBounds =
        ReceiverBounds { width: 4, initial: Duration::from_secs(1), max: Duration::from_secs(300) };

    fn room(lanes: &Lanes, receiver: &str, now: Duration) -> usize {
        let rooms = lanes.rooms(&BOUNDS, now);
        rooms.iter().find(|(name, _)| name == receiver).map_or(BOUNDS.width, |(_, room)| *room)
    }

    fn at(seconds: u64) -> Duration {
        Duration::from_secs(seconds)
    }

    #[test]
    fn ord_19_repeats_come_at_growing_intervals_up_to_the_longest() {
        let delays: Vec<u64> = [0, 1, 2, 9, 31]
            .map(|attempts| delay(attempts, Duration::from_secs(1), Duration::from_secs(300), 0.0).as_secs())
            .to_vec();
        assert_eq!(delays, [1, 2, 4, 300, 300]);
        let [latest, middle, earliest] = [0.0, 0.5, 1.0]
            .map(|chance| delay(2, Duration::from_secs(1), Duration::from_secs(300), chance).as_secs());
        assert_eq!([latest, middle, earliest], [4, 3, 2]);
    }

    #[test]
    fn ord_18_a_receiver_in_trouble_is_left_alone_and_then_asked_by_one_call() {
        let mut lanes = Lanes::default();
        (0..3).for_each(|_| lanes.begun("a"));
        assert_eq!((room(&lanes, "a", at(0)), room(&lanes, "b", at(0))), (1, 4));
        assert!(!lanes.failed("a", &BOUNDS, None, at(0), 0.0));
        assert!(!lanes.failed("a", &BOUNDS, None, at(0), 0.0));
        assert_eq!(room(&lanes, "a", at(0)), 3, "one bad notification is no trouble");
        assert!(lanes.failed("a", &BOUNDS, None, at(0), 0.0));
        assert_eq!((room(&lanes, "a", at(0)), room(&lanes, "a", at(1))), (0, 1));
        lanes.begun("a");
        assert_eq!(room(&lanes, "a", at(1)), 0);
        lanes.failed("a", &BOUNDS, None, at(1), 0.0);
        assert_eq!(
            (room(&lanes, "a", at(2)), room(&lanes, "a", at(3))),
            (0, 1),
            "the second pause is longer"
        );
        assert_eq!(lanes.in_trouble(), 1);
        lanes.begun("a");
        lanes.well("a");
        assert_eq!((room(&lanes, "a", at(3)), lanes.in_trouble()), (4, 0));
        assert!(lanes.lanes.is_empty(), "who is well and has nothing under way costs nothing");
    }

    #[test]
    fn ord_18_a_receiver_may_ask_for_a_pause_within_the_longest() {
        for (asked, expected) in [(30, 30), (100_000, 300)] {
            let mut lanes = Lanes::default();
            (0..3).for_each(|_| {
                lanes.failed("a", &BOUNDS, Some(at(asked)), at(0), 0.0);
            });
            assert_eq!(room(&lanes, "a", at(expected - 1)), 0);
            assert_eq!(room(&lanes, "a", at(expected)), 1);
        }
    }

    proptest! {
        /// Whatever receivers do, none has more calls under way than its width, and no other is touched by it.
        #[test]
        fn ord_18_no_receiver_has_more_calls_under_way_than_its_width(steps in prop::collection::vec((0_u8..4, 0_u64..5), 1..200)) {
            let mut lanes = Lanes::default();
            let (mut now, mut under_way) = (0, 0_usize);
            for (step, later) in steps {
                now += later;
                match step {
                    0 if room(&lanes, "a", at(now)) > 0 => {
                        lanes.begun("a");
                        under_way += 1;
                    }
                    1 if under_way > 0 => {
                        lanes.well("a");
                        under_way -= 1;
                    }
                    2 if under_way > 0 => {
                        lanes.failed("a", &BOUNDS, None, at(now), 0.5);
                        under_way -= 1;
                    }
                    3 if under_way > 0 => {
                        lanes.ended("a");
                        under_way -= 1;
                    }
                    _ => {}
                }
                prop_assert!(under_way <= BOUNDS.width);
                prop_assert_eq!(room(&lanes, "b", at(now)), BOUNDS.width);
            }
            // After the longest pause somebody always gets through.
            if under_way == 0 {
                prop_assert!(room(&lanes, "a", at(now) + BOUNDS.max) > 0);
            }
        }
    }
}
