//! Searches as they come in: as an object, or as the pairs of a query.

use std::collections::BTreeMap;

use jiff::{SignedDuration, Timestamp};
use serde_json::{Map, Value};

use super::{ConditionKind, MOST_IDS, Search, SearchCondition};
use crate::document::{Fault, nearest, parse_duration, pointer_to};
use crate::order::{ScenarioStatus, Status};
use crate::time;

/// Longest text of a condition, in bytes: as long as the longest field of an order.
const MAX_TEXT_BYTES: usize = 4096;
/// Values that one search asks for at most.
const MOST_VALUES: usize = 20;

impl Search {
    /// Reads an object: lists where several are wanted, times as such or as a duration back from `now`.
    ///
    /// # Errors
    /// Everything that is wrong, each with a JSON pointer.
    pub fn read(value: &Value, now: Timestamp) -> Result<Self, Vec<Fault>> {
        let Some(map) = value.as_object() else {
            return Err(vec![Fault::placed(None, "", "a search is an object of conditions")]);
        };
        let mut reader = SearchReader { map, now, faults: Vec::new() };
        let search = reader.read();
        let mut faults = reader.faults;
        faults.extend(search.check_path().err());
        if faults.is_empty() { Ok(search) } else { Err(faults) }
    }

    /// Reads the pairs of a query: a name as often as there are values, or values apart by commas; `params.a.b=c` for a
    /// value of a parameter, `attributes.a=b` for one of an attribute.
    ///
    /// # Errors
    /// Everything that is wrong, each with a JSON pointer.
    pub fn of_pairs<'a>(
        pairs: impl IntoIterator<Item = (&'a str, &'a str)>,
        now: Timestamp,
    ) -> Result<Self, Vec<Fault>> {
        let mut map = Map::new();
        let mut faults = Vec::new();
        let kind = |name: &str| SearchCondition::named(name).map(|condition| condition.kind);
        for (name, value) in pairs {
            if let Some((field, path)) = name.split_once('.')
                && kind(field) == Some(ConditionKind::Values)
            {
                let values = map.entry(field).or_insert_with(|| Value::Object(Map::new()));
                if let Some(values) = values.as_object_mut() {
                    values.insert(path.to_owned(), value.into());
                }
                continue;
            }
            let values = map.entry(name).or_insert_with(|| Value::Array(Vec::new()));
            if let Some(list) = values.as_array_mut() {
                match kind(name) {
                    Some(ConditionKind::List) => list.extend(value.split(',').map(Value::from)),
                    _ => list.push(value.into()),
                }
            }
        }
        for (name, value) in map.iter_mut().filter(|(name, _)| kind(name) != Some(ConditionKind::List)) {
            let Some(list) = value.as_array_mut() else { continue };
            if list.len() > 1 {
                faults.push(Fault::placed(None, pointer_to("", name), "stands more than once"));
            }
            *value = list.pop().unwrap_or_default();
            if kind(name) == Some(ConditionKind::Number)
                && let Some(number) = value.as_str().and_then(|text| text.parse::<i32>().ok())
            {
                *value = number.into();
            }
        }
        match Self::read(&Value::Object(map), now) {
            Ok(search) if faults.is_empty() => Ok(search),
            Ok(_) => Err(faults),
            Err(more) => Err(faults.into_iter().chain(more).collect()),
        }
    }
}

struct SearchReader<'a> {
    map: &'a Map<String, Value>,
    now: Timestamp,
    faults: Vec<Fault>,
}

impl SearchReader<'_> {
    fn read(&mut self) -> Search {
        for key in self.map.keys().filter(|key| SearchCondition::named(key).is_none()) {
            let shown: String = key.chars().take(100).collect();
            let fault = Fault::placed(None, pointer_to("", &shown), "is no condition of a search");
            self.faults.push(match nearest(key, SearchCondition::names()) {
                Some(name) => fault.hint(format!("did you mean `{name}`?")),
                None => {
                    let names: Vec<&str> = SearchCondition::names().collect();
                    fault.hint(format!("there are: {}", names.join(", ")))
                }
            });
        }
        let ids = self.texts("ids", MOST_IDS);
        let statuses = self.texts("status", Status::ALL.len());
        let statuses = statuses.iter().filter_map(|word| self.word("status", word)).collect();
        let scenario_statuses = self.texts("scenarioStatus", ScenarioStatus::ALL.len());
        let scenario_statuses =
            scenario_statuses.iter().filter_map(|word| self.word("scenarioStatus", word)).collect();
        let mode = self.text("mode").and_then(|word| self.word("mode", &word));
        let priority = self.text("priority").and_then(|word| self.word("priority", &word));
        let scenario = self.text("scenario");
        let scenario_version = self.version();
        if scenario_version.is_some() && scenario.is_none() {
            self.fault("scenarioVersion", "needs the name of the scenario in `scenario`");
        }
        let jeopardy = self.truth("jeopardy");
        let inconsistent = self.truth("inconsistent");
        Search {
            ids,
            jeopardy,
            inconsistent,
            statuses,
            scenario_statuses,
            mode,
            source: self.text("source"),
            priority,
            scenario,
            scenario_version,
            id_prefix: self.text("idPrefix"),
            transaction_id: self.text("transactionId"),
            states: self.texts("state", 100),
            classes: self.texts("class", 100),
            systems: self.texts("system", 100),
            flow: self.text("flow"),
            queue: self.text("queue"),
            node: self.text("node"),
            text: self.text("text").map(|text| text.to_lowercase()),
            created_since: self.moment("createdSince"),
            created_until: self.moment("createdUntil"),
            finished_since: self.moment("finishedSince"),
            finished_until: self.moment("finishedUntil"),
            attributes: self.attributes(),
            params: self.values("params"),
            vars: self.values("vars"),
        }
    }

    fn fault(&mut self, field: &str, message: impl Into<String>) {
        self.faults.push(Fault::placed(None, format!("/{field}"), message));
    }

    fn given(&self, field: &str) -> Option<&Value> {
        self.map.get(field).filter(|value| !value.is_null())
    }

    fn text(&mut self, field: &str) -> Option<String> {
        let checked = self.given(field).map(|value| checked(value, false))?;
        checked.map_err(|message| self.fault(field, message)).ok()
    }

    fn texts(&mut self, field: &str, most: usize) -> Vec<String> {
        let items = match self.given(field) {
            None => return Vec::new(),
            Some(Value::Array(items)) => items.iter().map(|item| checked(item, true)).collect(),
            Some(one) => vec![checked(one, true)],
        };
        if items.is_empty() || items.len() > most {
            self.fault(field, format!("has 1 to {most} values"));
            return Vec::new();
        }
        let read: Result<Vec<String>, String> = items.into_iter().collect();
        read.map_err(|message| self.fault(field, message)).unwrap_or_default()
    }

    fn word<T: std::str::FromStr<Err = crate::id::UnknownWord>>(
        &mut self,
        field: &str,
        word: &str,
    ) -> Option<T> {
        word.parse().map_err(|unknown: crate::id::UnknownWord| self.fault(field, unknown.to_string())).ok()
    }

    fn truth(&mut self, field: &str) -> Option<bool> {
        let read = match self.given(field)? {
            Value::Bool(is) => Some(*is),
            Value::String(text) => text.parse().ok(),
            _ => None,
        };
        if read.is_none() {
            self.fault(field, "must be true or false");
        }
        read
    }

    fn version(&mut self) -> Option<i32> {
        let read = self.given("scenarioVersion")?.as_i64().and_then(|version| i32::try_from(version).ok());
        if read.is_none() {
            self.fault("scenarioVersion", "must be a version, like 1");
        }
        read
    }

    fn moment(&mut self, field: &str) -> Option<Timestamp> {
        let text = self.text(field)?;
        let back = || self.now.checked_sub(SignedDuration::try_from(parse_duration(&text).ok()?).ok()?).ok();
        let read = time::read(&text).or_else(|| back().and_then(time::within_range));
        if read.is_none() {
            self.fault(field, format!("is {}, or a duration back from now, like 2h", time::RANGE));
        }
        read
    }

    fn attributes(&mut self) -> BTreeMap<String, String> {
        let values = self.values("attributes");
        let texts = values.into_iter().map(|(name, value)| match value {
            Value::String(text) => Ok((name, text)),
            Value::Number(_) | Value::Bool(_) => Ok((name, value.to_string())),
            _ => Err(format!("`{name}` must be a text, a number or a truth value")),
        });
        let texts: Result<BTreeMap<String, String>, String> = texts.collect();
        texts.map_err(|message| self.fault("attributes", message)).unwrap_or_default()
    }

    fn values(&mut self, field: &str) -> BTreeMap<String, Value> {
        let has_nul = |text: &str| text.contains('\0');
        let read = match self.given(field) {
            None => Ok(BTreeMap::new()),
            Some(Value::Object(values)) if values.len() > MOST_VALUES => {
                Err(format!("asks for more than {MOST_VALUES} values"))
            }
            Some(Value::Object(values))
                if values
                    .iter()
                    .any(|(path, value)| has_nul(path) || value.as_str().is_some_and(has_nul)) =>
            {
                Err("contains the character NUL".to_owned())
            }
            Some(Value::Object(values)) => {
                Ok(values.iter().map(|(path, value)| (path.clone(), value.clone())).collect())
            }
            Some(_) => Err("is an object of names and values, like {\"customer.id\": 7}".to_owned()),
        };
        read.map_err(|message| self.fault(field, message)).unwrap_or_default()
    }
}

/// A text that the database takes; an empty one stands for none in a list.
fn checked(value: &Value, may_be_empty: bool) -> Result<String, String> {
    match value.as_str() {
        None => Err("must be text".to_owned()),
        Some("") if !may_be_empty => Err("must not be empty".to_owned()),
        Some(text) if text.len() > MAX_TEXT_BYTES => Err(format!("is longer than {MAX_TEXT_BYTES} bytes")),
        Some(text) if text.contains('\0') => Err("contains the character NUL".to_owned()),
        Some(text) => Ok(text.to_owned()),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test may panic")]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::order::Priority;
    use crate::search::CONDITIONS;

    fn now() -> Timestamp {
        "2026-01-02T12:00:00Z".parse().unwrap()
    }

    #[test]
    fn rec_13_a_search_is_read_from_an_object_and_from_the_pairs_of_a_query() {
        let object = json!({
            "status": ["fail", "retry"], "class": "http.5xx", "scenario": "s", "scenarioVersion": 2, "createdSince": "2h",
            "scenarioStatus": ["failed", "off_target"], "mode": "parallel", "source": "operation:7", "priority": "high", "params": {"customer.id": "7"}, "text": "Refused",
        });
        let read = Search::read(&object, now()).unwrap();
        let pairs = [
            ("status", "fail,retry"),
            ("class", "http.5xx"),
            ("scenarioStatus", "failed,off_target"),
            ("mode", "parallel"),
            ("source", "operation:7"),
            ("scenario", "s"),
            ("scenarioVersion", "2"),
            ("createdSince", "2026-01-02T10:00:00Z"),
            ("priority", "high"),
            ("params.customer.id", "7"),
            ("text", "refused"),
        ];
        assert_eq!(Search::of_pairs(pairs, now()).unwrap(), read);
        assert_eq!((read.statuses.len(), read.priority), (2, Some(Priority::High)));
        assert_eq!(Search::of_pairs([("class", "")], now()).unwrap().classes, [""]);
        let by_attribute = Search::of_pairs([("attributes.customer", "7")], now()).unwrap();
        assert_eq!(by_attribute, Search::read(&json!({"attributes": {"customer": 7}}), now()).unwrap());
        assert!(Search::of_pairs([], now()).unwrap().is_empty());
        assert!(Search::of_pairs([("params", "x"), ("params.a", "x")], now()).is_err());
    }

    #[test]
    fn qlt_8_everything_that_is_wrong_with_a_search_is_reported_at_once() {
        let pointers = |found: Result<Search, Vec<Fault>>| -> Vec<String> {
            let mut pointers: Vec<String> =
                found.unwrap_err().into_iter().map(|fault| fault.pointer).collect();
            pointers.sort();
            pointers
        };
        let wrong = json!({
            "statsu": "fail", "status": "failed", "createdSince": "soon", "scenarioVersion": 1, "queue": 5, "flow": "",
            "params": 1, "text": "a\u{0}", "scenarioStatus": "lost", "mode": "both",
        });
        assert_eq!(
            pointers(Search::read(&wrong, now())),
            [
                "/createdSince",
                "/flow",
                "/mode",
                "/params",
                "/queue",
                "/scenarioStatus",
                "/scenarioVersion",
                "/statsu",
                "/status",
                "/text"
            ]
        );
        assert_eq!(pointers(Search::read(&json!([]), now())), [""]);
        assert_eq!(pointers(Search::read(&json!({"ids": []}), now())), ["/ids"]);
        assert_eq!(pointers(Search::of_pairs([("flow", "a"), ("flow", "b")], now())), ["/flow"]);
        assert_eq!(pointers(Search::of_pairs([("vars.a", "b")], now())), ["/vars"], "it has no narrow path");
        assert_eq!(pointers(Search::of_pairs([("source", "api")], now())), ["/source"]);
        assert!(Search::of_pairs([("source", "api"), ("status", "fail")], now()).is_ok());
    }

    #[test]
    fn rec_13_each_condition_of_the_table_is_read_and_kept_under_its_name() {
        let example = |condition: &SearchCondition| match (condition.name, condition.kind) {
            ("status", _) => json!(["fail"]),
            ("scenarioStatus", _) => json!(["failed"]),
            ("mode", _) => json!("parallel"),
            ("priority", _) => json!("high"),
            (_, ConditionKind::Text) => json!("a"),
            (_, ConditionKind::List) => json!(["a", "b"]),
            (_, ConditionKind::Flag) => json!(true),
            (_, ConditionKind::Number) => json!(1),
            (_, ConditionKind::Time) => json!("2026-01-02T00:00:00Z"),
            (_, ConditionKind::Values) => json!({"a": "b"}),
        };
        let given: Map<String, Value> =
            CONDITIONS.iter().map(|condition| (condition.name.to_owned(), example(condition))).collect();
        let given = Value::Object(given);
        let read = Search::read(&given, now()).unwrap();
        assert_eq!(serde_json::to_value(read).unwrap(), given);
    }
}
