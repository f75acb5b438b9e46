//! Maintenance windows (DSP-16): made, ended early, called off and removed. Each is a stored rule; the answer waits for the
//! active dispatcher to say that it goes by it.

use std::time::Instant;

use jiff::Timestamp;
use pagurus_domain::audit::AuditKind;
use pagurus_domain::maintenance::{Calendar, MaintenanceWindow, Occurrence, WindowTarget};
use pagurus_domain::order::principal::Principal;
use pagurus_domain::time;
use pagurus_store::lists::audit::AuditEntry;
use pagurus_store::upkeep::shift;
use pagurus_store::upkeep::shift::{Shift, Window};
use pagurus_store::upkeep::windows::{self, NewWindow, StoredWindow};
use pagurus_store::{Error, Tx};
use pagurus_wire::problem::{Problem, Type};
use pagurus_wire::windows::{WindowActionRequest, WindowOutcome, WindowRequest};
use serde_json::{Value, json};

use crate::Commands;
use crate::request::RequestKey;
use crate::shift::{HOLD, ONE_GO};
use crate::texts::{MAX_TEXT, checked};
use crate::tries::Tries;

/// Occurrences that an answer names.
const SHOWN_AHEAD: usize = 5;

/// Actions on a window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WindowAction {
    /// The present occurrence is over at once; the next ones stay.
    End,
    /// The next occurrence is called off.
    Skip,
    /// All of it is taken away.
    Remove,
}

impl WindowAction {
    /// The word of the audit.
    const fn word(self) -> &'static str {
        match self {
            Self::End => "end",
            Self::Skip => "skip",
            Self::Remove => "remove",
        }
    }
}

impl Commands {
    /// Makes a maintenance window.
    ///
    /// # Errors
    /// The problem to answer with.
    pub async fn add_window(&self, asked: &WindowRequest, by: &Principal) -> Result<WindowOutcome, Problem> {
        let now = self.database_time().await?;
        let target = target_of(asked)?;
        checked("reason", &asked.reason, MAX_TEXT)?;
        let calendar = Calendar::read(&asked.calendar(now));
        let calendar = calendar.map_err(|fault| {
            Problem::new(Type::Invalid, fault.to_string()).at(format!("/{}", fault.field))
        })?;
        let rule = MaintenanceWindow { no: 0, target, calendar, void_until: None };
        let mut outcome = self.outcome_of(&rule, now).await?;
        if outcome.next.is_empty() {
            return Err(Problem::of_field("/from", "the window is over already"));
        }
        if asked.dry_run {
            return Ok(outcome);
        }
        let made_by = by.to_value().to_string();
        let key = RequestKey::of_our_own();
        let window = NewWindow {
            key: &key.name,
            target: &rule.target,
            calendar: &rule.calendar,
            shifts: asked.shift,
            reason: &asked.reason,
            by: &made_by,
        };
        let mut tries = Tries::default();
        let (no, revision) = loop {
            let made = self.try_add(&window, by).await;
            if let Some(done) = tries.judge(&self.host, "window", made).await {
                break done?;
            }
        };
        self.note("window_added", by.door, 1);
        outcome.window = Some(no);
        outcome.confirmation = self.confirmed(revision).await?;
        Ok(outcome)
    }

    async fn try_add(
        &self,
        window: &NewWindow<'_>,
        by: &Principal,
    ) -> Result<Result<(i64, i64), Problem>, Error> {
        let mut client = self.host.store.operations().await?;
        let tx = client.transaction().await?;
        let Some((no, revision)) = windows::add(&tx, window).await? else {
            let message = format!("there are {} maintenance windows already: remove some", windows::MOST);
            return Ok(Err(Problem::new(Type::Refused, message)));
        };
        AuditEntry::new("add", (AuditKind::Window, &no.to_string()), by, Some(window.reason))
            .changed(
                Value::Null,
                json!({"calendar": window.calendar.rule(), "shift": window.shifts}),
                json!({}),
            )
            .record(&tx)
            .await?;
        tx.commit().await?;
        Ok(Ok((no, revision)))
    }

    /// Ends the present occurrence of a window, calls its next one off, or removes it.
    ///
    /// # Errors
    /// The problem to answer with.
    pub async fn act_on_window(
        &self,
        no: i64,
        action: WindowAction,
        asked: &WindowActionRequest,
        by: &Principal,
    ) -> Result<WindowOutcome, Problem> {
        checked("reason", &asked.reason, MAX_TEXT)?;
        let now = self.database_time().await?;
        let mut tries = Tries::default();
        let (rule, shift, revision) = loop {
            let done = self.try_act(no, action, &asked.reason, by, (now, tries.is_again())).await;
            if let Some(done) = tries.judge(&self.host, "window", done).await {
                break done?;
            }
        };
        self.note("window_changed", by.door, 1);
        let mut outcome = match action {
            WindowAction::Remove => WindowOutcome::default(),
            WindowAction::End | WindowAction::Skip => self.outcome_of(&rule, now).await?,
        };
        outcome.window = Some(no);
        outcome.shift = shift;
        outcome.confirmation = self.confirmed(revision).await?;
        Ok(outcome)
    }

    async fn try_act(
        &self,
        no: i64,
        action: WindowAction,
        reason: &str,
        by: &Principal,
        (now, again): (Timestamp, bool),
    ) -> Result<Result<(MaintenanceWindow, Option<i64>, i64), Problem>, Error> {
        let mut client = self.host.store.operations().await?;
        let tx = client.transaction().await?;
        let Some(found) = windows::lock(&tx, no).await? else {
            return Ok(Err(Problem::new(Type::NotFound, format!("there is no maintenance window {no}"))));
        };
        let mut rule = found.rule.clone();
        // A try before may have done it, and only its answer was lost: to do it again changes nothing.
        if found.removed.is_some() && !again {
            return Ok(Err(Problem::new(Type::Refused, format!("maintenance window {no} was removed"))));
        }
        let meant = match meant(&rule, action, now) {
            Ok(meant) => meant,
            Err(_) if again => None,
            Err(why) => {
                return Ok(Err(Problem::new(Type::Refused, format!("maintenance window {no} {why}"))));
            }
        };
        let shift = match meant {
            Some(occurrence) => windows::shift_of(&tx, no, occurrence).await?,
            None => None,
        };
        let changed = match (action, meant) {
            (WindowAction::Remove, _) => windows::remove(&tx, no, &by.to_value().to_string(), reason).await?,
            (_, Some(occurrence)) => {
                rule.void_until = Some(occurrence.begin);
                windows::call_off(&tx, no, occurrence.begin).await?
            }
            (_, None) => None,
        };
        let Some(revision) = changed else {
            // Nothing was left to do.
            let known = pagurus_store::upkeep::revision::revision(&tx).await?;
            return Ok(Ok((rule, shift, known)));
        };
        let after = (action != WindowAction::Remove).then_some(&rule);
        let change = [of_rule(Some(&found.rule)), of_rule(after)];
        audit(&tx, (no, action), reason, by, (meant, change)).await?;
        tx.commit().await?;
        Ok(Ok((rule, shift, revision)))
    }

    /// The first occurrences of a window from now on, and the flows that it hits.
    async fn outcome_of(&self, rule: &MaintenanceWindow, now: Timestamp) -> Result<WindowOutcome, Problem> {
        let mut outcome = WindowOutcome::default();
        if let WindowTarget::Flows(keyword) = &rule.target {
            let hit = self.hit_by(keyword).await?;
            (outcome.flows, outcome.more_flows) = (hit.flows, hit.more_flows);
        }
        let mut next = rule.open_at(now).or_else(|| rule.next_after(now));
        while let Some(one) = next.filter(|_| outcome.next.len() < SHOWN_AHEAD) {
            outcome.next.push(one.into());
            next = rule.next_after(one.begin);
        }
        Ok(outcome)
    }

    /// Moves orders that wait or retry until a time within an occurrence behind its end: some of them, for a short while.
    /// True if there may be more to move now. Nothing is done while another node is at it.
    ///
    /// # Errors
    /// The problem that kept it from being done.
    pub async fn shift_for_window(
        &self,
        window: &StoredWindow,
        occurrence: Occurrence,
        by: &Principal,
    ) -> Result<bool, Problem> {
        let WindowTarget::Flows(keyword) = &window.rule.target else { return Ok(false) };
        let no = window.rule.no;
        let times = Window { from: occurrence.begin, until: occurrence.end };
        let shift = Shift::behind(keyword, times, format!("maintenance window {no}: {}", window.reason));
        let failed = self.failed("window shift");
        let Some(known) = self.take_shift(no, occurrence, &shift, by).await.map_err(failed)? else {
            return Ok(false);
        };
        let outcome = self.move_more(known, &shift, by, Instant::now() + ONE_GO).await?;
        Ok(outcome.more)
    }

    /// The shift of an occurrence, begun if need be; none while another node is at it.
    async fn take_shift(
        &self,
        no: i64,
        occurrence: Occurrence,
        shift: &Shift,
        by: &Principal,
    ) -> Result<Option<i64>, Error> {
        let hold = (by.source(), HOLD);
        let mut client = self.host.store.operations().await?;
        if let Some(known) = windows::take_shift(&client, no, occurrence, hold).await? {
            return Ok(Some(known));
        }
        if windows::shift_of(&client, no, occurrence).await?.is_some() {
            return Ok(None);
        }
        let tx = client.transaction().await?;
        let begun = shift::begin(&tx, shift, &by.to_value().to_string(), None).await?.no;
        if !windows::note_shift(&tx, no, occurrence, begun, hold).await? {
            return Ok(None);
        }
        tx.commit().await?;
        Ok(Some(begun))
    }
}

fn target_of(asked: &WindowRequest) -> Result<WindowTarget, Problem> {
    match (&asked.flow, &asked.system) {
        (Some(keyword), None) => {
            checked("flow", keyword, MAX_TEXT)?;
            Ok(WindowTarget::Flows(keyword.clone()))
        }
        (None, Some(_)) if asked.shift => {
            let message = "it is for flows; orders that wait for a system lose neither an attempt nor time";
            Err(Problem::of_field("/shift", message))
        }
        (None, Some(system)) => {
            checked("system", system, MAX_TEXT)?;
            Ok(WindowTarget::System(system.clone()))
        }
        _ => Err(Problem::new(Type::Invalid, "name either `flow`, a keyword, or `system`").at("/flow")),
    }
}

/// The occurrence that an action is about.
fn meant(
    rule: &MaintenanceWindow,
    action: WindowAction,
    now: Timestamp,
) -> Result<Option<Occurrence>, &'static str> {
    match action {
        WindowAction::End => rule.open_at(now).map(Some).ok_or("is not open: there is nothing to end"),
        WindowAction::Skip => {
            rule.next_after(now).map(Some).ok_or("does not begin any more: there is nothing to skip")
        }
        WindowAction::Remove => Ok(rule.open_at(now)),
    }
}

async fn audit(
    tx: &Tx<'_>,
    (no, action): (i64, WindowAction),
    reason: &str,
    by: &Principal,
    (meant, [before, after]): (Option<Occurrence>, [Value; 2]),
) -> Result<(), Error> {
    let occurrence = meant.map_or_else(
        || json!({}),
        |one| json!({"from": time::shown(one.begin), "until": time::shown(one.end)}),
    );
    AuditEntry::new(action.word(), (AuditKind::Window, &no.to_string()), by, Some(reason))
        .changed(before, after, occurrence)
        .record(tx)
        .await
}

/// A window for the audit log; null where there is none any more.
fn of_rule(rule: Option<&MaintenanceWindow>) -> Value {
    rule.map_or(
        Value::Null,
        |rule| json!({"calendar": rule.calendar.rule(), "calledOffUntil": rule.void_until.map(time::shown)}),
    )
}
