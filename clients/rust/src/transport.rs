//! Requests to the API, and their repeats: while the engine is away or busy, at random pauses that grow, and no sooner than it asks.
//! Never repeats what would be done twice: every request has a key, or an id that is one.

use std::time::{Duration, Instant};

use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use reqwest::Method;
use reqwest::header::{HeaderMap, RETRY_AFTER};
use serde::de::DeserializeOwned;
use serde_json::Value;
use uuid::Uuid;

use crate::{Error, Problem};

/// Longest time for an answer, besides the wait that a request asks for.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(60);
/// Bound of the first pause, which doubles with each try, and of the longest.
const PAUSES: (Duration, Duration) = (Duration::from_millis(200), Duration::from_secs(5));

/// The way to one installation.
#[derive(Clone)]
pub(crate) struct Transport {
    http: reqwest::Client,
    server: String,
    pub patience: Duration,
    pub token: Option<String>,
}

/// The token must not get into logs.
impl std::fmt::Debug for Transport {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Transport").field("server", &self.server).finish_non_exhaustive()
    }
}

/// A request to the API.
#[derive(Clone, Debug)]
pub(crate) struct Request<'r> {
    method: Method,
    place: &'r str,
    headers: Vec<(&'static str, &'r str)>,
    body: Option<&'r Value>,
    wait: Duration,
}

impl<'r> Request<'r> {
    pub const fn get(place: &'r str) -> Self {
        Self { method: Method::GET, place, headers: Vec::new(), body: None, wait: Duration::ZERO }
    }

    pub const fn post(place: &'r str, body: &'r Value) -> Self {
        Self { method: Method::POST, place, headers: Vec::new(), body: Some(body), wait: Duration::ZERO }
    }

    pub const fn patch(place: &'r str, body: &'r Value) -> Self {
        Self { method: Method::PATCH, place, headers: Vec::new(), body: Some(body), wait: Duration::ZERO }
    }

    /// The same request with a header field, where there is a value for it.
    pub fn header(mut self, name: &'static str, value: Option<&'r str>) -> Self {
        self.headers.extend(value.map(|value| (name, value)));
        self
    }

    /// The same request, whose answer may take so much longer.
    pub const fn wait(mut self, wait: Duration) -> Self {
        self.wait = wait;
        self
    }
}

impl Transport {
    pub fn new(server: &str) -> Result<Self, Error> {
        // The first caller sets the provider of the process; others find it set.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let mut builder = reqwest::Client::builder().redirect(reqwest::redirect::Policy::none());
        if server.starts_with("http://") {
            // Without certificates of the system, which a small container does not have.
            builder = builder.tls_certs_only([]);
        }
        let http = builder.build().map_err(|error| Error::Unreachable(error.to_string()))?;
        let server = server.trim_end_matches('/').to_owned();
        Ok(Self { http, server, patience: Duration::from_secs(60), token: None })
    }

    /// Asks until the engine answers, for as long as it is away or busy and the time is not over.
    pub async fn ask<T: DeserializeOwned>(&self, request: &Request<'_>) -> Result<T, Error> {
        self.ask_until(request, None).await
    }

    /// Asks as [`Self::ask`] does, but not beyond a moment.
    pub async fn ask_until<T: DeserializeOwned>(
        &self,
        request: &Request<'_>,
        until: Option<Instant>,
    ) -> Result<T, Error> {
        let mut patience = Patience::new(self.patience, until);
        loop {
            let failure = match self.ask_once(request).await {
                Err(failure) if failure.is_passing() => failure,
                answer => return answer,
            };
            let Some(pause) = patience.pause(failure.retry_after()) else { return Err(failure) };
            tokio::time::sleep(pause).await;
        }
    }

    async fn ask_once<T: DeserializeOwned>(&self, request: &Request<'_>) -> Result<T, Error> {
        let is_path = request.place.starts_with('/');
        let url =
            if is_path { format!("{}{}", self.server, request.place) } else { request.place.to_owned() };
        let mut sent = self.http.request(request.method.clone(), &url).timeout(ANSWER_TIMEOUT + request.wait);
        let is_ours = is_path || url.starts_with(&format!("{}/", self.server));
        if let Some(token) = self.token.as_deref().filter(|_| is_ours) {
            sent = sent.bearer_auth(token);
        }
        for (name, value) in &request.headers {
            sent = sent.header(*name, *value);
        }
        if let Some(body) = request.body {
            sent = sent.json(body);
        }
        let away = |error: reqwest::Error| Error::Unreachable(format!("{url}: {error}"));
        let answer = sent.send().await.map_err(away)?;
        let (status, retry_after) = (answer.status(), retry_after(answer.headers()));
        let text = answer.text().await.map_err(away)?;
        if status.is_success() {
            return serde_json::from_str(&text).map_err(|_| Error::Foreign {
                url,
                status: status.as_u16(),
                retry_after,
            });
        }
        match serde_json::from_str::<Problem>(&text) {
            Ok(problem) => Err(Error::Problem { problem: Box::new(problem), retry_after }),
            Err(_) => Err(Error::Foreign { url, status: status.as_u16(), retry_after }),
        }
    }
}

/// The seconds of `Retry-After`, which is how the engine writes it.
fn retry_after(headers: &HeaderMap) -> Option<Duration> {
    headers.get(RETRY_AFTER)?.to_str().ok()?.trim().parse().ok().map(Duration::from_secs)
}

/// The rest of the time for repeats.
#[derive(Debug)]
pub(crate) struct Patience {
    until: Instant,
    bound: Duration,
}

impl Patience {
    pub fn new(longest: Duration, until: Option<Instant>) -> Self {
        let end = Instant::now() + longest;
        Self { until: until.map_or(end, |until| until.min(end)), bound: PAUSES.0 }
    }

    /// The pause before the next try, no shorter than `least`; none if the time would be over then.
    pub fn pause(&mut self, least: Option<Duration>) -> Option<Duration> {
        // At random, so that those who were turned away together do not come back together.
        let part = u32::from(Uuid::new_v4().as_bytes()[0]) + 1;
        let pause = least.unwrap_or_default() + self.bound * part / 256;
        self.bound = (self.bound * 2).min(PAUSES.1);
        (Instant::now() + pause < self.until).then_some(pause)
    }
}

/// The path of an order, or of a part of it that begins with `/`.
pub(crate) fn path(id: &str, part: &str) -> String {
    format!("/v1/orders/{}{part}", encoded(id))
}

pub(crate) fn encoded(text: &str) -> String {
    utf8_percent_encode(text, NON_ALPHANUMERIC).to_string()
}
