//! Where the time of many orders went, in a range of time.
//!
//! The orders are found by the conditions of a search. Which of those that were there in the range are summed, is spread evenly
//! over all that were found, so that the shares are those of all, give or take what a sample may miss; the answer says how many
//! were found, and how many of them were summed.

use std::collections::BTreeMap;

use jiff::{SignedDuration, Timestamp};
use pagurus_domain::access::scope::AccessScope;
use pagurus_domain::id::spelled;
use pagurus_domain::order::Status;
use pagurus_domain::order::ledger::LedgerSums;
use pagurus_domain::search::Search;
use pagurus_store::lists::ledger;
use pagurus_store::lists::search::SearchWalk;
use pagurus_store::{Client, Error};
use pagurus_wire::ledger::{LedgerGroupView, LedgerSumsView};
use pagurus_wire::problem::Problem;
use pagurus_wire::search::SearchQuery;
use schemars::JsonSchema;

use super::shares;
use super::spans::SpanReader;
use crate::Views;
use crate::orders::OrderSelection;
use crate::query::{examine, invalid, moment};

/// Orders that are summed, where nothing else is asked for, and at most.
const USUAL_SAMPLE: usize = 500;
const MOST_SUMMED: usize = 2000;
/// Orders that are examined for either half of a search, those that have ended and those that have not: some tenths of a second
/// of a connection for reports.
const MOST_EXAMINED: usize = 200_000;
/// Orders of one statement that looks for them.
const ROWS: usize = 5000;
/// Orders whose histories are read at a time: some megabytes at most.
const TOGETHER: usize = 20;
/// Shares that stand by name, and groups.
const MOST_SHARES: usize = 50;
const MOST_GROUPS: usize = 100;
/// Range, where nothing else is asked for.
const USUAL_RANGE: SignedDuration = SignedDuration::from_hours(1);

/// Fields of a query of sums, as the document names them.
#[derive(Debug, JsonSchema)]
pub struct LedgerFields {
    /// Conditions.
    #[schemars(flatten)]
    pub conditions: SearchQuery,
    /// Name of a saved search, in place of conditions.
    pub saved: Option<String>,
    /// Start of the range: a time, or a duration back from now; default: an hour before its end.
    pub from: Option<String>,
    /// End of the range, in the same form; default: now.
    pub until: Option<String>,
    /// Sums for each `flow` or `scenario`, besides those of all orders.
    pub by: Option<String>,
    /// Orders that are examined at most, ended ones and others each; default: 200 000. Where there are more, `complete` is false.
    #[schemars(range(min = 1, max = 200_000))]
    pub examine: Option<u32>,
    /// Orders that are summed at most, of all that were found; default: 500.
    #[schemars(range(min = 1, max = 2000))]
    pub sample: Option<u32>,
}

/// Property by which orders are put together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum LedgerKey {
    /// The flow.
    Flow,
    /// The scenario, all its versions.
    Scenario,
}

spelled!(LedgerKey { Flow => "flow", Scenario => "scenario" });

/// A query of sums.
#[derive(Debug)]
pub struct LedgerQuery {
    selection: OrderSelection,
    from: Timestamp,
    until: Timestamp,
    by: Option<LedgerKey>,
    sample: usize,
    examine: usize,
}

impl LedgerQuery {
    /// Reads the pairs of a query.
    ///
    /// # Errors
    /// The problem to answer with: everything that is wrong.
    pub fn read(pairs: &[(String, String)]) -> Result<Self, Problem> {
        let now = Timestamp::now();
        let (selection, own) =
            OrderSelection::read(pairs, &["from", "until", "by", "sample", "examine"], now)?;
        let time = |name: &str, usual: Timestamp| {
            let Some(text) = own(name) else { return Ok(usual) };
            let message = format!("`{text}` is neither a time nor a duration back from now");
            moment(text, now).ok_or_else(|| invalid(&format!("/{name}"), message))
        };
        let until = time("until", now)?.min(now);
        let from = time("from", until.saturating_sub(USUAL_RANGE).unwrap_or(until))?;
        if from >= until {
            return Err(invalid("/from", "from must be before until, and before now"));
        }
        let by = own("by").map(str::parse).transpose();
        let sample = own("sample").map_or(Ok(USUAL_SAMPLE), str::parse).ok();
        Ok(Self {
            selection,
            from,
            until,
            examine: examine(own("examine"), MOST_EXAMINED)?,
            by: by.map_err(|error: pagurus_domain::id::UnknownWord| invalid("/by", error.to_string()))?,
            sample: sample
                .filter(|sample| (1..=MOST_SUMMED).contains(sample))
                .ok_or_else(|| invalid("/sample", format!("sample must be 1 to {MOST_SUMMED}")))?,
        })
    }

    /// The halves of a search for orders that were there in the range: those that have not ended, and those that ended in it or
    /// later. Each half has an access path of its own.
    fn halves(&self, search: &Search) -> [Search; 2] {
        let created_until = Some(search.created_until.map_or(self.until, |until| until.min(self.until)));
        let of = |is_final: bool| {
            let asked = |status: &Status| search.statuses.is_empty() || search.statuses.contains(status);
            let statuses = Status::ALL.iter().copied().filter(|one| one.is_final() == is_final && asked(one));
            Search { statuses: statuses.collect(), created_until, ..search.clone() }
        };
        let finished_since = Some(search.finished_since.map_or(self.from, |since| since.max(self.from)));
        [of(false), Search { finished_since, ..of(true) }]
    }
}

impl Views {
    /// Says for which reasons the time of many orders passed.
    pub async fn ledger_sums(&self, query: LedgerQuery) -> Result<LedgerSumsView, Problem> {
        let search = self.searched(&query.selection).await?;
        if search.reads_payloads() {
            let message = "conditions on values of parameters and variables work only in lists";
            return Err(invalid("/params", message));
        }
        let summed = async {
            let client = self.host.store.reports().await?;
            let (found, complete) = found(&client, &self.scope, query.halves(&search), query.examine).await?;
            let time = SummedTime::of(&client, &query, &spread(&found, query.sample)).await?;
            Ok(time.view(&query, found.len(), complete))
        };
        summed.await.map_err(self.failed("ledger"))
    }
}

/// Numbers of the orders that these searches want, and whether all were examined.
async fn found(
    client: &Client,
    scope: &AccessScope,
    halves: [Search; 2],
    examine: usize,
) -> Result<(Vec<i64>, bool), Error> {
    let (mut nos, mut is_complete) = (Vec::new(), true);
    for half in halves.into_iter().filter(|half| !half.statuses.is_empty()) {
        let Some(mut walk) = SearchWalk::begin(client, half, scope, None).await? else { continue };
        let mut looked = 0;
        loop {
            let step = walk.next(client, ROWS.min(examine - looked)).await?;
            looked += step.looked;
            nos.extend(step.found.iter().map(|order| order.no));
            if step.is_last {
                break;
            }
            if looked >= examine {
                is_complete = false;
                break;
            }
        }
    }
    // An order that ends between the two walks is found by both.
    nos.sort_unstable();
    nos.dedup();
    Ok((nos, is_complete))
}

/// At most `size` of these, evenly spread over all.
fn spread(nos: &[i64], size: usize) -> Vec<i64> {
    let size = size.min(nos.len());
    (0..size).filter_map(|place| nos.get(place * nos.len() / size)).copied().collect()
}

/// Time of the orders of a sample, in all and by their groups.
struct SummedTime {
    orders: usize,
    all: LedgerSums,
    groups: BTreeMap<String, (usize, LedgerSums)>,
}

impl SummedTime {
    /// Sums the time of these orders.
    async fn of(client: &Client, query: &LedgerQuery, chosen: &[i64]) -> Result<Self, Error> {
        let none = LedgerSums::within(query.from, query.until);
        let mut summed = Self { orders: 0, all: none.clone(), groups: BTreeMap::new() };
        let mut reader = SpanReader::new(client, query.from, Timestamp::now());
        for nos in chosen.chunks(TOGETHER) {
            let orders = ledger::orders(client, nos).await?;
            let spans = reader.of_some(&orders).await?;
            for (order, spans) in orders.into_iter().zip(spans) {
                let Some(spans) = spans else { continue };
                summed.orders += 1;
                summed.all.add(&spans);
                let key = match query.by {
                    None => continue,
                    Some(LedgerKey::Flow) => order.flow,
                    Some(LedgerKey::Scenario) => order.scenario,
                };
                let (count, sums) = summed.groups.entry(key).or_insert_with(|| (0, none.clone()));
                *count += 1;
                sums.add(&spans);
            }
        }
        Ok(summed)
    }

    /// The answer, with the number of the orders that were found.
    fn view(self, query: &LedgerQuery, found: usize, complete: bool) -> LedgerSumsView {
        let groups = self.groups.into_iter().map(|(key, (summed, sums))| group(key, summed, sums));
        let mut groups: Vec<LedgerGroupView> = groups.collect();
        groups.sort_by_key(|group| std::cmp::Reverse(group.total_ms));
        groups.truncate(MOST_GROUPS);
        LedgerSumsView {
            from: query.from,
            until: query.until,
            orders: found,
            summed: self.orders,
            complete,
            total_ms: self.all.total(),
            shares: shares(self.all, MOST_SHARES),
            groups,
        }
    }
}

fn group(key: String, summed: usize, sums: LedgerSums) -> LedgerGroupView {
    LedgerGroupView { key, summed, total_ms: sums.total(), shares: shares(sums, MOST_SHARES) }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test may stop at the first surprise")]
mod tests {
    use super::*;

    #[test]
    fn ord_32_a_sample_is_spread_evenly_and_has_nothing_twice() {
        let nos: Vec<i64> = (0..1000).collect();
        assert_eq!(spread(&nos, 4), [0, 250, 500, 750]);
        assert_eq!(spread(&nos[..3], 500), [0, 1, 2]);
        assert_eq!(spread(&[], 5), Vec::<i64>::new());
        for size in [1, 7, 333, 999, 1000] {
            let chosen = spread(&nos, size);
            assert!(chosen.len() == size && chosen.is_sorted_by(|a, b| a < b), "{size}");
        }
    }

    #[test]
    fn ord_32_a_range_is_read_and_a_wrong_one_is_refused_by_name() {
        let read = |pairs: &[(&str, &str)]| {
            let pairs: Vec<(String, String)> =
                pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
            LedgerQuery::read(&pairs)
        };
        let query =
            read(&[("flow", "f"), ("from", "2h"), ("until", "1h"), ("by", "scenario"), ("sample", "7")])
                .unwrap();
        assert_eq!(query.until.duration_since(query.from), SignedDuration::from_hours(1));
        assert_eq!((query.by, query.sample), (Some(LedgerKey::Scenario), 7));
        let usual = read(&[]).unwrap();
        assert_eq!(usual.until.duration_since(usual.from), USUAL_RANGE);
        for (pairs, pointer) in [
            (vec![("from", "yesterday")], "/from"),
            (vec![("from", "1h"), ("until", "2h")], "/from"),
            (vec![("from", "2999-01-01T00:00:00Z")], "/from"),
            (vec![("by", "state")], "/by"),
            (vec![("sample", "0")], "/sample"),
            (vec![("sample", "2001")], "/sample"),
            (vec![("saved", "s"), ("flow", "f")], "/saved"),
        ] {
            assert_eq!(read(&pairs).unwrap_err().pointer.as_deref(), Some(pointer), "{pairs:?}");
        }
    }

    #[test]
    fn ord_32_the_halves_of_a_search_have_each_status_once() {
        let query = LedgerQuery::read(&[]).unwrap();
        let [open, ended] = query.halves(&Search::default());
        assert_eq!(open.statuses.len() + ended.statuses.len(), Status::ALL.len());
        assert_eq!((open.finished_since, ended.finished_since), (None, Some(query.from)));
        let [open, ended] = query.halves(&Search { statuses: vec![Status::Fail], ..Search::default() });
        assert!(open.statuses.is_empty() && ended.statuses == [Status::Fail]);
    }
}
