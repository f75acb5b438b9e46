//! Conversion of news into events of the policy.

use std::time::Duration;

use pagurus_dispatch::{HandOut, Lane, QueuePosition, Ready, Refusal, RequestsMoved, StageMeasured};
use pagurus_domain::id::{Attempt, Incarnation, OrderNo, UnknownWord};
use pagurus_domain::system::{CallFailure, CallKind, CallOutcome, CallSamples, Latencies};
use pagurus_runtime::metrics::{Count, Metrics};
use pagurus_wire::message::{
    CallNews, CallNewsOutcome, EndedStage, ReadyNews, RefusalReason, RefusedHandOut, RequestsNews,
};

/// A ready stage as news tells it; none where its priority is a word of another version, because the dispatcher
/// reads the row itself soon.
pub(crate) fn ready_news(metrics: &Metrics, news: ReadyNews) -> Option<Ready> {
    let priority = news.priority.parse().inspect_err(|error: &UnknownWord| {
        metrics.count(Count::UnreadableMessages, "news", 1);
        tracing::warn!(order = news.no, %error, "news of a ready stage cannot be read");
    });
    Some(Ready {
        no: OrderNo(news.no),
        attempt: Attempt(news.attempt),
        flow: news.flow.into(),
        priority: priority.ok()?,
        lane: if news.woken { Lane::Woken } else { Lane::Fresh },
        place: news.place.map(|place| QueuePosition { queue: place.queue.into(), position: place.position }),
    })
}

/// Sums of calls as news tells them.
pub(crate) fn samples(news: CallNews) -> CallSamples {
    let is_made = !news.asynchronous || news.outcome == CallNewsOutcome::Sent;
    let stages = news.stages.unwrap_or(if is_made { news.count } else { 0 });
    CallSamples {
        flow: news.flow.into(),
        scenario: news.scenario.into(),
        system: news.system.into(),
        kind: if news.asynchronous { CallKind::Asynchronous } else { CallKind::Direct },
        outcome: match news.outcome {
            CallNewsOutcome::Sent => CallOutcome::Sent,
            CallNewsOutcome::Answered => CallOutcome::Answered,
            CallNewsOutcome::Failed if news.held => CallOutcome::Held,
            CallNewsOutcome::Failed if news.class.as_deref() == Some("") && news.built_in.is_none() => {
                CallOutcome::Declined
            }
            // A built-in class of a later version is a failure all the same.
            CallNewsOutcome::Failed => CallOutcome::Failed(CallFailure {
                class: news.class.filter(|class| !class.is_empty()).map(Into::into),
                built_in: news.built_in.and_then(|word| word.parse().ok()),
            }),
        },
        count: news.count,
        stages,
        latencies: Latencies::of_counts(news.took),
        retry_after: news.retry_after_ms.map(Duration::from_millis),
    }
}

/// A change of open requests as news tells it.
pub(crate) fn requests(news: RequestsNews) -> RequestsMoved {
    RequestsMoved { flow: news.flow.into(), system: news.system.into(), by: news.by }
}

/// Measurements of a stage; none of one that was broken off.
pub(crate) fn measured(ended: &EndedStage) -> Option<StageMeasured> {
    Some(StageMeasured {
        took: Duration::from_millis(ended.duration_ms),
        waited: Duration::from_millis(ended.waited_ms?),
        class: ended.class.as_deref().map(Into::into),
    })
}

/// A hand-out that was refused, and why.
pub(crate) fn refused(refusal: &RefusedHandOut) -> (HandOut, Refusal) {
    let why = match refusal.why {
        RefusalReason::Gone => Refusal::Gone,
        RefusalReason::Behind => Refusal::Behind,
        RefusalReason::Busy => Refusal::Busy,
        RefusalReason::StaleEpoch => Refusal::Epoch,
    };
    let hand_out = HandOut {
        no: OrderNo(refusal.no),
        attempt: Attempt(refusal.attempt),
        node: Incarnation(refusal.node),
        serial: refusal.serial,
    };
    (hand_out, why)
}
