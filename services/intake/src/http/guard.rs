//! Requests that are refused before any handler sees them: names that cannot be, requests to a host that is not ours or
//! that a web page of another site sent, and bodies of media types that the path does not read. Knows only
//! those paths by name whose bodies are not all JSON.

use axum::body::{Body, HttpBody as _};
use axum::extract::{Request, State};
use axum::http::uri::Authority;
use axum::http::{HeaderMap, Method, Response, header};
use axum::middleware::Next;
use axum::response::IntoResponse as _;
use pagurus_runtime::config::Settings;
use pagurus_runtime::hosts::is_called_by;
use pagurus_wire::problem::{Problem, Type};

use super::ProblemResponse;
use crate::Intake;

/// Lets through what the handlers may see.
pub(super) async fn guard(State(intake): State<Intake>, request: Request, next: Next) -> Response<Body> {
    let refused = without_nul(&request)
        .or_else(|| to_this_host(&request, &intake.host.settings()))
        .or_else(|| of_this_site(&request))
        .or_else(|| readable(&request));
    match refused {
        Some(problem) => ProblemResponse(problem).into_response(),
        None => next.run(request).await,
    }
}

/// Refuses the character NUL, which the database cannot hold: nothing has such a name.
fn without_nul(request: &Request) -> Option<Problem> {
    if request.uri().path().contains("%00") {
        return Some(Problem::new(Type::NotFound, "no name contains the character NUL"));
    }
    let query = request.uri().query().is_some_and(|query| query.contains("%00"));
    query.then(|| Problem::new(Type::Invalid, "the query contains the character NUL"))
}

/// Refuses requests to names by which the API is not called. For the browser, a name that leads to this node makes any page a
/// page of this site, also if a stranger owns the name.
fn to_this_host(request: &Request, settings: &Settings) -> Option<Problem> {
    let written = request.uri().authority().map(Authority::as_str).into_iter();
    // One that cannot be read is nobody's.
    let sent = request.headers().get_all(header::HOST).iter().map(|host| host.to_str().unwrap_or_default());
    let stranger = written.chain(sent).find(|host| !is_called_by(settings, host))?;
    let shown: String = stranger.chars().take(255).collect();
    let detail =
        format!("this API is not called by the host {shown}; if it is to be, add the name to `intake.hosts`");
    Some(Problem::new(Type::Misdirected, detail))
}

/// Refuses requests of pages of other sites. The API asks for no login on a loopback address, so any page that an operator
/// opens could act on it by the browser, or keep its connections with requests that last. Browsers say who asks; programs
/// send none of these headers.
fn of_this_site(request: &Request) -> Option<Problem> {
    let headers = request.headers();
    let is =
        |name: &str, value: &str| text(headers, name).is_some_and(|text| text.eq_ignore_ascii_case(value));
    if is("sec-fetch-site", "cross-site") {
        // Somebody follows a link, and sees what he gets.
        let follows = matches!(*request.method(), Method::GET | Method::HEAD)
            && is("sec-fetch-mode", "navigate")
            && is("sec-fetch-dest", "document")
            && request.uri().path() != "/v1/stream";
        return (!follows).then(|| Problem::new(Type::Forbidden, "a web page of another site asks for this"));
    }
    // One that cannot be read is one of another site.
    let origin = headers.get(header::ORIGIN)?.to_str().unwrap_or_default();
    let asked = text(headers, "host").or_else(|| request.uri().authority().map(|host| host.as_str()));
    let of_page = origin.split_once("://").map(|(scheme, host)| with_port(scheme, host));
    let same = origin
        .split_once("://")
        .zip(asked)
        .is_some_and(|((scheme, _), asked)| of_page == Some(with_port(scheme, asked)));
    let detail = || {
        Problem::new(Type::Forbidden, "a web page of another host asks for this: its Origin is not this Host")
    };
    (!same).then(detail)
}

/// Returns host and port, with the usual port of the scheme if none is written.
fn with_port(scheme: &str, host: &str) -> String {
    let usual = if scheme.eq_ignore_ascii_case("https") { "443" } else { "80" };
    let written =
        host.rsplit_once(':').is_some_and(|(_, port)| port.bytes().all(|byte| byte.is_ascii_digit()));
    let host = host.to_ascii_lowercase();
    if written { host } else { format!("{host}:{usual}") }
}

/// Media type that curl and libraries write by default: it says nothing about the body.
const UNSAID: &str = "application/x-www-form-urlencoded";

/// Paths beside those that store a scenario whose body is its text.
const TEXTS_OF_SCENARIOS: [&str; 3] =
    ["/v1/scenarios/check", "/v1/scenarios/graph", "/v1/scenarios/migration"];

/// Refuses a body of a media type or a coding that the path does not read: it would be taken for JSON, and called broken or,
/// worse, taken.
fn readable(request: &Request) -> Option<Problem> {
    let path = request.uri().path();
    let changes = matches!(*request.method(), Method::POST | Method::PUT | Method::PATCH);
    if !changes || path.starts_with("/v1/callbacks/") || request.body().is_end_stream() {
        return None;
    }
    if let Some(coding) = request.headers().get(header::CONTENT_ENCODING)
        && !coding.as_bytes().eq_ignore_ascii_case(b"identity")
    {
        let shown: String = coding.to_str().unwrap_or("(not ASCII)").chars().take(100).collect();
        let detail = format!("this API reads no body in the coding {shown}: send it as it is");
        return Some(Problem::new(Type::UnsupportedMediaType, detail));
    }
    let sent = request.headers().get(header::CONTENT_TYPE)?.to_str().unwrap_or("(not ASCII)");
    let kind = sent.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    let is = |known: &[&str]| known.contains(&&*kind);
    let scenario = *request.method() == Method::PUT && path.starts_with("/v1/scenarios/")
        || TEXTS_OF_SCENARIOS.contains(&path);
    let batch = path == "/v1/orders/batch";
    let read = is(&[UNSAID, "application/json", "text/json"])
        || kind.ends_with("+json")
        || (scenario
            && (is(&["application/yaml", "application/x-yaml", "text/yaml", "text/x-yaml"])
                || kind.ends_with("+yaml")))
        || (batch && is(&super::batch::LINES));
    if read {
        return None;
    }
    let reads = match (scenario, batch) {
        (true, _) => "application/yaml or application/json",
        (_, true) => "application/json or application/x-ndjson",
        _ => "application/json",
    };
    let shown: String = sent.chars().take(100).collect();
    Some(Problem::new(Type::UnsupportedMediaType, format!("this path reads {reads}, not {shown}")))
}

fn text<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    headers.get(name)?.to_str().ok()
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test may stop at the first surprise")]
mod tests {
    use pagurus_runtime::config::load;

    use super::*;

    fn asked(method: &str, path: &str, headers: &[(&str, &str)], body: &'static str) -> Request {
        let mut request = Request::builder().method(method).uri(path).header("host", "127.0.0.1:8080");
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        request.body(Body::from(body)).unwrap()
    }

    #[test]
    fn qlt_8_a_page_of_another_site_changes_nothing_and_keeps_nothing() {
        let refused = |method: &str, headers: &[(&str, &str)]| {
            of_this_site(&asked(method, "/v1/orders", headers, "{}")).map(|problem| problem.status)
        };
        for headers in [
            [("sec-fetch-site", "cross-site")],
            [("origin", "http://evil.example")],
            [("origin", "http://127.0.0.1:3000")],
            [("origin", "http://127.0.0.1")],
            [("origin", "null")],
            [("origin", "")],
        ] {
            assert_eq!(refused("POST", &headers), Some(403), "{headers:?}");
            assert_eq!(refused("GET", &headers), Some(403), "{headers:?}");
        }
        let link = [
            ("sec-fetch-site", "cross-site"),
            ("sec-fetch-mode", "navigate"),
            ("sec-fetch-dest", "document"),
        ];
        let frame = [link[0], link[1], ("sec-fetch-dest", "iframe")];
        assert_eq!(
            (refused("GET", &link), refused("POST", &link), refused("GET", &frame)),
            (None, Some(403), Some(403))
        );
        let stream = of_this_site(&asked("GET", "/v1/stream", &link, ""));
        assert!(stream.is_some(), "a stream lasts, whatever page opened it");
        for headers in [
            &[][..],
            &[("origin", "http://127.0.0.1:8080"), ("sec-fetch-site", "same-origin")],
            &[("sec-fetch-site", "none")],
        ] {
            assert_eq!(refused("POST", headers), None, "{headers:?}");
        }
        let proxied = Request::post("/v1/orders")
            .header("host", "Pagurus.example")
            .header("origin", "https://pagurus.example:443");
        assert!(of_this_site(&proxied.body(Body::empty()).unwrap()).is_none());
        let v6 = Request::post("/v1/orders").header("host", "[::1]").header("origin", "http://[::1]:80");
        assert!(of_this_site(&v6.body(Body::empty()).unwrap()).is_none());
    }

    #[test]
    fn qlt_8_a_request_to_the_host_of_a_stranger_is_refused_however_it_names_it() {
        let names = [("PAGURUS__INTAKE__HOSTS".to_owned(), "[shop.example]".to_owned())];
        let settings = load(None, names.into_iter()).unwrap();
        let refused = |uri: &str, hosts: &[&str]| {
            let request = hosts.iter().fold(Request::get(uri), |request, host| request.header("host", *host));
            to_this_host(&request.body(Body::empty()).unwrap(), &settings).map(|problem| problem.status)
        };
        for hosts in [&[][..], &["127.0.0.1:8080"], &["Shop.example"], &["shop.example", "localhost"]] {
            assert_eq!(refused("/v1/orders", hosts), None, "{hosts:?}");
        }
        for hosts in [&["evil.example"][..], &[""], &["localhost", "evil.example"]] {
            assert_eq!(refused("/v1/orders", hosts), Some(421), "{hosts:?}");
        }
        assert_eq!(refused("http://evil.example/v1/orders", &["localhost"]), Some(421));
    }

    #[test]
    fn qlt_8_each_body_that_the_document_describes_passes() {
        let document = crate::openapi();
        for (path, methods) in document["paths"].as_object().unwrap() {
            for (method, operation) in methods.as_object().unwrap() {
                for kind in operation["requestBody"]["content"].as_object().into_iter().flatten() {
                    let request = asked(&method.to_uppercase(), path, &[("content-type", kind.0)], "x");
                    assert!(readable(&request).is_none(), "{method} {path} {}", kind.0);
                }
            }
        }
    }

    #[test]
    fn qlt_8_a_body_of_another_media_type_is_reported() {
        let refused = |method: &str, path: &str, kind: &str| {
            readable(&asked(method, path, &[("content-type", kind)], "x")).map(|problem| problem.detail)
        };
        for (method, path, kind) in [
            ("POST", "/v1/orders", "application/json; charset=utf-8"),
            ("POST", "/v1/orders", "application/vnd.shop+json"),
            ("POST", "/v1/orders", UNSAID),
            ("POST", "/v1/orders/batch", "application/x-ndjson"),
            ("POST", "/v1/orders/batch", "Application/NDJSON; charset=utf-8"),
            ("PUT", "/v1/scenarios/a", "application/yaml"),
            ("POST", "/v1/scenarios/check", "text/yaml"),
            ("POST", "/v1/scenarios/migration", "application/yaml"),
            ("POST", "/v1/callbacks/r-1", "text/xml"),
            ("POST", "/v1/callbacks/r-1", "application/x-www-form-urlencoded"),
            ("GET", "/v1/orders", "text/plain"),
        ] {
            assert_eq!(refused(method, path, kind), None, "{method} {path} {kind}");
        }
        let detail = "this path reads application/json, not text/xml";
        assert_eq!(refused("POST", "/v1/orders/a/cancel", "text/xml").as_deref(), Some(detail));
        for (path, kind) in [
            ("/v1/orders", "application/x-ndjson"),
            ("/v1/orders", "application/yaml"),
            ("/v1/orders", "text/plain"),
            ("/v1/scenarios/test", "application/yaml"),
        ] {
            assert!(refused("POST", path, kind).is_some(), "{path} {kind}");
        }
        let coded = |coding: &str| {
            let request = asked("POST", "/v1/orders", &[("content-encoding", coding)], "x");
            readable(&request).map(|problem| problem.status)
        };
        assert_eq!((coded("gzip"), coded("br, gzip"), coded("identity")), (Some(415), Some(415), None));
        let empty = asked("POST", "/v1/orders/a/cancel", &[("content-type", "text/plain")], "");
        assert!(readable(&empty).is_none(), "there is nothing to read");
        assert!(readable(&asked("POST", "/v1/orders", &[], "{}")).is_none(), "without a type it is JSON");
    }
}
