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
    max_held_bytes: usize = ("worker.max_held_bytes", Bytes, "64MiB", Restart, "Answers of called systems and bodies sent to them that the stages of one worker hold at a time, beyond 16 KiB for each stage; a call that finds no room waits as long as its time-out lets it. One stage may hold a quarter of it.");
    connect_timeout: Duration = ("worker.http.connect_timeout", Duration, "5s", Live, "Limit for connecting to a called system.");
    timeout: Duration = ("worker.http.timeout", Duration, "30s", Live, "Limit for a call whose action sets none.");
    max_response_bytes: usize = ("worker.http.max_response_bytes", Bytes, "1MiB", Restart, "Longest answer that is read.");
    ("worker.http.allow", Calls, "['*']", Live, "Hosts (`name`, `*.name`, `name:port`) and addresses (`10.0.0.0/8`, `10.0.0.9:8080`) that may be called. An address overrides `worker.http.deny`; a name does not, because its owner chooses where it leads. Only hosts that an entry other than `*` names may come from an order.");
    ("worker.http.deny", Calls, "[169.254.0.0/16, 'fe80::/10', 'fd00:ec2::/32', 'fd20:ce::254', 'fd00:c1::a9fe:a9fe', 100.100.100.200, 168.63.129.16, 192.0.0.192]", Live, "Hosts and networks that may not be called, nor by an address of IPv6 that holds a denied one of IPv4 (mapped, compatible, NAT64, 6to4); by default the link-local ones and those of metadata services, where clouds keep their secrets. A list that is given replaces these.");
    ("worker.http.issuers", OptionalText, "~", Live, "File of issuers of certificates, in PEM, that are trusted beside those that this machine trusts, of called systems and webhooks.");
    ("worker.http.certificates", OptionalText, "~", Live, "Folder of the certificates that scenarios show to called systems (`auth: {certificate: NAME}`): `NAME.crt` with the certificate and `NAME.key` with its private key, in PEM. A file that changes is read again within a second.");

    ("worker.amqp.allow", Exchanges, "['*', '*/*']", Live, "Exchanges to which `amqp` actions may publish: `EXCHANGE` is one of the engine's own virtual host, `VHOST/EXCHANGE` one of another (the last `/` counts), with `*` for any letters. Those of the broker (`amq.…`), the default one and the engine's own are refused in any case. Where the user of the worker may write is up to the broker.");
    ("worker.amqp.deny", Exchanges, "[]", Live, "Exchanges to which `amqp` actions may not publish, also where `worker.amqp.allow` names them.");

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
    batch: usize = ("activation.batch", POSITIVE, "1000", Live, "Orders that are woken in one transaction at most.");
    mode: ActivationMode = ("activation.mode", Choice(&["at_least_once", "at_least_once_inprogress", "at_most_once"]), "at_least_once", Live, "Whether a wake-up that nobody took is repeated; the third is not for production, and goes with `distribution.mode: simple` only.");
    min_shift: Duration = ("activation.min_shift", Duration, "30s", Live, "Least time before a wake-up is repeated.");
    ("activation.groups.sleep.youngest.age_in_days", Count { least: 0, most: 36_500 }, "1", Live, "Longest sleep of the youngest group, in days.");
    ("activation.groups.sleep.middle.age_in_days", Count { least: 0, most: 36_500 }, "30", Live, "Longest sleep of the middle group, in days; longer ones are the oldest group.");

    /// Groups of sleepers by the length of their sleep.
    with groups: AgeGroups = SettingsBuilder::age_groups;
}

/// Keys of scenarios.
pub(super) const SCENARIOS: &[Setting] = rows! {
    ("scenario.max_states", POSITIVE, "30", Live, "States of one scenario at most.");
    ("scenario.max_vars_bytes", Bytes, "256KiB", Live, "Longest `vars` of one order, as JSON.");
    ("scenario.max_cached_bytes", Bytes, "4MiB", Restart, "Texts of the versions of scenarios that a process keeps compiled, which takes some thirty times as much; others are read again when an order needs them.");
    ("scenario.min_sleep", DurationOrZero, "20s", Live, "Shortest sleep; a shorter one is lengthened to it.");
    ("scenario.max_children", POSITIVE, "1000", Live, "Orders that one order may start, over all of its lives.");
    ("scenario.max_each", Count { least: 1, most: 10_000 }, "1000", Live, "Elements that one `each` goes through.");
    ("scenario.max_transitions_per_stage", POSITIVE, "1000", Live, "Transitions of one stage at most, against scenarios that run in circles.");
    ("scenario.script.max_operations", Count { least: 1, most: MOST_OPERATIONS }, "100000", Live, "Operations of one run of a script; 100000 take a few milliseconds.");
    ("scenario.script.max_duration", Duration, "1s", Live, "How long one run of a script may take by the clock, however few operations it makes.");
    ("scenario.script.max_string_bytes", Bytes, "256KiB", Live, "All text in one value that a script makes, in bytes; what the order brings, like an answer, is not counted.");
    ("scenario.script.max_elements", POSITIVE, "10000", Live, "Elements of the longest list or map that a script makes; what the order brings is not counted.");
    ("scenario.script.max_call_depth", Count { least: 1, most: 64 }, "32", Live, "How deep functions of a script may call each other.");
};

/// Ends that are meant.
pub(super) const TARGETS: &[Setting] = rows! {
    ("execution.state_classification.target", Tree("a list of `step: NAME`"), "[{step: done}, {step: rolled_back}]", Live, "Ends that count as target in scenarios that name none; case does not matter.");
};

section! {
    /// `execution.start_control`
    #[derive(Clone, Copy, Debug)]
    pub struct StartControlSettings;

    conditional: StartMode = ("execution.start_control.conditional.mode", Choice(&["reactive", "polling"]), "reactive", Live, "What activates orders that wait for others: the end of those at once, or a periodic look, which also ends an order whose pre-condition ended otherwise. The mode at its registration counts.");
    interval: Duration = ("execution.start_control.conditional.interval", Duration, "5s", Live, "How often the conditions of orders that wait for others are looked at.");
}

/// Treatment of errors.
pub(super) const ERRORS: &[Setting] = rows! {
    ("execution.error_handling", Tree("rules and policies"), "{}", Live, "Classification of failures and policies for retries.");
    ("retry_duration_control.mode", Choice(&["total", "run_and_suspending_durations"]), "total", Live, "Which time counts against the limits of a retry cycle: all, or all but the time between due and begun.");
};

section! {
    /// `resource_control`
    #[derive(Clone, Debug)]
    pub struct ResourceControlSettings;

    max_acquisition_duration: Duration = ("resource_control.max_acquisition_duration", Duration, "1h", Live, "How long a sequential order may hold its queue in retries.");
    max_sync_duration: Duration = ("resource_control.max_sync_duration", Duration, "5m", Live, "Longest synchronous part of a stage of a sequential order.");
    max_wait_sequential: Duration = ("resource_control.max_wait_sequential", Duration, "3600s", Live, "Longest wait for callbacks of a sequential order.");
    max_wait_parallel: Duration = ("resource_control.max_wait_parallel", Duration, "8035200s", Live, "Longest wait for callbacks of a parallel order.");
}
