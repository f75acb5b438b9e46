//! Lines of the log about orders that came in, in a target of their own: `orders` (ORD-6).

use crate::register::{RegistrationOutcome, Submission};

/// Writes that an order was registered; at `debug` why it was not.
pub(crate) fn registered(submission: &Submission, outcome: &RegistrationOutcome) {
    let request = &submission.request;
    if let RegistrationOutcome::Accepted { .. } = outcome {
        tracing::info!(
            target: "orders",
            order = request.id,
            transaction = request.transaction_id,
            trace = submission.trace.trace_id(),
            scenario = request.scenario,
            "an order was registered"
        );
        return;
    }
    tracing::debug!(
        target: "orders",
        order = request.id,
        transaction = request.transaction_id,
        trace = submission.trace.trace_id(),
        scenario = request.scenario,
        outcome = outcome.word(),
        problem = outcome.problem().map(|problem| problem.detail),
        "an order was not registered"
    );
}
