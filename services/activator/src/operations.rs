//! Bulk operations, piece by piece (REC-12): the most urgent first, side by side with other activators, never faster
//! than the flows of the orders take them.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::time::{Duration, Instant};

use pagurus_command::Commands;
use pagurus_command::operations::{OperationPiece, Selected};
use pagurus_domain::flow::FlowRecord;
use pagurus_domain::number::saturated;
use pagurus_domain::operation::OperationState;
use pagurus_domain::operation::pace::{MOST_READY, OperationPace};
use pagurus_runtime::Host;
use pagurus_runtime::metrics::Level;
use pagurus_runtime::task::{BackgroundTask, NextTurn, TurnPause};
use pagurus_store::Error;
use pagurus_store::outside::operations::{self, StoredOperation};
use pagurus_store::upkeep::flows;

use crate::recover::note;

/// Interval between two looks for operations, where none has anything to do.
const LOOK_EVERY: Duration = Duration::from_secs(1);
/// Interval between two looks for the outcomes of orders.
const SETTLE_EVERY: Duration = Duration::from_secs(2);
/// Time for which the orders of operations are selected before the next piece, a step of each at least: what is acted on
/// makes work for all, and the selection of a million orders, ten seconds of work of its own, would wait behind it for
/// minutes.
const SELECTED_FOR: Duration = Duration::from_secs(1);
/// Interval between two walks of a selection that follows.
const FOLLOW_EVERY: Duration = Duration::from_secs(5);
/// Time for which what is known of flows is good: the dispatcher writes it as often.
const FLOWS_FOR: Duration = Duration::from_secs(2);
/// Flows and operations that are looked at, at most.
const MOST_FLOWS: i64 = 10_000;
const MOST_OPERATIONS: i64 = 100;
/// Time after the end of an operation for which the ends of its orders are awaited.
const SETTLE_WITHIN: Duration = Duration::from_hours(7 * 24);

/// Operations as this activator carries them out; nothing of what it remembers is needed after a restart.
pub(crate) struct Operations {
    commands: Commands,
    /// Time of the last look for the outcomes of orders.
    settled_at: Instant,
    /// The order behind which the next piece of each operation begins.
    after: HashMap<i64, i64>,
    /// Ends of the last walks of selections, by operation.
    selected_at: HashMap<i64, Instant>,
    /// Flows that are held back, and when that was read.
    held_back: Option<(Instant, Vec<FlowRecord>)>,
    /// Orders that were released, by flow, and when.
    released: VecDeque<(Instant, BTreeMap<String, u64>)>,
}

impl BackgroundTask for Operations {
    const PAUSE: TurnPause = |_| LOOK_EVERY;
    const FIRST: NextTurn = NextTurn::AtOnce;

    async fn turn(&mut self, host: &Host) -> NextTurn {
        let pieces = self.pieces(host).await;
        let next = pieces.as_ref().map_or(NextTurn::AfterPause, |pause| NextTurn::After(*pause));
        note(host, "operations", pieces.map(|_| ()));
        if self.settled_at.elapsed() >= SETTLE_EVERY {
            self.settled_at = Instant::now();
            note(host, "operations", settle(host, &self.commands).await);
        }
        next
    }
}

impl Operations {
    pub fn new(host: &Host) -> Self {
        Self {
            commands: Commands::of(host.clone()),
            settled_at: Instant::now(),
            after: HashMap::new(),
            selected_at: HashMap::new(),
            held_back: None,
            released: VecDeque::new(),
        }
    }

    /// Some steps of the selection of each operation, and a piece of the most urgent that has something to do; the pause
    /// before the next turn.
    async fn pieces(&mut self, host: &Host) -> Result<Duration, Error> {
        let live = operations::live(&host.store.operations().await?, MOST_OPERATIONS).await?;
        show(host, &live);
        let is_live = |no: &i64| live.iter().any(|operation| operation.no == *no);
        self.after.retain(|no, _| is_live(no));
        self.selected_at.retain(|no, _| is_live(no));
        let running: Vec<&StoredOperation> =
            live.iter().filter(|operation| operation.state == OperationState::Running).collect();
        let mut pause = LOOK_EVERY;
        let each = SELECTED_FOR / saturated::<u32>(running.len().max(1));
        for operation in &running {
            let begun = Instant::now();
            while !host.draining.is_cancelled() && self.select(operation).await? {
                pause = Duration::ZERO;
                if begun.elapsed() >= each {
                    break;
                }
            }
        }
        if running.is_empty() {
            return Ok(pause);
        }
        let most_ready = saturated::<i64>(MOST_READY);
        let full = flows::backlog(&host.store.operations().await?, most_ready, MOST_FLOWS).await?;
        let full: Vec<String> = full.into_iter().map(|(flow, _)| flow).collect();
        let mut pace = self.pace(host).await?;
        for operation in &running {
            match self.piece(operation.no, &full, &mut pace).await? {
                // The most urgent has the next turn, too.
                Some(next) if next.is_zero() => return Ok(Duration::ZERO),
                Some(next) => pause = pause.min(next),
                None => {}
            }
        }
        Ok(pause)
    }

    /// Returns the room that flows with a limit have now. What was released recently may not be counted in their records yet.
    async fn pace(&mut self, host: &Host) -> Result<OperationPace, Error> {
        let now = Instant::now();
        let is_old = |at: Instant| now.duration_since(at) >= FLOWS_FOR;
        while self.released.front().is_some_and(|(at, _)| is_old(*at)) {
            self.released.pop_front();
        }
        if self.held_back.as_ref().is_none_or(|(at, _)| is_old(*at)) {
            let flows = flows::held_back(&host.store.operations().await?, MOST_FLOWS).await?;
            self.held_back = Some((now, flows));
        }
        let flows = self.held_back.as_ref().map_or(&[][..], |(_, flows)| flows);
        let mut released: BTreeMap<String, u64> = BTreeMap::new();
        for (flow, count) in self.released.iter().flat_map(|(_, counts)| counts) {
            *released.entry(flow.clone()).or_default() += count;
        }
        Ok(OperationPace::of(flows, &released))
    }

    /// Takes one step of a selection; true if there is more.
    async fn select(&mut self, operation: &StoredOperation) -> Result<bool, Error> {
        let rests = self.selected_at.get(&operation.no).is_some_and(|at| at.elapsed() < FOLLOW_EVERY);
        if operation.selection.is_none() || rests {
            return Ok(false);
        }
        let selected = self.commands.select_orders(operation.no).await?;
        if selected == Selected::All {
            self.selected_at.insert(operation.no, Instant::now());
        }
        Ok(selected == Selected::More)
    }

    /// Carries out one piece of an operation; returns the pause before the next one, `None` if it is over.
    async fn piece(
        &mut self,
        no: i64,
        full: &[String],
        pace: &mut OperationPace,
    ) -> Result<Option<Duration>, Error> {
        let after = self.after.get(&no).copied().unwrap_or(0);
        let mut released = BTreeMap::new();
        let piece = self.commands.carry_out(no, after, full, pace, &mut released).await?;
        if !released.is_empty() {
            self.released.push_back((Instant::now(), released));
        }
        Ok(match piece {
            OperationPiece::Acted { last, .. } => {
                self.after.insert(no, last);
                Some(Duration::ZERO)
            }
            // Behind the last are those that were passed over: they are looked at again from the start.
            OperationPiece::NothingNow { last: None } if after > 0 => {
                self.after.insert(no, 0);
                Some(Duration::from_millis(50))
            }
            OperationPiece::NothingNow { last: None } => Some(LOOK_EVERY),
            OperationPiece::NothingNow { last: Some(last) } => {
                self.after.insert(no, last);
                Some(Duration::from_millis(50))
            }
            OperationPiece::Wait(pause) => Some(pause),
            OperationPiece::Over => None,
        })
    }
}

/// Looks for the ends of orders that operations have released.
async fn settle(host: &Host, commands: &Commands) -> Result<(), Error> {
    let unsettled =
        operations::unsettled(&host.store.operations().await?, SETTLE_WITHIN, MOST_OPERATIONS).await?;
    for no in unsettled {
        let mut after = 0;
        while let Some(last) = commands.settle_operation(no, after).await? {
            after = last;
            if host.draining.is_cancelled() {
                return Ok(());
            }
        }
    }
    Ok(())
}

fn show(host: &Host, live: &[StoredOperation]) {
    for state in [OperationState::Running, OperationState::Paused] {
        let of_state = live.iter().filter(|operation| operation.state == state);
        host.metrics.level(Level::Operations, state.as_str(), of_state.count() as f64);
    }
    let open: u64 = live.iter().map(|operation| operation.counts.open()).sum();
    host.metrics.level(Level::OperationOrders, "", open as f64);
}
