//! The release of a queue by hand (ORD-13).

use pagurus_domain::order::Mode;
use pagurus_runtime::metrics::Count;
use pagurus_runtime::news::Told;
use pagurus_store::{Error, control, history, queues, stages};
use pagurus_wire::message::Left;
use pagurus_wire::problem::{Problem, Type};
use serde_json::json;

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
    match try_release(intake, queue, source, reason).await {
        Ok(Some((id, no))) => {
            intake.host.metrics.count(Count::Actions, "released", 1);
            let left = vec![Left { no, attempt: None, queue: Some(queue.to_owned()) }];
            Told { left, ..Told::default() }.send(&intake.host).await;
            Ok(id)
        }
        Ok(None) => Err(Problem::new(Type::NotFound, format!("nobody is in queue `{queue}`"))),
        Err(error) => Err(crate::http::store_problem(&intake.host, "release", &error)),
    }
}

async fn try_release(
    intake: &Intake,
    queue: &str,
    source: &str,
    reason: &str,
) -> Result<Option<(String, i64)>, Error> {
    let mut client = intake.host.store.recovery().await?;
    let Some((id, _)) = queues::holder(&client, queue).await? else { return Ok(None) };
    let tx = client.transaction().await?;
    let Some(order) = control::lock(&tx, &id).await? else { return Ok(None) };
    debug_assert!(order.mode == Mode::Sequential, "only sequential orders are in queues");
    stages::disown(&tx, order.no).await?;
    queues::leave(&tx, &[order.no.0]).await?;
    let detail = json!({"queue": queue, "reason": reason}).to_string();
    history::append(&tx, order.no, "queue_released", source, &detail).await?;
    tx.commit().await?;
    Ok(Some((id, order.no.0)))
}
