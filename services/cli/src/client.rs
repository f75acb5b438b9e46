//! The HTTP API from outside: requests, answers, and failures.
//!
//! Never repeats a request by itself, but for questions asked while somebody waits for an order.

mod response;

use std::time::{Duration, Instant};

use anyhow::Context as _;
use pagurus_scenario::value::percent_encode;
use pagurus_wire::access::{LoginRequest, SessionView};
use pagurus_wire::order::{Page, StatusView};
use reqwest::header::{AUTHORIZATION, CONTENT_TYPE, COOKIE, HeaderMap, HeaderValue, IF_MATCH};
use reqwest::{Method, RequestBuilder};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::failure::CliError;
use crate::screen::harmless;
pub(crate) use response::ApiResponse;

/// A server that cannot be reached by then is away.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
/// Longest answer to a question.
const READ_TIMEOUT: Duration = Duration::from_secs(20);
/// Time that an answer may take beyond the time until which it is wanted.
const GRACE: Duration = Duration::from_secs(1);
/// Longest answer, beyond the time that the request itself asks to wait; a large batch takes seconds.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(60);
/// Longest poll. Below the minute after which things in between like to cut connections.
const LONG_POLL: Duration = Duration::from_secs(30);
/// Longest time for a server to be away while an order of it is followed: time for it to be restarted.
const PATIENCE: Duration = Duration::from_secs(60);
/// Interval between two tries of a server that is away.
const RETRY: Duration = Duration::from_secs(1);
/// Items of one page, where all are wanted.
const PAGE: usize = 500;

/// The API of one server.
#[derive(Clone, Debug)]
pub(crate) struct ApiClient {
    http: reqwest::Client,
    base: String,
    /// Header fields by which the server knows who asks.
    known_by: HeaderMap,
}

impl ApiClient {
    /// A client of the server at this address, like `http://127.0.0.1:8080`.
    pub fn new(server: &str) -> Result<Self, CliError> {
        let base = server.trim().trim_end_matches('/').to_owned();
        if !base.starts_with("http://") && !base.starts_with("https://") {
            return Err(CliError::Usage(format!(
                "`{server}` is not an address; write it like http://127.0.0.1:8080"
            )));
        }
        // The first caller sets the provider of the process; others find it set.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let mut builder = reqwest::Client::builder()
            .redirect(reqwest::redirect::Policy::none())
            // A proxy for the world outside must not get what is meant for this host.
            .no_proxy()
            .connect_timeout(CONNECT_TIMEOUT)
            .user_agent(concat!("pagurus/", env!("CARGO_PKG_VERSION")));
        if base.starts_with("http://") {
            // Without certificates of the system, which a small container does not have.
            builder = builder.tls_certs_only([]);
        }
        let http = builder.build().context("the HTTP client cannot be made")?;
        Ok(Self { http, base, known_by: HeaderMap::new() })
    }

    /// The same client, known by a token; by none if it is empty.
    pub fn with_token(mut self, token: &str) -> Result<Self, CliError> {
        if !token.is_empty() {
            self.known_by.insert(AUTHORIZATION, secret(&format!("Bearer {token}"))?);
        }
        Ok(self)
    }

    /// The same client in a session of a person.
    pub async fn log_in(&self, login: &LoginRequest) -> Result<Self, CliError> {
        let reply = self.post("/v1/session", login).await?;
        let cookie = reply.cookie();
        let view: SessionView = reply.read()?;
        let mut known_by = HeaderMap::new();
        known_by.insert(COOKIE, secret(cookie)?);
        known_by.insert("x-csrf-token", secret(&view.csrf_token.unwrap_or_default())?);
        Ok(Self { known_by, ..self.clone() })
    }

    /// Address of the server.
    pub fn base(&self) -> &str {
        &self.base
    }

    /// `GET`
    pub async fn get(&self, path: &str, query: &[(&str, String)]) -> Result<ApiResponse, CliError> {
        self.find(path, query).await
    }

    /// `GET` with options as they are named on the command line; one that was left out is not asked for.
    pub async fn find(
        &self,
        path: &str,
        options: &(impl Serialize + ?Sized),
    ) -> Result<ApiResponse, CliError> {
        self.send(self.request(Method::GET, path).query(options), READ_TIMEOUT).await
    }

    /// Items of all pages of a list.
    pub async fn all<T: DeserializeOwned>(&self, path: &str) -> Result<Vec<T>, CliError> {
        Ok(self.pages(path, &(), None).await?.items)
    }

    /// Items of as many pages of a list as it takes, `most` of them at most; `next` says whether there are more. The options
    /// are named as on the command line.
    pub async fn pages<T: DeserializeOwned>(
        &self,
        path: &str,
        options: &(impl Serialize + ?Sized),
        most: Option<usize>,
    ) -> Result<Page<T>, CliError> {
        let mut whole = Page { items: Vec::new(), next: None };
        loop {
            let wanted = most.map_or(PAGE, |most| most.saturating_sub(whole.items.len()).min(PAGE));
            if wanted == 0 {
                return Ok(whole);
            }
            let part = [("limit", Some(wanted.to_string())), ("cursor", whole.next.take())];
            let request = self.request(Method::GET, path).query(options).query(&part);
            let page: Page<T> = self.send(request, READ_TIMEOUT).await?.read()?;
            whole.items.extend(page.items);
            whole.next = page.next;
            if whole.next.is_none() {
                return Ok(whole);
            }
        }
    }

    /// Items of as many pages of a part of an order as it takes, behind what the query names, `most` of them at most.
    pub async fn part<T: DeserializeOwned>(
        &self,
        path: &str,
        query: &[(&str, String)],
        most: usize,
    ) -> Result<Vec<T>, CliError> {
        let mut reply = self.get(path, query).await?;
        let mut items: Vec<T> = reply.read()?;
        while items.len() < most
            && let Some(next) = reply.next.take()
        {
            reply = self.get(&format!("{path}{next}"), &[]).await?;
            items.extend(reply.read::<Vec<T>>()?);
        }
        items.truncate(most);
        Ok(items)
    }

    /// `PUT` of the text of a scenario, on top of the version with this tag where one is named.
    pub async fn put_scenario(
        &self,
        path: &str,
        text: String,
        tag: Option<&str>,
    ) -> Result<ApiResponse, CliError> {
        let request = self.request(Method::PUT, path).header(CONTENT_TYPE, "application/yaml").body(text);
        self.send(on_top_of(request, tag), ANSWER_TIMEOUT).await
    }

    /// `GET` of a probe, whose body tells as much when it says no.
    pub async fn probe(&self, path: &str) -> Result<ApiResponse, CliError> {
        self.answer(self.request(Method::GET, path), READ_TIMEOUT).await
    }

    /// `POST` of JSON.
    pub async fn post(&self, path: &str, body: &impl Serialize) -> Result<ApiResponse, CliError> {
        self.send(self.request(Method::POST, path).json(body), ANSWER_TIMEOUT).await
    }

    /// The same where the server may wait for this long before it answers.
    pub async fn post_waiting(
        &self,
        path: &str,
        body: &impl Serialize,
        wait: Duration,
    ) -> Result<ApiResponse, CliError> {
        self.send(self.request(Method::POST, path).json(body), ANSWER_TIMEOUT.saturating_add(wait)).await
    }

    /// `PUT` of JSON, on top of what has this tag where one is named.
    pub async fn put_json(
        &self,
        path: &str,
        body: &impl Serialize,
        tag: Option<&str>,
    ) -> Result<ApiResponse, CliError> {
        let request = self.request(Method::PUT, path).json(body);
        self.send(on_top_of(request, tag), ANSWER_TIMEOUT).await
    }

    /// `DELETE`.
    pub async fn delete(&self, path: &str) -> Result<ApiResponse, CliError> {
        self.send(self.request(Method::DELETE, path), ANSWER_TIMEOUT).await
    }

    /// `PATCH` with JSON.
    pub async fn patch(&self, path: &str, body: &impl Serialize) -> Result<ApiResponse, CliError> {
        self.send(self.request(Method::PATCH, path).json(body), ANSWER_TIMEOUT).await
    }

    /// A text of this media type.
    pub async fn send_text(
        &self,
        method: Method,
        path: &str,
        kind: &str,
        body: String,
    ) -> Result<ApiResponse, CliError> {
        self.send(self.request(method, path).header(CONTENT_TYPE, kind).body(body), ANSWER_TIMEOUT).await
    }

    /// Asks until the order is final or the time is over, for as long as the server is not away
    /// for good.
    pub async fn wait(&self, id: &str, timeout: Option<Duration>) -> Result<StatusView, CliError> {
        let begun = Instant::now();
        let until = timeout.and_then(|timeout| begun.checked_add(timeout));
        loop {
            let poll =
                timeout.map_or(LONG_POLL, |timeout| timeout.saturating_sub(begun.elapsed()).min(LONG_POLL));
            let view = self.patiently(until, || self.poll(id, poll)).await?;
            if view.is_final || timeout.is_some_and(|timeout| begun.elapsed() >= timeout) {
                return Ok(view);
            }
        }
    }

    /// Makes one long poll. Takes at least a moment if the order is not final: a server that stops
    /// answers at once.
    pub async fn poll(&self, id: &str, poll: Duration) -> Result<StatusView, CliError> {
        let begun = Instant::now();
        let query = [("timeout", format!("{}ms", poll.as_millis()))];
        let request = self.request(Method::GET, &order_path(id, "wait")).query(&query);
        let view: StatusView = self.send(request, READ_TIMEOUT + poll).await?.read()?;
        if !view.is_final {
            let least = poll.min(Duration::from_millis(200));
            tokio::time::sleep(least.saturating_sub(begun.elapsed())).await;
        }
        Ok(view)
    }

    /// Asks again while the server is away, up to a limit, and no longer than `until`.
    pub async fn patiently<T>(
        &self,
        until: Option<Instant>,
        ask: impl AsyncFn() -> Result<T, CliError>,
    ) -> Result<T, CliError> {
        let most = Instant::now() + PATIENCE;
        let last = until.map_or(most, |until| until.min(most));
        let mut is_reported = false;
        loop {
            let asked = match until {
                None => Ok(ask().await),
                Some(until) => tokio::time::timeout_at((until + GRACE).into(), ask()).await,
            };
            let why = || "no answer in time".to_owned();
            let outcome =
                asked.unwrap_or_else(|_| Err(CliError::Away { server: self.base.clone(), why: why() }));
            match outcome {
                Err(failure) if failure.is_away() && Instant::now() + RETRY < last => {
                    if !std::mem::replace(&mut is_reported, true) {
                        let left = last.saturating_duration_since(Instant::now()).as_secs();
                        eprintln!("{}; retrying for {left} s", harmless(&failure.to_string()));
                    }
                    tokio::time::sleep(RETRY).await;
                }
                outcome => return outcome,
            }
        }
    }

    fn request(&self, method: Method, path: &str) -> RequestBuilder {
        self.http.request(method, format!("{}{path}", self.base)).headers(self.known_by.clone())
    }

    async fn send(&self, request: RequestBuilder, timeout: Duration) -> Result<ApiResponse, CliError> {
        let reply = self.answer(request, timeout).await?;
        if (200..300).contains(&reply.status) {
            return Ok(reply);
        }
        Err(reply.problem().into())
    }

    async fn answer(&self, request: RequestBuilder, timeout: Duration) -> Result<ApiResponse, CliError> {
        let away = |error: reqwest::Error| self.failure(&error);
        let response = request.timeout(timeout).send().await.map_err(away)?;
        ApiResponse::read_from(response, &self.base).await.map_err(away)
    }

    fn failure(&self, error: &reqwest::Error) -> CliError {
        if error.is_builder() && reqwest::Url::parse(&self.base).is_ok() {
            return CliError::Usage("an id or a name is too long for the address of a request".to_owned());
        }
        if error.is_builder() {
            return CliError::Usage(format!("`{}` is not an address: {}", self.base, chain(error)));
        }
        CliError::Away { server: self.base.clone(), why: chain(error) }
    }
}

/// A header value that nothing prints.
fn secret(text: &str) -> Result<HeaderValue, CliError> {
    let mut value = HeaderValue::from_str(text).map_err(|_| {
        CliError::Usage("the token has characters that are not allowed in a token".to_owned())
    })?;
    value.set_sensitive(true);
    Ok(value)
}

/// The request, to be carried out only on what has this tag.
fn on_top_of(request: RequestBuilder, tag: Option<&str>) -> RequestBuilder {
    match tag {
        None => request,
        Some("*") => request.header(IF_MATCH, "*"),
        Some(tag) => request.header(IF_MATCH, format!("\"{tag}\"")),
    }
}

/// The path of a part of an order; of the order itself where the part is empty.
pub(crate) fn order_path(id: &str, part: &str) -> String {
    let separator = if part.is_empty() { "" } else { "/" };
    format!("/v1/orders/{}{separator}{part}", percent_encode(id))
}

/// The cause that says most: what stands at the end of the chain.
fn chain(error: &reqwest::Error) -> String {
    if error.is_timeout() {
        return "no answer in time".to_owned();
    }
    let mut last: &dyn std::error::Error = error;
    while let Some(source) = last.source() {
        last = source;
    }
    last.to_string()
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test may stop at the first surprise")]
mod tests {
    use super::*;
    use crate::failure::{AWAY, USAGE};

    #[test]
    fn an_id_is_one_part_of_a_path_whatever_it_holds() {
        assert_eq!(order_path("a/b ?ы", ""), "/v1/orders/a%2Fb%20%3F%D1%8B");
        assert_eq!(order_path("a", "wait"), "/v1/orders/a/wait");
    }

    #[test]
    fn a_server_is_an_http_address() {
        assert_eq!(ApiClient::new("http://127.0.0.1:8080/").unwrap().base, "http://127.0.0.1:8080");
        assert_eq!(ApiClient::new("127.0.0.1:8080").unwrap_err().code(), USAGE);
    }

    #[tokio::test]
    async fn ord_1_an_id_that_fits_no_address_is_reported() {
        let client = ApiClient::new("http://127.0.0.1:1").unwrap();
        let failure = client.get(&order_path(&"x".repeat(100_000), ""), &[]).await.unwrap_err();
        assert!(failure.code() == USAGE && failure.to_string().contains("too long"), "{failure}");
    }

    #[tokio::test]
    async fn ui_a_server_that_never_answers_is_away_in_time() {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        for server in [format!("http://{address}"), "http://127.0.0.1:0".to_owned()] {
            let client = ApiClient::new(&server).unwrap();
            let waited = tokio::time::timeout(
                Duration::from_secs(30),
                client.wait("a", Some(Duration::from_millis(50))),
            );
            assert_eq!(waited.await.unwrap().unwrap_err().code(), AWAY, "{server}");
        }
    }

    #[tokio::test]
    async fn a_server_that_is_not_there_is_away() {
        // Nothing can listen at port 0.
        let client = ApiClient::new("http://127.0.0.1:0").unwrap();
        assert_eq!(client.get("/v1/nodes", &[]).await.unwrap_err().code(), AWAY);
    }
}
