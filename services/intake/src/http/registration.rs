//! Registration of an order, and the answer with its outcome.

use axum::Json;
use axum::body::Body;
use axum::http::{HeaderMap, Response, StatusCode, header};
use axum::response::IntoResponse;
use jiff::Timestamp;
use pagurus_domain::access::scope::AccessScope;
use pagurus_domain::order::registration::{Request, flow_marker};
use pagurus_runtime::batch::Failed;
use pagurus_runtime::trouble::store_problem;
use pagurus_scenario::value::percent_encode;
use pagurus_view::{ScopedKind, admit_names};
use pagurus_wire::order::RegisteredView;
use pagurus_wire::problem::{Problem, Type};

use super::{HttpResult, ProblemResponse};
use crate::Intake;
use crate::headers::sent_time_of;
use crate::register::{RegistrationOutcome as Registration, Submission};
use crate::traced::RegistrationTrace;

/// Registers an order and answers with the outcome, and with a remark if there is one.
pub(super) async fn register_one(
    intake: &Intake,
    scope: &AccessScope,
    request: Request,
    headers: &HeaderMap,
    note: Option<String>,
) -> HttpResult<Response<Body>> {
    let id = request.id.clone();
    let outcome = submit(intake, scope, request, headers).await?;
    answer_with(id, &outcome, note)
}

/// Answers with the outcome of a registration.
pub(super) fn answer_with(
    id: String,
    outcome: &Registration,
    note: Option<String>,
) -> HttpResult<Response<Body>> {
    if let Some(problem) = outcome.problem() {
        return Err(ProblemResponse(problem));
    }
    let place = location(&id);
    let mut answer = registered(Some(id), outcome);
    let notes: Vec<String> = note.into_iter().chain(answer.note).collect();
    answer.note = (!notes.is_empty()).then(|| notes.join("; "));
    Ok((status_of(outcome), [(header::LOCATION, place)], Json(answer)).into_response())
}

/// Address of an order.
pub(super) fn location(id: &str) -> String {
    format!("/v1/orders/{}", percent_encode(id))
}

/// Status of the answer to an order that is registered now, or was before.
pub(super) const fn status_of(outcome: &Registration) -> StatusCode {
    match outcome {
        Registration::Accepted { .. } => StatusCode::CREATED,
        _ => StatusCode::OK,
    }
}

/// Registers an order, in its batch or by itself.
pub(super) async fn submit(
    intake: &Intake,
    scope: &AccessScope,
    request: Request,
    headers: &HeaderMap,
) -> HttpResult<Registration> {
    let queue = intake.catalogue.queue_of(&request);
    admit(intake, scope, &request, queue.as_deref())?;
    let (id, scenario) = (request.id.clone(), request.scenario.clone());
    let outcome = submit_admitted(intake, scope, request, queue, headers).await?;
    Ok(shown_in(intake, scope, (&id, &scenario), outcome).await?)
}

/// Lets pass who may register this order.
///
/// # Errors
/// The problem of a name that is not there, or not theirs.
pub(super) fn admit(
    intake: &Intake,
    scope: &AccessScope,
    request: &Request,
    queue: Option<&str>,
) -> Result<(), Problem> {
    if scope.has_every_name() {
        return Ok(());
    }
    let flow = flow_marker(&intake.host.settings().distribution.flow_attributes, request);
    admit_names(scope, &request.scenario, Some(&flow), queue)
}

/// The outcome without what those of this scope do not see: the names of other scenarios, and the status of another order that has
/// the id.
pub(super) async fn shown_in(
    intake: &Intake,
    scope: &AccessScope,
    (id, scenario): (&str, &str),
    outcome: Registration,
) -> Result<Registration, Problem> {
    match outcome {
        outcome if scope.has_every_name() => Ok(outcome),
        Registration::Rejected(problem) if problem.kind() == Some(Type::UnknownScenario) => {
            Ok(Registration::Rejected(Problem::unknown_scenario(scenario)))
        }
        Registration::Conflict(status) => {
            let views = intake.whole_views().seen_in(scope.clone());
            match views.admit(ScopedKind::Order, id).await {
                Ok(()) => Ok(Registration::Conflict(status)),
                Err(problem) if problem.kind() == Some(Type::NotFound) => {
                    let detail = "an order of another tenant has this id: all tenants share the ids";
                    Ok(Registration::Rejected(Problem::new(Type::Conflict, detail).at("/id")))
                }
                Err(problem) => Err(problem),
            }
        }
        outcome => Ok(outcome),
    }
}

async fn submit_admitted(
    intake: &Intake,
    scope: &AccessScope,
    request: Request,
    queue: Option<String>,
    headers: &HeaderMap,
) -> HttpResult<Registration> {
    intake.backlog.check(&intake.host, &request, queue.as_deref()).await?;
    let trace = RegistrationTrace::over_http(&intake.host, headers);
    let submission = Submission::of(request, sent_time_of(headers)?, Timestamp::now());
    let submission = Submission { queue, trace, scope: scope.clone(), ..submission };
    let failed = |failed| failed_problem(intake, "register", &failed);
    match intake.registrations.submit(submission.clone()).await.map_err(failed)? {
        Some(outcome) => Ok(outcome),
        None => {
            let failed = |failed| failed_problem(intake, "register", &failed);
            intake.costly.submit(submission).await.map_err(failed)
        }
    }
}

/// The problem of what a batch could not do.
pub(super) fn failed_problem<E>(intake: &Intake, operation: &str, failed: &Failed<E>) -> ProblemResponse
where
    E: std::error::Error + std::borrow::Borrow<pagurus_store::Error>,
{
    ProblemResponse(match failed {
        Failed::Handler(error) => store_problem(&intake.host, operation, error.borrow()),
        Failed::Gone(_) => Problem::new(Type::Unavailable, "this node is stopping; repeat the same request"),
    })
}

/// The outcome of a registration as its client sees it.
pub(super) fn registered(id: Option<String>, outcome: &Registration) -> RegisteredView {
    RegisteredView {
        id,
        status: outcome.word().to_owned(),
        order_status: outcome.status().map(|status| status.to_string()),
        note: outcome.note(),
        error: outcome.problem(),
    }
}
