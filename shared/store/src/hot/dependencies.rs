//! Orders that wait for other orders: written at registration, settled when those have ended.
//!
//! The order that waits has its place in `due`, in a stream without a time. The one that settles its
//! conditions holds the lock on that row: of two pre-conditions that end at the same moment, the
//! second sees the first as met. The locks on `orders` that are taken here are those of
//! pre-conditions and come before it; this table comes after all others.

pub mod admission;
pub(crate) mod awaiting;
pub mod cycles;
pub mod graph;

use std::collections::BTreeMap;

use pagurus_domain::activation::Stream;
use pagurus_domain::id::{OrderNo, ScenarioNo};
use pagurus_domain::order::Status;
use pagurus_domain::order::change::Waking;
use pagurus_domain::order::dependency::{self, Otherwise, Stand, StartDecision};

use crate::columns::columns;
use crate::hot::place;
use crate::hot::ready::ReadyStage;
use crate::row::word;
use crate::sql::statements;
use crate::{Client, Error, Result, Tx};

/// Dependants that the end of an order settles itself: what is more is left to the periodic look,
/// so that one order with a hundred thousand of them does not hold up the ends of others.
const MAX_AT_ONCE: i64 = 500;

statements! {
    // OFFSET 0 keeps the steps apart: each by its key, whatever the order of the answer.
    DEPENDANTS = "
        SELECT DISTINCT d.order_no
          FROM (SELECT id FROM orders WHERE no = ANY($1::bigint[]) OFFSET 0) AS o
         CROSS JOIN LATERAL (
               SELECT order_no FROM dependencies
                WHERE before_id = o.id AND reactive AND stand NOT IN ('met', 'closed') OFFSET 0) AS d
         ORDER BY d.order_no LIMIT $2";
    MARK_AWAITED = "
        UPDATE orders SET awaited = true
         WHERE no = ANY (ARRAY(
               SELECT no FROM orders
                WHERE no = ANY (ARRAY(
                      SELECT o.no FROM dependencies d JOIN orders o ON o.id = ANY(ARRAY[d.before_id])
                       WHERE d.order_no = ANY($1::bigint[]) AND d.stand NOT IN ('met', 'closed')))
                  AND NOT awaited
                ORDER BY no FOR NO KEY UPDATE))";
    LOCK_PLACES = "
        SELECT order_no FROM due WHERE order_no = ANY($1::bigint[]) AND stream = $2 ORDER BY order_no FOR UPDATE";
    CONDITIONS = "
        SELECT d.order_no, d.before_id, d.states, d.otherwise, d.stand, p.status, p.step, p.scenario
          FROM dependencies d LEFT JOIN orders p ON p.id = ANY(ARRAY[d.before_id])
         WHERE d.order_no = ANY($1::bigint[])
         ORDER BY d.order_no, d.before_id";
    SETTLE = "
        UPDATE dependencies d
           SET stand = t.stand, settled_at = CASE WHEN t.stand IN ('met', 'missed') THEN now() END
          FROM unnest($1::bigint[], $2::text[], $3::text[]) AS t (no, before_id, stand)
         WHERE d.order_no = ANY(ARRAY[t.no]) AND d.before_id = ANY(ARRAY[t.before_id])";
    CLOSE = "
        UPDATE dependencies SET stand = 'closed', settled_at = now()
         WHERE order_no = ANY($1::bigint[]) AND stand NOT IN ('met', 'closed')";
    CLOSED = "
        SELECT order_no, before_id FROM dependencies
         WHERE order_no = ANY($1::bigint[]) AND stand = 'closed' ORDER BY order_no, before_id";
    REOPEN = "
        UPDATE dependencies d
           SET stand = CASE WHEN EXISTS (SELECT FROM orders p WHERE p.id = ANY(ARRAY[d.before_id])) THEN 'found' ELSE 'unknown' END,
               settled_at = NULL
         WHERE d.order_no = ANY($1::bigint[]) AND d.stand = 'closed'";
    WAIT = "INSERT INTO due (order_no, stream, due_at) SELECT no, $2, NULL FROM unnest($1::bigint[]) AS t (no)";
    DEFER = "
        UPDATE due SET stream = $3, due_at = o.start_at
          FROM orders o
         WHERE due.order_no = ANY($1::bigint[]) AND due.stream = $2
           AND o.no = ANY(ARRAY[due.order_no]) AND o.start_at > now()";
    LEAVE = "DELETE FROM due WHERE order_no = ANY($1::bigint[]) AND stream = $2 RETURNING order_no";
    URGENT = "
        SELECT DISTINCT order_no FROM dependencies
         WHERE order_no > $1 AND (stand = 'found' OR (stand = 'missed' AND otherwise <> 'wait'))
         ORDER BY order_no LIMIT $2";
    PAGE = "
        SELECT d.order_no, d.before_id,
               p.no IS NOT NULL AND CASE d.stand
                   WHEN 'open' THEN p.finished_at IS NOT NULL
                   WHEN 'missed' THEN p.finished_at IS NULL OR p.finished_at > d.settled_at
                   ELSE true END AS is_changed
          FROM (SELECT order_no, before_id, stand, settled_at FROM dependencies
                 WHERE reactive = $1 AND (order_no, before_id) > ($2, $3)
                   AND (stand IN ('unknown', 'found', 'open') OR (stand = 'missed' AND otherwise = 'wait'))
                 ORDER BY order_no, before_id LIMIT $4) AS d
          LEFT JOIN orders p ON p.id = ANY(ARRAY[d.before_id])
         ORDER BY d.order_no, d.before_id";
}

/// A condition of an order that waits.
#[derive(Clone, Debug)]
pub struct Condition {
    /// The order that waits.
    pub no: OrderNo,
    /// The client's id of the order that it waits for.
    pub before: String,
    /// The states that would do.
    pub states: Vec<String>,
    /// Consequence of an end in another status.
    pub otherwise: Otherwise,
    /// Stand of the condition at the last look.
    pub stand: Stand,
    /// Status and state of the pre-condition order, and its version, if it is registered.
    pub order: Option<(Status, Option<String>, ScenarioNo)>,
}

impl Condition {
    /// Judges the condition by what its order is now.
    #[must_use]
    pub fn judged(&self) -> Stand {
        let order = self.order.as_ref().map(|(status, step, _)| (*status, step.as_deref()));
        dependency::judge(self.stand, &self.states, order)
    }
}

/// Consequence of all conditions of an order, as they stand.
#[must_use]
pub fn verdict(conditions: &[Condition]) -> StartDecision {
    let stands: Vec<(Stand, Otherwise)> = conditions.iter().map(|one| (one.stand, one.otherwise)).collect();
    dependency::verdict(&stands)
}

/// Settles what waits for these orders, which have just ended in this transaction: their rows are
/// locked by it. Answers with what may run by that.
pub(crate) async fn ended(tx: &Tx<'_>, nos: &[i64]) -> Result<Vec<ReadyStage>> {
    if nos.is_empty() {
        return Ok(Vec::new());
    }
    let rows = tx.query(&tx.prepare_cached(DEPENDANTS).await?, &[&nos, &MAX_AT_ONCE]).await?;
    let dependants: Vec<i64> = rows.iter().map(|row| row.get("order_no")).collect();
    if dependants.is_empty() {
        return Ok(Vec::new());
    }
    let waiting = lock_places(tx, &dependants).await?;
    let conditions = judged(tx, &waiting).await?;
    start(tx, &satisfied(&conditions)).await
}

/// Locks those of these orders that wait for others, and everything that they wait for; their
/// numbers. Ends of pre-conditions that are not known to be awaited are held up until the commit.
pub async fn lock_waiting(tx: &Tx<'_>, nos: &[i64]) -> Result<Vec<i64>> {
    tx.execute(&tx.prepare_cached(MARK_AWAITED).await?, &[&nos]).await?;
    lock_places(tx, nos).await
}

/// True if a locked order waits for others.
pub async fn is_waiting(tx: &Tx<'_>, no: OrderNo) -> Result<bool> {
    Ok(!lock_places(tx, &[no.0]).await?.is_empty())
}

async fn lock_places(tx: &Tx<'_>, nos: &[i64]) -> Result<Vec<i64>> {
    let rows = tx.query(&tx.prepare_cached(LOCK_PLACES).await?, &[&nos, &Stream::Dependent.number()]).await?;
    Ok(rows.iter().map(|row| row.get("order_no")).collect())
}

/// The conditions of orders whose places are locked, judged by what is there now, and stored so.
pub async fn judged(tx: &Tx<'_>, nos: &[i64]) -> Result<BTreeMap<OrderNo, Vec<Condition>>> {
    let mut conditions = read(&tx.query(&tx.prepare_cached(CONDITIONS).await?, &[&nos]).await?)?;
    let mut changed = Vec::new();
    for condition in &mut conditions {
        let stand = condition.judged();
        if stand != condition.stand {
            condition.stand = stand;
            changed.push((condition.no, condition.before.clone(), stand));
        }
    }
    settle(tx, &changed).await?;
    let mut by_order: BTreeMap<OrderNo, Vec<Condition>> = BTreeMap::new();
    for condition in conditions {
        by_order.entry(condition.no).or_default().push(condition);
    }
    Ok(by_order)
}

/// Stores how conditions stand: the order that waits, the one it waits for, the stand.
pub async fn settle(tx: &Tx<'_>, changed: &[(OrderNo, String, Stand)]) -> Result<()> {
    if changed.is_empty() {
        return Ok(());
    }
    let columns = columns!((no, before, stand) in changed => {
        no: i64 = no.0,
        before_id: &str = before.as_str(),
        stand: &str = stand.as_str(),
    });
    columns.execute(tx, SETTLE, &[]).await?;
    Ok(())
}

/// Closes the conditions of orders that have ended: nobody asks any more what they wait for.
pub(crate) async fn close(tx: &Tx<'_>, nos: &[i64]) -> Result<()> {
    if !nos.is_empty() {
        tx.execute(&tx.prepare_cached(CLOSE).await?, &[&nos]).await?;
    }
    Ok(())
}

/// Orders among these locked ones that ended before all their conditions were met, each with the ids of the
/// orders that it still waited for.
pub async fn closed(tx: &Tx<'_>, nos: &[i64]) -> Result<BTreeMap<OrderNo, Vec<String>>> {
    let rows = tx.query(&tx.prepare_cached(CLOSED).await?, &[&nos]).await?;
    let mut closed: BTreeMap<OrderNo, Vec<String>> = BTreeMap::new();
    for row in &rows {
        closed.entry(OrderNo(row.get("order_no"))).or_default().push(row.get("before_id"));
    }
    Ok(closed)
}

/// Opens the conditions of orders again that were not met, and lets the orders wait for them. How they stand is
/// for the next that looks: it has the locks on what they wait for.
pub(crate) async fn reopen(tx: &Tx<'_>, nos: &[i64]) -> Result<()> {
    if !nos.is_empty() {
        tx.execute(&tx.prepare_cached(WAIT).await?, &[&nos, &Stream::Dependent.number()]).await?;
        tx.execute(&tx.prepare_cached(REOPEN).await?, &[&nos]).await?;
    }
    Ok(())
}

fn satisfied(conditions: &BTreeMap<OrderNo, Vec<Condition>>) -> Vec<i64> {
    conditions.iter().filter(|(_, all)| verdict(all) == StartDecision::Start).map(|(no, _)| no.0).collect()
}

/// Lets orders go whose conditions are met and whose places are locked: those whose start lies in
/// the future wait for it, the others may run.
pub async fn start(tx: &Tx<'_>, nos: &[i64]) -> Result<Vec<ReadyStage>> {
    if nos.is_empty() {
        return Ok(Vec::new());
    }
    let (waits, is_postponed) = (Stream::Dependent.number(), Stream::Postponed.number());
    tx.execute(&tx.prepare_cached(DEFER).await?, &[&nos, &waits, &is_postponed]).await?;
    let rows = tx.query(&tx.prepare_cached(LEAVE).await?, &[&nos, &waits]).await?;
    let mut leaving: Vec<i64> = rows.iter().map(|row| row.get("order_no")).collect();
    if leaving.is_empty() {
        return Ok(Vec::new());
    }
    leaving.sort_unstable();
    place::wake_now(tx, &leaving, Waking::Settled).await
}

/// Orders after a number with a condition that somebody must look at: its expected states are to
/// be held against a scenario, or it was missed and that ends the order.
pub async fn urgent(client: &Client, after: OrderNo, limit: i64) -> Result<Vec<i64>> {
    let rows = client.query(&client.prepare_cached(URGENT).await?, &[&after.0, &limit]).await?;
    Ok(rows.iter().map(|row| row.get("order_no")).collect())
}

/// End of a page of conditions: the next begins behind it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Cursor {
    no: i64,
    before: String,
}

/// A page of conditions that may still be met, of one way of activation: the orders of which something
/// has changed that nobody settled, and where the next page begins; none after the last page. One that
/// was missed is among them: its order may be restarted, and end as it should.
pub async fn unsettled(
    client: &Client,
    reactive: bool,
    cursor: &Cursor,
    limit: i64,
) -> Result<(Vec<i64>, Option<Cursor>)> {
    let statement = client.prepare_cached(PAGE).await?;
    let rows = client.query(&statement, &[&reactive, &cursor.no, &cursor.before, &limit]).await?;
    let mut nos: Vec<i64> =
        rows.iter().filter(|row| row.get("is_changed")).map(|row| row.get("order_no")).collect();
    nos.dedup();
    let full = i64::try_from(rows.len()).is_ok_and(|count| count == limit);
    let last = rows.last().filter(|_| full);
    Ok((nos, last.map(|row| Cursor { no: row.get("order_no"), before: row.get("before_id") })))
}

fn read(rows: &[tokio_postgres::Row]) -> Result<Vec<Condition>> {
    rows.iter()
        .map(|row| {
            let order = match row.get::<_, Option<&str>>("status") {
                None => None,
                Some(_) => Some((
                    word(row, "status", "orders.status")?,
                    row.get("step"),
                    ScenarioNo(row.get("scenario")),
                )),
            };
            Ok(Condition {
                no: OrderNo(row.get("order_no")),
                before: row.get("before_id"),
                states: states_of(row.get("states"))?,
                otherwise: word(row, "otherwise", "dependencies.otherwise")?,
                stand: word(row, "stand", "dependencies.stand")?,
                order,
            })
        })
        .collect()
}

fn states_of(text: &str) -> Result<Vec<String>> {
    serde_json::from_str(text).map_err(|_| Error::broken("dependencies.states", text))
}
