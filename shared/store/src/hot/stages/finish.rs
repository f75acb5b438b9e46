//! The ends of stages, written many in one transaction.

use std::collections::HashMap;

use jiff::Timestamp;
use pagurus_domain::activation::{AgeGroups, Stream};
use pagurus_domain::id::{Attempt, Life, OrderNo, Pass, RequestId};
use pagurus_domain::order::change::{Change, Deadlines, Membership};
use pagurus_domain::order::stage::{Then, Wake};
use pagurus_domain::order::{OrderError, ScenarioStatus};
use pagurus_scenario::stage::CallAnswer;
use tokio::try_join;
use uuid::Uuid;

use crate::columns::columns;
use crate::hot::calls;
use crate::hot::calls::Resting;
use crate::hot::dependencies;
use crate::hot::due;
use crate::hot::place::insert_due;
use crate::hot::queues;
use crate::hot::ready::ReadyStage;
use crate::hot::requests::{self, MovedRequests};
use crate::hot::stages::Claimed;
use crate::sql::statements;
use crate::{Result, Tx, beside};

statements! {
    // The deleted row is the right to write the end of the stage: a stale pass deletes nothing.
    TAKE_ENDS = "
        DELETE FROM running r
         USING unnest($1::bigint[], $2::uuid[]) AS f (no, pass)
         WHERE r.order_no = ANY(ARRAY[f.no]) AND r.pass = f.pass
        RETURNING r.order_no, now() AS now, (SELECT u.revision FROM subscription_rules u WHERE u.one) AS revision";
    // The stage stands in the history under the numbers that its order has given to it. Answers only with the orders
    // whose end somebody waits for.
    FINISH = "
        WITH finished AS (
        UPDATE orders o
           SET status = f.status, scenario_status = f.scenario_status, step = coalesce(f.step, o.step),
               entry_point = coalesce(f.entry_point, o.entry_point), attempt = f.attempt, events = o.events + 2,
               visited = f.visited, distance = f.distance,
               stages = o.stages + f.stages, retries = o.retries + f.retries,
               started_at = coalesce(o.started_at, f.started_at),
               finished_at = CASE WHEN f.ended THEN now() END,
               result = f.result, message = f.message, error_class = f.error_class, error_message = f.error_message,
               error_system = f.error_system, error_state = f.error_state, updated_at = now()
          FROM unnest($1::bigint[], $2::text[], $3::text[], $4::text[], $5::text[], $6::integer[], $7::integer[], $8::integer[],
                      $9::timestamptz[], $10::boolean[], $11::text[], $12::text[], $13::text[], $14::text[],
                      $15::text[], $16::text[], $17::integer[], $18::integer[], $19::integer[], $20::text[])
               AS f (no, status, scenario_status, step, entry_point, attempt, visited, distance,
                     started_at, ended, result, message, error_class, error_message, error_system, error_state, stages, retries,
                     life, detail)
         WHERE o.no = ANY(ARRAY[f.no])
        RETURNING o.no, f.ended AND o.awaited AS awaited, o.events, f.life, f.detail),
        noted AS (
        INSERT INTO history (order_no, number, life, kind, source, detail)
        SELECT no, events - 1, life, 'stage', $21, detail FROM finished)
        SELECT no FROM finished WHERE awaited";
    SAVE_CONTEXTS = "
        INSERT INTO contexts (order_no, snapshot)
        SELECT * FROM unnest($1::bigint[], $2::text[]) AS t (order_no, snapshot)
        ON CONFLICT (order_no) DO UPDATE SET snapshot = excluded.snapshot";
    DROP_CONTEXTS = "DELETE FROM contexts WHERE order_no = ANY($1::bigint[])";
    DROP_DEADLINES = "DELETE FROM deadlines WHERE order_no = ANY($1::bigint[])";
}

/// The end of a stage, as it is to be stored.
#[derive(Clone, Debug)]
pub struct Finished {
    /// The order.
    pub no: OrderNo,
    /// The right to write.
    pub pass: Pass,
    /// Number of the life.
    pub life: Life,
    /// Number of the hand-out.
    pub attempt: Attempt,
    /// Why the stage ran.
    pub wake: Wake,
    /// Continuation after the stage.
    pub then: Then,
    /// Relation of the order to its target.
    pub scenario_status: ScenarioStatus,
    /// Present state; none where nothing was executed.
    pub step: Option<String>,
    /// Last entry point of the stage.
    pub entry_point: Option<String>,
    /// States entered in this life.
    pub visited: i32,
    /// Transitions to the nearest target.
    pub distance: Option<i32>,
    /// Begin of the stage.
    pub started_at: Timestamp,
    /// End of what it executed.
    pub ended_at: Timestamp,
    /// False where the stage ended before anything was executed: then the order has not started by it.
    pub has_begun: bool,
    /// Result, as JSON.
    pub result: Option<String>,
    /// Message of the scenario.
    pub message: Option<String>,
    /// Snapshot to keep, as JSON; none removes it.
    pub snapshot: Option<String>,
    /// True if there was a snapshot before.
    pub had_snapshot: bool,
    /// The queue that the order is a member of.
    pub queue: Option<String>,
    /// True if the scenario gave the queue up.
    pub released: bool,
    /// Detail for the history, as JSON.
    pub history: String,
    /// True if the order may have deadlines of its own.
    pub has_deadlines: bool,
    /// True if its scenario takes calls from outside.
    pub takes_calls: bool,
    /// True if it rests in the middle of a call, whose repeat comes before any other.
    pub handles_call: bool,
    /// The call that moved it and is not answered yet.
    pub moved_by: Option<i64>,
    /// The calls that the stage handled.
    pub answers: Vec<CallAnswer>,
    /// The called systems of the requests that it waits for.
    pub asked: Vec<(RequestId, String)>,
    /// Ways in which open requests are given up, as far as they follow from answers: each as the JSON of its call.
    pub cancels: Vec<(RequestId, String)>,
    /// True if it ends with requests whose called systems are to hear of it.
    pub gives_up: bool,
}

impl Finished {
    /// End of a stage that reports nothing besides what comes after it: nothing was executed.
    #[must_use]
    pub fn of(claimed: &Claimed, then: Then, scenario_status: ScenarioStatus) -> Self {
        Self {
            no: claimed.head.no,
            pass: claimed.pass,
            life: claimed.head.life,
            attempt: claimed.attempt,
            wake: claimed.wake,
            then,
            scenario_status,
            step: None,
            entry_point: None,
            visited: 0,
            distance: None,
            started_at: claimed.now,
            ended_at: claimed.now,
            has_begun: true,
            result: None,
            message: None,
            snapshot: None,
            had_snapshot: claimed.snapshot.is_some(),
            queue: claimed.queue.clone(),
            released: false,
            history: "{}".to_owned(),
            has_deadlines: true,
            takes_calls: true,
            handles_call: false,
            moved_by: None,
            answers: Vec::new(),
            asked: Vec::new(),
            cancels: Vec::new(),
            gives_up: false,
        }
    }

    /// Stream and time of what goes on later; none for an end. The length of a sleep counts from the end of what was executed.
    #[must_use]
    pub fn timer(&self, groups: &AgeGroups) -> Option<(Stream, Timestamp)> {
        let at = self.then.due_at()?;
        let length = at.duration_since(self.ended_at).unsigned_abs();
        Some((self.then.status().stream(length, groups), at))
    }

    /// True if the order is no member of its queue any more.
    #[must_use]
    pub fn leaves_queue(&self) -> bool {
        self.queue.is_some() && (self.released || self.change().membership == Membership::Leaves)
    }

    /// True where something was executed; what ended before that is no stage that outsiders count.
    #[must_use]
    pub const fn ran(&self) -> bool {
        self.step.is_some()
    }

    /// True where the stage was a repeat after a classified error.
    #[must_use]
    pub fn repeated(&self) -> bool {
        self.ran() && self.wake == Wake::Retry
    }

    fn error(&self) -> Option<&OrderError> {
        match &self.then {
            Then::Retry { error, .. } => Some(error),
            Then::End { error, .. } => error.as_ref(),
            Then::Sleep { .. } | Then::Wait { .. } | Then::Hold { .. } | Then::Poll { .. } => None,
        }
    }

    /// The change of the order that this end is.
    #[must_use]
    pub fn change(&self) -> Change {
        Change::of_stage(&self.then)
    }

    pub(crate) fn ended(&self) -> bool {
        self.change().ends_life.is_some()
    }
}

/// Ends that are the caller's to write.
#[derive(Clone, Debug, Default)]
pub struct EndsTaken {
    /// Their orders, with the time of the transaction, which is the time at which they end.
    pub times: HashMap<OrderNo, Timestamp>,
    /// Revision of the subscriptions that hear of them.
    pub revision: i64,
}

/// Takes the right to write the ends of these stages: the orders whose pass still held. The rest is stale.
pub async fn take_ends(tx: &Tx<'_>, stages: &[(OrderNo, Pass)]) -> Result<EndsTaken> {
    let columns = columns!((no, pass) in stages => {
        no: i64 = no.0,
        pass: Uuid = pass.0,
    });
    let rows = columns.query(tx, TAKE_ENDS, &[]).await?;
    Ok(EndsTaken {
        times: rows.iter().map(|row| (OrderNo(row.get("order_no")), row.get("now"))).collect(),
        revision: rows.first().and_then(|row| row.get("revision")).unwrap_or_default(),
    })
}

/// Consequences of ends that were written.
#[derive(Clone, Debug, Default)]
pub struct Followed {
    /// The stages that are ready at once: because all their callbacks or a call had come before, or because they waited for
    /// one of these ends.
    pub ready: Vec<ReadyStage>,
    /// The requests that are waited for from now on, or not any more.
    pub requests: MovedRequests,
}

/// Writes the ends of stages whose right was taken with [`take_ends`] in this transaction.
pub async fn finish(tx: &Tx<'_>, node: &str, finished: &[&Finished], groups: &AgeGroups) -> Result<Followed> {
    if finished.is_empty() {
        return Ok(Followed::default());
    }
    let (leaving, staying): (Vec<&Finished>, Vec<&Finished>) =
        finished.iter().filter(|f| f.queue.is_some()).partition(|f| f.leaves_queue());
    let leaving: Vec<i64> = leaving.iter().map(|f| f.no.0).collect();
    let staying: Vec<(OrderNo, Timestamp)> = staying.iter().map(|f| (f.no, f.started_at)).collect();
    let (awaited, ..) = try_join!(
        beside(update_orders(tx, node, finished)),
        beside(save_contexts(tx, finished)),
        beside(suspend(tx, finished, groups)),
        beside(queues::leave(tx, &leaving)),
        beside(queues::hold(tx, &staying)),
        beside(drop_deadlines(tx, finished)),
    )?;
    let mut followed = await_callbacks(tx, finished).await?;
    give_up(tx, finished).await?;
    followed.ready.append(&mut dependencies::ended(tx, &awaited).await?);
    followed.ready.append(&mut settle_calls(tx, finished).await?);
    Ok(followed)
}

/// Writes how the orders stand now, and their stages into the history.
async fn update_orders(tx: &Tx<'_>, node: &str, finished: &[&Finished]) -> Result<Vec<i64>> {
    let columns = columns!(end in finished => {
        no: i64 = end.no.0,
        status: &str = end.change().to.as_str(),
        scenario_status: &str = end.scenario_status.as_str(),
        step: Option<&str> = end.step.as_deref(),
        entry_point: Option<&str> = end.entry_point.as_deref(),
        attempt: i32 = end.attempt.0,
        visited: i32 = end.visited,
        distance: Option<i32> = end.distance,
        started_at: Option<Timestamp> = end.has_begun.then_some(end.started_at),
        ended: bool = end.ended(),
        result: Option<&str> = end.result.as_deref(),
        message: Option<&str> = end.message.as_deref(),
        error_class: Option<&str> = end.error().and_then(|error| error.class.as_deref()),
        error_message: Option<&str> = end.error().map(|error| error.message.as_str()),
        error_system: Option<&str> = end.error().and_then(|error| error.system.as_deref()),
        error_state: Option<&str> = end.error().and_then(|error| error.state.as_deref()),
        stages: i32 = i32::from(end.ran()),
        retries: i32 = i32::from(end.repeated()),
        life: i32 = end.life.0,
        detail: &str = end.history.as_str(),
    });
    let awaited = columns.query(tx, FINISH, &[&node]).await?;
    Ok(awaited.iter().map(|row| row.get("no")).collect())
}

async fn save_contexts(tx: &Tx<'_>, finished: &[&Finished]) -> Result<()> {
    let kept: Vec<(OrderNo, &str)> =
        finished.iter().filter_map(|end| Some((end.no, end.snapshot.as_deref()?))).collect();
    if !kept.is_empty() {
        let columns = columns!((no, snapshot) in &kept => {
            order_no: i64 = no.0,
            snapshot: &str = *snapshot,
        });
        columns.execute(tx, SAVE_CONTEXTS, &[]).await?;
    }
    let gone = finished.iter().filter(|end| end.snapshot.is_none() && end.had_snapshot);
    let gone: Vec<i64> = gone.map(|end| end.no.0).collect();
    if !gone.is_empty() {
        let statement = tx.prepare_cached(DROP_CONTEXTS).await?;
        tx.execute(&statement, &[&gone]).await?;
    }
    Ok(())
}

async fn suspend(tx: &Tx<'_>, finished: &[&Finished], groups: &AgeGroups) -> Result<()> {
    let resting = finished.iter().filter_map(|end| {
        let (stream, at) = end.timer(groups)?;
        Some((end.no.0, stream, at))
    });
    insert_due(tx, &resting.collect::<Vec<_>>()).await
}

async fn drop_deadlines(tx: &Tx<'_>, finished: &[&Finished]) -> Result<()> {
    let nos: Vec<i64> = finished
        .iter()
        .filter(|f| f.has_deadlines && f.change().deadlines == Deadlines::Drop)
        .map(|f| f.no.0)
        .collect();
    if !nos.is_empty() {
        let statement = tx.prepare_cached(DROP_DEADLINES).await?;
        tx.execute(&statement, &[&nos]).await?;
    }
    Ok(())
}

/// Writes the answers of the stages to calls, closes the calls of orders that have ended, and wakes those for
/// which others came meanwhile.
async fn settle_calls(tx: &Tx<'_>, finished: &[&Finished]) -> Result<Vec<ReadyStage>> {
    let answers: Vec<&CallAnswer> = finished.iter().flat_map(|f| &f.answers).collect();
    calls::write(tx, &answers).await?;
    let (ended, resting): (Vec<&Finished>, Vec<&Finished>) =
        finished.iter().filter(|f| f.takes_calls).partition(|f| f.ended());
    calls::close(tx, &ended.iter().map(|f| f.no.0).collect::<Vec<_>>()).await?;
    let resting = resting.iter().map(|f| Resting {
        no: f.no,
        status: f.change().to,
        takes_another: !f.handles_call,
        moved_by: f.moved_by,
    });
    calls::wake(tx, &resting.collect::<Vec<_>>()).await
}

/// Notes how requests are given up, and gives up those of orders that have ended. Most scenarios say nothing of that.
async fn give_up(tx: &Tx<'_>, finished: &[&Finished]) -> Result<()> {
    let cancels = finished.iter().flat_map(|end| &end.cancels);
    let cancels: Vec<(RequestId, &str)> = cancels.map(|(id, call)| (*id, call.as_str())).collect();
    if !cancels.is_empty() {
        requests::set_cancels(tx, &cancels).await?;
    }
    let ended: Vec<i64> =
        finished.iter().filter(|end| end.gives_up && end.ended()).map(|end| end.no.0).collect();
    if !ended.is_empty() {
        requests::cancel(tx, &ended).await?;
    }
    Ok(())
}

/// The rows of the orders are locked by now, so that a callback is either seen here or sees the
/// timer that was just set. An order that is held awaits nothing meanwhile: the end of the hold is not the end of its wait.
async fn await_callbacks(tx: &Tx<'_>, finished: &[&Finished]) -> Result<Followed> {
    let (mut waiting, mut held) = (Vec::new(), Vec::new());
    let mut awaited = Vec::new();
    for f in finished {
        match &f.then {
            Then::Wait { requests, .. } => {
                waiting.push(f.no.0);
                let system =
                    |id| f.asked.iter().find(|(asked, _)| asked == id).map(|(_, system)| system.as_str());
                awaited.extend(requests.iter().map(|id| (*id, system(id))));
            }
            Then::Hold { .. } => held.push(f.no.0),
            _ => {}
        }
    }
    if waiting.is_empty() && held.is_empty() {
        return Ok(Followed::default());
    }
    let requests = requests::mark_awaited(tx, &[&*waiting, &*held].concat(), &awaited).await?;
    Ok(Followed { ready: due::wake_answered(tx, &waiting).await?, requests })
}
