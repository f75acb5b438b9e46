//! `lifecycle`: reads when an order may start, and what it waits for.

use std::time::Duration;

use jiff::Timestamp;
use serde_json::Value;

use super::{RegistrationReader, after, fault, unknown_members};
use crate::document::{Fault, nearest};
use crate::order::dependency::Precondition;
use crate::time;

const KEYS: &[&str] = &["startAt", "periodToStart", "promiseAt", "after"];

/// The `lifecycle` part of a registration.
#[derive(Default)]
pub(super) struct Lifecycle {
    /// Not before.
    pub start_at: Option<Timestamp>,
    /// Longest time between sending and start.
    pub period_to_start: Option<Duration>,
    /// Time at which the client must be served.
    pub promise_at: Option<Timestamp>,
    /// Orders that must have ended before.
    pub after: Vec<Precondition>,
}

/// Reads `lifecycle.startAt`; null is none.
pub(in crate::order) fn start_at(value: &Value) -> Result<Option<Timestamp>, Fault> {
    moment(value, "/lifecycle/startAt")
}

fn moment(value: &Value, pointer: &str) -> Result<Option<Timestamp>, Fault> {
    if value.is_null() {
        return Ok(None);
    }
    let read = value.as_str().and_then(time::read);
    read.map(Some).ok_or_else(|| fault(pointer, format!("must be {}", time::RANGE)))
}

/// Says of a field of `lifecycle` that stands beside it where it belongs.
fn hint_at_place(fault: &mut Fault) {
    let key = fault.pointer.trim_start_matches('/');
    let known = KEYS.iter().copied();
    let meant = known.clone().find(|known| *known == key).or_else(|| nearest(key, known));
    if let Some(meant) = meant.filter(|_| fault.hint.is_none()) {
        fault.hint = Some(format!("did you mean `lifecycle.{meant}`?"));
    }
}

impl RegistrationReader<'_> {
    pub(super) fn lifecycle(&mut self) -> Lifecycle {
        self.faults.iter_mut().for_each(hint_at_place);
        let lifecycle = match self.get("lifecycle") {
            None => return Lifecycle::default(),
            Some(Value::Object(lifecycle)) => lifecycle,
            Some(_) => {
                self.fault("/lifecycle", "must be an object");
                return Lifecycle::default();
            }
        };
        self.faults.extend(unknown_members(lifecycle, KEYS, "/lifecycle", "is not a field of lifecycle"));
        let mut time_at = |key: &str| {
            let read = lifecycle.get(key).map(|value| moment(value, &format!("/lifecycle/{key}")))?;
            read.map_err(|found| self.faults.push(found)).ok().flatten()
        };
        let (start_at, promise_at) = (time_at("startAt"), time_at("promiseAt"));
        if let (Some(start), Some(promise)) = (start_at, promise_at)
            && promise <= start
        {
            self.fault("/lifecycle/promiseAt", "must be after `startAt`, before which nobody is served");
        }
        let after = lifecycle.get("after").filter(|value| !value.is_null()).map_or_else(Vec::new, |value| {
            let id = self.map.get("id").and_then(Value::as_str);
            after::read(value, id).unwrap_or_else(|mut found| {
                self.faults.append(&mut found);
                Vec::new()
            })
        });
        let period_to_start =
            lifecycle.get("periodToStart").filter(|value| !value.is_null()).and_then(|value| {
                let seconds = value.as_u64().filter(|seconds| (1..=u64::from(u32::MAX)).contains(seconds));
                if seconds.is_none() {
                    let message = format!("must be a whole number of seconds from 1 to {}", u32::MAX);
                    self.fault("/lifecycle/periodToStart", message);
                }
                seconds.map(Duration::from_secs)
            });
        Lifecycle { start_at, period_to_start, promise_at, after }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test may panic")]

    use serde_json::json;

    use super::super::Request;

    #[test]
    fn ord_1_a_field_of_lifecycle_that_stands_beside_it_is_reported_with_its_place() {
        let hint = |key: &str| {
            let faults = Request::read(json!({"id": "o", "scenario": "s", key: null})).unwrap_err();
            faults[0].hint.clone()
        };
        assert_eq!(hint("startAt").unwrap(), "did you mean `lifecycle.startAt`?");
        assert_eq!(hint("periodToStrat").unwrap(), "did you mean `lifecycle.periodToStart`?");
        assert_eq!(hint("qeue").unwrap(), "did you mean `queue`?");
        assert_eq!(hint("colour"), None);
    }
}
