//! Fields of a registration, each read by itself: all faults are found at once.

use serde_json::{Map, Value};

use super::super::labels::Labels;
use super::super::notification::{Receivers, with_whole_url};
use super::{MAX_ID_BYTES, MAX_NAME_BYTES, MAX_TRANSACTION_ID_CHARS, escape, fault, text_at};
use crate::document::Fault;

pub(super) struct RegistrationReader<'a> {
    pub map: &'a Map<String, Value>,
    pub faults: Vec<Fault>,
}

impl<'a> RegistrationReader<'a> {
    /// The value of a key; null counts as left out.
    pub fn get(&self, key: &str) -> Option<&'a Value> {
        self.map.get(key).filter(|value| !value.is_null())
    }

    pub fn fault(&mut self, pointer: &str, message: impl Into<String>) {
        self.faults.push(fault(pointer, message));
    }

    pub fn required_text(&mut self, key: &str, max_bytes: usize) -> Option<String> {
        if self.get(key).is_none() {
            self.fault(&format!("/{key}"), "is missing");
            return None;
        }
        self.text(key, max_bytes)
    }

    pub fn text(&mut self, key: &str, max_bytes: usize) -> Option<String> {
        let found = text_at(self.get(key)?, &format!("/{key}"), max_bytes);
        match found {
            Ok(text) => Some(text),
            Err(found) => {
                self.faults.push(found);
                None
            }
        }
    }

    pub fn id(&mut self) -> String {
        self.required_text("id", MAX_ID_BYTES).unwrap_or_default()
    }

    pub fn scenario_version(&mut self) -> Option<i32> {
        let value = self.get("scenarioVersion")?;
        let version = value.as_i64().and_then(|version| i32::try_from(version).ok());
        if version.is_none_or(|version| version < 1) {
            self.fault("/scenarioVersion", "must be a whole number of at least 1");
        }
        version
    }

    /// The value of a key as a map; nothing is an empty one.
    pub fn object(&mut self, key: &str, value: Option<Value>) -> Map<String, Value> {
        match value {
            Some(Value::Object(map)) => return map,
            None | Some(Value::Null) => {}
            Some(_) => self.fault(&format!("/{key}"), "must be an object"),
        }
        Map::new()
    }

    /// The attributes of the flow. Their names and texts are bounded: what is longer names no class of orders.
    pub fn flow(&mut self, value: Option<Value>) -> Map<String, Value> {
        let flow = self.object("flow", value);
        let is_long = |text: &str| text.len() > MAX_NAME_BYTES;
        for (name, value) in &flow {
            let at = format!("/flow/{}", escape(name));
            if is_long(name) {
                self.fault(&at, format!("its name is longer than {MAX_NAME_BYTES} bytes of UTF-8"));
            } else if value.as_str().is_some_and(is_long) {
                self.fault(&at, format!("is longer than {MAX_NAME_BYTES} bytes of UTF-8"));
            }
        }
        flow
    }

    pub fn word<T: std::str::FromStr<Err = crate::id::UnknownWord>>(&mut self, key: &str) -> Option<T> {
        let value = self.get(key)?;
        let pointer = format!("/{key}");
        let Some(text) = value.as_str() else {
            self.fault(&pointer, "must be text");
            return None;
        };
        text.parse().map_err(|unknown: crate::id::UnknownWord| self.faults.push(unknown.fault(&pointer))).ok()
    }

    pub fn transaction_id(&mut self) -> Option<String> {
        let text = self.get("transactionId")?.as_str().map(str::to_owned);
        match text {
            None => {
                self.fault("/transactionId", "must be text");
                None
            }
            Some(text) if text.chars().count() > MAX_TRANSACTION_ID_CHARS => {
                self.fault("/transactionId", format!("is longer than {MAX_TRANSACTION_ID_CHARS} characters"));
                None
            }
            text => text,
        }
    }

    pub fn labels(&mut self, value: Option<Value>) -> Labels {
        let labels = Labels::read(self.object("labels", value), "/labels");
        labels.map_err(|mut found| self.faults.append(&mut found)).unwrap_or_default()
    }

    pub fn notify(&mut self) -> Option<Receivers> {
        let notify = with_whole_url(self.get("notify")?.clone(), None).map_err(|fault| vec![fault]);
        let read = notify.and_then(|notify| Receivers::read(&notify));
        read.map_err(|mut found| self.faults.append(&mut found)).ok()
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test may stop at the first surprise")]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::super::Request;
    use crate::any::{changed, json};

    /// An order with every field.
    fn order() -> serde_json::Value {
        json!({
            "id": "a", "scenario": "s", "scenarioVersion": 1, "params": {"n": 1, "list": [1, {"m": null}]},
            "mode": "sequential", "queue": "q", "priority": "low", "flow": {"region": "200"}, "transactionId": "t",
            "labels": {"k": "v"},
            "notify": [{"url": "amqp://?key=k", "correlationId": "c", "timezone": "Europe/Moscow", "on": ["final"], "format": "cloudevents"}],
            "lifecycle": {
                "startAt": "2026-01-01T00:00:00Z", "promiseAt": "2026-01-02T00:00:00Z", "periodToStart": 60,
                "after": [{"order": "b", "states": ["done"], "otherwise": "wait"}],
            },
        })
    }

    proptest! {
        #[test]
        fn ord_1_qlt_8_no_body_breaks_the_reader_and_what_it_takes_it_takes_again(
            body in prop_oneof![changed(order()), json()],
        ) {
            match Request::read(body.clone()) {
                Err(faults) => {
                    prop_assert!(!faults.is_empty());
                    prop_assert!(faults.iter().all(|fault| fault.pointer.is_empty() || fault.pointer.starts_with('/')));
                }
                Ok(request) => {
                    let text = body.to_string();
                    let again = Request::read(serde_json::from_str(&text).unwrap());
                    prop_assert_eq!(again.map(|again| (again.id, again.params)), Ok((request.id, request.params)));
                }
            }
        }
    }
}
