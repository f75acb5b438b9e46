//! Repair of one stuck order by hand (ORD-23): asks the law and the scenario, then writes under a lock.

use pagurus_domain::audit::AuditKind;
use pagurus_domain::id::{Life, ScenarioNo};
use pagurus_domain::number::saturated;
use pagurus_domain::order::amendment::{Repair, RepairPlace};
use pagurus_domain::order::notification::Moved;
use pagurus_domain::order::transition::Cause;
use pagurus_runtime::Effects;
use pagurus_scenario::Scenario;
use pagurus_scenario::repair::{Repaired, RepairedLife, repair};
use pagurus_scenario::stage::Snapshot;
use pagurus_store::hot::control::{Allowed, Locked};
use pagurus_store::hot::outbox::{self, NewNotification};
use pagurus_store::hot::stages::ReadyStage;
use pagurus_store::lists::audit::AuditEntry;
use pagurus_store::outside::amend::{self, Reopening, Repairing};
use pagurus_store::{Error, Tx};
use pagurus_wire::message::Left;
use pagurus_wire::problem::Problem;
use serde_json::json;

use crate::amend::{Amended, AmendmentAuthor, invalid};
use crate::{Commands, caused, refused, stored_snapshot};

impl Commands {
    pub(crate) async fn try_repair(
        &self,
        id: &str,
        asked: &Repair,
        by: &AmendmentAuthor<'_>,
    ) -> Result<Amended, Error> {
        let mut client = self.host.store.recovery().await?;
        let (tx, order) = match self.locked_for(&mut client, id, &[Cause::Repaired], by).await? {
            Ok(locked) => locked,
            Err(answer) => return Ok(answer),
        };
        let former = stored_snapshot(&tx, &order).await?;
        let chosen = self.chosen(&tx, &order, asked.scenario_version).await?;
        let checked = order.may(Cause::Repaired).map_err(refused).and_then(|allowed| {
            let (scenario, other) = chosen?;
            let repaired = self.repaired(asked, &scenario, former.clone(), &order)?;
            Ok((allowed, scenario, other, repaired))
        });
        let (allowed, scenario, other, repaired) = match checked {
            Ok(checked) => checked,
            Err(problem) => {
                self.note_refused(Cause::Repaired, &problem);
                return Ok(Err(problem));
            }
        };
        let place = json!({"state": repaired.state, "action": repaired.action});
        let notifications = moved_by_hand(allowed, &repaired.state);
        let change = RepairChange { asked, repaired, former, scenario: &scenario, other };
        let ready = change.write(self, &tx, allowed, by).await?;
        outbox::put(&tx, &notifications).await?;
        AuditEntry::new("repair", (AuditKind::Order, id), by.principal, Some(&asked.reason))
            .with(&place)
            .record(&tx)
            .await?;
        if by.dry_run {
            tx.rollback().await?;
        } else {
            tx.commit().await?;
        }
        let left = order.ready_attempt().map(|gone| Left {
            no: order.head.no.0,
            attempt: Some(gone.0),
            queue: None,
        });
        let left = left.into_iter().collect();
        let status = allowed.change().to;
        Ok(Ok((status, Effects { left, notifications, ..Effects::of_ready([&ready]) })))
    }

    fn repaired(
        &self,
        asked: &Repair,
        scenario: &Scenario,
        former: Snapshot,
        order: &Locked,
    ) -> Result<Repaired, Problem> {
        let life = if order.status.is_final() { RepairedLife::Next } else { RepairedLife::Present };
        let max_vars_bytes = self.host.settings().scenario.max_vars_bytes;
        repair(asked, scenario, former, life, max_vars_bytes).map_err(|faults| invalid(&faults))
    }
}

/// A repair that may be done, with the scenario under which the order goes on.
struct RepairChange<'a> {
    asked: &'a Repair,
    repaired: Repaired,
    former: Snapshot,
    scenario: &'a Scenario,
    /// Another version than the one that the order has.
    other: Option<ScenarioNo>,
}

impl RepairChange<'_> {
    /// Makes the order go on: a failed one in a new life, because its end was notified; a suspended one in the present life.
    async fn write(
        &self,
        commands: &Commands,
        tx: &Tx<'_>,
        allowed: Allowed<'_>,
        by: &AmendmentAuthor<'_>,
    ) -> Result<ReadyStage, Error> {
        let Self { asked, repaired, scenario, other, .. } = self;
        let detail = self.detail(allowed.order(), by);
        let snapshot = repaired.position.to_text();
        if allowed.order().status.is_final() {
            let reopening = Reopening {
                // In the middle of a state an order goes on with what it was answered before.
                keeps_answers: !matches!(asked.from, RepairPlace::State(_)),
                snapshot: Some(snapshot),
                entry_point: Some(repaired.state.clone()),
                scenario: *other,
                postponed: None,
                params: None,
                start_deadline: None,
                process_timeout: scenario.timeouts.process.or(commands
                    .host
                    .settings()
                    .recovery
                    .process_timeout),
                source: by.principal.source(),
                detail,
            };
            return amend::reopen(tx, allowed, reopening).await;
        }
        let repairing = Repairing {
            snapshot,
            scenario: *other,
            scenario_status: repaired.scenario_status,
            step: &repaired.state,
            visited: saturated::<i32>(repaired.position.visit.number),
            distance: repaired.distance.and_then(|distance| i32::try_from(distance).ok()),
            source: by.principal.source(),
            detail,
        };
        amend::repair(tx, allowed, &repairing).await
    }

    /// More for the history, as JSON.
    fn detail(&self, order: &Locked, by: &AmendmentAuthor<'_>) -> String {
        let Self { asked, repaired, former, .. } = self;
        let detail = json!({
            "reason": asked.reason, "from": order.status.as_str(), "formerState": order.step,
            "state": repaired.state, "action": repaired.action,
            "failedAction": asked.from == RepairPlace::FailedAction,
            "formerVars": asked.vars.as_ref().map(|_| former.known_vars()), "key": by.key.name, "request": by.key.digest,
            "scenarioVersion": asked.scenario_version, "formerScenarioVersion": order.scenario_version,
        });
        caused(detail, by.principal).to_string()
    }
}

/// The notification of a repair, which is a move like others (ORD-23). A failed order goes on in another life.
fn moved_by_hand(allowed: Allowed<'_>, to: &str) -> Vec<NewNotification> {
    let order = allowed.order();
    let mut head = order.head.clone();
    head.life = Life(head.life.0 + i32::from(allowed.change().begins_life));
    let moved = Moved {
        order: &head,
        scenario: &order.scenario,
        scenario_version: order.scenario_version,
        from: order.step.as_deref().unwrap_or_default(),
        event: "repair",
        to,
        at: order.now,
    };
    NewNotification::of_moves(&head, [moved])
}
