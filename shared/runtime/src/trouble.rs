//! Failures of the database, as clients and logs see them.

use pagurus_wire::problem::{Problem, Type};

use crate::Host;
use crate::chain::chain;
use crate::metrics::Count;
use crate::server::present_request;

/// A failure of the database as a problem: the request may be repeated, or the engine has a defect.
#[must_use]
pub fn store_problem(host: &Host, operation: &str, error: &pagurus_store::Error) -> Problem {
    host.metrics.count(Count::StoreErrors, operation, 1);
    let request = present_request();
    if error.is_transient() {
        tracing::warn!(operation, request, error = chain(error), "the database failed");
        return Problem::new(Type::Unavailable, "the database does not answer; repeat the same request");
    }
    tracing::error!(operation, request, error = chain(error), "a statement failed");
    Problem::new(Type::Internal, "the engine failed; its log has details")
}
