//! The HTTP door: routes, limits, and how problems are answered.

mod amendments;
mod batch;
mod body;
mod callbacks;
mod caller;
mod calls;
mod cluster;
mod dependencies;
mod errors;
mod explain;
mod guard;
mod log;
mod orders;
mod query;
mod retry;
mod scenarios;
mod search;
mod stand;
mod views;

use axum::Router;
use axum::body::Body;
use axum::http::{HeaderValue, Response, StatusCode, header};
use axum::middleware;
use axum::response::IntoResponse;
use axum::routing::{get, post, put};
use pagurus_wire::problem::{Problem, Type};

pub(crate) use self::body::Bodies;
use crate::Intake;

/// Media type of problems (RFC 9457).
const PROBLEM: HeaderValue = HeaderValue::from_static("application/problem+json");

/// All routes of the API.
pub(crate) fn router(intake: Intake) -> Router {
    Router::new()
        .route("/v1/orders", post(orders::create).get(search::list))
        .route(
            "/v1/orders/batch",
            post(batch::create).get(orders::view_named_batch).patch(amendments::update_named_batch),
        )
        .route("/v1/orders/{id}", get(orders::view).patch(amendments::update))
        .route("/v1/orders/{id}/dependencies", get(dependencies::graph))
        .route("/v1/orders/{id}/clone", post(amendments::clone))
        .route("/v1/orders/{id}/repair", post(amendments::repair))
        .route("/v1/orders/{id}/calls", post(calls::call).get(views::calls))
        .route("/v1/orders/{id}/calls/{key}", get(calls::show))
        .route("/v1/orders/{id}/wait", get(orders::wait))
        .route("/v1/orders/{id}/{part}", get(views::part).post(orders::action))
        .route("/v1/callbacks", get(callbacks::list))
        .route("/v1/callbacks/{request}", post(callbacks::take))
        .route("/v1/callbacks/{request}/heartbeat", post(callbacks::heartbeat))
        .route("/v1/scenarios", get(scenarios::list))
        .route("/v1/scenarios/check", post(scenarios::check))
        .route("/v1/scenarios/test", post(scenarios::trial::test))
        .route("/v1/scenarios/{name}", put(scenarios::apply).get(scenarios::show))
        .route("/v1/scenarios/{name}/versions", get(scenarios::versions))
        .route("/v1/scenarios/{name}/graph", get(scenarios::graph))
        .route("/v1/scenarios/{name}/migrate", post(scenarios::migrate::migrate))
        .route("/v1/errors", get(errors::groups))
        .route("/v1/errors/orders", get(errors::orders))
        .route("/v1/classify", post(errors::classify))
        .route("/v1/nodes", get(cluster::nodes))
        .route("/v1/leases", get(cluster::leases))
        .route("/v1/queues", get(cluster::queues))
        .route("/v1/queues/{name}/release", post(cluster::release))
        .fallback(|| async { Answer(Problem::new(Type::NotFound, "there is nothing at this path")) })
        .method_not_allowed_fallback(|| async {
            Answer(Problem::new(Type::MethodNotAllowed, "this path does not know the method"))
        })
        .with_state(intake)
        .layer(middleware::from_fn(guard::guard))
}

/// A problem as an answer.
#[derive(Debug)]
pub(crate) struct Answer(pub Problem);

impl From<Problem> for Answer {
    fn from(problem: Problem) -> Self {
        Self(problem)
    }
}

impl IntoResponse for Answer {
    fn into_response(self) -> Response<Body> {
        let status = StatusCode::from_u16(self.0.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        // Plain data always serializes.
        let body = serde_json::to_vec(&self.0).unwrap_or_default();
        let mut response = (status, body).into_response();
        let headers = response.headers_mut();
        headers.insert(header::CONTENT_TYPE, PROBLEM);
        if matches!(self.0.status, 429 | 503) {
            headers.insert(header::RETRY_AFTER, HeaderValue::from_static("1"));
        }
        response
    }
}

/// What handlers return.
pub(crate) type Outcome<T> = Result<T, Answer>;
