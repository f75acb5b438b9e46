//! The place of an order and what it waits for, as a sentence.

use std::collections::BTreeSet;

use pagurus_domain::MASKED;
use pagurus_domain::access::scope::AccessScope;
use pagurus_domain::classes::UNCLASSIFIED;
use pagurus_domain::order::Status;
use pagurus_domain::order::dependency::{Otherwise, Stand};
use pagurus_domain::order::transition::{self, Cause};
use pagurus_domain::order::wait_reason::WaitReason;
use pagurus_domain::time;
use pagurus_runtime::config::Settings;
use pagurus_store::hot::dependencies::graph::{Edge, Expectation, Node};
use pagurus_store::hot::queues::{self, QueueHolder};
use pagurus_store::hot::requests;
use pagurus_store::lists::scope;
use pagurus_store::outside::children::{self, AwaitedChild};
use pagurus_store::outside::orders::OrderRow as Row;
use pagurus_store::{Client, Error};
use pagurus_wire::parts::AskingView;

use super::{ACTOR, WaitSentence, capacity, flow, system};
use crate::dependencies::{graph_around, is_hidden};
use crate::order::{asking_of, snapshot};
use crate::retry::{self, Cycles};

/// Orders that are named one by one, of those that an order waits for.
const MAX_REASONS: usize = 5;

/// Settings and scope by which sentences are made.
#[derive(Clone, Copy)]
pub(super) struct Explainer<'a> {
    pub settings: &'a Settings,
    pub scope: &'a AccessScope,
}

impl Explainer<'_> {
    /// The place of an order and what it waits for, in one word and in one sentence.
    pub(super) async fn sentence(
        &self,
        client: &Client,
        row: &Row,
        cycles: &Cycles,
    ) -> Result<WaitSentence, Error> {
        Ok(match row.status {
            Status::Running if row.running.is_some() => {
                let mut asking = asking_of(client, row).await?;
                if let Some(asking) = asking.as_mut().filter(|_| self.scope.hides_payloads()) {
                    MASKED.clone_into(&mut asking.target);
                }
                let text =
                    format!("{}{}", running(row), asking.as_ref().map(waits_for_answer).unwrap_or_default());
                (WaitReason::Running, text)
            }
            Status::Running => {
                let again = running(row);
                let hindrance = match flow::hindrance(client, &row.flow, "its flow").await? {
                    None => capacity::hindrance(client, row, self.settings).await?,
                    hindrance => hindrance,
                };
                match hindrance {
                    Some((reason, hindrance)) => (reason, format!("{again}; {hindrance}")),
                    None => (WaitReason::Worker, again),
                }
            }
            status if status.is_final() => (WaitReason::Ended, ended(row)),
            _ => match (row.ready_since, row.due_at) {
                (Some(since), _) => self.ready(client, row, since).await?,
                (None, Some(due)) => {
                    let (reason, text) = self.suspended(client, row, due, cycles).await?;
                    // What stops the flow now may still stop it then.
                    let stop = flow::stop(client, &row.flow, "its flow").await?;
                    (reason, stop.map_or_else(|| text.clone(), |stop| format!("{text}; {stop}")))
                }
                (None, None) if row.status == Status::Postponed => {
                    let later = row.start_at.filter(|at| *at > jiff::Timestamp::now());
                    let reasons = self.waiting(client, row).await?;
                    let text = later.map_or_else(
                        || reasons.clone(),
                        |at| format!("{reasons}; it does not start before {at:.3}"),
                    );
                    (WaitReason::Dependent, text)
                }
                (None, None) => {
                    let text = "it is not ready, and no timer is set for it; the consistency check will find and repair this";
                    (WaitReason::Nowhere, text.into())
                }
            },
        })
    }

    async fn ready(&self, client: &Client, row: &Row, since: jiff::Timestamp) -> Result<WaitSentence, Error> {
        if let (Some(queue), Some(position)) = (&row.queue, row.position) {
            let before = queues::before(client, queue, position).await?;
            if let Some(QueueHolder { id, flow, since, .. }) =
                queues::holder(client, queue).await?.filter(|_| before > 0)
            {
                let holder = scope::within_by_id(client, self.scope, std::iter::once(id.clone())).await?;
                let id = if holder.has(&id) { id.as_str() } else { MASKED };
                let place = format!("number {} in queue `{queue}`", before + 1);
                let place = match since {
                    Some(since) => format!("{place}, held by order `{id}` since {since:.3}"),
                    None => format!("{place}, where order `{id}` is next"),
                };
                // Whatever its own flow is: the queue does not move before its head does.
                let held = flow::hindrance(client, &flow, "the flow of that order").await?;
                let text = held.map_or_else(|| place.clone(), |(_, held)| format!("{place}; {held}"));
                return Ok((WaitReason::Queue, text));
            }
        }
        let hindrance = match flow::hindrance(client, &row.flow, "its flow").await? {
            None => capacity::hindrance(client, row, self.settings).await?,
            hindrance => hindrance,
        };
        Ok(match hindrance {
            Some((reason, hindrance)) => (reason, format!("ready since {since:.3}; {hindrance}")),
            None => {
                let text =
                    format!("ready since {since:.3}; it waits for the dispatcher to hand it to a worker");
                (WaitReason::Worker, text)
            }
        })
    }

    /// Names the orders that an order without place and timer waits for.
    async fn waiting(&self, client: &Client, row: &Row) -> Result<String, Error> {
        let graph = graph_around(client, self.scope, &row.id, 1).await?;
        let reasons: Vec<String> = graph
            .edges
            .iter()
            .filter(|edge| edge.order == row.id && edge.stand != Stand::Met)
            .filter_map(|edge| Some((edge, edge.terms.as_ref()?)))
            .map(|(edge, terms)| reason(edge, terms, graph.nodes.iter().find(|node| node.id == edge.before)))
            .collect();
        let more = reasons.len().saturating_sub(MAX_REASONS);
        Ok(match (reasons.is_empty(), more) {
            (true, _) => {
                "all orders that it waited for have ended; the activator is about to start it".to_owned()
            }
            (false, 0) => reasons.join("; "),
            (false, more) => format!("{}; and for {more} more orders", reasons[..MAX_REASONS].join("; ")),
        })
    }

    async fn suspended(
        &self,
        client: &Client,
        row: &Row,
        due: jiff::Timestamp,
        cycles: &Cycles,
    ) -> Result<WaitSentence, Error> {
        Ok(match row.status {
            Status::Wait => {
                if let Some(position) = snapshot(row)
                    && let Some(held) = system::held(client, &position, due).await?
                {
                    return Ok(held);
                }
                let open = requests::awaited(client, row.no).await?;
                let mut children = children::awaited(client, row.no).await?;
                let ids = children.iter().map(|child| child.id.clone());
                let seen = scope::within_by_id(client, self.scope, ids).await?;
                for child in children.iter_mut().filter(|child| !seen.has(&child.id)) {
                    MASKED.clone_into(&mut child.id);
                }
                (WaitReason::Wait, format!("waits for {} until {due:.3}", awaited(&open, &children)))
            }
            Status::Polling => (WaitReason::Polling, polling(row, due)),
            Status::Retry => {
                let class = row.error_class.as_deref().unwrap_or(UNCLASSIFIED);
                let message = row.error_message.as_deref().unwrap_or_default();
                let cycle = cycles
                    .waiting
                    .as_ref()
                    .map_or_else(String::new, |view| format!(", {}", retry::summary(view)));
                let text =
                    format!("waits to retry after `{class}` ({message}); next attempt at {due:.3}{cycle}");
                (WaitReason::Retry, text)
            }
            Status::Postponed => (WaitReason::Postponed, format!("it does not start before {due}")),
            _ => (WaitReason::Sleep, format!("it sleeps until {due:.3}")),
        })
    }
}

/// Further clause for a running stage that waits for an answer.
fn waits_for_answer(asking: &AskingView) -> String {
    let again = if asking.attempt > 1 { format!(", attempt {}", asking.attempt) } else { String::new() };
    format!(
        "; in state `{}`, it has waited for the answer of {} since {:.3}{again}",
        asking.state, asking.target, asking.since
    )
}

fn running(row: &Row) -> String {
    match (&row.running, &row.node) {
        (Some((attempt, since)), Some(node)) => {
            format!("handed out to node {node} at {since:.3}, hand-out {attempt}")
        }
        (Some((attempt, since)), None) => {
            format!(
                "handed out at {since:.3}, hand-out {attempt}, to a node that is gone; it will fail over soon"
            )
        }
        (None, _) => format!(
            "its worker was lost or late; it waits to be handed out again, as hand-out {}",
            row.attempt.next()
        ),
    }
}

fn ended(row: &Row) -> String {
    let at = row.finished_at.map(time::shown).unwrap_or_default();
    match &row.error_message {
        Some(message) => {
            let class = row.error_class.as_deref().unwrap_or(UNCLASSIFIED);
            format!("it ended `{}` at {at}: {class}: {message}", row.status)
        }
        None => format!("it ended `{}` at {at}", row.status),
    }
}

fn reason(edge: &Edge, terms: &Expectation, node: Option<&Node>) -> String {
    let (order, states) = (&edge.before, terms.states.join(", "));
    let Some(node) = node else { return format!("waits for order `{order}`, which is not registered yet") };
    if is_hidden(node) {
        return format!("waits for order `{order}` of another tenant to end in: {states}");
    }
    let step = node.step.as_deref().map_or_else(String::new, |step| format!(" in state `{step}`"));
    if !node.status.is_final() {
        return format!("waits for order `{order}`, now `{}`{step}, to end in: {states}", node.status);
    }
    let then = match terms.otherwise {
        Otherwise::Wait if transition::next(node.status, Cause::Restarted).is_ok() => {
            "a restart of that order may still satisfy the condition"
        }
        Otherwise::Wait => {
            "it cannot be restarted, so the condition can never be met: cancel this order, or clone it, which drops \
             the condition"
        }
        Otherwise::Fail => "this order is about to fail for that reason",
        Otherwise::Cancel => "this order is about to be canceled for that reason",
    };
    format!("waits for order `{order}` to end in: {states}; that order ended `{}`{step}: {then}", node.status)
}

/// Names what an order waits for: answers to requests; decisions of actors, which are requests to the engine; and ends of
/// children, which also answer requests.
fn awaited(open: &[impl AsRef<str>], children: &[AwaitedChild]) -> String {
    let answered: BTreeSet<&str> = children.iter().map(|child| child.request.as_str()).collect();
    let open: Vec<&str> = open.iter().map(AsRef::as_ref).filter(|name| !answered.contains(name)).collect();
    let actors = open.iter().filter_map(|name| name.strip_prefix(ACTOR)).map(|name| format!("`{name}`"));
    let actors: Vec<String> = actors.collect();
    let others = open.iter().filter(|name| !name.starts_with(ACTOR)).map(|name| format!("`{name}`"));
    let others: Vec<String> = others.collect();
    let of_actors = format!("the decision of actor {}", actors.join(", "));
    let of_others = format!("the callback of {}", others.join(", "));
    let parts = [
        (!others.is_empty()).then_some(of_others),
        (!actors.is_empty()).then_some(of_actors),
        ends_of(children),
    ];
    let parts: Vec<String> = parts.into_iter().flatten().collect();
    if parts.is_empty() { "a call from outside".to_owned() } else { parts.join(" and ") }
}

fn ends_of(children: &[AwaitedChild]) -> Option<String> {
    let describe = |child: &AwaitedChild| format!("`{}`, which is `{}`", child.id, child.status);
    let named: Vec<String> = children.iter().take(MAX_REASONS).map(describe).collect();
    let more = children.len() - named.len();
    match (children.len(), more) {
        (0, _) => None,
        (1, _) => Some(format!("the end of order {}", named[0])),
        (_, 0) => Some(format!("the ends of orders {}", named.join("; "))),
        (_, more) => Some(format!("the ends of orders {}; and {more} more", named.join("; "))),
    }
}

fn polling(row: &Row, due: jiff::Timestamp) -> String {
    let step = row.step.as_deref().map_or_else(String::new, |step| format!(" in state `{step}`"));
    match snapshot(row).and_then(|snapshot| snapshot.visit.poll) {
        Some(polling) => format!(
            "polls{step}: attempt {} is due at {due:.3}; it gives up at {}",
            polling.attempt, polling.ends_at
        ),
        None => format!("polls{step}: the next attempt is due at {due:.3}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ord_28_what_is_waited_for_is_reported_by_its_kind() {
        let of_requests = |open: &[&str]| awaited(open, &[]);
        assert_eq!(of_requests(&[]), "a call from outside");
        assert_eq!(of_requests(&["answer"]), "the callback of `answer`");
        assert_eq!(of_requests(&["actor.scoring"]), "the decision of actor `scoring`");
        assert_eq!(
            of_requests(&["a", "actor.x", "b"]),
            "the callback of `a`, `b` and the decision of actor `x`"
        );
        let child =
            |n: usize| AwaitedChild { request: format!("kid.{n}"), id: format!("k{n}"), status: Status::New };
        assert_eq!(awaited(&["kid.0"], &[child(0)]), "the end of order `k0`, which is `new`");
        assert_eq!(
            awaited(&["a", "kid.0", "kid.1"], &[child(0), child(1)]),
            "the callback of `a` and the ends of orders `k0`, which is `new`; `k1`, which is `new`"
        );
        let many: Vec<AwaitedChild> = (0..7).map(child).collect();
        assert!(awaited(&[""; 0], &many).ends_with("`k4`, which is `new`; and 2 more"));
    }
}
