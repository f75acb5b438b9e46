//! What the consumers do while the database is away.

use std::time::Duration;

use pagurus_broker::{Consumer, Delivery, DeliveryTag};
use pagurus_runtime::metrics::Count;
use pagurus_runtime::node::chain;
use pagurus_store::Error;

use crate::Intake;

/// First wait after a failure.
const FIRST: Duration = Duration::from_millis(100);
/// Longest wait between two looks at the database.
const LONGEST: Duration = Duration::from_secs(2);

/// Gives the batch back, stops consuming, and waits until the database answers. Handing messages
/// back and taking them again at once would count towards their delivery limit.
pub(super) async fn wait_for_store(
    intake: &Intake,
    consumer: &Consumer,
    batch: &[Delivery],
    operation: &str,
    error: &Error,
) {
    intake.host.metrics.count(Count::StoreErrors, operation, 1);
    let tags: Vec<DeliveryTag> = batch.iter().map(|delivery| delivery.tag).collect();
    if is_passing(error) {
        // A deadlock or a lock time-out passes by itself.
        tokio::time::sleep(FIRST).await;
        consumer.put_back(&tags).await;
        return;
    }
    tracing::warn!(operation, error = chain(error), "the database failed; messages stay in their queue");
    consumer.pause().await;
    consumer.put_back(&tags).await;
    let mut wait = FIRST;
    while !intake.host.rest(wait).await {
        if answers(intake).await {
            tracing::info!(operation, "the database is back; taking messages again");
            consumer.resume();
            return;
        }
        wait = (wait * 2).min(LONGEST);
    }
}

fn is_passing(error: &Error) -> bool {
    match error {
        Error::Contended => true,
        Error::Database(error) => error.code().is_some_and(|code| code.code().starts_with("40")),
        _ => false,
    }
}

async fn answers(intake: &Intake) -> bool {
    let store = intake.host.store.clone();
    let asked = tokio::spawn(async move { store.ping().await });
    matches!(asked.await, Ok(Ok(())))
}
