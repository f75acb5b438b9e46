//! Worker: takes hand-outs, runs stages, writes their ends.
//!
//! The hand-out is a hint; the row that the claim deletes is the right to run. A result is written
//! only under the pass of its claim, so that a worker that was given up for lost changes nothing.

mod asking;
mod brought;
mod cancellations;
mod child;
mod claim;
mod clock;
mod closed;
mod drain;
mod drive;
mod finish;
mod hanging;
mod heads;
mod held;
mod memory;
mod order_log;
mod outbound;
mod progress;
mod publish;
mod reconcile;
mod record;
mod rules;
mod samples;
mod stage_trace;
mod take;
mod traced;
mod trouble;
mod turn;

use std::sync::Arc;
use std::time::{Duration, Instant};

use pagurus_broker::{ConsumeSpec, QueueSource};
use pagurus_domain::id::RequestId;
use pagurus_runtime::batch::{Linger, Shape};
use pagurus_runtime::compute::Computing;
use pagurus_runtime::lanes::WorkLanes;
use pagurus_runtime::metrics::Work;
use pagurus_runtime::scenarios::Catalogue;
use pagurus_runtime::{Batcher, Effects, Host};
use pagurus_store::Error;
use pagurus_store::hot::requests;
use pagurus_store::hot::requests::NewRequest;
use pagurus_wire::message::work;
use tokio::sync::{Mutex, Semaphore};
use tokio_util::task::TaskTracker;

use child::Children;
use claim::WorkTimes;
use closed::Closed;
use finish::StageFinish;
use heads::QueueHeads;
use held::HeldStages;
use memory::MemoryBudget;
use outbound::Outbound;
use progress::Advances;
use rules::StageRules;

/// Parts that all stages of this worker share.
struct Worker {
    host: Host,
    catalogue: Catalogue,
    rules: Arc<StageRules>,
    outbound: Arc<Outbound>,
    children: Children,
    /// Permits, one for each stage that this node may run.
    permits: Arc<Semaphore>,
    stages: TaskTracker,
    held: HeldStages,
    closed: Closed,
    work_times: WorkTimes,
    queue_heads: QueueHeads,
    /// Memory for what stages hold while they run.
    memory: MemoryBudget,
    computing: Computing,
    /// Held by the stage that is computed, of those whose worker died.
    suspect: Mutex<()>,
    registrations: Batcher<NewRequest, Option<RequestId>, Error>,
    advances: Advances,
    ends: Batcher<Arc<StageFinish>, bool, Error>,
    /// Ends of stages whose orders somebody has locked, one at a time.
    locked_ends: Batcher<Arc<StageFinish>, bool, Error>,
}

/// Gathering of ends of locked orders: each waits for itself.
const ALONE: Shape = Shape { max: 1, lanes: 1, linger: Linger::Never };
/// Gathering of ends: in two lanes, so that a slow commit does not hold up all that ends meanwhile.
const ENDS: Shape = Shape { max: 500, lanes: 2, linger: Linger::UnderLoad(Duration::from_millis(2)) };
/// Gathering of requests.
const REQUESTS: Shape = Shape { max: 500, lanes: 1, linger: Linger::UnderLoad(Duration::from_millis(1)) };
/// Number of hand-outs kept by the broker for a worker that is busy claiming; the dispatcher sends no more
/// than there is room for.
const MAX_WAITING_MESSAGES: u32 = 10_000;

/// Runs until the process is to stop and its stages have ended, or their grace is over.
///
/// # Errors
/// Anything that keeps the service from working at all.
pub async fn run(host: Host) -> anyhow::Result<()> {
    // Sizes of rooms, which only a restart changes.
    let sizes = host.settings().worker.clone();
    let catalogue = Catalogue::of(&host.live);
    let Some(rules) = StageRules::of(&host).await else { return Ok(()) };
    let worker = Arc::new(Worker {
        rules: Arc::new(rules),
        outbound: Arc::new(Outbound::new(&host)),
        children: Children::new(&host, catalogue.clone()),
        permits: Arc::new(Semaphore::new(sizes.concurrency)),
        stages: TaskTracker::new(),
        held: HeldStages::default(),
        closed: Closed::default(),
        work_times: WorkTimes::default(),
        queue_heads: QueueHeads::default(),
        memory: MemoryBudget::new(sizes.max_held_bytes, sizes.max_response_bytes),
        computing: Computing::default(),
        suspect: Mutex::default(),
        registrations: registrations(&host),
        advances: progress::advances(&host),
        ends: ends(&host, ENDS),
        locked_ends: ends(&host, ALONE),
        catalogue,
        host: host.clone(),
    });
    let names = host.broker.names();
    let consumer = Arc::new(host.broker.consume(ConsumeSpec {
        queue: QueueSource::Exclusive {
            name_hint: format!("worker.{}", host.node),
            bindings: vec![
                (names.work.clone(), host.node.to_string()),
                (names.work.clone(), work::BREAK_OFF.to_owned()),
                (names.work.clone(), work::SYSTEMS.to_owned()),
            ],
            max_length: MAX_WAITING_MESSAGES,
        },
        prefetch: 200,
        ack_on_take: true,
        own_connection: false,
    })?);
    let lanes = Arc::new(WorkLanes::default());
    for _ in 0..take::LANES {
        host.spawn("hand-outs", take::take(worker.clone(), consumer.clone(), lanes.clone()));
    }
    host.spawn("idle connections", {
        let outbound = worker.outbound.clone();
        async move {
            outbound.close_idle().await;
            Ok(())
        }
    });
    host.start("reconcile", reconcile::Reconcile::new(worker.clone()));
    host.start("cancellations", cancellations::Cancellations::new(worker.clone()));
    host.start("hanging calls", hanging::ReportLate(worker.clone()));
    host.start("asking", asking::ShowAsking::new(worker.clone()));
    // Hand-outs that are sent before the queue is there would be lost, and found again late.
    while !consumer.is_consuming() {
        if host.sleep_unless_draining(Duration::from_millis(20)).await {
            return Ok(());
        }
    }
    host.at_work(false).await;
    tell_workers_changed(&host).await;
    host.draining.cancelled().await;
    drain::drain(&worker).await;
    Ok(())
}

fn registrations(host: &Host) -> Batcher<NewRequest, Option<RequestId>, Error> {
    let host = host.clone();
    Batcher::start(REQUESTS, Error::concerns_one_item, move |batch: Arc<[NewRequest]>| {
        let host = host.clone();
        async move {
            let begun = Instant::now();
            let mut client = host.store.work().await?;
            let tx = client.transaction().await?;
            let ids = requests::register(&tx, &batch).await?;
            tx.commit().await?;
            host.metrics.batch(Work::PrepareRequests, begun.elapsed());
            Ok(ids)
        }
    })
}

fn ends(host: &Host, shape: Shape) -> Batcher<Arc<StageFinish>, bool, Error> {
    let host = host.clone();
    Batcher::start(shape, Error::concerns_one_item, move |batch: Arc<[Arc<StageFinish>]>| {
        let host = host.clone();
        async move { finish::write(&host, &batch).await }
    })
}

async fn tell_workers_changed(host: &Host) {
    Effects { workers_changed: true, ..Effects::default() }.send(host).await;
}
