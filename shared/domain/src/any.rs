//! Values of any shape, for tests of readers.

use proptest::prelude::*;
use serde_json::Value;

/// Texts that readers may take for something else, and any other.
pub(crate) fn text() -> impl Strategy<Value = String> {
    prop_oneof![
        "\\PC{0,12}",
        any::<String>(),
        prop::sample::select(vec![
            "",
            " ",
            "\0",
            "a\r\nb",
            "-1",
            "1e400",
            "null",
            "2h",
            "2026-01-01T00:00:00Z",
            "${a}",
            "%zz",
            "x|y",
            "*",
        ])
        .prop_map(str::to_owned),
    ]
}

/// Any JSON, a few levels deep.
pub(crate) fn json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        text().prop_map(Value::from),
    ];
    leaf.prop_recursive(3, 12, 3, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::btree_map(text(), inner, 0..4)
                .prop_map(|map| Value::Object(map.into_iter().collect())),
        ]
    })
}

/// A value in which one to three things are something else.
pub(crate) fn changed(good: Value) -> impl Strategy<Value = Value> {
    prop::collection::vec((any::<prop::sample::Index>(), json()), 1..4).prop_map(move |changes| {
        changes.into_iter().fold(good.clone(), |mut value, (place, other)| {
            let mut places = Vec::new();
            collect(&value, String::new(), &mut places);
            if let Some(place) = value.pointer_mut(place.get::<String>(&places)) {
                *place = other;
            }
            value
        })
    })
}

fn collect(value: &Value, at: String, into: &mut Vec<String>) {
    match value {
        Value::Array(list) => {
            list.iter().enumerate().for_each(|(index, item)| collect(item, format!("{at}/{index}"), into));
        }
        Value::Object(map) => {
            map.iter().for_each(|(key, item)| collect(item, crate::document::pointer_to(&at, key), into));
        }
        _ => {}
    }
    into.push(at);
}
