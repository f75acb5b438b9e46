//! The HTTP door of a process: `/healthz`, `/readyz`, `/metrics`, and what the service hangs in it.
//!
//! The server is built by hand because the convenient one has no time-out for slow headers.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use arc_swap::ArcSwapOption;
use axum::Router;
use axum::body::Body;
use axum::extract::State;
use axum::http::{Request, Response, StatusCode, header};
use axum::response::IntoResponse as _;
use axum::routing::get;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto;
use hyper_util::service::TowerToHyperService;
use pagurus_broker::Broker;
use pagurus_store::Store;
use serde_json::json;
use tokio::net::TcpListener;
use tokio::sync::Semaphore;

use crate::Metrics;

/// A client that has not sent its headers by then is disconnected.
const HEADER_TIMEOUT: Duration = Duration::from_secs(10);
/// Connections at a time; more wait in the kernel's queue.
const MAX_CONNECTIONS: usize = 4096;
/// How long an answer of the database to a probe may take.
const PROBE_TIMEOUT: Duration = Duration::from_secs(2);
/// For how long a probe's answer is taken for true.
const PROBE_CACHE: Duration = Duration::from_secs(1);

/// What the service itself says about its readiness.
#[derive(Clone, Debug, Default)]
pub struct Readiness {
    inner: Arc<Mutex<Inner>>,
}

#[derive(Debug, Default)]
struct Inner {
    ready: bool,
    /// What the service is at the moment, for people.
    saying: String,
    /// A failure that only a restart heals.
    failed: Option<String>,
}

impl Readiness {
    /// The service can do its work; `saying` is a word about it, like `standby`.
    pub fn ready(&self, saying: &str) {
        let mut inner = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
        inner.ready = true;
        saying.clone_into(&mut inner.saying);
    }

    /// The service cannot do its work yet, or any more.
    pub fn not_ready(&self, saying: &str) {
        let mut inner = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
        inner.ready = false;
        saying.clone_into(&mut inner.saying);
    }

    pub(crate) fn fail(&self, why: String) {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner).failed.get_or_insert(why);
    }

    pub(crate) fn failure(&self) -> Option<String> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner).failed.clone()
    }

    fn state(&self) -> (bool, String) {
        let inner = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
        (inner.ready, inner.saying.clone())
    }
}

/// The listening socket of the process.
#[derive(Clone)]
pub struct HttpDoor {
    address: SocketAddr,
    service: Arc<ArcSwapOption<Router>>,
}

#[derive(Clone)]
struct Probes {
    metrics: Metrics,
    readiness: Readiness,
    store: Store,
    broker: Broker,
    database: Arc<tokio::sync::Mutex<Option<Probed>>>,
}

/// When the database was asked last, and what came of it.
type Probed = (Instant, Result<(), String>);

impl HttpDoor {
    pub(crate) async fn open(
        listen: SocketAddr,
        metrics: &Metrics,
        readiness: &Readiness,
        store: &Store,
        broker: &Broker,
    ) -> std::io::Result<Self> {
        let listener = TcpListener::bind(listen).await?;
        let address = listener.local_addr()?;
        let service: Arc<ArcSwapOption<Router>> = Arc::default();
        let probes = Probes {
            metrics: metrics.clone(),
            readiness: readiness.clone(),
            store: store.clone(),
            broker: broker.clone(),
            database: Arc::default(),
        };
        let hung = service.clone();
        let router = Router::new()
            .route("/healthz", get(healthz))
            .route("/readyz", get(readyz))
            .route("/metrics", get(metrics_page))
            .with_state(probes)
            .fallback(move |request: Request<Body>| {
                let service = hung.load_full();
                async move {
                    match service {
                        Some(router) => call(&router, request).await,
                        None => StatusCode::NOT_FOUND.into_response(),
                    }
                }
            });
        tokio::spawn(accept(listener, router));
        Ok(Self { address, service })
    }

    /// Where it listens.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Hangs the API of the service into the door.
    pub fn hang(&self, router: Router) {
        self.service.store(Some(Arc::new(router)));
    }

    /// Takes the API away: the probes stay.
    pub fn unhang(&self) {
        self.service.store(None);
    }
}

async fn call(router: &Router, request: Request<Body>) -> Response<Body> {
    let mut router = router.clone();
    // A router has no error of its own: every path ends in an answer.
    match tower_call(&mut router, request).await {
        Ok(response) => response,
        Err(never) => match never {},
    }
}

fn tower_call(
    router: &mut Router,
    request: Request<Body>,
) -> impl Future<Output = Result<Response<Body>, std::convert::Infallible>> + use<> {
    tower_service::Service::call(router, request)
}

async fn accept(listener: TcpListener, router: Router) {
    let room = Arc::new(Semaphore::new(MAX_CONNECTIONS));
    loop {
        let Ok(permit) = room.clone().acquire_owned().await else { return };
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
        let router = router.clone();
        tokio::spawn(async move {
            let mut server = auto::Builder::new(TokioExecutor::new());
            server
                .http1()
                .timer(TokioTimer::new())
                .header_read_timeout(HEADER_TIMEOUT)
                .max_buf_size(64 * 1024);
            // An error is the client's going away or its nonsense; both end the connection.
            let _ = server.serve_connection(TokioIo::new(stream), TowerToHyperService::new(router)).await;
            drop(permit);
        });
    }
}

async fn healthz(State(probes): State<Probes>) -> Response<Body> {
    match probes.readiness.failure() {
        None => (StatusCode::OK, "ok\n").into_response(),
        Some(why) => (StatusCode::SERVICE_UNAVAILABLE, why).into_response(),
    }
}

async fn readyz(State(probes): State<Probes>) -> Response<Body> {
    let (ready, saying) = probes.readiness.state();
    let database = probes.database().await;
    let broker = probes.broker.state();
    let told = |state: &Result<(), String>| state.as_ref().map_or_else(Clone::clone, |()| "up".to_owned());
    let good = ready && database.is_ok() && broker.is_up();
    let body = json!({
        "ready": good,
        "service": saying,
        "database": told(&database),
        "broker": {"publish": broker.publish.to_string(), "consume": broker.consume.to_string()},
    });
    let status = if good { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE };
    (status, axum::Json(body)).into_response()
}

async fn metrics_page(State(probes): State<Probes>) -> Response<Body> {
    let kind = "application/openmetrics-text; version=1.0.0; charset=utf-8";
    ([(header::CONTENT_TYPE, kind)], probes.metrics.page()).into_response()
}

impl Probes {
    async fn database(&self) -> Result<(), String> {
        let mut cached = self.database.lock().await;
        if let Some((at, state)) = &*cached
            && at.elapsed() < PROBE_CACHE
        {
            return state.clone();
        }
        let store = self.store.clone();
        // A task of its own: it goes on to its end when we stop waiting, so that no connection is
        // given back with an answer still to come.
        let asked = tokio::spawn(async move { store.ping().await });
        let state = match tokio::time::timeout(PROBE_TIMEOUT, asked).await {
            Ok(Ok(Ok(()))) => Ok(()),
            Ok(Ok(Err(error))) => Err(format!("down: {error}")),
            Ok(Err(panic)) => Err(format!("down: {panic}")),
            Err(_) => Err(format!("no answer within {PROBE_TIMEOUT:?}")),
        };
        *cached = Some((Instant::now(), state.clone()));
        state
    }
}
