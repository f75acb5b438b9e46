//! The sealer (QLT-15): gives entries of the audit log their links in the chain, and says in the log how far it has come, so that
//! the head stands outside the database, too.

use std::time::{Duration, Instant};

use pagurus_domain::audit::chain::ChainHead;
use pagurus_runtime::Host;
use pagurus_runtime::lasting::Lasting;
use pagurus_runtime::metrics::Level;
use pagurus_runtime::task::{BackgroundTask, NextTurn, TurnPause};
use pagurus_store::Error;
use pagurus_store::lists::audit::chain::{self, SealOutcome};

use crate::recover::note;

/// Pause between two turns.
const EVERY: Duration = Duration::from_secs(1);
/// Entries of one turn.
const BATCH: i64 = 500;
/// Interval at which the head is logged.
const HEAD_EVERY: Duration = Duration::from_secs(60 * 60);
/// Age of an entry without a link, in seconds, from which something is wrong.
const LATE_SECONDS: f64 = 60.0;

/// The sealer.
pub(crate) struct Sealer {
    /// Time at which the head was last logged; `None` before the first turn.
    logged: Option<Instant>,
    late: Lasting,
}

impl Default for Sealer {
    fn default() -> Self {
        Self { logged: None, late: Lasting::noted_after(Duration::ZERO) }
    }
}

impl BackgroundTask for Sealer {
    const PAUSE: TurnPause = |_| EVERY;

    async fn turn(&mut self, host: &Host) -> NextTurn {
        match seal(host).await {
            Ok(None) => NextTurn::AfterPause,
            Ok(Some(outcome)) => self.show(host, &outcome),
            Err(error) => {
                note(host, "audit chain", Err(error));
                NextTurn::AfterPause
            }
        }
    }
}

async fn seal(host: &Host) -> Result<Option<SealOutcome>, Error> {
    chain::seal(&mut host.store.operations().await?, BATCH).await
}

impl Sealer {
    fn show(&mut self, host: &Host, outcome: &SealOutcome) -> NextTurn {
        let waits = outcome.waits.unwrap_or(0.0).max(0.0);
        host.metrics.level(Level::AuditUnsealedAge, "", waits);
        let is_full = i64::try_from(outcome.sealed).is_ok_and(|sealed| sealed == BATCH);
        if self.late.look(waits > LATE_SECONDS && !is_full, Instant::now()) {
            tracing::warn!(
                seconds = waits,
                "entries of the audit log wait for their place in its chain: a transaction that writes is open for so long"
            );
        }
        if self.logged.is_none_or(|logged| logged.elapsed() >= HEAD_EVERY) && !is_full {
            self.logged = Some(Instant::now());
            let ChainHead { position, hash, .. } = outcome.head;
            tracing::info!(target: "pagurus::audit", head = format!("{position}:{hash}"), "head of the audit log");
        }
        if is_full { NextTurn::AtOnce } else { NextTurn::AfterPause }
    }
}
