//! Forecasts of starts that were given, and whether they held (ORD-30).

use jiff::Timestamp;
use pagurus_domain::id::OrderNo;

use crate::sql::statements;
use crate::{Client, Result};

/// Forecasts of the record.
const LAST: i64 = 1000;
/// Forecasts that are kept, those whose time has not come among them.
const KEPT: i64 = 10_000;

statements! {
    // The first forecast for a stage counts: a later one knows more.
    GIVE = "
        INSERT INTO forecasts (order_no, attempt, p90)
        SELECT r.order_no, r.attempt, $2 FROM ready r
         WHERE r.order_no = $1
           AND NOT EXISTS (SELECT FROM forecasts f WHERE f.order_no = r.order_no AND f.attempt = r.attempt)
        ON CONFLICT (order_no, attempt) DO NOTHING";
    // Orders that were given up before they started say nothing.
    DROP_UNSTARTED = "
        DELETE FROM forecasts f
         WHERE f.held IS NULL AND f.p90 <= clock_timestamp()
           AND NOT EXISTS (SELECT FROM ready r WHERE r.order_no = ANY(ARRAY[f.order_no]) AND r.attempt = f.attempt)
           AND NOT EXISTS (SELECT FROM orders o WHERE o.no = ANY(ARRAY[f.order_no]) AND o.started_at IS NOT NULL)
           AND NOT EXISTS (SELECT FROM running w WHERE w.order_no = ANY(ARRAY[f.order_no]))";
    // One that waits still, or began later, started too late. A stage other than the first that began late and ended before this
    // look counts as in time.
    JUDGE = "
        UPDATE forecasts f
           SET held = NOT EXISTS (SELECT FROM ready r WHERE r.order_no = ANY(ARRAY[f.order_no]) AND r.attempt = f.attempt)
                  AND NOT EXISTS (SELECT FROM running w
                                   WHERE w.order_no = ANY(ARRAY[f.order_no]) AND w.attempt = f.attempt AND w.started_at > f.p90)
                  AND NOT EXISTS (SELECT FROM orders o WHERE o.no = ANY(ARRAY[f.order_no]) AND o.started_at > f.p90)
         WHERE f.no = ANY(ARRAY(
               SELECT no FROM forecasts WHERE held IS NULL AND p90 <= clock_timestamp()
                ORDER BY p90 LIMIT $1 FOR UPDATE SKIP LOCKED))";
    FORGET = "DELETE FROM forecasts WHERE no <= (SELECT no FROM forecasts ORDER BY no DESC OFFSET $1 LIMIT 1)";
    HELD = "
        SELECT count(*) AS forecasts, count(*) FILTER (WHERE held) AS held
          FROM (SELECT held FROM forecasts WHERE held IS NOT NULL ORDER BY no DESC LIMIT $1) AS last";
}

/// Forecasts whose time has come, and those of them that held.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ForecastRecord {
    /// Number of the last forecasts, at most a thousand.
    pub forecasts: i64,
    /// Number of those that held.
    pub held: i64,
}

/// Notes the forecast for a stage that waits.
pub async fn give(client: &Client, order: OrderNo, p90: Timestamp) -> Result<()> {
    client.execute(&client.prepare_cached(GIVE).await?, &[&order.0, &p90]).await?;
    Ok(())
}

/// Judges forecasts whose time has come, at most `limit`; returns their number.
pub async fn judge(client: &Client, limit: i64) -> Result<u64> {
    client.execute(&client.prepare_cached(DROP_UNSTARTED).await?, &[]).await?;
    Ok(client.execute(&client.prepare_cached(JUDGE).await?, &[&limit]).await?)
}

/// Forgets old forecasts.
pub async fn forget(client: &Client) -> Result<()> {
    client.execute(&client.prepare_cached(FORGET).await?, &[&KEPT]).await?;
    Ok(())
}

/// The record of the last forecasts.
pub async fn record(client: &Client) -> Result<ForecastRecord> {
    let row = client.query_one(&client.prepare_cached(HELD).await?, &[&LAST]).await?;
    Ok(ForecastRecord { forecasts: row.get("forecasts"), held: row.get("held") })
}
