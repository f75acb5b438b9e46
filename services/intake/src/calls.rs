//! Answers of live orders to calls, waited for and shown.

use std::time::Duration;

use pagurus_runtime::trouble::store_problem;
use pagurus_store::calls::{self, StoredCall};
use pagurus_wire::message::{CallError, CallView};
use pagurus_wire::problem::{Problem, Type};

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
    let found = async {
        let client = intake.host.store.api().await?;
        calls::by_key(&client, id, key).await
    }
    .await
    .map_err(|error| store_problem(&intake.host, "call", &error))?;
    let call = found
        .ok_or_else(|| Problem::new(Type::NotFound, format!("order `{id}` had no call with key `{key}`")))?;
    if call.answered_at.is_some() || patience.is_zero() {
        return Ok(view(call));
    }
    // Where too many wait, this one is told what there is.
    let Some(answer) = intake.waiters.wait_for(call.no) else { return Ok(view(call)) };
    tokio::select! {
        answer = answer => Ok(view(answer.unwrap_or(call))),
        _ = intake.host.rest(patience) => Ok(view(call)),
    }
}

/// A call as it is shown.
pub(crate) fn view(call: StoredCall) -> CallView {
    CallView {
        key: call.key,
        name: call.name,
        status: call.status,
        answer: call.answer,
        error: call.error.map(|error| CallError { class: error.class, message: error.message }),
        received_at: call.received_at,
        answered_at: call.answered_at,
    }
}
