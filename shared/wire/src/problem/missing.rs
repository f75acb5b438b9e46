//! Problems of requests for what is not there. A name is cut: it comes from outside, and may be of any length.

use super::{Problem, Type, cut};

/// Bytes of an id, or of a name that may be as long, that a sentence shows.
const MAX_ID_BYTES: usize = 255;
/// Bytes of the name of a scenario that a sentence shows.
const MAX_NAME_BYTES: usize = 64;

impl Problem {
    /// The problem of a request by a method that its path does not have.
    #[must_use]
    pub fn method_not_allowed() -> Self {
        Self::new(Type::MethodNotAllowed, "this path does not know the method")
    }

    /// The problem of a request for an order that is not there.
    #[must_use]
    pub fn no_order(id: &str) -> Self {
        missing("order", id)
    }

    /// The problem of a request for a saved search that is not there.
    #[must_use]
    pub fn no_search(name: &str) -> Self {
        missing("saved search", name)
    }

    /// The problem of a request for a subscription that is not there.
    #[must_use]
    pub fn no_subscription(name: &str) -> Self {
        missing("subscription", name)
    }

    /// The problem of a request for a schedule that is not there.
    #[must_use]
    pub fn no_schedule(name: &str) -> Self {
        missing("schedule", name)
    }

    /// The problem of a request for a queue that is not there.
    #[must_use]
    pub fn no_queue(name: &str) -> Self {
        missing("queue", name)
    }

    /// The problem of a request for a bulk operation that is not there.
    #[must_use]
    pub fn no_operation(no: i64) -> Self {
        Self::new(Type::NotFound, format!("there is no operation {no}"))
    }

    /// The problem of a request for a flow that no dispatcher knows.
    #[must_use]
    pub fn no_flow(name: &str) -> Self {
        Self::new(Type::NotFound, format!("the dispatcher knows of no flow `{}`", cut(name, MAX_ID_BYTES)))
    }

    /// The problem of a request for a scenario that is not there, or has no such version.
    #[must_use]
    pub fn no_scenario(name: &str, version: Option<i32>) -> Self {
        let name = cut(name, MAX_NAME_BYTES);
        let detail = match version {
            None => format!("there is no scenario `{name}`"),
            Some(version) => format!("scenario `{name}` has no version {version}"),
        };
        Self::new(Type::NotFound, detail)
    }

    /// The problem of a registration whose scenario is not there, without the name of another one.
    #[must_use]
    pub fn unknown_scenario(name: &str) -> Self {
        let detail = format!("there is no scenario `{}`; apply it first", cut(name, MAX_NAME_BYTES));
        Self::new(Type::UnknownScenario, detail).at("/scenario")
    }
}

fn missing(kind: &str, name: &str) -> Problem {
    Problem::new(Type::NotFound, format!("there is no {kind} `{}`", cut(name, MAX_ID_BYTES)))
}
