//! Messages to a receiver of syslog, which says nothing about what it has taken. Over TCP, a connection carries one batch: this
//! side ends its half behind the last message, and the receiver, which reads up to there, ends the other. A receiver that dies
//! before breaks the connection instead.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use pagurus_domain::audit::syslog::framed;
use pagurus_tls::{CertificateFiles, ClientTls, TlsFiles as _, explained, taken_out};
use rustls::pki_types::ServerName;
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::net::{TcpStream, UdpSocket};
use tokio::time::timeout;
use tokio_rustls::TlsConnector;

/// Limit for opening a connection, its handshake included.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
/// Limit for one batch, from the first byte until the receiver has ended the connection.
const BATCH_TIMEOUT: Duration = Duration::from_secs(10);
/// Options of the URL.
const OPTIONS: [&str; 3] = ["cacertfile", "certfile", "keyfile"];

/// Address of a receiver of syslog.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SyslogAddress {
    transport: SyslogTransport,
    /// Name or address of the host.
    host: String,
    port: u16,
}

/// Transport of messages to a receiver.
#[derive(Clone, Debug, PartialEq, Eq)]
enum SyslogTransport {
    /// A datagram each: what is lost on the way stays lost.
    Udp,
    /// Behind their lengths (RFC 6587).
    Tcp,
    /// The same, encrypted (RFC 5425).
    Tls(Box<ClientTls>),
}

/// Reason for which a receiver did not take messages.
#[derive(Debug, thiserror::Error)]
pub enum SyslogError {
    /// A file of the certificates cannot be used.
    #[error("{0}")]
    Certificates(String),
    /// The network, or the receiver.
    #[error("{}", explained(.0).unwrap_or_else(|| .0.to_string()))]
    Network(#[from] io::Error),
    /// The receiver takes too long.
    #[error("{0}")]
    Late(&'static str),
}

impl SyslogAddress {
    /// Reads `tcp://HOST:PORT`, `udp://HOST:PORT` or `tls://HOST:PORT?cacertfile=…`.
    ///
    /// # Errors
    /// The fault of the address.
    pub fn read(url: &str) -> Result<Self, String> {
        let (url, [issuers, certificate, key]) = taken_out(url, OPTIONS)?;
        let has_options = issuers.is_some() || certificate.is_some() || key.is_some();
        let form = || "must be `tcp://HOST:PORT`, `udp://HOST:PORT` or `tls://HOST:PORT`".to_owned();
        let (scheme, place) = url.split_once("://").ok_or_else(form)?;
        let (host, port) = place.trim_end_matches('/').rsplit_once(':').ok_or_else(form)?;
        let port = port.parse().ok().filter(|port| *port > 0).ok_or_else(form)?;
        let host = host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host).to_owned();
        if ServerName::try_from(host.as_str()).is_err() {
            return Err(form());
        }
        let transport = match scheme {
            "tcp" | "udp" if has_options => {
                return Err("has options of TLS, which only `tls://` takes".to_owned());
            }
            "udp" => SyslogTransport::Udp,
            "tcp" => SyslogTransport::Tcp,
            "tls" => SyslogTransport::Tls(Box::new(ClientTls {
                issuers: issuers.map(Into::into),
                certificate: CertificateFiles::of_options([certificate, key], ["certfile", "keyfile"])?,
                ..ClientTls::default()
            })),
            _ => return Err(form()),
        };
        Ok(Self { transport, host, port })
    }

    /// Fault of the files of certificates as they are now.
    #[must_use]
    pub fn tls_fault(&self) -> Option<String> {
        let SyslogTransport::Tls(tls) = &self.transport else { return None };
        tls.config().err().map(|fault| fault.to_string())
    }

    /// Sends messages in their order. Over UDP nobody says whether they arrive.
    ///
    /// # Errors
    /// The receiver is away, or has not taken all of them. Some may have arrived.
    pub async fn send(&self, messages: &[Vec<u8>]) -> Result<(), SyslogError> {
        let place = (self.host.as_str(), self.port);
        if self.transport == SyslogTransport::Udp {
            let local = if self.host.contains(':') { "[::]:0" } else { "0.0.0.0:0" };
            let socket = UdpSocket::bind(local).await?;
            socket.connect(place).await?;
            for message in messages {
                socket.send(message).await?;
            }
            return Ok(());
        }
        let stream: Vec<u8> = messages.iter().flat_map(|message| framed(message)).collect();
        let connect = timeout(CONNECT_TIMEOUT, TcpStream::connect(place)).await;
        let connection = connect.map_err(|_| SyslogError::Late("no connection was made in time"))??;
        match &self.transport {
            SyslogTransport::Tls(tls) => {
                let config = tls.config().map_err(|fault| SyslogError::Certificates(fault.to_string()))?;
                let name = ServerName::try_from(self.host.clone()).map_err(io::Error::other)?;
                let handshake = TlsConnector::from(Arc::new(config)).connect(name, connection);
                let connection = timeout(CONNECT_TIMEOUT, handshake).await;
                let late = |_| SyslogError::Late("the TLS handshake took too long");
                deliver(connection.map_err(late)??, &stream).await
            }
            SyslogTransport::Tcp | SyslogTransport::Udp => deliver(connection, &stream).await,
        }
    }
}

/// Writes everything, and waits until the receiver has read it and ends the connection.
async fn deliver(
    mut connection: impl AsyncRead + AsyncWrite + Unpin,
    stream: &[u8],
) -> Result<(), SyslogError> {
    let all = async {
        connection.write_all(stream).await?;
        connection.shutdown().await?;
        let mut answer = [0; 256];
        loop {
            match connection.read(&mut answer).await {
                Ok(0) => return Ok(()),
                Ok(_) => {}
                // An end without the last word of TLS. The host of a receiver that left something unread breaks off instead.
                Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(()),
                Err(error) => return Err(error.into()),
            }
        }
    };
    let late = |_| SyslogError::Late("the receiver did not end the connection behind the last message");
    timeout(BATCH_TIMEOUT, all).await.map_err(late)?
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test may stop at the first surprise")]
mod tests {
    use tokio::net::TcpListener;

    use super::*;

    #[test]
    fn qlt_15_an_address_of_a_receiver_is_read_or_says_what_it_should_be() {
        let read = |url: &str| SyslogAddress::read(url).map(|address| (address.host, address.port));
        assert_eq!(read("tcp://logs.example:601").unwrap(), ("logs.example".to_owned(), 601));
        assert_eq!(read("udp://[::1]:514").unwrap(), ("::1".to_owned(), 514));
        let tls =
            SyslogAddress::read("tls://logs:6514?cacertfile=/a.pem&certfile=/c.pem&keyfile=/k.pem").unwrap();
        let SyslogTransport::Tls(tls) = tls.transport else { panic!("{tls:?}") };
        assert_eq!(tls.files().len(), 3);
        for wrong in [
            "logs:601",
            "http://logs:601",
            "tcp://logs",
            "tcp://:601",
            "tcp://logs:0",
            "tcp://logs:x",
            "tcp://logs:601?cacertfile=/a",
            "tls://logs:6514?certfile=/c.pem",
        ] {
            assert!(SyslogAddress::read(wrong).is_err(), "{wrong}");
        }
    }

    #[tokio::test]
    async fn qlt_15_messages_are_taken_when_the_receiver_has_read_them_all_and_not_before() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = format!("tcp://{}", listener.local_addr().unwrap());
        let address = SyslogAddress::read(&address).unwrap();
        let messages = [b"one".to_vec(), "zwei\u{e9}".as_bytes().to_vec()];
        let receive = async {
            let (mut connection, _) = listener.accept().await.unwrap();
            let mut text = String::new();
            connection.read_to_string(&mut text).await.unwrap();
            text
        };
        let (sent, text) = tokio::join!(address.send(&messages), receive);
        sent.unwrap();
        assert_eq!(text, "3 one6 zwei\u{e9}");
        // One that breaks off with messages unread has not taken them.
        let break_off = async {
            let (mut connection, _) = listener.accept().await.unwrap();
            connection.read_exact(&mut [0; 2]).await.unwrap();
            connection.set_zero_linger().unwrap();
        };
        let (sent, ()) = tokio::join!(address.send(&messages), break_off);
        assert!(matches!(sent, Err(SyslogError::Network(_))), "{sent:?}");
    }
}
