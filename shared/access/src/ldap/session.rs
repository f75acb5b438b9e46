//! A connection to a directory, and what is asked on it. Each step has a limit of time, and each failure of it a sentence.

use std::sync::Arc;
use std::time::Duration;

use ldap3::{
    Ldap, LdapConnAsync, LdapConnSettings, LdapError, LdapResult, Scope, SearchEntry, SearchOptions,
    StdStream,
};
use pagurus_runtime::config::{LdapServer, LdapSettings};
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, copy, split};
use tokio::net::{TcpStream, UnixStream};
use tokio::task::JoinSet;
use tokio::time::timeout;
use tokio_rustls::TlsConnector;
use tokio_rustls::rustls::ClientConfig;
use tokio_rustls::rustls::pki_types::ServerName;

use super::start_tls;
use crate::person::LoginFailure;

/// Bytes that a directory may send on one connection: the library reads answers of any length, and a thousand groups with long
/// names take a fraction of this.
const MAX_BYTES: u64 = 4 * 1024 * 1024;

/// Entries among which a search looks.
#[derive(Clone, Copy, Debug)]
pub(super) struct SearchPlace<'a> {
    pub(super) base: &'a str,
    pub(super) scope: Scope,
    pub(super) filter: &'a str,
}

/// A connection; it ends with this value.
#[derive(Debug)]
pub(super) struct LdapSession {
    ldap: Ldap,
    bind_timeout: Duration,
    search_timeout: Duration,
    /// Tasks that carry bytes to the directory and back.
    _carriers: JoinSet<()>,
}

fn unavailable(message: String) -> LoginFailure {
    LoginFailure::Unavailable(message)
}

impl LdapSession {
    /// Connects, by TLS where there is any.
    ///
    /// # Errors
    /// The directory cannot be reached in time, or is not the one that the settings name.
    pub(super) async fn connect(
        settings: &LdapSettings,
        server: &LdapServer,
        tls: Option<Arc<ClientConfig>>,
    ) -> Result<Self, LoginFailure> {
        let mut carriers = JoinSet::new();
        let limit = settings.connect_timeout;
        let stream = timeout(limit, open(server, tls, &mut carriers))
            .await
            .map_err(|_| unavailable(format!("{server}: no connection within {} ms", limit.as_millis())))?;
        let stream = stream.map_err(|message| unavailable(format!("{server}: {message}")))?;
        let of_library = LdapConnSettings::new().set_std_stream(StdStream::Unix(stream));
        let opened = LdapConnAsync::with_settings(of_library, "ldapi://%2f").await;
        let (connection, ldap) = opened.map_err(|error| unavailable(format!("{server}: {error}")))?;
        carriers.spawn(async move {
            // What is asked on the connection fails then, and says so.
            let _ = connection.drive().await;
        });
        let (bind_timeout, search_timeout) = (settings.bind_timeout, settings.search_timeout);
        Ok(Self { ldap, bind_timeout, search_timeout, _carriers: carriers })
    }

    /// Binds; whether the directory agrees stands in its answer.
    ///
    /// # Errors
    /// There was no answer.
    pub(super) async fn bind(&mut self, name: &str, password: &str) -> Result<LdapResult, LoginFailure> {
        // Both must be there: without a password the directory would prove nothing, and may agree.
        if name.trim().is_empty() || password.is_empty() {
            return Err(LoginFailure::Refused("a bind needs a name and a password".to_owned()));
        }
        let limit = self.bind_timeout;
        match timeout(limit, self.ldap.simple_bind(name, password)).await {
            Ok(answered) => answered.map_err(|error| broken("bind", &error)),
            Err(_) => Err(late("bind", limit)),
        }
    }

    /// Searches, and stops where there are more entries than `most`. References to other directories are skipped.
    ///
    /// # Errors
    /// There was no answer, or a part of one.
    pub(super) async fn search(
        &mut self,
        place: SearchPlace<'_>,
        attributes: Vec<String>,
        most: usize,
    ) -> Result<(Vec<SearchEntry>, LdapResult), LoginFailure> {
        let limit = self.search_timeout;
        match timeout(limit, self.search_now(place, attributes, most)).await {
            Ok(answered) => answered.map_err(|error| broken("search", &error)),
            Err(_) => Err(late("search", limit)),
        }
    }

    async fn search_now(
        &mut self,
        SearchPlace { base, scope, filter }: SearchPlace<'_>,
        attributes: Vec<String>,
        most: usize,
    ) -> Result<(Vec<SearchEntry>, LdapResult), LdapError> {
        let one_more = i32::try_from(most + 1).unwrap_or(i32::MAX);
        self.ldap.with_search_options(SearchOptions::new().sizelimit(one_more));
        let mut stream = self.ldap.streaming_search(base, scope, filter, attributes).await?;
        let mut entries = Vec::new();
        while entries.len() <= most {
            match stream.next().await? {
                None => return Ok((entries, stream.finish().await)),
                Some(item) if item.is_ref() || item.is_intermediate() => {}
                Some(item) => entries.push(SearchEntry::construct(item)),
            }
        }
        Ok((entries, LdapResult { rc: 0, ..stream.finish().await }))
    }
}

fn broken(step: &str, error: &LdapError) -> LoginFailure {
    unavailable(match error {
        LdapError::FilterParsing => format!("the {step} failed: a filter in the settings is not valid"),
        LdapError::Io { source } => format!("the {step} failed: {source}"),
        _ => format!(
            "the {step} failed: the directory ended the connection, sent more than {} MiB, or something that is not an answer",
            MAX_BYTES / (1024 * 1024)
        ),
    })
}

fn late(step: &str, limit: Duration) -> LoginFailure {
    unavailable(format!("the {step} had no answer within {} ms", limit.as_millis()))
}

/// Opens a connection, and returns the end of it that is not encrypted any more.
async fn open(
    server: &LdapServer,
    tls: Option<Arc<ClientConfig>>,
    carriers: &mut JoinSet<()>,
) -> Result<std::os::unix::net::UnixStream, String> {
    let cannot_connect = |error: std::io::Error| format!("no connection: {error}");
    let mut tcp = TcpStream::connect((server.host.as_str(), server.port)).await.map_err(cannot_connect)?;
    let (ours, of_library) = UnixStream::pair().map_err(cannot_connect)?;
    match tls {
        None => carriers.spawn(carry(tcp, ours)),
        Some(config) => {
            if !server.is_ldaps {
                start_tls::ask(&mut tcp).await?;
            }
            let name = ServerName::try_from(server.host.clone()).map_err(|error| error.to_string())?;
            let secured = TlsConnector::from(config).connect(name, tcp).await;
            let secured = secured.map_err(|error| {
                pagurus_tls::explained(&error).unwrap_or_else(|| format!("the TLS handshake failed: {error}"))
            })?;
            carriers.spawn(carry(secured, ours))
        }
    };
    of_library.into_std().map_err(cannot_connect)
}

/// Carries bytes between the directory and the library, until one of them ends or the directory has sent too many.
async fn carry(directory: impl AsyncRead + AsyncWrite, library: UnixStream) {
    let (from_directory, mut to_directory) = split(directory);
    let (mut from_library, mut to_library) = library.into_split();
    let mut from_directory = from_directory.take(MAX_BYTES);
    tokio::select! {
        // The library sees the end, whichever it is.
        _ = copy(&mut from_directory, &mut to_library) => {}
        _ = copy(&mut from_library, &mut to_directory) => {}
    }
}
