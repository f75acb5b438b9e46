//! Measures that only the database knows, for metrics and for the log: what orders wait for, and if a dispatcher leads. Never
//! changes anything.

use std::time::{Duration, Instant};

use pagurus_runtime::Host;
use pagurus_runtime::lasting::Lasting;
use pagurus_runtime::metrics::Level;
use pagurus_runtime::task::{BackgroundTask, NextTurn, TurnPause};
use pagurus_store::Error;
use pagurus_store::lists::measures;
use pagurus_store::lists::promises;

use crate::recover::note;

/// Interval between two looks.
const EVERY: Duration = Duration::from_secs(15);
/// Time without a leader before it is reported: a take-over is no trouble.
const GRACE: Duration = Duration::from_secs(15);

/// Warning of an activator that finds no dispatcher at work.
const LEADERLESS: &str = "no dispatcher leads, so nothing is handed out";

/// Orders in jeopardy are counted up to this number.
const MOST_IN_JEOPARDY: i64 = 100_000;

/// The look at what only the database knows.
pub(crate) struct Measures {
    leaderless: Lasting,
}

impl Default for Measures {
    fn default() -> Self {
        Self { leaderless: Lasting::noted_after(GRACE) }
    }
}

impl BackgroundTask for Measures {
    const PAUSE: TurnPause = |_| EVERY;
    const FIRST: NextTurn = NextTurn::AtOnce;
    const TAKES_WORK: bool = false;

    async fn turn(&mut self, host: &Host) -> NextTurn {
        note(host, "measures", show(host).await);
        match is_led(host).await {
            Ok(is_led) => {
                if self.leaderless.look(!is_led, Instant::now()) {
                    tracing::warn!("{LEADERLESS}: start one");
                }
                host.readiness.note(self.leaderless.is_there().then_some(LEADERLESS));
            }
            Err(error) => note(host, "leases", Err(error)),
        }
        NextTurn::AfterPause
    }
}

async fn show(host: &Host) -> Result<(), Error> {
    let client = host.store.operations().await?;
    for (reason, measured) in measures::waiting(&client).await? {
        host.metrics.level(Level::WaitingOrders, reason, measured.count);
    }
    let snapshots = measures::held_snapshots(&client).await?;
    host.metrics.level(Level::OldestSnapshot, "", snapshots.known_seconds().unwrap_or(f64::NAN));
    host.metrics.level(Level::UnseenSessions, "", f64::from(snapshots.unseen));
    let late = promises::in_jeopardy(&client, MOST_IN_JEOPARDY).await?;
    host.metrics.level(Level::InJeopardy, "", late);
    Ok(())
}

async fn is_led(host: &Host) -> Result<bool, Error> {
    measures::is_led(&host.store.operations().await?).await
}
