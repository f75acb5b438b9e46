//! Two that race, set off so that now one of them comes first and now the other, however fast the machine is.
//! Never waits itself: it only says who is to begin later, and by how many steps.

/// A series of races: the one that came first starts a step later the next time, so that the two meet again and
/// again just where it is decided.
#[derive(Clone, Copy, Debug, Default)]
pub struct Race {
    lead: i32,
    wins: [u32; 2],
}

impl Race {
    /// Number of steps that each of the two waits before it starts.
    #[must_use]
    pub fn delays(&self) -> [u32; 2] {
        [self.lead.max(0).unsigned_abs(), self.lead.min(0).unsigned_abs()]
    }

    /// Notes whether the first of the two came first.
    pub const fn won(&mut self, first: bool) {
        self.wins[first as usize] += 1;
        self.lead += if first { 1 } else { -1 };
    }

    /// True if there were this many races, and each has come first in some of them.
    #[must_use]
    pub const fn is_over(&self, races: u32) -> bool {
        let [lost, won] = self.wins;
        lost + won >= races && lost > 0 && won > 0
    }

    /// The number of races so far.
    #[must_use]
    pub const fn races(&self) -> u32 {
        self.wins[0] + self.wins[1]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_come_first_sooner_or_later() {
        let mut race = Race::default();
        // The first is five steps faster.
        while !race.is_over(20) {
            let [first, second] = race.delays();
            race.won(first < second + 5);
            assert!(race.races() < 50, "{race:?}");
        }
        assert_eq!(race.wins, [8, 12]);
        assert_eq!((race.races(), race.lead), (20, 4));
    }
}
