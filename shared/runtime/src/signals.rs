//! The signals of a process: two end it, one makes it read its configuration again. No other room knows any.

use std::time::{Duration, Instant};

use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio_util::sync::CancellationToken;

use crate::config::{ConfigurationState, LiveSettings, Reloaded};
use crate::telemetry;

/// Interval at which the file is looked at. Its text is compared: where files are swapped by links, as Kubernetes does,
/// neither their times nor the events of the system tell of it.
const LOOK_EVERY: Duration = Duration::from_secs(2);
/// The same once somebody has asked to read it.
const LOOK_SOON: Duration = Duration::from_millis(100);

/// Handles the signals from here on: SIGTERM and SIGINT drain, SIGHUP reads the configuration again, as a change
/// of its file does.
///
/// # Errors
/// The system lets nobody handle signals.
pub fn handle_signals(settings: &LiveSettings, draining: &CancellationToken) -> std::io::Result<()> {
    let (terminate, interrupt) = (signal(SignalKind::terminate())?, signal(SignalKind::interrupt())?);
    let hangup = signal(SignalKind::hangup())?;
    tokio::spawn(drain(terminate, interrupt, draining.clone()));
    tokio::spawn(reload(hangup, settings.clone()));
    Ok(())
}

/// Waits until a person presses Ctrl-C: for programs that are no service.
pub async fn interrupted() {
    if let Err(error) = tokio::signal::ctrl_c().await {
        tracing::warn!(%error, "Ctrl-C ends the program at once");
        std::future::pending::<()>().await;
    }
}

/// The first SIGTERM or SIGINT begins the drain, the second ends the process at once.
async fn drain(mut terminate: Signal, mut interrupt: Signal, draining: CancellationToken) {
    for first in [true, false] {
        tokio::select! {
            _ = terminate.recv() => {}
            _ = interrupt.recv() => {}
        }
        if first {
            tracing::info!("asked to stop; draining; a second signal ends at once");
            draining.cancel();
        }
    }
    tracing::warn!("asked to stop twice; ending at once");
    std::process::exit(130);
}

/// Reads the configuration again whenever it is asked to, or the file has changed.
async fn reload(mut hangup: Signal, settings: LiveSettings) {
    let mut look = FileWatch { seen: settings.state().version, asked: false };
    let mut next = Instant::now() + LOOK_EVERY;
    loop {
        tokio::select! {
            _ = hangup.recv() => {
                look.asked = true;
                next = next.min(Instant::now() + LOOK_SOON);
                continue;
            }
            () = tokio::time::sleep_until(next.into()) => {}
        }
        let live = settings.clone();
        // Files are read and checked beside the threads that serve orders.
        let looked = tokio::task::spawn_blocking(move || {
            let text = live.file();
            let present = text.as_ref().ok().and_then(|text| live.version_of(text));
            let is_due = look.is_due(present, live.last_read());
            (is_due.then(|| live.reload(text)), look)
        });
        let reloaded;
        (reloaded, look) = match looked.await {
            Ok(looked) => looked,
            Err(panic) => return tracing::error!(%panic, "the configuration is no longer read again"),
        };
        if let Some(reloaded) = reloaded {
            telemetry::apply(&settings.now().log);
            tell(&reloaded, &settings.state());
        }
        next = Instant::now() + if look.asked { LOOK_SOON } else { LOOK_EVERY };
    }
}

/// The watch over a file that may be written at this moment.
struct FileWatch {
    /// Version at the last look.
    seen: Option<String>,
    /// True once somebody has asked to read it, whatever it says.
    asked: bool,
}

impl FileWatch {
    /// True where the file is to be read: somebody has asked, or it is another than the one that was read last,
    /// and not only away for a moment. The look before must have found the same, so that none is read
    /// half-written.
    fn is_due(&mut self, present: Option<String>, last_read: Option<String>) -> bool {
        let is_new = present.is_some() && present != last_read;
        let is_due = self.seen == present && (self.asked || is_new);
        self.seen = present;
        self.asked &= !is_due;
        is_due
    }
}

fn tell(reloaded: &Reloaded, state: &ConfigurationState) {
    let version = state.version.as_deref().unwrap_or_default();
    match reloaded {
        Reloaded::Refused(faults) => {
            let texts: Vec<String> = faults.iter().map(ToString::to_string).collect();
            tracing::error!(
                faults = texts.join("; "),
                version,
                "the configuration is not valid; the process keeps the previous one"
            );
        }
        Reloaded::Taken { live, needs_restart } => {
            tracing::info!(
                changed = live.join(", "),
                version,
                snapshot = state.snapshot,
                "the configuration was read again"
            );
            if !needs_restart.is_empty() {
                tracing::warn!(
                    keys = needs_restart.join(", "),
                    "these keys have also changed, and take effect when the process is restarted"
                );
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_taken_when_it_has_come_to_rest() {
        let of = |version: &str| Some(version.to_owned());
        let mut look = FileWatch { seen: of("a"), asked: false };
        assert!(!look.is_due(of("a"), of("a")), "the one that runs");
        assert!(!look.is_due(of("half"), of("a")), "it may be written at this moment");
        assert!(!look.is_due(of("whole"), of("a")));
        assert!(look.is_due(of("whole"), of("a")));
        assert!(!look.is_due(of("whole"), of("whole")), "faulty or not, it is reported once");
        assert!(!look.is_due(None, of("whole")) && !look.is_due(None, of("whole")), "away for a moment");
        assert!(!look.is_due(of("a"), of("whole")) && look.is_due(of("a"), of("whole")), "and back");
    }

    #[test]
    fn who_asks_has_it_read_whatever_it_says() {
        let of = |version: &str| Some(version.to_owned());
        let mut look = FileWatch { seen: of("a"), asked: true };
        assert!(!look.is_due(of("b"), of("a")) && look.asked, "it may be written at this moment");
        assert!(look.is_due(of("b"), of("a")) && !look.asked);
        look.asked = true;
        assert!(look.is_due(of("b"), of("b")), "files that the environment names may have changed");
        look.asked = true;
        assert!(
            !look.is_due(None, of("b")) && look.is_due(None, of("b")),
            "that it is gone must be reported"
        );
    }
}
