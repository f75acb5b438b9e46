//! The audit log: who did what from outside, the newest first.

mod chain;

use jiff::Timestamp;
use pagurus_domain::audit::AuditKind;
use pagurus_domain::number::saturated;
use pagurus_domain::order::principal::Door;
use pagurus_store::lists::audit;
use pagurus_store::{Client, Error};
use pagurus_wire::audit::AuditView;
use pagurus_wire::order::Page;
use pagurus_wire::problem::Problem;
use schemars::JsonSchema;
use serde::Deserialize;

use crate::Views;
use crate::query::{cursor, invalid, limit, moment};

pub use chain::AuditChainQuery;

/// Entries on a page, where nothing else is asked for, and at most.
const USUAL_LIMIT: usize = 50;
const MAX_LIMIT: usize = 500;
/// Rows of one statement, and those that one page looks at, at most. Where few of them are wanted, a page is short.
const ROWS: i64 = 1000;
const MOST_ROWS: usize = 20_000;

/// Query of a list of actions.
#[derive(Debug, Deserialize, JsonSchema)]
pub struct AuditQuery {
    /// Only this action.
    action: Option<String>,
    /// Only actions on this kind of thing.
    kind: Option<String>,
    /// Only actions on the thing of this name, such as the id of an order.
    subject: Option<String>,
    /// Only actions through this door: `http`, `amqp`, `operation` or `engine`.
    door: Option<String>,
    /// Only actions by the principal of this name.
    name: Option<String>,
    /// Only actions then or later: a time, or a duration back from now.
    since: Option<String>,
    /// Only actions before: a time, or a duration back from now.
    until: Option<String>,
    /// Actions of the page; default: 50.
    #[schemars(with = "Option<u32>", range(min = 1, max = 500))]
    limit: Option<String>,
    /// Word `next` of the page before.
    cursor: Option<String>,
}

impl Views {
    /// Returns a page of what people and programs did, the newest first.
    pub async fn audit(&self, query: AuditQuery) -> Result<Page<AuditView>, Problem> {
        let asked = ParsedAuditQuery::read(query, Timestamp::now(), i64::MAX)?;
        let found = async { choose(&self.host.store.api().await?, &asked).await };
        found.await.map_err(self.failed("audit"))
    }
}

/// A query that was understood.
#[derive(Debug)]
struct ParsedAuditQuery {
    action: Option<String>,
    kind: Option<AuditKind>,
    subject: Option<String>,
    door: Option<Door>,
    name: Option<String>,
    since: Option<Timestamp>,
    until: Option<Timestamp>,
    limit: usize,
    /// Point at which the page begins.
    cursor: i64,
}

impl ParsedAuditQuery {
    fn read(query: AuditQuery, now: Timestamp, first: i64) -> Result<Self, Problem> {
        let word = |pointer: &str, message: String| invalid(pointer, message);
        let kind = query.kind.as_deref().map(str::parse).transpose();
        let door = query.door.as_deref().map(str::parse).transpose();
        let time = |pointer: &str, text: Option<String>| {
            let read = |text: String| {
                moment(&text, now).ok_or_else(|| invalid(pointer, "is neither a time nor a duration"))
            };
            text.map(read).transpose()
        };
        Ok(Self {
            action: query.action,
            kind: kind.map_err(|error: pagurus_domain::id::UnknownWord| word("/kind", error.to_string()))?,
            subject: query.subject,
            door: door.map_err(|error: pagurus_domain::id::UnknownWord| word("/door", error.to_string()))?,
            name: query.name,
            since: time("/since", query.since)?,
            until: time("/until", query.until)?,
            limit: limit(query.limit.as_deref(), USUAL_LIMIT, MAX_LIMIT)?,
            cursor: cursor(query.cursor.as_deref(), first)?,
        })
    }

    fn takes(&self, row: &AuditView) -> bool {
        self.names([&row.action, &row.kind, &row.by.door], row.by.name.as_deref())
            && self.until.is_none_or(|until| row.at < until)
    }

    /// True if this action on this kind of thing, by this way and under this name, is wanted.
    fn names(&self, [action, kind, door]: [&str; 3], name: Option<&str>) -> bool {
        self.action.as_deref().is_none_or(|wanted| action == wanted)
            && self.kind.is_none_or(|wanted| kind == wanted.as_str())
            && self.door.is_none_or(|wanted| door == wanted.as_str())
            && self.name.as_deref().is_none_or(|wanted| name == Some(wanted))
    }
}

async fn choose(client: &Client, asked: &ParsedAuditQuery) -> Result<Page<AuditView>, Error> {
    let (mut items, mut below, mut looked_at) = (Vec::new(), asked.cursor, 0);
    while looked_at < MOST_ROWS {
        let rows = audit::list(client, asked.subject.as_deref(), below, ROWS).await?;
        let is_last = rows.len() < saturated::<usize>(ROWS);
        looked_at += rows.len();
        for row in rows {
            // Numbers are given as the actions begin: what is older than all that is wanted ends the list.
            if asked.since.is_some_and(|since| row.at < since) {
                return Ok(Page { items, next: None });
            }
            if items.len() == asked.limit {
                return Ok(Page { items, next: Some(below.to_string()) });
            }
            below = row.no;
            if asked.takes(&row) {
                items.push(row);
            }
        }
        if is_last {
            return Ok(Page { items, next: None });
        }
    }
    Ok(Page { items, next: Some(below.to_string()) })
}
