//! A connection: how it is made, and how a call drives it.

use std::collections::HashMap;
use std::future::poll_fn;
use std::net::{IpAddr, SocketAddr};
use std::pin::{Pin, pin};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

use bytes::Bytes;
use http_body_util::Full;
use hyper::body::Incoming;
use hyper::client::conn::http1::{self, SendRequest};
use hyper::{Request, Response};
use hyper_util::rt::TokioIo;
use pagurus_runtime::config::{CallRules, SecretTargets};
use pagurus_tls::{ReloadingTls, explained};
use rustls::pki_types::ServerName;
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;
use tokio_util::either::Either;

use super::names::NameResolver;
use super::{Authority, Broken};

type TransportStream = TokioIo<Either<TcpStream, Box<TlsStream<TcpStream>>>>;
type Driver = http1::Connection<TransportStream, Full<Bytes>>;

/// Purpose of connections: requests that differ in it never share one.
pub(super) struct ConnectionPurpose {
    /// The called system.
    pub authority: Arc<Authority>,
    /// Name of the certificate that is shown to it.
    pub certificate: Option<Box<str>>,
    /// Names of the secrets that are sent there, as far as the address decides whether they may be.
    pub secrets: Box<[String]>,
}

/// Makes connections, only to addresses that may be called.
pub(super) struct Connector {
    rules: CallRules,
    timeout: Duration,
    names: NameResolver,
    /// TLS by the certificate that is shown.
    tls: Mutex<HashMap<Option<Box<str>>, Arc<ReloadingTls>>>,
}

impl Connector {
    pub fn new(rules: CallRules, timeout: Duration) -> Self {
        Self { rules, timeout, names: NameResolver::of_system(), tls: Mutex::default() }
    }

    /// The same with other names.
    #[cfg(test)]
    pub fn with_names(self, names: NameResolver) -> Self {
        Self { names, ..self }
    }

    /// Targets of secrets.
    pub fn secrets(&self) -> &SecretTargets {
        &self.rules.secrets
    }

    /// Connects by a time, and within that of all connections; names and TLS included.
    pub async fn connect(
        &self,
        purpose: &ConnectionPurpose,
        by: Option<Instant>,
    ) -> Result<HttpConnection, Broken> {
        let ConnectionPurpose { authority, certificate, .. } = purpose;
        let left = by.map(|by| by.saturating_duration_since(Instant::now()));
        let within = left.map_or(self.timeout, |left| left.min(self.timeout));
        let connected = tokio::time::timeout(within, async {
            let stream = self.dial(purpose, within).await?;
            // An exchange is one small packet in each direction: nothing to gather.
            stream.set_nodelay(true).map_err(Broken::Connect)?;
            let stream = if authority.tls {
                Either::Right(Box::new(self.secure(authority, certificate.as_deref(), stream).await?))
            } else {
                Either::Left(stream)
            };
            let (sender, driver) =
                http1::handshake(TokioIo::new(stream)).await.map_err(Broken::before_answer)?;
            Ok(HttpConnection { sender, driver: Some(Box::pin(driver)), was_idle: false })
        });
        connected.await.unwrap_or(Err(Broken::ConnectTimeout(within)))
    }

    /// Dials the addresses of a system, one after the other; each has its part of the time.
    async fn dial(&self, purpose: &ConnectionPurpose, within: Duration) -> Result<TcpStream, Broken> {
        let addresses = self.destinations(purpose).await?;
        let begun = Instant::now();
        let mut failed = Broken::ConnectTimeout(within);
        for (at, address) in addresses.iter().enumerate() {
            let left = within.saturating_sub(begun.elapsed());
            let others = u32::try_from(addresses.len() - at).unwrap_or(u32::MAX);
            match tokio::time::timeout(left / others, TcpStream::connect(address)).await {
                Ok(Ok(stream)) => return Ok(stream),
                Ok(Err(error)) => failed = Broken::Connect(error),
                Err(_) => failed = Broken::ConnectTimeout(within),
            }
        }
        Err(failed)
    }

    /// The addresses that may be dialled for a purpose.
    pub(super) async fn destinations(&self, purpose: &ConnectionPurpose) -> Result<Vec<SocketAddr>, Broken> {
        let addresses = self.addresses(&purpose.authority).await?;
        self.permitted_to(&purpose.secrets, &purpose.authority, addresses)
    }

    /// The addresses of a system that may be called. What is dialled is what was checked, so that a name cannot lead
    /// elsewhere in between.
    async fn addresses(&self, authority: &Authority) -> Result<Vec<SocketAddr>, Broken> {
        let Authority { host, port, .. } = authority;
        if let Some(literal) = authority.literal() {
            if self.rules.permits(host, *port, literal) {
                return Ok(vec![SocketAddr::new(literal, *port)]);
            }
            let text = format!("{literal} may not be called; `worker.http.allow` lists what may");
            return Err(Broken::Forbidden(text));
        }
        let found = self
            .names
            .addresses(host, *port)
            .await
            .map_err(|error| Broken::Resolve(format!("{host}: {error}")))?;
        let may_be_called = |address: IpAddr| self.rules.permits(host, *port, address);
        let permitted: Vec<_> = found.into_iter().filter(|address| may_be_called(address.ip())).collect();
        if permitted.is_empty() {
            let text =
                format!("{host} has no address that may be called; `worker.http.allow` lists what may");
            return Err(Broken::Resolve(text));
        }
        Ok(permitted)
    }

    /// Keeps those of the addresses that these secrets may be sent to.
    fn permitted_to(
        &self,
        secrets: &[String],
        authority: &Authority,
        mut addresses: Vec<SocketAddr>,
    ) -> Result<Vec<SocketAddr>, Broken> {
        let rules = self.secrets();
        let permits =
            |secret: &String, to: &SocketAddr| rules.permit_address([secret.as_str()], to.port(), to.ip());
        for secret in secrets {
            addresses.retain(|to| permits(secret, to));
            if addresses.is_empty() {
                let host = format!("host `{}`, by its address", authority.host);
                return Err(Broken::Secret(rules.refusal(secret, &host)));
            }
        }
        Ok(addresses)
    }

    async fn secure(
        &self,
        authority: &Authority,
        certificate: Option<&str>,
        stream: TcpStream,
    ) -> Result<TlsStream<TcpStream>, Broken> {
        let config = self.tls(certificate)?.config().map_err(|fault| Broken::Files(fault.to_string()))?;
        let name = ServerName::try_from(authority.host.to_string())
            .map_err(|error| Broken::Tls(format!("{}: {error}", authority.host)))?;
        let connected = TlsConnector::from(config).connect(name, stream).await;
        connected.map_err(|error| Broken::Tls(explained(&error).unwrap_or_else(|| error.to_string())))
    }
}

impl Connector {
    /// TLS that shows this certificate.
    fn tls(&self, certificate: Option<&str>) -> Result<Arc<ReloadingTls>, Broken> {
        let mut known = self.tls.lock().unwrap_or_else(PoisonError::into_inner);
        let name = certificate.map(Into::into);
        if let Some(tls) = known.get(&name) {
            return Ok(Arc::clone(tls));
        }
        let files = certificate.map(|name| {
            self.rules.certificate(name).ok_or_else(|| {
                Broken::Files(format!(
                    "the certificate `{name}` is asked for, and `worker.http.certificates` is not set"
                ))
            })
        });
        let tls = self.rules.tls(files.transpose()?);
        let tls = Arc::new(ReloadingTls::new(tls));
        known.insert(name, Arc::clone(&tls));
        Ok(tls)
    }
}

/// Outcome of a request.
pub(super) enum ExchangeOutcome {
    /// The head of an answer; its body comes over the connection.
    Answered(Response<Incoming>, HttpConnection),
    /// Nothing of it was sent: the called system had closed the connection while it was idle.
    Unsent(Request<Full<Bytes>>),
    /// The request may have arrived.
    Broken(Broken),
}

/// A connection. Nobody drives it but who waits for something of it.
pub(super) struct HttpConnection {
    sender: SendRequest<Full<Bytes>>,
    /// Driver of the connection; `None` once it has ended.
    driver: Option<Pin<Box<Driver>>>,
    /// True if another request went over it before.
    was_idle: bool,
}

impl HttpConnection {
    /// True unless the called system has closed it, as far as can be known now.
    pub fn is_alive(&mut self) -> bool {
        self.drive(&mut Context::from_waker(Waker::noop()));
        self.driver.is_some() && self.sender.is_ready()
    }

    /// Marks a connection that waits for another request.
    pub fn idle(mut self) -> Self {
        self.was_idle = true;
        self
    }

    /// Sends a request and waits for the head of its answer.
    pub async fn exchange(mut self, request: Request<Full<Bytes>>) -> ExchangeOutcome {
        let answer = self.sender.try_send_request(request);
        match self.driven(answer).await {
            Ok(response) => ExchangeOutcome::Answered(response, self),
            // A system that closes new connections at once would be dialled again and again.
            Err(mut failed) => match failed.take_message().filter(|_| self.was_idle) {
                Some(unsent) => ExchangeOutcome::Unsent(unsent),
                None => ExchangeOutcome::Broken(Broken::before_answer(failed.into_error())),
            },
        }
    }

    /// Waits for what this connection brings, and moves it on meanwhile.
    pub async fn driven<T>(&mut self, awaited: impl Future<Output = T>) -> T {
        let mut awaited = pin!(awaited);
        poll_fn(|context| {
            self.drive(context);
            match awaited.as_mut().poll(context) {
                // A body that was asked for just now makes the connection read on.
                Poll::Pending => {
                    self.drive(context);
                    awaited.as_mut().poll(context)
                }
                ready => ready,
            }
        })
        .await
    }

    /// Moves the connection on as far as it goes. Its end drops it, which tells those that wait for something of it.
    fn drive(&mut self, context: &mut Context<'_>) {
        if let Some(driver) = &mut self.driver
            && driver.as_mut().poll(context).is_ready()
        {
            self.driver = None;
        }
    }
}
