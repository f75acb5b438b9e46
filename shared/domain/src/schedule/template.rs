//! The order of a schedule: a registration without its id, in whose texts placeholders stand for the time.

use jiff::Timestamp;
use jiff::tz::TimeZone;
use serde_json::{Map, Value};

use crate::MASKED;
use crate::document::{Fault, pointer_to};
use crate::order::registration::{Request, fault};

/// Placeholders in the texts of an order, each with its meaning.
pub const PLACEHOLDERS: &[(&str, &str)] = &[
    ("${schedule.name}", "name of the schedule"),
    ("${schedule.time}", "time at which the order is due, in UTC"),
    ("${schedule.localTime}", "the same with the offset of the zone"),
    ("${schedule.date}", "date of that time in the zone"),
];

/// Start of every placeholder.
const START: &str = "${schedule.";

/// The id of the order of a time: name, `@`, and the time in UTC, as `nightly@2026-12-01T03:00:00Z`.
#[must_use]
pub fn order_id(name: &str, at: Timestamp) -> String {
    format!("{name}@{at:.0}")
}

/// The id of an order that somebody asked for: with milliseconds, so that no planned time has it.
#[must_use]
pub fn order_id_by_hand(name: &str, at: Timestamp) -> String {
    format!("{name}@{at:.3}")
}

/// The order of a schedule, well-formed.
#[derive(Clone, Debug, PartialEq)]
pub struct OrderTemplate(Map<String, Value>);

impl OrderTemplate {
    /// Reads the template; `name` is that of its schedule.
    ///
    /// # Errors
    /// Everything that is wrong with it, each with a JSON pointer from the template on.
    pub fn read(template: Value, name: &str) -> Result<Self, Vec<Fault>> {
        let Value::Object(template) = template else {
            return Err(vec![fault("", "must be an object: a registration without its `id`")]);
        };
        let mut faults = Vec::new();
        if template.contains_key("id") {
            let found = fault("/id", "cannot be given");
            faults.push(found.hint("the id of each order is the name of the schedule, `@`, and its time"));
        }
        for key in ["startAt", "promiseAt"] {
            if template
                .get("lifecycle")
                .and_then(|lifecycle| lifecycle.get(key))
                .is_some_and(|value| !value.is_null())
            {
                let message = "is a single time, which every order would share";
                faults.push(
                    fault(&format!("/lifecycle/{key}"), message)
                        .hint("remove it: the schedule sets the time"),
                );
            }
        }
        let template = Self(template);
        check_placeholders(&Value::Object(template.0.clone()), "", &mut faults);
        if faults.is_empty()
            && let Err(mut found) = template.request(
                name,
                order_id(name, Timestamp::UNIX_EPOCH),
                Timestamp::UNIX_EPOCH,
                &TimeZone::UTC,
            )
        {
            faults.append(&mut found);
        }
        if faults.is_empty() { Ok(template) } else { Err(faults) }
    }

    /// The template as JSON.
    #[must_use]
    pub fn to_value(&self) -> Value {
        Value::Object(self.0.clone())
    }

    /// The registration of the order of a time.
    ///
    /// # Errors
    /// It cannot be registered.
    pub fn request(
        &self,
        name: &str,
        id: String,
        at: Timestamp,
        zone: &TimeZone,
    ) -> Result<Request, Vec<Fault>> {
        let local = at.to_zoned(zone.clone());
        let values = [
            name.to_owned(),
            format!("{at:.0}"),
            local.strftime("%Y-%m-%dT%H:%M:%S%:z").to_string(),
            local.date().to_string(),
        ];
        let mut order = Value::Object(self.0.clone());
        fill(&mut order, &values);
        if let Value::Object(order) = &mut order {
            order.insert("id".to_owned(), Value::String(id));
        }
        Request::read(order)
    }
}

/// Puts what is stored back where a person sends a hidden value as it was shown.
///
/// # Errors
/// A hidden value stands where nothing is stored.
pub fn with_hidden(sent: &mut Value, shown: &Value, stored: &Value) -> Result<(), Fault> {
    put_back(sent, Some(shown), Some(stored), "")
}

fn put_back(
    sent: &mut Value,
    shown: Option<&Value>,
    stored: Option<&Value>,
    pointer: &str,
) -> Result<(), Fault> {
    let is_hidden = matches!(sent, Value::String(text) if text.contains(MASKED));
    if is_hidden {
        return match (shown, stored) {
            (Some(shown), Some(stored)) if *sent == *shown => {
                *sent = stored.clone();
                Ok(())
            }
            _ if *sent == MASKED => {
                Err(fault(pointer, "is hidden, and there is no stored value: write the value"))
            }
            _ => Ok(()),
        };
    }
    match sent {
        Value::Array(list) => list.iter_mut().enumerate().try_for_each(|(index, item)| {
            let (shown, stored) =
                (shown.and_then(|value| value.get(index)), stored.and_then(|value| value.get(index)));
            put_back(item, shown, stored, &format!("{pointer}/{index}"))
        }),
        Value::Object(map) => map.iter_mut().try_for_each(|(key, item)| {
            let (shown, stored) =
                (shown.and_then(|value| value.get(key)), stored.and_then(|value| value.get(key)));
            put_back(item, shown, stored, &pointer_to(pointer, key))
        }),
        _ => Ok(()),
    }
}

/// Puts values in the place of placeholders, in all texts below.
fn fill(value: &mut Value, values: &[String; 4]) {
    match value {
        Value::String(text) if text.contains(START) => {
            // From the left, so that no value is looked at again.
            let mut filled = String::with_capacity(text.len());
            let mut rest = text.as_str();
            while let Some(start) = rest.find(START) {
                let (before, behind) = rest.split_at(start);
                filled.push_str(before);
                let known = PLACEHOLDERS.iter().zip(values).find(|((name, _), _)| behind.starts_with(name));
                let (shown, length) =
                    known.map_or((START, START.len()), |((name, _), value)| (value.as_str(), name.len()));
                filled.push_str(shown);
                rest = &behind[length..];
            }
            filled.push_str(rest);
            *text = filled;
        }
        Value::Array(list) => list.iter_mut().for_each(|item| fill(item, values)),
        Value::Object(map) => map.values_mut().for_each(|item| fill(item, values)),
        _ => {}
    }
}

fn check_placeholders(value: &Value, pointer: &str, faults: &mut Vec<Fault>) {
    match value {
        Value::String(text) => {
            let is_known = |at: usize| PLACEHOLDERS.iter().any(|(name, _)| text[at..].starts_with(name));
            if text.match_indices(START).any(|(at, _)| !is_known(at)) {
                let names: Vec<String> = PLACEHOLDERS.iter().map(|(name, _)| format!("`{name}`")).collect();
                let found = fault(pointer, "has a placeholder that is not known");
                faults.push(found.hint(format!("there are {}", names.join(", "))));
            }
        }
        Value::Array(list) => {
            for (index, item) in list.iter().enumerate() {
                check_placeholders(item, &format!("{pointer}/{index}"), faults);
            }
        }
        Value::Object(map) => {
            for (key, item) in map {
                check_placeholders(item, &pointer_to(pointer, key), faults);
            }
        }
        _ => {}
    }
}
