//! Callbacks: answers of called systems, stored whatever becomes of them.

use std::time::Instant;

use pagurus_domain::id::RequestId;
use pagurus_runtime::metrics::{Count, Span};
use pagurus_runtime::{Effects, Host};
use pagurus_store::Error;
use pagurus_store::answers::{self, Answered, NewCallback, Verdict};
use uuid::Uuid;

/// Longest text kept of the name by which a callback calls its request.
const MAX_NAMED_BYTES: usize = 255;
/// Longest step status kept.
const MAX_STEP_STATUS_BYTES: usize = 1024;

/// An answer as it came.
pub(crate) type NewAnswer = NewCallback;

/// Makes an answer of what came in. Text that the database could not hold is made harmless.
pub(crate) fn new_answer(
    named: &str,
    step_status: Option<&str>,
    headers: Option<String>,
    body: Vec<u8>,
) -> NewAnswer {
    let clean = |text: &str, max: usize| {
        let mut text = text.replace('\0', "\u{fffd}");
        text.truncate(text.floor_char_boundary(max));
        text
    };
    NewCallback {
        named: clean(named, MAX_NAMED_BYTES),
        request: Uuid::try_parse(named).ok().map(RequestId),
        step_status: step_status.map(|text| clean(text, MAX_STEP_STATUS_BYTES)),
        headers: headers.map(|text| text.replace('\0', "\u{fffd}")),
        body,
    }
}

/// A heartbeat of an actor: its hand-out goes on. Whether it is still open.
///
/// # Errors
/// The database failed.
pub(crate) async fn heartbeat(host: &Host, pass: &str) -> Result<Option<jiff::Timestamp>, Error> {
    let Ok(pass) = Uuid::try_parse(pass) else { return Ok(None) };
    let client = host.store.work().await?;
    let until = answers::prolong(&client, RequestId(pass)).await?;
    host.metrics.count(Count::Callbacks, if until.is_some() { "heartbeat" } else { "late" }, 1);
    Ok(until)
}

/// Stores a batch of answers and wakes the orders whose last open request was answered.
///
/// # Errors
/// The database failed: the same call may be repeated, doubles are told apart.
pub(crate) async fn answer(host: &Host, batch: &[NewAnswer]) -> Result<Vec<Verdict>, Error> {
    let begun = Instant::now();
    let patience = host.store.patience();
    let stored = store(host, batch).await.inspect_err(|error| patience.note(error));
    let Answered { verdicts, woken, unkept } = stored?;
    Effects::of_ready(&woken).send(host).await;
    for verdict in &verdicts {
        host.metrics.count(Count::Callbacks, verdict.as_str(), 1);
    }
    host.metrics.count(Count::OrphansUnkept, "", unkept as u64);
    host.metrics.span(Span::Batch, "answer", begun.elapsed());
    Ok(verdicts)
}

async fn store(host: &Host, batch: &[NewAnswer]) -> Result<Answered, Error> {
    let mut client = host.store.work().await?;
    let tx = client.transaction().await?;
    host.store.patience().bound(&tx).await?;
    let answered = answers::answer(&tx, batch, host.settings.callbacks.max_orphans).await?;
    tx.commit().await?;
    Ok(answered)
}
