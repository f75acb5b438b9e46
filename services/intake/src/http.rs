//! HTTP: routes, limits, and how problems are answered.

mod access;
mod actors;
mod amendments;
mod asyncapi;
mod audit;
mod batch;
mod body;
mod callbacks;
mod caller;
mod calls;
mod centre;
mod cluster;
mod concern;
mod description;
mod document;
mod dry_run;
mod errors;
mod exports;
mod flows;
mod guard;
mod guide;
mod idempotency;
mod identity;
mod operations;
mod orders;
mod pages;
mod parts;
mod payloads;
mod preconditions;
mod query;
mod queues;
mod quota;
mod refused;
mod registration;
mod scenarios;
mod schedules;
mod search;
mod sight;
mod start;
mod stream;
mod subscriptions;
mod views;
mod what_if;
mod windows;

use std::sync::Arc;

use axum::body::Body;
use axum::extract::Request;
use axum::http::Response;
use axum::response::IntoResponse;
use axum::{Extension, Router, middleware};
use pagurus_runtime::answer_of;
use pagurus_wire::problem::{Problem, Type};
use serde_json::Value;

pub(crate) use self::asyncapi::asyncapi;
pub(crate) use self::body::Bodies;
use self::description::Description;
use self::document::Table;
pub(crate) use self::exports::Exports;
use self::payloads::Payloads;
pub(crate) use self::quota::ClientQuotas;
use crate::Intake;

/// Returns all routes of the API, with their description.
fn table() -> Table {
    let rooms: [fn(Table) -> Table; 23] = [
        access::routes,
        orders::routes,
        parts::routes,
        amendments::routes,
        calls::routes,
        callbacks::routes,
        scenarios::routes,
        errors::routes,
        flows::routes,
        windows::routes,
        subscriptions::routes,
        schedules::routes,
        actors::routes,
        queues::routes,
        search::routes,
        operations::routes,
        refused::routes,
        audit::routes,
        cluster::routes,
        views::routes,
        sight::routes,
        stream::routes,
        centre::routes,
    ];
    guide::routes(description::routes(rooms.into_iter().fold(Table::new(), |table, room| room(table))))
}

/// Returns the OpenAPI document of the API.
pub(crate) fn openapi() -> Value {
    table().finish().1
}

/// Returns the router of the API.
pub(crate) fn router(intake: Intake) -> Router {
    let (router, document) = table().finish();
    let paths = Arc::new(paths_of(&document));
    router
        .fallback(move |request: Request| async move {
            let page = guide::without_slash(&request).or_else(|| centre::page_for(&request));
            page.unwrap_or_else(|| ProblemResponse(nothing_at(request.uri().path(), &paths)).into_response())
        })
        .method_not_allowed_fallback(|| async { ProblemResponse(Problem::method_not_allowed()) })
        .with_state(intake.clone())
        .layer(Extension(Arc::new(Description::of(&document))))
        .layer(Extension(Arc::new(Payloads::of(&document))))
        .layer(middleware::from_fn_with_state(intake.clone(), identity::identify))
        .layer(middleware::from_fn_with_state(intake.clone(), quota::limit))
        .layer(middleware::from_fn_with_state(intake, guard::guard))
}

fn paths_of(document: &Value) -> Vec<String> {
    document["paths"].as_object().into_iter().flatten().map(|(path, _)| path.clone()).collect()
}

/// Returns the problem of a path that leads nowhere. If only its last word is unknown, the known ones are listed.
fn nothing_at(path: &str, paths: &[String]) -> Problem {
    let mut detail = "there is nothing at this path".to_owned();
    let words: Vec<&str> = path.split('/').collect();
    let fits = |known: &[&str]| {
        known.len() == words.len()
            && known
                .iter()
                .zip(&words)
                .rev()
                .skip(1)
                .all(|(known, word)| known == word || known.starts_with('{'))
    };
    let known = paths.iter().map(|path| path.split('/').collect::<Vec<_>>()).filter(|known| fits(known));
    let last: Vec<&str> =
        known.filter_map(|known| known.last().copied()).filter(|last| !last.is_empty()).collect();
    if words.len() > 3 && !last.is_empty() {
        detail = format!("{detail}; at the place of its last word there are: {}", last.join(", "));
    }
    Problem::new(Type::NotFound, detail)
}

/// A problem as an answer.
#[derive(Debug)]
pub(crate) struct ProblemResponse(pub Problem);

impl From<Problem> for ProblemResponse {
    fn from(problem: Problem) -> Self {
        Self(problem)
    }
}

impl IntoResponse for ProblemResponse {
    fn into_response(self) -> Response<Body> {
        answer_of(&self.0)
    }
}

/// Result of a handler.
pub(crate) type HttpResult<T> = Result<T, ProblemResponse>;
