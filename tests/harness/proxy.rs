//! A TCP proxy in front of a server, to cut, freeze, mute and slow connections.
//! Never loses a byte silently: what it holds back it sends later, or the connection ends.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use anyhow::{Context, Result};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::JoinHandle;

use crate::client::lock;
use crate::ports::{Owner, Ports};

/// The end of a transaction as a client of PostgreSQL sends it, a simple query.
const COMMIT: &[u8] = b"COMMIT\0";
/// Time that a server has for a `COMMIT` before its connection ends.
const COMMITTED_WITHIN: Duration = Duration::from_millis(40);

/// Treatment of all connections by the proxy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// Bytes pass at once.
    Pass,
    /// Every piece passes this much later, in both directions.
    Delay(Duration),
    /// Connections are taken and stay open, and nothing passes: as when a network is parted.
    BlackHole,
    /// Requests pass, answers of the server are dropped. The affected connections end with the next mode: the
    /// server has done what it was asked to, and the client never learns of it.
    Mute,
    /// A connection passes until its client ends a transaction of PostgreSQL: the `COMMIT` passes, its answer is
    /// dropped, and the connection ends.
    CutAtCommit,
    /// Open connections are closed, new ones are closed at once.
    Cut,
}

/// A running proxy; it ends with this value.
#[derive(Debug)]
pub struct Proxy {
    port: u16,
    shared: Arc<Shared>,
    task: JoinHandle<()>,
    _ports: Ports,
}

#[derive(Debug)]
struct Shared {
    mode: watch::Sender<Mode>,
    upstreams: Mutex<Arc<[SocketAddr]>>,
    commits_unanswered: AtomicU64,
    answers_dropped: AtomicU64,
}

impl Proxy {
    /// A proxy in front of `upstream` (`host:port`), passing at first.
    ///
    /// # Errors
    /// No port is free.
    pub async fn start(upstream: &str) -> Result<Self> {
        Self::start_before(&[upstream]).await
    }

    /// A proxy in front of several servers: a new connection goes to the first that takes it, as behind a load balancer.
    ///
    /// # Errors
    /// No port is free.
    pub async fn start_before(upstreams: &[&str]) -> Result<Self> {
        let mut addresses = Vec::new();
        for upstream in upstreams {
            addresses.push(resolve(upstream).await?);
        }
        let ports = Ports::reserve(1, &Owner::this_process()?)?;
        let listener = TcpListener::bind(("127.0.0.1", ports.first())).await?;
        let shared = Arc::new(Shared {
            mode: watch::Sender::new(Mode::Pass),
            upstreams: Mutex::new(addresses.into()),
            commits_unanswered: AtomicU64::new(0),
            answers_dropped: AtomicU64::new(0),
        });
        let carried = Arc::clone(&shared);
        let task = tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                tokio::spawn(carry(client, Arc::clone(&carried)));
            }
        });
        Ok(Self { port: ports.first(), shared, task, _ports: ports })
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
        self.shared.mode.send_replace(mode);
    }

    /// New connections go to this server (`host:port`) from now on.
    ///
    /// # Errors
    /// There is no such host.
    pub async fn redirect(&self, upstream: &str) -> Result<()> {
        let address = resolve(upstream).await?;
        *lock(&self.shared.upstreams) = Arc::new([address]);
        Ok(())
    }

    /// Number of times that a `COMMIT` has reached PostgreSQL and its answer was dropped.
    #[must_use]
    pub fn commits_unanswered(&self) -> u64 {
        self.shared.commits_unanswered.load(Ordering::Relaxed)
    }

    /// Number of pieces of answers that were dropped.
    #[must_use]
    pub fn answers_dropped(&self) -> u64 {
        self.shared.answers_dropped.load(Ordering::Relaxed)
    }
}

async fn resolve(upstream: &str) -> Result<SocketAddr> {
    tokio::net::lookup_host(upstream).await?.next().context("no such host")
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
        self.shared.mode.send_replace(Mode::Cut);
    }
}

async fn carry(client: TcpStream, shared: Arc<Shared>) {
    let mut mode = shared.mode.subscribe();
    if open(&mut mode).await.is_none() {
        return;
    }
    let upstreams = Arc::clone(&lock(&shared.upstreams));
    let Ok(server) = TcpStream::connect(&*upstreams).await else {
        return;
    };
    // Delays are for us to make.
    let _ = client.set_nodelay(true);
    let _ = server.set_nodelay(true);
    let (client_in, client_out) = client.into_split();
    let (server_in, server_out) = server.into_split();
    let silenced = AtomicBool::new(false);
    let there = ask(client_in, server_out, mode.clone(), &silenced, &shared.commits_unanswered);
    let back = answer(server_in, client_out, mode.clone(), &silenced, &shared.answers_dropped);
    tokio::select! {
        () = async { tokio::join!(there, back); } => {}
        () = ended(mode) => {}
        () = async {
            while !silenced.load(Ordering::SeqCst) {
                tokio::time::sleep(COMMITTED_WITHIN / 4).await;
            }
            tokio::time::sleep(COMMITTED_WITHIN).await;
        } => {}
    }
}

/// Waits until the connection is to be closed: cut, or mute no longer.
async fn ended(mut mode: watch::Receiver<Mode>) {
    // The sender gone counts as cut: the proxy has been dropped.
    let was = mode.wait_for(|mode| matches!(mode, Mode::Cut | Mode::Mute)).await.map(|mode| *mode);
    if was.is_ok_and(|mode| mode == Mode::Mute) {
        let _ = mode.wait_for(|mode| *mode != Mode::Mute).await;
    }
}

/// Carries what the client says.
async fn ask(
    mut from: OwnedReadHalf,
    mut to: OwnedWriteHalf,
    mut mode: watch::Receiver<Mode>,
    silenced: &AtomicBool,
    commits_unanswered: &AtomicU64,
) {
    let mut buffer = vec![0; 64 * 1024];
    while let Ok(length) = from.read(&mut buffer).await {
        let Some(delay) = open(&mut mode).await else {
            return;
        };
        tokio::time::sleep(delay).await;
        let now = *mode.borrow();
        if matches!(now, Mode::Mute | Mode::CutAtCommit)
            && buffer[..length].windows(COMMIT.len()).any(|part| part == COMMIT)
        {
            // Before it passes: the answer must not be quicker.
            silenced.store(now == Mode::CutAtCommit, Ordering::SeqCst);
            commits_unanswered.fetch_add(1, Ordering::Relaxed);
        }
        if length == 0 || to.write_all(&buffer[..length]).await.is_err() {
            break;
        }
    }
    // The end of one direction is passed on; the other may still have something to say.
    let _ = to.shutdown().await;
}

/// Carries what the server answers.
async fn answer(
    mut from: OwnedReadHalf,
    mut to: OwnedWriteHalf,
    mut mode: watch::Receiver<Mode>,
    silenced: &AtomicBool,
    dropped: &AtomicU64,
) {
    let mut buffer = vec![0; 64 * 1024];
    while let Ok(length) = from.read(&mut buffer).await {
        let Some(delay) = open(&mut mode).await else {
            return;
        };
        tokio::time::sleep(delay).await;
        let is_mute = silenced.load(Ordering::SeqCst) || *mode.borrow() == Mode::Mute;
        if is_mute && length > 0 {
            dropped.fetch_add(1, Ordering::Relaxed);
            continue;
        }
        if length == 0 || to.write_all(&buffer[..length]).await.is_err() {
            break;
        }
    }
    let _ = to.shutdown().await;
}

/// Waits until bytes may pass, and says after which delay; `None` when the connection is to be closed.
async fn open(mode: &mut watch::Receiver<Mode>) -> Option<Duration> {
    let now = *mode.wait_for(|mode| *mode != Mode::BlackHole).await.ok()?;
    match now {
        Mode::Pass | Mode::BlackHole | Mode::Mute | Mode::CutAtCommit => Some(Duration::ZERO),
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
    async fn mute_lets_the_server_hear_and_the_client_learn_nothing_and_ends_the_connection() {
        let (address, _ports) = echo().await;
        let proxy = Proxy::start(&address).await.unwrap();
        let mut stream = TcpStream::connect(("127.0.0.1", proxy.port())).await.unwrap();
        let mut byte = [0];
        stream.write_all(b"a").await.unwrap();
        stream.read_exact(&mut byte).await.unwrap();
        proxy.set(Mode::Mute);
        stream.write_all(b"Q\0\0\0\x0bCOMMIT\0").await.unwrap();
        assert!(timeout(Duration::from_millis(200), stream.read_exact(&mut byte)).await.is_err());
        assert_eq!(proxy.commits_unanswered(), 1);
        assert!(proxy.answers_dropped() > 0);
        proxy.set(Mode::Pass);
        assert!(!matches!(stream.read(&mut byte).await, Ok(length) if length > 0));
        let mut next = TcpStream::connect(("127.0.0.1", proxy.port())).await.unwrap();
        next.write_all(b"b").await.unwrap();
        next.read_exact(&mut byte).await.unwrap();
        assert_eq!(byte, *b"b");
    }

    #[tokio::test]
    async fn a_connection_that_is_cut_at_its_commit_passes_all_before_and_no_answer_behind() {
        let (address, _ports) = echo().await;
        let proxy = Proxy::start(&address).await.unwrap();
        proxy.set(Mode::CutAtCommit);
        let mut stream = TcpStream::connect(("127.0.0.1", proxy.port())).await.unwrap();
        let mut byte = [0];
        stream.write_all(b"a").await.unwrap();
        stream.read_exact(&mut byte).await.unwrap();
        stream.write_all(b"Q\0\0\0\x0bCOMMIT\0").await.unwrap();
        assert!(!matches!(stream.read(&mut byte).await, Ok(length) if length > 0));
        assert_eq!((proxy.commits_unanswered(), proxy.answers_dropped()), (1, 1));
    }

    #[tokio::test]
    async fn the_url_keeps_user_and_path() {
        let (address, _ports) = echo().await;
        let proxy = Proxy::start(&address).await.unwrap();
        let url = proxy.url("amqp://guest:guest@127.0.0.1:5672/%2f");
        assert_eq!(url, format!("amqp://guest:guest@127.0.0.1:{}/%2f", proxy.port()));
    }
}
