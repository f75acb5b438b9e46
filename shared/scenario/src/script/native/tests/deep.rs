//! Values that are nested as deep as they may be, one level deeper, and as deep as a script can make them.
//!
//! A thread whose stack is over ends the process: these tests fail by that.

use pagurus_domain::classes::SCRIPT_LIMIT;
use pagurus_domain::depth::MAX_DEPTH;
use serde_json::json;

use super::super::super::{Context, MOST_OPERATIONS, RunError, STACK_BYTES, Scripting};
use super::*;

/// Stack of a thread of the runtime, unless it asks for more.
const USUAL_STACK: usize = 2 << 20;

/// Does the work on a thread with this stack.
fn on_stack<T: Send + 'static>(bytes: usize, work: impl FnOnce() -> T + Send + 'static) -> T {
    std::thread::Builder::new().stack_size(bytes).spawn(work).unwrap().join().unwrap()
}

fn nested(depth: usize, wrap: fn(Dynamic) -> Dynamic) -> Dynamic {
    (0..depth).fold(Dynamic::UNIT, |inner, _| wrap(inner))
}

fn list(inner: Dynamic) -> Dynamic {
    Dynamic::from_array(vec![inner])
}

fn map(inner: Dynamic) -> Dynamic {
    Dynamic::from_map(Map::from([("k".into(), inner)]))
}

fn function(inner: Dynamic) -> Dynamic {
    let mut function = FnPtr::new("yes").unwrap();
    function.add_curry(inner);
    Dynamic::from(function)
}

#[test]
fn scn_5_every_function_takes_the_deepest_values_on_a_usual_stack() {
    on_stack(USUAL_STACK, || {
        let limits = Limits::default();
        let engine = speaking_engine(&limits, &Arc::default());
        let called = engine.compile(CALLED).unwrap();
        let others = Arguments::new(&limits);
        let mut count = 0;
        let all = engine.collect_fn_metadata(
            None,
            |of| Some((of.metadata.name.to_string(), of.metadata.param_types.to_vec())),
            true,
        );
        for (name, types) in all {
            let code = code_of(&name, types.len());
            let mut names = Scope::new();
            (0..types.len()).for_each(|index| {
                names.push(format!("a{index}"), ());
            });
            let ast = called.merge(&engine.compile_with_scope(&names, &code).unwrap());
            for depth in [MAX_DEPTH, MAX_DEPTH + 1, MAX_DEPTH + 2] {
                for of_any in [list, map, function] {
                    let mut scope = Scope::new();
                    for (index, wanted) in types.iter().enumerate() {
                        let value = if *wanted == TypeId::of::<Array>() {
                            nested(depth, list)
                        } else if *wanted == TypeId::of::<Map>() {
                            nested(depth, map)
                        } else if *wanted == TypeId::of::<FnPtr>() {
                            nested(depth, function)
                        } else if *wanted == TypeId::of::<Dynamic>() {
                            nested(depth, of_any)
                        } else {
                            others.0.iter().find(|(of, ..)| of == wanted).unwrap().2.clone()
                        };
                        scope.push_dynamic(format!("a{index}"), value);
                    }
                    limits.begin(Size::default());
                    drop(engine.eval_ast_with_scope::<Dynamic>(&mut scope, &ast));
                }
            }
            count += 1;
        }
        assert!(count > 500, "only {count} functions are registered");
    });
}

/// The outcome of a script with a part of the most operations and the same part of the stack, in which no bound of sizes is met.
fn run(code: &str) -> Result<Context, RunError> {
    let code = code.to_owned();
    on_stack(STACK_BYTES / 25, move || {
        let limits = Limits {
            max_operations: MOST_OPERATIONS / 25,
            max_elements: 1_000_000,
            max_duration: Duration::from_secs(600),
            clock: Clock(clock),
            ..Limits::default()
        };
        let scripting = Scripting::new(limits);
        let script = scripting.compile_script(&code).unwrap_or_else(|faults| panic!("{faults:?}: {code}"));
        let mut context = Context::default();
        scripting.run(&script, &mut context).map(|_| context)
    })
}

#[test]
fn scn_5_no_way_of_nesting_ends_the_process() {
    let ways = [
        ("a list", "let a = []; for i in 0..200000 { a = [a]; } vars.x = a;"),
        ("many lists at a time", "let a = []; for i in 0..200000 { a = [[[[[[[[a]]]]]]]]; }"),
        ("a map", "let a = #{}; for i in 0..200000 { a = #{k: a}; } vars.x = a;"),
        ("push", "let a = []; for i in 0..200000 { let b = []; b.push(a); a = b; }"),
        ("insert", "let a = []; for i in 0..200000 { let b = []; b.insert(0, a); a = b; }"),
        ("an element", "let a = []; for i in 0..200000 { let b = [0]; b[0] = a; a = b; }"),
        ("a member", "let a = #{}; for i in 0..200000 { let b = #{}; b.k = a; a = b; }"),
        ("adding", "let a = []; for i in 0..200000 { let b = []; b += a; b += [a]; a = [b]; }"),
        ("a variable of the order", "vars.x = []; for i in 0..200000 { vars.x = [vars.x]; }"),
        ("itself", "let a = [1]; for i in 0..200000 { a.push(a); }"),
        ("a function that returns", "fn f(a) { [a] } let a = []; for i in 0..200000 { a = f(a); }"),
        ("functions that call", "fn f(a) { if a.len() < 0 { a } else { f([a]) } } f([])"),
        ("`this`", "fn f() { loop { this = [this]; } } let a = []; a.f();"),
        ("`this` in a member", "fn f() { loop { this.k = #{k: this}; } } let a = #{}; a.f();"),
        ("closures", "let a = 1; for i in 0..200000 { let b = a; a = || b; }"),
        ("currying", "fn f(a) {} let a = Fn(\"f\"); for i in 0..200000 { a = Fn(\"f\").curry(a); }"),
        ("reducing", "let l = []; l.pad(9000, 1); let a = l.reduce(|a, i| [a], []); vars.x = a;"),
        ("each", "let l = [[]]; for i in 0..200000 { l.for_each(|| this = [this]); }"),
        ("mapping", "let l = [1]; for i in 0..200000 { l = l.map(|e| [e]); }"),
        ("an error", "let a = []; for i in 0..90 { a = [a]; } throw a;"),
        ("a text", "let a = \"1\"; for i in 0..200000 { a = `[${a}]`; parse_json(a); }"),
        ("printing", "let a = []; for i in 0..90 { a = [a]; } print(a);"),
        ("a result", "let a = []; for i in 0..90 { a = [a]; } result(a);"),
    ];
    for (name, code) in ways {
        let error = run(code).map(drop).unwrap_err();
        assert_eq!(error.class, SCRIPT_LIMIT, "{name}: {error}");
    }
}

#[test]
fn scn_5_a_value_has_at_most_the_allowed_number_of_levels() {
    let code = |depth: usize| format!("let a = 1; for i in 0..{depth} {{ a = [a]; }} vars.x = a;");
    let deepest = (0..MAX_DEPTH).fold(json!(1), |inner, _| json!([inner]));
    assert_eq!(run(&code(MAX_DEPTH)).unwrap().vars["x"], deepest);
    for (name, said) in [
        ("a result", "result(a)"),
        ("an answer", "answer(a)"),
        ("a message", "message(a)"),
        ("a log", "log(a)"),
        ("a failure", "fail(a)"),
        ("a failure with a class", "fail(a, \"x\")"),
    ] {
        // Few names are named: nobody looks in between.
        let wrap = format!("a = {}a{};", "[".repeat(20), "]".repeat(20));
        let code = format!("let a = 1; {}{said}", wrap.repeat(4));
        let error = run(&code).map(drop).unwrap_err();
        assert_eq!(error.class, SCRIPT_LIMIT, "{name}: {error}");
    }
    // Both sides of the bound of JSON that is read.
    let text =
        |depth: usize| format!("vars.x = parse_json(\"{}1{}\");", "[".repeat(depth), "]".repeat(depth));
    assert_eq!(run(&text(MAX_DEPTH)).unwrap().vars["x"], deepest);
    assert_eq!(run(&text(MAX_DEPTH + 1)).unwrap_err().class, SCRIPT_LIMIT);
}

#[test]
fn scn_5_what_was_stored_with_more_levels_can_be_read() {
    let stored = (0..120).fold(json!(1), |inner, _| json!([inner]));
    let context = Context { params: json!({"old": stored, "n": 7}).into(), ..Context::default() };
    let scripting = Scripting::new(Limits::default());
    let code = scripting.compile_expression("[params.old, params.n, params.n][1]").unwrap();
    assert_eq!(scripting.evaluate(&code, &context), Ok(json!(7)));
}

#[test]
fn scn_5_code_that_is_nested_deep_is_refused_on_a_usual_stack() {
    let twice = |open: &str, inner: &str, close: &str, count: usize| {
        format!("{}{inner}{}", open.repeat(count), close.repeat(count))
    };
    let ways = move |count: usize| -> Vec<String> {
        vec![
            twice("(", "1", ")", count),
            twice("[", "1", "]", count),
            twice("#{k: ", "1", "}", count),
            twice("{ ", "1", " }", count),
            twice("if true { ", "1", " }", count),
            twice("if true { 1 } else ", "{ 2 }", "", count),
            twice("while false { ", "1", " }", count),
            twice("for i in 0..1 { ", "1", " }", count),
            twice("switch 1 { 1 => ", "1", " }", count),
            twice("try { ", "1", " } catch { }", count),
            twice("|| ", "1", "", count),
            twice("|a| { ", "1", " }", count),
            twice("!", "true", "", count),
            twice("- ", "1", "", count),
            twice("1 + ", "1", "", count),
            twice("1 ** ", "1", "", count),
            twice("true && ", "true", "", count),
            twice("() ?? ", "1", "", count),
            twice("`${", "1", "}`", count),
            twice("to_string(", "1", ")", count),
            twice("params[", "1", "]", count),
            twice("", "params", "[0]", count),
            twice("", "params", ".k", count),
            twice("", "params", "?.k", count),
            twice("", "params", ".len()", count),
            twice("let a = ", "1", ";", count),
            twice("a = ", "1", ";", count),
            twice("return ", "1", ";", count),
            twice("/*", " ", "*/", count),
        ]
    };
    on_stack(USUAL_STACK, move || {
        let scripting = Scripting::new(Limits::default());
        let stored = Scripting::of_stored();
        for count in [20, 60, 200, 5_000, 50_000] {
            for code in ways(count) {
                // The result does not matter.
                for scripting in [&scripting, &stored] {
                    if let Ok(code) = scripting.compile_expression(&code) {
                        drop(scripting.evaluate(&code, &Context::default()));
                    }
                    if let Ok(script) = scripting.compile_script(&code) {
                        drop(scripting.run(&script, &mut Context::default()));
                    }
                }
            }
        }
    });
}
