//! Lists over HTTP: each view answers with its page, or its problem.

use axum::Json;
use axum::extract::State;
use pagurus_view::{CallbacksQuery, ListQuery, NotificationsQuery};
use pagurus_wire::callbacks::CallbackLine;
use pagurus_wire::cluster::{LeaseLine, QueueLine};
use pagurus_wire::order::{NotificationLine, Page};

use super::HttpResult;
use super::document::{Table, viewer};
use super::query::Query;
use crate::Intake;

pub(super) fn routes(table: Table) -> Table {
    table.of("Cluster", "The processes of the engine.").get(
        "/v1/leases",
        leases,
        viewer("Leases, with their holders."),
    )
}

/// `GET /v1/callbacks`
pub(super) async fn callbacks(
    State(intake): State<Intake>,
    Query(query): Query<CallbacksQuery>,
) -> HttpResult<Json<Page<CallbackLine>>> {
    Ok(Json(intake.views.callbacks(&query).await?))
}

/// `GET /v1/notifications`
pub(super) async fn notifications(
    State(intake): State<Intake>,
    Query(query): Query<NotificationsQuery>,
) -> HttpResult<Json<Page<NotificationLine>>> {
    Ok(Json(intake.views.notifications(&query).await?))
}

/// `GET /v1/leases`
pub(super) async fn leases(
    State(intake): State<Intake>,
    Query(query): Query<ListQuery>,
) -> HttpResult<Json<Page<LeaseLine>>> {
    Ok(Json(intake.views.leases(&query).await?))
}

/// `GET /v1/queues`
pub(super) async fn queues(
    State(intake): State<Intake>,
    Query(query): Query<ListQuery>,
) -> HttpResult<Json<Page<QueueLine>>> {
    Ok(Json(intake.views.queues(&query).await?))
}
