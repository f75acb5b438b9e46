//! Actions of operations on each of their orders: how they are read, and how they are carried out.

use futures_util::StreamExt as _;
use futures_util::future::BoxFuture;
use jiff::SignedDuration;
use pagurus_domain::document::parse_duration;
use pagurus_domain::id::OrderNo;
use pagurus_domain::operation::BulkKind;
use pagurus_domain::order::Status;
use pagurus_domain::order::amendment::{Repair, Update};
use pagurus_domain::order::principal::Principal;
use pagurus_domain::order::registration::KEYS;
use pagurus_store::outside::operations::StoredOperation;
use pagurus_store::outside::operations::items::TakenOrder;
use pagurus_wire::problem::{Problem, Type};
use serde_json::{Map, Value};

use crate::Commands;
use crate::act::LifeAction;
use crate::request::{ActionRequest, OF_OTHERS, OF_RESTART, RequestKey, unknown};
use crate::restart::Restart;
use crate::terms::Terms;

/// Orders that are acted on at once where each has a transaction of its own.
const AT_ONCE: usize = 4;

/// An action on many orders.
#[derive(Clone, Debug)]
pub enum BulkAction {
    /// Ends or begins a life, only of an order in this status where one is named.
    Life(LifeAction, Option<Status>),
    /// Lets a stuck order go on from another state.
    Repair(Repair),
    /// Changes an order that does not run.
    Update(Box<Update>),
    /// Sends unconfirmed notifications again.
    Resend,
    /// Moves the due time of an order that waits or retries.
    Shift(SignedDuration),
    /// Looks for contradictions between the rows of an order, and repairs what has one right repair.
    Check,
    /// Registers an order like it, but for these fields.
    Clone(Value),
    /// Takes its queue from an order that owns it.
    Release,
}

impl BulkAction {
    /// Reads an action with its fields, as they stand in the request of one order.
    ///
    /// # Errors
    /// The problem to answer with: everything that is wrong, below `/with`.
    pub fn read(word: &str, fields: &Map<String, Value>, reason: &str) -> Result<Self, Problem> {
        let read = Self::read_fields(word, fields, reason);
        read.map_err(|mut problem| {
            for fault in &mut problem.errors {
                fault.pointer = format!("/with{}", fault.pointer);
            }
            let is_inner = problem.pointer.as_deref() != Some("/action");
            problem.pointer = problem.pointer.map(|at| if is_inner { format!("/with{at}") } else { at });
            problem
        })
    }

    fn read_fields(word: &str, fields: &Map<String, Value>, reason: &str) -> Result<Self, Problem> {
        let kind: BulkKind = word.parse().map_err(|_| {
            let words = BulkKind::ALL.iter().map(|kind| kind.as_str()).collect::<Vec<_>>().join(", ");
            Problem::of_field("/action", format!("is one of {words}"))
        })?;
        let bare = Value::Object(fields.clone());
        let mut with_reason = fields.clone();
        with_reason.insert("reason".to_owned(), reason.into());
        let with_reason = Value::Object(with_reason);
        let of_faults = |faults: Vec<_>| Problem::of_faults(Type::Invalid, &faults);
        let life = |action: LifeAction, known: &[&str]| {
            let known: Vec<&str> =
                known.iter().copied().filter(|key| !matches!(*key, "id" | "reason")).collect();
            let asked = ActionRequest::read(&bare, &known)?;
            let status = asked.if_status;
            Ok(Self::Life(action.with(&asked), status))
        };
        let without_fields = |action: Self| ActionRequest::read(&bare, &[]).map(|_| action);
        match kind {
            BulkKind::Restart => life(LifeAction::Restart(Restart::default()), OF_RESTART),
            BulkKind::Cancel => life(LifeAction::Cancel, OF_OTHERS),
            BulkKind::Interrupt => life(LifeAction::Interrupt, OF_OTHERS),
            BulkKind::Kill => life(LifeAction::Kill, OF_OTHERS),
            BulkKind::Repair => Ok(Self::Repair(Repair::read(&with_reason).map_err(of_faults)?)),
            BulkKind::Update => Ok(Self::Update(Box::new(Update::read(&with_reason).map_err(of_faults)?))),
            BulkKind::Resend => without_fields(Self::Resend),
            BulkKind::Shift => distance(fields).map(Self::Shift),
            BulkKind::Check => without_fields(Self::Check),
            BulkKind::Clone => {
                let known: Vec<&str> = KEYS.iter().copied().filter(|key| *key != "id").collect();
                let strange = fields.keys().filter(|key| !known.contains(&key.as_str()));
                let faults: Vec<_> = strange.map(|key| unknown(key, &known)).collect();
                if faults.is_empty() { Ok(Self::Clone(with_reason)) } else { Err(of_faults(faults)) }
            }
            BulkKind::Release => without_fields(Self::Release),
        }
    }

    /// True if it makes work for the flows of the orders, which therefore set its pace.
    #[must_use]
    pub const fn adds_work(&self) -> bool {
        self.awaits_ends() || matches!(self, Self::Clone(_))
    }

    /// True if the orders go on afterwards, so that their ends show the result.
    #[must_use]
    pub const fn awaits_ends(&self) -> bool {
        matches!(self, Self::Life(LifeAction::Restart(_), _) | Self::Repair(_))
    }
}

fn distance(fields: &Map<String, Value>) -> Result<SignedDuration, Problem> {
    let bad = |message: String| Problem::new(Type::Invalid, format!("/by: {message}")).at("/by");
    if let Some(key) = fields.keys().find(|key| *key != "by") {
        return Err(Problem::new(Type::Invalid, format!("`{key}` is no field of a shift: it has `by`")));
    }
    let text =
        fields.get("by").and_then(Value::as_str).ok_or_else(|| bad("say how far, like \"3h\"".to_owned()))?;
    let distance = parse_duration(text).map_err(&bad)?;
    if distance.is_zero() {
        return Err(bad("the duration must be longer than 0".to_owned()));
    }
    SignedDuration::try_from(distance).map_err(|_| bad("it is too long".to_owned()))
}

/// The outcome for one order.
pub(super) struct ActedOrder<'a> {
    pub order: &'a TakenOrder,
    /// The life that it goes on in, if its end is awaited; or why nothing was done.
    pub outcome: Result<Option<i32>, Problem>,
}

impl Commands {
    /// Carries out the action of an operation on each of these orders.
    pub(super) async fn act_on<'a>(
        &self,
        operation: &StoredOperation,
        action: &BulkAction,
        taken: &'a [TakenOrder],
    ) -> Vec<ActedOrder<'a>> {
        let by = Principal::operation(operation.no);
        let key =
            RequestKey { name: format!("operation:{}", operation.no), digest: operation.action.clone() };
        let there: Vec<(&TakenOrder, &str)> =
            taken.iter().filter_map(|order| Some((order, order.id.as_deref()?))).collect();
        let gone = taken.iter().filter(|order| order.id.is_none()).map(|order| ActedOrder {
            order,
            outcome: Err(Problem::new(Type::NotFound, "the order is not there any more")),
        });
        let mut came: Vec<ActedOrder<'a>> = gone.collect();
        if let BulkAction::Life(life, if_status) = action {
            let terms = Terms {
                by: &by,
                reason: Some(&operation.reason),
                if_status: *if_status,
                key: Some(&key),
                dry_run: false,
            };
            let ids: Vec<&str> = there.iter().map(|(_, id)| *id).collect();
            let outcomes = self.act_all(&ids, life, terms).await;
            came.extend(there.iter().zip(outcomes).map(|((order, _), outcome)| ActedOrder {
                order,
                outcome: outcome.map(|acted| action.awaits_ends().then_some(acted.life)),
            }));
            return came;
        }
        if let BulkAction::Check = action {
            let ids: Vec<&str> = there.iter().map(|(_, id)| *id).collect();
            let checked = self.check(&ids, &by, Some(&operation.reason)).await;
            came.extend(
                there
                    .iter()
                    .zip(checked)
                    .map(|((order, _), checked)| ActedOrder { order, outcome: checked.map(|_| None) }),
            );
            return came;
        }
        let mut single: Vec<BoxFuture<'_, ActedOrder<'a>>> = Vec::with_capacity(there.len());
        for (order, id) in there {
            single.push(Box::pin(self.act_on_one(operation, action, (order, id), &by, &key)));
        }
        came.extend(futures_util::stream::iter(single).buffer_unordered(AT_ONCE).collect::<Vec<_>>().await);
        came
    }

    async fn act_on_one<'a>(
        &self,
        operation: &StoredOperation,
        action: &BulkAction,
        (order, id): (&'a TakenOrder, &str),
        by: &Principal,
        key: &RequestKey,
    ) -> ActedOrder<'a> {
        ActedOrder { order, outcome: self.act_alone(operation, action, (order, id), by, key).await }
    }

    async fn act_alone(
        &self,
        operation: &StoredOperation,
        action: &BulkAction,
        (order, id): (&TakenOrder, &str),
        by: &Principal,
        key: &RequestKey,
    ) -> Result<Option<i32>, Problem> {
        match action {
            BulkAction::Repair(repair) => {
                self.repair(id, repair, by, Some(key), false).await?;
                // What had ended goes on in a new life.
                Ok(Some(order.life + i32::from(order.is_final)))
            }
            BulkAction::Update(update) => self.update(id, update, by, Some(key)).await.map(|()| None),
            BulkAction::Resend => match self.resend(id, by, Some(&operation.reason)).await? {
                0 => Err(Problem::new(Type::Refused, "no notification of it is unconfirmed")),
                _ => Ok(None),
            },
            BulkAction::Shift(distance) => {
                let shift = operation.shift.unwrap_or_default();
                let moved =
                    self.shift_one(shift, OrderNo(order.no), *distance, (&operation.reason, by)).await?;
                if moved {
                    Ok(None)
                } else {
                    Err(Problem::new(
                        Type::Refused,
                        "the order neither waits nor retries, or was moved already",
                    ))
                }
            }
            BulkAction::Clone(changes) => {
                let scope = self.scope_of(operation);
                self.clone_order(id, changes, (by, &scope), key).await.map(|()| None)
            }
            BulkAction::Release => self.release_order(id, by, &operation.reason, key).await.map(|()| None),
            // Done for many at once.
            BulkAction::Life(..) | BulkAction::Check => Ok(None),
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test may panic")]
mod tests {
    use serde_json::json;

    use super::*;

    fn read(word: &str, fields: Value) -> Result<BulkAction, Problem> {
        BulkAction::read(word, fields.as_object().unwrap(), "why")
    }

    #[test]
    fn rec_12_each_action_takes_the_fields_of_its_own_request() {
        assert!(matches!(
            read("restart", json!({"from": "s", "ifStatus": "fail"})).unwrap(),
            BulkAction::Life(LifeAction::Restart(Restart { from: Some(from), .. }), Some(Status::Fail)) if from == "s"
        ));
        assert!(read("restart", json!({})).unwrap().awaits_ends());
        assert!(read("repair", json!({"state": "s"})).unwrap().awaits_ends());
        assert!(!read("kill", json!({})).unwrap().awaits_ends());
        assert!(matches!(read("update", json!({"priority": "low"})).unwrap(), BulkAction::Update(_)));
        assert!(
            matches!(read("shift", json!({"by": "3h"})).unwrap(), BulkAction::Shift(by) if by.as_hours() == 3)
        );
        assert!(matches!(read("resend", json!({})).unwrap(), BulkAction::Resend));
        assert!(matches!(read("check", json!({})).unwrap(), BulkAction::Check));
        assert!(matches!(read("release", json!({})).unwrap(), BulkAction::Release));
        let clone = read("clone", json!({"priority": "low", "queue": null})).unwrap();
        assert!(clone.adds_work() && !clone.awaits_ends());
    }

    #[test]
    fn qlt_8_what_an_action_does_not_know_is_refused_below_with() {
        let pointer = |word: &str, fields: Value| read(word, fields).unwrap_err().pointer.unwrap_or_default();
        assert_eq!(pointer("restart", json!({"form": "s"})), "/with/form");
        assert_eq!(pointer("kill", json!({"from": "s"})), "/with/from");
        assert_eq!(pointer("kill", json!({"reason": "s"})), "/with/reason");
        assert_eq!(pointer("repair", json!({})), "/with/state");
        assert_eq!(pointer("update", json!({"priority": "urgent"})), "/with/priority");
        assert_eq!(pointer("shift", json!({"by": "soon"})), "/with/by");
        assert_eq!(pointer("resend", json!({"x": 1})), "/with/x");
        assert_eq!(pointer("clone", json!({"id": "one for all"})), "/with/id");
        assert_eq!(pointer("release", json!({"queue": "q"})), "/with/queue");
        assert_eq!(pointer("explode", json!({})), "/action");
    }
}
