//! The part of the news that this notifier hears: follows from which notifiers are at work.
//!
//! A part that nobody hears costs seconds and nothing else: what stands in the outbox is taken when it has waited.

use std::sync::Arc;
use std::time::Duration;

use pagurus_broker::{ConsumeSpec, Consumer, QueueSource};
use pagurus_domain::order::notification::{PARTS, parts_of};
use pagurus_runtime::Host;
use pagurus_runtime::task::{BackgroundTask, NextTurn, TurnPause};
use pagurus_store::recovery::marks;
use pagurus_wire::message::news;

use crate::note;

/// Interval between two looks at who is at work.
const LOOK_EVERY: Duration = Duration::from_secs(1);
/// Most news that the queue keeps.
const MAX_WAITING_NEWS: u32 = 10_000;

/// The consumer of this notifier: it hears everything until others are known to be there.
pub(crate) fn consumer(host: &Host) -> ConsumeSpec {
    ConsumeSpec {
        queue: QueueSource::Exclusive {
            name_hint: format!("notifier.{}", host.node),
            bindings: bindings(host, (0..PARTS).collect()),
            max_length: MAX_WAITING_NEWS,
        },
        prefetch: 200,
        ack_on_take: true,
        own_connection: false,
    }
}

fn bindings(host: &Host, parts: Vec<u32>) -> Vec<(String, String)> {
    let exchange = &host.broker.names().news;
    parts.into_iter().map(|part| (exchange.clone(), news::outbox(part))).collect()
}

/// The look at who is at work, by which this notifier hears its part.
pub(crate) struct NewsShare(pub Arc<Consumer>);

impl BackgroundTask for NewsShare {
    const PAUSE: TurnPause = |_| LOOK_EVERY;
    const FIRST: NextTurn = NextTurn::AtOnce;
    const TAKES_WORK: bool = false;

    async fn turn(&mut self, host: &Host) -> NextTurn {
        note(host, "who is at work", look(host, &self.0).await);
        NextTurn::AfterPause
    }
}

/// Updates the bindings; if nothing can be read, the last list goes on to hold.
async fn look(host: &Host, consumer: &Consumer) -> Result<(), pagurus_store::Error> {
    let client = host.store.api().await?;
    let at_work = marks::notifiers(&client).await?;
    drop(client);
    let parts = parts_of(host.node, &at_work);
    if let Err(error) = consumer.bind_only(bindings(host, parts)) {
        tracing::error!(%error, "the news of notifications cannot be bound");
    }
    Ok(())
}
