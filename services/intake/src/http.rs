//! The HTTP door: routes, limits, and how problems are answered.

mod amendments;
mod audit;
mod batch;
mod body;
mod callbacks;
mod caller;
mod calls;
mod flows;
mod guard;
mod orders;
mod query;
mod queues;
mod scenarios;
mod views;

use axum::Router;
use axum::body::Body;
use axum::http::Response;
use axum::middleware;
use axum::response::IntoResponse;
use axum::routing::{get, post, put};
use pagurus_runtime::answer_of;
use pagurus_wire::problem::{Problem, Type};

pub(crate) use self::body::Bodies;
use crate::Intake;

/// All routes of the API.
pub(crate) fn router(intake: Intake) -> Router {
    Router::new()
        .route("/v1/orders", post(orders::create).get(views::orders))
        .route(
            "/v1/orders/batch",
            post(batch::create).get(views::order_named_batch).patch(amendments::update_named_batch),
        )
        .route("/v1/orders/{id}", get(views::order).patch(amendments::update))
        .route("/v1/orders/{id}/dependencies", get(views::dependencies))
        .route("/v1/orders/{id}/clone", post(amendments::clone))
        .route("/v1/orders/{id}/repair", post(amendments::repair))
        .route("/v1/orders/{id}/requests/{name}/answer", post(amendments::answer))
        .route("/v1/orders/{id}/calls", post(calls::call).get(views::calls))
        .route("/v1/orders/{id}/calls/{key}", get(calls::show))
        .route("/v1/orders/{id}/wait", get(orders::wait))
        .route("/v1/orders/{id}/{part}", get(views::part).post(orders::action))
        .route("/v1/callbacks", get(views::callbacks))
        .route("/v1/callbacks/{request}", post(callbacks::take))
        .route("/v1/callbacks/{request}/heartbeat", post(callbacks::heartbeat))
        .route("/v1/audit", get(audit::list))
        .route("/v1/notifications", get(views::notifications))
        .route("/v1/scenarios", get(views::scenarios))
        .route("/v1/scenarios/check", post(scenarios::check))
        .route("/v1/scenarios/test", post(scenarios::trial::test))
        .route("/v1/scenarios/{name}", put(scenarios::apply).get(views::scenario))
        .route("/v1/scenarios/{name}/versions", get(views::versions))
        .route("/v1/scenarios/{name}/graph", get(views::graph))
        .route("/v1/scenarios/{name}/migrate", post(scenarios::migrate))
        .route("/v1/errors", get(views::error_groups))
        .route("/v1/errors/orders", get(views::error_orders))
        .route("/v1/classify", post(views::classify))
        .route("/v1/nodes", get(views::nodes))
        .route("/v1/leases", get(views::leases))
        .route("/v1/leases/{name}/resign", post(flows::resign))
        .route("/v1/flows", get(flows::list))
        .route("/v1/flows/{flow}", get(flows::show))
        .route("/v1/flows/stop", post(flows::stop).get(flows::show_named_stop))
        .route("/v1/flows/resume", post(flows::resume).get(flows::show_named_resume))
        .route("/v1/flows/shift", post(flows::shift).get(flows::show_named_shift))
        .route("/v1/stops", get(flows::stops))
        .route("/v1/systems", get(flows::systems))
        .route("/v1/systems/{name}", get(flows::system))
        .route("/v1/systems/{name}/{order}", post(flows::order_system))
        .route("/v1/queues", get(views::queues))
        .route("/v1/queues/{name}/release", post(queues::release))
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
        answer_of(&self.0)
    }
}

/// What handlers return.
pub(crate) type Outcome<T> = Result<T, Answer>;
