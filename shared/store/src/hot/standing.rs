//! The subscriptions that are not paused, for those who end orders (ORD-38). A process keeps them with their revision, which
//! it reads with the ends that it takes: what is written in a transaction follows the subscriptions of that moment, and costs no
//! statement as long as nobody changes them.

use std::sync::{Arc, Mutex, PoisonError};

use pagurus_domain::order::Status;
use pagurus_domain::order::labels::Labels;
use pagurus_domain::order::notification::{NotifyFormat, Occasion};
use pagurus_domain::subscription::{ActiveSubscription, ActiveSubscriptions, Selection, SubscriptionRule};
use tokio_postgres::Row;

use crate::row::word;
use crate::sql::statements;
use crate::{Connection, Error, Result};

statements! {
    STANDING = "
        SELECT r.revision, s.no, s.url, s.format, s.secret, s.occasions, s.scenarios, s.labels::text AS labels, s.outcomes
          FROM subscription_rules r
          LEFT JOIN subscriptions s ON s.paused_at IS NULL AND s.removed_at IS NULL
         WHERE r.one ORDER BY s.no";
}

/// The subscriptions of this moment, with their revision.
///
/// # Errors
/// The database fails, or holds a word that this version does not know.
pub async fn standing(on: &impl Connection) -> Result<(i64, ActiveSubscriptions)> {
    let rows = on.query(&on.prepare_cached(STANDING).await?, &[]).await?;
    let revision = rows.first().map_or(0, |row| row.get("revision"));
    let of = rows.iter().filter_map(|row| Some((row, row.get::<_, Option<i64>>("no")?)));
    let list: Result<Vec<ActiveSubscription>> =
        of.map(|(row, no)| Ok(ActiveSubscription { no, rule: read_rule(row)? })).collect();
    Ok((revision, ActiveSubscriptions(list?)))
}

/// Reads the rule of a subscription from a row that has its columns.
///
/// # Errors
/// It holds a word that this version does not know.
pub(crate) fn read_rule(row: &Row) -> Result<SubscriptionRule> {
    let words = |column: &str| row.get::<_, Vec<String>>(column);
    let occasions: std::result::Result<Vec<Occasion>, _> =
        words("occasions").iter().map(|word| word.parse()).collect();
    let outcomes: std::result::Result<Vec<Status>, _> =
        words("outcomes").iter().map(|word| word.parse()).collect();
    Ok(SubscriptionRule {
        url: row.get("url"),
        format: word::<NotifyFormat>(row, "format", "subscriptions.format")?,
        secret: row.get("secret"),
        on: occasions.map_err(|error| Error::broken("subscriptions.occasions", error))?,
        selection: Selection {
            scenarios: words("scenarios"),
            labels: Labels::of_stored(row.get("labels")),
            outcomes: outcomes.map_err(|error| Error::broken("subscriptions.outcomes", error))?,
        },
    })
}

/// The subscriptions as a process read them last. Cheap to clone.
#[derive(Clone, Debug, Default)]
pub struct StandingCache(Arc<Mutex<(i64, Arc<ActiveSubscriptions>)>>);

impl StandingCache {
    /// The subscriptions at this revision or a later one.
    ///
    /// # Errors
    /// They were another ones, and could not be read.
    pub async fn at(&self, revision: i64, on: &impl Connection) -> Result<Arc<ActiveSubscriptions>> {
        if let Some(known) = self.known(revision) {
            return Ok(known);
        }
        let (revision, read) = standing(on).await?;
        let read = Arc::new(read);
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if kept.0 < revision {
            *kept = (revision, read.clone());
        }
        Ok(read)
    }

    fn known(&self, revision: i64) -> Option<Arc<ActiveSubscriptions>> {
        let kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        (kept.0 == revision).then(|| kept.1.clone())
    }
}
