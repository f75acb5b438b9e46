//! The connections of the door: how many there may be, who makes room when there are too many, and how
//! long a client may take. Knows nothing of what is asked.
//!
//! Clients cannot shut the door. Where all places are taken, the connection that has asked nothing for the
//! longest time is closed for a new one. Where every place is at work, a small reserve still answers
//! probes, so that a supervisor does not take a busy process for a dead one.
//!
//! The server is built by hand, because the convenient one has no limit of time. It speaks HTTP/1.1
//! only: the one that finds out by itself waits for the first bytes without a limit.
//!
//! There is no bound for one address: all clients behind a proxy have the same.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::http::{Request, Response};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio_util::sync::CancellationToken;

use super::answer_time::AnswerTime;

/// Open files that are left to everything but clients: servers, logs, secrets.
const OTHER_FILES: usize = 128;
/// How long a closed connection may take to go, before a new one is sent to the reserve.
const ROOM_WITHIN: Duration = Duration::from_millis(200);

/// How many connections there may be, and how long each may take.
#[derive(Clone, Copy, Debug)]
pub(super) struct Limits {
    /// Connections at a time.
    pub connections: usize,
    /// Connections beyond them, for probes.
    pub reserve: usize,
    /// Until a client has sent its headers, counted from the connection or from the answer before.
    pub header: Duration,
    /// The same for a connection of the reserve.
    pub reserve_header: Duration,
    /// Until a client has taken what was written.
    pub answer: Duration,
    /// A connection of the reserve as a whole.
    pub reserve_life: Duration,
}

impl Limits {
    /// So many connections, or as many as the system lets the process open.
    pub(super) fn new(connections: usize) -> Self {
        let possible = open_files().map_or(usize::MAX, |most| most.saturating_sub(OTHER_FILES).max(16));
        if possible < connections {
            tracing::warn!(
                wanted = connections,
                possible,
                "the limit of open files (`ulimit -n`) is lower than `node.max_connections`"
            );
        }
        Self {
            connections: connections.min(possible),
            reserve: 64,
            header: Duration::from_secs(10),
            reserve_header: Duration::from_secs(1),
            answer: Duration::from_secs(30),
            reserve_life: Duration::from_secs(5),
        }
    }
}

/// The soft limit of open files, where the system tells it.
fn open_files() -> Option<usize> {
    let limits = std::fs::read_to_string("/proc/self/limits").ok()?;
    let line = limits.lines().find_map(|line| line.strip_prefix("Max open files"))?;
    line.split_whitespace().next()?.parse().ok()
}

/// Takes connections for ever.
pub(super) async fn serve(listener: TcpListener, limits: Limits, all: Router, only_probes: Router) {
    let (main, reserve) = (Places::new(limits.connections), Places::new(limits.reserve));
    loop {
        let stream = match listener.accept().await {
            Ok((stream, _)) => stream,
            Err(error) => {
                // Out of file descriptors, most likely: nothing to do but wait for some.
                tracing::warn!(%error, "a connection could not be accepted");
                tokio::time::sleep(Duration::from_millis(100)).await;
                continue;
            }
        };
        // Small answers must not wait for more bytes.
        let _ = stream.set_nodelay(true);
        if let Some(place) = main.take().await {
            tokio::spawn(talk(stream, all.clone(), place, limits, false));
        } else if let Some(place) = reserve.take().await {
            let talk = talk(stream, only_probes.clone(), place, limits, true);
            tokio::spawn(tokio::time::timeout(limits.reserve_life, talk));
        }
        // Else it is closed: even the reserve is at work.
    }
}

/// Address of whoever sends a request, as its connection has it.
#[derive(Clone, Copy, Debug)]
pub struct Peer(pub SocketAddr);

async fn talk(stream: TcpStream, router: Router, place: Place, limits: Limits, once: bool) {
    let place = &place;
    let peer = stream.peer_addr().ok().map(Peer);
    let service = service_fn(async |mut request: Request<Incoming>| {
        if let Some(peer) = peer {
            request.extensions_mut().insert(peer);
        }
        place.work();
        let mut router = router.clone();
        let answer: Result<Response<Body>, Infallible> =
            tower_service::Service::call(&mut router, request).await;
        place.rest();
        answer
    });
    let mut server = http1::Builder::new();
    server
        .timer(TokioTimer::new())
        .header_read_timeout(if once { limits.reserve_header } else { limits.header })
        .keep_alive(!once)
        .max_buf_size(64 * 1024);
    let connection = server.serve_connection(TokioIo::new(AnswerTime::new(stream, limits.answer)), service);
    tokio::pin!(connection);
    tokio::select! {
        // An error is the client's going away or its nonsense; both end the connection.
        _ = connection.as_mut() => return,
        () = place.closed.cancelled() => connection.as_mut().graceful_shutdown(),
    }
    // A request that began at the same moment is answered. One that has not come whole is not waited for.
    if place.is_at_work() {
        let _ = tokio::time::timeout(limits.answer, connection).await;
    }
}

/// The places for connections, and who of those that have one asks nothing.
struct Places {
    free: Arc<Semaphore>,
    resting: Arc<Mutex<Resting>>,
}

/// The connections that ask nothing, that which has done so for the longest time first.
#[derive(Default)]
struct Resting {
    last: u64,
    by_turn: BTreeMap<u64, CancellationToken>,
}

/// The place of one connection.
struct Place {
    resting: Arc<Mutex<Resting>>,
    /// Its turn among those that rest; 0 while it is at work.
    turn: AtomicU64,
    /// Set when the connection has to make room.
    closed: CancellationToken,
    _taken: OwnedSemaphorePermit,
}

impl Places {
    fn new(most: usize) -> Self {
        Self { free: Arc::new(Semaphore::new(most)), resting: Arc::default() }
    }

    /// A place, if need be that of the connection that rests for the longest time. None where all are at
    /// work.
    async fn take(&self) -> Option<Place> {
        let taken = match self.free.clone().try_acquire_owned() {
            Ok(taken) => taken,
            Err(_) => {
                let (_, closed) = lock(&self.resting).by_turn.pop_first()?;
                closed.cancel();
                tokio::time::timeout(ROOM_WITHIN, self.free.clone().acquire_owned()).await.ok()?.ok()?
            }
        };
        let place = Place {
            resting: self.resting.clone(),
            turn: AtomicU64::new(0),
            closed: CancellationToken::new(),
            _taken: taken,
        };
        place.rest();
        Some(place)
    }
}

impl Place {
    fn rest(&self) {
        let mut resting = lock(&self.resting);
        resting.last += 1;
        let turn = resting.last;
        resting.by_turn.insert(turn, self.closed.clone());
        self.turn.store(turn, Ordering::Relaxed);
    }

    fn work(&self) {
        let turn = self.turn.swap(0, Ordering::Relaxed);
        lock(&self.resting).by_turn.remove(&turn);
    }

    fn is_at_work(&self) -> bool {
        self.turn.load(Ordering::Relaxed) == 0
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.work();
    }
}

fn lock(resting: &Mutex<Resting>) -> std::sync::MutexGuard<'_, Resting> {
    resting.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test may stop at the first surprise")]
mod tests {
    use std::net::SocketAddr;
    use std::time::Instant;

    use axum::routing::get;
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    use tokio::sync::Notify;

    use super::*;

    const LIMITS: Limits = Limits {
        connections: 4,
        reserve: 2,
        header: Duration::from_secs(60),
        reserve_header: Duration::from_secs(60),
        answer: Duration::from_secs(60),
        reserve_life: Duration::from_secs(60),
    };
    /// Far more than anything here takes.
    const PATIENCE: Duration = Duration::from_secs(20);

    /// A door whose path `/hold` answers when it is let go, and `/long` at great length.
    async fn door(limits: Limits) -> (SocketAddr, Arc<Notify>) {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let go = Arc::new(Notify::new());
        let held = go.clone();
        let all = Router::new()
            .route("/healthz", get(async || "all"))
            .route("/long", get(async || "x".repeat(32 * 1024 * 1024)))
            .route("/hold", get(async move || held.notified().await));
        let only_probes = Router::new().route("/healthz", get(async || "reserve"));
        tokio::spawn(serve(listener, limits, all, only_probes));
        (address, go)
    }

    async fn send(address: SocketAddr, text: &str) -> TcpStream {
        let mut stream = TcpStream::connect(address).await.unwrap();
        stream.write_all(text.as_bytes()).await.unwrap();
        stream
    }

    async fn ask(address: SocketAddr, path: &str) -> TcpStream {
        send(address, &format!("GET {path} HTTP/1.1\r\nhost: a\r\n\r\n")).await
    }

    /// What comes until there is something, or until the other side has closed.
    async fn first(stream: &mut TcpStream) -> String {
        let mut buffer = [0; 4096];
        let read = tokio::time::timeout(PATIENCE, stream.read(&mut buffer)).await.unwrap();
        String::from_utf8_lossy(&buffer[..read.unwrap_or(0)]).into_owned()
    }

    #[tokio::test]
    async fn qlt_8_whoever_sends_nothing_or_half_of_its_headers_is_closed_in_time() {
        let (address, _) = door(Limits { header: Duration::from_millis(100), ..LIMITS }).await;
        for text in ["", "GE", "GET /healthz HTTP/1.1\r\nhost: a\r\n"] {
            assert_eq!(first(&mut send(address, text).await).await, "", "{text:?}");
        }
        assert!(first(&mut ask(address, "/healthz").await).await.ends_with("all"));
    }

    #[tokio::test]
    async fn qlt_8_whoever_does_not_read_its_answer_is_closed_in_time() {
        let (address, _) = door(Limits { answer: Duration::from_millis(200), ..LIMITS }).await;
        let mut stream = ask(address, "/long").await;
        // What the kernels keep is less than the answer: its end never comes.
        let begun = Instant::now();
        loop {
            let peeked = stream.peek(&mut [0; 1]).await;
            let closed = stream.write_all(b"\r\n").await.is_err();
            if peeked.is_err() || closed {
                break;
            }
            assert!(begun.elapsed() < PATIENCE, "it is still open");
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        let mut rest = Vec::new();
        let _ = stream.read_to_end(&mut rest).await;
        assert!(rest.len() < 32 * 1024 * 1024, "all of it came");
    }

    #[tokio::test]
    async fn qlt_8_silent_connections_make_room_the_longest_silent_first() {
        let (address, _) = door(LIMITS).await;
        let mut silent = Vec::new();
        for text in ["", "", "GET", "", "", "", "", ""] {
            silent.push(send(address, text).await);
        }
        for _ in 0..3 {
            assert!(first(&mut ask(address, "/healthz").await).await.ends_with("all"));
        }
        assert_eq!(first(&mut silent[0]).await, "");
    }

    #[tokio::test]
    async fn qlt_8_where_every_place_is_at_work_probes_are_answered_all_the_same() {
        let (address, go) = door(LIMITS).await;
        let mut held = Vec::new();
        for _ in 0..4 {
            held.push(ask(address, "/hold").await);
        }
        // Each has been taken when the reserve answers.
        loop {
            if first(&mut ask(address, "/healthz").await).await.ends_with("reserve") {
                break;
            }
        }
        // Silent ones cannot shut the reserve either.
        let _silent = [send(address, "").await, send(address, "").await, send(address, "").await];
        let answer = first(&mut ask(address, "/healthz").await).await;
        assert!(answer.ends_with("reserve") && answer.contains("connection: close"), "{answer}");
        assert!(first(&mut ask(address, "/hold").await).await.starts_with("HTTP/1.1 404"));
        go.notify_waiters();
        for stream in &mut held {
            assert!(first(stream).await.starts_with("HTTP/1.1 200"), "what was at work was answered");
        }
        loop {
            if first(&mut ask(address, "/healthz").await).await.ends_with("all") {
                break;
            }
        }
    }
}
