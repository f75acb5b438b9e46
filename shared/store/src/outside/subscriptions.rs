//! Subscriptions as people make and see them (ORD-38). Each change gives all of them the next revision, by which those who end
//! orders learn of it.

use jiff::Timestamp;
use pagurus_domain::subscription::{MOST_SUBSCRIPTIONS, PauseReason, SubscriptionRule};
use tokio_postgres::Row;

use crate::hot::standing::read_rule;
use crate::sql::statements;
use crate::{Connection, Result, Tx};

statements! {
    // The lock makes changes follow each other, so that the count of them holds.
    REVISE = "UPDATE subscription_rules SET revision = revision + 1 WHERE one";
    LIST = "
        SELECT s.no, s.name, s.version, s.url, s.format, s.secret, s.occasions, s.scenarios, s.labels::text AS labels, s.outcomes,
               s.made_by, s.made_at, s.paused_at, s.paused_by, s.paused_because, b.waiting, b.parked
          FROM subscriptions s
         CROSS JOIN LATERAL (
               SELECT count(*) FILTER (WHERE o.parked_because IS NULL) AS waiting,
                      count(*) FILTER (WHERE o.parked_because IS NOT NULL) AS parked
                 FROM (SELECT u.parked_because FROM outbox u WHERE u.subscription = s.no LIMIT 100000) AS o) AS b
         WHERE s.removed_at IS NULL AND ($1::text IS NULL OR s.name = $1) ORDER BY s.name";
    LOCK = "
        SELECT s.no, s.name, s.version, s.url, s.format, s.secret, s.occasions, s.scenarios, s.labels::text AS labels, s.outcomes,
               s.made_by, s.made_at, s.paused_at, s.paused_by, s.paused_because, 0::bigint AS waiting, 0::bigint AS parked
          FROM subscriptions s WHERE s.name = $1 AND s.removed_at IS NULL FOR UPDATE";
    COUNT = "SELECT count(*) AS number FROM subscriptions WHERE removed_at IS NULL";
    ADD = "
        INSERT INTO subscriptions (name, url, format, secret, occasions, scenarios, labels, outcomes, made_by)
        VALUES ($1, $2, $3, $4, $5, $6, $7::text::jsonb, $8, $9)";
    REPLACE = "
        UPDATE subscriptions
           SET version = version + 1, url = $2, format = $3, secret = $4, occasions = $5, scenarios = $6, labels = $7::text::jsonb,
               outcomes = $8, made_by = $9, made_at = now()
         WHERE name = $1 AND removed_at IS NULL";
    PAUSE = "
        UPDATE subscriptions SET paused_at = clock_timestamp(), paused_by = $2, paused_because = $3
         WHERE no = $1 AND paused_at IS NULL AND removed_at IS NULL";
    RESUME = "
        UPDATE subscriptions SET paused_at = NULL, paused_by = NULL, paused_because = NULL
         WHERE no = $1 AND removed_at IS NULL";
    SEND_PARKED = "
        UPDATE outbox SET next_at = now(), parked_because = NULL, again_since = now()
         WHERE subscription = $1 AND parked_because IS NOT NULL";
    PAUSED_BY_ENGINE = "
        SELECT name FROM subscriptions WHERE removed_at IS NULL AND paused_because <> $1 ORDER BY name";
    REMOVE = "UPDATE subscriptions SET removed_at = now() WHERE no = $1 AND removed_at IS NULL";
}

/// A subscription, as people see it.
#[derive(Clone, Debug)]
pub struct StoredSubscription {
    /// Number.
    pub no: i64,
    /// Name.
    pub name: String,
    /// Grows with each change of the rule.
    pub version: i32,
    /// The rule.
    pub rule: SubscriptionRule,
    /// Principal that made or changed it last, as JSON.
    pub made_by: String,
    /// When.
    pub made_at: Timestamp,
    /// Time since which it is paused, by whom (as JSON) and why.
    pub paused: Option<(Timestamp, String, String)>,
    /// Notifications that wait to be delivered, up to 100 000.
    pub waiting: i64,
    /// Notifications that only a person can help, counted alike.
    pub parked: i64,
}

impl StoredSubscription {
    /// The tag by which a change names the version that it expects.
    #[must_use]
    pub fn tag(&self) -> String {
        format!("{}-{}", self.no, self.version)
    }
}

fn read(row: &Row) -> Result<StoredSubscription> {
    let paused_at: Option<Timestamp> = row.get("paused_at");
    let text = |column: &str| row.get::<_, Option<String>>(column).unwrap_or_default();
    Ok(StoredSubscription {
        no: row.get("no"),
        name: row.get("name"),
        version: row.get("version"),
        rule: read_rule(row)?,
        made_by: row.get("made_by"),
        made_at: row.get("made_at"),
        paused: paused_at.map(|at| (at, text("paused_by"), text("paused_because"))),
        waiting: row.get("waiting"),
        parked: row.get("parked"),
    })
}

/// All subscriptions by name; or the one of this name.
///
/// # Errors
/// The database fails, or holds a word that this version does not know.
pub async fn list(on: &impl Connection, name: Option<&str>) -> Result<Vec<StoredSubscription>> {
    let rows = on.query(&on.prepare_cached(LIST).await?, &[&name]).await?;
    rows.iter().map(read).collect()
}

/// The subscription of this name. No other change of any subscription is made until the end of the transaction, and what
/// is changed in it counts from its commit.
///
/// # Errors
/// The database fails, or holds a word that this version does not know.
pub async fn lock(tx: &Tx<'_>, name: &str) -> Result<Option<StoredSubscription>> {
    tx.execute(&tx.prepare_cached(REVISE).await?, &[]).await?;
    let row = tx.query_opt(&tx.prepare_cached(LOCK).await?, &[&name]).await?;
    row.as_ref().map(read).transpose()
}

/// Makes a subscription that is not there, or gives one that is another rule; false where there are too many. Its name is
/// locked.
pub async fn put(tx: &Tx<'_>, name: &str, is_there: bool, rule: &SubscriptionRule, by: &str) -> Result<bool> {
    if !is_there {
        let count: i64 = tx.query_one(&tx.prepare_cached(COUNT).await?, &[]).await?.get("number");
        if usize::try_from(count).is_ok_and(|count| count >= MOST_SUBSCRIPTIONS) {
            return Ok(false);
        }
    }
    let statement = tx.prepare_cached(if is_there { REPLACE } else { ADD }).await?;
    let occasions: Vec<&str> = rule.on.iter().map(|occasion| occasion.as_str()).collect();
    let outcomes: Vec<&str> = rule.selection.outcomes.iter().map(|status| status.as_str()).collect();
    let labels = rule.selection.labels.to_value().to_string();
    let (format, scenarios) = (rule.format.as_str(), &rule.selection.scenarios);
    tx.execute(
        &statement,
        &[&name, &rule.url, &format, &rule.secret, &occasions, scenarios, &labels, &outcomes, &by],
    )
    .await?;
    Ok(true)
}

/// Pauses a subscription: nothing is stored for it from the commit on. False where it is paused already.
pub async fn pause(tx: &Tx<'_>, no: i64, because: PauseReason, by: &str) -> Result<bool> {
    let statement = tx.prepare_cached(PAUSE).await?;
    Ok(tx.execute(&statement, &[&no, &by, &because.as_str()]).await? == 1)
}

/// Resumes a subscription, and sends what is parked for it again; the number of that.
pub async fn resume(tx: &Tx<'_>, no: i64) -> Result<u64> {
    tx.execute(&tx.prepare_cached(RESUME).await?, &[&no]).await?;
    Ok(tx.execute(&tx.prepare_cached(SEND_PARKED).await?, &[&no]).await?)
}

/// Names of the subscriptions that the engine has paused.
pub async fn paused_by_engine(on: &impl Connection) -> Result<Vec<String>> {
    let statement = on.prepare_cached(PAUSED_BY_ENGINE).await?;
    let rows = on.query(&statement, &[&PauseReason::ByHand.as_str()]).await?;
    Ok(rows.iter().map(|row| row.get("name")).collect())
}

/// Removes a subscription. What waits for its receiver is deleted after a while.
pub async fn remove(tx: &Tx<'_>, no: i64) -> Result<()> {
    tx.execute(&tx.prepare_cached(REMOVE).await?, &[&no]).await?;
    Ok(())
}
