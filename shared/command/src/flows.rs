//! Stops of flows by hand (DSP-10), and orders of operators about called systems (DSP-16). Each is a stored rule; the
//! answer waits for the active dispatcher to say that it goes by it.

use std::time::{Duration, Instant};

use jiff::{SignedDuration, Timestamp};
use pagurus_domain::audit::AuditKind;
use pagurus_domain::document::parse_duration;
use pagurus_domain::flow::{FlowStop, SystemOrder, SystemOverride};
use pagurus_domain::number::saturated;
use pagurus_domain::order::principal::Principal;
use pagurus_domain::time;
use pagurus_runtime::Effects;
use pagurus_store::lists::audit::AuditEntry;
use pagurus_store::recovery::leases;
use pagurus_store::upkeep::shift::{Shift, Window};
use pagurus_store::upkeep::stops::{self, NewStop, StoredStop};
use pagurus_store::upkeep::{clock, flows};
use pagurus_wire::flows::{
    ConfirmationView, ResignRequest, ResumeRequest, StopOutcome, StopRequest, SystemOrderRequest,
};
use pagurus_wire::problem::{Problem, Type};
use serde_json::{Value, json};

use crate::Commands;
use crate::request::RequestKey;
use crate::shift::begin_for_stop;
use crate::texts::{MAX_TEXT, checked};
use crate::tries::Tries;

/// Flows that an answer names at most.
const MAX_NAMES: i64 = 1000;
/// Stops that are looked through at most.
const MAX_STOPS: i64 = 10_000;
/// Time that an answer waits for the active dispatcher.
const CONFIRMED_WITHIN: Duration = Duration::from_secs(5);
/// Between two looks for its word.
const LOOK_EVERY: Duration = Duration::from_millis(25);

impl Commands {
    /// Stops every flow whose name contains the keyword.
    ///
    /// # Errors
    /// The problem to answer with.
    pub async fn stop_flows(&self, asked: &StopRequest, by: &Principal) -> Result<StopOutcome, Problem> {
        let text = |name, text| checked(name, text, MAX_TEXT);
        text("keyword", &asked.keyword)?;
        text("reason", &asked.reason)?;
        let now = self.database_time().await?;
        let from = asked.from.unwrap_or(now).max(now);
        let end = end_of(from, asked.duration.as_deref())?;
        if asked.resume && end.is_none() {
            let message = "is missing: say how long, if the flows are to go on by themselves";
            return Err(Problem::of_field("/for", message));
        }
        let mut outcome = self.hit_by(&asked.keyword).await?;
        if let Some(end) = end {
            outcome.shift = Some(self.count_due(&asked.keyword, from, end).await?);
        }
        if asked.dry_run {
            return Ok(outcome);
        }
        let times = end.map(|until| Window { from, until });
        let shift = times.map(|times| Shift::behind(&asked.keyword, times, asked.reason.clone()));
        let made_by = by.to_value().to_string();
        let key = RequestKey::of_our_own();
        let stop = NewStop {
            key: &key.name,
            keyword: &asked.keyword,
            from,
            until: end.filter(|_| asked.resume),
            reason: &asked.reason,
            by: &made_by,
        };
        let mut tries = Tries::default();
        let ((no, revision), shift_no) = loop {
            let made = async {
                let mut client = self.host.store.operations().await?;
                let tx = client.transaction().await?;
                let made = stops::stop(&tx, &stop).await?;
                let shift_no = match &shift {
                    Some(shift) => Some(begin_for_stop(&tx, made.0, shift, by).await?),
                    None => None,
                };
                AuditEntry::new("stop", (AuditKind::Flow, &asked.keyword), by, Some(&asked.reason))
                    .changed(
                        Value::Null,
                        of_stop(&FlowStop {
                            no: made.0,
                            keyword: asked.keyword.clone(),
                            from,
                            until: stop.until,
                        }),
                        json!({"stop": made.0}),
                    )
                    .record(&tx)
                    .await?;
                tx.commit().await?;
                Ok(Ok((made, shift_no)))
            };
            if let Some(done) = tries.judge(&self.host, "stop", made.await).await {
                break done?;
            }
        };
        self.note("flows_stopped", by.door, 1);
        outcome.stops = vec![no];
        outcome.confirmation = self.confirmed(revision).await?;
        // What comes to wait while the stop holds is moved by the activators.
        if let Some((no, shift)) = shift_no.zip(shift) {
            outcome.shift = Some(self.move_for_request(no, &shift, by).await?);
        }
        Ok(outcome)
    }

    /// Lifts stops by their keyword, or one by its number. Flows that another stop holds stay stopped.
    ///
    /// # Errors
    /// The problem to answer with.
    pub async fn resume_flows(&self, asked: &ResumeRequest, by: &Principal) -> Result<StopOutcome, Problem> {
        checked("reason", &asked.reason, MAX_TEXT)?;
        let held =
            async { stops::list(&self.host.store.operations().await?, false, i64::MAX, MAX_STOPS).await };
        let held = held.await.map_err(self.failed("stops"))?;
        let lifted: Vec<&StoredStop> = match (&asked.keyword, asked.stop) {
            (Some(keyword), None) => held.iter().filter(|stop| stop.rule.keyword == *keyword).collect(),
            (None, Some(no)) => held.iter().filter(|stop| stop.rule.no == no).collect(),
            _ => return Err(Problem::new(Type::Invalid, "name either `keyword` or `stop`")),
        };
        let Some(first) = lifted.first() else { return Err(nothing_to_lift(&held)) };
        let mut outcome = self.hit_by(&first.rule.keyword).await?;
        if asked.dry_run {
            return Ok(outcome);
        }
        let numbers: Vec<i64> = lifted.iter().map(|stop| stop.rule.no).collect();
        let lifted_by = by.to_value().to_string();
        let mut tries = Tries::default();
        let revision = loop {
            let done = async {
                let mut client = self.host.store.operations().await?;
                let tx = client.transaction().await?;
                let (ended, revision) = stops::lift(&tx, &numbers, &lifted_by, &asked.reason).await?;
                let ended = lifted.iter().filter(|stop| ended.contains(&stop.rule.no));
                let before: Vec<Value> = ended.map(|stop| of_stop(&stop.rule)).collect();
                AuditEntry::new("resume", (AuditKind::Flow, &first.rule.keyword), by, Some(&asked.reason))
                    .changed(json!(before), Value::Null, json!({"stops": numbers}))
                    .record(&tx)
                    .await?;
                tx.commit().await?;
                Ok(Ok(revision))
            };
            if let Some(done) = tries.judge(&self.host, "resume", done.await).await {
                break done?;
            }
        };
        self.note("flows_resumed", by.door, 1);
        outcome.stops = numbers;
        outcome.confirmation = self.confirmed(revision).await?;
        Ok(outcome)
    }

    /// Gives an order about a called system, in place of the one before.
    ///
    /// # Errors
    /// The problem to answer with.
    pub async fn order_system(
        &self,
        system: &str,
        order: SystemOrder,
        asked: &SystemOrderRequest,
        by: &Principal,
    ) -> Result<ConfirmationView, Problem> {
        checked("system", system, MAX_TEXT)?;
        checked("reason", &asked.reason, MAX_TEXT)?;
        let now = self.database_time().await?;
        let from = asked.from.unwrap_or(now).max(now);
        let until = end_of(from, asked.duration.as_deref())?;
        let rule = SystemOverride { system: system.to_owned(), order, from, until };
        let made_by = by.to_value().to_string();
        let mut tries = Tries::default();
        let revision = loop {
            let done = async {
                let mut client = self.host.store.operations().await?;
                let tx = client.transaction().await?;
                let before = stops::lock_override(&tx, system).await?;
                let revision = stops::override_system(&tx, &rule, &asked.reason, &made_by).await?;
                AuditEntry::new(order.as_str(), (AuditKind::System, system), by, Some(&asked.reason))
                    .changed(of_order(before.as_ref().map(|one| &one.rule)), of_order(Some(&rule)), json!({}))
                    .record(&tx)
                    .await?;
                tx.commit().await?;
                Ok(Ok(revision))
            };
            if let Some(done) = tries.judge(&self.host, "system order", done.await).await {
                break done?;
            }
        };
        self.note("system_ordered", by.door, 1);
        self.confirmed(revision).await
    }

    /// Takes the order about a called system back.
    ///
    /// # Errors
    /// The problem to answer with.
    pub async fn clear_system(&self, system: &str, by: &Principal) -> Result<ConfirmationView, Problem> {
        let mut tries = Tries::default();
        let revision = loop {
            let again = tries.is_again();
            let done = async {
                let mut client = self.host.store.operations().await?;
                let tx = client.transaction().await?;
                let before = stops::lock_override(&tx, system).await?;
                let Some(revision) = stops::clear_system(&tx, system).await? else {
                    let message = format!("there is no order about the system `{system}`");
                    // A try before may have taken it back, and only its answer was lost.
                    let known = stops::confirmed(&self.host.store.api().await?).await?.revision;
                    return Ok(if again { Ok(known) } else { Err(Problem::new(Type::NotFound, message)) });
                };
                AuditEntry::new("clear", (AuditKind::System, system), by, None)
                    .changed(of_order(before.as_ref().map(|one| &one.rule)), Value::Null, json!({}))
                    .record(&tx)
                    .await?;
                tx.commit().await?;
                Ok(Ok(revision))
            };
            if let Some(done) = tries.judge(&self.host, "system order", done.await).await {
                break done?;
            }
        };
        self.note("system_cleared", by.door, 1);
        self.confirmed(revision).await
    }

    /// Makes the holder of a lease step down, so that a standby takes it. Returns the name of the former holder.
    ///
    /// # Errors
    /// The problem to answer with.
    pub async fn resign(
        &self,
        lease: &str,
        asked: &ResignRequest,
        by: &Principal,
    ) -> Result<String, Problem> {
        checked("reason", &asked.reason, MAX_TEXT)?;
        let ended = async {
            let mut client = self.host.store.operations().await?;
            let tx = client.transaction().await?;
            let former = leases::end(&tx, lease).await?;
            if former.is_some() {
                AuditEntry::new("resign", (AuditKind::Lease, lease), by, Some(&asked.reason))
                    .changed(json!({"holder": former}), json!({"holder": null}), json!({}))
                    .record(&tx)
                    .await?;
            }
            tx.commit().await?;
            Ok(former)
        };
        let former = ended.await.map_err(self.failed("resign"))?;
        let former =
            former.ok_or_else(|| Problem::new(Type::NotFound, format!("nobody holds a lease `{lease}`")))?;
        self.note("resigned", by.door, 1);
        tracing::warn!(lease, former, reason = asked.reason, "an operator ended the lease");
        Ok(former)
    }

    /// The flows that a keyword hits now.
    pub(crate) async fn hit_by(&self, keyword: &str) -> Result<StopOutcome, Problem> {
        let names =
            async { flows::names(&self.host.store.operations().await?, keyword, MAX_NAMES + 1).await };
        let (mut flows, ready) = names.await.map_err(self.failed("flows"))?;
        let most = saturated::<usize>(MAX_NAMES);
        let more_flows = flows.len() > most;
        flows.truncate(most);
        Ok(StopOutcome { flows, more_flows, ready, ..StopOutcome::default() })
    }

    /// Time by the clock of the database, by which rules of operators hold: that of the node may be another.
    pub(crate) async fn database_time(&self) -> Result<Timestamp, Problem> {
        let now = async { clock::now(&self.host.store.operations().await?).await };
        now.await.map_err(self.failed("clock"))
    }

    /// Waits until the active dispatcher goes by this revision of the rules.
    pub(crate) async fn confirmed(&self, revision: i64) -> Result<ConfirmationView, Problem> {
        Effects { rules_changed: true, ..Effects::default() }.send(&self.host).await;
        let begun = Instant::now();
        while begun.elapsed() < CONFIRMED_WITHIN {
            let known = async { stops::confirmed(&self.host.store.api().await?).await };
            // The rule is stored: that the word of the dispatcher cannot be read now takes nothing from it.
            if let Ok(known) = known.await
                && known.revision >= revision
            {
                return Ok(ConfirmationView {
                    confirmed: true,
                    epoch: Some(known.epoch.0),
                    serial: Some(known.serial),
                });
            }
            tokio::time::sleep(LOOK_EVERY).await;
        }
        Ok(ConfirmationView::default())
    }
}

/// End of something that starts at `from` and lasts for `duration`.
fn end_of(from: Timestamp, duration: Option<&str>) -> Result<Option<Timestamp>, Problem> {
    let Some(text) = duration else { return Ok(None) };
    let bad = |message: String| Problem::of_field("/for", message);
    let duration = parse_duration(text).map_err(bad)?;
    if duration.is_zero() {
        return Err(bad("the duration must be longer than 0".to_owned()));
    }
    let end = SignedDuration::try_from(duration).ok().and_then(|duration| from.checked_add(duration).ok());
    end.and_then(pagurus_domain::time::within_range).map(Some).ok_or_else(|| bad("it is too long".to_owned()))
}

fn nothing_to_lift(held: &[StoredStop]) -> Problem {
    let keywords: Vec<String> =
        held.iter().take(20).map(|stop| format!("`{}` ({})", stop.rule.keyword, stop.rule.no)).collect();
    let there = if keywords.is_empty() {
        "nothing is stopped by hand".to_owned()
    } else {
        format!("there are: {}", keywords.join(", "))
    };
    let windows = "a maintenance window is ended by `POST /v1/windows/{no}/end`, see `GET /v1/windows`";
    Problem::new(Type::NotFound, format!("no such stop; {there}; {windows}"))
}

/// A stop for the audit log.
fn of_stop(stop: &FlowStop) -> Value {
    json!({"stop": stop.no, "keyword": stop.keyword, "from": time::shown(stop.from), "until": stop.until.map(time::shown)})
}

/// An order about a system for the audit log; null where there is none.
fn of_order(rule: Option<&SystemOverride>) -> Value {
    rule.map_or(Value::Null, |rule| {
        json!({"order": rule.order.as_str(), "from": time::shown(rule.from), "until": rule.until.map(time::shown)})
    })
}
