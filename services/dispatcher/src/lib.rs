//! Dispatcher: decides what runs next. One is active, by a lease with a growing epoch; the others
//! stand by.
//!
//! The active one writes nothing for an order: its hand-outs carry its epoch, and the claim of a
//! worker checks that epoch in the transaction that takes the stage. What it knows is in memory
//! and comes from the tables; news between services only makes it quicker.
//!
//! One that an operator has taken out of service gives its lease back, and asks for none.

mod closed;
mod event_loop;
mod heard;
mod history;
mod holding;
mod journal;
mod knowledge;
mod lease;
mod policy;
mod reading;
mod round;
mod shortage;
mod shown;
mod unheard;

use std::time::Duration;

use pagurus_runtime::Host;
use pagurus_runtime::metrics::Level;

/// Least interval between two requests for the lease.
const LEAST_PAUSE: Duration = Duration::from_millis(10);

/// Runs until the process is to stop: stands by, leads when the lease is free, stands by again
/// when it is lost.
///
/// # Errors
/// Reasons for which the service cannot work at all.
pub async fn run(host: Host) -> anyhow::Result<()> {
    host.at_work(true).await;
    let ttl = host.settings().dispatcher.lease_ttl;
    let mut seen = lease::Seen::default();
    loop {
        host.metrics.level(Level::Leader, "", 0.0);
        let Some(leading) = host.turn().await else {
            host.readiness.not_ready("draining");
            return Ok(());
        };
        let asked = lease::acquire(&host, ttl, &mut seen).await;
        let left = asked.as_ref().err().copied().unwrap_or(ttl);
        if let Ok(lease) = asked {
            host.metrics.level(Level::Leader, "", 1.0);
            host.metrics.level(Level::Epoch, "", lease.epoch.0 as f64);
            tracing::info!(epoch = %lease.epoch, "leading");
            host.at_work(false).await;
            let outcome = event_loop::lead(&host, &lease).await;
            // The next holder gets the lease now, not when it runs out.
            lease::resign(&host).await;
            match outcome {
                Ok(()) => tracing::info!(epoch = %lease.epoch, "no longer leading"),
                Err(error) => {
                    tracing::warn!(epoch = %lease.epoch, error = format!("{error:#}"), "leading ended")
                }
            }
            drop(leading);
            host.at_work(true).await;
            // Those that stand by come first: an operator may have made this one step down.
            if host.sleep_unless_draining(ttl / 3).await {
                host.readiness.not_ready("draining");
                return Ok(());
            }
        } else {
            drop(leading);
        }
        // One that is given back is found soon, one that runs out at once, and nobody is kept busy by asking.
        if host.sleep_unless_draining(left.clamp(LEAST_PAUSE, (ttl / 6).max(LEAST_PAUSE))).await {
            host.readiness.not_ready("draining");
            return Ok(());
        }
    }
}
