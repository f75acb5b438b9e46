//! News in the words of the policy.

use std::time::Duration;

use pagurus_domain::dispatch::{HandOut, Lane, QueuePosition, Ready, Refusal, RequestsMoved, StageMeasured};
use pagurus_domain::id::{Attempt, Incarnation, OrderNo};
use pagurus_domain::order::Priority;
use pagurus_domain::system::{CallKind, CallOutcome, CallSamples, Latencies};
use pagurus_wire::message::{
    CallNews, CallNewsOutcome, EndedStage, ReadyNews, RefusalReason, RefusedHandOut, RequestsNews,
};

/// A ready stage as news tells it.
pub(crate) fn ready_news(told: ReadyNews) -> Ready {
    Ready {
        no: OrderNo(told.no),
        attempt: Attempt(told.attempt),
        flow: told.flow.into(),
        priority: told.priority.parse().unwrap_or(Priority::Normal),
        lane: if told.woken { Lane::Woken } else { Lane::Fresh },
        place: told.place.map(|place| QueuePosition { queue: place.queue.into(), position: place.position }),
    }
}

/// Sums of calls as news tells them.
pub(crate) fn samples(told: CallNews) -> CallSamples {
    CallSamples {
        flow: told.flow.into(),
        scenario: told.scenario.into(),
        system: told.system.into(),
        kind: if told.asynchronous { CallKind::Asynchronous } else { CallKind::Direct },
        outcome: match told.outcome {
            CallNewsOutcome::Sent => CallOutcome::Sent,
            CallNewsOutcome::Answered => CallOutcome::Answered,
            CallNewsOutcome::Failed => CallOutcome::Failed(told.class.unwrap_or_default().into()),
        },
        count: told.count,
        latencies: Latencies::of_counts(told.took),
        retry_after: told.retry_after_ms.map(Duration::from_millis),
    }
}

/// A change of open requests as news tells it.
pub(crate) fn requests(told: RequestsNews) -> RequestsMoved {
    RequestsMoved { flow: told.flow.into(), system: told.system.into(), by: told.by }
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
pub(crate) fn refused(told: &RefusedHandOut) -> (HandOut, Refusal) {
    let why = match told.why {
        RefusalReason::Gone => Refusal::Gone,
        RefusalReason::Behind => Refusal::Behind,
        RefusalReason::Busy => Refusal::Busy,
        RefusalReason::StaleEpoch => Refusal::Epoch,
    };
    let hand_out = HandOut {
        no: OrderNo(told.no),
        attempt: Attempt(told.attempt),
        node: Incarnation(told.node),
        serial: told.serial,
    };
    (hand_out, why)
}
