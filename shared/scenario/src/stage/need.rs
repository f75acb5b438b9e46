//! Requests of a stage to the world, and the answers of the world.

use std::borrow::Cow;
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use pagurus_domain::id::RequestId;
use pagurus_domain::system::host_and_path;
use serde_json::Value;
use uuid::Uuid;

use super::super::Method;
use super::{Cancel, Reached, StageEnd};

/// Need of a stage to go on.
#[derive(Clone, Debug, PartialEq)]
pub enum Need {
    /// Store a request before it is sent; the same visit, action and hand-out give the same request.
    Register {
        /// Name that the scenario gives it.
        name: String,
        /// Number of the visit.
        visit: u32,
        /// Index of the action.
        action: u32,
        /// Number of the hand-out of a task, from 1; of a child, how often it was started before; else 0.
        hand_out: u32,
        /// Set where the request is a task of an actor.
        task: Option<TaskTerms>,
        /// The way in which it is given up.
        cancel: Cancel,
    },
    /// Make an HTTP request.
    Http(HttpCall),
    /// Make several HTTP requests at once.
    Parallel(Vec<HttpCall>),
    /// Publish a message and have it confirmed.
    Publish(Publication),
    /// Queue a task for an actor and have it confirmed.
    Task(Task),
    /// Register a child order; the same again is no second one.
    Order(ChildOrder),
    /// Give the order's queue up at once, while the stage goes on.
    Release,
    /// Store how far the stage has come: whatever lies before is not done again.
    Save(Box<Reached>),
    /// The stage has ended and needs nothing more.
    Done(Box<StageEnd>),
}

/// Rendered HTTP request.
#[derive(Clone, Debug, PartialEq)]
pub struct HttpCall {
    /// The method.
    pub method: Method,
    /// The URL with its query.
    pub url: String,
    /// The host, or a part of it, comes from the order.
    pub host_of_order: bool,
    /// Header fields.
    pub headers: Vec<(String, String)>,
    /// The body.
    pub body: Option<HttpBody>,
    /// Longest time.
    pub timeout: Duration,
    /// Sent as `Idempotency-Key`.
    pub idempotency_key: Uuid,
    /// The request whose answer comes later, if it is one.
    pub request: Option<RequestId>,
    /// Name of the certificate that is shown to the called system.
    pub certificate: Option<String>,
    /// Names of the secrets that it holds.
    pub secrets: Arc<[String]>,
}

impl HttpCall {
    /// The called system, as [`OrderError::system`](pagurus_domain::order::OrderError::system) names it.
    #[must_use]
    pub fn system(&self) -> String {
        host_and_path(&self.url).0.to_ascii_lowercase()
    }
}

/// A body with its media type.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HttpBody {
    /// Media type, unless the action's headers name one.
    pub content_type: Cow<'static, str>,
    /// The body.
    pub bytes: Vec<u8>,
}

/// Rendered AMQP message.
#[derive(Clone, Debug, PartialEq)]
pub struct Publication {
    /// The virtual host; none is the engine's own.
    pub vhost: Option<String>,
    /// The exchange.
    pub exchange: String,
    /// The routing key.
    pub key: String,
    /// Header fields.
    pub headers: Vec<(String, String)>,
    /// The body.
    pub body: Vec<u8>,
    /// Media type of the body.
    pub content_type: &'static str,
    /// Sent as `message_id`.
    pub message_id: Uuid,
    /// Sent as `correlation_id`, with a `reply_to`.
    pub request: Option<RequestId>,
    /// Names of the secrets that it holds.
    pub secrets: Arc<[String]>,
}

/// Terms of a hand-out of a task: how long it may last, and whether earlier ones stay valid.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TaskTerms {
    /// A heartbeat prolongs the hand-out by so much.
    pub work_timeout: Duration,
    /// True if the hand-out may still be answered after its work time-out: there is another one then.
    pub accept_first: bool,
    /// Time at which the task time-out passes, counted from the first hand-out.
    pub task_ends_at: Option<Timestamp>,
    /// True if no heartbeat prolongs the hand-out beyond that.
    pub force_finish: bool,
    /// The longest wait of the order: nothing prolongs the hand-out beyond that.
    pub wait_ends_at: Timestamp,
}

/// Hand-out of a task to an actor.
#[derive(Clone, Debug, PartialEq)]
pub struct Task {
    /// Name of the actor: the routing key.
    pub actor: String,
    /// Token that its answer must carry.
    pub pass: RequestId,
    /// The task, as JSON.
    pub body: Vec<u8>,
    /// Sent as `message_id`.
    pub message_id: Uuid,
    /// Time in the queue after which nobody needs the message: the task was put back, or its time is over.
    pub useful_for: Duration,
}

/// A child order.
#[derive(Clone, Debug, PartialEq)]
pub struct ChildOrder {
    /// The registration, as an order from outside would bring it.
    pub registration: Value,
    /// The request that its end answers.
    pub request: Option<RequestId>,
}

/// Answer of the world.
#[derive(Clone, Debug, PartialEq)]
pub enum Answer {
    /// To [`Need::Register`].
    Registered(RequestId),
    /// To [`Need::Http`]: an answer came, whatever its status.
    Response(Response),
    /// To [`Need::Http`]: no answer came.
    Failed(HttpFailure),
    /// To [`Need::Parallel`]: the outcome of each, in order.
    Parallel(Vec<Result<Response, HttpFailure>>),
    /// To [`Need::Publish`] and [`Need::Task`]: confirmed.
    Published,
    /// To [`Need::Publish`] and [`Need::Task`]: the broker has no place for it, or refused it.
    Unpublished(String),
    /// To [`Need::Publish`]: a secret of the message may not be sent there, and nothing was.
    Forbidden(String),
    /// To [`Need::Order`]: it is durable.
    OrderStarted,
    /// To [`Need::Order`]: it can never be registered so.
    OrderRefused(String),
    /// To [`Need::Release`]: the next order of the queue may run.
    Released,
    /// To [`Need::Save`]: it is durable.
    Saved,
    /// To [`Need::Http`], [`Need::Parallel`], [`Need::Publish`] and the [`Need::Register`] of a task: nothing was
    /// sent, because the called system must be left alone. The order rests at this very action, and the attempt does not count.
    Held {
        /// Time at which it is tried again.
        until: Timestamp,
        /// The system.
        system: String,
    },
}

/// The answer to an HTTP request.
#[derive(Clone, Debug, PartialEq)]
pub struct Response {
    /// The status.
    pub status: u16,
    /// Header fields, names in lower case.
    pub headers: Vec<(String, String)>,
    /// The body, as text.
    pub body: String,
    /// Time that the call took.
    pub duration: Duration,
}

/// Name of the failure of a call for whose answer this worker had no room in time: no fault of the called
/// system.
pub const NO_ROOM: &str = "NoRoom";

/// Name of the failure of a call whose answer did not come in time.
pub const READ_TIMEOUT: &str = "ReadTimeout";

/// Name of the failure of a call that was not made, because a secret of it may not be sent there. Its class is
/// [`SECRET_FORBIDDEN`](pagurus_domain::classes::SECRET_FORBIDDEN), whatever the rules say.
pub const SECRET_KEPT: &str = "SecretForbidden";

/// Reason for which no answer came.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HttpFailure {
    /// Names from the outermost to the cause (ERR-3).
    pub chain: Vec<&'static str>,
    /// Message for people.
    pub message: String,
}
