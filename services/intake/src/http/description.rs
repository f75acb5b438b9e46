//! The description of the API: for programs at `/openapi.json`, for people at `/docs`.

use std::sync::Arc;

use axum::Extension;
use axum::body::Body;
use axum::http::{Response, header};
use axum::response::IntoResponse;
use bytes::Bytes;
use serde_json::Value;

use super::asyncapi;
use super::document::{self, Table, anyone};

/// Both forms of the document, made once.
pub(super) struct Description {
    document: Bytes,
    page: Bytes,
}

impl Description {
    pub(super) fn of(document: &Value) -> Self {
        Self { document: document.to_string().into(), page: document::page(document).into() }
    }
}

pub(super) fn routes(table: Table) -> Table {
    table
        .of("Description", "What this API is.")
        .get(
            "/openapi.json",
            openapi,
            anyone("OpenAPI document of this API.")
                .gives::<serde_json::Map<String, Value>>(200, "The document."),
        )
        .get(
            "/asyncapi.json",
            asyncapi::show,
            anyone("AsyncAPI document of the messages over RabbitMQ, with the names of this installation."),
        )
        .get(
            "/docs",
            docs,
            anyone("The same as a page for people, with a link to the documentation.")
                .gives_text("text/html", "The page."),
        )
}

/// `GET /openapi.json`
async fn openapi(Extension(description): Extension<Arc<Description>>) -> Response<Body> {
    ([(header::CONTENT_TYPE, "application/json")], description.document.clone()).into_response()
}

/// `GET /docs`
async fn docs(Extension(description): Extension<Arc<Description>>) -> Response<Body> {
    // The page has a sheet of its own and nothing that runs.
    let policy = "default-src 'none'; style-src 'unsafe-inline'";
    let headers =
        [(header::CONTENT_TYPE, "text/html; charset=utf-8"), (header::CONTENT_SECURITY_POLICY, policy)];
    (headers, description.page.clone()).into_response()
}
