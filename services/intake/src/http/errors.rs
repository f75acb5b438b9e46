//! Failed and retrying orders, in groups and one by one.

use axum::Json;
use pagurus_view::{ErrorGroupsQuery, ErrorOrdersQuery};
use pagurus_wire::errors::{ErrorGroups, ErrorOrders, ExplanationView, QuestionView};

use super::HttpResult;
use super::body::Sent;
use super::caller::ScopedViews;
use super::document::{Table, viewer};
use super::query::Query;

pub(super) fn routes(table: Table) -> Table {
    table
        .of("Errors", "Failures, and how the rules would handle one.")
        .get(
            "/v1/errors",
            error_groups,
            viewer("Failed and retrying orders in groups, the largest first.").scoped(),
        )
        .get(
            "/v1/errors/orders",
            error_orders,
            viewer("Orders of a group, the newest failure first.").scoped(),
        )
        .post("/v1/classify", classify, viewer("The class and the policy that a failure would get.").scoped())
}

/// `GET /v1/errors`
async fn error_groups(
    ScopedViews(views): ScopedViews,
    Query(query): Query<ErrorGroupsQuery>,
) -> HttpResult<Json<ErrorGroups>> {
    Ok(Json(views.error_groups(query).await?))
}

/// `GET /v1/errors/orders`
async fn error_orders(
    ScopedViews(views): ScopedViews,
    Query(query): Query<ErrorOrdersQuery>,
) -> HttpResult<Json<ErrorOrders>> {
    Ok(Json(views.error_orders(query).await?))
}

/// `POST /v1/classify`
async fn classify(
    ScopedViews(views): ScopedViews,
    Sent(question): Sent<QuestionView>,
) -> HttpResult<Json<ExplanationView>> {
    Ok(Json(views.classify(&question).await?))
}
