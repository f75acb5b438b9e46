//! Chance from a seed: the same numbers in every run (SplitMix64, Steele, Lea and Flood 2014).

use super::plan::TimesForm;

/// A row of random numbers.
#[derive(Clone, Debug)]
pub(super) struct Chance(u64);

impl Chance {
    /// The row of a seed.
    pub(super) const fn of(seed: u64) -> Self {
        Self(seed)
    }

    /// A number from 0 up to 1.
    pub(super) fn part(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^= mixed >> 31;
        // The upper 53 bits are what a float holds.
        (mixed >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// True in this part of the cases.
    pub(super) fn happens(&mut self, part: f64) -> bool {
        part > 0.0 && self.part() < part
    }

    /// The time until the next of things that happen so often in a second, each whenever it likes.
    pub(super) fn gap(&mut self, per_second: f64) -> f64 {
        -(1.0 - self.part()).ln() / per_second
    }

    /// A number within bounds, any power of ten as likely as the other.
    pub(super) fn between(&mut self, least: f64, most: f64) -> f64 {
        (least.ln() + (most.ln() - least.ln()) * self.part()).exp()
    }

    /// A factor of a call time with mean one that varies so much.
    pub(super) fn time_factor(&mut self, form: TimesForm, variation: f64) -> f64 {
        if variation <= 0.0 {
            return 1.0;
        }
        // With two values of these parts the standard deviation is the variation as far as none is negative.
        let two = |chance: &mut Self, slow: f64| {
            let off = (variation / ((1.0 - slow) / slow).sqrt()).min(0.9);
            let (quick, long) = (1.0 - off, 1.0 + off * (1.0 - slow) / slow);
            if chance.happens(slow) { long } else { quick }
        };
        match form {
            TimesForm::LogNormal => self.factor(variation),
            TimesForm::Pareto => {
                // Of index a the mean is a/(a-1) and the squared variation 1/(a(a-2)).
                let index = 1.0 + (1.0 + 1.0 / (variation * variation)).sqrt();
                (index - 1.0) / index * (1.0 - self.part()).powf(-1.0 / index)
            }
            TimesForm::TwoHumps => two(self, 0.5) * self.factor(0.1),
            TimesForm::SlowTenth => two(self, 0.1) * self.factor(0.1),
        }
    }

    /// A factor with mean one that varies so much (log-normal).
    pub(super) fn factor(&mut self, variation: f64) -> f64 {
        if variation <= 0.0 {
            return 1.0;
        }
        let deviation = (1.0 + variation * variation).ln().sqrt();
        let radius = (-2.0 * (1.0 - self.part()).ln()).sqrt();
        let normal = radius * (std::f64::consts::TAU * self.part()).cos();
        (deviation * normal - deviation * deviation / 2.0).exp()
    }
}
