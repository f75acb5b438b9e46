//! Callbacks and heartbeats, as they come in.

use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::Json;
use axum::body::Body;
use axum::extract::State;
use axum::http::HeaderMap;
use pagurus_runtime::batch::Failed;
use pagurus_runtime::traces::names;
use pagurus_runtime::trouble::store_problem;
use pagurus_runtime::waits::Waits;
use pagurus_store::Error;
use pagurus_store::outside::answers::CallbackVerdict;
use pagurus_wire::callbacks::CallbackTaken;
use pagurus_wire::parts::HeartbeatView;
use pagurus_wire::problem::{Problem, Type};
use serde_json::Value;

use super::document::{Table, system, viewer};
use super::query::Path;
use super::registration::failed_problem;
use super::{HttpResult, ProblemResponse, body, views};
use crate::answer::{NewAnswer, new_answer};
use crate::headers::step_status_of;
use crate::{Intake, traced};

pub(super) fn routes(table: Table) -> Table {
    table
        .of(
            "Callbacks and notifications",
            "Answers of called systems, signs of life of actors, and what could not be delivered.",
        )
        .get("/v1/callbacks", views::callbacks, viewer("Received callbacks, the newest first.").scoped())
        .post(
            "/v1/callbacks/{request}",
            take,
            system("Answers a request of an order. The body may be anything.")
                .lenient()
                .header("step-status", "Status of the called system's step.")
                .takes_text("*/*"),
        )
        .post(
            "/v1/callbacks/{request}/heartbeat",
            heartbeat,
            system("Reports that an actor still works on its task, and says until when the task is its own."),
        )
        .get(
            "/v1/notifications",
            views::notifications,
            viewer("Parked notifications, those of the oldest orders first.").scoped(),
        )
}

/// `POST /v1/callbacks/{requestId}`: what comes late, twice or for nobody is kept and answered like
/// any other, because sending it again would not help.
async fn take(
    State(intake): State<Intake>,
    Path(request): Path<String>,
    headers: HeaderMap,
    body: Body,
) -> HttpResult<Json<CallbackTaken>> {
    let mut span = traced::callback(&intake.host, &headers);
    let bytes = body::read(&intake, body).await?;
    let step_status = step_status_of(&headers);
    let kept: serde_json::Map<String, Value> = headers
        .iter()
        .map(|(name, value)| (name.to_string(), String::from_utf8_lossy(value.as_bytes()).into()))
        .collect();
    let answer = new_answer(&request, step_status, kept, bytes.to_vec());
    let verdict =
        stored(&intake, answer).await.map_err(|failed| failed_problem(&intake, "answer", &failed))?;
    span.set(names::CALLBACK, verdict.as_str());
    Ok(Json(CallbackTaken { status: verdict.as_str().to_owned() }))
}

/// Longest time for which the sender of an answer waits while its order is locked, for example by an action on it.
const LOCKED_FOR: Duration = Duration::from_secs(5);
/// Pauses between two tries.
const WAITS: Waits = Waits::between(Duration::from_millis(20), Duration::from_millis(200));

/// Stores an answer. One whose order is locked, mostly by the end of the very stage that asked, is tried again beside the
/// others: not every sender would send it again.
async fn stored(intake: &Intake, answer: NewAnswer) -> Result<CallbackVerdict, Failed<Arc<Error>>> {
    let (answer, begun, mut waits) = (Arc::new(answer), Instant::now(), WAITS);
    let mut outcome = intake.answers.submit(answer.clone()).await;
    while matches!(&outcome, Err(Failed::Handler(error)) if error.is_contention())
        && begun.elapsed() < LOCKED_FOR
    {
        waits.pause().await;
        outcome = intake.locked_answers.submit(answer.clone()).await;
    }
    outcome
}

/// `POST /v1/callbacks/{pass}/heartbeat`: an actor is still at work.
async fn heartbeat(
    State(intake): State<Intake>,
    Path(pass): Path<String>,
) -> HttpResult<Json<HeartbeatView>> {
    let until = crate::answer::heartbeat(&intake.host, &pass)
        .await
        .map_err(|error| store_problem(&intake.host, "heartbeat", &error))?;
    match until {
        Some(until) => Ok(Json(HeartbeatView { until })),
        None => Err(ProblemResponse(Problem::new(
            Type::NotFound,
            "no hand-out of a task is open under this pass",
        ))),
    }
}
