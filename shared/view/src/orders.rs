//! Orders in a list: which ones a page has. A page looks at a bounded number of rows, whatever is
//! asked for, and its cursor goes on behind the last that it looked at; which rows those are, is the
//! store's to know.

use std::collections::HashSet;
use std::time::Duration;

use pagurus_domain::id::OrderNo;
use pagurus_domain::order::Status;
use pagurus_store::orders::{self, FoundOrder, ListedOrder, Source};
use pagurus_store::{Client, Error};
use pagurus_wire::order::{OrderLine, Page};
use pagurus_wire::problem::{Problem, Type};
use serde::Deserialize;

use crate::Views;
use crate::query::{cursor, invalid, limit};

/// Orders on a page, where nothing else is asked for, and at most.
const USUAL_LIMIT: usize = 50;
const MAX_LIMIT: usize = 500;
/// Rows that one page looks at, at most: some hundredths of a second of one connection. Where few of
/// them are wanted, a page is short.
const MOST_ROWS: usize = 10_000;
/// Rows of one statement, where some may not be wanted.
const ROWS: usize = 1000;
/// How long a search waits for those before it.
const PATIENCE: Duration = Duration::from_secs(5);

/// Query of a list of orders.
#[derive(Debug, Deserialize)]
pub struct OrdersQuery {
    scenario: Option<String>,
    status: Option<String>,
    #[serde(rename = "transactionId")]
    transaction_id: Option<String>,
    limit: Option<String>,
    cursor: Option<String>,
}

impl Views {
    /// One page of a list of orders, the newest first.
    pub async fn orders(&self, query: OrdersQuery) -> Result<Page<OrderLine>, Problem> {
        let asked = Asked::read(query)?;
        // Point reads share the connections: searches never take all of them.
        let turn = tokio::time::timeout(PATIENCE, self.searches.acquire()).await;
        let Ok(_turn) = turn else {
            return Err(Problem::new(Type::Busy, "too many lists are being made; try again"));
        };
        let found = async {
            let client = self.host.store.api().await?;
            let (nos, next) = choose(&client, &asked).await?;
            let lines = orders::lines(&client, &nos).await?;
            Ok(Page { items: lines.into_iter().map(line).collect(), next })
        };
        found.await.map_err(self.failed("list"))
    }
}

/// A query that was understood.
#[derive(Debug)]
struct Asked {
    scenario: Option<String>,
    status: Option<Status>,
    transaction: Option<String>,
    limit: usize,
    /// The number that the orders are below.
    below: i64,
}

impl Asked {
    fn read(query: OrdersQuery) -> Result<Self, Problem> {
        let status = query.status.as_deref().map(str::parse::<Status>).transpose();
        Ok(Self {
            limit: limit(query.limit.as_deref(), USUAL_LIMIT, MAX_LIMIT)?,
            status: status.map_err(|error| invalid("/status", error.to_string()))?,
            below: cursor(query.cursor.as_deref(), i64::MAX)?,
            scenario: query.scenario,
            transaction: query.transaction_id,
        })
    }

    /// Rows of one statement: no more than wanted, where every row is.
    fn rows(&self) -> usize {
        if self.scenario.is_none() && self.status.is_none() { self.limit + 1 } else { ROWS }
    }

    fn takes(&self, place: &FoundOrder, scenarios: Option<&HashSet<i32>>) -> bool {
        self.status.is_none_or(|status| place.status == status)
            && scenarios.is_none_or(|numbers| numbers.contains(&place.scenario))
    }
}

/// The numbers of the orders of a page, and the cursor of the next.
async fn choose(client: &Client, asked: &Asked) -> Result<(Vec<i64>, Option<String>), Error> {
    let scenarios = match asked.scenario.as_deref() {
        None => None,
        Some(name) => Some(orders::scenario_numbers(client, name).await?),
    };
    if scenarios.as_ref().is_some_and(HashSet::is_empty) {
        return Ok((Vec::new(), None));
    }
    let source = Source::of(asked.transaction.as_deref(), asked.status);
    let mut nos = Vec::new();
    let (mut below, mut looked_at) = (asked.below, 0);
    while looked_at < MOST_ROWS {
        let found = orders::places(client, &source, OrderNo(below), asked.rows()).await?;
        let is_last = found.len() < asked.rows();
        looked_at += found.len();
        for place in found {
            if nos.len() == asked.limit {
                return Ok((nos, Some(below.to_string())));
            }
            below = place.no.0;
            if asked.takes(&place, scenarios.as_ref()) {
                nos.push(place.no.0);
            }
        }
        if is_last {
            return Ok((nos, None));
        }
    }
    Ok((nos, Some(below.to_string())))
}

/// One line of a list.
fn line(row: ListedOrder) -> OrderLine {
    OrderLine {
        id: row.id,
        scenario: row.scenario,
        scenario_version: row.scenario_version,
        status: row.status.to_string(),
        scenario_status: row.scenario_status.to_string(),
        step: row.step,
        error_class: row.error_class,
        created_at: row.created_at,
        updated_at: row.updated_at,
        inconsistent: row.inconsistent,
    }
}
