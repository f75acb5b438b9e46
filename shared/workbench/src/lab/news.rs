//! News on its way from the workers to the dispatcher, batch by batch.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use pagurus_dispatch::{DispatchEvent, Ready};
use pagurus_domain::system::{CallKind, CallOutcome, CallSamples, Latencies};

use super::chance::Chance;

type LabSampleKey = (Arc<str>, Arc<str>, bool, u8, Option<Arc<str>>);

/// News to be sent next.
#[derive(Debug, Default)]
pub(super) struct LabNews {
    ready: Vec<Ready>,
    events: Vec<DispatchEvent>,
    samples: BTreeMap<LabSampleKey, CallSamples>,
}

impl LabNews {
    /// A stage is ready.
    pub(super) fn ready(&mut self, row: Ready) {
        self.ready.push(row);
    }

    /// Something else happened.
    pub(super) fn event(&mut self, event: DispatchEvent) {
        self.events.push(event);
    }

    /// A call ended, or was sent.
    #[expect(clippy::too_many_arguments, reason = "the parts of one sample")]
    pub(super) fn call(
        &mut self,
        flow: &Arc<str>,
        scenario: &str,
        system: &str,
        kind: CallKind,
        outcome: CallOutcome,
        took: Duration,
        retry_after: Option<Duration>,
    ) {
        let (number, class) = match &outcome {
            CallOutcome::Sent | CallOutcome::Declined | CallOutcome::Held => (0, None),
            CallOutcome::Answered => (1, None),
            CallOutcome::Failed(failure) => (2, failure.class.clone()),
        };
        // A callback comes when the stage that called is over.
        let is_called = kind == CallKind::Direct || outcome == CallOutcome::Sent;
        let key = (Arc::clone(flow), Arc::from(system), kind == CallKind::Direct, number, class);
        let system = Arc::clone(&key.1);
        let samples = self.samples.entry(key).or_insert_with(|| CallSamples {
            flow: Arc::clone(flow),
            scenario: Arc::from(scenario),
            system,
            kind,
            outcome,
            count: 0,
            stages: 0,
            latencies: Latencies::default(),
            retry_after: None,
        });
        samples.count += 1;
        samples.stages += u32::from(is_called);
        samples.latencies.note(took);
        samples.retry_after = samples.retry_after.max(retry_after);
    }

    /// Takes all news to be sent, except for what is lost.
    pub(super) fn take(
        &mut self,
        lost_news: f64,
        lost_samples: f64,
        chance: &mut Chance,
    ) -> Vec<DispatchEvent> {
        let mut events = Vec::new();
        let samples = std::mem::take(&mut self.samples).into_values();
        let samples: Vec<CallSamples> = samples.filter(|_| !chance.happens(lost_samples)).collect();
        if !samples.is_empty() {
            events.push(DispatchEvent::Called(samples));
        }
        let others = std::mem::take(&mut self.events).into_iter();
        events.extend(others.filter(|_| !chance.happens(lost_news)));
        let ready = std::mem::take(&mut self.ready);
        if !ready.is_empty() && !chance.happens(lost_news) {
            events.push(DispatchEvent::Ready(ready));
        }
        events
    }
}
