//! The beginning of a connection by TLS.

use std::future::Future;
use std::time::Duration;

use pagurus_tls::{ReloadingTls, ServerTls};
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;

use super::places::ConnectionPlace;

/// Answer to a client that speaks HTTP without TLS.
const SPEAKS_TLS: &[u8] = b"HTTP/1.1 400 Bad Request\r\ncontent-type: text/plain\r\ncontent-length: 47\r\nconnection: close\r\n\r\n\
    this address speaks TLS: begin with `https://`\n";
/// First byte of a TLS connection: a record of the handshake (RFC 8446, 5.1).
const HANDSHAKE: u8 = 22;

/// Tells a client that begins without TLS; true for one that begins with it.
pub(super) async fn begins_with_tls(stream: &mut TcpStream) -> bool {
    let mut first = [0];
    match stream.peek(&mut first).await {
        Ok(1) if first[0] == HANDSHAKE => true,
        Ok(1) => {
            // A client that does not take the answer is closed all the same.
            let _ = stream.write_all(SPEAKS_TLS).await;
            let _ = stream.shutdown().await;
            false
        }
        _ => false,
    }
}

/// Shakes hands with a client; `None` where it comes to nothing.
pub(super) async fn secured<S: AsyncRead + AsyncWrite + Unpin>(
    tls: &ReloadingTls<ServerTls>,
    stream: S,
) -> Option<TlsStream<S>> {
    match tls.config() {
        // A handshake that fails is the client's, who says why.
        Ok(config) => TlsAcceptor::from(config).accept(stream).await.ok(),
        Err(error) => {
            tracing::error!(%error, "a connection is closed: the certificate of the server cannot be read");
            None
        }
    }
}

/// Waits for what a client does before its first headers, as long as it may take for those, and as nobody needs its place.
pub(super) async fn at_first<T>(
    place: &ConnectionPlace,
    within: Duration,
    first: impl Future<Output = T>,
) -> Option<T> {
    tokio::select! {
        first = tokio::time::timeout(within, first) => first.ok(),
        () = place.closed.cancelled() => None,
    }
}
