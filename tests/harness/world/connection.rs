//! Connections that can be broken off without an answer.
//! Never answers anything itself: it only lets bytes through or fails.

use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use axum::extract::connect_info::Connected;
use axum::serve::IncomingStream;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpListener, TcpStream};

/// The handle of a connection by which a handler breaks it.
#[derive(Clone, Debug, Default)]
pub struct Wire {
    cut: Arc<AtomicBool>,
}

impl Wire {
    /// Stops all writing from now on; the next attempt to write ends the connection.
    pub fn cut(&self) {
        self.cut.store(true, Ordering::Relaxed);
    }
}

impl Connected<IncomingStream<'_, Listener>> for Wire {
    fn connect_info(stream: IncomingStream<'_, Listener>) -> Self {
        stream.io().wire.clone()
    }
}

/// Listens for connections that can be cut.
#[derive(Debug)]
pub struct Listener(TcpListener);

impl Listener {
    pub const fn new(listener: TcpListener) -> Self {
        Self(listener)
    }
}

impl axum::serve::Listener for Listener {
    type Io = Stream;
    type Addr = SocketAddr;

    async fn accept(&mut self) -> (Stream, SocketAddr) {
        loop {
            match self.0.accept().await {
                Ok((stream, address)) => {
                    // Small answers would else wait for the acknowledgement of the one before.
                    let _ = stream.set_nodelay(true);
                    return (Stream { stream, wire: Wire::default() }, address);
                }
                // Out of file descriptors, most likely: give the others time to end.
                Err(_) => tokio::time::sleep(Duration::from_millis(50)).await,
            }
        }
    }

    fn local_addr(&self) -> io::Result<SocketAddr> {
        self.0.local_addr()
    }
}

/// A connection with its handle.
#[derive(Debug)]
pub struct Stream {
    stream: TcpStream,
    wire: Wire,
}

impl AsyncRead for Stream {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        to: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(context, to)
    }
}

impl AsyncWrite for Stream {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        if self.wire.cut.load(Ordering::Relaxed) {
            return Poll::Ready(Err(io::ErrorKind::ConnectionReset.into()));
        }
        Pin::new(&mut self.stream).poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}
