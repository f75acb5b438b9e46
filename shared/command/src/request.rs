//! Request of an action, over whichever transport it came.

use pagurus_domain::document::{Fault, nearest, pointer_to};
use pagurus_domain::order::Status;
use pagurus_domain::order::amendment::{MAX_REASON_BYTES, version_at};
use pagurus_domain::order::registration::{digest, unstorable};
use pagurus_domain::order::transition::Cause;
use pagurus_store::hot::history::HistoryEvent;
use pagurus_wire::problem::{Problem, Type};
use serde_json::{Map, Value};
use uuid::Uuid;

/// Longest key of a client, in bytes.
const MAX_KEY_BYTES: usize = 255;

/// Fields of the body of a restart.
pub const OF_RESTART: &[&str] =
    &["id", "reason", "ifStatus", "from", "params", "scenarioVersion", "ignoreConditions", "keepCallbacks"];
/// Fields of the body of every other action.
pub const OF_OTHERS: &[&str] = &["id", "reason", "ifStatus"];

/// Values of the body of an action.
#[derive(Clone, Debug, Default)]
pub struct ActionRequest {
    /// The order, where the body names it.
    pub id: Option<String>,
    /// Reason.
    pub reason: Option<String>,
    /// State at which a restart begins.
    pub from: Option<String>,
    /// Changed parameters of a restart.
    pub params: Option<Value>,
    /// The version of its scenario under which a restart goes on.
    pub scenario_version: Option<i32>,
    /// True if a restart begins although conditions of its start are still open.
    pub ignore_conditions: bool,
    /// True if a restart keeps the answers of the former life.
    pub keep_callbacks: bool,
    /// The status in which the order must still be: who acts on what a list showed says so.
    pub if_status: Option<Status>,
}

impl ActionRequest {
    /// Reads a body that may have these fields. What is not known, or of the wrong type, is
    /// refused, never taken for left out: a restart would else begin where nobody meant it to, or
    /// with parameters that nobody meant.
    ///
    /// # Errors
    /// The problem to answer with: everything that is wrong.
    pub fn read(body: &Value, fields: &[&str]) -> Result<Self, Problem> {
        let Some(map) = body.as_object() else {
            return Err(invalid(&[fault("", "must be a JSON object")]));
        };
        let mut faults: Vec<Fault> = map
            .keys()
            .filter(|key| !fields.contains(&key.as_str()))
            .map(|key| unknown(key, fields))
            .collect();
        let mut text = |key: &str| text_of(map, key).map_err(|found| faults.push(found)).ok().flatten();
        let (id, reason, from) = (text("id"), text("reason"), text("from"));
        let if_status = text("ifStatus").and_then(|word| match word.parse() {
            Ok(status) => Some(status),
            Err(_) => {
                faults.push(fault("/ifStatus", format!("`{word}` is no status of an order")));
                None
            }
        });
        let scenario_version = given(map, "scenarioVersion").map(version_at).transpose();
        let scenario_version = scenario_version.map_err(|found| faults.push(found)).ok().flatten();
        let mut flag = |key: &str| {
            given(map, key).is_some_and(|value| {
                value.as_bool().unwrap_or_else(|| {
                    faults.push(fault(&format!("/{key}"), "must be true or false"));
                    false
                })
            })
        };
        let (ignore_conditions, keep_callbacks) = (flag("ignoreConditions"), flag("keepCallbacks"));
        let params = map.get("params").filter(|params| !params.is_null()).cloned();
        if let Some(params) = &params {
            if !params.is_object() {
                faults.push(fault("/params", "must be an object"));
            }
            if let Some(found) = unstorable(params) {
                faults.push(fault(&format!("/params{}", found.pointer), found.message));
            }
        }
        if faults.is_empty() {
            Ok(Self {
                id,
                reason,
                from,
                params,
                scenario_version,
                ignore_conditions,
                keep_callbacks,
                if_status,
            })
        } else {
            Err(invalid(&faults))
        }
    }

    /// Checks the request against the order that the path names.
    ///
    /// # Errors
    /// The body names another order.
    pub fn of_path(self, id: &str) -> Result<Self, Problem> {
        match &self.id {
            Some(named) if named != id => {
                Err(invalid(&[fault("/id", "names another order than the path does: leave it out")]))
            }
            _ => Ok(self),
        }
    }
}

pub(crate) fn given<'a>(map: &'a Map<String, Value>, key: &str) -> Option<&'a Value> {
    map.get(key).filter(|value| !value.is_null())
}

pub(crate) fn fault(pointer: &str, message: impl Into<String>) -> Fault {
    Fault::placed(None, pointer, message)
}

pub(crate) fn invalid(faults: &[Fault]) -> Problem {
    Problem::of_faults(Type::Invalid, faults)
}

pub(crate) fn unknown(key: &str, fields: &[&str]) -> Fault {
    let message = format!("cannot be given here; there are: {}", fields.join(", "));
    let found = fault(&pointer_to("", &key.chars().take(100).collect::<String>()), message);
    match nearest(key, fields.iter().copied()) {
        Some(name) => found.hint(format!("did you mean `{name}`?")),
        None => found,
    }
}

pub(crate) fn text_of(map: &Map<String, Value>, key: &str) -> Result<Option<String>, Fault> {
    match map.get(key) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) if text.contains('\0') => {
            Err(fault(&format!("/{key}"), "contains the character NUL"))
        }
        // A reason is the longest of them.
        Some(Value::String(text)) if text.len() > MAX_REASON_BYTES => {
            Err(fault(&format!("/{key}"), format!("is longer than {MAX_REASON_BYTES} bytes of UTF-8")))
        }
        Some(Value::String(text)) => Ok(Some(text.clone())),
        Some(_) => Err(fault(&format!("/{key}"), "must be text")),
    }
}

/// The client's name for one request: the same again is a repeat, whose answer was lost.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RequestKey {
    /// The name.
    pub name: String,
    /// Digest of what was asked under it: a key that is used for something else is a mistake.
    pub digest: String,
}

/// Causes of events that keep the key of their request.
pub(crate) const KEYED: [Cause; 9] = [
    Cause::Canceled,
    Cause::Interrupted,
    Cause::Killed,
    Cause::Restarted,
    Cause::RestartPostponed,
    Cause::Rerun,
    Cause::Updated,
    Cause::Deferred,
    Cause::Repaired,
];

impl RequestKey {
    /// A key for the tries of one request that came without: a commit whose answer was lost is known by
    /// it, so that a client is not refused because of its own action.
    pub fn of_our_own() -> Self {
        Self { name: format!("intake:{}", Uuid::new_v4()), digest: String::new() }
    }

    /// Holds the key of a request for one of these causes against the event of the request that was carried out under it.
    ///
    /// # Errors
    /// The problem to answer with: that request was another one.
    pub(crate) fn check_for(&self, causes: &[Cause], before: &HistoryEvent) -> Result<(), Problem> {
        if causes.iter().any(|cause| cause.as_str() == before.kind) {
            return self.check(before);
        }
        Err(self.misused(&format!(" at {}", before.at)))
    }

    /// The same where one kind of request alone is looked for.
    ///
    /// # Errors
    /// The problem to answer with: that request had another content.
    pub(crate) fn check(&self, before: &HistoryEvent) -> Result<(), Problem> {
        let detail: Value = serde_json::from_str(&before.detail).unwrap_or_default();
        // Events of former versions do not say what was asked.
        if detail["request"].as_str().is_none_or(|digest| digest == self.digest) {
            return Ok(());
        }
        Err(self.misused(&format!(" at {}", before.at)))
    }

    /// The problem of a key that was used for another request; `when` says when, with a space before it.
    pub(crate) fn misused(&self, when: &str) -> Problem {
        let message = format!(
            "the key `{}` was used{when} for another request; a new request needs a new key",
            self.name
        );
        Problem::new(Type::Invalid, message)
    }

    /// The key of a request with this body; none where the client gave none.
    ///
    /// # Errors
    /// The problem to answer with: the key cannot be kept.
    pub fn read(name: Option<&str>, body: &Value) -> Result<Option<Self>, Problem> {
        let Some(name) = name else { return Ok(None) };
        if name.is_empty() || name.len() > MAX_KEY_BYTES || name.chars().any(char::is_control) {
            let message =
                format!("the key of a request has 1 to {MAX_KEY_BYTES} bytes without control characters");
            return Err(Problem::new(Type::Invalid, message));
        }
        let digest = digest(body).iter().map(|byte| format!("{byte:02x}")).collect();
        Ok(Some(Self { name: name.to_owned(), digest }))
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests")]
mod tests {
    use proptest::strategy::Strategy as _;
    use serde_json::json;

    use super::*;

    #[test]
    fn ord_21_22_what_is_not_known_is_refused_with_the_nearest_name_and_everything_at_once() {
        let problem = ActionRequest::read(&json!({"parms": {"q": 1}, "from": 5}), OF_RESTART).unwrap_err();
        let faults: Vec<(&str, Option<&str>)> =
            problem.errors.iter().map(|one| (one.pointer.as_str(), one.hint.as_deref())).collect();
        assert_eq!(faults, [("/parms", Some("did you mean `params`?")), ("/from", None)]);
        assert_eq!(problem.status, 422);
        let problem = ActionRequest::read(&json!({"params": {}}), OF_OTHERS).unwrap_err();
        assert_eq!(problem.pointer.as_deref(), Some("/params"));
        assert!(ActionRequest::read(&json!([]), OF_RESTART).is_err());
        let long = |bytes: usize| ActionRequest::read(&json!({"reason": "r".repeat(bytes)}), OF_OTHERS);
        assert!(long(4096).is_ok());
        assert_eq!(long(4097).unwrap_err().pointer.as_deref(), Some("/reason"));
        let asked = json!({"id": "a", "reason": "r", "ifStatus": "fail", "from": null, "params": {"n": 1}});
        let asked = ActionRequest::read(&asked, OF_RESTART).unwrap();
        assert_eq!((asked.if_status, asked.from.is_none()), (Some(Status::Fail), true));
        assert!(asked.clone().of_path("a").is_ok() && asked.of_path("b").is_err());
    }

    #[test]
    fn ord_22_a_key_can_be_kept_and_knows_what_was_asked_whatever_its_form() {
        let body = json!({"from": "a", "params": {"n": 1}});
        let key = RequestKey::read(Some("k"), &body).unwrap().unwrap();
        let same: Value = serde_json::from_str(r#"{"params": {"n": 1.0}, "from": "a"}"#).unwrap();
        assert_eq!(RequestKey::read(Some("k"), &same).unwrap().unwrap(), key);
        assert_ne!(RequestKey::read(Some("k"), &json!({})).unwrap().unwrap(), key);
        assert_eq!(RequestKey::read(None, &body).unwrap(), None);
        for bad in ["", "a\0", "a\n", &"x".repeat(256)] {
            assert!(RequestKey::read(Some(bad), &body).is_err(), "{bad:?}");
        }
    }

    proptest::proptest! {
        #[test]
        fn ord_24_qlt_8_no_body_of_an_action_breaks_its_reader_and_what_it_takes_is_bounded(
            key in proptest::sample::select(vec!["id", "reason", "ifStatus", "from", "params", "scenarioVersion", "keepCallbacks", "x"]),
            value in proptest::prop_oneof![
                proptest::strategy::Just(Value::Null),
                proptest::arbitrary::any::<i64>().prop_map(Value::from),
                proptest::arbitrary::any::<String>().prop_map(Value::from),
                (0_usize..9000).prop_map(|length| Value::from("r".repeat(length))),
                proptest::strategy::Just(json!({"a": ["\0"]})),
            ],
        ) {
            let body = json!({"reason": "r", key: value});
            match ActionRequest::read(&body, OF_RESTART) {
                Ok(read) => {
                    let texts = [read.id, read.reason, read.from].into_iter().flatten();
                    proptest::prop_assert!(texts.into_iter().all(|text| text.len() <= MAX_REASON_BYTES && !text.contains('\0')));
                }
                Err(problem) => proptest::prop_assert_eq!(problem.status, 422),
            }
            let _ = (crate::call::NewCall::read(&body, None), crate::migrate::Migration::read(&body));
            let _ = (crate::answer::AnswerByHand::read(&body), RequestKey::read(Some(key), &body));
        }
    }
}
