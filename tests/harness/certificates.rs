//! Certificates of a test, and a front that speaks TLS before a server that does not.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use anyhow::Result;
use rcgen::{BasicConstraints, CertificateParams, DnType, IsCa, Issuer, KeyPair};
use rustls::crypto::ring::default_provider;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::WebPkiClientVerifier;
use rustls::{RootCertStore, ServerConfig};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::{JoinHandle, JoinSet};
use tokio_rustls::TlsAcceptor;

/// Years in which a certificate is valid now.
pub const NOW: (i32, i32) = (2020, 2100);

/// Time after which a file that was changed counts for every new connection: files are looked at twice a second.
pub const READ_AGAIN: Duration = Duration::from_millis(1500);

/// An issuer of certificates.
#[derive(Debug)]
pub struct TestIssuer {
    /// The certificate of the issuer.
    pub pem: String,
    issuer: Issuer<'static, KeyPair>,
}

/// A certificate and its key, in PEM.
#[derive(Clone, Debug)]
pub struct TestCertificate {
    /// The certificate.
    pub certificate: String,
    /// The private key.
    pub key: String,
}

impl TestIssuer {
    /// An issuer of this name.
    ///
    /// # Errors
    /// There is no chance to make a key from.
    pub fn new(name: &str) -> Result<Self> {
        let mut params = CertificateParams::new(Vec::<String>::new())?;
        params.distinguished_name.push(DnType::CommonName, name);
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let key = KeyPair::generate()?;
        Ok(Self { pem: params.self_signed(&key)?.pem(), issuer: Issuer::new(params, key) })
    }

    /// Issues a certificate for a name, valid from the start of the first of these years to that of the second.
    ///
    /// # Errors
    /// The name can be that of no server.
    pub fn issue(&self, name: &str, (from, until): (i32, i32)) -> Result<TestCertificate> {
        let mut params = CertificateParams::new(vec![name.to_owned()])?;
        params.distinguished_name.push(DnType::CommonName, name);
        params.not_before = rcgen::date_time_ymd(from, 1, 1);
        params.not_after = rcgen::date_time_ymd(until, 1, 1);
        let key = KeyPair::generate()?;
        let certificate = params.signed_by(&key, &self.issuer)?.pem();
        Ok(TestCertificate { certificate, key: key.serialize_pem() })
    }
}

/// Settings of a server that shows a certificate, and asks for one of these issuers if there are any.
///
/// # Errors
/// The certificate cannot be shown.
pub fn server_config(shown: &TestCertificate, clients: &[&TestIssuer]) -> Result<ServerConfig> {
    let provider = Arc::new(default_provider());
    let builder =
        ServerConfig::builder_with_provider(Arc::clone(&provider)).with_safe_default_protocol_versions()?;
    let builder = if clients.is_empty() {
        builder.with_no_client_auth()
    } else {
        let mut roots = RootCertStore::empty();
        for issuer in clients {
            roots.add(CertificateDer::from_pem_slice(issuer.pem.as_bytes())?)?;
        }
        let verifier = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider).build()?;
        builder.with_client_cert_verifier(verifier)
    };
    let chain = vec![CertificateDer::from_pem_slice(shown.certificate.as_bytes())?];
    Ok(builder.with_single_cert(chain, PrivateKeyDer::from_pem_slice(shown.key.as_bytes())?)?)
}

/// A front that speaks TLS, and passes what it gets on to a server that does not; it ends with this value.
#[derive(Debug)]
pub struct TlsFront {
    port: u16,
    config: Arc<Mutex<Arc<ServerConfig>>>,
    /// Changes where all connections are to end.
    epoch: watch::Sender<u64>,
    task: JoinHandle<()>,
}

impl TlsFront {
    /// A front of the server at this address.
    ///
    /// # Errors
    /// No port is free.
    pub async fn start(target: SocketAddr, config: ServerConfig) -> Result<Self> {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await?;
        let port = listener.local_addr()?.port();
        let config = Arc::new(Mutex::new(Arc::new(config)));
        let epoch = watch::Sender::new(0);
        let (present, ends) = (Arc::clone(&config), epoch.subscribe());
        let task = tokio::spawn(async move {
            let mut connections = JoinSet::new();
            while let Ok((stream, _)) = listener.accept().await {
                let config = Arc::clone(&present.lock().unwrap_or_else(PoisonError::into_inner));
                let mut ends = ends.clone();
                ends.mark_unchanged();
                connections.spawn(async move {
                    tokio::select! {
                        // An error is the client's, who says it.
                        _ = pass_on(stream, config, target) => {}
                        _ = ends.changed() => {}
                    }
                });
                while connections.try_join_next().is_some() {}
            }
        });
        Ok(Self { port, config, epoch, task })
    }

    /// The port on 127.0.0.1.
    #[must_use]
    pub const fn port(&self) -> u16 {
        self.port
    }

    /// Shows itself otherwise to those who connect from now on.
    pub fn exchange(&self, config: ServerConfig) {
        *self.config.lock().unwrap_or_else(PoisonError::into_inner) = Arc::new(config);
    }

    /// Ends all connections, and what is under way on them.
    pub fn cut(&self) {
        self.epoch.send_modify(|epoch| *epoch += 1);
    }
}

/// Exchanges the certificates of these fronts for ones of another issuer while they are used, without a moment at which their
/// clients mistrust them: `trust` writes the issuers that the clients trust, `shown` makes what each front shows.
///
/// # Errors
/// A certificate cannot be shown.
pub async fn exchange(
    [old, new]: [&TestIssuer; 2],
    fronts: &[&TlsFront],
    trust: impl Fn(&str),
    shown: impl Fn() -> Result<ServerConfig>,
) -> Result<()> {
    trust(&format!("{}{}", old.pem, new.pem));
    tokio::time::sleep(READ_AGAIN).await;
    for front in fronts {
        front.exchange(shown()?);
    }
    trust(&new.pem);
    tokio::time::sleep(READ_AGAIN).await;
    Ok(())
}

impl Drop for TlsFront {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn pass_on(stream: TcpStream, config: Arc<ServerConfig>, target: SocketAddr) -> Result<()> {
    let mut outside = TlsAcceptor::from(config).accept(stream).await?;
    let mut inside = TcpStream::connect(target).await?;
    tokio::io::copy_bidirectional(&mut outside, &mut inside).await?;
    Ok(())
}
