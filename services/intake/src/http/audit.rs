//! The audit log over HTTP.

use axum::Json;
use axum::extract::State;
use pagurus_view::AuditQuery;
use pagurus_wire::audit::AuditView;
use pagurus_wire::order::Page;

use super::HttpResult;
use super::document::{Table, operator};
use super::query::Query;
use crate::Intake;

pub(super) fn routes(table: Table) -> Table {
    table.of("Audit", "Who did what from outside, when and why.").get(
        "/v1/audit",
        list,
        operator("What people and programs did, the newest first."),
    )
}

/// `GET /v1/audit`
async fn list(
    State(intake): State<Intake>,
    Query(query): Query<AuditQuery>,
) -> HttpResult<Json<Page<AuditView>>> {
    Ok(Json(intake.views.audit(query).await?))
}
