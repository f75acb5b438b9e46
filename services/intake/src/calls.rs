//! Answers of live orders to calls, waited for.

use std::time::Duration;

use pagurus_view::call_view;
use pagurus_wire::message::CallView;
use pagurus_wire::problem::Problem;

use crate::Intake;

/// Waits until the call is answered, or the patience is over, or the node stops; not at all where
/// [`MAX_WAITERS`](crate::waiters::MAX_WAITERS) do so.
///
/// # Errors
/// The problem to answer with: no such order or call, or the database is away.
pub(crate) async fn answered(
    intake: &Intake,
    id: &str,
    key: &str,
    patience: Duration,
) -> Result<CallView, Problem> {
    let call = intake.whole_views().call(id, key).await?;
    if call.answered_at.is_some() || patience.is_zero() {
        return Ok(call_view(call));
    }
    // If too many wait, this one gets the present state.
    let Some(answer) = intake.waiters.wait_for(call.no) else { return Ok(call_view(call)) };
    tokio::select! {
        answer = answer => Ok(call_view(answer.unwrap_or(call))),
        _ = intake.host.sleep_unless_draining(patience) => Ok(call_view(call)),
    }
}
