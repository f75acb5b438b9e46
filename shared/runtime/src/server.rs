//! HTTP server of a process: the probes always, and the API while the service has mounted it. Knows no
//! path of an API.

mod answer_time;
mod bodies;
mod client;
mod connections;
mod places;
mod request_id;
mod secured;

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use arc_swap::ArcSwapOption;
use axum::body::Body;
use axum::http::{HeaderValue, Request, Response, StatusCode, Version, header};
use axum::middleware::{Next, from_fn, map_response};
use axum::response::IntoResponse as _;
use axum::{Extension, Router};
use pagurus_domain::id::{IntakeTransport, Role};
use pagurus_domain::json::json_text;
use pagurus_tls::ReloadingTls;
use pagurus_wire::problem::{Problem, Type};
use tokio_util::task::TaskTracker;

pub use self::bodies::MakesRoom;
pub use self::client::{ClientAddress, Peer};
pub use self::connections::Connection;
use self::connections::ConnectionLimits;
use self::places::PlaceShortage;
use self::request_id::with_request_id;
pub use self::request_id::{REQUEST_ID, present_request};
use crate::config::Settings;
use crate::health::Probes;

/// Address by which a request came in. Answers of called systems may come from anywhere; what people do may not.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Entrance {
    /// `node.listen`, for the whole API.
    #[default]
    All,
    /// `intake.listen_clients`, for senders of orders.
    Clients,
    /// `intake.listen_systems`, for answers.
    Systems,
}

/// The listening socket of the process.
#[derive(Clone)]
pub struct HttpServer {
    address: SocketAddr,
    api: Arc<ArcSwapOption<Api>>,
}

/// Routes that a service has hung in.
struct Api {
    router: Router,
    /// The requests that it is at.
    requests: TaskTracker,
}

impl HttpServer {
    /// Listens where it is to, within the bounds of the settings.
    pub(crate) async fn open(
        listen: SocketAddr,
        settings: &Settings,
        probes: Probes,
    ) -> std::io::Result<Self> {
        let limits =
            ConnectionLimits::new(settings.node.max_connections, settings.intake.client_share_percentage);
        let listener = connections::listen(listen)?;
        let address = listener.local_addr()?;
        let api: Arc<ArcSwapOption<Api>> = Arc::default();
        let (role, transport, hung) = (probes.role, settings.intake.transport, api.clone());
        let of_probes = || {
            let router = probes.clone().router();
            router.method_not_allowed_fallback(async || answer_of(&Problem::method_not_allowed()))
        };
        let all = of_probes().fallback(move |request: Request<Body>| {
            let api = hung.load_full();
            async move {
                match api {
                    Some(api) => api.answer(request).await,
                    None => without_api(role, transport),
                }
            }
        });
        let only_probes = of_probes()
            .fallback(async |Extension(full): Extension<PlaceShortage>| answer_of(&without_place(full)));
        let common = |router: Router| {
            router.layer(from_fn(to_one_host)).layer(map_response(harden)).layer(from_fn(with_request_id))
        };
        let (all, only_probes) = (common(all), common(only_probes));
        let tls = settings.node.tls().map(|files| Arc::new(ReloadingTls::new(files)));
        let intake = (role == Role::Intake).then_some(&settings.intake);
        let more = [
            (Entrance::Clients, intake.and_then(|intake| intake.listen_clients)),
            (Entrance::Systems, intake.and_then(|intake| intake.listen_systems)),
        ];
        for (entrance, listen) in more {
            let Some(listen) = listen else { continue };
            let outer = |router: &Router| router.clone().layer(from_fn(without_insight));
            let (all, only_probes) = (outer(&all).layer(Extension(entrance)), outer(&only_probes));
            tokio::spawn(connections::serve(
                connections::listen(listen)?,
                limits,
                tls.clone(),
                all,
                only_probes,
            ));
        }
        tokio::spawn(connections::serve(listener, limits, tls, all, only_probes));
        Ok(Self { address, api })
    }

    /// Address at which it listens.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Mounts the API of the service.
    pub fn mount(&self, router: Router) {
        self.api.store(Some(Arc::new(Api { router, requests: TaskTracker::new() })));
    }

    /// Takes the API away: the probes stay, and everything else is answered with 503.
    pub fn unmount(&self) {
        self.api.store(None);
    }

    /// The same, and waits until the requests that the API is at have been answered, so long at most.
    pub async fn unmount_and_wait(&self, patience: Duration) {
        let Some(api) = self.api.swap(None) else { return };
        api.requests.close();
        if tokio::time::timeout(patience, api.requests.wait()).await.is_err() {
            tracing::warn!(requests = api.requests.len(), "requests are left without an answer");
        }
    }
}

impl Api {
    async fn answer(&self, request: Request<Body>) -> Response<Body> {
        let _at_work = self.requests.token();
        let mut router = self.router.clone();
        // A router has no error of its own: every path ends in an answer.
        match tower_service::Service::call(&mut router, request).await {
            Ok(response) => response,
            Err(never) => match never {},
        }
    }
}

/// Leaves out what shows the inside of the engine, at addresses that strangers may reach; `/healthz` says that it lives.
async fn without_insight(request: Request<Body>, next: Next) -> Response<Body> {
    if matches!(request.uri().path(), "/metrics" | "/readyz") {
        return answer_of(&Problem::new(Type::NotFound, "this address does not serve this part of the API"));
    }
    next.run(request).await
}

/// An intake without its API starts, ends or begins a new life. A client takes 404 for final and would
/// drop what it sent; the other services have no API at all.
fn without_api(role: Role, transport: IntakeTransport) -> Response<Body> {
    answer_of(&match role {
        Role::Intake if !transport.serves_http() => {
            let detail = "this intake takes only messages (`intake.transport`); it serves only /healthz, /readyz and /metrics";
            Problem::new(Type::NotFound, detail)
        }
        Role::Intake => {
            let detail =
                "this node is starting or stopping; repeat the same request, here or at another node";
            Problem::new(Type::Unavailable, detail)
        }
        _ => Problem::new(
            Type::NotFound,
            "this service has no API; it serves only /healthz, /readyz and /metrics",
        ),
    })
}

/// The answer to everything but probes on a connection of the reserve.
fn without_place(full: PlaceShortage) -> Problem {
    match full {
        PlaceShortage::Node => {
            Problem::new(Type::Unavailable, "too many connections are in use; this one answers only probes")
        }
        PlaceShortage::Client => Problem::new(
            Type::Busy,
            "this client uses as many connections as one client may (`intake.client_share_percentage`); send less at a \
             time, or raise it where many clients come through one gateway",
        ),
    }
}

/// A problem as an answer (RFC 9457), with the seconds after which another try may help.
#[must_use]
pub fn answer_of(problem: &Problem) -> Response<Body> {
    let status = StatusCode::from_u16(problem.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let mut response = (status, json_text(problem)).into_response();
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/problem+json"));
    if matches!(problem.status, 429 | 503) {
        headers.insert(header::RETRY_AFTER, HeaderValue::from_static("1"));
    }
    response
}

/// Refuses a request that does not name one host (RFC 9112, 3.2): two servers on its way could take it for different ones.
async fn to_one_host(request: Request<Body>, next: Next) -> Response<Body> {
    let hosts = request.headers().get_all(header::HOST).iter().count();
    let fault = match hosts {
        0 if request.version() >= Version::HTTP_11 => "the request has no `Host`",
        0 | 1 => return next.run(request).await,
        _ => "the request has more than one `Host`",
    };
    answer_of(&Problem::new(Type::Malformed, fault))
}

/// Adds the headers that every answer has for browsers: text of clients and scenarios is never taken for a page.
async fn harden(mut response: Response<Body>) -> Response<Body> {
    response.headers_mut().insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    response
}
