//! Settings of what happens when something ends or is lost.

use std::time::Duration;

use super::kind::Kind::*;
use super::section::{POSITIVE, days, section, unless_zero, unless_zero_time, words};

section! {
    /// `recovery`
    #[derive(Clone, Debug)]
    pub struct RecoverySettings;

    interval: Duration = ("recovery.interval", Duration, "1s", Live, "How often the engine looks for overdue work.");
    batch: usize = ("recovery.batch", POSITIVE, "500", Live, "Most orders that are recovered in one transaction.");
    max_restarts: u32 = ("recovery.max_restarts", Count { least: 0, most: 1000 }, "5", Live, "Restarts of one stage before its order counts as poison and fails.");
    work_timeout: Duration = ("recovery.timeouts.work", Duration, "5m", Live, "How long a stage may run before it counts as lost.");
    idle_timeout: Duration = ("recovery.timeouts.idle", Duration, "6h", Live, "How long an order may make no progress, ready or overdue, before the engine looks for the cause.");
    process_timeout: Option<Duration> = ("recovery.timeouts.process", OptionalDuration, "~", Live, "How long an order may take in total; default: any time.");

    /// The consistency check.
    with check: CheckSettings = CheckSettings::read;
}

section! {
    /// `recovery.check`
    #[derive(Clone, Debug)]
    pub struct CheckSettings;

    rate: Option<u32> = unless_zero("recovery.check.rate", Count { least: 0, most: 1_000_000 }, "200", Live, "Orders per second whose stored rows are checked for contradictions in the background, over all activators; `0` turns the check off.");
    confirm_after: Duration = ("recovery.check.confirm_after", Duration, "30s", Live, "How long after the first check an inconsistency is checked again; only one that is still there is repaired or marked.");
    first: Vec<String> = words("recovery.check.first", OptionalText, "~", Live, "Names of scenarios, separated by spaces, whose unfinished orders are also checked in a round of their own, at the same rate.");
}

section! {
    /// `failover`
    #[derive(Clone, Debug)]
    pub struct FailoverSettings;

    interval: Option<Duration> = unless_zero_time("failover.interval", DurationOrZero, "7d", Live, "Only work handed out within this time is taken over from lost nodes; `0` means no limit. Older work is counted and logged, and recovered after its work time-out.");
    batch: usize = ("failover.batch", POSITIVE, "10", Live, "Stages taken over from one lost node in one pass, so that the load spreads; the passes for one node are spread over about ten seconds, at most `recovery.interval` apart.");
    retry_jobs: bool = ("failover.retry_jobs", Flag, "true", Live, "Accepted for configurations from elsewhere, and without effect: orders in retry belong to no node, so those of a node that is marked offline always go to others.");
    running: WhenLost = when_lost("failover.running", Choice(&["resume", "cancel"]), "resume", Live, "Whether the work of a lost node is handed to other nodes; otherwise its orders end as canceled, and may be restarted.");
}

/// Fate of the work of a lost node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WhenLost {
    /// Others go on with it.
    Resume,
    /// Orders of that node are ended as canceled.
    Cancel,
}

fn when_lost(word: String) -> WhenLost {
    match word.as_str() {
        "cancel" => WhenLost::Cancel,
        _ => WhenLost::Resume,
    }
}

section! {
    /// `shutdown`
    #[derive(Clone, Debug)]
    pub struct ShutdownSettings;

    grace: Duration = ("shutdown.grace", DurationOrZero, "30s", Live, "How long running work may continue after the signal to stop.");
    release: bool = ("shutdown.release", Flag, "true", Live, "Whether work that still runs then is handed to other nodes; otherwise its orders end as canceled, and may be restarted.");
}

section! {
    /// `db.orders`
    #[derive(Clone, Copy, Debug)]
    pub struct RetentionSettings;

    ended: Duration = days("db.orders.storage_period_in_days.final", POSITIVE, "90", Live, "Days for which an order is kept after its end, unless its scenario says otherwise.");
    in_progress: Duration = days("db.orders.storage_period_in_days.in_progress", POSITIVE, "180", Live, "Days after its registration at which an unfinished order ends in `fail`, with class `retention.expired`.");
    rate: Option<u32> = unless_zero("db.orders.removal_rate", Count { least: 0, most: 1_000_000 }, "500", Live, "Orders per second that are checked, and removed after their retention time; `0` removes nothing.");
}
