//! Plan of a simulation, as a file gives it. Plain data.

use std::time::Duration;

use pagurus_domain::flow::DistributionMode;
use pagurus_domain::order::Priority;

/// A whole situation.
#[derive(Clone, Debug)]
pub struct LabPlan {
    /// Title.
    pub title: String,
    /// Description of the situation.
    pub about: String,
    /// Description of its picture.
    pub shows: String,
    /// Why another rule is better in it; none where none is.
    pub behind: Option<String>,
    /// Seed of chance.
    pub seed: u64,
    /// Duration.
    pub duration: Duration,
    /// Rules of the dispatcher.
    pub rules: LimitRules,
    /// Worker nodes.
    pub nodes: u32,
    /// Stages that each runs at once.
    pub concurrency: u32,
    /// Delay from a worker to the dispatcher and back.
    pub news_delay: Duration,
    /// Part of the samples that is lost.
    pub lost_samples: f64,
    /// Part of all other news that is lost.
    pub lost_news: f64,
    /// Time at which another dispatcher takes over.
    pub take_overs: Vec<Duration>,
    /// Time after which a caller gives a call up; none where only a call that hangs is given up, after five seconds.
    pub timeout: Option<Duration>,
    /// Time after which an order whose call failed comes again.
    pub retry: Duration,
    /// The called systems.
    pub systems: Vec<LabSystem>,
    /// The flows.
    pub flows: Vec<LabFlow>,
    /// Bounds that must hold.
    pub bounds: Vec<LabBound>,
    /// Happenings after which it ends, whatever the duration.
    pub most_happenings: u64,
}

/// Rules of the dispatcher.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LimitRules {
    /// Way to share capacity among flows.
    pub mode: DistributionMode,
    /// Stages in progress at most, of parallel orders.
    pub parallel: u32,
    /// Stages in progress at most, of sequential orders.
    pub sequential: u32,
    /// Part of the places that one flow may have, in percent.
    pub flow_share: u32,
    /// Limit of a flow that comes back after a stop.
    pub initial_limit: u32,
    /// Part of the capacity from which on flows share by time, in percent.
    pub overload: u32,
}

impl LabFlow {
    /// Returns the rate at a time.
    #[must_use]
    pub fn rate_at(&self, at: Duration) -> f64 {
        self.rate * self.swings.iter().rfind(|swing| swing.at <= at).map_or(1.0, |swing| swing.factor)
    }
}

impl LabPlan {
    /// True if limits are learnt from the calls of a system, so that one rule can be held against another.
    #[must_use]
    pub fn learns_limits(&self) -> bool {
        self.rules.mode == DistributionMode::LimitedFlows && self.systems.iter().any(|system| system.is_named)
    }
}

/// A called system.
#[derive(Clone, Debug)]
pub struct LabSystem {
    /// Name.
    pub name: String,
    /// True if the configuration names it, so that it has a limit of its own.
    pub is_named: bool,
    /// True if it answers by callback.
    pub is_asynchronous: bool,
    /// Capacity at the start.
    pub capacity: LabCapacity,
    /// Variation of the times of its calls: standard deviation over mean.
    pub variation: f64,
    /// Form of the distribution of these times.
    pub form: TimesForm,
    /// Part of the calls that fails by chance, however few they are.
    pub technical_failures: f64,
    /// Changes over time.
    pub changes: Vec<LabChange>,
}

/// Capacity of a called system at a time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LabCapacity {
    /// Calls that it works on at once.
    pub servers: u32,
    /// Calls that wait for that at most; further ones are refused.
    pub queue: u32,
    /// Time that it works on a call, on average.
    pub takes: Duration,
    /// Way in which it does not answer, if any.
    pub outage: Outage,
}

impl LabCapacity {
    /// Calls that it can answer in a second.
    #[must_use]
    pub fn per_second(&self) -> f64 {
        if self.outage == Outage::None {
            f64::from(self.servers) / self.takes.as_secs_f64().max(1e-6)
        } else {
            0.0
        }
    }
}

/// A way not to answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outage {
    /// No outage.
    None,
    /// Refuses at once.
    Refuses,
    /// Refuses at once, and says after which time it is to be called again.
    RetryAfter(Duration),
    /// Does not answer until the caller gives up.
    Hangs,
}

/// Form of the distribution of call times, with the mean and the variation that the plan says.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TimesForm {
    /// Log-normal.
    #[default]
    LogNormal,
    /// A Pareto distribution: rare calls take very long.
    Pareto,
    /// Two kinds of calls, quick ones and slow ones, evenly mixed.
    TwoHumps,
    /// A tenth of the calls takes many times as long as the others.
    SlowTenth,
}

pagurus_domain::id::spelled!(TimesForm {
    LogNormal => "log_normal",
    Pareto => "pareto",
    TwoHumps => "two_humps",
    SlowTenth => "slow_tenth",
});

/// A change of the rate at which orders come.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RateSwing {
    /// Time from which on it holds.
    pub at: Duration,
    /// Factor of the rate.
    pub factor: f64,
}

/// A change of the capacity of a system.
#[derive(Clone, Debug)]
pub struct LabChange {
    /// Time at which it starts.
    pub at: Duration,
    /// Time at which it is complete; between the two it goes on evenly.
    pub until: Duration,
    /// Capacity from then on.
    pub capacity: LabCapacity,
}

/// A flow, or many alike.
#[derive(Clone, Debug)]
pub struct LabFlow {
    /// Name.
    pub name: String,
    /// Number of such flows, numbered from 1 if more than one.
    pub count: u32,
    /// The system that its stages call, by its place in the plan; none if they call nothing.
    pub calls: Option<usize>,
    /// The system that its stages call when that call was answered; none for most.
    pub then_calls: Option<usize>,
    /// Part of its stages that call; 1 for most.
    pub call_part: f64,
    /// Orders that come in a second, to each.
    pub rate: f64,
    /// Changes of that rate: from each time on it is multiplied by the factor.
    pub swings: Vec<RateSwing>,
    /// Orders that are there at the start, of each.
    pub backlog: u32,
    /// Time at which its orders begin to come.
    pub from: Duration,
    /// Time at which they cease to come.
    pub until: Duration,
    /// Time of a stage besides its call.
    pub own: Duration,
    /// Part of the stages that takes `long_own` instead.
    pub long_share: f64,
    /// The time of these stages besides their call. It is part of the call.
    pub long_own: Duration,
    /// Priority of its orders.
    pub priority: Priority,
    /// Queues of its orders; none for orders that run beside all others.
    pub queues: u32,
    /// Part of the calls that fails for the business.
    pub business_failures: f64,
    /// Weight in what it shares with others.
    pub weight: u32,
    /// Greatest limit that the rules allow it.
    pub max_limit: Option<u32>,
    /// Times at which further orders come, one each: for what was recorded.
    pub arrivals: Vec<Duration>,
}

/// Bound on the outcome.
#[derive(Clone, Debug)]
pub struct LabBound {
    /// Measured quantity.
    pub of: Measure,
    /// The system or the flow that it is measured of.
    pub name: String,
    /// Start of the measured time.
    pub from: Duration,
    /// Up to when.
    pub until: Duration,
    /// Least or greatest value, depending on the measure.
    pub bound: f64,
    /// Known not to hold, with the reason; shown beside the figure.
    pub missed: Option<String>,
}

/// Quantities that can be measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Measure {
    /// Answered calls of a system, as a part of its capacity, at least.
    Share,
    /// Refused calls of a system, as a part of all, at most.
    Refused,
    /// Seconds after `from` until a system answers nine tenths of its capacity, at most.
    Back,
    /// Failed calls of a system after `from` until its callers are stopped, at most.
    Trip,
    /// Jain's index of the worker time, by weight, of flows whose names begin so, at least.
    Fairness,
    /// The base latency that was learnt of a system, by the true one, at most.
    Base,
    /// Swing of a limit: standard deviation over mean, at most.
    Swing,
    /// Wait of a flow at p99, by what it would be alone, at most.
    Wait,
    /// Flows whose names begin so that had no stage, at most.
    Starved,
    /// Moves of a limit, at most.
    Moves,
    /// Part of the seconds with a backlog in which the forecast of its end is right within a tenth, at least.
    Forecast,
}

pagurus_domain::id::spelled!(Measure {
    Share => "share",
    Refused => "refused",
    Back => "back",
    Trip => "trip",
    Fairness => "fairness",
    Base => "base",
    Swing => "swing",
    Wait => "wait",
    Starved => "starved",
    Moves => "moves",
    Forecast => "forecast",
});

impl Measure {
    /// True where more is better.
    #[must_use]
    pub const fn is_least(self) -> bool {
        matches!(self, Self::Share | Self::Fairness | Self::Forecast)
    }

    /// Figures that are no further apart than this count as equally good.
    #[must_use]
    pub const fn tie(self) -> f64 {
        match self {
            Self::Share | Self::Forecast => 0.02,
            Self::Refused | Self::Fairness => 0.01,
            Self::Back => 1.0,
            Self::Trip => 10.0,
            Self::Base | Self::Swing | Self::Wait => 0.05,
            Self::Starved | Self::Moves => 0.0,
        }
    }
}
