//! Everything that is counted: each metric in one entry, with its name, its labels and its help.

/// Name, help, and the names of the labels.
pub(super) type MetricRow = (&'static str, &'static str, &'static [&'static str]);

/// Makes the enum of a kind of metrics and the table of their rows, whose places are the values of the enum. The help of a
/// metric documents its variant. This entry is the counter `pagurus_refused_total`, named `Count::Refused` in the code:
///
/// ```text
/// Refused: "refused" ["reason"] = "Messages put aside by reason";
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

    Registrations: "registrations" ["result"] = "Registrations by outcome";
    Refused: "refused" ["reason"] = "Messages put aside by reason";
    RefusedUnanswered: "refused_unanswered" []
        = "Messages put aside that wait for a decision: their senders got no receipt, or the engine itself failed";
    ReceiptsLost: "receipts_lost" [] = "Receipts that could not be delivered";
    Callbacks: "callbacks" ["verdict"] = "Callbacks by verdict";
    OrphansUnkept: "orphans_unkept" []
        = "Callbacks for nobody that were not kept, because there are too many";
    Actions: "actions" ["action", "door"] = "Actions of clients and operators by action and door";
    HandOuts: "hand_outs" [] = "Hand-outs sent by the dispatcher";
    Unclaimed: "unclaimed" ["reason"] = "Hand-outs that were not claimed, by reason";
    Stages: "stages" ["status"] = "Stages that ended, by the status that followed";
    GuardsRefused: "guards_refused" ["kind"] = "Guarded writes that found another state than expected";
    Calls: "calls" ["outcome"] = "Calls of systems by outcome";
    Started: "started" ["scenario"] = "Orders whose first stage began";
    StartMissed: "start_missed" ["scenario"] = "Orders whose deadline to start passed";
    Activations: "activations" ["stream", "flow"] = "Orders woken";
    ActivationRepeats: "activation_repeats" ["stream", "flow"]
        = "Activation commands that the dispatcher did not get and was sent again";
    Reissued: "reissued" ["finding"] = "Stages handed out again";
    WorkTimeouts: "work_timeout" ["scenario", "actor"]
        = "Stages, and tasks of the named actor, that passed their work time-out";
    Poisoned: "poisoned" [] = "Orders ended because a stage was handed out too often";
    NodesLost: "nodes_lost" ["role"] = "Nodes declared lost";
    Notifications: "notifications" ["outcome"] = "Notifications by outcome";
    SubscriptionsPaused: "subscriptions_paused" ["because"] = "Subscriptions that the engine has paused, by reason";
    StoreErrors: "store_errors" ["operation"] = "Failures of the database by what was tried";
    BrokerErrors: "broker_errors" ["operation"] = "Failures of the broker by what was tried";
    BacklogRefused: "backlog_refused" ["by"] = "Orders refused because too many of their flow or queue wait";
    ClientsLimited: "clients_limited" ["measure"]
        = "Requests refused because their client had used up a limit of intake.limits: requests, bytes, open";
    Spans: "spans" ["outcome"]
        = "Spans by outcome: recorded, sent, failed; what is recorded and neither of the others waits or \
           was dropped";
    SystemCalls: "system_calls" ["system", "outcome"] = "HTTP calls by called system and outcome";
    Ended: "ended" ["scenario", "status"] = "Lives of orders that ended";
    EndedByLabel: "ended_by_label" ["label", "value", "status"]
        = "Lives of orders that ended, by the labels of the orders that the configuration names";
    StageErrors: "stage_errors" ["flow", "class"]
        = "Stages that left an error, by flow and class; the class is empty where it has none";
    StaleAcknowledgements: "stale_acknowledgements" [] = "Acknowledgements that came too late to count";
    Inconsistencies: "inconsistencies" ["finding", "outcome"]
        = "Contradictions between the rows of orders, repaired or left for a person";
    InvariantViolations: "invariant_violations" ["invariant"]
        = "Invariants of the engine that the consistency check found broken, by their numbers";
    Idle: "idle" ["cause"] = "Orders that stood still for a whole idle period";
    Removed: "removed" ["status"] = "Orders that were removed because their time was over";
    Jeopardies: "jeopardies" ["scenario"]
        = "Orders that were found in jeopardy: they will probably miss what was promised";
    Promises: "promises" ["scenario", "outcome"] = "Lives with a promise that ended: kept, late or unserved";
    ScheduleTimes: "schedule_times" ["outcome"]
        = "Times of schedules by outcome: registered, queued, skipped, missed or refused";
    RefusedForgotten: "refused_forgotten" []
        = "Refused messages that were removed because nobody had decided about them in time, or because \
           there were too many bytes";
    StreamEvents: "stream_events" ["outcome"]
        = "Events of the stream for each client: sent, left_out of a full buffer, lagged where nobody knows \
           how many";
    UnreadableMessages: "unreadable_messages" ["message"]
        = "Messages between services that could not be read and were passed over, as those of another \
           version, by what they tell";
}

metrics! {
    /// A gauge.
    pub enum Level with GAUGES;

    Ready: "ready" ["priority"] = "Stages that may run";
    ReadyAge: "ready_age_seconds" [] = "Age of the oldest stage that may run";
    Nodes: "nodes" ["role", "status"] = "Living nodes, as the registry has them";
    InProgress: "in_progress" ["mode"] = "Stages in progress";
    Leader: "leader" [] = "1 on the active dispatcher";
    Epoch: "epoch" [] = "Epoch of the dispatcher's lease";
    WorkerStages: "worker_stages" [] = "Stages on this worker";
    ActivationLag: "activation_lag_seconds" ["stream"] = "How late activation is";
    ActivationHeld: "activation_held" ["stream"]
        = "Flows of which no more is woken until they have gone through what was, while something is due";
    Outbox: "outbox" ["state"] = "Notifications that are not delivered";
    OutboxAge: "outbox_age_seconds" [] = "Age of the oldest undelivered notification";
    Subscriptions: "subscriptions" ["state"]
        = "Standing receivers: active, paused by somebody, and paused by the engine, which needs a person";
    SubscriptionUndelivered: "subscription_undelivered" ["subscription"]
        = "Notifications that wait for the receiver of a subscription, or are parked";
    ReceiversInTrouble: "receivers_in_trouble" []
        = "Receivers of webhooks that are left alone for a while, by this notifier";
    FailoverLeft: "failover_left" [] = "Stages of lost nodes that are older than failover.interval";
    FlowReady: "flow_ready" ["flow", "priority"] = "Stages of a flow that may run";
    FlowOldestReady: "flow_oldest_ready_timestamp_seconds" ["flow"]
        = "Since when the oldest stage of a flow may run, in seconds of Unix time; NaN while none waits";
    FlowInProgress: "flow_in_progress" ["flow"] = "Stages of a flow in progress";
    FlowLimit: "flow_limit" ["flow"] = "Stages that a flow may have in progress; NaN without a limit";
    FlowState: "flow_state" ["flow", "state"] = "1 for the state of a flow";
    FlowAtLimit: "flow_at_limit" ["flow"]
        = "1 while stages of a flow wait for its limit, or for that of a system it calls";
    FlowThroughput: "flow_stages_per_second" ["flow"] = "Stages of a flow that ended in a second, recently";
    FlowStage: "flow_stage_seconds" ["flow", "term", "quantile"]
        = "Time of a stage of a flow, of the last minute (short) and over hours (long); NaN while none was \
           measured";
    FlowSuccess: "flow_success_seconds" ["flow", "quantile"]
        = "Time of a stage of a flow that ended without an error, over hours; NaN while none was measured";
    FlowWait: "flow_wait_seconds" ["flow", "quantile"]
        = "Time from ready to claimed of the stages of a flow, recently; NaN while none was measured";
    FlowToEmpty: "flow_to_empty_seconds" ["flow"]
        = "Time until all stages of a flow that may run have gone, at the present rate; NaN while none goes";
    FlowOpenRequests: "flow_open_requests" ["flow"]
        = "Requests of a flow that were sent and whose callback has not come";
    SystemLimit: "system_limit" ["system"]
        = "Stages in progress and open requests that may concern a called system; NaN without a limit";
    SystemState: "system_state" ["system", "state"] = "1 for the state of a called system";
    SystemFailedShare: "system_failed_share" ["system"]
        = "Part of the recent calls of a system that failed for a technical reason; NaN while none has ended";
    SystemRecentCall: "system_recent_call_seconds" ["system", "quantile"]
        = "Time of a call of a system over the last minute or so; NaN while none was measured";
    SystemInProgress: "system_in_progress" ["system"]
        = "Stages in progress of flows that call a system, and open requests to it";
    SystemThroughput: "system_calls_per_second" ["system"]
        = "Calls of a system that ended in a second, recently";
    BacklogFull: "backlog_full" [] = "Flows of which the API takes no more orders, because too many wait";
    Operations: "operations" ["state"] = "Bulk operations, by state";
    OperationOrders: "operation_orders" [] = "Orders that bulk operations have still to act on";
    ConfigurationSnapshot: "configuration_snapshot" []
        = "Number of the snapshot of the settings, 1 since the start";
    ConfigurationReadAt: "configuration_read_timestamp_seconds" []
        = "When the configuration was last read without a fault";
    ConfigurationRefused: "configuration_refused" []
        = "1 while the configuration has faults and the former one counts";
    WaitingOrders: "waiting_orders" ["reason"]
        = "Orders that are not final, by what they wait for; an estimate beyond a thousand of one reason";
    AuditUnsealedAge: "audit_unsealed_seconds" []
        = "Age of the oldest entry of the audit log that has no place in its chain yet";
    AuditExportLag: "audit_export_lag_rows" []
        = "Entries of the audit log that its receiver outside does not have yet, as the activator that sends them knows";
    AtCapacity: "at_capacity" [] = "1 while stages may run and all places of stages are in use";
    OldestSnapshot: "oldest_snapshot_seconds" []
        = "Age of the oldest snapshot that a session of the database holds; rows that died since cannot \
           be removed. NaN where none is seen and some sessions are not shown";
    UnseenSessions: "unseen_sessions" []
        = "Sessions of the database whose snapshots are not shown to the user of the engine, which lacks \
           pg_monitor";
    ConfigurationNeedsRestart: "configuration_needs_restart" []
        = "Keys with another value that takes effect with a restart";
    Inconsistent: "inconsistent" [] = "Orders that are marked as inconsistent, which need a person";
    CheckAge: "check_age_seconds" [] = "Time since the consistency check has come round";
    CheckShare: "check_share" [] = "Share of its round that the consistency check has done, from 0 to 1";
    InJeopardy: "in_jeopardy" [] = "Orders that will probably miss what was promised";
    StreamClients: "stream_clients" [] = "Clients that follow the stream of orders' news at this intake";
    MaintenanceWindows: "maintenance_windows" ["state"]
        = "Maintenance windows that are open now, and others that are to come";
    Schedules: "schedules" ["state"]
        = "Schedules that are active, paused or over, and those of them whose last order was refused (failing)";
    ScheduleLag: "schedule_lag_seconds" []
        = "How late the time of a schedule is that is to be decided first";
    ActorConsumers: "actor_consumers" ["actor"]
        = "Programs that take tasks of an actor for which orders wait; NaN once no order waits for it";
    RequestsCorrected: "dispatcher_requests_corrected" []
        = "Open requests by which the active dispatcher was found wrong when the rows were counted last; \
           it goes by the rows since then";
}

metrics! {
    /// A histogram.
    pub enum Span with HISTOGRAMS;

    Batch: "batch_seconds" ["operation"] = "Time of a batch by what it does";
    Call: "call_seconds" ["outcome"] = "Time of a call to a system";
    Webhook: "webhook_seconds" ["outcome"] = "Time of a call to a receiver of webhooks";
    Stage: "stage_seconds" ["status"] = "Time of a stage on its worker";
    SystemCall: "system_call_seconds" ["system"] = "Time of an HTTP call by called system";
    StartDelay: "start_delay_seconds" ["scenario"]
        = "Time between registration, or restart, and the first stage";
    ReadyWait: "ready_wait_seconds" ["mode"]
        = "Time for which a stage could have run before a worker claimed it";
    ActivationDelay: "activation_delay_seconds" ["flow"]
        = "Time between the moment at which an order was due and its waking";
}
