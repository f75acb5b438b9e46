//! Flows and called systems over HTTP: what is seen of them, and what operators decide about them.

use axum::Json;
use axum::body::Body;
use axum::extract::State;
use pagurus_domain::dispatch::SystemOrder;
use pagurus_view::{FlowsQuery, StopsQuery, SystemsQuery};
use pagurus_wire::flows::{
    ConfirmationView, FlowView, ResignRequest, ResumeRequest, ShiftOutcome, ShiftRequest, StopOutcome,
    StopRequest, StopView, SystemOrderRequest, SystemView,
};
use pagurus_wire::order::Page;
use pagurus_wire::problem::{Problem, Type};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::Outcome;
use super::body::read_json_if_any;
use super::caller::Caller;
use super::query::{Path, Query};
use crate::Intake;

/// `GET /v1/flows`
pub(super) async fn list(
    State(intake): State<Intake>,
    Query(query): Query<FlowsQuery>,
) -> Outcome<Json<Page<FlowView>>> {
    Ok(Json(intake.views.flows(&query).await?))
}

/// `GET /v1/flows/{flow}`
pub(super) async fn show(State(intake): State<Intake>, Path(flow): Path<String>) -> Outcome<Json<FlowView>> {
    Ok(Json(intake.views.flow(&flow).await?))
}

/// `GET /v1/flows/stop`: a flow may bear this name, and the door for stops has taken its path.
pub(super) async fn show_named_stop(state: State<Intake>) -> Outcome<Json<FlowView>> {
    show(state, Path("stop".to_owned())).await
}

/// `GET /v1/flows/resume`: a flow may bear this name.
pub(super) async fn show_named_resume(state: State<Intake>) -> Outcome<Json<FlowView>> {
    show(state, Path("resume".to_owned())).await
}

/// `GET /v1/flows/shift`: a flow may bear this name.
pub(super) async fn show_named_shift(state: State<Intake>) -> Outcome<Json<FlowView>> {
    show(state, Path("shift".to_owned())).await
}

/// `GET /v1/stops`
pub(super) async fn stops(
    State(intake): State<Intake>,
    Query(query): Query<StopsQuery>,
) -> Outcome<Json<Page<StopView>>> {
    Ok(Json(intake.views.stops(&query).await?))
}

/// `POST /v1/flows/stop`
pub(super) async fn stop(
    State(intake): State<Intake>,
    Caller(by): Caller,
    body: Body,
) -> Outcome<Json<StopOutcome>> {
    let asked: StopRequest = read(&intake, body).await?;
    Ok(Json(intake.commands.stop_flows(&asked, &by).await?))
}

/// `POST /v1/flows/resume`
pub(super) async fn resume(
    State(intake): State<Intake>,
    Caller(by): Caller,
    body: Body,
) -> Outcome<Json<StopOutcome>> {
    let asked: ResumeRequest = read(&intake, body).await?;
    Ok(Json(intake.commands.resume_flows(&asked, &by).await?))
}

/// `POST /v1/flows/shift`
pub(super) async fn shift(
    State(intake): State<Intake>,
    Caller(by): Caller,
    body: Body,
) -> Outcome<Json<ShiftOutcome>> {
    let asked: ShiftRequest = read(&intake, body).await?;
    Ok(Json(intake.commands.shift_orders(&asked, &by).await?))
}

/// `GET /v1/systems`
pub(super) async fn systems(
    State(intake): State<Intake>,
    Query(query): Query<SystemsQuery>,
) -> Outcome<Json<Page<SystemView>>> {
    Ok(Json(intake.views.systems(&query).await?))
}

/// `GET /v1/systems/{name}`
pub(super) async fn system(
    State(intake): State<Intake>,
    Path(name): Path<String>,
) -> Outcome<Json<SystemView>> {
    Ok(Json(intake.views.system(&name).await?))
}

/// `POST /v1/systems/{name}/{order}`
pub(super) async fn order_system(
    State(intake): State<Intake>,
    Path((name, order)): Path<(String, String)>,
    Caller(by): Caller,
    body: Body,
) -> Outcome<Json<ConfirmationView>> {
    let asked: SystemOrderRequest = read(&intake, body).await?;
    let order = match order.as_str() {
        "stop" => SystemOrder::KeepStopped,
        "open" => SystemOrder::ForceOpen,
        "clear" => return Ok(Json(intake.commands.clear_system(&name, &by).await?)),
        _ => {
            let told = "orders about a system are: stop, open, clear";
            return Err(Problem::new(Type::NotFound, told).into());
        }
    };
    Ok(Json(intake.commands.order_system(&name, order, &asked, &by).await?))
}

/// `POST /v1/leases/{name}/resign`, with a reason
pub(super) async fn resign(
    State(intake): State<Intake>,
    Path(name): Path<String>,
    Caller(by): Caller,
    body: Body,
) -> Outcome<Json<Value>> {
    let asked: ResignRequest = read(&intake, body).await?;
    let former = intake.commands.resign(&name, &asked, &by).await?;
    Ok(Json(json!({"lease": name, "resigned": former})))
}

async fn read<T: DeserializeOwned>(intake: &Intake, body: Body) -> Outcome<T> {
    let asked = read_json_if_any(intake, body).await?;
    T::deserialize(&*asked).map_err(|error| Problem::new(Type::Invalid, error.to_string()).into())
}
