//! Calls by which called systems learn that an answer is not wanted any more (SCN-22). Each was written by the transaction that
//! gave the request up; here it is made, by whichever worker is there, until it was taken or a day is over. Secrets are put in now.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use jiff::Timestamp;
use pagurus_domain::order::notification::delay;
use pagurus_runtime::Host;
use pagurus_runtime::node::chain;
use pagurus_runtime::secrets::DeploymentSecrets;
use pagurus_runtime::task::{BackgroundTask, NextTurn, TurnPause};
use pagurus_scenario::stage::{Answer, CancelCall, HttpCall, HttpFailure, Need, Response};
use pagurus_scenario::xml;
use pagurus_store::Error;
use pagurus_store::hot::cancellations::{self, Cancellation};
use pagurus_store::hot::history;
use serde_json::json;
use tokio::task::JoinSet;

use crate::Worker;

/// Interval between two looks.
const EVERY: Duration = Duration::from_secs(1);
/// Calls of one worker at a time, and those of one called system.
const AT_ONCE: usize = 32;
const AT_ONCE_OF_SYSTEM: usize = 4;
/// Pause of what finds its system at work already.
const NEXT_TURN: Duration = Duration::from_secs(1);
/// Time for which others are kept off what was taken, beyond the time of the call: to write its outcome.
const BESIDE_THE_CALL: Duration = Duration::from_secs(10);
/// Shortest and longest pause between two attempts.
const PAUSE: (Duration, Duration) = (Duration::from_secs(1), Duration::from_secs(10 * 60));
/// Time after which it is given up: an answer that nobody wants costs less than a call that is made for ever.
const LONGEST: Duration = Duration::from_secs(24 * 3600);
/// Longest error that is kept, in bytes.
const MAX_ERROR_BYTES: usize = 500;

/// The calls of this worker.
pub(crate) struct Cancellations {
    worker: Arc<Worker>,
    secrets: Arc<DeploymentSecrets>,
    calls: JoinSet<()>,
    /// Calls under way by called system.
    systems: Arc<Mutex<HashMap<String, usize>>>,
}

/// Outcome of an attempt.
enum CancelOutcome {
    Taken(String),
    /// Nothing that is repeated would help.
    Refused(String),
    Failed(String),
}

impl Cancellations {
    pub fn new(worker: Arc<Worker>) -> Self {
        let secrets = Arc::new(DeploymentSecrets::of(&worker.host.live));
        Self { worker, secrets, calls: JoinSet::new(), systems: Arc::default() }
    }

    async fn take(&self, host: &Host) -> Result<Vec<Cancellation>, Error> {
        let room = AT_ONCE.saturating_sub(self.calls.len());
        if room == 0 {
            return Ok(Vec::new());
        }
        let client = host.store.recovery().await?;
        cancellations::take(&client, i64::try_from(room).unwrap_or(i64::MAX), BESIDE_THE_CALL).await
    }
}

impl BackgroundTask for Cancellations {
    const PAUSE: TurnPause = |_| EVERY;

    async fn turn(&mut self, host: &Host) -> NextTurn {
        while self.calls.try_join_next().is_some() {}
        let taken = match self.take(host).await {
            Ok(taken) => taken,
            Err(error) => {
                tracing::warn!(error = chain(&error), "calls that give requests up cannot be read");
                return NextTurn::AfterPause;
            }
        };
        let is_full = taken.len() >= AT_ONCE;
        for one in taken {
            let (worker, secrets, systems) =
                (self.worker.clone(), self.secrets.clone(), self.systems.clone());
            let work = host.piece_of_work();
            self.calls.spawn(async move {
                if let Err(error) = carry_out(&worker, &secrets, &systems, &one).await {
                    // Its lease ends, and it is made again.
                    tracing::warn!(
                        error = chain(&error),
                        "the outcome of a call that gives a request up is not written"
                    );
                }
                drop(work);
            });
        }
        if is_full { NextTurn::AtOnce } else { NextTurn::AfterPause }
    }
}

/// Makes a call, and writes its outcome.
async fn carry_out(
    worker: &Worker,
    secrets: &DeploymentSecrets,
    systems: &Mutex<HashMap<String, usize>>,
    one: &Cancellation,
) -> Result<(), Error> {
    let stored = CancelCall::read(&one.call).map_err(|error| error.to_string());
    let call = stored.and_then(|stored| Ok((stored.call(one.request, one.id, secrets)?, stored)));
    let (call, stored) = match call {
        Ok(call) => call,
        // A secret may be there later.
        Err(error) => return write(worker, one, CancelOutcome::Failed(error)).await,
    };
    let system = call.system();
    let Some(_place) = SystemPlace::of(systems, &system) else {
        return put_off(worker, one, NEXT_TURN).await;
    };
    if let Some(until) = held(worker, &call) {
        let rest = until.duration_since(Timestamp::now());
        return put_off(worker, one, Duration::try_from(rest).unwrap_or(NEXT_TURN)).await;
    }
    let asked = format!("{} {}", call.method, system);
    let share = worker.memory.share();
    let answered = worker.outbound.request(call, None, None, &share).await;
    write(worker, one, judged(&stored, &asked, answered)).await
}

/// Time until which the called system is to be left alone.
fn held(worker: &Worker, call: &HttpCall) -> Option<Timestamp> {
    let settings = worker.host.settings();
    let (names, vhost) = (&settings.systems.names, worker.host.broker.vhost());
    match worker.closed.holds(&Need::Http(call.clone()), names, vhost, Timestamp::now(), rand::random()) {
        Some(Answer::Held { until, .. }) => Some(until),
        _ => None,
    }
}

fn judged(stored: &CancelCall, asked: &str, answered: Result<Response, HttpFailure>) -> CancelOutcome {
    // SOAP has faults of any status, and tells by the code whose they are.
    if let Ok(response) = &answered
        && !(response.status >= 400 && stored.is_taken(response.status))
        && let Some(fault) = xml::fault_of(&response.body)
    {
        let error = format!(
            "{asked} answered {} with the SOAP fault {}: {}",
            response.status, fault.code, fault.reason
        );
        let is_ours = ["Client", "Sender"].iter().any(|code| fault.code.starts_with(code));
        return if is_ours { CancelOutcome::Refused(error) } else { CancelOutcome::Failed(error) };
    }
    match answered {
        Ok(response) if stored.is_taken(response.status) => {
            CancelOutcome::Taken(format!("{asked} answered {}", response.status))
        }
        Ok(response) => {
            let error = format!("{asked} answered {}", response.status);
            match response.status {
                408 | 425 | 429 | 500.. => CancelOutcome::Failed(error),
                _ => CancelOutcome::Refused(error),
            }
        }
        Err(failure) => {
            let never = ["UrlError", "Forbidden", "SecretForbidden"];
            let error = format!("{asked}: {} ({})", failure.message, failure.chain.join(" > "));
            let is_never = failure.chain.iter().any(|name| never.contains(name));
            if is_never { CancelOutcome::Refused(error) } else { CancelOutcome::Failed(error) }
        }
    }
}

async fn put_off(worker: &Worker, one: &Cancellation, rest: Duration) -> Result<(), Error> {
    let client = worker.host.store.recovery().await?;
    cancellations::postpone(&client, one.id, rest, None, false).await
}

/// Writes the outcome: a last one with a line in the history of the order, so that people find it.
async fn write(worker: &Worker, one: &Cancellation, outcome: CancelOutcome) -> Result<(), Error> {
    let (is_done, mut text) = match outcome {
        CancelOutcome::Failed(error) if one.age < LONGEST.as_secs_f64() => {
            let rest = delay(one.attempts.saturating_sub(1), PAUSE.0, PAUSE.1, rand::random());
            let error = shortened(error);
            tracing::info!(
                order = one.order_id,
                request = one.name,
                error,
                "a call that gives a request up is repeated"
            );
            let client = worker.host.store.recovery().await?;
            return cancellations::postpone(&client, one.id, rest, Some(&error), true).await;
        }
        CancelOutcome::Failed(error) => (false, error),
        CancelOutcome::Refused(error) => (false, error),
        CancelOutcome::Taken(text) => (true, text),
    };
    text = shortened(text);
    let mut client = worker.host.store.recovery().await?;
    let tx = client.transaction().await?;
    let is_ours =
        cancellations::settle(&tx, one.id, is_done, Some(&text).filter(|_| !is_done).map(String::as_str))
            .await?;
    if is_ours && one.order_id.is_some() {
        let kind = if is_done { "request_canceled" } else { "request_not_canceled" };
        let detail = json!({"request": one.name, "attempts": one.attempts, "reason": format!("request `{}`: {text}", one.name)});
        history::append(&tx, one.order_no, kind, &worker.host.name, &detail.to_string()).await?;
    }
    tx.commit().await?;
    if is_done {
        tracing::info!(order = one.order_id, request = one.name, "a request was given up: {text}");
    } else {
        tracing::warn!(
            order = one.order_id,
            request = one.name,
            error = text,
            "a request could not be given up"
        );
    }
    Ok(())
}

fn shortened(mut text: String) -> String {
    text.truncate(text.floor_char_boundary(MAX_ERROR_BYTES));
    text
}

/// A place among the calls of one system, which is given back at the end.
struct SystemPlace<'s> {
    systems: &'s Mutex<HashMap<String, usize>>,
    system: String,
}

impl<'s> SystemPlace<'s> {
    fn of(systems: &'s Mutex<HashMap<String, usize>>, system: &str) -> Option<Self> {
        let mut under_way = systems.lock().unwrap_or_else(PoisonError::into_inner);
        let count = under_way.entry(system.to_owned()).or_default();
        if *count >= AT_ONCE_OF_SYSTEM {
            return None;
        }
        *count += 1;
        Some(Self { systems, system: system.to_owned() })
    }
}

impl Drop for SystemPlace<'_> {
    fn drop(&mut self) {
        let mut under_way = self.systems.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(count) = under_way.get_mut(&self.system) {
            *count -= 1;
            if *count == 0 {
                under_way.remove(&self.system);
            }
        }
    }
}
