//! Scripts that hold as much as they can, each value of it within the bounds of a value.
//!
//! They run in a process of their own, whose memory is bounded: what this test is about would otherwise
//! end the machine.
#![allow(clippy::unwrap_used, clippy::disallowed_methods, clippy::disallowed_macros, reason = "a test may")]

use std::fmt::Write as _;
use std::process::{Command, Stdio};
use std::sync::LazyLock;
use std::time::Instant;

use pagurus_domain::classes::SCRIPT_LIMIT;
use serde_json::json;

use super::super::{Context, Limits, RunError, Scripting};
use super::*;

/// Says that this process is the one that runs the scripts.
const RUNS: &str = "PAGURUS_TEST_RUNS";
/// Bytes that all the scripts may add to the largest size of the process.
const MOST_MEMORY: u64 = 128 << 20;
/// Address space of the process, in KiB.
const ADDRESS_SPACE: u64 = 1 << 20;
/// Longest time of one script, in a build without optimization on a busy machine.
const MOST_TIME: Duration = Duration::from_secs(30);

/// A function that makes a large text of another.
const MAKE: &str = "fn make(t, i) { t + i }\nlet t = vars.text;\n";
/// A function that makes a large tree.
const TREE: &str = "fn tree() { let l = []; l.pad(4900, #{k: 1}); l }\n";

/// Scripts by name.
fn attacks() -> Vec<(&'static str, String)> {
    let many = |count: usize, line: fn(usize) -> String| {
        (0..count).fold(String::new(), |mut code, n| {
            let _ = writeln!(code, "{}", line(n));
            code
        })
    };
    let with = |code: &str| format!("{MAKE}fn f(a) {{}}\n{code}");
    let assigned = many(240, |n| format!("let v{n} = 0;")) + &many(240, |n| format!("v{n} = make(t, {n});"));
    let variables = |count| many(count, |n| format!("let v{n} = make(t, {n});"));
    let nested = format!("fn g(t, n) {{ {} if n > 0 {{ g(t, n - 1) }} }} g(t, 30);", variables(40));
    let busy = "fn make(t, i) { for j in 0..20 { t.len(); } t + i }\nlet t = vars.text;\n";
    let trees = many(240, |n| format!("let v{n} = tree();"));
    let curried = "let p = Fn(\"f\"); for i in 0..500 { p = p.curry(tree()); }";
    vec![
        ("closures", with("let l = []; for i in 0..5000 { let s = make(t, i); l.push(|| s + i); }")),
        ("curried", with("let p = Fn(\"f\"); for i in 0..5000 { p = p.curry(make(t, i)); }")),
        ("list", with("let l = []; for i in 0..5000 { l += Fn(\"f\").curry(make(t, i)); }")),
        ("mapped", with("let l = []; l.pad(9000, 1); l = l.map(|i| { let s = make(t, i); || s });")),
        ("variables", MAKE.to_owned() + &variables(240)),
        ("assigned", MAKE.to_owned() + &assigned),
        ("nested", MAKE.to_owned() + &nested),
        ("beside a busy function", busy.to_owned() + &nested),
        ("keys", with("let m = #{}; for i in 0..9000 { m[make(t, i)] = 1; }")),
        ("trees", format!("{TREE}{trees}")),
        ("curried trees", format!("{TREE}fn f(a) {{}}\n{curried}")),
    ]
}

/// The time since the test began.
fn clock() -> Duration {
    static BEGUN: LazyLock<Instant> = LazyLock::new(Instant::now);
    BEGUN.elapsed()
}

fn run(code: &str) -> Result<(), RunError> {
    let max_duration = Duration::from_secs(600);
    let scripting = Scripting::new(Limits { clock: Clock(clock), max_duration, ..Limits::default() });
    let script = scripting.compile_script(code).unwrap_or_else(|faults| panic!("{faults:?}: {code}"));
    let vars = json!({"text": "x".repeat(250_000)});
    let mut context = Context { vars: vars.as_object().unwrap().clone(), ..Context::default() };
    scripting.run(&script, &mut context).map(|_| ())
}

#[test]
fn scn_5_no_script_holds_more_memory_than_a_run_may() {
    if std::env::var_os(RUNS).is_some() {
        return run_all();
    }
    let name = "script::holding::tests::scn_5_no_script_holds_more_memory_than_a_run_may";
    let output = Command::new("sh")
        .args(["-c", &format!("ulimit -v {ADDRESS_SPACE}; exec \"$0\" --exact {name} --nocapture")])
        .arg(std::env::current_exe().unwrap())
        .env(RUNS, "1")
        .env("RUST_BACKTRACE", "0")
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stderr);
    let end: Vec<&str> = text.lines().rev().take(8).collect();
    assert!(output.status.success(), "{}: {end:#?}", output.status);
    assert!(text.contains("all have run"), "{end:#?}");
}

fn run_all() {
    let before = largest_size();
    for (name, code) in attacks() {
        let begun = Instant::now();
        let error = run(&code).unwrap_err();
        let (took, grown) = (begun.elapsed(), largest_size().saturating_sub(before));
        eprintln!("{name}: {took:?}, {} MiB, {error}", grown >> 20);
        assert_eq!(error.class, SCRIPT_LIMIT, "{name}: {error}");
        assert!(took < MOST_TIME, "{name} took {took:?}");
        assert!(grown < MOST_MEMORY, "{name} took {} MiB", grown >> 20);
    }
    eprintln!("all have run");
}

/// The largest size that this process has had, in bytes.
fn largest_size() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with("VmHWM:")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse::<u64>().unwrap() << 10
}

#[test]
fn scn_5_what_is_shared_or_released_is_not_held() {
    for code in [
        // One text under many names, and in many closures.
        "let s = vars.text; let l = []; for i in 0..1000 { l.push(|| s); } l.len()",
        // Large texts one after another.
        &format!("{MAKE} let s = 0; for i in 0..400 {{ s = make(t, i); }}"),
        // A function that holds itself.
        "let f = 1; let g = || f; f = g; for i in 0..100 { f = g; }",
        // Many small variables, and a list that is read again and again.
        "let l = []; l.pad(9000, 1); let sum = 0; for i in 0..9000 { sum += l[i]; }",
    ] {
        run(code).unwrap_or_else(|error| panic!("{code}: {error}"));
    }
}
