//! Host of a service: everything that it lives on, in one piece that each of its tasks has.

use std::future::Future;
use std::ops::Deref;
use std::sync::Arc;
use std::time::Duration;

use pagurus_broker::Broker;
use pagurus_domain::id::{Incarnation, Role};
use pagurus_domain::order::Status;
use pagurus_domain::order::labels::Labels;
use pagurus_store::Store;
use pagurus_store::recovery::cluster::NodeStatus;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;
use tokio_util::task::{AbortOnDropHandle, TaskTracker};

use crate::config::{LiveSettings, Settings};
use crate::metrics::Count;
use crate::order_log::{self, LoggedEnd};
use crate::{DatabaseClock, HttpServer, Metrics, MinuteCounts, Readiness, Traces, offline};

/// Surroundings of a service. Cheap to clone, as every task and every request has one; the tasks it spawns end with it.
#[derive(Clone)]
pub struct Host(Arc<HostParts>);

/// The parts of a [`Host`].
pub struct HostParts {
    /// Service of this process.
    pub role: Role,
    /// Name of the node.
    pub name: Arc<str>,
    /// This life of the process in the registry.
    pub node: Incarnation,
    /// The configuration, as it changes.
    pub live: LiveSettings,
    /// Postgres.
    pub store: Store,
    /// Clock of the database, for services that go by its times.
    pub clock: DatabaseClock,
    /// RabbitMQ.
    pub broker: Broker,
    /// Everything that is counted.
    pub metrics: Metrics,
    /// Counts of each minute, for charts.
    pub stats: MinuteCounts,
    /// Recorder of spans.
    pub traces: Traces,
    /// HTTP server on which the service can mount an API.
    pub http: HttpServer,
    /// Words of `/readyz`.
    pub readiness: Readiness,
    /// Set when the process is to stop: take nothing new, end what is there.
    pub draining: CancellationToken,
    /// Set when this life is over, whatever is left: stop at once.
    pub ended: CancellationToken,
    /// Status that the registry is to have of this life; each sign of life repeats it.
    pub(crate) wanted: Arc<watch::Sender<NodeStatus>>,
    /// The mark of an operator, and what the process has in hand.
    pub(crate) service: offline::OfflineState,
    pub(crate) tasks: TaskTracker,
}

impl Deref for Host {
    type Target = HostParts;

    fn deref(&self) -> &HostParts {
        &self.0
    }
}

impl Host {
    pub(crate) fn of(parts: HostParts) -> Self {
        Self(Arc::new(parts))
    }

    /// The configuration of this moment. What a turn has read counts for that turn; the next one asks again.
    #[must_use]
    pub fn settings(&self) -> Arc<Settings> {
        self.live.now()
    }

    /// Counts the end of a life, and writes its line in the log.
    pub fn life_ended(&self, end: &LoggedEnd) {
        order_log::ended(end);
        self.count_end(&end.scenario, end.status, &end.order.labels);
    }

    /// Counts the end of a life; a status that is none is passed over.
    pub fn count_end(&self, scenario: &str, status: Status, labels: &Labels) {
        self.stats.life_ended(scenario, status);
        if status.is_final() {
            self.metrics.count_by(Count::Ended, &[scenario, status.as_str()], 1);
            for key in &self.settings().telemetry.metric_labels {
                if let Some(value) = labels.get(key) {
                    self.metrics.count_by(Count::EndedByLabel, &[key, value, status.as_str()], 1);
                }
            }
        }
    }

    /// Starts a task of the service. An error or a panic of it ends the whole process: a service
    /// that lives on without one of its loops would look healthy and do nothing.
    pub fn spawn(&self, what: &'static str, task: impl Future<Output = anyhow::Result<()>> + Send + 'static) {
        let ended = self.ended.clone();
        let readiness = self.readiness.clone();
        self.tasks.spawn(async move {
            // A task of its own, so that a panic is seen here.
            let outcome = tokio::select! {
                outcome = AbortOnDropHandle::new(tokio::spawn(task)) => outcome,
                () = ended.cancelled() => return,
            };
            let error = match outcome {
                Ok(Ok(())) => return,
                Ok(Err(error)) => format!("{error:#}"),
                Err(panic) => format!("{panic}"),
            };
            tracing::error!(task = what, error, "a task of the service has failed; the process ends");
            readiness.fail(format!("{what}: {error}"));
        });
    }

    /// Waits until every task of the service has ended.
    pub async fn join(&self) {
        self.tasks.close();
        self.tasks.wait().await;
    }

    /// Sleeps, but wakes early when the process is to stop. Whether it is.
    pub async fn sleep_unless_draining(&self, time: Duration) -> bool {
        tokio::select! {
            () = tokio::time::sleep(time) => false,
            () = self.draining.cancelled() => true,
        }
    }
}
