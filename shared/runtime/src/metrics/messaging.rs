//! Messages at the broker, under the names of OpenTelemetry's conventions.

use std::time::Duration;

use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::Registry;

use super::{MetricFamily, MetricRow, Metrics, times};

/// Names of the labels: the destination as the conventions join it, the operation, and the kind of error, empty
/// where there is none.
const LABELS: &[&str] =
    &["messaging_system", "messaging_destination_name", "messaging_operation_name", "error_type"];

/// Counters of messages.
pub(super) const COUNTERS: [MetricRow; 2] = [
    ("messaging_client_sent_messages", "Messages that were sent to exchanges", LABELS),
    ("messaging_client_consumed_messages", "Messages that were taken from queues", LABELS),
];
/// Times of operations.
pub(super) const TIMES: [MetricRow; 2] = [
    ("messaging_client_operation_duration_seconds", "Time of sending, with its confirms", LABELS),
    (
        "messaging_process_duration_seconds",
        "Time for which a message of a client was worked on, from its hand-over by the broker to its acknowledgement",
        LABELS,
    ),
];

const SYSTEM: &str = "rabbitmq";

/// The families of this room.
#[derive(Debug)]
pub(super) struct Messaging {
    sent: MetricFamily<Counter>,
    consumed: MetricFamily<Counter>,
    times: MetricFamily<Histogram>,
    processing: MetricFamily<Histogram>,
}

impl Messaging {
    pub fn register(registry: &mut Registry) -> Self {
        let [sent, consumed] = &COUNTERS;
        let [operations, processing] = &TIMES;
        Self {
            sent: MetricFamily::register(registry, sent, Counter::default as _),
            consumed: MetricFamily::register(registry, consumed, Counter::default as _),
            times: MetricFamily::register(registry, operations, times as _),
            processing: MetricFamily::register(registry, processing, times as _),
        }
    }
}

impl Metrics {
    /// Counts messages that were sent to an exchange together; `error` is the kind of what went wrong, empty where
    /// nothing did.
    pub fn messages_sent(&self, exchange: &str, count: usize, error: &str, time: Duration) {
        if count > 0 {
            let labels = [SYSTEM, exchange, "publish", error];
            self.families.messaging.sent.of(&labels).inc_by(count as u64);
            self.families.messaging.times.of(&labels).observe(time.as_secs_f64());
        }
    }

    /// Observes the time for which messages of a queue were worked on together; `error` is the kind of what went wrong, empty
    /// where nothing did.
    pub fn messages_processed(&self, queue: &str, count: usize, error: &str, time: Duration) {
        if count > 0 {
            let series = self.families.messaging.processing.of(&[SYSTEM, queue, "process", error]);
            (0..count).for_each(|_| series.observe(time.as_secs_f64()));
        }
    }

    /// Counts messages that were taken from a queue.
    pub fn messages_consumed(&self, queue: &str, count: usize) {
        if count > 0 {
            let labels = [SYSTEM, queue, "process", ""];
            self.families.messaging.consumed.of(&labels).inc_by(count as u64);
        }
    }
}
