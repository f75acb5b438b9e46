//! Maintenance windows that move orders: what waits or retries until a time within the window is moved behind its end
//! (DSP-11, DSP-16). Nothing here opens or closes a window: that follows from the time.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use jiff::{SignedDuration, Timestamp};
use pagurus_command::Commands;
use pagurus_domain::maintenance::Occurrence;
use pagurus_domain::order::principal::Principal;
use pagurus_runtime::Host;
use pagurus_runtime::metrics::{Count, Level};
use pagurus_store::windows::{self, StoredWindow};
use pagurus_store::{Error, revision};

use crate::recover::note;

/// Between two looks for windows.
const LOOK_EVERY: Duration = Duration::from_secs(1);
/// Orders are moved from so long before the begin on, so that the first of them are moved when it comes.
const AHEAD: SignedDuration = SignedDuration::from_secs(60);
/// Between two walks for what has come to wait since the last one.
const WALK_EVERY: Duration = Duration::from_secs(2);
/// Walks take at most one part in so many of the time.
const SHARE_OF_TIME: u32 = 10;

/// Moves orders for the windows that ask for it, until the process is to stop.
pub(crate) async fn shift(host: Host) -> anyhow::Result<()> {
    let commands = Commands::of(host.clone());
    let by = Principal::node(&host.name);
    let mut walks = Walks::default();
    loop {
        let Some(in_service) = host.turn().await else { return Ok(()) };
        let turn = walks.turn(&host, &commands, &by).await;
        let pause = if matches!(turn, Ok(true)) { Duration::ZERO } else { LOOK_EVERY };
        note(&host, "maintenance windows", turn.map(|_| ()));
        drop(in_service);
        if host.sleep_unless_draining(pause).await {
            return Ok(());
        }
    }
}

/// Memory of this activator from turn to turn; nothing of it is needed after a restart.
#[derive(Debug, Default)]
struct Walks {
    /// The rules as they were read last, by their revision.
    known: Option<(i64, Vec<StoredWindow>)>,
    /// End of the last whole walk of each occurrence, and how long it took.
    walked: HashMap<(i64, Timestamp), (Instant, Duration)>,
}

impl Walks {
    /// Some orders of each window; true if there is more to move at once.
    async fn turn(&mut self, host: &Host, commands: &Commands, by: &Principal) -> Result<bool, Error> {
        let client = host.store.operations().await?;
        let revision = revision::revision(&client).await?;
        if self.known.as_ref().is_none_or(|(known, _)| *known != revision) {
            self.known = Some((revision, windows::held(&client).await?));
        }
        drop(client);
        let now = Timestamp::now();
        let held = self.known.iter().flat_map(|(_, windows)| windows);
        show(host, held.clone(), now);
        let due: Vec<(StoredWindow, Occurrence)> = held
            .filter(|window| window.shifts)
            .filter_map(|window| Some((window.clone(), near(window, now)?)))
            .collect();
        self.walked.retain(|key, _| due.iter().any(|(window, one)| (window.rule.no, one.begin) == *key));
        let mut has_more = false;
        for (window, occurrence) in due {
            let key = (window.rule.no, occurrence.begin);
            let rests =
                |(at, took): &(Instant, Duration)| at.elapsed() < WALK_EVERY.max(*took * SHARE_OF_TIME);
            if self.walked.get(&key).is_some_and(rests) {
                continue;
            }
            let begun = Instant::now();
            match commands.shift_for_window(&window, occurrence, by).await {
                Ok(true) => has_more = true,
                Ok(false) => {
                    self.walked.insert(key, (Instant::now(), begun.elapsed()));
                }
                Err(problem) => {
                    host.metrics.count(Count::StoreErrors, "window shift", 1);
                    tracing::warn!(
                        window = window.rule.no,
                        problem = problem.detail,
                        "orders could not be moved yet"
                    );
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
