//! The audit log over HTTP.

use axum::Json;
use axum::extract::State;
use pagurus_view::AuditQuery;
use pagurus_wire::audit::AuditView;
use pagurus_wire::order::Page;

use super::Outcome;
use super::query::Query;
use crate::Intake;

/// `GET /v1/audit`
pub(super) async fn list(
    State(intake): State<Intake>,
    Query(query): Query<AuditQuery>,
) -> Outcome<Json<Page<AuditView>>> {
    Ok(Json(intake.views.audit(query).await?))
}
