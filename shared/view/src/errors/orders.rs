//! The orders of a group one by one, so that something can be done to each.

use jiff::Timestamp;
use pagurus_domain::access::scope::AccessScope;
use pagurus_domain::id::OrderNo;
use pagurus_domain::order::Status;
use pagurus_domain::time;
use pagurus_store::lists::errors::{self, Filter};
use pagurus_store::lists::scope;
use pagurus_store::{Client, Error};
use pagurus_wire::errors::{ErrorOrder, ErrorOrders};
use pagurus_wire::problem::Problem;
use schemars::JsonSchema;
use serde::Deserialize;

use super::{named_class, window};
use crate::Views;
use crate::query::{invalid, limit, strange_cursor};

/// Orders on a page, where nothing else is asked for, and at most.
const USUAL_LIMIT: usize = 100;
const MAX_LIMIT: usize = 1000;
/// Rows that one page reads at most. Where few of them are of the group, a page is short.
const MOST_ROWS: usize = 20_000;
/// Rows of one statement.
const ROWS: i64 = 2000;

/// Query of the orders of a group.
#[derive(Debug, Deserialize, JsonSchema)]
pub struct ErrorOrdersQuery {
    /// Status: `fail` or `retry`; default: `fail`.
    status: Option<String>,
    /// Only orders that failed by this class; `unclassified` stands for those without one.
    class: Option<String>,
    /// Only orders of this scenario.
    scenario: Option<String>,
    /// Only orders whose error arose in this state.
    state: Option<String>,
    /// Only orders in this state; for failed orders, their terminal state.
    step: Option<String>,
    /// Only orders that failed by this called system.
    system: Option<String>,
    /// Only orders that failed then or later: a time, or a duration back from now; default: a day, at most 31 days.
    since: Option<String>,
    /// Orders of the page; default: 100.
    #[schemars(with = "Option<u32>", range(min = 1, max = 1000))]
    limit: Option<String>,
    /// Word `next` of the page before.
    cursor: Option<String>,
}

impl Views {
    /// Returns a page of the orders of a group, the newest failure first.
    pub async fn error_orders(&self, query: ErrorOrdersQuery) -> Result<ErrorOrders, Problem> {
        let asked = ParsedErrorOrdersQuery::read(query, Timestamp::now())?;
        let found = async { read(&self.host.store.api().await?, &self.scope, &asked).await };
        found.await.map_err(self.failed("errors"))
    }
}

/// A query that was understood.
#[derive(Debug)]
struct ParsedErrorOrdersQuery {
    status: Status,
    filter: Filter,
    since: Timestamp,
    limit: usize,
    behind: Option<(Timestamp, OrderNo)>,
}

impl ParsedErrorOrdersQuery {
    fn read(query: ErrorOrdersQuery, now: Timestamp) -> Result<Self, Problem> {
        let status = match query.status.as_deref() {
            None | Some("fail") => Status::Fail,
            Some("retry") => Status::Retry,
            Some(_) => return Err(invalid("/status", "status must be fail or retry")),
        };
        Ok(Self {
            status,
            filter: Filter {
                class: named_class(query.class),
                scenario: query.scenario,
                state: query.state,
                step: query.step,
                system: query.system,
            },
            since: window(query.since.as_deref(), now)?,
            limit: limit(query.limit.as_deref(), USUAL_LIMIT, MAX_LIMIT)?,
            behind: match query.cursor.as_deref() {
                None => None,
                Some(cursor) => Some(place(cursor).ok_or_else(strange_cursor)?),
            },
        })
    }
}

/// A cursor is a place in the list: microseconds and number.
fn place(cursor: &str) -> Option<(Timestamp, OrderNo)> {
    let (at, no) = cursor.split_once('-')?;
    let at = Timestamp::from_microsecond(at.parse().ok()?).ok().and_then(time::within_range)?;
    Some((at, OrderNo(no.parse().ok()?)))
}

async fn read(
    client: &Client,
    scope: &AccessScope,
    asked: &ParsedErrorOrdersQuery,
) -> Result<ErrorOrders, Error> {
    let mut items = Vec::new();
    let mut behind = asked.behind;
    let mut rows = 0;
    while rows < MOST_ROWS {
        let found = match asked.status {
            Status::Retry => errors::retrying_orders(client, behind, ROWS).await?,
            _ => errors::failed_orders(client, asked.since, behind, ROWS).await?,
        };
        let is_last = i64::try_from(found.len()).is_ok_and(|found| found < ROWS);
        rows += found.len();
        let seen = scope::within(client, scope, found.iter().map(|(no, _)| *no)).await?;
        for (no, order) in found {
            if items.len() == asked.limit {
                return Ok(page(items, behind));
            }
            behind = Some((order.at, no));
            if asked.filter.takes(&order) && seen.has(&no) {
                items.push(order);
            }
        }
        if is_last {
            return Ok(page(items, None));
        }
    }
    Ok(page(items, behind))
}

fn page(items: Vec<ErrorOrder>, behind: Option<(Timestamp, OrderNo)>) -> ErrorOrders {
    ErrorOrders { items, next: behind.map(|(at, no)| format!("{}-{}", at.as_microsecond(), no.0)) }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test may stop at the first surprise")]
mod tests {
    use super::*;

    #[test]
    fn err_14_a_cursor_is_a_place_in_the_list() {
        let at: Timestamp = "2026-01-02T03:04:05.678901Z".parse().unwrap();
        let cursor = page(Vec::new(), Some((at, OrderNo(7)))).next.unwrap();
        assert_eq!(place(&cursor), Some((at, OrderNo(7))));
        for stranger in ["", "7", "a-7", "7-a", "99999999999999999999-1"] {
            assert_eq!(place(stranger), None, "{stranger}");
        }
    }
}
