//! `POST /v1/scenarios/test`: a scenario is tried in virtual time. Touches no order; reads the operations that the scenario runs.

use std::sync::{Arc, LazyLock};
use std::time::{Duration, Instant};

use axum::Json;
use axum::extract::State;
use pagurus_domain::document::Fault;
use pagurus_runtime::aside;
use pagurus_scenario::{Library, LibraryEntry, Scenario};
use pagurus_wire::bodies::TrialBody;
use pagurus_wire::problem::{Problem, Type};
use pagurus_wire::scenarios::{CoverageView, CoveredPartsView, TriedView};
use pagurus_workbench::trial::{self, Coverage, CoveredParts, TrialFile, TrialOutcome as Tried};
use tokio::sync::Semaphore;

use super::super::body::Sent;
use super::super::{HttpResult, ProblemResponse};
use crate::Intake;
use crate::http::caller::ScopedViews;

/// Longest time for all tests of one request. The rest are then broken off, and say so.
const TIME: Duration = Duration::from_secs(10);

/// Requests that are tried at the same time: tests need processors that orders need, too.
static TRIED: LazyLock<Semaphore> = LazyLock::new(|| Semaphore::new(aside::places()));

/// `POST /v1/scenarios/test`
pub(in crate::http) async fn test(
    State(intake): State<Intake>,
    ScopedViews(views): ScopedViews,
    Sent(TrialBody { scenario, tests, operations }): Sent<TrialBody>,
) -> HttpResult<Json<TriedView>> {
    let library = match operations {
        None => views.operations_of(&scenario).await?,
        Some(texts) => Library::of_files(texts.iter().filter_map(|text| LibraryEntry::of_text(text, None))),
    };
    let Ok(permit) = TRIED.try_acquire() else {
        return Err(ProblemResponse(Problem::new(Type::Busy, "other scenarios are being tested; try again")));
    };
    let tried = aside::run("test", move || {
        // Also if the caller has gone away.
        let _permit = permit;
        let scenario = views.compiled(&scenario, &library).map_err(|faults| refused("/scenario", faults))?;
        let file = trial::read(&tests).map_err(|faults| refused("/tests", faults))?;
        let scenario = Arc::new(scenario);
        let outcomes = try_all(&intake, &scenario, &file);
        let coverage = Coverage::of(&scenario, &outcomes);
        Ok((outcomes, coverage))
    });
    let failed = || ProblemResponse(Problem::new(Type::Internal, "the engine failed; its log has details"));
    let (outcomes, coverage): (Vec<Tried>, Coverage) = tried.await.unwrap_or_else(|| Err(failed()))?;
    let passed = outcomes.iter().all(Tried::passed);
    let tests = outcomes.iter().map(Tried::to_value).collect();
    Ok(Json(TriedView { passed, tests, coverage: coverage_view(coverage) }))
}

fn coverage_view(coverage: Coverage) -> CoverageView {
    let parts = |parts: CoveredParts| CoveredPartsView {
        reached: parts.reached,
        total: parts.total(),
        missed: parts.missed,
    };
    let Coverage { states, transitions, error_branches, operations } = coverage;
    CoverageView {
        states: parts(states),
        transitions: parts(transitions),
        error_branches: parts(error_branches),
        operations: parts(operations),
    }
}

fn try_all(intake: &Intake, scenario: &Arc<Scenario>, file: &TrialFile) -> Vec<Tried> {
    let begun = Instant::now();
    let mut go_on = || begun.elapsed() < TIME;
    let deployment = intake.host.settings().trial_deployment();
    file.trials.iter().map(|one| trial::run(scenario, &deployment, one, &mut go_on)).collect()
}

/// Returns the faults as an answer. Lines and columns are those of the text; the pointer says of which one.
fn refused(text: &str, faults: Vec<Fault>) -> ProblemResponse {
    let within = |fault: Fault| Fault { pointer: format!("{text}{}", fault.pointer), ..fault };
    let faults: Vec<Fault> = faults.into_iter().map(within).collect();
    ProblemResponse(Problem::of_faults(Type::Invalid, &faults))
}
