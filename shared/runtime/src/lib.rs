//! A process: configuration, telemetry, its life in the registry, and how it stops.
//!
//! A service is a function `run(host)`; [`serve`] makes the host. Only this crate knows signals.
//! Nothing here holds a rule about orders.

pub mod actors;
pub mod address;
pub mod aside;
pub mod batch;
mod cap;
mod chain;
pub mod compute;
pub mod config;
pub mod costly;
pub mod database_clock;
mod effects;
mod health;
mod host;
pub mod hosts;
pub mod lanes;
pub mod lasting;
pub mod metrics;
pub mod news;
pub mod node;
pub mod offline;
pub mod order_log;
pub mod reloading_client;
pub mod scenarios;
pub mod search;
pub mod secrets;
mod server;
mod signals;
pub mod spacing;
pub mod start;
pub mod stats;
pub mod syslog;
pub mod task;
mod telemetry;
pub mod traces;
pub mod trouble;
pub mod waits;

use std::future::Future;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;

use anyhow::Context as _;
use pagurus_broker::Broker;
pub use pagurus_broker::LocalConsumers;
use pagurus_domain::document::Fault;
use pagurus_domain::id::Role;
use pagurus_scenario::script::STACK_BYTES;
use pagurus_store::recovery::cluster::NodeStatus;
use pagurus_store::{Options, Store};
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

pub use batch::Batcher;
use config::{DatabaseSettings, LiveSettings, Settings};
pub use database_clock::DatabaseClock;
pub use effects::Effects;
pub use health::Readiness;
pub use host::{Host, HostParts};
pub use metrics::Metrics;
pub use server::{ClientAddress, Connection, Entrance, HttpServer, MakesRoom, Peer, REQUEST_ID, answer_of};
pub use signals::{handle_signals, interrupted};
use start::{HostFacts, NewProcess};
pub use stats::MinuteCounts;
pub use telemetry::start_logging;
pub use traces::Traces;

/// The allocator of every service. An order passes several threads and is made of many small pieces, which the allocator of the C
/// library frees dearly: that took a sixth of a worker's time.
#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

/// The threads of a process with these roles. What one task decides, or what only waits for the servers, is faster on one
/// thread: a message between tasks wakes no other. The bodies of orders and stages take all processors. Each thread may run
/// the code of a scenario.
///
/// # Errors
/// The system starts no thread.
pub fn threads(roles: &[Role]) -> std::io::Result<tokio::runtime::Runtime> {
    let mut builder = tokio::runtime::Builder::new_multi_thread();
    if !roles.iter().any(|role| matches!(role, Role::Intake | Role::Worker)) {
        builder.worker_threads(1);
    }
    builder.enable_all().thread_stack_size(STACK_BYTES).build()
}

/// Reads file and environment, once.
///
/// # Errors
/// All faults, one a line.
pub fn load_settings(file: Option<&Path>) -> anyhow::Result<Settings> {
    let read = config::environment().and_then(|environment| config::load(file, environment.into_iter()));
    read.map_err(|faults| not_valid(&faults))
}

/// Reads file and environment, and can do so again.
///
/// # Errors
/// All faults, one a line.
pub fn live_settings(file: Option<&Path>) -> anyhow::Result<LiveSettings> {
    let read = config::environment()
        .and_then(|environment| LiveSettings::load(file.map(Path::to_owned), environment.into_iter()));
    read.map_err(|faults| not_valid(&faults))
}

fn not_valid(faults: &[Fault]) -> anyhow::Error {
    let lines: Vec<String> = faults.iter().map(ToString::to_string).collect();
    anyhow::anyhow!("the configuration is not valid:\n  {}", lines.join("\n  "))
}

/// A service within its process.
#[derive(Debug)]
pub struct InProcess {
    /// Address of its HTTP server.
    pub listen: SocketAddr,
    /// Cancelled when it is to stop.
    pub draining: CancellationToken,
    /// Shared by the services of the process; none where it is alone.
    pub local: Option<LocalConsumers>,
}

/// Runs a service in this process until it is asked to drain. A node that was
/// declared lost while it could not answer starts a new life: what it held has been given to others. One whose
/// name and role another process has taken ends.
///
/// # Errors
/// The reason for its end, other than the wish to stop.
pub async fn serve<F, R>(role: Role, live: LiveSettings, process: InProcess, run: F) -> anyhow::Result<()>
where
    F: Fn(Host) -> R,
    R: Future<Output = anyhow::Result<()>>,
{
    let InProcess { listen, draining, local } = process;
    let settings = live.now();
    may_start(&settings, role, listen)?;
    let name = node_name(&settings, role);
    let store = store(&settings.database, &name)?;
    let metrics = Metrics::new(role);
    let stats = MinuteCounts::default();
    let recorder = traces::Recorder { role, node: &name, installation: &settings.broker.prefix };
    let traces = Traces::start(&settings.telemetry, recorder, &metrics)?;
    let mut broker_config = pagurus_broker::Config::new(
        settings.broker.url.clone(),
        settings.broker.prefix.clone(),
        role,
        name.to_string(),
    );
    broker_config.confirm_timeout = settings.broker.confirm_timeout;
    broker_config.local = local;
    let broker = Broker::connect(broker_config).context("broker.url")?;
    let readiness = Readiness::default();
    let probes = health::Probes::new(role, &live, &metrics, &readiness, &store, &broker);
    let http = open_server(listen, &settings, probes, &broker).await?;
    tracing::info!(role = role.as_str(), name = &*name, address = %http.address(), "started");
    let registering = node::Registering {
        role,
        name: &name,
        settings: &settings,
        store: &store,
        http: &http,
        readiness: &readiness,
        draining: &draining,
    };
    let mut former = None;
    loop {
        let Some((node, offline)) = node::register(&registering, former).await? else { return Ok(()) };
        former = Some(node);
        let host = Host::of(HostParts {
            role,
            name: name.clone(),
            node,
            live: live.clone(),
            store: store.clone(),
            clock: DatabaseClock::new(),
            broker: broker.clone(),
            metrics: metrics.clone(),
            stats: stats.clone(),
            traces: traces.clone(),
            http: http.clone(),
            readiness: readiness.clone(),
            draining: draining.clone(),
            ended: CancellationToken::new(),
            wanted: Arc::new(watch::Sender::new(NodeStatus::Starting)),
            service: offline::OfflineState::new(offline),
            tasks: TaskTracker::new(),
        });
        match node::live(&host, run(host.clone())).await? {
            node::NodeEnd::Stopped => break,
            node::NodeEnd::Lost => tracing::warn!(
                node = %node, "this life was declared over; starting a new one, if nobody else has the name"
            ),
        }
    }
    broker.close().await;
    traces.close().await;
    Ok(())
}

/// The configured name of the node, or one of this process.
fn node_name(settings: &Settings, role: Role) -> Arc<str> {
    let own = || format!("{role}-{}-{}", host_name(), std::process::id());
    settings.node.name.clone().unwrap_or_else(own).into()
}

/// Refuses what `pagurus config check` refuses.
fn may_start(settings: &Settings, role: Role, listen: SocketAddr) -> anyhow::Result<()> {
    let host = Some(HostFacts::of_this_process());
    let faults = start::refusals(settings, NewProcess { role, listen, host });
    if faults.is_empty() { Ok(()) } else { Err(not_valid(&faults)) }
}

/// Opens the HTTP server of the process. Where that fails, the connections to the broker are closed first: its library panics
/// where a process ends while one is being opened.
async fn open_server(
    listen: SocketAddr,
    settings: &Settings,
    probes: health::Probes,
    broker: &Broker,
) -> anyhow::Result<HttpServer> {
    let opened = HttpServer::open(listen, settings, probes).await;
    if opened.is_err() {
        broker.close().await;
    }
    opened.with_context(|| format!("node.listen: {listen}"))
}

fn store(database: &DatabaseSettings, name: &str) -> anyhow::Result<Store> {
    Store::new(&Options {
        url: database.url.clone(),
        application_name: format!("pagurus {name}"),
        work_connections: database.work_connections,
        api_connections: database.api_connections,
        report_connections: database.report_connections,
        operation_connections: database.operation_connections,
        connect_timeout: database.connect_timeout,
        statement_timeout: database.statement_timeout,
        report_timeout: database.report_timeout,
    })
    .context("database.url")
}

fn host_name() -> String {
    std::fs::read_to_string("/etc/hostname").map_or_else(|_| "host".to_owned(), |name| name.trim().to_owned())
}
