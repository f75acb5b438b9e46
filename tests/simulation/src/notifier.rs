//! The notifier: a row leaves the outbox only after the confirm of its message.

use std::time::Duration;

use pagurus_domain::id::Role;
use pagurus_domain::invariants::traffic::ObservedNotification;
use pagurus_domain::invariants::{Invariant, Violation};

use crate::core::Core;
use crate::message::{Durable, Input, Message};
use crate::planted::Planted;
use crate::store::OutboxRow;

/// Time between two looks at the outbox.
const EVERY: i64 = 2_000;
/// Rest of one that could not be sent.
const DELAY: Duration = Duration::from_secs(3);

/// The process.
#[derive(Debug, Default)]
pub struct Notifier;

impl Notifier {
    /// Role of the process.
    pub const ROLE: Role = Role::Notifier;

    /// Takes what comes.
    pub fn take(core: &mut Core, input: Input) {
        match input {
            Input::Begin => core.later(EVERY, Input::Tick),
            Input::Tick => {
                core.later(EVERY, Input::Tick);
                if core.tables.outbox.is_empty() {
                    return;
                }
                if let Ok(rows) = core.call("take outbox", |tables| tables.take_outbox(20)) {
                    deliver(core, &rows);
                }
            }
            Input::Message(Message::Ended(lives)) => {
                if let Ok(rows) = core.call("read outbox", |tables| tables.read_outbox(&lives)) {
                    deliver(core, &rows);
                }
            }
            _ => {}
        }
    }
}

fn deliver(core: &mut Core, rows: &[OutboxRow]) {
    if rows.is_empty() {
        return;
    }
    if core.has(Planted::RemovedBeforeConfirm) {
        let _ = core.call("sent", |tables| tables.sent(rows));
        if core.died {
            return;
        }
    }
    let (mut confirmed, mut failed) = (Vec::new(), Vec::new());
    for row in rows {
        let arrives =
            core.broker_away <= core.now && !(core.faulty && core.chance.happens(core.plan.lost / 2));
        if arrives {
            receive(core, row);
            tell_parent(core, row);
        }
        let is_confirmed = arrives && !(core.faulty && core.chance.happens(core.plan.answer_lost));
        if is_confirmed {
            confirmed.push(row.clone());
        } else {
            failed.push(row.clone());
        }
    }
    if !confirmed.is_empty() && core.call("sent", |tables| tables.sent(&confirmed)).is_err() {
        core.tables.witness.saw("a notification was sent, and that was not written");
        return;
    }
    if !failed.is_empty() {
        let _ = core.call("unsent", |tables| tables.unsent(&failed, DELAY));
    }
}

/// The end of a child goes to its parent as any answer goes to a request.
fn tell_parent(core: &mut Core, row: &OutboxRow) {
    if let Some((request, content)) = row.answers.clone()
        && core.publish(Durable::Callback { request: request.0, content })
    {
        *core.reported_to_parents.entry(request.0).or_default() += 1;
        core.tables.witness.saw("the end of a child was reported to its parent");
    }
}

/// A client gets a notification: what it tells of has happened.
fn receive(core: &mut Core, row: &OutboxRow) {
    core.note(format_args!("tells of {} life {}: {}", row.id, row.life, row.kind));
    let order = core.tables.orders.get(&row.no);
    let is_over = order.is_some_and(|order| order.life > row.life || order.status.is_final());
    let phantom = Violation::unless(is_over, Invariant::NoPhantom, || {
        format!("the end of `{}`, life {}, was reported, and it goes on", row.id, row.life)
    });
    core.tables.witness.violations.extend(phantom);
    core.notified.push(ObservedNotification {
        id: row.id.clone(),
        life: row.life,
        kind: row.kind.clone(),
        message_id: row.message_id,
        body: row.body.clone(),
    });
}
