//! Costs of schemas, by examples.
#![allow(clippy::unwrap_used, reason = "tests")]

use serde_json::json;

use super::*;

/// A schema in which each definition refers twice to the next.
fn doubling(count: usize) -> Value {
    let mut definitions = Map::new();
    for n in 0..count {
        let next = json!({"$ref": format!("#/$defs/d{}", n + 1)});
        definitions.insert(format!("d{n}"), json!({"allOf": [next, next]}));
    }
    definitions.insert(format!("d{count}"), json!({"type": "object"}));
    json!({"$ref": "#/$defs/d0", "$defs": definitions})
}

#[test]
fn qlt_8_a_schema_that_doubles_is_counted_without_being_evaluated() {
    let small = Expansion::of(&doubling(5)).unwrap();
    assert_eq!(small.work(&json!(1)), 126);
    assert_eq!(small.check(), Ok(()));
    for count in [13, 28, 40, 63, 64, 90] {
        let found = Expansion::of(&doubling(count)).unwrap();
        assert!(matches!(found.check(), Err(TooMuch::Evaluations(_))), "{count}: {found:?}");
    }
    assert!(Expansion::of(&doubling(40)).unwrap().work(&json!({})) > MAX_WORK);
}

// What the validator evaluates though newer drafts do not name it.
#[test]
fn qlt_8_old_words_for_dependencies_are_counted_and_patterns_weigh_what_they_repeat() {
    let mut old = doubling(40);
    let definitions = old["$defs"].take();
    let schema = json!({"dependencies": {"a": {"$ref": "#/$defs/d0"}}, "$defs": definitions});
    assert!(matches!(Expansion::of(&schema).unwrap().check(), Err(TooMuch::Evaluations(_))));
    let patterns = json!({"allOf": vec![json!({"pattern": "(?:a|b)*a(?:a|b){900}"}); 100]});
    let long = json!("a".repeat(1_000_000));
    assert!(Expansion::of(&patterns).unwrap().work(&long) > MAX_WORK);
    let names: Map<String, Value> = (0..9_000).map(|n| (format!("^x{n}"), json!(true))).collect();
    let named = Expansion::of(&json!({"patternProperties": names})).unwrap();
    assert!(named.work(&json!({"n".repeat(1_000_000): 1})) > MAX_WORK);
    let usual = json!({"properties": {"msisdn": {"type": "string", "pattern": "^7[0-9]{10}$"}}});
    assert!(Expansion::of(&usual).unwrap().work(&json!({"msisdn": "79110000001"})) < 20);
}

#[test]
fn qlt_8_a_schema_without_progress_is_endless() {
    for schema in [
        json!({"$ref": "#"}),
        json!({"allOf": [{"$ref": "#"}]}),
        json!({"not": {"$ref": "#"}}),
        json!({"if": {"$ref": "#"}, "then": true}),
        json!({"$ref": "#/$defs/a", "$defs": {"a": {"$ref": "#/$defs/b"}, "b": {"$ref": "#/$defs/a"}}}),
        json!({"$dynamicAnchor": "a", "anyOf": [{"$dynamicRef": "#a"}]}),
        json!({"dependentSchemas": {"a": {"$ref": "#"}}}),
        json!({"properties": {"a": {"$ref": "#/$defs/a%20b"}}, "$defs": {"a b": {"$ref": "#/$defs/a%20b"}}}),
        doubling(300),
    ] {
        assert_eq!(Expansion::of(&schema), Err(TooMuch::Endless), "{schema}");
    }
}

#[test]
fn qlt_8_schemas_of_trees_are_taken_and_their_work_grows_with_the_parameters() {
    let tree = json!({"type": "object", "properties": {
        "name": {"type": "string"}, "left": {"$ref": "#"}, "right": {"$ref": "#"},
        "more": {"type": "array", "items": {"$ref": "#"}}}});
    let found = Expansion::of(&tree).unwrap();
    assert_eq!(found.check(), Ok(()));
    let mut deep = json!({});
    for _ in 0..60 {
        deep = json!({"left": deep, "more": []});
    }
    assert!(found.work(&deep) < 1000, "{}", found.work(&deep));
    // Twice below, with each level: what is nested deep is refused, what is not is taken.
    let doubled = json!({"properties": {"a": {"allOf": [{"$ref": "#"}, {"$ref": "#"}]}}});
    let found = Expansion::of(&doubled).unwrap();
    assert_eq!(found.check(), Ok(()));
    let nested = |depth: usize| (0..depth).fold(json!(1), |inner, _| json!({ "a": inner }));
    assert!(found.work(&nested(5)) < COSTLY_WORK && found.work(&nested(60)) > MAX_WORK);
}

#[test]
fn qlt_8_wide_and_long_parameters_are_more_work() {
    let schema = json!({"patternProperties": {"a": true, "b": true, "c": true}, "items": {"type": "number"}});
    let found = Expansion::of(&schema).unwrap();
    assert!(found.work(&json!({"a": 1})) < 20);
    assert!(found.work(&json!(vec![1; 100_000])) > COSTLY_WORK);
    assert!(found.work(&json!(["x".repeat(1 << 20)])) > 10_000);
}
