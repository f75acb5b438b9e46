//! Signs of life of a running stage: entry points that it enters are saved, and its work time-out is prolonged
//! as long as it gets on.
//!
//! The work time-out bounds the time without progress. So it is written again when a stage has come so far
//! that it matters: most stages are over before, and write nothing.

use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use pagurus_domain::id::ScenarioRef;
use pagurus_domain::number::saturated;
use pagurus_runtime::batch::{Failed, Linger, Shape};
use pagurus_runtime::node::chain;
use pagurus_runtime::{Batcher, Effects, Host};
use pagurus_scenario::stage::{Need, Reached};
use pagurus_store::Error;
use pagurus_store::hot::stages::Claimed;
use pagurus_store::hot::stages::advance::{Advance, Entered, advance};

use crate::Worker;
use crate::clock::StageClock;
use crate::finish::moves;
use crate::record::record;
use crate::trouble::StageTrouble;

/// Error of a pass that no longer holds: whatever this stage would do is somebody else's to do.
pub(crate) struct Stale;

/// Gathering of signs of life.
const GATHER: Shape = Shape { max: 500, lanes: 1, linger: Linger::UnderLoad(Duration::from_millis(2)) };
/// Time that an action may take beyond its own time-out: to be rendered, written, and judged.
const BESIDE_THE_CALL: Duration = Duration::from_secs(30);

/// Writes the signs of life of all stages. Cheap to clone.
pub(crate) type Advances = Batcher<Arc<Advance>, bool, Error>;

/// Starts the batcher of them.
pub(crate) fn advances(host: &Host) -> Advances {
    let host = host.clone();
    Batcher::start(GATHER, Error::concerns_one_item, move |batch: Arc<[Arc<Advance>]>| {
        let host = host.clone();
        async move { write(&host, &batch).await }
    })
}

async fn write(host: &Host, batch: &[Arc<Advance>]) -> Result<Vec<bool>, Error> {
    // In order of the rows' key, as everywhere: two batches never wait for each other.
    let mut sorted: Vec<&Advance> = batch.iter().map(|stage| &**stage).collect();
    sorted.sort_by_key(|stage| stage.no);
    let mut client = host.store.work().await?;
    let tx = client.transaction().await?;
    host.store.patience().bound(&tx).await?;
    let ours = advance(&tx, &host.name, &sorted).await?;
    tx.commit().await?;
    let written =
        sorted.iter().filter(|stage| ours.contains(&stage.no)).filter_map(|stage| stage.entered.as_ref());
    let notifications: Vec<_> = written.flat_map(|entered| entered.notifications.iter().cloned()).collect();
    if !notifications.is_empty() {
        Effects { notifications, ..Effects::default() }.send(host).await;
    }
    Ok(batch.iter().map(|stage| ours.contains(&stage.no)).collect())
}

/// Longest time of a stage without progress, and the stored end of that time.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pace {
    work: Duration,
    until: Timestamp,
}

impl Pace {
    /// Creates the pace of a stage that was claimed at that time.
    pub fn since(claimed_at: Timestamp, work: Duration) -> Self {
        Self { work, until: later(claimed_at, work) }
    }

    /// Returns until when the next action may take. One that has longer than the stage counts as getting on.
    fn wanted(&self, now: Timestamp, action: Duration) -> Timestamp {
        later(now, self.work.max(action.saturating_add(BESIDE_THE_CALL)))
    }

    /// Returns the same, if it is so much later than what is stored that it is to be written.
    fn due(&self, now: Timestamp, action: Duration) -> Option<Timestamp> {
        let wanted = self.wanted(now, action);
        (later(self.until, self.work / 4) < wanted).then_some(wanted)
    }
}

fn later(at: Timestamp, by: Duration) -> Timestamp {
    at.checked_add(by).unwrap_or(Timestamp::MAX)
}

/// Prolongs the work time-out of a stage that gets on, if that is due.
pub(crate) async fn keep_up(
    worker: &Worker,
    claimed: &Claimed,
    pace: &mut Pace,
    need: &Need,
    clock: &StageClock,
) -> Result<(), Stale> {
    let action = match need {
        Need::Http(call) => call.timeout,
        Need::Parallel(calls) => calls.iter().map(|call| call.timeout).max().unwrap_or_default(),
        _ => Duration::ZERO,
    };
    let Some(until) = pace.due(clock.now(), action) else { return Ok(()) };
    pace.until = until;
    let advance = Advance { no: claimed.head.no, pass: claimed.pass, until, entered: None };
    Box::pin(tell(worker, claimed, advance)).await
}

/// Saves the entry point that a stage has entered.
pub(crate) async fn enter(
    worker: &Worker,
    claimed: &Claimed,
    pace: &mut Pace,
    reached: Reached,
    scenario: &ScenarioRef,
    clock: &StageClock,
) -> Result<(), Stale> {
    pace.until = pace.wanted(clock.now(), Duration::ZERO);
    let history = record(claimed, (&reached.transitions, &reached.log, &reached.steps), None);
    let entered = Entered {
        attempt: claimed.attempt,
        scenario_status: reached.scenario_status,
        visited: saturated::<i32>(reached.snapshot.visit.number),
        distance: reached.distance.and_then(|distance| i32::try_from(distance).ok()),
        started_at: claimed.now,
        snapshot: reached.snapshot.to_text(),
        history,
        notifications: moves(claimed, Some(scenario), &reached.transitions),
        answers: reached.answers,
        step: reached.step,
        entry_point: reached.entry_point,
    };
    let advance =
        Advance { no: claimed.head.no, pass: claimed.pass, until: pace.until, entered: Some(entered) };
    tell(worker, claimed, advance).await
}

/// Waits for the database as long as the stage may.
async fn tell(worker: &Worker, claimed: &Claimed, advance: Advance) -> Result<(), Stale> {
    let advance = Arc::new(advance);
    let mut trouble = StageTrouble::with(worker, claimed, "progress");
    loop {
        match worker.advances.submit(advance.clone()).await {
            Ok(true) => return Ok(()),
            Ok(false) | Err(Failed::Gone(_)) => return Err(Stale),
            Err(Failed::Handler(error)) => trouble.wait_out(&chain(&*error)).await,
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests")]
mod tests {
    use super::*;

    #[test]
    fn scn_3_a_stage_that_gets_on_is_prolonged_and_a_short_one_writes_nothing() {
        let begun: Timestamp = "2026-01-01T00:00:00Z".parse().unwrap();
        let (work, call) = (Duration::from_secs(300), Duration::from_secs(30));
        let pace = Pace::since(begun, work);
        let after = |seconds| later(begun, Duration::from_secs(seconds));
        assert_eq!(pace.due(begun, call), None);
        assert_eq!(pace.due(after(75), call), None, "a quarter of it is no news");
        assert_eq!(pace.due(after(76), call), Some(after(376)));
        // An action that may take longer than the stage is waited for.
        let short = Pace::since(begun, Duration::from_secs(10));
        assert_eq!(short.due(begun, call), Some(after(60)));
        let known = Pace { until: after(60), ..short };
        assert_eq!(known.due(begun, call), None, "and once is enough");
    }
}
