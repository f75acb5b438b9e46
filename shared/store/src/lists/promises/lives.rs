//! Ended lives, and what remained of them from state to state (ORD-31): read from histories, kept by scenario.

use std::collections::HashMap;

use jiff::Timestamp;
use pagurus_domain::id::{Life, OrderNo};
use pagurus_domain::order::Status;
use pagurus_domain::promise::{EnteredState, RemainingTimes};
use serde_json::Value;

use crate::row::word;
use crate::sql::statements;
use crate::{Connection, Result, Tx};

statements! {
    ENDED = "
        SELECT o.no, s.name AS scenario, o.status, o.life, o.started_at, o.finished_at FROM orders o
          JOIN scenarios s ON s.no = ANY(ARRAY[o.scenario])
         WHERE o.no = ANY($1::bigint[]) AND o.finished_at IS NOT NULL";
    // The newest orders, a bounded number of them, whatever their scenario.
    RECENT = "
        SELECT o.no FROM (SELECT no, scenario, status FROM orders WHERE no < $4 ORDER BY no DESC LIMIT $2) AS o
         WHERE o.status = 'success' AND o.scenario = ANY(ARRAY(SELECT no FROM scenarios WHERE name = $1)) LIMIT $3";
    STAGES = "
        SELECT order_no, life, detail FROM history
         WHERE order_no = ANY($1::bigint[]) AND kind = 'stage' ORDER BY order_no, number LIMIT $2";
    REMAINING = "SELECT scenario, record FROM remaining_times WHERE scenario = ANY($1::text[])";
    LOCKED = "SELECT record FROM remaining_times WHERE scenario = $1 FOR UPDATE";
    LEARN = "
        INSERT INTO remaining_times (scenario, record, learnt_at) VALUES ($1, $2, clock_timestamp())
        ON CONFLICT (scenario) DO UPDATE SET record = excluded.record, learnt_at = excluded.learnt_at";
}

/// A life that has ended.
#[derive(Clone, Debug)]
pub struct FinishedLife {
    /// The order.
    pub no: OrderNo,
    /// Name of the scenario.
    pub scenario: String,
    /// Status at its end.
    pub status: Status,
    /// Number of the life.
    pub life: Life,
    /// Time at which its first stage began.
    pub started_at: Option<Timestamp>,
    /// Time at which it ended.
    pub ended_at: Timestamp,
}

/// Last lives of these orders; none of those that have begun another.
pub async fn ended(client: &impl Connection, nos: &[i64]) -> Result<Vec<FinishedLife>> {
    let rows = client.query(&client.prepare_cached(ENDED).await?, &[&nos]).await?;
    rows.iter()
        .map(|row| {
            Ok(FinishedLife {
                no: OrderNo(row.get("no")),
                scenario: row.get("scenario"),
                status: word(row, "status", "orders.status")?,
                life: Life(row.get("life")),
                started_at: row.get("started_at"),
                ended_at: row.get("finished_at"),
            })
        })
        .collect()
}

/// Bounds within which lives of a scenario are looked for.
#[derive(Clone, Copy, Debug)]
pub struct RecentLives {
    /// Newest orders that are looked at, whatever their scenario.
    pub looked: i64,
    /// Lives that are enough.
    pub wanted: i64,
}

/// Numbers of orders of a scenario that were served, among the newest.
pub async fn recent_lives(client: &impl Connection, scenario: &str, among: RecentLives) -> Result<Vec<i64>> {
    let statement = client.prepare_cached(RECENT).await?;
    let rows = client.query(&statement, &[&scenario, &among.looked, &among.wanted, &i64::MAX]).await?;
    Ok(rows.iter().map(|row| row.get("no")).collect())
}

/// The states that these lives came to, by the number of the order; reads at most `events` events.
pub async fn entries_of(
    client: &impl Connection,
    lives: &[&FinishedLife],
    events: i64,
) -> Result<HashMap<OrderNo, Vec<EnteredState>>> {
    let nos: Vec<i64> = lives.iter().map(|life| life.no.0).collect();
    let present: HashMap<i64, i32> = lives.iter().map(|life| (life.no.0, life.life.0)).collect();
    let rows = client.query(&client.prepare_cached(STAGES).await?, &[&nos, &events]).await?;
    let mut entries: HashMap<OrderNo, Vec<EnteredState>> = HashMap::new();
    for row in &rows {
        let no: i64 = row.get("order_no");
        if present.get(&no) == Some(&row.get::<_, i32>("life"))
            && let Ok(detail) = serde_json::from_str::<Value>(row.get("detail"))
        {
            entries.entry(OrderNo(no)).or_default().extend(pagurus_domain::promise::entries(&detail));
        }
    }
    Ok(entries)
}

/// Records of these scenarios.
pub async fn remaining_times(
    client: &impl Connection,
    scenarios: &[&str],
) -> Result<HashMap<String, RemainingTimes>> {
    let rows = client.query(&client.prepare_cached(REMAINING).await?, &[&scenarios]).await?;
    Ok(rows.iter().map(|row| (row.get("scenario"), read(row.get("record")))).collect())
}

/// Changes what is known of a scenario; nobody else does meanwhile.
pub async fn learn(
    tx: &Tx<'_>,
    scenario: &str,
    change: impl FnOnce(&mut RemainingTimes) + Send,
) -> Result<()> {
    let row = tx.query_opt(&tx.prepare_cached(LOCKED).await?, &[&scenario]).await?;
    let mut times = row.map(|row| read(row.get("record"))).unwrap_or_default();
    change(&mut times);
    let record = times.to_value().to_string();
    tx.execute(&tx.prepare_cached(LEARN).await?, &[&scenario, &record]).await?;
    Ok(())
}

/// Reads a record; one that cannot be read was never learnt.
fn read(record: &str) -> RemainingTimes {
    serde_json::from_str(record).map(|value| RemainingTimes::of_value(&value)).unwrap_or_default()
}
