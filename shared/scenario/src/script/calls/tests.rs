//! Tests of what may be called. The tables of valid code are run as well: what runs must pass.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

use super::super::{Context, Scripting};
use super::*;

fn sandbox() -> Scripting {
    Scripting::new(Limits::default())
}

/// Faults of a script, as `line:column: message; hint`.
fn script(code: &str) -> Vec<String> {
    faults(sandbox().compile_script(code).map(drop))
}

fn expression(code: &str) -> Vec<String> {
    faults(sandbox().compile_expression(code).map(drop))
}

fn faults(outcome: Result<(), Vec<CompileError>>) -> Vec<String> {
    let errors = outcome.err().unwrap_or_default().into_iter();
    let line = |error: CompileError| {
        let hint = error.hint.map(|hint| format!("; {hint}")).unwrap_or_default();
        format!("{}:{}: {error}{hint}", error.line, error.column, error = error.message)
    };
    errors.map(line).collect()
}

#[test]
fn scn_1_what_runs_is_never_refused() {
    let valid = [
        "let x = \"a,b\"; x.split(\",\").len() + x.len",
        "let a = [3, 1]; a.push(2); a.sort(); a[0] = a.len(); a += 4; a?.len()",
        "let m = #{a: 1}; m.a.abs(); m.keys(); m.b = 1; m.contains(\"a\"); m[\"c\"] = m.remove(\"a\")",
        "let y = 3; [1, 2].map(|x| x + y).filter(|x| x > 4).reduce(|sum, x| sum + x, 0)",
        "[1, 2].for_each(|| this += 1); for (x, i) in range(0, 5) { print(x + i) } for x in 0..=2 {}",
        "fn q(x) { x } [1].map(q); [1].map(Fn(\"q\")); let f = q; f.call(q(1))",
        "fn a(x) { this + x } let y = 1; y.a(2)",
        "fn int.b(y) { this + y } let x = 1; x.b(1)",
        "fn c() { 1 } c!()",
        "fn twice(f, x) { f.call(f.call(x)) } twice(|x| x * 2, 1)",
        "private fn d(n) { if n == 0 { 0 } else { d(n - 1) } } d(3)",
        "let o = #{ f: |x| x + 1 }; o.f(1)",
        "let o = #{}; o.f = |x| x + 1; o.f(1)",
        "let o = #{}; o[\"f\"] = |x| x + 1; o.f(1)",
        "let f = |x, y| x + y; f.call(1, 2); call(f, 1, 2); f.curry(1).call(2); curry(f, 1).call(2)",
        "let n = 1; let f = || { let g = |y| n + y; g.call(2) }; f.call().abs()",
        "type_of(1); 1.type_of(); is_def_fn(\"a\", 1); is_def_var(\"a\"); let x = 1; is_shared(x); x.is_shared()",
        "print(); print(1); debug(); debug(1); log(1); message(2); result(#{a: 1}); answer([])",
        "let s = `a ${[1, 2].map(|x| x.to_string()).len()} ${\"x\".to_upper()}`; s.sub_string(0, 1)",
        "1 in [1]; 1 !in [1]; !true; -1; +1; 2 ** 3; 5 % 2; 1 << 2; true && false || true; () ?? 1",
        "switch 3 { 1 => abs(1), 2..5 => max(1, 2), _ => min(1, 2) }",
        "try { throw \"x\" } catch (e) { e.len() }",
        "do { let a = parse_json(\"{}\"); } while false; while false { } loop { break; }",
        "let b = blob(3); b.len(); let c = 'a'; c.to_upper(); 1.5.floor(); PI().to_int(); 7.to_hex()",
        "if vars.n > 0 { \"no\".fail() }",
        "fail()",
        "fail(\"a\")",
        "fail(\"a\", \"b\")",
        "success()",
        "poll()",
        "exit()",
        "exit(1)",
    ];
    for code in valid {
        let sandbox = sandbox();
        let compiled = sandbox.compile_script(code).unwrap_or_else(|errors| panic!("{code}: {errors:?}"));
        let vars = serde_json::json!({"n": 1}).as_object().cloned().unwrap();
        let ran = sandbox.run(&compiled, &mut Context { vars, ..Context::default() });
        assert!(ran.is_ok(), "{code}: {ran:?}");
    }
    for code in [
        "[1, 2].map(|x| x + 1)",
        "#{f: |x| x}.f(1)",
        "\"a,b\".split(\",\").len()",
        "`${[1].len()}`",
        "if 1 > 2 { 1 } else { max(1, 2) }",
        "type_of(now)",
        "log(8.0, 2.0)",
        "params == () || params.len() > 1",
    ] {
        let sandbox = sandbox();
        let compiled = sandbox.compile_expression(code).unwrap_or_else(|errors| panic!("{code}: {errors:?}"));
        assert!(sandbox.evaluate(&compiled, &Context::default()).is_ok(), "{code}");
    }
}

#[test]
fn scn_1_every_function_of_the_language_can_be_called_in_both_forms() {
    for (name, counts) in SCRIPTS.iter().filter(|(name, _)| is_name(name)) {
        for count in counts {
            let call = format!("{name}({})", vec!["1"; *count].join(", "));
            assert_eq!(script(&call), Vec::<String>::new(), "{call}");
            // `print` and `debug` are words of the language.
            let on_value = !matches!(name.as_str(), "print" | "debug");
            if let Some(rest) = count.checked_sub(1).filter(|_| on_value) {
                let call = format!("let x = 1; x.{name}({})", vec!["1"; rest].join(", "));
                assert_eq!(script(&call), Vec::<String>::new(), "{call}");
            }
        }
    }
}

#[test]
fn scn_1_the_words_of_scripts_are_all_named_in_hints() {
    let more = SCRIPTS.iter().filter(|(name, counts)| EXPRESSIONS.get(*name) != Some(*counts));
    let more: BTreeSet<&str> = more.map(|(name, _)| name.as_str()).chain(["log"]).collect();
    assert_eq!(more, SAID.iter().copied().collect());
}

#[test]
fn scn_1_a_word_of_the_language_as_a_name_is_refused_with_the_way_to_read_it() {
    let help = "the script language keeps `call` for itself: read a part of this name by `[\"call\"]` instead of `.call`; \
                call a variable something else";
    assert_eq!(
        script("let x = callbacks.call.body;"),
        [format!("1:19: 'call' is a reserved keyword; {help}")]
    );
    assert_eq!(script("let call = 1;"), [format!("1:5: 'call' is a reserved keyword; {help}")]);
    assert_eq!(script("let x = callbacks[\"call\"].body;"), Vec::<String>::new());
}

#[test]
fn scn_1_calls_that_can_never_run_are_reported() {
    let all = "there are success, fail, poll, event, result, message, answer, log, those of the language, and your own";
    let cases: &[(&str, &[&str])] = &[
        ("sucess()", &["1:1: there is no function `sucess`; did you mean `success`?"]),
        ("sucess(1)", &["1:1: there is no function `sucess`; did you mean `success`?"]),
        ("raise(\"x\")", &[&format!("1:1: there is no function `raise`; {all}")]),
        ("success(1)", &["1:1: `success` takes 0 arguments, not 1"]),
        ("result()", &["1:1: `result` takes 1 argument, not 0"]),
        (
            "fail(1, 2, 3)",
            &[
                "1:1: `fail` takes 0, 1 or 2 arguments, not 3; write `fail()`, `fail(MESSAGE)` or `fail(MESSAGE, CLASS)`",
            ],
        ),
        ("let a = [];\n  a.psuh(1);", &["2:5: there is no function `psuh`; did you mean `push`?"]),
        ("\"a\".split(1, 2, 3)", &["1:5: `split` takes 0, 1 or 2 arguments, not 3"]),
        ("fn mine(a) { a } mine(1, 2)", &["1:18: `mine` takes 1 argument, not 2"]),
        ("fn mine(a) { a } mnie(1)", &["1:18: there is no function `mnie`; did you mean `mine`?"]),
        ("fn mine(a) { yours(a) } 1", &[&format!("1:14: there is no function `yours`; {all}")]),
        (
            "let f = |x| x; f(1)",
            &["1:16: there is no function `f`; a function in a variable is called by `f.call(…)`"],
        ),
        ("[1].map(|x| x.lenn())", &["1:15: there is no function `lenn`; did you mean `len`?"]),
        (
            "if false { sucess() } else { fial() }",
            &[
                "1:12: there is no function `sucess`; did you mean `success`?",
                "1:30: there is no function `fial`; did you mean `fail`?",
            ],
        ),
        ("switch 1 { 1 | 2 => pol(), _ => 1 }", &["1:21: there is no function `pol`; did you mean `poll`?"]),
        ("`é ${pol()}`", &["1:6: there is no function `pol`; did you mean `poll`?"]),
        ("type_of()", &["1:1: `type_of` takes 1 argument, not 0"]),
        ("timestamp()", &[&format!("1:1: there is no function `timestamp`; {all}")]),
    ];
    for (code, expected) in cases {
        assert_eq!(script(code), *expected, "{code}");
    }
    let cases: &[(&str, &str)] = &[
        (
            "success()",
            "1:1: there is no function `success`; a `script` says this; an expression only has a value",
        ),
        ("log(1.0) + log(1, 2, 3)", "1:12: `log` takes 1 or 2 arguments, not 3"),
        ("params.a.lenn()", "1:10: there is no function `lenn`; did you mean `len`?"),
        (
            "uuid_of_today()",
            "1:1: there is no function `uuid_of_today`; there are those of the language; for more, write a `script` before",
        ),
    ];
    for (code, expected) in cases {
        assert_eq!(expression(code), [*expected], "{code}");
    }
}
