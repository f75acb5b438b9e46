//! Traffic of orders with others: calls that systems got, notifications that clients got, answers that they sent.

use std::collections::BTreeMap;

use jiff::Timestamp;
use uuid::Uuid;

use super::{Invariant, Violation};
use crate::id::{Life, OrderNo};

/// A call that a called system got.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ObservedCall {
    /// The order.
    pub no: OrderNo,
    /// Life of it.
    pub life: Life,
    /// The action: visit, state, and what is called. The same for each repeat of it, and for nothing else.
    pub action: String,
    /// The hand-out that made it.
    pub attempt: i32,
    /// Idempotency-Key.
    pub key: Uuid,
    /// Begin.
    pub at: Timestamp,
}

/// Judges the keys of calls: the same over every repeat of an action, and another for each other action.
#[must_use]
pub fn of_keys(calls: &[ObservedCall]) -> Vec<Violation> {
    let mut by_action: BTreeMap<(OrderNo, Life, &str), Uuid> = BTreeMap::new();
    let mut by_key: BTreeMap<Uuid, (OrderNo, Life, &str)> = BTreeMap::new();
    let mut found = Vec::new();
    for call in calls {
        let action = (call.no, call.life, call.action.as_str());
        let key = *by_action.entry(action).or_insert(call.key);
        let owner = *by_key.entry(call.key).or_insert(action);
        found.extend(Violation::unless(key == call.key && owner == action, Invariant::OneKey, || {
            format!(
                "order {}, life {}: `{}` has {}, which is of {owner:?}",
                call.no, call.life, call.action, call.key
            )
        }));
    }
    found
}

/// Judges the repeats of one action within one hand-out: none calls twice but by a retry, and a retry is a stage of its own.
#[must_use]
pub fn of_repeats(calls: &[ObservedCall]) -> Vec<Violation> {
    let mut counts: BTreeMap<(OrderNo, i32, &str), u32> = BTreeMap::new();
    for call in calls {
        *counts.entry((call.no, call.attempt, &call.action)).or_default() += 1;
    }
    let repeated = counts.into_iter().filter(|(_, count)| *count > 1);
    let violation = |((no, attempt, action), count)| {
        let evidence = format!("order {no}: hand-out {attempt} called `{action}` {count} times");
        Violation::of(Invariant::ExplainedRepeat, evidence)
    };
    repeated.map(violation).collect()
}

/// Judges the calls of a life that was interrupted before it began: there are none.
#[must_use]
pub fn of_interrupted(no: OrderNo, life: Life, calls: &[ObservedCall]) -> Option<Violation> {
    let called = calls.iter().find(|call| (call.no, call.life) == (no, life));
    called.map(|call| {
        let evidence = format!("order {no} was interrupted in life {life}, and called `{}`", call.action);
        Violation::of(Invariant::InterruptedIdle, evidence)
    })
}

/// A notification that a client got.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ObservedNotification {
    /// The client's id of the order.
    pub id: String,
    /// Life of it.
    pub life: Life,
    /// The word for the end that it tells of: two ends of one life differ in it.
    pub kind: String,
    /// Id of the message.
    pub message_id: Uuid,
    /// The body.
    pub body: String,
}

/// Judges notifications against the ends to be reported: order, life and kind of each.
#[must_use]
pub fn of_notifications(
    ends: &[(String, Life, String)],
    received: &[ObservedNotification],
) -> Vec<Violation> {
    let mut reported: BTreeMap<(&str, Life, &str), &ObservedNotification> = BTreeMap::new();
    let mut ids: BTreeMap<Uuid, (&str, Life, &str)> = BTreeMap::new();
    let mut found = Vec::new();
    for one in received {
        let end = (one.id.as_str(), one.life, one.kind.as_str());
        let first = reported.entry(end).or_insert(one);
        let owner = *ids.entry(one.message_id).or_insert(end);
        let is_same = first.message_id == one.message_id && first.body == one.body && owner == end;
        found.extend(Violation::unless(is_same, Invariant::OneNotification, || {
            format!("{end:?} was reported as {} and as {}", first.message_id, one.message_id)
        }));
    }
    for (id, life, kind) in ends {
        let was_reported = reported.remove(&(id.as_str(), *life, kind.as_str())).is_some();
        found.extend(Violation::unless(was_reported, Invariant::OneNotification, || {
            format!("nobody was notified of `{kind}` of `{id}`, life {life}")
        }));
    }
    let phantoms = reported
        .keys()
        .map(|end| Violation::of(Invariant::NoPhantom, format!("{end:?} was reported, and is no end")));
    found.extend(phantoms);
    found
}

/// Judges callbacks: every one that was sent and confirmed was kept, each request has one that was accepted at most, and one
/// that is answered has one.
#[must_use]
pub fn of_callbacks<'a>(
    sent: &BTreeMap<Uuid, usize>,
    kept: impl IntoIterator<Item = (Uuid, &'a str)>,
    answered: impl IntoIterator<Item = Uuid>,
) -> Vec<Violation> {
    let mut counts: BTreeMap<Uuid, (usize, usize)> = BTreeMap::new();
    for (request, verdict) in kept {
        let (all, accepted) = counts.entry(request).or_default();
        *all += 1;
        *accepted += usize::from(verdict == "accepted");
    }
    let mut found = Vec::new();
    for (request, count) in sent {
        let all = counts.get(request).map_or(0, |(all, _)| *all);
        found.extend(Violation::unless(all >= *count, Invariant::CallbackKept, || {
            format!("request {request}: {count} callbacks were confirmed, {all} kept")
        }));
    }
    for (request, (_, accepted)) in &counts {
        found.extend(Violation::unless(*accepted < 2, Invariant::CallbackKept, || {
            format!("request {request}: {accepted} callbacks were accepted")
        }));
    }
    for request in answered {
        let accepted = counts.get(&request).map_or(0, |(_, accepted)| *accepted);
        found.extend(Violation::unless(accepted == 1, Invariant::CallbackKept, || {
            format!("request {request} is answered, by {accepted} callbacks")
        }));
    }
    found
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test may panic")]

    use super::*;

    fn call(action: &str, attempt: i32, key: u128) -> ObservedCall {
        ObservedCall {
            no: OrderNo(1),
            life: Life(1),
            action: action.to_owned(),
            attempt,
            key: Uuid::from_u128(key),
            at: Timestamp::UNIX_EPOCH,
        }
    }

    #[test]
    fn scn_14_a_key_stands_for_one_action() {
        assert_eq!(of_keys(&[call("a", 1, 1), call("a", 2, 1), call("b", 2, 2)]), []);
        assert_eq!(of_keys(&[call("a", 1, 1), call("a", 2, 2)]).len(), 1);
        assert_eq!(of_keys(&[call("a", 1, 1), call("b", 1, 1)]).len(), 1);
        assert_eq!(of_repeats(&[call("a", 1, 1), call("a", 2, 1)]), []);
        assert_eq!(of_repeats(&[call("a", 1, 1), call("a", 1, 1)]).len(), 1);
        assert!(of_interrupted(OrderNo(1), Life(2), &[call("a", 1, 1)]).is_none());
        assert!(of_interrupted(OrderNo(1), Life(1), &[call("a", 1, 1)]).is_some());
    }

    #[test]
    fn ord_19_each_end_is_reported_by_one_message_however_often() {
        let notice = |kind: &str, id: u128| ObservedNotification {
            id: "a".into(),
            life: Life(1),
            kind: kind.into(),
            message_id: Uuid::from_u128(id),
            body: kind.into(),
        };
        let ends = [("a".to_owned(), Life(1), "final".to_owned())];
        let kinds = |received: &[ObservedNotification]| -> Vec<Invariant> {
            of_notifications(&ends, received).into_iter().map(|one| one.invariant).collect()
        };
        assert_eq!(kinds(&[notice("final", 1), notice("final", 1)]), []);
        assert_eq!(kinds(&[]), [Invariant::OneNotification]);
        assert_eq!(kinds(&[notice("final", 1), notice("final", 2)]), [Invariant::OneNotification]);
        assert_eq!(kinds(&[notice("final", 1), notice("final-2", 2)]), [Invariant::NoPhantom]);
    }

    #[test]
    fn scn_7_callbacks_are_kept_and_one_is_accepted() {
        let request = Uuid::from_u128(1);
        let sent = BTreeMap::from([(request, 2)]);
        let accepted = (request, "accepted");
        assert_eq!(of_callbacks(&sent, [accepted, (request, "duplicate")], [request]), []);
        assert_eq!(of_callbacks(&sent, [accepted], [request]).len(), 1, "one is lost");
        assert_eq!(of_callbacks(&sent, [accepted, accepted], [request]).len(), 2, "two are accepted");
        assert_eq!(
            of_callbacks(&sent, [(request, "late"), (request, "late")], [request]).len(),
            1,
            "none is"
        );
    }
}
