//! Hand-outs become claims: many in one transaction, and a task for each stage that is ours.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::{Duration, Instant};

use futures_util::FutureExt as _;
use pagurus_broker::{Consumer, Delivery};
use pagurus_domain::id::{Attempt, Epoch, OrderNo};
use pagurus_domain::number::saturated;
use pagurus_runtime::lanes::WorkLanes;
use pagurus_runtime::metrics::{Count, Level};
use pagurus_runtime::node::chain;
use pagurus_runtime::{Effects, news};
use pagurus_store::Error;
use pagurus_store::hot::stages::{OfferedStage, Unclaimed};
use pagurus_wire::message::{BreakOff, EndedStage, HandOuts, RefusalReason, RefusedHandOut, work};

use crate::claim::{ClaimedStage, Claims, claim};
use crate::held::Hold;
use crate::{Worker, drive, reconcile};

/// Number of loops that claim: one, and another beside it if a claim takes long.
pub(crate) const LANES: usize = 2;
/// Largest number of messages taken at once; each carries many hand-outs.
const MESSAGES: usize = 50;

/// Claims what is handed out, until the process is to stop.
pub(crate) async fn take(
    worker: Arc<Worker>,
    consumer: Arc<Consumer>,
    lanes: Arc<WorkLanes>,
) -> anyhow::Result<()> {
    loop {
        let batch = tokio::select! {
            biased;
            () = worker.host.draining.cancelled() => return Ok(()),
            batch = consumer.next_batch(MESSAGES) => batch,
        };
        let mut given = Given::default();
        given.hear(&worker, &batch);
        if given.orders.is_empty() {
            continue;
        }
        let alone = lanes.begin().await;
        // Messages that came while another lane was at work.
        let more = consumer.next_batch(MESSAGES).now_or_never().unwrap_or_default();
        given.hear(&worker, &more);
        // The end of the process waits for it as for a stage.
        let claiming = worker.stages.token();
        claim_all(&worker, given.orders).await;
        drop((claiming, alone));
    }
}

/// The hand-outs of messages, each order once.
#[derive(Default)]
struct Given {
    orders: Vec<ReceivedHandOut>,
    seen: HashSet<OrderNo>,
}

impl Given {
    /// Takes the hand-outs of these messages, and does at once whatever else they say.
    fn hear(&mut self, worker: &Worker, batch: &[Delivery]) {
        let metrics = &worker.host.metrics;
        // First of all: what is over holds room, and a queue that another order may own by now.
        for delivery in batch.iter().filter(|delivery| delivery.routing_key == work::BREAK_OFF) {
            if let Some(over) = news::read::<BreakOff>(metrics, "break_off", &delivery.body) {
                let over: Vec<_> =
                    over.stages.iter().map(|over| (OrderNo(over.no), Attempt(over.attempt))).collect();
                worker.held.break_off(&over);
            }
        }
        // The last word counts.
        let mut messages = batch.iter().rev().filter(|delivery| delivery.routing_key == work::SYSTEMS);
        if let Some(closed) = messages.next().and_then(|one| news::read(metrics, "systems", &one.body)) {
            worker.closed.replace(closed, Instant::now());
        }
        let is_hand_out = |key: &str| ![work::BREAK_OFF, work::SYSTEMS].contains(&key);
        for delivery in batch.iter().filter(|delivery| is_hand_out(&delivery.routing_key)) {
            let read = news::read::<HandOuts>(metrics, "hand_outs", &delivery.body);
            let Some(message) = read else { continue };
            let epoch = Epoch(message.epoch);
            for given in message.orders {
                let hand_out = OfferedStage { no: OrderNo(given.no), attempt: Attempt(given.attempt), epoch };
                // A message that comes twice must not be answered: what it names may be running here.
                if let Some(hold) = worker.held.hold((hand_out.no, hand_out.attempt))
                    && self.seen.insert(hand_out.no)
                {
                    self.orders.push(ReceivedHandOut { hand_out, serial: given.serial, hold });
                }
            }
        }
    }
}

/// A hand-out with the dispatcher's own number of it.
struct ReceivedHandOut {
    hand_out: OfferedStage,
    serial: u64,
    hold: Hold,
}

async fn claim_all(worker: &Arc<Worker>, mut orders: Vec<ReceivedHandOut>) {
    // The dispatcher counts the same permits; a node that is over its number says so.
    // One that is out of service or about to end begins nothing: what it was handed goes back.
    let begins = !worker.host.is_offline() && !worker.stages.is_closed();
    let room = if begins { worker.permits.available_permits() } else { 0 };
    let busy = orders.split_off(orders.len().min(room));
    let refuse = |order: &ReceivedHandOut, why: RefusalReason| RefusedHandOut {
        no: order.hand_out.no.0,
        attempt: order.hand_out.attempt.0,
        node: worker.host.node.0,
        serial: order.serial,
        epoch: order.hand_out.epoch.0,
        why,
    };
    let mut refused: Vec<RefusedHandOut> =
        busy.iter().map(|order| refuse(order, RefusalReason::Busy)).collect();
    // By the rows' key, as everywhere: two claims never wait for each other.
    orders.sort_by_key(|order| order.hand_out.no);
    let hand_outs: Vec<OfferedStage> = orders.iter().map(|order| order.hand_out).collect();
    let mut holds: HashMap<OrderNo, ReceivedHandOut> =
        orders.into_iter().map(|order| (order.hand_out.no, order)).collect();
    let mut halves = Halves::of(&hand_outs);
    while let Some((claimed, unclaimed)) = halves.claim_next(worker).await {
        let of_claimed = claimed.iter().filter_map(|work| holds.remove(&work.claimed.head.no));
        let of_claimed = of_claimed.map(|order| (order.hand_out.no, order.hold)).collect();
        for (hand_out, why) in unclaimed {
            refused.extend(holds.remove(&hand_out.no).map(|order| refuse(&order, refusal(why))));
        }
        start(worker, claimed, of_claimed).await;
    }
    let failure = halves.failure;
    // What was not claimed is not held from here on: what was committed all the same is found missing.
    drop(holds);
    if let Some(error) = failure {
        worker.host.metrics.count(Count::StoreErrors, "claim", 1);
        tracing::warn!(error = chain(&error), hand_outs = hand_outs.len(), "a claim failed");
        reconcile::after_failed_claim(worker).await;
    }
    for refusal in &refused {
        let reason = serde_json::to_value(refusal.why).unwrap_or_default();
        worker.host.metrics.count(Count::Unclaimed, reason.as_str().unwrap_or_default(), 1);
    }
    Effects { refused, ..Effects::default() }.send(&worker.host).await;
}

const fn refusal(why: Unclaimed) -> RefusalReason {
    match why {
        Unclaimed::Gone => RefusalReason::Gone,
        Unclaimed::Behind => RefusalReason::Behind,
        Unclaimed::StaleEpoch => RefusalReason::StaleEpoch,
    }
}

/// Time for which one batch is claimed by halves: what is left then is handed out again.
const HALVES: Duration = Duration::from_secs(2);

/// Hand-outs that are claimed together, and by halves where somebody has locked one of the orders.
struct Halves<'a> {
    /// Parts still to be claimed, the first on top.
    open: Vec<&'a [OfferedStage]>,
    begun: Instant,
    /// Last failure: what could not be claimed is handed out again.
    failure: Option<Error>,
}

impl<'a> Halves<'a> {
    fn of(hand_outs: &'a [OfferedStage]) -> Self {
        let open = if hand_outs.is_empty() { Vec::new() } else { vec![hand_outs] };
        Self { open, begun: Instant::now(), failure: None }
    }

    /// Returns the stages that could be claimed next, which are to begin at once; `None` when nothing is left, or no time.
    async fn claim_next(&mut self, worker: &Worker) -> Option<Claims> {
        while let Some(part) = self.open.pop() {
            if self.failure.is_some() && self.begun.elapsed() > HALVES {
                return None;
            }
            match claim(worker, part).await {
                Ok(claims) => return Some(claims),
                Err(error) => {
                    worker.host.store.patience().note(&error);
                    if !error.is_contention() {
                        self.open.clear();
                    } else if part.len() > 1 {
                        let (first, second) = part.split_at(part.len() / 2);
                        self.open.extend([second, first]);
                    }
                    self.failure = Some(error);
                }
            }
        }
        None
    }
}

/// Reports that a stage was broken off, to the log and to the dispatcher, which counts the place as free. The end
/// of the stage is written already.
async fn tell_broken_off(
    worker: &Worker,
    (no, attempt): (OrderNo, Attempt),
    (order, transaction): (String, Option<String>),
    begun: Instant,
) {
    tracing::info!(
        order,
        transaction,
        attempt = attempt.0,
        "the stage is broken off: the order was ended, or given to another"
    );
    worker.host.metrics.count(Count::Stages, "broken_off", 1);
    let ended = EndedStage {
        no: no.0,
        attempt: attempt.0,
        node: worker.host.node.0,
        left_queue: None,
        duration_ms: saturated::<u64>(begun.elapsed().as_millis()),
        waited_ms: None,
        class: None,
    };
    Effects { ended: vec![ended], ..Effects::default() }.send(&worker.host).await;
}

async fn start(worker: &Arc<Worker>, claimed: Vec<ClaimedStage>, mut holds: HashMap<OrderNo, Hold>) {
    for work in claimed {
        // There is room: it was counted before the claim, and only this worker takes from it. Two
        // lanes may have counted the same room; then the later one waits a moment for an end.
        let Ok(permit) = worker.permits.clone().acquire_owned().await else { return };
        let Some(hold) = holds.remove(&work.claimed.head.no) else { continue };
        hold.note_claimed();
        let running = worker.clone();
        let names = (work.claimed.head.id.clone(), work.claimed.head.transaction_id.clone());
        let ended = worker.host.ended.clone();
        worker.stages.spawn(async move {
            let begun = Instant::now();
            tokio::select! {
                () = drive::run(&running, work) => {}
                () = hold.broken_off.cancelled() => tell_broken_off(&running, hold.key, names, begun).await,
                () = ended.cancelled() => {}
            }
            drop((hold, permit));
        });
    }
    let in_use = worker.host.settings().worker.concurrency - worker.permits.available_permits();
    worker.host.metrics.level(Level::WorkerStages, "", in_use as f64);
}
