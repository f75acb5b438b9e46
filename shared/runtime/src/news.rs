//! News between services: hints about rows of the database, many items a message, transient.
//! What is lost is found by those who re-read the tables, so no failure here fails anything.

use jiff::Timestamp;
use pagurus_broker::Message;
use pagurus_domain::activation::Stream;
use pagurus_domain::id::OrderNo;
use pagurus_store::control::{Ended, Locked};
use pagurus_store::stages::ReadyStage;
use pagurus_wire::message::{BreakOff, DueNews, Left, News, OutboxNews, Place, Ready, news, work};
use serde::Serialize;

use crate::Host;
use crate::metrics::Count;

/// Sends news under one of the keys of [`pagurus_wire::message::news`].
pub async fn send(host: &Host, key: &str, told: &impl Serialize) {
    send_to(host, host.broker.names().news.clone(), vec![(key.to_owned(), body(told))]).await;
}

/// Sends transient messages to one exchange of the engine: key and body of each.
pub async fn send_to(host: &Host, exchange: String, messages: Vec<(String, Vec<u8>)>) {
    let messages = messages
        .into_iter()
        .map(|(key, body)| {
            let mut message = Message::json(exchange.clone(), key, body);
            message.mandatory = false;
            message.properties.persistent = false;
            message
        })
        .collect();
    if let Err(error) = host.broker.publish_transient(messages).await {
        host.metrics.count(Count::BrokerErrors, "news", 1);
        tracing::debug!(%error, "news could not be sent");
    }
}

/// Tells the dispatcher of stages that may run.
pub async fn ready<'a>(host: &Host, stages: impl IntoIterator<Item = &'a ReadyStage>) {
    let ready: Vec<Ready> = stages.into_iter().map(of_stage).collect();
    if !ready.is_empty() {
        send(host, news::DISPATCH, &News { ready, ..News::default() }).await;
    }
}

/// Tells the workers of stages that are over by somebody else's decision: order and attempt.
pub async fn break_off(host: &Host, stages: Vec<(OrderNo, i32)>) {
    if !stages.is_empty() {
        let stages = stages.into_iter().map(|(no, attempt)| (no.0, attempt)).collect();
        let message = (work::BREAK_OFF.to_owned(), body(&BreakOff { stages }));
        send_to(host, host.broker.names().work.clone(), vec![message]).await;
    }
}

/// A ready stage as news.
#[must_use]
pub fn of_stage(stage: &ReadyStage) -> Ready {
    Ready {
        no: stage.no.0,
        attempt: stage.attempt,
        flow: stage.flow.clone(),
        priority: stage.priority.as_str().to_owned(),
        place: stage.place.clone().map(|(queue, position)| Place { queue, position }),
        woken: stage.woken,
        repeat_of: None,
    }
}

/// What a change of orders is to be told of below its commit, and in which order.
#[derive(Clone, Debug, Default)]
pub struct Told {
    /// Stages that no worker is to go on with: order and attempt. Told first, before the next order
    /// of a queue hears that it may run.
    pub over: Vec<(OrderNo, i32)>,
    /// Orders that are not where they were. Told before what is ready: it may be the same order anew.
    pub left: Vec<Left>,
    /// Stages that may run.
    pub ready: Vec<ReadyStage>,
    /// Ends that somebody is to be notified of: order and life.
    pub ended: Vec<(i64, i32)>,
    /// A timer that was set.
    pub due: Option<(Stream, Timestamp)>,
}

impl Told {
    /// Adds the end of an order that was locked for it.
    pub fn end(&mut self, order: &Locked, end: Ended) {
        self.over.extend(order.running().map(|attempt| (order.no, attempt)));
        self.left.push(Left { no: order.no.0, attempt: order.ready_attempt(), queue: order.queue.clone() });
        self.ready.extend(end.ready);
        if end.notified {
            self.ended.push((order.no.0, order.life));
        }
    }

    /// Tells everybody whom it concerns.
    pub async fn send(self, host: &Host) {
        break_off(host, self.over).await;
        let ready = self.ready.iter().map(of_stage).collect();
        let told = News { left: self.left, ready, ..News::default() };
        if told != News::default() {
            send(host, news::DISPATCH, &told).await;
        }
        if !self.ended.is_empty() {
            send(host, news::OUTBOX, &OutboxNews { ended: self.ended }).await;
        }
        if let Some((stream, at)) = self.due {
            let due = [(stream.as_str().to_owned(), at.as_millisecond())].into_iter().collect();
            send(host, news::DUE, &DueNews { due }).await;
        }
    }
}

/// Plain data as JSON; it always serializes.
#[must_use]
pub fn body(told: &impl Serialize) -> Vec<u8> {
    serde_json::to_vec(told).unwrap_or_default()
}
