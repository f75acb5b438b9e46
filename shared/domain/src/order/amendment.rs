//! Changes of an order by hand: an update before it goes on (ORD-27), a repair where it is stuck (ORD-23).
//!
//! Only reads what was asked; when it may be done says the law.

use std::borrow::Cow;

use jiff::Timestamp;
use serde_json::{Map, Value};

use super::Priority;
use super::notification::{AllowList, Receivers};
use super::registration::{escape, fault, start_at, text_at, unknown_members, unstorable};
use crate::document::Fault;

/// Longest reason, in bytes.
pub const MAX_REASON_BYTES: usize = 4096;
/// Longest name of a state, in bytes.
const MAX_STATE_BYTES: usize = 255;

/// Change of an order before it goes on. A field that is none stays as it is.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Update {
    /// Other parameters, as a whole.
    pub params: Option<Value>,
    /// Another urgency.
    pub priority: Option<Priority>,
    /// Another time not to start before; `Some(None)` takes the condition away.
    pub start_at: Option<Option<Timestamp>>,
    /// Other receivers of notifications; `Some(None)` takes them away.
    pub notify: Option<Option<Receivers>>,
    /// Why, for the history.
    pub reason: Option<String>,
}

impl Update {
    /// Reads the body of an update.
    ///
    /// # Errors
    /// Everything that is wrong with it, each with a JSON pointer.
    pub fn read(body: &Value) -> Result<Self, Vec<Fault>> {
        let map = object(body, "an update must be a JSON object")?;
        let mut faults = unknown_keys(map, &["params", "priority", "lifecycle", "notify", "reason"]);
        let mut update = Self { reason: reason(map, &mut faults), ..Self::default() };
        let given = |key: &str| map.get(key).filter(|value| !value.is_null());
        if let Some(params) = given("params") {
            if !params.is_object() {
                faults.push(fault("/params", "must be an object"));
            }
            update.params = Some(params.clone());
        }
        if let Some(priority) = given("priority") {
            match priority.as_str().map(str::parse::<Priority>) {
                Some(Ok(priority)) => update.priority = Some(priority),
                Some(Err(unknown)) => faults.push(unknown.fault("/priority")),
                None => faults.push(fault("/priority", "must be text")),
            }
        }
        if let Some(lifecycle) = given("lifecycle") {
            update.start_at = read_lifecycle(lifecycle, &mut faults);
        }
        match map.get("notify") {
            None => {}
            Some(Value::Null) => update.notify = Some(None),
            Some(notify) => match Receivers::read(notify) {
                Ok(notify) => update.notify = Some(Some(notify)),
                Err(mut found) => faults.append(&mut found),
            },
        }
        if faults.is_empty() && update == (Self { reason: update.reason.clone(), ..Self::default() }) {
            faults.push(fault(
                "",
                "changes nothing: give `params`, `priority`, `lifecycle.startAt` or `notify`",
            ));
        }
        if faults.is_empty() { Ok(update) } else { Err(faults) }
    }

    /// The update of an order with these stored receivers: a URL that is shown as a stored one stands for that one.
    ///
    /// # Errors
    /// The URL stands for none.
    pub fn completed(&self, stored: Option<&str>) -> Result<Cow<'_, Self>, Vec<Fault>> {
        let Some(Some(notify)) = &self.notify else { return Ok(Cow::Borrowed(self)) };
        let completed = notify.completed(stored)?;
        if completed == *notify {
            return Ok(Cow::Borrowed(self));
        }
        Ok(Cow::Owned(Self { notify: Some(Some(completed)), ..self.clone() }))
    }

    /// Faults of the update by the rules of the deployment, each with a JSON pointer.
    #[must_use]
    pub fn faults(&self, allow: &AllowList) -> Vec<Fault> {
        let notify = self.notify.as_ref().and_then(Option::as_ref);
        notify.map(|notify| notify.refused(allow)).unwrap_or_default()
    }
}

fn read_lifecycle(value: &Value, faults: &mut Vec<Fault>) -> Option<Option<Timestamp>> {
    let Some(lifecycle) = value.as_object() else {
        faults.push(fault("/lifecycle", "must be an object"));
        return None;
    };
    for key in lifecycle.keys().filter(|key| *key != "startAt") {
        let message = "cannot be changed: only `startAt` of the lifecycle can";
        faults.push(fault(&format!("/lifecycle/{}", escape(key)), message));
    }
    match start_at(lifecycle.get("startAt")?) {
        Ok(start_at) => Some(start_at),
        Err(found) => {
            faults.push(found);
            None
        }
    }
}

/// Place from which a stuck order goes on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RepairPlace {
    /// The first action of this state.
    State(String),
    /// The action of this state with this index.
    Action(String, usize),
    /// The action that failed, with what had gone through of it.
    FailedAction,
}

/// Place from which a stuck order goes on, and its variables.
#[derive(Clone, Debug, PartialEq)]
pub struct Repair {
    /// Place from which it goes on.
    pub from: RepairPlace,
    /// Variables of the order; none keeps those that it has.
    pub vars: Option<Map<String, Value>>,
    /// The version of its scenario under which it goes on; none keeps the one that it has.
    pub scenario_version: Option<i32>,
    /// Why, for the history.
    pub reason: String,
}

impl Repair {
    /// Reads the body of a repair.
    ///
    /// # Errors
    /// Everything that is wrong with it, each with a JSON pointer.
    pub fn read(body: &Value) -> Result<Self, Vec<Fault>> {
        let map =
            object(body, "a repair must be a JSON object with `state` or `failedAction`, and `reason`")?;
        let known = ["state", "action", "failedAction", "vars", "scenarioVersion", "reason"];
        let mut faults = unknown_keys(map, &known);
        let from = repair_place(map).map_err(|found| faults.push(found)).ok();
        let vars = match map.get("vars") {
            None | Some(Value::Null) => None,
            Some(Value::Object(vars)) => Some(vars.clone()),
            Some(_) => {
                faults.push(fault("/vars", "must be an object"));
                None
            }
        };
        let scenario_version = map.get("scenarioVersion").filter(|value| !value.is_null()).map(version_at);
        let scenario_version =
            scenario_version.transpose().map_err(|found| faults.push(found)).ok().flatten();
        let reason = reason(map, &mut faults);
        if reason.is_none() && !faults.iter().any(|found| found.pointer == "/reason") {
            faults.push(fault("/reason", "is missing: the history must say why"));
        }
        match (from, reason) {
            (Some(from), Some(reason)) if faults.is_empty() => {
                Ok(Self { from, vars, scenario_version, reason })
            }
            _ => Err(faults),
        }
    }
}

fn repair_place(map: &Map<String, Value>) -> Result<RepairPlace, Fault> {
    let given = |name: &str| map.get(name).filter(|value| !value.is_null());
    let is_failed_action = match given("failedAction") {
        None => false,
        Some(value) => value.as_bool().ok_or_else(|| fault("/failedAction", "must be true or false"))?,
    };
    if is_failed_action {
        let other = ["state", "action"].into_iter().find(|name| given(name).is_some());
        return match other {
            None => Ok(RepairPlace::FailedAction),
            Some(other) => {
                let message = "cannot be combined with `failedAction`, which sets the place";
                Err(fault(&format!("/{other}"), message))
            }
        };
    }
    let missing = || {
        fault(
            "/state",
            "is missing: name the state to continue from, or give `failedAction` to repeat what failed",
        )
    };
    let state = text_at(given("state").ok_or_else(missing)?, "/state", MAX_STATE_BYTES)?;
    match given("action").map(|action| action.as_u64().and_then(|index| usize::try_from(index).ok())) {
        None => Ok(RepairPlace::State(state)),
        Some(Some(action)) => Ok(RepairPlace::Action(state, action)),
        Some(None) => Err(fault("/action", "must be the index of an action of the state, from 0")),
    }
}

/// Reads `scenarioVersion`.
///
/// # Errors
/// The value is no number that a version can have.
pub fn version_at(value: &Value) -> Result<i32, Fault> {
    let version =
        value.as_i64().and_then(|version| i32::try_from(version).ok()).filter(|version| *version > 0);
    version.ok_or_else(|| fault("/scenarioVersion", "must be a whole number from 1"))
}

fn object<'a>(body: &'a Value, message: &str) -> Result<&'a Map<String, Value>, Vec<Fault>> {
    let map = body.as_object().ok_or_else(|| vec![fault("", message)])?;
    match unstorable(body) {
        Some(found) => Err(vec![found]),
        None => Ok(map),
    }
}

fn unknown_keys(map: &Map<String, Value>, known: &[&'static str]) -> Vec<Fault> {
    unknown_members(map, known, "", &format!("cannot be given here; there are: {}", known.join(", ")))
}

fn reason(map: &Map<String, Value>, faults: &mut Vec<Fault>) -> Option<String> {
    let value = map.get("reason").filter(|value| !value.is_null())?;
    text_at(value, "/reason", MAX_REASON_BYTES).map_err(|found| faults.push(found)).ok()
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests")]
mod tests {
    use super::*;
    use serde_json::json;

    fn pointers<T>(read: Result<T, Vec<Fault>>) -> Vec<String> {
        read.err().into_iter().flatten().map(|found| found.pointer).collect()
    }

    #[test]
    fn ord_27_an_update_says_what_changes_and_null_takes_away() {
        let nothing = Update::read(&json!({"params": null, "priority": null, "lifecycle": null}));
        assert_eq!(pointers(nothing), [""], "each is left out, and so nothing changes");
        let update =
            Update::read(&json!({"priority": "high", "lifecycle": {"startAt": null}, "notify": null}));
        let update = update.unwrap();
        assert_eq!(
            (update.priority, update.start_at, update.notify),
            (Some(Priority::High), Some(None), Some(None))
        );
        assert_eq!(update.params, None);
        for (body, pointer) in [
            (json!([]), ""),
            (json!({}), ""),
            (json!({"reason": "none"}), ""),
            (json!({"params": 5}), "/params"),
            (json!({"priority": "urgent"}), "/priority"),
            (json!({"queue": "q"}), "/queue"),
            (json!({"lifecycle": {"startAt": "soon"}}), "/lifecycle/startAt"),
            (json!({"lifecycle": {"after": []}}), "/lifecycle/after"),
            (json!({"notify": {"url": "ftp://x"}}), "/notify/url"),
            (json!({"notify": [{"url": "amqp://?key=k"}, {"url": "ftp://x"}]}), "/notify/1/url"),
        ] {
            assert_eq!(pointers(Update::read(&body)), [pointer], "{body}");
        }
    }

    #[test]
    fn ord_23_a_repair_names_a_state_and_a_reason() {
        let repair = Repair::read(&json!({"state": "two", "reason": "stuck"})).unwrap();
        assert_eq!((repair.from, repair.vars), (RepairPlace::State("two".into()), None));
        assert_eq!(pointers(Repair::read(&json!({}))), ["/state", "/reason"]);
        assert_eq!(pointers(Repair::read(&json!({"state": "a", "vars": [], "reason": "b"}))), ["/vars"]);
        let versioned =
            |version: Value| Repair::read(&json!({"state": "a", "scenarioVersion": version, "reason": "b"}));
        assert_eq!(versioned(json!(2)).unwrap().scenario_version, Some(2));
        assert_eq!(pointers(versioned(json!(0))), ["/scenarioVersion"]);
        assert_eq!(pointers(versioned(json!("2"))), ["/scenarioVersion"]);
    }

    #[test]
    fn ord_23_a_repair_names_an_action_of_a_state_or_means_the_one_that_failed() {
        let place = |mut body: Value| {
            body["reason"] = "r".into();
            Repair::read(&body).map(|repair| repair.from)
        };
        assert_eq!(place(json!({"state": "a", "action": 2})), Ok(RepairPlace::Action("a".into(), 2)));
        let none_said = json!({"state": "a", "action": null, "failedAction": false});
        assert_eq!(place(none_said), Ok(RepairPlace::State("a".into())));
        assert_eq!(place(json!({"failedAction": true})), Ok(RepairPlace::FailedAction));
        for (body, pointer) in [
            (json!({"failedAction": 1}), "/failedAction"),
            (json!({"failedAction": true, "state": "a"}), "/state"),
            (json!({"failedAction": true, "action": 0}), "/action"),
            (json!({"action": 0}), "/state"),
            (json!({"state": "a", "action": 0.5}), "/action"),
            (json!({"state": "a", "action": "0"}), "/action"),
        ] {
            assert_eq!(pointers(place(body.clone())), [pointer], "{body}");
        }
    }

    proptest::proptest! {
        #[test]
        fn ord_27_qlt_8_no_body_of_a_change_or_a_repair_breaks_its_reader(
            change in crate::any::changed(json!({"params": {"n": 1}, "priority": "low", "lifecycle": {"startAt": "2026-01-01T00:00:00Z"}, "notify": {"url": "amqp://?key=k"}, "reason": "r"})),
            repair in crate::any::changed(json!({"state": "a", "vars": {"n": 1}, "scenarioVersion": 2, "reason": "r"})),
        ) {
            proptest::prop_assert!(Update::read(&change).err().is_none_or(|faults| !faults.is_empty()));
            proptest::prop_assert!(Repair::read(&repair).err().is_none_or(|faults| !faults.is_empty()));
        }
    }
}
