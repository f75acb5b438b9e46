//! The engine as a whole over HTTP: its figures, and a verdict over it.

use std::time::Duration;

use axum::Json;
use axum::extract::State;
use pagurus_view::StatsQuery;
use pagurus_wire::doctor::DoctorView;
use pagurus_wire::stats::StatsView;

use super::HttpResult;
use super::caller::ScopedViews;
use super::document::{Table, viewer};
use super::query::{NoQuery, Query};
use crate::Intake;
use crate::doctor::broker_facts;

/// Longest time for refused messages to be taken out of their broker queue.
const TAKING: Duration = Duration::from_secs(2);

pub(super) fn routes(table: Table) -> Table {
    table
        .of("Sight", "The engine as a whole: what it does, and what is wrong with it.")
        .get(
            "/v1/stats",
            stats,
            viewer("The engine in figures: as it is now, and over some time up to now.").scoped().more(
                "Costs the same however many orders there are: rows are counted up to a thousand, and beyond that a number is an \
                 estimate of the database, and says so. What happened is read from the counts of each minute, which every process \
                 adds to every ten seconds.",
            ),
        )
        .get(
            "/v1/doctor",
            doctor,
            viewer("One verdict over servers, nodes and backlog, with what to do about each finding.").more(
                "Answered with 200 whatever is found. A server that does not answer is a finding, reported after seven seconds at most. Refused messages are \
                 taken out of their broker queue, because only then it is known which of them wait for a decision.",
            ),
        )
}

/// `GET /v1/doctor`
async fn doctor(
    State(intake): State<Intake>,
    ScopedViews(views): ScopedViews,
    _: NoQuery,
) -> HttpResult<Json<DoctorView>> {
    intake.refused.take_within(TAKING).await;
    Ok(Json(views.doctor(broker_facts(&intake.host)).await))
}

/// `GET /v1/stats`
async fn stats(
    ScopedViews(views): ScopedViews,
    Query(query): Query<StatsQuery>,
) -> HttpResult<Json<StatsView>> {
    Ok(Json(views.stats(&query).await?))
}
