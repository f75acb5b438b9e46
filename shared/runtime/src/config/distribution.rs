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

    ("distribution.mode", Choice(&["simple", "rated_flows", "stopped_flows", "limited_flows"]), "stopped_flows", Live, "How capacity is shared among flows: by turns; by the time of workers; by turns, and a flow whose system is away is stopped, probed and resumed; besides, with a limit that follows what its system can take.");
    parallel_count: usize = ("distribution.capacity.parallel_count", POSITIVE, "2000", Live, "Stages of parallel orders in progress at most.");
    sequential_count: usize = ("distribution.capacity.sequential_count", POSITIVE, "2000", Live, "Stages of sequential orders in progress at most.");
    ("distribution.capacity.overload_threshold_percentage", Count { least: 1, most: 100 }, "90", Live, "Part of the capacity in use from which on limits of flows give way to equal shares of time, until it is less.");
    high: u32 = ("distribution.priorities.high", POSITIVE, "70", Live, "Weight of orders of high priority.");
    normal: u32 = ("distribution.priorities.normal", POSITIVE, "25", Live, "Weight of orders of normal priority.");
    low: u32 = ("distribution.priorities.low", POSITIVE, "5", Live, "Weight of orders of low priority.");
    flow_attributes: Vec<String> = ("distribution.flows.attributes", Texts, "[scenario]", Restart, "Attributes of an order whose values make its flow.");
    flow_share: u32 = ("distribution.flows.max_share_percentage", Count { least: 1, most: 100 }, "80", Live, "Part of the places that one flow may have in progress, of those of a mode and of those of all workers, so that a flow whose system hangs leaves room for the others; `100` sets no bound.");
    ("distribution.flows.max_known", Count { least: 1, most: 1_000_000 }, "10000", Live, "Flows without work of which limits and statistics are kept at most; of more, those unseen for the longest time are forgotten.");
    flow_retention: Duration = ("distribution.flows.retention", Duration, "30d", Live, "How long what is known of a flow or a called system is kept that is not seen any more.");
    ("distribution.flows.limits.recovery.initial_limit", POSITIVE, "5", Live, "Stages that a flow may have in progress when it comes back after a stop; from there it grows.");
    ("distribution.flows.limits.open_requests_within", Duration, "1m", Live, "Where the mode is `limited_flows`, requests that wait for a callback count against limits at systems that answer half of them within this time, and for this time each; answers that take longer throttle nothing.");
    ("distribution.flows.limits.policies", Tree("a mapping of names, each with `scenarios` and `params`"), "{}", Live, "Modes and greatest limits of some scenarios.");
    ("distribution.flows.limits.error_handling.built_in_classes", Words(BuiltInClass::WORDS), "[connection, timeout, 429, 502, 503, 504]", Live, "Failures that harden the limits of every scenario, whatever class the rules give them: no connection, no answer in time, and these statuses. `[]` leaves the policies alone.");
    ("distribution.flows.limits.error_handling.policies", Tree("a mapping of names, each with `error_classes` and `scenarios`"), "{}", Live, "Error classes that harden the limits of some scenarios, besides the built-in ones.");
    max_backlog_of_flow: Option<u32> = unless_zero("distribution.backlog.max_per_flow", Count { least: 0, most: u32::MAX as u64 }, "0", Live, "Stages of one flow that may wait to run before the API refuses more orders of it with 429; `0` sets no bound. Orders by message are taken all the same.");
    max_backlog_of_queue: Option<u32> = unless_zero("distribution.backlog.max_per_queue", Count { least: 0, most: u32::MAX as u64 }, "0", Live, "Orders of one queue before the API refuses more with 429; `0` sets no bound. Orders by message are taken all the same.");

    /// Limits and stops of flows.
    with flows: Arc<FlowRules> = SettingsBuilder::flow_rules;
}

/// Keys of called systems.
pub(super) const SYSTEMS: &[Setting] = rows! {
    ("systems.max_retry_after", Duration, "15m", Live, "Longest time for which a called system is believed that says when it is to be called again.");
    ("systems.named", Tree("a list of `name` with `host` and `path`, or with `exchange`"), "[]", Live, "Names of called systems, by masks; the first that fits counts. What has no name here goes by its host and port. Each system has a state and a limit of its own, which all flows that call it share.");
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
    reread: Duration = ("dispatcher.reread", Duration, "2s", Live, "How often the tables are searched for ready orders whose news was lost.");
}
