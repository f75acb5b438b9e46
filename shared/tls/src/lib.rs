//! TLS to servers, and of our own: which certificates are trusted, which one this side shows, and a sentence about each handshake that fails.
//!
//! [`ReloadingTls`] follows the files: a certificate that is exchanged is used from then on, without a restart.

mod explain;
mod options;
mod reloading;
mod verifier;

use std::error::Error;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::ServerCertVerifier;
use rustls::crypto::{CryptoProvider, ring};
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{ClientConfig, RootCertStore, ServerConfig};
use rustls_platform_verifier::Verifier as PlatformVerifier;

pub use explain::explained;
pub use options::taken_out;
pub use reloading::ReloadingTls;
use verifier::CheckedCertificate;

/// Part of the certificate of a server that is checked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum CertificateCheck {
    /// Nothing: the connection is encrypted, and may lead to anybody.
    Nothing,
    /// The issuer.
    Issuer,
    /// The issuer, and the name of the server.
    #[default]
    IssuerAndName,
}

/// TLS of a connection that this side opens.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ClientTls {
    /// Checks of the server.
    pub check: CertificateCheck,
    /// File of the issuers that are trusted, in PEM; `None` for those that this machine trusts.
    pub issuers: Option<PathBuf>,
    /// True if those that this machine trusts are trusted beside those of the file.
    pub and_system: bool,
    /// Certificate that this side shows, if the server asks for one.
    pub certificate: Option<CertificateFiles>,
}

/// TLS of our own HTTP server, which shows this certificate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServerTls(pub CertificateFiles);

/// Files of a certificate and of its key, in PEM.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CertificateFiles {
    /// The certificate, with those between it and its issuer behind it.
    pub certificate: PathBuf,
    /// The private key.
    pub key: PathBuf,
}

/// Fault of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TlsFault(String);

impl fmt::Display for TlsFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl Error for TlsFault {}

impl CertificateFiles {
    /// The files of these names; `None` if there are none.
    ///
    /// # Errors
    /// One is named without the other, by these names of the options.
    pub fn of_options(
        [certificate, key]: [Option<String>; 2],
        names: [&str; 2],
    ) -> Result<Option<Self>, String> {
        match (certificate, key) {
            (None, None) => Ok(None),
            (Some(certificate), Some(key)) => {
                Ok(Some(Self { certificate: certificate.into(), key: key.into() }))
            }
            _ => Err(format!("has one of `{}` and `{}`, where both are needed", names[0], names[1])),
        }
    }

    fn both(&self) -> [&Path; 2] {
        [&self.certificate, &self.key]
    }

    fn fault(&self, error: &rustls::Error) -> TlsFault {
        let (certificate, key) = (self.certificate.display(), self.key.display());
        TlsFault(format!("the certificate in `{certificate}` and the key in `{key}`: {error}"))
    }
}

/// Settings of TLS whose files may change.
pub trait TlsFiles {
    /// Settings as the library takes them.
    type Config;

    /// The files.
    fn files(&self) -> Vec<&Path>;

    /// Settings of a new connection, from the files as they are now.
    ///
    /// # Errors
    /// A file cannot be read, is none of its kind, or does not belong to the other.
    fn config(&self) -> Result<Self::Config, TlsFault>;
}

impl TlsFiles for ServerTls {
    type Config = ServerConfig;

    fn files(&self) -> Vec<&Path> {
        self.0.both().into()
    }

    fn config(&self) -> Result<ServerConfig, TlsFault> {
        let builder = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()
            .map_err(|error| TlsFault(error.to_string()))?
            .with_no_client_auth();
        let files = &self.0;
        let built = builder.with_single_cert(certificates(&files.certificate)?, key(&files.key)?);
        let mut config = built.map_err(|error| files.fault(&error))?;
        config.alpn_protocols = vec![b"http/1.1".to_vec()];
        Ok(config)
    }
}

impl TlsFiles for ClientTls {
    type Config = ClientConfig;

    fn files(&self) -> Vec<&Path> {
        let shown = self.certificate.iter().flat_map(CertificateFiles::both);
        self.issuers.as_deref().into_iter().chain(shown).collect()
    }

    fn config(&self) -> Result<ClientConfig, TlsFault> {
        let provider = Arc::new(ring::default_provider());
        let verifier = CheckedCertificate {
            check: self.check,
            issued: self.verifiers(&provider)?,
            provider: Arc::clone(&provider),
        };
        let builder = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(|error| TlsFault(error.to_string()))?
            .dangerous()
            .with_custom_certificate_verifier(Arc::new(verifier));
        let Some(files) = &self.certificate else { return Ok(builder.with_no_client_auth()) };
        let built = builder.with_client_auth_cert(certificates(&files.certificate)?, key(&files.key)?);
        built.map_err(|error| files.fault(&error))
    }
}

impl ClientTls {
    /// Verifiers of which one has to agree; none where nothing is checked.
    fn verifiers(
        &self,
        provider: &Arc<CryptoProvider>,
    ) -> Result<Vec<Arc<dyn ServerCertVerifier>>, TlsFault> {
        let mut verifiers: Vec<Arc<dyn ServerCertVerifier>> = Vec::new();
        if self.check == CertificateCheck::Nothing {
            return Ok(verifiers);
        }
        if let Some(file) = &self.issuers {
            verifiers.push(of_file(file, provider)?);
        }
        if self.issuers.is_none() || self.and_system {
            match PlatformVerifier::new(Arc::clone(provider)) {
                Ok(platform) => verifiers.push(Arc::new(platform)),
                // A machine that trusts nobody, such as a small container, has the issuers of the file.
                Err(_) if self.issuers.is_some() => {}
                Err(error) => return Err(TlsFault(error.to_string())),
            }
        }
        Ok(verifiers)
    }
}

fn of_file(file: &Path, provider: &Arc<CryptoProvider>) -> Result<Arc<dyn ServerCertVerifier>, TlsFault> {
    let fault = |error: &dyn Error| TlsFault(format!("`{}`: {error}", file.display()));
    let mut roots = RootCertStore::empty();
    for certificate in certificates(file)? {
        roots.add(certificate).map_err(|error| fault(&error))?;
    }
    let builder = WebPkiServerVerifier::builder_with_provider(Arc::new(roots), Arc::clone(provider));
    Ok(builder.build().map_err(|error| fault(&error))?)
}

fn certificates(file: &Path) -> Result<Vec<CertificateDer<'static>>, TlsFault> {
    let read = CertificateDer::pem_file_iter(file).and_then(Iterator::collect::<Result<Vec<_>, _>>);
    match read {
        Ok(found) if !found.is_empty() => Ok(found),
        Ok(_) => Err(TlsFault(format!("no certificate is in `{}`", file.display()))),
        Err(error) => Err(TlsFault(format!("no certificate can be read from `{}`: {error}", file.display()))),
    }
}

fn key(file: &Path) -> Result<PrivateKeyDer<'static>, TlsFault> {
    PrivateKeyDer::from_pem_file(file)
        .map_err(|error| TlsFault(format!("no key can be read from `{}`: {error}", file.display())))
}
