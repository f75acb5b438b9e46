//! Schedules (ORD-39): looks for times that have come, and has them decided. Any number of activators look side by side; who
//! locks a schedule first decides about its times, and the others find them decided.

use std::time::{Duration, Instant};

use pagurus_command::Commands;
use pagurus_domain::order::principal::Principal;
use pagurus_runtime::Host;
use pagurus_runtime::metrics::{Count, Level};
use pagurus_runtime::node::chain;
use pagurus_runtime::task::{BackgroundTask, NextTurn, TurnPause};
use pagurus_store::Error;
use pagurus_store::upkeep::schedules::runs;

use crate::recover::note;

/// Longest pause between two looks: a schedule may have been made or changed, and the clock of the database set.
const LOOK_EVERY: Duration = Duration::from_secs(1);
/// Shortest pause, where a time has come and somebody else decides about it.
const SHORTEST: Duration = Duration::from_millis(20);
/// Schedules of one look.
const MOST: i64 = 200;
/// Turns of one schedule before the others have theirs.
const MOST_TURNS: usize = 20;
/// Interval between two counts of schedules for the metrics.
const SHOW_EVERY: Duration = Duration::from_secs(10);

/// The look at schedules.
pub(crate) struct Schedules {
    commands: Commands,
    by: Principal,
    shown_at: Option<Instant>,
}

impl BackgroundTask for Schedules {
    const PAUSE: TurnPause = |_| LOOK_EVERY;
    const FIRST: NextTurn = NextTurn::AtOnce;

    async fn turn(&mut self, host: &Host) -> NextTurn {
        let looked = self.look(host).await;
        let next = looked.as_ref().map_or(NextTurn::AfterPause, |pause| NextTurn::After(*pause));
        note(host, "schedules", looked.map(|_| ()));
        if self.shown_at.is_none_or(|at| at.elapsed() >= SHOW_EVERY) {
            self.shown_at = Some(Instant::now());
            note(host, "schedules", show(host).await);
        }
        next
    }
}

impl Schedules {
    pub fn new(host: &Host) -> Self {
        let (commands, by) = (Commands::of(host.clone()), Principal::node(&host.name));
        Self { commands, by, shown_at: None }
    }

    /// Has all decided that has come; the pause before the next look.
    async fn look(&self, host: &Host) -> Result<Duration, Error> {
        let client = host.store.operations().await?;
        let mut names = runs::due(&client, MOST).await?;
        let is_full = i64::try_from(names.len()).is_ok_and(|count| count == MOST);
        let free = runs::free(&client, MOST).await?;
        drop(client);
        names.extend(free.into_iter().filter(|name| !names.contains(name)).collect::<Vec<_>>());
        let (mut has_more, mut has_failed) = (is_full, false);
        for name in &names {
            if host.draining.is_cancelled() || host.is_offline() {
                return Ok(LOOK_EVERY);
            }
            match self.decide(host, name).await {
                Ok(more) => has_more |= more,
                // The others have their orders all the same.
                Err(error) => {
                    has_failed = true;
                    host.metrics.count(Count::StoreErrors, "schedules", 1);
                    tracing::warn!(
                        schedule = name,
                        error = chain(&error),
                        "times of a schedule could not be decided yet"
                    );
                }
            }
        }
        if has_failed {
            return Ok(LOOK_EVERY);
        }
        if has_more {
            return Ok(Duration::ZERO);
        }
        let left = runs::seconds_left(&host.store.operations().await?).await?;
        let left = left.map(|seconds| Duration::try_from_secs_f64(seconds).unwrap_or(Duration::ZERO));
        Ok(left.map_or(LOOK_EVERY, |left| left.clamp(SHORTEST, LOOK_EVERY)))
    }

    /// Some turns of one schedule; true if there is more to decide.
    async fn decide(&self, host: &Host, name: &str) -> Result<bool, Error> {
        for _ in 0..MOST_TURNS {
            if !self.commands.run_schedule(name, &self.by).await?.has_more {
                return Ok(false);
            }
            if host.draining.is_cancelled() {
                break;
            }
        }
        Ok(true)
    }
}

async fn show(host: &Host) -> Result<(), Error> {
    let levels = runs::levels(&host.store.operations().await?).await?;
    let states = [
        ("active", levels.active),
        ("paused", levels.paused),
        ("over", levels.over),
        ("failing", levels.failing),
    ];
    for (state, count) in states {
        host.metrics.level(Level::Schedules, state, count as f64);
    }
    host.metrics.level(Level::ScheduleLag, "", levels.lag);
    Ok(())
}
