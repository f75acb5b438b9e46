//! `lifecycle.after`: reads what an order waits for.

use std::collections::BTreeSet;

use serde_json::Value;

use super::{MAX_ID_BYTES, fault, text_at, unknown_members};
use crate::document::Fault;
use crate::order::dependency::{MAX_PRECONDITIONS, Otherwise, Precondition};

/// Expected states of one pre-condition at most.
const MAX_STATES: usize = 100;
/// Fields of an entry.
const KEYS: &[&str] = &["order", "states", "otherwise"];
/// Pointer to the list.
const AT: &str = "/lifecycle/after";

/// Reads the list; `id` is the order that would wait.
///
/// # Errors
/// Everything that is wrong with it, each with a JSON pointer.
pub(super) fn read(value: &Value, id: Option<&str>) -> Result<Vec<Precondition>, Vec<Fault>> {
    let Some(list) = value.as_array() else {
        return Err(vec![fault(AT, "must be a list of objects with `order` and `states`")]);
    };
    if list.len() > MAX_PRECONDITIONS {
        return Err(vec![fault(AT, format!("has more than {MAX_PRECONDITIONS} entries"))]);
    }
    let mut faults = Vec::new();
    let mut named = BTreeSet::new();
    let mut after = Vec::with_capacity(list.len());
    for (index, item) in list.iter().enumerate() {
        let at = format!("{AT}/{index}");
        let Some(precondition) = read_one(item, &at, &mut faults) else { continue };
        if id == Some(precondition.order.as_str()) {
            faults.push(fault(&format!("{at}/order"), "is this order itself, which would wait forever"));
        } else if !named.insert(precondition.order.clone()) {
            let message = "is named twice: put all states that satisfy the wait into one entry";
            faults.push(fault(&format!("{at}/order"), message));
        }
        after.push(precondition);
    }
    if faults.is_empty() { Ok(after) } else { Err(faults) }
}

fn read_one(item: &Value, at: &str, faults: &mut Vec<Fault>) -> Option<Precondition> {
    let before = faults.len();
    let Some(map) = item.as_object() else {
        faults.push(fault(at, "must be an object with `order` and `states`"));
        return None;
    };
    faults.extend(unknown_members(map, KEYS, at, "is not a field of a pre-condition"));
    let order = text_at(map.get("order").unwrap_or(&Value::Null), &format!("{at}/order"), MAX_ID_BYTES)
        .map_err(|found| faults.push(found));
    let states = read_states(map.get("states"), &format!("{at}/states"), faults);
    let otherwise = match map.get("otherwise") {
        None | Some(Value::Null) => None,
        Some(value) => match value.as_str().map(str::parse::<Otherwise>) {
            Some(Ok(otherwise)) => Some(otherwise),
            Some(Err(error)) => {
                faults.push(fault(&format!("{at}/otherwise"), error.to_string()));
                None
            }
            None => {
                faults.push(fault(&format!("{at}/otherwise"), "must be text"));
                None
            }
        },
    };
    (faults.len() == before).then_some(())?;
    Some(Precondition { order: order.ok()?, states, otherwise })
}

fn read_states(value: Option<&Value>, at: &str, faults: &mut Vec<Fault>) -> Vec<String> {
    let list = match value {
        Some(Value::Array(list)) if !list.is_empty() && list.len() <= MAX_STATES => list,
        _ => {
            let message =
                format!("must be a list of 1 to {MAX_STATES} terminal states of that order's scenario");
            faults.push(fault(at, message));
            return Vec::new();
        }
    };
    let mut states = Vec::with_capacity(list.len());
    for (index, item) in list.iter().enumerate() {
        match text_at(item, &format!("{at}/{index}"), MAX_ID_BYTES) {
            Ok(state) => states.push(state),
            Err(found) => faults.push(found),
        }
    }
    states
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn pointers(value: &Value) -> Vec<String> {
        let read = read(value, Some("me"));
        read.err().into_iter().flatten().map(|found| found.pointer).collect()
    }

    #[test]
    fn ord_14_every_fault_of_the_list_has_its_place() {
        let one = json!({"order": "a", "states": ["done"]});
        for (value, places) in [
            (json!([one, {"order": "b", "states": ["x", "y"], "otherwise": "cancel"}]), vec![]),
            (json!("a"), vec!["/lifecycle/after"]),
            (json!(vec![one.clone(); 101]), vec!["/lifecycle/after"]),
            (json!([one, one]), vec!["/lifecycle/after/1/order"]),
            (json!([{"order": "me", "states": ["done"]}]), vec!["/lifecycle/after/0/order"]),
            (json!([{"order": "a", "states": []}]), vec!["/lifecycle/after/0/states"]),
            (
                json!([{"order": 5, "states": ["done", ""], "otherwise": "maybe"}]),
                vec![
                    "/lifecycle/after/0/order",
                    "/lifecycle/after/0/states/1",
                    "/lifecycle/after/0/otherwise",
                ],
            ),
            (json!([{"order": "a", "states": ["done"], "state": "x"}]), vec!["/lifecycle/after/0/state"]),
        ] {
            assert_eq!(pointers(&value), places, "{value}");
        }
    }
}
