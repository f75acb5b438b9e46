//! Chance from a seed: the same numbers in every run (SplitMix64, Steele, Lea and Flood 2014).

use uuid::Uuid;

/// A row of random numbers.
#[derive(Clone, Debug)]
pub struct Chance(u64);

/// Mixes a number such that all of its bits count.
#[must_use]
pub const fn mix(number: u64) -> u64 {
    let mut mixed = number.wrapping_add(0x9e37_79b9_7f4a_7c15);
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}

impl Chance {
    /// The row of a seed; rows with other names have nothing to do with each other.
    #[must_use]
    pub const fn of(seed: u64, name: u64) -> Self {
        Self(mix(seed ^ mix(name)))
    }

    /// Any number.
    pub const fn number(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        mix(self.0)
    }

    /// A number from 0 up to this one, which is not 0.
    pub const fn below(&mut self, bound: u64) -> u64 {
        self.number() % bound
    }

    /// A number between these two, both counted in.
    pub const fn between(&mut self, least: i64, most: i64) -> i64 {
        least + self.below((most - least).unsigned_abs() + 1).cast_signed()
    }

    /// True so often in a million.
    pub const fn happens(&mut self, in_a_million: u64) -> bool {
        in_a_million > 0 && self.below(1_000_000) < in_a_million
    }

    /// A number from 0 up to 1.
    pub fn part(&mut self) -> f64 {
        (self.number() >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// An id.
    pub const fn id(&mut self) -> Uuid {
        Uuid::from_u64_pair(self.number(), self.number())
    }
}
