//! A TCP proxy in front of a server, to cut, freeze and slow connections.
//! Never loses a byte silently: what it holds back it sends later, or the connection ends.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::JoinHandle;

use crate::ports::{Owner, Ports};

/// What the proxy does with all of its connections.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// Bytes pass at once.
    Pass,
    /// Every piece passes this much later, in both directions.
    Delay(Duration),
    /// Connections are taken and stay open, and nothing passes: as when a network is parted.
    BlackHole,
    /// Open connections are closed, new ones are closed at once.
    Cut,
}

/// A running proxy; it ends with this value.
#[derive(Debug)]
pub struct Proxy {
    port: u16,
    mode: Arc<watch::Sender<Mode>>,
    task: JoinHandle<()>,
    _ports: Ports,
}

impl Proxy {
    /// A proxy in front of `upstream` (`host:port`), passing at first.
    ///
    /// # Errors
    /// No port is free.
    pub async fn start(upstream: &str) -> Result<Self> {
        let ports = Ports::reserve(1, &Owner::this_process()?)?;
        let address: SocketAddr = tokio::net::lookup_host(upstream).await?.next().context("no such host")?;
        let listener = TcpListener::bind(("127.0.0.1", ports.first())).await?;
        let mode = Arc::new(watch::Sender::new(Mode::Pass));
        let modes = Arc::clone(&mode);
        let task = tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                tokio::spawn(carry(client, address, modes.subscribe()));
            }
        });
        Ok(Self { port: ports.first(), mode, task, _ports: ports })
    }

    /// The port on 127.0.0.1 to connect to.
    #[must_use]
    pub const fn port(&self) -> u16 {
        self.port
    }

    /// The same URL with host and port of the proxy: `scheme://user@host:port/rest`.
    #[must_use]
    pub fn url(&self, upstream: &str) -> String {
        let (scheme, rest) = upstream.split_once("://").unwrap_or(("tcp", upstream));
        let (authority, path) = rest.find('/').map_or((rest, ""), |at| rest.split_at(at));
        let user = authority.rsplit_once('@').map_or(String::new(), |(user, _)| format!("{user}@"));
        format!("{scheme}://{user}127.0.0.1:{}{path}", self.port)
    }

    /// Changes the mode for open and new connections.
    pub fn set(&self, mode: Mode) {
        self.mode.send_replace(mode);
    }
}

/// `host:port` of a URL, to put a proxy before it.
#[must_use]
pub fn host_of(url: &str) -> String {
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    let authority = rest.split('/').next().unwrap_or(rest);
    authority.rsplit('@').next().unwrap_or(authority).to_owned()
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.task.abort();
        // The tasks of the connections see it and end.
        self.mode.send_replace(Mode::Cut);
    }
}

async fn carry(client: TcpStream, upstream: SocketAddr, mut mode: watch::Receiver<Mode>) {
    if open(&mut mode).await.is_none() {
        return;
    }
    let Ok(server) = TcpStream::connect(upstream).await else {
        return;
    };
    // Delays are for us to make.
    let _ = client.set_nodelay(true);
    let _ = server.set_nodelay(true);
    let (client_in, client_out) = client.into_split();
    let (server_in, server_out) = server.into_split();
    let there = pump(client_in, server_out, mode.clone());
    let back = pump(server_in, client_out, mode.clone());
    let closed = async {
        // The sender gone counts as cut: the proxy has been dropped.
        let _ = mode.wait_for(|mode| *mode == Mode::Cut).await;
    };
    tokio::select! {
        () = async { tokio::join!(there, back); } => {}
        () = closed => {}
    }
}

async fn pump(mut from: OwnedReadHalf, mut to: OwnedWriteHalf, mut mode: watch::Receiver<Mode>) {
    let mut buffer = vec![0; 64 * 1024];
    while let Ok(length) = from.read(&mut buffer).await {
        let Some(delay) = open(&mut mode).await else {
            return;
        };
        tokio::time::sleep(delay).await;
        if length == 0 || to.write_all(&buffer[..length]).await.is_err() {
            break;
        }
    }
    // The end of one direction is passed on; the other may still have something to say.
    let _ = to.shutdown().await;
}

/// Waits until bytes may pass, and says after which delay; `None` when the connection is to be closed.
async fn open(mode: &mut watch::Receiver<Mode>) -> Option<Duration> {
    let now = *mode.wait_for(|mode| *mode != Mode::BlackHole).await.ok()?;
    match now {
        Mode::Pass | Mode::BlackHole => Some(Duration::ZERO),
        Mode::Delay(delay) => Some(delay),
        Mode::Cut => None,
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test may panic")]

    use super::*;
    use tokio::time::timeout;

    async fn echo() -> (String, Ports) {
        let ports = Ports::reserve(1, &Owner::this_process().unwrap()).unwrap();
        let listener = TcpListener::bind(("127.0.0.1", ports.first())).await.unwrap();
        tokio::spawn(async move {
            while let Ok((mut stream, _)) = listener.accept().await {
                tokio::spawn(async move {
                    let (mut from, mut to) = stream.split();
                    let _ = tokio::io::copy(&mut from, &mut to).await;
                });
            }
        });
        (format!("127.0.0.1:{}", ports.first()), ports)
    }

    #[tokio::test]
    async fn what_a_black_hole_holds_arrives_later_and_a_cut_ends_it() {
        let (address, _ports) = echo().await;
        let proxy = Proxy::start(&address).await.unwrap();
        let mut stream = TcpStream::connect(("127.0.0.1", proxy.port())).await.unwrap();
        let mut byte = [0];
        stream.write_all(b"a").await.unwrap();
        stream.read_exact(&mut byte).await.unwrap();
        assert_eq!(byte, *b"a");

        proxy.set(Mode::BlackHole);
        stream.write_all(b"b").await.unwrap();
        assert!(timeout(Duration::from_millis(200), stream.read_exact(&mut byte)).await.is_err());
        proxy.set(Mode::Pass);
        stream.read_exact(&mut byte).await.unwrap();
        assert_eq!(byte, *b"b");

        proxy.set(Mode::Cut);
        assert!(!matches!(stream.read(&mut byte).await, Ok(length) if length > 0));
    }

    #[tokio::test]
    async fn the_url_keeps_user_and_path() {
        let (address, _ports) = echo().await;
        let proxy = Proxy::start(&address).await.unwrap();
        let url = proxy.url("amqp://guest:guest@127.0.0.1:5672/%2f");
        assert_eq!(url, format!("amqp://guest:guest@127.0.0.1:{}/%2f", proxy.port()));
    }
}
