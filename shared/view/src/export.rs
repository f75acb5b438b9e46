//! Orders with everything that is kept of them, for archives outside: the oldest first, page by page (ORD-26).

use jiff::Timestamp;
use pagurus_store::retention;
use pagurus_wire::export::ExportedOrder;
use pagurus_wire::order::Page;
use pagurus_wire::problem::Problem;
use schemars::JsonSchema;
use serde::Deserialize;

use crate::Views;
use crate::query::{cursor, invalid, limit, moment};

/// Orders on a page, where nothing else is asked for, and at most; as many are looked at.
const USUAL_LIMIT: usize = 50;
const MAX_LIMIT: usize = 200;

/// Query of an export.
#[derive(Debug, Deserialize, JsonSchema)]
pub struct ExportQuery {
    /// Only orders that ended before: a time, or a duration back from now.
    #[serde(rename = "endedBefore")]
    ended_before: Option<String>,
    /// Orders of the page; left out: 50.
    #[schemars(with = "Option<u32>", range(min = 1, max = 200))]
    limit: Option<String>,
    /// Word `next` of the page before.
    cursor: Option<String>,
}

impl Views {
    /// The next orders by ascending number, with their histories. A page may be short, or empty, and have a next one.
    pub async fn export(&self, query: ExportQuery) -> Result<Page<ExportedOrder>, Problem> {
        let now = Timestamp::now();
        let ended_before = query.ended_before.as_deref().map(|text| {
            moment(text, now).ok_or_else(|| invalid("/endedBefore", "endedBefore is no time and no duration"))
        });
        let ended_before = ended_before.transpose()?;
        let wanted = limit(query.limit.as_deref(), USUAL_LIMIT, MAX_LIMIT)?;
        let after = cursor(query.cursor.as_deref(), 0)?;
        let rows = i64::try_from(wanted).unwrap_or(i64::MAX);
        let found = async { retention::named(&self.host.store.api().await?, after, rows).await };
        let found = found.await.map_err(self.failed("export"))?;
        let next = found.last().filter(|_| found.len() == wanted).map(|(no, ..)| no.to_string());
        let mut items = Vec::new();
        for (_, id, ended_at) in found {
            if ended_before.is_some_and(|before| ended_at.is_none_or(|at| at >= before)) {
                continue;
            }
            match self.exported(&id).await {
                Ok(order) => items.push(order),
                // It was removed a moment ago.
                Err(problem) if problem.status == 404 => {}
                Err(problem) => return Err(problem),
            }
        }
        Ok(Page { items, next })
    }

    async fn exported(&self, id: &str) -> Result<ExportedOrder, Problem> {
        Ok(ExportedOrder {
            order: self.order(id).await?,
            events: self.events(id, None).await?,
            requests: self.requests(id).await?,
            callbacks: self.callbacks_of(id).await?,
            calls: self.calls(id).await?,
        })
    }
}
