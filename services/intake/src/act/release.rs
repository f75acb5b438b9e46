//! The release of a queue by hand (ORD-13).

use pagurus_domain::order::Mode;
use pagurus_runtime::metrics::Count;
use pagurus_runtime::news::Told;
use pagurus_store::{Error, control, history, queues, stages};
use pagurus_wire::message::Left;
use pagurus_wire::problem::{Problem, Type};
use serde_json::json;

use super::{Key, Tries};
use crate::Intake;

/// Releases a queue by hand: its owner goes on, but owns the queue no longer (ORD-13). The id of
/// the order that owned it.
///
/// # Errors
/// The problem to answer with.
pub(crate) async fn release_queue(
    intake: &Intake,
    queue: &str,
    source: &str,
    reason: &str,
) -> Result<String, Problem> {
    let mut tries = Tries::default();
    let asked = Release { queue, source, reason, key: Key::of_our_own() };
    let mut former = None;
    let (id, no) = loop {
        let outcome = try_release(intake, &asked, &mut former).await;
        if let Some(done) = tries.judge(intake, "release", outcome).await {
            break done?;
        }
    };
    intake.host.metrics.count(Count::Actions, "released", 1);
    let left = vec![Left { no, attempt: None, queue: Some(queue.to_owned()) }];
    Told { left, ..Told::default() }.send(&intake.host).await;
    Ok(id)
}

/// The kind of the event that a release leaves in the history of the order.
const EVENT: &str = "queue_released";

struct Release<'a> {
    queue: &'a str,
    source: &'a str,
    reason: &'a str,
    key: Key,
}

/// One try; `former` is the owner that the try before took on.
async fn try_release(
    intake: &Intake,
    asked: &Release<'_>,
    former: &mut Option<String>,
) -> Result<Result<(String, i64), Problem>, Error> {
    let Release { queue, source, reason, key } = asked;
    let mut client = intake.host.store.recovery().await?;
    // A release whose answer was lost is not to cost the next owner the queue.
    if let Some(id) = former.clone() {
        let tx = client.transaction().await?;
        if let Some(order) = control::lock(&tx, &id).await?
            && history::of_key(&tx, order.no, EVENT, &key.name).await?.is_some()
        {
            return Ok(Ok((id, order.no.0)));
        }
    }
    let nobody = || Problem::new(Type::NotFound, format!("nobody is in queue `{queue}`"));
    let Some((id, _)) = queues::holder(&client, queue).await? else { return Ok(Err(nobody())) };
    *former = Some(id.clone());
    let tx = client.transaction().await?;
    let Some(order) = control::lock(&tx, &id).await? else { return Ok(Err(nobody())) };
    debug_assert!(order.mode == Mode::Sequential, "only sequential orders are in queues");
    stages::disown(&tx, order.no).await?;
    queues::leave(&tx, &[order.no.0]).await?;
    let detail = json!({"queue": queue, "reason": reason, "key": key.name}).to_string();
    history::append(&tx, order.no, EVENT, source, &detail).await?;
    tx.commit().await?;
    Ok(Ok((id, order.no.0)))
}
