//! The life of a process in the registry: it registers, sends signs of life, drains, and leaves.

use std::future::Future;
use std::time::{Duration, Instant};

use pagurus_domain::id::{Incarnation, Role};
use pagurus_domain::number::saturated;
use pagurus_store::Store;
use pagurus_store::recovery::cluster::{self, Beat, NewNode, NodeStatus};
use pagurus_store::recovery::marks;
use pagurus_store::upkeep::migrate;
use tokio_util::sync::CancellationToken;

pub use crate::chain::chain;
use crate::config::Settings;
use crate::metrics::Guard;
use crate::{Host, HttpServer, Readiness, address, offline, stats};

/// Between two tries to reach the database at start.
const RETRY: Duration = Duration::from_millis(500);
/// Interval at which a failure at start is logged while it lasts.
const TELL_EVERY: Duration = Duration::from_secs(15);
/// Time of a drained service for its last writes, after the grace.
const LAST_WRITES: Duration = Duration::from_secs(5);

/// End of a life.
pub(crate) enum NodeEnd {
    /// In good order.
    Stopped,
    /// Others have declared it over.
    Lost,
}

/// Everything that a process registers with.
pub(crate) struct Registering<'a> {
    pub role: Role,
    pub name: &'a str,
    pub settings: &'a Settings,
    pub store: &'a Store,
    pub http: &'a HttpServer,
    pub readiness: &'a Readiness,
    pub draining: &'a CancellationToken,
}

/// Migrates if asked to, and registers; waits for the database as long as it takes. Returns the number of its life, and
/// true where an operator has taken the node out of service; `None` when the process is asked to stop before. A process whose
/// `former` life ended because another one has its name now does not take it back.
///
/// # Errors
/// The name is another's, or the database refuses.
pub(crate) async fn register(
    with: &Registering<'_>,
    former: Option<Incarnation>,
) -> anyhow::Result<Option<(Incarnation, bool)>> {
    let Registering { role, name, settings, store, http, readiness, draining } = *with;
    let concurrency = if role == Role::Worker { settings.worker.concurrency } else { 0 };
    let mut node = NewNode {
        name: name.to_owned(),
        role,
        address: String::new(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        concurrency: saturated::<i32>(concurrency),
        transport: (role == Role::Intake).then_some(settings.intake.transport),
    };
    let mut warned_at: Option<Instant> = None;
    loop {
        // Again each time: it may follow from where the database is, which is not known at once.
        node.address = {
            let (own, database) = (&settings.node, &settings.database.url);
            let configured = own.advertise.as_deref();
            address::advertised(configured, own.certificate.is_some(), database, http.address()).await
        };
        match try_register(&node, former, settings, store).await {
            Ok(Some(registered)) => {
                readiness.not_ready(NodeStatus::Starting.as_str());
                return Ok(Some(registered));
            }
            Ok(None) => anyhow::bail!(
                "another process has registered as {name}, role {role}, and does the work of this one; \
                 give each its own node.name, or leave it out"
            ),
            Err(error) if !error.is_transient() => return Err(error.into()),
            Err(error) => {
                readiness.not_ready("waiting for the database");
                if warned_at.is_none_or(|at| at.elapsed() > TELL_EVERY) {
                    warned_at = Some(Instant::now());
                    tracing::warn!(error = chain(&error), "the database cannot be reached yet");
                }
            }
        }
        tokio::select! {
            () = tokio::time::sleep(RETRY) => {}
            () = draining.cancelled() => return Ok(None),
        }
    }
}

/// `None` where another process has the name of a former life.
async fn try_register(
    node: &NewNode,
    former: Option<Incarnation>,
    settings: &Settings,
    store: &Store,
) -> Result<Option<(Incarnation, bool)>, pagurus_store::Error> {
    let mut client = store.lease().await?;
    if !migrate::is_current(&client).await? {
        if !settings.database.migrate {
            return Err(pagurus_store::Error::Schema(
                "it is older than this program; run `pagurus migrate`, or set database.migrate".into(),
            ));
        }
        for applied in migrate::run(&mut client).await? {
            tracing::info!(migration = applied, "migrated");
        }
        // The session's time-outs were lifted for the migration.
        drop(deadpool_take(client));
        client = store.lease().await?;
    }
    if let Some(former) = former
        && cluster::superseded(&client, former).await?
    {
        return Ok(None);
    }
    let tx = client.transaction().await?;
    let incarnation = cluster::register(&tx, node).await?;
    tx.commit().await?;
    Ok(Some((incarnation, marks::is_marked(&client, node.role, &node.name).await?)))
}

/// Takes a connection out of its pool for good.
fn deadpool_take(client: pagurus_store::Client) -> impl Sized {
    pagurus_store::Client::take(client)
}

/// Runs the service beside its heartbeat, until it ends, is to stop, or is declared lost.
pub(crate) async fn live(
    host: &Host,
    service: impl Future<Output = anyhow::Result<()>>,
) -> anyhow::Result<NodeEnd> {
    let heart = tokio::spawn(beat(host.clone()));
    let mark = tokio::spawn(offline::follow(host.clone()));
    let stats = tokio::spawn(stats::write(host.clone()));
    tokio::pin!(service);
    let overtime = async {
        host.draining.cancelled().await;
        // Side by side: without the database to tell takes seconds, and they are no part of the grace.
        let announced = host.stopping();
        tokio::join!(announced, host.live.sleep(|settings| settings.shutdown.grace + LAST_WRITES));
    };
    let failed = async {
        while host.readiness.failure().is_none() {
            tokio::time::sleep(Duration::from_millis(200)).await;
        }
    };
    let outcome = tokio::select! {
        ended = &mut service => ended.map(|()| NodeEnd::Stopped),
        () = overtime => {
            tracing::warn!("work is still running after `shutdown.grace`; ending");
            Ok(NodeEnd::Stopped)
        }
        () = failed => Err(anyhow::anyhow!(host.readiness.failure().unwrap_or_default())),
        _ = heart_lost(&host.ended) => Ok(NodeEnd::Lost),
    };
    host.ended.cancel();
    heart.abort();
    mark.abort();
    stats.abort();
    host.http.unmount();
    host.readiness.not_ready("its life is over");
    if matches!(outcome, Ok(NodeEnd::Stopped)) {
        tokio::join!(set_stopped(host), last_counts(host));
        tracing::info!("stopped");
    }
    outcome
}

async fn heart_lost(ended: &CancellationToken) {
    ended.cancelled().await;
}

/// Signs of life, on a connection of their own, until the life is over.
async fn beat(host: Host) {
    while !host.ended.is_cancelled() {
        host.live.sleep(|settings| settings.node.heartbeat).await;
        sign(&host).await;
    }
}

/// Sends a sign of life. It says what the node is to be, so that what the registry missed is mended by the
/// next sign; only what the registry has is shown as ready.
async fn sign(host: &Host) {
    let status = host.status();
    let (store, node, lost_after) = (host.store.clone(), host.node, host.settings().node.lost_after);
    let beat = Beat { status, in_hand: host.service.in_hand() };
    // Owned by a task: no statement is dropped half-way when nobody waits for it any more.
    let beaten = tokio::spawn(async move {
        let client = store.lease().await?;
        cluster::beat(&client, node, beat, lost_after).await
    });
    match beaten.await {
        Ok(Ok(true)) if host.status() == status && !host.draining.is_cancelled() => match status {
            NodeStatus::Active | NodeStatus::Standby => host.readiness.ready(status.as_str()),
            NodeStatus::Offline => host.readiness.not_ready(status.as_str()),
            NodeStatus::Starting | NodeStatus::Stopping | NodeStatus::Stopped => {}
        },
        Ok(Ok(true)) => {}
        Ok(Ok(false)) => {
            host.metrics.guard_refused(Guard::Life, 1);
            host.ended.cancel();
        }
        Ok(Err(error)) => {
            tracing::warn!(error = chain(&error), status = status.as_str(), "no heartbeat could be sent")
        }
        Err(panic) => tracing::error!(%panic, "no heartbeat could be sent"),
    }
}

async fn set_stopped(host: &Host) {
    let (store, node) = (host.store.clone(), host.node);
    let set = tokio::spawn(async move {
        let client = store.lease().await?;
        cluster::set_status(&client, node, NodeStatus::Stopped).await
    });
    // Without the database others find out by our silence.
    let _ = tokio::time::timeout(LAST_WRITES, set).await;
}

/// Adds what was counted since the last turn.
async fn last_counts(host: &Host) {
    match tokio::time::timeout(LAST_WRITES, host.stats.flush(&host.store, host.node)).await {
        Ok(Ok(())) => {}
        Ok(Err(error)) => tracing::warn!(error = chain(&error), "the last counts are lost"),
        Err(_) => tracing::warn!("the last counts are lost: the database does not answer"),
    }
}

impl Host {
    /// Tells the registry that the service is at work, or stands by, and `/readyz` as soon as the
    /// registry has it. What cannot be sent now is sent with the next sign of life.
    pub async fn at_work(&self, standby: bool) {
        let status = if standby { NodeStatus::Standby } else { NodeStatus::Active };
        let before = self.wanted.send_replace(status);
        let word = if before == NodeStatus::Starting { before } else { status };
        self.readiness.not_ready(word.as_str());
        self.tell_status().await;
    }

    /// Tells the registry that the service takes nothing new; this is done for every service that is to
    /// stop, and one that informs others of it waits for this first.
    pub async fn stopping(&self) {
        self.wanted.send_replace(NodeStatus::Stopping);
        self.tell_status().await;
    }

    /// Status of the node: that of its service, unless an operator has it out of service.
    fn status(&self) -> NodeStatus {
        match *self.wanted.borrow() {
            NodeStatus::Active | NodeStatus::Standby if self.is_offline() => NodeStatus::Offline,
            status => status,
        }
    }

    pub(crate) async fn tell_status(&self) {
        // Without the database the signs of life go on trying.
        let _ = tokio::time::timeout(LAST_WRITES, sign(self)).await;
    }
}
