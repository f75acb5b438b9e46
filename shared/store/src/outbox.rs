//! Notifications that are not confirmed yet. By state, not by cursor: a row is here until its
//! message was confirmed, whatever order transactions commit in.

use std::time::Duration;

use jiff::Timestamp;
use pagurus_domain::id::{Life, OrderNo};
use pagurus_domain::order::change::LifeEnd;
use pagurus_domain::order::notification::{Content, Occasion, StoredNotify, Target};
use uuid::Uuid;

use crate::columns::columns;
use crate::sql::statements;
use crate::{Client, Result, Tx};

statements! {
    // The grace leaves the row to the notifier that is told of it; the slow pass takes it later.
    PUT = "
        INSERT INTO outbox (order_no, life, kind, message_id, target, correlation_id, transaction_id, trace, body, next_at)
        SELECT no, life, kind, message_id, target, correlation_id, transaction_id, trace, body, now() + interval '5 seconds'
          FROM unnest($1::bigint[], $2::integer[], $3::text[], $4::uuid[], $5::text[], $6::text[], $7::text[], $8::text[], $9::text[])
               AS t (no, life, kind, message_id, target, correlation_id, transaction_id, trace, body)";
    // OFFSET 0 keeps the look-up by key apart from all conditions: beside `parked_because IS NULL` the
    // plan made for the empty table walks the index of what is due, dead rows and all, once for every
    // row. Of two ends of a life the first one comes first: the second is left to the slow pass.
    READ = "
        SELECT o.order_no, o.life, o.kind, o.message_id, o.target, o.correlation_id, o.transaction_id, o.trace, o.body, o.attempts
          FROM unnest($1::bigint[], $2::integer[]) AS t (no, life)
         CROSS JOIN LATERAL (
               SELECT DISTINCT ON (kind = 'answer') *
                 FROM (SELECT * FROM outbox WHERE order_no = t.no AND life = t.life OFFSET 0) AS ends
                WHERE kind IN ('final', 'final-2', 'answer') AND parked_because IS NULL
                ORDER BY kind = 'answer', kind) AS o
         WHERE o.attempts = 0";
    // A second end is put off as long as the first one is on its way; one that is parked holds up
    // nobody. The order of the ends is kept, and nothing that waits stands before what can go.
    TAKE = "
        WITH looked_at AS MATERIALIZED (
            SELECT t.order_no, t.life, t.kind,
                   t.kind = 'final-2' AND coalesce((
                       SELECT f.parked_because IS NULL FROM outbox f
                        WHERE f.order_no = t.order_no AND f.life = t.life AND f.kind = 'final'), false) AS behind
              FROM outbox t
             WHERE t.next_at <= now() AND t.parked_because IS NULL
             ORDER BY t.next_at LIMIT $1 FOR UPDATE SKIP LOCKED),
        put_off AS (
            UPDATE outbox o SET next_at = now() + interval '1 second'
              FROM looked_at t
             WHERE o.order_no = ANY(ARRAY[t.order_no]) AND o.life = t.life AND o.kind = t.kind AND t.behind)
        UPDATE outbox o SET next_at = now() + interval '30 seconds'
          FROM looked_at t
         WHERE o.order_no = ANY(ARRAY[t.order_no]) AND o.life = t.life AND o.kind = t.kind AND NOT t.behind
        RETURNING o.order_no, o.life, o.kind, o.message_id, o.target, o.correlation_id, o.transaction_id, o.trace, o.body, o.attempts";
    SENT = "
        DELETE FROM outbox o USING unnest($1::bigint[], $2::integer[], $3::text[]) AS t (no, life, kind)
         WHERE o.order_no = ANY(ARRAY[t.no]) AND o.life = t.life AND o.kind = t.kind";
    FAILED = "
        UPDATE outbox o
           SET attempts = o.attempts + 1, next_at = now() + make_interval(secs => t.delay), last_error = t.error,
               parked_because = t.parked
          FROM unnest($1::bigint[], $2::integer[], $3::text[], $4::double precision[], $5::text[], $6::text[])
               AS t (no, life, kind, delay, error, parked)
         WHERE o.order_no = ANY(ARRAY[t.no]) AND o.life = t.life AND o.kind = t.kind";
    OF_ORDER = "
        SELECT life, kind, target, attempts, parked_because, last_error, next_at, created_at
          FROM outbox WHERE order_no = $1 ORDER BY life, kind";
    RESEND = "
        UPDATE outbox SET next_at = now(), parked_because = NULL WHERE order_no = $1";
    BACKLOG = "
        SELECT count(*) FILTER (WHERE parked_because IS NULL) AS waiting, count(*) FILTER (WHERE parked_because IS NOT NULL) AS parked,
               extract(epoch FROM now() - min(created_at) FILTER (WHERE parked_because IS NULL))::double precision AS age
          FROM outbox";
}

/// The one for whom a notification is, and which end of a life it tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Told {
    /// To the client: this end.
    Client(LifeEnd),
    /// To the parent: the end by which the order became final. It was told then, and waits no more.
    Parent,
}

impl Told {
    /// Part of the key, and of what the id of the message is made from. Nodes of earlier versions know only the
    /// first: it keeps its name, and so its ids.
    const fn kind(self) -> &'static str {
        match self {
            Self::Client(LifeEnd::First) => "final",
            Self::Client(LifeEnd::Second) => "final-2",
            Self::Parent => "answer",
        }
    }
}

/// A notification to be stored with the end of its order.
#[derive(Clone, Debug)]
pub struct NewNotification {
    /// The order.
    pub no: OrderNo,
    /// Which life of it.
    pub life: Life,
    /// For whom, and of which end of that life.
    pub told: Told,
    /// Stays the same over repeats.
    pub message_id: Uuid,
    /// The URL as the client gave it.
    pub target: String,
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
    /// Notifications of this end of a life: of the client, where it wants one, and of the parent that awaits it.
    pub fn of(content: &Content<'_>, end: LifeEnd) -> impl Iterator<Item = Self> {
        let order = content.order;
        let wish = order.notify.as_deref().and_then(StoredNotify::read);
        let wish = wish.filter(|wish| wish.wants(Occasion::Final)).map(|wish| (Told::Client(end), wish));
        let first = order.answers.filter(|_| end == LifeEnd::First);
        let parents = first.map(|request| (Told::Parent, StoredNotify::to(Target::callback_url(request))));
        wish.into_iter().chain(parents).map(|(told, wish)| Self::for_whom(content, told, wish))
    }

    fn for_whom(content: &Content<'_>, told: Told, wish: StoredNotify) -> Self {
        let order = content.order;
        let name = format!("{}\0{}\0{}", order.id, order.life, told.kind());
        Self {
            no: order.no,
            life: order.life,
            told,
            message_id: Uuid::new_v5(&Uuid::NAMESPACE_OID, name.as_bytes()),
            body: content.render(wish.correlation_id.as_deref(), wish.timezone.as_deref()),
            target: wish.url,
            correlation_id: wish.correlation_id,
            transaction_id: order.transaction_id.clone(),
            trace: order.trace.clone(),
        }
    }

    /// The word for what it tells of.
    #[must_use]
    pub const fn kind(&self) -> &'static str {
        self.told.kind()
    }
}

/// Stores notifications, in the transaction of what they tell.
///
/// # Errors
/// The database fails.
pub async fn put(tx: &Tx<'_>, new: &[NewNotification]) -> Result<()> {
    if new.is_empty() {
        return Ok(());
    }
    let columns = columns!(one in new => {
        no: i64 = one.no.0,
        life: i32 = one.life.0,
        kind: &str = one.told.kind(),
        message_id: Uuid = one.message_id,
        target: &str = one.target.as_str(),
        correlation_id: Option<&str> = one.correlation_id.as_deref(),
        transaction_id: Option<&str> = one.transaction_id.as_deref(),
        trace: Option<&str> = one.trace.as_deref(),
        body: &str = one.body.as_str(),
    });
    columns.execute(tx, PUT, &[]).await?;
    Ok(())
}

/// A notification to be sent.
#[derive(Clone, Debug)]
pub struct Notification {
    /// The order.
    pub no: OrderNo,
    /// Which life of it.
    pub life: Life,
    /// Of what it tells.
    pub kind: String,
    /// Stays the same over repeats.
    pub message_id: Uuid,
    /// The URL as the client gave it.
    pub target: String,
    /// The client's mark.
    pub correlation_id: Option<String>,
    /// The business transaction.
    pub transaction_id: Option<String>,
    /// Trace context.
    pub trace: Option<String>,
    /// The body.
    pub body: String,
    /// How often it was tried before.
    pub attempts: i32,
}

fn read_notification(row: &tokio_postgres::Row) -> Notification {
    Notification {
        no: OrderNo(row.get("order_no")),
        life: Life(row.get("life")),
        kind: row.get("kind"),
        message_id: row.get("message_id"),
        target: row.get("target"),
        correlation_id: row.get("correlation_id"),
        transaction_id: row.get("transaction_id"),
        trace: row.get("trace"),
        body: row.get("body"),
        attempts: row.get("attempts"),
    }
}

/// Reads notifications that were just stored, untried ones only.
///
/// # Errors
/// The database fails.
pub async fn read(client: &Client, orders: &[(OrderNo, Life)]) -> Result<Vec<Notification>> {
    let columns = columns!((no, life) in orders => {
        no: i64 = no.0,
        life: i32 = life.0,
    });
    Ok(columns.query(client, READ, &[]).await?.iter().map(read_notification).collect())
}

/// Takes notifications whose time has come, and keeps others off them for half a minute.
///
/// # Errors
/// The database fails.
pub async fn take(client: &Client, limit: i64) -> Result<Vec<Notification>> {
    let statement = client.prepare_cached(TAKE).await?;
    Ok(client.query(&statement, &[&limit]).await?.iter().map(read_notification).collect())
}

/// Removes notifications that were confirmed.
///
/// # Errors
/// The database fails.
pub async fn sent(client: &Client, sent: &[&Notification]) -> Result<()> {
    let columns = columns!(one in sent => {
        no: i64 = one.no.0,
        life: i32 = one.life.0,
        kind: &str = one.kind.as_str(),
    });
    columns.execute(client, SENT, &[]).await?;
    Ok(())
}

/// Why a notification was not sent, and what follows.
#[derive(Clone, Debug)]
pub struct FailedNotification<'a> {
    /// Which one.
    pub notification: &'a Notification,
    /// What was wrong.
    pub error: String,
    /// When it is tried again.
    pub delay: Duration,
    /// Set where only an operator can help.
    pub parked: Option<&'static str>,
}

/// Keeps notifications that could not be sent.
///
/// # Errors
/// The database fails.
pub async fn failed(client: &Client, failed: &[FailedNotification<'_>]) -> Result<()> {
    let columns = columns!(one in failed => {
        no: i64 = one.notification.no.0,
        life: i32 = one.notification.life.0,
        kind: &str = one.notification.kind.as_str(),
        delay: f64 = one.delay.as_secs_f64(),
        error: &str = one.error.as_str(),
        parked: Option<&str> = one.parked,
    });
    columns.execute(client, FAILED, &[]).await?;
    Ok(())
}

/// A notification that has not been confirmed, as people see it.
#[derive(Clone, Debug)]
pub struct Unsent {
    /// Which life.
    pub life: Life,
    /// Of what it tells.
    pub kind: String,
    /// Where it goes.
    pub target: String,
    /// How often it was tried.
    pub attempts: i32,
    /// Why only an operator can help.
    pub parked_because: Option<String>,
    /// The last error.
    pub last_error: Option<String>,
    /// When it is tried again.
    pub next_at: Timestamp,
    /// When it was stored.
    pub created_at: Timestamp,
}

/// The unconfirmed notifications of an order.
///
/// # Errors
/// The database fails.
pub async fn of_order(client: &Client, no: OrderNo) -> Result<Vec<Unsent>> {
    let statement = client.prepare_cached(OF_ORDER).await?;
    let rows = client.query(&statement, &[&no.0]).await?;
    Ok(rows
        .iter()
        .map(|row| Unsent {
            life: Life(row.get("life")),
            kind: row.get("kind"),
            target: row.get("target"),
            attempts: row.get("attempts"),
            parked_because: row.get("parked_because"),
            last_error: row.get("last_error"),
            next_at: row.get("next_at"),
            created_at: row.get("created_at"),
        })
        .collect())
}

/// Sends the unconfirmed notifications of an order again, also those that were parked.
///
/// # Errors
/// The database fails.
pub async fn resend(tx: &Tx<'_>, no: OrderNo) -> Result<u64> {
    let statement = tx.prepare_cached(RESEND).await?;
    Ok(tx.execute(&statement, &[&no.0]).await?)
}

/// How much is not sent: waiting, parked, and the age of the oldest waiting one in seconds.
///
/// # Errors
/// The database fails.
pub async fn backlog(client: &Client) -> Result<(i64, i64, Option<f64>)> {
    let statement = client.prepare_cached(BACKLOG).await?;
    let row = client.query_one(&statement, &[]).await?;
    Ok((row.get("waiting"), row.get("parked"), row.get("age")))
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests")]
mod tests {
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
        // What earlier versions told has the same id when it is told again by this one.
        assert_eq!(ids[0], Uuid::new_v5(&Uuid::NAMESPACE_OID, b"a\x001\0final"));
    }
}
