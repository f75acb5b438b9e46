//! Calls of other systems over HTTP, by the one client of this worker.

use std::collections::HashSet;
use std::net::{IpAddr, SocketAddr};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use pagurus_domain::order::notification::matches;
use pagurus_domain::scenario::stage::{Answer, HttpCall, HttpFailure, NO_ROOM, Response};
use pagurus_runtime::Host;
use pagurus_runtime::config::{AllowedDestination, CallRules, WorkerSettings};
use pagurus_runtime::metrics::{Count, Span};
use pagurus_runtime::stats::Series;
use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use reqwest::{Client, Method, Url};

use crate::room::{RESERVE, Share};

/// Makes the calls of all stages.
pub(crate) struct Calls {
    pub(crate) host: Host,
    /// The client, with the settings that it was made of.
    client: Mutex<(WorkerSettings, Client)>,
    /// Actors whose queue is known to be there.
    pub(crate) actors: Mutex<HashSet<String>>,
}

impl Calls {
    pub fn new(host: &Host) -> anyhow::Result<Self> {
        // The first caller sets the provider of the process; others find it set.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let settings = host.settings().worker.clone();
        let client = client(&settings)?;
        Ok(Self { host: host.clone(), client: Mutex::new((settings, client)), actors: Mutex::default() })
    }

    /// The client of these settings. Other settings make another one: a connection that is kept open leads where
    /// a new one might not be let.
    fn client(&self, settings: &WorkerSettings) -> Client {
        let mut present = self.client.lock().unwrap_or_else(PoisonError::into_inner);
        if present.0 != *settings {
            match client(settings) {
                Ok(made) => *present = (settings.clone(), made),
                Err(error) => tracing::error!(%error, "calls go on by the former settings of `worker.http`"),
            }
        }
        present.1.clone()
    }

    /// Makes an HTTP request.
    pub async fn http(&self, call: HttpCall, trace: Option<&str>, share: &Share) -> Answer {
        self.request(call, trace, share).await.map_or_else(Answer::Failed, Answer::Response)
    }

    /// Makes an HTTP request: an answer of whatever status, or why none came.
    pub async fn request(
        &self,
        call: HttpCall,
        trace: Option<&str>,
        share: &Share,
    ) -> Result<Response, HttpFailure> {
        let begun = Instant::now();
        let system = call.system();
        let settings = &self.host.settings().worker;
        let timeout = call.timeout.unwrap_or(settings.timeout);
        let room = CallRoom { share, waits: AtomicBool::new(false) };
        // The deadline holds for the whole call, body included.
        let answered = tokio::time::timeout(timeout, self.send(settings, call, trace, begun, &room)).await;
        let answer = answered.unwrap_or_else(|_| Err(room.timed_out(timeout)));
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
        }
        answer
    }

    async fn send(
        &self,
        settings: &WorkerSettings,
        call: HttpCall,
        trace: Option<&str>,
        begun: Instant,
        room: &CallRoom<'_>,
    ) -> Result<Response, HttpFailure> {
        let url = Url::parse(&call.url)
            .map_err(|error| failure(&["HttpError", "UrlError"], format!("`{}`: {error}", call.url)))?;
        permit(&settings.calls, &url, call.host_of_order)?;
        // Our own words are always methods.
        let method = Method::from_bytes(call.method.as_str().as_bytes()).unwrap_or(Method::POST);
        let mut request = self
            .client(settings)
            .request(method, url)
            .header("Idempotency-Key", call.idempotency_key.to_string());
        if let Some(trace) = trace {
            request = request.header("traceparent", trace);
        }
        for (name, value) in &call.headers {
            request = request.header(name.as_str(), value.as_str());
        }
        if let Some(body) = call.body {
            room.take(body.bytes.len()).await?;
            let named = call.headers.iter().any(|(name, _)| name.eq_ignore_ascii_case("content-type"));
            if !named {
                request = request.header("Content-Type", body.content_type);
            }
            request = request.body(body.bytes);
        }
        let response = request.send().await.map_err(|error| named_failure(&error))?;
        let status = response.status().as_u16();
        let headers = response
            .headers()
            .iter()
            .map(|(name, value)| {
                (name.as_str().to_owned(), String::from_utf8_lossy(value.as_bytes()).into_owned())
            })
            .collect();
        let body = read_body(response, settings.max_response_bytes, room).await?;
        Ok(Response { status, headers, body, duration: begun.elapsed() })
    }
}

/// The one client of all calls.
fn client(settings: &WorkerSettings) -> reqwest::Result<Client> {
    Client::builder()
        // A redirect is an answer of the called system, and the scenario's to judge; a proxy or a
        // repeat that nobody configured would be a call that nobody asked for.
        .redirect(reqwest::redirect::Policy::none())
        .no_proxy()
        .retry(reqwest::retry::never())
        .connect_timeout(settings.connect_timeout)
        .pool_idle_timeout(Duration::from_secs(20))
        .tcp_nodelay(true)
        .user_agent(concat!("pagurus/", env!("CARGO_PKG_VERSION")))
        .dns_resolver(Arc::new(GuardedResolver { rules: settings.calls.clone() }))
        .build()
}

/// Reads a body. Room is taken before it is read: for all of it where it says how long it is. One that
/// does not say is read as far as a short answer goes, for which nobody waits, and then room is taken
/// for the longest, so that no answer is held half-read by many.
async fn read_body(
    mut response: reqwest::Response,
    max_bytes: usize,
    room: &CallRoom<'_>,
) -> Result<String, HttpFailure> {
    let too_long = || {
        let told = format!("the answer has more than {max_bytes} bytes");
        failure(&["HttpError", "BodyError"], told)
    };
    // Unknown for a body in chunks, or compressed.
    let announced = response.content_length().map(|length| usize::try_from(length).unwrap_or(usize::MAX));
    if announced.is_some_and(|length| length > max_bytes) {
        return Err(too_long());
    }
    let mut taken = announced.unwrap_or(RESERVE.min(max_bytes));
    if announced.is_some() {
        room.take(taken).await?;
    }
    let mut body = Vec::with_capacity(announced.unwrap_or(0));
    while let Some(chunk) = response.chunk().await.map_err(|error| named_failure(&error))? {
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
    Ok(String::from_utf8(body).unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned()))
}

/// True for a call that went to nobody: no system is to be counted by it, of whatever name.
fn never_left(failure: &HttpFailure) -> bool {
    failure.chain.iter().any(|name| matches!(*name, "UrlError" | "Forbidden"))
}

/// Only HTTP, no host that an order chose and nobody named, and no literal address that may not be called;
/// names are checked as they resolve.
fn permit(rules: &CallRules, url: &Url, host_of_order: bool) -> Result<(), HttpFailure> {
    if !matches!(url.scheme(), "http" | "https") {
        return Err(failure(
            &["HttpError", "UrlError"],
            format!("`{}` is no scheme for a call", url.scheme()),
        ));
    }
    let host = url.host_str().unwrap_or_default();
    let port = url.port_or_known_default().unwrap_or(0);
    let literal = host.trim_matches(['[', ']']).parse::<IpAddr>();
    if host_of_order && !rules.names(host, port) {
        let told = format!(
            "the host {host}:{port} comes from the order; name it in `worker.http.allow`, or write it in the \
                 scenario or under `config`"
        );
        return Err(failure(&["HttpError", "Forbidden"], told));
    }
    match literal {
        Ok(address) if !rules.permits(host, port, address) => {
            let told = format!("{address} may not be called; `worker.http.allow` lists what may");
            Err(failure(&["HttpError", "Forbidden"], told))
        }
        _ => Ok(()),
    }
}

/// The room of one call.
struct CallRoom<'a> {
    share: &'a Share,
    /// Whether it waits for room now.
    waits: AtomicBool,
}

impl CallRoom<'_> {
    async fn take(&self, bytes: usize) -> Result<(), HttpFailure> {
        self.waits.store(true, Ordering::Relaxed);
        let taken = self.share.more(bytes).await;
        self.waits.store(false, Ordering::Relaxed);
        taken.map_err(|error| failure(&["HttpError", "BodyError"], error.to_string()))
    }

    /// The time of the call is over. Whether the called system is to blame, or this worker.
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

/// Resolves names, and leaves out addresses that may not be called: what is dialled is what was
/// checked, so that a name cannot change its mind in between.
struct GuardedResolver {
    rules: CallRules,
}

impl Resolve for GuardedResolver {
    fn resolve(&self, name: Name) -> Resolving {
        let rules = self.rules.clone();
        Box::pin(async move {
            let host = name.as_str().to_owned();
            let found = tokio::net::lookup_host((host.as_str(), 0)).await.map_err(|error| {
                Box::new(ResolveError(format!("{host}: {error}"))) as Box<dyn std::error::Error + Send + Sync>
            })?;
            let permitted: Vec<SocketAddr> =
                found.filter(|address| permitted(&rules, &host, address.ip())).collect();
            if permitted.is_empty() {
                let told =
                    format!("{host} has no address that may be called; `worker.http.allow` lists what may");
                return Err(Box::new(ResolveError(told)) as Box<dyn std::error::Error + Send + Sync>);
            }
            Ok(Box::new(permitted.into_iter()) as Addrs)
        })
    }
}

/// A resolver does not know the port: it is enough that the address may be called on one of those
/// that the rules name for the host.
fn permitted(rules: &CallRules, host: &str, address: IpAddr) -> bool {
    rules.permits(host, 0, address)
        || rules.allow.iter().any(|entry| match entry {
            AllowedDestination::Host { name, port: Some(port) } => {
                matches(name, host) && rules.permits(host, *port, address)
            }
            _ => false,
        })
}

#[derive(Debug, thiserror::Error)]
#[error("{0}")]
struct ResolveError(String);

fn failure(chain: &[&'static str], message: String) -> HttpFailure {
    HttpFailure { chain: chain.to_vec(), message }
}

/// The failure under its names, from the outermost to the cause (ERR-3).
fn named_failure(error: &reqwest::Error) -> HttpFailure {
    let causes = causes(error);
    let has = |words: &[&str]| causes.iter().any(|cause| words.iter().any(|word| cause.contains(word)));
    let io = io_kind(error);
    let resolving = find::<ResolveError>(error).is_some();
    let chain: &[&'static str] = if resolving || has(&["dns error"]) {
        &["HttpError", "ConnectError", "DnsError"]
    } else if find::<rustls::Error>(error).is_some() || has(&["invalid peer certificate", "tls handshake"]) {
        &["HttpError", "ConnectError", "TlsError"]
    } else if error.is_connect() && error.is_timeout() {
        &["HttpError", "ConnectError", "ConnectTimeout"]
    } else if io == Some(std::io::ErrorKind::ConnectionRefused) {
        &["HttpError", "ConnectError", "ConnectionRefused"]
    } else if error.is_connect() {
        &["HttpError", "ConnectError"]
    } else if error.is_timeout() {
        &["HttpError", "ReadTimeout"]
    } else if io == Some(std::io::ErrorKind::ConnectionReset) {
        &["HttpError", "ConnectionReset"]
    } else if error.is_body() || error.is_decode() {
        &["HttpError", "BodyError"]
    } else if has(&["connection closed", "message completed"]) {
        &["HttpError", "ConnectionClosed"]
    } else if has(&["invalid HTTP", "parse"]) {
        &["HttpError", "ProtocolError"]
    } else {
        &["HttpError"]
    };
    failure(chain, causes.last().cloned().unwrap_or_else(|| error.to_string()))
}

/// What each cause says, from the outermost; the URL is left out, it may hold a secret.
fn causes(error: &reqwest::Error) -> Vec<String> {
    let mut texts = Vec::new();
    let mut cause = std::error::Error::source(error);
    while let Some(inner) = cause {
        texts.push(inner.to_string());
        cause = inner.source();
    }
    texts
}

fn find<T: std::error::Error + 'static>(error: &reqwest::Error) -> Option<&T> {
    let mut cause: Option<&(dyn std::error::Error + 'static)> = Some(error);
    while let Some(inner) = cause {
        if let Some(found) = inner.downcast_ref::<T>() {
            return Some(found);
        }
        // An I/O error hides what it wraps from `source`.
        cause = match inner.downcast_ref::<std::io::Error>().and_then(std::io::Error::get_ref) {
            Some(wrapped) => Some(wrapped),
            None => inner.source(),
        };
    }
    None
}

fn io_kind(error: &reqwest::Error) -> Option<std::io::ErrorKind> {
    let mut kind = None;
    let mut cause = std::error::Error::source(error);
    while let Some(inner) = cause {
        if let Some(io) = inner.downcast_ref::<std::io::Error>() {
            kind = Some(io.kind());
        }
        cause = inner.source();
    }
    kind
}

#[cfg(test)]
mod tests;
