//! The control centre: its one HTML document for every address of a page, and the files that the document loads.

use std::borrow::Cow;

use axum::body::Body;
use axum::extract::Request;
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, Response, header};
use axum::response::IntoResponse as _;
use bytes::Bytes;
use pagurus_centre::{CONTENT_SECURITY_POLICY, PageFile};
use pagurus_runtime::Entrance;
use pagurus_wire::problem::{Problem, Type};

use super::ProblemResponse;
use super::document::{Table, anyone};
use super::query::Path;

/// Page in place of the control centre, in a build without it.
const MISSING: &str = "<!doctype html><html lang=\"en\"><meta charset=\"utf-8\"><title>Pagurus</title>\
    <h1>Pagurus runs, without its control centre</h1>\
    <p>This build has no pages. They are made by <code>./dev pages</code>, which needs node and a registry of npm packages that it \
    can reach; what it printed at the start says what it lacked.</p>\
    <p>Everything else works: the API is described at <a href=\"/docs\">/docs</a>, and the command line is <code>pagurus</code>.</p></html>";

/// Headers of a page.
pub(super) const PAGE_HEADERS: [(HeaderName, &str); 5] = [
    (header::CONTENT_SECURITY_POLICY, CONTENT_SECURITY_POLICY),
    (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
    (header::REFERRER_POLICY, "same-origin"),
    (HeaderName::from_static("cross-origin-opener-policy"), "same-origin"),
    // Its files have names of their own for each build, so a page must never be old.
    (header::CACHE_CONTROL, "no-cache"),
];

/// Headers of a file whose name tells its contents.
pub(super) const FOR_EVER: [(HeaderName, &str); 2] = [
    (header::CACHE_CONTROL, "public, max-age=31536000, immutable"),
    (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
];

pub(super) fn routes(table: Table) -> Table {
    table
        .of("Control centre", "Pages for people.")
        .get(
            "/",
            shell,
            anyone("The control centre, a page for people.").gives_text("text/html", "The page."),
        )
        .get(
            "/assets/{name}",
            asset,
            anyone("A script or a style sheet of the control centre.")
                .gives_text("text/javascript", "The script.")
                .gives_text("text/css", "The style sheet."),
        )
}

/// `GET /`
async fn shell(headers: HeaderMap) -> Response<Body> {
    shell_for(&headers)
}

fn shell_for(headers: &HeaderMap) -> Response<Body> {
    let Some(file) = pagurus_centre::shell(takes_gzip(headers)) else {
        let policy = "default-src 'none'";
        let kind = (header::CONTENT_TYPE, HeaderValue::from_static("text/html; charset=utf-8"));
        let headers = [kind, (header::CONTENT_SECURITY_POLICY, HeaderValue::from_static(policy))];
        return (headers, MISSING).into_response();
    };
    (PAGE_HEADERS, answer_of(file)).into_response()
}

/// `GET /assets/{name}`
async fn asset(Path(name): Path<String>, headers: HeaderMap) -> Response<Body> {
    match pagurus_centre::asset(&name, takes_gzip(&headers)) {
        Some(file) => (FOR_EVER, answer_of(file)).into_response(),
        None => ProblemResponse(Problem::new(Type::NotFound, "there is no such file")).into_response(),
    }
}

/// Answers a browser that goes to the address of a page; nothing for everybody else. Which pages there are, the pages know.
pub(super) fn page_for(request: &Request) -> Option<Response<Body>> {
    let navigates = *request.method() == Method::GET && !request.uri().path().starts_with("/v1/");
    (navigates && is_for_people(request) && reads_html(request.headers()))
        .then(|| shell_for(request.headers()))
}

pub(super) fn answer_of(file: PageFile) -> Response<Body> {
    let encoding = file.gzip.then_some((header::CONTENT_ENCODING, HeaderValue::from_static("gzip")));
    let kind = (header::CONTENT_TYPE, HeaderValue::from_static(file.media_type));
    let vary = (header::VARY, HeaderValue::from_static("accept-encoding"));
    let mut answer = Response::new(match file.bytes {
        Cow::Borrowed(carried) => Body::from(Bytes::from_static(carried)),
        Cow::Owned(read) => Body::from(read),
    });
    answer.headers_mut().extend(encoding.into_iter().chain([kind, vary]));
    answer
}

/// False at the addresses for senders and for called systems, which serve nothing else.
pub(super) fn is_for_people(request: &Request) -> bool {
    request.extensions().get::<Entrance>().copied().unwrap_or_default() == Entrance::All
}

/// True for a browser that goes to an address.
pub(super) fn reads_html(headers: &HeaderMap) -> bool {
    let accepted = headers.get(header::ACCEPT).and_then(|value| value.to_str().ok());
    accepted.is_some_and(|kinds| kinds.contains("text/html"))
}

pub(super) fn takes_gzip(headers: &HeaderMap) -> bool {
    let accepted = headers.get(header::ACCEPT_ENCODING).and_then(|value| value.to_str().ok());
    accepted
        .is_some_and(|codings| codings.split(',').any(|coding| coding.trim().eq_ignore_ascii_case("gzip")))
}
