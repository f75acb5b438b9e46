//! Lists over HTTP: each view answers with its page, or its problem.

use axum::Json;
use pagurus_view::{CallbacksQuery, ListQuery, NotificationsQuery};
use pagurus_wire::callbacks::CallbackLine;
use pagurus_wire::cluster::{LeaseLine, QueueLine};
use pagurus_wire::order::{NotificationLine, Page};

use super::HttpResult;
use super::caller::ScopedViews;
use super::document::{Table, viewer};
use super::query::Query;

pub(super) fn routes(table: Table) -> Table {
    table.of("Cluster", "The processes of the engine.").get(
        "/v1/leases",
        leases,
        viewer("Leases, with their holders.").scoped(),
    )
}

/// `GET /v1/callbacks`
pub(super) async fn callbacks(
    ScopedViews(views): ScopedViews,
    Query(query): Query<CallbacksQuery>,
) -> HttpResult<Json<Page<CallbackLine>>> {
    Ok(Json(views.callbacks(&query).await?))
}

/// `GET /v1/notifications`
pub(super) async fn notifications(
    ScopedViews(views): ScopedViews,
    Query(query): Query<NotificationsQuery>,
) -> HttpResult<Json<Page<NotificationLine>>> {
    Ok(Json(views.notifications(&query).await?))
}

/// `GET /v1/leases`
pub(super) async fn leases(
    ScopedViews(views): ScopedViews,
    Query(query): Query<ListQuery>,
) -> HttpResult<Json<Page<LeaseLine>>> {
    Ok(Json(views.leases(&query).await?))
}

/// `GET /v1/queues`
pub(super) async fn queues(
    ScopedViews(views): ScopedViews,
    Query(query): Query<ListQuery>,
) -> HttpResult<Json<Page<QueueLine>>> {
    Ok(Json(views.queues(&query).await?))
}
