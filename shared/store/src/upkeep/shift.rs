//! Shifts of what runs by time (DSP-11): the times at which orders wait, poll or retry, and with them every deadline of
//! the same orders; and the deadlines of all others that would run out while their flow is stopped. Many orders a
//! statement; the orders must be locked.

use std::time::Duration;

use jiff::Timestamp;
use pagurus_domain::activation::Stream;
use pagurus_domain::id::OrderNo;
use pagurus_domain::number::saturated;
use tokio_postgres::Row;
use tokio_postgres::types::ToSql;

use crate::columns::columns;
use crate::row::read;
use crate::sql::statements;
use crate::{Client, Connection, Result, Tx};

statements! {
    DUE_UNMOVED = "
        SELECT d.order_no, d.due_at FROM due d
         WHERE d.order_no = $2 AND d.due_at IS NOT NULL
           AND NOT EXISTS (SELECT FROM shifted s WHERE s.shift = $1 AND s.order_no = d.order_no)";
    COUNT_DUE = "
        SELECT count(*) AS orders FROM (
            SELECT d.order_no FROM due d JOIN orders o ON o.no = ANY(ARRAY[d.order_no])
             WHERE d.stream = ANY($1::smallint[]) AND d.due_at >= $2 AND d.due_at < $3 AND strpos(o.flow, $4) > 0
            UNION
            SELECT l.order_no FROM deadlines l JOIN orders o ON o.no = ANY(ARRAY[l.order_no])
             WHERE $5 AND l.at >= $2 AND l.at < $3 AND strpos(o.flow, $4) > 0) AS concerned";
    BEGIN = "
        INSERT INTO shifts (keyword, seconds, from_at, until_at, reason, made_by, key, asked)
        VALUES ($1, $2, $3, $4, $5, $6, $7, $8)
        ON CONFLICT (key) DO UPDATE SET key = excluded.key RETURNING no, (xmax = 0) AS is_new, asked,
               moved_at IS NOT NULL AS is_moved";
    NOTE_MOVED = "UPDATE shifts SET moved_at = clock_timestamp() WHERE no = $1 AND moved_at IS NULL";
    COUNT_MOVED = "SELECT count(*) AS orders FROM shifted WHERE shift = $1";
    // In the order of the index, so that rows of other flows are passed once.
    NEXT_DUE = "
        SELECT d.order_no, d.due_at FROM due d JOIN orders o ON o.no = ANY(ARRAY[d.order_no])
         WHERE d.stream = $1 AND d.due_at >= $2 AND d.due_at < $3 AND (d.due_at, d.order_no) > ($4, $5)
           AND strpos(o.flow, $6) > 0
           AND NOT EXISTS (SELECT FROM shifted s WHERE s.shift = $7 AND s.order_no = d.order_no)
         ORDER BY d.due_at, d.order_no LIMIT $8";
    NEXT_HELD = "
        SELECT l.order_no, l.at AS due_at FROM deadlines l JOIN orders o ON o.no = ANY(ARRAY[l.order_no])
         WHERE l.at >= $1 AND l.at < $2 AND (l.at, l.order_no) > ($3, $4) AND strpos(o.flow, $5) > 0
           AND NOT EXISTS (SELECT FROM shifted s WHERE s.shift = $6 AND s.order_no = l.order_no)
         ORDER BY l.at, l.order_no LIMIT $7";
    NEXT_SHIFTED = "
        SELECT s.order_no, s.due_at FROM shifted s WHERE s.shift = $1 AND s.order_no > $2 ORDER BY s.order_no LIMIT $3";
    // One that is being undone may be undone further, and moved no more.
    SHIFT = "
        SELECT keyword, seconds, from_at, until_at, reason FROM shifts
         WHERE no = $1 AND undone_at IS NULL AND (undoing_at IS NULL OR $2)";
    UNDOING = "
        UPDATE shifts SET undoing_at = clock_timestamp(), moved_at = coalesce(moved_at, clock_timestamp())
         WHERE no = $1 AND undoing_at IS NULL";
    // An undo waits for this batch; the next batch finds that the shift is undone.
    MOVES = "SELECT no FROM shifts WHERE no = $1 AND undoing_at IS NULL FOR SHARE";
    UNDONE = "UPDATE shifts SET undone_at = clock_timestamp() WHERE no = $1";
    MOVE_DUE = "
        UPDATE due d SET due_at = d.due_at + make_interval(secs => $3)
          FROM unnest($1::bigint[], $2::timestamptz[]) AS t (no, due_at)
         WHERE d.order_no = ANY(ARRAY[t.no]) AND d.due_at = t.due_at
        RETURNING d.order_no, d.due_at, d.stream";
    MOVE_DEADLINES = "UPDATE deadlines SET at = at + make_interval(secs => $2) WHERE order_no = ANY($1::bigint[])";
    // An order of which no deadline is what it was has gone on.
    MOVE_HELD = "
        WITH still AS (SELECT DISTINCT ON (t.no) t.no, t.at FROM unnest($1::bigint[], $2::timestamptz[]) AS t (no, at)
                         JOIN deadlines l ON l.order_no = ANY(ARRAY[t.no]) AND l.at = ANY(ARRAY[t.at]) ORDER BY t.no, t.at)
        UPDATE deadlines l SET at = l.at + make_interval(secs => $3) FROM still s WHERE l.order_no = ANY(ARRAY[s.no])
        RETURNING l.order_no, s.at + make_interval(secs => $3) AS due_at";
    MOVE_STARTS = "
        UPDATE orders SET start_deadline = start_deadline + make_interval(secs => $2)
         WHERE no = ANY($1::bigint[]) AND start_deadline IS NOT NULL";
    MOVE_TASKS = "
        UPDATE requests SET task_ends_at = task_ends_at + make_interval(secs => $2),
               wait_ends_at = wait_ends_at + make_interval(secs => $2)
         WHERE order_no = ANY($1::bigint[]) AND status = 'open'";
    NOTE = "
        INSERT INTO shifted (shift, order_no, due_at)
        SELECT $3, t.no, t.due_at FROM unnest($1::bigint[], $2::timestamptz[]) AS t (no, due_at)
        ON CONFLICT (shift, order_no) DO NOTHING";
    FORGET = "DELETE FROM shifted WHERE shift = $1 AND order_no = ANY($2::bigint[])";
}

/// Streams that a shift moves: waits for callbacks, attempts of polling, and retries.
const STREAMS: [Stream; 3] = [Stream::Wait, Stream::Polling, Stream::Retry];

/// Times of orders, from the first on and before the second.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Window {
    /// From here on.
    pub from: Timestamp,
    /// Before this; later than anything is due where there is no stop, and only what waits is moved.
    pub until: Timestamp,
}

impl Window {
    /// All times from this one on.
    #[must_use]
    pub fn open(from: Timestamp) -> Self {
        Self { from, until: far_away() }
    }

    /// True if it is the time of a stop: then nothing of its flows goes on meanwhile, and every deadline within it is
    /// moved behind its end.
    fn is_of_stop(self) -> bool {
        self.until < far_away()
    }
}

/// Later than anything is due.
fn far_away() -> Timestamp {
    "9999-01-01T00:00:00Z".parse().unwrap_or(Timestamp::MAX)
}

/// Orders that are moved, how far, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shift {
    /// Flows whose name contains it.
    pub keyword: String,
    /// Distance.
    pub distance: Duration,
    /// Window of the times that are moved.
    pub window: Window,
    /// Why.
    pub reason: String,
}

impl Shift {
    /// Shift of what is due while flows are stopped, by the length of the stop: so it comes at its pace afterwards, too.
    #[must_use]
    pub fn behind(keyword: &str, window: Window, reason: String) -> Self {
        let distance = window.until.duration_since(window.from).unsigned_abs();
        Self { keyword: keyword.to_owned(), distance, window, reason }
    }
}

/// An order with the time at which it is due.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DueOrder {
    /// The order.
    pub no: OrderNo,
    /// Time at which it is due.
    pub due_at: Timestamp,
}

/// Number of orders of flows with a keyword that are moved for a window.
pub async fn count(client: &Client, keyword: &str, window: Window) -> Result<u64> {
    let streams = STREAMS.map(Stream::number);
    let statement = client.prepare_cached(COUNT_DUE).await?;
    let row = client
        .query_one(&statement, &[&&streams[..], &window.from, &window.until, &keyword, &window.is_of_stop()])
        .await?;
    Ok(saturated::<u64>(row.get::<_, i64>("orders")))
}

/// The client's name for the request of a shift, with the digest of what it asks.
#[derive(Clone, Copy, Debug)]
pub struct ShiftKey<'a> {
    /// The name.
    pub name: &'a str,
    /// The digest.
    pub digest: &'a str,
}

/// A shift that was begun now, or before by a request of the same key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BegunShift {
    /// Number.
    pub no: i64,
    /// False where a request of the same key had begun it before.
    pub is_new: bool,
    /// Digest of what the key was used for.
    pub asked: Option<String>,
    /// True if everything was moved that was to be.
    pub is_moved: bool,
}

/// Begins a shift, or finds the one that a request of the same key has begun.
pub async fn begin(
    on: &impl Connection,
    shift: &Shift,
    by: &str,
    key: Option<ShiftKey<'_>>,
) -> Result<BegunShift> {
    let Shift { keyword, distance, window, reason } = shift;
    let statement = on.prepare_cached(BEGIN).await?;
    let seconds = distance.as_secs_f64();
    let (name, digest) = key.map(|key| (key.name, key.digest)).unzip();
    let row = on
        .query_one(&statement, &[keyword, &seconds, &window.from, &window.until, reason, &by, &name, &digest])
        .await?;
    Ok(read!(row => BegunShift { no, is_new, asked, is_moved }))
}

/// Notes that a shift has moved everything that was to be.
pub async fn note_moved(client: &Client, shift: i64) -> Result<()> {
    client.execute(&client.prepare_cached(NOTE_MOVED).await?, &[&shift]).await?;
    Ok(())
}

/// Number of orders that a shift has moved so far.
pub async fn count_moved(client: &Client, shift: i64) -> Result<u64> {
    let row = client.query_one(&client.prepare_cached(COUNT_MOVED).await?, &[&shift]).await?;
    Ok(saturated::<u64>(row.get::<_, i64>("orders")))
}

/// A walk through what a shift is to move.
#[derive(Clone, Debug)]
pub struct DueWalk<'a> {
    /// The shift.
    pub shift: i64,
    /// Flows whose name contains it.
    pub keyword: &'a str,
    /// Times.
    pub window: Window,
    stream: usize,
    after: (Timestamp, i64),
}

impl<'a> DueWalk<'a> {
    /// Starts a walk from the beginning.
    #[must_use]
    pub const fn new(shift: i64, keyword: &'a str, window: Window) -> Self {
        Self { shift, keyword, window, stream: 0, after: (window.from, 0) }
    }

    /// The next orders, at most `limit`; none when all were seen.
    pub async fn next(&mut self, client: &Client, limit: i64) -> Result<Vec<DueOrder>> {
        while self.stream < STREAMS.len() + usize::from(self.window.is_of_stop()) {
            let rows = match STREAMS.get(self.stream) {
                Some(stream) => self.next_due(client, *stream, limit).await?,
                None => self.next_held(client, limit).await?,
            };
            if let Some(last) = rows.last() {
                self.after = (last.get("due_at"), last.get("order_no"));
                return Ok(rows.iter().map(read_due).collect());
            }
            (self.stream, self.after) = (self.stream + 1, (self.window.from, 0));
        }
        Ok(Vec::new())
    }

    async fn next_due(&self, client: &Client, stream: Stream, limit: i64) -> Result<Vec<Row>> {
        let statement = client.prepare_cached(NEXT_DUE).await?;
        let (Window { from, until }, (at, no)) = (self.window, self.after);
        let number = stream.number();
        let values: [&(dyn ToSql + Sync); 8] =
            [&number, &from, &until, &at, &no, &self.keyword, &self.shift, &limit];
        Ok(client.query(&statement, &values).await?)
    }

    /// Orders that stand still because of the stop, wherever they are, with a deadline of theirs.
    async fn next_held(&self, client: &Client, limit: i64) -> Result<Vec<Row>> {
        let statement = client.prepare_cached(NEXT_HELD).await?;
        let (Window { from, until }, (at, no)) = (self.window, self.after);
        let values: [&(dyn ToSql + Sync); 7] = [&from, &until, &at, &no, &self.keyword, &self.shift, &limit];
        Ok(client.query(&statement, &values).await?)
    }
}

fn read_due(row: &Row) -> DueOrder {
    DueOrder { no: OrderNo(row.get("order_no")), due_at: row.get("due_at") }
}

/// A shift by its number; none if it is not there, or was undone.
pub async fn find(client: &Client, shift: i64, to_undo: bool) -> Result<Option<Shift>> {
    let row = client.query_opt(&client.prepare_cached(SHIFT).await?, &[&shift, &to_undo]).await?;
    Ok(row.as_ref().map(read_shift))
}

pub(crate) fn read_shift(row: &Row) -> Shift {
    Shift {
        keyword: row.get("keyword"),
        distance: Duration::try_from_secs_f64(row.get("seconds")).unwrap_or_default(),
        window: Window { from: row.get("from_at"), until: row.get("until_at") },
        reason: row.get("reason"),
    }
}

/// The orders that a shift has moved, after this one, at most `limit`.
pub async fn moved(client: &Client, shift: i64, after: OrderNo, limit: i64) -> Result<Vec<DueOrder>> {
    let statement = client.prepare_cached(NEXT_SHIFTED).await?;
    Ok(client.query(&statement, &[&shift, &after.0, &limit]).await?.iter().map(read_due).collect())
}

/// Ends the moving of a shift, since it is being undone.
pub async fn undoing(client: &Client, shift: i64) -> Result<()> {
    client.execute(&client.prepare_cached(UNDOING).await?, &[&shift]).await?;
    Ok(())
}

/// True if a shift moves orders still; it does until the end of this transaction.
pub async fn moves(tx: &Tx<'_>, shift: i64) -> Result<bool> {
    Ok(tx.query_opt(&tx.prepare_cached(MOVES).await?, &[&shift]).await?.is_some())
}

/// A shift was undone.
pub async fn undone(client: &impl Connection, shift: i64) -> Result<()> {
    client.execute(&client.prepare_cached(UNDONE).await?, &[&shift]).await?;
    Ok(())
}

/// Moves the times of locked orders by `seconds`, which may be negative: of those that are still due then. Answers
/// with these, each with its new time and stream.
pub async fn move_times(
    tx: &Tx<'_>,
    orders: &[DueOrder],
    seconds: f64,
) -> Result<Vec<(DueOrder, Option<Stream>)>> {
    let columns = columns!(one in orders => {
        no: i64 = one.no.0,
        due_at: Timestamp = one.due_at,
    });
    let rows = columns.query(tx, MOVE_DUE, &[&seconds]).await?;
    let moved: Vec<i64> = rows.iter().map(|row| row.get("order_no")).collect();
    for sql in [MOVE_DEADLINES, MOVE_STARTS, MOVE_TASKS] {
        tx.execute(&tx.prepare_cached(sql).await?, &[&moved, &seconds]).await?;
    }
    Ok(rows.iter().map(|row| (read_due(row), Stream::of_number(row.get("stream")))).collect())
}

/// Moves the deadlines of locked orders by `seconds`, which may be negative: of those of which one is still at that
/// time. Answers with these, each with that deadline as it is now.
pub async fn move_held(tx: &Tx<'_>, orders: &[DueOrder], seconds: f64) -> Result<Vec<DueOrder>> {
    if orders.is_empty() {
        return Ok(Vec::new());
    }
    let columns = columns!(one in orders => {
        no: i64 = one.no.0,
        at: Timestamp = one.due_at,
    });
    let rows = columns.query(tx, MOVE_HELD, &[&seconds]).await?;
    let mut moved: Vec<DueOrder> = rows.iter().map(read_due).collect();
    moved.sort_unstable_by_key(|one| one.no);
    moved.dedup_by_key(|one| one.no);
    let numbers: Vec<i64> = moved.iter().map(|one| one.no.0).collect();
    tx.execute(&tx.prepare_cached(MOVE_STARTS).await?, &[&numbers, &seconds]).await?;
    Ok(moved)
}

/// Notes what a shift has moved, with the new times.
pub async fn note(tx: &Tx<'_>, shift: i64, moved: &[DueOrder]) -> Result<()> {
    let columns = columns!(one in moved => {
        no: i64 = one.no.0,
        due_at: Timestamp = one.due_at,
    });
    columns.execute(tx, NOTE, &[&shift]).await?;
    Ok(())
}

/// Forgets that a shift has moved these: they were moved back.
pub async fn forget(tx: &Tx<'_>, shift: i64, orders: &[i64]) -> Result<()> {
    tx.execute(&tx.prepare_cached(FORGET).await?, &[&shift, &orders]).await?;
    Ok(())
}

/// An order that is due some time, unless this shift has moved it already.
pub async fn due_unmoved(client: &Client, shift: i64, no: OrderNo) -> Result<Option<DueOrder>> {
    let row = client.query_opt(&client.prepare_cached(DUE_UNMOVED).await?, &[&shift, &no.0]).await?;
    Ok(row.map(|row| DueOrder { no: OrderNo(row.get("order_no")), due_at: row.get("due_at") }))
}
