//! Count of start estimates (ORD-30), and of those that came true.

use std::iter::Sum;
use std::time::Duration;

use pagurus_domain::flow::StartEstimate;

/// Number of orders with an estimate of their start, and of those that had started by then.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Forecasts {
    /// Orders with an estimate whose times have passed.
    pub orders: u64,
    /// Orders that had started at the median.
    pub by_p50: u64,
    /// Orders that had started at the 90th percentile.
    pub by_p90: u64,
    /// Orders whose system changed between the estimate and their start: nobody could foresee it.
    pub surprised: u64,
    /// Surprised orders that had started at the median all the same.
    pub surprised_by_p50: u64,
    /// Surprised orders that had started at the 90th percentile.
    pub surprised_by_p90: u64,
}

impl Sum for Forecasts {
    fn sum<I: Iterator<Item = Self>>(all: I) -> Self {
        all.fold(Self::default(), |sum, one| Self {
            orders: sum.orders + one.orders,
            by_p50: sum.by_p50 + one.by_p50,
            by_p90: sum.by_p90 + one.by_p90,
            surprised: sum.surprised + one.surprised,
            surprised_by_p50: sum.surprised_by_p50 + one.surprised_by_p50,
            surprised_by_p90: sum.surprised_by_p90 + one.surprised_by_p90,
        })
    }
}

impl Forecasts {
    /// Returns the part that had started at the 90th percentile.
    #[must_use]
    pub fn covered(&self) -> f64 {
        self.by_p90 as f64 / self.orders.max(1) as f64
    }

    /// Returns the orders whose system did not change between the estimate and their start.
    #[must_use]
    pub const fn foreseeable(self) -> Self {
        Self {
            orders: self.orders - self.surprised,
            by_p90: self.by_p90 - self.surprised_by_p90,
            surprised: 0,
            surprised_by_p50: 0,
            surprised_by_p90: 0,
            by_p50: self.by_p50 - self.surprised_by_p50,
        }
    }

    pub(super) fn add(&mut self, estimate: StartEstimate, waited: Duration, is_surprised: bool) {
        if is_surprised {
            self.surprised += 1;
            self.surprised_by_p50 += u64::from(waited <= estimate.p50);
            self.surprised_by_p90 += u64::from(waited <= estimate.p90);
        }
        self.orders += 1;
        self.by_p50 += u64::from(waited <= estimate.p50);
        self.by_p90 += u64::from(waited <= estimate.p90);
    }
}
