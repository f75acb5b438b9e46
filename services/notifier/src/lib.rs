//! Notifier: sends what stands in the outbox until it is confirmed.
//!
//! News tells of new rows at once and goes to one of the notifiers; a slow pass takes what news
//! did not tell of, and what failed before. A row leaves the outbox only after its confirm.

mod deliver;

use pagurus_broker::{ConsumeSpec, QueueSource};
use pagurus_runtime::Host;

/// Runs until the process is to stop.
///
/// # Errors
/// What keeps the service from working at all.
pub async fn run(host: Host) -> anyhow::Result<()> {
    let consumer = host.broker.consume(ConsumeSpec {
        queue: QueueSource::Named(host.broker.names().outbox.clone()),
        prefetch: 200,
        ack_on_take: true,
        own_connection: false,
    })?;
    let consumer = std::sync::Arc::new(consumer);
    for _ in 0..deliver::LANES {
        host.spawn("new notifications", deliver::fresh(host.clone(), consumer.clone()));
    }
    host.spawn("due notifications", deliver::due(host.clone()));
    host.at_work(false).await;
    host.draining.cancelled().await;
    host.readiness.not_ready("draining");
    host.join().await;
    Ok(())
}
