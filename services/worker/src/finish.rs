//! Ends of stages: many in one transaction; news and hints below its commit.

use std::sync::Arc;
use std::time::{Duration, Instant};

use jiff::Timestamp;
use pagurus_domain::activation::Stream;
use pagurus_domain::classes::PANIC;
use pagurus_domain::id::{Attempt, OrderNo, Pass, ScenarioRef};
use pagurus_domain::number::saturated;
use pagurus_domain::order::change::LifeEnd;
use pagurus_domain::order::notification::{Content, Moved, Occasion, StoredNotify};
use pagurus_domain::order::{OrderError, ScenarioStatus, Status, stage::Then};
use pagurus_domain::subscription::ActiveSubscriptions;
use pagurus_runtime::batch::Failed;
use pagurus_runtime::metrics::{Count, Guard, Work};
use pagurus_runtime::node::chain;
use pagurus_runtime::stats::Series;
use pagurus_runtime::waits::Waits;
use pagurus_runtime::{Effects, Host};
use pagurus_scenario::stage::{CallMade, LogLine, StageEnd, Transition};
use pagurus_store::hot::outbox::{self, NewNotification};
use pagurus_store::hot::stages::{self, Claimed, EndsTaken, Finished, Followed};
use pagurus_store::recovery::suspensions;
use pagurus_store::{Error, beside};
use pagurus_wire::message::EndedStage;
use serde_json::Value;

use crate::order_log::{LoggedStage, error_of};
use crate::record::record;
use crate::samples::Samples;
use crate::{Worker, order_log, stage_trace};

/// A run of a stage, as it is known before its outcome.
#[derive(Clone, Debug)]
pub(crate) struct StageOutline {
    pub scenario: Option<ScenarioRef>,
    pub has_begun: bool,
    pub has_deadlines: bool,
    pub takes_calls: bool,
    /// Trace that its notifications go on with, if other than the order's.
    pub trace: Option<String>,
    pub duration: Duration,
}

impl StageOutline {
    /// The end with which an order goes on like this.
    fn finished(&self, claimed: &Claimed, then: Then, scenario_status: ScenarioStatus) -> Finished {
        Finished {
            has_begun: self.has_begun,
            has_deadlines: self.has_deadlines,
            takes_calls: self.takes_calls,
            ended_at: claimed.now.checked_add(self.duration).unwrap_or(claimed.now),
            ..Finished::of(claimed, then, scenario_status)
        }
    }
}

/// The end of a stage with what is needed to write it and to notify others.
#[derive(Debug)]
pub(crate) struct StageFinish {
    pub claimed: Arc<Claimed>,
    pub finished: Finished,
    pub run: StageOutline,
    result: Option<Value>,
    /// Calls of systems that it made.
    calls: Vec<CallMade>,
    /// True if it is held before a call: it has not done its work yet.
    is_held: bool,
    /// Event of its last transition; none where it moved nowhere.
    pub event: Option<String>,
    /// Transitions to be notified.
    moves: Vec<Transition>,
}

impl StageFinish {
    /// Makes the end from what the stage left behind, or from the error that kept it from running.
    pub fn new(
        claimed: Arc<Claimed>,
        run: StageOutline,
        outcome: Result<Box<StageEnd>, OrderError>,
        now: Timestamp,
    ) -> Self {
        match outcome {
            Ok(end) => Self::of_stage(claimed, run, *end, now),
            Err(error) => Self::of_error(claimed, run, error, now),
        }
    }

    fn of_stage(claimed: Arc<Claimed>, run: StageOutline, end: StageEnd, now: Timestamp) -> Self {
        let history = record(&claimed, (&end.transitions, &end.log, &end.steps), Some((&end.then, now)));
        let visited = end.snapshot.visited();
        let result = end.snapshot.result.clone();
        let message = end.snapshot.message.clone();
        let handles_call = end.snapshot.handling.is_some();
        let moved_by = end.snapshot.mover.as_ref().map(|call| call.no);
        let is_held = matches!(end.then, Then::Hold { .. })
            && end.snapshot.hold().is_some_and(|hold| hold.system.is_some());
        let kept = end.snapshot.kept_behind(&end.then);
        let finished = Finished {
            step: Some(end.step),
            entry_point: end.entry_point,
            visited,
            distance: end.distance.and_then(|distance| i32::try_from(distance).ok()),
            result: result.as_ref().map(ToString::to_string),
            message,
            snapshot: kept.map(|snapshot| snapshot.to_text()),
            had_snapshot: claimed.snapshot.is_some() || end.saved,
            released: end.released,
            history,
            handles_call,
            moved_by,
            answers: end.answers,
            asked: end.asked,
            cancels: end.cancels,
            gives_up: end.gives_up,
            ..run.finished(&claimed, end.then, end.scenario_status)
        };
        let event = end.transitions.last().map(|moved| moved.event.to_string());
        let moves = if wants_moves(&claimed) { end.transitions } else { Vec::new() };
        Self { claimed, finished, run, result, calls: end.calls, is_held, event, moves }
    }

    fn of_error(claimed: Arc<Claimed>, run: StageOutline, error: OrderError, now: Timestamp) -> Self {
        // Nothing was executed, or nothing that counts.
        let then = Then::failed(error.clone());
        let text = format!("{}: {}", error.class.as_deref().unwrap_or_default(), error.message);
        let history = record(&claimed, (&[], &[LogLine { at: now, text }], &[]), Some((&then, now)));
        let finished = Finished {
            history,
            // The stored snapshot stays as it is: a restart goes on with it.
            had_snapshot: false,
            // Nobody looked at its scenario.
            gives_up: true,
            ..run.finished(&claimed, then, ScenarioStatus::Failed)
        };
        Self {
            claimed,
            finished,
            run,
            result: None,
            calls: Vec::new(),
            is_held: false,
            event: None,
            moves: Vec::new(),
        }
    }

    /// Returns the notifications of this stage: of its transitions, and of the end of the life, if it is one.
    fn notifications(&self, finished_at: Timestamp, standing: &ActiveSubscriptions) -> Vec<NewNotification> {
        let mut notifications = moves(&self.claimed, self.run.scenario.as_ref(), &self.moves);
        let Then::End { status, scenario_status, error } = &self.finished.then else { return notifications };
        let claimed = &self.claimed;
        let scenario = self.run.scenario.as_ref();
        let content = Content {
            order: &claimed.head,
            scenario: scenario.map_or("", |scenario| &scenario.name),
            scenario_version: scenario.map_or(0, |scenario| scenario.version),
            status: *status,
            scenario_status: *scenario_status,
            step: self.finished.step.as_deref(),
            result: self.result.as_ref(),
            message: self.finished.message.as_deref(),
            error: error.as_ref(),
            started_at: claimed.head.started_at.or(self.finished.has_begun.then_some(claimed.now)),
            finished_at,
            stages: claimed.head.stages + i32::from(self.finished.ran()),
            retries: claimed.head.retries + i32::from(self.finished.repeated()),
        };
        notifications.extend(NewNotification::of(&content, LifeEnd::First, standing));
        if let Some(trace) = &self.run.trace {
            notifications.iter_mut().for_each(|one| one.trace = Some(trace.clone()));
        }
        notifications
    }
}

impl StageFinish {
    /// Returns the order, if it is suspended now and somebody wants to be notified if it stays so. A sleep is as long as
    /// its scenario says: it is no standing still.
    fn may_stand_still(&self, standing: &ActiveSubscriptions) -> Option<(OrderNo, Attempt)> {
        let suspended = matches!(
            self.finished.then,
            Then::Retry { .. } | Then::Wait { .. } | Then::Hold { .. } | Then::Poll { .. }
        );
        let (head, scenario) = (&self.claimed.head, self.run.scenario.as_ref().filter(|_| suspended)?);
        let status = self.finished.then.status();
        let mut subscribed = standing.wanting(Occasion::Parked, &scenario.name, &head.labels, status);
        let is_wanted =
            StoredNotify::is_wanted(head.notify.as_deref(), Occasion::Parked) || subscribed.next().is_some();
        is_wanted.then_some((self.finished.no, self.finished.attempt))
    }
}

/// True if the client wants to be notified of transitions.
pub(crate) fn wants_moves(claimed: &Claimed) -> bool {
    StoredNotify::is_wanted(claimed.head.notify.as_deref(), Occasion::Transitions)
}

/// Returns the notifications of transitions, if the client wants them.
pub(crate) fn moves(
    claimed: &Claimed,
    scenario: Option<&ScenarioRef>,
    transitions: &[Transition],
) -> Vec<NewNotification> {
    let Some(scenario) = scenario else { return Vec::new() };
    let moves = transitions.iter().map(|moved| Moved {
        order: &claimed.head,
        scenario: &scenario.name,
        scenario_version: scenario.version,
        from: &moved.from,
        event: &moved.event,
        to: &moved.to,
        at: moved.at,
    });
    NewNotification::of_moves(&claimed.head, moves)
}

/// Hands an end in and waits until it is written, or found stale.
pub(crate) async fn submit(worker: &Worker, end: StageFinish) {
    let end = Arc::new(end);
    match hand_in(worker, &end).await {
        Ok(true) | Err(Failed::Gone(_)) => {}
        Ok(false) => tracing::info!(
            order = end.claimed.head.id,
            transaction = end.claimed.head.transaction_id,
            trace = stage_trace::trace_id(&worker.host, &end.claimed),
            attempt = end.claimed.attempt.0,
            "the end of a stage came too late: it is somebody else's by now"
        ),
        Err(Failed::Handler(error)) => {
            tracing::error!(
                order = end.claimed.head.id,
                transaction = end.claimed.head.transaction_id,
                trace = stage_trace::trace_id(&worker.host, &end.claimed),
                error = chain(&*error),
                "the end of a stage cannot be stored"
            );
            let failure =
                OrderError::new(PANIC, format!("the end of the stage could not be stored: {error}"));
            let now = end.finished.started_at;
            let failed = StageFinish::new(end.claimed.clone(), end.run.clone(), Err(failure), now);
            if let Err(Failed::Handler(_)) = hand_in(worker, &Arc::new(failed)).await {
                // What cannot be stored even so stays held until it is found overdue, and is poison
                // in the end; dropped, it would be begun again at once, and again.
                std::future::pending::<()>().await;
            }
        }
    }
}

/// Hands an end in. While somebody has locked its order it is tried again in a lane of its own: the
/// others go on meanwhile.
async fn hand_in(worker: &Worker, end: &Arc<StageFinish>) -> Result<bool, Failed<Arc<Error>>> {
    let mut waits = WAITS;
    let mut outcome = worker.ends.submit(end.clone()).await;
    while matches!(&outcome, Err(Failed::Handler(error)) if error.is_contention()) {
        waits.pause().await;
        outcome = worker.locked_ends.submit(end.clone()).await;
    }
    outcome
}

/// Pauses before the end of a stage is written again.
const WAITS: Waits = Waits::between(Duration::from_millis(20), Duration::from_secs(2));

/// Writes a batch of ends; returns whether each was still ours to write. Waits out what passes: a result
/// that was worked for is not dropped because the database is away. A lock is an error instead, so that
/// it holds up one end and not the batch.
pub(crate) async fn write(host: &Host, batch: &[Arc<StageFinish>]) -> Result<Vec<bool>, Error> {
    let begun = Instant::now();
    let mut waits = WAITS;
    let written = loop {
        match try_write(host, batch).await {
            Ok(written) => break written,
            Err(error) if error.is_contention() => {
                host.store.patience().note(&error);
                return Err(error);
            }
            Err(error) if error.is_transient() => {
                host.metrics.count(Count::StoreErrors, "finish", 1);
                tracing::warn!(error = chain(&error), ends = batch.len(), "ends could not be written yet");
                waits.pause().await;
            }
            Err(error) => return Err(error),
        }
    };
    host.metrics.batch(Work::Finish, begun.elapsed());
    let stale = written.applied.iter().filter(|applied| !**applied).count();
    host.metrics.guard_refused(Guard::Finish, stale);
    let applied = written.applied.clone();
    tell(host, batch, written).await;
    Ok(applied)
}

struct FinishOutcome {
    applied: Vec<bool>,
    followed: Followed,
    notifications: Vec<NewNotification>,
}

async fn try_write(host: &Host, batch: &[Arc<StageFinish>]) -> Result<FinishOutcome, Error> {
    // In order of the rows' key, as everywhere: two batches never wait for each other.
    let mut sorted: Vec<&StageFinish> = batch.iter().map(|end| &**end).collect();
    sorted.sort_by_key(|end| end.finished.no);
    let stages: Vec<(OrderNo, Pass)> =
        sorted.iter().map(|end| (end.finished.no, end.finished.pass)).collect();
    let mut client = host.store.work().await?;
    let tx = client.transaction().await?;
    host.store.patience().bound(&tx).await?;
    let EndsTaken { times: ours, revision } = stages::take_ends(&tx, &stages).await?;
    let standing = host.store.standing().at(revision, &tx).await?;
    let applied: Vec<_> = sorted.into_iter().filter(|end| ours.contains_key(&end.finished.no)).collect();
    let notifications: Vec<NewNotification> =
        applied.iter().flat_map(|end| end.notifications(ours[&end.finished.no], &standing)).collect();
    let finished: Vec<&Finished> = applied.iter().map(|end| &end.finished).collect();
    let groups = host.settings().activation.groups;
    let still: Vec<(OrderNo, Attempt)> =
        applied.iter().filter_map(|end| end.may_stand_still(&standing)).collect();
    let parked_after = host.settings().notify.parked_after;
    let (followed, (), ()) = tokio::try_join!(
        beside(stages::finish(&tx, &host.name, &finished, &groups)),
        beside(outbox::put(&tx, &notifications)),
        beside(suspensions::watch(&tx, &still, parked_after)),
    )?;
    tx.commit().await?;
    Ok(FinishOutcome {
        applied: batch.iter().map(|end| ours.contains_key(&end.finished.no)).collect(),
        followed,
        notifications,
    })
}

/// Sends news to the others, below the commit: all of it hints.
async fn tell(host: &Host, batch: &[Arc<StageFinish>], written: FinishOutcome) {
    let Followed { ready, mut requests } = written.followed;
    let (mut effects, mut samples) = (Effects::of_ready(&ready), Samples::default());
    for (end, _) in batch.iter().zip(&written.applied).filter(|(_, applied)| **applied) {
        let finished = &end.finished;
        count(host, end);
        let scenario = end.run.scenario.as_ref().map_or("", |scenario| &scenario.name);
        let stage = LoggedStage {
            claimed: &end.claimed,
            finished,
            scenario,
            event: end.event.as_deref(),
            duration: end.run.duration,
        };
        order_log::stage_ended(host, &stage);
        let class = error_of(&finished.then).and_then(|error| error.class.clone());
        effects.ended.push(EndedStage {
            no: finished.no.0,
            attempt: finished.attempt.0,
            node: host.node.0,
            left_queue: finished.queue.clone().filter(|_| finished.leaves_queue()),
            duration_ms: saturated::<u64>(end.run.duration.as_millis()),
            waited_ms: (!end.is_held).then(|| end.claimed.waited_ms()),
            class,
        });
        samples.add(&end.claimed.flow, scenario, &end.calls);
        effects.moves(&end.claimed.flow, requests.remove(&finished.no).into_iter().flatten());
        if let Some((stream, at)) = timer(finished, host) {
            effects.timer(stream, at);
        }
    }
    effects.notifications = written.notifications;
    effects.calls = samples.news();
    effects.send(host).await;
}

/// Counts a stage, and the life that it ended.
fn count(host: &Host, end: &StageFinish) {
    let then = &end.finished.then;
    let status = then.status();
    host.metrics.count(Count::Stages, status.as_str(), 1);
    host.stats.time(Series::Stages, status.as_str(), end.run.duration);
    if end.is_held || status == Status::Retry {
        host.stats.count(Series::FlowRepeats, &end.claimed.flow);
    } else {
        host.stats.time(Series::FlowStages, &end.claimed.flow, end.run.duration);
        host.stats.time(Series::FlowWaits, &end.claimed.flow, Duration::from_millis(end.claimed.waited_ms()));
    }
    if let Some(error) = error_of(then) {
        host.stats.error(error);
        let class = error.class.as_deref().unwrap_or_default();
        host.metrics.count_by(Count::StageErrors, &[&end.claimed.flow, class], 1);
    }
    let scenario = end.run.scenario.as_ref().map_or("", |scenario| &scenario.name);
    host.count_end(scenario, status, &end.claimed.head.labels);
}

fn timer(finished: &Finished, host: &Host) -> Option<(Stream, Timestamp)> {
    finished.timer(&host.settings().activation.groups)
}
