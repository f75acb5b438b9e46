//! Failed and retrying orders, in groups and one by one.

use axum::Json;
use axum::extract::State;
use pagurus_view::{ErrorGroupsQuery, ErrorOrdersQuery};
use pagurus_wire::errors::{ErrorGroups, ErrorOrders, ExplanationView, QuestionView};

use super::HttpResult;
use super::body::Sent;
use super::document::{Table, viewer};
use super::query::Query;
use crate::Intake;

pub(super) fn routes(table: Table) -> Table {
    table
        .of("Errors", "What fails, and how a failure would be handled.")
        .get("/v1/errors", error_groups, viewer("Failed and retrying orders in groups, the largest first."))
        .get("/v1/errors/orders", error_orders, viewer("Orders of a group, the newest failure first."))
        .post("/v1/classify", classify, viewer("The class and the policy that a failure would get."))
}

/// `GET /v1/errors`
async fn error_groups(
    State(intake): State<Intake>,
    Query(query): Query<ErrorGroupsQuery>,
) -> HttpResult<Json<ErrorGroups>> {
    Ok(Json(intake.views.error_groups(query).await?))
}

/// `GET /v1/errors/orders`
async fn error_orders(
    State(intake): State<Intake>,
    Query(query): Query<ErrorOrdersQuery>,
) -> HttpResult<Json<ErrorOrders>> {
    Ok(Json(intake.views.error_orders(query).await?))
}

/// `POST /v1/classify`
async fn classify(
    State(intake): State<Intake>,
    Sent(question): Sent<QuestionView>,
) -> HttpResult<Json<ExplanationView>> {
    Ok(Json(intake.views.classify(&question).await?))
}
