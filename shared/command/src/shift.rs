//! Shifts of what runs by time, for planned works (DSP-11): orders of some flows that wait, poll or retry are due later, and
//! with them every deadline of theirs moves, so that nothing runs out meanwhile; while flows are stopped, also the deadlines
//! of their other orders, wherever those stand. Orders are moved by hundreds in a
//! transaction; each has the shift in its history, and a shift can be undone.

mod undo;

use std::collections::HashMap;
use std::time::{Duration, Instant};

use jiff::{SignedDuration, Timestamp};
use pagurus_domain::audit::AuditKind;
use pagurus_domain::document::parse_duration;
use pagurus_domain::id::OrderNo;
use pagurus_domain::number::saturated;
use pagurus_domain::order::Status;
use pagurus_domain::order::principal::Principal;
use pagurus_domain::time;
use pagurus_runtime::Effects;
use pagurus_runtime::trouble::store_problem;
use pagurus_store::hot::control;
use pagurus_store::hot::control::LockedOrders;
use pagurus_store::hot::history;
use pagurus_store::hot::history::NewEvent;
use pagurus_store::lists::audit::AuditEntry;
use pagurus_store::outside::amend;
use pagurus_store::upkeep::shift;
use pagurus_store::upkeep::shift::{BegunShift, DueOrder, DueWalk, Shift, ShiftKey, Window};
use pagurus_store::upkeep::stops::{self, ShiftingStop};
use pagurus_store::{Error, Tx};
use pagurus_wire::flows::{ShiftOutcome, ShiftRequest};
use pagurus_wire::problem::{Problem, Type};
use serde_json::json;

use crate::request::RequestKey;
use crate::texts::{MAX_TEXT, checked};
use crate::{Commands, caused, read_snapshot};

/// Orders of one transaction.
const BATCH: i64 = 200;
/// Longest time for which one request moves orders; the next one moves what is left.
const ONE_REQUEST: Duration = Duration::from_secs(20);
/// Longest time for which an activator moves the orders of one stop or window in one go.
pub(crate) const ONE_GO: Duration = Duration::from_secs(2);
/// Time for which the node that moves orders is alone at it. If it dies, another one goes on after that.
pub(crate) const HOLD: Duration = Duration::from_secs(30);
/// Tries of a batch of which somebody holds an order.
const TRIES: u32 = 5;

/// A batch that is moved.
struct Batch<'a> {
    shift: i64,
    /// Negative where it is undone.
    distance: SignedDuration,
    kind: &'static str,
    reason: &'a str,
    by: &'a Principal,
}

/// Begins a shift, or finds the one that a request of the same key has begun.
async fn begin(
    tx: &Tx<'_>,
    shift: &Shift,
    by: &Principal,
    key: Option<&RequestKey>,
) -> Result<BegunShift, Error> {
    let key = key.map(|key| ShiftKey { name: &key.name, digest: &key.digest });
    let begun = shift::begin(tx, shift, &by.to_value().to_string(), key).await?;
    if begun.is_new {
        AuditEntry::new("shift", (AuditKind::Flow, &shift.keyword), by, Some(&shift.reason))
            .with(&json!({"shift": begun.no, "seconds": shift.distance.as_secs()}))
            .record(tx)
            .await?;
    }
    Ok(begun)
}

/// Begins the shift of a stop that is made in this transaction, or finds the one that it has: the request was repeated.
pub(crate) async fn begin_for_stop(
    tx: &Tx<'_>,
    stop: i64,
    shift: &Shift,
    by: &Principal,
) -> Result<i64, Error> {
    if let Some(known) = stops::shift_of(tx, stop).await? {
        return Ok(known);
    }
    let no = begin(tx, shift, by, None).await?.no;
    stops::note_shift(tx, stop, no).await?;
    Ok(no)
}

impl Commands {
    /// Moves orders of some flows, once for each key; goes on with a shift, or undoes one.
    ///
    /// # Errors
    /// The problem to answer with.
    pub async fn shift_orders(
        &self,
        asked: &ShiftRequest,
        by: &Principal,
        key: Option<&RequestKey>,
    ) -> Result<ShiftOutcome, Problem> {
        match (&asked.flow, &asked.by, asked.go_on, asked.undo) {
            (Some(flow), Some(distance), None, None) => {
                checked("flow", flow, MAX_TEXT)?;
                checked("reason", &asked.reason, MAX_TEXT)?;
                let bad = |message: String| Problem::new(Type::Invalid, format!("/by: {message}")).at("/by");
                let distance = parse_duration(distance).map_err(bad)?;
                if distance.is_zero() {
                    return Err(bad("the duration must be longer than 0".to_owned()));
                }
                let window = Window::open(self.database_time().await?);
                if asked.dry_run {
                    return self.count_in(flow, window).await;
                }
                let reason = asked.reason.clone();
                self.begin_shift(Shift { keyword: flow.clone(), distance, window, reason }, by, key).await
            }
            (None, None, Some(no), None) => {
                let found = self.found_shift(no, false).await?;
                self.move_for_request(no, &found, by).await
            }
            (None, None, None, Some(no)) => self.undo_shift(no, &asked.reason, by).await,
            _ => Err(Problem::new(Type::Invalid, "name `flow` and `by`, or `goOn`, or `undo`")),
        }
    }

    /// Number of orders that are due while flows are stopped.
    pub(crate) async fn count_due(
        &self,
        keyword: &str,
        from: Timestamp,
        until: Timestamp,
    ) -> Result<ShiftOutcome, Problem> {
        self.count_in(keyword, Window { from, until }).await
    }

    /// Moves some orders of a stop for planned works, for a short while. True if there may be more to move now. Nothing is
    /// done while another node is at it.
    ///
    /// # Errors
    /// The problem that kept it from being done.
    pub async fn shift_for_stop(&self, stop: &ShiftingStop, by: &Principal) -> Result<bool, Problem> {
        let taken = async {
            let client = self.host.store.operations().await?;
            stops::take_shift(&client, stop.no, (by.source(), HOLD)).await
        };
        if !taken.await.map_err(self.failed("shift"))? {
            return Ok(false);
        }
        Ok(self.move_more(stop.shift, &stop.moves, by, Instant::now() + ONE_GO).await?.more)
    }

    async fn count_in(&self, keyword: &str, window: Window) -> Result<ShiftOutcome, Problem> {
        let count = async { shift::count(&self.host.store.reports().await?, keyword, window).await };
        let orders = count.await.map_err(self.failed("shift"))?;
        Ok(ShiftOutcome { orders, ..ShiftOutcome::default() })
    }

    async fn begin_shift(
        &self,
        shift: Shift,
        by: &Principal,
        key: Option<&RequestKey>,
    ) -> Result<ShiftOutcome, Problem> {
        let begun = async {
            let mut client = self.host.store.operations().await?;
            let tx = client.transaction().await?;
            let begun = begin(&tx, &shift, by, key).await?;
            tx.commit().await?;
            Ok(begun)
        };
        let BegunShift { no, is_new, asked, is_moved } = begun.await.map_err(self.failed("shift"))?;
        if is_new {
            return self.move_for_request(no, &shift, by).await;
        }
        if let Some(key) = key.filter(|key| asked.as_deref() != Some(key.digest.as_str())) {
            return Err(key.misused(""));
        }
        // A repeat: the first answer was lost, or is still to come.
        let shift = self.found_shift(no, false).await?;
        let more = !is_moved && self.move_for_request(no, &shift, by).await?.more;
        let moved = async { shift::count_moved(&self.host.store.operations().await?, no).await };
        let orders = moved.await.map_err(self.failed("shift"))?;
        Ok(ShiftOutcome { shift: Some(no), orders, more })
    }

    /// Goes on with a shift for as long as a request may take.
    pub(crate) async fn move_for_request(
        &self,
        no: i64,
        shift: &Shift,
        by: &Principal,
    ) -> Result<ShiftOutcome, Problem> {
        let outcome = self.move_more(no, shift, by, Instant::now() + ONE_REQUEST).await?;
        if !outcome.more {
            let noted = async { shift::note_moved(&self.host.store.operations().await?, no).await };
            noted.await.map_err(self.failed("shift"))?;
        }
        Ok(outcome)
    }

    async fn found_shift(&self, no: i64, to_undo: bool) -> Result<Shift, Problem> {
        let found = async { shift::find(&self.host.store.operations().await?, no, to_undo).await };
        let found = found.await.map_err(self.failed("shift"))?;
        found.ok_or_else(|| Problem::new(Type::NotFound, format!("there is no shift {no}, or it was undone")))
    }

    /// Goes on with a shift until all is moved, or until this time.
    pub(crate) async fn move_more(
        &self,
        no: i64,
        shift: &Shift,
        by: &Principal,
        until: Instant,
    ) -> Result<ShiftOutcome, Problem> {
        let batch = Batch {
            shift: no,
            distance: SignedDuration::try_from(shift.distance).unwrap_or(SignedDuration::MAX),
            kind: "shifted",
            reason: &shift.reason,
            by,
        };
        let mut walk = DueWalk::new(no, &shift.keyword, shift.window);
        let mut outcome = ShiftOutcome { shift: Some(no), ..ShiftOutcome::default() };
        loop {
            let next = async { walk.next(&self.host.store.operations().await?, BATCH).await };
            let orders = next.await.map_err(self.failed("shift"))?;
            if orders.is_empty() {
                break;
            }
            outcome.orders += self.move_batch(&batch, &orders).await.map_err(self.failed("shift"))?;
            if Instant::now() > until {
                outcome.more = true;
                break;
            }
        }
        self.note("shifted", by.door, saturated::<usize>(outcome.orders));
        Ok(outcome)
    }

    /// Moves a batch, and each order of it alone where somebody holds one; how many were moved.
    async fn move_batch(&self, batch: &Batch<'_>, orders: &[DueOrder]) -> Result<u64, Error> {
        match self.try_batch(batch, orders).await {
            Err(error) if error.is_contention() && orders.len() > 1 => {}
            moved => return moved,
        }
        let mut moved = 0;
        for order in orders {
            for pause in 1..=TRIES {
                match self.try_batch(batch, std::slice::from_ref(order)).await {
                    Err(error) if error.is_contention() && pause < TRIES => {
                        tokio::time::sleep(Duration::from_millis(50 << pause)).await;
                    }
                    // Who holds an order for long is at work on it; the number shows that it stays.
                    Err(error) if error.is_contention() => break,
                    done => {
                        moved += done?;
                        break;
                    }
                }
            }
        }
        Ok(moved)
    }

    async fn try_batch(&self, batch: &Batch<'_>, orders: &[DueOrder]) -> Result<u64, Error> {
        let mut client = self.host.store.operations().await?;
        let tx = client.transaction().await?;
        if !batch.distance.is_negative() && !shift::moves(&tx, batch.shift).await? {
            return Ok(0);
        }
        let mut numbers: Vec<i64> = orders.iter().map(|order| order.no.0).collect();
        numbers.sort_unstable();
        let LockedOrders { orders: locked, .. } = control::lock_all(&tx, &numbers).await?;
        let suspended: HashMap<OrderNo, Status> = locked
            .iter()
            .filter(|order| matches!(order.status, Status::Wait | Status::Polling | Status::Retry))
            .map(|order| (order.head.no, order.status))
            .collect();
        let still: Vec<DueOrder> =
            orders.iter().filter(|order| suspended.contains_key(&order.no)).copied().collect();
        let moved = shift::move_times(&tx, &still, batch.distance.as_secs_f64()).await?;
        let mut due: Vec<DueOrder> = moved.iter().map(|(order, _)| *order).collect();
        let is_left = |order: &&DueOrder| !due.iter().any(|moved| moved.no == order.no);
        let left: Vec<DueOrder> = orders.iter().filter(is_left).copied().collect();
        let held = shift::move_held(&tx, &left, batch.distance.as_secs_f64()).await?;
        let numbers: Vec<i64> = due.iter().map(|order| order.no.0).collect();
        let stored = control::snapshots(&tx, &numbers).await?;
        let mut snapshots = Vec::new();
        for order in due.iter().filter(|order| stored.contains_key(&order.no)) {
            let mut snapshot = read_snapshot(&stored, order.no)?;
            snapshot.shift(batch.distance);
            snapshots.push((order.no.0, snapshot.to_text()));
        }
        due.extend(held);
        let numbers: Vec<i64> = due.iter().map(|order| order.no.0).collect();
        let texts: Vec<(i64, &str)> = snapshots.iter().map(|(no, text)| (*no, text.as_str())).collect();
        amend::save_contexts(&tx, &texts).await?;
        if batch.distance.is_negative() {
            shift::forget(&tx, batch.shift, &numbers).await?;
        } else {
            shift::note(&tx, batch.shift, &due).await?;
        }
        self.tell_histories(&tx, batch, &due).await?;
        tx.commit().await?;
        // What is due earlier than the activator thinks is not to wait for its next look.
        let mut effects = Effects::default();
        moved
            .iter()
            .filter_map(|(order, stream)| (*stream).zip(Some(order.due_at)))
            .for_each(|(stream, at)| effects.timer(stream, at));
        effects.send(&self.host).await;
        Ok(due.len() as u64)
    }

    async fn tell_histories(&self, tx: &Tx<'_>, batch: &Batch<'_>, due: &[DueOrder]) -> Result<(), Error> {
        let details: Vec<String> = due
            .iter()
            .map(|order| {
                let detail = json!({
                    "shift": batch.shift,
                    "seconds": batch.distance.as_secs(),
                    "dueAt": time::shown(order.due_at),
                    "reason": batch.reason,
                });
                caused(detail, batch.by).to_string()
            })
            .collect();
        let events: Vec<NewEvent<'_>> = due
            .iter()
            .zip(&details)
            .map(|(order, detail)| NewEvent {
                no: order.no,
                kind: batch.kind,
                source: batch.by.source(),
                detail,
            })
            .collect();
        history::append_all(tx, &events).await
    }

    /// Moves one order for an operation; false where it neither waits nor retries, or was moved before.
    pub(crate) async fn shift_one(
        &self,
        shift: i64,
        no: OrderNo,
        distance: SignedDuration,
        (reason, by): (&str, &Principal),
    ) -> Result<bool, Problem> {
        let moved = async {
            let due = shift::due_unmoved(&self.host.store.operations().await?, shift, no).await?;
            let Some(due) = due else { return Ok(0) };
            let batch = Batch { shift, distance, kind: "shifted", reason, by };
            self.move_batch(&batch, &[due]).await
        };
        Ok(moved.await.map_err(self.failed("shift"))? > 0)
    }

    /// The problem to answer with where the database fails in this operation.
    pub(crate) fn failed(&self, operation: &'static str) -> impl Fn(Error) -> Problem {
        move |error| store_problem(&self.host, operation, &error)
    }
}
