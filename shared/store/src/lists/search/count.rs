//! Groups of wanted orders with their counts.

use std::borrow::Cow;

use tokio_postgres::types::ToSql;

use super::{Parameter, SearchCursor, SearchWalk, count, paths};
use crate::{Connection, Result};

/// Keys by which orders are put together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SearchKey {
    /// Nothing.
    Nothing,
    /// The status.
    Status,
    /// The scenario, all its versions.
    Scenario,
    /// The present or last state.
    State,
    /// The class of the error.
    Class,
    /// The called system that the error is about.
    System,
    /// The flow.
    Flow,
    /// The sequential queue.
    Queue,
    /// The urgency.
    Priority,
    /// Relation of the order to its target states.
    ScenarioStatus,
    /// Parallel or sequential.
    Mode,
    /// The value of a label.
    Label(String),
}

impl SearchKey {
    /// Words in front of the key of a label.
    pub const LABEL: &str = "label:";

    /// Keys that have a word of their own.
    pub const ALL: [Self; 10] = [
        Self::Status,
        Self::Scenario,
        Self::State,
        Self::Class,
        Self::System,
        Self::Flow,
        Self::Queue,
        Self::Priority,
        Self::ScenarioStatus,
        Self::Mode,
    ];

    /// The key of a word of the API.
    #[must_use]
    pub fn of(word: &str) -> Option<Self> {
        // The second is how conditions spell it.
        let label = [Self::LABEL, "labels."].iter().find_map(|prefix| word.strip_prefix(prefix));
        let label = label.filter(|key| !key.is_empty());
        let label = label.map(|key| Self::Label(key.to_owned()));
        label.or_else(|| Self::ALL.into_iter().find(|key| key.word() == word))
    }

    /// The word of the API; empty for nothing.
    #[must_use]
    pub fn word(&self) -> Cow<'static, str> {
        Cow::Borrowed(match self {
            Self::Label(key) => return Cow::Owned(format!("{}{key}", Self::LABEL)),
            Self::Nothing => "",
            Self::Status => "status",
            Self::Scenario => "scenario",
            Self::State => "state",
            Self::Class => "class",
            Self::System => "system",
            Self::Flow => "flow",
            Self::Queue => "queue",
            Self::Priority => "priority",
            Self::ScenarioStatus => "scenarioStatus",
            Self::Mode => "mode",
        })
    }
}

/// Orders that have both keys in common.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SearchGroup {
    /// The values of the keys; none where nothing was asked for.
    pub keys: [Option<String>; 2],
    /// Number of orders.
    pub orders: i64,
    /// The newest of them.
    pub newest: i64,
}

/// Groups of wanted orders.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SearchCount {
    /// The largest first.
    pub groups: Vec<SearchGroup>,
    /// False where there are orders that were not looked at.
    pub is_complete: bool,
}

impl SearchWalk {
    /// Groups the wanted orders among `rows` orders, the largest group first.
    pub async fn count(
        self,
        client: &impl Connection,
        by: [SearchKey; 2],
        rows: usize,
    ) -> Result<SearchCount> {
        let statement = client.prepare_cached(paths::statements_of(self.search.path()).1).await?;
        let mut parameters = Self { cursor: SearchCursor::Below(i64::MAX), ..self }.parameters(rows);
        parameters.extend(by.map(|key| Box::new(key.word().into_owned()) as Parameter));
        let parameters: Vec<&(dyn ToSql + Sync)> = parameters.iter().map(|one| &**one as _).collect();
        let answer = client.query(&statement, &parameters).await?;
        let looked = count(answer.first().map_or(0, |row| row.get("looked")));
        let groups = answer.iter().filter_map(|row| {
            Some(SearchGroup {
                orders: row.get::<_, Option<i64>>("orders")?,
                newest: row.get::<_, Option<i64>>("newest")?,
                keys: [row.get("first"), row.get("second")],
            })
        });
        Ok(SearchCount { groups: groups.collect(), is_complete: looked < rows })
    }
}
