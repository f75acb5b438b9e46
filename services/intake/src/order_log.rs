//! Lines of the log about orders that came in, in a target of their own (ORD-6).

use pagurus_domain::order::registration::Request;
use pagurus_runtime::order_log::{TARGET, is_wanted, registered};
use pagurus_wire::problem::Problem;

use crate::traced::RegistrationTrace;

/// Writes that an order was registered; at `debug` another outcome, which has a problem where it was refused.
pub(crate) fn outcome(request: &Request, trace: &RegistrationTrace, word: &str, problem: Option<&Problem>) {
    if word == "accepted" {
        return registered(request, trace.trace_id());
    }
    if !is_wanted(&request.id) {
        return;
    }
    tracing::debug!(
        target: TARGET,
        order = request.id,
        transaction = request.transaction_id,
        trace = trace.trace_id(),
        scenario = request.scenario,
        outcome = word,
        problem = problem.map(|problem| problem.detail.as_str()),
        "an order was not registered"
    );
}
