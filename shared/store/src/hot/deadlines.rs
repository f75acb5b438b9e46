//! Deadlines of orders: until when a life must have begun, and must have ended. The time for all of a life begins when its
//! order may start (ORD-17).

use std::time::Duration;

use jiff::Timestamp;

use crate::columns::columns;
use crate::sql::statements;
use crate::{Result, Tx};

statements! {
    SET = "
        INSERT INTO deadlines (order_no, kind, at, seconds)
        SELECT * FROM unnest($1::bigint[], $2::text[], $3::timestamptz[], $4::double precision[])
                   AS t (order_no, kind, at, seconds)
        ON CONFLICT (order_no, kind) DO UPDATE SET at = excluded.at, seconds = excluded.seconds";
    BEGIN = "
        UPDATE deadlines SET at = clock_timestamp() + make_interval(secs => seconds)
         WHERE order_no = ANY($1::bigint[]) AND kind = 'process' AND at IS NULL";
    HALT = "UPDATE deadlines SET at = NULL WHERE order_no = $1 AND kind = 'process' AND seconds IS NOT NULL";
}

/// A deadline of an order.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Deadline {
    no: i64,
    kind: &'static str,
    /// Time of the deadline; `None` while the order may not start.
    at: Option<Timestamp>,
    length: Option<Duration>,
}

impl Deadline {
    /// The deadlines of a life that may start `from` then; `None` where it waits for its start conditions.
    pub fn of_life(
        no: i64,
        from: Option<Timestamp>,
        start: Option<Timestamp>,
        process: Option<Duration>,
    ) -> impl Iterator<Item = Self> {
        let start = start.map(|at| Self { no, kind: "start", at: Some(at), length: None });
        // A length beyond all times is none.
        let process = process.filter(|length| from.is_none_or(|from| from.checked_add(*length).is_ok()));
        let process = process.map(|length| {
            let at = from.and_then(|from| from.checked_add(length).ok());
            Self { no, kind: "process", at, length: Some(length) }
        });
        [start, process].into_iter().flatten()
    }
}

/// Writes deadlines over those that their orders had.
pub(crate) async fn set(tx: &Tx<'_>, deadlines: &[Deadline]) -> Result<()> {
    if !deadlines.is_empty() {
        let columns = columns!(deadline in deadlines => {
            order_no: i64 = deadline.no,
            kind: &str = deadline.kind,
            at: Option<Timestamp> = deadline.at,
            seconds: Option<f64> = deadline.length.map(|length| length.as_secs_f64()),
        });
        columns.execute(tx, SET, &[]).await?;
    }
    Ok(())
}

/// Begins the time of those of these lives that may start now.
pub(crate) async fn begin(tx: &Tx<'_>, orders: &[i64]) -> Result<()> {
    tx.execute(&tx.prepare_cached(BEGIN).await?, &[&orders]).await?;
    Ok(())
}

/// Halts the time of an order that is to start later than it could have.
pub(crate) async fn halt(tx: &Tx<'_>, no: i64) -> Result<()> {
    tx.execute(&tx.prepare_cached(HALT).await?, &[&no]).await?;
    Ok(())
}
