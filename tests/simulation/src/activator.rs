//! The activator: what is due, commands that are repeated, recovery, failover.

use std::collections::BTreeMap;
use std::time::Duration;

use pagurus_domain::activation::{ActivationMode, Stream, WakingPace, repeat_at};
use pagurus_domain::classes::{DEADLINE_EXCEEDED, DEPENDENCY_FAILED, POISON, PROCESS_TIMEOUT};
use pagurus_domain::id::{Incarnation, OrderNo};
use pagurus_domain::operation::ItemOutcome;
use pagurus_domain::order::OrderError;
use pagurus_domain::order::transition::Cause;
use pagurus_domain::recovery::{Finding, rest_between_passes};

use crate::core::{Core, Trouble, millis};
use crate::effects::Effects;
use crate::intake::tell_of_action;
use crate::message::Input;
use crate::plan::{LOST_AFTER, RECOVERY};
use crate::planted::Planted;
use crate::scenarios::Library;
use crate::store::{Acted, DeadlineKind, Ending};
use crate::witness::MAX_RESTARTS;

/// Time between two looks at what is due.
const EVERY: i64 = 300;
/// Orders that are woken at once.
const BATCH: usize = 20;
/// Least time after which a command is repeated.
const MIN_SHIFT: Duration = Duration::from_secs(4);
/// Orders that an operation acts on in one transaction.
const PIECE: u64 = 4;
/// Stages of a lost node in one pass.
const FAILOVER: usize = 5;

/// The process.
#[derive(Debug)]
pub struct Activating {
    node: Incarnation,
}

impl Activating {
    /// Creates an activator that is registered under this number.
    #[must_use]
    pub const fn new(node: Incarnation) -> Self {
        Self { node }
    }

    /// Takes what comes.
    pub fn take(&mut self, core: &mut Core, library: &Library, input: Input) {
        match input {
            Input::Begin => {
                core.later(EVERY, Input::Tick);
                core.later(millis(RECOVERY), Input::Look);
                core.later(millis(RECOVERY), Input::Round);
            }
            Input::Tick => {
                core.later(EVERY, Input::Tick);
                for stream in Stream::ALL {
                    if wake(core, *stream) == Err(Trouble::Died) {
                        return;
                    }
                }
            }
            Input::Look => {
                core.later(millis(RECOVERY), Input::Look);
                if self.recover(core) != Err(Trouble::Died)
                    && look_at_conditions(core, library) != Err(Trouble::Died)
                {
                    let _ = carry_out(core);
                }
            }
            Input::Round => {
                let rest = fail_over(core).unwrap_or(RECOVERY);
                core.later(millis(rest), Input::Round);
            }
            _ => {}
        }
    }

    /// Does one look of recovery. A part that fails does not keep the others from looking.
    fn recover(&self, core: &mut Core) -> Result<(), Trouble> {
        let node = self.node;
        let goes_on = |outcome: Result<(), Trouble>| match outcome {
            Err(Trouble::Died) => Err(Trouble::Died),
            _ => Ok(()),
        };
        match core.call("lose silent", |tables| tables.lose_silent(node, LOST_AFTER)) {
            Ok(0) | Err(Trouble::Away | Trouble::Unknown) => {}
            Ok(lost) => {
                core.note(format_args!("{lost} nodes are lost"));
                let mut effects = Effects::default();
                effects.news.workers_changed = true;
                effects.send(core);
            }
            Err(Trouble::Died) => return Err(Trouble::Died),
        }
        goes_on(overdue(core))?;
        goes_on(deadlines(core))?;
        goes_on(repeat(core))
    }
}

fn wake(core: &mut Core, stream: Stream) -> Result<(), Trouble> {
    let now = core.stamp();
    core.tables.now = now;
    if core.tables.due_now(stream, 1).is_empty() {
        return Ok(());
    }
    let woken = core.call("wake", |tables| {
        let mut pace = WakingPace::of(tables.woken_by_flow(), &BTreeMap::new());
        let chosen: Vec<OrderNo> = pace.choose(tables.due_now(stream, 200), BATCH);
        let repeats = ActivationMode::AtLeastOnceInProgress.repeats(stream);
        tables.wake(stream, &chosen, repeats.then(|| repeat_at(now, Duration::ZERO, MIN_SHIFT)))
    })?;
    for stage in &woken {
        core.note(format_args!("wakes order {} of {stream}", stage.no));
    }
    Effects::of_ready(woken).send(core);
    Ok(())
}

/// Conditions of orders that wait for others: what no end has settled, and what ends an order.
fn look_at_conditions(core: &mut Core, library: &Library) -> Result<(), Trouble> {
    core.tables.now = core.stamp();
    let waiting = core.tables.waiting_for_others();
    if waiting.is_empty() {
        return Ok(());
    }
    let settled = core.call("conditions", |tables| {
        tables.look_at_conditions(&waiting, |scenario, state| library.can_end_in(scenario, state))
    })?;
    for stage in &settled.ready {
        core.note(format_args!("order {} waits for nobody any more", stage.no));
    }
    Effects::of_ready(settled.ready).send(core);
    for (no, fails) in settled.ends {
        let (cause, error) = if fails {
            let error = OrderError::new(DEPENDENCY_FAILED, "another order ended otherwise");
            (Cause::DependencyFailed, Some(error))
        } else {
            (Cause::Canceled, None)
        };
        end(core, no, &Ending { cause, error, pass: None })?;
        core.tables.witness.saw("an order ended because another ended otherwise");
    }
    Ok(())
}

/// Bulk operations: the next piece of each.
fn carry_out(core: &mut Core) -> Result<(), Trouble> {
    for key in core.call("operations", |tables| tables.open_operations())? {
        let Some(action) = core.tables.operations.get(&key).map(|operation| operation.action) else {
            continue;
        };
        let acted = if core.tables.notes_apart() {
            act_in_two(core, key)?
        } else {
            core.call("act on piece", |tables| tables.act_on_piece(key, PIECE))?
        };
        for one in acted {
            tell_of_action(core, action, one);
            core.tables.witness.saw("an operation acted on an order");
        }
    }
    Ok(())
}

/// Two transactions instead of one, which is a planted bug.
fn act_in_two(core: &mut Core, key: usize) -> Result<Vec<Acted>, Trouble> {
    let piece = core.call("piece", |tables| tables.piece(key, PIECE))?;
    if core.has(Planted::PieceNotedBefore) {
        let done: Vec<_> = piece.iter().map(|no| (*no, ItemOutcome::Done)).collect();
        core.call("note piece", |tables| tables.note_piece(key, &done))?;
        core.pass_between("note and act")?;
    }
    let (acted, outcomes) = core.call("act on piece", |tables| tables.act_on(key, &piece))?;
    core.pass_between("act and note")?;
    core.call("note piece", |tables| tables.note_piece(key, &outcomes))?;
    Ok(acted)
}

fn repeat(core: &mut Core) -> Result<(), Trouble> {
    let again = core.call("repeat", |tables| tables.repeat(BATCH, MIN_SHIFT))?;
    Effects::of_ready(again).send(core);
    Ok(())
}

/// Hands these stages out again, and ends the poison among them.
pub fn hand_out_again(
    core: &mut Core,
    name: &str,
    find: impl Fn(&crate::store::Tables) -> Vec<OrderNo>,
    finding: Finding,
) -> Result<usize, Trouble> {
    let (ready, over, poison, found) = core.call(name, |tables| {
        let found = find(tables);
        let (ready, over, poison) = tables.hand_out_again(&found, finding, MAX_RESTARTS);
        let passes: Vec<_> =
            poison.iter().filter_map(|no| Some((*no, tables.running.get(no)?.pass))).collect();
        (ready, over, passes, found.len())
    })?;
    for (no, attempt) in &over {
        core.note(format_args!("order {no} was handed out as {attempt}, and is again: {finding}"));
    }
    let mut effects = Effects::of_ready(ready);
    effects.over = over;
    effects.send(core);
    // A worker that gives back leaves poison to recovery, which finds it overdue.
    if finding == Finding::Unheld || finding == Finding::Released {
        return Ok(found);
    }
    for (no, pass) in poison {
        let error = Some(OrderError::new(POISON, "handed out too often"));
        end(core, no, &Ending { cause: Cause::Poisoned, error, pass: Some(pass) })?;
        core.tables.witness.saw("a stage was poison");
    }
    Ok(found)
}

fn overdue(core: &mut Core) -> Result<(), Trouble> {
    hand_out_again(core, "overdue", |tables| tables.overdue(BATCH), Finding::Overdue).map(|_| ())
}

/// Does one pass over all lost nodes; returns the rest until the next.
fn fail_over(core: &mut Core) -> Option<Duration> {
    core.tables.now = core.stamp();
    let abandoned = core.tables.abandoned();
    let left = abandoned.iter().map(|(_, count)| *count).max()?;
    let nodes: Vec<Incarnation> = abandoned.into_iter().map(|(node, _)| node).collect();
    let find = |tables: &crate::store::Tables| {
        let mut taken: Vec<OrderNo> = nodes.iter().flat_map(|node| tables.of_node(*node, FAILOVER)).collect();
        taken.sort_unstable();
        taken
    };
    let taken = hand_out_again(core, "failover", find, Finding::NodeLost).ok()?;
    if taken > 0 {
        core.tables.witness.saw("the work of a lost node went to others");
    }
    Some(rest_between_passes(left, FAILOVER as u64, RECOVERY))
}

fn deadlines(core: &mut Core) -> Result<(), Trouble> {
    let passed = core.call("deadlines", |tables| tables.passed_deadlines())?;
    for (no, kind) in passed {
        let (cause, class) = match kind {
            DeadlineKind::Start => (Cause::StartDeadlinePassed, DEADLINE_EXCEEDED),
            DeadlineKind::Process => (Cause::ProcessTimedOut, PROCESS_TIMEOUT),
        };
        let ending = Ending { cause, error: Some(OrderError::new(class, "too late")), pass: None };
        if !end(core, no, &ending)? {
            core.call("drop deadline", |tables| tables.drop_deadline(no, kind))?;
        }
    }
    Ok(())
}

/// Ends an order if the law allows it; returns if it did.
fn end(core: &mut Core, no: OrderNo, ending: &Ending) -> Result<bool, Trouble> {
    match core.call("end", |tables| tables.end_life(no, ending))? {
        Some(Ok((was, woken))) => {
            core.note(format_args!("order {no} is over: {}", ending.cause));
            let mut effects = Effects::of_ready(woken);
            effects.life_ended(&was);
            effects.send(core);
            Ok(true)
        }
        Some(Err(refused)) => {
            core.note(format_args!("{refused}"));
            Ok(false)
        }
        None => Ok(true),
    }
}
