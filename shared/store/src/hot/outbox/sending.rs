//! Notifications to be sent: taken for the broker, removed when they are delivered, kept when they are not.

use std::time::Duration;

use jiff::Timestamp;
use pagurus_domain::id::{Life, OrderNo};
use pagurus_domain::order::notification::{NotifyForm, NotifyGroup};
use uuid::Uuid;

use crate::columns::columns;
use crate::sql::statements;
use crate::{Client, Result};

statements! {
    // OFFSET 0 keeps the look-up by key apart from all conditions: beside `parked_because IS NULL` the
    // plan made for the empty table walks the index of what is due, dead rows and all, once for every
    // row. Of two ends of a life the first one comes first, for each recipient: the second is left to the slow pass.
    READ = "
        SELECT o.order_no, o.life, o.kind, o.message_id, o.target, o.correlation_id, o.transaction_id, o.trace, o.body, o.format, o.number,
               o.attempts, o.receiver, o.group_max, o.group_within_ms
          FROM unnest($1::bigint[], $2::integer[]) AS t (no, life)
         CROSS JOIN LATERAL (
               SELECT DISTINCT ON (CASE WHEN kind LIKE 'final-2%' THEN 'final' || substr(kind, 8) ELSE kind END) *
                 FROM (SELECT * FROM outbox WHERE order_no = t.no AND life = t.life OFFSET 0) AS ends
                WHERE kind NOT LIKE 'transition%' AND parked_because IS NULL AND receiver IS NULL
                ORDER BY CASE WHEN kind LIKE 'final-2%' THEN 'final' || substr(kind, 8) ELSE kind END, length(kind)) AS o
         WHERE o.attempts = 0";
    READ_ONE = "
        SELECT o.order_no, o.life, o.kind, o.message_id, o.target, o.correlation_id, o.transaction_id, o.trace, o.body, o.format, o.number,
               o.attempts, o.receiver, o.group_max, o.group_within_ms
          FROM unnest($1::bigint[], $2::integer[], $3::text[]) AS t (no, life, kind)
         CROSS JOIN LATERAL (
               SELECT * FROM outbox WHERE order_no = t.no AND life = t.life AND kind = t.kind OFFSET 0) AS o
         WHERE o.parked_because IS NULL AND o.receiver IS NULL AND o.attempts = 0";
    // A second end is put off as long as the first one is on its way to the same recipient; one that is parked holds up
    // nobody. The order of the ends is kept, and nothing that waits stands before what can go.
    TAKE = "
        WITH looked_at AS MATERIALIZED (
            SELECT t.order_no, t.life, t.kind,
                   t.kind LIKE 'final-2%' AND coalesce((
                       SELECT f.parked_because IS NULL FROM outbox f
                        WHERE f.order_no = t.order_no AND f.life = t.life
                          AND f.kind = 'final' || substr(t.kind, 8)), false) AS behind
              FROM outbox t
             WHERE t.next_at >= $2 AND t.next_at <= now() AND t.parked_because IS NULL AND t.receiver IS NULL
             ORDER BY t.next_at LIMIT $1 FOR UPDATE SKIP LOCKED),
        put_off AS (
            UPDATE outbox o SET next_at = now() + interval '1 second'
              FROM looked_at t
             WHERE o.order_no = ANY(ARRAY[t.order_no]) AND o.life = t.life AND o.kind = t.kind AND t.behind)
        UPDATE outbox o SET next_at = now() + interval '30 seconds'
          FROM looked_at t
         WHERE o.order_no = ANY(ARRAY[t.order_no]) AND o.life = t.life AND o.kind = t.kind AND NOT t.behind
        RETURNING o.order_no, o.life, o.kind, o.message_id, o.target, o.correlation_id, o.transaction_id, o.trace, o.body, o.format, o.number,
               o.attempts, o.receiver, o.group_max, o.group_within_ms";
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
}

/// A notification to be sent.
#[derive(Clone, Debug)]
pub struct Notification {
    /// The order.
    pub no: OrderNo,
    /// Life of the order.
    pub life: Life,
    /// Word for the event that it reports.
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
    /// The form.
    pub form: NotifyForm,
    /// Grows with each notification of its order; none where it has no number.
    pub number: Option<i64>,
    /// The receiver, where it goes over HTTP.
    pub receiver: Option<String>,
    /// Name of the secret with which it is signed, where its subscription names one.
    pub secret: Option<String>,
    /// Number of times that it was tried before.
    pub attempts: i32,
}

impl Notification {
    /// Key of its row.
    #[must_use]
    pub fn key(&self) -> OutboxKey {
        OutboxKey { no: self.no, life: self.life, kind: self.kind.clone() }
    }
}

/// Key of a row of the outbox.
#[derive(Clone, Debug)]
pub struct OutboxKey {
    no: OrderNo,
    life: Life,
    kind: String,
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
        form: form_of(row),
        number: row.get("number"),
        receiver: row.get("receiver"),
        secret: row.try_get("secret").ok().flatten(),
        attempts: row.get("attempts"),
    }
}

/// Returns the form of a notification. What goes over HTTP is in no group, and is read without the terms of one.
fn form_of(row: &tokio_postgres::Row) -> NotifyForm {
    let format: Option<&str> = row.get("format");
    let number = |column: &str| {
        let number: Option<i16> = row.try_get(column).ok().flatten();
        number.and_then(|number| u16::try_from(number).ok())
    };
    let group = number("group_max").zip(number("group_within_ms"));
    NotifyForm {
        format: format.and_then(|word| word.parse().ok()).unwrap_or_default(),
        group: group.map(|(max, within_ms)| NotifyGroup { max, within_ms }),
    }
}

/// Notifications as they were read, those of one order in their order.
pub(super) fn in_order(rows: &[tokio_postgres::Row]) -> Vec<Notification> {
    let mut read: Vec<Notification> = rows.iter().map(read_notification).collect();
    read.sort_by_key(|one| one.number);
    read
}

/// Notifications that were just stored, and are to be read.
#[derive(Clone, Debug)]
pub struct Unread {
    /// The order.
    pub no: OrderNo,
    /// The life.
    pub life: Life,
    /// Kind of the notification; none means all that report an end.
    pub kind: Option<String>,
}

/// Reads notifications that were just stored, untried ones only.
pub async fn read(client: &Client, stored: &[Unread]) -> Result<Vec<Notification>> {
    let (ends, ones): (Vec<&Unread>, Vec<&Unread>) = stored.iter().partition(|one| one.kind.is_none());
    let mut rows = Vec::new();
    if !ends.is_empty() {
        let columns = columns!(one in ends => {
            no: i64 = one.no.0,
            life: i32 = one.life.0,
        });
        rows = columns.query(client, READ, &[]).await?;
    }
    if !ones.is_empty() {
        let columns = columns!(one in ones => {
            no: i64 = one.no.0,
            life: i32 = one.life.0,
            kind: &str = one.kind.as_deref().unwrap_or_default(),
        });
        rows.extend(columns.query(client, READ_ONE, &[]).await?);
    }
    Ok(in_order(&rows))
}

/// Takes notifications for the broker whose time has come, from a time on, and keeps others off them for half a minute.
pub async fn take(client: &Client, from: Timestamp, limit: i64) -> Result<Vec<Notification>> {
    let statement = client.prepare_cached(TAKE).await?;
    Ok(in_order(&client.query(&statement, &[&limit, &from]).await?))
}

/// Removes notifications that were delivered; how many were still there.
pub async fn sent(client: &Client, sent: &[OutboxKey]) -> Result<u64> {
    let columns = columns!(one in sent => {
        no: i64 = one.no.0,
        life: i32 = one.life.0,
        kind: &str = one.kind.as_str(),
    });
    columns.execute(client, SENT, &[]).await
}

/// Why a notification was not sent, and what follows.
#[derive(Clone, Debug)]
pub struct FailedNotification<'a> {
    /// The notification.
    pub notification: &'a Notification,
    /// Fault.
    pub error: String,
    /// Time at which it is tried again.
    pub delay: Duration,
    /// Set where only an operator can help.
    pub parked: Option<&'static str>,
}

/// Keeps notifications that could not be sent.
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
