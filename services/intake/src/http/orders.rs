//! Orders: register, wait, act.

use std::time::{Duration, Instant};

use axum::Json;
use axum::body::Body;
use axum::extract::State;
use axum::http::{HeaderMap, Response, StatusCode, header};
use axum::response::IntoResponse;
use jiff::Timestamp;
use pagurus_command::request::{ActionRequest, OF_OTHERS, OF_RESTART, RequestKey};
use pagurus_command::{Acted, LifeAction, Restart, Terms};
use pagurus_domain::order::registration::Request;
use pagurus_runtime::batch::Failed;
use pagurus_runtime::trouble::store_problem;
use pagurus_wire::order::{RegisteredView, StatusView};
use pagurus_wire::problem::{Problem, Type};
use serde::Deserialize;

use super::body::{read_json_if_any, read_order};
use super::caller::Caller;
use super::query::{Path, Query, duration};
use super::{Answer, Outcome};
use crate::Intake;
use crate::headers::sent_time_of;
use crate::register::{self, Outcome as Registration, Submission};
use crate::traced::RegistrationTrace;

/// Longest long poll.
const MAX_WAIT: Duration = Duration::from_secs(120);

/// `POST /v1/orders`
pub(super) async fn create(
    State(intake): State<Intake>,
    headers: HeaderMap,
    body: Body,
) -> Outcome<Response<Body>> {
    let mut body = read_order(&intake, body).await?;
    let request = register::read_value(body.take())?;
    register_one(&intake, request, &headers).await
}

/// Registers an order and answers with what became of it.
pub(super) async fn register_one(
    intake: &Intake,
    request: Request,
    headers: &HeaderMap,
) -> Outcome<Response<Body>> {
    let id = request.id.clone();
    let outcome = submit(intake, request, headers).await?;
    if let Some(problem) = outcome.problem() {
        return Err(Answer(problem));
    }
    let status = match outcome {
        Registration::Accepted { .. } => StatusCode::CREATED,
        _ => StatusCode::OK,
    };
    let location = format!("/v1/orders/{}", pagurus_domain::scenario::value::percent_encode(&id));
    let answer = registered(Some(id), &outcome);
    Ok((status, [(header::LOCATION, location)], Json(answer)).into_response())
}

pub(super) async fn submit(intake: &Intake, request: Request, headers: &HeaderMap) -> Outcome<Registration> {
    intake.backlog.check(&intake.host, &request).await?;
    let submission = Submission {
        request: request.into(),
        sent_at: sent_time_of(headers)?,
        received_at: Timestamp::now(),
        trace: RegistrationTrace::over_http(&intake.host, headers),
    };
    let failed = |failed| failed_problem(intake, "register", &failed);
    match intake.registrations.submit(submission.clone()).await.map_err(failed)? {
        Some(outcome) => Ok(outcome),
        None => {
            let failed = |failed| failed_problem(intake, "register", &failed);
            intake.costly.submit(submission).await.map_err(failed)
        }
    }
}

pub(super) fn failed_problem<E>(intake: &Intake, operation: &str, failed: &Failed<E>) -> Answer
where
    E: std::error::Error + std::borrow::Borrow<pagurus_store::Error>,
{
    Answer(match failed {
        Failed::Handler(error) => store_problem(&intake.host, operation, error.borrow()),
        Failed::Gone(_) => Problem::new(Type::Unavailable, "this node is stopping; repeat the same request"),
    })
}

pub(super) fn registered(id: Option<String>, outcome: &Registration) -> RegisteredView {
    RegisteredView {
        id,
        status: outcome.word().to_owned(),
        order_status: outcome.status().map(|status| status.to_string()),
        note: outcome.note(),
        error: outcome.problem(),
    }
}

/// Query of a long poll.
#[derive(Debug, Deserialize)]
pub(super) struct WaitQuery {
    timeout: Option<String>,
}

/// `GET /v1/orders/{id}/wait?timeout=`: answers when the order is final, or the time is over.
pub(super) async fn wait(
    State(intake): State<Intake>,
    Path(id): Path<String>,
    Query(query): Query<WaitQuery>,
) -> Outcome<Json<StatusView>> {
    let timeout = match query.timeout.as_deref() {
        None => Duration::from_secs(30),
        Some(text) => duration("timeout", text)?,
    };
    let begun = Instant::now();
    let mut pause = Duration::from_millis(10);
    loop {
        let view = intake.views.status(&id).await?;
        let left = timeout.min(MAX_WAIT).saturating_sub(begun.elapsed());
        if view.is_final || left.is_zero() {
            return Ok(Json(view));
        }
        // A node that stops answers what it knows.
        if intake.host.sleep_unless_draining(pause.min(left)).await {
            return Ok(Json(view));
        }
        pause = (pause * 3 / 2).min(Duration::from_millis(500));
    }
}

/// `POST /v1/orders/{id}/{action}`
pub(super) async fn action(
    State(intake): State<Intake>,
    Path((id, word)): Path<(String, String)>,
    Caller(by): Caller,
    headers: HeaderMap,
    body: Body,
) -> Outcome<Json<StatusView>> {
    let asked = read_json_if_any(&intake, body).await?;
    let key = RequestKey::read(key_of(&headers)?, &asked)?;
    let fields = if word == "restart" { OF_RESTART } else { OF_OTHERS };
    let asked = ActionRequest::read(&asked, fields).and_then(|asked| asked.of_path(&id));
    let action = match word.as_str() {
        "cancel" => LifeAction::Cancel,
        "interrupt" => LifeAction::Interrupt,
        "kill" => LifeAction::Kill,
        "restart" => LifeAction::Restart(Restart { sent_at: sent_time_of(&headers)?, ..Restart::default() }),
        "resend" => {
            let count = intake.commands.resend(&id, &by, asked?.reason.as_deref()).await?;
            let note = match count {
                0 => "no notification of it is unconfirmed: nothing was sent".to_owned(),
                1 => "1 notification is sent again".to_owned(),
                count => format!("{count} notifications are sent again"),
            };
            return Ok(Json(StatusView { note: Some(note), ..intake.views.status(&id).await? }));
        }
        _ => {
            let told = "actions are: cancel, interrupt, kill, restart, clone, repair, resend";
            return Err(Answer(Problem::new(Type::NotFound, told)));
        }
    };
    let asked = asked?;
    let terms =
        Terms { by: &by, reason: asked.reason.as_deref(), if_status: asked.if_status, key: key.as_ref() };
    let Acted { status, life, note } = intake.commands.act(&id, &action.with(&asked), terms).await?;
    Ok(Json(StatusView { id, status: status.to_string(), is_final: status.is_final(), life, note }))
}

pub(super) fn key_of(headers: &HeaderMap) -> Outcome<Option<&str>> {
    let told = "the header `Idempotency-Key` has other characters than visible ASCII";
    let key = headers.get("idempotency-key").map(|value| value.to_str()).transpose();
    Ok(key.map_err(|_| Problem::new(Type::Invalid, told))?)
}
