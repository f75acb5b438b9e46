//! Dry runs over HTTP: the outcomes that orders would have, without registering them.

use axum::Json;
use axum::http::HeaderMap;
use jiff::Timestamp;
use pagurus_domain::access::scope::AccessScope;
use pagurus_domain::order::registration::Request;
use pagurus_runtime::trouble::store_problem;
use pagurus_wire::order::RegisteredView;
use pagurus_wire::problem::Problem;
use schemars::JsonSchema;
use serde::Deserialize;

use super::registration::{admit, registered, shown_in};
use super::{HttpResult, ProblemResponse};
use crate::Intake;
use crate::headers::sent_time_of;
use crate::register::{Earlier, Registrar, RegistrationOutcome as Registration, Submission};

/// Status of an order that would be registered.
const WOULD_BE_ACCEPTED: &str = "would_be_accepted";

/// Query of a registration.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct RegistrationQuery {
    /// True for a dry run: everything is checked as for a registration, and nothing is registered. An order that would be
    /// has the status `would_be_accepted`, and in `orderStatus` the status with which it would start.
    #[serde(default)]
    pub dry_run: bool,
}

/// Query of an action on one order.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct ActionQuery {
    /// True for a dry run: everything is checked and tried, and taken back. The answer has the status that would follow.
    #[serde(default)]
    pub dry_run: bool,
}

/// A dry run of one request, part by part.
pub(super) struct DryRun<'r> {
    intake: &'r Intake,
    scope: AccessScope,
    registrar: Registrar,
    sent_at: Option<Timestamp>,
    earlier: Earlier,
}

impl<'r> DryRun<'r> {
    pub(super) fn of(intake: &'r Intake, scope: AccessScope, headers: &HeaderMap) -> HttpResult<Self> {
        let registrar = Registrar { host: intake.host.clone(), catalogue: intake.catalogue.clone() };
        Ok(Self { intake, scope, registrar, sent_at: sent_time_of(headers)?, earlier: Earlier::new() })
    }

    /// Returns the outcome that each order of a part would have.
    pub(super) async fn outcomes(&mut self, part: Vec<Result<Request, Problem>>) -> Vec<Registration> {
        // One at a time: dry runs that take long wait for one another, and no registration for them.
        let _turn = self.intake.dry_runs.lock().await;
        let mut outcomes = Vec::with_capacity(part.len());
        let mut batch = Vec::with_capacity(part.len());
        for request in part {
            match self.checked(request).await {
                Ok(submission) => {
                    batch.push(submission);
                    outcomes.push(None);
                }
                Err(problem) => outcomes.push(Some(Registration::refused(problem))),
            }
        }
        let judged = self.registrar.dry_run(&batch, &mut self.earlier).await;
        let judged = judged.unwrap_or_else(|error| {
            let problem = store_problem(&self.intake.host, "dry_run", &error);
            batch.iter().map(|_| Registration::refused(problem.clone())).collect()
        });
        let mut shown = Vec::with_capacity(judged.len());
        for (outcome, submission) in judged.into_iter().zip(&batch) {
            let names = (submission.request.id.as_str(), submission.request.scenario.as_str());
            let outcome = shown_in(self.intake, &self.scope, names, outcome).await;
            shown.push(outcome.unwrap_or_else(Registration::refused));
        }
        let mut judged = shown.into_iter();
        outcomes.into_iter().filter_map(|outcome| outcome.or_else(|| judged.next())).collect()
    }

    async fn checked(&self, request: Result<Request, Problem>) -> Result<Submission, Problem> {
        let request = request?;
        let queue = self.intake.catalogue.queue_of(&request);
        admit(self.intake, &self.scope, &request, queue.as_deref())?;
        self.intake.backlog.check(&self.intake.host, &request, queue.as_deref()).await?;
        let submission = Submission::of(request, self.sent_at, Timestamp::now());
        Ok(Submission { queue, scope: self.scope.clone(), ..submission })
    }

    /// Returns the outcome that an order would have that comes alone.
    pub(super) async fn one(&mut self, request: Request) -> HttpResult<Json<RegisteredView>> {
        let id = request.id.clone();
        let outcome = self.outcomes(vec![Ok(request)]).await.remove(0);
        match outcome.problem() {
            Some(problem) => Err(ProblemResponse(problem)),
            None => Ok(Json(would_be(Some(id), &outcome))),
        }
    }
}

/// Returns the answer of a dry run.
pub(super) fn would_be(id: Option<String>, outcome: &Registration) -> RegisteredView {
    let mut view = registered(id, outcome);
    if matches!(outcome, Registration::Accepted { .. }) {
        WOULD_BE_ACCEPTED.clone_into(&mut view.status);
    }
    view
}
