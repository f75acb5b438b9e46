//! Schedules (ORD-39): put, paused, resumed and removed by people; their times are decided in `turn`, and orders that
//! somebody asks for in `by_hand`.

mod by_hand;
mod turn;
mod wanted;

use jiff::Timestamp;
use pagurus_domain::access::scope::AccessScope;
use pagurus_domain::audit::AuditKind;
use pagurus_domain::document::Fault;
use pagurus_domain::order::principal::Principal;
use pagurus_domain::schedule::{OrderTemplate, Schedule, ScheduleRule};
use pagurus_store::lists::audit::AuditEntry;
use pagurus_store::outside::scenarios::Expected;
use pagurus_store::upkeep::schedules::{self, SchedulePlace, StoredSchedule};
use pagurus_store::{Error, Tx};
use pagurus_wire::problem::{Problem, Type};
use pagurus_wire::schedules::{ScheduleBody, ScheduleOutcome};
use serde_json::{Value, json};

use crate::Commands;
use crate::texts::checked;
use crate::tries::Tries;
pub use turn::ScheduleTurn;
use wanted::{WantedSchedule, WantedTexts};

/// Longest note and reason, in bytes.
const MAX_TEXT: usize = 4096;
/// Times that an answer names.
const SHOWN_AHEAD: usize = 5;
/// Times that are decided before a change, at most: what is due has the order of the schedule as it was.
const MOST_TURNS: usize = 8;

/// Terms under which a schedule is put.
#[derive(Clone, Debug)]
pub struct PutTerms {
    /// The state that is expected.
    pub expected: Expected,
    /// True if nothing is to be changed.
    pub dry_run: bool,
    /// Scope of those who put it.
    pub scope: AccessScope,
}

impl Commands {
    /// Makes a schedule, or puts it in place of the one that has the name.
    ///
    /// # Errors
    /// The problem to answer with.
    pub async fn put_schedule(
        &self,
        name: &str,
        body: ScheduleBody,
        terms: &PutTerms,
        by: &Principal,
    ) -> Result<ScheduleOutcome, Problem> {
        let mut tries = Tries::default();
        let mut turns = 0;
        loop {
            let put = self.try_put(name, body.clone(), terms, by).await;
            let Some(done) = tries.judge(&self.host, "schedule", put).await else { continue };
            match done? {
                Some(outcome) => {
                    if !terms.dry_run {
                        self.note("schedule_put", by.door, 1);
                    }
                    return Ok(outcome);
                }
                None if turns < MOST_TURNS => {
                    turns += 1;
                    let decided = self.run_schedule(name, &Principal::node(&self.host.name)).await;
                    decided.map_err(self.failed("schedule"))?;
                }
                None => {
                    let message = "times of the schedule are being decided right now; try again";
                    return Err(Problem::new(Type::Busy, message));
                }
            }
        }
    }

    /// The outcome; `None` where times have come that are to be decided before.
    async fn try_put(
        &self,
        name: &str,
        body: ScheduleBody,
        terms: &PutTerms,
        by: &Principal,
    ) -> Result<Result<Option<ScheduleOutcome>, Problem>, Error> {
        let mut client = self.host.store.operations().await?;
        self.catalogue.refresh(&client).await?;
        let tx = client.transaction().await?;
        let stored = schedules::lock(&tx, name).await?;
        let tag = stored.as_ref().map(StoredSchedule::tag);
        if !terms.expected.allows(tag.as_deref()) {
            return Ok(Err(unexpected(name, tag.as_deref())));
        }
        let wanted = match self.wanted(&tx, name, body, stored.as_ref(), &terms.scope).await? {
            Ok(wanted) => wanted,
            Err(problem) => return Ok(Err(problem)),
        };
        let is_due = |stored: &StoredSchedule| {
            stored.paused.is_none() && stored.next_at.is_some_and(|at| at <= stored.now)
        };
        if stored.as_ref().is_some_and(is_due) && !terms.dry_run {
            return Ok(Ok(None));
        }
        let now = self.now(&tx, stored.as_ref()).await?;
        let next: Vec<Timestamp> = wanted.schedule.plan.times(now).take(SHOWN_AHEAD).collect();
        if stored.is_none() && next.is_empty() {
            let message = "no time lies ahead: the schedule would never have an order";
            let field = if wanted.rule.until.is_some() { "/until" } else { "/exceptions" };
            return Ok(Err(Problem::of_field(field, message)));
        }
        let put = match stored {
            None => self.add(&tx, name, &wanted, now, by).await?,
            Some(stored) => self.change_schedule(&tx, &stored, &wanted, by).await?,
        };
        let (change, stored) = match put {
            Ok(put) => put,
            Err(problem) => return Ok(Err(problem)),
        };
        let mut outcome = outcome_of(change, &stored, next);
        if terms.dry_run {
            outcome.tag = None;
            tx.rollback().await?;
        } else {
            tx.commit().await?;
        }
        Ok(Ok(Some(outcome)))
    }

    /// The time of the database.
    async fn now(&self, tx: &Tx<'_>, stored: Option<&StoredSchedule>) -> Result<Timestamp, Error> {
        match stored {
            Some(stored) => Ok(stored.now),
            None => schedules::now(tx).await,
        }
    }

    async fn add(
        &self,
        tx: &Tx<'_>,
        name: &str,
        wanted: &WantedSchedule,
        now: Timestamp,
        by: &Principal,
    ) -> Result<Result<(&'static str, StoredSchedule), Problem>, Error> {
        if schedules::count(tx).await? >= schedules::MOST {
            let message = format!("there are {} schedules already: remove some", schedules::MOST);
            return Ok(Err(Problem::new(Type::Refused, message)));
        }
        let texts = WantedTexts::of(wanted, by);
        let place = SchedulePlace { decided_until: now, next_at: wanted.schedule.plan.after(now) };
        let reason = wanted.reason.as_deref();
        let paused = wanted.paused.unwrap_or(false).then(|| reason.unwrap_or_default());
        let Some(stored) = schedules::add(tx, texts.named(name), place, paused).await? else {
            // Another request was faster.
            return Err(Error::Contended);
        };
        self.audit(tx, "create", (None, Some(&stored)), wanted.reason.as_deref(), by).await?;
        Ok(Ok(("created", stored)))
    }

    async fn change_schedule(
        &self,
        tx: &Tx<'_>,
        stored: &StoredSchedule,
        wanted: &WantedSchedule,
        by: &Principal,
    ) -> Result<Result<(&'static str, StoredSchedule), Problem>, Error> {
        let texts = WantedTexts::of(wanted, by);
        let is_same =
            texts.rule == stored.rule && texts.template == stored.template && texts.note == stored.note;
        let reason = wanted.reason.as_deref();
        let mut change = "unchanged";
        let mut now_stored = stored.clone();
        if !is_same {
            // Nothing of it is due: what comes is of the new rule.
            let place = place_from(&wanted.schedule, stored.decided_until.max(stored.now));
            let changed = schedules::change(tx, texts.named(&stored.name), place).await?;
            now_stored = changed.ok_or(Error::Contended)?;
            self.audit(tx, "change", (Some(stored), Some(&now_stored)), reason, by).await?;
            change = "changed";
        }
        let paused = wanted.paused.filter(|paused| *paused != stored.paused.is_some());
        if let Some(paused) = paused {
            now_stored = self.set_paused(tx, &now_stored, paused, (reason.unwrap_or_default(), by)).await?;
            if is_same {
                change = if paused { "paused" } else { "resumed" };
            }
        }
        Ok(Ok((change, now_stored)))
    }

    async fn set_paused(
        &self,
        tx: &Tx<'_>,
        stored: &StoredSchedule,
        paused: bool,
        (reason, by): (&str, &Principal),
    ) -> Result<StoredSchedule, Error> {
        let principal = by.to_value().to_string();
        let changed = if paused {
            schedules::pause(tx, &stored.name, &principal, reason).await?
        } else {
            // What came while it was paused is not made up for.
            let now = stored.decided_until.max(stored.now);
            let schedule = stored_parts(stored).map(|(schedule, _)| schedule);
            let place = match &schedule {
                Ok(schedule) => place_from(schedule, now),
                Err(_) => SchedulePlace { decided_until: now, next_at: Some(now) },
            };
            schedules::resume(tx, &stored.name, &principal, place).await?
        };
        let changed = changed.ok_or(Error::Contended)?;
        let word = if paused { "pause" } else { "resume" };
        AuditEntry::new(
            word,
            (AuditKind::Schedule, &stored.name),
            by,
            Some(reason).filter(|text| !text.is_empty()),
        )
        .changed(json!({"paused": !paused}), json!({"paused": paused}), json!({}))
        .record(tx)
        .await?;
        Ok(changed)
    }

    /// Pauses a schedule, or lets it go on.
    ///
    /// # Errors
    /// The problem to answer with.
    pub async fn pause_schedule(
        &self,
        name: &str,
        paused: bool,
        reason: &str,
        by: &Principal,
    ) -> Result<ScheduleOutcome, Problem> {
        if !reason.is_empty() {
            checked("reason", reason, MAX_TEXT)?;
        }
        let tried = async |commands: &Self| {
            let mut client = commands.host.store.operations().await?;
            let tx = client.transaction().await?;
            let Some(stored) = schedules::lock(&tx, name).await? else {
                return Ok(Err(Problem::no_schedule(name)));
            };
            let (change, stored) = if stored.paused.is_some() == paused {
                ("unchanged", stored)
            } else {
                let changed = commands.set_paused(&tx, &stored, paused, (reason, by)).await?;
                (if paused { "paused" } else { "resumed" }, changed)
            };
            tx.commit().await?;
            let next = stored_parts(&stored).map(|(schedule, _)| {
                schedule.plan.times(stored.decided_until.max(stored.now)).take(SHOWN_AHEAD).collect()
            });
            Ok(Ok(outcome_of(change, &stored, next.unwrap_or_default())))
        };
        let mut tries = Tries::default();
        let outcome = loop {
            let outcome = tried(self).await;
            if let Some(done) = tries.judge(&self.host, "schedule", outcome).await {
                break done?;
            }
        };
        self.note(if paused { "schedule_paused" } else { "schedule_resumed" }, by.door, 1);
        Ok(outcome)
    }

    /// Removes a schedule. Its orders stay, and go on.
    ///
    /// # Errors
    /// The problem to answer with: not found, another state than expected, or not available.
    pub async fn remove_schedule(
        &self,
        name: &str,
        expected: &Expected,
        by: &Principal,
    ) -> Result<(), Problem> {
        let tried = async |commands: &Self| {
            let mut client = commands.host.store.operations().await?;
            commands.catalogue.refresh(&client).await?;
            let tx = client.transaction().await?;
            let Some(stored) = schedules::lock(&tx, name).await? else {
                return Ok(Err(Problem::no_schedule(name)));
            };
            let tag = stored.tag();
            if !expected.allows(Some(&tag)) {
                return Ok(Err(unexpected(name, Some(&tag))));
            }
            schedules::remove(&tx, name).await?;
            commands.audit(&tx, "remove", (Some(&stored), None), None, by).await?;
            tx.commit().await?;
            Ok(Ok(()))
        };
        let mut tries = Tries::default();
        loop {
            let is_again = tries.is_again();
            let outcome = tried(self).await;
            match tries.judge(&self.host, "schedule", outcome).await {
                None => {}
                // The try before may have removed it, and only its answer was lost.
                Some(Err(problem)) if is_again && problem.kind() == Some(Type::NotFound) => break,
                Some(done) => {
                    done?;
                    break;
                }
            }
        }
        self.note("schedule_removed", by.door, 1);
        Ok(())
    }

    async fn audit(
        &self,
        tx: &Tx<'_>,
        action: &str,
        (before, after): (Option<&StoredSchedule>, Option<&StoredSchedule>),
        reason: Option<&str>,
        by: &Principal,
    ) -> Result<(), Error> {
        let before = self.audited(tx, before).await?;
        let after_value = self.audited(tx, after).await?;
        let name = before["name"].as_str().or(after_value["name"].as_str()).unwrap_or_default().to_owned();
        AuditEntry::new(action, (AuditKind::Schedule, &name), by, reason)
            .changed(before, after_value, json!({}))
            .record(tx)
            .await
    }

    /// A schedule for the audit log, without what is hidden; null where there is none.
    async fn audited(&self, tx: &Tx<'_>, stored: Option<&StoredSchedule>) -> Result<Value, Error> {
        let Some(stored) = stored else { return Ok(Value::Null) };
        let order = self.shown_order(tx, &parsed(&stored.template)).await?;
        Ok(json!({"name": stored.name, "rule": parsed(&stored.rule), "order": order, "note": stored.note,
            "paused": stored.paused.is_some()}))
    }
}

fn place_from(schedule: &Schedule, decided_until: Timestamp) -> SchedulePlace {
    SchedulePlace { decided_until, next_at: schedule.plan.after(decided_until) }
}

/// Reads a stored schedule; the text says why it cannot be read.
fn stored_parts(stored: &StoredSchedule) -> Result<(Schedule, OrderTemplate), String> {
    let rule: ScheduleRule =
        serde_json::from_str(&stored.rule).map_err(|error| format!("its rule cannot be read: {error}"))?;
    let listed = |faults: Vec<Fault>| {
        let faults: Vec<String> = faults.iter().map(Fault::sentence).collect();
        faults.join("; ")
    };
    let schedule = Schedule::read(&rule).map_err(listed)?;
    let template = OrderTemplate::read(parsed(&stored.template), &stored.name);
    let template = template.map_err(|faults| listed(faults.into_iter().map(below_order).collect()))?;
    Ok((schedule, template))
}

fn outcome_of(change: &str, stored: &StoredSchedule, next: Vec<Timestamp>) -> ScheduleOutcome {
    ScheduleOutcome {
        schedule: stored.name.clone(),
        change: change.to_owned(),
        tag: Some(stored.tag()),
        paused: stored.paused.is_some(),
        next,
    }
}

fn parsed(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_default()
}

/// A fault of the order, with its place in the schedule.
fn below_order(fault: Fault) -> Fault {
    Fault { pointer: format!("/order{}", fault.pointer), ..fault }
}

fn problem_below_order(mut problem: Problem) -> Problem {
    for error in &mut problem.errors {
        error.pointer = format!("/order{}", error.pointer);
    }
    problem.pointer = problem.pointer.map(|pointer| format!("/order{pointer}"));
    problem
}

fn unexpected(name: &str, tag: Option<&str>) -> Problem {
    let detail = match tag {
        Some(tag) => {
            format!("schedule `{name}` now has the tag \"{tag}\"; read it and repeat the change on top of it")
        }
        None => format!("there is no schedule `{name}`; send it without `If-Match` to make it"),
    };
    Problem::new(Type::PreconditionFailed, detail)
}
