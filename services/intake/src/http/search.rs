//! Searches over HTTP: orders in lists and counts, and searches that somebody gave a name.

use axum::Json;
use axum::body::Body;
use axum::extract::State;
use axum::http::StatusCode;
use pagurus_view::{OrdersQuery, SearchesQuery};
use pagurus_wire::order::{OrderLine, Page};
use pagurus_wire::search::{OrderCounts, SavedSearch};

use super::Outcome;
use super::body::read_json;
use super::caller::Caller;
use super::query::{Pairs, Path, Query};
use crate::Intake;

/// `GET /v1/orders`
pub(super) async fn orders(
    State(intake): State<Intake>,
    Pairs(pairs): Pairs,
) -> Outcome<Json<Page<OrderLine>>> {
    Ok(Json(intake.views.orders(OrdersQuery::read(&pairs)?).await?))
}

/// `GET /v1/counts`
pub(super) async fn counts(State(intake): State<Intake>, Pairs(pairs): Pairs) -> Outcome<Json<OrderCounts>> {
    Ok(Json(intake.views.order_counts(OrdersQuery::read(&pairs)?).await?))
}

/// `GET /v1/searches`
pub(super) async fn searches(
    State(intake): State<Intake>,
    Query(query): Query<SearchesQuery>,
) -> Outcome<Json<Page<SavedSearch>>> {
    Ok(Json(intake.views.searches(&query).await?))
}

/// `GET /v1/searches/{name}`
pub(super) async fn show(
    State(intake): State<Intake>,
    Path(name): Path<String>,
) -> Outcome<Json<SavedSearch>> {
    Ok(Json(intake.views.search(&name).await?))
}

/// `PUT /v1/searches/{name}`: the body has the conditions.
pub(super) async fn save(
    State(intake): State<Intake>,
    Path(name): Path<String>,
    Caller(by): Caller,
    body: Body,
) -> Outcome<Json<SavedSearch>> {
    let asked = read_json(&intake, body).await?;
    intake.commands.save_search(&name, &asked, &by).await?;
    Ok(Json(intake.views.search(&name).await?))
}

/// `DELETE /v1/searches/{name}`
pub(super) async fn forget(
    State(intake): State<Intake>,
    Path(name): Path<String>,
    Caller(by): Caller,
) -> Outcome<StatusCode> {
    intake.commands.forget_search(&name, &by).await?;
    Ok(StatusCode::NO_CONTENT)
}
