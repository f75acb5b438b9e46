//! Orders with everything that is kept of them, for archives outside: the oldest first, page by page (ORD-26).

use std::io;

use jiff::Timestamp;
use pagurus_domain::number::saturated;
use pagurus_store::lists::scope;
use pagurus_store::upkeep::retention;
use pagurus_wire::export::ExportedOrder;
use pagurus_wire::order::{EventView, Page};
use pagurus_wire::problem::Problem;
use schemars::JsonSchema;
use serde::Deserialize;

use crate::Views;
use crate::history::EventsQuery;
use crate::part::PartQuery;
use crate::query::{cursor, invalid, limit, moment};

/// Orders on a page, where nothing else is asked for, and at most; as many are looked at.
const USUAL_LIMIT: usize = 50;
const MAX_LIMIT: usize = 200;
/// Bytes of JSON at which a page ends, so that its memory is bounded, apart from its longest order.
const MOST_BYTES: usize = 2 * 1024 * 1024;

/// Query of an export.
#[derive(Debug, Deserialize, JsonSchema)]
pub struct ExportQuery {
    /// Only orders that ended before: a time, or a duration back from now.
    #[serde(rename = "endedBefore")]
    ended_before: Option<String>,
    /// Orders of the page; default: 50.
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
            moment(text, now)
                .ok_or_else(|| invalid("/endedBefore", "endedBefore must be a time or a duration"))
        });
        let ended_before = ended_before.transpose()?;
        let wanted = limit(query.limit.as_deref(), USUAL_LIMIT, MAX_LIMIT)?;
        let after = cursor(query.cursor.as_deref(), 0)?;
        let rows = saturated::<i64>(wanted);
        let found = async {
            let client = self.host.store.api().await?;
            let found = retention::named(&client, after, rows).await?;
            let seen = scope::within(&client, &self.scope, found.iter().map(|(no, ..)| *no)).await?;
            Ok((found, seen))
        };
        let (found, seen) = found.await.map_err(self.failed("export"))?;
        let mut next = found.last().filter(|_| found.len() == wanted).map(|(no, ..)| no.to_string());
        let mut items: Vec<ExportedOrder> = Vec::new();
        let mut bytes = 0;
        for (no, id, ended_at) in found {
            if bytes > MOST_BYTES {
                next = Some((no.0 - 1).to_string());
                break;
            }
            let is_late = ended_before.is_some_and(|before| ended_at.is_none_or(|at| at >= before));
            if is_late || !seen.has(&no) {
                continue;
            }
            match self.exported(&id).await {
                Ok(order) => {
                    bytes += length(&order);
                    items.push(order);
                }
                // It was removed a moment ago.
                Err(problem) if problem.status == 404 => {}
                Err(problem) => return Err(problem),
            }
        }
        Ok(Page { items, next })
    }

    async fn exported(&self, id: &str) -> Result<ExportedOrder, Problem> {
        let order = self.order(id).await?;
        let mut events: Vec<EventView> = Vec::new();
        let mut is_whole = false;
        while !is_whole {
            let after = events.last().map_or(0, |event| event.number);
            let page = self.events(id, &EventsQuery::behind(after)).await?;
            is_whole = page.next.is_none();
            events.extend(page.items);
        }
        let (mut requests, mut next) = (Vec::new(), Some(PartQuery::default()));
        while let Some(query) = next {
            next = gather(&mut requests, self.requests(id, &query).await?);
        }
        let (mut callbacks, mut next) = (Vec::new(), Some(PartQuery::default()));
        while let Some(query) = next {
            next = gather(&mut callbacks, self.callbacks_of(id, &query).await?);
        }
        let (mut calls, mut next) = (Vec::new(), Some(PartQuery::default()));
        while let Some(query) = next {
            next = gather(&mut calls, self.calls(id, &query).await?);
        }
        Ok(ExportedOrder { order, events, requests, callbacks, calls })
    }
}

/// Bytes of an order as JSON.
fn length(order: &ExportedOrder) -> usize {
    struct Length(usize);
    impl io::Write for Length {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0 += bytes.len();
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }
    let mut length = Length(0);
    // Plain data always serializes.
    let _ = serde_json::to_writer(&mut length, order);
    length.0
}

/// Adds the items of a page; what to ask for the next one, where there is one.
fn gather<T>(items: &mut Vec<T>, page: Page<T>) -> Option<PartQuery> {
    items.extend(page.items);
    page.next.map(PartQuery::behind)
}
