//! Calls to live orders (SCN-9).
//!
//! A call is stored before anybody waits for its answer: a caller that is cut off asks again with
//! the same key, and gets the answer that was given meanwhile.

use pagurus_domain::audit::AuditKind;
use pagurus_domain::document::{nearest, pointer_to};
use pagurus_domain::order::principal::Principal;
use pagurus_domain::order::registration;
use pagurus_runtime::Effects;
use pagurus_runtime::scenarios::Known;
use pagurus_store::Error;
use pagurus_store::hot::calls::{self, StoredCall, Submitted};
use pagurus_store::hot::control;
use pagurus_store::hot::stages::ReadyStage;
use pagurus_store::lists::audit::AuditEntry;
use pagurus_wire::problem::{Problem, Type};
use serde_json::{Value, json};
use uuid::Uuid;

use crate::Commands;
use crate::request::text_of;
use crate::tries::Tries;

/// Longest key of a caller.
const MAX_KEY_BYTES: usize = 255;

/// A call as it came.
#[derive(Clone, Debug)]
pub struct NewCall {
    /// The caller's key.
    pub key: String,
    /// Name of the call.
    pub name: String,
    /// Value that it brings.
    pub body: Value,
    /// Reason for the audit log.
    pub reason: Option<String>,
}

/// Fields of a call; `id` names the order in a message.
const FIELDS: [&str; 5] = ["id", "name", "body", "key", "reason"];

impl NewCall {
    /// Reads `{"name": …, "body": …, "key": …, "reason": …}`; the key may stand beside it, and without any the
    /// call cannot be asked for again.
    ///
    /// # Errors
    /// The problem to answer with.
    pub fn read(asked: &Value, key_beside: Option<&str>) -> Result<Self, Problem> {
        let invalid = |pointer: &str, message: &str| Problem::of_field(pointer, message);
        let Some(map) = asked.as_object() else {
            return Err(invalid("", "the body of a call is a JSON object"));
        };
        if let Some(key) = map.keys().find(|key| !FIELDS.contains(&key.as_str())) {
            let meant =
                nearest(key, FIELDS).map_or_else(String::new, |meant| format!("; did you mean `{meant}`?"));
            return Err(invalid(&pointer_to("", key), &format!("is no field of a call{meant}")));
        }
        let text = |name: &str| match map.get(name) {
            None | Some(Value::Null) => Ok(None),
            Some(Value::String(text)) => Ok(Some(text.clone())),
            Some(_) => Err(invalid(&format!("/{name}"), "must be text")),
        };
        let name = text("name")?.ok_or_else(|| invalid("/name", "is missing: it says which call it is"))?;
        let key = text("key")?.or_else(|| key_beside.map(str::to_owned));
        let key = key.unwrap_or_else(|| Uuid::new_v4().to_string());
        if key.is_empty() || key.len() > MAX_KEY_BYTES || key.chars().any(char::is_control) {
            return Err(invalid("/key", "must have 1 to 255 bytes without control characters"));
        }
        let body = map.get("body").cloned().unwrap_or(Value::Null);
        if let Some(found) = registration::unstorable(&body) {
            return Err(invalid(&format!("/body{}", found.pointer), &found.message));
        }
        let reason = text_of(map, "reason").map_err(|fault| invalid(&fault.pointer, &fault.message))?;
        let reason = reason.filter(|reason| !reason.is_empty());
        Ok(Self { key, name, body, reason })
    }
}

/// The stage that a call let run, if it let any.
type WokenStage = Option<ReadyStage>;

impl Commands {
    /// Stores a call and wakes its order; the same key again is the same call.
    ///
    /// # Errors
    /// The problem to answer with.
    pub async fn call(&self, id: &str, call: &NewCall, by: &Principal) -> Result<(), Problem> {
        let mut tries = Tries::default();
        loop {
            let outcome = self.call_at_once(id, call, by).await;
            if let Some(done) = tries.judge(&self.host, "call", outcome).await {
                return done;
            }
        }
    }

    /// Calls with a single try, for an intake with other requests waiting behind this one.
    ///
    /// # Errors
    /// The database failed, or the order is locked: the same call may be repeated.
    pub async fn call_at_once(
        &self,
        id: &str,
        call: &NewCall,
        by: &Principal,
    ) -> Result<Result<(), Problem>, Error> {
        Ok(match self.try_call(id, call, by).await? {
            Ok(woken) => {
                self.note("called", by.door, 1);
                Effects::of_ready(&woken).send(&self.host).await;
                Ok(())
            }
            Err(problem) => Err(problem),
        })
    }

    async fn try_call(
        &self,
        id: &str,
        call: &NewCall,
        by: &Principal,
    ) -> Result<Result<WokenStage, Problem>, Error> {
        let mut client = self.host.store.recovery().await?;
        self.catalogue.refresh(&client).await?;
        let tx = client.transaction().await?;
        let Some(order) = control::lock(&tx, id).await? else { return Ok(Err(Problem::no_order(id))) };
        let known = self.catalogue.get(&tx, order.head.scenario).await?.and_then(Known::readable);
        let Some(scenario) = known.filter(|scenario| scenario.takes_call(&call.name)) else {
            let message = format!("scenario `{}` takes no call `{}`", order.scenario, call.name);
            return Ok(Err(Problem::new(Type::Invalid, message).at("/name")));
        };
        // A called system may answer by a call, and tell a secret back.
        let secrets = self.secrets.named_by(&scenario);
        let body = if secrets.is_empty() { call.body.clone() } else { secrets.kept(&call.body) };
        let call = &NewCall { body, ..call.clone() };
        if order.status.is_final() {
            // What was answered before the end stays to be asked for.
            return match calls::of_key(&tx, order.head.no, &call.key).await? {
                Some(stored) => Ok(same(&stored, call).map(|()| None)),
                None => {
                    Ok(Err(Problem::new(Type::Refused, "the order has ended: it takes no calls any more")
                        .with_status(order.status)))
                }
            };
        }
        let outcome = match calls::submit(&tx, &order, &call.key, &call.name, &call.body).await? {
            Submitted::Waiting(woken) => {
                AuditEntry::new("call", (AuditKind::Order, id), by, call.reason.as_deref())
                    .with(&json!({"name": call.name, "key": call.key}))
                    .record(&tx)
                    .await?;
                Ok(woken)
            }
            Submitted::Known(stored) => same(&stored, call).map(|()| None),
        };
        tx.commit().await?;
        Ok(outcome)
    }
}

fn same(stored: &StoredCall, call: &NewCall) -> Result<(), Problem> {
    if stored.name == call.name && stored.body == call.body {
        return Ok(());
    }
    Err(Problem::new(Type::Conflict, "another call with this key was made to this order"))
}
