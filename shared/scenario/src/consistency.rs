//! Judgement of the rows of an order (REC-6): facts in, inconsistencies out. Whatever may stand so for a moment is none.

use Inconsistency as Kind;
use pagurus_domain::activation::Stream;
use pagurus_domain::consistency::{
    ConsistencyRepair, DueFacts, Found, Inconsistency, OrderFacts, OrderRowFacts, PlaceName,
};
use pagurus_domain::order::Status;

use crate::stage::{Snapshot, SnapshotError};

/// Everything that the rows under one number contradict each other in. What concerns the place comes first: the
/// rest is repaired on top of it.
#[must_use]
pub fn judge(facts: &OrderFacts) -> Vec<Found> {
    let Some(order) = &facts.order else { return without_order(facts) };
    let mut found = Findings::default();
    if order.status.is_final() {
        of_ended(facts, order, &mut found);
    } else {
        of_living(facts, order, &mut found);
    }
    found.when(order.open_conditions > 0 && order.status != Status::Postponed, Kind::ConditionLeftOpen, {
        Some(ConsistencyRepair::CloseConditions)
    });
    found.when(!order.failure_fits, Kind::FailureRowMismatch, Some(ConsistencyRepair::RewriteFailure));
    found.when(order.greatest_life > order.life, Kind::UnknownLife, None);
    found.when(order.events_in_history != order.events, Kind::HistoryGap, None);
    found.0
}

#[derive(Default)]
struct Findings(Vec<Found>);

impl Findings {
    fn when(&mut self, is_so: bool, kind: Kind, repair: Option<ConsistencyRepair>) {
        if is_so {
            self.0.push(Found { kind, repair });
        }
    }
}

fn without_order(facts: &OrderFacts) -> Vec<Found> {
    let mut found = Findings::default();
    found.when(facts.queued.is_some(), Kind::QueuedWithoutOrder, Some(ConsistencyRepair::LeaveQueue));
    let others = has_place(facts) || facts.has_deadlines || facts.has_params || facts.snapshot.is_some();
    found.when(others, Kind::RowsWithoutOrder, Some(ConsistencyRepair::RemoveRows));
    found.0
}

const fn has_place(facts: &OrderFacts) -> bool {
    facts.running.is_some() || facts.ready.is_some() || facts.due.is_some()
}

fn of_ended(facts: &OrderFacts, order: &OrderRowFacts, found: &mut Findings) {
    found.when(has_place(facts), Kind::PlaceOfEnded, Some(ConsistencyRepair::LeavePlaces));
    found.when(facts.queued.is_some(), Kind::QueueOwnerGone, Some(ConsistencyRepair::LeaveQueue));
    found.when(facts.has_deadlines, Kind::DeadlineOfEnded, Some(ConsistencyRepair::DropDeadlines));
    found.when(order.waiting_calls > 0, Kind::CallWaitingOnEnded, Some(ConsistencyRepair::CloseCalls));
}

fn of_living(facts: &OrderFacts, order: &OrderRowFacts, found: &mut Findings) {
    let snapshot = facts.snapshot.as_deref().map(Snapshot::from_text);
    let position = snapshot.as_ref().and_then(|read| read.as_ref().ok());
    let places = [facts.running.is_some(), facts.ready.is_some(), facts.due.is_some()];
    match places.into_iter().filter(|stands| *stands).count() {
        0 => found.when(true, Kind::NoPlace, way_back(order, position)),
        1 => of_place(facts, order, position, found),
        _ => found.when(true, Kind::TwoPlaces, place_to_keep(facts, order).map(ConsistencyRepair::KeepOnly)),
    }
    of_queue(facts, found);
    let is_suspended = matches!(order.status, Status::Sleep | Status::Wait | Status::Polling | Status::Retry);
    let is_unreadable = matches!(snapshot, Some(Err(SnapshotError(_))));
    found.when(!facts.has_params, Kind::PayloadMissing, None);
    found.when(is_suspended && snapshot.is_none(), Kind::ContextMissing, None);
    found.when(is_unreadable, Kind::ContextUnreadable, None);
    found.when(!order.has_scenario, Kind::ScenarioMissing, None);
    let was_handed_out = facts.running.is_some() || facts.ready.as_ref().is_some_and(|row| row.is_reissued);
    let is_unwatched = order.start_deadline.is_some() && !order.has_started && !facts.has_start_deadline;
    found.when(is_unwatched && !was_handed_out, Kind::DeadlineMissing, Some(ConsistencyRepair::WatchStart));
}

/// The place that an order has lost, as far as its remains show it; a sleeper is put among the longest.
fn way_back(order: &OrderRowFacts, position: Option<&Snapshot>) -> Option<ConsistencyRepair> {
    let ready = ConsistencyRepair::MakeReady { joins_queue: !order.has_started };
    match order.status {
        Status::New | Status::Reopen => Some(ready),
        Status::Postponed if order.open_conditions > 0 => {
            Some(ConsistencyRepair::Suspend { stream: Stream::Dependent, at: None })
        }
        Status::Postponed => Some(
            order
                .start_at
                .map_or(ready, |at| ConsistencyRepair::Suspend { stream: Stream::Postponed, at: Some(at) }),
        ),
        Status::Sleep | Status::Wait | Status::Polling | Status::Retry => match position?.resting() {
            Some(rest) if rest.status == order.status => {
                let stream = match order.status {
                    Status::Wait => Stream::Wait,
                    Status::Polling => Stream::Polling,
                    Status::Retry => Stream::Retry,
                    _ => Stream::Oldest,
                };
                Some(ConsistencyRepair::Suspend { stream, at: Some(rest.until) })
            }
            Some(_) => None,
            // An entry point was saved in the middle of a stage: the stage goes on from there.
            None => Some(ready),
        },
        _ => None,
    }
}

/// The place that counts. Numbers of hand-outs only grow: a stage whose number is below the order's own has
/// ended, and what it led to stands in `due`.
fn place_to_keep(facts: &OrderFacts, order: &OrderRowFacts) -> Option<PlaceName> {
    let running = facts.running.as_ref().map(|row| (row.attempt, PlaceName::Running));
    let ready = facts.ready.as_ref().map(|row| (row.attempt, PlaceName::Ready));
    let stage = match (running, ready) {
        (Some(running), Some(ready)) => Some(if ready.0 > running.0 { ready } else { running }),
        (one, other) => one.or(other),
    };
    let (attempt, place) = stage?;
    match (facts.due.is_some(), place) {
        (false, _) => Some(place),
        (true, _) if attempt > order.attempt => Some(place),
        // A stage may have saved how far it has come under its number, and go on: that looks the same.
        (true, PlaceName::Running) if attempt == order.attempt => None,
        (true, _) => Some(PlaceName::Due),
    }
}

fn of_place(facts: &OrderFacts, order: &OrderRowFacts, position: Option<&Snapshot>, found: &mut Findings) {
    if let Some(running) = &facts.running {
        found.when(!running.is_node_known, Kind::RunningWithoutNode, Some(ConsistencyRepair::HandOutAgain));
        found.when(running.attempt < order.attempt, Kind::AttemptBehind, None);
    }
    if let Some(ready) = &facts.ready {
        found.when(ready.attempt <= order.attempt, Kind::AttemptBehind, Some(ConsistencyRepair::Renumber));
    }
    let Some(due) = &facts.due else { return };
    let stream = stream_of(*due, order.status);
    found.when(stream.is_none(), Kind::DueWithoutStream, {
        way_back(order, position).filter(|repair| matches!(repair, ConsistencyRepair::Suspend { .. }))
    });
    let waits_in_vain = stream == Some(Stream::Dependent) && order.open_conditions == 0;
    found.when(waits_in_vain, Kind::WaitsForNothing, Some(ConsistencyRepair::Start));
    if stream == Some(Stream::Wait) {
        of_wait(order, position, found);
    }
}

/// The stream of a suspension; none where it is not one of this status.
fn stream_of(due: DueFacts, status: Status) -> Option<Stream> {
    let stream = Stream::of_number(due.stream)?;
    let fits = match stream {
        Stream::Youngest | Stream::Middle | Stream::Oldest => status == Status::Sleep,
        Stream::Wait => status == Status::Wait,
        Stream::Polling => status == Status::Polling,
        Stream::Retry => status == Status::Retry,
        Stream::Postponed | Stream::Dependent => status == Status::Postponed,
    };
    fits.then_some(stream)
}

fn of_wait(order: &OrderRowFacts, position: Option<&Snapshot>, found: &mut Findings) {
    let (Some(position), Some(requests)) = (position, &order.requests) else { return };
    // While a call is handled, or an action is held back, the rest is for that, and not for answers.
    if position.handling.is_some() || position.main.held.is_some() {
        return;
    }
    let awaited = position.awaited();
    let stand = |id| requests.iter().find(|(known, _)| *known == id).map(|(_, is_answered)| *is_answered);
    found.when(awaited.iter().any(|id| stand(*id).is_none()), Kind::AwaitedRequestMissing, None);
    let is_answered = !awaited.is_empty() && awaited.iter().all(|id| stand(*id) == Some(true));
    let is_missed = is_answered && order.awaited_open == 0;
    found.when(is_missed, Kind::AnsweredNotWoken, Some(ConsistencyRepair::WakeAnswered));
}

fn of_queue(facts: &OrderFacts, found: &mut Findings) {
    let member = facts.queued.as_ref().map(|(queue, position, _)| (queue.as_str(), *position));
    if let Some(ready) = &facts.ready {
        let place = ready.place.as_ref().map(|(queue, position)| (queue.as_str(), *position));
        let repair =
            if member.is_some() { ConsistencyRepair::FollowQueue } else { ConsistencyRepair::RejoinQueue };
        found.when(place != member, Kind::MembershipDiffers, Some(repair));
    }
    if let Some(running) = &facts.running {
        let owns = running.queue.as_deref();
        let differs = owns != member.map(|(queue, _)| queue);
        // Who runs is the head, whatever position it had.
        let repair = member.is_none().then_some(ConsistencyRepair::RejoinQueue);
        found.when(differs, Kind::MembershipDiffers, repair);
    }
    if let Some((_, position, last)) = &facts.queued {
        let is_above = last.is_none_or(|last| *position > last);
        found.when(is_above, Kind::PositionAboveLast, Some(ConsistencyRepair::RaiseQueue));
    }
}

#[cfg(test)]
mod tests;
