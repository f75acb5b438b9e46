//! Number of stages that may be in progress: of each mode, on each node, and of one flow.
//! Must never count by itself: the counts come in.

use crate::order::Mode;

/// Stages in progress at most, of each mode (DSP-1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Capacity {
    /// Stages of orders that run beside all others.
    pub parallel: u32,
    /// Stages of orders that own a queue.
    pub sequential: u32,
}

impl Capacity {
    /// The bound for this mode.
    #[must_use]
    pub const fn of(self, mode: Mode) -> u32 {
        match mode {
            Mode::Parallel => self.parallel,
            Mode::Sequential => self.sequential,
        }
    }

    /// Returns the capacity of both modes together.
    #[must_use]
    pub const fn total(self) -> u32 {
        self.parallel.saturating_add(self.sequential)
    }

    /// True if one more of this mode may go while `in_progress` are in progress.
    #[must_use]
    pub const fn admits(self, mode: Mode, in_progress: u32) -> bool {
        in_progress < self.of(mode)
    }

    /// Returns what one of `live` nodes may have in progress: its equal part of the whole, rounded, at
    /// least one, and never more than it can run at once.
    #[must_use]
    pub const fn allowance(self, live: u32, concurrency: u32) -> u32 {
        if live == 0 {
            return 0;
        }
        let total = self.total();
        let mut part = total / live;
        // Half rounds up, and the remainder is compared in this way because doubling overflows.
        if total % live >= live - total % live {
            part += 1;
        }
        if part == 0 {
            part = 1;
        }
        if part < concurrency { part } else { concurrency }
    }
}

/// The part of all places that one flow may have in progress, so that a flow whose system hangs leaves
/// room for the others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FlowShare {
    /// In percent; 100 sets no bound.
    pub percentage: u32,
}

impl FlowShare {
    /// Number of these places that one flow may have: rounded up, so that less than five places are
    /// never shared out.
    #[must_use]
    pub const fn of(self, places: u32) -> u32 {
        if self.percentage >= 100 {
            return places;
        }
        let part = (places as u64 * self.percentage as u64).div_ceil(100);
        // A part of a number that fits is smaller than it.
        part as u32
    }

    /// True if one more of this mode may go of a flow that has these in progress, by mode, where the
    /// living nodes have `places` in all. The places of the mode bound it, and those of the
    /// nodes, which both modes share.
    #[must_use]
    pub const fn admits(self, capacity: Capacity, places: u32, mode: Mode, in_progress: [u32; 2]) -> bool {
        if self.percentage >= 100 {
            return true;
        }
        let [parallel, sequential] = in_progress;
        in_progress[mode as usize] < self.of(capacity.of(mode))
            && parallel.saturating_add(sequential) < self.of(places)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dsp_4_one_flow_has_its_part_of_the_mode_and_of_the_nodes() {
        let share = FlowShare { percentage: 80 };
        let parts = [0, 1, 2, 4, 5, 10, 2000, u32::MAX].map(|places| share.of(places));
        assert_eq!(parts, [0, 1, 2, 4, 4, 8, 1600, 3_435_973_836]);
        let capacity = Capacity { parallel: 2000, sequential: 100 };
        let cases = [
            // (places, mode, in progress) -> one more may go
            ((4000, Mode::Parallel, [1599, 0]), true),
            ((4000, Mode::Parallel, [1600, 0]), false),
            ((4000, Mode::Sequential, [1600, 79]), true),
            ((4000, Mode::Sequential, [1600, 80]), false),
            ((100, Mode::Parallel, [79, 0]), true),
            ((100, Mode::Parallel, [40, 40]), false),
            ((100, Mode::Sequential, [80, 0]), false),
            ((0, Mode::Parallel, [0, 0]), false),
        ];
        for ((places, mode, in_progress), expected) in cases {
            let admits = share.admits(capacity, places, mode, in_progress);
            assert_eq!(admits, expected, "{places} {mode} {in_progress:?}");
        }
        assert!(FlowShare { percentage: 100 }.admits(capacity, 4, Mode::Parallel, [9, 9]));
    }

    #[test]
    fn dsp_1_allowance_is_the_rounded_part_of_each_live_node() {
        let cases = [
            // (parallel, sequential, live, concurrency) -> allowance
            ((100, 0, 4, 64), 25),
            ((100, 0, 3, 64), 33),
            ((101, 0, 2, 64), 51),
            ((90, 10, 4, 64), 25),
            ((5, 0, 2, 64), 3),
            ((2, 0, 5, 64), 1),
            ((0, 0, 5, 64), 1),
            ((1000, 0, 2, 16), 16),
            ((100, 0, 4, 0), 0),
            ((100, 0, 0, 64), 0),
            ((u32::MAX, u32::MAX, 1, u32::MAX), u32::MAX),
        ];
        for ((parallel, sequential, live, concurrency), expected) in cases {
            let capacity = Capacity { parallel, sequential };
            assert_eq!(
                capacity.allowance(live, concurrency),
                expected,
                "{parallel}+{sequential} over {live} nodes of {concurrency}"
            );
        }
    }

    #[test]
    fn dsp_1_each_mode_has_its_own_bound() {
        let capacity = Capacity { parallel: 2, sequential: 1 };
        assert!(capacity.admits(Mode::Parallel, 1) && !capacity.admits(Mode::Parallel, 2));
        assert!(capacity.admits(Mode::Sequential, 0) && !capacity.admits(Mode::Sequential, 1));
    }
}
