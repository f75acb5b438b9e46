//! Maintenance windows and stops for planned works that move orders: what waits, retries or runs out within them is moved
//! behind their end (DSP-11, DSP-16), also what comes while they last. Nothing here opens or closes one: that follows from
//! the time.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use jiff::{SignedDuration, Timestamp};
use pagurus_command::Commands;
use pagurus_domain::maintenance::Occurrence;
use pagurus_domain::order::principal::Principal;
use pagurus_runtime::Host;
use pagurus_runtime::metrics::{Count, Level};
use pagurus_runtime::task::{BackgroundTask, NextTurn, TurnPause};
use pagurus_store::upkeep::clock;
use pagurus_store::upkeep::revision;
use pagurus_store::upkeep::stops::{self, ShiftingStop};
use pagurus_store::upkeep::windows::{self, StoredWindow};
use pagurus_store::{Client, Error};
use pagurus_wire::problem::Problem;

use crate::recover::note;

/// Interval between two looks for windows.
const LOOK_EVERY: Duration = Duration::from_secs(1);
/// Orders are moved from this time before the start, so that the first of them are moved when it comes.
const AHEAD: SignedDuration = SignedDuration::from_secs(60);
/// Interval between two walks for what has come to wait since the last one.
const WALK_EVERY: Duration = Duration::from_secs(2);
/// Walks take at most one part in this many of the time.
const SHARE_OF_TIME: u32 = 10;

/// Stops for planned works that are looked at, at most.
const MOST_STOPS: i64 = 1000;

/// Moves of orders for the windows and stops that ask for it; nothing of what it remembers is needed after a restart.
pub(crate) struct Walks {
    commands: Commands,
    by: Principal,
    /// The rules as they were read last, by their revision.
    known: Option<(i64, MaintenanceRules)>,
    /// End of the last whole walk for each, and how long it took.
    walked: HashMap<WorksKey, (Instant, Duration)>,
}

/// Windows that are open or to come, and stops for planned works.
#[derive(Debug)]
struct MaintenanceRules {
    windows: Vec<StoredWindow>,
    stops: Vec<ShiftingStop>,
}

/// Works for which orders are moved now.
#[derive(Clone, Debug)]
enum Works {
    /// An occurrence of a window.
    Window(Box<StoredWindow>, Occurrence),
    /// A stop by hand for a time.
    Stop(ShiftingStop),
}

/// Identity of works.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum WorksKey {
    /// Number of the window, and start of the occurrence.
    Window(i64, Timestamp),
    /// Number of the stop.
    Stop(i64),
}

impl MaintenanceRules {
    async fn read(client: &Client) -> Result<Self, Error> {
        Ok(Self { windows: windows::held(client).await?, stops: stops::shifting(client, MOST_STOPS).await? })
    }

    /// The works that last, or are about to begin.
    fn due(&self, now: Timestamp) -> Vec<Works> {
        let soon = now.checked_add(AHEAD).unwrap_or(Timestamp::MAX);
        let windows = self.windows.iter().filter(|window| window.shifts);
        let windows =
            windows.filter_map(|window| Some(Works::Window(Box::new(window.clone()), near(window, now)?)));
        let lasts = |stop: &&ShiftingStop| stop.moves.window.from <= soon && now < stop.moves.window.until;
        windows.chain(self.stops.iter().filter(lasts).cloned().map(Works::Stop)).collect()
    }
}

impl Works {
    const fn key(&self) -> WorksKey {
        match self {
            Self::Window(window, occurrence) => WorksKey::Window(window.rule.no, occurrence.begin),
            Self::Stop(stop) => WorksKey::Stop(stop.no),
        }
    }

    /// Moves some orders; true if there is more to move at once.
    async fn shift(&self, commands: &Commands, by: &Principal) -> Result<bool, Problem> {
        match self {
            Self::Window(window, occurrence) => commands.shift_for_window(window, *occurrence, by).await,
            Self::Stop(stop) => commands.shift_for_stop(stop, by).await,
        }
    }
}

impl BackgroundTask for Walks {
    const PAUSE: TurnPause = |_| LOOK_EVERY;
    const FIRST: NextTurn = NextTurn::AtOnce;

    async fn turn(&mut self, host: &Host) -> NextTurn {
        let walked = self.walk(host).await;
        let next = if matches!(walked, Ok(true)) { NextTurn::AtOnce } else { NextTurn::AfterPause };
        note(host, "maintenance windows", walked.map(|_| ()));
        next
    }
}

impl Walks {
    pub fn new(host: &Host) -> Self {
        let (commands, by) = (Commands::of(host.clone()), Principal::node(&host.name));
        Self { commands, by, known: None, walked: HashMap::new() }
    }

    /// Some orders of each works; true if there is more to move at once.
    async fn walk(&mut self, host: &Host) -> Result<bool, Error> {
        let client = host.store.operations().await?;
        let revision = revision::revision(&client).await?;
        if self.known.as_ref().is_none_or(|(known, _)| *known != revision) {
            self.known = Some((revision, MaintenanceRules::read(&client).await?));
        }
        // By the clock that stops and windows are of.
        let now = clock::now(&client).await?;
        drop(client);
        let Some((_, rules)) = &self.known else { return Ok(false) };
        show(host, rules.windows.iter(), now);
        let due = rules.due(now);
        self.walked.retain(|key, _| due.iter().any(|works| works.key() == *key));
        let mut has_more = false;
        for works in due {
            let key = works.key();
            let rests =
                |(at, took): &(Instant, Duration)| at.elapsed() < WALK_EVERY.max(*took * SHARE_OF_TIME);
            if self.walked.get(&key).is_some_and(rests) {
                continue;
            }
            let begun = Instant::now();
            match works.shift(&self.commands, &self.by).await {
                Ok(true) => has_more = true,
                Ok(false) => {
                    self.walked.insert(key, (Instant::now(), begun.elapsed()));
                }
                Err(problem) => {
                    host.metrics.count(Count::StoreErrors, "window shift", 1);
                    tracing::warn!(works = ?key, problem = problem.detail, "orders could not be moved yet");
                }
            }
        }
        Ok(has_more)
    }
}

/// The occurrence that is open, or about to be.
fn near(window: &StoredWindow, now: Timestamp) -> Option<Occurrence> {
    let soon = now.checked_add(AHEAD).unwrap_or(Timestamp::MAX);
    window.rule.open_at(now).or_else(|| window.rule.next_after(now).filter(|one| one.begin <= soon))
}

fn show<'a>(host: &Host, windows: impl Iterator<Item = &'a StoredWindow> + Clone, now: Timestamp) {
    let open = windows.clone().filter(|window| window.rule.open_at(now).is_some()).count();
    let held = windows.filter(|window| window.is_held(now)).count();
    host.metrics.level(Level::MaintenanceWindows, "open", open as f64);
    host.metrics.level(Level::MaintenanceWindows, "planned", held.saturating_sub(open) as f64);
}
