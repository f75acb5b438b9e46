//! Queues of sequential orders: who holds each, since when, and who waits in one.

use jiff::Timestamp;
use pagurus_domain::MASKED;
use pagurus_domain::number::saturated;
use pagurus_store::hot::queues::{self, QueueMemberRow};
use pagurus_store::lists::scope;
use pagurus_wire::cluster::{QueueDetail, QueueLine, QueueMemberLine};
use pagurus_wire::order::Page;
use pagurus_wire::problem::Problem;
use schemars::JsonSchema;
use serde::Deserialize;

use crate::Views;
use crate::query::{ListQuery, cursor, limit, page, strange_cursor};

/// Members on a page, where nothing else is asked for, and at most.
const USUAL_LIMIT: usize = 50;
const MAX_LIMIT: usize = 500;

/// Query of the members of a queue.
#[derive(Debug, Deserialize, JsonSchema)]
pub struct QueueQuery {
    /// Members of the page; default: 50.
    #[schemars(with = "Option<u32>", range(min = 1, max = 500))]
    limit: Option<String>,
    /// Word `next` of the page before.
    cursor: Option<String>,
}

impl Views {
    /// Queues that have members, the longest first.
    pub async fn queues(&self, query: &ListQuery) -> Result<Page<QueueLine>, Problem> {
        let limit = query.limit()?;
        let behind =
            query.cursor().map(|cursor| cursor.split_once('.').ok_or_else(strange_cursor)).transpose()?;
        let behind = behind.map(|(members, name)| Ok((members.parse().map_err(|_| strange_cursor())?, name)));
        let behind: Option<(i64, &str)> = behind.transpose()?;
        let listed = async {
            let client = self.host.store.reports().await?;
            let listed = queues::list(&client, &self.scope, behind, limit as i64).await?;
            let holders = listed.iter().map(|queue| queue.holder.clone());
            let seen = scope::within_by_id(&client, &self.scope, holders).await?;
            Ok((listed, seen))
        };
        let (listed, seen) = listed.await.map_err(self.failed("queues"))?;
        let line = |queue: queues::QueueView| QueueLine {
            queue: queue.name,
            holder: if seen.has(&queue.holder) { queue.holder } else { MASKED.to_owned() },
            orders: queue.members,
            held_since: queue.held_since,
            holder_registered_at: Timestamp::from_millisecond(queue.position).ok(),
        };
        Ok(page(listed, limit, |queue| format!("{}.{}", queue.members, queue.name), line))
    }

    /// Returns a queue: its holder, and the waiting orders in sequence.
    pub async fn queue(&self, name: &str, query: &QueueQuery) -> Result<QueueDetail, Problem> {
        let limit = limit(query.limit.as_deref(), USUAL_LIMIT, MAX_LIMIT)?;
        let after: i64 = cursor(query.cursor.as_deref(), -1)?;
        let read = async {
            let client = self.host.store.reports().await?;
            let head = queues::members(&client, name, -1, 1).await?.pop();
            // The holder stands on no page: waiting begins behind it.
            let after = head.as_ref().map_or(after, |head| head.position.max(after));
            let wanted = saturated::<i64>(limit);
            let waiting = queues::members(&client, name, after, wanted).await?;
            let (before, orders) = queues::counts(&client, name, after).await?;
            let members = head.iter().chain(&waiting).map(|member| member.id.clone());
            let seen = scope::within_by_id(&client, &self.scope, members).await?;
            Ok((head, waiting, before, orders, seen))
        };
        let (head, waiting, before, orders, seen) = read.await.map_err(self.failed("queue"))?;
        let next = waiting.last().filter(|_| waiting.len() == limit).map(|last| last.position.to_string());
        // Who is not seen keeps their place, and nothing else.
        let line = |member: QueueMemberRow, place| {
            let is_seen = seen.has(&member.id);
            let line = line(member, place);
            if is_seen {
                line
            } else {
                QueueMemberLine { order: MASKED.into(), scenario: MASKED.into(), ..line }
            }
        };
        let lines = waiting.into_iter().zip(before..).map(|(member, place)| line(member, place));
        Ok(QueueDetail {
            queue: name.to_owned(),
            orders,
            holder: head.map(|head| line(head, 0)),
            items: lines.collect(),
            next,
        })
    }
}

/// A member with the number of those before it. Its position is the millisecond in which it joined, or, in a burst, one a
/// little ahead of that.
fn line(member: QueueMemberRow, before: i64) -> QueueMemberLine {
    QueueMemberLine {
        order: member.id,
        scenario: member.scenario,
        status: member.status.to_string(),
        before,
        since: Timestamp::from_millisecond(member.position).ok().map(|at| at.min(member.now)),
        held_since: member.held_since,
    }
}
