//! An answer to a request that is played by hand: for a message that is stuck or was lost, and for systems of tests. It does
//! what the callback would do, and stands in the history with its reason.

use pagurus_domain::audit::AuditKind;
use pagurus_domain::document::Fault;
use pagurus_domain::order::principal::Principal;
use pagurus_domain::order::registration::unstorable;
use pagurus_runtime::Effects;
use pagurus_runtime::metrics::Count;
use pagurus_runtime::trouble::store_problem;
use pagurus_store::hot::control::{self, Locked};
use pagurus_store::hot::history;
use pagurus_store::hot::requests;
use pagurus_store::hot::requests::NamedRequest;
use pagurus_store::lists::audit::AuditEntry;
use pagurus_store::outside::answers::{self, Answered, NewCallback};
use pagurus_store::{Error, Tx};
use pagurus_wire::problem::{Problem, Type};
use serde_json::{Value, json};

use crate::request::{fault, given, invalid, text_of, unknown};
use crate::{Commands, caused};

/// Fields that the body of such an answer may have.
const FIELDS: &[&str] = &["body", "stepStatus", "reason"];
/// Longest step status.
const MAX_STEP_STATUS_BYTES: usize = 1024;

/// An answer by hand.
#[derive(Clone, Debug, PartialEq)]
pub struct AnswerByHand {
    /// Answer that the called system would have given.
    pub body: Value,
    /// Status of its step.
    pub step_status: Option<String>,
    /// Reason for which it is played.
    pub reason: String,
}

impl AnswerByHand {
    /// Reads the body of a request.
    ///
    /// # Errors
    /// The problem to answer with: everything that is wrong.
    pub fn read(asked: &Value) -> Result<Self, Problem> {
        let Some(map) = asked.as_object() else {
            return Err(invalid(&[fault("", "must be a JSON object")]));
        };
        let keys = map.keys().filter(|key| !FIELDS.contains(&key.as_str()));
        let mut faults: Vec<Fault> = keys.map(|key| unknown(key, FIELDS)).collect();
        let mut text = |key: &str| text_of(map, key).map_err(|found| faults.push(found)).ok().flatten();
        let (step_status, reason) = (text("stepStatus"), text("reason"));
        if step_status.as_ref().is_some_and(|status| status.len() > MAX_STEP_STATUS_BYTES) {
            faults.push(fault("/stepStatus", format!("is longer than {MAX_STEP_STATUS_BYTES} bytes")));
        }
        if reason.as_deref().is_none_or(str::is_empty)
            && !faults.iter().any(|found| found.pointer == "/reason")
        {
            faults.push(fault("/reason", "is missing: an answer by hand says why"));
        }
        let body = given(map, "body").cloned().unwrap_or_default();
        if let Some(found) = unstorable(&body) {
            faults.push(fault(&format!("/body{}", found.pointer), found.message));
        }
        match reason {
            Some(reason) if faults.is_empty() => Ok(Self { body, step_status, reason }),
            _ => Err(invalid(&faults)),
        }
    }
}

impl Commands {
    /// Answers the newest open request of this name that the present life of an order has.
    ///
    /// # Errors
    /// The problem to answer with: no such order or request, none that is open, or not available.
    pub async fn answer(
        &self,
        id: &str,
        request: &str,
        answer: &AnswerByHand,
        by: &Principal,
    ) -> Result<(), Problem> {
        match self.try_answer(id, request, answer, by).await {
            Ok(Ok(effects)) => {
                effects.send(&self.host).await;
                self.host.metrics.count(Count::Callbacks, "by_hand", 1);
                Ok(())
            }
            Ok(Err(problem)) => Err(problem),
            Err(error) => Err(store_problem(&self.host, "answer by hand", &error)),
        }
    }

    async fn try_answer(
        &self,
        id: &str,
        request: &str,
        answer: &AnswerByHand,
        by: &Principal,
    ) -> Result<Result<Effects, Problem>, Error> {
        let mut client = self.host.store.recovery().await?;
        self.catalogue.refresh(&client).await?;
        let tx = client.transaction().await?;
        let Some(order) = control::lock(&tx, id).await? else { return Ok(Err(Problem::no_order(id))) };
        let all = requests::of_life(&tx, order.head.no, order.head.life).await?;
        let asked = match open_one(&all, request, &order) {
            Ok(asked) => asked,
            Err(problem) => return Ok(Err(problem)),
        };
        let callback = match self.callback(&tx, &order, asked, answer).await? {
            Ok(callback) => callback,
            Err(problem) => return Ok(Err(problem)),
        };
        let Answered { woken, closed, .. } = answers::answer(&tx, &[callback], 0).await?;
        let detail = json!({
            "request": request, "reason": answer.reason, "stepStatus": answer.step_status, "from": order.status.as_str(),
        });
        let detail = caused(detail, by).to_string();
        history::append(&tx, order.head.no, "answered_by_hand", by.source(), &detail).await?;
        AuditEntry::new("answer", (AuditKind::Order, id), by, Some(&answer.reason))
            .with(&json!({"request": request}))
            .record(&tx)
            .await?;
        tx.commit().await?;
        let mut effects = Effects::of_ready(&woken);
        effects.answers(closed);
        Ok(Ok(effects))
    }

    /// The answer as one that came in: without the secrets of the scenario, as those are stored.
    async fn callback(
        &self,
        tx: &Tx<'_>,
        order: &Locked,
        asked: &NamedRequest,
        answer: &AnswerByHand,
    ) -> Result<Result<NewCallback, Problem>, Error> {
        let scenario = match self.scenario_of(tx, order).await? {
            Ok(scenario) => scenario,
            Err(problem) => return Ok(Err(problem)),
        };
        let secrets = self.secrets.named_by(&scenario);
        Ok(Ok(NewCallback {
            named: asked.id.to_string(),
            request: Some(asked.id),
            step_status: answer.step_status.as_deref().map(|status| secrets.kept_text(status)),
            headers: Some(json!({"content-type": "application/json"}).to_string()),
            body: secrets.kept_text(&answer.body.to_string()).into_bytes(),
        }))
    }
}

/// The newest request of this name that may be answered.
fn open_one<'a>(all: &'a [NamedRequest], name: &str, order: &Locked) -> Result<&'a NamedRequest, Problem> {
    if let Some(open) = all.iter().find(|request| request.is_open && request.name == name) {
        return Ok(open);
    }
    let mut open: Vec<&str> =
        all.iter().filter(|request| request.is_open).map(|request| &*request.name).collect();
    open.sort_unstable();
    open.dedup();
    let others = match open.as_slice() {
        [] => "no request of it is open".to_owned(),
        open => format!("open are: {}", open.join(", ")),
    };
    Err(if all.iter().any(|request| request.name == name) {
        let message = format!("the request is not open any more; {others}");
        Problem::new(Type::Refused, message).with_status(order.status)
    } else {
        Problem::new(Type::NotFound, format!("the order has no such request in its present life; {others}"))
    })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test may panic")]

    use super::*;

    #[test]
    fn scn_7_an_answer_by_hand_says_why_and_may_say_anything() {
        let read =
            AnswerByHand::read(&json!({"body": {"code": 0}, "stepStatus": "k2", "reason": "lost"})).unwrap();
        assert_eq!((read.body, read.step_status.as_deref()), (json!({"code": 0}), Some("k2")));
        assert_eq!(AnswerByHand::read(&json!({"reason": "lost"})).unwrap().body, Value::Null);
        let pointers = |asked: Value| -> Vec<String> {
            AnswerByHand::read(&asked).unwrap_err().errors.into_iter().map(|one| one.pointer).collect()
        };
        assert_eq!(pointers(json!({"body": 1})), ["/reason"]);
        assert_eq!(pointers(json!({"bdy": 1, "reason": 5})), ["/bdy", "/reason"]);
        assert_eq!(pointers(json!({"body": "a\u{0}", "reason": ""})), ["/reason", "/body"]);
    }
}
