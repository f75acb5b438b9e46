//! Notifications that are not delivered yet. By state, not by cursor: a row is here until its message was confirmed, or its
//! receiver has it, whatever order transactions commit in.
//!
//! Here they are made and stored; [`sending`] takes those for the broker, [`webhooks`] those for receivers over HTTP,
//! and [`shown`] is for people.

pub mod sending;
pub mod shown;
pub mod webhooks;

use std::borrow::Cow;

use pagurus_domain::id::{Life, OrderNo};
use pagurus_domain::order::OrderHead;
use pagurus_domain::order::change::LifeEnd;
use pagurus_domain::order::notification::{
    Content, Jeopardy, Moved, NotifyFormat, Occasion, ParkedReason, StoredNotify, Target,
};
use uuid::Uuid;

use crate::columns::columns;
use crate::sql::statements;
use crate::{Result, Tx};

statements! {
    // The grace leaves a row for the broker to the notifier that is informed of it; the slow pass takes it later. One for a
    // receiver is always taken from here.
    PUT = "
        INSERT INTO outbox (order_no, life, kind, message_id, target, correlation_id, transaction_id, trace, body,
                            receiver, format, number, next_at)
        SELECT no, life, kind, message_id, target, correlation_id, transaction_id, trace, body, receiver, format,
               CASE WHEN numbered THEN nextval('outbox_number') END,
               CASE WHEN receiver IS NULL THEN now() + interval '5 seconds' ELSE now() END
          FROM unnest($1::bigint[], $2::integer[], $3::text[], $4::uuid[], $5::text[], $6::text[], $7::text[], $8::text[], $9::text[],
                      $10::text[], $11::text[], $12::boolean[])
               AS t (no, life, kind, message_id, target, correlation_id, transaction_id, trace, body, receiver, format, numbered)";
}

/// Recipient of a notification, and the event that it reports.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum NotificationSubject {
    /// To the client: this end.
    Client(LifeEnd),
    /// To the client: this end needs a person.
    Parked(ParkedReason),
    /// To the parent: the end by which the order became final. The parent was informed then, and waits no more.
    Parent,
}

impl NotificationSubject {
    /// Part of the key, and of what the id of the message is made from. Nodes of earlier versions know only the
    /// first: it keeps its name, and so its ids.
    const fn kind(self) -> &'static str {
        match self {
            Self::Client(LifeEnd::First) => "final",
            Self::Client(LifeEnd::Second) => "final-2",
            Self::Parked(_) => PARKED,
            Self::Parent => "answer",
        }
    }
}

/// Kind of a notification of an end that needs a person; with a number, of a suspension.
const PARKED: &str = "parked";
/// Kind of a notification of an order in jeopardy: once in each life.
const JEOPARDY: &str = "jeopardy";
/// Kind of a notification of a transition, with an id behind it.
const TRANSITION: &str = "transition";

/// A notification to be stored with what it tells.
#[derive(Clone, Debug)]
pub struct NewNotification {
    /// The order.
    pub no: OrderNo,
    /// Life of the order.
    pub life: Life,
    /// The word for what it tells of, once in a life.
    pub kind: Cow<'static, str>,
    /// Stays the same over repeats.
    pub message_id: Uuid,
    /// The URL as the client gave it.
    pub target: String,
    /// The receiver, where it goes over HTTP.
    pub receiver: Option<String>,
    /// The form.
    pub format: NotifyFormat,
    /// The client's mark.
    pub correlation_id: Option<String>,
    /// The business transaction.
    pub transaction_id: Option<String>,
    /// Trace context.
    pub trace: Option<String>,
    /// The body: the same for every copy.
    pub body: String,
}

impl NewNotification {
    /// Notifications of this end of a life: of the client, where it wants them, and of the parent that awaits it.
    pub fn of(content: &Content<'_>, end: LifeEnd) -> impl Iterator<Item = Self> {
        let order = content.order;
        let wish = order.notify.as_deref().and_then(StoredNotify::read);
        let parked = content.parked().filter(|_| end == LifeEnd::First);
        let parked = parked.and_then(|reason| {
            let wish = wish.as_ref().filter(|wish| wish.wants(Occasion::Parked))?;
            Some((NotificationSubject::Parked(reason), wish.clone()))
        });
        let last = wish
            .filter(|wish| wish.wants(Occasion::Final))
            .map(|wish| (NotificationSubject::Client(end), wish));
        let first = order.answers.filter(|_| end == LifeEnd::First);
        let parents = first
            .map(|request| (NotificationSubject::Parent, StoredNotify::to(Target::callback_url(request))));
        last.into_iter().chain(parked).chain(parents).map(|(subject, wish)| {
            let (mark, zone) = (wish.correlation_id.as_deref(), wish.timezone.as_deref());
            let body = match subject {
                NotificationSubject::Parked(reason) => content.render_parked(reason, mark, zone),
                _ => content.render(mark, zone),
            };
            Self::with(order, subject.kind().into(), body, wish)
        })
    }

    /// Notifications of transitions, where the client wants them. Each is stored once, with its transition: nothing but
    /// its id tells it from another.
    pub fn of_moves<'m>(
        order: &OrderHead,
        moves: impl IntoIterator<Item = Moved<'m>>,
    ) -> impl Iterator<Item = Self> {
        let wish = StoredNotify::wanting(order.notify.as_deref(), Occasion::Transitions);
        let moves = wish.map(|wish| moves.into_iter().map(move |moved| (moved, wish.clone())));
        moves.into_iter().flatten().map(|(moved, wish)| {
            let body = moved.render(wish.correlation_id.as_deref(), wish.timezone.as_deref());
            let message_id = Uuid::new_v4();
            let kind = format!("{TRANSITION}-{message_id}").into();
            Self { message_id, ..Self::with(moved.order, kind, body, wish) }
        })
    }

    /// The notification of an order that has been suspended for too long, where its client wants it; `number` is that of
    /// the hand-out before.
    #[must_use]
    pub fn of_suspension(content: &Content<'_>, number: i32) -> Option<Self> {
        let wish = StoredNotify::wanting(content.order.notify.as_deref(), Occasion::Parked)?;
        let (mark, zone) = (wish.correlation_id.as_deref(), wish.timezone.as_deref());
        let body = content.render_parked(ParkedReason::Suspended, mark, zone);
        Some(Self::with(content.order, format!("{PARKED}-{number}").into(), body, wish))
    }

    /// The notification of an order whose rows contradict each other, where its client wants it; `number` is that of the
    /// last event before.
    #[must_use]
    pub fn of_inconsistency(content: &Content<'_>, number: i64) -> Option<Self> {
        let wish = StoredNotify::wanting(content.order.notify.as_deref(), Occasion::Parked)?;
        let (mark, zone) = (wish.correlation_id.as_deref(), wish.timezone.as_deref());
        let body = content.render_parked(ParkedReason::Inconsistent, mark, zone);
        Some(Self::with(content.order, format!("{PARKED}-check-{number}").into(), body, wish))
    }

    /// The notification of an order that will probably be late, where its client wants it.
    #[must_use]
    pub fn of_jeopardy(content: &Content<'_>, jeopardy: &Jeopardy<'_>) -> Option<Self> {
        let wish = StoredNotify::wanting(content.order.notify.as_deref(), Occasion::Jeopardy)?;
        let (mark, zone) = (wish.correlation_id.as_deref(), wish.timezone.as_deref());
        let body = content.render_jeopardy(jeopardy, mark, zone);
        Some(Self::with(content.order, JEOPARDY.into(), body, wish))
    }

    fn with(order: &OrderHead, kind: Cow<'static, str>, body: String, wish: StoredNotify) -> Self {
        let name = format!("{}\0{}\0{kind}", order.id, order.life);
        // Most go to the broker: their URLs are read by who sends them.
        let receiver = match wish.url.starts_with("http").then(|| Target::stored(&wish.url)) {
            Some(Ok(Target::Webhook(url))) => Some(url.receiver()),
            _ => None,
        };
        Self {
            no: order.no,
            life: order.life,
            kind,
            message_id: Uuid::new_v5(&Uuid::NAMESPACE_OID, name.as_bytes()),
            body,
            receiver,
            format: wish.format,
            target: wish.url,
            correlation_id: wish.correlation_id,
            transaction_id: order.transaction_id.clone(),
            trace: order.trace.clone(),
        }
    }

    /// True if it has a number, which only the database gives: the sender reads it from there.
    #[must_use]
    pub fn is_numbered(&self) -> bool {
        self.format != NotifyFormat::Pagurus || self.kind.starts_with(TRANSITION)
    }
}

/// The word of outsiders for what a notification of this kind tells.
#[must_use]
pub fn tells(kind: &str) -> &'static str {
    match kind.split('-').next() {
        Some(TRANSITION) => "transition",
        Some(PARKED) => "parked",
        Some(JEOPARDY) => "jeopardy",
        _ => "ended",
    }
}

/// Stores notifications, in the transaction of what they tell.
pub async fn put(tx: &Tx<'_>, new: &[NewNotification]) -> Result<()> {
    if new.is_empty() {
        return Ok(());
    }
    let columns = columns!(one in new => {
        no: i64 = one.no.0,
        life: i32 = one.life.0,
        kind: &str = &*one.kind,
        message_id: Uuid = one.message_id,
        target: &str = one.target.as_str(),
        correlation_id: Option<&str> = one.correlation_id.as_deref(),
        transaction_id: Option<&str> = one.transaction_id.as_deref(),
        trace: Option<&str> = one.trace.as_deref(),
        body: &str = one.body.as_str(),
        receiver: Option<&str> = one.receiver.as_deref(),
        format: Option<&str> = Some(one.format).filter(|format| *format != NotifyFormat::Pagurus).map(NotifyFormat::as_str),
        numbered: bool = one.is_numbered(),
    });
    columns.execute(tx, PUT, &[]).await?;
    Ok(())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test may panic")]

    use jiff::Timestamp;
    use pagurus_domain::id::ScenarioNo;
    use pagurus_domain::order::{Mode, OrderHead, ScenarioStatus, Status};

    use super::*;

    #[test]
    fn ord_19_each_end_of_a_life_has_an_id_of_its_own_that_never_changes() {
        let id = |life: i32, end: LifeEnd| {
            let order = OrderHead {
                no: OrderNo(1),
                id: "a".into(),
                scenario: ScenarioNo(1),
                mode: Mode::Parallel,
                transaction_id: None,
                notify: Some(r#"{"url": "amqp://?key=k", "on": ["final"]}"#.into()),
                answers: None,
                labels: pagurus_domain::order::labels::Labels::default(),
                trace: None,
                life: Life(life),
                created_at: Timestamp::UNIX_EPOCH,
                started_at: None,
                stages: 0,
                retries: 0,
            };
            let content = Content {
                order: &order,
                scenario: "s",
                scenario_version: 1,
                status: Status::Fail,
                scenario_status: ScenarioStatus::Failed,
                step: None,
                result: None,
                message: None,
                error: None,
                started_at: None,
                finished_at: Timestamp::UNIX_EPOCH,
                stages: 1,
                retries: 0,
            };
            NewNotification::of(&content, end).next().unwrap().message_id
        };
        let ids =
            [id(1, LifeEnd::First), id(1, LifeEnd::Second), id(2, LifeEnd::First), id(2, LifeEnd::Second)];
        for (index, one) in ids.iter().enumerate() {
            assert!(!ids[index + 1..].contains(one), "{ids:?}");
        }
        assert_eq!(ids[1], id(1, LifeEnd::Second));
        // What earlier versions sent has the same id when it is sent again by this one.
        assert_eq!(ids[0], Uuid::new_v5(&Uuid::NAMESPACE_OID, b"a\x001\0final"));
    }

    #[test]
    fn ord_18_the_word_of_outsiders_follows_from_the_kind() {
        for (kind, word) in [
            ("final", "ended"),
            ("final-2", "ended"),
            ("answer", "ended"),
            ("parked", "parked"),
            ("parked-7", "parked"),
            ("parked-check-9", "parked"),
            ("transition-0b6a", "transition"),
            ("jeopardy", "jeopardy"),
        ] {
            assert_eq!(tells(kind), word, "{kind}");
        }
    }
}
