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
mod views;

use axum::Router;
use axum::body::Body;
use axum::http::{HeaderMap, HeaderValue, Response, StatusCode, header};
use axum::middleware;
use axum::response::IntoResponse;
use axum::routing::{get, post, put};
use jiff::Timestamp;
use pagurus_domain::time;
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

/// The header with the client's sending time, and its older name.
pub(crate) const SENT_TIME: [&str; 2] = ["request-sent-time", "crab-request-sent-time"];

/// The sending time of a request; one that cannot be read is refused (ORD-17).
pub(crate) fn sent_time_of(headers: &HeaderMap) -> Result<Option<Timestamp>, Problem> {
    let Some((name, value)) = SENT_TIME.iter().find_map(|name| Some((name, headers.get(*name)?))) else {
        return Ok(None);
    };
    let read = value.to_str().ok().and_then(time::read_sending_time);
    read.map(Some).ok_or_else(|| unreadable_sent_time(&format!("the header `{name}`")))
}

/// The answer to a sending time that cannot be read.
pub(crate) fn unreadable_sent_time(place: &str) -> Problem {
    Problem::new(Type::Invalid, format!("{place} must be {}, or milliseconds since 1970", time::RANGE))
}

/// A well-formed `traceparent` (W3C Trace Context, version 00); anything else is as good as none.
pub(crate) fn read_trace(parent: &str) -> Option<String> {
    let parts: Vec<&str> = parent.split('-').collect();
    let hex = |part: &str, length: usize| {
        part.len() == length
            && part.bytes().all(|byte| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte))
    };
    let zero = |part: &str| part.bytes().all(|byte| byte == b'0');
    let [version, trace, span, flags] = parts[..] else { return None };
    let good =
        version == "00" && hex(trace, 32) && hex(span, 16) && hex(flags, 2) && !zero(trace) && !zero(span);
    good.then(|| parent.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amqp_3_only_well_formed_trace_contexts_are_taken() {
        let good = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
        assert_eq!(read_trace(good).as_deref(), Some(good));
        for bad in [
            "",
            "00-0-0-01",
            &good.to_uppercase(),
            &good.replace("0af7651916cd43dd8448eb211c80319c", &"0".repeat(32)),
        ] {
            assert_eq!(read_trace(bad), None, "{bad}");
        }
    }
}
