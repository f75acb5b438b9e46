//! An order as it is read: with everything, or its status alone.

use jiff::Timestamp;
use pagurus_domain::id::{Attempt, Life, OrderNo};
use pagurus_domain::order::labels::Labels;
use pagurus_domain::order::{Mode, Priority, ScenarioStatus, Status};

use crate::row::{wishes, word};
use crate::sql::{shown_status, statements};
use crate::{Client, Result};

statements! {
    VIEW = concat!("
        SELECT o.no, o.id, s.name AS scenario_name, s.version AS scenario_version, o.mode, o.queue, o.priority, o.flow, o.transaction_id, o.labels::text AS labels, o.notify, o.answers,
               o.start_at, o.start_deadline, o.created_at,
               ", shown_status!(), " AS status,
               o.scenario_status, o.step, o.entry_point, o.life, o.attempt, o.stages, o.retries, o.visited, o.distance,
               o.started_at, o.finished_at, o.updated_at, o.result, o.message, o.error_class, o.error_message,
               p.params, d.due_at, n.name AS node, w.attempt AS running_attempt, w.started_at AS running_since,
               r.since AS ready_since, o.scenario,
               q.position, c.snapshot, o.start_period, o.error_system, o.trace, o.promise_at
          FROM orders o
          JOIN scenarios s ON s.no = o.scenario
          LEFT JOIN payloads p ON p.order_no = ANY(ARRAY[o.no])
          LEFT JOIN running w ON w.order_no = ANY(ARRAY[o.no])
          LEFT JOIN nodes n ON n.incarnation = ANY(ARRAY[w.node])
          LEFT JOIN ready r ON r.order_no = ANY(ARRAY[o.no])
          LEFT JOIN due d ON d.order_no = ANY(ARRAY[o.no])
          LEFT JOIN queued q ON q.order_no = ANY(ARRAY[o.no])
          LEFT JOIN contexts c ON c.order_no = ANY(ARRAY[o.no])
         WHERE o.id = $1");
    STATUS = concat!("
        SELECT ", shown_status!(), " AS status, o.life
          FROM orders o
          LEFT JOIN running w ON w.order_no = ANY(ARRAY[o.no])
          LEFT JOIN ready r ON r.order_no = ANY(ARRAY[o.no])
         WHERE o.id = $1");
    NAMES = "SELECT id, transaction_id FROM orders WHERE no = ANY($1::bigint[])";
}

/// An order with everything a reader may want of its own rows.
#[derive(Clone, Debug)]
pub struct OrderRow {
    /// Our number.
    pub no: OrderNo,
    /// The client's id.
    pub id: String,
    /// Name of the scenario.
    pub scenario: String,
    /// Version of the scenario.
    pub scenario_version: i32,
    /// Our number of that version.
    pub scenario_no: i32,
    /// Parallel or sequential.
    pub mode: Mode,
    /// The queue.
    pub queue: Option<String>,
    /// Place in the queue, while it is a member.
    pub position: Option<i64>,
    /// Urgency.
    pub priority: Priority,
    /// Flow marker.
    pub flow: String,
    /// Business transaction.
    pub transaction_id: Option<String>,
    /// Labels.
    pub labels: Labels,
    /// Notification wish of its client, as JSON. What its parent awaits is shown to nobody.
    pub notify: Option<String>,
    /// Not before.
    pub start_at: Option<Timestamp>,
    /// Time at which its client must be served.
    pub promise_at: Option<Timestamp>,
    /// Latest start.
    pub start_deadline: Option<Timestamp>,
    /// Registered at.
    pub created_at: Timestamp,
    /// Present status.
    pub status: Status,
    /// Relation of the order to its target.
    pub scenario_status: ScenarioStatus,
    /// Present state.
    pub step: Option<String>,
    /// Last entry point visited.
    pub entry_point: Option<String>,
    /// Number of the life.
    pub life: Life,
    /// Last hand-out.
    pub attempt: Attempt,
    /// Stages of this life that ran to their end.
    pub stages: i32,
    /// Stages among them that were repeats after a classified error.
    pub retries: i32,
    /// States entered in this life.
    pub visited: i32,
    /// Transitions to the nearest target.
    pub distance: Option<i32>,
    /// First stage of this life.
    pub started_at: Option<Timestamp>,
    /// Ended at.
    pub finished_at: Option<Timestamp>,
    /// Last change.
    pub updated_at: Timestamp,
    /// Result, as JSON.
    pub result: Option<String>,
    /// Message of the scenario.
    pub message: Option<String>,
    /// Class of the error.
    pub error_class: Option<String>,
    /// The error.
    pub error_message: Option<String>,
    /// The called system that the error is about.
    pub error_system: Option<String>,
    /// Parameters, as JSON.
    pub params: String,
    /// Until when it is suspended.
    pub due_at: Option<Timestamp>,
    /// The node that runs its stage.
    pub node: Option<String>,
    /// The attempt that runs, and since when.
    pub running: Option<(Attempt, Timestamp)>,
    /// Time since which a stage of it may run.
    pub ready_since: Option<Timestamp>,
    /// Position and variables, as JSON.
    pub snapshot: Option<String>,
    /// Seconds from sending to the latest start.
    pub start_period: Option<i64>,
    /// W3C trace context of the registration.
    pub trace: Option<String>,
}

/// Ids and business transactions of orders.
pub async fn names(client: &Client, nos: &[i64]) -> Result<Vec<(String, Option<String>)>> {
    let rows = client.query(&client.prepare_cached(NAMES).await?, &[&nos]).await?;
    Ok(rows.iter().map(|row| (row.get("id"), row.get("transaction_id"))).collect())
}

/// Reads one order.
pub async fn view(client: &Client, id: &str) -> Result<Option<OrderRow>> {
    let statement = client.prepare_cached(VIEW).await?;
    let Some(row) = client.query_opt(&statement, &[&id]).await? else { return Ok(None) };
    let running: Option<i32> = row.get("running_attempt");
    Ok(Some(OrderRow {
        no: OrderNo(row.get("no")),
        id: row.get("id"),
        scenario: row.get("scenario_name"),
        scenario_version: row.get("scenario_version"),
        mode: word(&row, "mode", "orders.mode")?,
        queue: row.get("queue"),
        priority: word(&row, "priority", "orders.priority")?,
        flow: row.get("flow"),
        transaction_id: row.get("transaction_id"),
        labels: Labels::of_stored(row.get("labels")),
        notify: wishes(&row).0,
        start_at: row.get("start_at"),
        promise_at: row.get("promise_at"),
        start_deadline: row.get("start_deadline"),
        created_at: row.get("created_at"),
        status: word(&row, "status", "orders.status")?,
        scenario_status: word(&row, "scenario_status", "orders.scenario_status")?,
        step: row.get("step"),
        entry_point: row.get("entry_point"),
        life: Life(row.get("life")),
        attempt: Attempt(running.unwrap_or_else(|| row.get("attempt"))),
        stages: row.get("stages"),
        retries: row.get("retries"),
        visited: row.get("visited"),
        distance: row.get("distance"),
        started_at: row.get("started_at"),
        finished_at: row.get("finished_at"),
        updated_at: row.get("updated_at"),
        result: row.get("result"),
        message: row.get("message"),
        error_class: row.get("error_class"),
        error_message: row.get("error_message"),
        error_system: row.get("error_system"),
        params: row.get::<_, Option<String>>("params").unwrap_or_else(|| "{}".to_owned()),
        due_at: row.get("due_at"),
        node: row.get("node"),
        running: running.map(Attempt).zip(row.get("running_since")),
        ready_since: row.get("ready_since"),
        scenario_no: row.get("scenario"),
        position: row.get("position"),
        snapshot: row.get("snapshot"),
        start_period: row.get("start_period"),
        trace: row.get("trace"),
    }))
}

/// Status and life of one order.
pub async fn status(client: &Client, id: &str) -> Result<Option<(Status, Life)>> {
    let statement = client.prepare_cached(STATUS).await?;
    let row = client.query_opt(&statement, &[&id]).await?;
    row.map(|row| Ok((word(&row, "status", "orders.status")?, Life(row.get("life"))))).transpose()
}
