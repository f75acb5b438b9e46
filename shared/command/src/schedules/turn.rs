//! Turns of a schedule: what has come is decided, and the orders are registered. Decision, orders and the place up to which
//! all is decided are one transaction, under the lock of the schedule: each time is decided once, however many are at it and
//! whichever of them dies.

#[cfg(test)]
mod tests;

use std::sync::Arc;

use jiff::Timestamp;
use pagurus_domain::access::scope::AccessScope;
use pagurus_domain::number::saturated;
use pagurus_domain::order::dependency::written_way;
use pagurus_domain::order::principal::Principal;
use pagurus_domain::order::registration::{NewOrder, Request};
use pagurus_domain::schedule::{
    DueTimes, OrderTemplate, Overlap, OverlapVerdict, RunOutcome, Schedule, order_id,
};
use pagurus_domain::time;
use pagurus_runtime::metrics::Count;
use pagurus_runtime::node::chain;
use pagurus_store::hot::history;
use pagurus_store::outside::orders::{self, Registered};
use pagurus_store::upkeep::schedules::runs::{self, DecidedRun, ScheduleChange, UnendedOrder};
use pagurus_store::upkeep::schedules::{SchedulePlace, StoredSchedule};
use pagurus_store::{Error, Tx};
use pagurus_wire::problem::{Problem, Type};
use serde_json::json;

use super::{problem_below_order, stored_parts};
use crate::act::LifeAction;
use crate::terms::Terms;
use crate::{Commands, caused};

/// Orders that a turn registers, at most.
const MOST: usize = 50;
/// Times that a turn tries to end what the next order replaces.
const MOST_ENDS: usize = 4;
/// Event of an order that a schedule has registered.
pub(super) const EVENT: &str = "scheduled";

/// Outcome of a turn.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ScheduleTurn {
    /// True if there is more to decide now.
    pub has_more: bool,
}

/// Outcome of a try.
enum Tried {
    /// Nobody has to do anything, or somebody else is at it.
    Nothing,
    /// Decided and committed.
    Decided { has_more: bool, registered: Vec<(Registered, Arc<Request>)>, runs: Vec<DecidedRun> },
    /// These are to be ended first.
    Replace(Vec<UnendedOrder>),
}

/// A failure that concerns the order of one time, and not the database as a whole.
struct OneFailed {
    at: Timestamp,
    why: String,
}

/// Decisions of a turn so far.
struct Decisions<'a> {
    stored: &'a StoredSchedule,
    schedule: &'a Schedule,
    unended: &'a [UnendedOrder],
    runs: Vec<DecidedRun>,
    change: ScheduleChange,
    /// Times whose orders are to be registered.
    register: Vec<Timestamp>,
}

impl Commands {
    /// Decides about times of a schedule that have come, and registers their orders.
    ///
    /// # Errors
    /// The database fails; nothing is decided then, or all that was tried.
    pub async fn run_schedule(&self, name: &str, by: &Principal) -> Result<ScheduleTurn, Error> {
        let (mut most, mut failed, mut ends) = (MOST, None, 0);
        loop {
            let mut at_work = None;
            match self.try_turn(name, by, (most, failed.as_ref()), &mut at_work).await {
                Ok(Tried::Nothing) => return Ok(ScheduleTurn::default()),
                Ok(Tried::Decided { has_more, registered, runs }) => {
                    self.report(name, &runs);
                    self.announce(&registered).await;
                    return Ok(ScheduleTurn { has_more });
                }
                Ok(Tried::Replace(unended)) if ends < MOST_ENDS => {
                    ends += 1;
                    self.end_for_next(name, &unended, by).await;
                }
                // Something holds them: the next look tries again.
                Ok(Tried::Replace(_)) => return Ok(ScheduleTurn::default()),
                Err(error) if error.is_transient() => return Err(error),
                // One at a time, until the one at fault stands alone.
                Err(_) if most > 1 => most = 1,
                Err(error) => match (at_work, &failed) {
                    (Some(at), None) => failed = Some(OneFailed { at, why: chain(&error) }),
                    _ => return Err(error),
                },
            }
        }
    }

    async fn try_turn(
        &self,
        name: &str,
        by: &Principal,
        (most, failed): (usize, Option<&OneFailed>),
        at_work: &mut Option<Timestamp>,
    ) -> Result<Tried, Error> {
        let mut client = self.host.store.recovery().await?;
        self.catalogue.refresh(&client).await?;
        let tx = client.transaction().await?;
        let stored = runs::take(&tx, name).await?.filter(|stored| stored.paused.is_none());
        let Some(stored) = stored else { return Ok(Tried::Nothing) };
        let (schedule, template) = match stored_parts(&stored) {
            Ok(parts) => parts,
            Err(why) => {
                runs::put_off(&tx, name, &why).await?;
                tx.commit().await?;
                return Ok(Tried::Nothing);
            }
        };
        let asks = schedule.overlap != Overlap::Allow || stored.queued > 0;
        let unended = if asks { runs::unended(&tx, name).await? } else { Vec::new() };
        let mut decisions = Decisions::of(&stored, &schedule, &unended);
        if stored.queued > 0 && unended.is_empty() {
            let first = runs::first_queued(&tx, name).await?;
            decisions.register.extend(first);
            decisions.change.queued -= 1;
        }
        let due = schedule.due(stored.decided_until, stored.now, most);
        let Some((decided_until, mut has_more)) = decisions.decide(&due) else {
            return Ok(Tried::Replace(unended));
        };
        *at_work = decisions.register.first().copied();
        let registered = self.register_times(&tx, &mut decisions, &template, (failed, by)).await?;
        has_more |= decisions.change.refused_in_row > 0 && stored.queued > 0;
        let Decisions { runs: decided, change, .. } = decisions;
        runs::put(&tx, name, &decided, schedule.overlap == Overlap::Allow).await?;
        let place = SchedulePlace { decided_until, next_at: schedule.plan.after(decided_until) };
        runs::move_on(&tx, name, place, &change).await?;
        tx.commit().await?;
        Ok(Tried::Decided { has_more, registered, runs: decided })
    }

    /// Registers the orders of times, as far as they can be; each with its request.
    async fn register_times(
        &self,
        tx: &Tx<'_>,
        decisions: &mut Decisions<'_>,
        template: &OrderTemplate,
        (failed, by): (Option<&OneFailed>, &Principal),
    ) -> Result<Vec<(Registered, Arc<Request>)>, Error> {
        let name = &decisions.stored.name;
        let mut admitted: Vec<(Timestamp, NewOrder)> = Vec::new();
        for at in std::mem::take(&mut decisions.register) {
            if let Some(failed) = failed.filter(|failed| failed.at == at) {
                decisions.refuse(at, failed.why.clone());
                continue;
            }
            let request = template.request(name, order_id(name, at), at, decisions.schedule.plan.zone());
            let order = match request {
                Ok(request) => {
                    self.admitted(tx, &Arc::new(request), decisions.stored.now, &AccessScope::WHOLE).await?
                }
                Err(faults) => Err(Problem::of_faults(Type::Invalid, &faults)),
            };
            match order {
                Ok(order) => admitted.push((at, order)),
                Err(problem) => decisions.refuse(at, sentence(problem)),
            }
        }
        let new: Vec<NewOrder> = admitted.iter().map(|(_, order)| order.clone()).collect();
        if new.is_empty() {
            return Ok(Vec::new());
        }
        let outcomes = orders::register(tx, &new).await?;
        let mut registered = Vec::with_capacity(outcomes.len());
        for ((at, order), outcome) in admitted.into_iter().zip(outcomes) {
            match refusal(&outcome) {
                Some(why) => decisions.refuse(at, why),
                None => {
                    note_origin(tx, &outcome, (name, at), by).await?;
                    decisions.register_one(at, &order.request.id);
                    registered.push((outcome, order.request.clone()));
                }
            }
        }
        Ok(registered)
    }

    /// Ends orders of a schedule, because the next one replaces them. What cannot be ended now is tried again by the caller.
    async fn end_for_next(&self, name: &str, unended: &[UnendedOrder], by: &Principal) {
        let reason = format!("the next order of schedule `{name}` is due");
        let terms = Terms { by, reason: Some(&reason), if_status: None, key: None, dry_run: false };
        for order in unended {
            for action in [LifeAction::Cancel, LifeAction::Kill] {
                match self.act(&order.id, &action, terms).await {
                    Ok(_) => break,
                    Err(problem) if problem.kind() == Some(Type::Refused) => {}
                    Err(problem) => {
                        let (order, problem) = (&order.id, &problem.detail);
                        tracing::warn!(schedule = name, order, problem, "an order could not be replaced yet");
                        break;
                    }
                }
            }
        }
    }

    /// Counts what was decided, and writes into the log what people should know of.
    fn report(&self, name: &str, decided: &[DecidedRun]) {
        for run in decided {
            let count = run.missed.map_or(1, |(count, _)| saturated::<u64>(i64::from(count)));
            self.host.metrics.count(Count::ScheduleTimes, run.outcome.as_str(), count);
            let at = time::shown(run.due_at);
            match run.outcome {
                // Its line is that of any registration.
                RunOutcome::Registered => {}
                RunOutcome::Refused => {
                    tracing::warn!(
                        schedule = name,
                        at,
                        problem = run.reason,
                        "the order of a schedule was refused"
                    );
                }
                RunOutcome::Missed | RunOutcome::Skipped | RunOutcome::Queued => {
                    let outcome = run.outcome.as_str();
                    tracing::info!(
                        schedule = name,
                        at,
                        outcome,
                        count,
                        reason = run.reason,
                        "a time has no order yet"
                    );
                }
            }
        }
    }
}

impl<'a> Decisions<'a> {
    fn of(stored: &'a StoredSchedule, schedule: &'a Schedule, unended: &'a [UnendedOrder]) -> Self {
        let (runs, register) = (Vec::new(), Vec::new());
        Self { stored, schedule, unended, runs, change: ScheduleChange::default(), register }
    }

    /// Decides about times that have come: the time until which all is decided, and whether there is more. `None` where
    /// orders are to be ended first.
    fn decide(&mut self, due: &DueTimes) -> Option<(Timestamp, bool)> {
        if let Some(missed) = due.missed {
            let count = saturated::<i32>(missed.count);
            self.change.counts.missed += i64::from(count);
            let reason = if missed.is_complete {
                "nobody came in time"
            } else {
                "nobody came in time; there are more than these"
            };
            self.record(
                missed.last,
                RunOutcome::Missed,
                None,
                Some(reason.to_owned()),
                Some((count, missed.first)),
            );
        }
        // What is missed is counted by now, also where the turn ends before the first of those that are due.
        let mut decided =
            due.missed.map_or(self.stored.decided_until, |missed| missed.last.max(self.stored.decided_until));
        for at in &due.due {
            let is_busy = !self.unended.is_empty() || !self.register.is_empty();
            let queued = saturated::<usize>(self.stored.queued.saturating_add(self.change.queued).max(0));
            match self.schedule.overlap.verdict(is_busy, queued) {
                OverlapVerdict::Register => self.register.push(*at),
                OverlapVerdict::Queue => {
                    self.change.queued += 1;
                    self.record(*at, RunOutcome::Queued, None, self.because(), None);
                }
                OverlapVerdict::Skip => {
                    self.change.counts.skipped += 1;
                    self.record(*at, RunOutcome::Skipped, None, self.because(), None);
                }
                // The order of before is one of this turn: it replaces that one in the next.
                OverlapVerdict::Replace if !self.register.is_empty() => return Some((decided, true)),
                OverlapVerdict::Replace => return None,
            }
            decided = *at;
        }
        Some((due.decided_until, due.has_more))
    }

    /// The order that has not ended.
    fn because(&self) -> Option<String> {
        let of_before = self
            .unended
            .first()
            .map(|order| format!("order `{}` has not ended: `{}`", order.id, order.status));
        let of_now = || {
            self.register
                .last()
                .map(|at| format!("order `{}` has not ended", order_id(&self.stored.name, *at)))
        };
        of_before.or_else(of_now).or_else(|| Some("others wait before it".to_owned()))
    }

    fn refuse(&mut self, at: Timestamp, why: String) {
        self.change.counts.refused += 1;
        self.change.refused_in_row += 1;
        self.change.problem = Some(format!("the order of {}: {why}", time::shown(at)));
        self.record(at, RunOutcome::Refused, None, Some(why), None);
    }

    fn register_one(&mut self, at: Timestamp, id: &str) {
        self.change.counts.registered += 1;
        self.change.has_registered = true;
        self.change.refused_in_row = 0;
        self.record(at, RunOutcome::Registered, Some(id.to_owned()), None, None);
    }

    fn record(
        &mut self,
        due_at: Timestamp,
        outcome: RunOutcome,
        order_id: Option<String>,
        reason: Option<String>,
        missed: Option<(i32, Timestamp)>,
    ) {
        self.runs.push(DecidedRun { due_at, outcome, order_id, reason, missed });
    }
}

/// Notes in the history of an order which time of which schedule it is of; one that was there before has its note.
pub(super) async fn note_origin(
    tx: &Tx<'_>,
    registered: &Registered,
    (name, at): (&str, Timestamp),
    by: &Principal,
) -> Result<(), Error> {
    let Registered::Accepted { no, .. } = registered else { return Ok(()) };
    let detail = caused(json!({"schedule": name, "time": time::shown(at)}), by).to_string();
    history::append(tx, *no, EVENT, by.source(), &detail).await
}

/// The reason for which an order is not there; the same order that was there before is.
pub(super) fn refusal(registered: &Registered) -> Option<String> {
    match registered {
        Registered::Accepted { .. } | Registered::Duplicate(_) => None,
        Registered::Conflict(status) => Some(format!("another order has its id, with status `{status}`")),
        Registered::Cycle(way) => Some(format!("it would wait for itself: {}", written_way(way))),
        Registered::Behind { queue, awaiting } => {
            Some(format!("it would stand in queue `{queue}` behind order `{awaiting}`, which awaits it"))
        }
    }
}

/// A problem in one sentence.
fn sentence(problem: Problem) -> String {
    let problem = problem_below_order(problem);
    match &problem.errors[..] {
        [] => problem.detail,
        errors => {
            let errors: Vec<String> =
                errors.iter().map(|error| format!("{} {}", error.pointer, error.message)).collect();
            errors.join("; ")
        }
    }
}
