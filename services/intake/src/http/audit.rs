//! The audit log over HTTP.

use axum::body::Body;
use axum::extract::State;
use axum::http::{Response, Uri};
use axum::{Extension, Json};
use pagurus_domain::json::json_text;
use pagurus_runtime::Peer;
use pagurus_view::{AuditChainQuery, AuditQuery};
use pagurus_wire::audit::AuditView;
use pagurus_wire::audit::chain::AuditChainView;
use pagurus_wire::order::Page;

use super::HttpResult;
use super::caller::ScopedViews;
use super::document::{Table, operator};
use super::pages::Part;
use super::query::Query;
use crate::Intake;

/// Media type of an export: JSON, a line for each entry.
const LINES: &str = "application/x-ndjson";

pub(super) fn routes(table: Table) -> Table {
    table
        .of("Audit", "Who did what from outside, when and why.")
        .get("/v1/audit", list, operator("Actions of people and programs, the newest first."))
        .get(
            "/v1/audit/verify",
            verify,
            operator(
                "The chain of the audit log with its entries, by position: the client computes the hashes.",
            ),
        )
        .get(
            "/v1/audit/export",
            export,
            operator("Actions of people and programs, by position in the chain of the audit log.")
                .gives_text(LINES, "A line of JSON for each entry; the header `Link` names the next page."),
        )
}

/// `GET /v1/audit`
async fn list(
    ScopedViews(views): ScopedViews,
    Query(query): Query<AuditQuery>,
) -> HttpResult<Json<Page<AuditView>>> {
    Ok(Json(views.audit(query).await?))
}

/// `GET /v1/audit/verify`
async fn verify(
    ScopedViews(views): ScopedViews,
    Query(query): Query<AuditChainQuery>,
) -> HttpResult<Json<AuditChainView>> {
    Ok(Json(views.audit_chain(query).await?))
}

/// `GET /v1/audit/export`
async fn export(
    State(intake): State<Intake>,
    ScopedViews(views): ScopedViews,
    Query(query): Query<AuditQuery>,
    Extension(peer): Extension<Peer>,
    uri: Uri,
) -> HttpResult<Response<Body>> {
    let _turn = intake.exports.take(peer.client())?;
    let page = views.audit_export(query).await?;
    Ok(Part::of(page, &uri, "cursor").into_lines(LINES, |link| json_text(link) + "\n"))
}
