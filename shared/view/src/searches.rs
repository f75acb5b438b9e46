//! Searches that somebody gave a name.

use pagurus_domain::number::saturated;
use pagurus_store::lists::searches::{self, NamedSearch};
use pagurus_wire::order::Page;
use pagurus_wire::problem::Problem;
use pagurus_wire::search::SavedSearch;
use schemars::JsonSchema;
use serde::Deserialize;

use crate::Views;
use crate::query::limit;

/// Searches on a page, where nothing else is asked for, and at most.
const PAGE: (usize, usize) = (100, 1000);

/// Query of the list of saved searches.
#[derive(Debug, Deserialize, JsonSchema)]
pub struct SearchesQuery {
    /// Searches of the page; default: 100.
    #[schemars(with = "Option<u32>", range(min = 1, max = 1000))]
    limit: Option<String>,
    /// Word `next` of the page before.
    cursor: Option<String>,
}

impl Views {
    /// Saved searches by name.
    pub async fn searches(&self, query: &SearchesQuery) -> Result<Page<SavedSearch>, Problem> {
        let limit = limit(query.limit.as_deref(), PAGE.0, PAGE.1)?;
        let after = query.cursor.as_deref().unwrap_or_default();
        let wanted = saturated::<i64>(limit);
        let found = async { searches::list(&self.host.store.api().await?, after, wanted).await };
        let items: Vec<SavedSearch> =
            found.await.map_err(self.failed("searches"))?.into_iter().map(saved).collect();
        let next = items.last().filter(|_| items.len() == limit).map(|last| last.name.clone());
        Ok(Page { items, next })
    }

    /// Returns a saved search.
    pub async fn search(&self, name: &str) -> Result<SavedSearch, Problem> {
        let found = async { searches::find(&self.host.store.api().await?, name).await };
        let found = found.await.map_err(self.failed("searches"))?;
        found.map(saved).ok_or_else(|| Problem::no_search(name))
    }
}

fn saved(named: NamedSearch) -> SavedSearch {
    SavedSearch {
        name: named.name,
        search: serde_json::from_str(&named.search).unwrap_or_default(),
        by: serde_json::from_str(&named.made_by).unwrap_or_default(),
        made_at: named.made_at,
    }
}
