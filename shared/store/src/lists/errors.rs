//! Failed and retrying orders in groups (ERR-14). Reads a bounded number of rows, newest first:
//! what `failures` and `due` hold of millions is never counted as a whole.

use std::collections::HashMap;

use jiff::Timestamp;
use pagurus_domain::access::scope::AccessScope;
use pagurus_domain::activation::Stream;
use pagurus_domain::id::OrderNo;
use pagurus_domain::order::Status;
use pagurus_wire::errors::ErrorOrder;
use tokio_postgres::Row;
use tokio_postgres::types::ToSql;

use crate::row::read;
use crate::sql::{in_scope, statements};
use crate::{Client, Result};

statements! {
    FAILED = concat!("
        WITH looked AS MATERIALIZED (
            SELECT order_no, at, scenario, class, step, system, state FROM failures WHERE at >= $2 ORDER BY at DESC LIMIT $3),
        hours AS (
        SELECT CASE $1::text WHEN 'class' THEN f.class WHEN 'scenario' THEN s.name WHEN 'system' THEN f.system
                             WHEN 'step' THEN f.step ELSE coalesce(f.state, f.step) END AS key,
               CASE WHEN $1::text IN ('state', 'step') THEN s.name END AS scenario,
               date_trunc('hour', f.at) AS hour, count(*) AS orders, min(f.at) AS first, max(f.at) AS last,
               (array_agg(f.order_no ORDER BY f.at DESC))[1:5] AS sample
          FROM looked f
          JOIN scenarios s ON s.no = f.scenario
         WHERE ($4::text IS NULL OR coalesce(f.class, '') = $4) AND ($5::text IS NULL OR s.name = $5)
           AND ($6::text IS NULL OR coalesce(f.state, f.step, '') = $6) AND ($7::text IS NULL OR coalesce(f.system, '') = $7)
           AND ($8::text IS NULL OR coalesce(f.step, '') = $8)
           AND ($9::text[] IS NULL OR EXISTS (
                SELECT FROM orders o WHERE o.no = ANY(ARRAY[f.order_no]) AND ", in_scope!("$9", "$10"), "))
         GROUP BY 1, 2, 3)
        SELECT t.looked, t.oldest, h.* FROM (SELECT count(*) AS looked, min(at) AS oldest FROM looked) AS t LEFT JOIN hours h ON true");
    RETRYING = concat!("
        WITH looked AS MATERIALIZED (
            SELECT order_no
              FROM ((SELECT order_no FROM ready WHERE repeat_at > '-infinity' AND stream = $2 LIMIT $3)
                    UNION ALL
                    (SELECT order_no FROM due WHERE stream = $2 ORDER BY due_at LIMIT $3)) AS places
             LIMIT $3),
        hours AS (
        SELECT CASE $1::text WHEN 'class' THEN o.error_class WHEN 'scenario' THEN s.name
                             WHEN 'system' THEN o.error_system WHEN 'step' THEN o.step ELSE coalesce(o.error_state, o.step) END AS key,
               CASE WHEN $1::text IN ('state', 'step') THEN s.name END AS scenario,
               date_trunc('hour', o.updated_at) AS hour, count(*) AS orders, min(o.updated_at) AS first, max(o.updated_at) AS last,
               (array_agg(o.no ORDER BY o.updated_at DESC))[1:5] AS sample
          FROM looked waiting
          JOIN orders o ON o.no = ANY(ARRAY[waiting.order_no]) AND o.status = 'retry'
          JOIN scenarios s ON s.no = o.scenario
         WHERE ($4::text IS NULL OR coalesce(o.error_class, '') = $4) AND ($5::text IS NULL OR s.name = $5)
           AND ($6::text IS NULL OR coalesce(o.error_state, o.step, '') = $6) AND ($7::text IS NULL OR coalesce(o.error_system, '') = $7)
           AND ($8::text IS NULL OR coalesce(o.step, '') = $8)
           AND ", in_scope!("$9", "$10"), "
         GROUP BY 1, 2, 3)
        SELECT t.looked, NULL::timestamptz AS oldest, h.* FROM (SELECT count(*) AS looked FROM looked) AS t LEFT JOIN hours h ON true");
    FAILED_ORDERS = "
        SELECT f.order_no, f.at, o.id, s.name AS scenario, coalesce(f.state, f.step) AS state, f.step, f.class, f.system, o.error_message
          FROM (SELECT order_no, at, scenario, class, step, system, state FROM failures
                 WHERE at >= $1 AND (at, order_no) < ($2, $3) ORDER BY at DESC, order_no DESC LIMIT $4) AS f
          JOIN orders o ON o.no = ANY(ARRAY[f.order_no])
          JOIN scenarios s ON s.no = f.scenario
         ORDER BY f.at DESC, f.order_no DESC";
    RETRYING_ORDERS = "
        SELECT waiting.order_no, waiting.at, o.id, s.name AS scenario, coalesce(o.error_state, o.step) AS state, o.step,
               o.error_class AS class, o.error_system AS system, o.error_message
          FROM ((SELECT order_no, due_at AS at FROM due
                  WHERE stream = $1 AND (due_at, order_no) > ($2, $3) ORDER BY due_at, order_no LIMIT $4)
                UNION ALL
                (SELECT order_no, since FROM ready
                  WHERE repeat_at > '-infinity' AND stream = $1 AND (since, order_no) > ($2, $3)
                  ORDER BY since, order_no LIMIT $4)
                ORDER BY at, order_no LIMIT $4) AS waiting
          JOIN orders o ON o.no = ANY(ARRAY[waiting.order_no])
          JOIN scenarios s ON s.no = o.scenario
         ORDER BY waiting.at, waiting.order_no";
    IDS = "SELECT no, id FROM orders WHERE no = ANY($1::bigint[])";
}

/// By what orders are put in groups.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum By {
    /// The class of the error.
    Class,
    /// The scenario, all its versions.
    Scenario,
    /// The state in which the error arose.
    State,
    /// The state in which the order is: of a failed one the terminal state.
    Step,
    /// The called system.
    System,
}

impl By {
    /// The word of the API.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Class => "class",
            Self::Scenario => "scenario",
            Self::State => "state",
            Self::Step => "step",
            Self::System => "system",
        }
    }

    /// The one with this word.
    #[must_use]
    pub fn of(word: &str) -> Option<Self> {
        let all = [Self::Class, Self::Scenario, Self::State, Self::Step, Self::System];
        all.into_iter().find(|by| by.as_str() == word)
    }
}

/// Orders that are wanted: of this class, scenario, state, step and system. A field that is left out is any; an
/// empty text means the orders that have none.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Filter {
    /// The class of the error.
    pub class: Option<String>,
    /// The scenario, all its versions.
    pub scenario: Option<String>,
    /// The state in which the error arose.
    pub state: Option<String>,
    /// The state in which the order is.
    pub step: Option<String>,
    /// The called system.
    pub system: Option<String>,
}

impl Filter {
    /// True if it lets this order through.
    #[must_use]
    pub fn takes(&self, order: &ErrorOrder) -> bool {
        let same = |wanted: &Option<String>, found: Option<&str>| {
            wanted.as_deref().is_none_or(|wanted| wanted == found.unwrap_or_default())
        };
        same(&self.class, order.class.as_deref())
            && same(&self.scenario, Some(&order.scenario))
            && same(&self.state, order.state.as_deref())
            && same(&self.step, order.step.as_deref())
            && same(&self.system, order.system.as_deref())
    }
}

/// The orders of one group that failed, or came into retry, in one hour.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hour {
    /// Value that the group has in common; none where the orders have no class or no state.
    pub key: Option<String>,
    /// The scenario of a state.
    pub scenario: Option<String>,
    /// When the hour begins, in UTC.
    pub from: Timestamp,
    /// Number of orders.
    pub orders: i64,
    /// The first of them.
    pub first: Timestamp,
    /// The last of them.
    pub last: Timestamp,
    /// A few of them, the newest first.
    pub sample: Vec<OrderNo>,
}

/// Orders that are wanted, and how many are examined to find them.
#[derive(Clone, Copy, Debug)]
pub struct ErrorsWanted<'a> {
    /// By what they are put in groups.
    pub by: By,
    /// Conditions.
    pub filter: &'a Filter,
    /// Names that those who ask may see.
    pub scope: &'a AccessScope,
    /// Orders that are examined at most.
    pub examine: i64,
}

/// Wanted orders among those that were examined.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ExaminedErrors {
    /// The wanted ones.
    pub hours: Vec<Hour>,
    /// Number of orders that were examined.
    pub examined: i64,
    /// Time at which the oldest of them failed.
    pub oldest: Option<Timestamp>,
}

/// The newest orders that ended `fail` since a moment.
pub async fn failed(client: &Client, since: Timestamp, wanted: ErrorsWanted<'_>) -> Result<ExaminedErrors> {
    examined(client, FAILED, &since, wanted).await
}

/// Orders that wait for their next attempt, those that are due first. One whose attempt is running at this moment is not among
/// them.
pub async fn retrying(client: &Client, wanted: ErrorsWanted<'_>) -> Result<ExaminedErrors> {
    examined(client, RETRYING, &Stream::Retry.number(), wanted).await
}

async fn examined(
    client: &Client,
    text: &str,
    of: &(dyn ToSql + Sync),
    wanted: ErrorsWanted<'_>,
) -> Result<ExaminedErrors> {
    let ErrorsWanted { by, filter: Filter { class, scenario, state, step, system }, scope, examine } = wanted;
    let [hidden, own] = scope.as_likes();
    let statement = client.prepare_cached(text).await?;
    let rows = client
        .query(&statement, &[&by.as_str(), of, &examine, class, scenario, state, system, step, &hidden, &own])
        .await?;
    Ok(ExaminedErrors {
        hours: rows.iter().filter_map(read_hour).collect(),
        examined: rows.first().map_or(0, |row| row.get("looked")),
        oldest: rows.first().and_then(|row| row.get("oldest")),
    })
}

/// Orders that ended `fail` since a moment, the newest first, behind a place in that list.
pub async fn failed_orders(
    client: &Client,
    since: Timestamp,
    behind: Option<(Timestamp, OrderNo)>,
    limit: i64,
) -> Result<Vec<(OrderNo, ErrorOrder)>> {
    let (at, no) = behind.unwrap_or((Timestamp::MAX, OrderNo(i64::MAX)));
    let statement = client.prepare_cached(FAILED_ORDERS).await?;
    let rows = client.query(&statement, &[&since, &at, &no.0, &limit]).await?;
    Ok(rows.iter().map(|row| read_member(row, Status::Fail)).collect())
}

/// Orders that wait for their next attempt, those that are due first, behind a place in that list.
pub async fn retrying_orders(
    client: &Client,
    behind: Option<(Timestamp, OrderNo)>,
    limit: i64,
) -> Result<Vec<(OrderNo, ErrorOrder)>> {
    let (at, no) = behind.unwrap_or((Timestamp::UNIX_EPOCH, OrderNo(0)));
    let statement = client.prepare_cached(RETRYING_ORDERS).await?;
    let rows = client.query(&statement, &[&Stream::Retry.number(), &at, &no.0, &limit]).await?;
    Ok(rows.iter().map(|row| read_member(row, Status::Retry)).collect())
}

/// The clients' ids of orders.
pub async fn ids(client: &Client, orders: &[OrderNo]) -> Result<HashMap<OrderNo, String>> {
    let nos: Vec<i64> = orders.iter().map(|no| no.0).collect();
    let statement = client.prepare_cached(IDS).await?;
    let rows = client.query(&statement, &[&nos]).await?;
    Ok(rows.iter().map(|row| (OrderNo(row.get("no")), row.get("id"))).collect())
}

/// The hour of a row; none where no order was wanted.
fn read_hour(row: &Row) -> Option<Hour> {
    Some(Hour {
        from: row.get::<_, Option<Timestamp>>("hour")?,
        key: row.get("key"),
        scenario: row.get("scenario"),
        orders: row.get("orders"),
        first: row.get("first"),
        last: row.get("last"),
        sample: row.get::<_, Vec<i64>>("sample").into_iter().map(OrderNo).collect(),
    })
}

fn read_member(row: &Row, status: Status) -> (OrderNo, ErrorOrder) {
    let order = read!(row => ErrorOrder {
        at, id, scenario, state, step, class, system;
        status: status.to_string(),
        message: row.get("error_message")
    });
    (OrderNo(row.get("order_no")), order)
}
