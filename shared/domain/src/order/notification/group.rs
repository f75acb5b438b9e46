//! Groups: notifications of one receiver that are gathered into one message, at the wish of its client.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::document::{Fault, parse_duration};
use crate::order::registration::{fault, unknown_members};

/// Terms on which notifications are gathered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct NotifyGroup {
    /// Most notifications in one message.
    pub max: u16,
    /// Longest wait of a notification for others, in milliseconds.
    pub within_ms: u16,
}

impl NotifyGroup {
    /// Most notifications that may be asked for in one message.
    pub const MOST: u16 = 1000;
    /// Longest wait that may be asked for.
    pub const LONGEST: Duration = Duration::from_secs(1);
    /// The terms where a client gives none.
    pub const DEFAULT: Self = Self { max: 500, within_ms: 50 };

    /// Longest wait of a notification for others.
    #[must_use]
    pub fn within(self) -> Duration {
        Duration::from_millis(self.within_ms.into())
    }

    /// Reads the object at this pointer; a fault for everything that is wrong with it.
    pub(super) fn read(value: &Value, at: &str, faults: &mut Vec<Fault>) -> Option<Self> {
        let Some(map) = value.as_object() else {
            faults.push(fault(at, "must be an object"));
            return None;
        };
        let before = faults.len();
        let known = ["max", "within"];
        faults.extend(unknown_members(map, &known, at, "is not known here; there are: max, within"));
        let given = |key: &str| map.get(key).filter(|value| !value.is_null());
        let mut group = Self::DEFAULT;
        if let Some(max) = given("max") {
            match max
                .as_u64()
                .and_then(|max| u16::try_from(max).ok())
                .filter(|max| (1..=Self::MOST).contains(max))
            {
                Some(max) => group.max = max,
                None => faults.push(fault(
                    &format!("{at}/max"),
                    format!("must be a whole number from 1 to {}", Self::MOST),
                )),
            }
        }
        if let Some(within) = given("within") {
            match within_of(within) {
                Ok(within) => group.within_ms = within,
                Err(message) => faults.push(fault(&format!("{at}/within"), message)),
            }
        }
        (faults.len() == before).then_some(group)
    }

    /// The form in which it is stored.
    pub(super) fn to_value(self) -> Value {
        json!({"max": self.max, "within": format!("{}ms", self.within_ms)})
    }

    /// The stored group; none where there is none that can be read.
    pub(super) fn of_stored(value: &Value) -> Option<Self> {
        Self::read(value, "", &mut Vec::new())
    }
}

fn within_of(value: &Value) -> Result<u16, String> {
    let text = value.as_str().ok_or("must be a duration such as 50ms")?;
    let within = parse_duration(text)?;
    if within.is_zero() || within > NotifyGroup::LONGEST {
        return Err("must be from 1ms to 1s".to_owned());
    }
    u16::try_from(within.as_millis()).map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(group: &Value) -> Result<NotifyGroup, Vec<String>> {
        let mut faults = Vec::new();
        let read = NotifyGroup::read(group, "/notify/group", &mut faults);
        read.ok_or_else(|| faults.into_iter().map(|found| found.pointer).collect())
    }

    #[test]
    fn ord_18_a_group_has_bounds_and_what_is_left_out_has_a_default() {
        let terms = |max, within_ms| Ok(NotifyGroup { max, within_ms });
        assert_eq!(read(&json!({})), terms(500, 50));
        assert_eq!(read(&json!({"max": 1, "within": "1s"})), terms(1, 1000));
        assert_eq!(read(&json!({"max": 1000, "within": null})), terms(1000, 50));
        for max in [json!(0), json!(1001), json!(-1), json!(1.5), json!("10"), json!(u64::MAX)] {
            assert_eq!(read(&json!({"max": max})), Err(vec!["/notify/group/max".to_owned()]), "{max}");
        }
        for within in [json!("0ms"), json!("1001ms"), json!("2s"), json!(50), json!("soon"), json!("1d")] {
            assert_eq!(
                read(&json!({"within": within})),
                Err(vec!["/notify/group/within".to_owned()]),
                "{within}"
            );
        }
        assert_eq!(read(&json!({"min": 1})), Err(vec!["/notify/group/min".to_owned()]));
        for other in [json!(true), json!([]), json!("500")] {
            assert_eq!(read(&other), Err(vec!["/notify/group".to_owned()]));
        }
    }
}
