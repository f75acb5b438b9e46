//! Cycles: orders that would wait for themselves, found before anybody waits.
//!
//! All that adds conditions or opens them again takes turns, by a lock that nobody else takes: the second of two orders
//! that would close a cycle sees the first. The turn comes before all locks on orders.

use std::collections::BTreeMap;

use pagurus_domain::order::dependency;

use crate::patience::wait_briefly;
use crate::sql::statements;
use crate::{Result, Tx};

/// Any number that no other program locks in the same database. Never changes: the intakes of two versions exclude each other.
const TURN: i64 = 0x7061_6775_7275_7302;
/// Conditions that are followed in search of a cycle. More in a row are taken for one.
const MAX_WAY: i64 = 20_000;

statements! {
    TAKE_TURN = "SELECT pg_advisory_xact_lock($1)";
    // From these orders to all that they wait for: pre-conditions, children that they await, and the heads of their queues.
    WAY = "
        WITH RECURSIVE way (id, before_id) AS (
            SELECT NULL::text, t.id FROM unnest($1::text[]) AS t (id)
             UNION
            SELECT o.id, b.id
              FROM way w
              JOIN orders o ON o.id = ANY(ARRAY[w.before_id]) AND o.finished_at IS NULL
             CROSS JOIN LATERAL (
                   SELECT d.before_id AS id FROM dependencies d
                    WHERE d.order_no = o.no AND d.stand NOT IN ('met', 'closed')
                    UNION ALL
                   SELECT k.id
                     FROM children c
                     JOIN orders k ON k.no = ANY(ARRAY[c.order_no]) AND k.finished_at IS NULL
                     JOIN requests r ON r.id = ANY(ARRAY[k.answers]) AND r.status = 'open' AND r.life = o.life
                    WHERE c.parent_no = o.no
                    UNION ALL
                   SELECT h.id
                     FROM queued q
                    CROSS JOIN LATERAL (
                          SELECT f.order_no FROM queued f
                           WHERE f.queue = q.queue AND f.position < q.position
                             AND f.position >= coalesce((SELECT u.head FROM queues u WHERE u.name = ANY(ARRAY[q.queue])), 0)
                           ORDER BY f.position LIMIT 1) AS first
                     JOIN orders h ON h.no = ANY(ARRAY[first.order_no])
                    WHERE q.order_no = o.no) AS b)
        SELECT id, before_id FROM way WHERE id IS NOT NULL LIMIT $2";
    HAS_CLOSED = "
        SELECT EXISTS (
               SELECT FROM (SELECT no FROM orders WHERE id = ANY($1::text[]) OFFSET 0) AS o
                 JOIN dependencies d ON d.order_no = ANY(ARRAY[o.no]) AND d.stand = 'closed') AS has_closed";
}

/// Waits until nobody else adds conditions, and keeps others from it up to the end of the transaction.
pub(crate) async fn take_turn(tx: &Tx<'_>) -> Result<()> {
    tx.execute(&tx.prepare_cached(TAKE_TURN).await?, &[&TURN]).await?;
    Ok(())
}

/// Takes the turn, and waits for it no longer than for an order that is locked.
///
/// # Errors
/// The database fails, or somebody has the turn for longer than that.
pub async fn take_turn_briefly(tx: &Tx<'_>) -> Result<()> {
    wait_briefly(tx).await?;
    take_turn(tx).await
}

/// True if one of these orders, by id, ended before all its conditions were met: a new life of it may wait again.
pub async fn may_wait_again(tx: &Tx<'_>, ids: &[&str]) -> Result<bool> {
    Ok(tx.query_one(&tx.prepare_cached(HAS_CLOSED).await?, &[&ids]).await?.get("has_closed"))
}

/// Graph of what orders wait for, as far as it was followed.
#[derive(Debug, Default)]
pub struct WaitGraph {
    /// Each order with those that it waits for, by id.
    waits: BTreeMap<String, Vec<String>>,
    /// True where there was more to follow.
    is_cut: bool,
}

impl WaitGraph {
    /// Follows these orders, by id. To be asked in one's turn.
    pub async fn from(tx: &Tx<'_>, ids: &[&str]) -> Result<Self> {
        let mut graph = Self::default();
        if ids.is_empty() {
            return Ok(graph);
        }
        let rows = tx.query(&tx.prepare_cached(WAY).await?, &[&ids, &MAX_WAY]).await?;
        graph.is_cut = i64::try_from(rows.len()).is_ok_and(|count| count >= MAX_WAY);
        for row in &rows {
            graph.add(row.get("id"), [row.get("before_id")]);
        }
        Ok(graph)
    }

    /// True where there was more to follow: what closes a cycle may not be in it.
    #[must_use]
    pub const fn is_cut(&self) -> bool {
        self.is_cut
    }

    /// Adds that an order waits for these.
    pub(crate) fn add(&mut self, id: String, after: impl IntoIterator<Item = String>) {
        self.waits.entry(id).or_default().extend(after);
    }

    /// The way by which an order that somebody may wait for would wait for itself, if it waited for these. Adds that it
    /// does otherwise: of orders that close a cycle among themselves, the last is refused.
    pub fn refuse(&mut self, id: &str, after: &[&str], is_awaited: bool) -> Option<Vec<String>> {
        if let Some(way) = dependency::cycle(id, after, &self.waits) {
            return Some(way);
        }
        if self.is_cut && is_awaited {
            return Some(vec![id.to_owned(), "…".to_owned()]);
        }
        self.add(id.to_owned(), after.iter().map(|one| (*one).to_owned()));
        None
    }
}
