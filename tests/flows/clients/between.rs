//! Something that stands between a client and the engine, and spoils the first registration of some orders: those whose ids begin
//! with `cut-` (the engine does it, and its answer is lost on the way), `busy-` (it asks for a second of patience) and `gate-` (a proxy
//! in between answers by itself).

use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::State;
use axum::http::{HeaderMap, Method, StatusCode, Uri};
use axum::response::Response;
use futures_util::stream;
use serde_json::{Value, json};
use tokio_util::task::AbortOnDropHandle;

use crate::installation::Installation;

/// A running one; it ends with this value.
pub(super) struct Between {
    pub address: String,
    seen: Arc<Seen>,
    _serving: AbortOnDropHandle<()>,
}

struct Seen {
    engine: String,
    http: reqwest::Client,
    /// Each registration: the id, and when it came.
    registrations: Mutex<Vec<(String, Instant)>>,
}

impl Between {
    pub async fn start(engine: &Installation) -> Self {
        let (engine, http) = (engine.base().to_owned(), engine.env().http().clone());
        let seen = Arc::new(Seen { engine, http, registrations: Mutex::default() });
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = format!("http://{}", listener.local_addr().unwrap());
        let routes = Router::new().fallback(pass).with_state(Arc::clone(&seen));
        let serving = tokio::spawn(async { axum::serve(listener, routes).await.unwrap() });
        Self { address, seen, _serving: AbortOnDropHandle::new(serving) }
    }

    /// Asserts that a client registered each of its spoiled orders twice, no sooner than it was asked to, and that each is there
    /// once.
    pub async fn check(&self, engine: &Installation, client: &str) {
        let registrations = self.seen.registrations.lock().unwrap().clone();
        for kind in ["cut", "busy", "gate"] {
            let id = format!("{kind}-{client}");
            let times: Vec<Instant> =
                registrations.iter().filter(|(one, _)| *one == id).map(|(_, at)| *at).collect();
            assert_eq!(times.len(), 2, "{id}: {registrations:?}");
            let least = Duration::from_secs(u64::from(kind == "busy"));
            assert!(times[1] - times[0] >= least, "{id}: {registrations:?}");
            let found = engine.get(&format!("/v1/orders?ids={id}")).await.unwrap().success().unwrap();
            assert_eq!(found["items"].as_array().unwrap().len(), 1, "{found}");
        }
    }
}

async fn pass(
    State(seen): State<Arc<Seen>>,
    method: Method,
    uri: Uri,
    headers: HeaderMap,
    body: Bytes,
) -> Response {
    let asked: Value = serde_json::from_slice(&body).unwrap_or_default();
    let id = asked["id"].as_str().filter(|_| uri.path() == "/v1/orders").unwrap_or_default();
    let is_first = {
        let mut registrations = seen.registrations.lock().unwrap();
        let is_first = registrations.iter().all(|(one, _)| one != id);
        registrations.push((id.to_owned(), Instant::now()));
        is_first
    };
    let spoiled = id.split('-').next().filter(|_| is_first);
    if spoiled == Some("busy") {
        let problem =
            json!({"type": "urn:pagurus:problem:unavailable", "title": "t", "status": 503, "detail": "d"});
        return answer(503, Some("1"), problem.to_string().into());
    }
    if spoiled == Some("gate") {
        return answer(502, None, "<html>Bad Gateway</html>".into());
    }
    let request = seen.http.request(method, format!("{}{uri}", seen.engine)).headers(headers).body(body);
    let answered = request.send().await.unwrap();
    let (status, content) = (answered.status(), answered.bytes().await.unwrap());
    if spoiled == Some("cut") {
        let parts = [Ok(content.slice(..2)), Err(std::io::Error::other("cut"))];
        return answer(status.as_u16(), None, Body::from_stream(stream::iter(parts)));
    }
    answer(status.as_u16(), None, content.into())
}

fn answer(status: u16, retry_after: Option<&str>, body: Body) -> Response {
    let mut response = Response::new(body);
    *response.status_mut() = StatusCode::from_u16(status).unwrap();
    if let Some(seconds) = retry_after {
        response.headers_mut().insert("retry-after", seconds.parse().unwrap());
    }
    response
}
