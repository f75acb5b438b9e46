//! The HTTP client of every service that calls other systems: HTTP/1 over connections that are kept for each of them.
//! The client connects only where the rules of the configuration let it, by address.
//!
//! Each call drives its own connection, so that an exchange costs no task and no message between tasks.
//! A redirect is an answer, and the caller's to judge; there is no proxy and no repeat that nobody configured:
//! only a request of which nothing was sent goes over another connection.

mod address;
mod connection;
mod failure;
mod names;
mod pool;
mod reply;

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use bytes::Bytes;
use http_body_util::Full;
use hyper::header::{ACCEPT, AUTHORIZATION, HOST, HeaderName, HeaderValue, USER_AGENT};
use hyper::{HeaderMap, Method, Request};
use pagurus_runtime::config::CallRules;

pub use address::{Address, Authority};
use connection::{ConnectionPurpose, Connector, ExchangeOutcome};
pub use failure::Broken;
use pool::Pool;
pub use reply::HttpReply;

/// An idle connection is kept for this long; many servers close theirs a little later.
const IDLE: Duration = Duration::from_secs(20);
const AGENT: HeaderValue = HeaderValue::from_static(concat!("pagurus/", env!("CARGO_PKG_VERSION")));

/// The client: cheap to share, one for all calls by the same settings.
pub struct HttpClient {
    connector: Connector,
    /// The connections of each called system, by the beginning of its URLs as they are written, and by the certificate that is
    /// shown and the secrets that are sent there, where the address decides whether they may be.
    pools: Mutex<HashMap<Box<str>, Arc<Pool>>>,
}

impl HttpClient {
    /// A client that connects only to what the rules permit, within this time.
    #[must_use]
    pub fn new(rules: CallRules, connect_timeout: Duration) -> Self {
        Self { connector: Connector::new(rules, connect_timeout), pools: Mutex::default() }
    }

    /// The address that a URL names.
    ///
    /// # Errors
    /// The text is no URL of HTTP.
    pub fn address(&self, url: &str) -> Result<Address, Broken> {
        Address::parse(url, |authority| Some(self.known(authority)?.purpose.authority.clone()))
    }

    /// Sends a request and waits for the head of its answer.
    ///
    /// # Errors
    /// No answer came, or a secret that the request holds may not be sent there: then nothing was sent.
    pub async fn send(
        &self,
        address: Address,
        method: Method,
        mut headers: HeaderMap,
        body: Bytes,
    ) -> Result<HttpReply, Broken> {
        let pool = self.pool(&address)?;
        complete(&mut headers, &address.authority);
        let mut request = Request::new(Full::new(body));
        *request.method_mut() = method;
        *request.uri_mut() = address.path;
        *request.headers_mut() = headers;
        loop {
            let connection = pool.connection(&self.connector, address.connects_by).await?;
            match connection.exchange(request).await {
                ExchangeOutcome::Answered(response, connection) => {
                    return Ok(HttpReply::new(response, connection, pool));
                }
                // Closed by the called system while it was idle: the next one is younger, the last one new.
                ExchangeOutcome::Unsent(unsent) => request = unsent,
                ExchangeOutcome::Broken(broken) => return Err(broken),
            }
        }
    }

    /// Closes connections that nobody has used for a while.
    pub fn close_idle(&self) {
        let now = Instant::now();
        let mut pools = self.pools.lock().unwrap_or_else(PoisonError::into_inner);
        pools.retain(|_, pool| pool.close_idle(now) || Arc::strong_count(pool) > 1);
    }

    fn known(&self, authority: &str) -> Option<Arc<Pool>> {
        self.pools.lock().unwrap_or_else(PoisonError::into_inner).get(authority).cloned()
    }

    fn pool(&self, address: &Address) -> Result<Arc<Pool>, Broken> {
        let Authority { text: beginning, host, port, .. } = &*address.authority;
        let by_address = self.connector.secrets().left_to_address(&address.secrets, host, *port);
        let by_address = by_address.map_err(Broken::Secret)?;
        let key = match (&address.certificate, &*by_address) {
            (None, []) => Cow::Borrowed(&**beginning),
            // Neither a beginning nor a name has a blank.
            (shown, secrets) => Cow::Owned(format!(
                "{beginning} {} {}",
                shown.as_deref().unwrap_or_default(),
                secrets.join(" ")
            )),
        };
        let mut pools = self.pools.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(pool) = pools.get(&*key) {
            return Ok(pool.clone());
        }
        let purpose = ConnectionPurpose {
            authority: address.authority.clone(),
            certificate: address.certificate.clone(),
            secrets: by_address.into_iter().map(str::to_owned).collect(),
        };
        let pool = Arc::new(Pool::new(purpose));
        pools.insert(key.into(), pool.clone());
        Ok(pool)
    }
}

/// Adds the fields that every request has, unless its caller writes them.
fn complete(headers: &mut HeaderMap, authority: &Authority) {
    let mut add = |name: HeaderName, value: &HeaderValue| {
        if !headers.contains_key(&name) {
            headers.insert(name, value.clone());
        }
    };
    add(HOST, &authority.host_field);
    add(ACCEPT, &HeaderValue::from_static("*/*"));
    add(USER_AGENT, &AGENT);
    if let Some(credentials) = &authority.credentials {
        add(AUTHORIZATION, credentials);
    }
}

#[cfg(test)]
mod tests;
