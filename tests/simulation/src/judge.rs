//! The judge: brings the rows and what was seen before the invariants of the domain.

use std::collections::BTreeMap;
use std::time::Duration;

use pagurus_domain::classes::PANIC;
use pagurus_domain::id::{Life, OrderNo, RequestId};
use pagurus_domain::invariants::operation::of_operation;
use pagurus_domain::invariants::standing::{OrderStanding, of_abandoned, of_order, of_queues};
use pagurus_domain::invariants::{Invariant, Violation, life, traffic};
use pagurus_domain::order::{OrderError, Status};

use crate::core::{Core, stamp};
use crate::outside::Clients;
use crate::store::{RequestStatus, Tables};

/// Word for an end that only a defect of the interpreter, or of this simulation, can bring about.
pub const DEFECT: &str = "a defect ended an order";

/// Time within which the stages of a lost node go to others, while nothing else fails.
const TAKEN_OVER: Duration = Duration::from_secs(12);

/// Judges the rows of this moment.
pub fn look(core: &mut Core) {
    let mut found = Vec::new();
    for no in core.tables.orders.keys() {
        found.extend(of_one(&core.tables, *no, false));
    }
    let tables = &core.tables;
    let running = tables.running.iter().filter_map(|(no, row)| Some((*no, row.queue.as_deref()?)));
    let members = tables.queued.iter().map(|(no, (queue, position))| (queue.as_str(), *position, *no));
    found.extend(of_queues(running, members));
    if !core.faulty {
        let since = stamp(core.healed_at);
        let waits = |(no, row): (&OrderNo, &crate::store::RunningRow)| {
            let over = tables.nodes.get(&row.node)?.ended_at?.max(since);
            of_abandoned(*no, core.stamp().duration_since(over).unsigned_abs(), TAKEN_OVER)
        };
        found.extend(tables.running.iter().filter_map(waits));
    }
    core.tables.witness.violations.extend(found);
}

fn of_one(tables: &Tables, no: OrderNo, reads_snapshots: bool) -> Vec<Violation> {
    let Some(order) = tables.orders.get(&no) else { return Vec::new() };
    let place = |place: &'_ (String, i64)| (place.0.clone(), place.1);
    let queued = tables.queued.get(&no).map(place);
    let ready = tables.ready.get(&no);
    let ready_place = ready.and_then(|row| row.place.clone());
    let waits = tables.due.contains_key(&no) && order.status == Status::Wait;
    let awaited = if reads_snapshots && waits { tables.awaited_by_position(no) } else { (0, 0) };
    let has_deadlines = tables
        .deadlines
        .range((no, crate::store::DeadlineKind::Start)..)
        .next()
        .is_some_and(|((of, _), _)| *of == no);
    of_order(&OrderStanding {
        no,
        status: order.status,
        attempt: order.attempt,
        mode: order.mode,
        ready: ready.map(|row| (row.attempt, ready_place.as_ref().map(|(queue, at)| (queue.as_str(), *at)))),
        running: tables.running.get(&no).map(|row| (row.attempt, row.queue.as_deref())),
        due: tables.due.get(&no).map(|row| (row.stream, Some(row.at))),
        queued: queued.as_ref().map(|(queue, at)| (queue.as_str(), *at)),
        has_deadlines,
        has_snapshot: tables.snapshots.contains_key(&no),
        awaited,
    })
}

/// True if nothing is left to be done.
pub fn is_at_rest(core: &Core) -> bool {
    let tables = &core.tables;
    core.undone() == 0
        && tables.outbox.is_empty()
        && tables.ready.is_empty()
        && tables.running.is_empty()
        && tables.due.is_empty()
        && tables.open_operations().is_empty()
        && tables.orders.values().all(|order| order.status.is_final())
}

/// Judges the whole run.
pub fn at_the_end(core: &mut Core, clients: &Clients) {
    let healed_at = core.healed_at;
    let mut found = Vec::new();
    let tables = &core.tables;
    for (no, order) in &tables.orders {
        found.extend(of_one(tables, *no, true));
        found.extend(Violation::unless(order.status.is_final(), Invariant::EverythingEnds, || {
            format!(
                "order {no} (`{}`) is `{}` at {}, and faults were over at {healed_at}",
                order.id, order.status, core.now
            )
        }));
        found.extend(life::of_history(*no, &order.history, order.events));
        let moves = order.moves.iter().map(|(from, to)| (from.as_str(), to.as_str()));
        let begin = order.begin.as_deref().or(Some("s0"));
        found.extend(life::of_path(*no, begin, moves));
    }
    let there: Vec<(String, Vec<u8>)> =
        tables.orders.values().map(|order| (order.id.clone(), order.digest.to_vec())).collect();
    let (mut confirmed, mut sent) = (clients.confirmed.clone(), clients.sent.clone());
    confirmed.extend(core.confirmed_children.clone());
    sent.extend(core.children.clone());
    found.extend(life::of_acceptance(&confirmed, &sent, &there));
    found.extend(of_children(tables));
    found.extend(of_operations(tables));
    found.extend(traffic::of_keys(&core.calls));
    found.extend(traffic::of_repeats(&core.calls));
    let interrupted: &std::collections::BTreeSet<(OrderNo, Life)> = &tables.witness.interrupted;
    found
        .extend(interrupted.iter().filter_map(|(no, life)| traffic::of_interrupted(*no, *life, &core.calls)));
    found.extend(traffic::of_notifications(&ends(core), &core.notified));
    let mut answers = clients.answers.clone();
    for (request, count) in &core.reported_to_parents {
        *answers.entry(*request).or_default() += count;
    }
    found.extend(of_callbacks(tables, &answers));
    let rest = Violation::unless(is_at_rest(core), Invariant::CleanRest, || {
        format!("{} durable messages and {} notifications are left", core.undone(), tables.outbox.len())
    });
    found.extend(rest);
    core.tables.witness.violations.extend(found);
    let of_defect = |error: &OrderError| error.class.as_deref() == Some(PANIC);
    if core.tables.orders.values().any(|order| order.error.as_ref().is_some_and(of_defect)) {
        core.tables.witness.saw(DEFECT);
    }
}

/// Ends that were to be reported to clients, by what the orders say.
fn ends(core: &Core) -> Vec<(String, Life, String)> {
    let mut ends = core.tables.witness.to_tell.clone();
    for order in core.tables.orders.values() {
        let kinds = [(order.notify, "final"), (order.answers.is_some(), "answer")];
        for entry in order.history.iter().filter(|entry| entry.ends) {
            for (_, kind) in kinds.iter().filter(|(is_wanted, _)| *is_wanted) {
                let end = (order.id.clone(), entry.life, (*kind).to_owned());
                if !ends.contains(&end) {
                    ends.push(end);
                }
            }
        }
    }
    ends
}

/// Checks that there is one child for each request.
fn of_children(tables: &Tables) -> Vec<Violation> {
    let mut children: BTreeMap<RequestId, &str> = BTreeMap::new();
    let mut found = Vec::new();
    for order in tables.orders.values() {
        let Some(request) = order.answers else { continue };
        let other = children.insert(request, &order.id);
        found.extend(Violation::unless(other.is_none(), Invariant::OneRegistration, || {
            format!("request {request} has two children, `{}` and {other:?}", order.id)
        }));
    }
    found
}

/// Checks that each operation is over, and did to each order once what it says.
fn of_operations(tables: &Tables) -> Vec<Violation> {
    let mut found = Vec::new();
    for (key, operation) in &tables.operations {
        let acted = |no: &OrderNo| tables.witness.operated.get(&(*key, *no)).copied().unwrap_or(0);
        let items = operation.items.iter().map(|(no, outcome)| (*no, *outcome, acted(no)));
        found.extend(of_operation(&format!("operation {key}"), operation.state, items));
    }
    found
}

fn of_callbacks(tables: &Tables, sent: &BTreeMap<uuid::Uuid, usize>) -> Vec<Violation> {
    let kept = tables.callbacks.iter().filter_map(|row| Some((row.request?.0, row.verdict)));
    let answered =
        tables.requests.iter().filter(|(_, row)| row.status == RequestStatus::Answered).map(|(id, _)| *id);
    traffic::of_callbacks(sent, kept, answered)
}
