//! Orders in a list, and in groups with counts: which ones a search wants. A page looks at a bounded number of rows,
//! whatever is asked for, and its cursor goes on behind the last that it looked at; which rows those are, is the store's
//! to know.

use std::collections::HashMap;
use std::time::Duration;

use jiff::Timestamp;
use pagurus_domain::search::Search;
use pagurus_store::lists::search::{self, ListedOrder, SearchKey, SearchStep, SearchWalk};
use pagurus_store::lists::searches;
use pagurus_store::{Client, Error};
use pagurus_wire::order::{OrderLine, Page};
use pagurus_wire::problem::{Problem, Type};
use pagurus_wire::search::{OrderCount, OrderCounts, SearchQuery};
use schemars::JsonSchema;

use crate::Views;
use crate::query::{examine, invalid, limit, strange_cursor};

/// Orders on a page, where nothing else is asked for, and at most.
const USUAL_LIMIT: usize = 50;
const MAX_LIMIT: usize = 500;
/// Rows that one page looks at, at most: some hundredths of a second of one connection. Where few of
/// them are wanted, a page is short.
const MOST_ROWS: usize = 10_000;
/// Rows that one page looks at, at most, if the values of each order are read.
const MOST_READ: usize = 1000;
/// Rows of one statement, where some may not be wanted.
const ROWS: usize = 1000;
/// Rows that one count looks at, at most: some tenths of a second of a connection for reports.
const MOST_COUNTED: usize = 200_000;
/// Time for which a search waits for those before it.
const PATIENCE: Duration = Duration::from_secs(5);

/// Conditions of a list, as the document names them.
#[derive(Debug, JsonSchema)]
pub struct OrdersFields {
    /// Conditions.
    #[schemars(flatten)]
    pub conditions: SearchQuery,
    /// Name of a saved search, in place of conditions.
    pub saved: Option<String>,
    /// Orders of the page; default: 50.
    #[schemars(range(min = 1, max = 500))]
    pub limit: Option<u32>,
    /// Cursor from the page before.
    pub cursor: Option<String>,
}

/// Conditions of counts, as the document names them.
#[derive(Debug, JsonSchema)]
pub struct CountsFields {
    /// Fields to count by, one or two of: status, scenario, state, class, system, flow, queue, priority, scenarioStatus, mode, `label:KEY` for the values of a label, separated by a comma.
    pub by: Option<String>,
    /// Orders that are examined at most; default: 200 000. Where there are more, `complete` is false. Fewer are counted faster.
    #[schemars(range(min = 1, max = 200_000))]
    pub examine: Option<u32>,
    /// Conditions.
    #[schemars(flatten)]
    pub conditions: OrdersFields,
}

/// Orders that are wanted: conditions as pairs, or a search that has a name.
#[derive(Debug)]
pub(crate) struct OrderSelection {
    search: Search,
    /// Name of a saved search, in place of conditions.
    saved: Option<String>,
}

impl OrderSelection {
    /// Reads the pairs of a query, but for fields of its `own`, whose values it gives.
    ///
    /// # Errors
    /// The problem to answer with: everything that is wrong.
    pub fn read<'a>(
        pairs: &'a [(String, String)],
        own: &[&str],
        now: Timestamp,
    ) -> Result<(Self, impl Fn(&str) -> Option<&'a str>), Problem> {
        let one = move |wanted: &str| {
            pairs.iter().rev().find(|(name, _)| name == wanted).map(|(_, value)| value.as_str())
        };
        let conditions = pairs
            .iter()
            .filter(|(name, _)| name != "saved" && !own.contains(&name.as_str()))
            .map(|(name, value)| (name.as_str(), value.as_str()));
        let search =
            Search::of_pairs(conditions, now).map_err(|faults| Problem::of_faults(Type::Invalid, &faults))?;
        let saved = one("saved").map(str::to_owned);
        if saved.is_some() && !search.is_empty() {
            return Err(invalid(
                "/saved",
                "a saved search cannot be combined with other conditions: remove them",
            ));
        }
        Ok((Self { search, saved }, one))
    }
}

/// A query of orders: which are wanted, and what the answer is to be like.
#[derive(Debug)]
pub struct OrdersQuery {
    selection: OrderSelection,
    limit: usize,
    cursor: Option<String>,
    by: Vec<SearchKey>,
    examine: usize,
}

impl OrdersQuery {
    /// Reads the pairs of a query.
    ///
    /// # Errors
    /// The problem to answer with: everything that is wrong.
    pub fn read(pairs: &[(String, String)]) -> Result<Self, Problem> {
        let (selection, own) =
            OrderSelection::read(pairs, &["limit", "cursor", "by", "examine"], Timestamp::now())?;
        let cursor = own("cursor").map(str::to_owned);
        let by = own("by").map_or(Ok(Vec::new()), keys)?;
        let examine = examine(own("examine"), MOST_COUNTED)?;
        Ok(Self { selection, limit: limit(own("limit"), USUAL_LIMIT, MAX_LIMIT)?, cursor, by, examine })
    }
}

/// At most two keys, apart by commas.
fn keys(text: &str) -> Result<Vec<SearchKey>, Problem> {
    let words = || SearchKey::ALL.map(|key| key.word()).join(", ");
    let found: Option<Vec<SearchKey>> = text.split(',').map(SearchKey::of).collect();
    found.filter(|keys| keys.len() <= 2).ok_or_else(|| {
        invalid("/by", format!("by must name one or two of {} or `label:KEY`, separated by a comma", words()))
    })
}

impl Views {
    /// Returns a page of a list of orders, the newest first.
    pub async fn orders(&self, query: OrdersQuery) -> Result<Page<OrderLine>, Problem> {
        if !query.by.is_empty() {
            return Err(invalid("/by", "counts stand at /v1/counts"));
        }
        let search = self.walked(&query).await?;
        let _turn = self.turn().await?;
        let found = async {
            let client = self.host.store.api().await?;
            let (nos, next) = self.choose(&client, search, &query).await?;
            let lines = search::lines(&client, &nos).await?;
            let mut by_number: HashMap<i64, ListedOrder> =
                lines.into_iter().map(|line| (line.no, line)).collect();
            let items = nos.iter().filter_map(|no| by_number.remove(no)).map(line).collect();
            Ok(Page { items, next })
        };
        found.await.map_err(self.failed("list"))
    }

    /// Counts of the orders that a search wants, by one or two keys.
    pub async fn order_counts(&self, query: OrdersQuery) -> Result<OrderCounts, Problem> {
        let search = self.walked(&query).await?;
        if search.reads_payloads() {
            let message = "values of parameters and variables cannot be counted by: list the orders";
            return Err(invalid("/params", message));
        }
        let by = if query.by.is_empty() { vec![SearchKey::Status] } else { query.by };
        let keys = [by[0].clone(), by.get(1).cloned().unwrap_or(SearchKey::Nothing)];
        let counted = async {
            let client = self.host.store.reports().await?;
            let Some(walk) = SearchWalk::begin(&client, search, &self.scope, None).await? else {
                return Ok((search::SearchCount { groups: Vec::new(), is_complete: true }, HashMap::new()));
            };
            let counted = walk.count(&client, keys, query.examine).await?;
            let newest: Vec<i64> = counted.groups.iter().take(MAX_LIMIT).map(|group| group.newest).collect();
            let ids = search::ids_of(&client, &newest).await?;
            Ok((counted, ids))
        };
        let (counted, ids) = counted.await.map_err(self.failed("counts"))?;
        let items = counted.groups.iter().take(MAX_LIMIT).map(|group| OrderCount {
            key: group.keys.iter().take(by.len()).map(|key| key.clone().unwrap_or_default()).collect(),
            orders: group.orders,
            newest: ids.get(&group.newest).cloned(),
        });
        Ok(OrderCounts {
            by: by.iter().map(|key| key.word().into_owned()).collect(),
            orders: counted.groups.iter().map(|group| group.orders).sum(),
            complete: counted.is_complete,
            items: items.collect(),
        })
    }

    /// The search of a query, whose cursor is one of it.
    async fn walked(&self, query: &OrdersQuery) -> Result<Search, Problem> {
        let search = self.searched(&query.selection).await?;
        match &query.cursor {
            Some(cursor) if !SearchWalk::is_cursor(&search, cursor) => Err(strange_cursor()),
            _ => Ok(search),
        }
    }

    /// The search of a selection, or the saved one that it names.
    pub(crate) async fn searched(&self, selection: &OrderSelection) -> Result<Search, Problem> {
        let Some(name) = &selection.saved else { return self.permitted(selection.search.clone()) };
        let saved = async { searches::find(&self.host.store.api().await?, name).await };
        let saved = saved.await.map_err(self.failed("searches"))?;
        let saved = saved.ok_or_else(|| Problem::no_search(name))?;
        let value = serde_json::from_str(&saved.search).unwrap_or_default();
        let search = Search::read(&value, Timestamp::now());
        self.permitted(search.map_err(|faults| Problem::of_faults(Type::Invalid, &faults))?)
    }

    /// The search, unless it looks into payloads that are hidden from those who ask.
    fn permitted(&self, search: Search) -> Result<Search, Problem> {
        match search.payload_condition().filter(|_| self.scope.hides_payloads()) {
            Some(condition) => Err(Problem::payloads_are_hidden(condition)),
            None => Ok(search),
        }
    }

    /// Point reads share the connections: searches never take all of them.
    async fn turn(&self) -> Result<tokio::sync::SemaphorePermit<'_>, Problem> {
        let turn = tokio::time::timeout(PATIENCE, self.searches.acquire()).await;
        match turn {
            Ok(Ok(turn)) => Ok(turn),
            _ => Err(Problem::new(Type::Busy, "too many lists are being made; try again")),
        }
    }

    /// The numbers of the orders of a page, and the cursor of the next.
    async fn choose(
        &self,
        client: &Client,
        search: Search,
        query: &OrdersQuery,
    ) -> Result<(Vec<i64>, Option<String>), Error> {
        let (rows, most) = match (search.is_empty(), search.reads_payloads()) {
            (_, true) => (ROWS, MOST_READ),
            // Between theirs stand those of others, as many as there may be.
            (_, false) if !self.scope.has_every_name() => (ROWS, MOST_COUNTED),
            (true, false) => (query.limit + 1, MOST_ROWS),
            (false, false) => (ROWS, MOST_ROWS),
        };
        let finder = self.finder();
        let Some(mut walk) = SearchWalk::begin(client, search, &self.scope, query.cursor.as_deref()).await?
        else {
            return Ok((Vec::new(), None));
        };
        let (mut nos, mut looked) = (Vec::new(), 0);
        while looked < most {
            let mut before = walk.clone();
            let SearchStep { looked: more, found, is_last } = finder.step(client, &mut walk, rows).await?;
            looked += more;
            for order in found {
                if nos.len() == query.limit {
                    return Ok((nos, Some(before.cursor())));
                }
                before.go_on_behind(&order);
                nos.push(order.no);
            }
            if is_last {
                return Ok((nos, None));
            }
        }
        Ok((nos, Some(walk.cursor())))
    }
}

/// Makes the line of an order in a list.
fn line(row: ListedOrder) -> OrderLine {
    OrderLine {
        id: row.id,
        scenario: row.scenario,
        scenario_version: row.scenario_version,
        status: row.status.to_string(),
        scenario_status: row.scenario_status.to_string(),
        step: row.step,
        error_class: row.error_class,
        labels: row.labels,
        created_at: row.created_at,
        updated_at: row.updated_at,
        inconsistent: row.inconsistent,
        jeopardy: row.jeopardy,
    }
}
