//! Settings of what happens when something ends or is lost.

use std::time::Duration;

/// `recovery`
#[derive(Clone, Debug)]
pub struct RecoverySettings {
    /// Between two looks.
    pub interval: Duration,
    /// Orders in one transaction.
    pub batch: usize,
    /// Restarts of one stage.
    pub max_restarts: u32,
    /// Limit for a stage.
    pub work_timeout: Duration,
    /// Limit for an order without a change.
    pub idle_timeout: Duration,
    /// Limit for an order as a whole.
    pub process_timeout: Option<Duration>,
    /// The consistency check.
    pub check: CheckSettings,
}

/// `recovery.check`
#[derive(Clone, Debug)]
pub struct CheckSettings {
    /// Orders a second; none looks at nothing.
    pub rate: Option<u32>,
    /// Between the two looks.
    pub confirm_after: Duration,
    /// Scenarios whose unfinished orders have a round of their own.
    pub first: Vec<String>,
}

/// `db.orders`
#[derive(Clone, Copy, Debug)]
pub struct RetentionSettings {
    /// Time for which an order is kept after its end.
    pub ended: Duration,
    /// Longest time for an order to be unfinished.
    pub in_progress: Duration,
    /// Orders a second that are looked at; none removes nothing.
    pub rate: Option<u32>,
}

/// `failover`
#[derive(Clone, Debug)]
pub struct FailoverSettings {
    /// Age of the work that is taken over; none is any age.
    pub interval: Option<Duration>,
    /// Stages of one node in one pass.
    pub batch: usize,
    /// Fate of the stages that it was running.
    pub running: WhenLost,
}

/// Fate of the work of a lost node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WhenLost {
    /// Others go on with it.
    Resume,
    /// Orders of that node are ended as canceled.
    Cancel,
}

/// `shutdown`
#[derive(Clone, Debug)]
pub struct ShutdownSettings {
    /// Longest time for running work to go on.
    pub grace: Duration,
    /// True if the rest is released to others.
    pub release: bool,
}
