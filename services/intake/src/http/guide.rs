//! The documentation as pages: the same for everybody, and readable without a login, as the description of the API is.

use axum::body::Body;
use axum::extract::Request;
use axum::http::{HeaderMap, HeaderValue, Response, StatusCode, header};
use axum::response::{IntoResponse as _, Redirect};
use pagurus_centre::PageFile;
use pagurus_wire::problem::{Problem, Type};

use super::ProblemResponse;
use super::centre::{FOR_EVER, PAGE_HEADERS, answer_of, is_for_people, reads_html, takes_gzip};
use super::document::{Table, anyone};
use super::query::Path;

const HOME: &str = "/docs/guide/";

/// Page in place of the documentation, in a build without it.
const MISSING: &str = "<!doctype html><html lang=\"en\"><meta charset=\"utf-8\"><title>Pagurus documentation</title>\
    <h1>This build has no documentation</h1>\
    <p>Its pages are made by <code>./dev docs</code>, which needs node and a registry of npm packages that it can reach; what \
    <code>./dev</code> printed at the start says what it lacked.</p>\
    <p>The same texts stand in the folder <code>docs</code> of the repository, and the API is described at \
    <a href=\"/docs\">/docs</a>.</p></html>";

pub(super) fn routes(table: Table) -> Table {
    table.get(HOME, home, anyone("The documentation: its start.").gives_text("text/html", "The page.")).get(
        "/docs/guide/{name}",
        file,
        anyone("A page of the documentation, or a file that its pages load.")
            .gives_text("text/html", "The page.")
            .gives_text("text/javascript", "A script.")
            .gives_text("text/css", "The style sheet.")
            .gives_text("image/svg+xml", "A picture.")
            .gives_text("image/png", "A picture.")
            .gives_text("application/json", "The index of the search."),
    )
}

/// Leads readers on who leave the last slash out, on which the links of the pages rest; nothing for everybody else. This is no
/// path of the API.
pub(super) fn without_slash(request: &Request) -> Option<Response<Body>> {
    let is_so = is_for_people(request) && Some(request.uri().path()) == HOME.strip_suffix('/');
    is_so.then(|| Redirect::permanent(HOME).into_response())
}

/// `GET /docs/guide/`
async fn home(headers: HeaderMap) -> Response<Body> {
    served("index.html", &headers)
}

/// `GET /docs/guide/{name}`
async fn file(Path(name): Path<String>, headers: HeaderMap) -> Response<Body> {
    served(&name, &headers)
}

fn served(name: &str, headers: &HeaderMap) -> Response<Body> {
    let gzip = takes_gzip(headers);
    match pagurus_centre::guide(name, gzip) {
        Some(file) if name.ends_with(".html") => page(file, headers),
        Some(file) => (FOR_EVER, answer_of(file)).into_response(),
        None if !reads_html(headers) => {
            ProblemResponse(Problem::new(Type::NotFound, "the documentation has no such page"))
                .into_response()
        }
        None => match pagurus_centre::guide("404.html", gzip) {
            Some(file) => (StatusCode::NOT_FOUND, PAGE_HEADERS, answer_of(file)).into_response(),
            None => missing(),
        },
    }
}

/// Answers a page, or says that the reader has it already.
fn page(file: PageFile, headers: &HeaderMap) -> Response<Body> {
    let tag = format!("\"{}\"", file.digest);
    let known = headers.get(header::IF_NONE_MATCH).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let is_known = known.split(',').any(|one| one.trim().trim_start_matches("W/") == tag);
    let mut answer = if is_known {
        (StatusCode::NOT_MODIFIED, PAGE_HEADERS).into_response()
    } else {
        (PAGE_HEADERS, answer_of(file)).into_response()
    };
    // Digits and quotes are always a value.
    if let Ok(tag) = HeaderValue::from_str(&tag) {
        answer.headers_mut().insert(header::ETAG, tag);
    }
    answer
}

fn missing() -> Response<Body> {
    let headers = [
        (header::CONTENT_TYPE, "text/html; charset=utf-8"),
        (header::CONTENT_SECURITY_POLICY, "default-src 'none'"),
    ];
    (StatusCode::NOT_FOUND, headers, MISSING).into_response()
}
