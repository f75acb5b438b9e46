//! What a stage is given: the order, the deployment, and why it runs. Data only.

use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use serde_json::Value;

use super::super::script::Scripting;
use super::super::value::Secrets;
use super::super::{Bounds, Folded};
use super::outside::OutsideCall;
use super::snapshot::Snapshot;
use crate::id::spelled;
use crate::order::Mode;
use crate::retry::ErrorPolicy;

/// What the order is, for the stage: nothing here changes while it runs.
#[derive(Clone, Debug)]
pub struct Facts {
    /// The client's id.
    pub id: String,
    /// The business transaction.
    pub transaction_id: Option<String>,
    /// Which life of the order this is, from 1.
    pub life: i32,
    /// Parallel or sequential.
    pub mode: Mode,
    /// The queue of a sequential order.
    pub queue: Option<String>,
    /// Number of this hand-out.
    pub attempt: i32,
    /// Registered at.
    pub created_at: Timestamp,
}

/// What the deployment sets, shared by all stages.
#[derive(Debug)]
pub struct Settings {
    /// The sandbox.
    pub scripting: Scripting,
    /// Bounds of scenarios.
    pub bounds: Bounds,
    /// Rules and policies for failures.
    pub errors: ErrorPolicy,
    /// Named constants, `config.…`.
    pub constants: Arc<Value>,
    /// What `${secret.NAME}` reads.
    pub secrets: Arc<dyn Secrets>,
    /// What callback URLs begin with, without a slash at the end.
    pub callback_base: String,
    /// The engine's own virtual host at the broker.
    pub vhost: String,
    /// Longest synchronous part of a sequential order's stage (ORD-12).
    pub max_sync_duration: Duration,
    /// Longest time a sequential order may hold its queue in retries (ORD-12).
    pub max_acquisition_duration: Duration,
    /// Longest wait of sequential orders (ORD-12).
    pub max_wait_sequential: Duration,
    /// Longest wait of parallel orders (ORD-12).
    pub max_wait_parallel: Duration,
}

/// Why the stage runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Wake {
    /// The first stage of a life, or one that goes on at the cursor.
    Start,
    /// The time of a sleep or of a wait is over.
    Timer,
    /// All callbacks are in.
    Callback,
    /// A retry is due.
    Retry,
    /// The next attempt of a polling is due.
    Poll,
    /// A call from outside came while the order rested.
    Call,
}

spelled!(Wake {
    Start => "start",
    Timer => "timer",
    Callback => "callback",
    Retry => "retry",
    Poll => "poll",
    Call => "call",
});

/// An answer to an asynchronous request, as it was received.
#[derive(Clone, Debug, PartialEq)]
pub struct Callback {
    /// Name of the request that it answers.
    pub name: String,
    /// What scenarios see: `body`, `headers`, `stepStatus`, `receivedAt`.
    pub value: Folded,
    /// The body as text, for the rules.
    pub body: String,
    /// Status of the called system's step.
    pub step_status: Option<String>,
}

/// What an order brings along to a stage.
#[derive(Debug)]
pub struct Input {
    /// Parameters.
    pub params: Folded,
    /// The last answer to each request, by its name.
    pub callbacks: Vec<Callback>,
    /// Calls from outside that wait for it, in the order of arrival.
    pub calls: Vec<OutsideCall>,
    /// Where it rests.
    pub snapshot: Snapshot,
    /// Why the stage runs.
    pub wake: Wake,
    /// Since when it could have run.
    pub due_at: Timestamp,
    /// A random number in `0.0..1.0`, for the jitter of what fails without asking anybody.
    pub dice: f64,
}
