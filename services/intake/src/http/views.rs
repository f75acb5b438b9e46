//! Everything that is read over HTTP: each view answers with its value, or its problem.

use axum::Json;
use axum::body::Body;
use axum::extract::State;
use axum::http::{Response, header};
use axum::response::IntoResponse;
use pagurus_domain::scenario::graph as drawing;
use pagurus_view::{
    CallbacksQuery, ErrorGroupsQuery, ErrorOrdersQuery, ExportQuery, NotificationsQuery, OrdersQuery,
};
use pagurus_wire::callbacks::CallbackLine;
use pagurus_wire::errors::{ErrorGroups, ErrorOrders, ExplanationView, QuestionView};
use pagurus_wire::export::ExportedOrder;
use pagurus_wire::order::{DependencyGraph, NotificationLine, OrderLine, OrderView, Page};
use pagurus_wire::problem::{Problem, Type};
use serde::Deserialize;
use serde_json::{Value, json};

use super::Outcome;
use super::body::read_json;
use super::query::{Nothing, Path, Query};
use super::scenarios::cut;
use crate::Intake;

/// `GET /v1/orders`
pub(super) async fn orders(
    State(intake): State<Intake>,
    Query(query): Query<OrdersQuery>,
) -> Outcome<Json<Page<OrderLine>>> {
    Ok(Json(intake.views.orders(query).await?))
}

/// `GET /v1/export/orders`
pub(super) async fn export(
    State(intake): State<Intake>,
    Query(query): Query<ExportQuery>,
) -> Outcome<Json<Page<ExportedOrder>>> {
    Ok(Json(intake.views.export(query).await?))
}

/// `GET /v1/orders/{id}`
pub(super) async fn order(State(intake): State<Intake>, Path(id): Path<String>) -> Outcome<Json<OrderView>> {
    Ok(Json(intake.views.order(&id).await?))
}

/// `GET /v1/orders/batch`: an order may bear this name, and the door for batches has taken its path.
pub(super) async fn order_named_batch(State(intake): State<Intake>) -> Outcome<Json<OrderView>> {
    Ok(Json(intake.views.order("batch").await?))
}

/// Query of a part that is paged.
#[derive(Debug, Deserialize)]
pub(super) struct PartQuery {
    after: Option<i32>,
    #[serde(rename = "fromLine")]
    from_line: Option<usize>,
    size: Option<usize>,
}

/// `GET /v1/orders/{id}/{part}`
pub(super) async fn part(
    State(Intake { views, .. }): State<Intake>,
    Path((id, part)): Path<(String, String)>,
    Query(query): Query<PartQuery>,
) -> Outcome<Response<Body>> {
    let value = match part.as_str() {
        "status" => return Ok(Json(views.status(&id).await?).into_response()),
        "params" => views.params(&id).await?,
        "progress" => json!({"progress": views.progress(&id).await?}),
        "transitions" => json!(views.transitions(&id).await?),
        "events" => json!(views.events(&id, query.after).await?),
        "log" => json!(views.log(&id, query.from_line, query.size).await?),
        "requests" => json!(views.requests(&id).await?),
        "callbacks" => json!(views.callbacks_of(&id).await?),
        "explain" => json!(views.explain(&id).await?),
        _ => {
            // The absence of the order comes before that of the part.
            views.status(&id).await?;
            let told = "parts of an order are: params, status, progress, transitions, events, log, requests, callbacks, dependencies, explain";
            return Err(Problem::new(Type::NotFound, told).into());
        }
    };
    Ok(Json(value).into_response())
}

/// `GET /v1/orders/{id}/calls`
pub(super) async fn calls(State(intake): State<Intake>, Path(id): Path<String>) -> Outcome<Json<Value>> {
    Ok(Json(json!(intake.views.calls(&id).await?)))
}

/// Query of a graph.
#[derive(Debug, Deserialize)]
pub(super) struct GraphQuery {
    depth: Option<usize>,
}

/// `GET /v1/orders/{id}/dependencies?depth=`
pub(super) async fn dependencies(
    State(intake): State<Intake>,
    Path(id): Path<String>,
    Query(query): Query<GraphQuery>,
) -> Outcome<Json<DependencyGraph>> {
    Ok(Json(intake.views.dependencies(&id, query.depth).await?))
}

/// `GET /v1/callbacks`
pub(super) async fn callbacks(
    State(intake): State<Intake>,
    Query(query): Query<CallbacksQuery>,
) -> Outcome<Json<Page<CallbackLine>>> {
    Ok(Json(intake.views.callbacks(&query).await?))
}

/// `GET /v1/notifications`
pub(super) async fn notifications(
    State(intake): State<Intake>,
    Query(query): Query<NotificationsQuery>,
) -> Outcome<Json<Page<NotificationLine>>> {
    Ok(Json(intake.views.notifications(&query).await?))
}

/// `GET /v1/errors`
pub(super) async fn error_groups(
    State(intake): State<Intake>,
    Query(query): Query<ErrorGroupsQuery>,
) -> Outcome<Json<ErrorGroups>> {
    Ok(Json(intake.views.error_groups(query).await?))
}

/// `GET /v1/errors/orders`
pub(super) async fn error_orders(
    State(intake): State<Intake>,
    Query(query): Query<ErrorOrdersQuery>,
) -> Outcome<Json<ErrorOrders>> {
    Ok(Json(intake.views.error_orders(query).await?))
}

/// `POST /v1/classify`
pub(super) async fn classify(State(intake): State<Intake>, body: Body) -> Outcome<Json<ExplanationView>> {
    let asked = read_json(&intake, body).await?;
    let question =
        QuestionView::deserialize(&*asked).map_err(|error| Problem::new(Type::Invalid, error.to_string()))?;
    Ok(Json(intake.views.classify(&question).await?))
}

/// `GET /v1/nodes`
pub(super) async fn nodes(State(intake): State<Intake>, _: Query<Nothing>) -> Outcome<Json<Page<Value>>> {
    Ok(Json(intake.views.nodes().await?))
}

/// `GET /v1/leases`
pub(super) async fn leases(State(intake): State<Intake>, _: Query<Nothing>) -> Outcome<Json<Page<Value>>> {
    Ok(Json(intake.views.leases().await?))
}

/// `GET /v1/queues`
pub(super) async fn queues(State(intake): State<Intake>, _: Query<Nothing>) -> Outcome<Json<Page<Value>>> {
    Ok(Json(intake.views.queues().await?))
}

/// `GET /v1/scenarios`
pub(super) async fn scenarios(State(intake): State<Intake>, _: Query<Nothing>) -> Outcome<Json<Page<Value>>> {
    Ok(Json(intake.views.scenarios().await?))
}

/// `GET /v1/scenarios/{name}/versions`
pub(super) async fn versions(
    State(intake): State<Intake>,
    Path(name): Path<String>,
) -> Outcome<Json<Page<Value>>> {
    Ok(Json(intake.views.versions(&name).await?))
}

/// Query of what shows one version.
#[derive(Debug, Deserialize)]
pub(super) struct VersionQuery {
    /// Left out: the newest one.
    version: Option<i32>,
    /// Format of a picture: `svg` or `mermaid`.
    format: Option<String>,
}

/// `GET /v1/scenarios/{name}`: the text as it was applied.
pub(super) async fn scenario(
    State(intake): State<Intake>,
    Path(name): Path<String>,
    Query(query): Query<VersionQuery>,
) -> Outcome<Response<Body>> {
    let text = intake.views.scenario_text(&name, query.version).await?;
    Ok(([(header::CONTENT_TYPE, "application/yaml")], text).into_response())
}

/// `GET /v1/scenarios/{name}/graph`: the workflow as a picture.
pub(super) async fn graph(
    State(Intake { views, .. }): State<Intake>,
    Path(name): Path<String>,
    Query(query): Query<VersionQuery>,
) -> Outcome<Response<Body>> {
    let (kind, draw): (_, fn(&_) -> String) = match query.format.as_deref() {
        None | Some("svg") => ("image/svg+xml", drawing::svg),
        Some("mermaid") => ("text/vnd.mermaid; charset=utf-8", drawing::mermaid),
        Some(other) => {
            let told = format!("there is no format `{}`; write svg or mermaid", cut(other));
            return Err(Problem::new(Type::Invalid, told).at("/format").into());
        }
    };
    let scenario = views.read_scenario(&views.scenario_text(&name, query.version).await?)?;
    // The picture has a sheet of its own and nothing else that a page could run.
    let policy = "default-src 'none'; style-src 'unsafe-inline'";
    let headers = [(header::CONTENT_TYPE, kind), (header::CONTENT_SECURITY_POLICY, policy)];
    Ok((headers, draw(&scenario)).into_response())
}
