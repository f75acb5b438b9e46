//! News of a running stage before its end: an entry point that it has entered, and that it gets on.

use std::collections::HashSet;

use jiff::Timestamp;
use pagurus_domain::id::{Attempt, OrderNo, Pass};
use pagurus_domain::order::ScenarioStatus;
use pagurus_scenario::stage::CallAnswer;
use uuid::Uuid;

use crate::columns::columns;
use crate::hot::calls;
use crate::hot::outbox;
use crate::hot::outbox::NewNotification;
use crate::sql::statements;
use crate::{Result, Tx};

statements! {
    // Only who holds the pass gets on. From an entry point on another worker begins there, and has all the
    // tries of a stage that was never handed out before.
    ADVANCE = "
        UPDATE running r
           SET deadline_at = greatest(r.deadline_at, t.until),
               wake = CASE WHEN t.enters THEN 'start' ELSE r.wake END,
               restarts = CASE WHEN t.enters THEN 0 ELSE r.restarts END
          FROM unnest($1::bigint[], $2::uuid[], $3::timestamptz[], $4::boolean[]) AS t (no, pass, until, enters)
         WHERE r.order_no = ANY(ARRAY[t.no]) AND r.pass = t.pass
        RETURNING r.order_no";
    // Said again, because its answer was lost, it is no second event: the states entered in a life are counted, and each
    // hand-out enters one once.
    ENTER = "
        WITH entered AS (
        UPDATE orders o
           SET scenario_status = t.scenario_status, step = t.step, entry_point = coalesce(t.entry_point, o.entry_point), attempt = t.attempt,
               visited = t.visited, distance = t.distance, started_at = coalesce(o.started_at, t.started_at),
               events = o.events + 1, updated_at = now()
          FROM unnest($1::bigint[], $2::text[], $3::text[], $4::integer[], $5::integer[], $6::integer[], $7::timestamptz[], $8::text[], $9::text[])
               AS t (no, scenario_status, step, attempt, visited, distance, started_at, history, entry_point)
         WHERE o.no = ANY(ARRAY[t.no]) AND (o.attempt, o.visited) IS DISTINCT FROM (t.attempt, t.visited)
        RETURNING o.no, o.events, o.life, t.history)
        INSERT INTO history (order_no, number, life, kind, source, detail)
        SELECT no, events, life, 'entered', $10, history FROM entered
        RETURNING order_no";
    SAVE_CONTEXTS = "
        INSERT INTO contexts (order_no, snapshot)
        SELECT * FROM unnest($1::bigint[], $2::text[]) AS t (order_no, snapshot)
        ON CONFLICT (order_no) DO UPDATE SET snapshot = excluded.snapshot";
}

/// A stage that gets on.
#[derive(Clone, Debug)]
pub struct Advance {
    /// The order.
    pub no: OrderNo,
    /// The right to write.
    pub pass: Pass,
    /// Until when it may take for the next thing that it does.
    pub until: Timestamp,
    /// The entry point that it has entered, if that is what there is to tell.
    pub entered: Option<Entered>,
}

/// An entry point or a savepoint in the middle of a stage, with all that lies before it.
#[derive(Clone, Debug)]
pub struct Entered {
    /// The present state.
    pub step: String,
    /// The same, where it is an entry point: a savepoint of an operation in it is none.
    pub entry_point: Option<String>,
    /// Number of the hand-out.
    pub attempt: Attempt,
    /// Relation of the order to its target.
    pub scenario_status: ScenarioStatus,
    /// States entered in this life.
    pub visited: i32,
    /// Transitions to the nearest target.
    pub distance: Option<i32>,
    /// Begin of the stage.
    pub started_at: Timestamp,
    /// Position and variables, as JSON.
    pub snapshot: String,
    /// Detail for the history, as JSON.
    pub history: String,
    /// The calls from outside that were handled.
    pub answers: Vec<CallAnswer>,
    /// Notifications of the transitions.
    pub notifications: Vec<NewNotification>,
}

/// Notes that stages get on; whether each is still the caller's. The stages are in the order of their numbers.
pub async fn advance(tx: &Tx<'_>, node: &str, stages: &[&Advance]) -> Result<HashSet<OrderNo>> {
    let columns = columns!(stage in stages => {
        no: i64 = stage.no.0,
        pass: Uuid = stage.pass.0,
        until: Timestamp = stage.until,
        enters: bool = stage.entered.is_some(),
    });
    let ours = columns.query(tx, ADVANCE, &[]).await?;
    let ours: HashSet<OrderNo> = ours.iter().map(|row| OrderNo(row.get("order_no"))).collect();
    let entered: Vec<(OrderNo, &Entered)> = stages
        .iter()
        .filter(|stage| ours.contains(&stage.no))
        .filter_map(|stage| Some((stage.no, stage.entered.as_ref()?)))
        .collect();
    if !entered.is_empty() {
        enter(tx, node, &entered).await?;
    }
    Ok(ours)
}

async fn enter(tx: &Tx<'_>, node: &str, entered: &[(OrderNo, &Entered)]) -> Result<()> {
    let columns = columns!((no, entered) in entered => {
        no: i64 = no.0,
        scenario_status: &str = entered.scenario_status.as_str(),
        step: &str = entered.step.as_str(),
        attempt: i32 = entered.attempt.0,
        visited: i32 = entered.visited,
        distance: Option<i32> = entered.distance,
        started_at: Timestamp = entered.started_at,
        history: &str = entered.history.as_str(),
        entry_point: Option<&str> = entered.entry_point.as_deref(),
    });
    let rows = columns.query(tx, ENTER, &[&node]).await?;
    let fresh: HashSet<OrderNo> = rows.iter().map(|row| OrderNo(row.get("order_no"))).collect();
    let contexts = columns!((no, entered) in entered => {
        order_no: i64 = no.0,
        snapshot: &str = entered.snapshot.as_str(),
    });
    contexts.execute(tx, SAVE_CONTEXTS, &[]).await?;
    let answers: Vec<&CallAnswer> = entered.iter().flat_map(|(_, entered)| &entered.answers).collect();
    calls::write(tx, &answers).await?;
    let entered = entered.iter().filter(|(no, _)| fresh.contains(no));
    let notifications: Vec<NewNotification> =
        entered.flat_map(|(_, entered)| entered.notifications.clone()).collect();
    outbox::put(tx, &notifications).await
}
