//! Everything that is counted, in one table: names, help and the one label of each.

use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::time::Duration;

use pagurus_domain::id::Role;
use prometheus_client::encoding::text::encode;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::{Histogram, exponential_buckets};
use prometheus_client::registry::Registry;

/// Name, help, and the name of the label; an empty one for none.
type Row = (&'static str, &'static str, &'static str);

/// A counter: index into the table of counters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Count {
    /// Registrations, by what became of them.
    Registrations,
    /// Messages put aside, by reason.
    Refused,
    /// Receipts that could not be delivered.
    ReceiptsLost,
    /// Callbacks, by verdict.
    Callbacks,
    /// Callbacks for nobody that were not kept.
    OrphansUnkept,
    /// Actions of clients and operators, by action.
    Actions,
    /// Hand-outs sent by the dispatcher.
    HandOuts,
    /// Hand-outs that were not claimed, by reason.
    Unclaimed,
    /// Stages that ended, by what came after.
    Stages,
    /// Guarded writes that found another state than expected, by kind.
    GuardsRefused,
    /// Calls of systems, by outcome.
    Calls,
    /// Orders whose first stage began, by scenario.
    Started,
    /// Total milliseconds between sending and start, by scenario.
    StartDelay,
    /// Orders whose deadline to start passed, by scenario.
    StartMissed,
    /// Orders woken, by stream.
    Activations,
    /// Activation commands that were lost and had to be repeated, by stream.
    ActivationRepeats,
    /// Stages handed out again, by finding.
    Reissued,
    /// Stages that passed their work time-out.
    WorkTimeouts,
    /// Orders ended as poison.
    Poisoned,
    /// Nodes declared lost, by role.
    NodesLost,
    /// Notifications, by outcome.
    Notifications,
    /// Failures of the database, by what was tried.
    StoreErrors,
    /// Failures of the broker, by what was tried.
    BrokerErrors,
    /// Acknowledgements that came too late to count.
    StaleAcknowledgements,
}

/// A gauge: index into the table of gauges.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Level {
    /// Stages that may run, by priority.
    Ready,
    /// Stages in progress, by mode.
    InProgress,
    /// Whether this dispatcher is the active one.
    Leader,
    /// Epoch of the lease.
    Epoch,
    /// Stages on this worker.
    WorkerStages,
    /// Lag of activation in milliseconds, by stream.
    ActivationLag,
    /// Notifications not confirmed, by state.
    Outbox,
    /// Age of the oldest unconfirmed notification, in seconds.
    OutboxAge,
    /// Stages of lost nodes that are too old to be taken over.
    FailoverLeft,
}

/// A histogram: index into the table of histograms.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Span {
    /// Time of a batch, by what it does.
    Batch,
    /// Time of a call to a system.
    Call,
    /// Time of a stage on its worker.
    Stage,
}

const COUNTERS: &[Row] = &[
    ("registrations", "Registrations by what became of them", "result"),
    ("refused", "Messages put aside by reason", "reason"),
    ("receipts_lost", "Receipts that could not be delivered", ""),
    ("callbacks", "Callbacks by verdict", "verdict"),
    ("orphans_unkept", "Callbacks for nobody that were not kept, because there are too many", ""),
    ("actions", "Actions of clients and operators", "action"),
    ("hand_outs", "Hand-outs sent by the dispatcher", ""),
    ("unclaimed", "Hand-outs that were not claimed, by reason", "reason"),
    ("stages", "Stages that ended, by the status that followed", "status"),
    ("guards_refused", "Guarded writes that found another state than expected", "kind"),
    ("calls", "Calls of systems by outcome", "outcome"),
    ("started", "Orders whose first stage began", "scenario"),
    ("start_delay_milliseconds", "Total time between registration and start", "scenario"),
    ("start_missed", "Orders whose deadline to start passed", "scenario"),
    ("activations", "Orders woken", "stream"),
    (
        "activation_repeats",
        "Activation commands that the dispatcher did not get and was told again",
        "stream",
    ),
    ("reissued", "Stages handed out again", "finding"),
    ("work_timeout", "Stages that passed their work time-out", ""),
    ("poisoned", "Orders ended because a stage was handed out too often", ""),
    ("nodes_lost", "Nodes declared lost", "role"),
    ("notifications", "Notifications by outcome", "outcome"),
    ("store_errors", "Failures of the database by what was tried", "operation"),
    ("broker_errors", "Failures of the broker by what was tried", "operation"),
    ("stale_acknowledgements", "Acknowledgements that came too late to count", ""),
];

const GAUGES: &[Row] = &[
    ("ready", "Stages that may run", "priority"),
    ("in_progress", "Stages in progress", "mode"),
    ("leader", "1 on the active dispatcher", ""),
    ("epoch", "Epoch of the dispatcher's lease", ""),
    ("worker_stages", "Stages on this worker", ""),
    ("activation_lag_milliseconds", "How late activation is", "stream"),
    ("outbox", "Notifications that are not confirmed", "state"),
    ("outbox_age_seconds", "Age of the oldest unconfirmed notification", ""),
    ("failover_left", "Stages of lost nodes that are older than failover.interval", ""),
];

const HISTOGRAMS: &[Row] = &[
    ("batch_seconds", "Time of a batch by what it does", "operation"),
    ("call_seconds", "Time of a call to a system", "outcome"),
    ("stage_seconds", "Time of a stage on its worker", "status"),
];

type Label = [(&'static str, String); 1];

#[derive(Debug)]
struct Families {
    registry: Registry,
    counters: Vec<Family<Label, Counter>>,
    gauges: Vec<Family<Label, Gauge<f64, AtomicU64>>>,
    histograms: Vec<Family<Label, Histogram>>,
}

/// The metrics of one process. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Metrics {
    families: Arc<Families>,
}

impl Metrics {
    /// All metrics at zero.
    #[must_use]
    pub fn new(role: Role) -> Self {
        let mut registry = Registry::with_prefix("pagurus");
        let info: Family<Label, Gauge> = Family::default();
        info.get_or_create(&[("role", role.to_string())]).set(1);
        registry.register("process", "1, with the role of the process", info);
        let counters = COUNTERS
            .iter()
            .map(|(name, help, _)| {
                let family = Family::<Label, Counter>::default();
                registry.register(*name, *help, family.clone());
                family
            })
            .collect();
        let gauges = GAUGES
            .iter()
            .map(|(name, help, _)| {
                let family = Family::<Label, Gauge<f64, AtomicU64>>::default();
                registry.register(*name, *help, family.clone());
                family
            })
            .collect();
        let histograms = HISTOGRAMS
            .iter()
            .map(|(name, help, _)| {
                let family = Family::new_with_constructor(
                    (|| Histogram::new(exponential_buckets(0.0005, 2.0, 16))) as fn() -> Histogram,
                );
                registry.register(*name, *help, family.clone());
                family
            })
            .collect();
        Self { families: Arc::new(Families { registry, counters, gauges, histograms }) }
    }

    /// Adds to a counter; `value` is the value of its label.
    pub fn count(&self, what: Count, value: &str, by: u64) {
        if by > 0 {
            let row = &COUNTERS[what as usize];
            self.families.counters[what as usize].get_or_create(&label(row, value)).inc_by(by);
        }
    }

    /// Sets a gauge; `value` is the value of its label.
    pub fn level(&self, what: Level, value: &str, level: f64) {
        let row = &GAUGES[what as usize];
        self.families.gauges[what as usize].get_or_create(&label(row, value)).set(level);
    }

    /// Observes a time; `value` is the value of its label.
    pub fn span(&self, what: Span, value: &str, time: Duration) {
        let row = &HISTOGRAMS[what as usize];
        self.families.histograms[what as usize].get_or_create(&label(row, value)).observe(time.as_secs_f64());
    }

    /// The page that Prometheus reads.
    #[must_use]
    pub fn page(&self) -> String {
        let mut page = String::new();
        // Writing into a String cannot fail.
        let _ = encode(&mut page, &self.families.registry);
        page
    }
}

fn label(row: &Row, value: &str) -> Label {
    // A row without a label gets an empty one, which Prometheus takes for none.
    let name = if row.2.is_empty() { "label" } else { row.2 };
    [(name, value.chars().take(128).collect())]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tables_are_as_long_as_their_enums() {
        assert_eq!(COUNTERS.len(), Count::StaleAcknowledgements as usize + 1);
        assert_eq!(GAUGES.len(), Level::FailoverLeft as usize + 1);
        assert_eq!(HISTOGRAMS.len(), Span::Stage as usize + 1);
    }

    #[test]
    fn a_count_appears_on_the_page() {
        let metrics = Metrics::new(Role::Worker);
        metrics.count(Count::Stages, "success", 3);
        assert!(metrics.page().contains("pagurus_stages_total{status=\"success\"} 3"), "{}", metrics.page());
    }
}
