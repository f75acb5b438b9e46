//! Classes of the errors that the engine itself finds, each with the sentence that documents it.

/// Word for the class of an error that no rule gave one.
pub const UNCLASSIFIED: &str = "unclassified";

/// Longest class that a script or an actor gives an error, in bytes: classes stand in reports, metrics and notifications.
pub const MAX_CLASS_BYTES: usize = 255;

/// Makes a constant of each class, and the table of all of them, for the documents.
///
/// `LOST = "parcel.lost", "The parcel is lost.";` makes the constant `LOST` and a row of [`ALL`].
macro_rules! classes {
    ($($name:ident = $class:literal, $when:literal;)*) => {
        $(#[doc = concat!("Class `", $class, "`: ", $when)] pub const $name: &str = $class;)*

        /// All classes of the engine, in the order of the documents: the class, and when an order has it.
        pub const ALL: &[(&str, &str)] = &[$(($name, $when)),*];
    };
}

classes! {
    SCRIPT_ERROR = "script.error",
        "A script, an expression or a condition failed: a field is missing, a type does not fit.";
    SCRIPT_LIMIT = "script.limit", "A script exceeded a limit of time, memory or size.";
    SECRET_MISSING = "secret.missing", "The deployment has no secret of that name.";
    SECRET_FORBIDDEN = "secret.forbidden",
        "A secret that the action names may not be sent to its target, by `secrets.for`. Nothing was sent.";
    SOAP_FAULT = "soap.fault", "A SOAP call was answered with a fault, and no rule has a class for it.";
    SOAP_INVALID = "soap.invalid",
        "A SOAP call was answered with a successful status, but without a readable envelope, and no rule \
         has a class for that.";
    AMQP_UNROUTABLE = "amqp.unroutable",
        "No queue takes the message or the task, or the broker refused it for 30 seconds.";
    ACTOR_TIMEOUT = "actor.timeout", "The actor did not decide in time.";
    ACTOR_FAILED = "actor.failed", "The actor decided `fail` and named no class.";
    ACTOR_INVALID = "actor.invalid", "The actor's answer is not a decision.";
    ORDER_REFUSED = "order.refused",
        "The child order cannot be registered, or would wait for the order that waits for it; the message says \
         why.";
    ORDER_FAILED = "order.failed", "The child order did not end in `success`, and had no class of its own.";
    ORDER_TIMEOUT = "order.timeout", "The child order did not end within the time that the action waits for it.";
    ASYNC_TIMEOUT = "async.timeout", "An answer did not come in time, and no rule has a class for that.";
    POLLING_TIMEOUT = "polling.timeout", "The time for polling has passed.";
    OPERATION_PARAMS = "operation.params",
        "The parameters that a `do` passes to its operation do not match the schema of the operation.";
    EACH_TOO_LONG = "scenario.each", "The list of an `each` has more than `scenario.max_each` elements.";
    VARS_TOO_LARGE = "scenario.vars", "`vars` grew beyond `scenario.max_vars_bytes`.";
    SCENARIO_LOOP = "scenario.loop",
        "More than `scenario.max_transitions_per_stage` transitions in one stage. The order ends at once.";
    SCENARIO_UNREADABLE = "scenario.unreadable",
        "The scenario version of the order cannot be read, or lacks the present state of the order. The order ends at \
         once.";
    SCENARIO_INCOMPLETE = "scenario.incomplete",
        "An event without a transition: a function was called by a name made at run time, which no check \
         can see.";
    CALL_REFUSED = "call.refused", "The present state does not accept the call. Reported to the caller only.";
    CALL_ENDED = "call.ended", "The order ended before the call was handled. Reported to the caller only.";
    DEADLINE_EXCEEDED = "deadline.exceeded", "The deadline to start passed before anything was done.";
    PROCESS_TIMEOUT = "process.timeout",
        "The order outlived `timeouts.process`, and its state has no transition for `timeout:process`.";
    RETENTION_EXPIRED = "retention.expired",
        "The order had not ended `db.orders.storage_period_in_days.in_progress` days after its \
         registration.";
    DEPENDENCY_FAILED = "dependency.failed", "An order of a [pre-condition](orders.md) ended in another state than wanted.";
    DEPENDENCY_INVALID = "dependency.invalid", "A [pre-condition](orders.md) can never be met.";
    POISON = "recovery.poison",
        "Workers on two nodes died while they computed one stage (four times on one node), or it was handed \
         out again more than `recovery.max_restarts` times without ever ending.";
    INCONSISTENT = "recovery.inconsistent",
        "Stored rows of the order are missing or cannot be read, so that nothing of it can be executed. The \
         order ends at once.";
    NODE_STOPPED = "node.stopped",
        "The node stopped or was lost, and the configuration forbids another node to continue (`shutdown.release`, \
         `failover.running`). The order ends `canceled`, and may be restarted.";
    PANIC = "internal.panic", "A defect of the engine. Its log has details; please report it.";
}
