//! Orders of schedules that somebody asks for: now, or for a planned time that has passed without one.

use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};
use pagurus_domain::access::scope::AccessScope;
use pagurus_domain::audit::AuditKind;
use pagurus_domain::document::Fault;
use pagurus_domain::order::Status;
use pagurus_domain::order::principal::Principal;
use pagurus_domain::order::registration::Request;
use pagurus_domain::schedule::{Overlap, RunOutcome, Schedule, order_id, order_id_by_hand};
use pagurus_runtime::metrics::Count;
use pagurus_store::lists::audit::AuditEntry;
use pagurus_store::outside::orders::{self, Registered};
use pagurus_store::upkeep::schedules::runs::{self, DecidedRun, ScheduleChange};
use pagurus_store::upkeep::schedules::{self, RunCounts, SchedulePlace, StoredSchedule};
use pagurus_store::{Error, Tx};
use pagurus_wire::problem::{Problem, Type};
use pagurus_wire::schedules::{ScheduleRunOutcome, ScheduleRunRequest};
use serde_json::json;

use super::turn::{note_origin, refusal};
use super::{MAX_TEXT, below_order, problem_below_order, stored_parts};
use crate::Commands;
use crate::texts::checked;
use crate::tries::Tries;

/// An order that was registered by hand, with its scenario.
type ByHand = (ScheduleRunOutcome, Option<(Registered, Arc<Request>)>);

impl Commands {
    /// Registers an order of a schedule, whether it is paused or an order of before has not ended.
    ///
    /// # Errors
    /// The problem to answer with: not found, refused, invalid, or not available.
    pub async fn run_schedule_now(
        &self,
        name: &str,
        asked: &ScheduleRunRequest,
        by: &Principal,
        scope: &AccessScope,
    ) -> Result<ScheduleRunOutcome, Problem> {
        if !asked.reason.is_empty() {
            checked("reason", &asked.reason, MAX_TEXT)?;
        }
        let mut tries = Tries::default();
        // The same time in each try: one before may have registered the order, and only its answer was lost.
        let mut now = None;
        let (outcome, registered) = loop {
            let tried = self.try_run_now(name, asked, &mut now, (by, scope)).await;
            if let Some(done) = tries.judge(&self.host, "schedule", tried).await {
                break done?;
            }
        };
        if let Some(registered) = registered {
            self.note("schedule_run", by.door, 1);
            self.host.metrics.count(Count::ScheduleTimes, RunOutcome::Registered.as_str(), 1);
            self.announce(&[registered]).await;
        }
        Ok(outcome)
    }

    async fn try_run_now(
        &self,
        name: &str,
        asked: &ScheduleRunRequest,
        now: &mut Option<Timestamp>,
        (by, scope): (&Principal, &AccessScope),
    ) -> Result<Result<ByHand, Problem>, Error> {
        let mut client = self.host.store.operations().await?;
        self.catalogue.refresh(&client).await?;
        let tx = client.transaction().await?;
        let Some(stored) = schedules::lock(&tx, name).await? else {
            return Ok(Err(Problem::no_schedule(name)));
        };
        let (schedule, template) = match stored_parts(&stored) {
            Ok(parts) => parts,
            Err(why) => return Ok(Err(Problem::new(Type::Refused, format!("schedule `{name}`: {why}")))),
        };
        let (at, id) = match asked.at {
            Some(at) => match planned(&schedule, &stored, at) {
                Ok(()) => (at, order_id(name, at)),
                Err(message) => return Ok(Err(Problem::of_field("/at", message))),
            },
            None => {
                let at = *now.get_or_insert(by_hand_at(stored.now));
                (at, order_id_by_hand(name, at))
            }
        };
        let request = template.request(name, id.clone(), at, schedule.plan.zone());
        let request = match request {
            Ok(request) => Arc::new(request),
            Err(faults) => {
                let faults: Vec<Fault> = faults.into_iter().map(below_order).collect();
                return Ok(Err(Problem::of_faults(Type::Invalid, &faults)));
            }
        };
        let order = match self.admitted(&tx, &request, stored.now, scope).await? {
            Ok(order) => order,
            Err(problem) => return Ok(Err(problem_below_order(problem))),
        };
        let registered = orders::register(&tx, &[order]).await?.remove(0);
        if let Some(why) = refusal(&registered) {
            return Ok(Err(Problem::new(Type::Refused, format!("order `{id}` is not registered: {why}"))));
        }
        let (word, status) = match &registered {
            Registered::Duplicate(status) => ("duplicate", *status),
            Registered::Accepted { ready: None, .. } => ("accepted", Status::Postponed),
            _ => ("accepted", Status::New),
        };
        let outcome = ScheduleRunOutcome {
            order: id.clone(),
            status: word.to_owned(),
            order_status: status.to_string(),
        };
        if word == "duplicate" {
            return Ok(Ok((outcome, None)));
        }
        self.note_by_hand(&tx, &stored, &schedule, (&registered, at, &id), by).await?;
        let reason = Some(&*asked.reason).filter(|reason| !reason.is_empty());
        AuditEntry::new("run", (AuditKind::Schedule, name), by, reason)
            .with(&json!({"order": outcome.order}))
            .record(&tx)
            .await?;
        tx.commit().await?;
        Ok(Ok((outcome, Some((registered, request)))))
    }

    /// Notes the order with the schedule, whose place stays.
    async fn note_by_hand(
        &self,
        tx: &Tx<'_>,
        stored: &StoredSchedule,
        schedule: &Schedule,
        (registered, at, id): (&Registered, Timestamp, &str),
        by: &Principal,
    ) -> Result<(), Error> {
        let name = &stored.name;
        note_origin(tx, registered, (name, at), by).await?;
        let was_queued =
            runs::one(tx, name, at).await?.is_some_and(|one| one.run.outcome == RunOutcome::Queued);
        let order_id = Some(id.to_owned());
        let run =
            DecidedRun { due_at: at, outcome: RunOutcome::Registered, order_id, reason: None, missed: None };
        runs::put(tx, name, &[run], schedule.overlap == Overlap::Allow).await?;
        let change = ScheduleChange {
            counts: RunCounts { registered: 1, ..RunCounts::default() },
            queued: if was_queued { -1 } else { 0 },
            has_registered: true,
            ..ScheduleChange::default()
        };
        let place = SchedulePlace { decided_until: stored.decided_until, next_at: stored.next_at };
        runs::move_on(tx, name, place, &change).await
    }
}

/// Checks that a time is one of the schedule, and that it has come and been decided.
fn planned(schedule: &Schedule, stored: &StoredSchedule, at: Timestamp) -> Result<(), String> {
    let before = at.checked_sub(SignedDuration::from_micros(1)).unwrap_or(at);
    let found = schedule.plan.after(before);
    if found != Some(at) {
        let next = found.map_or_else(String::new, |next| format!("; the next one is {next}"));
        return Err(format!("is no time of the schedule{next}"));
    }
    if at > stored.decided_until {
        return Err("has not come yet: leave it out for an order now".to_owned());
    }
    Ok(())
}

/// The time of an order that is wanted now: with milliseconds, so that no planned time is equal to it.
fn by_hand_at(now: Timestamp) -> Timestamp {
    let now = Timestamp::from_millisecond(now.as_millisecond()).unwrap_or(now);
    if now.subsec_millisecond() == 0 { now + SignedDuration::from_millis(1) } else { now }
}
