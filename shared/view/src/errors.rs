//! Failed and retrying orders, in groups and one by one, and what a failure would get (ERR-14).

mod groups;
mod orders;

use jiff::{SignedDuration, Timestamp};
use pagurus_domain::access::scope::OwnedKind;
use pagurus_domain::classes::UNCLASSIFIED;
use pagurus_domain::id::OrderNo;
use pagurus_domain::retry::{self, ErrorRules};
use pagurus_runtime::scenarios::Known;
use pagurus_scenario::xml::fault_of;
use pagurus_store::lists::errors::{self, By, ErrorsWanted, Filter};
use pagurus_wire::errors::{ErrorGroups, ExplanationView, QuestionView};
use pagurus_wire::problem::{Problem, Type};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::Views;
use crate::query::{cursor, examine, invalid, limit, moment};
pub use orders::ErrorOrdersQuery;

/// Window where none is asked for.
const USUAL_WINDOW: SignedDuration = SignedDuration::from_hours(24);
/// Longest window: its hours are listed one by one.
const MAX_WINDOW: SignedDuration = SignedDuration::from_hours(31 * 24);
/// Orders that one count examines at most, of failed and of retrying orders each: some tenths of a second of a connection for
/// reports.
const MOST_EXAMINED: i64 = 100_000;
/// Groups on a page, where nothing else is asked for, and at most.
const USUAL_LIMIT: usize = 50;
const MAX_LIMIT: usize = 500;

/// Query of the groups of failed and retrying orders.
#[derive(Debug, Deserialize, JsonSchema)]
pub struct ErrorGroupsQuery {
    /// Field that the groups have in common: `class`, `scenario`, `state` where the error occurred, `step` where the order is, or `system`; default: `class`.
    by: Option<String>,
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
    /// Start of the time range: a time, or a duration back from now; default: a day, at most 31 days.
    since: Option<String>,
    /// Failed orders that are examined at most, and retrying ones; default: 100 000. Where there are more, `complete` is false.
    #[schemars(with = "Option<u32>", range(min = 1, max = 100_000))]
    examine: Option<String>,
    /// Groups of the page; default: 50.
    #[schemars(with = "Option<u32>", range(min = 1, max = 500))]
    limit: Option<String>,
    /// Word `next` of the page before.
    cursor: Option<String>,
}

/// The class that is meant by a word of a query: the word for none stands for none.
fn named_class(class: Option<String>) -> Option<String> {
    class.map(|class| if class == UNCLASSIFIED { String::new() } else { class })
}

impl Views {
    /// The rule and the policy that a failure would get by the present configuration, and by what the newest version of
    /// the scenario brings along.
    pub async fn classify(&self, question: &QuestionView) -> Result<ExplanationView, Problem> {
        let found = async {
            let named = question.scenario.as_ref();
            let seen = named.filter(|name| self.scope.has(OwnedKind::Scenario, name));
            let Some(name) = seen else { return Ok(None) };
            let client = self.host.store.api().await?;
            self.catalogue.refresh(&client).await?;
            self.catalogue.find(&client, name, None).await
        };
        let scenario = found.await.map_err(self.failed("classify"))?.and_then(Known::readable);
        let settings = self.host.settings();
        let errors = match &scenario {
            Some(scenario) => ErrorRules::of(&settings.errors, &scenario.errors),
            None => ErrorRules::from(&settings.errors),
        };
        let fault = question.body.as_deref().and_then(fault_of).map(|fault| fault.text());
        let asked = retry::Question { fault: fault.as_deref(), ..question.as_asked() };
        let explained = retry::explain(errors, &asked);
        explained.map(Into::into).map_err(|fault| Problem::of_faults(Type::Invalid, &[fault]))
    }

    /// Returns a page of the groups of failed and retrying orders, the largest first.
    pub async fn error_groups(&self, query: ErrorGroupsQuery) -> Result<ErrorGroups, Problem> {
        let mut asked = ParsedErrorGroupsQuery::read(query, Timestamp::now())?;
        if !self.scope.has_every_name() {
            // A bound of their own choice would count the failures of others.
            (asked.sees_all, asked.examine) = (false, MOST_EXAMINED);
        }
        let found = async {
            let client = self.host.store.reports().await?;
            let wanted = ErrorsWanted {
                by: asked.by,
                filter: &asked.filter,
                scope: &self.scope,
                examine: asked.examine,
            };
            let failed = errors::failed(&client, asked.since, wanted).await?;
            let retrying = errors::retrying(&client, wanted).await?;
            let (mut view, samples) = groups::page(&asked, &failed, &retrying);
            let wanted: Vec<OrderNo> = samples.iter().flatten().copied().collect();
            let mut ids = errors::ids(&client, &wanted).await?;
            for (group, sample) in view.items.iter_mut().zip(samples) {
                group.orders = sample.iter().filter_map(|no| ids.remove(no)).collect();
            }
            Ok(view)
        };
        found.await.map_err(self.failed("errors"))
    }
}

/// A query that was understood.
#[derive(Debug)]
struct ParsedErrorGroupsQuery {
    by: By,
    filter: Filter,
    since: Timestamp,
    limit: usize,
    /// Number of groups that the pages before had.
    from: usize,
    /// Failed orders that are examined at most, and retrying ones.
    examine: i64,
    /// True for those who see the orders of all.
    sees_all: bool,
}

impl ParsedErrorGroupsQuery {
    fn read(query: ErrorGroupsQuery, now: Timestamp) -> Result<Self, Problem> {
        let by = By::of(query.by.as_deref().unwrap_or("class"));
        let by = by.ok_or_else(|| invalid("/by", "by must be class, scenario, state, step or system"))?;
        let since = window(query.since.as_deref(), now)?;
        let limit = limit(query.limit.as_deref(), USUAL_LIMIT, MAX_LIMIT)?;
        let from = cursor(query.cursor.as_deref(), 0)?;
        let examine = examine(query.examine.as_deref(), MOST_EXAMINED)?;
        Ok(Self {
            by,
            filter: Filter {
                class: named_class(query.class),
                scenario: query.scenario,
                state: query.state,
                step: query.step,
                system: query.system,
            },
            since,
            limit,
            from,
            examine,
            sees_all: true,
        })
    }
}

/// From when on failures count.
fn window(since: Option<&str>, now: Timestamp) -> Result<Timestamp, Problem> {
    let oldest = now - MAX_WINDOW;
    let since = match since {
        None => Some(now - USUAL_WINDOW),
        Some(text) => moment(text, now),
    };
    since.filter(|since| (oldest..=now).contains(since)).ok_or_else(|| {
        invalid("/since", "since must be a time, or a duration back from now such as `6h`, of at most 31d")
    })
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test may stop at the first surprise")]
mod tests {
    use super::*;

    fn at(text: &str) -> Timestamp {
        format!("2026-01-02T{text}Z").parse().unwrap()
    }

    #[test]
    fn err_14_the_window_is_a_time_or_a_duration() {
        let now = at("12:00:00");
        let read = |since: Option<&str>, by: Option<&str>| {
            let query = ErrorGroupsQuery {
                by: by.map(str::to_owned),
                class: None,
                scenario: None,
                state: None,
                step: None,
                system: None,
                since: since.map(str::to_owned),
                examine: None,
                limit: None,
                cursor: None,
            };
            ParsedErrorGroupsQuery::read(query, now)
                .map(|asked| asked.since)
                .map_err(|problem| problem.pointer)
        };
        assert_eq!(read(Some("2h"), None), Ok(at("10:00:00")));
        assert_eq!(read(Some("2026-01-02T09:00:00Z"), Some("state")), Ok(at("09:00:00")));
        assert_eq!(read(None, Some("scenario")), Ok(now - USUAL_WINDOW));
        for bad in ["yesterday", "32d", "2026-01-03T00:00:00Z", ""] {
            assert_eq!(read(Some(bad), None), Err(Some("/since".into())), "{bad}");
        }
        assert_eq!(read(None, Some("node")), Err(Some("/by".into())));
    }
}
