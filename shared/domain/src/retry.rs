//! Reaction to a technical failure: its class by the rules of the deployment and of the scenario, the policy for
//! scenario and class, and the time of the next attempt. Failures of synchronous requests and
//! failures of callbacks have rules, policies and limits of their own.
//!
//! Everything is a function of its arguments: the clock and the dice come in, so that the API can
//! show in advance what an order would get. Nothing here knows of orders, HTTP clients or tables.

mod asynchronous;
mod classify;
mod explain;
mod layers;
pub(crate) mod mask;
mod names;
mod policy;
mod read;
pub mod sample;
mod spelling;
mod verdict;

use std::fmt;
use std::time::Duration;

use crate::classes::{ASYNC_TIMEOUT, POLLING_TIMEOUT};
use crate::document::{DocumentNode, Fault};
use asynchronous::AsyncRule;
use classify::ClassificationRule;
pub use explain::{Explained, Question, explain};
pub use layers::{ErrorRules, Overruled};
use mask::Glob;
pub use read::{RULES_OF_DEPLOYMENT, RULES_OF_SCENARIO};
pub use spelling::UnknownName;
pub use verdict::{Cycle, Failure, GiveUp, Standing, Verdict, on_async_failure, on_failure, together};

/// Names that the built-in classes have in rules written for CRAB, and their names here.
const CARRIED_OVER: [(&str, &str); 2] =
    [("crab.async.timeout", ASYNC_TIMEOUT), ("crab.polling.timeout", POLLING_TIMEOUT)];

/// The name of a class of failures, such as `shop.unavailable`. The built-in classes have one
/// name, however they are written.
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
        let known = CARRIED_OVER.iter().find(|(older, _)| *older == name);
        Self(known.map_or(name, |(_, name)| *name).to_owned())
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
    /// The host, with the port if the URL has one.
    pub host: &'a str,
    /// The path of the URL, without the query.
    pub path: &'a str,
}

/// End of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome<'a> {
    /// An answer of any status came.
    Response {
        /// The HTTP status.
        status: u16,
        /// The body as text.
        body: &'a str,
        /// Codes, reason and detail of the SOAP fault that it is.
        fault: Option<&'a str>,
    },
    /// No answer came.
    Exception {
        /// Names from the outermost to the cause: `HttpError`, `ConnectError`, …
        chain: &'a [&'a str],
        /// Message of the failure.
        message: &'a str,
    },
}

/// Target of an asynchronous request, as rules see it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Asked<'a> {
    /// HTTP call.
    Http(Interaction<'a>),
    /// Message.
    Amqp {
        /// The virtual host by its name: `/`, not `%2F`.
        vhost: &'a str,
        /// The exchange; empty for the default one.
        exchange: &'a str,
        /// The routing key.
        key: &'a str,
    },
}

/// Fate of an asynchronous request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reply<'a> {
    /// The wait was over before an answer came.
    TimedOut,
    /// An answer came.
    Callback {
        /// Value of its header `step-status`.
        step_status: Option<&'a str>,
        /// The body as text.
        body: &'a str,
        /// Codes, reason and detail of the SOAP fault that it is.
        fault: Option<&'a str>,
    },
}

/// Verdict of the rules on an outcome.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Classified {
    /// The name of the rule that took the request; none for a built-in class.
    pub rule: Option<String>,
    /// The class it gave.
    pub class: ErrorClass,
}

/// True if failures are retried at all.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RetryMode {
    /// Failures with a policy are retried.
    #[default]
    Retry,
    /// Every failure goes to the scenario at once; classes are still reported.
    None,
}

/// Time of a cycle that counts against its limits (ERR-10).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum DurationControl {
    /// All the time since the first failure.
    #[default]
    Total,
    /// Without the time for which the order was due and nobody had taken it up yet.
    RunAndSuspending,
}

/// Retries of failures of certain classes in certain scenarios.
#[derive(Clone, Debug, PartialEq)]
pub struct Policy {
    /// Name of the policy in the configuration.
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
    /// Number of retries that a cycle may have, the first request not counted; `None` is any number.
    pub max_attempts: Option<u32>,
    /// Longest time of a cycle from its first failure; `None` leaves it to the general limit.
    pub max_duration: Option<Duration>,
}

/// Rules, policies and limits for failures of requests and of callbacks.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ErrorPolicy {
    rules: Vec<ClassificationRule>,
    retries: Retries,
    async_rules: Vec<AsyncRule>,
    async_retries: Retries,
    duration_control: DurationControl,
}

/// Retries of one kind of failures; by default with no policy, so that every failure goes to the scenario.
#[derive(Clone, Debug, Default, PartialEq)]
struct Retries {
    mode: RetryMode,
    policies: Vec<Policy>,
    /// None where nothing is said of it.
    max_cycle_duration: Option<Duration>,
    max_total_duration: Option<Duration>,
}

impl Retries {
    fn max_cycle(&self) -> Duration {
        self.max_cycle_duration.unwrap_or(Duration::from_secs(24 * 60 * 60))
    }

    fn max_total(&self) -> Duration {
        self.max_total_duration.unwrap_or(Duration::from_secs(7 * 24 * 60 * 60))
    }
}

impl ErrorPolicy {
    /// Reads the mapping `execution.error_handling`.
    ///
    /// # Errors
    /// Everything that is wrong with it, all at once. Pointers are relative to `node`.
    pub fn read(node: &DocumentNode) -> Result<Self, Vec<Fault>> {
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

    /// Returns the class of the outcome of an asynchronous request. A time-out always has one: that of
    /// a rule with `timeout: true`, else [`ASYNC_TIMEOUT`]. An answer has one only where a rule
    /// classes it as an error.
    #[must_use]
    pub fn classify_async(&self, asked: &Asked<'_>, reply: &Reply<'_>) -> Option<Classified> {
        ErrorRules::from(self).classify_async(asked, reply)
    }

    /// True if a failure can come to have this class by these rules, or by the engine itself.
    #[must_use]
    pub fn gives(&self, class: &str) -> bool {
        self.given_classes().any(|given| given == class)
    }

    /// The most specific policy for a scenario and a class, whatever the mode.
    #[must_use]
    pub fn policy_for(&self, scenario: &str, class: &str) -> Option<&Policy> {
        policy::most_specific(&self.retries.policies, scenario, class)
    }

    /// The names of the policies that no order of this scenario is retried by.
    pub fn policies_for_others(&self, scenario: &str) -> impl Iterator<Item = &str> {
        let policies = self.retries.policies.iter().chain(&self.async_retries.policies);
        let others = move |policy: &&Policy| !policy.scenarios.iter().any(|mask| mask.matches(scenario));
        policies.filter(others).map(|policy| policy.name.as_str())
    }

    /// The most specific policy for a scenario and the class of a failed callback, whatever the
    /// mode.
    #[must_use]
    pub fn async_policy_for(&self, scenario: &str, class: &str) -> Option<&Policy> {
        policy::most_specific(&self.async_retries.policies, scenario, class)
    }
}

#[cfg(test)]
mod tests;
