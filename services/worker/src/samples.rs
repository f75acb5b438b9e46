//! Calls of systems, summed over the stages whose ends were written together: what the dispatcher learns limits from.

use std::collections::BTreeMap;

use pagurus_domain::number::saturated;
use pagurus_domain::system::{CallKind, CallOutcome, Latencies};
use pagurus_scenario::stage::CallMade;
use pagurus_wire::message::{CallNews, CallNewsOutcome};

/// Sums of calls, by key.
#[derive(Debug, Default)]
pub(crate) struct Samples<'a> {
    sums: BTreeMap<SampleKey<'a>, SampleSum>,
}

/// Calls that are summed: of a flow and scenario, to a system, of a kind, with an outcome.
type SampleKey<'a> = (&'a str, &'a str, &'a str, CallKind, &'a CallOutcome);

#[derive(Debug, Default)]
struct SampleSum {
    count: u32,
    stages: u32,
    took: Latencies,
    retry_after_ms: Option<u64>,
}

impl<'a> Samples<'a> {
    /// Adds the calls of a stage.
    pub fn add(&mut self, flow: &'a str, scenario: &'a str, calls: &'a [CallMade]) {
        for (at, call) in calls.iter().enumerate() {
            // A call that is answered by callback was made in an earlier stage.
            let is_made =
                |call: &CallMade| call.kind == CallKind::Direct || call.outcome == CallOutcome::Sent;
            let is_first = !calls[..at].iter().any(|before| before.system == call.system && is_made(before));
            let sum = self.sums.entry((flow, scenario, &call.system, call.kind, &call.outcome)).or_default();
            sum.count = sum.count.saturating_add(u32::from(call.outcome != CallOutcome::Held));
            sum.stages = sum.stages.saturating_add(u32::from(is_made(call) && is_first));
            call.took.into_iter().for_each(|took| sum.took.note(took));
            let after = call.retry_after.map(|after| saturated::<u64>(after.as_millis()));
            sum.retry_after_ms = sum.retry_after_ms.max(after);
        }
    }

    /// Returns the sums as news.
    pub fn news(self) -> Vec<CallNews> {
        let sums = self.sums.into_iter();
        sums.map(|((flow, scenario, system, kind, outcome), sum)| {
            let held = *outcome == CallOutcome::Held;
            let (outcome, class, built_in) = match outcome {
                CallOutcome::Sent => (CallNewsOutcome::Sent, None, None),
                CallOutcome::Answered => (CallNewsOutcome::Answered, None, None),
                CallOutcome::Failed(failure) => {
                    let class = failure.class.as_deref().map(str::to_owned);
                    (CallNewsOutcome::Failed, class, failure.built_in.map(|class| class.to_string()))
                }
                CallOutcome::Declined => (CallNewsOutcome::Failed, Some(String::new()), None),
                CallOutcome::Held => (CallNewsOutcome::Failed, Some(String::new()), None),
            };
            CallNews {
                flow: flow.to_owned(),
                scenario: scenario.to_owned(),
                system: system.to_owned(),
                asynchronous: kind == CallKind::Asynchronous,
                outcome,
                class,
                built_in,
                count: sum.count,
                stages: Some(sum.stages),
                held,
                took: sum.took.counts().collect(),
                retry_after_ms: sum.retry_after_ms,
            }
        })
        .collect()
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use pagurus_domain::system::{BuiltInClass, CallFailure};

    use super::*;

    #[test]
    fn dsp_16_calls_of_many_stages_are_summed_by_system_and_outcome() {
        let call = |outcome, ms: Option<u64>, after: Option<u64>| CallMade {
            system: "billing".to_owned(),
            kind: CallKind::Direct,
            outcome,
            took: ms.map(Duration::from_millis),
            retry_after: after.map(Duration::from_secs),
        };
        let answered =
            [call(CallOutcome::Answered, Some(5), None), call(CallOutcome::Answered, Some(5), None)];
        let built_in = Some(BuiltInClass::TooManyRequests);
        let throttled = || CallOutcome::Failed(CallFailure { class: Some("throttling".into()), built_in });
        let failed = [call(throttled(), None, Some(3)), call(throttled(), None, Some(60))];
        let declined = [call(CallOutcome::Declined, None, Some(9))];
        let held = [call(CallOutcome::Held, None, None)];
        let mut samples = Samples::default();
        samples.add("tariff", "tariff", &declined);
        samples.add("tariff", "tariff", &answered);
        samples.add("tariff", "tariff", &failed);
        samples.add("card", "card", &answered[..1]);
        samples.add("card", "card", &held);
        let news = samples.news();
        let summary: Vec<_> = news
            .iter()
            .map(|one| (one.flow.as_str(), one.outcome, one.class.as_deref(), [Some(one.count), one.stages]))
            .collect();
        assert_eq!(
            summary,
            [
                ("card", CallNewsOutcome::Answered, None, [Some(1), Some(1)]),
                ("card", CallNewsOutcome::Failed, Some(""), [Some(0), Some(1)]),
                ("tariff", CallNewsOutcome::Answered, None, [Some(2), Some(1)]),
                ("tariff", CallNewsOutcome::Failed, Some("throttling"), [Some(2), Some(1)]),
                ("tariff", CallNewsOutcome::Failed, Some(""), [Some(1), Some(1)]),
            ]
        );
        assert_eq!(news.iter().filter(|one| one.held).count(), 1);
        let after: Vec<_> = news.iter().map(|one| one.retry_after_ms).collect();
        assert_eq!(after, [None, None, None, Some(60_000), Some(9_000)]);
        let built_in: Vec<_> = news.iter().map(|one| one.built_in.as_deref()).collect();
        assert_eq!(built_in, [None, None, None, Some("429"), None]);
        assert_eq!(news[2].took.iter().map(|(_, count)| count).sum::<u32>(), 2);
    }
}
