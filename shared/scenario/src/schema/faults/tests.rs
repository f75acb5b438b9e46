//! The bounded search finds what the library finds, and stops early.
#![allow(clippy::unwrap_used, reason = "tests")]

use proptest::prelude::*;
use serde_json::json;

use super::super::Expansion;
use super::super::found::LONGEST_MESSAGE;
use super::*;

/// All faults that the library finds, sorted.
fn by_library(schema: &Value, value: &Value) -> Vec<SchemaFault> {
    let validator = compile(schema).unwrap();
    let mut faults: Vec<SchemaFault> = validator
        .iter_errors(value)
        .map(|error| SchemaFault { pointer: error.instance_path().to_string(), message: message(&error) })
        .collect();
    faults.sort();
    faults
}

fn agree(schema: &Value, value: &Value) {
    let library = by_library(schema, value);
    let mut found = find(schema, value, usize::MAX);
    found.sort();
    assert_eq!(found, library, "{schema} {value}");
    let few = find(schema, value, 3);
    assert_eq!(few.len(), library.len().min(3), "{schema} {value}");
    assert!(few.iter().all(|fault| library.contains(fault)));
    if let Ok(expansion) = Expansion::of(schema) {
        let bound = expansion.work(value).saturating_mul(expansion.faults_of_one);
        assert!(library.len() as u64 <= bound, "{} faults, {bound} {schema} {value}", library.len());
    }
}

fn values() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(json!(null)),
        any::<bool>().prop_map(Value::from),
        (-2..4_i64).prop_map(Value::from),
        Just(json!(1.0)),
        Just(json!(2.5)),
        "[ab/~]{0,3}".prop_map(Value::from),
    ];
    leaf.prop_recursive(3, 24, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..5).prop_map(Value::from),
            prop::collection::btree_map("[ab/~]{1,2}", inner, 0..5)
                .prop_map(|members| Value::Object(members.into_iter().collect())),
        ]
    })
}

fn schemas() -> impl Strategy<Value = Value> {
    let names = || prop::collection::btree_set("[ab/~]{1,2}", 0..4);
    let leaf = prop_oneof![
        Just(json!(true)),
        Just(json!(false)),
        Just(json!({})),
        prop::sample::subsequence(
            vec!["array", "boolean", "integer", "null", "number", "object", "string"],
            1..4
        )
        .prop_map(|types| json!({ "type": types })),
        prop::sample::select(vec!["integer", "object", "array", "string"])
            .prop_map(|one| json!({ "type": one })),
        (0..3_u8, 0..3_u8).prop_map(|(a, b)| json!({"minLength": a, "maxLength": b, "pattern": "^a"})),
        (0..3_u8, 0..3_u8).prop_map(|(a, b)| json!({"minimum": a, "exclusiveMaximum": b, "multipleOf": 2})),
        (0..3_u8, 0..3_u8).prop_map(|(a, b)| json!({"maxItems": a, "minItems": b, "uniqueItems": true})),
        (0..3_u8, 0..3_u8).prop_map(|(a, b)| json!({"maxProperties": a, "minProperties": b})),
        prop::collection::vec(values(), 1..4).prop_map(|list| json!({ "enum": list })),
        values().prop_map(|value| json!({ "const": value })),
        names().prop_map(|names| json!({ "required": names })),
        names().prop_map(|names| json!({"dependentRequired": {"a": names}})),
        names().prop_map(|names| json!({"dependencies": {"b": names}})),
        Just(json!({"$ref": "#/$defs/one"})),
        Just(json!({"$ref": "#two"})),
    ];
    leaf.prop_recursive(3, 32, 4, move |inner| {
        let one = |keyword: &'static str| inner.clone().prop_map(move |schema| json!({ keyword: schema }));
        let list = |keyword: &'static str| {
            prop::collection::vec(inner.clone(), 1..4).prop_map(move |schemas| json!({ keyword: schemas }))
        };
        let named = |keyword: &'static str| {
            prop::collection::btree_map("[ab/~]{1,2}", inner.clone(), 0..4)
                .prop_map(move |schemas| json!({ keyword: schemas }))
        };
        let part = prop_oneof![
            one("items"),
            one("additionalProperties"),
            one("propertyNames"),
            one("not"),
            list("allOf"),
            list("anyOf"),
            list("oneOf"),
            list("prefixItems"),
            named("properties"),
            named("patternProperties"),
            named("dependentSchemas"),
            Just(json!({"additionalProperties": false})),
            names().prop_map(|names| json!({ "required": names })),
            (inner.clone(), inner.clone(), inner.clone())
                .prop_map(|(a, b, c)| json!({"if": a, "then": b, "else": c})),
            (inner.clone(), 0..3_u8, 0..3_u8)
                .prop_map(|(a, b, c)| json!({"contains": a, "minContains": b, "maxContains": c})),
            inner.clone().prop_map(|a| json!({"contains": a})),
            inner.clone(),
        ];
        prop::collection::vec(part, 1..4).prop_map(|parts| {
            let mut whole = Map::new();
            for part in parts {
                match part {
                    Value::Object(keywords) => whole.extend(keywords),
                    other => return other,
                }
            }
            Value::Object(whole)
        })
    })
}

/// A schema with definitions that its references lead to, none of which leads back without progress.
fn whole() -> impl Strategy<Value = Value> {
    (schemas(), schemas(), schemas()).prop_map(|(root, one, two)| {
        json!({"allOf": [root], "$defs": {
            "one": {"properties": {"a": one}},
            "two": {"$anchor": "two", "items": two},
        }})
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn qlt_8_the_bounded_search_finds_the_faults_that_the_library_finds(
        schema in whole(), value in values(),
    ) {
        agree(&schema, &value);
    }
}

#[test]
fn qlt_8_a_search_ends_with_the_faults_that_are_asked_for() {
    let names: Vec<String> = (0..100).map(|n| format!("n{n}")).collect();
    let schema = json!({"items": {"required": names}});
    let value = Value::Array(vec![json!({}); 20_000]);
    let found = find(&schema, &value, 20);
    assert_eq!(found.len(), 20);
    assert_eq!(
        (found[0].pointer.as_str(), found[19].message.as_str()),
        ("/0", "\"n19\" is a required property")
    );
    let below = json!({"anyOf": [schema, {"type": "object"}]});
    let found = find(&below, &value, 20);
    assert_eq!(found.len(), 1);
    assert!(found[0].message.len() <= LONGEST_MESSAGE && found[0].message.starts_with("[{},{}"), "{found:?}");
}

// What the search does not understand ends it; it never makes a fault up.
#[test]
fn qlt_8_a_search_through_rare_keywords_finds_no_fault_that_is_none() {
    let deep = (0..150).fold(json!({"a": 1}), |inner, _| json!({ "a": inner }));
    let tree = json!({"type": "object", "properties": {"a": {"$ref": "#"}}});
    for (schema, value) in [
        (
            json!({"properties": {"a": true}, "unevaluatedProperties": false, "required": ["z"]}),
            json!({"b": 1}),
        ),
        (json!({"anyOf": [{"unevaluatedItems": false}]}), json!([1])),
        (json!({"$dynamicAnchor": "n", "items": {"$dynamicRef": "#n"}, "maxItems": 1}), json!([[], [1, 2]])),
        (
            json!({"$defs": {"x": {"$id": "urn:x", "type": "string"}}, "items": {"$ref": "#/$defs/x"}}),
            json!([1]),
        ),
        (tree, deep),
    ] {
        let library = by_library(&schema, &value);
        assert!(!library.is_empty());
        let found = find(&schema, &value, 20);
        assert!(found.iter().all(|fault| library.contains(fault)), "{schema}: {found:?} {library:?}");
    }
}
