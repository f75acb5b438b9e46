//! State of a process in its own words: alive, ready, and its metrics. Never changes anything; how it is
//! asked is the business of [`crate::server`].

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use axum::Router;
use axum::body::Body;
use axum::extract::{RawQuery, State};
use axum::http::{Response, StatusCode, header};
use axum::response::IntoResponse as _;
use axum::routing::get;
use pagurus_broker::{Broker, LinkState};
use pagurus_domain::id::{IntakeTransport, Role};
use pagurus_store::Store;
use serde_json::{Map, Value, json};

use crate::Metrics;
use crate::config::{ConfigurationState, LiveSettings};
use crate::metrics::Level;

/// Longest time for the database to answer a probe.
const PROBE_TIMEOUT: Duration = Duration::from_secs(2);
/// For how long a probe's answer is taken for true.
const PROBE_CACHE: Duration = Duration::from_secs(1);

/// Readiness as the service itself tells it.
#[derive(Clone, Debug, Default)]
pub struct Readiness {
    inner: Arc<Mutex<Inner>>,
}

#[derive(Debug, Default)]
struct Inner {
    ready: bool,
    /// State of the service at the moment, for people.
    saying: String,
    /// A shortage of something else, which takes nothing from this process.
    note: Option<String>,
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

    /// Tells of a shortage that is not this process's own, or with none that there is none any more: `/readyz` shows it and
    /// stays as it is, since it would do no good to take this process out of service.
    pub fn note(&self, note: Option<&str>) {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner).note = note.map(str::to_owned);
    }

    pub(crate) fn fail(&self, why: String) {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner).failed.get_or_insert(why);
    }

    pub(crate) fn failure(&self) -> Option<String> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner).failed.clone()
    }

    fn state(&self) -> (bool, String, Option<String>) {
        let inner = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
        (inner.ready, inner.saying.clone(), inner.note.clone())
    }
}

/// The parts of a process that the probes ask.
#[derive(Clone)]
pub(crate) struct Probes {
    pub role: Role,
    settings: LiveSettings,
    metrics: Metrics,
    readiness: Readiness,
    store: Store,
    broker: Broker,
    /// Time of the last look at the database, and its outcome.
    database: Arc<tokio::sync::Mutex<Option<(Instant, ProbeOutcome)>>>,
}

/// Outcome of a check: nothing wrong, or the fault.
pub(crate) type ProbeOutcome = Result<(), String>;

impl Probes {
    /// The probes of a process.
    pub fn new(
        role: Role,
        settings: &LiveSettings,
        metrics: &Metrics,
        readiness: &Readiness,
        store: &Store,
        broker: &Broker,
    ) -> Self {
        let (settings, metrics, readiness) = (settings.clone(), metrics.clone(), readiness.clone());
        let (store, broker) = (store.clone(), broker.clone());
        Self { role, settings, metrics, readiness, store, broker, database: Arc::default() }
    }

    /// The three paths that every process answers.
    pub fn router(self) -> Router {
        Router::new()
            .route("/healthz", get(healthz))
            .route("/readyz", get(readyz))
            .route("/metrics", get(metrics_page))
            .with_state(self)
    }

    async fn database(&self) -> ProbeOutcome {
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

    /// Everything that the broker is needed for, by name. One that fails makes an intake degraded
    /// and any other service not ready.
    fn broker(&self) -> Vec<(&'static str, ProbeOutcome)> {
        let found = |link: &LinkState| if link.is_up() { Ok(()) } else { Err(link.to_string()) };
        let state = self.broker.state();
        let starved = |queues: &[String]| match queues {
            [] => Ok(()),
            queues => Err(format!("nothing comes from {}", queues.join(", "))),
        };
        let missing = |parts: &[String]| match parts {
            [] => Ok(()),
            parts => Err(format!("incomplete: {}", parts.join("; "))),
        };
        vec![
            ("publish", found(&state.publish)),
            ("consume", found(&state.consume)),
            ("queues", starved(&state.starved)),
            ("topology", missing(&state.missing)),
        ]
    }
}

async fn healthz(State(probes): State<Probes>) -> Response<Body> {
    match probes.readiness.failure() {
        None => (StatusCode::OK, "ok\n").into_response(),
        Some(why) => (StatusCode::SERVICE_UNAVAILABLE, why).into_response(),
    }
}

/// `GET /readyz`, or `/readyz?door=amqp`, which asks whether that door of an intake is open.
async fn readyz(State(probes): State<Probes>, RawQuery(query): RawQuery) -> Response<Body> {
    let (ready, saying, note) = probes.readiness.state();
    let service = (probes.role, probes.settings.now().intake.transport);
    let (status, mut body) = judge(service, ready, &saying, &probes.database().await, &probes.broker());
    body["configuration"] = json!(probes.settings.state());
    if let Some(note) = note {
        body["warning"] = note.into();
    }
    let door = query.as_deref().and_then(|query| query.strip_prefix("door="));
    let status = door.map_or(status, |door| of_door(&body, door));
    (status, axum::Json(body)).into_response()
}

/// True if this door is open; one that nobody knows is not.
fn of_door(body: &Value, door: &str) -> StatusCode {
    if body["doors"][door] == "up" { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE }
}

/// Readiness goes by door: an intake that only the broker is away from takes orders and callbacks
/// over HTTP as ever (AMQP-2), so a load balancer must not take that door away. It is ready then, and
/// says `degraded`. Every other service does nothing without the broker, an intake for messages alone among them.
fn judge(
    (role, transport): (Role, IntakeTransport),
    ready: bool,
    saying: &str,
    database: &ProbeOutcome,
    broker: &[(&'static str, ProbeOutcome)],
) -> (StatusCode, Value) {
    let shown = |found: &ProbeOutcome| found.clone().map_or_else(Value::from, |()| "up".into());
    let serves = ready && database.is_ok();
    let first = broker.iter().find_map(|(name, found)| Some((name, found.as_ref().err()?)));
    let needs_broker = role != Role::Intake || !transport.serves_http();
    let is_ready = serves && !(needs_broker && first.is_some());
    let broker: Map<String, Value> =
        broker.iter().map(|(name, found)| ((*name).to_owned(), shown(found))).collect();
    let mut body =
        json!({"ready": is_ready, "service": saying, "database": shown(database), "broker": broker});
    if role == Role::Intake {
        let http = match (ready, database) {
            (false, _) => Err(saying.to_owned()),
            (true, Err(why)) => Err(format!("the database is {why}")),
            (true, Ok(())) => Ok(()),
        };
        let amqp = first.map_or_else(|| http.clone(), |(name, why)| Err(format!("{name} is {why}")));
        let closed = Err("not served here (`intake.transport`)".to_owned());
        let http = if transport.serves_http() { &http } else { &closed };
        let amqp = if transport.takes_amqp() { &amqp } else { &closed };
        body["degraded"] = (serves && first.is_some()).into();
        body["doors"] = json!({"http": shown(http), "amqp": shown(amqp)});
    }
    (if is_ready { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE }, body)
}

async fn metrics_page(State(probes): State<Probes>) -> Response<Body> {
    show(&probes.settings.state(), &probes.metrics);
    let kind = "application/openmetrics-text; version=1.0.0; charset=utf-8";
    ([(header::CONTENT_TYPE, kind)], probes.metrics.page()).into_response()
}

fn show(configuration: &ConfigurationState, metrics: &Metrics) {
    let ConfigurationState { snapshot, read_at, refused, needs_restart, .. } = configuration;
    metrics.level(Level::ConfigurationSnapshot, "", *snapshot as f64);
    metrics.level(Level::ConfigurationReadAt, "", read_at.as_second() as f64);
    metrics.level(Level::ConfigurationRefused, "", f64::from(u8::from(*refused)));
    metrics.level(Level::ConfigurationNeedsRestart, "", needs_restart.len() as f64);
}

#[cfg(test)]
mod tests {
    use super::*;

    const INTAKE: (Role, IntakeTransport) = (Role::Intake, IntakeTransport::Both);

    #[test]
    fn amqp_2_an_intake_of_one_transport_shows_the_other_as_closed_and_needs_the_broker_for_messages() {
        let away = [("publish", Ok(())), ("consume", Err("down".to_owned()))];
        let only = |transport| judge((Role::Intake, transport), true, "active", &Ok(()), &away);
        let (status, body) = only(IntakeTransport::Http);
        let closed = "not served here (`intake.transport`)";
        assert_eq!((status, &body["doors"]), (StatusCode::OK, &json!({"http": "up", "amqp": closed})));
        let (status, body) = only(IntakeTransport::Amqp);
        let doors = json!({"http": closed, "amqp": "consume is down"});
        assert_eq!((status, &body["doors"]), (StatusCode::SERVICE_UNAVAILABLE, &doors));
    }

    #[test]
    fn amqp_2_an_intake_without_the_broker_keeps_the_door_that_needs_none() {
        let broker = |publish: &str| {
            let publish = if publish == "up" { Ok(()) } else { Err(publish.to_owned()) };
            [("publish", publish), ("consume", Ok(()))]
        };
        let (status, body) = judge(INTAKE, true, "active", &Ok(()), &broker("up"));
        assert_eq!(
            (status, &body["degraded"], &body["ready"]),
            (StatusCode::OK, &false.into(), &true.into())
        );
        assert_eq!(body["doors"], json!({"http": "up", "amqp": "up"}));

        let alarm = broker("blocked: low on memory");
        let (status, body) = judge(INTAKE, true, "active", &Ok(()), &alarm);
        assert_eq!((status, &body["degraded"], &body["ready"]), (StatusCode::OK, &true.into(), &true.into()));
        assert_eq!(
            body["doors"],
            json!({"http": "up", "amqp": "publish is blocked: low on memory"}),
            "the body tells which"
        );
        assert_eq!(
            ["http", "amqp", "x"].map(|door| of_door(&body, door).as_u16()),
            [200, 503, 503],
            "a probe can ask for one"
        );
        let (status, body) = judge((Role::Worker, IntakeTransport::Both), true, "active", &Ok(()), &alarm);
        assert_eq!((status, body.get("doors")), (StatusCode::SERVICE_UNAVAILABLE, None));
    }

    #[test]
    fn amqp_2_without_the_database_or_a_life_no_door_is_open() {
        let up = [("publish", Ok(())), ("consume", Ok(()))];
        let (status, body) = judge(INTAKE, true, "active", &Err("down: gone".into()), &up);
        assert_eq!((status, &body["degraded"]), (StatusCode::SERVICE_UNAVAILABLE, &false.into()));
        assert_eq!(body["doors"]["amqp"], "the database is down: gone");
        let (status, body) = judge(INTAKE, false, "draining", &Ok(()), &up);
        assert_eq!((status, &body["doors"]["http"]), (StatusCode::SERVICE_UNAVAILABLE, &"draining".into()));
    }
}
