//! TLS to the database server, as the options of its URL say: those of libpq, by the same names.

use std::future::Future;
use std::io;
use std::pin::Pin;
use std::sync::Arc;

use pagurus_tls::{CertificateCheck, CertificateFiles, ClientTls, ReloadingTls, explained, taken_out};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio_postgres::config::SslMode;
use tokio_postgres::tls::{MakeTlsConnect, TlsConnect};
use tokio_postgres_rustls::MakeRustlsConnect;

/// Stands for the certificates that this machine trusts.
const SYSTEM: &str = "system";

/// Takes the options of TLS out of a URL.
///
/// # Errors
/// Says what is wrong with it, without the URL itself: that may hold a password.
pub(super) fn read(url: &str) -> Result<(tokio_postgres::Config, ClientTls), String> {
    const CERTIFICATE: [&str; 2] = ["sslcert", "sslkey"];
    let [certificate, key] = CERTIFICATE;
    let (rest, options) = taken_out(url, ["sslmode", "sslrootcert", certificate, key])?;
    let [mode, issuers, certificate, key] = options;
    let mut config: tokio_postgres::Config = rest.parse().map_err(|_| {
        "is not a URL of a database, such as `postgres://USER:PASSWORD@HOST:5432/NAME`".to_owned()
    })?;
    let (mode, check) = match mode.as_deref() {
        None | Some("disable") => (SslMode::Disable, CertificateCheck::Nothing),
        Some("prefer") => (SslMode::Prefer, CertificateCheck::Nothing),
        // As libpq does: an installation that names issuers wants them to be checked.
        Some("require") if issuers.is_none() => (SslMode::Require, CertificateCheck::Nothing),
        Some("require" | "verify-ca") => (SslMode::Require, CertificateCheck::Issuer),
        Some("verify-full") => (SslMode::Require, CertificateCheck::IssuerAndName),
        Some(other) => {
            return Err(format!(
                "has `sslmode={other}`, which is none of disable, prefer, require, verify-ca, verify-full"
            ));
        }
    };
    config.ssl_mode(mode);
    let certificate = CertificateFiles::of_options([certificate, key], CERTIFICATE)?;
    let issuers = issuers.filter(|file| file != SYSTEM).map(Into::into);
    Ok((config, ClientTls { check, issuers, certificate, and_system: false }))
}

/// Makes the connections of a pool.
#[derive(Clone, Debug)]
pub(super) struct ExplainedTls(pub(super) Arc<ReloadingTls>);

impl<S> MakeTlsConnect<S> for ExplainedTls
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    type Stream = <MakeRustlsConnect as MakeTlsConnect<S>>::Stream;
    type TlsConnect = ExplainedConnect<<MakeRustlsConnect as MakeTlsConnect<S>>::TlsConnect>;
    type Error = io::Error;

    fn make_tls_connect(&mut self, host: &str) -> Result<Self::TlsConnect, Self::Error> {
        let config = self.0.config().map_err(io::Error::other)?;
        MakeTlsConnect::<S>::make_tls_connect(&mut MakeRustlsConnect::new((*config).clone()), host)
            .map(ExplainedConnect)
            .map_err(io::Error::other)
    }
}

/// A handshake whose failure says in a sentence what is wrong.
pub(super) struct ExplainedConnect<C>(C);

impl<S, C> TlsConnect<S> for ExplainedConnect<C>
where
    C: TlsConnect<S>,
    C::Future: Send + 'static,
    C::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
{
    type Stream = C::Stream;
    type Error = Box<dyn std::error::Error + Send + Sync>;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Stream, Self::Error>> + Send>>;

    fn connect(self, stream: S) -> Self::Future {
        let connect = self.0.connect(stream);
        Box::pin(async move {
            connect.await.map_err(|error| {
                let error = error.into();
                explained(&*error).map_or(error, Into::into)
            })
        })
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
            ("?sslmode=require&nonsense=1", "is not a URL of a database"),
        ] {
            let refused = found(query).err().unwrap_or_default();
            assert!(refused.contains(says) && !refused.contains("secret"), "{query}: {refused}");
        }
    }
}
