//! AMQP: orders, actions and callbacks in, receipts out, refused messages aside.
//!
//! A delivery is acknowledged when what it caused is durable: an order or a callback committed, a
//! hopeless message confirmed in the queue of refused ones. While the database is away nothing is
//! taken: the messages wait where they are. What concerns one message (a value that the database
//! does not take, an order that somebody has locked) holds up no other.

mod alone;
mod aside;
mod batch;
mod carry_out;
mod halves;
mod handled;
mod many;
mod read;
mod settle;
mod trouble;

use std::time::{Duration, Instant};

use pagurus_broker::{ConsumeSpec, Delivery, QueueSource};
use pagurus_runtime::offline::{Intermittent, Taken};
use pagurus_runtime::spacing::Spacing;
use pagurus_store::Error;

use crate::Intake;
use crate::register::{Registrar, weight};
use alone::Alone;
use batch::{Batches, RUN_WEIGHT};
use carry_out::AmqpEntry;
use handled::BatchOutcome;
use read::IntakeQueue;
use settle::Settlement;
use trouble::Trouble;

/// Loops for callbacks: one batch is prepared while another commits. Orders have one loop: what a
/// client sends in a row, orders of one queue or an order and its cancellation, is taken in that row.
const CALLBACK_LANES: usize = 2;

/// Longest time that a loop puts between the starts of two batches. Measured with 8, 10 and 15 ms at 500 to 2 000 orders a
/// second: longer saves nothing more, and only delays.
const SPACING: Duration = Duration::from_millis(10);

/// Loop over the batches of a queue.
struct DeliveryLane {
    intake: Intake,
    queue: String,
    from: Intermittent,
    batches: Batches,
    settlement: Settlement,
    alone: Alone,
    trouble: Trouble,
}

/// Starts the consumers, each over a connection of its own.
pub(crate) fn start(intake: &Intake) -> anyhow::Result<()> {
    let host = &intake.host;
    let names = host.broker.names();
    let registrar = Registrar { host: host.clone(), catalogue: intake.catalogue.clone() };
    let alone = Alone::new(intake);
    for (entry, queue, task, operation, lanes) in [
        (IntakeQueue::Orders, &names.orders_in, "orders in", "register", 1),
        (IntakeQueue::Callbacks, &names.callbacks_in, "callbacks in", "answer", CALLBACK_LANES),
    ] {
        let spec = ConsumeSpec {
            queue: QueueSource::Named(queue.clone()),
            prefetch: host.settings().broker.prefetch,
            ack_on_take: false,
            own_connection: true,
        };
        let from = Intermittent::new(host, host.broker.consume(spec)?);
        host.spawn("messages while in service", from.clone().follow());
        let entry = AmqpEntry { intake: intake.clone(), registrar: registrar.clone(), entry };
        let settlement = Settlement::of(host, from.consumer());
        let batches = Batches::start(entry, settlement.clone(), alone.clone());
        for _ in 0..lanes {
            let lane = DeliveryLane {
                intake: intake.clone(),
                queue: queue.clone(),
                from: from.clone(),
                batches: batches.clone(),
                settlement: settlement.clone(),
                alone: alone.clone(),
                trouble: Trouble::new(operation),
            };
            host.spawn(task, lane.run());
        }
    }
    Ok(())
}

/// Divides a batch: what is handled before the next part is settled, and out of memory, takes a bounded amount of it.
fn by_weight(deliveries: &[Delivery]) -> impl Iterator<Item = &[Delivery]> {
    let mut total = 0;
    deliveries.chunk_by(move |one, next| {
        total += weight(&one.body);
        let fits = total + weight(&next.body) <= RUN_WEIGHT;
        if !fits {
            total = 0;
        }
        fits
    })
}

impl DeliveryLane {
    async fn run(mut self) -> anyhow::Result<()> {
        let mut spacing = Spacing::up_to(SPACING);
        while let Some(batch) = self.next(&spacing).await {
            let settings = self.intake.host.settings();
            let most = settings.intake.batch.min(usize::from(settings.broker.prefetch));
            spacing.start(Instant::now(), batch.deliveries.len(), most);
            self.handle(&batch).await;
            spacing.end(Instant::now());
        }
        Ok(())
    }

    /// Returns the next batch; `None` when the process is to stop.
    async fn next(&self, spacing: &Spacing) -> Option<Taken> {
        spacing.wait().await;
        self.from.next(self.intake.host.settings().intake.batch).await
    }

    /// Carries a batch out, settles what was handled of it, and gives back what is left.
    async fn handle(&mut self, batch: &Taken) {
        let host = &self.intake.host;
        host.metrics.messages_consumed(&self.queue, batch.deliveries.len());
        let begun = Instant::now();
        let wary = self.trouble.is_wary();
        let (mut whole, mut done) = (BatchOutcome::default(), 0);
        for part in by_weight(&batch.deliveries) {
            let mut outcome = if whole.database_failed() {
                BatchOutcome::untried(part, Error::Contended)
            } else {
                let deadly = |one| self.batches.deadly(one, wary);
                self.alone.in_parts(part, |some| self.batches.handle(some, wary), deadly).await
            };
            done += self.settlement.settle(std::mem::take(&mut outcome.handled)).await;
            whole.extend(outcome);
        }
        let not_done = whole.left.as_ref().map_or(0, |left| left.tags.len());
        for (count, error) in [(done, ""), (not_done, "database")] {
            host.metrics.messages_processed(&self.queue, count, error, begun.elapsed());
        }
        self.trouble.wait_out(&self.intake, &self.from, &self.settlement, whole.left).await;
    }
}
