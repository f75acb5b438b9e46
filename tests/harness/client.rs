//! The engine as its clients see it: the HTTP API here, orders and notifications over AMQP in [`amqp`].
//! Never knows more than the contract: answers are plain JSON, read by the names that the contract gives.

pub mod amqp;
pub mod raw;

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use serde_json::Value;

/// An HTTP client for tests: no proxy, no redirects, and a limit for every request.
///
/// # Errors
/// The system refuses to give random numbers.
pub fn http() -> Result<reqwest::Client> {
    // Two providers in one process would panic at first use; a second call changes nothing and says so.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let client = reqwest::Client::builder()
        .no_proxy()
        // Nodes of tests show certificates that nobody trusts.
        .tls_danger_accept_invalid_certs(true)
        .redirect(reqwest::redirect::Policy::none())
        .timeout(Duration::from_secs(60))
        .build()?;
    Ok(client)
}

/// An answer of the API.
#[derive(Clone, Debug)]
pub struct Answer {
    /// The HTTP status.
    pub status: u16,
    /// The body; a string if it is no JSON.
    pub body: Value,
}

impl Answer {
    /// The body of a 2xx answer.
    ///
    /// # Errors
    /// Any other answer, in full.
    pub fn success(self) -> Result<Value> {
        if !(200..300).contains(&self.status) {
            bail!("the API answered {}: {}", self.status, self.body);
        }
        Ok(self.body)
    }
}

/// The HTTP API of one intake node.
#[derive(Clone, Debug)]
pub struct Api {
    http: reqwest::Client,
    base: String,
}

impl Api {
    /// An API at this base URL, without a slash at its end.
    #[must_use]
    pub fn new(http: reqwest::Client, base: impl Into<String>) -> Self {
        Self { http, base: base.into() }
    }

    /// The base URL.
    #[must_use]
    pub fn base(&self) -> &str {
        &self.base
    }

    /// `GET path`.
    ///
    /// # Errors
    /// No answer.
    pub async fn get(&self, path: &str) -> Result<Answer> {
        answer(self.http.get(format!("{}{path}", self.base))).await
    }

    /// `POST path` with a JSON body.
    ///
    /// # Errors
    /// No answer.
    pub async fn post(&self, path: &str, body: &Value) -> Result<Answer> {
        answer(self.http.post(format!("{}{path}", self.base)).json(body)).await
    }

    /// `PATCH path` with a JSON body.
    ///
    /// # Errors
    /// No answer.
    pub async fn patch(&self, path: &str, body: &Value) -> Result<Answer> {
        answer(self.http.patch(format!("{}{path}", self.base)).json(body)).await
    }

    /// Puts a scenario, given as YAML.
    ///
    /// # Errors
    /// The scenario was not accepted; all faults are in the message.
    pub async fn put_scenario(&self, name: &str, yaml: &str) -> Result<Value> {
        let request = self.http.put(format!("{}/v1/scenarios/{name}", self.base));
        let request = request.header("content-type", "application/yaml").body(yaml.to_owned());
        answer(request).await?.success().with_context(|| format!("scenario {name}"))
    }

    /// An order as the API shows it.
    ///
    /// # Errors
    /// No answer, or no such order.
    pub async fn order(&self, id: &str) -> Result<Value> {
        self.get(&format!("/v1/orders/{id}")).await?.success()
    }

    /// The transitions of an order, oldest first.
    ///
    /// # Errors
    /// No answer, or no such order.
    pub async fn transitions(&self, id: &str) -> Result<Vec<Value>> {
        let body = self.get(&format!("/v1/orders/{id}/transitions")).await?.success()?;
        Ok(items(body))
    }

    /// Waits until an order shows this status.
    ///
    /// # Errors
    /// The order does not show it in time; the order as it is then is in the message.
    pub async fn wait_status(&self, id: &str, status: &str, within: Duration) -> Result<Value> {
        let begun = Instant::now();
        loop {
            let answer = self.get(&format!("/v1/orders/{id}")).await?;
            if answer.body["status"] == status {
                return Ok(answer.body);
            }
            if begun.elapsed() > within {
                bail!("order {id} is not `{status}` after {within:?}: {}", answer.body);
            }
            pause_since(begun).await;
        }
    }
}

/// Pauses before the next look at what has been waited for since then. What is quick is seen at once, and who waits long takes
/// little from the others: each look costs a request, an answer and a query.
pub async fn pause_since(begun: Instant) {
    let pause = (begun.elapsed() / 16).clamp(Duration::from_millis(25), Duration::from_millis(100));
    tokio::time::sleep(pause).await;
}

/// The list in a page of answers, however it is wrapped.
#[must_use]
pub fn items(body: Value) -> Vec<Value> {
    match body {
        Value::Array(list) => list,
        Value::Object(mut fields) => match fields.remove("items") {
            Some(Value::Array(list)) => list,
            _ => Vec::new(),
        },
        _ => Vec::new(),
    }
}

async fn answer(request: reqwest::RequestBuilder) -> Result<Answer> {
    let answer = request.send().await?;
    let status = answer.status().as_u16();
    let text = answer.text().await?;
    let body = serde_json::from_str(&text).unwrap_or(Value::String(text));
    Ok(Answer { status, body })
}

/// A lock that a panicking test has left behind still guards plain data.
pub fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
