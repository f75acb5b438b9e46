//! Lines of lists of orders.

use jiff::Timestamp;
use pagurus_domain::order::labels::Labels;
use pagurus_domain::order::{ScenarioStatus, Status};

use crate::row::word;
use crate::sql::{shown_status, statements};
use crate::{Connection, Result};

statements! {
    LINES = concat!("
        SELECT o.no, o.id, s.name AS scenario, s.version,
               ", shown_status!(), " AS status,
               o.scenario_status, o.step, o.created_at, o.updated_at, o.error_class, o.labels::text AS labels,
               EXISTS (SELECT FROM inconsistencies i WHERE i.order_no = ANY(ARRAY[o.no])) AS inconsistent,
               EXISTS (SELECT FROM promises j
                        WHERE j.order_no = ANY(ARRAY[o.no]) AND j.marked_at IS NOT NULL AND NOT j.ended) AS jeopardy
          FROM orders o
          JOIN scenarios s ON s.no = o.scenario
          LEFT JOIN running w ON w.order_no = ANY(ARRAY[o.no])
          LEFT JOIN ready r ON r.order_no = ANY(ARRAY[o.no])
         WHERE o.no = ANY($1::bigint[])
         ORDER BY o.no DESC");
}

/// A line of a list of orders.
#[derive(Clone, Debug)]
pub struct ListedOrder {
    /// Our number.
    pub no: i64,
    /// The client's id.
    pub id: String,
    /// Name of the scenario.
    pub scenario: String,
    /// Version of the scenario.
    pub scenario_version: i32,
    /// Present status.
    pub status: Status,
    /// Relation of the order to its target.
    pub scenario_status: ScenarioStatus,
    /// Present state.
    pub step: Option<String>,
    /// Registered at.
    pub created_at: Timestamp,
    /// Last change.
    pub updated_at: Timestamp,
    /// Class of the error.
    pub error_class: Option<String>,
    /// Labels.
    pub labels: Labels,
    /// True if it has the mark of the consistency check.
    pub inconsistent: bool,
    /// True where it will probably be late.
    pub jeopardy: bool,
}

/// The lines of these orders, the newest first.
pub async fn lines(client: &impl Connection, nos: &[i64]) -> Result<Vec<ListedOrder>> {
    let statement = client.prepare_cached(LINES).await?;
    let rows = client.query(&statement, &[&nos]).await?;
    rows.iter()
        .map(|row| {
            Ok(ListedOrder {
                no: row.get("no"),
                id: row.get("id"),
                scenario: row.get("scenario"),
                scenario_version: row.get("version"),
                status: word(row, "status", "orders.status")?,
                scenario_status: word(row, "scenario_status", "orders.scenario_status")?,
                step: row.get("step"),
                created_at: row.get("created_at"),
                updated_at: row.get("updated_at"),
                error_class: row.get("error_class"),
                labels: Labels::of_stored(row.get("labels")),
                inconsistent: row.get("inconsistent"),
                jeopardy: row.get("jeopardy"),
            })
        })
        .collect()
}
