//! Expressions of values: what they give, and what they refuse.

use super::super::script::Limits;
use std::sync::Arc;

use super::*;
use serde_json::json;

#[test]
fn scn_5_a_text_is_no_number_though_it_looks_like_one() {
    for (body, kind, expected) in [
        ("1.10", Some("text/plain"), json!("1.10")),
        ("12345678901234567890123", Some("text/plain; charset=utf-8"), json!("12345678901234567890123")),
        ("null", Some("text/html"), json!("null")),
        ("1.10", Some("application/json"), json!(1.1)),
        ("1.10", Some("application/problem+JSON"), json!(1.1)),
        ("true", None, json!(true)),
        ("7", Some(""), json!(7)),
        // Many a system does not say that it answers in JSON.
        (r#"{"id": 1}"#, Some("text/plain"), json!({"id": 1})),
        ("[1, 2]", Some("application/octet-stream"), json!([1, 2])),
        ("{", Some("application/json"), json!("{")),
    ] {
        assert_eq!(body_value(body, kind), expected, "{body} as {kind:?}");
    }
}

fn render(text: &str) -> Result<Value, RunError> {
    let scripting = Scripting::new(Limits::default());
    Template::compile(text, &scripting).unwrap().render(&context(), &scripting)
}

fn context() -> Context {
    Context {
        params: json!({"n": 3, "who": "a/b?", "list": [1, 2], "none": null}).into(),
        vars: json!({"v": {"x": true}}).as_object().unwrap().clone(),
        config: Arc::new(json!({"base": "http://h:1/x"})),
        response: Some(json!({"status": 200, "body": {"id": "r-1"}}).into()),
        ..Context::default()
    }
}

#[test]
fn scn_5_a_whole_expression_keeps_its_type() {
    assert_eq!(render("${params.n}").unwrap(), json!(3));
    assert_eq!(render("${params.n + 1}").unwrap(), json!(4));
    assert_eq!(render("${vars.v}").unwrap(), json!({"x": true}));
    assert_eq!(render("${params}").unwrap(), *context().params.value());
    assert_eq!(render("${params.list[1]}").unwrap(), json!(2));
    assert_eq!(render("${response.body.id}").unwrap(), json!("r-1"));
    assert_eq!(render("${#{a: `}`}}").unwrap(), json!({"a": "}"}));
}

#[test]
fn scn_5_text_around_makes_text() {
    assert_eq!(render("n=${params.n}, ${vars.v.x}").unwrap(), json!("n=3, true"));
    assert_eq!(render("$${params.n} $x {y}").unwrap(), json!("${params.n} $x {y}"));
    assert!(render("a ${params.none}").is_err());
    assert!(render("a ${params.list}").is_err());
    assert!(render("${params.absent}").is_err());
}

#[test]
fn scn_5_errors_name_the_place_inside_the_text() {
    let scripting = Scripting::new(Limits::default());
    let errors = Template::compile("a\nb ${parms.x} ${1 +} ${no(1)}", &scripting).unwrap_err();
    let places: Vec<_> = errors.iter().map(|error| (error.line, error.column)).collect();
    assert_eq!(places, [(2, 5), (2, 19), (2, 23)], "{errors:?}");
    assert!(Template::compile("x ${params.a", &scripting).is_err());
}
