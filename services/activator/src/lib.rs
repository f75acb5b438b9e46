//! Activator: wakes suspended orders when their time has come, and recovers what is stuck.
//!
//! Any number of them work side by side: rows that one holds are passed over by the others.

mod actors;
mod check;
mod conditions;
mod due;
mod failover;
mod idle;
mod keep_up;
mod maintenance;
mod measures;
mod operations;
mod outlook;
mod process;
mod recover;
mod retention;
mod standstill;
mod waker;

use pagurus_domain::activation::Stream;
use pagurus_runtime::Host;

/// Runs until the process is to stop.
///
/// # Errors
/// Reasons for which the service cannot work at all.
pub async fn run(host: Host) -> anyhow::Result<()> {
    let hints = due::Hints::default();
    host.spawn("news of what is due", due::listen(host.clone(), hints.clone())?);
    host.spawn("conditions", conditions::look(host.clone(), hints.clone()));
    // What waits for other orders has no time.
    for stream in Stream::ALL.iter().filter(|stream| **stream != Stream::Dependent) {
        host.spawn("what is due", due::wake(host.clone(), *stream, hints.clone()));
    }
    host.spawn("repeats", due::repeat(host.clone()));
    host.spawn("recovery", recover::recover(host.clone()));
    host.spawn("operations", operations::carry_out(host.clone()));
    host.spawn("maintenance windows", maintenance::shift(host.clone()));
    host.spawn("failover", failover::take_over(host.clone()));
    host.spawn("idle look", idle::look(host.clone()));
    host.spawn("actors", actors::look(host.clone()));
    host.spawn("consistency check", check::check(host.clone()));
    host.spawn("retention", retention::retain(host.clone()));
    host.spawn("upkeep", keep_up::keep_up(host.clone()));
    host.spawn("promises", outlook::look(host.clone()));
    host.spawn("measures", measures::look(host.clone()));
    host.at_work(false).await;
    host.draining.cancelled().await;
    host.readiness.not_ready("draining");
    host.join().await;
    Ok(())
}
