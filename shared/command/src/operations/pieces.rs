//! Pieces of an operation: some orders are taken under locks, acted on, and noted.

use std::collections::BTreeMap;
use std::time::Duration;

use jiff::Timestamp;
use pagurus_domain::number::saturated;
use pagurus_domain::operation::pace::OperationPace;
use pagurus_domain::operation::{ItemOutcome, Next, OperationState, speed};
use pagurus_store::outside::operations::items::{self, NotedOrder};
use pagurus_store::outside::operations::{self, StoredOperation};
use pagurus_store::upkeep::clock;
use pagurus_store::{Error, Tx};
use pagurus_wire::problem::Type;

use super::BulkAction;
use super::action::ActedOrder;
use crate::Commands;

/// Orders of a piece: few enough that their transaction is short.
const PIECE: u64 = 200;
/// Orders that a take looks at, so that one flow that is full does not hold the others up.
const AHEAD: i64 = 5000;
/// Orders whose end is looked for in one transaction.
const SETTLED: i64 = 5000;
/// Interval at which a session whose transaction is open shows that this process lives.
const SIGN_OF_LIFE: Duration = Duration::from_secs(1);
/// Pause where nothing could be done with any order of a piece.
const NOT_NOW: Duration = Duration::from_millis(200);
/// Longest reason that is kept, in bytes.
const MAX_REASON: usize = 300;

/// The outcome of a piece.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OperationPiece {
    /// Orders were acted on; the next piece begins behind the last of them.
    Acted {
        /// Orders.
        orders: usize,
        /// The last of them.
        last: i64,
    },
    /// Orders are open, and all that were looked at are held by others or belong to flows that are full; the next
    /// piece begins behind `last`, or at the start of the list.
    NothingNow {
        /// The last that was looked at; none at the end of the list.
        last: Option<i64>,
    },
    /// Nothing can be done before this time has passed.
    Wait(Duration),
    /// The operation does not run any more.
    Over,
}

impl Commands {
    /// Carries out the next piece of an operation, behind this order. Where its orders go on afterwards, those of the flows
    /// that are full are passed over, and so is what the pace has no room for; `continued` counts the orders that go on, by flow.
    ///
    /// # Errors
    /// The database fails: what was carried out and not noted is known by its key in the next piece.
    pub async fn carry_out(
        &self,
        no: i64,
        after: i64,
        full: &[String],
        pace: &mut OperationPace,
        continued: &mut BTreeMap<String, u64>,
    ) -> Result<OperationPiece, Error> {
        let begun = Timestamp::now();
        // On a connection of another lane than those that act, which would wait for it else.
        let mut client = self.host.store.api().await?;
        let tx = client.transaction().await?;
        // The steps of a ramp are counted: one piece at a time, decided below its turn.
        let has_ramp = operations::find(&tx, no).await?.is_some_and(|operation| operation.ramp.is_some());
        if has_ramp && !operations::try_selection(&tx, -no).await? {
            return Ok(OperationPiece::Wait(Duration::from_millis(100)));
        }
        let (operation, action, wanted) = match self.decide(no).await? {
            Ok(decided) => decided,
            Err(piece) => return Ok(piece),
        };
        let limit = saturated::<i64>(wanted);
        let Some(to) = items::last_ahead(&tx, no, after, AHEAD).await? else {
            return Ok(OperationPiece::NothingNow { last: None });
        };
        let adds_work = action.adds_work();
        let without: Vec<String> = match adds_work {
            true => full.iter().cloned().chain(pace.full().map(str::to_owned)).collect(),
            false => Vec::new(),
        };
        let mut taken = items::take(&tx, no, (after, to), limit, &without).await?;
        if adds_work {
            taken.retain(|order| order.flow.as_deref().is_none_or(|flow| pace.takes(flow)));
            for flow in taken.iter().filter_map(|order| order.flow.clone()) {
                *continued.entry(flow).or_default() += 1;
            }
        }
        let Some(last) = taken.last().map(|order| order.no) else {
            return Ok(OperationPiece::NothingNow { last: Some(to) });
        };
        let came = beside_open(&tx, self.act_on(&operation, &action, &taken)).await;
        let orders = self.noted(&tx, &operation, &came, begun).await?;
        tx.commit().await?;
        // Asking again at once would find the same.
        Ok(if orders == 0 { OperationPiece::Wait(NOT_NOW) } else { OperationPiece::Acted { orders, last } })
    }

    /// Decides under the lock of the operation how many orders are next.
    async fn decide(
        &self,
        no: i64,
    ) -> Result<Result<(StoredOperation, BulkAction, u64), OperationPiece>, Error> {
        let mut client = self.host.store.operations().await?;
        let tx = client.transaction().await?;
        let running = operations::lock(&tx, no).await?.filter(|one| one.state == OperationState::Running);
        let Some(operation) = running else { return Ok(Err(OperationPiece::Over)) };
        let fields = serde_json::from_str(&operation.fields).unwrap_or_default();
        let action = match BulkAction::read(&operation.action, &fields, &operation.reason) {
            Ok(action) => action,
            Err(problem) => {
                // Another version of the program has stored it: a person is to decide.
                let message = format!("this program cannot carry it out: {}", problem.detail);
                operations::set_state(&tx, no, OperationState::Paused, Some(&message)).await?;
                tx.commit().await?;
                return Ok(Err(OperationPiece::Over));
            }
        };
        let decided = match operation.progress(action.awaits_ends())?.next(operation.now, PIECE) {
            Next::Act { orders, allowance } => {
                if operation.rate.is_some() {
                    operations::allow(&tx, no, allowance).await?;
                }
                Ok((operation, action, orders))
            }
            Next::Wait(pause) => Err(OperationPiece::Wait(pause)),
            Next::Pause(because) => {
                operations::set_state(&tx, no, OperationState::Paused, Some(&because)).await?;
                tracing::warn!(operation = no, because, "the operation pauses itself");
                Err(OperationPiece::Over)
            }
            Next::End => {
                operations::set_state(&tx, no, OperationState::Done, None).await?;
                tracing::info!(operation = no, "the operation is done");
                Err(OperationPiece::Over)
            }
        };
        tx.commit().await?;
        Ok(decided)
    }

    /// Records the results of a piece. Returns the number of orders that are no longer open.
    async fn noted(
        &self,
        tx: &Tx<'_>,
        operation: &StoredOperation,
        came: &[ActedOrder<'_>],
        begun: Timestamp,
    ) -> Result<usize, Error> {
        let reasons: Vec<Option<String>> =
            came.iter().map(|one| one.outcome.as_ref().err().map(|problem| cut(&problem.detail))).collect();
        let mut noted = Vec::with_capacity(came.len());
        let mut counts = [0_i64; 3];
        for (one, reason) in came.iter().zip(&reasons) {
            let (outcome, life) = match &one.outcome {
                Ok(life) => (ItemOutcome::Done, *life),
                Err(problem) => match problem.kind() {
                    // Later it will do: the order stays open.
                    Some(Type::Busy | Type::Unavailable) => continue,
                    Some(Type::Refused | Type::NotFound) => (ItemOutcome::Skipped, None),
                    _ => (ItemOutcome::Failed, None),
                },
            };
            counts[outcome as usize] += 1;
            let class = one.order.class.as_deref().filter(|_| life.is_some());
            noted.push(NotedOrder { no: one.order.no, outcome, reason: reason.as_deref(), life, class });
        }
        if noted.is_empty() {
            return Ok(0);
        }
        items::note(tx, operation.no, &noted).await?;
        let elapsed = operation
            .acted_at
            .map_or_else(|| Timestamp::now().duration_since(begun), |at| Timestamp::now().duration_since(at));
        let now = speed(operation.speed, noted.len() as u64, elapsed.unsigned_abs());
        operations::acted(tx, operation.no, counts, now).await?;
        Ok(noted.len())
    }

    /// Looks at orders of an operation whose end is awaited, behind this one; where the next look begins, none at the
    /// end of the list.
    pub async fn settle_operation(&self, no: i64, after: i64) -> Result<Option<i64>, Error> {
        let mut client = self.host.store.operations().await?;
        let tx = client.transaction().await?;
        let settled = items::settle(&tx, no, after, SETTLED).await?;
        if settled.counts.iter().sum::<i64>() > 0 {
            operations::settled(&tx, no, settled.counts).await?;
        }
        tx.commit().await?;
        Ok(settled.last.filter(|_| settled.looked == SETTLED))
    }
}

/// Does something while a transaction is open, however long it takes: the server ends the session of one that is idle for
/// seconds, since a process that froze would keep its locks.
async fn beside_open<T>(tx: &Tx<'_>, work: impl Future<Output = T>) -> T {
    let alive = async {
        loop {
            tokio::time::sleep(SIGN_OF_LIFE).await;
            if clock::now(tx).await.is_err() {
                // Its commit reports that the session is gone.
                return std::future::pending().await;
            }
        }
    };
    tokio::select! {
        done = work => done,
        never = alive => never,
    }
}

/// A reason that is short enough to be kept with its count.
fn cut(text: &str) -> String {
    text[..text.floor_char_boundary(MAX_REASON)].to_owned()
}
