//! Stages that may run, as they are read from `ready`.

use std::time::Duration;

use pagurus_domain::activation::Stream;
use pagurus_domain::id::{Attempt, OrderNo};
use pagurus_domain::order::Priority;

use crate::Result;
use crate::row::word;

/// A stage that may run, as the dispatcher needs to know it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReadyStage {
    /// The order.
    pub no: OrderNo,
    /// Number that the hand-out will have.
    pub attempt: Attempt,
    /// Flow marker.
    pub flow: String,
    /// Urgency.
    pub priority: Priority,
    /// Queue and position of a sequential order.
    pub place: Option<(String, i64)>,
    /// True where it stands among those that fresh ones go beside in turn.
    pub woken: bool,
}

/// A stage that may run, as it stands among the others.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReadyRow {
    /// The stage.
    pub stage: ReadyStage,
    /// Stream that woke it, if one did.
    pub stream: Option<Stream>,
    /// Time since it may run.
    pub waited: Duration,
}

/// Reads a row that has the seven columns of `ready` that the dispatcher needs.
pub(crate) fn read_ready(row: &tokio_postgres::Row) -> Result<ReadyStage> {
    Ok(ReadyStage {
        no: OrderNo(row.get("order_no")),
        attempt: Attempt(row.get("attempt")),
        flow: row.get("flow"),
        priority: word(row, "priority", "ready.priority")?,
        place: row.get::<_, Option<String>>("queue").zip(row.get("position")),
        woken: row.get("woken"),
    })
}
