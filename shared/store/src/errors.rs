//! Failed and retrying orders in groups (ERR-14). Reads a bounded number of rows, newest first:
//! what `failures` and `due` hold of millions is never counted as a whole.

use std::collections::HashMap;

use jiff::Timestamp;
use pagurus_domain::activation::Stream;
use pagurus_domain::id::OrderNo;
use tokio_postgres::Row;

use crate::sql::statements;
use crate::{Client, Result};

statements! {
    FAILED = "
        SELECT CASE $1::text WHEN 'class' THEN f.class WHEN 'scenario' THEN s.name ELSE f.step END,
               CASE $1::text WHEN 'state' THEN s.name END,
               date_trunc('hour', f.at), count(*), min(f.at), max(f.at), (array_agg(f.order_no ORDER BY f.at DESC))[1:5]
          FROM (SELECT order_no, at, scenario, class, step FROM failures WHERE at >= $2 ORDER BY at DESC LIMIT $3) AS f
          JOIN scenarios s ON s.no = f.scenario
         GROUP BY 1, 2, 3";
    RETRYING = "
        SELECT CASE $1::text WHEN 'class' THEN o.error_class WHEN 'scenario' THEN s.name ELSE o.step END,
               CASE $1::text WHEN 'state' THEN s.name END,
               date_trunc('hour', o.updated_at), count(*), min(o.updated_at), max(o.updated_at),
               (array_agg(o.no ORDER BY o.updated_at DESC))[1:5]
          FROM ((SELECT order_no FROM due WHERE stream = $2 ORDER BY due_at LIMIT $3)
                UNION ALL
                (SELECT order_no FROM ready WHERE repeat_at > '-infinity' AND stream = $2 LIMIT $3)) AS waiting
          JOIN orders o ON o.no = ANY(ARRAY[waiting.order_no]) AND o.status = 'retry'
          JOIN scenarios s ON s.no = o.scenario
         GROUP BY 1, 2, 3";
    IDS = "SELECT no, id FROM orders WHERE no = ANY($1::bigint[])";
}

/// Rows that one count reads at most, of failed and of retrying orders each: some tenths of
/// a second of one connection.
pub const MOST: i64 = 100_000;

/// By what orders are put in groups. Called systems are not stored with an order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum By {
    /// The class of the error.
    Class,
    /// The scenario, all its versions.
    Scenario,
    /// The state of a scenario.
    State,
}

impl By {
    /// The word of the API.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Class => "class",
            Self::Scenario => "scenario",
            Self::State => "state",
        }
    }

    /// The one with this word.
    #[must_use]
    pub fn of(word: &str) -> Option<Self> {
        [Self::Class, Self::Scenario, Self::State].into_iter().find(|by| by.as_str() == word)
    }
}

/// The orders of one group that failed, or came into retry, in one hour.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hour {
    /// What the group has in common; none where the orders have no class or no state.
    pub key: Option<String>,
    /// The scenario of a state.
    pub scenario: Option<String>,
    /// When the hour begins, in UTC.
    pub from: Timestamp,
    /// How many orders.
    pub orders: i64,
    /// The first of them.
    pub first: Timestamp,
    /// The last of them.
    pub last: Timestamp,
    /// A few of them, the newest first.
    pub sample: Vec<OrderNo>,
}

/// Orders that ended `fail` since a moment, the newest [`MOST`] of them.
///
/// # Errors
/// The database fails.
pub async fn failed(client: &Client, by: By, since: Timestamp) -> Result<Vec<Hour>> {
    let statement = client.prepare_cached(FAILED).await?;
    let rows = client.query(&statement, &[&by.as_str(), &since, &MOST]).await?;
    Ok(rows.iter().map(read_hour).collect())
}

/// Orders that wait for their next attempt, those that are due first, [`MOST`] of them at most.
/// One whose attempt is running at this moment is not among them.
///
/// # Errors
/// The database fails.
pub async fn retrying(client: &Client, by: By) -> Result<Vec<Hour>> {
    let statement = client.prepare_cached(RETRYING).await?;
    let rows = client.query(&statement, &[&by.as_str(), &Stream::Retry.number(), &MOST]).await?;
    Ok(rows.iter().map(read_hour).collect())
}

/// The clients' ids of orders.
///
/// # Errors
/// The database fails.
pub async fn ids(client: &Client, orders: &[OrderNo]) -> Result<HashMap<OrderNo, String>> {
    let nos: Vec<i64> = orders.iter().map(|no| no.0).collect();
    let statement = client.prepare_cached(IDS).await?;
    let rows = client.query(&statement, &[&nos]).await?;
    Ok(rows.iter().map(|row| (OrderNo(row.get(0)), row.get(1))).collect())
}

fn read_hour(row: &Row) -> Hour {
    Hour {
        key: row.get(0),
        scenario: row.get(1),
        from: row.get(2),
        orders: row.get(3),
        first: row.get(4),
        last: row.get(5),
        sample: row.get::<_, Vec<i64>>(6).into_iter().map(OrderNo).collect(),
    }
}
