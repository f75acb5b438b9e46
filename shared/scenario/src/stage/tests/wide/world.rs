//! The world that answers a small scenario.

use super::{CALLS, CHILD};

/// Answer to an asynchronous request.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Came {
    Good,
    Refused,
    Odd,
    Nothing,
}

/// Answers of the world, by visit, request and try.
#[derive(Clone, Debug)]
pub struct World {
    pub dice: Vec<u8>,
    /// True if nobody calls from outside.
    pub is_quiet: bool,
}

impl From<Vec<u8>> for World {
    fn from(dice: Vec<u8>) -> Self {
        Self { dice, is_quiet: false }
    }
}

impl World {
    fn die(&self, visit: u32, slot: usize, tries: usize) -> u8 {
        self.dice[(visit as usize * 7 + slot * 3 + tries * 5) % self.dice.len()]
    }

    pub fn status(&self, visit: u32, slot: usize, tries: usize) -> u16 {
        // Classes that take turns begin a new cycle each time; a call has no other end.
        if slot >= CALLS && tries > 6 {
            return 200;
        }
        [200, 200, 200, 200, 200, 404, 503, 0][usize::from(self.die(visit, slot, tries) % 8)]
    }

    /// Number in a good answer; to a polling 0 is not yet, 1 yes, 2 no.
    pub fn number(&self, visit: u32, slot: usize, tries: usize, polls: bool) -> i64 {
        if polls {
            return i64::from(self.die(visit, slot, tries) / 8 % 3);
        }
        i64::from(visit) * 10_000 + i64::try_from(slot).unwrap()
    }

    pub fn came(&self, visit: u32, request: usize) -> Came {
        [
            Came::Good,
            Came::Good,
            Came::Refused,
            Came::Nothing,
            Came::Good,
            Came::Refused,
            Came::Odd,
            Came::Good,
        ][usize::from(self.die(visit, request, 1) / 8 % 8)]
    }

    /// True if a child order can be started.
    pub fn takes_child(&self, visit: u32) -> bool {
        !self.die(visit, CHILD, 0).is_multiple_of(8)
    }

    /// Number of calls during a rest.
    pub fn calls(&self, rest: usize) -> usize {
        if self.is_quiet {
            return 0;
        }
        [0, 0, 1, 2][usize::from(self.die(0, rest, 2) % 4)]
    }
}
