//! Connections of the HTTP server: how long a client may take, and who answers where no place is free. Knows
//! nothing of what is asked.
//!
//! While every place is at work, a small reserve still answers probes, so that a supervisor does not take a
//! busy process for a dead one.
//!
//! The server is built by hand, because the convenient one has no limit of time. It speaks HTTP/1.1
//! only: the one that finds out by itself waits for the first bytes without a limit.

use std::convert::Infallible;
use std::future::Future;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::http::{HeaderValue, Request, Response, header};
use hyper::body::{Body as _, Incoming};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use pagurus_tls::{ReloadingTls, ServerTls};
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio_util::either::Either;

use super::answer_time::{AnswerPace, AnswerTime};
use super::bodies::{Leaving, RequestBody};
use super::client::Peer;
use super::places::{ConnectionAdmission, ConnectionPlace, ConnectionPlaces, PlaceShortage, ROOM_WITHIN};
use super::secured::{at_first, begins_with_tls, secured};

/// Open files that are left to everything but clients: servers, logs, secrets.
const OTHER_FILES: usize = 128;
/// Bytes that the system keeps of an answer that its client does not take, about twice over. Left to itself it would keep
/// megabytes, and would tell of a slow reader only once in a while.
const SEND_BYTES: u32 = 64 * 1024;
/// Connections that may wait to be accepted.
const BACKLOG: u32 = 1024;

/// Longest time for a client to take next to nothing of its answer.
const ANSWER_TIME: Duration = Duration::from_secs(30);
/// Bytes that are more than next to nothing: a KiB a second.
const ANSWER_BYTES: usize = 30 * 1024;

/// Bounds of the number of connections, and of the time that each may take.
#[derive(Clone, Copy, Debug)]
pub(super) struct ConnectionLimits {
    /// Connections at a time.
    pub connections: usize,
    /// Connections of one client at a time.
    pub share: usize,
    /// Connections beyond them, for probes.
    pub reserve: usize,
    /// Until a client has sent its first headers.
    pub header: Duration,
    /// Until it has sent its next ones, counted from the answer before. Longer than clients and balancers keep a connection
    /// that nothing goes through: the side that closes first must not be the one that is asked.
    pub idle: Duration,
    /// Until a client has sent its headers on a connection of the reserve.
    pub reserve_header: Duration,
    /// Longest time for a client to take nothing, or next to nothing, of its answer; and longest time to take
    /// all of it where others want its place.
    pub answer: Duration,
    /// Bytes that a client that does not take its answer at once has to take within that time.
    pub answer_bytes: usize,
    /// A connection of the reserve as a whole.
    pub reserve_life: Duration,
}

impl ConnectionLimits {
    /// The bounds for this number of connections, or as many as the system lets the process open, of which one client may have such a part.
    pub(super) fn new(connections: usize, share_percentage: usize) -> Self {
        let possible = open_files().map_or(usize::MAX, |most| most.saturating_sub(OTHER_FILES).max(16));
        if possible < connections {
            tracing::warn!(
                wanted = connections,
                possible,
                "the limit of open files (`ulimit -n`) is lower than `node.max_connections`"
            );
        }
        let connections = connections.min(possible);
        Self {
            connections,
            share: (connections * share_percentage / 100).max(1),
            reserve: 64,
            header: Duration::from_secs(10),
            idle: Duration::from_secs(75),
            reserve_header: Duration::from_secs(1),
            answer: ANSWER_TIME,
            answer_bytes: ANSWER_BYTES,
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

/// A socket that listens there.
pub(super) fn listen(address: SocketAddr) -> std::io::Result<TcpListener> {
    let socket = if address.is_ipv4() { TcpSocket::new_v4() } else { TcpSocket::new_v6() }?;
    socket.set_reuseaddr(true)?;
    // Connections inherit it.
    socket.set_send_buffer_size(SEND_BYTES)?;
    socket.bind(address)?;
    socket.listen(BACKLOG)
}

/// Takes connections for ever. Those of the reserve are answered by `only_probes`, which finds a [`PlaceShortage`] in its
/// requests.
pub(super) async fn serve(
    listener: TcpListener,
    limits: ConnectionLimits,
    tls: Option<Arc<ReloadingTls<ServerTls>>>,
    all: Router,
    only_probes: Router,
) {
    let main = ConnectionPlaces::new(limits.connections, limits.share, limits.answer);
    let reserve = Arc::new(ConnectionPlaces::new(limits.reserve, limits.reserve, limits.answer));
    loop {
        let (stream, peer) = match listener.accept().await {
            Ok(accepted) => accepted,
            Err(error) => {
                // Out of file descriptors, most likely: nothing to do but wait for some.
                tracing::warn!(%error, "a connection could not be accepted");
                tokio::time::sleep(Duration::from_millis(100)).await;
                continue;
            }
        };
        // Small answers must not wait for more bytes.
        let _ = stream.set_nodelay(true);
        let peer = Peer(peer);
        let asked = main.ask(peer.client());
        let (all, only_probes, reserve) = (all.clone(), only_probes.clone(), reserve.clone());
        let client = ConnectedClient { stream, peer, tls: tls.clone() };
        // Nobody waits for the place of somebody else.
        tokio::spawn(async move {
            let full = match asked {
                ConnectionAdmission::Here(place) => {
                    return talk(client, all, place, limits, None).await;
                }
                ConnectionAdmission::Soon(soon) => match soon.wait().await {
                    Some(place) => return talk(client, all, place, limits, None).await,
                    None => PlaceShortage::Node,
                },
                ConnectionAdmission::No(full) => full,
            };
            let place = match reserve.ask(peer.client()) {
                ConnectionAdmission::Here(place) => Some(place),
                ConnectionAdmission::Soon(soon) => soon.wait().await,
                ConnectionAdmission::No(_) => None,
            };
            // Else it is closed: even the reserve is at work.
            if let Some(place) = place {
                let talk = talk(client, only_probes, place, limits, Some(full));
                let _ = tokio::time::timeout(limits.reserve_life, talk).await;
            }
        });
    }
}

/// The connection of a request, for a handler that waits for something to happen.
#[derive(Clone)]
pub struct Connection(Arc<ConnectionPlace>);

impl Connection {
    /// Waits, and makes room for other connections meanwhile: none where that was needed, and the request is to be
    /// answered with what is known.
    pub async fn wait<T>(&self, something: impl Future<Output = T>) -> Option<T> {
        let _waits = self.0.waits();
        tokio::select! {
            happened = something => Some(happened),
            () = self.0.closed.cancelled() => None,
        }
    }
}

/// A client that has connected.
struct ConnectedClient {
    stream: TcpStream,
    peer: Peer,
    tls: Option<Arc<ReloadingTls<ServerTls>>>,
}

/// Answers on a connection of the main places, or for want of one on one of the reserve.
async fn talk(
    ConnectedClient { mut stream, peer, tls }: ConnectedClient,
    router: Router,
    place: ConnectionPlace,
    limits: ConnectionLimits,
    reserve: Option<PlaceShortage>,
) {
    let place = Arc::new(place);
    let service = service_fn(async |request: Request<Incoming>| {
        let is_whole = request.body().is_end_stream();
        place.ask(!is_whole);
        let coming = |body| if is_whole { Body::new(body) } else { RequestBody::body(body, &place) };
        let mut request = request.map(coming);
        request.extensions_mut().insert(peer);
        request.extensions_mut().insert(Connection(place.clone()));
        if let Some(full) = reserve {
            request.extensions_mut().insert(full);
        }
        let mut router = router.clone();
        let answer: Result<Response<Body>, Infallible> =
            tower_service::Service::call(&mut router, request).await;
        let was_read = place.answer();
        answer.map(|mut answer| {
            // The rest of the request lies where the next one would. A proxy that sends many people's requests on one
            // connection has to know that this is the last.
            if !was_read {
                answer.headers_mut().insert(header::CONNECTION, HeaderValue::from_static("close"));
            }
            answer.map(|body| Leaving { body, place: place.clone() })
        })
    });
    let mut server = http1::Builder::new();
    let once = reserve.is_some();
    server
        .timer(TokioTimer::new())
        .header_read_timeout(if once { limits.reserve_header } else { limits.idle })
        .keep_alive(!once)
        .max_buf_size(64 * 1024);
    let pace = AnswerPace { within: limits.answer, bytes: limits.answer_bytes };
    if tls.is_some() && at_first(&place, limits.header, begins_with_tls(&mut stream)).await != Some(true) {
        return;
    }
    let stream = AnswerTime::new(stream, pace, || place.written());
    let stream = match tls {
        None => Either::Left(stream),
        Some(tls) => match at_first(&place, limits.header, secured(&tls, stream)).await.flatten() {
            Some(stream) => Either::Right(Box::new(stream)),
            None => return,
        },
    };
    let connection = server.serve_connection(TokioIo::new(stream), service);
    tokio::pin!(connection);
    tokio::select! {
        // A server that closes says so in its last answer.
        biased;
        () = place.closed.cancelled() => connection.as_mut().graceful_shutdown(),
        // An error is the client's going away or its nonsense; both end the connection.
        _ = connection.as_mut() => return,
        () = place.asks_nothing(limits.header) => return,
    }
    // A request whose headers have come is answered, if only with a refusal; one that has not come so far is not waited
    // for. Where all of it came after all, it may be half done, and its client has to know.
    if place.owes_an_answer() {
        let refused = tokio::time::timeout(ROOM_WITHIN, connection.as_mut()).await;
        if refused.is_err() && place.is_at_work() {
            let _ = connection.await;
        }
    }
}

#[cfg(test)]
mod tests;
