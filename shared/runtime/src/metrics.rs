//! The page of everything that is counted. No label has more values than its cap lets in: what clients name never makes the
//! page grow without bound.

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
use rows::{COUNTERS, GAUGES, HISTOGRAMS, MetricRow};
pub use rows::{Count, Level, Span};
pub use work::Work;

/// The metric that tells what a process is.
const BUILD: MetricRow =
    ("build_info", "1, with the role of the process and the version of its program", &["role", "version"]);

type SeriesLabels = Vec<(&'static str, String)>;

/// A metric with the words that each of its labels has had.
#[derive(Debug)]
struct MetricFamily<M, C = fn() -> M> {
    family: Family<SeriesLabels, M, C>,
    names: &'static [&'static str],
    caps: Vec<Cap>,
}

impl<M, C> MetricFamily<M, C>
where
    M: Clone + Debug + TypedMetric + EncodeMetric + Send + Sync + 'static,
    C: MetricConstructor<M> + Clone + Send + Sync + 'static,
{
    fn register(registry: &mut Registry, (name, help, names): &MetricRow, constructor: C) -> Self {
        let family = Family::new_with_constructor(constructor);
        registry.register(*name, *help, family.clone());
        Self { family, names, caps: names.iter().map(|_| Cap::default()).collect() }
    }

    /// The series of these values, one for each label in the order of the table.
    fn of(&self, values: &[&str]) -> M {
        self.family.get_or_create_owned(&self.labels(values))
    }

    fn labels(&self, values: &[&str]) -> SeriesLabels {
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
    counters: Vec<MetricFamily<Counter>>,
    gauges: Vec<MetricFamily<Gauge<f64, AtomicU64>>>,
    histograms: Vec<MetricFamily<Histogram>>,
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
        let info: MetricFamily<Gauge> = MetricFamily::register(registry, &BUILD, Gauge::default);
        info.of(&[role.as_str(), env!("CARGO_PKG_VERSION")]).set(1);
        let counters =
            COUNTERS.iter().map(|row| MetricFamily::register(registry, row, Counter::default as _));
        let counters: Vec<MetricFamily<Counter>> = counters.collect();
        // A counter that begins with its first event never rises for a reader of the page: it has no value before.
        counters.iter().filter(|series| series.names.is_empty()).for_each(|series| drop(series.of(&[""])));
        let gauges = GAUGES.iter().map(|row| MetricFamily::register(registry, row, Gauge::default as _));
        let gauges = gauges.collect();
        let histograms = HISTOGRAMS.iter().map(|row| MetricFamily::register(registry, row, times as _));
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
    use std::collections::BTreeSet;

    use super::*;
    use crate::cap::MOST_WORDS;

    #[test]
    fn every_metric_has_a_name_of_its_own() {
        let tables = [COUNTERS, GAUGES, HISTOGRAMS];
        let names: BTreeSet<&str> = tables.iter().copied().flatten().map(|(name, ..)| *name).collect();
        assert_eq!(names.len(), tables.map(<[MetricRow]>::len).iter().sum::<usize>());
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
