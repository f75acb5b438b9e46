//! Tests of the schemas that forms become: what they take and what they refuse.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

use serde_json::{Value, json};

use super::{Form, KeyRule, Keys, NamedForm, editor_schema, filled_list, key, required};

fn takes(form: &Form, value: &Value) -> bool {
    let schema = editor_schema("t", "d", form);
    jsonschema::draft7::new(&schema).unwrap().is_valid(value)
}

fn check(form: &Form, good: &[Value], bad: &[Value]) {
    for value in good {
        assert!(takes(form, value), "{form:?} refuses {value}");
    }
    for value in bad {
        assert!(!takes(form, value), "{form:?} takes {value}");
    }
}

#[test]
fn durations_are_those_that_readers_take() {
    let texts =
        ["500ms", "5s", "1h30m", "2d", "0s", "0", "0d5s", "", "5", "5 s", "1w", "1s1m", "1s1s", "x", "10s"];
    for text in texts {
        let read = super::super::parse_duration(text);
        assert_eq!(takes(&Form::DurationOrZero, &json!(text)), read.is_ok(), "{text}");
        let longer = read.is_ok_and(|duration| !duration.is_zero());
        assert_eq!(takes(&Form::Duration, &json!(text)), longer, "{text}");
        assert_eq!(takes(&Form::Lapse, &json!(text)), longer, "{text}");
    }
    check(&Form::Lapse, &[json!("${params.n}d")], &[json!(5), Value::Null]);
    check(&Form::LapseOrZero, &[json!(0), json!("0s"), json!("${a}")], &[json!(5)]);
}

#[test]
fn keys_have_to_do_with_each_other_as_their_rules_say() {
    static ENDS: Keys = Keys::with_rules(
        &[key("for", Form::Duration, ""), key("until", Form::Text, "")],
        &[KeyRule::OneOf(&[&["for"], &["until"]])],
    );
    let [length, time] = [json!({"for": "1s"}), json!({"until": "x"})];
    check(
        &Form::Fields(&ENDS),
        &[length, time],
        &[json!({}), json!({"for": "1s", "until": "x"}), json!({"fr": 1})],
    );

    static WAITS: Keys = Keys::with_rules(
        &[key("wait", Form::Flag, ""), key("timeout", Form::Duration, "")],
        &[KeyRule::Needs("timeout", "wait")],
    );
    let good = [json!({}), json!({"wait": false}), json!({"wait": true, "timeout": "1s"})];
    check(&Form::Fields(&WAITS), &good, &[json!({"timeout": "1s"}), json!({"wait": false, "timeout": "1s"})]);

    static STATE: Keys = Keys::with_rules(
        &[key("kind", Form::Word(&["plain", "polling"]), ""), key("poll", Form::Text, "")],
        &[
            KeyRule::Where { key: "kind", word: "plain", is_default: true, needs: &[], refuses: &["poll"] },
            KeyRule::Where {
                key: "kind",
                word: "polling",
                is_default: false,
                needs: &["poll"],
                refuses: &[],
            },
        ],
    );
    let good = [json!({}), json!({"kind": "plain"}), json!({"kind": "polling", "poll": "x"})];
    check(
        &Form::Fields(&STATE),
        &good,
        &[json!({"poll": "x"}), json!({"kind": "polling"}), json!({"kind": "none"})],
    );
}

#[test]
fn a_form_can_hold_itself_and_be_narrowed() {
    static TREE: NamedForm = NamedForm { name: "tree", form: Form::Fields(&BRANCHES) };
    static BRANCHES: Keys = Keys::with_rules(
        &[required("name", Form::NotEmpty, ""), key("of", filled_list(&Form::Named(&TREE)), "")],
        &[KeyRule::AtLeastOne],
    );
    let leaf = json!({"name": "a"});
    check(
        &Form::Named(&TREE),
        &[leaf.clone(), json!({"name": 5, "of": [{"name": "b", "of": [leaf]}]})],
        &[json!({}), json!({"name": ""}), json!({"name": "a", "of": []}), json!({"name": "a", "of": [{}]})],
    );
    let narrowed = Form::Narrowed { form: &TREE, needs: &["of"], refuses: &[] };
    check(&narrowed, &[json!({"name": "a", "of": [{"name": "b"}]})], &[json!({"name": "a"})]);
}
