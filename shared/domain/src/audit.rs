//! The audit log: kinds of what people and programs act on, the chain that shows a change, and the form for syslog.

pub mod chain;
pub mod syslog;

use crate::id::spelled;

/// Kinds of what an action is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum AuditKind {
    /// An order, by the client's id.
    Order,
    /// Flows, by keyword.
    Flow,
    /// A called system.
    System,
    /// A maintenance window, by its number.
    Window,
    /// A schedule, by its name.
    Schedule,
    /// A sequential queue.
    Queue,
    /// A scenario.
    Scenario,
    /// A node, as `role/name`.
    Node,
    /// A lease.
    Lease,
    /// A bulk operation, by its number.
    Operation,
    /// A saved search.
    Search,
    /// A subscription, by its name.
    Subscription,
    /// A refused message.
    Message,
    /// A token, by its id.
    Token,
    /// A session, by its id; a login that failed, by the name that was used.
    Session,
    /// A request of the API, by its method and path.
    Request,
    /// The engine as a whole.
    Engine,
}

spelled!(AuditKind {
    Order => "order",
    Flow => "flow",
    System => "system",
    Window => "window",
    Schedule => "schedule",
    Queue => "queue",
    Scenario => "scenario",
    Node => "node",
    Lease => "lease",
    Operation => "operation",
    Search => "search",
    Subscription => "subscription",
    Message => "message",
    Token => "token",
    Session => "session",
    Request => "request",
    Engine => "engine",
});
