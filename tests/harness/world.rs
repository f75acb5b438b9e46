//! The systems that the engine calls: a server that answers as programmed, and notes every call.
//! Never decides by itself: a path that nobody programmed answers 200 with a small JSON body at once.

pub mod amqp;
mod connection;
pub mod program;

use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use anyhow::{Result, bail};
use axum::Router;
use axum::body::{Body, to_bytes};
use axum::extract::{ConnectInfo, Request, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::Response;
use jiff::Timestamp;
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio::task::JoinHandle;

use crate::client::{http, lock};
use crate::ports::{Owner, Ports};
use connection::{Listener, Wire};
use program::{CallBack, Program, Step, Then};

/// A request body is read up to here.
const BODY_BYTES_MAX: usize = 16 * 1024 * 1024;

/// A call that came in.
#[derive(Clone, Debug)]
pub struct Call {
    /// The method.
    pub method: String,
    /// The path, without the query.
    pub path: String,
    /// The query, without the question mark.
    pub query: String,
    /// The headers, names in lower case.
    pub headers: HashMap<String, String>,
    /// The body; a string if it is no JSON, null if it is empty.
    pub body: Value,
    /// The body as it came, for those who check a signature.
    pub text: String,
    /// Time at which it came, by the wall clock.
    pub at: Timestamp,
    /// Time at which it came.
    pub started: Instant,
    /// Time at which the answer went out; `None` while it is at work, and for ever if it hangs or was given up by the caller.
    pub ended: Option<Instant>,
    /// The status that was answered.
    pub status: Option<u16>,
}

/// A running server; it ends with this value.
#[derive(Debug)]
pub struct World {
    url: String,
    shared: Arc<Shared>,
    task: JoinHandle<()>,
    _ports: Option<Ports>,
}

#[derive(Debug)]
struct Shared {
    programs: Mutex<Vec<Program>>,
    calls: Mutex<Vec<Call>>,
    count: watch::Sender<usize>,
    record: bool,
    http: reqwest::Client,
}

impl World {
    /// A server on a free port.
    ///
    /// # Errors
    /// No port is free.
    pub async fn start() -> Result<Self> {
        let ports = Ports::reserve(1, &Owner::this_process()?)?;
        let mut world = Self::start_on(ports.first(), true).await?;
        world._ports = Some(ports);
        Ok(world)
    }

    /// A server on this port; without `record` calls are answered and forgotten, for long runs.
    ///
    /// # Errors
    /// The port is taken.
    pub async fn start_on(port: u16, record: bool) -> Result<Self> {
        let shared = Arc::new(Shared {
            programs: Mutex::default(),
            calls: Mutex::default(),
            count: watch::Sender::new(0),
            record,
            http: http()?,
        });
        let listener = Listener::new(TcpListener::bind(("127.0.0.1", port)).await?);
        let router = Router::new().fallback(handle).with_state(Arc::clone(&shared));
        let service = router.into_make_service_with_connect_info::<Wire>();
        let task = tokio::spawn(async move {
            // It runs until the task is aborted.
            let _ = axum::serve(listener, service).await;
        });
        Ok(Self { url: format!("http://127.0.0.1:{port}"), shared, task, _ports: None })
    }

    /// The base URL, without a slash at its end.
    #[must_use]
    pub fn url(&self) -> &str {
        &self.url
    }

    /// Says what happens at a path from now on; a later program for the same path replaces an earlier one.
    pub fn program(&self, program: Program) {
        let mut programs = lock(&self.shared.programs);
        programs.retain(|other| other.path() != program.path());
        programs.push(program);
    }

    /// All calls of a path so far, in order of arrival; as for a program, `/**` at its end means all paths below.
    #[must_use]
    pub fn calls(&self, path: &str) -> Vec<Call> {
        lock(&self.shared.calls).iter().filter(|call| program::covers(path, &call.path)).cloned().collect()
    }

    /// Forgets the calls so far.
    pub fn forget(&self) {
        lock(&self.shared.calls).clear();
    }

    /// Waits until there were at least `count` calls at a path.
    ///
    /// # Errors
    /// There were fewer when the time was over.
    pub async fn wait_calls(&self, path: &str, count: usize, within: Duration) -> Result<Vec<Call>> {
        let mut changes = self.shared.count.subscribe();
        let enough = changes.wait_for(|_| self.calls(path).len() >= count);
        match tokio::time::timeout(within, enough).await {
            Ok(_) => Ok(self.calls(path)),
            Err(_) => bail!("{} calls of {path} in {within:?}, {count} expected", self.calls(path).len()),
        }
    }
}

impl Drop for World {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Shared {
    fn note(&self, call: Call) -> usize {
        let mut calls = lock(&self.calls);
        if self.record {
            calls.push(call);
        }
        let index = calls.len().saturating_sub(1);
        drop(calls);
        self.count.send_modify(|count| *count += 1);
        index
    }

    fn answered(&self, index: usize, started: Instant, status: Option<u16>) {
        // The list may have been forgotten meanwhile; the moment of arrival tells calls apart.
        if let Some(call) = lock(&self.calls).get_mut(index).filter(|call| call.started == started) {
            call.ended = Some(Instant::now());
            call.status = status;
        }
        self.count.send_modify(|_| {});
    }

    fn step(&self, call: &Call) -> Step {
        let mut programs = lock(&self.programs);
        let best = programs
            .iter_mut()
            .filter(|program| program.matches(&call.path))
            .max_by_key(|program| program.path().len());
        best.map_or_else(Step::fine, |program| program.next(call))
    }
}

async fn handle(
    State(shared): State<Arc<Shared>>,
    ConnectInfo(wire): ConnectInfo<Wire>,
    request: Request,
) -> Response {
    let (parts, body) = request.into_parts();
    let started = Instant::now();
    let bytes = to_bytes(body, BODY_BYTES_MAX).await.unwrap_or_default();
    let call = Call {
        method: parts.method.to_string(),
        path: parts.uri.path().to_owned(),
        query: parts.uri.query().unwrap_or_default().to_owned(),
        headers: read_headers(&parts.headers),
        body: read_body(&bytes),
        text: String::from_utf8_lossy(&bytes).into_owned(),
        at: Timestamp::now(),
        started,
        ended: None,
        status: None,
    };
    let step = shared.step(&call);
    let callback = step
        .callback
        .as_ref()
        .and_then(|callback| callback.address(&call).map(|url| (callback.clone(), url)));
    let index = shared.note(call);
    if let Some((callback, url)) = callback {
        tokio::spawn(call_back(shared.http.clone(), callback, url));
    }
    tokio::time::sleep(step.delay).await;
    if let Some(mut hold) = step.hold {
        // The holder may be gone: then nothing holds it any more.
        let _ = hold.wait_for(|open| *open).await;
    }
    match step.then {
        Then::Answer { status, headers, body } => {
            shared.answered(index, started, Some(status));
            respond(status, &headers, &body)
        }
        Then::Hang => std::future::pending().await,
        Then::Cut => {
            wire.cut();
            shared.answered(index, started, None);
            // Nothing of it reaches the caller: the connection breaks at the first byte.
            Response::new(Body::empty())
        }
    }
}

async fn call_back(http: reqwest::Client, callback: CallBack, url: String) {
    tokio::time::sleep(callback.delay).await;
    for _ in 0..callback.times {
        // The called one may be away; it is the test's business to look at the result.
        let mut request = http.post(&url).json(&callback.body);
        if let Some(status) = &callback.step_status {
            request = request.header("step-status", status);
        }
        let _ = request.send().await;
    }
}

fn respond(status: u16, headers: &[(String, String)], body: &Value) -> Response {
    let text = match body {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    let mut builder = Response::builder().status(status);
    let typed = headers.iter().any(|(name, _)| name.eq_ignore_ascii_case("content-type"));
    if !typed && !text.is_empty() {
        let kind = if body.is_string() { "text/plain" } else { "application/json" };
        builder = builder.header(header::CONTENT_TYPE, kind);
    }
    for (name, value) in headers {
        builder = builder.header(name, value);
    }
    builder.body(Body::from(text)).unwrap_or_else(|error| {
        let mut response = Response::new(Body::from(json!({"program": error.to_string()}).to_string()));
        *response.status_mut() = StatusCode::INTERNAL_SERVER_ERROR;
        response
    })
}

fn read_headers(headers: &HeaderMap) -> HashMap<String, String> {
    let text = |value: &axum::http::HeaderValue| String::from_utf8_lossy(value.as_bytes()).into_owned();
    headers.iter().map(|(name, value)| (name.to_string(), text(value))).collect()
}

fn read_body(bytes: &[u8]) -> Value {
    if bytes.is_empty() {
        return Value::Null;
    }
    serde_json::from_slice(bytes)
        .unwrap_or_else(|_| Value::String(String::from_utf8_lossy(bytes).into_owned()))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test may panic")]

    use super::*;

    #[tokio::test]
    async fn a_path_fails_as_often_as_programmed_and_then_answers() {
        let world = World::start().await.unwrap();
        world.program(Program::at("/pay").fail(2, 503).then_answer(201, json!({"id": 7})));
        let http = http().unwrap();
        let mut statuses = Vec::new();
        for _ in 0..3 {
            let answer = http.post(format!("{}/pay", world.url())).body("{\"a\":1}").send().await.unwrap();
            statuses.push(answer.status().as_u16());
        }
        assert_eq!(statuses, [503, 503, 201]);
        let calls = world.wait_calls("/pay", 3, Duration::from_secs(1)).await.unwrap();
        assert_eq!(calls[0].body, json!({"a": 1}));
        assert!(calls.iter().all(|call| call.ended.is_some()));
    }

    #[tokio::test]
    async fn calls_are_counted_by_their_whole_path() {
        let world = World::start().await.unwrap();
        let http = http().unwrap();
        for path in ["/a", "/ab", "/a/b", "/a?b=1"] {
            http.get(format!("{}{path}", world.url())).send().await.unwrap();
        }
        let paths = |of: &str| world.calls(of).into_iter().map(|call| call.path).collect::<Vec<_>>();
        assert_eq!(paths("/a"), ["/a", "/a"]);
        assert_eq!(paths("/a/**"), ["/a", "/a/b", "/a"]);
        assert_eq!(paths("/**"), ["/a", "/ab", "/a/b", "/a"]);
    }

    #[tokio::test]
    async fn a_cut_connection_brings_no_answer_at_all() {
        let world = World::start().await.unwrap();
        world.program(Program::at("/cut").cut(1).then_answer(200, json!({})));
        let http = http().unwrap();
        let url = format!("{}/cut", world.url());
        assert!(http.get(&url).send().await.unwrap_err().status().is_none());
        assert_eq!(http.get(&url).send().await.unwrap().status().as_u16(), 200);
    }

    #[tokio::test]
    async fn a_call_back_goes_to_the_address_in_the_header() {
        let world = World::start().await.unwrap();
        world.program(Program::at("/ask").calling_back(CallBack::with(json!({"code": 0}))));
        let back = format!("{}/back", world.url());
        let ask = http().unwrap().post(format!("{}/ask", world.url())).header("X-Callback-Url", back);
        assert_eq!(ask.send().await.unwrap().status().as_u16(), 200);
        let calls = world.wait_calls("/back", 1, Duration::from_secs(5)).await.unwrap();
        assert_eq!(calls[0].body, json!({"code": 0}));
    }
}
