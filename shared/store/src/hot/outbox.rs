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
use pagurus_domain::number::saturated;
use pagurus_domain::order::OrderHead;
use pagurus_domain::order::change::LifeEnd;
use pagurus_domain::order::notification::{
    Content, Jeopardy, Moved, NotifyForm, NotifyFormat, Occasion, ParkedReason, StoredNotify, Target,
};
use pagurus_domain::subscription::ActiveSubscriptions;
use uuid::Uuid;

use crate::columns::columns;
use crate::sql::statements;
use crate::{Result, Tx};

/// Storing of notifications, but for what follows where one is there already.
macro_rules! put {
    ($otherwise:literal) => {
        concat!("
        INSERT INTO outbox (order_no, life, kind, message_id, target, correlation_id, transaction_id, trace, body,
                            receiver, format, subscription, group_max, group_within_ms, number, next_at)
        SELECT no, life, kind, message_id, target, correlation_id, transaction_id, trace, body, receiver, format, subscription,
               group_max, group_within_ms, CASE WHEN numbered THEN nextval('outbox_number') END,
               CASE WHEN receiver IS NULL THEN now() + interval '5 seconds' + make_interval(secs => coalesce(group_within_ms, 0) / 1000.0)
                    ELSE now() END
          FROM unnest($1::bigint[], $2::integer[], $3::text[], $4::uuid[], $5::text[], $6::text[], $7::text[], $8::text[], $9::text[],
                      $10::text[], $11::text[], $12::bigint[], $13::smallint[], $14::smallint[], $15::boolean[])
               AS t (no, life, kind, message_id, target, correlation_id, transaction_id, trace, body, receiver, format, subscription,
                     group_max, group_within_ms, numbered)",
            $otherwise
        )
    };
}

statements! {
    // The grace leaves a row for the broker to the notifier that is informed of it, and that may wait with it for others of its
    // group; the slow pass takes it later. One for a receiver is always taken from here.
    PUT = put!("");
    PUT_MISSING = put!(" ON CONFLICT (order_no, life, kind) DO NOTHING");
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
    pub form: NotifyForm,
    /// Number of the subscription that it is for; none of one that the order asked for.
    pub subscription: Option<i64>,
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
    /// Notifications of this end of a life: of the receivers and subscriptions that want them, and of the parent that awaits
    /// it.
    pub fn of(content: &Content<'_>, end: LifeEnd, standing: &ActiveSubscriptions) -> Vec<Self> {
        let mut all = Self::of_end(content, end, recipients(content, Occasion::Final, standing));
        if let Some(reason) = content.parked().filter(|_| end == LifeEnd::First) {
            let parked = NotificationSubject::Parked(reason);
            all.extend(Self::each(content, Occasion::Parked, parked.kind(), standing, |mark, zone| {
                content.render_parked(reason, mark, zone)
            }));
        }
        if let Some(request) = content.order.answers.filter(|_| end == LifeEnd::First) {
            let parent = StoredNotify::to(Target::callback_url(request));
            let body = content.render(None, None);
            all.push(Self::with(content.order, NotificationSubject::Parent.kind().into(), body, parent));
        }
        all
    }

    /// The same notifications of an end once more, of these subscriptions alone.
    #[must_use]
    pub fn again(content: &Content<'_>, end: LifeEnd, of: &ActiveSubscriptions) -> Vec<Self> {
        let (scenario, labels) = (content.scenario, &content.order.labels);
        Self::of_end(content, end, of.wanting(Occasion::Final, scenario, labels, content.status).collect())
    }

    fn of_end(content: &Content<'_>, end: LifeEnd, recipients: Vec<StoredNotify>) -> Vec<Self> {
        let all = recipients.into_iter().map(|wish| {
            let body = content.render(wish.correlation_id.as_deref(), wish.timezone.as_deref());
            Self::with(content.order, NotificationSubject::Client(end).kind().into(), body, wish)
        });
        all.collect()
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

    /// Notifications of an order that has been suspended for too long, for those that want them; `number` is that of the
    /// hand-out before.
    #[must_use]
    pub fn of_suspension(content: &Content<'_>, number: i32, standing: &ActiveSubscriptions) -> Vec<Self> {
        Self::each(content, Occasion::Parked, &format!("{PARKED}-{number}"), standing, |mark, zone| {
            content.render_parked(ParkedReason::Suspended, mark, zone)
        })
    }

    /// Notifications of an order whose rows contradict each other, for those that want them; `number` is that of the last
    /// event before.
    #[must_use]
    pub fn of_inconsistency(content: &Content<'_>, number: i64, standing: &ActiveSubscriptions) -> Vec<Self> {
        Self::each(content, Occasion::Parked, &format!("{PARKED}-check-{number}"), standing, |mark, zone| {
            content.render_parked(ParkedReason::Inconsistent, mark, zone)
        })
    }

    /// Notifications of an order that will probably be late, for those that want them.
    #[must_use]
    pub fn of_jeopardy(
        content: &Content<'_>,
        jeopardy: &Jeopardy<'_>,
        standing: &ActiveSubscriptions,
    ) -> Vec<Self> {
        let render = |mark: Option<&str>, zone: Option<&str>| content.render_jeopardy(jeopardy, mark, zone);
        Self::each(content, Occasion::Jeopardy, JEOPARDY, standing, render)
    }

    /// A notification for each receiver and subscription that wants this occasion.
    fn each(
        content: &Content<'_>,
        occasion: Occasion,
        kind: &str,
        standing: &ActiveSubscriptions,
        render: impl Fn(Option<&str>, Option<&str>) -> String,
    ) -> Vec<Self> {
        let all = recipients(content, occasion, standing).into_iter().map(|wish| {
            let body = render(wish.correlation_id.as_deref(), wish.timezone.as_deref());
            Self::with(content.order, kind.to_owned().into(), body, wish)
        });
        all.collect()
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
            form: wish.form,
            subscription: wish.recipient.subscription(),
            target: wish.url,
            correlation_id: wish.correlation_id,
            transaction_id: order.transaction_id.clone(),
            trace: order.trace.clone(),
        }
    }

    /// True if it has a number, which only the database gives: the sender reads it from there.
    #[must_use]
    pub fn is_numbered(&self) -> bool {
        self.form.format != NotifyFormat::Pagurus || self.kind.starts_with(TRANSITION)
    }
}

/// The receivers of an order, and the subscriptions, that want a notification of this occasion.
fn recipients(
    content: &Content<'_>,
    occasion: Occasion,
    standing: &ActiveSubscriptions,
) -> Vec<StoredNotify> {
    let order = content.order;
    let mut all = StoredNotify::wanting(order.notify.as_deref(), occasion);
    all.extend(standing.wanting(occasion, content.scenario, &order.labels, content.status));
    all
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
    put_by(tx, new, PUT).await.map(|_| ())
}

/// Stores those notifications that do not wait already; how many.
pub async fn put_missing(tx: &Tx<'_>, again: &[NewNotification]) -> Result<u64> {
    put_by(tx, again, PUT_MISSING).await
}

async fn put_by(tx: &Tx<'_>, new: &[NewNotification], statement: &str) -> Result<u64> {
    if new.is_empty() {
        return Ok(0);
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
        format: Option<&str> = Some(one.form.format).filter(|format| *format != NotifyFormat::Pagurus).map(NotifyFormat::as_str),
        subscription: Option<i64> = one.subscription,
        group_max: Option<i16> = one.form.group.map(|group| saturated(group.max)),
        group_within_ms: Option<i16> = one.form.group.map(|group| saturated(group.within_ms)),
        numbered: bool = one.is_numbered(),
    });
    columns.execute(tx, statement, &[]).await
}

#[cfg(test)]
mod tests;
