//! Claims: stages that become this worker's, with everything they need.

use std::collections::hash_map::Entry;
use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use pagurus_domain::id::{Life, OrderNo, Pass, ScenarioNo};
use pagurus_domain::order::Mode;
use pagurus_runtime::metrics;
use pagurus_runtime::scenarios::Known;
use pagurus_scenario::stage::Call;
use pagurus_store::hot::calls;
use pagurus_store::hot::stages::{self, Claimant, Claimed, OfferedStage, Unclaimed};
use pagurus_store::outside::answers;
use pagurus_store::outside::answers::Accepted;
use pagurus_store::{Client, Error};

use crate::Worker;

/// A stage that is ours, with everything it needs.
pub(crate) struct ClaimedStage {
    pub claimed: Claimed,
    pub scenario: Option<Known>,
    pub callbacks: Vec<Accepted>,
    pub calls: Vec<Call>,
    /// Longest time without progress.
    pub work: Duration,
    /// Moment at which the claim was sent, just before it read the clock of the database.
    pub claimed_at: Instant,
}

impl ClaimedStage {
    /// True if calls from outside may wait for it: only an order that rested handles them.
    fn may_be_called(&self) -> bool {
        let scenario = self.scenario.as_ref().and_then(|known| known.scenario.as_ref().ok());
        self.claimed.snapshot.is_some() && scenario.is_some_and(|scenario| scenario.takes_calls())
    }
}

/// Returns the version of each stage; one that this node does not have compiled is read first.
async fn scenarios(
    worker: &Worker,
    client: &Client,
    claimed: &[Claimed],
) -> Result<Vec<Option<Known>>, Error> {
    // Each once: one that was read for this batch may have left memory for another of it.
    let mut known: HashMap<ScenarioNo, Option<Known>> = HashMap::new();
    for stage in claimed {
        if let Entry::Vacant(missing) = known.entry(stage.head.scenario) {
            missing.insert(worker.catalogue.get(client, stage.head.scenario).await?);
        }
    }
    Ok(claimed.iter().map(|stage| known.get(&stage.head.scenario).cloned().flatten()).collect())
}

/// Time that a sequential stage may take beyond its bound: the call in progress is broken off by then.
const BEYOND_THE_BOUND: Duration = Duration::from_secs(60);

/// Returns the least time of a sequential stage without progress: its own bound breaks it off before it is given to another
/// (ORD-12).
fn least_of_sequential(worker: &Worker) -> Duration {
    worker.rules.now().max_sync_duration.saturating_add(BEYOND_THE_BOUND)
}

/// Returns the longest time of a stage without progress.
fn work_timeout(worker: &Worker, known: Option<&Known>, mode: Mode) -> Duration {
    let scenario = known.and_then(|known| known.scenario.as_ref().ok());
    let usual = worker.host.settings().recovery.work_timeout;
    let work = scenario.and_then(|scenario| scenario.timeouts.work).unwrap_or(usual);
    match mode {
        Mode::Parallel => work,
        Mode::Sequential => work.max(least_of_sequential(worker)),
    }
}

/// Largest number of versions whose time is kept: each claim sends them along.
const MOST: usize = 200;

/// Longest times of stages that scenarios say themselves, in seconds, as this node has met them.
#[derive(Clone, Debug, Default)]
pub(crate) struct WorkTimes(Arc<Mutex<BTreeMap<ScenarioNo, f64>>>);

impl WorkTimes {
    fn known(&self) -> Vec<(ScenarioNo, f64)> {
        let known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        known.iter().map(|(scenario, seconds)| (*scenario, *seconds)).collect()
    }

    /// Learns the longest times of these stages. Returns the stages whose claim did not know theirs.
    fn learn(
        &self,
        claimed: &[Claimed],
        scenarios: &[Option<Known>],
        work: &[Duration],
    ) -> Vec<(OrderNo, Pass, f64)> {
        let mut learned = BTreeMap::new();
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let mut bounds = Vec::new();
        for ((stage, scenario), work) in claimed.iter().zip(scenarios).zip(work) {
            let scenario = scenario.as_ref().and_then(|known| known.scenario.as_ref().ok());
            let Some(own) = scenario.and_then(|scenario| scenario.timeouts.work) else { continue };
            if !known.contains_key(&stage.head.scenario) {
                learned.insert(stage.head.scenario, own.as_secs_f64());
                bounds.push((stage.head.no, stage.pass, work.as_secs_f64()));
            }
        }
        if known.len() + learned.len() > MOST {
            known.clear();
        }
        known.append(&mut learned);
        bounds
    }
}

pub(crate) type Claims = (Vec<ClaimedStage>, Vec<(OfferedStage, Unclaimed)>);

pub(crate) async fn claim(worker: &Worker, hand_outs: &[OfferedStage]) -> Result<Claims, Error> {
    let begun = Instant::now();
    let host = &worker.host;
    let mut client = host.store.work().await?;
    let known = worker.work_times.known();
    stages::prepare_claim(&client).await?;
    // Before the statement: what is reckoned from here runs ahead of the database's clock by the way to it, so that no
    // wait ends sooner than its interval. Read after the answer, it would lag by all the time that the claim took.
    let claimed_at = Instant::now();
    let claimant = Claimant {
        node: host.node,
        work_seconds: host.settings().recovery.work_timeout.as_secs_f64(),
        work_seconds_of: &known,
        least_of_sequential: least_of_sequential(worker).as_secs_f64(),
    };
    let (claimed, unclaimed) = if host.store.patience().is_short() {
        let tx = client.transaction().await?;
        host.store.patience().bound(&tx).await?;
        let claims = stages::claim(&tx, &claimant, hand_outs).await?;
        tx.commit().await?;
        claims
    } else {
        stages::claim(&client, &claimant, hand_outs).await?
    };
    let scenarios = scenarios(worker, &client, &claimed).await?;
    let modes = claimed.iter().map(|stage| stage.head.mode);
    let work: Vec<Duration> =
        scenarios.iter().zip(modes).map(|(known, mode)| work_timeout(worker, known.as_ref(), mode)).collect();
    let bounds = worker.work_times.learn(&claimed, &scenarios, &work);
    if !bounds.is_empty() {
        stages::bound_work(&client, &bounds).await?;
    }
    worker.queue_heads.note(host, &client, &claimed).await;
    host.metrics.batch(metrics::Work::Claim, begun.elapsed());
    // The stages are ours; what they need besides is read now.
    let asked: Vec<i64> = claimed
        .iter()
        .zip(&scenarios)
        .filter(|(stage, known)| may_have_asked(stage, known.as_ref()))
        .map(|(stage, _)| stage.head.no.0)
        .collect();
    let mut callbacks =
        if asked.is_empty() { Default::default() } else { answers::results(&client, &asked).await? };
    let mut all: Vec<ClaimedStage> = Vec::with_capacity(claimed.len());
    for ((claimed, scenario), work) in claimed.into_iter().zip(scenarios).zip(work) {
        let callbacks = callbacks.remove(&claimed.head.no).unwrap_or_default();
        all.push(ClaimedStage { claimed, scenario, callbacks, calls: Vec::new(), work, claimed_at });
    }
    let called: Vec<(OrderNo, Life)> = all
        .iter()
        .filter(|work| work.may_be_called())
        .map(|work| (work.claimed.head.no, work.claimed.head.life))
        .collect();
    if !called.is_empty() {
        let mut pending = calls::pending(&client, &called).await?;
        for work in &mut all {
            work.calls = pending.remove(&work.claimed.head.no).unwrap_or_default();
        }
    }
    Ok((all, unclaimed))
}

/// True if there may be answers to requests of an order. They are shown for the rest of its life, not
/// only to the stage that follows their wait; most scenarios ask nothing, and are spared the question.
fn may_have_asked(stage: &Claimed, known: Option<&Known>) -> bool {
    let Some(snapshot) = stage.snapshot.as_deref() else { return false };
    let known = known.and_then(|known| known.scenario.as_ref().ok());
    // Tasks are awaited by scenarios that ask nothing, and so may be what a former version asked.
    known.is_none_or(|scenario| scenario.asks())
        || snapshot.contains("\"awaiting\"")
        || snapshot.contains("\"requests\"")
}
