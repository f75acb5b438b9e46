//! Requests to the provider: over TLS, to nobody else, and bounded in number, time and size.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use openidconnect::http::{StatusCode, response};
use openidconnect::{HttpRequest, HttpResponse};
use pagurus_runtime::config::OidcSettings;
use pagurus_tls::{ReloadingTls, explained};
use reqwest::redirect::Policy;
use reqwest::{Client, Response};
use rustls::ClientConfig;
use thiserror::Error;
use tokio::sync::Semaphore;

/// Conversations with the provider at a time; a provider that hangs holds no more.
const PLACES: usize = 8;
/// Longest answer that is read, in bytes. A person in a thousand groups has some 100 KiB.
const MAX_ANSWER: usize = 1024 * 1024;
/// Longest time until a connection stands.
const CONNECT: Duration = Duration::from_secs(3);

/// Lack of an answer that could be used. The texts have addresses without their queries, and nothing of what was sent.
#[derive(Debug, Error)]
pub(super) enum NoAnswer {
    #[error("the provider cannot be asked: {0}")]
    Unasked(String),
    #[error("the provider gave no answer at {place}: {why}")]
    Failed { place: String, why: String },
    #[error("the answer of the provider at {place} is larger than 1 MiB")]
    TooLarge { place: String },
    #[error("the provider answered with a redirect ({status}) at {place}, and redirects are not followed")]
    Redirect { place: String, status: u16 },
    #[error("the provider answered with {status} at {place}")]
    Status { place: String, status: u16 },
    #[error("the answer of the provider at {place} is not what was asked for: {why}")]
    Nonsense { place: String, why: String },
}

/// Client for one provider.
pub(super) struct ProviderClient {
    /// `None` for a provider on this host that is asked without TLS.
    tls: Option<ReloadingTls>,
    timeout: Duration,
    made: Mutex<Option<MadeClient>>,
    places: Semaphore,
}

/// A client with the settings of TLS that it was made with.
type MadeClient = (Option<Arc<ClientConfig>>, Client);

impl ProviderClient {
    pub(super) fn new(settings: &OidcSettings, issuer: &str) -> Self {
        // The first caller sets the provider of the process; others find it set.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let tls = issuer.starts_with("https://").then(|| ReloadingTls::new(settings.tls()));
        let timeout = settings.timeout;
        Self { tls, timeout, made: Mutex::default(), places: Semaphore::new(PLACES) }
    }

    /// Sends a request, and returns an answer with one of these statuses.
    pub(super) async fn send(
        &self,
        request: HttpRequest,
        wanted: &[StatusCode],
    ) -> Result<HttpResponse, NoAnswer> {
        let place = place_of(&request);
        let _place = self.places.acquire().await.map_err(|error| NoAnswer::Unasked(error.to_string()))?;
        let client = self.client()?;
        let request = request.try_into().map_err(|error: reqwest::Error| failed(&place, error))?;
        let response = client.execute(request).await.map_err(|error| failed(&place, error))?;
        let status = response.status();
        if status.is_redirection() {
            return Err(NoAnswer::Redirect { place, status: status.as_u16() });
        }
        if !wanted.contains(&status) {
            return Err(NoAnswer::Status { place, status: status.as_u16() });
        }
        read(response, place).await
    }

    /// The client for the certificates as they are now. Connections stay with it until they change.
    fn client(&self) -> Result<Client, NoAnswer> {
        let config = self.tls.as_ref().map(ReloadingTls::config).transpose();
        let config = config.map_err(|fault| NoAnswer::Unasked(fault.to_string()))?;
        let mut made = self.made.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((with, client)) = &*made
            && with.as_ref().map(Arc::as_ptr) == config.as_ref().map(Arc::as_ptr)
        {
            return Ok(client.clone());
        }
        let builder = Client::builder()
            .redirect(Policy::none())
            .no_proxy()
            .referer(false)
            .connect_timeout(CONNECT.min(self.timeout))
            .timeout(self.timeout)
            .user_agent(concat!("pagurus/", env!("CARGO_PKG_VERSION")));
        let builder = match &config {
            Some(config) => builder.tls_backend_preconfigured(ClientConfig::clone(config)),
            // Without certificates of the system, which a small container does not have.
            None => builder.tls_certs_only([]),
        };
        let client = builder.build().map_err(|error| NoAnswer::Unasked(error.to_string()))?;
        *made = Some((config, client.clone()));
        Ok(client)
    }
}

async fn read(mut response: Response, place: String) -> Result<HttpResponse, NoAnswer> {
    let mut head = response::Builder::new().status(response.status());
    if let Some(headers) = head.headers_mut() {
        *headers = response.headers().clone();
    }
    let mut body = Vec::new();
    while let Some(chunk) = response.chunk().await.map_err(|error| failed(&place, error))? {
        if body.len() + chunk.len() > MAX_ANSWER {
            return Err(NoAnswer::TooLarge { place });
        }
        body.extend_from_slice(&chunk);
    }
    head.body(body).map_err(|error| NoAnswer::Unasked(error.to_string()))
}

/// Address of a request without its query.
pub(super) fn place_of(request: &HttpRequest) -> String {
    let uri = request.uri();
    format!("{}://{}{}", uri.scheme_str().unwrap_or("http"), uri.host().unwrap_or_default(), uri.path())
}

fn failed(place: &str, error: reqwest::Error) -> NoAnswer {
    let error = error.without_url();
    let why = explained(&error).unwrap_or_else(|| {
        if error.is_timeout() {
            return "it took too long".to_owned();
        }
        let mut cause: &dyn std::error::Error = &error;
        while let Some(inner) = cause.source() {
            cause = inner;
        }
        cause.to_string()
    });
    NoAnswer::Failed { place: place.to_owned(), why }
}
