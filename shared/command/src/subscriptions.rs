//! Subscriptions (ORD-38): made, changed, paused, resumed, replayed and removed, by people and by the engine.

use jiff::{SignedDuration, Timestamp};
use pagurus_domain::audit::AuditKind;
use pagurus_domain::order::notification::shown_url;
use pagurus_domain::order::principal::Principal;
use pagurus_domain::subscription::{MOST_SUBSCRIPTIONS, PauseReason, SubscriptionRule, checked_name};
use pagurus_domain::time;
use pagurus_store::lists::audit::AuditEntry;
use pagurus_store::outside::scenarios::Expected;
use pagurus_store::outside::subscriptions::{self, StoredSubscription};
use pagurus_store::upkeep::replays;
use pagurus_store::{Error, Tx};
use pagurus_wire::problem::{Problem, Type};
use pagurus_wire::subscriptions::ReplayRequest;
use serde_json::{Value, json};

use crate::Commands;
use crate::texts::checked;

/// Longest reason, in bytes.
const MAX_REASON: usize = 1024;
/// A replay after a pause begins so much earlier: an end has the time of the start of its transaction.
const BEFORE_THE_PAUSE: SignedDuration = SignedDuration::from_secs(60);

/// Outcome of a change that may be refused.
type Changed<T> = Result<Result<T, Problem>, Error>;

impl Commands {
    /// Makes a subscription, or gives the one of this name another rule; true where it was made, none where a dry run only
    /// checked it.
    ///
    /// # Errors
    /// The problem to answer with.
    pub async fn put_subscription(
        &self,
        name: &str,
        body: &Value,
        expected: &Expected,
        by: &Principal,
    ) -> Result<Option<bool>, Problem> {
        checked_name(name).map_err(|fault| Problem::of_faults(Type::Invalid, &[fault]))?;
        let is_dry = body["dryRun"] == true;
        let put = async {
            let mut client = self.host.store.operations().await?;
            let tx = client.transaction().await?;
            let stored = subscriptions::lock(&tx, name).await?;
            let rule = match self.rule(name, body, expected, stored.as_ref()) {
                Ok(rule) => rule,
                Err(problem) => return Ok(Err(problem)),
            };
            let made_by = by.to_value().to_string();
            if !subscriptions::put(&tx, name, stored.is_some(), &rule, &made_by).await? {
                let message = format!("there are {MOST_SUBSCRIPTIONS} subscriptions already: remove some");
                return Ok(Err(Problem::new(Type::Refused, message)));
            }
            let before = stored.as_ref().map_or(Value::Null, |stored| of_rule(&stored.rule));
            AuditEntry::new("save", (AuditKind::Subscription, name), by, None)
                .changed(before, of_rule(&rule), json!({}))
                .record(&tx)
                .await?;
            if is_dry {
                tx.rollback().await?;
                return Ok(Ok(None));
            }
            tx.commit().await?;
            Ok(Ok(Some(stored.is_none())))
        };
        put.await.map_err(self.failed("subscriptions"))?
    }

    fn rule(
        &self,
        name: &str,
        body: &Value,
        expected: &Expected,
        stored: Option<&StoredSubscription>,
    ) -> Result<SubscriptionRule, Problem> {
        let tag = stored.map(StoredSubscription::tag);
        if !expected.allows(tag.as_deref()) {
            let detail = tag.map_or_else(
                || format!("there is no subscription `{name}`; send it without `If-Match` to make it"),
                |tag| {
                    format!(
                        "subscription `{name}` has the tag \"{tag}\"; read it and put the change on top of it"
                    )
                },
            );
            return Err(Problem::new(Type::PreconditionFailed, detail));
        }
        let invalid = |faults: &[_]| Problem::of_faults(Type::Invalid, faults);
        let kept = stored.map(|stored| stored.rule.url.as_str());
        let rule = SubscriptionRule::read(body, kept).map_err(|faults| invalid(&faults))?;
        match rule.refused(&self.host.settings().notify.allow) {
            Some(fault) => Err(invalid(&[fault])),
            None => Ok(rule),
        }
    }

    /// Pauses a subscription: nothing is stored for it from now on.
    ///
    /// # Errors
    /// The problem to answer with: not found, paused already, or not available.
    pub async fn pause_subscription(&self, name: &str, reason: &str, by: &Principal) -> Result<(), Problem> {
        checked("reason", reason, MAX_REASON)?;
        self.change(name, async |tx, stored| pause(tx, &stored, PauseReason::ByHand, Some(reason), by).await)
            .await
    }

    /// Pauses a subscription for a reason that the engine found; false where it is paused already, or not there.
    ///
    /// # Errors
    /// The problem that kept it from being done.
    pub async fn pause_by_engine(
        &self,
        name: &str,
        because: PauseReason,
        by: &Principal,
    ) -> Result<bool, Problem> {
        match self.change(name, async |tx, stored| pause(tx, &stored, because, None, by).await).await {
            Ok(()) => Ok(true),
            Err(problem) if matches!(problem.kind(), Some(Type::Refused | Type::NotFound)) => Ok(false),
            Err(problem) => Err(problem),
        }
    }

    /// Resumes a subscription, sends what is parked for it again, and replays what ended while it was paused, if that is wanted;
    /// the number of the replay.
    ///
    /// # Errors
    /// The problem to answer with: not found, not paused, or not available.
    pub async fn resume_subscription(
        &self,
        name: &str,
        replay: bool,
        reason: &str,
        by: &Principal,
    ) -> Result<Option<i64>, Problem> {
        checked("reason", reason, MAX_REASON)?;
        self.change(name, async |tx, stored| {
            let Some((paused_at, ..)) = stored.paused else {
                return Ok(Err(Problem::new(Type::Refused, format!("subscription `{name}` is not paused"))));
            };
            let sent_again = subscriptions::resume(tx, stored.no).await?;
            let replay = if replay {
                let from = paused_at.saturating_sub(BEFORE_THE_PAUSE).unwrap_or(paused_at);
                match begin_replay(tx, &stored, (from, None), reason, by).await? {
                    Ok(no) => Some(no),
                    Err(problem) => return Ok(Err(problem)),
                }
            } else {
                None
            };
            AuditEntry::new("resume", (AuditKind::Subscription, name), by, Some(reason))
                .with(&json!({"sentAgain": sent_again, "replay": replay}))
                .record(tx)
                .await?;
            Ok(Ok(replay))
        })
        .await
    }

    /// Notifies a subscription again of the orders that ended in a time range; the number of the replay.
    ///
    /// # Errors
    /// The problem to answer with.
    pub async fn replay(&self, name: &str, asked: &ReplayRequest, by: &Principal) -> Result<i64, Problem> {
        checked("reason", &asked.reason, MAX_REASON)?;
        let until = asked.until.unwrap_or_else(Timestamp::now);
        if asked.from < Timestamp::UNIX_EPOCH {
            return Err(Problem::of_field("/from", "must not lie before 1970"));
        }
        if asked.from >= until || until > Timestamp::now() {
            return Err(Problem::of_field("/until", "must be after `from` and not ahead of now"));
        }
        self.change(name, async |tx, stored| {
            let no = match begin_replay(tx, &stored, (asked.from, asked.until), &asked.reason, by).await? {
                Ok(no) => no,
                Err(problem) => return Ok(Err(problem)),
            };
            AuditEntry::new("replay", (AuditKind::Subscription, name), by, Some(&asked.reason))
                .with(&json!({"replay": no, "from": time::shown(asked.from), "until": asked.until.map(time::shown)}))
                .record(tx)
                .await?;
            Ok(Ok(no))
        })
        .await
    }

    /// Stops a replay.
    ///
    /// # Errors
    /// The problem to answer with: not found, done already, or not available.
    pub async fn stop_replay(&self, name: &str, no: i64, by: &Principal) -> Result<(), Problem> {
        self.change(name, async |tx, stored| {
            if !replays::stop(tx, stored.no, no).await? {
                let message = format!("subscription `{name}` has no replay {no} that goes on");
                return Ok(Err(Problem::new(Type::NotFound, message)));
            }
            AuditEntry::new("stop", (AuditKind::Subscription, name), by, None)
                .with(&json!({"replay": no}))
                .record(tx)
                .await?;
            Ok(Ok(()))
        })
        .await
    }

    /// Removes a subscription, with what waits for its receiver.
    ///
    /// # Errors
    /// The problem to answer with: not found, or not available.
    pub async fn remove_subscription(&self, name: &str, by: &Principal) -> Result<(), Problem> {
        self.change(name, async |tx, stored| {
            subscriptions::remove(tx, stored.no).await?;
            AuditEntry::new("remove", (AuditKind::Subscription, name), by, None)
                .changed(of_rule(&stored.rule), Value::Null, json!({}))
                .record(tx)
                .await?;
            Ok(Ok(()))
        })
        .await
    }

    /// Changes the subscription of this name in a transaction of its own; what is refused changes nothing.
    async fn change<T>(
        &self,
        name: &str,
        change: impl AsyncFnOnce(&Tx<'_>, StoredSubscription) -> Changed<T>,
    ) -> Result<T, Problem> {
        if checked_name(name).is_err() {
            return Err(Problem::no_subscription(name));
        }
        let changed = async {
            let mut client = self.host.store.operations().await?;
            let tx = client.transaction().await?;
            let Some(stored) = subscriptions::lock(&tx, name).await? else {
                return Ok(Err(Problem::no_subscription(name)));
            };
            let done = match change(&tx, stored).await? {
                Ok(done) => done,
                Err(problem) => return Ok(Err(problem)),
            };
            tx.commit().await?;
            Ok(Ok(done))
        };
        changed.await.map_err(self.failed("subscriptions"))?
    }
}

async fn pause(
    tx: &Tx<'_>,
    stored: &StoredSubscription,
    because: PauseReason,
    reason: Option<&str>,
    by: &Principal,
) -> Changed<()> {
    if !subscriptions::pause(tx, stored.no, because, &by.to_value().to_string()).await? {
        return Ok(Err(Problem::new(
            Type::Refused,
            format!("subscription `{}` is paused already", stored.name),
        )));
    }
    AuditEntry::new("pause", (AuditKind::Subscription, &stored.name), by, reason)
        .with(&json!({"because": because.as_str()}))
        .record(tx)
        .await?;
    Ok(Ok(()))
}

async fn begin_replay(
    tx: &Tx<'_>,
    stored: &StoredSubscription,
    range: (Timestamp, Option<Timestamp>),
    reason: &str,
    by: &Principal,
) -> Changed<i64> {
    let made_by = by.to_value().to_string();
    let refused = |message: String| Ok(Err(Problem::new(Type::Refused, message)));
    if !stored.rule.on.contains(&pagurus_domain::order::notification::Occasion::Final) {
        return refused(format!(
            "subscription `{}` does not ask for `final`, and only ends are replayed",
            stored.name
        ));
    }
    match replays::create(tx, stored.no, range, Some(reason), &made_by).await? {
        Some(no) => Ok(Ok(no)),
        None => {
            refused(format!("subscription `{}` has 4 replays that go on: wait, or stop one", stored.name))
        }
    }
}

/// A rule for the audit log.
fn of_rule(rule: &SubscriptionRule) -> Value {
    let words = |words: Vec<&str>| json!(words);
    json!({
        "url": shown_url(&rule.url),
        "format": rule.format.as_str(),
        "secret": rule.secret,
        "on": words(rule.on.iter().map(|occasion| occasion.as_str()).collect()),
        "scenarios": rule.selection.scenarios,
        "labels": rule.selection.labels.to_value(),
        "outcomes": words(rule.selection.outcomes.iter().map(|status| status.as_str()).collect()),
    })
}
