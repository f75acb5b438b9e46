//! Requests to the provider: over TLS, to nobody else, and bounded in number, time and size.

use openidconnect::http::{StatusCode, response};
use openidconnect::{HttpRequest, HttpResponse};
use pagurus_runtime::config::OidcSettings;
use pagurus_runtime::reloading_client::ReloadingClient;
use pagurus_tls::explained;
use reqwest::Response;
use thiserror::Error;
use tokio::sync::Semaphore;

/// Conversations with the provider at a time; a provider that hangs holds no more.
const PLACES: usize = 8;
/// Longest answer that is read, in bytes. A person in a thousand groups has some 100 KiB.
const MAX_ANSWER: usize = 1024 * 1024;

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
    http: ReloadingClient,
    places: Semaphore,
}

impl ProviderClient {
    pub(super) fn new(settings: &OidcSettings, issuer: &str) -> Self {
        let http = ReloadingClient::new(issuer, settings.tls(), settings.timeout);
        Self { http, places: Semaphore::new(PLACES) }
    }

    /// Sends a request, and returns an answer with one of these statuses.
    pub(super) async fn send(
        &self,
        request: HttpRequest,
        wanted: &[StatusCode],
    ) -> Result<HttpResponse, NoAnswer> {
        let place = place_of(&request);
        let _place = self.places.acquire().await.map_err(|error| NoAnswer::Unasked(error.to_string()))?;
        let client = self.http.client().map_err(|fault| NoAnswer::Unasked(fault.to_string()))?;
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
