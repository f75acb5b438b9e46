//! "Why is it not running?", in one plain sentence (ORD-28).

mod actor;
mod capacity;
mod eta;
mod flow;
mod promise;
mod system;

use std::collections::BTreeSet;

use pagurus_domain::classes::UNCLASSIFIED;
use pagurus_domain::id::ScenarioNo;
use pagurus_domain::order::Status;
use pagurus_domain::order::dependency::{Otherwise, Stand};
use pagurus_domain::order::transition::{self, Cause};
use pagurus_domain::order::wait_reason::WaitReason;
use pagurus_domain::time;
use pagurus_runtime::config::Settings;
use pagurus_runtime::scenarios::Known;
use pagurus_store::hot::dependencies::graph::{self, Edge, Expectation, Node};
use pagurus_store::hot::outbox;
use pagurus_store::hot::queues;
use pagurus_store::hot::queues::QueueHolder;
use pagurus_store::hot::requests;
use pagurus_store::outside::children::{self, AwaitedChild};
use pagurus_store::outside::orders::OrderRow as Row;
use pagurus_store::recovery::consistency::marks::{self, InconsistencyMark};
use pagurus_store::{Client, Error};
use pagurus_wire::explain::Explanation;
use pagurus_wire::order::UnsentView;
use pagurus_wire::parts::AskingView;
use pagurus_wire::problem::Problem;

use crate::order::{asking_of, snapshot};
use crate::retry::{self, Cycles};
use crate::{Views, foresight};
pub use promise::{Foresight, plain_reason};

/// Prefix of the names of requests to actors.
const ACTOR: &str = "actor.";
/// Orders that are named one by one, of those that an order waits for.
const MAX_REASONS: usize = 5;

impl Views {
    /// Explains where an order stands and what it waits for.
    pub async fn explain(&self, id: &str) -> Result<Explanation, Problem> {
        let (client, row) = self.found(id).await?;
        let settings = &self.host.settings();
        let read = async {
            let known = self.catalogue.get(&client, ScenarioNo(row.scenario_no)).await?;
            let scenario = known.and_then(Known::readable);
            let cycles = retry::cycles(settings, scenario.as_deref(), &row, jiff::Timestamp::now());
            let (mut reason, mut explanation) = sentence(&client, &row, &cycles, settings).await?;
            if let Some((of_actor, clause)) = self.of_actor(&client, &row, reason).await? {
                reason = of_actor;
                explanation.push_str(&clause);
            }
            explanation.extend(marks::of_order(&client, row.no).await?.map(|mark| marked(&mark)));
            explanation.extend(undelivered(&outbox::shown::of_order(&client, row.no).await?));
            let promise = promise::of_order(&client, &row).await?;
            explanation.extend(promise.as_ref().and_then(foresight::clause));
            let (eta, still) = eta::of(&client, &row, settings, jiff::Timestamp::now()).await?;
            explanation.extend(still);
            Ok((reason, explanation, eta, promise))
        };
        let (reason, explanation, eta, promise) = read.await.map_err(self.failed("read"))?;
        let (status, reason) = (row.status.to_string(), reason.to_string());
        Ok(Explanation { id: row.id, status, reason, explanation, eta, promise })
    }
}

/// Further clause for an order whose rows contradict each other.
fn marked(mark: &InconsistencyMark) -> String {
    format!(
        "; it is inconsistent since {} ({}): a person has to look, and repair or restart it",
        mark.found_at,
        mark.findings.join(", ")
    )
}

/// Further clause for an order with notifications that need a person.
fn undelivered(unsent: &[UnsentView]) -> Option<String> {
    let mut parked = unsent.iter().filter_map(|one| Some((one, one.parked_because.as_deref()?)));
    let (first, why) = parked.next()?;
    let others = match parked.count() {
        0 => String::new(),
        count => format!(" and {count} more"),
    };
    let error = first.last_error.as_deref().map_or_else(String::new, |error| format!(": {error}"));
    Some(format!(
        "; its notification `{}`{others} is parked ({why}{error}), until somebody sends it again (`resend`)",
        first.kind
    ))
}

/// A reason with its sentence.
type WaitSentence = (WaitReason, String);

/// The place of an order and what it waits for, in one word and in one sentence.
async fn sentence(
    client: &Client,
    row: &Row,
    cycles: &Cycles,
    settings: &Settings,
) -> Result<WaitSentence, Error> {
    Ok(match row.status {
        Status::Running if row.running.is_some() => {
            let asking = asking_of(client, row).await?;
            let text =
                format!("{}{}", running(row), asking.as_ref().map(waits_for_answer).unwrap_or_default());
            (WaitReason::Running, text)
        }
        Status::Running => {
            let again = running(row);
            let hindrance = match flow::hindrance(client, &row.flow, "its flow").await? {
                None => capacity::hindrance(client, row, settings).await?,
                hindrance => hindrance,
            };
            match hindrance {
                Some((reason, hindrance)) => (reason, format!("{again}; {hindrance}")),
                None => (WaitReason::Worker, again),
            }
        }
        status if status.is_final() => (WaitReason::Ended, ended(row)),
        _ => match (row.ready_since, row.due_at) {
            (Some(since), _) => ready(client, row, since, settings).await?,
            (None, Some(due)) => {
                let (reason, text) = suspended(client, row, due, cycles).await?;
                // What stops the flow now may still stop it then.
                let stop = flow::stop(client, &row.flow, "its flow").await?;
                (reason, stop.map_or_else(|| text.clone(), |stop| format!("{text}; {stop}")))
            }
            (None, None) if row.status == Status::Postponed => {
                let later = row.start_at.filter(|at| *at > jiff::Timestamp::now());
                let reasons = waiting(client, row).await?;
                let text = later.map_or_else(
                    || reasons.clone(),
                    |at| format!("{reasons}; and it is not to start before {at:.3}"),
                );
                (WaitReason::Dependent, text)
            }
            (None, None) => {
                let text = "it has neither a place among what may run nor a timer; the consistency check finds and repairs that";
                (WaitReason::Nowhere, text.into())
            }
        },
    })
}

/// Further clause for a running stage that waits for an answer.
fn waits_for_answer(asking: &AskingView) -> String {
    let again = if asking.attempt > 1 { format!(", attempt {}", asking.attempt) } else { String::new() };
    format!(
        "; in state `{}` it waits for the answer of {} since {:.3}{again}",
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

async fn ready(
    client: &Client,
    row: &Row,
    since: jiff::Timestamp,
    settings: &Settings,
) -> Result<WaitSentence, Error> {
    if let (Some(queue), Some(position)) = (&row.queue, row.position) {
        let before = queues::before(client, queue, position).await?;
        if let Some(QueueHolder { id, flow, since, .. }) =
            queues::holder(client, queue).await?.filter(|_| before > 0)
        {
            let place = format!("number {} in queue `{queue}`", before + 1);
            let place = match since {
                Some(since) => format!("{place}, which order `{id}` holds since {since:.3}"),
                None => format!("{place}, of which order `{id}` is the next"),
            };
            // Whatever its own flow is: the queue does not move before its head does.
            let held = flow::hindrance(client, &flow, "the flow of that order").await?;
            let text = held.map_or_else(|| place.clone(), |(_, held)| format!("{place}; {held}"));
            return Ok((WaitReason::Queue, text));
        }
    }
    let hindrance = match flow::hindrance(client, &row.flow, "its flow").await? {
        None => capacity::hindrance(client, row, settings).await?,
        hindrance => hindrance,
    };
    Ok(match hindrance {
        Some((reason, hindrance)) => (reason, format!("it may run since {since:.3}, and {hindrance}")),
        None => {
            let text =
                format!("it may run since {since:.3} and waits for the dispatcher to hand it to a worker");
            (WaitReason::Worker, text)
        }
    })
}

/// Names the orders that an order without place and timer waits for.
async fn waiting(client: &Client, row: &Row) -> Result<String, Error> {
    let graph = graph::around(client, &row.id, 1).await?;
    let reasons: Vec<String> = graph
        .edges
        .iter()
        .filter(|edge| edge.order == row.id && edge.stand != Stand::Met)
        .filter_map(|edge| Some((edge, edge.terms.as_ref()?)))
        .map(|(edge, terms)| reason(edge, terms, graph.nodes.iter().find(|node| node.id == edge.before)))
        .collect();
    let more = reasons.len().saturating_sub(MAX_REASONS);
    Ok(match (reasons.is_empty(), more) {
        (true, _) => "all that it waited for has come; the activator is about to start it".to_owned(),
        (false, 0) => reasons.join("; "),
        (false, more) => format!("{}; and for {more} more", reasons[..MAX_REASONS].join("; ")),
    })
}

fn reason(edge: &Edge, terms: &Expectation, node: Option<&Node>) -> String {
    let (order, states) = (&edge.before, terms.states.join(", "));
    let Some(node) = node else { return format!("waits for order `{order}`, which is not registered yet") };
    let step = node.step.as_deref().map_or_else(String::new, |step| format!(" in state `{step}`"));
    if !node.status.is_final() {
        return format!("waits for order `{order}`, now `{}`{step}, to end in: {states}", node.status);
    }
    let then = match terms.otherwise {
        Otherwise::Wait if transition::next(node.status, Cause::Restarted).is_ok() => {
            "a restart of that order may still satisfy it"
        }
        Otherwise::Wait => {
            "no restart leads out of that, so it can never be met: cancel this order, or clone it, which leaves \
             the condition out"
        }
        Otherwise::Fail => "it is about to fail by that",
        Otherwise::Cancel => "it is about to be canceled by that",
    };
    format!("waits for order `{order}` to end in: {states}; that ended `{}`{step}: {then}", node.status)
}

async fn suspended(
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
            let children = children::awaited(client, row.no).await?;
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
                format!("waits to repeat after `{class}` ({message}); next attempt at {due:.3}{cycle}");
            (WaitReason::Retry, text)
        }
        Status::Postponed => (WaitReason::Postponed, format!("it is not to start before {due}")),
        _ => (WaitReason::Sleep, format!("it sleeps until {due:.3}")),
    })
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
    fn ord_19_what_is_parked_is_said_and_what_is_on_its_way_is_not() {
        let unsent = |kind: &str, why: Option<&str>| UnsentView {
            life: 1,
            kind: kind.into(),
            subscription: None,
            target: "amqp://?key=k".into(),
            attempts: 1,
            parked_because: why.map(str::to_owned),
            last_error: why.map(|_| "nobody listens".to_owned()),
            next_at: None,
        };
        assert_eq!(undelivered(&[unsent("final", None)]), None);
        let parked =
            [unsent("final", Some("unroutable")), unsent("parked", None), unsent("final-2", Some("gone"))];
        let text = undelivered(&parked).unwrap_or_default();
        assert_eq!(
            text,
            "; its notification `final` and 1 more is parked (unroutable: nobody listens), until somebody sends it again \
             (`resend`)"
        );
    }

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
