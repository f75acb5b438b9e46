//! The chain of the audit log, page by page: with all that is needed to compute its hashes again, and as entries for archives.

use jiff::Timestamp;
use pagurus_domain::number::saturated;
use pagurus_store::lists::audit::chain;
use pagurus_store::{Client, Error};
use pagurus_wire::audit::chain::{AuditChainView, AuditLinkView};
use pagurus_wire::order::Page;
use pagurus_wire::problem::Problem;
use schemars::JsonSchema;
use serde::Deserialize;

use super::{AuditQuery, MOST_ROWS, ParsedAuditQuery};
use crate::Views;
use crate::query::{cursor, limit};

/// Links on a page, where nothing else is asked for, and at most.
const USUAL_LINKS: usize = 500;
const MOST_LINKS: usize = 1000;
/// Links of one statement of an export.
const ROWS: i64 = 500;

/// Query of a page of the chain.
#[derive(Debug, Deserialize, JsonSchema)]
pub struct AuditChainQuery {
    /// Position after which the page starts: `next` of the previous page; default: the oldest link.
    after: Option<String>,
    /// Links of the page; default: 500.
    #[schemars(with = "Option<u32>", range(min = 1, max = 1000))]
    limit: Option<String>,
}

impl Views {
    /// A page of the chain. Who asks computes the hashes: nothing is claimed to hold.
    pub async fn audit_chain(&self, query: AuditChainQuery) -> Result<AuditChainView, Problem> {
        let after = query.after.as_deref().map(|after| cursor(Some(after), 0)).transpose()?;
        let links = saturated(limit(query.limit.as_deref(), USUAL_LINKS, MOST_LINKS)?);
        let page = async { chain::page(&mut self.host.store.api().await?, after, links).await };
        page.await.map_err(self.failed("audit"))
    }

    /// The next entries of the log that have a place in the chain, by position. A page may be short, or empty, and have a next
    /// one.
    pub async fn audit_export(&self, query: AuditQuery) -> Result<Page<AuditLinkView>, Problem> {
        let asked = ParsedAuditQuery::read(query, Timestamp::now(), 0)?;
        let found = async { gather(&self.host.store.api().await?, &asked).await };
        found.await.map_err(self.failed("audit"))
    }
}

async fn gather(client: &Client, asked: &ParsedAuditQuery) -> Result<Page<AuditLinkView>, Error> {
    let (mut items, mut after, mut looked_at) = (Vec::new(), asked.cursor, 0);
    loop {
        let links = chain::links(client, after, ROWS).await?;
        let is_last = links.len() < saturated::<usize>(ROWS);
        looked_at += links.len();
        for link in links {
            if items.len() == asked.limit {
                return Ok(Page { items, next: Some(after.to_string()) });
            }
            after = link.position;
            if asked.takes_link(&link) {
                items.push(link);
            }
        }
        if is_last {
            return Ok(Page { items, next: None });
        }
        if looked_at >= MOST_ROWS {
            return Ok(Page { items, next: Some(after.to_string()) });
        }
    }
}

impl ParsedAuditQuery {
    /// True if an entry is wanted; one that is not there any more has its link in every export.
    fn takes_link(&self, link: &AuditLinkView) -> bool {
        let Some(entry) = &link.entry else { return true };
        let at = entry.at.parse::<Timestamp>().ok();
        self.names([&entry.action, &entry.kind, &entry.door], entry.name.as_deref())
            && self.subject.as_deref().is_none_or(|wanted| entry.subject == wanted)
            && self.since.is_none_or(|since| at.is_none_or(|at| at >= since))
            && self.until.is_none_or(|until| at.is_none_or(|at| at < until))
    }
}
