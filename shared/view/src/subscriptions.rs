//! Subscriptions, and how far their replays have come.

use pagurus_domain::order::notification::shown_url;
use pagurus_domain::subscription::checked_name;
use pagurus_store::outside::subscriptions::{self, StoredSubscription};
use pagurus_store::upkeep::replays::{self, StoredReplay};
use pagurus_wire::order::Page;
use pagurus_wire::problem::Problem;
use pagurus_wire::subscriptions::{ReplayView, SubscriptionView};

use crate::Views;
use crate::history::parsed;

impl Views {
    /// All subscriptions, by name.
    pub async fn subscriptions(&self) -> Result<Page<SubscriptionView>, Problem> {
        let found = async { subscriptions::list(&self.host.store.api().await?, None).await };
        let found = found.await.map_err(self.failed("subscriptions"))?;
        Ok(Page { items: found.into_iter().map(subscription_view).collect(), next: None })
    }

    /// The subscription of this name.
    pub async fn subscription(&self, name: &str) -> Result<SubscriptionView, Problem> {
        if checked_name(name).is_err() {
            return Err(Problem::no_subscription(name));
        }
        let found = async { subscriptions::list(&self.host.store.api().await?, Some(name)).await };
        let found = found.await.map_err(self.failed("subscriptions"))?.pop();
        found.map(subscription_view).ok_or_else(|| Problem::no_subscription(name))
    }

    /// The latest replays of a subscription, the newest first.
    pub async fn replays(&self, name: &str) -> Result<Page<ReplayView>, Problem> {
        self.subscription(name).await?;
        let found = async { replays::list(&self.host.store.api().await?, name).await };
        let found = found.await.map_err(self.failed("replays"))?;
        Ok(Page { items: found.into_iter().map(replay_view).collect(), next: None })
    }
}

fn subscription_view(stored: StoredSubscription) -> SubscriptionView {
    let tag = stored.tag();
    let rule = stored.rule;
    let (paused_at, paused_by, paused_because) = match stored.paused {
        Some((at, by, because)) => (Some(at), Some(parsed(&by)), Some(because)),
        None => (None, None, None),
    };
    let labels = rule.selection.labels.iter();
    SubscriptionView {
        name: stored.name,
        tag,
        state: if paused_at.is_some() { "paused" } else { "active" }.to_owned(),
        url: shown_url(&rule.url).into_owned(),
        format: rule.format.to_string(),
        secret: rule.secret,
        on: rule.on.iter().map(ToString::to_string).collect(),
        labels: labels.map(|(key, value)| (key.to_owned(), value.to_owned())).collect(),
        scenarios: rule.selection.scenarios,
        outcomes: rule.selection.outcomes.iter().map(ToString::to_string).collect(),
        waiting: stored.waiting,
        parked: stored.parked,
        paused_at,
        paused_by,
        paused_because,
        by: parsed(&stored.made_by),
        made_at: stored.made_at,
    }
}

fn replay_view(stored: StoredReplay) -> ReplayView {
    let state = match (stored.done_at, stored.position) {
        (Some(_), _) => "done",
        (None, 0) => "waiting",
        (None, _) => "running",
    };
    let share = |last: i64| if last > 0 { stored.position as f64 / last as f64 } else { 1.0 };
    ReplayView {
        replay: stored.no,
        state: state.to_owned(),
        from: stored.from,
        until: stored.until,
        progress: stored.last.map_or(0.0, share).min(1.0),
        looked_at: stored.looked_at,
        stored: stored.stored,
        reason: stored.reason.filter(|reason| !reason.is_empty()),
        by: parsed(&stored.made_by),
        made_at: stored.made_at,
        done_at: stored.done_at,
    }
}
