//! Calls from outside to live orders (SCN-9).
//!
//! A call is a row that waits until its order rests. The one that stores it wakes a resting order; the one
//! that writes the end of a stage looks for calls that came meanwhile. Both hold the order's row, so that
//! no call is passed over by both.

use std::collections::{BTreeMap, HashMap, HashSet};

use jiff::Timestamp;
use pagurus_domain::classes::CALL_ENDED;
use pagurus_domain::folded::Folded;
use pagurus_domain::id::{Life, OrderNo};
use pagurus_domain::order::change::Waking;
use pagurus_domain::order::{OrderError, Status};
use pagurus_scenario::stage::{self, CallAnswer};
use serde_json::Value;

use crate::columns::columns;
use crate::hot::control::{Locked, Place};
use crate::hot::place;
use crate::hot::ready::ReadyStage;
use crate::sql::statements;
use crate::{Client, Result, Tx};

statements! {
    STORE = "
        INSERT INTO calls (order_no, life, key, name, body) VALUES ($1, $2, $3, $4, $5)
        ON CONFLICT (order_no, key) DO NOTHING RETURNING no";
    BY_KEY = "
        SELECT no, name, body, status, answer, error_class, error_message, received_at, answered_at, key
          FROM calls WHERE order_no = $1 AND key = $2";
    ANSWERED = "
        SELECT no, name, body, status, answer, error_class, error_message, received_at, answered_at, key
          FROM calls WHERE no = ANY($1::bigint[]) AND answered_at IS NOT NULL";
    OF_ORDER = "
        SELECT no, name, body, status, answer, error_class, error_message, received_at, answered_at, key
          FROM calls WHERE order_no = $1 AND no > $2 ORDER BY no LIMIT $3";
    NUMBER = "SELECT no FROM orders WHERE id = $1";
    DROP_DUE = "DELETE FROM due WHERE order_no = $1";
    PENDING = "
        SELECT t.no AS order_no, c.no, c.name, c.body
          FROM unnest($1::bigint[], $2::integer[]) AS t (no, life)
         CROSS JOIN LATERAL (
               SELECT no, name, body FROM calls
                WHERE order_no = t.no AND life = t.life AND status = 'waiting' ORDER BY no LIMIT 100) AS c
         ORDER BY c.no";
    ANSWER = "
        UPDATE calls c SET status = a.status, answer = a.answer, error_class = a.class, error_message = a.message,
                           answered_at = now()
          FROM unnest($1::bigint[], $2::text[], $3::text[], $4::text[], $5::text[]) AS a (no, status, answer, class, message)
         WHERE c.no = ANY(ARRAY[a.no]) AND c.answered_at IS NULL";
    // Nobody will handle what still waits for an order that has ended.
    ENDED = "
        UPDATE calls SET status = 'failed', answered_at = now(), error_class = $2,
                         error_message = 'the order ended before the call could be handled'
         WHERE order_no = ANY($1::bigint[]) AND status = 'waiting'";
    WAKE = "
        DELETE FROM due d
         USING (SELECT c.order_no FROM unnest($1::bigint[]) AS t (no)
                 CROSS JOIN LATERAL (
                       SELECT order_no FROM calls
                        WHERE order_no = t.no AND status = 'waiting' AND no <> ALL($2::bigint[]) LIMIT 1) AS c) AS w
         WHERE d.order_no = ANY(ARRAY[w.order_no])
        RETURNING d.order_no";
}

/// A call as it is stored.
#[derive(Clone, Debug)]
pub struct StoredCall {
    /// Number.
    pub no: i64,
    /// The caller's key.
    pub key: String,
    /// Name.
    pub name: String,
    /// Body, as JSON.
    pub body: Value,
    /// `waiting`, `answered` or `failed`.
    pub status: String,
    /// Answer of the order.
    pub answer: Option<Value>,
    /// Why there is no answer.
    pub error: Option<OrderError>,
    /// Time at which it arrived.
    pub received_at: Timestamp,
    /// Time at which it was answered.
    pub answered_at: Option<Timestamp>,
}

fn read(row: &tokio_postgres::Row) -> StoredCall {
    let json = |text: Option<&str>| text.and_then(|text| serde_json::from_str(text).ok());
    let error = row.get::<_, Option<String>>("error_message").map(|message| OrderError {
        class: row.get("error_class"),
        message,
        ..OrderError::default()
    });
    StoredCall {
        no: row.get("no"),
        name: row.get("name"),
        body: json(Some(row.get("body"))).unwrap_or_default(),
        status: row.get("status"),
        answer: json(row.get("answer")),
        error,
        received_at: row.get("received_at"),
        answered_at: row.get("answered_at"),
        key: row.get("key"),
    }
}

/// Outcome of a call that was handed in.
#[derive(Clone, Debug)]
pub enum Submitted {
    /// The call waits for its turn; the order is ready for it, if it rested.
    Waiting(Option<ReadyStage>),
    /// A call with this key was there before.
    Known(Box<StoredCall>),
}

/// Stores a call for a locked order that is not final, and wakes the order if it rests. One that
/// has not begun yet goes on waiting for its time and its conditions, and the call with it.
pub async fn submit(tx: &Tx<'_>, order: &Locked, key: &str, name: &str, body: &Value) -> Result<Submitted> {
    let store = tx.prepare_cached(STORE).await?;
    let stored =
        tx.query_opt(&store, &[&order.head.no.0, &order.head.life.0, &key, &name, &body.to_string()]).await?;
    if stored.is_none() {
        let by_key = tx.prepare_cached(BY_KEY).await?;
        let row = tx.query_one(&by_key, &[&order.head.no.0, &key]).await?;
        return Ok(Submitted::Known(Box::new(read(&row))));
    }
    if order.place != Place::Due || order.status == Status::Postponed {
        return Ok(Submitted::Waiting(None));
    }
    tx.execute(&tx.prepare_cached(DROP_DUE).await?, &[&order.head.no.0]).await?;
    // A sleep gave the queue up: the call is handled when the order owns it again.
    let mut ready = place::wake_now(tx, &[order.head.no.0], Waking::Called(order.status)).await?;
    Ok(Submitted::Waiting(ready.pop()))
}

/// The call of this key of a locked order.
pub async fn of_key(tx: &Tx<'_>, no: OrderNo, key: &str) -> Result<Option<StoredCall>> {
    let by_key = tx.prepare_cached(BY_KEY).await?;
    Ok(tx.query_opt(&by_key, &[&no.0, &key]).await?.as_ref().map(read))
}

/// The call of this key; `None` where there is no such order or call.
pub async fn by_key(client: &Client, order: &str, key: &str) -> Result<Option<StoredCall>> {
    let number = client.prepare_cached(NUMBER).await?;
    let Some(row) = client.query_opt(&number, &[&order]).await? else { return Ok(None) };
    let by_key = client.prepare_cached(BY_KEY).await?;
    let row = client.query_opt(&by_key, &[&row.get::<_, i64>("no"), &key]).await?;
    Ok(row.as_ref().map(read))
}

/// Calls among these that are answered.
pub async fn answered(client: &Client, nos: &[i64]) -> Result<Vec<StoredCall>> {
    let statement = client.prepare_cached(ANSWERED).await?;
    Ok(client.query(&statement, &[&nos]).await?.iter().map(read).collect())
}

/// Calls of an order behind the one of this number, in the order of their arrival, `limit` at most.
pub async fn of_order(client: &Client, no: OrderNo, after: i64, limit: i64) -> Result<Vec<StoredCall>> {
    let statement = client.prepare_cached(OF_ORDER).await?;
    Ok(client.query(&statement, &[&no.0, &after, &limit]).await?.iter().map(read).collect())
}

/// The calls that wait for these orders, each with its present life.
pub async fn pending(
    client: &Client,
    orders: &[(OrderNo, Life)],
) -> Result<HashMap<OrderNo, Vec<stage::Call>>> {
    let columns = columns!((no, life) in orders => {
        no: i64 = no.0,
        life: i32 = life.0,
    });
    let mut calls: HashMap<OrderNo, Vec<stage::Call>> = HashMap::new();
    for row in columns.query(client, PENDING, &[]).await? {
        calls.entry(OrderNo(row.get("order_no"))).or_default().push(stage::Call {
            no: row.get("no"),
            name: row.get("name"),
            body: Folded::read(row.get("body")).unwrap_or_else(|_| Value::Null.into()),
        });
    }
    Ok(calls)
}

/// An order that rests after its stage, for calls that came meanwhile.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Resting {
    pub no: OrderNo,
    pub status: Status,
    /// False where it rests in the middle of a call: the repeat of that one comes before any other.
    pub takes_another: bool,
    /// The call that moved it and is not answered yet: it is not to be taken up again.
    pub moved_by: Option<i64>,
}

/// Wakes the resting orders for which calls came meanwhile. Their rows are locked by now.
pub(crate) async fn wake(tx: &Tx<'_>, resting: &[Resting]) -> Result<Vec<ReadyStage>> {
    let free: Vec<i64> = resting.iter().filter(|one| one.takes_another).map(|one| one.no.0).collect();
    if free.is_empty() {
        return Ok(Vec::new());
    }
    let taken: Vec<i64> = resting.iter().filter_map(|one| one.moved_by).collect();
    let wake = tx.prepare_cached(WAKE).await?;
    let rows = tx.query(&wake, &[&free, &taken]).await?;
    let woken: HashSet<i64> = rows.iter().map(|row| row.get("order_no")).collect();
    let mut by_status: BTreeMap<Status, Vec<i64>> = BTreeMap::new();
    for one in resting.iter().filter(|one| woken.contains(&one.no.0)) {
        by_status.entry(one.status).or_default().push(one.no.0);
    }
    let mut ready = Vec::with_capacity(woken.len());
    for (status, orders) in by_status {
        ready.append(&mut place::wake_now(tx, &orders, Waking::Called(status)).await?);
    }
    Ok(ready)
}

/// Writes the answers of finished stages.
pub(crate) async fn write(tx: &Tx<'_>, answers: &[&CallAnswer]) -> Result<()> {
    if answers.is_empty() {
        return Ok(());
    }
    let columns = columns!(answer in answers => {
        no: i64 = answer.no,
        status: &str = if answer.outcome.is_ok() { "answered" } else { "failed" },
        answer: Option<String> = answer.outcome.as_ref().ok().map(ToString::to_string),
        class: Option<&str> = answer.outcome.as_ref().err().and_then(|error| error.class.as_deref()),
        message: Option<&str> = answer.outcome.as_ref().err().map(|error| error.message.as_str()),
    });
    columns.execute(tx, ANSWER, &[]).await?;
    Ok(())
}

/// Closes what still waits for orders that have ended.
pub(crate) async fn close(tx: &Tx<'_>, orders: &[i64]) -> Result<()> {
    if !orders.is_empty() {
        let statement = tx.prepare_cached(ENDED).await?;
        tx.execute(&statement, &[&orders, &CALL_ENDED]).await?;
    }
    Ok(())
}
