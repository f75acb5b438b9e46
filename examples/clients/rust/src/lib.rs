//! Sends orders to Pagurus over HTTP, follows them, and acts on them.
//!
//! ```no_run
//! # async fn send() -> Result<(), pagurus_client::Error> {
//! use pagurus_client::{Client, Order};
//!
//! let client = Client::new("http://127.0.0.1:8080")?;
//! let order = Order::new("shop-000123", "change-tariff").params(serde_json::json!({"msisdn": "79110000001"}));
//! client.register(&order).await?;
//! let end = client.wait("shop-000123", None).await?;
//! # Ok(()) }
//! ```
//!
//! An order has an id of the client's choice, so that sending it again is harmless: [`Client::register`] repeats by itself
//! what got no answer, and a program that was interrupted calls it again with the same order.

mod order;
mod problem;
mod webhook;

use std::time::{Duration, Instant};

use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use reqwest::Method;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};
use uuid::Uuid;

pub use order::{After, Answered, Lifecycle, Notify, Order, Registered, Status};
pub use problem::{Detail, Error, Problem};
pub use webhook::{NotGenuine, notification};

/// Longest single question.
const QUESTION: Duration = Duration::from_secs(60);
/// Longest wait that one question asks for.
const LONG_POLL: Duration = Duration::from_secs(30);
/// Longest pause between two tries of an engine that is away.
const LONGEST_PAUSE: Duration = Duration::from_secs(5);

/// Client of one installation.
#[derive(Clone)]
pub struct Client {
    http: reqwest::Client,
    server: String,
    patience: Duration,
    token: Option<String>,
}

/// The token must not get into logs.
impl std::fmt::Debug for Client {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Client").field("server", &self.server).finish_non_exhaustive()
    }
}

/// A question to the engine.
struct Question<'q> {
    method: Method,
    place: &'q str,
    headers: &'q [(&'static str, &'q str)],
    body: Option<&'q Value>,
    wait: Duration,
}

impl<'q> Question<'q> {
    fn get(place: &'q str) -> Self {
        Self { method: Method::GET, place, headers: &[], body: None, wait: Duration::ZERO }
    }

    fn post(place: &'q str, body: &'q Value) -> Self {
        Self { method: Method::POST, place, headers: &[], body: Some(body), wait: Duration::ZERO }
    }
}

impl Client {
    /// A client of the installation at this address, like `http://127.0.0.1:8080`.
    ///
    /// # Errors
    /// This machine cannot speak HTTP.
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

    /// Time for which a registration is repeated, and an order followed, while the engine is away or busy.
    #[must_use]
    pub const fn with_patience(mut self, patience: Duration) -> Self {
        self.patience = patience;
        self
    }

    /// Token of this program, where the API asks for one. It goes to this server alone.
    #[must_use]
    pub fn with_token(mut self, token: &str) -> Self {
        self.token = Some(token.to_owned());
        self
    }

    /// Registers an order. Repeats by itself while the engine is away or busy: the id makes that harmless.
    ///
    /// # Errors
    /// See [`Error`].
    pub async fn register(&self, order: &Order) -> Result<Registered, Error> {
        let body = json!(order);
        self.patiently(&Question::post("/v1/orders", &body), None).await
    }

    /// Returns the order with everything that is known about it.
    ///
    /// # Errors
    /// See [`Error`].
    pub async fn get(&self, id: &str) -> Result<Value, Error> {
        self.ask(&Question::get(&path(id, ""))).await
    }

    /// Returns the status of the order.
    ///
    /// # Errors
    /// See [`Error`].
    pub async fn status(&self, id: &str) -> Result<Status, Error> {
        self.ask(&Question::get(&path(id, "/status"))).await
    }

    /// Explains why the order does not run.
    ///
    /// # Errors
    /// See [`Error`].
    pub async fn explain(&self, id: &str) -> Result<String, Error> {
        let answer: Value = self.ask(&Question::get(&path(id, "/explain"))).await?;
        Ok(answer["explanation"].as_str().unwrap_or_default().to_owned())
    }

    /// Follows the order until it has ended, or the time is over; [`Status::is_final`] says which.
    ///
    /// # Errors
    /// See [`Error`].
    pub async fn wait(&self, id: &str, timeout: Option<Duration>) -> Result<Status, Error> {
        let until = timeout.and_then(|timeout| Instant::now().checked_add(timeout));
        loop {
            let begun = Instant::now();
            let left = until.map_or(LONG_POLL, |until| until.saturating_duration_since(begun).min(LONG_POLL));
            let place = path(id, &format!("/wait?timeout={}ms", left.as_millis()));
            let status: Status = self.patiently(&Question::get(&place), until).await?;
            if status.is_final || until.is_some_and(|until| Instant::now() >= until) {
                return Ok(status);
            }
            // An engine that stops answers at once.
            let least = left.min(Duration::from_millis(200));
            tokio::time::sleep(least.saturating_sub(begun.elapsed())).await;
        }
    }

    /// Returns a page of the orders that fulfil all conditions, and the cursor of the next page.
    ///
    /// # Errors
    /// See [`Error`].
    pub async fn find(&self, conditions: &[(&str, &str)]) -> Result<(Vec<Value>, Option<String>), Error> {
        let query: Vec<String> =
            conditions.iter().map(|(name, value)| format!("{name}={}", encoded(value))).collect();
        let mut page: Value = self.ask(&Question::get(&format!("/v1/orders?{}", query.join("&")))).await?;
        let next = page["next"].as_str().map(str::to_owned);
        let items = match page["items"].take() {
            Value::Array(items) => items,
            _ => Vec::new(),
        };
        Ok((items, next))
    }

    /// Does something to an order, `cancel`, `interrupt`, `kill` or `restart`, with a reason for its history. What its status
    /// does not allow is a problem of the kind `refused`.
    ///
    /// # Errors
    /// See [`Error`].
    pub async fn act(
        &self,
        id: &str,
        action: &str,
        reason: &str,
        more: Map<String, Value>,
    ) -> Result<Status, Error> {
        let mut body = more;
        body.insert("reason".to_owned(), json!(reason));
        let (place, body) = (path(id, &format!("/{action}")), Value::Object(body));
        // The same key over all repeats: the action is done once.
        let key = Uuid::new_v4().to_string();
        let headers = [("Idempotency-Key", key.as_str())];
        self.patiently(&Question { headers: &headers, ..Question::post(&place, &body) }, None).await
    }

    /// Calls a live order, and waits for its answer until the time is over.
    ///
    /// # Errors
    /// See [`Error`].
    pub async fn call(
        &self,
        id: &str,
        name: &str,
        body: Value,
        timeout: Duration,
    ) -> Result<Answered, Error> {
        let asked = json!({"name": name, "body": body, "key": Uuid::new_v4().to_string()});
        let place = path(id, &format!("/calls?timeout={}ms", timeout.as_millis()));
        self.patiently(&Question { wait: timeout, ..Question::post(&place, &asked) }, None).await
    }

    /// Answers a request of an order, by its `${request.url}` or `${request.id}`; the verdict is `accepted`, `duplicate`,
    /// `late` or `orphan`.
    ///
    /// # Errors
    /// See [`Error`].
    pub async fn answer(
        &self,
        callback: &str,
        body: &Value,
        step_status: Option<&str>,
    ) -> Result<String, Error> {
        let is_url = callback.starts_with("http://") || callback.starts_with("https://");
        let place = if is_url { callback.to_owned() } else { format!("/v1/callbacks/{}", encoded(callback)) };
        let headers = step_status.map(|status| ("step-status", status));
        let question = Question { headers: headers.as_slice(), ..Question::post(&place, body) };
        let taken: Value = self.patiently(&question, None).await?;
        Ok(taken["status"].as_str().unwrap_or_default().to_owned())
    }

    /// Asks until the engine answers, for as long as it is away or busy and the time is not over.
    async fn patiently<T: DeserializeOwned>(
        &self,
        question: &Question<'_>,
        until: Option<Instant>,
    ) -> Result<T, Error> {
        let end = Instant::now() + self.patience;
        let end = until.map_or(end, |until| until.min(end));
        let mut pause = Duration::from_millis(200);
        loop {
            let failure = match self.ask(question).await {
                Err(failure) if failure.is_passing() => failure,
                answer => return answer,
            };
            // At random, so that those who were turned away together do not come back together.
            let part = 128 + u32::from(Uuid::new_v4().as_bytes()[0]) / 2;
            let rest = failure.retry_after().unwrap_or(pause * part / 256);
            if Instant::now() + rest >= end {
                return Err(failure);
            }
            tokio::time::sleep(rest).await;
            pause = (pause * 2).min(LONGEST_PAUSE);
        }
    }

    async fn ask<T: DeserializeOwned>(&self, question: &Question<'_>) -> Result<T, Error> {
        let is_path = question.place.starts_with('/');
        let url =
            if is_path { format!("{}{}", self.server, question.place) } else { question.place.to_owned() };
        let mut request = self.http.request(question.method.clone(), &url).timeout(QUESTION + question.wait);
        if let Some(token) = self.token.as_deref().filter(|_| is_path) {
            request = request.bearer_auth(token);
        }
        for (name, value) in question.headers {
            request = request.header(*name, *value);
        }
        if let Some(body) = question.body {
            request = request.json(body);
        }
        let away = |error: reqwest::Error| Error::Unreachable(format!("{url}: {error}"));
        let answer = request.send().await.map_err(away)?;
        let status = answer.status();
        let after = answer.headers().get("Retry-After").and_then(|after| after.to_str().ok()?.parse().ok());
        let text = answer.text().await.map_err(away)?;
        if status.is_success() {
            return serde_json::from_str(&text)
                .map_err(|error| Error::Unreachable(format!("{url}: {error}")));
        }
        match serde_json::from_str::<Problem>(&text) {
            Ok(problem) => Err(Error::Problem {
                problem: Box::new(problem),
                retry_after: after.map(Duration::from_secs),
            }),
            // Something in between has answered, and not the engine.
            Err(_) => Err(Error::Unreachable(format!("{url}: status {status}"))),
        }
    }
}

fn path(id: &str, part: &str) -> String {
    format!("/v1/orders/{}{part}", encoded(id))
}

fn encoded(text: &str) -> String {
    utf8_percent_encode(text, NON_ALPHANUMERIC).to_string()
}
