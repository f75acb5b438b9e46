//! Upkeep of subscriptions (ORD-38): what waits for each, and what is left of those that were removed.

use crate::sql::statements;
use crate::{Client, Result};

statements! {
    BACKLOGS = "
        SELECT s.no, s.name, s.paused_because, b.waiting, b.parked, b.gone
          FROM subscriptions s
         CROSS JOIN LATERAL (
               SELECT count(*) FILTER (WHERE o.parked_because IS NULL) AS waiting,
                      count(*) FILTER (WHERE o.parked_because IS NOT NULL) AS parked,
                      coalesce(bool_or(o.parked_because = 'gone'), false) AS gone
                 FROM (SELECT u.parked_because FROM outbox u WHERE u.subscription = s.no LIMIT $1) AS o) AS b
         WHERE s.removed_at IS NULL ORDER BY s.no";
    DROP_LEFT = "
        DELETE FROM outbox o
         USING (SELECT u.order_no, u.life, u.kind
                  FROM subscriptions s
                 CROSS JOIN LATERAL (
                       SELECT b.order_no, b.life, b.kind FROM outbox b WHERE b.subscription = s.no
                        LIMIT $1 FOR UPDATE SKIP LOCKED) AS u
                 WHERE s.removed_at IS NOT NULL) AS l
         WHERE o.order_no = ANY(ARRAY[l.order_no]) AND o.life = l.life AND o.kind = l.kind";
    // Transactions that saw it before its removal may still store something for it.
    DROP_EMPTY = "
        DELETE FROM subscriptions s
         WHERE s.removed_at < now() - interval '10 minutes'
           AND NOT EXISTS (SELECT FROM outbox o WHERE o.subscription = s.no OFFSET 0)";
}

/// Notifications that are stored for a subscription and not delivered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SubscriptionBacklog {
    /// Number of the subscription.
    pub no: i64,
    /// Name.
    pub name: String,
    /// Why it is paused; none of one that is not.
    pub paused_because: Option<String>,
    /// Notifications that will be tried.
    pub waiting: i64,
    /// Notifications that only a person can help.
    pub parked: i64,
    /// True if its receiver answered that it wants no more.
    pub gone: bool,
}

/// The backlog of each subscription, counted up to this.
pub async fn backlogs(client: &Client, up_to: i64) -> Result<Vec<SubscriptionBacklog>> {
    let rows = client.query(&client.prepare_cached(BACKLOGS).await?, &[&up_to]).await?;
    Ok(rows
        .iter()
        .map(|row| SubscriptionBacklog {
            no: row.get("no"),
            name: row.get("name"),
            paused_because: row.get("paused_because"),
            waiting: row.get("waiting"),
            parked: row.get("parked"),
            gone: row.get("gone"),
        })
        .collect())
}

/// Deletes some of what is left of subscriptions that were removed; how much.
pub async fn drop_left(client: &Client, limit: i64) -> Result<u64> {
    let dropped = client.execute(&client.prepare_cached(DROP_LEFT).await?, &[&limit]).await?;
    client.execute(&client.prepare_cached(DROP_EMPTY).await?, &[]).await?;
    Ok(dropped)
}
