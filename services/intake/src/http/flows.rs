//! Flows and called systems over HTTP: what is seen of them, and what operators decide about them.

use axum::Json;
use axum::extract::State;
use axum::http::HeaderMap;
use axum::routing::get;
use pagurus_command::request::RequestKey;
use pagurus_domain::access::AccessRole;
use pagurus_domain::flow::SystemOrder;
use pagurus_view::{DecisionsQuery, FlowsQuery, StopsQuery, SystemsQuery};
use pagurus_wire::cluster::ResignedView;
use pagurus_wire::decisions::DecisionView;
use pagurus_wire::flows::{
    ConfirmationView, FlowView, ResignRequest, ResumeRequest, ShiftOutcome, ShiftRequest, StopOutcome,
    StopRequest, StopView, SystemOrderRequest, SystemView,
};
use pagurus_wire::order::Page;
use serde_json::json;

use super::HttpResult;
use super::body::Sent;
use super::caller::{Caller, ScopedViews};
use super::document::{Table, operator, viewer};
use super::idempotency::key_of;
use super::query::{Path, Query};
use super::what_if;
use crate::Intake;

pub(super) fn routes(table: Table) -> Table {
    table
        .of(
            "Flows and systems",
            "Rates and limits of flows and called systems, and what operators decide about them.",
        )
        .get("/v1/flows", list, viewer("Flows by name, as the active dispatcher saw them last.").scoped())
        .get("/v1/flows/{flow}", show, viewer("One flow."))
        .get(
            "/v1/flows/{flow}/decisions",
            flow_decisions,
            viewer("Decisions about a flow, by the engine or by hand, with their reasons, the newest first."),
        )
        .post(
            "/v1/flows/{flow}/what-if",
            what_if::play,
            viewer("Plays the last hour of a flow through other settings. Changes nothing."),
        )
        .post("/v1/flows/stop", stop, operator("Stops every flow whose name contains a keyword."))
        .post("/v1/flows/resume", resume, operator("Lifts stops."))
        .post("/v1/flows/shift", shift, operator("Moves in time what waits or retries.").key())
        // Flows may have these names.
        .also("/v1/flows/stop", "/v1/flows/{flow}", AccessRole::Viewer, get(show_named_stop))
        .also("/v1/flows/resume", "/v1/flows/{flow}", AccessRole::Viewer, get(show_named_resume))
        .also("/v1/flows/shift", "/v1/flows/{flow}", AccessRole::Viewer, get(show_named_shift))
        .get("/v1/stops", stops, viewer("Stops by hand."))
        .get(
            "/v1/systems",
            systems,
            viewer("Called systems by name, as the active dispatcher saw them last.").scoped(),
        )
        .get("/v1/systems/{name}", system, viewer("One called system.").scoped())
        .get(
            "/v1/systems/{name}/decisions",
            system_decisions,
            viewer("Decisions about a called system, by the engine or by hand, with their reasons, the newest first.").scoped(),
        )
        .post("/v1/systems/{name}/stop", stop_system, operator("Keeps a called system from being called."))
        .post(
            "/v1/systems/{name}/open",
            open_system,
            operator("Keeps a called system open even if its calls fail."),
        )
        .post(
            "/v1/systems/{name}/clear",
            clear_system,
            operator("Takes back what an operator decided about a called system."),
        )
        .post("/v1/leases/{name}/resign", resign, operator("Ends a lease, so that another node takes it."))
}

/// `GET /v1/flows`
async fn list(
    ScopedViews(views): ScopedViews,
    Query(query): Query<FlowsQuery>,
) -> HttpResult<Json<Page<FlowView>>> {
    Ok(Json(views.flows(&query).await?))
}

/// `GET /v1/flows/{flow}`
async fn show(ScopedViews(views): ScopedViews, Path(flow): Path<String>) -> HttpResult<Json<FlowView>> {
    Ok(Json(views.flow(&flow).await?))
}

/// `GET /v1/flows/{flow}/decisions`
async fn flow_decisions(
    ScopedViews(views): ScopedViews,
    Path(flow): Path<String>,
    Query(query): Query<DecisionsQuery>,
) -> HttpResult<Json<Page<DecisionView>>> {
    Ok(Json(views.flow_decisions(&flow, &query).await?))
}

/// `GET /v1/flows/stop`: a flow may have this name, and stops have taken its path.
async fn show_named_stop(views: ScopedViews) -> HttpResult<Json<FlowView>> {
    show(views, Path("stop".to_owned())).await
}

/// `GET /v1/flows/resume`: a flow may have this name.
async fn show_named_resume(views: ScopedViews) -> HttpResult<Json<FlowView>> {
    show(views, Path("resume".to_owned())).await
}

/// `GET /v1/flows/shift`: a flow may have this name.
async fn show_named_shift(views: ScopedViews) -> HttpResult<Json<FlowView>> {
    show(views, Path("shift".to_owned())).await
}

/// `GET /v1/stops`
async fn stops(
    ScopedViews(views): ScopedViews,
    Query(query): Query<StopsQuery>,
) -> HttpResult<Json<Page<StopView>>> {
    Ok(Json(views.stops(&query).await?))
}

/// `POST /v1/flows/stop`
async fn stop(
    State(intake): State<Intake>,
    Caller(by): Caller,
    Sent(asked): Sent<StopRequest>,
) -> HttpResult<Json<StopOutcome>> {
    Ok(Json(intake.commands.stop_flows(&asked, &by).await?))
}

/// `POST /v1/flows/resume`
async fn resume(
    State(intake): State<Intake>,
    Caller(by): Caller,
    Sent(asked): Sent<ResumeRequest>,
) -> HttpResult<Json<StopOutcome>> {
    Ok(Json(intake.commands.resume_flows(&asked, &by).await?))
}

/// `POST /v1/flows/shift`
async fn shift(
    State(intake): State<Intake>,
    Caller(by): Caller,
    headers: HeaderMap,
    Sent(asked): Sent<ShiftRequest>,
) -> HttpResult<Json<ShiftOutcome>> {
    let key = RequestKey::read(key_of(&headers)?, &json!(asked))?;
    Ok(Json(intake.commands.shift_orders(&asked, &by, key.as_ref()).await?))
}

/// `GET /v1/systems`
async fn systems(
    ScopedViews(views): ScopedViews,
    Query(query): Query<SystemsQuery>,
) -> HttpResult<Json<Page<SystemView>>> {
    Ok(Json(views.systems(&query).await?))
}

/// `GET /v1/systems/{name}`
async fn system(ScopedViews(views): ScopedViews, Path(name): Path<String>) -> HttpResult<Json<SystemView>> {
    Ok(Json(views.system(&name).await?))
}

/// `GET /v1/systems/{name}/decisions`
async fn system_decisions(
    ScopedViews(views): ScopedViews,
    Path(name): Path<String>,
    Query(query): Query<DecisionsQuery>,
) -> HttpResult<Json<Page<DecisionView>>> {
    Ok(Json(views.system_decisions(&name, &query).await?))
}

/// `POST /v1/systems/{name}/stop`
async fn stop_system(
    State(intake): State<Intake>,
    Path(name): Path<String>,
    Caller(by): Caller,
    Sent(asked): Sent<SystemOrderRequest>,
) -> HttpResult<Json<ConfirmationView>> {
    Ok(Json(intake.commands.order_system(&name, SystemOrder::KeepStopped, &asked, &by).await?))
}

/// `POST /v1/systems/{name}/open`
async fn open_system(
    State(intake): State<Intake>,
    Path(name): Path<String>,
    Caller(by): Caller,
    Sent(asked): Sent<SystemOrderRequest>,
) -> HttpResult<Json<ConfirmationView>> {
    Ok(Json(intake.commands.order_system(&name, SystemOrder::ForceOpen, &asked, &by).await?))
}

/// `POST /v1/systems/{name}/clear`
async fn clear_system(
    State(intake): State<Intake>,
    Path(name): Path<String>,
    Caller(by): Caller,
    _: Sent<SystemOrderRequest>,
) -> HttpResult<Json<ConfirmationView>> {
    Ok(Json(intake.commands.clear_system(&name, &by).await?))
}

/// `POST /v1/leases/{name}/resign`, with a reason
async fn resign(
    State(intake): State<Intake>,
    Path(name): Path<String>,
    Caller(by): Caller,
    Sent(asked): Sent<ResignRequest>,
) -> HttpResult<Json<ResignedView>> {
    let resigned = intake.commands.resign(&name, &asked, &by).await?;
    Ok(Json(ResignedView { lease: name, resigned }))
}
