//! Fields of a registration, each read by itself: all faults are found at once.

use serde_json::{Map, Value};

use super::super::labels::Labels;
use super::super::notification::{Receivers, with_whole_url};
use super::{MAX_ID_BYTES, MAX_TRANSACTION_ID_CHARS, fault, text_at};
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
