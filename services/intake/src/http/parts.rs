//! One order, and each part of it.

use axum::Json;
use axum::body::Body;
use axum::http::{HeaderMap, Response, Uri, header};
use axum::response::IntoResponse as _;
use pagurus_view::{EventsQuery, LogQuery, PartQuery};
use pagurus_wire::explain::Explanation;
use pagurus_wire::ledger::LedgerView;
use pagurus_wire::order::{DependencyGraph, EventView, LogLineView, OrderView, StatusView, TransitionView};
use pagurus_wire::parts::{CallbackView, ProgressView, RequestView, StepView, TaskView};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use super::HttpResult;
use super::caller::ScopedViews;
use super::document::{Table, client, viewer};
use super::pages::Part;
use super::query::{NoQuery, Path, Query};

pub(super) fn routes(table: Table) -> Table {
    table
        .of("One order", "An order with all its data, and each part of it.")
        .get("/v1/orders/{id}", order, client("One order with everything."))
        .get("/v1/orders/{id}/params", params, viewer("Parameters, with `***` in place of what is masked."))
        .get("/v1/orders/{id}/status", status, client("Status and life."))
        .get("/v1/orders/{id}/progress", progress, client("Progress from 0 to 1."))
        .get("/v1/orders/{id}/transitions", transitions, viewer("Moves from state to state."))
        .get("/v1/orders/{id}/events", events, viewer("History, event by event."))
        .get(
            "/v1/orders/{id}/log",
            log,
            viewer("Lines that the engine and the scenario wrote.")
                .more("With `Accept: text/plain` each line is one of text: its time, and what was written.")
                .gives::<Vec<LogLineView>>(200, "The lines.")
                .gives_text("text/plain", "The lines as text."),
        )
        .get(
            "/v1/orders/{id}/steps",
            steps,
            viewer(
                "Recorded steps: the calls, messages, tasks and children of its actions, with their results.",
            ),
        )
        .get(
            "/v1/orders/{id}/tasks",
            tasks,
            viewer("Work for it, done and to be done: stages, requests, notifications."),
        )
        .get("/v1/orders/{id}/requests", requests, viewer("Questions to other systems."))
        .get("/v1/orders/{id}/callbacks", callbacks, viewer("Answers to these questions."))
        .get("/v1/orders/{id}/explain", explain, viewer("Why it does not run, in a sentence."))
        .get("/v1/orders/{id}/ledger", ledger, viewer("Where its time went: every millisecond by reason."))
        .get(
            "/v1/orders/{id}/dependencies",
            dependencies,
            viewer("Orders that it waits for, and that wait for it."),
        )
}

/// `GET /v1/orders/{id}`
async fn order(ScopedViews(views): ScopedViews, Path(id): Path<String>) -> HttpResult<Json<OrderView>> {
    Ok(Json(views.order(&id).await?))
}

/// `GET /v1/orders/batch`: an order may have this name, and batches have taken its path.
pub(super) async fn order_named_batch(views: ScopedViews) -> HttpResult<Json<OrderView>> {
    order(views, Path("batch".to_owned())).await
}

async fn params(
    ScopedViews(views): ScopedViews,
    Path(id): Path<String>,
    _: NoQuery,
) -> HttpResult<Json<Value>> {
    Ok(Json(views.params(&id).await?))
}

async fn status(
    ScopedViews(views): ScopedViews,
    Path(id): Path<String>,
    _: NoQuery,
) -> HttpResult<Json<StatusView>> {
    Ok(Json(views.status(&id).await?))
}

async fn progress(
    ScopedViews(views): ScopedViews,
    Path(id): Path<String>,
    _: NoQuery,
) -> HttpResult<Json<ProgressView>> {
    Ok(Json(views.progress(&id).await?))
}

async fn ledger(
    ScopedViews(views): ScopedViews,
    Path(id): Path<String>,
    _: NoQuery,
) -> HttpResult<Json<LedgerView>> {
    Ok(Json(views.ledger(&id).await?))
}

async fn transitions(
    ScopedViews(views): ScopedViews,
    Path(id): Path<String>,
    Query(query): Query<PartQuery>,
    uri: Uri,
) -> HttpResult<Part<TransitionView>> {
    Ok(Part::of(views.transitions(&id, &query).await?, &uri, "cursor"))
}

async fn events(
    ScopedViews(views): ScopedViews,
    Path(id): Path<String>,
    Query(query): Query<EventsQuery>,
    uri: Uri,
) -> HttpResult<Part<EventView>> {
    Ok(Part::of(views.events(&id, &query).await?, &uri, "after"))
}

async fn log(
    ScopedViews(views): ScopedViews,
    Path(id): Path<String>,
    Query(query): Query<LogQuery>,
    uri: Uri,
    headers: HeaderMap,
) -> HttpResult<Response<Body>> {
    let part = Part::of(views.log(&id, &query).await?, &uri, "cursor");
    let accept = headers.get(header::ACCEPT).and_then(|accept| accept.to_str().ok()).unwrap_or_default();
    Ok(if wants_text(accept) { part.into_text(line) } else { part.into_response() })
}

/// True if a client asks for text rather than for JSON.
fn wants_text(accept: &str) -> bool {
    let first = accept.split([',', ';']).next().unwrap_or_default();
    first.trim().eq_ignore_ascii_case("text/plain")
}

/// A line of a log as text; what would break it is a space.
fn line(line: &LogLineView) -> String {
    let text: String =
        line.text.chars().map(|letter| if letter.is_control() { ' ' } else { letter }).collect();
    format!("{} {text}\n", line.at)
}

async fn steps(
    ScopedViews(views): ScopedViews,
    Path(id): Path<String>,
    Query(query): Query<PartQuery>,
    uri: Uri,
) -> HttpResult<Part<StepView>> {
    Ok(Part::of(views.steps(&id, &query).await?, &uri, "cursor"))
}

async fn tasks(
    ScopedViews(views): ScopedViews,
    Path(id): Path<String>,
    Query(query): Query<PartQuery>,
    uri: Uri,
) -> HttpResult<Part<TaskView>> {
    Ok(Part::of(views.tasks(&id, &query).await?, &uri, "cursor"))
}

async fn requests(
    ScopedViews(views): ScopedViews,
    Path(id): Path<String>,
    Query(query): Query<PartQuery>,
    uri: Uri,
) -> HttpResult<Part<RequestView>> {
    Ok(Part::of(views.requests(&id, &query).await?, &uri, "cursor"))
}

async fn callbacks(
    ScopedViews(views): ScopedViews,
    Path(id): Path<String>,
    Query(query): Query<PartQuery>,
    uri: Uri,
) -> HttpResult<Part<CallbackView>> {
    Ok(Part::of(views.callbacks_of(&id, &query).await?, &uri, "cursor"))
}

async fn explain(
    ScopedViews(views): ScopedViews,
    Path(id): Path<String>,
    _: NoQuery,
) -> HttpResult<Json<Explanation>> {
    Ok(Json(views.explain(&id).await?))
}

/// Query of a graph.
#[derive(Debug, Deserialize, JsonSchema)]
struct GraphQuery {
    /// Steps to follow in each direction; default: 3, at most 20.
    depth: Option<usize>,
}

async fn dependencies(
    ScopedViews(views): ScopedViews,
    Path(id): Path<String>,
    Query(query): Query<GraphQuery>,
) -> HttpResult<Json<DependencyGraph>> {
    Ok(Json(views.dependencies(&id, query.depth).await?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ord_25_a_line_of_the_log_stays_a_line_as_text() {
        let said = LogLineView { line: 1, at: "2026-01-01T00:00:00Z".into(), text: "a\nb\u{1b}[2J".into() };
        assert_eq!(line(&said), "2026-01-01T00:00:00Z a b [2J\n");
        assert!(wants_text("text/plain;q=0.9, */*") && wants_text("Text/Plain"));
        assert!(!wants_text("application/json, text/plain") && !wants_text("*/*") && !wants_text(""));
    }
}
