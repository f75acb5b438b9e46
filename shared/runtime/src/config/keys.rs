//! The table of all configuration keys. It drives checking, the environment, the page of defaults
//! and the reference; a key that does not stand here does not exist. Holds no logic about values.

use pagurus_domain::scenario::script::MOST_OPERATIONS;

use super::kind::Kind::{self, *};

/// One key of the configuration.
#[derive(Clone, Copy, Debug)]
pub struct Setting {
    /// Path of the key, with dots for nesting.
    pub path: &'static str,
    /// Kind of its value.
    pub kind: Kind,
    /// The default as YAML; `~` where it follows from something else, which the meaning tells.
    pub default: &'static str,
    /// Time at which a change takes effect.
    pub change: Reload,
    /// Purpose of the key, in a sentence.
    pub meaning: &'static str,
}

/// Time at which a changed key can take effect.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reload {
    /// While the process runs.
    Live,
    /// Only when the process starts again.
    Restart,
}

use Reload::{Live, Restart};

/// The key of a path.
pub(super) fn find(path: &str) -> Option<&'static Setting> {
    SETTINGS.iter().find(|setting| setting.path == path)
}

/// The key whose value is a tree and holds this path.
pub(super) fn find_tree(path: &str) -> Option<&'static Setting> {
    SETTINGS.iter().find(|setting| {
        matches!(setting.kind, Tree(_))
            && path.strip_prefix(setting.path).is_some_and(|rest| rest.starts_with('.'))
    })
}

/// The names that may stand directly under a section, the empty path being the whole file; none
/// if there is no such section.
pub(super) fn names_under(section: &str) -> Vec<&'static str> {
    let mut names: Vec<&str> = SETTINGS
        .iter()
        .filter_map(|setting| match section {
            "" => Some(setting.path),
            section => setting.path.strip_prefix(section)?.strip_prefix('.'),
        })
        .filter_map(|rest| rest.split('.').next())
        .collect();
    names.dedup();
    names
}

const fn key(
    path: &'static str,
    kind: Kind,
    default: &'static str,
    change: Reload,
    meaning: &'static str,
) -> Setting {
    Setting { path, kind, default, change, meaning }
}

/// A count from 1 up, for what would stand still with none.
const POSITIVE: Kind = Count { least: 1, most: u32::MAX as u64 };
/// Connections of one process; Postgres allows 100 in all by default.
const CONNECTIONS: Kind = Count { least: 1, most: 1000 };

// One line for each key, so that the table can be read as one.
#[rustfmt::skip]
pub(super) static SETTINGS: &[Setting] = &[
    key("node.name", OptionalText, "~", Restart, "Name of the node in the registry and in logs, of one process a role: one that starts under a name takes the work of the one before it, which ends. Left out: `<role>-<host>-<pid>`."),
    key("node.listen", Address, "127.0.0.1:0", Restart, "Address of health, readiness and metrics, and of the API on intake; port 0 takes a free one."),
    key("node.max_connections", Count { least: 16, most: 1_000_000 }, "4096", Restart, "Connections of HTTP clients at most; when there are more, the one that has asked nothing for the longest time is closed. A few more are kept for probes."),
    key("node.advertise", OptionalText, "~", Restart, "Where others reach the node: `HOST:PORT`, or the base of a URL. Left out: `node.listen`; where that is every address of the host, the one by which the host reaches Postgres, or its name."),
    key("node.heartbeat", Duration, "3s", Live, "How often a node reports that it lives."),
    key("node.lost_after", Duration, "12s", Live, "A node that has been silent for so long is lost, and its work is taken over."),

    key("database.url", Secret, "postgres://pagurus@127.0.0.1:5432/pagurus", Restart, "Where Postgres is."),
    key("database.work_connections", CONNECTIONS, "4", Restart, "Connections for the main work of a process."),
    key("database.api_connections", CONNECTIONS, "4", Restart, "Connections for the API, apart from the work so that neither starves the other."),
    key("database.report_connections", CONNECTIONS, "2", Restart, "Connections for reports, such as errors in groups: they only read."),
    key("database.operation_connections", CONNECTIONS, "2", Restart, "Connections for what is done to many orders at once, so that it never takes those of recovery."),
    key("database.connect_timeout", Duration, "5s", Restart, "Limit for opening a connection."),
    key("database.statement_timeout", Duration, "10s", Restart, "Limit for one statement."),
    key("database.report_timeout", Duration, "5s", Restart, "Limit for one statement of a report."),
    key("database.migrate", Flag, "true", Restart, "Whether a process brings the schema up to date when it starts."),

    key("broker.url", Secret, "amqp://127.0.0.1:5672/%2f", Restart, "Where RabbitMQ is, with the virtual host."),
    key("broker.prefix", Name, "pagurus", Restart, "First part of the names of exchanges and queues, so that installations can share a broker."),
    key("broker.confirm_timeout", Duration, "10s", Restart, "How long the broker may take to confirm a message."),
    key("broker.prefetch", Count { least: 1, most: 65_535 }, "200", Restart, "Messages that each consumer of intake may hold unacknowledged; times the longest message that the broker takes (`max_message_size`), this bounds their memory."),

    key("log.format", Choice(&["text", "json"]), "text", Restart, "Form of log lines."),
    key("log.level", Text, "info", Live, "Least level that is logged, or a filter such as `info,pagurus_worker=debug`."),

    key("telemetry.otlp.endpoint", OptionalText, "~", Restart, "Base of the URL of a collector that takes OTLP over HTTP, such as `http://127.0.0.1:4318`; traces go to `/v1/traces` under it. Left out: what `OTEL_EXPORTER_OTLP_ENDPOINT` says; without either no span is recorded."),
    key("telemetry.otlp.timeout", Duration, "5s", Restart, "Longest time of one request to the collector."),
    key("telemetry.otlp.queue_size", Count { least: 1, most: 1_000_000 }, "8192", Restart, "Spans that wait to be sent at most, some 1 KiB each; more are dropped and counted."),
    key("telemetry.traces.sample_percentage", Count { least: 0, most: 100 }, "100", Restart, "Part of the orders whose traces are recorded, where their clients send no `traceparent`; that one says it itself."),

    key("intake.batch", POSITIVE, "1000", Live, "Orders that are registered in one transaction at most."),
    key("intake.max_body_bytes", Bytes, "1MiB", Live, "Longest body of one order."),
    key("intake.max_batch_body_bytes", Bytes, "16MiB", Live, "Longest body of a batch of orders."),
    key("intake.max_batch_orders", POSITIVE, "10000", Live, "Orders in one batch at most."),
    key("intake.max_bodies_bytes", Bytes, "64MiB", Restart, "Bodies longer than 64 KiB that are in progress at a time, in all; what is read from them may take twice as much memory. A request that finds no room within five seconds is answered with 429."),
    key("intake.max_streams", Count { least: 0, most: 100_000 }, "200", Live, "Clients that follow the stream of orders' news at one intake at a time; where all places are taken, a silent one makes room for one of another address, or the next one is answered with 429."),
    key("intake.client_share_percentage", Count { least: 1, most: 100 }, "50", Restart, "Part of `node.max_connections`, and of `intake.max_streams`, that one client may have at a time: an address, of IPv6 a network of 64 bits. Where all clients come through one gateway, they have its address: set `100` there."),
    key("intake.hosts", Hosts, "[]", Live, "Names by which clients call the API, besides IP addresses, `localhost`, and the hosts of `node.advertise` and `intake.public_url`; `*.example` is every name below one, and `*` every name. A request to another host is answered with 421: so a page whose name leads to this node cannot act on it by a browser."),
    key("intake.public_confirmed", Flag, "false", Restart, "Confirms that the API may be reached without login from beyond this host."),
    key("intake.public_url", OptionalText, "~", Live, "Base of the callback URLs that called systems get; left out: `http://` and the address of an intake that lives when a worker starts."),
    key("intake.straight_to_queue", Flag, "false", Live, "Whether messages that are sent straight to the queue of orders, past the exchange, are taken; whoever may write to `amq.default` may then do what clients may."),

    key("callbacks.orphans.max", Count { least: 0, most: 1_000_000 }, "10000", Live, "Callbacks for nobody that are kept at most, each with 16 KiB of its body; more are answered alike, counted, and not kept."),
    key("callbacks.orphans.retention", Duration, "7d", Live, "How long a callback for nobody is kept."),

    key("operations.retention", Duration, "30d", Live, "How long bulk operations are kept after their end, with what came of each order."),
    key("audit.retention", Duration, "365d", Live, "How long it is kept who did what from outside."),
    key("refused.retention", Duration, "90d", Live, "How long a refused message is kept in the database that nobody has decided about."),
    key("refused.max_bytes", Bytes, "1GiB", Live, "Bytes of refused messages that are kept in the database; of more the oldest are removed, logged and counted."),
    key("stats.retention", Duration, "7d", Live, "How long the counts of each minute are kept, of which charts are drawn."),

    key("distribution.mode", Choice(&["simple", "rated_flows", "stopped_flows", "limited_flows"]), "simple", Live, "How capacity is shared among flows: by turns; by the time of workers; by turns, and a flow whose system is away is stopped, probed and resumed; besides, with a limit that follows what its system bears."),
    key("distribution.capacity.parallel_count", POSITIVE, "2000", Live, "Stages of parallel orders in progress at most."),
    key("distribution.capacity.sequential_count", POSITIVE, "2000", Live, "Stages of sequential orders in progress at most."),
    key("distribution.capacity.overload_threshold_percentage", Count { least: 1, most: 100 }, "90", Live, "Part of the capacity in use from which on limits of flows give way to equal shares of time, until it is less."),
    key("distribution.priorities.high", POSITIVE, "70", Live, "Weight of orders of high priority."),
    key("distribution.priorities.normal", POSITIVE, "25", Live, "Weight of orders of normal priority."),
    key("distribution.priorities.low", POSITIVE, "5", Live, "Weight of orders of low priority."),
    key("distribution.flows.attributes", Texts, "[scenario]", Restart, "Attributes of an order whose values make its flow."),
    key("distribution.flows.max_share_percentage", Count { least: 1, most: 100 }, "80", Live, "Part of the places that one flow may have in progress, of those of a mode and of those of all workers, so that a flow whose system hangs leaves room for the others; `100` sets no bound."),

    key("distribution.flows.max_known", Count { least: 1, most: 1_000_000 }, "10000", Live, "Flows without work of which limits and statistics are kept at most; of more, those unseen for the longest time are forgotten."),
    key("distribution.flows.retention", Duration, "30d", Live, "How long what is known of a flow or a called system is kept that is not seen any more."),
    key("distribution.flows.limits.recovery.initial_limit", POSITIVE, "5", Live, "Stages that a flow may have in progress when it comes back after a stop; from there it grows."),
    key("distribution.flows.limits.open_requests_within", Duration, "1m", Live, "Where the mode is `limited_flows`, requests that wait for a callback count against limits at systems that answer half of them within this time, and for this time each; answers that take longer throttle nothing."),
    key("distribution.flows.limits.policies", Tree("a mapping of names, each with `scenarios` and `params`"), "{}", Live, "Modes and greatest limits of some scenarios."),
    key("distribution.flows.limits.error_handling.policies", Tree("a mapping of names, each with `error_classes` and `scenarios`"), "{}", Live, "Error classes that harden the limits of some scenarios."),
    key("distribution.backlog.max_per_flow", Count { least: 0, most: u32::MAX as u64 }, "0", Live, "Stages of one flow that may wait to run before the API refuses more orders of it with 429; `0` sets no bound. Orders by message are taken all the same."),
    key("distribution.backlog.max_per_queue", Count { least: 0, most: u32::MAX as u64 }, "0", Live, "Orders of one queue before the API refuses more with 429; `0` sets no bound. Orders by message are taken all the same."),

    key("systems.max_retry_after", Duration, "15m", Live, "Longest time for which a called system is believed that says when it is to be called again."),
    key("systems.named", Tree("a list of `name` with `host` and `path`, or with `exchange`"), "[]", Live, "Names of called systems, by masks; the first that fits counts. A system with a name has a limit and a state of its own, which all flows that call it share."),

    key("dispatcher.lease.ttl", Duration, "3s", Restart, "How long the active dispatcher may be silent before a standby takes over."),
    key("dispatcher.reread", Duration, "2s", Live, "How often the tables are searched for ready orders whose news was lost."),

    key("worker.concurrency", POSITIVE, "2000", Restart, "Stages that one worker runs at a time."),
    key("worker.max_held_bytes", Bytes, "64MiB", Restart, "Answers of called systems and bodies sent to them that the stages of one worker hold at a time, beyond 16 KiB for each stage; a call that finds no room waits as long as its time-out lets it. One stage may hold a quarter of it."),
    key("worker.http.connect_timeout", Duration, "5s", Live, "Limit for connecting to a called system."),
    key("worker.http.timeout", Duration, "30s", Live, "Limit for a call whose action sets none."),
    key("worker.http.max_response_bytes", Bytes, "1MiB", Restart, "Longest answer that is read."),
    key("worker.http.allow", Calls, "['*']", Live, "Hosts (`name`, `*.name`, `name:port`) and addresses (`10.0.0.0/8`, `10.0.0.9:8080`) that may be called. An address overrides `worker.http.deny`; a name does not, because its owner chooses where it leads. Only hosts that an entry other than `*` names may come from an order."),
    key("worker.http.deny", Calls, "[169.254.0.0/16, 'fe80::/10', 'fd00:ec2::/32', 'fd20:ce::254', 'fd00:c1::a9fe:a9fe', 100.100.100.200, 168.63.129.16, 192.0.0.192]", Live, "Hosts and networks that may not be called, nor by an address of IPv6 that holds a denied one of IPv4 (mapped, compatible, NAT64, 6to4); by default the link-local ones and those of metadata services, where clouds keep their secrets. A list that is given replaces these."),

    key("activation.precision", Duration, "100ms", Live, "How exactly suspended orders are woken."),
    key("activation.batch", POSITIVE, "1000", Live, "Orders that are woken in one transaction at most."),
    key("activation.mode", Choice(&["at_least_once", "at_least_once_inprogress", "at_most_once"]), "at_least_once", Live, "Whether a wake-up that nobody took is repeated; the third is not for production, and goes with `distribution.mode: simple` only."),
    key("activation.min_shift", Duration, "30s", Live, "Least time before a wake-up is repeated."),
    key("activation.groups.sleep.youngest.age_in_days", Count { least: 0, most: 36_500 }, "1", Live, "Longest sleep of the youngest group, in days."),
    key("activation.groups.sleep.middle.age_in_days", Count { least: 0, most: 36_500 }, "30", Live, "Longest sleep of the middle group, in days; longer ones are the oldest group."),

    key("recovery.interval", Duration, "1s", Live, "How often overdue work is looked for."),
    key("recovery.batch", POSITIVE, "500", Live, "Orders that are recovered in one transaction at most."),
    key("recovery.max_restarts", Count { least: 0, most: 1000 }, "5", Live, "Restarts of one stage before its order is taken for poison and fails."),
    key("recovery.timeouts.work", Duration, "5m", Live, "How long a stage may run before it is taken for lost."),
    key("recovery.timeouts.idle", Duration, "6h", Live, "How long an order may stay where it is, ready or overdue, before somebody looks why."),
    key("recovery.timeouts.process", OptionalDuration, "~", Live, "How long an order may take in all; left out: any time."),
    key("recovery.check.rate", Count { least: 0, most: 1_000_000 }, "200", Live, "Orders a second whose rows are held against each other in the background, over all activators; `0` lets nobody look."),
    key("recovery.check.confirm_after", Duration, "30s", Live, "How long after the first look an inconsistency is looked at a second time; only what is still so is repaired or marked."),
    key("recovery.check.first", OptionalText, "~", Live, "Names of scenarios, apart by spaces, whose unfinished orders have a round of the check of their own, at the same rate."),

    key("failover.interval", DurationOrZero, "7d", Live, "Only work handed out within this time is taken over from lost nodes, `0` sets no limit; older work is counted and logged, and found when its work time-out is over."),
    key("failover.batch", POSITIVE, "10", Live, "Stages taken over from one lost node in one pass, so that the load spreads; the passes for one node are spread over some ten seconds, at most `recovery.interval` apart."),
    key("failover.running", Choice(&["resume", "cancel"]), "resume", Live, "Whether the work of a lost node is handed to others; otherwise its orders are ended as canceled, and may be restarted."),

    key("shutdown.grace", DurationOrZero, "30s", Live, "How long running work may go on after the signal to stop."),
    key("shutdown.release", Flag, "true", Live, "Whether work still running then is handed to others; otherwise its orders are ended as canceled, and may be restarted."),

    key("scenario.max_states", POSITIVE, "30", Live, "States of one scenario at most."),
    key("scenario.max_vars_bytes", Bytes, "256KiB", Live, "Longest `vars` of one order, as JSON."),
    key("scenario.max_cached_bytes", Bytes, "4MiB", Restart, "Texts of the versions of scenarios that a process keeps compiled, which takes some thirty times as much; others are read again when an order needs them."),
    key("scenario.min_sleep", DurationOrZero, "20s", Live, "Shortest sleep; a shorter one is lengthened to it."),
    key("scenario.max_children", POSITIVE, "1000", Live, "Orders that one order may start, over all of its lives."),
    key("scenario.max_each", Count { least: 1, most: 10_000 }, "1000", Live, "Elements that one `each` goes through."),
    key("scenario.max_transitions_per_stage", POSITIVE, "1000", Live, "Transitions of one stage at most, against scenarios that run in circles."),
    key("scenario.script.max_operations", Count { least: 1, most: MOST_OPERATIONS }, "100000", Live, "Operations of one run of a script; so many take a few milliseconds."),
    key("scenario.script.max_duration", Duration, "1s", Live, "How long one run of a script may take by the clock, however few operations it makes."),
    key("scenario.script.max_string_bytes", Bytes, "256KiB", Live, "All text in one value that a script makes, in bytes; what the order brings, like an answer, is not counted."),
    key("scenario.script.max_elements", POSITIVE, "10000", Live, "Elements of the longest list or map that a script makes; what the order brings is not counted."),
    key("scenario.script.max_call_depth", Count { least: 1, most: 64 }, "32", Live, "How deep functions of a script may call each other."),

    key("db.orders.storage_period_in_days.final", POSITIVE, "90", Live, "Days after its end for which an order is kept, unless its scenario says otherwise."),
    key("db.orders.storage_period_in_days.in_progress", POSITIVE, "180", Live, "Days after its registration after which an order that has not ended is ended `fail`, class `retention.expired`."),
    key("db.orders.removal_rate", Count { least: 0, most: 1_000_000 }, "500", Live, "Orders a second that are looked at, and removed when their time is over; `0` removes nothing."),

    key("execution.state_classification.target", Tree("a list of `step: NAME`"), "[{step: done}, {step: rolled_back}]", Live, "Ends that count as target in scenarios that name none; case does not matter."),
    key("execution.start_control.conditional.mode", Choice(&["reactive", "polling"]), "reactive", Live, "What activates orders that wait for others: the end of those at once, or a periodic look, which also ends an order whose pre-condition ended otherwise. The mode at its registration counts."),
    key("execution.start_control.conditional.interval", Duration, "5s", Live, "How often the conditions of orders that wait for others are looked at."),
    key("execution.error_handling", Tree("rules and policies"), "{}", Live, "Classification of failures and policies for retries."),
    key("retry_duration_control.mode", Choice(&["total", "run_and_suspending_durations"]), "total", Live, "Which time counts against the limits of a retry cycle: all, or all but the time between due and begun."),

    key("resource_control.max_acquisition_duration", Duration, "1h", Live, "How long a sequential order may hold its queue in retries."),
    key("resource_control.max_sync_duration", Duration, "5m", Live, "Longest synchronous part of a stage of a sequential order."),
    key("resource_control.max_wait_sequential", Duration, "3600s", Live, "Longest wait for callbacks of a sequential order."),
    key("resource_control.max_wait_parallel", Duration, "8035200s", Live, "Longest wait for callbacks of a parallel order."),

    key("notify.exchange", OptionalText, "~", Live, "Exchange of notifications that name only a key; left out: `<broker.prefix>.notifications`."),
    key("notify.allow", Tree("a list of `exchange`, `key`, `queue` patterns, and of `url` with `secret`"), "~", Live, "Where notifications may go, with `*` in names; left out: `<broker.prefix>.notifications` with any key. A webhook is named by `url` (`https://HOST[:PORT][/PATH]`, with `*` in host and path) and `secret`: the name of the secret with which what goes there is signed (`whsec_` and base64, or text of 24 bytes or more; several, apart by spaces, while it changes). `worker.http.allow` and `worker.http.deny` hold for webhooks, too."),
    key("notify.retry.initial", Duration, "1s", Live, "Wait before a notification is sent again the first time; doubled each time."),
    key("notify.retry.max", Duration, "5m", Live, "Longest wait before a notification is sent again."),
    key("notify.source", OptionalText, "~", Live, "Begin of the `source` of CloudEvents, which names the installation; left out: `/pagurus/<broker.prefix>`."),
    key("notify.parked_after", Duration, "6h", Live, "How long an order may be in `wait`, `polling` or `retry` before a client that asked for `parked` is told."),
    key("notify.webhook.timeout", Duration, "15s", Live, "How long a receiver of webhooks may take to answer."),
    key("notify.webhook.concurrency", Count { least: 1, most: 1000 }, "8", Live, "Notifications that one notifier sends to one receiver of webhooks at a time; a receiver in trouble gets one, after a pause."),
    key("notify.webhook.max_held_bytes", Bytes, "32MiB", Live, "Bodies of webhooks that one notifier holds at a time; while there are more, nothing is taken."),
    key("notify.webhook.give_up_after", Duration, "3d", Live, "How long a webhook is tried before it is parked as `given_up`, where people find it and may send it again."),
    key("reply.allow", Tree("a list of `exchange`, `key`, `queue` patterns"), "~", Live, "Where receipts may go besides direct reply-to, with `*` in names; left out: queues `<broker.prefix>.reply.*`."),

    key("secrets.folder", OptionalText, "~", Restart, "Folder whose files hold the secrets that scenarios name as `secret.NAME`, a file for each; left out, or without the file: the environment variable `PAGURUS_SECRET_NAME`."),

    key("config", Tree("a mapping of names and values"), "{}", Live, "Named constants that scenarios read as `config.NAME`. One whose name ends with the word `secret`, `password`, `passwd`, `passphrase`, `token`, `credential`, `apikey` (or its plural), or with `key` behind `api`, `access`, `private`, `secret`, `signing`, `encryption`, `shared`, `master`, `auth` or `account`, is a secret with all that is in it: its value is masked wherever secrets of scenarios are. Others are shown where a scenario or a called system shows them."),

    key("access.mode", Later { now: &["public"], later: &["ldap", "oidc"] }, "public", Restart, "Who may use the API."),
];
