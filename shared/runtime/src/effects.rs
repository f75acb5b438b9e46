//! Effects of a change, to be sent below its commit: the only way in which services inform each other of orders.
//!
//! All of it is hints about rows of the database: what is lost is found by those who re-read the tables.

use std::collections::BTreeMap;
use std::time::Duration;

use jiff::Timestamp;
use pagurus_broker::Message;
use pagurus_domain::activation::Stream;
use pagurus_domain::id::{Attempt, Life, OrderNo};
use pagurus_domain::order::notification::PARTS;
use pagurus_store::hot::control::Allowed;
use pagurus_store::hot::outbox::NewNotification;
use pagurus_store::hot::stages::ReadyStage;
use pagurus_store::outside::ends::{self, Ending};
use pagurus_store::outside::orders::Registered;
use pagurus_wire::message::{
    BreakOff, BrokenOff, CallNews, Due, DueNews, EndedLife, EndedStage, Left, News, OrdersNews, OutboxNews,
    OutboxRow, QueuePlace, ReadyNews, RefusedHandOut, RequestsNews, news as key, work,
};

use crate::Host;
use crate::news::{news, send, tell_workers};
use crate::order_log::LoggedEnd;

/// Start times further ahead are found in time by the regular look of the activators, which comes each second.
const SOON: Duration = Duration::from_secs(2);

/// Everything that changes of orders lead to elsewhere.
#[derive(Clone, Debug, Default)]
pub struct Effects {
    /// Stages that no worker is to go on with: order and attempt.
    pub over: Vec<(OrderNo, Attempt)>,
    /// Orders that are not where they were.
    pub left: Vec<Left>,
    /// Stages that have ended.
    pub ended: Vec<EndedStage>,
    /// Hand-outs that were not claimed.
    pub refused: Vec<RefusedHandOut>,
    /// Stages that may run.
    pub ready: Vec<ReadyNews>,
    /// Calls of systems that came to an end, summed.
    pub calls: Vec<CallNews>,
    /// Requests that are waited for from now on, or not any more, by flow and called system.
    pub requests: BTreeMap<(String, String), i32>,
    /// True where the registry of workers has changed.
    pub workers_changed: bool,
    /// True where operators decided something about flows or systems.
    pub rules_changed: bool,
    /// Ends that somebody is to be notified of: order and life.
    pub notify: Vec<(OrderNo, Life)>,
    /// Notifications that were stored, and may be sent without being read again.
    pub notifications: Vec<NewNotification>,
    /// True where a notification for a receiver over HTTP was stored, or is to be sent again.
    pub webhooks: bool,
    /// Lives that were ended, to be counted and logged.
    pub lives: Vec<LoggedEnd>,
    /// Timers that were set: the earliest of each stream.
    pub due: BTreeMap<Stream, Timestamp>,
    /// Orders that changed, and of which nothing else here tells.
    pub changed: Vec<OrderNo>,
}

impl Effects {
    /// The effects of stages that may run, and no others.
    #[must_use]
    pub fn of_ready<'a>(stages: impl IntoIterator<Item = &'a ReadyStage>) -> Self {
        let mut effects = Self::default();
        effects.may_run(stages);
        effects
    }

    /// Adds stages that may run.
    pub fn may_run<'a>(&mut self, stages: impl IntoIterator<Item = &'a ReadyStage>) {
        self.ready.extend(stages.into_iter().map(|stage| ready(stage, None)));
    }

    /// Adds an outcome of a registration.
    pub fn registered(&mut self, registered: &Registered) {
        let Registered::Accepted { no, created_at, ready, starts_at, conditional } = registered else {
            return;
        };
        match ready {
            Some(stage) => self.may_run([stage]),
            None => self.changed.push(*no),
        }
        if let Some(at) = starts_at.filter(|at| *at < created_at.saturating_add(SOON).unwrap_or(*at)) {
            self.timer(Stream::Postponed, at);
        }
        if *conditional {
            // The activators look at its conditions at once.
            self.timer(Stream::Dependent, *created_at);
        }
    }

    /// Adds a stage whose command is repeated, and the stream that woke it.
    pub fn repeats(&mut self, stage: &ReadyStage, stream: Option<Stream>) {
        self.ready.push(ready(stage, stream));
    }

    /// Adds requests of a flow to called systems that are waited for from now on, or not any more.
    pub fn moves(&mut self, flow: &str, requests: impl IntoIterator<Item = (String, i32)>) {
        for (system, by) in requests {
            *self.requests.entry((flow.to_owned(), system)).or_default() += by;
        }
    }

    /// Adds requests, by flow and called system, that are not waited for any more.
    pub fn answers(&mut self, closed: impl IntoIterator<Item = (String, String)>) {
        closed.into_iter().for_each(|request| *self.requests.entry(request).or_default() -= 1);
    }

    /// Adds a timer.
    pub fn timer(&mut self, stream: Stream, at: Timestamp) {
        let earliest = self.due.entry(stream).or_insert(at);
        *earliest = (*earliest).min(at);
    }

    /// Adds the ends of orders that were locked for them, with what these led to.
    pub fn lives_ended(&mut self, ends: &[(Allowed<'_>, Ending<'_>)], ended: ends::Ended) {
        for (allowed, ending) in ends {
            let order = allowed.order();
            self.lives.push(LoggedEnd {
                order: order.head.clone(),
                scenario: order.scenario.clone(),
                status: allowed.change().to,
                error: ending.error.clone(),
                at: order.now,
            });
            self.over.extend(order.running().map(|attempt| (order.head.no, attempt)));
            self.left.push(Left {
                no: order.head.no.0,
                attempt: order.ready_attempt().map(|attempt| attempt.0),
                queue: order.queue.clone(),
            });
        }
        self.may_run(&ended.ready);
        self.webhooks |= ended.notifications.iter().any(|new| new.receiver.is_some());
        // Read again: the second end of a life is not sent before the first one is confirmed.
        let for_broker = ended.notifications.iter().filter(|new| new.receiver.is_none());
        self.notify.extend(for_broker.map(|new| (new.no, new.life)));
        self.notify.dedup();
    }

    /// Tells everybody whom it concerns. In this order: no worker goes on with what is over before the next
    /// order of its queue may run, and an order has left its place before it is ready again.
    pub async fn send(self, host: &Host) {
        for end in self.lives {
            host.life_ended(&end);
            end.error.iter().for_each(|error| host.stats.error(error));
        }
        if !self.over.is_empty() {
            let stages = self.over.into_iter();
            let stages = stages.map(|(no, attempt)| BrokenOff { no: no.0, attempt: attempt.0 }).collect();
            tell_workers(host, work::BREAK_OFF, &BreakOff { stages }).await;
        }
        let mut messages = Vec::new();
        let for_dispatcher = News {
            ready: self.ready,
            ended: self.ended,
            refused: self.refused,
            left: self.left,
            calls: self.calls,
            requests: self
                .requests
                .into_iter()
                .map(|((flow, system), by)| RequestsNews { flow, system, by })
                .collect(),
            workers_changed: self.workers_changed,
            rules_changed: self.rules_changed,
        };
        if for_dispatcher != News::default() {
            messages.push(news(host, key::DISPATCH, &for_dispatcher));
        }
        if !self.due.is_empty() {
            let due = self.due.into_iter();
            let due =
                due.map(|(stream, at)| Due { stream: stream.to_string(), at: at.as_millisecond() }).collect();
            messages.push(news(host, key::DUE, &DueNews { due }));
        }
        if !self.changed.is_empty() {
            let changed = OrdersNews { changed: self.changed.iter().map(|no| no.0).collect() };
            let message = news(host, key::ORDERS, &changed);
            messages.push(Message { useful_for: Some(FOLLOWERS_NEWS), ..message });
        }
        for for_notifiers in outbox_news(self.notify, self.notifications, self.webhooks) {
            // Any notifier will do.
            let message = news(host, &key::outbox(rand::random_range(0..PARTS)), &for_notifiers);
            messages.push(Message { useful_for: Some(OUTBOX_NEWS), to_one: true, ..message });
        }
        if !messages.is_empty() {
            send(host, messages).await;
        }
    }
}

/// News for those who follow orders is of no use later.
const FOLLOWERS_NEWS: Duration = Duration::from_secs(30);
/// News of rows is dropped before the slow pass takes them: else both would send them.
const OUTBOX_NEWS: Duration = Duration::from_secs(4);
/// Bytes of the bodies in one message of news.
const BODIES: usize = 256 * 1024;

/// News for the notifiers. A long body is not carried twice through the broker, but read, and so is what has a number;
/// of what goes over HTTP they learn no more than that there is some.
fn outbox_news(
    ended: Vec<(OrderNo, Life)>,
    notifications: Vec<NewNotification>,
    mut webhooks: bool,
) -> Vec<OutboxNews> {
    let mut all: Vec<OutboxNews> = Vec::new();
    let read = ended.into_iter().map(|(no, life)| EndedLife { no: no.0, life: life.0, kind: None });
    let mut read: Vec<EndedLife> = read.collect();
    let mut bytes = BODIES;
    for one in notifications {
        if one.receiver.is_some() {
            webhooks = true;
            continue;
        }
        if one.body.len() > BODIES / 4 || one.is_numbered() {
            read.push(EndedLife { no: one.no.0, life: one.life.0, kind: Some(one.kind.into_owned()) });
            continue;
        }
        bytes += one.body.len();
        if bytes > BODIES {
            bytes = one.body.len();
            all.push(OutboxNews::default());
        }
        if let Some(news) = all.last_mut() {
            news.rows.push(row(one));
        }
    }
    if !read.is_empty() {
        all.push(OutboxNews { ended: read, ..OutboxNews::default() });
    }
    if webhooks {
        match all.last_mut() {
            Some(news) => news.webhooks = true,
            None => all.push(OutboxNews { webhooks, ..OutboxNews::default() }),
        }
    }
    all
}

fn row(one: NewNotification) -> OutboxRow {
    OutboxRow {
        no: one.no.0,
        life: one.life.0,
        kind: one.kind.into_owned(),
        message_id: one.message_id.to_string(),
        target: one.target,
        correlation_id: one.correlation_id,
        transaction_id: one.transaction_id,
        trace: one.trace,
        group: one.form.group,
        body: one.body,
    }
}

/// A ready stage as news; with a stream it is a repeat of what that one woke.
fn ready(stage: &ReadyStage, repeat_of: Option<Stream>) -> ReadyNews {
    ReadyNews {
        no: stage.no.0,
        attempt: stage.attempt.0,
        flow: stage.flow.clone(),
        priority: stage.priority.as_str().to_owned(),
        place: stage.place.clone().map(|(queue, position)| QueuePlace { queue, position }),
        woken: stage.woken,
        repeat_of: repeat_of.map(|stream| stream.to_string()),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test may stop at the first surprise")]
mod tests {
    use super::*;

    #[test]
    fn act_1_the_activators_hear_of_a_registration_that_starts_before_their_next_look() {
        let created_at: Timestamp = "2026-01-01T00:00:00Z".parse().unwrap();
        let timers = |starts_at: Option<&str>, conditional| {
            let starts_at = starts_at.map(|at| at.parse().unwrap());
            let mut effects = Effects::default();
            effects.registered(&Registered::Accepted {
                no: OrderNo(1),
                created_at,
                ready: None,
                starts_at,
                conditional,
            });
            assert_eq!(effects.changed, [OrderNo(1)]);
            effects.due
        };
        let soon = "2026-01-01T00:00:00.300Z";
        assert_eq!(timers(Some(soon), false), BTreeMap::from([(Stream::Postponed, soon.parse().unwrap())]));
        let past = "2020-01-01T00:00:00Z";
        assert_eq!(timers(Some(past), false), BTreeMap::from([(Stream::Postponed, past.parse().unwrap())]));
        assert_eq!(
            timers(Some("2026-01-01T00:01:00Z"), false),
            BTreeMap::new(),
            "the regular look comes in time"
        );
        assert_eq!(timers(None, true), BTreeMap::from([(Stream::Dependent, created_at)]));
    }
}
