//! The first row of each list that is ordered by time. Looks begin where the last one ended ([`LowWater`]): under a snapshot
//! that somebody holds, what was deleted stays in the index, and would be walked over by each look (QLT-2).

use jiff::Timestamp;
use pagurus_domain::activation::Stream;
use pagurus_domain::low_water::LowWater;
use tokio_postgres::types::ToSql;

use crate::sql::statements;
use crate::{Client, Result};

statements! {
    // No further than somebody would rest: what is deleted and lies in the future is not walked over either.
    DUE = "
        SELECT clock_timestamp() AS now,
               (SELECT due_at FROM due
                 WHERE stream = $2 AND due_at >= coalesce($1, '-infinity'::timestamptz)
                   AND due_at <= statement_timestamp() + interval '1 second'
                 ORDER BY due_at LIMIT 1) AS at";
    WOKEN = "
        SELECT clock_timestamp() AS now,
               (SELECT repeat_at FROM ready WHERE repeat_at >= coalesce($1, '-infinity'::timestamptz)
                 ORDER BY repeat_at LIMIT 1) AS at";
    REPEATS = "
        SELECT clock_timestamp() AS now,
               (SELECT repeat_at FROM ready
                 WHERE repeat_at >= coalesce($1, '-infinity'::timestamptz) AND repeat_at <= statement_timestamp()
                 ORDER BY repeat_at LIMIT 1) AS at";
    OVERDUE = "
        SELECT clock_timestamp() AS now,
               (SELECT deadline_at FROM running
                 WHERE deadline_at >= coalesce($1, '-infinity'::timestamptz) AND deadline_at <= statement_timestamp()
                 ORDER BY deadline_at LIMIT 1) AS at";
    DEADLINES = "
        SELECT clock_timestamp() AS now,
               (SELECT at FROM deadlines
                 WHERE at >= coalesce($1, '-infinity'::timestamptz) AND at <= statement_timestamp()
                 ORDER BY at LIMIT 1) AS at";
    SUSPENSIONS = "
        SELECT clock_timestamp() AS now,
               (SELECT at FROM suspensions
                 WHERE at >= coalesce($1, '-infinity'::timestamptz) AND at <= statement_timestamp()
                 ORDER BY at LIMIT 1) AS at";
    PROMISES = "
        SELECT clock_timestamp() AS now,
               (SELECT look_at FROM promises
                 WHERE look_at >= coalesce($1, '-infinity'::timestamptz) AND look_at <= statement_timestamp()
                 ORDER BY look_at LIMIT 1) AS at";
    OUTBOX = "
        SELECT clock_timestamp() AS now,
               (SELECT next_at FROM outbox
                 WHERE parked_because IS NULL AND receiver IS NULL
                   AND next_at >= coalesce($1, '-infinity'::timestamptz) AND next_at <= statement_timestamp()
                 ORDER BY next_at LIMIT 1) AS at";
}

/// A list that is ordered by time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TimedList {
    /// Orders that are due in a stream, now or within a second.
    Due(Stream),
    /// Commands of what was woken, by the time of their repeat; whenever that is. It lies ahead of the clock when they are
    /// written, so that nothing is ever put before the first.
    Woken,
    /// The same that are to be repeated now.
    Repeats,
    /// Stages in progress whose time is over.
    Overdue,
    /// Deadlines of orders that have passed.
    Deadlines,
    /// Suspended orders whose clients are to be notified now that they stand still.
    Suspensions,
    /// Promises that are to be looked at now.
    Promises,
    /// Notifications for the broker that are to be sent now. Those for receivers over HTTP have a mark for each
    /// receiver ([`crate::hot::outbox::webhooks`]).
    Outbox,
}

/// The first of a list.
#[derive(Clone, Copy, Debug)]
pub struct First {
    /// The time of the first row; none where there is no such row.
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

    /// The time before which nothing is left.
    fn least(&self, list: TimedList) -> Timestamp {
        match (self.at, list) {
            (None, _) => self.now,
            (Some(at), TimedList::Woken) => at,
            (Some(at), _) => at.min(self.now),
        }
    }
}

/// The first row of a list.
pub async fn look(client: &Client, list: TimedList, low_water: &mut LowWater) -> Result<First> {
    let look = low_water.begin(Timestamp::now());
    let stream;
    let (statement, parameters): (&str, Vec<&(dyn ToSql + Sync)>) = match list {
        TimedList::Due(of) => {
            stream = of.number();
            (DUE, vec![&look.from, &stream])
        }
        TimedList::Woken => (WOKEN, vec![&look.from]),
        TimedList::Repeats => (REPEATS, vec![&look.from]),
        TimedList::Overdue => (OVERDUE, vec![&look.from]),
        TimedList::Deadlines => (DEADLINES, vec![&look.from]),
        TimedList::Suspensions => (SUSPENSIONS, vec![&look.from]),
        TimedList::Promises => (PROMISES, vec![&look.from]),
        TimedList::Outbox => (OUTBOX, vec![&look.from]),
    };
    let row = client.query_one(&client.prepare_cached(statement).await?, &parameters).await?;
    let first = First { at: row.get("at"), now: row.get("now") };
    low_water.end(look, Timestamp::now(), first.least(list));
    Ok(first)
}
