//! HTTP client of one server, with certificates that may be exchanged while it is used.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use pagurus_tls::{ClientTls, ReloadingTls, TlsFault};
use reqwest::Client;
use reqwest::redirect::Policy;
use rustls::ClientConfig;
use thiserror::Error;

/// Longest time until a connection stands.
const CONNECT: Duration = Duration::from_secs(3);

/// Reason for which no request can be sent, whatever the server does.
#[derive(Debug, Error)]
pub enum UnusableClient {
    /// A file of certificates.
    #[error(transparent)]
    Tls(#[from] TlsFault),
    /// The client of the library.
    #[error("the HTTP client cannot be made: {0}")]
    Client(#[from] reqwest::Error),
}

/// Client of one server. It follows no redirect, and asks no proxy that the environment names.
#[derive(Debug)]
pub struct ReloadingClient {
    /// `None` for a server that is asked without TLS.
    tls: Option<ReloadingTls>,
    timeout: Duration,
    made: Mutex<Option<MadeClient>>,
}

/// A client with the settings of TLS that it was made with.
type MadeClient = (Option<Arc<ClientConfig>>, Client);

impl ReloadingClient {
    /// A client of the server at this URL, for requests that take no longer than this.
    #[must_use]
    pub fn new(url: &str, tls: ClientTls, timeout: Duration) -> Self {
        // The first caller sets the provider of the process; others find it set.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let tls = url.starts_with("https://").then(|| ReloadingTls::new(tls));
        Self { tls, timeout, made: Mutex::default() }
    }

    /// The client for the certificates as they are now. Connections stay with it until they change.
    ///
    /// # Errors
    /// A file cannot be read, is none of its kind, or does not belong to the other.
    pub fn client(&self) -> Result<Client, UnusableClient> {
        let config = self.tls.as_ref().map(ReloadingTls::config).transpose()?;
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
        let client = builder.build()?;
        *made = Some((config, client.clone()));
        Ok(client)
    }
}
