//! How many stages may be in progress: of each mode, and on each node. Limits by flow will be
//! asked for here too, with the flow's own count, and are the reason why flows are counted.
//! Must never count by itself: the counts come in.

use crate::order::Mode;

/// Stages in progress at most, of each mode (DSP-1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Capacity {
    /// Of orders that run beside all others.
    pub parallel: u32,
    /// Of orders that own a queue.
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

    /// Of both modes together.
    #[must_use]
    pub const fn total(self) -> u32 {
        self.parallel.saturating_add(self.sequential)
    }

    /// Whether one more of this mode may go, when so many are in progress.
    #[must_use]
    pub const fn admits(self, mode: Mode, in_progress: u32) -> bool {
        in_progress < self.of(mode)
    }

    /// What one of `live` nodes may have in progress: its equal part of the whole, rounded, at
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

#[cfg(test)]
mod tests {
    use super::*;

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
