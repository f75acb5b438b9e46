//! Scripts: values there and back, and limits.

use std::time::Duration;

use super::*;
use pagurus_domain::classes::SCRIPT_LIMIT;
use serde_json::json;

fn run(code: &str) -> Result<(Said, Context), RunError> {
    let scripting = Scripting::new(Limits::default());
    let script = scripting.compile_script(code).unwrap();
    let mut context = Context { vars: json!({"n": 1}).as_object().unwrap().clone(), ..Context::default() };
    scripting.run(&script, &mut context).map(|said| (said, context))
}

#[test]
fn scn_5_a_script_sets_vars_says_a_result_and_raises_an_event() {
    let (said, context) =
        run(r#"vars.m = vars.n + 1; result(#{ a: [1, 2.5, "x"] }); message("m"); log("l"); fail("no", "my.class"); vars.m = 9;"#).unwrap();
    assert_eq!(context.vars["m"], json!(2));
    assert_eq!(said.result, Some(json!({"a": [1, 2.5, "x"]})));
    assert_eq!((said.message.as_deref(), said.log.as_slice()), (Some("m"), ["l".to_owned()].as_slice()));
    assert_eq!(
        said.raised,
        Some(Raised::Fail { message: Some("no".into()), class: Some("my.class".into()) })
    );
}

#[test]
fn scn_5_whole_numbers_that_the_language_rounds_are_kept_where_a_script_leaves_them() {
    let scripting = Scripting::new(Limits::default());
    let code = "vars.x = 1; vars.changed = vars.changed / 2.0; vars.all.push(2); vars.twins.remove(0);";
    let script = scripting.compile_script(code).unwrap();
    let (most, other) = (u64::MAX, u64::MAX - 1_000_000);
    let twins = [other - 1_000_000, other - 1_000_001];
    let vars = json!({"id": most, "changed": most, "all": [most, {"id": other}], "twins": twins});
    let mut context = Context { vars: vars.as_object().unwrap().clone(), ..Context::default() };
    scripting.run(&script, &mut context).unwrap();
    assert_eq!(context.vars["id"], json!(most));
    assert_eq!(context.vars["all"], json!([most, {"id": other}, 2]));
    assert!(context.vars["twins"][0].is_f64(), "nobody knows which of the two is left");
    assert!(context.vars["x"] == 1 && context.vars["changed"].is_f64(), "{:?}", context.vars);
}

#[test]
fn scn_5_an_event_is_raised_from_inside_a_function_too() {
    let (said, _) = run("fn end() { success() } end();").unwrap();
    assert_eq!(said.raised, Some(Raised::Success));
}

#[test]
fn scn_5_a_script_that_runs_over_is_an_error_of_its_own_class() {
    for code in [
        "loop {}",
        "fn f(n) { f(n + 1) } f(0)",
        "let s = \"x\"; loop { s += s; }",
        "let a = []; loop { a.push(1); }",
        "let m = #{}; let i = 0; loop { m[\"k\" + i] = i; i += 1; }",
    ] {
        let error = run(code).unwrap_err();
        assert_eq!(error.class, SCRIPT_LIMIT, "{code}: {error}");
    }
}

#[test]
fn scn_5_a_script_that_takes_too_long_is_broken_off_though_it_does_little() {
    /// A clock: every look at it takes a millisecond.
    fn slow() -> Duration {
        thread_local!(static LOOKS: std::cell::Cell<u64> = const { std::cell::Cell::new(0) });
        LOOKS.set(LOOKS.get() + 1);
        Duration::from_millis(LOOKS.get())
    }
    let limits = Limits { clock: Clock(slow), ..Limits::default() };
    let scripting = Scripting::new(limits);
    let mut context = Context::default();
    let run = |code: &str, context: &mut Context| {
        let script = scripting.compile_script(code).unwrap();
        scripting.run(&script, context).map(|_| ())
    };
    let long = "fn f() { let i = 0; while i < 5000 { i += 1; } } f(); vars.late = 1;";
    let error = run(long, &mut context).unwrap_err();
    assert_eq!(error.class, SCRIPT_LIMIT, "{error}");
    assert!(error.message.contains("max_duration") && context.vars.is_empty(), "{error}");
    // Each run has its own time, and an event is no overrun.
    for _ in 0..20 {
        run("let i = 0; while i < 50 { i += 1; } success()", &mut context).unwrap();
    }
    context.params = json!((0..3000).collect::<Vec<i64>>()).into();
    let code = scripting.compile_expression("params.map(|n| n + 1).len()").unwrap();
    assert_eq!(scripting.evaluate(&code, &context).unwrap_err().0.class, SCRIPT_LIMIT);
}

#[test]
fn scn_5_a_script_cannot_hold_its_thread() {
    let scripting = Scripting::new(Limits::default());
    for code in ["sleep(1000000)", "sleep(1e9)", "1000000.sleep()"] {
        let faults = scripting.compile_script(code).unwrap_err();
        assert!(format!("{faults:?}").contains("write the action `sleep`"), "{code}: {faults:?}");
    }
    // Called by another way than its name it is refused as well.
    for code in ["Fn(\"sleep\").call(1000000)", "[1e9].map(Fn(\"sleep\"))"] {
        let error = run(code).unwrap_err();
        assert!(error.class == SCRIPT_ERROR && error.message.contains("action `sleep`"), "{code}: {error}");
    }
}

#[test]
fn scn_5_what_the_order_brings_can_be_read_however_large_it_is() {
    let scripting = Scripting::new(Limits::default());
    let items: Vec<Value> = (0..12_000).map(|n| json!({"name": format!("{n:040}")})).collect();
    let mut context =
        Context { response: Some(json!({"body": {"items": items}}).into()), ..Context::default() };
    let code = scripting.compile_expression("response.body.items.len()").unwrap();
    assert_eq!(scripting.evaluate(&code, &context), Ok(json!(12_000)));
    let script =
        scripting.compile_script("let all = response.body.items; vars.last = all[-1].name;").unwrap();
    scripting.run(&script, &mut context).unwrap();
    assert_eq!(context.vars["last"].as_str().map(str::len), Some(40));
    // That is room for reading, not for making more of it.
    let script = scripting.compile_script("let all = []; loop { all += response.body.items; }").unwrap();
    assert_eq!(scripting.run(&script, &mut context).unwrap_err().class, SCRIPT_LIMIT);
}

#[test]
fn scn_12_a_version_that_was_let_in_before_can_still_be_read() {
    let stored = Scripting::of_stored();
    let script = stored.compile_script("if vars.n == 2 { sucess() }").unwrap();
    let mut context = Context { vars: json!({"n": 1}).as_object().unwrap().clone(), ..Context::default() };
    stored.run(&script, &mut context).unwrap();
    context.vars["n"] = json!(2);
    assert_eq!(stored.run(&script, &mut context).unwrap_err().class, SCRIPT_ERROR);
    assert!(Scripting::new(Limits::default()).compile_script("sucess()").is_err());
}

#[test]
fn scn_5_a_script_reaches_nothing_outside() {
    let scripting = Scripting::new(Limits::default());
    for code in ["eval(\"1\")", "import \"x\" as y;", "unknown + 1", "timestamp()"] {
        let refused = match scripting.compile_script(code) {
            Err(_) => true,
            Ok(script) => scripting.run(&script, &mut Context::default()).is_err(),
        };
        assert!(refused, "{code}");
    }
}

#[test]
fn scn_18_optional_fields_are_read_without_asking_first() {
    let scripting = Scripting::new(Limits::default());
    let params = json!({"a": {"b": [{"c": 7}, null]}, "none": null, "text": "t"});
    let context = Context { params: params.into(), ..Context::default() };
    let value = |code: &str| scripting.evaluate(&scripting.compile_expression(code).unwrap(), &context);
    for (code, expected) in [
        ("get(params, \"a.b.0.c\", 1)", json!(7)),
        ("get(params, \"a.b.1.c\", 1)", json!(1)),
        ("get(params, \"a.b.9\", 1)", json!(1)),
        ("get(params, \"none\", 1)", json!(1)),
        ("get(params.a, \"b.0\", ())", json!({"c": 7})),
        ("get(response, \"body.x\", \"no\")", json!("no")),
        ("get(7, \"\", 1)", json!(7)),
        ("params?.a?.b[0]?.c", json!(7)),
        ("params?.x?.y?.z", json!(null)),
        ("params?.none?.y ?? 5", json!(5)),
        ("response?.body?.x ?? \"none\"", json!("none")),
        ("params?.text?.len()", json!(1)),
        ("`${params?.text} ${params?.x ?? 2}`", json!("t 2")),
    ] {
        assert_eq!(value(code), Ok(expected), "{code}");
    }
    // Without the sign a field that is not there is an error as ever, which says what to write.
    let (error, at) = value("1 +\n  params.a.bb").unwrap_err();
    assert!(error.message.starts_with("there is no field `bb`; `value?.bb` and `get("), "{error}");
    assert_eq!((at.line, at.column), (2, 12));
    let (error, at) = value("params?.x ?? params.text.lines").unwrap_err();
    assert_eq!((error.message.as_str(), at.line), ("a text has no field `lines`", 1), "at {at:?}");
    let wrong = scripting.compile_script("let x = params?.a;\nparams?.a = 1;").unwrap_err();
    assert_eq!(wrong[0].line, 2, "{wrong:?}");
}

#[test]
fn scn_5_big_integers_stay_exact() {
    let scripting = Scripting::new(Limits::default());
    let code = scripting.compile_expression("vars.n").unwrap();
    let context = Context {
        vars: json!({"n": 9_007_199_254_740_993_i64}).as_object().unwrap().clone(),
        ..Context::default()
    };
    assert_eq!(scripting.evaluate(&code, &context).unwrap(), json!(9_007_199_254_740_993_i64));
}

#[test]
fn scn_5_statements_are_refused_in_expressions() {
    let scripting = Scripting::new(Limits::default());
    assert!(scripting.compile_expression("let a = 1; a").is_err());
}
