//! Searches as they come in: as an object, or as the pairs of a query.

use jiff::Timestamp;
use serde_json::{Map, Value};

use super::value::ConditionValue;
use super::{ConditionKind, Search, SearchCondition};
use crate::classes::UNCLASSIFIED;
use crate::document::{Fault, nearest, pointer_to};

impl Search {
    /// Reads an object: lists where several are wanted, times as such or as a duration back from `now`.
    ///
    /// # Errors
    /// Everything that is wrong, each with a JSON pointer.
    pub fn read(value: &Value, now: Timestamp) -> Result<Self, Vec<Fault>> {
        let Some(map) = value.as_object() else {
            return Err(vec![Fault::placed(None, "", "a search must be an object of conditions")]);
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
                faults.push(Fault::placed(None, pointer_to("", name), "is given more than once"));
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

/// Reader of an object of conditions.
pub(super) struct SearchReader<'a> {
    map: &'a Map<String, Value>,
    now: Timestamp,
    faults: Vec<Fault>,
}

impl SearchReader<'_> {
    fn read(&mut self) -> Search {
        for key in self.map.keys().filter(|key| SearchCondition::named(key).is_none()) {
            let shown: String = key.chars().take(100).collect();
            let fault = Fault::placed(None, pointer_to("", &shown), "is not a condition of a search");
            self.faults.push(match nearest(key, SearchCondition::names()) {
                Some(name) => fault.hint(format!("did you mean `{name}`?")),
                None => {
                    let names: Vec<&str> = SearchCondition::names().collect();
                    fault.hint(format!("there are: {}", names.join(", ")))
                }
            });
        }
        let mut search = Search::taken(self);
        if search.scenario_version.is_some() && search.scenario.is_none() {
            self.fault("scenarioVersion", "needs the name of the scenario in `scenario`");
        }
        search.text = search.text.map(|text| text.to_lowercase());
        search.classes.iter_mut().filter(|class| class.as_str() == UNCLASSIFIED).for_each(String::clear);
        search
    }

    /// The value of a condition; a list has `most` values at most.
    pub(super) fn value<T: ConditionValue>(&mut self, name: &str, most: usize) -> T {
        let given = self.map.get(name).filter(|value| !value.is_null());
        match given.map(|value| T::read(value, most, self.now)) {
            Some(Ok(read)) => read,
            Some(Err(messages)) => {
                messages.into_iter().for_each(|message| self.fault(name, message));
                T::default()
            }
            None => T::default(),
        }
    }

    fn fault(&mut self, field: &str, message: impl Into<String>) {
        self.faults.push(Fault::placed(None, format!("/{field}"), message));
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test may panic")]
mod tests {
    use proptest::strategy::Strategy as _;
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
        assert_eq!(Search::of_pairs([("class", "unclassified")], now()).unwrap().classes, [""]);
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
            (_, ConditionKind::Time) => json!("2026-01-02T00:00:00.000Z"),
            (_, ConditionKind::Values) => json!({"a": "b"}),
        };
        let given: Map<String, Value> =
            CONDITIONS.iter().map(|condition| (condition.name.to_owned(), example(condition))).collect();
        let given = Value::Object(given);
        let read = Search::read(&given, now()).unwrap();
        assert_eq!(serde_json::to_value(read).unwrap(), given);
    }

    proptest::proptest! {
        #[test]
        fn rec_13_qlt_8_no_conditions_break_the_reader_and_those_it_takes_are_kept(
            asked in crate::any::changed(json!({
                "status": ["fail"], "class": ["c"], "scenario": "s", "scenarioVersion": 2, "createdSince": "2h", "ids": ["a"],
                "mode": "parallel", "priority": "high", "params": {"a.b": "7"}, "labels": {"k": "v"}, "text": "t", "jeopardy": true,
            })),
            pairs in proptest::collection::vec((
                proptest::prop_oneof![crate::any::text(), proptest::sample::select(vec!["status", "params.a", "labels.", "ids", "jeopardy", "createdSince", "scenarioVersion"]).prop_map(str::to_owned)],
                crate::any::text(),
            ), 0..5),
        ) {
            if let Ok(search) = Search::read(&asked, now()) {
                let kept = serde_json::to_value(&search).unwrap();
                proptest::prop_assert_eq!(serde_json::from_value::<Search>(kept).unwrap(), search);
            }
            let pairs = pairs.iter().map(|(name, value)| (name.as_str(), value.as_str()));
            if let Err(faults) = Search::of_pairs(pairs, now()) {
                proptest::prop_assert!(!faults.is_empty());
            }
        }
    }
}
