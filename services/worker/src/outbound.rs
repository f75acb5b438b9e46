//! Requests to other systems over HTTP: who may be called, how long, and how much may come back.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use hyper::header::{CONTENT_TYPE, HeaderName, HeaderValue};
use hyper::{HeaderMap, Method};
use pagurus_domain::number::saturated;
use pagurus_domain::trace::TraceContext;
use pagurus_http::{Authority, Broken, HttpClient, HttpReply};
use pagurus_runtime::Host;
use pagurus_runtime::config::{CallRules, WorkerSettings};
use pagurus_runtime::metrics::{Count, Span};
use pagurus_runtime::stats::Series;
use pagurus_runtime::traces::TraceSpan;
use pagurus_scenario::stage::{Answer, HttpCall, HttpFailure, NO_ROOM, Response, SECRET_KEPT};
use pagurus_scenario::xml;

use crate::hanging::{CallOrigin, OpenCallGuard, OpenCalls};
use crate::memory::{RESERVE, Share};
use crate::traced;

/// Interval at which connections that no call uses are looked for.
const CLOSE_IDLE_EVERY: Duration = Duration::from_secs(10);
/// Time by which a new connection ends before its call.
const CONNECT_MARGIN: Duration = Duration::from_millis(5);

/// Everything that stages send to other systems.
pub(crate) struct Outbound {
    pub(crate) host: Host,
    /// Client, with the settings that it was made of.
    client: Mutex<(WorkerSettings, Arc<HttpClient>)>,
    /// Calls of stages that are open.
    pub(crate) open: OpenCalls,
}

impl Outbound {
    pub fn new(host: &Host) -> Self {
        let settings = host.settings().worker.clone();
        let client = Arc::new(client(&settings));
        Self { client: Mutex::new((settings, client)), host: host.clone(), open: OpenCalls::default() }
    }

    /// Closes connections that no call uses, until the end of the process.
    pub async fn close_idle(&self) {
        loop {
            tokio::time::sleep(CLOSE_IDLE_EVERY).await;
            self.client(&self.host.settings().worker).close_idle();
        }
    }

    /// Returns the client of these settings. Other settings make another one: a connection that is kept open leads where a new
    /// one might not be let.
    fn client(&self, settings: &WorkerSettings) -> Arc<HttpClient> {
        let mut present = self.client.lock().unwrap_or_else(PoisonError::into_inner);
        if present.0 != *settings {
            *present = (settings.clone(), Arc::new(client(settings)));
        }
        present.1.clone()
    }

    /// Makes an HTTP request.
    pub async fn http(
        &self,
        call: HttpCall,
        by: CallOrigin<'_>,
        trace: Option<&TraceContext>,
        share: &Share,
    ) -> Answer {
        self.request(call, Some(by), trace, share).await.map_or_else(Answer::Failed, Answer::Response)
    }

    /// Makes an HTTP request, for a stage or for nobody. Returns an answer of whatever status, or why none came.
    pub async fn request(
        &self,
        call: HttpCall,
        by: Option<CallOrigin<'_>>,
        trace: Option<&TraceContext>,
        share: &Share,
    ) -> Result<Response, HttpFailure> {
        let begun = Instant::now();
        let mut span = traced::call(&self.host, trace, &call);
        let system = call.system();
        let settings = self.host.settings();
        let named = call.system_by(&settings.systems.names);
        let timeout = call.timeout;
        let open = by.and_then(|by| self.open.open(&named, by, begun));
        let room = CallRoom { share, waits: AtomicBool::new(false), open: open.as_ref() };
        // The deadline holds for the whole call, body included.
        let answered =
            tokio::time::timeout(timeout, self.send(&settings.worker, call, &mut span, begun, &room)).await;
        let answer = answered.unwrap_or_else(|_| Err(room.timed_out(timeout)));
        if let (Some(open), Ok(response)) = (&open, &answer) {
            open.answered(Some(response.duration).filter(|_| response.status < 400), Instant::now());
        }
        traced::answered(&mut span, &answer);
        let outcome = match &answer {
            Ok(response) => match response.status {
                ..400 => "ok",
                400..500 => "4xx",
                _ => "5xx",
            },
            Err(_) => "failed",
        };
        self.host.metrics.count(Count::Calls, outcome, 1);
        self.host.metrics.span(Span::Call, outcome, begun.elapsed());
        if !matches!(&answer, Err(failure) if never_left(failure)) {
            self.host.stats.time(Series::Calls, &system, begun.elapsed());
            self.host.metrics.count_by(Count::SystemCalls, &[&named, outcome], 1);
            self.host.metrics.span(Span::SystemCall, &named, begun.elapsed());
        }
        answer
    }

    async fn send(
        &self,
        settings: &WorkerSettings,
        call: HttpCall,
        span: &mut TraceSpan,
        begun: Instant,
        room: &CallRoom<'_>,
    ) -> Result<Response, HttpFailure> {
        let client = self.client(settings);
        let address = client.address(&call.url).and_then(|address| address.showing(call.certificate.clone()));
        let address = address.map_err(|broken| broken.named())?;
        let address = address.holding(call.secrets.clone());
        // A moment before the call ends, so that its failure names what took the time.
        let address = address.connecting_by(begun + call.timeout - CONNECT_MARGIN.min(call.timeout / 10));
        permit(&settings.calls, &address.authority, call.host_of_order)?;
        traced::addressed(span, &address.authority);
        let headers = header_fields(&call, span.context()).map_err(|broken| broken.named())?;
        // Our own words are always methods.
        let method = Method::from_bytes(call.method.as_str().as_bytes()).unwrap_or(Method::POST);
        let body = call.body.map(|body| body.bytes).unwrap_or_default();
        if !body.is_empty() {
            room.take(body.len()).await?;
        }
        let sent = client.send(address, method, headers, body.into()).await;
        let reply = sent.map_err(|broken| broken.named())?;
        let status = reply.status();
        let headers = reply
            .headers()
            .iter()
            .map(|(name, value)| {
                (name.as_str().to_owned(), String::from_utf8_lossy(value.as_bytes()).into_owned())
            })
            .collect();
        let kind = reply.headers().get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).map(str::to_owned);
        let body = read_body(reply, settings.max_response_bytes, room).await?;
        let body = xml::decode(body, kind.as_deref());
        Ok(Response { status, headers, body, duration: begun.elapsed() })
    }
}

/// Creates the one client of all calls.
fn client(settings: &WorkerSettings) -> HttpClient {
    HttpClient::new(settings.calls.clone(), settings.connect_timeout)
}

/// Reads a body. MemoryBudget is taken before it is read: for all of it where it says how long it is. One that
/// does not say is read as far as a short answer goes, for which nobody waits, and then room is taken
/// for the longest, so that no answer is held half-read by many.
async fn read_body(
    mut reply: HttpReply,
    max_bytes: usize,
    room: &CallRoom<'_>,
) -> Result<Vec<u8>, HttpFailure> {
    let too_long = || {
        let text = format!("the answer has more than {max_bytes} bytes");
        failure(&["HttpError", "BodyError"], text)
    };
    // Unknown for a body in chunks.
    let announced = reply.content_length().map(saturated::<usize>);
    if announced.is_some_and(|length| length > max_bytes) {
        return Err(too_long());
    }
    let mut taken = announced.unwrap_or(RESERVE.min(max_bytes));
    if announced.is_some() {
        room.take(taken).await?;
    }
    let mut body = Vec::with_capacity(announced.unwrap_or(0));
    while let Some(chunk) = reply.chunk().await.map_err(|broken| broken.named())? {
        let length = body.len() + chunk.len();
        if length > max_bytes {
            return Err(too_long());
        }
        if length > taken {
            // What was read without room counts from here on.
            room.take(max_bytes).await?;
            taken = max_bytes;
        }
        body.extend_from_slice(&chunk);
    }
    // It is kept until the answers of other calls are there, too.
    body.shrink_to_fit();
    Ok(body)
}

/// True for a call that went to nobody: no system is to be counted by it, of whatever name.
fn never_left(failure: &HttpFailure) -> bool {
    failure.chain.iter().any(|name| matches!(*name, "UrlError" | "Forbidden" | SECRET_KEPT))
}

/// Refuses a host that an order chose and nobody named. The client checks the address that it connects to.
fn permit(rules: &CallRules, system: &Authority, host_of_order: bool) -> Result<(), HttpFailure> {
    let (host, port) = (&*system.host, system.port);
    if host_of_order && !rules.names(host, port) {
        let text = format!(
            "the host {host}:{port} comes from the order; name it in `worker.http.allow`, or write it in the \
                 scenario or under `config`"
        );
        return Err(failure(&["HttpError", "Forbidden"], text));
    }
    Ok(())
}

/// Returns the header fields of a request, those of its scenario last.
fn header_fields(call: &HttpCall, trace: Option<&TraceContext>) -> Result<HeaderMap, Broken> {
    let invalid = |name: &str, why: &dyn std::fmt::Display| Broken::Header(format!("header `{name}`: {why}"));
    let value_of =
        |name: &str, text: &str| HeaderValue::from_str(text).map_err(|error| invalid(name, &error));
    let mut fields = HeaderMap::with_capacity(call.headers.len() + 8);
    let key = call.idempotency_key.to_string();
    fields.insert(HeaderName::from_static("idempotency-key"), value_of("Idempotency-Key", &key)?);
    // A scenario that writes one of its own knows why.
    let named = |name: &str| call.headers.iter().any(|(known, _)| known.eq_ignore_ascii_case(name));
    for (name, text) in trace.filter(|_| !named("traceparent")).into_iter().flat_map(TraceContext::headers) {
        fields.insert(HeaderName::from_static(name), value_of(name, &text)?);
    }
    for (name, text) in &call.headers {
        let parsed = HeaderName::from_bytes(name.as_bytes()).map_err(|error| invalid(name, &error))?;
        fields.append(parsed, value_of(name, text)?);
    }
    if let Some(body) = &call.body
        && !fields.contains_key(CONTENT_TYPE)
    {
        fields.insert(CONTENT_TYPE, value_of("Content-Type", &body.content_type)?);
    }
    Ok(fields)
}

/// Memory of one call.
struct CallRoom<'a> {
    share: &'a Share,
    /// True if it waits for room now.
    waits: AtomicBool,
    open: Option<&'a OpenCallGuard<'a>>,
}

impl CallRoom<'_> {
    async fn take(&self, bytes: usize) -> Result<(), HttpFailure> {
        self.waits.store(true, Ordering::Relaxed);
        self.is_there_since(None);
        let taken = self.share.more(bytes).await;
        self.waits.store(false, Ordering::Relaxed);
        self.is_there_since(Some(Instant::now()));
        taken.map_err(|error| failure(&["HttpError", "BodyError"], error.to_string()))
    }

    fn is_there_since(&self, since: Option<Instant>) {
        self.open.into_iter().for_each(|open| open.is_there_since(since));
    }

    /// Returns the failure of a call whose time is over: the called system is to blame, or this worker.
    fn timed_out(&self, timeout: Duration) -> HttpFailure {
        if !self.waits.load(Ordering::Relaxed) {
            return failure(&["HttpError", "ReadTimeout"], format!("no answer within {timeout:?}"));
        }
        // Rules that repeat what timed out repeat this, too.
        failure(
            &["HttpError", "ReadTimeout", NO_ROOM],
            format!("the worker had no room for the answer within {timeout:?}: see `worker.max_held_bytes`"),
        )
    }
}

fn failure(chain: &[&'static str], message: String) -> HttpFailure {
    HttpFailure { chain: chain.to_vec(), message }
}
