//! Lines of the log about orders in which nothing is wrong, in a target of their own (ORD-6): what operators of the systems
//! around search by order and business transaction.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::atomic::{AtomicU8, Ordering};
use std::time::Duration;

use jiff::Timestamp;
use pagurus_domain::number::saturated;
use pagurus_domain::order::registration::Request;
use pagurus_domain::order::{OrderError, OrderHead, Status};
use pagurus_domain::trace::TraceContext;
use tracing::Level;

/// The target of these lines.
pub const TARGET: &str = "log.orders";

/// Per cent of the orders that have lines.
static SAMPLE: AtomicU8 = AtomicU8::new(100);

/// End of a life.
#[derive(Clone, Debug)]
pub struct LoggedEnd {
    /// The order.
    pub order: OrderHead,
    /// Name of the scenario; empty where it cannot be read.
    pub scenario: String,
    /// Status in which it ended.
    pub status: Status,
    /// Reason for which it failed.
    pub error: Option<OrderError>,
    /// Time of the end.
    pub at: Timestamp,
}

/// Writes lines for this part of the orders from here on.
pub(crate) fn set_sample(percentage: u8) {
    SAMPLE.store(percentage, Ordering::Relaxed);
}

/// True if lines at `info` are written about the order. All lines of an order are, or none.
#[must_use]
pub fn is_wanted(order: &str) -> bool {
    tracing::enabled!(target: TARGET, Level::INFO) && is_sampled(order, SAMPLE.load(Ordering::Relaxed))
}

/// True if lines at `debug` are written about some orders.
#[must_use]
pub fn is_detailed() -> bool {
    tracing::enabled!(target: TARGET, Level::DEBUG)
}

/// True for this share of all ids: the same ones in each process.
fn is_sampled(order: &str, percentage: u8) -> bool {
    if percentage >= 100 {
        return true;
    }
    let mut hasher = DefaultHasher::new();
    order.hash(&mut hasher);
    hasher.finish() % 100 < u64::from(percentage)
}

/// Writes that an order was registered.
pub fn registered(request: &Request, trace: Option<String>) {
    if is_wanted(&request.id) {
        tracing::info!(
            target: TARGET,
            order = request.id,
            transaction = request.transaction_id,
            trace,
            scenario = request.scenario,
            "an order was registered"
        );
    }
}

/// Writes that a life of an order has ended.
pub(crate) fn ended(end: &LoggedEnd) {
    if !is_wanted(&end.order.id) {
        return;
    }
    let lasted = end
        .order
        .started_at
        .map(|started| Duration::try_from(end.at.duration_since(started)).unwrap_or_default());
    EndLine {
        order: &end.order,
        scenario: &end.scenario,
        trace: end.order.trace.as_deref().and_then(TraceContext::of_stored).map(|trace| trace.trace_id()),
        status: end.status,
        class: end.error.as_ref().and_then(|error| error.class.as_deref()),
        stages: end.order.stages,
        retries: end.order.retries,
        lasted,
    }
    .write();
}

/// Line about the end of a life.
pub struct EndLine<'a> {
    /// The order.
    pub order: &'a OrderHead,
    /// Name of the scenario; empty where it cannot be read.
    pub scenario: &'a str,
    /// Id of the trace.
    pub trace: Option<String>,
    /// Status in which it ended.
    pub status: Status,
    /// Class of the error by which it failed.
    pub class: Option<&'a str>,
    /// Stages of the life that ran.
    pub stages: i32,
    /// Stages that repeated another.
    pub retries: i32,
    /// Time from the start of the life; `None` where it never started.
    pub lasted: Option<Duration>,
}

impl EndLine<'_> {
    /// Writes the line; the caller knows that it is [wanted](is_wanted).
    pub fn write(self) {
        tracing::info!(
            target: TARGET,
            order = self.order.id,
            transaction = self.order.transaction_id,
            scenario = self.scenario,
            trace = self.trace,
            status = self.status.as_str(),
            class = self.class,
            life = self.order.life.0,
            stages = self.stages,
            retries = self.retries,
            ms = self.lasted.map(|lasted| saturated::<u64>(lasted.as_millis())),
            "an order has ended"
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ord_6_a_sample_has_its_share_of_the_orders_and_always_the_same() {
        let sampled =
            |percentage| (0..10_000).filter(|n| is_sampled(&format!("shop-{n}"), percentage)).count();
        assert_eq!((sampled(0), sampled(100)), (0, 10_000));
        assert!((800..1_200).contains(&sampled(10)), "{}", sampled(10));
        assert!((0..1_000).all(|n| {
            let id = format!("shop-{n}");
            !is_sampled(&id, 10) || is_sampled(&id, 20)
        }));
    }
}
