//! Activator: wakes suspended orders when their time has come, and recovers what is stuck.
//!
//! Any number of them work side by side: rows that one holds are passed over by the others.

mod actors;
mod audit;
mod check;
mod conditions;
mod due;
mod failover;
mod forecasts;
mod idle;
mod keep_up;
mod maintenance;
mod measures;
mod operations;
mod outlook;
mod process;
mod recover;
mod retention;
mod schedules;
mod standstill;
mod subscriptions;
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
    host.start("conditions", conditions::ConditionLook::new(&host, hints.clone()));
    // What waits for other orders has no time.
    for stream in Stream::ALL.iter().filter(|stream| **stream != Stream::Dependent) {
        host.start("what is due", due::WakeStream::new(*stream, hints.clone()));
    }
    host.start("repeats", due::Repeats::default());
    host.start("recovery", recover::Recovery::new(&host));
    host.start("operations", operations::Operations::new(&host));
    host.start("maintenance windows", maintenance::Walks::new(&host));
    host.start("schedules", schedules::Schedules::new(&host));
    host.start("failover", failover::Failover::default());
    host.start("idle look", idle::IdleDetector::new(&host));
    host.start("actors", actors::ActorLook::default());
    host.start("consistency check", check::Checker::new(&host));
    host.start("retention", retention::Remover::new(&host));
    host.start("upkeep", keep_up::Upkeep::default());
    host.start("audit seal", audit::Sealer::default());
    host.start("audit export", audit::AuditExporter::default());
    host.start("forecasts", forecasts::ForecastJudge);
    host.start("promises", outlook::PromiseChecker::new(&host));
    host.start("subscriptions", subscriptions::SubscriptionUpkeep::new(&host));
    host.start("measures", measures::Measures::default());
    host.at_work(false).await;
    host.draining.cancelled().await;
    host.readiness.not_ready("draining");
    host.join().await;
    Ok(())
}
