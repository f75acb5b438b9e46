//! Claims: stages that become this worker's, with everything they need.

use crate::Worker;
use pagurus_domain::id::{Life, OrderNo, ScenarioNo};
use pagurus_domain::scenario::stage::Call;
use pagurus_runtime::metrics::Span;
use pagurus_runtime::scenarios::Known;
use pagurus_store::answers::Accepted;
use pagurus_store::stages::{self, Claimed, OfferedStage, Unclaimed};
use pagurus_store::{Error, Tx, answers, calls};
use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::time::Instant;

/// A stage that is ours, with everything it needs.
pub(crate) struct Work {
    pub claimed: Claimed,
    pub scenario: Option<Known>,
    pub callbacks: Vec<Accepted>,
    pub calls: Vec<Call>,
    /// Moment at which the claim read the database's clock.
    pub claimed_at: Instant,
}

impl Work {
    /// True where calls from outside may wait for it: only an order that rested handles them.
    fn may_be_called(&self) -> bool {
        let scenario = self.scenario.as_ref().and_then(|known| known.scenario.as_ref().ok());
        self.claimed.snapshot.is_some() && scenario.is_some_and(|scenario| scenario.takes_calls())
    }
}

/// The version of each stage; one that this node does not have compiled is read first.
async fn scenarios(worker: &Worker, tx: &Tx<'_>, claimed: &[Claimed]) -> Result<Vec<Option<Known>>, Error> {
    // Each once: one that was read for this batch may have left memory for another of it.
    let mut known: HashMap<ScenarioNo, Option<Known>> = HashMap::new();
    for stage in claimed {
        if let Entry::Vacant(missing) = known.entry(stage.head.scenario) {
            missing.insert(worker.catalogue.get(tx, stage.head.scenario).await?);
        }
    }
    Ok(claimed.iter().map(|stage| known.get(&stage.head.scenario).cloned().flatten()).collect())
}

/// Longest time of a stage of this scenario, in seconds.
fn work_timeout(worker: &Worker, known: Option<&Known>) -> f64 {
    let scenario = known.and_then(|known| known.scenario.as_ref().ok());
    let usual = worker.host.settings().recovery.work_timeout;
    scenario.and_then(|scenario| scenario.timeouts.work).unwrap_or(usual).as_secs_f64()
}

pub(crate) type Claims = (Vec<Work>, Vec<(OfferedStage, Unclaimed)>);

pub(crate) async fn claim(worker: &Worker, hand_outs: &[OfferedStage]) -> Result<Claims, Error> {
    let begun = Instant::now();
    let host = &worker.host;
    let mut client = host.store.work().await?;
    let tx = client.transaction().await?;
    host.store.patience().bound(&tx).await?;
    let (claimed, unclaimed) = stages::claim(&tx, hand_outs).await?;
    let claimed_at = Instant::now();
    let scenarios = scenarios(worker, &tx, &claimed).await?;
    let work: Vec<f64> = scenarios.iter().map(|known| work_timeout(worker, known.as_ref())).collect();
    stages::run(&tx, host.node, &claimed, &work).await?;
    tx.commit().await?;
    host.metrics.span(Span::Batch, "claim", begun.elapsed());
    // Below the commit the stages are ours; what they need besides is read now.
    let asked: Vec<i64> = claimed
        .iter()
        .zip(&scenarios)
        .filter(|(stage, known)| may_have_asked(stage, known.as_ref()))
        .map(|(stage, _)| stage.head.no.0)
        .collect();
    let mut callbacks =
        if asked.is_empty() { Default::default() } else { answers::results(&client, &asked).await? };
    let mut all: Vec<Work> = Vec::with_capacity(claimed.len());
    for (claimed, scenario) in claimed.into_iter().zip(scenarios) {
        let callbacks = callbacks.remove(&claimed.head.no).unwrap_or_default();
        all.push(Work { claimed, scenario, callbacks, calls: Vec::new(), claimed_at });
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

/// True where there may be answers to requests of an order. They are shown for the rest of its life, not
/// only to the stage that follows their wait; most scenarios ask nothing, and are spared the question.
fn may_have_asked(stage: &Claimed, known: Option<&Known>) -> bool {
    let Some(snapshot) = stage.snapshot.as_deref() else { return false };
    let known = known.and_then(|known| known.scenario.as_ref().ok());
    // Tasks are awaited by scenarios that ask nothing, and so may be what a former version asked.
    known.is_none_or(|scenario| scenario.asks())
        || snapshot.contains("\"awaiting\"")
        || snapshot.contains("\"requests\"")
}
