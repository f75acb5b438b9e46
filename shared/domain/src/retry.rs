//! What to do after a technical failure: its class by the rules of the deployment, the policy for
//! scenario and class, and the time of the next attempt.
//!
//! Everything is a function of its arguments: the clock and the dice come in, so that the API can
//! show in advance what an order would get. Nothing here knows of orders, HTTP clients or tables.

mod classify;
mod mask;
mod policy;
mod read;
mod verdict;

use std::fmt;
use std::time::Duration;

use jiff::Timestamp;
use serde_json::{Value, json};

use crate::document::{Fault, Node};
use classify::Rule;
use mask::Glob;

/// The name of a class of failures, such as `shop.unavailable`.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ErrorClass(String);

impl ErrorClass {
    /// The name.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl From<&str> for ErrorClass {
    fn from(name: &str) -> Self {
        Self(name.to_owned())
    }
}

impl fmt::Display for ErrorClass {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

/// A request as rules see it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Interaction<'a> {
    /// The HTTP method, in any case.
    pub method: &'a str,
    /// The host, with the port where the URL has one.
    pub host: &'a str,
    /// The path of the URL, without the query.
    pub path: &'a str,
}

/// How a request ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome<'a> {
    /// An answer came, of whatever status.
    Response {
        /// The HTTP status.
        status: u16,
        /// The body as text.
        body: &'a str,
    },
    /// No answer came.
    Exception {
        /// Names from the outermost to the cause: `HttpError`, `ConnectError`, …
        chain: &'a [&'a str],
        /// What the failure says about itself.
        message: &'a str,
    },
}

/// What the rules say about an outcome.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Classified {
    /// The name of the rule that took the request.
    pub rule: String,
    /// The class it gave.
    pub class: ErrorClass,
}

/// Whether failures are retried at all.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RetryMode {
    /// Failures with a policy are retried.
    #[default]
    Retry,
    /// Every failure goes to the scenario at once; classes are still told.
    None,
}

/// Which time of a cycle counts against its limits (ERR-10).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum DurationControl {
    /// All the time since the first failure.
    #[default]
    Total,
    /// Without the time for which the order was due and nobody had taken it up yet.
    RunAndSuspending,
}

/// How failures of certain classes are retried in certain scenarios.
#[derive(Clone, Debug, PartialEq)]
pub struct Policy {
    /// Its name in the configuration.
    pub name: String,
    /// The classes it takes.
    classes: Vec<Glob>,
    /// The scenarios it holds for; `*` where the configuration names none.
    scenarios: Vec<Glob>,
    /// The wait before the first retry.
    pub initial_interval: Duration,
    /// By how much each wait is longer than the one before; at least 1.
    pub multiplier: f64,
    /// The longest wait, jitter included; `Retry-After` may ask for more.
    pub max_interval: Duration,
    /// The part of a wait, 0 to 1, by which chance makes it longer or shorter.
    pub jitter: f64,
    /// How many retries a cycle may have, the first request not counted; `None` is any number.
    pub max_attempts: Option<u32>,
    /// How long a cycle may last from its first failure; `None` leaves it to the general limit.
    pub max_duration: Option<Duration>,
}

/// Rules, policies and limits for failures of synchronous requests.
#[derive(Clone, Debug, PartialEq)]
pub struct ErrorPolicy {
    mode: RetryMode,
    rules: Vec<Rule>,
    policies: Vec<Policy>,
    max_cycle_duration: Duration,
    duration_control: DurationControl,
}

impl Default for ErrorPolicy {
    /// Retries are on, but with no rule and no policy, so that every failure goes to the scenario.
    fn default() -> Self {
        Self {
            mode: RetryMode::default(),
            rules: Vec::new(),
            policies: Vec::new(),
            max_cycle_duration: Duration::from_secs(24 * 60 * 60),
            duration_control: DurationControl::default(),
        }
    }
}

impl ErrorPolicy {
    /// Reads the mapping `execution.error_handling`.
    ///
    /// # Errors
    /// Everything that is wrong with it, all at once. Pointers are relative to `node`.
    pub fn read(node: &Node) -> Result<Self, Vec<Fault>> {
        read::error_policy(node)
    }

    /// The same with another way to count the time of a cycle.
    #[must_use]
    pub fn with_duration_control(mut self, control: DurationControl) -> Self {
        self.duration_control = control;
        self
    }

    /// The class of an outcome: of the rule with the most specific mask, the first class that
    /// fits. `None` is a success or a failure that no rule knows.
    #[must_use]
    pub fn classify(&self, interaction: &Interaction<'_>, outcome: &Outcome<'_>) -> Option<Classified> {
        classify::classify(&self.rules, interaction, outcome)
    }

    /// The most specific policy for a scenario and a class, whatever the mode.
    #[must_use]
    pub fn policy_for(&self, scenario: &str, class: &str) -> Option<&Policy> {
        policy::most_specific(&self.policies, scenario, class)
    }
}

/// A row of failures of one class without a success between them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cycle {
    /// The class that comes back.
    pub class: ErrorClass,
    /// The name of the policy, for people; the policy itself is looked up anew each time, because
    /// it may have been changed meanwhile.
    pub policy: String,
    /// Which cycle of the action this is, from 1.
    pub number: u32,
    /// How many retries have been scheduled; the one that waits is counted.
    pub attempts: u32,
    /// When the first failure of the cycle was seen.
    pub started_at: Timestamp,
    /// For how long in all the order was due before an attempt of the cycle began.
    pub suspended: Duration,
}

impl Cycle {
    /// The cycle as JSON, for the stored cursor.
    #[must_use]
    pub fn to_value(&self) -> Value {
        json!({
            "class": self.class.as_str(),
            "policy": self.policy,
            "number": self.number,
            "attempts": self.attempts,
            "startedAt": self.started_at.to_string(),
            "suspendedMs": u64::try_from(self.suspended.as_millis()).unwrap_or(u64::MAX),
        })
    }

    /// Reads what [`Cycle::to_value`] wrote; `None` if it is something else.
    #[must_use]
    pub fn from_value(value: &Value) -> Option<Self> {
        let number = |name: &str| u32::try_from(value.get(name)?.as_u64()?).ok();
        Some(Self {
            class: ErrorClass::from(value.get("class")?.as_str()?),
            policy: value.get("policy")?.as_str()?.to_owned(),
            number: number("number")?,
            attempts: number("attempts")?,
            started_at: value.get("startedAt")?.as_str()?.parse().ok()?,
            suspended: Duration::from_millis(value.get("suspendedMs")?.as_u64()?),
        })
    }
}

/// A failure that is to be judged.
#[derive(Clone, Copy, Debug)]
pub struct Failure<'a> {
    /// The name of the scenario.
    pub scenario: &'a str,
    /// The class that a rule or a script gave it.
    pub class: Option<&'a ErrorClass>,
    /// What a 429 or 503 answer asked for.
    pub retry_after: Option<Duration>,
    /// Since when a sequential order has been holding its queue in retries.
    pub sequential_since: Option<Timestamp>,
    /// How long it may (ORD-12).
    pub max_acquisition: Duration,
    /// When the attempt that failed was due.
    pub due_at: Option<Timestamp>,
    /// When it began.
    pub started_at: Option<Timestamp>,
}

/// What follows a failure.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The order rests and tries again.
    RetryAt {
        /// When it is due.
        at: Timestamp,
        /// The cycle to keep with the order.
        cycle: Cycle,
    },
    /// The failure goes to the scenario as event `fail`.
    GiveUp {
        /// Why there is no retry left.
        why: GiveUp,
    },
}

/// Why a failure is not retried.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum GiveUp {
    /// Retries are switched off.
    Disabled,
    /// No rule gave the failure a class.
    NoClass,
    /// No policy takes this class in this scenario.
    NoPolicy,
    /// All attempts of the policy were made.
    AttemptsExhausted,
    /// The next attempt would begin after the policy's `max_duration`.
    DurationExhausted,
    /// The next attempt would begin after the general `max_cycle_duration`.
    CycleDurationExhausted,
    /// The next attempt of a sequential order would begin after `max_acquisition_duration`.
    AcquisitionExhausted,
}

impl GiveUp {
    /// The reason in words, for the order's history.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Disabled => "retries are switched off",
            Self::NoClass => "no rule classifies it",
            Self::NoPolicy => "no policy takes its class",
            Self::AttemptsExhausted => "all attempts were made",
            Self::DurationExhausted => "the policy's max_duration is over",
            Self::CycleDurationExhausted => "max_cycle_duration is over",
            Self::AcquisitionExhausted => "max_acquisition_duration is over",
        }
    }
}

/// Judges a failure. `cycle` is what the order kept from the failure before, `dice` an even
/// chance from 0 to 1.
#[must_use]
pub fn on_failure(
    errors: &ErrorPolicy,
    failure: &Failure<'_>,
    cycle: Option<&Cycle>,
    now: Timestamp,
    dice: f64,
) -> Verdict {
    match verdict::next_attempt(errors, failure, cycle, now, dice) {
        Ok((at, cycle)) => Verdict::RetryAt { at, cycle },
        Err(why) => Verdict::GiveUp { why },
    }
}

#[cfg(test)]
mod tests;
