//! Settings of stages and of the orders that wait between them.

use std::time::Duration;

use pagurus_domain::activation::{ActivationMode, AgeGroups};
use pagurus_domain::order::dependency::StartMode;
use pagurus_scenario::script::MOST_OPERATIONS;

use super::builder::SettingsBuilder;
use super::kind::Kind::*;
use super::section::{POSITIVE, Setting, rows, section};
use super::{CallRules, ExchangeRules};

section! {
    /// `worker`
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct WorkerSettings;

    concurrency: usize = ("worker.concurrency", POSITIVE, "2000", Restart, "Stages that one worker runs at a time.");
    max_held_bytes: usize = ("worker.max_held_bytes", Bytes, "64MiB", Restart, "Bytes of answers of called systems and of bodies sent to them that the stages of one worker hold at a time, beyond 16 KiB for each stage; a call that finds no room waits until its time-out. One stage may hold a quarter of it.");
    connect_timeout: Duration = ("worker.http.connect_timeout", Duration, "5s", Live, "Longest time to connect to a called system.");
    timeout: Duration = ("worker.http.timeout", Duration, "30s", Live, "Longest time for a call whose action sets no time-out.");
    max_response_bytes: usize = ("worker.http.max_response_bytes", Bytes, "1MiB", Restart, "Longest answer that is read.");
    ("worker.http.allow", Calls, "['*']", Live, "Hosts (`name`, `*.name`, `name:port`) and addresses (`10.0.0.0/8`, `10.0.0.9:8080`) that may be called. An address overrides `worker.http.deny`; a name does not, because its owner chooses where it points. An order may supply only hosts that an entry other than `*` names.");
    ("worker.http.deny", Calls, "[169.254.0.0/16, 'fe80::/10', 'fd00:ec2::/32', 'fd20:ce::254', 'fd00:c1::a9fe:a9fe', 100.100.100.200, 168.63.129.16, 192.0.0.192]", Live, "Hosts and networks that may not be called, not even through an IPv6 address that contains a denied IPv4 address (mapped, compatible, NAT64, 6to4). The default covers link-local networks and the metadata services where clouds keep their secrets; your list replaces it.");
    ("worker.http.issuers", OptionalText, "~", Live, "File with certificates of issuers, in PEM, that are trusted for called systems and webhooks, besides those that this machine trusts.");
    ("worker.http.certificates", OptionalText, "~", Live, "Folder with the certificates that scenarios present to called systems (`auth: {certificate: NAME}`), and entries of `notify.allow` to receivers of webhooks: `NAME.crt` with the certificate and `NAME.key` with its private key, in PEM. A changed file is read again within a second.");

    ("worker.amqp.allow", Exchanges, "['*', '*/*']", Live, "Exchanges to which `amqp` actions may publish: `EXCHANGE` is one of the engine's own virtual host, `VHOST/EXCHANGE` one of another (the last `/` separates them), with `*` for any letters. The exchanges of the broker (`amq.…`), the default one and the engine's own are always refused. The broker decides where the user of the worker may write.");
    ("worker.amqp.deny", Exchanges, "[]", Live, "Exchanges to which `amqp` actions may not publish, even if `worker.amqp.allow` names them.");

    /// Addresses that may be called.
    with calls: CallRules = SettingsBuilder::call_rules;
    /// Exchanges that may be published to.
    with exchanges: ExchangeRules = SettingsBuilder::exchange_rules;
}

section! {
    /// `activation`
    #[derive(Clone, Debug)]
    pub struct ActivationSettings;

    precision: Duration = ("activation.precision", Duration, "100ms", Live, "How exactly suspended orders are woken.");
    batch: usize = ("activation.batch", POSITIVE, "1000", Live, "Most orders that are woken in one transaction.");
    mode: ActivationMode = ("activation.mode", Choice(&["at_least_once", "at_least_once_inprogress", "at_most_once"]), "at_least_once", Live, "Whether a wake-up that nobody took is repeated; `at_most_once` is not for production, and works only with `distribution.mode: simple`.");
    min_shift: Duration = ("activation.min_shift", Duration, "30s", Live, "Shortest time before a wake-up is repeated.");
    ("activation.groups.sleep.youngest.age_in_days", Count { least: 0, most: 36_500 }, "1", Live, "Longest sleep of the youngest group, in days.");
    ("activation.groups.sleep.middle.age_in_days", Count { least: 0, most: 36_500 }, "30", Live, "Longest sleep of the middle group, in days; longer ones are the oldest group.");

    /// Groups of sleepers by the length of their sleep.
    with groups: AgeGroups = SettingsBuilder::age_groups;
}

/// Keys of scenarios.
pub(super) const SCENARIOS: &[Setting] = rows! {
    ("scenario.max_states", POSITIVE, "30", Live, "Most states of one scenario.");
    ("scenario.max_vars_bytes", Bytes, "256KiB", Live, "Longest `vars` of one order, as JSON.");
    ("scenario.max_cached_bytes", Bytes, "4MiB", Restart, "Size of the texts of scenario versions that a process keeps compiled, which takes about thirty times as much memory; others are read again when an order needs them.");
    ("scenario.min_sleep", DurationOrZero, "20s", Live, "Shortest sleep; shorter ones are lengthened to it.");
    ("scenario.max_children", POSITIVE, "1000", Live, "Orders that one order may start, over all its lives.");
    ("scenario.max_each", Count { least: 1, most: 10_000 }, "1000", Live, "Most elements of the list of an `each`.");
    ("scenario.max_transitions_per_stage", POSITIVE, "1000", Live, "Most transitions in one stage, as a guard against endless loops.");
    ("scenario.script.max_operations", Count { least: 1, most: MOST_OPERATIONS }, "100000", Live, "Most operations in one run of a script; 100000 take a few milliseconds.");
    ("scenario.script.max_duration", Duration, "1s", Live, "Longest time for one run of a script, however few operations it performs.");
    ("scenario.script.max_string_bytes", Bytes, "256KiB", Live, "Total text in one value that a script makes, in bytes; data of the order, such as an answer, is not counted.");
    ("scenario.script.max_elements", POSITIVE, "10000", Live, "Elements of the longest list or map that a script makes; data of the order is not counted.");
    ("scenario.script.max_call_depth", Count { least: 1, most: 64 }, "32", Live, "How deeply functions of a script may call each other.");
};

/// Ends that are meant.
pub(super) const TARGETS: &[Setting] = rows! {
    ("execution.state_classification.target", Tree("a list of `step: NAME`"), "[{step: done}, {step: rolled_back}]", Live, "Terminal states that count as target states in scenarios that name none; case does not matter.");
};

section! {
    /// `execution.start_control`
    #[derive(Clone, Copy, Debug)]
    pub struct StartControlSettings;

    conditional: StartMode = ("execution.start_control.conditional.mode", Choice(&["reactive", "polling"]), "reactive", Live, "What activates orders that wait for others: `reactive`, the end of those orders; `polling`, a periodic check, which also ends an order whose pre-condition cannot be met. The mode at its registration applies.");
    interval: Duration = ("execution.start_control.conditional.interval", Duration, "5s", Live, "How often the conditions of orders that wait for others are checked.");
}

/// Treatment of errors.
pub(super) const ERRORS: &[Setting] = rows! {
    ("execution.error_handling", Tree("rules and policies"), "{}", Live, "Rules that classify failures, and policies for retries.");
    ("retry_duration_control.mode", Choice(&["total", "run_and_suspending_durations"]), "total", Live, "Which time counts against the limits of a retry cycle: `total` is all of it; `run_and_suspending_durations` excludes the time in which an order was due but not yet taken by a worker.");
};

section! {
    /// `resource_control`
    #[derive(Clone, Debug)]
    pub struct ResourceControlSettings;

    max_acquisition_duration: Duration = ("resource_control.max_acquisition_duration", Duration, "1h", Live, "How long a sequential order may hold its queue while it retries.");
    max_sync_duration: Duration = ("resource_control.max_sync_duration", Duration, "5m", Live, "Longest synchronous part of a stage of a sequential order.");
    max_wait_sequential: Duration = ("resource_control.max_wait_sequential", Duration, "3600s", Live, "Longest wait for callbacks of a sequential order.");
    max_wait_parallel: Duration = ("resource_control.max_wait_parallel", Duration, "8035200s", Live, "Longest wait for callbacks of a parallel order.");
}
