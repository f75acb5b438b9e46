//! Upkeep of subscriptions (ORD-38): one whose receiver is dead is paused before what waits for it grows without bound; replays
//! go on; what is left of removed ones is deleted.

use std::time::Duration;

use pagurus_command::Commands;
use pagurus_domain::number::saturated;
use pagurus_domain::order::notification::Content;
use pagurus_domain::order::principal::Principal;
use pagurus_domain::subscription::{ActiveSubscription, ActiveSubscriptions, PauseReason};
use pagurus_runtime::Host;
use pagurus_runtime::metrics::{Count, Level};
use pagurus_runtime::task::{BackgroundTask, NextTurn, TurnPause};
use pagurus_store::Error;
use pagurus_store::hot::outbox::{self, NewNotification};
use pagurus_store::upkeep::replays::{self, ReplayedEnd};
use pagurus_store::upkeep::subscriptions::{self, SubscriptionBacklog};

use crate::recover::note;

/// Interval between two turns.
const LOOK_EVERY: Duration = Duration::from_secs(1);
/// Turns between two looks at all backlogs, which are counted row by row.
const TURNS_OF_A_LOOK: u32 = 5;
/// Orders of a piece of a replay.
const PIECE: i64 = 500;
/// Part of what may wait for a subscription above which its replays wait.
const SHARE_OF_REPLAYS: i64 = 10;
/// Notifications of removed subscriptions that are deleted at a time.
const DROPPED: i64 = 1000;

/// The upkeep, with what it remembers from turn to turn.
pub(crate) struct SubscriptionUpkeep {
    commands: Commands,
    by: Principal,
    turns: u32,
}

impl SubscriptionUpkeep {
    pub fn new(host: &Host) -> Self {
        Self { commands: Commands::of(host.clone()), by: Principal::node(&host.name), turns: 0 }
    }

    /// Pauses what must not grow, and shows what there is.
    async fn look(&self, host: &Host) -> Result<(), Error> {
        let most = saturated::<i64>(host.settings().notify.max_undelivered);
        let client = host.store.recovery().await?;
        let backlogs = subscriptions::backlogs(&client, most.saturating_add(1)).await?;
        drop(client);
        for backlog in &backlogs {
            let because = match backlog {
                SubscriptionBacklog { paused_because: Some(_), .. } => continue,
                SubscriptionBacklog { gone: true, .. } => PauseReason::Gone,
                _ if backlog.waiting + backlog.parked > most => PauseReason::Backlog,
                _ => continue,
            };
            match self.commands.pause_by_engine(&backlog.name, because, &self.by).await {
                Ok(true) => {
                    host.metrics.count(Count::SubscriptionsPaused, because.as_str(), 1);
                    tracing::warn!(
                        subscription = backlog.name,
                        because = because.as_str(),
                        waiting = backlog.waiting,
                        parked = backlog.parked,
                        "a subscription was paused: `pagurus subscriptions resume --replay` notifies it of what it misses"
                    );
                }
                Ok(false) => {}
                Err(problem) => {
                    tracing::warn!(subscription = backlog.name, problem = problem.detail, "it was not paused")
                }
            }
        }
        show(host, &backlogs);
        Ok(())
    }
}

fn show(host: &Host, backlogs: &[SubscriptionBacklog]) {
    let by_engine = |one: &&SubscriptionBacklog| {
        one.paused_because.as_deref().is_some_and(|because| because != PauseReason::ByHand.as_str())
    };
    let paused = backlogs.iter().filter(|one| one.paused_because.is_some()).count();
    let by_engine = backlogs.iter().filter(by_engine).count();
    for (state, count) in
        [("active", backlogs.len() - paused), ("paused", paused - by_engine), ("paused_by_engine", by_engine)]
    {
        host.metrics.level(Level::Subscriptions, state, count as f64);
    }
    for one in backlogs {
        host.metrics.level(Level::SubscriptionUndelivered, &one.name, (one.waiting + one.parked) as f64);
    }
}

impl BackgroundTask for SubscriptionUpkeep {
    const PAUSE: TurnPause = |_| LOOK_EVERY;

    async fn turn(&mut self, host: &Host) -> NextTurn {
        if self.turns.is_multiple_of(TURNS_OF_A_LOOK) {
            note(host, "subscriptions", self.look(host).await);
            note(host, "removed subscriptions", drop_left(host).await);
        }
        self.turns = self.turns.wrapping_add(1);
        let replayed = replay(host).await;
        let goes_on = matches!(replayed, Ok(true));
        note(host, "replays", replayed.map(|_| ()));
        if goes_on { NextTurn::AtOnce } else { NextTurn::AfterPause }
    }
}

async fn drop_left(host: &Host) -> Result<(), Error> {
    let client = host.store.recovery().await?;
    while subscriptions::drop_left(&client, DROPPED).await? > 0 {}
    Ok(())
}

/// Stores the notifications of a piece of a replay; false where there is none that may go on.
async fn replay(host: &Host) -> Result<bool, Error> {
    let most = saturated::<i64>(host.settings().notify.max_undelivered);
    let mut client = host.store.operations().await?;
    let tx = client.transaction().await?;
    let share = (most / SHARE_OF_REPLAYS).max(1);
    let taken = replays::take(&tx, share).await?;
    let Some(replay) = taken else {
        tx.commit().await?;
        return Ok(false);
    };
    let piece = replays::piece(&tx, &replay, PIECE.min(share)).await?;
    let standing =
        ActiveSubscriptions(vec![ActiveSubscription { no: replay.subscription, rule: replay.rule.clone() }]);
    let again: Vec<NewNotification> = piece
        .ended
        .iter()
        .flat_map(|end| NewNotification::again(&content(end), end.end, &standing))
        .collect();
    let stored = outbox::put_missing(&tx, &again).await?;
    replays::advance(&tx, &replay, &piece, stored).await?;
    tx.commit().await?;
    Ok(true)
}

fn content(end: &ReplayedEnd) -> Content<'_> {
    Content {
        order: &end.head,
        scenario: &end.scenario,
        scenario_version: end.scenario_version,
        status: end.status,
        scenario_status: end.scenario_status,
        step: end.step.as_deref(),
        result: end.result.as_ref(),
        message: end.message.as_deref(),
        error: end.error.as_ref(),
        started_at: end.head.started_at,
        finished_at: end.finished_at,
        stages: end.head.stages,
        retries: end.head.retries,
    }
}
