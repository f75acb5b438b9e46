//! One order as it is read: with everything, or its status alone.

use jiff::Timestamp;
use pagurus_domain::id::OrderNo;
use pagurus_domain::order::{Mode, Priority, ScenarioStatus, Status};

use crate::row::word;
use crate::sql::{shown_status, statements};
use crate::{Client, Result};

statements! {
    VIEW = concat!("
        SELECT o.no, o.id, s.name, s.version, o.mode, o.queue, o.priority, o.flow, o.transaction_id, o.notify,
               o.start_at, o.start_deadline, o.created_at,
               ", shown_status!(), ",
               o.scenario_status, o.step, o.entry_point, o.life, o.attempt, o.visited, o.distance,
               o.started_at, o.finished_at, o.updated_at, o.result, o.message, o.error_class, o.error_message,
               p.params, d.due_at, n.name, w.attempt, w.started_at, r.order_no IS NOT NULL, r.since, o.scenario,
               q.position, c.snapshot, o.start_period, o.error_system
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
        SELECT ", shown_status!(), ", o.life
          FROM orders o
          LEFT JOIN running w ON w.order_no = ANY(ARRAY[o.no])
          LEFT JOIN ready r ON r.order_no = ANY(ARRAY[o.no])
         WHERE o.id = $1");
}

/// An order with everything a reader may want of its own rows.
#[derive(Clone, Debug)]
pub struct OrderView {
    /// Our number.
    pub no: OrderNo,
    /// The client's id.
    pub id: String,
    /// Name of the scenario.
    pub scenario: String,
    /// Its version.
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
    /// Notification wish, as JSON.
    pub notify: Option<String>,
    /// Not before.
    pub start_at: Option<Timestamp>,
    /// Latest start.
    pub start_deadline: Option<Timestamp>,
    /// Registered at.
    pub created_at: Timestamp,
    /// Present status.
    pub status: Status,
    /// How it stands to its target.
    pub scenario_status: ScenarioStatus,
    /// Present state.
    pub step: Option<String>,
    /// Last entry point visited.
    pub entry_point: Option<String>,
    /// Which life.
    pub life: i32,
    /// Last hand-out.
    pub attempt: i32,
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
    pub running: Option<(i32, Timestamp)>,
    /// Since when a stage of it may run.
    pub ready_since: Option<Timestamp>,
    /// Position and variables, as JSON.
    pub snapshot: Option<String>,
    /// Seconds from sending to the latest start.
    pub start_period: Option<i64>,
}

/// Reads one order.
///
/// # Errors
/// The database fails.
pub async fn view(client: &Client, id: &str) -> Result<Option<OrderView>> {
    let statement = client.prepare_cached(VIEW).await?;
    let Some(row) = client.query_opt(&statement, &[&id]).await? else { return Ok(None) };
    let running: Option<i32> = row.get(31);
    let ready: bool = row.get(33);
    Ok(Some(OrderView {
        no: OrderNo(row.get(0)),
        id: row.get(1),
        scenario: row.get(2),
        scenario_version: row.get(3),
        mode: word(&row, 4, "orders.mode")?,
        queue: row.get(5),
        priority: word(&row, 6, "orders.priority")?,
        flow: row.get(7),
        transaction_id: row.get(8),
        notify: row.get(9),
        start_at: row.get(10),
        start_deadline: row.get(11),
        created_at: row.get(12),
        status: word(&row, 13, "orders.status")?,
        scenario_status: word(&row, 14, "orders.scenario_status")?,
        step: row.get(15),
        entry_point: row.get(16),
        life: row.get(17),
        attempt: running.unwrap_or_else(|| row.get(18)),
        visited: row.get(19),
        distance: row.get(20),
        started_at: row.get(21),
        finished_at: row.get(22),
        updated_at: row.get(23),
        result: row.get(24),
        message: row.get(25),
        error_class: row.get(26),
        error_message: row.get(27),
        error_system: row.get(39),
        params: row.get::<_, Option<String>>(28).unwrap_or_else(|| "{}".to_owned()),
        due_at: row.get(29),
        node: row.get(30),
        running: running.zip(row.get(32)),
        ready_since: if ready { row.get(34) } else { None },
        scenario_no: row.get(35),
        position: row.get(36),
        snapshot: row.get(37),
        start_period: row.get(38),
    }))
}

/// Status and life of one order.
///
/// # Errors
/// The database fails.
pub async fn status(client: &Client, id: &str) -> Result<Option<(Status, i32)>> {
    let statement = client.prepare_cached(STATUS).await?;
    let row = client.query_opt(&statement, &[&id]).await?;
    row.map(|row| Ok((word(&row, 0, "orders.status")?, row.get(1)))).transpose()
}
