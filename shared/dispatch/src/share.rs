//! Who is next: the priorities by weight, outermost, over both modes; then modes and lanes by turns. Must never look at the backlog
//! beyond whether something waits: the cost and the outcome are the same for ten and for a
//! million.
//!
//! The weights work as a virtual clock. A priority pays one stride for each turn, the smaller the
//! greater its weight, and who would stand lowest after paying is next. One that had nothing
//! waiting comes back one stride before the present time of that clock: it has saved up the claim
//! of one turn, and owes none.

use pagurus_domain::order::{Mode, Priority};

use super::event::Lane;

/// Price of a turn for a weight of one. Large enough that the rounding of the division stays
/// under a ten-thousandth for sensible weights, small enough that the clock outlives the engine.
const STRIDE_OF_ONE: u64 = 1 << 20;

/// Priorities, in the order that settles a draw.
const PRIORITIES: [Priority; 3] = [Priority::High, Priority::Normal, Priority::Low];

/// The parts of capacity that the priorities get while all of them have work waiting. Zero counts
/// as one, because no priority may starve.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Weights {
    /// Weight of high priority.
    pub high: u32,
    /// Weight of normal priority.
    pub normal: u32,
    /// Weight of low priority.
    pub low: u32,
}

impl Weights {
    fn strides(self) -> [u64; 3] {
        [self.high, self.normal, self.low].map(|weight| (STRIDE_OF_ONE / u64::from(weight.max(1))).max(1))
    }
}

/// In which lines somebody waits who may go: by priority, mode and lane in the order of their declaration.
pub(super) type WaitingLines = [[[bool; 2]; 2]; 3];

/// Whose turn it is.
#[derive(Debug)]
pub(super) struct FairShare {
    strides: [u64; 3],
    paid: [u64; 3],
    waited: [bool; 3],
    clock: u64,
    last_mode: [Mode; 3],
    last_lane: [[Lane; 2]; 3],
}

impl FairShare {
    /// Starts before anybody has had a turn.
    pub(super) fn new(weights: Weights) -> Self {
        Self {
            strides: weights.strides(),
            paid: [0; 3],
            waited: [false; 3],
            clock: 0,
            last_mode: [Mode::Sequential; 3],
            last_lane: [[Lane::Woken; 2]; 3],
        }
    }

    /// Goes on with other weights; what was paid stays paid.
    pub(super) fn set_weights(&mut self, weights: Weights) {
        self.strides = weights.strides();
    }

    /// The priority whose turn it is, or none if nothing waits. It has its turn when it has paid.
    pub(super) fn priority(&mut self, waits: WaitingLines) -> Option<Priority> {
        for (index, modes) in waits.iter().enumerate() {
            let waiting = modes.iter().flatten().any(|waits| *waits);
            if waiting && !self.waited[index] {
                // One turn is owed at the most: else one that stands aside now and then, because of limits, would
                // begin to wait again each time, and starve.
                self.paid[index] = self.paid[index].max(self.clock.saturating_sub(self.strides[index]));
            }
            self.waited[index] = waiting;
        }
        let index = (0..PRIORITIES.len())
            .filter(|&index| self.waited[index])
            .min_by_key(|&index| self.paid[index] + self.strides[index])?;
        Some(PRIORITIES[index])
    }

    /// The mode and the lane of a priority whose turn it is: each takes turns with its other, where both wait.
    pub(super) const fn line(&self, priority: Priority, waits: [[bool; 2]; 2]) -> (Mode, Lane) {
        let [parallel, sequential] = [waits[0][0] || waits[0][1], waits[1][0] || waits[1][1]];
        let mode = match (parallel, sequential, self.last_mode[priority as usize]) {
            (true, true, Mode::Parallel) | (false, true, _) => Mode::Sequential,
            _ => Mode::Parallel,
        };
        let last = self.last_lane[priority as usize][mode as usize];
        let lane = match (waits[mode as usize], last) {
            ([true, true], Lane::Fresh) | ([false, true], _) => Lane::Woken,
            _ => Lane::Fresh,
        };
        (mode, lane)
    }

    /// A stage of this priority, mode and lane has its turn.
    pub(super) fn pay(&mut self, priority: Priority, mode: Mode, lane: Lane) {
        let index = priority as usize;
        self.clock = self.clock.max(self.paid[index]);
        self.paid[index] += self.strides[index];
        self.last_mode[index] = mode;
        self.last_lane[index][mode as usize] = lane;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const USUAL: Weights = Weights { high: 70, normal: 25, low: 5 };

    fn next(share: &mut FairShare, waits: WaitingLines) -> Option<(Priority, Mode, Lane)> {
        let priority = share.priority(waits)?;
        let (mode, lane) = share.line(priority, waits[priority as usize]);
        share.pay(priority, mode, lane);
        Some((priority, mode, lane))
    }

    fn parallel(waits: [bool; 3]) -> WaitingLines {
        waits.map(|waits| [[waits, false], [false; 2]])
    }

    fn turns(share: &mut FairShare, waits: [bool; 3], turns: usize) -> [usize; 3] {
        let mut counts = [0; 3];
        for _ in 0..turns {
            if let Some((priority, ..)) = next(share, parallel(waits)) {
                counts[priority as usize] += 1;
            }
        }
        counts
    }

    #[test]
    fn dsp_2_priorities_are_outermost_over_both_modes() {
        let mut share = FairShare::new(USUAL);
        // High waits in parallel only, low in sequence only: their parts are those of their weights.
        let waits = [[[true, false], [false; 2]], [[false; 2]; 2], [[false; 2], [true, false]]];
        let low =
            (0..750).filter(|_| next(&mut share, waits).is_some_and(|(_, mode, _)| mode == Mode::Sequential));
        assert!(low.count().abs_diff(50) <= 1);
        let both = [[[false; 2]; 2], [[true, true], [true, true]], [[false; 2]; 2]];
        let turns: Vec<(Mode, Lane)> =
            (0..4).filter_map(|_| next(&mut share, both).map(|(_, mode, lane)| (mode, lane))).collect();
        let (one, other) = (Mode::Parallel, Mode::Sequential);
        let expected = [(one, Lane::Fresh), (other, Lane::Fresh), (one, Lane::Woken), (other, Lane::Woken)];
        assert_eq!(turns, expected);
    }

    #[test]
    fn dsp_2_turns_follow_the_weights() {
        let all = [true; 3];
        let cases = [
            (USUAL, all, 1000, [700, 250, 50]),
            (Weights { high: 1, normal: 1, low: 1 }, all, 99, [33, 33, 33]),
            (Weights { high: 0, normal: 0, low: 0 }, all, 99, [33, 33, 33]),
            (USUAL, [false, true, true], 600, [0, 500, 100]),
            (USUAL, [true, false, true], 750, [700, 0, 50]),
            (USUAL, [false, false, true], 10, [0, 0, 10]),
            (USUAL, [false; 3], 10, [0; 3]),
        ];
        for (weights, waits, count, expected) in cases {
            let counts = turns(&mut FairShare::new(weights), waits, count);
            for (counted, expected) in counts.iter().zip(expected) {
                assert!(counted.abs_diff(expected) <= 1, "{weights:?} {waits:?}: {counts:?}");
            }
        }
    }

    #[test]
    fn dsp_2_no_window_keeps_low_waiting_longer_than_its_part() {
        let mut share = FairShare::new(USUAL);
        let mut since_low = 0;
        for _ in 0..10_000 {
            match next(&mut share, parallel([true; 3])) {
                Some((Priority::Low, ..)) => since_low = 0,
                _ => since_low += 1,
            }
            assert!(since_low <= 22, "low waited {since_low} turns");
        }
    }

    #[test]
    fn dsp_2_who_was_idle_has_saved_up_nothing() {
        let mut share = FairShare::new(USUAL);
        turns(&mut share, [true, false, false], 100_000);
        let counts = turns(&mut share, [true; 3], 100);
        assert!(counts[0].abs_diff(70) <= 2, "{counts:?}");
    }

    #[test]
    fn dsp_2_who_comes_and_goes_owes_nothing_and_starves_nobody() {
        let mut share = FairShare::new(USUAL);
        let mut low = 0;
        for turn in 0..10_000 {
            // High has work in every second turn only.
            let waits = [turn % 2 == 0, false, true].map(|waits| [[waits; 2], [false; 2]]);
            if let Some((Priority::Low, ..)) = next(&mut share, waits) {
                low += 1;
            }
        }
        assert!((5_000..6_000).contains(&low), "{low}");
        let counts = turns(&mut share, [true; 3], 100);
        assert!(counts[0].abs_diff(70) <= 3, "{counts:?}");
    }

    #[test]
    fn dsp_2_lanes_take_turns() {
        let mut share = FairShare::new(USUAL);
        let none = [[false; 2]; 2];
        let mut lanes = |waits| next(&mut share, [none, [waits, [false; 2]], none]).map(|(.., lane)| lane);
        let both = [true, true];
        assert_eq!(lanes(both), Some(Lane::Fresh));
        assert_eq!(lanes(both), Some(Lane::Woken));
        assert_eq!(lanes(both), Some(Lane::Fresh));
        assert_eq!(lanes([true, false]), Some(Lane::Fresh));
        assert_eq!(lanes([false, true]), Some(Lane::Woken));
        assert_eq!(lanes(both), Some(Lane::Fresh));
    }
}
