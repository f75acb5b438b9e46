//! Notifications for receivers over HTTP. Each receiver has its own place in the index, so that one with many rows hides none
//! of another. Looks at it begin at the mark of the receiver ([`pagurus_domain::low_water::LowWaterByName`]): under a snapshot
//! that somebody holds, what was delivered stays in the index (QLT-2).

use std::collections::BTreeMap;
use std::time::Duration;

use jiff::Timestamp;
use pagurus_domain::number::saturated;

use crate::columns::columns;
use crate::hot::outbox::sending::{FailedNotification, Notification, in_order};
use crate::sql::statements;
use crate::{Client, Result};

statements! {
    // Receivers are found one after the other, each by a step in the index, however many rows it has.
    RECEIVERS = "
        WITH RECURSIVE receivers AS (
            (SELECT receiver FROM outbox
              WHERE receiver > '' AND receiver IS NOT NULL AND parked_because IS NULL ORDER BY receiver LIMIT 1)
            UNION ALL
            SELECT (SELECT n.receiver FROM outbox n
                     WHERE n.receiver > r.receiver AND n.receiver IS NOT NULL AND n.parked_because IS NULL
                     ORDER BY n.receiver LIMIT 1)
              FROM receivers r WHERE r.receiver IS NOT NULL)
        SELECT receiver FROM receivers WHERE receiver IS NOT NULL";
    // A second end is put off as long as the first one is on its way, as for the broker.
    TAKE = "
        WITH rooms AS MATERIALIZED (
            SELECT receiver, room, coalesce(since, '-infinity'::timestamptz) AS since
              FROM unnest($1::text[], $2::integer[], $3::timestamptz[]) AS t (receiver, room, since)),
        looked_at AS MATERIALIZED (
            SELECT d.order_no, d.life, d.kind, d.next_at,
                   d.kind LIKE 'final-2%' AND coalesce((
                       SELECT f.parked_because IS NULL FROM outbox f
                        WHERE f.order_no = d.order_no AND f.life = d.life
                          AND f.kind = 'final' || substr(d.kind, 8)), false) AS behind
              FROM rooms m
             CROSS JOIN LATERAL (
                   SELECT o.order_no, o.life, o.kind, o.next_at FROM outbox o
                    WHERE o.receiver = m.receiver AND o.receiver IS NOT NULL AND o.parked_because IS NULL
                      AND o.next_at >= m.since AND o.next_at <= now()
                    ORDER BY o.next_at LIMIT m.room FOR UPDATE SKIP LOCKED) AS d
             LIMIT $4),
        put_off AS (
            UPDATE outbox o SET next_at = now() + interval '1 second'
              FROM looked_at l
             WHERE o.order_no = ANY(ARRAY[l.order_no]) AND o.life = l.life AND o.kind = l.kind AND l.behind)
        UPDATE outbox o SET next_at = now() + make_interval(secs => $5)
          FROM looked_at l
         WHERE o.order_no = ANY(ARRAY[l.order_no]) AND o.life = l.life AND o.kind = l.kind AND NOT l.behind
        RETURNING o.order_no, o.life, o.kind, o.message_id, o.target, o.correlation_id, o.transaction_id, o.trace, o.body,
                  o.format, o.number, o.attempts, o.receiver, l.next_at AS was_due,
                  (SELECT s.secret FROM subscriptions s WHERE s.no = o.subscription) AS secret";
    GIVE_UP = "
        WITH oldest AS MATERIALIZED (
            SELECT o.order_no, o.life, o.kind, coalesce(o.again_since, o.created_at) AS since
              FROM outbox o
             WHERE o.receiver = $1 AND o.receiver IS NOT NULL AND o.parked_because IS NULL
               AND o.next_at >= coalesce($4, '-infinity'::timestamptz) AND o.next_at <= now()
             ORDER BY o.next_at LIMIT 1000 FOR UPDATE SKIP LOCKED)
        UPDATE outbox o SET parked_because = 'given_up', last_error = coalesce(o.last_error, $3)
          FROM oldest l
         WHERE o.order_no = ANY(ARRAY[l.order_no]) AND o.life = l.life AND o.kind = l.kind
           AND l.since < now() - make_interval(secs => $2)";
    FAILED = "
        UPDATE outbox o
           SET attempts = o.attempts + 1, next_at = now() + make_interval(secs => t.delay), last_error = t.error,
               parked_because = CASE
                   WHEN t.parked IS NOT NULL THEN t.parked
                   WHEN coalesce(o.again_since, o.created_at) < now() - make_interval(secs => $7) THEN 'given_up' END
          FROM unnest($1::bigint[], $2::integer[], $3::text[], $4::double precision[], $5::text[], $6::text[])
               AS t (no, life, kind, delay, error, parked)
         WHERE o.order_no = ANY(ARRAY[t.no]) AND o.life = t.life AND o.kind = t.kind
        RETURNING o.parked_because";
}

/// Bounds of what is taken at a time.
#[derive(Clone, Debug)]
pub struct Wanted<'a> {
    /// Receivers, with the room of each, and the time below which nothing of it is left, if that is known.
    pub rooms: &'a [(String, usize, Option<Timestamp>)],
    /// Notifications in all.
    pub limit: usize,
    /// Time for which others are kept off what is taken.
    pub lease: Duration,
}

/// Notifications that were taken.
#[derive(Clone, Debug, Default)]
pub struct TakenWebhooks {
    /// The notifications, those of one order in their order.
    pub notifications: Vec<Notification>,
    /// The least time at which one of a receiver was due, for each receiver of which one was taken.
    pub first: BTreeMap<String, Timestamp>,
}

/// Receivers that something is kept for, in their order.
pub async fn receivers(client: &Client) -> Result<Vec<String>> {
    let rows = client.query(&client.prepare_cached(RECEIVERS).await?, &[]).await?;
    Ok(rows.iter().map(|row| row.get("receiver")).collect())
}

/// Takes notifications that are due, for each of these receivers as many as there is room for.
pub async fn take(client: &Client, wanted: &Wanted<'_>) -> Result<TakenWebhooks> {
    let columns = columns!((receiver, room, since) in wanted.rooms => {
        receiver: &str = receiver.as_str(),
        room: i32 = saturated::<i32>(*room),
        since: Option<Timestamp> = *since,
    });
    let limit = saturated::<i64>(wanted.limit);
    let rows = columns.query(client, TAKE, &[&limit, &wanted.lease.as_secs_f64()]).await?;
    let mut first: BTreeMap<String, Timestamp> = BTreeMap::new();
    for row in &rows {
        let at: Timestamp = row.get("was_due");
        first.entry(row.get("receiver")).and_modify(|known| *known = at.min(*known)).or_insert(at);
    }
    Ok(TakenWebhooks { notifications: in_order(&rows), first })
}

/// Keeps notifications that were not delivered; parks those that were tried for as long as `give_up_after`. How many were
/// parked for that.
pub async fn failed(
    client: &Client,
    failed: &[FailedNotification<'_>],
    give_up_after: Duration,
) -> Result<usize> {
    let columns = columns!(one in failed => {
        no: i64 = one.notification.no.0,
        life: i32 = one.notification.life.0,
        kind: &str = one.notification.kind.as_str(),
        delay: f64 = one.delay.as_secs_f64(),
        error: &str = one.error.as_str(),
        parked: Option<&str> = one.parked,
    });
    let rows = columns.query(client, FAILED, &[&give_up_after.as_secs_f64()]).await?;
    let given_up =
        |row: &&tokio_postgres::Row| row.get::<_, Option<&str>>("parked_because") == Some("given_up");
    Ok(rows.iter().filter(given_up).count())
}

/// Parks what has waited for a receiver in trouble for longer than this; how many. A thousand are looked at, the oldest
/// first, from the time below which nothing is left, if that is known.
pub async fn give_up(
    client: &Client,
    (receiver, since): (&str, Option<Timestamp>),
    after: Duration,
    why: &str,
) -> Result<u64> {
    let statement = client.prepare_cached(GIVE_UP).await?;
    Ok(client.execute(&statement, &[&receiver, &after.as_secs_f64(), &why, &since]).await?)
}
