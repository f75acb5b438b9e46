//! The outbox: written with what it tells, removed when it is confirmed.

use std::time::Duration;

use jiff::Timestamp;
use pagurus_domain::id::{Life, OrderNo, RequestId};
use pagurus_domain::order::Status;
use pagurus_domain::order::change::LifeEnd;
use uuid::Uuid;

use super::{CallbackContent, Tables};
use crate::planted::Planted;

/// A notification.
#[derive(Clone, Debug)]
pub struct OutboxRow {
    /// The order.
    pub no: OrderNo,
    /// Id that the client gave to the order.
    pub id: String,
    /// The life.
    pub life: Life,
    /// Kind of the end.
    pub kind: String,
    /// For a parent: its request, and how the child ended.
    pub answers: Option<(RequestId, CallbackContent)>,
    /// Id of the message.
    pub message_id: Uuid,
    /// Content of the message.
    pub body: String,
    /// Time at which it is sent next by a notifier that got no hint.
    pub next_at: Timestamp,
}

fn later(now: Timestamp, by: Duration) -> Timestamp {
    now.checked_add(by).unwrap_or(Timestamp::MAX)
}

impl Tables {
    /// Writes the notification of an end.
    pub(super) fn put_notification(&mut self, no: OrderNo, end: LifeEnd) {
        let Some(order) = self.orders.get(&no) else { return };
        let kind = match end {
            LifeEnd::First => "final",
            LifeEnd::Second => "final-2",
        };
        let (notify, answers) = (order.notify, order.answers.filter(|_| end == LifeEnd::First));
        if notify {
            self.put(no, kind, None);
        }
        // A parent learns of the end by which the order became final.
        if answers.is_some() {
            self.put(no, "answer", answers);
        }
    }

    fn put(&mut self, no: OrderNo, kind: &str, answers: Option<RequestId>) {
        let Some(order) = self.orders.get(&no) else { return };
        let (id, life) = (order.id.clone(), order.life);
        let name = format!("{id}\0{life}\0{kind}");
        let body = format!("{} {} {:?} {:?}", order.status, order.scenario_status, order.step, order.result);
        self.witness.note_notification(&id, life, kind);
        let class = order.error.as_ref().filter(|_| order.status == Status::Fail);
        let class = class.and_then(|error| error.class.clone());
        let row = OutboxRow {
            no,
            id,
            life,
            kind: kind.to_owned(),
            answers: answers
                .map(|request| (request, CallbackContent { step_status: order.status.as_str(), class })),
            message_id: Uuid::new_v5(&Uuid::NAMESPACE_OID, name.as_bytes()),
            body,
            next_at: later(self.now, Duration::from_secs(5)),
        };
        self.outbox.insert((no, life, kind.to_owned()), row);
    }

    /// Reads notifications of a life that were just stored; a second end waits for the first.
    #[must_use]
    pub fn read_outbox(&mut self, lives: &[(OrderNo, Life)]) -> Vec<OutboxRow> {
        let of_life = |(no, life): &(OrderNo, Life)| {
            let rows = self.outbox.range((*no, *life, String::new())..);
            let rows: Vec<OutboxRow> = rows
                .take_while(|((of, at, _), _)| (of, at) == (no, life))
                .map(|(_, row)| row.clone())
                .collect();
            let has_first = rows.iter().any(|row| row.kind == "final");
            rows.into_iter().filter(move |row| row.kind != "final-2" || !has_first)
        };
        let rows = lives.iter().flat_map(of_life).collect();
        self.fresh_ids(rows)
    }

    /// Takes notifications whose time has come, and keeps others off them for half a minute.
    pub fn take_outbox(&mut self, limit: usize) -> Vec<OutboxRow> {
        let now = self.now;
        let due = self.outbox.iter().filter(|(_, row)| row.next_at <= now).map(|(key, _)| key.clone());
        let mut taken = Vec::new();
        for key in due.take(limit).collect::<Vec<_>>() {
            let is_behind =
                key.2 == "final-2" && self.outbox.contains_key(&(key.0, key.1, "final".to_owned()));
            let wait = if is_behind { 1 } else { 30 };
            if let Some(row) = self.outbox.get_mut(&key) {
                row.next_at = later(now, Duration::from_secs(wait));
                taken.extend((!is_behind).then(|| row.clone()));
            }
        }
        self.fresh_ids(taken)
    }

    fn fresh_ids(&mut self, mut rows: Vec<OutboxRow>) -> Vec<OutboxRow> {
        if self.has(Planted::FreshMessageId) {
            rows.iter_mut().for_each(|row| row.message_id = self.chance.id());
        }
        rows
    }

    /// Removes notifications that were delivered.
    pub fn sent(&mut self, rows: &[OutboxRow]) {
        for row in rows {
            self.outbox.remove(&(row.no, row.life, row.kind.clone()));
        }
    }

    /// Puts off notifications that could not be sent.
    pub fn unsent(&mut self, rows: &[OutboxRow], delay: Duration) {
        let at = later(self.now, delay);
        for row in rows {
            if let Some(kept) = self.outbox.get_mut(&(row.no, row.life, row.kind.clone())) {
                kept.next_at = at;
            }
        }
    }
}
