//! The limits of each client (`intake.limits`): requests a second, bytes of bodies a second, and requests in progress, announced
//! in the header fields of draft-ietf-httpapi-ratelimit-headers-10. A client beyond a limit is refused before its body is read.
//!
//! Callbacks are free: a called system that answers cannot slow down, and many send their answer once. Probes and metrics
//! belong to the server, and never come here.

use std::ops::RangeInclusive;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use axum::body::{Body, Bytes, HttpBody};
use axum::extract::{Request, State};
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderName, HeaderValue, Response, header};
use axum::middleware::Next;
use hyper::body::{Frame, SizeHint};
use pagurus_access::Credential;
use pagurus_domain::number::saturated;
use pagurus_domain::quota::{QuotaExceeded, QuotaLeft, QuotaLimits, QuotaMeasure, QuotaRate, Quotas};
use pagurus_runtime::metrics::Count;
use pagurus_runtime::{ClientAddress, Connection, Peer, answer_of};
use pagurus_wire::problem::{Problem, Type};

use super::identity::credential_of;
use crate::Intake;

/// Clients that are remembered at most: more than connections by default, in some ten megabytes.
const REMEMBERED: usize = 1 << 16;

/// Shortest and longest time after which a refusal is answered, drawn at random. A client that sends again at once, as many do in a
/// loop, has as many requests refused as it has connections in this time, instead of as many as the machine can refuse. Connections
/// that were refused together come back one by one: together they would take in one burst what has become free meanwhile, and all
/// other clients would wait behind it.
const REFUSED_AFTER: RangeInclusive<Duration> = Duration::from_millis(100)..=Duration::from_millis(300);

const POLICY: HeaderName = HeaderName::from_static("ratelimit-policy");
const LEFT: HeaderName = HeaderName::from_static("ratelimit");

/// A client, to whom requests are counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum ClientKey {
    /// The holder of a token or a session, from wherever.
    Holder(Credential),
    /// The client at this address.
    Address(ClientAddress),
    /// All whose connection is not known.
    Unknown,
}

/// The client of a request. Who is known is one client at all addresses, and many behind one gateway are as many clients. A
/// secret that nobody has asked about lately counts for its address: strangers make up as many as they like.
fn client_of(parts: &Parts, is_known: impl Fn(&Credential) -> bool) -> ClientKey {
    if let Some(credential) = credential_of(&parts.headers).filter(is_known) {
        return ClientKey::Holder(credential);
    }
    parts.extensions.get::<Peer>().map_or(ClientKey::Unknown, |peer| ClientKey::Address(peer.client()))
}

/// Lets a request through, if its client is within its limits.
pub(super) async fn limit(State(intake): State<Intake>, request: Request, next: Next) -> Response<Body> {
    let limits = intake.host.settings().intake.limits;
    if limits.is_unlimited() || is_free(request.uri().path()) {
        return next.run(request).await;
    }
    let connection = request.extensions().get::<Connection>().cloned();
    let (request, turn) =
        match intake.quotas.begin(request, limits, |credential| intake.access.is_known(credential)) {
            Ok(begun) => begun,
            Err(refusal) => {
                intake.host.metrics.count(Count::ClientsLimited, refusal.exceeded.measure.as_str(), 1);
                let pause = tokio::time::sleep(rand::random_range(REFUSED_AFTER));
                match connection {
                    // The connection makes room meanwhile, as one that rests.
                    Some(connection) => drop(connection.wait(pause).await),
                    None => pause.await,
                }
                return refusal.answer(&limits);
            }
        };
    turn.held_by(next.run(request).await)
}

/// True for what comes from called systems and actors: answers, and signs that they are at work.
fn is_free(path: &str) -> bool {
    path.starts_with("/v1/callbacks/")
}

/// Account of what clients have used of their limits.
pub(crate) struct ClientQuotas {
    used: Arc<Mutex<Quotas<ClientKey>>>,
    begun: Instant,
}

impl Default for ClientQuotas {
    fn default() -> Self {
        Self { used: Arc::new(Mutex::new(Quotas::of_at_most(REMEMBERED))), begun: Instant::now() }
    }
}

impl ClientQuotas {
    /// Takes a request of a client, and gives it back with its use of the limits.
    fn begin(
        &self,
        request: Request,
        limits: QuotaLimits,
        is_known: impl Fn(&Credential) -> bool,
    ) -> Result<(Request, ClientTurn), QuotaRefusal> {
        let (parts, body) = request.into_parts();
        let announced = body.size_hint().exact();
        let turn = QuotaView {
            used: self.used.clone(),
            begun: self.begun,
            client: client_of(&parts, is_known),
            limits,
        };
        let taken = turn.used().begin(turn.client, announced.unwrap_or(0), &limits, turn.now());
        if let Err(exceeded) = taken {
            return Err(QuotaRefusal { exceeded, left: turn.left() });
        }
        let body = match announced {
            Some(_) => body,
            None => Body::new(CountedBody { body, of: turn.clone() }),
        };
        Ok((Request::from_parts(parts, body), ClientTurn(turn)))
    }
}

/// The use that one request makes of the limits of its client.
#[derive(Clone)]
struct QuotaView {
    used: Arc<Mutex<Quotas<ClientKey>>>,
    begun: Instant,
    client: ClientKey,
    limits: QuotaLimits,
}

impl QuotaView {
    fn used(&self) -> MutexGuard<'_, Quotas<ClientKey>> {
        self.used.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn now(&self) -> Duration {
        self.begun.elapsed()
    }

    fn left(&self) -> Vec<QuotaLeft> {
        self.used().left(&self.client, &self.limits, self.now())
    }
}

/// A request in progress. Its end is noted however it comes, also by a client that has gone.
struct ClientTurn(QuotaView);

impl ClientTurn {
    /// Announces what is left, and goes on until the answer has been taken.
    fn held_by(self, mut response: Response<Body>) -> Response<Body> {
        announce(response.headers_mut(), &self.0.limits, &self.0.left());
        if response.body().is_end_stream() {
            return response;
        }
        response.map(|body| Body::new(TurnBody { body, _turn: self }))
    }
}

impl Drop for ClientTurn {
    fn drop(&mut self) {
        let client = self.0.client;
        self.0.used().end(&client);
    }
}

/// A request that is refused.
struct QuotaRefusal {
    exceeded: QuotaExceeded,
    left: Vec<QuotaLeft>,
}

impl QuotaRefusal {
    fn answer(&self, limits: &QuotaLimits) -> Response<Body> {
        let detail = match self.exceeded.measure {
            QuotaMeasure::Requests => {
                "this client has reached its limit of requests (`intake.limits.requests_per_second`)"
            }
            QuotaMeasure::Bytes => {
                "this client has reached its limit of bytes (`intake.limits.bytes_per_second`)"
            }
            QuotaMeasure::Open => {
                "this client has reached its limit of requests in progress (`intake.limits.open_requests`)"
            }
        };
        let mut answer = answer_of(&Problem::new(Type::Busy, detail));
        announce(answer.headers_mut(), limits, &self.left);
        let wait = seconds(self.exceeded.retry_after.unwrap_or_default()).max(1);
        answer.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from(wait));
        answer
    }
}

/// Whole seconds, and no less.
fn seconds(time: Duration) -> u64 {
    time.as_secs() + u64::from(time.subsec_nanos() > 0)
}

/// Adds the limits, and what is left of them.
fn announce(fields: &mut HeaderMap, limits: &QuotaLimits, left: &[QuotaLeft]) {
    let left: Vec<String> = left
        .iter()
        .map(|QuotaLeft { measure, units, full_after }| {
            let after = full_after.map_or_else(String::new, |after| format!(";t={}", seconds(after)));
            format!("\"{}\";r={units}{after}", measure.as_str())
        })
        .collect();
    for (name, text) in [(POLICY, policies(limits)), (LEFT, left.join(", "))] {
        fields.extend(HeaderValue::try_from(text).ok().map(|value| (name, value)));
    }
}

/// The policies in the words of the draft: the burst is the quota, and the window is the time in which it comes again.
fn policies(limits: &QuotaLimits) -> String {
    let rate = |measure: QuotaMeasure, rate: QuotaRate, unit: &str| {
        let window = rate.burst.get().div_ceil(rate.per_second.get());
        format!("\"{}\";q={};w={window}{unit}", measure.as_str(), rate.burst)
    };
    let requests = limits.requests.map(|of| rate(QuotaMeasure::Requests, of, ""));
    let bytes = limits.bytes.map(|of| rate(QuotaMeasure::Bytes, of, ";qu=\"content-bytes\""));
    let open = limits
        .open
        .map(|most| format!("\"{}\";q={most};qu=\"concurrent-requests\"", QuotaMeasure::Open.as_str()));
    requests.into_iter().chain(bytes).chain(open).collect::<Vec<_>>().join(", ")
}

/// The body of a request whose length is not known before it has come.
struct CountedBody {
    body: Body,
    of: QuotaView,
}

impl HttpBody for CountedBody {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        let this = self.get_mut();
        let frame = Pin::new(&mut this.body).poll_frame(context);
        if let Poll::Ready(Some(Ok(frame))) = &frame
            && let Some(data) = frame.data_ref()
        {
            let QuotaView { client, limits, .. } = &this.of;
            this.of.used().read(client, saturated(data.len()), limits, this.of.now());
        }
        frame
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

/// The body of an answer, until whose end its request is in progress.
struct TurnBody {
    body: Body,
    _turn: ClientTurn,
}

impl HttpBody for TurnBody {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        Pin::new(&mut self.get_mut().body).poll_frame(context)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

#[cfg(test)]
mod tests;
