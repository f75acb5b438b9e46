//! Everything that is counted, in one table: names, help and the labels of each. No label has more values
//! than its cap lets in: what clients name never makes the page grow without bound.

mod guards;
mod messaging;
mod process;
mod reference;
mod rows;
mod work;

use std::fmt::Debug;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::time::Duration;

use pagurus_domain::id::Role;
use prometheus_client::encoding::EncodeMetric;
use prometheus_client::encoding::text::encode;
use prometheus_client::metrics::TypedMetric;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::{Family, MetricConstructor};
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::{Histogram, exponential_buckets};
use prometheus_client::registry::Registry;

use crate::cap::Cap;
pub use guards::Guard;
pub use reference::reference_table;
use rows::{COUNTERS, GAUGES, HISTOGRAMS, Row};
pub use work::Work;

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
    /// Actions of clients and operators, by action and door.
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
    /// Orders whose deadline to start passed, by scenario.
    StartMissed,
    /// Orders woken, by stream and flow.
    Activations,
    /// Activation commands that were lost and had to be repeated, by stream and flow.
    ActivationRepeats,
    /// Stages handed out again, by finding.
    Reissued,
    /// Stages and tasks of actors that passed their work time-out, by scenario and actor.
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
    /// Orders that the API refused because too many of their flow or queue wait, by which.
    BacklogRefused,
    /// Spans, by what became of them.
    Spans,
    /// HTTP calls by the called system and their outcome.
    SystemCalls,
    /// Lives that ended, by scenario and status.
    Ended,
    /// Stages that left an error, by its class.
    StageErrors,
    /// Acknowledgements that came too late to count.
    StaleAcknowledgements,
    /// Contradictions between the rows of orders, by finding and outcome.
    Inconsistencies,
    /// Invariants that the consistency check found broken twice, by invariant.
    InvariantViolations,
    /// Orders that stood still for a whole idle period, by cause.
    Idle,
    /// Orders that were removed, by the status that they had.
    Removed,
    /// Orders that were found in jeopardy, by scenario.
    Jeopardies,
    /// Lives with a promise that ended, by scenario and outcome.
    Promises,
    /// Refused messages that were removed because their time was over.
    RefusedForgotten,
    /// Events of the stream, for each client, by what became of them.
    StreamEvents,
    /// Messages of other services that could not be read, by what they tell.
    UnreadableMessages,
}

/// A gauge: index into the table of gauges.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Level {
    /// Stages that may run, by priority.
    Ready,
    /// Age of the oldest stage that may run, in seconds, as of the last round of re-reading.
    ReadyAge,
    /// Living nodes, by role and status.
    Nodes,
    /// Stages in progress, by mode.
    InProgress,
    /// True if this dispatcher is the active one.
    Leader,
    /// Epoch of the lease.
    Epoch,
    /// Stages on this worker.
    WorkerStages,
    /// Lag of activation in seconds, by stream.
    ActivationLag,
    /// Flows of which nothing more is woken for now, by stream.
    ActivationHeld,
    /// Notifications not confirmed, by state.
    Outbox,
    /// Age of the oldest unconfirmed notification, in seconds.
    OutboxAge,
    /// Receivers of webhooks that are left alone for a while.
    ReceiversInTrouble,
    /// Stages of lost nodes that are too old to be taken over.
    FailoverLeft,
    /// Stages of a flow that may run.
    FlowReady,
    /// Time since which the oldest stage of a flow may run, in seconds of Unix time.
    FlowOldestReady,
    /// Stages of a flow in progress.
    FlowInProgress,
    /// Limit of a flow.
    FlowLimit,
    /// State of a flow, 1 for the present one.
    FlowState,
    /// Stages of a flow that end in a second.
    FlowThroughput,
    /// Time of a stage of a flow in seconds, by term and quantile.
    FlowStage,
    /// Time from ready to claimed of a flow in seconds, by quantile.
    FlowWait,
    /// Seconds until a flow is empty.
    FlowToEmpty,
    /// Unanswered requests of a flow.
    FlowOpenRequests,
    /// Limit of a called system.
    SystemLimit,
    /// State of a called system, 1 for the present one.
    SystemState,
    /// Stages and open requests that concern a called system.
    SystemInProgress,
    /// Calls of a system that end in a second.
    SystemThroughput,
    /// Flows of which the API takes no more orders.
    BacklogFull,
    /// Bulk operations, by state.
    Operations,
    /// Orders that bulk operations have still to act on.
    OperationOrders,
    /// Number of the snapshot of the settings.
    ConfigurationSnapshot,
    /// Moment of the last reading without a fault, in seconds of Unix time.
    ConfigurationReadAt,
    /// 1 while the configuration has faults and the former one counts.
    ConfigurationRefused,
    /// Orders that are not final, by what they wait for.
    WaitingOrders,
    /// 1 while stages may run and all places are in use.
    AtCapacity,
    /// Age of the oldest snapshot that a session of the database holds.
    OldestSnapshot,
    /// Sessions of the database that are not shown to our user.
    UnseenSessions,
    /// Keys that take effect with a restart only.
    ConfigurationNeedsRestart,
    /// Orders that are marked as inconsistent.
    Inconsistent,
    /// Seconds since the last round of the consistency check ended.
    CheckAge,
    /// Orders in jeopardy.
    InJeopardy,
    /// Clients that follow the stream of orders' news.
    StreamClients,
    /// Maintenance windows: open now, and others that are to come.
    MaintenanceWindows,
    /// Programs that take tasks of an actor for which orders wait.
    ActorConsumers,
    /// Open requests that the last count of the rows found the dispatcher wrong by.
    RequestsCorrected,
}

/// A histogram: index into the table of histograms.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Span {
    /// Time of a batch, by what it does.
    Batch,
    /// Time of a call to a system.
    Call,
    /// Time of a call to a receiver of webhooks.
    Webhook,
    /// Time of a stage on its worker.
    Stage,
    /// Time of an HTTP call, by called system.
    SystemCall,
    /// Time between registration, or restart, and the first stage, by scenario.
    StartDelay,
    /// Time for which a stage could have run before it was claimed, by mode.
    ReadyWait,
    /// Time between the moment at which an order was due and its waking, by flow.
    ActivationDelay,
}

/// The metric that tells what a process is.
const BUILD: Row =
    ("build_info", "1, with the role of the process and the version of its program", &["role", "version"]);

type Labels = Vec<(&'static str, String)>;

/// A metric with the words that each of its labels has had.
#[derive(Debug)]
struct Series<M, C = fn() -> M> {
    family: Family<Labels, M, C>,
    names: &'static [&'static str],
    caps: Vec<Cap>,
}

impl<M, C> Series<M, C>
where
    M: Clone + Debug + TypedMetric + EncodeMetric + Send + Sync + 'static,
    C: MetricConstructor<M> + Clone + Send + Sync + 'static,
{
    fn register(registry: &mut Registry, (name, help, names): &Row, constructor: C) -> Self {
        let family = Family::new_with_constructor(constructor);
        registry.register(*name, *help, family.clone());
        Self { family, names, caps: names.iter().map(|_| Cap::default()).collect() }
    }

    /// The series of these values, one for each label in the order of the table.
    fn of(&self, values: &[&str]) -> M {
        self.family.get_or_create_owned(&self.labels(values))
    }

    fn labels(&self, values: &[&str]) -> Labels {
        debug_assert!(
            values.len() == self.names.len() || (self.names.is_empty() && values == [""]),
            "one value for each of {:?}",
            self.names
        );
        let value = |place: usize| values.get(place).copied().unwrap_or_default();
        let labels = self.names.iter().zip(&self.caps).enumerate();
        labels.map(|(place, (name, cap))| (*name, cap.admit(value(place)))).collect()
    }
}

#[derive(Debug)]
struct Families {
    page: Registry,
    messaging: messaging::Messaging,
    counters: Vec<Series<Counter>>,
    gauges: Vec<Series<Gauge<f64, AtomicU64>>>,
    histograms: Vec<Series<Histogram>>,
}

/// Buckets from half a millisecond to sixteen seconds.
fn times() -> Histogram {
    Histogram::new(exponential_buckets(0.0005, 2.0, 16))
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
        let mut page = Registry::default();
        // What the operating system knows of a process has the same names in all programs.
        page.register_collector(Box::new(process::OwnProcess));
        let messaging = messaging::Messaging::register(&mut page);
        let registry = page.sub_registry_with_prefix("pagurus");
        let info: Series<Gauge> = Series::register(registry, &BUILD, Gauge::default);
        info.of(&[role.as_str(), env!("CARGO_PKG_VERSION")]).set(1);
        let counters = COUNTERS.iter().map(|row| Series::register(registry, row, Counter::default as _));
        let counters: Vec<Series<Counter>> = counters.collect();
        // A counter that begins with its first event never rises for whoever reads the page: it has no value before.
        counters.iter().filter(|series| series.names.is_empty()).for_each(|series| drop(series.of(&[""])));
        let gauges = GAUGES.iter().map(|row| Series::register(registry, row, Gauge::default as _));
        let gauges = gauges.collect();
        let histograms = HISTOGRAMS.iter().map(|row| Series::register(registry, row, times as _));
        let histograms = histograms.collect();
        Self { families: Arc::new(Families { page, messaging, counters, gauges, histograms }) }
    }

    /// Adds to a counter of one label, or of none; `value` is the value of its label.
    pub fn count(&self, what: Count, value: &str, by: u64) {
        self.count_by(what, &[value], by);
    }

    /// Adds to a counter of several labels: a value for each, in the order of the table.
    pub fn count_by(&self, what: Count, values: &[&str], by: u64) {
        if by > 0 {
            self.families.counters[what as usize].of(values).inc_by(by);
        }
    }

    /// Sets a gauge; `value` is the value of its label.
    pub fn level(&self, what: Level, value: &str, level: f64) {
        self.level_of(what, &[value], level);
    }

    /// Sets a gauge of several labels: a value for each, in the order of the table.
    pub fn level_of(&self, what: Level, values: &[&str], level: f64) {
        self.families.gauges[what as usize].of(values).set(level);
    }

    /// Observes a time; `value` is the value of its label.
    pub fn span(&self, what: Span, value: &str, time: Duration) {
        self.families.histograms[what as usize].of(&[value]).observe(time.as_secs_f64());
    }

    /// The page that Prometheus reads.
    #[must_use]
    pub fn page(&self) -> String {
        let mut page = String::new();
        // Writing into a String cannot fail.
        let _ = encode(&mut page, &self.families.page);
        page
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cap::MOST_WORDS;

    #[test]
    fn the_tables_are_as_long_as_their_enums() {
        assert_eq!(COUNTERS.len(), Count::UnreadableMessages as usize + 1);
        assert_eq!(GAUGES.len(), Level::RequestsCorrected as usize + 1);
        assert_eq!(HISTOGRAMS.len(), Span::ActivationDelay as usize + 1);
    }

    #[test]
    fn a_count_appears_on_the_page() {
        let metrics = Metrics::new(Role::Worker);
        metrics.count(Count::Stages, "success", 3);
        assert!(metrics.page().contains("pagurus_stages_total{status=\"success\"} 3"), "{}", metrics.page());
    }

    #[test]
    fn a_counter_without_labels_is_there_before_its_first_event() {
        let page = Metrics::new(Role::Activator).page();
        assert!(page.contains("pagurus_poisoned_total{} 0\n"), "{page}");
        assert!(!page.contains("pagurus_stages_total{"), "{page}");
    }

    #[test]
    fn a_counter_of_several_labels_has_them_in_the_order_of_the_table() {
        let metrics = Metrics::new(Role::Intake);
        metrics.count_by(Count::Actions, &["canceled", "http"], 2);
        metrics.count_by(Count::Actions, &["canceled", "amqp"], 1);
        let page = metrics.page();
        for line in [
            "pagurus_actions_total{action=\"canceled\",door=\"http\"} 2\n",
            "pagurus_actions_total{action=\"canceled\",door=\"amqp\"} 1\n",
        ] {
            assert!(page.contains(line), "{line} {page}");
        }
    }

    #[test]
    fn values_beyond_the_cap_of_a_label_are_counted_together_and_each_label_has_its_own() {
        let metrics = Metrics::new(Role::Worker);
        for number in 0..MOST_WORDS + 50 {
            metrics.count(Count::Started, &format!("scenario-{number}"), 1);
        }
        metrics.count(Count::StartMissed, "another", 1);
        let page = metrics.page();
        assert!(page.contains("pagurus_started_total{scenario=\"other\"} 50\n"), "{page}");
        assert_eq!(page.matches("pagurus_started_total{").count(), MOST_WORDS + 1);
        assert!(page.contains("pagurus_start_missed_total{scenario=\"another\"} 1\n"), "{page}");
    }

    #[test]
    fn text_of_clients_cannot_leave_its_label() {
        let metrics = Metrics::new(Role::Worker);
        metrics.count(Count::Started, "a\"} 7\npagurus_forged{x=\"\\", 1);
        let page = metrics.page();
        assert!(
            page.contains(r#"pagurus_started_total{scenario="a\"} 7pagurus_forged{x=\"\\"} 1"#),
            "{page}"
        );
        assert!(!page.lines().any(|line| line.starts_with("pagurus_forged")), "{page}");
    }
}
