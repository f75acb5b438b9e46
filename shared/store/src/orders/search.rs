//! Lists of orders, the newest first: first the places of a bounded number of orders, then the lines of
//! those that somebody wants. Never reads more rows than it is told to.
//!
//! No index names a column of `orders` that changes, so that the updates of the hot path stay cheap. The
//! status is looked for where it shows: an order that has not ended stands in one of three small tables,
//! one that failed in `failures`. Those that ended otherwise, nearly all, are walked through by number.

use std::collections::HashSet;

use jiff::Timestamp;
use pagurus_domain::id::OrderNo;
use pagurus_domain::order::change::shown;
use pagurus_domain::order::{ScenarioStatus, Status};

use crate::row::word;
use crate::sql::{shown_status, statements};
use crate::{Client, Error, Result};

statements! {
    SCENARIO_NUMBERS = "SELECT no FROM scenarios WHERE name = $1";
    // The status as it is stored: what runs shows as it was before. Nobody asks this one for what runs.
    ALL = "SELECT no, status, scenario, false AS runs FROM orders WHERE no < $1 ORDER BY no DESC LIMIT $2";
    FAILED = "
        SELECT order_no AS no, 'fail' AS status, scenario, false AS runs FROM failures WHERE order_no < $1 ORDER BY order_no DESC LIMIT $2";
    UNFINISHED = "
        SELECT p.order_no AS no, o.status, o.scenario, p.runs
          FROM ((SELECT order_no, reissued AS runs FROM ready
                  WHERE order_no < $1 ORDER BY order_no DESC LIMIT $2)
                UNION ALL
                (SELECT order_no, true FROM running WHERE $3 AND order_no < $1 ORDER BY order_no DESC LIMIT $2)
                UNION ALL
                (SELECT order_no, false FROM due WHERE $4 AND order_no < $1 ORDER BY order_no DESC LIMIT $2)
                ORDER BY order_no DESC LIMIT $2) AS p
          JOIN orders o ON o.no = ANY(ARRAY[p.order_no])
         ORDER BY p.order_no DESC";
    // Apart, because no plan serves both: this one reads an index of its own.
    // The index holds a hash, because a transaction may be longer than an entry of an index; the
    // comparison of the text decides.
    OF_TRANSACTION = concat!("
        SELECT o.no, ", shown_status!(), " AS status, o.scenario, false AS runs
          FROM orders o
          LEFT JOIN running w ON w.order_no = ANY(ARRAY[o.no])
          LEFT JOIN ready r ON r.order_no = ANY(ARRAY[o.no])
         WHERE hashtextextended(o.transaction_id, 0) = hashtextextended($3, 0) AND o.transaction_id = $3 AND o.no < $1
         ORDER BY o.no DESC
         LIMIT $2");
    LINES = concat!("
        SELECT o.id, s.name AS scenario, s.version,
               ", shown_status!(), " AS status,
               o.scenario_status, o.step, o.created_at, o.updated_at, o.error_class,
               EXISTS (SELECT FROM inconsistencies i WHERE i.order_no = ANY(ARRAY[o.no])) AS inconsistent
          FROM orders o
          JOIN scenarios s ON s.no = o.scenario
          LEFT JOIN running w ON w.order_no = ANY(ARRAY[o.no])
          LEFT JOIN ready r ON r.order_no = ANY(ARRAY[o.no])
         WHERE o.no = ANY($1::bigint[])
         ORDER BY o.no DESC");
}

/// Where orders are looked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source<'a> {
    /// All orders, in the status that is stored.
    All,
    /// Those that ended `fail`.
    Failed,
    /// Those that have not ended.
    Unfinished {
        /// True if those that run are wanted.
        running: bool,
        /// True if those that are suspended are.
        suspended: bool,
    },
    /// Those of one business transaction.
    Transaction(&'a str),
}

impl<'a> Source<'a> {
    /// The source with the fewest rows that has all orders that are wanted.
    #[must_use]
    pub fn of(transaction: Option<&'a str>, status: Option<Status>) -> Self {
        match (transaction, status) {
            (Some(transaction), _) => Self::Transaction(transaction),
            (None, Some(Status::Fail)) => Self::Failed,
            (None, Some(status)) if !status.is_final() => Self::Unfinished {
                running: status == Status::Running,
                suspended: !matches!(status, Status::New | Status::Reopen | Status::Running),
            },
            (None, _) => Self::All,
        }
    }
}

/// One order, as far as lists choose by it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FoundOrder {
    /// Our number.
    pub no: OrderNo,
    /// Its status.
    pub status: Status,
    /// Our number of the version of its scenario.
    pub scenario: i32,
}

/// One line of a list of orders.
#[derive(Clone, Debug)]
pub struct ListedOrder {
    /// The client's id.
    pub id: String,
    /// Name of the scenario.
    pub scenario: String,
    /// Its version.
    pub scenario_version: i32,
    /// Present status.
    pub status: Status,
    /// How it stands to its target.
    pub scenario_status: ScenarioStatus,
    /// Present state.
    pub step: Option<String>,
    /// Registered at.
    pub created_at: Timestamp,
    /// Last change.
    pub updated_at: Timestamp,
    /// Class of the error.
    pub error_class: Option<String>,
    /// True where it bears the mark of the consistency check.
    pub inconsistent: bool,
}

/// Our numbers of all versions of a scenario.
///
/// # Errors
/// The database fails.
pub async fn scenario_numbers(client: &Client, name: &str) -> Result<HashSet<i32>> {
    let statement = client.prepare_cached(SCENARIO_NUMBERS).await?;
    Ok(client.query(&statement, &[&name]).await?.iter().map(|row| row.get("no")).collect())
}

/// The orders of a source below a number, the newest first, so many at most.
///
/// # Errors
/// The database fails.
pub async fn places(
    client: &Client,
    source: &Source<'_>,
    below: OrderNo,
    limit: usize,
) -> Result<Vec<FoundOrder>> {
    let limit = i64::try_from(limit).unwrap_or(i64::MAX);
    let rows = match source {
        Source::All => {
            let statement = client.prepare_cached(ALL).await?;
            client.query(&statement, &[&below.0, &limit]).await?
        }
        Source::Failed => {
            let statement = client.prepare_cached(FAILED).await?;
            client.query(&statement, &[&below.0, &limit]).await?
        }
        Source::Unfinished { running, suspended } => {
            let statement = client.prepare_cached(UNFINISHED).await?;
            client.query(&statement, &[&below.0, &limit, running, suspended]).await?
        }
        Source::Transaction(transaction) => {
            let statement = client.prepare_cached(OF_TRANSACTION).await?;
            client.query(&statement, &[&below.0, &limit, transaction]).await?
        }
    };
    rows.iter()
        .map(|row| {
            Ok::<_, Error>(FoundOrder {
                no: OrderNo(row.get("no")),
                status: shown(word(row, "status", "orders.status")?, row.get("runs"), false),
                scenario: row.get("scenario"),
            })
        })
        .collect()
}

/// The lines of these orders, the newest first.
///
/// # Errors
/// The database fails.
pub async fn lines(client: &Client, nos: &[i64]) -> Result<Vec<ListedOrder>> {
    let statement = client.prepare_cached(LINES).await?;
    let rows = client.query(&statement, &[&nos]).await?;
    rows.iter()
        .map(|row| {
            Ok(ListedOrder {
                id: row.get("id"),
                scenario: row.get("scenario"),
                scenario_version: row.get("version"),
                status: word(row, "status", "orders.status")?,
                scenario_status: word(row, "scenario_status", "orders.scenario_status")?,
                step: row.get("step"),
                created_at: row.get("created_at"),
                updated_at: row.get("updated_at"),
                error_class: row.get("error_class"),
                inconsistent: row.get("inconsistent"),
            })
        })
        .collect()
}
