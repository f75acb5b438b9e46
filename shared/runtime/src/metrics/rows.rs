//! Everything that is counted: each metric in one entry, with its name, its labels and its help.

/// Name, help, and the names of the labels.
pub(super) type MetricRow = (&'static str, &'static str, &'static [&'static str]);

/// Makes the enum of a kind of metrics and the table of their rows, whose places are the values of the enum. The help of a
/// metric documents its variant. This entry is the counter `pagurus_refused_total`, named `Count::Refused` in the code:
///
/// ```text
/// Refused: "refused" ["reason"] = "Refused messages, by reason";
/// ```
macro_rules! metrics {
    (
        $(#[$attribute:meta])*
        pub enum $kind:ident with $table:ident;
        $($variant:ident: $name:literal [$($label:literal),*] = $help:literal;)*
    ) => {
        $(#[$attribute])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum $kind {
            $(#[doc = $help] $variant,)*
        }

        pub(super) const $table: &[MetricRow] = &[$(($name, $help, &[$($label),*])),*];
    };
}

metrics! {
    /// A counter.
    pub enum Count with COUNTERS;

    Registrations: "registrations" ["result"] = "Registrations, by outcome";
    Refused: "refused" ["reason"] = "Refused messages, by reason";
    RefusedUnanswered: "refused_unanswered" []
        = "Refused messages that wait for a decision: their senders got no receipt, or the engine itself failed";
    ReceiptsLost: "receipts_lost" [] = "Receipts that could not be delivered";
    Callbacks: "callbacks" ["verdict"] = "Callbacks, by verdict";
    OrphansUnkept: "orphans_unkept" []
        = "Callbacks without a matching request, or further ones to the same request, that were not kept, because there are too many";
    Actions: "actions" ["action", "door"] = "Actions of clients and operators, by action and door";
    HandOuts: "hand_outs" [] = "Hand-outs sent by the dispatcher";
    Unclaimed: "unclaimed" ["reason"] = "Hand-outs that were not claimed, by reason";
    Stages: "stages" ["status"] = "Stages that ended, by the status that followed";
    GuardsRefused: "guards_refused" ["kind"] = "Guarded writes that found a different state than expected";
    Calls: "calls" ["outcome"] = "Calls of systems, by outcome";
    Started: "started" ["scenario"] = "Orders whose first stage started";
    StartMissed: "start_missed" ["scenario"] = "Orders whose deadline to start passed";
    Activations: "activations" ["stream", "flow"] = "Orders woken";
    ActivationRepeats: "activation_repeats" ["stream", "flow"]
        = "Activation commands that did not reach the dispatcher and were sent again";
    Reissued: "reissued" ["finding"] = "Stages handed out again";
    WorkTimeouts: "work_timeout" ["scenario", "actor"]
        = "Stages, and tasks of the named actor, that passed their work time-out";
    Poisoned: "poisoned" [] = "Orders ended because a stage was handed out too often";
    NodesLost: "nodes_lost" ["role"] = "Nodes declared lost";
    Notifications: "notifications" ["outcome"] = "Notifications, by outcome";
    SubscriptionsPaused: "subscriptions_paused" ["because"] = "Subscriptions that the engine paused, by reason";
    StoreErrors: "store_errors" ["operation"] = "Failures of the database, by what was attempted";
    BrokerErrors: "broker_errors" ["operation"] = "Failures of the broker, by what was attempted";
    BacklogRefused: "backlog_refused" ["by"] = "Orders refused because too many orders of their flow or queue wait";
    ClientsLimited: "clients_limited" ["measure"]
        = "Requests refused because their client had used up a limit of intake.limits: requests, bytes, open";
    Spans: "spans" ["outcome"]
        = "Spans by outcome: recorded, sent, failed; a span that is recorded but neither sent nor failed waits or \
           was dropped";
    SystemCalls: "system_calls" ["system", "outcome"] = "HTTP calls, by called system and outcome";
    Ended: "ended" ["scenario", "status"] = "Lives of orders that ended";
    EndedByLabel: "ended_by_label" ["label", "value", "status"]
        = "Lives of orders that ended, by the labels of the orders that the configuration names";
    StageErrors: "stage_errors" ["flow", "class"]
        = "Stages that ended with an error, by flow and class; the class is empty if the error has none";
    StaleAcknowledgements: "stale_acknowledgements" [] = "Acknowledgements that came too late to count";
    Inconsistencies: "inconsistencies" ["finding", "outcome"]
        = "Contradictions between the stored rows of orders, repaired or left for a person";
    InvariantViolations: "invariant_violations" ["invariant"]
        = "Invariants of the engine that the consistency check found broken, by their numbers";
    Idle: "idle" ["cause"] = "Orders that made no progress for a whole idle period";
    Removed: "removed" ["status"] = "Orders removed at the end of their retention time";
    Jeopardies: "jeopardies" ["scenario"]
        = "Orders found in jeopardy: they will probably miss their promise";
    Promises: "promises" ["scenario", "outcome"] = "Ended lives with a promise, by outcome: kept, late or unserved";
    ScheduleTimes: "schedule_times" ["outcome"]
        = "Planned times of schedules, by outcome: registered, queued, skipped, missed or refused";
    RefusedForgotten: "refused_forgotten" []
        = "Refused messages removed because nobody decided on them in time, or because \
           they took up too many bytes";
    StreamEvents: "stream_events" ["outcome"]
        = "Events of the event stream for each client: sent, left_out because of a full buffer, lagged if their \
           number is unknown";
    UnreadableMessages: "unreadable_messages" ["message"]
        = "Messages between services that were skipped because they could not be read, such as those of another \
           version, by kind";
}

metrics! {
    /// A gauge.
    pub enum Level with GAUGES;

    Ready: "ready" ["priority"] = "Stages that are ready to run";
    ReadyAge: "ready_age_seconds" [] = "Age of the oldest stage that is ready to run";
    Nodes: "nodes" ["role", "status"] = "Living nodes, according to the registry";
    InProgress: "in_progress" ["mode"] = "Stages in progress";
    Leader: "leader" [] = "1 on the active dispatcher";
    Epoch: "epoch" [] = "Epoch of the dispatcher's lease";
    WorkerStages: "worker_stages" [] = "Stages on this worker";
    ActivationLag: "activation_lag_seconds" ["stream"] = "Delay of activation";
    ActivationHeld: "activation_held" ["stream"]
        = "Flows that have due orders, but whose orders are not woken until those woken before have run";
    Outbox: "outbox" ["state"] = "Undelivered notifications";
    OutboxAge: "outbox_age_seconds" [] = "Age of the oldest undelivered notification";
    Subscriptions: "subscriptions" ["state"]
        = "Subscriptions: active, paused by a person, and paused by the engine, which needs a person";
    SubscriptionUndelivered: "subscription_undelivered" ["subscription"]
        = "Notifications of a subscription that wait for its receiver, or are parked";
    ReceiversInTrouble: "receivers_in_trouble" []
        = "Receivers of webhooks to which this notifier sends nothing for a while";
    FailoverLeft: "failover_left" [] = "Stages of lost nodes that are older than failover.interval";
    FlowReady: "flow_ready" ["flow", "priority"] = "Stages of a flow that are ready to run";
    FlowOldestReady: "flow_oldest_ready_timestamp_seconds" ["flow"]
        = "Time since which the oldest stage of a flow is ready, in seconds of Unix time; NaN while none waits";
    FlowInProgress: "flow_in_progress" ["flow"] = "Stages of a flow in progress";
    FlowLimit: "flow_limit" ["flow"] = "Stages that a flow may have in progress; NaN without a limit";
    FlowState: "flow_state" ["flow", "state"] = "1 for the state of a flow";
    FlowAtLimit: "flow_at_limit" ["flow"]
        = "1 while stages of a flow wait because of its limit, or of that of a system that it calls";
    FlowThroughput: "flow_stages_per_second" ["flow"] = "Stages of a flow that ended per second, recently";
    FlowStage: "flow_stage_seconds" ["flow", "term", "quantile"]
        = "Time of a stage of a flow, over the last minute (short) and over hours (long); NaN while none was \
           measured";
    FlowSuccess: "flow_success_seconds" ["flow", "quantile"]
        = "Time of a stage of a flow that ended without an error, over hours; NaN while none was measured";
    FlowWait: "flow_wait_seconds" ["flow", "quantile"]
        = "Time from ready to claimed for stages of a flow, recently; NaN while none was measured";
    FlowToEmpty: "flow_to_empty_seconds" ["flow"]
        = "Forecast of the time until the backlog of a flow is gone: no more stages are ready than end in a second; NaN \
           while it does not shrink";
    FlowOpenRequests: "flow_open_requests" ["flow"]
        = "Requests of a flow that were sent and whose callback has not arrived";
    SystemLimit: "system_limit" ["system"]
        = "Stages in progress and open requests that may concern a called system; NaN without a limit";
    SystemState: "system_state" ["system", "state"] = "1 for the state of a called system";
    SystemFailedShare: "system_failed_share" ["system"]
        = "Share of the recent calls of a system that failed for a technical reason; NaN while none has ended";
    SystemRecentCall: "system_recent_call_seconds" ["system", "quantile"]
        = "Time of a call of a system, over about the last minute; NaN while none was measured";
    SystemInProgress: "system_in_progress" ["system"]
        = "Stages in progress of flows that call a system, and open requests to it";
    SystemThroughput: "system_calls_per_second" ["system"]
        = "Calls of a system that ended per second, recently";
    BacklogFull: "backlog_full" [] = "Flows for which the API accepts no more orders, because too many wait";
    Operations: "operations" ["state"] = "Bulk operations, by state";
    OperationOrders: "operation_orders" [] = "Orders that bulk operations still have to act on";
    ConfigurationSnapshot: "configuration_snapshot" []
        = "Number of the snapshot of the settings, 1 since the start";
    ConfigurationReadAt: "configuration_read_timestamp_seconds" []
        = "Time at which the configuration was last read without a fault, in seconds of Unix time";
    ConfigurationRefused: "configuration_refused" []
        = "1 while the configuration has faults and the previous one is in effect";
    WaitingOrders: "waiting_orders" ["reason"]
        = "Orders that are not final, by what they wait for; above a thousand for one reason, an estimate";
    AuditUnsealedAge: "audit_unsealed_seconds" []
        = "Age of the oldest entry of the audit log that has no place in its chain yet";
    AuditExportLag: "audit_export_lag_rows" []
        = "Entries of the audit log that the activator has not yet sent to its external receiver";
    AtCapacity: "at_capacity" [] = "1 while stages are ready and all places for stages are in use";
    OldestSnapshot: "oldest_snapshot_seconds" []
        = "Age of the oldest snapshot that a session of the database holds; rows that have died since cannot \
           be removed. NaN if none is seen and some sessions are hidden";
    UnseenSessions: "unseen_sessions" []
        = "Sessions of the database whose snapshots the user of the engine cannot see, because it lacks \
           pg_monitor";
    ConfigurationNeedsRestart: "configuration_needs_restart" []
        = "Changed keys whose value takes effect only after a restart";
    Inconsistent: "inconsistent" [] = "Orders marked as inconsistent, which need a person";
    CheckAge: "check_age_seconds" [] = "Time since the consistency check completed a round";
    CheckShare: "check_share" [] = "Share of its present round that the consistency check has done, from 0 to 1";
    InJeopardy: "in_jeopardy" [] = "Orders that will probably miss their promise";
    StreamClients: "stream_clients" [] = "Clients that follow the event stream at this intake";
    MaintenanceWindows: "maintenance_windows" ["state"]
        = "Maintenance windows that are open, and those to come";
    Schedules: "schedules" ["state"]
        = "Schedules that are active, paused or over, and those whose last order was refused (failing)";
    ScheduleLag: "schedule_lag_seconds" []
        = "Delay of the earliest planned time of a schedule that is not yet handled";
    ActorConsumers: "actor_consumers" ["actor"]
        = "Programs that take tasks of an actor that orders wait for; NaN if no order waits for it";
    RequestsCorrected: "dispatcher_requests_corrected" []
        = "Difference between the open requests that the active dispatcher had counted and the rows, at the last count; \
           it has used the number of rows since then";
}

metrics! {
    /// A histogram.
    pub enum Span with HISTOGRAMS;

    Batch: "batch_seconds" ["operation"] = "Time of a batch, by its kind";
    Call: "call_seconds" ["outcome"] = "Time of a call to a system";
    Webhook: "webhook_seconds" ["outcome"] = "Time of a call to a receiver of webhooks";
    Stage: "stage_seconds" ["status"] = "Time of a stage on its worker";
    SystemCall: "system_call_seconds" ["system"] = "Time of an HTTP call, by called system";
    StartDelay: "start_delay_seconds" ["scenario"]
        = "Time between registration, or restart, and the first stage";
    ReadyWait: "ready_wait_seconds" ["mode"]
        = "Time for which a stage was ready before a worker claimed it";
    ActivationDelay: "activation_delay_seconds" ["flow"]
        = "Time between the moment at which an order was due and the moment at which it was woken";
}
