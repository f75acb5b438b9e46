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
    /// Notifications of this end of a life: of the receivers that want them, and of the parent that awaits it.
    pub fn of(content: &Content<'_>, end: LifeEnd) -> Vec<Self> {
        let order = content.order;
        let wanting = |occasion| StoredNotify::wanting(order.notify.as_deref(), occasion);
        let last = wanting(Occasion::Final).into_iter().map(|wish| (NotificationSubject::Client(end), wish));
        let parked = content.parked().filter(|_| end == LifeEnd::First);
        let parked = parked.into_iter().flat_map(|reason| {
            wanting(Occasion::Parked).into_iter().map(move |wish| (NotificationSubject::Parked(reason), wish))
        });
        let first = order.answers.filter(|_| end == LifeEnd::First);
        let parents = first
            .map(|request| (NotificationSubject::Parent, StoredNotify::to(Target::callback_url(request))));
        let all = last.chain(parked).chain(parents);
        all.map(|(subject, wish)| {
            let (mark, zone) = (wish.correlation_id.as_deref(), wish.timezone.as_deref());
            let body = match subject {
                NotificationSubject::Parked(reason) => content.render_parked(reason, mark, zone),
                _ => content.render(mark, zone),
            };
            Self::with(order, subject.kind().into(), body, wish)
        })
        .collect()
    }

    /// Notifications of transitions, for the receivers that want them. Each is stored once, with its transition: nothing but
    /// its id tells it from another.
    pub fn of_moves<'m>(order: &OrderHead, moves: impl IntoIterator<Item = Moved<'m>>) -> Vec<Self> {
        let wishes = StoredNotify::wanting(order.notify.as_deref(), Occasion::Transitions);
        if wishes.is_empty() {
            return Vec::new();
        }
        let moves = moves.into_iter().flat_map(|moved| wishes.iter().cloned().map(move |wish| (moved, wish)));
        moves
            .map(|(moved, wish)| {
                let body = moved.render(wish.correlation_id.as_deref(), wish.timezone.as_deref());
                let message_id = Uuid::new_v4();
                let kind = format!("{TRANSITION}-{message_id}").into();
                Self { message_id, kind, ..Self::with(moved.order, TRANSITION.into(), body, wish) }
            })
            .collect()
    }

    /// Notifications of an order that has been suspended for too long, for the receivers that want them; `number` is that of
    /// the hand-out before.
    #[must_use]
    pub fn of_suspension(content: &Content<'_>, number: i32) -> Vec<Self> {
        Self::each(content, Occasion::Parked, &format!("{PARKED}-{number}"), |mark, zone| {
            content.render_parked(ParkedReason::Suspended, mark, zone)
        })
    }

    /// Notifications of an order whose rows contradict each other, for the receivers that want them; `number` is that of the
    /// last event before.
    #[must_use]
    pub fn of_inconsistency(content: &Content<'_>, number: i64) -> Vec<Self> {
        Self::each(content, Occasion::Parked, &format!("{PARKED}-check-{number}"), |mark, zone| {
            content.render_parked(ParkedReason::Inconsistent, mark, zone)
        })
    }

    /// Notifications of an order that will probably be late, for the receivers that want them.
    #[must_use]
    pub fn of_jeopardy(content: &Content<'_>, jeopardy: &Jeopardy<'_>) -> Vec<Self> {
        let render = |mark: Option<&str>, zone: Option<&str>| content.render_jeopardy(jeopardy, mark, zone);
        Self::each(content, Occasion::Jeopardy, JEOPARDY, render)
    }

    /// A notification for each receiver that wants this occasion.
    fn each(
        content: &Content<'_>,
        occasion: Occasion,
        kind: &str,
        render: impl Fn(Option<&str>, Option<&str>) -> String,
    ) -> Vec<Self> {
        let wishes = StoredNotify::wanting(content.order.notify.as_deref(), occasion).into_iter();
        wishes
            .map(|wish| {
                let body = render(wish.correlation_id.as_deref(), wish.timezone.as_deref());
                Self::with(content.order, kind.to_owned().into(), body, wish)
            })
            .collect()
    }

    fn with(order: &OrderHead, kind: Cow<'static, str>, body: String, wish: StoredNotify) -> Self {
        let kind = wish.recipient.kind(kind);
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
    use pagurus_domain::order::labels::Labels;
    use pagurus_domain::order::{Mode, OrderError, OrderHead, ScenarioStatus, Status};

    use super::*;

    fn order(life: i32, notify: &str) -> OrderHead {
        OrderHead {
            no: OrderNo(1),
            id: "a".into(),
            scenario: ScenarioNo(1),
            mode: Mode::Parallel,
            transaction_id: None,
            notify: Some(notify.into()),
            answers: None,
            labels: Labels::default(),
            trace: None,
            life: Life(life),
            created_at: Timestamp::UNIX_EPOCH,
            started_at: None,
            stages: 0,
            retries: 0,
        }
    }

    fn failed<'a>(order: &'a OrderHead, error: Option<&'a OrderError>) -> Content<'a> {
        Content {
            order,
            scenario: "s",
            scenario_version: 1,
            status: Status::Fail,
            scenario_status: ScenarioStatus::Failed,
            step: None,
            result: None,
            message: None,
            error,
            started_at: None,
            finished_at: Timestamp::UNIX_EPOCH,
            stages: 1,
            retries: 0,
        }
    }

    #[test]
    fn ord_19_each_end_of_a_life_has_an_id_of_its_own_that_never_changes() {
        let id = |life: i32, end: LifeEnd| {
            let order = order(life, r#"{"url": "amqp://?key=k", "on": ["final"]}"#);
            NewNotification::of(&failed(&order, None), end)[0].message_id
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
    fn ord_38_each_receiver_has_a_row_of_its_own_for_each_event_that_it_asked_for() {
        let wish = r#"{"url": "amqp://?key=k", "correlationId": "c", "others": [
            {"url": "https://h/a", "on": ["parked"]}, {"url": "amqp://?queue=q", "on": ["final", "parked", "jeopardy", "transitions"]}]}"#;
        let order = order(1, wish);
        let error = OrderError { exhausted: true, ..OrderError::new("http.503", "m") };
        let content = failed(&order, Some(&error));
        let kinds =
            |new: &[NewNotification]| -> Vec<String> { new.iter().map(|one| one.kind.to_string()).collect() };
        let first = NewNotification::of(&content, LifeEnd::First);
        assert_eq!(kinds(&first), ["final", "final-r3", "parked-r2", "parked-r3"]);
        assert_eq!(first[2].receiver.as_deref(), Some("https://h:443"));
        assert_eq!(
            (first[0].correlation_id.as_deref(), first[1].correlation_id.as_deref()),
            (Some("c"), None)
        );
        assert_eq!(kinds(&NewNotification::of(&content, LifeEnd::Second)), ["final-2", "final-2-r3"]);
        assert_eq!(kinds(&NewNotification::of_suspension(&content, 7)), ["parked-7-r2", "parked-7-r3"]);
        assert_eq!(
            kinds(&NewNotification::of_inconsistency(&content, 9)),
            ["parked-check-9-r2", "parked-check-9-r3"]
        );
        let (promise_at, expected_at) = (Timestamp::UNIX_EPOCH, Timestamp::UNIX_EPOCH);
        let jeopardy = Jeopardy { promise_at, expected_at, cause: "c" };
        assert_eq!(kinds(&NewNotification::of_jeopardy(&content, &jeopardy)), ["jeopardy-r3"]);
        let moved = Moved {
            order: &order,
            scenario: "s",
            scenario_version: 1,
            from: "a",
            event: "e",
            to: "b",
            at: promise_at,
        };
        let moves = NewNotification::of_moves(&order, [moved]);
        assert_eq!((moves.len(), moves[0].target.as_str()), (1, "amqp://?queue=q"));
        let mut ids: Vec<Uuid> = first.iter().map(|one| one.message_id).collect();
        ids.dedup();
        assert_eq!(ids.len(), 4);
        assert_eq!(first[3].message_id, NewNotification::of(&content, LifeEnd::First)[3].message_id);
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
            ("final-r2", "ended"),
            ("final-2-s7", "ended"),
            ("parked-7-r2", "parked"),
            ("jeopardy-s7", "jeopardy"),
        ] {
            assert_eq!(tells(kind), word, "{kind}");
        }
    }
}
