//! Searches for orders (REC-13): a step along an access path looks at a bounded number of orders, and says which of them
//! are wanted. Steps follow each other by a cursor, the newest order first, ids in their order.
//!
//! No index names a column of `orders` that changes, so that the updates of the hot path stay cheap. The status is
//! looked for where it shows: an order that has not ended stands in one of three small tables, one that failed in
//! `failures`. Those that ended otherwise, nearly all, are walked through by number.

mod attributes;
mod count;
mod lines;
mod paths;

use std::collections::HashMap;
use std::time::Duration;

use jiff::Timestamp;
use pagurus_domain::access::scope::AccessScope;
use pagurus_domain::id::ScenarioNo;
use pagurus_domain::number::saturated;
use pagurus_domain::search::{AccessPath, Search};
use serde_json::json;
use tokio_postgres::types::ToSql;

use crate::sql::statements;
use crate::{Connection, Result};
pub(crate) use attributes::{STATEMENTS as ATTRIBUTE_STATEMENTS, put_values, replace_values};
pub use count::{SearchCount, SearchGroup, SearchKey};
pub(crate) use lines::STATEMENTS as LINES_STATEMENTS;
pub use lines::{ListedOrder, lines};
pub(crate) use paths::STATEMENTS as PATH_STATEMENTS;

statements! {
    SCENARIO_NUMBERS = "SELECT no FROM scenarios WHERE name = $1 AND ($2::integer IS NULL OR version = $2)";
    NODES = "SELECT incarnation FROM nodes WHERE name = $1 AND ended_at IS NULL";
    FROM_NUMBER = "SELECT no, created_at FROM orders WHERE no >= $1 ORDER BY no LIMIT 1";
    PAYLOADS = "
        SELECT o.no, o.scenario, p.params, c.snapshot FROM orders o
          LEFT JOIN payloads p ON p.order_no = ANY(ARRAY[o.no])
          LEFT JOIN contexts c ON c.order_no = ANY(ARRAY[o.no])
         WHERE o.no = ANY($1::bigint[])";
    IDS_OF = "SELECT no, id FROM orders WHERE no = ANY($1::bigint[])";
    LAST_NUMBER = "SELECT no FROM orders ORDER BY no DESC LIMIT 1";
}

/// Numbers are given while orders are registered, and the times of their rows are taken then: two that are further
/// apart than this are in the same order by both.
const REGISTERED_WITHIN: Duration = Duration::from_secs(60);

/// An order that is wanted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WantedOrder {
    /// Our number.
    pub no: i64,
    /// The client's id, where orders are found by that.
    id: Option<String>,
}

/// A step of a walk.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SearchStep {
    /// Orders that were looked at.
    pub looked: usize,
    /// Wanted orders, in order.
    pub found: Vec<WantedOrder>,
    /// True where nothing is behind it.
    pub is_last: bool,
}

/// Place behind which a walk goes on.
#[derive(Clone, Debug, PartialEq, Eq)]
enum SearchCursor {
    /// Below this number.
    Below(i64),
    /// Behind this id.
    Behind(String),
}

/// A walk along the access path of a search.
#[derive(Clone, Debug)]
pub struct SearchWalk {
    search: Search,
    /// Numbers of the versions of its scenario.
    scenarios: Option<Vec<i32>>,
    /// Living nodes of the name.
    nodes: Option<Vec<i64>>,
    /// Patterns of names that are hidden from those who search, and of the exceptions.
    likes: [Option<Vec<String>>; 2],
    /// The lowest number that can be wanted.
    from: i64,
    cursor: SearchCursor,
}

impl SearchWalk {
    /// The walk of a search from its begin, or from the cursor of a former one; none where nothing can be wanted. It finds
    /// what is in the scope of those who search.
    pub async fn begin(
        client: &impl Connection,
        search: Search,
        scope: &AccessScope,
        cursor: Option<&str>,
    ) -> Result<Option<Self>> {
        let scenarios = match &search.scenario {
            None => None,
            Some(name) => {
                let statement = client.prepare_cached(SCENARIO_NUMBERS).await?;
                let rows = client.query(&statement, &[name, &search.scenario_version]).await?;
                Some(rows.iter().map(|row| row.get("no")).collect::<Vec<i32>>())
            }
        };
        let nodes = match &search.node {
            None => None,
            Some(name) => {
                let rows = client.query(&client.prepare_cached(NODES).await?, &[name]).await?;
                Some(rows.iter().map(|row| row.get("incarnation")).collect::<Vec<i64>>())
            }
        };
        if scenarios.as_ref().is_some_and(Vec::is_empty) || nodes.as_ref().is_some_and(Vec::is_empty) {
            return Ok(None);
        }
        let (mut from, mut below) = (0, i64::MAX);
        if let AccessPath::ByNumber { since, until } = search.path() {
            if let Some(since) = since.and_then(|since| since.checked_sub(REGISTERED_WITHIN).ok()) {
                from = number_at(client, since).await?;
            }
            if let Some(until) = until.and_then(|until| until.checked_add(REGISTERED_WITHIN).ok()) {
                below = number_at(client, until).await?;
            }
        }
        let by_id = matches!(search.path(), AccessPath::IdPrefix(_));
        let cursor = match cursor {
            None if by_id => SearchCursor::Behind(String::new()),
            None => SearchCursor::Below(below),
            Some(text) if by_id => SearchCursor::Behind(text.to_owned()),
            Some(text) => SearchCursor::Below(text.parse().unwrap_or(0)),
        };
        Ok(Some(Self { search, scenarios, nodes, likes: scope.as_likes(), from, cursor }))
    }

    /// The search.
    #[must_use]
    pub const fn search(&self) -> &Search {
        &self.search
    }

    /// True for a text that is a cursor of this search.
    #[must_use]
    pub fn is_cursor(search: &Search, text: &str) -> bool {
        matches!(search.path(), AccessPath::IdPrefix(_)) || text.parse::<i64>().is_ok()
    }

    /// Cursor of what is behind the last step.
    #[must_use]
    pub fn cursor(&self) -> String {
        match &self.cursor {
            SearchCursor::Below(no) => no.to_string(),
            SearchCursor::Behind(id) => id.clone(),
        }
    }

    /// Lets the next step begin behind this order.
    pub fn go_on_behind(&mut self, order: &WantedOrder) {
        self.cursor = order.id.clone().map_or(SearchCursor::Below(order.no), SearchCursor::Behind);
    }

    /// Makes the next step, which looks at `rows` orders.
    pub async fn next(&mut self, client: &impl Connection, rows: usize) -> Result<SearchStep> {
        // The table of failures knows neither flow nor queue.
        let (text, parameters) = match self.search.is_of_failures_alone() && self.likes[0].is_none() {
            true => (paths::OF_FAILURES, self.parameters_of_failures(rows)),
            false => (paths::statements_of(self.search.path()).0, self.parameters(rows)),
        };
        let statement = client.prepare_cached(text).await?;
        let parameters: Vec<&(dyn ToSql + Sync)> = parameters.iter().map(|one| &**one as _).collect();
        let row = client.query_one(&statement, &parameters).await?;
        let looked = count(row.get("looked"));
        let numbers: Vec<i64> = row.get("found");
        let found = if matches!(self.cursor, SearchCursor::Behind(_)) {
            if let Some(last) = row.get("last") {
                self.cursor = SearchCursor::Behind(last);
            }
            let ids: Vec<String> = row.get("ids");
            numbers.into_iter().zip(ids).map(|(no, id)| WantedOrder { no, id: Some(id) }).collect()
        } else {
            if let Some(lowest) = row.get("lowest") {
                self.cursor = SearchCursor::Below(lowest);
            }
            numbers.into_iter().map(|no| WantedOrder { no, id: None }).collect()
        };
        Ok(SearchStep { looked, found, is_last: looked < rows })
    }

    /// Cursor and rows.
    fn place(&self, rows: usize) -> [Parameter; 2] {
        let cursor: Parameter = match &self.cursor {
            SearchCursor::Below(no) => Box::new(*no),
            SearchCursor::Behind(id) => Box::new(id.clone()),
        };
        [cursor, Box::new(saturated::<i64>(rows))]
    }

    /// Parameters of a step through the failures.
    fn parameters_of_failures(&self, rows: usize) -> Vec<Parameter> {
        let search = &self.search;
        let mut parameters = Vec::from(self.place(rows));
        parameters.push(Box::new(self.scenarios.clone()));
        let words = [&search.states, &search.classes, &search.systems, &search.error_states];
        parameters.extend(words.map(|words| Box::new(given(words)) as Parameter));
        let times = [search.finished_since, search.finished_until];
        parameters.extend(times.map(|time| Box::new(time) as Parameter));
        parameters
    }

    /// Parameters of the statements: cursor, rows, conditions, and those of the path.
    fn parameters(&self, rows: usize) -> Vec<Parameter> {
        let search = &self.search;
        let statuses: Vec<&'static str> = search.statuses.iter().map(|status| status.as_str()).collect();
        let scenario_statuses: Vec<&'static str> =
            search.scenario_statuses.iter().map(|status| status.as_str()).collect();
        let text = search.text.as_ref().map(|text| text.to_lowercase());
        let mut parameters = Vec::from(self.place(rows));
        let conditions: Vec<Parameter> = vec![
            Box::new((!statuses.is_empty()).then_some(statuses)),
            Box::new(self.scenarios.clone()),
            Box::new(given(&search.states)),
            Box::new(given(&search.classes)),
            Box::new(given(&search.systems)),
            Box::new(search.flow.clone()),
            Box::new(search.queue.clone()),
            Box::new(search.priority.map(|priority| priority.as_str())),
            Box::new(search.created_since),
            Box::new(search.created_until),
            Box::new(search.finished_since),
            Box::new(search.finished_until),
            Box::new(text),
            Box::new(search.transaction_id.clone()),
            Box::new(self.nodes.clone()),
            Box::new(search.id_prefix.clone()),
            Box::new(search.attributes.keys().cloned().collect::<Vec<String>>()),
            Box::new(search.attributes.values().cloned().collect::<Vec<String>>()),
            Box::new(search.jeopardy),
            Box::new((!scenario_statuses.is_empty()).then_some(scenario_statuses)),
            Box::new(search.mode.map(|mode| mode.as_str())),
            Box::new(search.source.clone()),
            Box::new(search.inconsistent),
            Box::new(search.failed_over),
            Box::new(given(&search.error_states)),
            Box::new((!search.labels.is_empty()).then(|| json!(search.labels).to_string())),
        ];
        let likes = self.likes.iter().map(|likes| Box::new(likes.clone()) as Parameter);
        parameters.extend(conditions.into_iter().chain(likes));
        match search.path() {
            AccessPath::Ids(ids) => parameters.push(Box::new(ids.to_vec())),
            AccessPath::Transaction(text) | AccessPath::IdPrefix(text) | AccessPath::Queue(text) => {
                parameters.push(Box::new(text.to_owned()));
            }
            AccessPath::Attribute(name, value) | AccessPath::Label(name, value) => {
                parameters.extend([Box::new(name.to_owned()) as Parameter, Box::new(value.to_owned())]);
            }
            AccessPath::Unfinished { running, suspended } => {
                parameters.extend([Box::new(running) as Parameter, Box::new(suspended)]);
            }
            AccessPath::ByNumber { .. } => parameters.push(Box::new(self.from)),
            AccessPath::Node(_) | AccessPath::Failed | AccessPath::Jeopardy | AccessPath::Inconsistent => {}
        }
        parameters
    }
}

/// A parameter of a statement.
type Parameter = Box<dyn ToSql + Sync + Send>;

/// A list, unless it is empty.
fn given(list: &[String]) -> Option<Vec<String>> {
    (!list.is_empty()).then(|| list.to_vec())
}

fn count(number: i64) -> usize {
    saturated::<usize>(number)
}

/// The lowest number of an order that was registered then or later, give or take; one above all where none was.
async fn number_at(client: &impl Connection, at: Timestamp) -> Result<i64> {
    let statement = client.prepare_cached(FROM_NUMBER).await?;
    let last = client.query_opt(&client.prepare_cached(LAST_NUMBER).await?, &[]).await?;
    let (mut low, mut high) = (0_i64, last.map_or(0, |row| row.get::<_, i64>("no")).saturating_add(1));
    // All below `low` are earlier, and what stands at `high` or above is not.
    while low < high {
        let middle = low + (high - low) / 2;
        match client.query_opt(&statement, &[&middle]).await? {
            Some(row) if row.get::<_, Timestamp>("created_at") < at => low = row.get::<_, i64>("no") + 1,
            _ => high = middle,
        }
    }
    Ok(low)
}

/// Values that an order carries, as JSON.
#[derive(Clone, Debug)]
pub struct CarriedValues {
    /// Number of the version of its scenario.
    pub scenario: ScenarioNo,
    /// Parameters.
    pub params: Option<String>,
    /// Position and variables.
    pub snapshot: Option<String>,
}

/// The values that these orders carry.
pub async fn carried(client: &impl Connection, nos: &[i64]) -> Result<HashMap<i64, CarriedValues>> {
    let rows = client.query(&client.prepare_cached(PAYLOADS).await?, &[&nos]).await?;
    let values = rows.iter().map(|row| {
        let carried = CarriedValues {
            scenario: ScenarioNo(row.get("scenario")),
            params: row.get("params"),
            snapshot: row.get("snapshot"),
        };
        (row.get("no"), carried)
    });
    Ok(values.collect())
}

/// The ids of these orders.
pub async fn ids_of(client: &impl Connection, nos: &[i64]) -> Result<HashMap<i64, String>> {
    let rows = client.query(&client.prepare_cached(IDS_OF).await?, &[&nos]).await?;
    Ok(rows.iter().map(|row| (row.get("no"), row.get("id"))).collect())
}
