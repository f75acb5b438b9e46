//! Settings of distribution and of called systems.

use std::sync::Arc;
use std::time::Duration;

use pagurus_domain::flow::{FlowRules, SystemRules};
use pagurus_domain::id::Vocabulary;
use pagurus_domain::system::{BuiltInClass, SystemNames};

use super::builder::SettingsBuilder;
use super::kind::Kind::*;
use super::section::{POSITIVE, Setting, rows, section, unless_zero};

section! {
    /// `distribution`
    #[derive(Clone, Debug)]
    pub struct DistributionSettings;

    ("distribution.mode", Choice(&["simple", "rated_flows", "stopped_flows", "limited_flows"]), "stopped_flows", Live, "How flows share capacity. `simple`: by turns; `rated_flows`: by the time of workers; `stopped_flows`: by turns, and a flow whose system is unavailable is stopped, probed and resumed; `limited_flows`: also with a limit that follows what its system can take.");
    parallel_count: usize = ("distribution.capacity.parallel_count", POSITIVE, "2000", Live, "Most stages of parallel orders in progress.");
    sequential_count: usize = ("distribution.capacity.sequential_count", POSITIVE, "2000", Live, "Most stages of sequential orders in progress.");
    ("distribution.capacity.overload_threshold_percentage", Count { least: 1, most: 100 }, "90", Live, "Percentage of the capacity in use from which flows of the modes `stopped_flows` and `limited_flows` share it by time, as in `rated_flows`, instead of by turns, until less is in use; limits and stops still apply.");
    high: u32 = ("distribution.priorities.high", POSITIVE, "70", Live, "Weight of orders of high priority.");
    normal: u32 = ("distribution.priorities.normal", POSITIVE, "25", Live, "Weight of orders of normal priority.");
    low: u32 = ("distribution.priorities.low", POSITIVE, "5", Live, "Weight of orders of low priority.");
    flow_attributes: Vec<String> = ("distribution.flows.attributes", Texts, "[scenario]", Restart, "Attributes of an order whose values determine its flow.");
    flow_share: u32 = ("distribution.flows.max_share_percentage", Count { least: 1, most: 100 }, "80", Live, "Percentage of the places, of each mode and of all workers, that one flow may use, so that a flow whose system hangs leaves room for the others; `100` means no limit.");
    ("distribution.flows.max_known", Count { least: 1, most: 1_000_000 }, "10000", Live, "Most flows without work whose limits and statistics are kept; beyond it, those unseen for longest are forgotten.");
    flow_retention: Duration = ("distribution.flows.retention", Duration, "30d", Live, "How long the data of a flow or a called system that is no longer seen is kept.");
    ("distribution.flows.limits.recovery.initial_limit", POSITIVE, "5", Live, "Stages that a flow may have in progress when it resumes after a stop; the limit grows from there.");
    ("distribution.flows.limits.open_requests_within", Duration, "1m", Live, "In the mode `limited_flows`, requests that wait for a callback count against limits of systems that answer half of them within this time, each for this time; systems that answer later are not throttled.");
    ("distribution.flows.limits.policies", Tree("a mapping of names, each with `scenarios` and `params`"), "{}", Live, "Modes and highest limits for some scenarios.");
    ("distribution.flows.limits.error_handling.built_in_classes", Words(BuiltInClass::WORDS), "[connection, timeout, 429, 502, 503, 504]", Live, "Failures that lower the limits of every scenario, whatever class the rules give them: no connection, no answer in time, and these statuses. With `[]`, only the policies do.");
    ("distribution.flows.limits.error_handling.policies", Tree("a mapping of names, each with `error_classes` and `scenarios`"), "{}", Live, "Error classes that lower the limits of some scenarios, besides the built-in ones.");
    decisions_keep: Duration = ("distribution.decisions.keep", Duration, "30d", Live, "How long decisions about flows and called systems are kept, for `pagurus flows history` and `pagurus systems history`.");
    max_backlog_of_flow: Option<u32> = unless_zero("distribution.backlog.max_per_flow", Count { least: 0, most: u32::MAX as u64 }, "0", Live, "Stages of one flow that may wait before the API refuses further orders of it with 429; `0` means no limit. Orders sent as messages are always accepted.");
    max_backlog_of_queue: Option<u32> = unless_zero("distribution.backlog.max_per_queue", Count { least: 0, most: u32::MAX as u64 }, "0", Live, "Orders that wait in one queue before the API refuses further ones with 429; `0` means no limit. Orders sent as messages are always accepted.");

    /// Limits and stops of flows.
    with flows: Arc<FlowRules> = SettingsBuilder::flow_rules;
}

/// Keys of called systems.
pub(super) const SYSTEMS: &[Setting] = rows! {
    ("systems.max_retry_after", Duration, "15m", Live, "Longest time for which the engine obeys a called system that says when to call it again.");
    ("systems.named", Tree("a list of `name` with `host` and `path`, or with `exchange`"), "[]", Live, "Names of called systems, by masks; the first match applies. A named system has a limit and a state of its own, shared by all flows that call it.");
};

/// `systems`
#[derive(Clone, Debug)]
pub struct SystemSettings {
    /// Treatment of called systems.
    pub rules: Arc<SystemRules>,
    /// The names of called systems.
    pub names: Arc<SystemNames>,
}

section! {
    /// `dispatcher`
    #[derive(Clone, Debug)]
    pub struct DispatcherSettings;

    lease_ttl: Duration = ("dispatcher.lease.ttl", Duration, "3s", Restart, "How long the active dispatcher may be silent before a standby takes over.");
    reread: Duration = ("dispatcher.reread", Duration, "2s", Live, "How often the tables are searched for ready orders whose messages were lost.");
}
