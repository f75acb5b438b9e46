//! Promises of orders (ORD-31): when it is time to look whether one will be kept, and which orders are in jeopardy.
//!
//! A row of `promises` is made and ended by the database, with the life of its order. A look takes rows for a while
//! and locks none of them beyond a statement: orders are locked first, as everywhere.

mod lives;

use std::time::Duration;

use jiff::Timestamp;
use pagurus_domain::id::OrderNo;
use pagurus_domain::order::Status;
use pagurus_domain::promise::{EnteredState, PromisedOrder, ReachedState};
use serde_json::Value;

use crate::columns::columns;
use crate::row::word;
use crate::sql::{shown_status, statements};
use crate::{Client, Connection, Result, Tx};
pub(crate) use lives::STATEMENTS as LIFE_STATEMENTS;
pub use lives::{FinishedLife, RecentLives, ended, entries_of, learn, recent_lives, remaining_times};

statements! {
    // The same row is taken again where the one that took it did not get on with it.
    TAKE = "
        UPDATE promises p SET look_at = clock_timestamp() + make_interval(secs => $1)
         WHERE p.order_no = ANY(ARRAY(
               SELECT order_no FROM promises WHERE look_at >= $3 AND look_at < statement_timestamp()
                ORDER BY look_at LIMIT $2 FOR UPDATE SKIP LOCKED))
        RETURNING p.order_no, p.ended, p.promise_at";
    // A state that was entered stands in the last event that tells of it.
    STANDS = concat!("
        SELECT o.no, o.id, o.flow, o.queue, o.life, o.promise_at, s.name AS scenario, o.step, o.started_at, o.start_at,
               ", shown_status!(), " AS status, d.due_at, r.since AS ready_since, r.position, now() AS now,
               (SELECT h.detail FROM history h
                 WHERE h.order_no = ANY(ARRAY[o.no]) AND h.life = o.life AND h.kind = 'stage'
                   AND strpos(h.detail, '\"to\":' || to_json(o.step)::text) > 0
                 ORDER BY h.number DESC LIMIT 1) AS moved
          FROM orders o
          JOIN scenarios s ON s.no = ANY(ARRAY[o.scenario])
          LEFT JOIN running w ON w.order_no = ANY(ARRAY[o.no])
          LEFT JOIN ready r ON r.order_no = ANY(ARRAY[o.no])
          LEFT JOIN due d ON d.order_no = ANY(ARRAY[o.no])
         WHERE o.no = ANY($1::bigint[]) AND o.promise_at IS NOT NULL AND o.finished_at IS NULL");
    LOOK_AGAIN = "
        UPDATE promises p SET look_at = t.look_at
          FROM (SELECT l.order_no, n.look_at FROM promises l, unnest($1::bigint[], $2::timestamptz[]) AS n (no, look_at)
                 WHERE l.order_no = ANY(ARRAY[n.no]) AND l.marked_at IS NULL AND NOT l.ended
                   FOR UPDATE OF l SKIP LOCKED) AS t
         WHERE p.order_no = ANY(ARRAY[t.order_no])";
    // Once for each life: the orders are locked, and nobody else marks them.
    MARK = "
        UPDATE promises p SET marked_at = now(), expected_at = t.expected_at, cause = t.cause, look_at = 'infinity'
          FROM unnest($1::bigint[], $2::timestamptz[], $3::timestamptz[], $4::text[])
               AS t (no, promise_at, expected_at, cause)
         WHERE p.order_no = ANY(ARRAY[t.no]) AND p.promise_at = t.promise_at AND p.marked_at IS NULL AND NOT p.ended
        RETURNING p.order_no";
    OF_ORDER = "
        SELECT marked_at, expected_at, cause FROM promises
         WHERE order_no = $1 AND marked_at IS NOT NULL AND NOT ended";
    DROP = "DELETE FROM promises WHERE order_no = ANY($1::bigint[]) AND ended";
    IN_JEOPARDY = "
        SELECT count(*)::float8 AS counted
          FROM (SELECT FROM promises WHERE marked_at IS NOT NULL AND NOT ended LIMIT $1) AS marked";
}

/// Promises whose time to look has come.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TakenPromises {
    /// Orders that have not ended.
    pub open: Vec<i64>,
    /// Lives that have ended, with their promises.
    pub ended: Vec<(i64, Timestamp)>,
}

impl TakenPromises {
    /// Number of them.
    #[must_use]
    pub const fn len(&self) -> usize {
        self.open.len() + self.ended.len()
    }

    /// True where there is none.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// Takes promises whose time to look has come, from the first on ([`crate::upkeep::first`]), at most `limit`; nobody else
/// gets them for this time.
pub async fn take(
    client: &impl Connection,
    first: Timestamp,
    time: Duration,
    limit: i64,
) -> Result<TakenPromises> {
    let statement = client.prepare_cached(TAKE).await?;
    let mut taken = TakenPromises::default();
    for row in client.query(&statement, &[&time.as_secs_f64(), &limit, &first]).await? {
        let no = row.get("order_no");
        if row.get("ended") {
            taken.ended.push((no, row.get("promise_at")));
        } else {
            taken.open.push(no);
        }
    }
    Ok(taken)
}

/// Stand of an order with a promise.
#[derive(Clone, Debug)]
pub struct PromiseStand {
    /// Our number.
    pub no: OrderNo,
    /// The client's id.
    pub id: String,
    /// Name of the scenario.
    pub scenario: String,
    /// Flow marker.
    pub flow: String,
    /// The queue, with its place there where it is a member.
    pub queue: Option<(String, i64)>,
    /// Time since which it waits for a worker; none where it does not.
    pub ready_since: Option<Timestamp>,
    /// Everything that it is judged by but the wait for a worker.
    pub order: PromisedOrder,
    /// Time of the database.
    pub now: Timestamp,
}

/// Stands of these orders, without those that have ended.
pub async fn stands(client: &impl Connection, nos: &[i64]) -> Result<Vec<PromiseStand>> {
    let statement = client.prepare_cached(STANDS).await?;
    let rows = client.query(&statement, &[&nos]).await?;
    rows.iter().map(read_stand).collect()
}

fn read_stand(row: &tokio_postgres::Row) -> Result<PromiseStand> {
    let status: Status = word(row, "status", "orders.status")?;
    // The end of a wait or of a polling is a bound from above.
    let ends = matches!(status, Status::Sleep | Status::Retry | Status::Postponed);
    let due: Option<Timestamp> = row.get::<_, Option<Timestamp>>("due_at").filter(|_| ends);
    let later: Option<Timestamp> =
        row.get::<_, Option<Timestamp>>("start_at").filter(|_| status == Status::Postponed);
    let (queue, position): (Option<String>, Option<i64>) = (row.get("queue"), row.get("position"));
    Ok(PromiseStand {
        no: OrderNo(row.get("no")),
        id: row.get("id"),
        scenario: row.get("scenario"),
        flow: row.get("flow"),
        queue: queue.zip(position),
        ready_since: row.get("ready_since"),
        order: PromisedOrder {
            promise_at: row.get("promise_at"),
            reached: reached(row.get("step"), row.get("started_at"), row.get("moved")),
            not_before: due.max(later),
            start: None,
        },
        now: row.get("now"),
    })
}

/// State that an order has reached, by its present state and the last event that tells of it.
fn reached(step: Option<String>, started_at: Option<Timestamp>, moved: Option<String>) -> ReachedState {
    let Some(started_at) = started_at else { return ReachedState::Nothing };
    let Some(state) = step else { return ReachedState::Start(started_at) };
    let moved = moved.and_then(|detail| serde_json::from_str::<Value>(&detail).ok());
    let moves = moved.as_ref().map(pagurus_domain::promise::entries).unwrap_or_default();
    let last = moves.into_iter().rev().find(|entered: &EnteredState| entered.state == state);
    last.map_or(ReachedState::Start(started_at), ReachedState::State)
}

/// Says when these are looked at again; passes over those that have ended meanwhile.
pub async fn look_again(client: &impl Connection, next: &[(OrderNo, Timestamp)]) -> Result<()> {
    if next.is_empty() {
        return Ok(());
    }
    let nos: Vec<i64> = next.iter().map(|(no, _)| no.0).collect();
    let at: Vec<Timestamp> = next.iter().map(|(_, at)| *at).collect();
    client.execute(&client.prepare_cached(LOOK_AGAIN).await?, &[&nos, &at]).await?;
    Ok(())
}

/// The mark of an order in jeopardy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JeopardyMark {
    /// Time since which it is in jeopardy.
    pub since: Timestamp,
    /// Time at which nine of ten orders like it would have ended.
    pub expected_at: Timestamp,
    /// Why, in words.
    pub cause: String,
}

/// An order that is to be marked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewJeopardy {
    /// The order.
    pub no: OrderNo,
    /// The promise by which it was judged.
    pub promise_at: Timestamp,
    /// Time at which nine of ten orders like it would have ended.
    pub expected_at: Timestamp,
    /// Why, in words.
    pub cause: String,
}

/// Marks locked orders; answers with the numbers of those that were not marked in this life before.
pub async fn mark(tx: &Tx<'_>, orders: &[NewJeopardy]) -> Result<Vec<i64>> {
    if orders.is_empty() {
        return Ok(Vec::new());
    }
    let columns = columns!(one in orders => {
        no: i64 = one.no.0,
        promise_at: Timestamp = one.promise_at,
        expected_at: Timestamp = one.expected_at,
        cause: &str = one.cause.as_str(),
    });
    let rows = columns.query(tx, MARK, &[]).await?;
    Ok(rows.iter().map(|row| row.get("order_no")).collect())
}

/// The mark of an order, while it has one.
pub async fn of_order(client: &Client, no: OrderNo) -> Result<Option<JeopardyMark>> {
    let statement = client.prepare_cached(OF_ORDER).await?;
    Ok(client.query_opt(&statement, &[&no.0]).await?.map(|row| JeopardyMark {
        since: row.get("marked_at"),
        expected_at: row.get("expected_at"),
        cause: row.get("cause"),
    }))
}

/// Forgets ended lives that were taken into account.
pub async fn forget(tx: &Tx<'_>, nos: &[i64]) -> Result<()> {
    tx.execute(&tx.prepare_cached(DROP).await?, &[&nos]).await?;
    Ok(())
}

/// Number of orders in jeopardy, counted up to a bound.
pub async fn in_jeopardy(client: &Client, most: i64) -> Result<f64> {
    let statement = client.prepare_cached(IN_JEOPARDY).await?;
    Ok(client.query_one(&statement, &[&most]).await?.get("counted"))
}
