//! Histories of flows and called systems: each decision about one, by the engine or by hand, the newest first.

use jiff::Timestamp;
use pagurus_domain::flow::DecisionSubject;
use pagurus_store::Error;
use pagurus_store::upkeep::decisions::{self, DecisionsWanted};
use pagurus_store::upkeep::flows;
use pagurus_wire::decisions::DecisionView;
use pagurus_wire::order::Page;
use pagurus_wire::problem::{Problem, Type};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::Views;
use crate::query::{invalid, limit, moment, page, strange_cursor};

/// Decisions of a page, as usual and at most.
const PAGE: (usize, usize) = (100, 1000);

/// Query of a history.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
pub struct DecisionsQuery {
    /// Only decisions then or later: a time, or a duration back from now.
    since: Option<String>,
    /// Only decisions before: a time, or a duration back from now.
    until: Option<String>,
    /// Decisions of the page; default: 100.
    #[schemars(with = "Option<u32>", range(min = 1, max = 1000))]
    limit: Option<String>,
    /// Word `next` of the page before.
    cursor: Option<String>,
}

impl Views {
    /// Returns a page of the decisions about a flow.
    pub async fn flow_decisions(
        &self,
        flow: &str,
        query: &DecisionsQuery,
    ) -> Result<Page<DecisionView>, Problem> {
        self.decisions(DecisionSubject::Flow, flow, query).await
    }

    /// Returns a page of the decisions about a called system.
    pub async fn system_decisions(
        &self,
        system: &str,
        query: &DecisionsQuery,
    ) -> Result<Page<DecisionView>, Problem> {
        self.decisions(DecisionSubject::System, system, query).await
    }

    async fn decisions(
        &self,
        subject: DecisionSubject,
        name: &str,
        query: &DecisionsQuery,
    ) -> Result<Page<DecisionView>, Problem> {
        let limit = limit(query.limit.as_deref(), PAGE.0, PAGE.1)?;
        let now = Timestamp::now();
        let time = |pointer: &str, text: &Option<String>| {
            let read = |text: &String| {
                moment(text, now).ok_or_else(|| invalid(pointer, "is neither a time nor a duration"))
            };
            text.as_ref().map(read).transpose()
        };
        let since = time("/since", &query.since)?.unwrap_or(Timestamp::UNIX_EPOCH);
        let until = time("/until", &query.until)?.unwrap_or(Timestamp::MAX);
        let behind =
            query.cursor.as_deref().map(|text| behind(text).ok_or_else(strange_cursor)).transpose()?;
        let before = behind.filter(|(at, _)| *at < until).unwrap_or((until, ""));
        let wanted = DecisionsWanted { subject, name, since, before };
        let read = async {
            let client = self.host.store.reports().await?;
            let found = decisions::page(&client, &wanted, limit as i64).await?;
            let is_known = !found.is_empty()
                || match subject {
                    DecisionSubject::Flow => flows::one(&client, name).await?.is_some(),
                    DecisionSubject::System => flows::system(&client, name).await?.is_some(),
                };
            Ok::<_, Error>((found, is_known))
        };
        let (found, is_known) = read.await.map_err(self.failed("decisions"))?;
        if !is_known {
            let message = match subject {
                DecisionSubject::Flow => format!("the dispatcher knows of no flow `{name}`"),
                DecisionSubject::System => format!("no call of a system `{name}` is known"),
            };
            return Err(Problem::new(Type::NotFound, message));
        }
        let mark = |one: &decisions::StoredDecision| format!("{}.{}", one.view.at.as_microsecond(), one.key);
        Ok(page(found, limit, mark, |one| one.view))
    }
}

/// The decision behind which a page begins.
fn behind(cursor: &str) -> Option<(Timestamp, &str)> {
    let (at, key) = cursor.split_once('.')?;
    Some((Timestamp::from_microsecond(at.parse().ok()?).ok()?, key))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dsp_14_a_cursor_names_a_decision() {
        let (at, key) = behind("1767265500000001.decision 2").unwrap_or_default();
        assert_eq!((at.as_microsecond(), key), (1_767_265_500_000_001, "decision 2"));
        for strange in ["", "7", "x.decision 0", "99999999999999999999.decision 0"] {
            assert_eq!(behind(strange), None, "{strange}");
        }
    }
}
