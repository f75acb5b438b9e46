//! Orders as their ledgers need them, many at a time (ORD-32).

use jiff::Timestamp;
use pagurus_domain::id::OrderNo;
use pagurus_domain::order::Mode;

use crate::row::{read, word};
use crate::sql::statements;
use crate::{Client, Result};

statements! {
    ORDERS = "
        SELECT o.no, s.name AS scenario, o.flow, o.queue, o.mode, o.start_at, o.created_at, o.finished_at,
               w.started_at AS running_since, r.since AS ready_since,
               o.start_at > o.created_at OR EXISTS (SELECT FROM dependencies d WHERE d.order_no = ANY(ARRAY[o.no])) AS is_postponed
          FROM orders o
          JOIN scenarios s ON s.no = o.scenario
          LEFT JOIN running w ON w.order_no = ANY(ARRAY[o.no])
          LEFT JOIN ready r ON r.order_no = ANY(ARRAY[o.no])
         WHERE o.no = ANY($1::bigint[]) ORDER BY o.no";
}

/// An order whose time is counted.
#[derive(Clone, Debug)]
pub struct LedgerOrder {
    /// Our number.
    pub no: OrderNo,
    /// Name of the scenario.
    pub scenario: String,
    /// Flow marker.
    pub flow: String,
    /// Sequential queue.
    pub queue: Option<String>,
    /// Parallel or sequential.
    pub mode: Mode,
    /// Time before which it does not run.
    pub start_at: Option<Timestamp>,
    /// True if it was registered for a later time, or behind other orders.
    pub is_postponed: bool,
    /// Time of its registration.
    pub created_at: Timestamp,
    /// Time of its end.
    pub finished_at: Option<Timestamp>,
    /// Time at which the worker that has it took it.
    pub running_since: Option<Timestamp>,
    /// Time since which a stage of it may run.
    pub ready_since: Option<Timestamp>,
}

/// Reads these orders by ascending number; those that are gone are left out.
pub async fn orders(client: &Client, nos: &[i64]) -> Result<Vec<LedgerOrder>> {
    let rows = client.query(&client.prepare_cached(ORDERS).await?, &[&nos]).await?;
    let made = rows.iter().map(|row| {
        Ok(read!(row => LedgerOrder {
            scenario, flow, queue, start_at, created_at, finished_at, running_since, ready_since;
            is_postponed: row.get::<_, Option<bool>>("is_postponed").unwrap_or_default(),
            no: OrderNo(row.get("no")),
            mode: word(row, "mode", "orders.mode")?,
        }))
    });
    made.collect()
}
