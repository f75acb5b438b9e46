//! The engine as a whole over HTTP: its figures.

use axum::Json;
use axum::extract::State;
use pagurus_view::StatsQuery;
use pagurus_wire::stats::StatsView;

use super::Outcome;
use super::document::{Table, told};
use super::query::Query;
use crate::Intake;

pub(super) fn routes(table: Table) -> Table {
    table.of("Sight", "The engine as a whole: what it does, and what is wrong with it.").get(
        "/v1/stats",
        stats,
        told("The engine in figures: as it is now, and over some time up to now.").more(
            "Costs the same however many orders there are: rows are counted up to a thousand, and beyond that a number is an \
             estimate of the database, and says so. What happened is read from the counts of each minute, which every process \
             adds to every ten seconds.",
        ),
    )
}

/// `GET /v1/stats`
async fn stats(State(intake): State<Intake>, Query(query): Query<StatsQuery>) -> Outcome<Json<StatsView>> {
    Ok(Json(intake.views.stats(&query).await?))
}
