//! One stage: the only place where the interpreter meets the world.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::{Duration, Instant};

use futures_util::FutureExt as _;
use jiff::Timestamp;
use pagurus_domain::classes::{DEADLINE_EXCEEDED, INCONSISTENT, PANIC, SCENARIO_UNREADABLE};
use pagurus_domain::folded::Folded;
use pagurus_domain::id::{Life, ScenarioRef};
use pagurus_domain::number::saturated;
use pagurus_domain::order::{OrderError, Status};
use pagurus_domain::trace::TraceContext;
use pagurus_runtime::Effects;
use pagurus_runtime::batch::Failed;
use pagurus_runtime::compute::ScenarioCode;
use pagurus_runtime::metrics::{Count, Guard, Span};
use pagurus_runtime::node::chain;
use pagurus_runtime::traces::TraceSpan;
use pagurus_scenario::Scenario;
use pagurus_scenario::stage::{
    Answer, Call, Callback, Facts, Input, Need, Snapshot, Stage, StageEnd, StageSettings,
};
use pagurus_store::Error;
use pagurus_store::hot::requests::NewRequest;
use pagurus_store::hot::stages::{self, Claimed};
use pagurus_store::outside::answers::Accepted;
use pagurus_wire::message::Left;

use crate::claim::ClaimedStage;
use crate::clock::StageClock;
use crate::finish::{self, StageFinish, StageOutline};
use crate::hanging::CallOrigin;
use crate::memory::Share;
use crate::progress::{Pace, Stale};
use crate::trouble::StageTrouble;
use crate::turn::StageTurns;
use crate::{Worker, brought, progress, stage_trace, traced};

/// Parameters, variables and callbacks that an order brings along.
struct Brought {
    /// `None` if they are long.
    params: Option<String>,
    callbacks: Vec<Accepted>,
    calls: Vec<Call>,
}

/// Values that an order brings along, read.
struct Read {
    values: (Option<String>, Vec<Callback>),
    calls: Vec<Call>,
}

/// Version of the scenario of an order.
struct ScenarioVersion {
    scenario: Arc<Scenario>,
    reference: ScenarioRef,
    code: Arc<ScenarioCode>,
}

/// Reasons for which a stage comes to no end of its own.
enum NoEnd {
    /// The order fails.
    Failed(OrderError),
    /// The stage is somebody else's now, who writes its end.
    Stale,
}

impl From<OrderError> for NoEnd {
    fn from(error: OrderError) -> Self {
        Self::Failed(error)
    }
}

impl From<Stale> for NoEnd {
    fn from(_: Stale) -> Self {
        Self::Stale
    }
}

/// Runs a stage to its end and has the end written.
pub(crate) async fn run(worker: &Worker, work: ClaimedStage) {
    let begun = work.claimed_at;
    let mut span = traced::stage(&worker.host, &work);
    let mut claimed = work.claimed;
    let brought = Brought { params: claimed.params.take(), callbacks: work.callbacks, calls: work.calls };
    let claimed = Arc::new(claimed);
    let clock = StageClock::since(claimed.now, work.claimed_at);
    let scenario = match &work.scenario {
        Some(known) => {
            let scenario = known.scenario.clone().map_err(|why| why.to_string());
            scenario.map(|scenario| ScenarioVersion {
                scenario,
                reference: known.reference.clone(),
                code: known.code.clone(),
            })
        }
        None => Err("its version is not stored".to_owned()),
    };
    let name = work.scenario.as_ref().map(|known| known.reference.clone());
    let waited = Duration::from_millis(claimed.waited_ms());
    worker.host.metrics.span(Span::ReadyWait, claimed.head.mode.as_str(), waited);
    let has_deadlines = claimed.start_deadline.is_some()
        || worker.host.settings().recovery.process_timeout.is_some()
        || scenario.as_ref().is_ok_and(|version| version.scenario.timeouts.process.is_some());
    let takes_calls = scenario.as_ref().is_ok_and(|version| version.scenario.takes_calls());
    let is_missed = missed_deadline(&claimed);
    let has_begun = !is_missed && scenario.is_ok();
    if has_begun {
        note_start(worker, &claimed, name.as_ref().map_or("", |name| &name.name));
    }
    let outcome = if is_missed {
        worker.host.metrics.count(Count::StartMissed, name.as_ref().map_or("", |name| &name.name), 1);
        Err(broken(DEADLINE_EXCEEDED, "the deadline to start had passed before anything was executed").into())
    } else {
        match scenario {
            Err(why) => {
                Err(broken(SCENARIO_UNREADABLE, &format!("the scenario cannot be read: {why}")).into())
            }
            Ok(scenario) => drive_alone(worker, &claimed, scenario, brought, work.work, &clock, &span).await,
        }
    };
    let outcome = match outcome {
        Ok(end) => Ok(end),
        Err(NoEnd::Failed(error)) => Err(error),
        Err(NoEnd::Stale) => {
            worker.host.metrics.guard_refused(Guard::Register, 1);
            traced::stale(&mut span);
            return;
        }
    };
    let run = StageOutline {
        scenario: name,
        has_begun,
        has_deadlines,
        takes_calls,
        trace: span.context().filter(|_| worker.host.traces.is_on()).map(TraceContext::stored),
        duration: begun.elapsed(),
    };
    let end = StageFinish::new(claimed, run, outcome, clock.now());
    traced::ended(&mut span, &end);
    let status = end.finished.then.status();
    worker.host.metrics.span(Span::Stage, status.as_str(), begun.elapsed());
    finish::submit(worker, end).await;
}

fn note_start(worker: &Worker, claimed: &Claimed, scenario: &str) {
    if claimed.head.started_at.is_none() && claimed.restarts == 0 {
        // A restart is a request of its own: what was before it is no delay.
        let requested =
            if claimed.head.life == Life::FIRST { claimed.head.created_at } else { claimed.since };
        let delay = claimed.now.as_millisecond().saturating_sub(requested.as_millisecond());
        worker.host.metrics.count(Count::Started, scenario, 1);
        let delay = Duration::from_millis(saturated::<u64>(delay));
        worker.host.metrics.span(Span::StartDelay, scenario, delay);
    }
}

fn missed_deadline(claimed: &Claimed) -> bool {
    let waiting = matches!(claimed.status, Status::New | Status::Postponed | Status::Reopen);
    waiting
        && claimed.head.started_at.is_none()
        && claimed.restarts == 0
        && claimed.start_deadline.is_some_and(|deadline| deadline < claimed.now)
}

/// True if an order has a position to go on from.
const fn is_suspended(status: Status) -> bool {
    matches!(status, Status::Sleep | Status::Wait | Status::Polling | Status::Retry)
}

fn broken(class: &str, message: &str) -> OrderError {
    OrderError::new(class, message)
}

/// Drives a stage so that a defect of ours in it ends that stage, and not the worker.
async fn drive_alone(
    worker: &Worker,
    claimed: &Arc<Claimed>,
    version: ScenarioVersion,
    brought: Brought,
    work: Duration,
    clock: &StageClock,
    span: &TraceSpan,
) -> Result<Box<StageEnd>, NoEnd> {
    let driven = AssertUnwindSafe(drive(worker, claimed, version, brought, work, clock, span));
    driven.catch_unwind().await.unwrap_or_else(|_| {
        tracing::error!(
            order = claimed.head.id,
            transaction = claimed.head.transaction_id,
            trace = stage_trace::trace_id(&worker.host, claimed),
            "the stage panicked"
        );
        Err(broken(PANIC, "a defect of the engine ended the stage; its log says more").into())
    })
}

async fn drive(
    worker: &Worker,
    claimed: &Arc<Claimed>,
    version: ScenarioVersion,
    brought: Brought,
    work: Duration,
    clock: &StageClock,
    span: &TraceSpan,
) -> Result<Box<StageEnd>, NoEnd> {
    let ScenarioVersion { scenario, reference, code } = version;
    let share = worker.memory.share();
    let Brought { params, callbacks, calls } = brought;
    let brought = Read { values: brought::read(worker, claimed, params, callbacks, &share).await, calls };
    let turns = StageTurns { worker, claimed, code };
    let (of_order, rules, now) = (claimed.clone(), worker.rules.now(), clock.now());
    let (mut stage, mut need) = turns.run(move || resume(scenario, rules, &of_order, brought, now)).await?;
    let mut pace = Pace::since(claimed.now, work);
    let mut noted = 0;
    loop {
        progress::keep_up(worker, claimed, &mut pace, &need, clock).await?;
        // What can be made again is not held while the world is asked.
        stage.fold();
        share.settle(stage.held_bytes()).await;
        let settings = worker.host.settings();
        let names = &settings.systems.names;
        let vhost = worker.host.broker.vhost();
        let longest = settings.systems.rules.max_retry_after;
        // The next call of the same stage is held as well.
        let calls = stage.calls();
        worker.closed.note(calls.get(noted..).unwrap_or_default(), longest, Instant::now());
        noted = calls.len();
        let held = worker.closed.holds(&need, names, vhost, clock.now(), rand::random());
        let answer = match (held, need) {
            (Some(held), _) => held,
            (None, Need::Done(end)) => return Ok(end),
            (None, Need::Save(reached)) => {
                Box::pin(progress::enter(worker, claimed, &mut pace, *reached, &reference, clock)).await?;
                Answer::Saved
            }
            (None, need) => {
                worker.held.note((claimed.head.no, claimed.attempt), stage.asking());
                ask(worker, claimed, &reference.name, need, &share, span.context()).await?
            }
        };
        let (now, dice) = (clock.now(), rand::random());
        let turn = move || {
            let need = stage.answer(answer, now, dice);
            (stage, need)
        };
        (stage, need) = turns.run(turn).await;
    }
}

/// Takes the stage up where the order rests; returns it with its first need.
fn resume(
    scenario: Arc<Scenario>,
    rules: Arc<StageSettings>,
    claimed: &Claimed,
    Read { values: (params, callbacks), calls }: Read,
    now: Timestamp,
) -> Result<(Stage, Need), OrderError> {
    let snapshot = match claimed.snapshot.as_deref().map(read_snapshot).transpose()? {
        Some(snapshot) => snapshot,
        // Begun again from the initial state, it would do all that it did before a second time.
        None if is_suspended(claimed.status) => {
            return Err(broken(INCONSISTENT, "the stored position of the order is missing"));
        }
        None => Snapshot::default(),
    };
    let input = Input {
        params: read_params(params.as_deref())?,
        callbacks,
        calls,
        snapshot,
        wake: claimed.wake,
        due_at: claimed.since,
        dice: rand::random(),
    };
    let mut stage = Stage::resume(scenario, rules, facts(claimed), input, now)
        .map_err(|error| broken(SCENARIO_UNREADABLE, &error.to_string()))?;
    let need = stage.next(now);
    Ok((stage, need))
}

/// Asks the world. The future of each running stage has room for the largest of these: all but the most frequent are
/// boxed.
async fn ask(
    worker: &Worker,
    claimed: &Claimed,
    scenario: &str,
    need: Need,
    share: &Share,
    trace: Option<&TraceContext>,
) -> Result<Answer, Stale> {
    let by = CallOrigin { flow: &claimed.flow, scenario };
    Ok(match need {
        Need::Register { name, visit, action, hand_out, task, cancel } => {
            let request = NewRequest {
                no: claimed.head.no,
                pass: claimed.pass,
                life: claimed.head.life,
                visit,
                action,
                hand_out,
                name,
                task,
                cancel,
            };
            Box::pin(register(worker, claimed, request)).await?
        }
        Need::Http(call) => worker.outbound.http(call, by, trace, share).await,
        Need::Parallel(calls) => {
            let made = calls.into_iter().map(|call| worker.outbound.request(call, Some(by), trace, share));
            Answer::Parallel(Box::pin(futures_util::future::join_all(made)).await)
        }
        Need::Publish(message) => Box::pin(worker.outbound.publish(&message, trace)).await,
        Need::Task(task) => Box::pin(worker.outbound.queue_task(&task, trace)).await,
        Need::Release => Box::pin(release(worker, claimed)).await?,
        Need::Order(child) => Box::pin(worker.children.start(worker, claimed, &child, trace)).await,
        // The loop that drives the stage has taken these.
        Need::Done(_) | Need::Save(_) => Answer::Saved,
    })
}

fn facts(claimed: &Claimed) -> Facts {
    Facts {
        id: claimed.head.id.clone(),
        transaction_id: claimed.head.transaction_id.clone(),
        labels: claimed.head.labels.clone(),
        life: claimed.head.life.0,
        mode: claimed.head.mode,
        queue: claimed.queue_name.clone(),
        holds_queue: claimed.queue.is_some(),
        attempt: claimed.attempt.0,
        created_at: claimed.head.created_at,
    }
}

fn read_snapshot(text: &str) -> Result<Snapshot, OrderError> {
    Snapshot::from_text(text).map_err(|error| broken(SCENARIO_UNREADABLE, &error.to_string()))
}

/// Reads the parameters of an order; without them nothing of it can be executed, and nobody else can help.
fn read_params(stored: Option<&str>) -> Result<Folded, OrderError> {
    let stored =
        stored.ok_or_else(|| broken(INCONSISTENT, "the stored parameters of the order are missing"))?;
    Folded::read(stored)
        .map_err(|error| broken(INCONSISTENT, &format!("the stored parameters cannot be read: {error}")))
}

/// Stores a request before it is sent; waits for the database as long as the stage may.
async fn register(worker: &Worker, claimed: &Claimed, request: NewRequest) -> Result<Answer, Stale> {
    let mut trouble = StageTrouble::with(worker, claimed, "request");
    loop {
        match worker.registrations.submit(request.clone()).await {
            Ok(Some(id)) => return Ok(Answer::Registered(id)),
            Ok(None) | Err(Failed::Gone(_)) => return Err(Stale),
            Err(Failed::Handler(error)) => {
                trouble.wait_out(&chain(&*error)).await;
            }
        }
    }
}

/// Gives the queue of a running order up, so that the next one of it may run (ORD-13); waits for the
/// database as long as the stage may.
async fn release(worker: &Worker, claimed: &Claimed) -> Result<Answer, Stale> {
    let mut trouble = StageTrouble::with(worker, claimed, "release");
    loop {
        match try_release(worker, claimed).await {
            Ok(true) => break,
            Ok(false) => return Err(Stale),
            Err(error) => {
                trouble.wait_out(&chain(&error)).await;
            }
        }
    }
    let left = vec![Left { no: claimed.head.no.0, attempt: None, queue: claimed.queue.clone() }];
    Effects { left, ..Effects::default() }.send(&worker.host).await;
    Ok(Answer::Released)
}

async fn try_release(worker: &Worker, claimed: &Claimed) -> Result<bool, Error> {
    let mut client = worker.host.store.work().await?;
    let tx = client.transaction().await?;
    let ours = stages::give_queue_up(&tx, claimed.head.no, claimed.pass).await?;
    tx.commit().await?;
    Ok(ours)
}
