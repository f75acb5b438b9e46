//! The first row of each list that is ordered by time. Looks begin where the last one ended ([`LowWater`]): under a snapshot
//! that somebody holds, what was deleted stays in the index, and would be walked over by each look (QLT-2).

use jiff::Timestamp;
use pagurus_domain::activation::Stream;
use pagurus_domain::low_water::LowWater;
use tokio_postgres::types::ToSql;

use crate::sql::statements;
use crate::{Client, Result};

statements! {
    DUE = "
        SELECT clock_timestamp() AS now,
               (SELECT due_at FROM due WHERE stream = $2 AND due_at >= coalesce($1, '-infinity'::timestamptz)
                 ORDER BY due_at LIMIT 1) AS at";
    REPEATS = "
        SELECT clock_timestamp() AS now,
               (SELECT repeat_at FROM ready WHERE repeat_at >= coalesce($1, '-infinity'::timestamptz)
                 ORDER BY repeat_at LIMIT 1) AS at";
    OVERDUE = "
        SELECT clock_timestamp() AS now,
               (SELECT deadline_at FROM running WHERE deadline_at >= coalesce($1, '-infinity'::timestamptz)
                 ORDER BY deadline_at LIMIT 1) AS at";
    DEADLINES = "
        SELECT clock_timestamp() AS now,
               (SELECT at FROM deadlines WHERE at >= coalesce($1, '-infinity'::timestamptz) ORDER BY at LIMIT 1) AS at";
    OUTBOX = "
        SELECT clock_timestamp() AS now,
               (SELECT next_at FROM outbox
                 WHERE parked_because IS NULL AND receiver IS NULL AND next_at >= coalesce($1, '-infinity'::timestamptz)
                 ORDER BY next_at LIMIT 1) AS at";
}

/// A list that is ordered by time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TimedList {
    /// What is due in a stream.
    Due(Stream),
    /// Commands that are to be repeated if nobody follows them.
    Repeats,
    /// Stages in progress, by the end of their time.
    Overdue,
    /// Deadlines of orders.
    Deadlines,
    /// Notifications for the broker, by the next attempt.
    Outbox,
}

/// The first of a list.
#[derive(Clone, Copy, Debug)]
pub struct First {
    /// The time of the first row; none in an empty list.
    pub at: Option<Timestamp>,
    /// The database's clock.
    pub now: Timestamp,
}

impl First {
    /// The time of the first row, if it has come.
    #[must_use]
    pub fn come(&self) -> Option<Timestamp> {
        self.at.filter(|at| *at <= self.now)
    }
}

/// The first row of a list.
///
/// # Errors
/// The database fails.
pub async fn look(client: &Client, list: TimedList, low_water: &mut LowWater) -> Result<First> {
    let look = low_water.begin(Timestamp::now());
    let stream;
    let (statement, parameters): (&str, Vec<&(dyn ToSql + Sync)>) = match list {
        TimedList::Due(of) => {
            stream = of.number();
            (DUE, vec![&look.from, &stream])
        }
        TimedList::Repeats => (REPEATS, vec![&look.from]),
        TimedList::Overdue => (OVERDUE, vec![&look.from]),
        TimedList::Deadlines => (DEADLINES, vec![&look.from]),
        TimedList::Outbox => (OUTBOX, vec![&look.from]),
    };
    let row = client.query_one(&client.prepare_cached(statement).await?, &parameters).await?;
    let first = First { at: row.get("at"), now: row.get("now") };
    low_water.end(look, Timestamp::now(), first.at.map_or(first.now, |at| at.min(first.now)));
    Ok(first)
}
