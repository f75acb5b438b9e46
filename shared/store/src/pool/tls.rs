//! TLS to the database server, as the options of its URL say: those of libpq, by the same names.
//!
//! The files are read for each new connection: a certificate that is exchanged is used from then on, without a restart.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, ring};
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};
use rustls::{
    CertificateError, ClientConfig, DigitallySignedStruct, Error as TlsError, RootCertStore, SignatureScheme,
};
use rustls_platform_verifier::Verifier as PlatformVerifier;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio_postgres::config::SslMode;
use tokio_postgres::tls::MakeTlsConnect;
use tokio_postgres_rustls::MakeRustlsConnect;

/// Stands for the certificates that this machine trusts.
const SYSTEM: &str = "system";

/// What of the certificate of a server is checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum CertificateCheck {
    Nothing,
    Issuer,
    IssuerAndName,
}

/// Options of TLS in a URL.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct TlsOptions {
    check: CertificateCheck,
    /// File of the issuers that are trusted; none for those that this machine trusts.
    issuers: Option<PathBuf>,
    /// Files of the certificate of this client, and of its key.
    certificate: Option<(PathBuf, PathBuf)>,
}

/// Takes the options of TLS out of a URL.
///
/// # Errors
/// Says what is wrong with it, without the URL itself: that may hold a password.
pub(super) fn read(url: &str) -> Result<(tokio_postgres::Config, TlsOptions), String> {
    let (place, query) = url.split_once('?').unwrap_or((url, ""));
    let (mut mode, mut issuers, mut certificate, mut key, mut others) = (None, None, None, None, Vec::new());
    for option in query.split('&').filter(|option| !option.is_empty()) {
        let (name, value) = option.split_once('=').unwrap_or((option, ""));
        let value = || percent_decoded(value);
        match name {
            "sslmode" => mode = Some(value()?),
            "sslrootcert" => issuers = Some(value()?),
            "sslcert" => certificate = Some(value()?),
            "sslkey" => key = Some(value()?),
            _ => others.push(option),
        }
    }
    let rest = if others.is_empty() { place.to_owned() } else { format!("{place}?{}", others.join("&")) };
    let mut config: tokio_postgres::Config = rest.parse().map_err(|_| {
        "is no URL of a database, such as `postgres://USER:PASSWORD@HOST:5432/NAME`".to_owned()
    })?;
    let is_named = issuers.is_some();
    let (mode, check) = match mode.as_deref() {
        None | Some("disable") => (SslMode::Disable, CertificateCheck::Nothing),
        Some("prefer") => (SslMode::Prefer, CertificateCheck::Nothing),
        // As libpq does: who names issuers wants them to be checked.
        Some("require") if !is_named => (SslMode::Require, CertificateCheck::Nothing),
        Some("require" | "verify-ca") => (SslMode::Require, CertificateCheck::Issuer),
        Some("verify-full") => (SslMode::Require, CertificateCheck::IssuerAndName),
        Some(other) => {
            return Err(format!(
                "has `sslmode={other}`, which is none of disable, prefer, require, verify-ca, verify-full"
            ));
        }
    };
    let certificate = match (certificate, key) {
        (None, None) => None,
        (Some(certificate), Some(key)) => Some((certificate.into(), key.into())),
        _ => return Err("has one of `sslcert` and `sslkey`, where both are needed".to_owned()),
    };
    config.ssl_mode(mode);
    let issuers = issuers.filter(|file| file != SYSTEM).map(PathBuf::from);
    Ok((config, TlsOptions { check, issuers, certificate }))
}

fn percent_decoded(text: &str) -> Result<String, String> {
    let text = percent_encoding::percent_decode_str(text).decode_utf8();
    text.map(std::borrow::Cow::into_owned).map_err(|_| "has an option that is no UTF-8".to_owned())
}

impl TlsOptions {
    /// The settings of a new connection, from the files as they are now.
    ///
    /// # Errors
    /// A file cannot be read, or is none of its kind.
    pub(super) fn config(&self) -> Result<ClientConfig, String> {
        let provider = Arc::new(ring::default_provider());
        let verifier = CheckedCertificate {
            check: self.check,
            issued: self.verifier(&provider)?,
            provider: provider.clone(),
        };
        let builder = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(|error| error.to_string())?
            .dangerous()
            .with_custom_certificate_verifier(Arc::new(verifier));
        let Some((certificate, key)) = &self.certificate else { return Ok(builder.with_no_client_auth()) };
        let chain = certificates(certificate)?;
        let key_of = PrivateKeyDer::from_pem_file(key);
        let key_of = key_of
            .map_err(|error| format!("sslkey: no key can be read from `{}`: {error}", key.display()))?;
        builder.with_client_auth_cert(chain, key_of).map_err(|error| format!("sslcert: {error}"))
    }

    fn verifier(
        &self,
        provider: &Arc<CryptoProvider>,
    ) -> Result<Option<Arc<dyn ServerCertVerifier>>, String> {
        if self.check == CertificateCheck::Nothing {
            return Ok(None);
        }
        let Some(file) = &self.issuers else {
            let platform = PlatformVerifier::new(provider.clone()).map_err(|error| error.to_string())?;
            return Ok(Some(Arc::new(platform)));
        };
        let mut roots = RootCertStore::empty();
        for certificate in certificates(file)? {
            roots.add(certificate).map_err(|error| format!("sslrootcert: `{}`: {error}", file.display()))?;
        }
        let built = WebPkiServerVerifier::builder_with_provider(Arc::new(roots), provider.clone()).build();
        let verifier = built.map_err(|error| format!("sslrootcert: `{}`: {error}", file.display()))?;
        Ok(Some(verifier))
    }
}

fn certificates(file: &Path) -> Result<Vec<CertificateDer<'static>>, String> {
    let read = CertificateDer::pem_file_iter(file).and_then(Iterator::collect::<Result<Vec<_>, _>>);
    match read {
        Ok(found) if !found.is_empty() => Ok(found),
        Ok(_) => Err(format!("no certificate is in `{}`", file.display())),
        Err(error) => Err(format!("no certificate can be read from `{}`: {error}", file.display())),
    }
}

/// Checks of the certificate of a server what the mode says.
#[derive(Debug)]
struct CheckedCertificate {
    check: CertificateCheck,
    /// None where nothing is checked.
    issued: Option<Arc<dyn ServerCertVerifier>>,
    provider: Arc<CryptoProvider>,
}

impl ServerCertVerifier for CheckedCertificate {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        server_name: &ServerName<'_>,
        ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, TlsError> {
        let Some(issued) = &self.issued else { return Ok(ServerCertVerified::assertion()) };
        let verified = issued.verify_server_cert(end_entity, intermediates, server_name, ocsp_response, now);
        match verified {
            // The name is the last thing that is looked at.
            Err(TlsError::InvalidCertificate(
                CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. },
            )) if self.check == CertificateCheck::Issuer => Ok(ServerCertVerified::assertion()),
            other => other,
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, TlsError> {
        rustls::crypto::verify_tls12_signature(
            message,
            cert,
            dss,
            &self.provider.signature_verification_algorithms,
        )
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, TlsError> {
        rustls::crypto::verify_tls13_signature(
            message,
            cert,
            dss,
            &self.provider.signature_verification_algorithms,
        )
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider.signature_verification_algorithms.supported_schemes()
    }
}

/// Makes the connections of a pool, by the files as they are at that moment.
#[derive(Clone, Debug)]
pub(super) struct ReadAtConnect(pub(super) Arc<TlsOptions>);

impl<S> MakeTlsConnect<S> for ReadAtConnect
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    type Stream = <MakeRustlsConnect as MakeTlsConnect<S>>::Stream;
    type TlsConnect = <MakeRustlsConnect as MakeTlsConnect<S>>::TlsConnect;
    type Error = io::Error;

    fn make_tls_connect(&mut self, host: &str) -> Result<Self::TlsConnect, Self::Error> {
        let config = self.0.config().map_err(io::Error::other)?;
        MakeTlsConnect::<S>::make_tls_connect(&mut MakeRustlsConnect::new(config), host)
            .map_err(io::Error::other)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn qlt_15_a_url_says_how_the_server_is_checked_as_with_libpq() {
        let found = |query: &str| {
            read(&format!("postgres://u:secret@h/d{query}"))
                .map(|(config, tls)| (config.get_ssl_mode(), tls.check))
        };
        for (query, mode, check) in [
            ("", SslMode::Disable, CertificateCheck::Nothing),
            ("?sslmode=disable&connect_timeout=3", SslMode::Disable, CertificateCheck::Nothing),
            ("?sslmode=prefer", SslMode::Prefer, CertificateCheck::Nothing),
            ("?sslmode=require", SslMode::Require, CertificateCheck::Nothing),
            ("?sslmode=require&sslrootcert=/ca.pem", SslMode::Require, CertificateCheck::Issuer),
            ("?sslrootcert=%2Fca.pem&sslmode=verify-ca", SslMode::Require, CertificateCheck::Issuer),
            ("?sslmode=verify-full", SslMode::Require, CertificateCheck::IssuerAndName),
        ] {
            assert_eq!(found(query), Ok((mode, check)), "{query}");
        }
        for (query, says) in [
            ("?sslmode=allow", "none of disable, prefer"),
            ("?sslmode=require&sslcert=/c.pem", "both are needed"),
            ("?sslmode=require&nonsense=1", "is no URL of a database"),
        ] {
            let refused = found(query).expect_err(query);
            assert!(refused.contains(says) && !refused.contains("secret"), "{query}: {refused}");
        }
    }
}
