//! Summed outcomes of calls of systems: the only thing that limits are learnt from. Plain data.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use crate::classes::UNCLASSIFIED;
use crate::id::spelled;

/// Calls of one kind to one system, of one flow, that had the same outcome.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CallSamples {
    /// The flow whose stages called.
    pub flow: Arc<str>,
    /// Their scenario: classes of errors are limiting for some only.
    pub scenario: Arc<str>,
    /// The called system: its name in the configuration, or its host and port, or `amqp:` and its exchange.
    pub system: Arc<str>,
    /// Kind of the answers.
    pub kind: CallKind,
    /// Outcome of the calls.
    pub outcome: CallOutcome,
    /// Number of calls.
    pub count: u32,
    /// Number of stages that made them, or were held before them. A stage counts once for each system.
    pub stages: u32,
    /// Time that they took: of asynchronous ones, from the sending to the callback.
    pub latencies: Latencies,
    /// The longest time after which the system said that it is to be called again.
    pub retry_after: Option<Duration>,
}

/// Kind of the answer of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum CallKind {
    /// In the stage that calls.
    Direct,
    /// By callback: until then the request is open.
    Asynchronous,
}

/// Outcome of a call.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum CallOutcome {
    /// Sent, and the answer will come by callback.
    Sent,
    /// Answered as the scenario hoped.
    Answered,
    /// Failed for a technical reason.
    Failed(CallFailure),
    /// Answered in a way from which nothing is learnt: a business failure, which no rule gives a class, or the decision of an
    /// actor that said when it is to be called again.
    Declined,
    /// Not made: the stage is held, because the system is to be left alone.
    Held,
}

/// Technical failure of a call: by the rules of operators and scenarios, and whatever they say.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct CallFailure {
    /// The error class that a rule gives it.
    pub class: Option<Arc<str>>,
    /// The built-in class that it belongs to besides.
    pub built_in: Option<BuiltInClass>,
}

impl CallFailure {
    /// Creates a failure that has this error class, and no built-in one.
    #[must_use]
    pub fn of_class(class: impl Into<Arc<str>>) -> Self {
        Self { class: Some(class.into()), built_in: None }
    }

    /// Returns the word under which it is counted: its error class, else its built-in one, else
    /// [`UNCLASSIFIED`].
    #[must_use]
    pub fn word(&self) -> Arc<str> {
        let built_in = || self.built_in.map_or(UNCLASSIFIED, BuiltInClass::as_str);
        self.class.clone().unwrap_or_else(|| Arc::from(built_in()))
    }
}

/// Failures that speak against the load of a system without any rule (DSP-4).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum BuiltInClass {
    /// Nobody accepted the connection, or it broke.
    Connection,
    /// No answer came in time.
    Timeout,
    /// Answer 429: too many requests.
    TooManyRequests,
    /// Answer 502: what stands before the system does not reach it.
    BadGateway,
    /// Answer 503: not available.
    Unavailable,
    /// Answer 504: what stands before the system waited in vain.
    GatewayTimeout,
}

spelled!(BuiltInClass {
    Connection => "connection",
    Timeout => "timeout",
    TooManyRequests => "429",
    BadGateway => "502",
    Unavailable => "503",
    GatewayTimeout => "504",
});

impl BuiltInClass {
    /// Returns the class of an answer with this status.
    #[must_use]
    pub const fn of_status(status: u16) -> Option<Self> {
        match status {
            429 => Some(Self::TooManyRequests),
            502 => Some(Self::BadGateway),
            503 => Some(Self::Unavailable),
            504 => Some(Self::GatewayTimeout),
            _ => None,
        }
    }
}

/// Steps of the scale within one doubling.
const STEPS: u32 = 8;

/// Durations on a logarithmic scale of eight steps to the doubling, from a tenth of a millisecond on: what is read
/// from it is at most 9 % off.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Latencies {
    counts: BTreeMap<u16, u32>,
}

impl Latencies {
    /// Creates it from counts by step, as [`Latencies::counts`] gave them.
    #[must_use]
    pub fn of_counts(counts: impl IntoIterator<Item = (u16, u32)>) -> Self {
        Self { counts: counts.into_iter().collect() }
    }

    /// Counts by step of the scale.
    pub fn counts(&self) -> impl Iterator<Item = (u16, u32)> {
        self.counts.iter().map(|(step, count)| (*step, *count))
    }

    /// Adds a duration.
    pub fn note(&mut self, took: Duration) {
        *self.counts.entry(step_of(took)).or_default() += 1;
    }

    /// Adds others.
    pub fn merge(&mut self, other: &Self) {
        for (step, count) in other.counts() {
            let present = self.counts.entry(step).or_default();
            *present = present.saturating_add(count);
        }
    }
}

/// The step of the scale on which a duration lies.
#[must_use]
pub fn step_of(took: Duration) -> u16 {
    let tenths = (took.as_secs_f64() * 10_000.0).max(1.0);
    // A thousand years are step 400.
    (tenths.log2() * f64::from(STEPS)).floor().min(f64::from(u16::MAX)) as u16
}

/// The duration in the middle of a step of the scale.
#[must_use]
pub fn duration_of(step: u16) -> Duration {
    let tenths = ((f64::from(step) + 0.5) / f64::from(STEPS)).exp2();
    Duration::try_from_secs_f64(tenths / 10_000.0).unwrap_or(Duration::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dsp_14_what_is_read_from_the_scale_is_at_most_nine_percent_off() {
        for micros in (100..2_000_000_u64).step_by(977).chain([3_600_000_000]) {
            let took = Duration::from_micros(micros);
            let read = duration_of(step_of(took)).as_secs_f64();
            let off = (read / took.as_secs_f64() - 1.0).abs();
            assert!(off <= 0.0906, "{took:?} is read as {read} s");
        }
        assert_eq!(step_of(Duration::ZERO), 0);
        assert!(duration_of(step_of(Duration::MAX)) > Duration::from_secs(3600));
    }
}
