//! Every function that scripts can call, with the largest and the strangest arguments that it takes.
//!
//! The calls run in a process of their own, whose memory is bounded: what this test is about would
//! otherwise end the machine.
#![allow(clippy::unwrap_used, clippy::disallowed_methods, clippy::disallowed_macros, reason = "a test may")]

use std::any::TypeId;
use std::collections::BTreeMap;
use std::ops::{Range, RangeInclusive};
use std::process::{Command, Stdio};
use std::sync::{Arc, LazyLock};
use std::time::{Duration, Instant};

use rhai::{AST, Array, Blob, Engine, FnPtr, ImmutableString, Map, Scope};

mod deep;

use super::super::speech::speaking_engine;
use super::super::{Clock, Limits, Size};
use super::*;

/// Says that this process is the one that calls.
const CALLS: &str = "PAGURUS_TEST_CALLS";
/// Bytes that one call may add to the largest size of the process so far.
const MOST_MEMORY: u64 = 96 << 20;
/// Address space of the process that calls, in KiB.
const ADDRESS_SPACE: u64 = 1 << 20;
/// Longest time of one call beyond `max_duration`: what the last native function takes, in a build
/// without optimization on a busy machine.
const SLACK: Duration = Duration::from_secs(20);

/// Functions for those that call functions: some make a large text for each call, some make `this` large,
/// some say yes, some no.
const CALLED: &str = r#"
    fn make() { let s = "x"; s.pad(250000, 'y'); s }
    fn make(a) { let s = "x"; s.pad(250000, 'y'); s }
    fn make(a, b) { let s = "x"; s.pad(250000, 'y'); s }
    fn grow() { let s = "x"; s.pad(250000, 'y'); this = s; false }
    fn list(a) { let l = []; l.pad(9000, 1); l }
    fn list(a, b) { let l = []; l.pad(9000, 1); l }
    fn yes() { true }
    fn yes(a) { true }
    fn yes(a, b) { true }
    fn no() { false }
    fn no(a) { false }
    fn no(a, b) { 1 }
"#;

#[test]
fn scn_5_no_function_takes_more_memory_or_time_than_a_run_may() {
    if std::env::var_os(CALLS).is_some() {
        return call_all();
    }
    let name = "script::native::tests::scn_5_no_function_takes_more_memory_or_time_than_a_run_may";
    let program = std::env::current_exe().unwrap();
    let output = Command::new("sh")
        .args(["-c", &format!("ulimit -v {ADDRESS_SPACE}; exec \"$0\" --exact {name} --nocapture")])
        .arg(program)
        .env(CALLS, "1")
        .env("RUST_BACKTRACE", "0")
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stderr);
    let end: Vec<&str> = text.lines().rev().take(8).collect();
    assert!(output.status.success(), "{}: {end:#?}", output.status);
    assert!(text.contains("functions called: "), "{end:#?}");
}

/// The time since the test began.
fn clock() -> Duration {
    static BEGUN: LazyLock<Instant> = LazyLock::new(Instant::now);
    BEGUN.elapsed()
}

fn call_all() {
    let limits = Limits { clock: Clock(clock), max_duration: Duration::from_millis(50), ..Limits::default() };
    let engine = speaking_engine(&limits, &Arc::default());
    let called = engine.compile(CALLED).unwrap();
    let arguments = Arguments::new(&limits);
    let mut functions: BTreeMap<(String, usize), Vec<Vec<TypeId>>> = BTreeMap::new();
    let all = engine.collect_fn_metadata(
        None,
        |of| Some((of.metadata.name.to_string(), of.metadata.param_types.to_vec())),
        true,
    );
    for (name, types) in all {
        functions.entry((name, types.len())).or_default().push(types);
    }
    let mut count = 0;
    for ((name, parameters), forms) in functions {
        let code = code_of(&name, parameters);
        let mut names = Scope::new();
        (0..parameters).for_each(|index| {
            names.push(format!("a{index}"), ());
        });
        let ast = engine.compile_with_scope(&names, &code).unwrap_or_else(|error| panic!("{code}: {error}"));
        let ast = called.merge(&ast);
        for types in forms {
            for chosen in arguments.all_for(&types) {
                call(&engine, &limits, &ast, &format!("{code}, form {types:?}"), &chosen);
            }
            count += 1;
        }
    }
    assert!(count > 500, "only {count} functions are registered");
    eprintln!("functions called: {count}");
}

/// The call of a function on `a0`, `a1`, …
fn code_of(name: &str, parameters: usize) -> String {
    let arguments: Vec<String> = (0..parameters).map(|index| format!("a{index}")).collect();
    let is_operator = !name.starts_with(|c: char| c.is_alphabetic() || c == '_');
    match (name.split_once('$'), parameters) {
        (Some(("get", property)), 1) => format!("a0.{property}"),
        (Some(("set", property)), 2) => format!("a0.{property} = a1"),
        (_, 1) if is_operator => format!("{name}a0"),
        (_, 2) if is_operator => format!("a0 {name} a1"),
        _ => format!("{name}({})", arguments.join(", ")),
    }
}

fn call(engine: &Engine, limits: &Limits, ast: &AST, code: &str, arguments: &[(String, Dynamic)]) {
    let shown: Vec<&str> = arguments.iter().map(|(name, _)| name.as_str()).collect();
    eprintln!("calling {code} with {shown:?}");
    let mut scope = Scope::new();
    for (index, (_, value)) in arguments.iter().enumerate() {
        scope.push_dynamic(format!("a{index}"), value.clone());
    }
    let (before, begun) = (largest_size(), Instant::now());
    limits.begin(Size::default());
    // The result does not matter; a panic does.
    drop(engine.eval_ast_with_scope::<Dynamic>(&mut scope, ast));
    // The kernel counts by and by, and may say a little less than before.
    let (took, grown) = (begun.elapsed(), largest_size().saturating_sub(before));
    assert!(took < limits.max_duration + SLACK, "{code} with {shown:?} took {took:?}");
    assert!(grown < MOST_MEMORY, "{code} with {shown:?} took {} MiB", grown >> 20);
}

/// The largest size that this process has had, in bytes.
fn largest_size() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with("VmHWM:")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse::<u64>().unwrap() << 10
}

/// Values to call functions with, by type, each with a name.
struct Arguments(Vec<(TypeId, String, Dynamic)>);

impl Arguments {
    fn new(limits: &Limits) -> Self {
        let mut all = Self(Vec::new());
        let (bytes, elements) = (limits.max_string_bytes, limits.max_elements);
        all.texts(bytes);
        all.lists(bytes, elements);
        for number in [-1, INT::try_from(bytes).unwrap(), INT::MAX, INT::MIN] {
            all.add(&number.to_string(), number);
        }
        for number in [0.0, -1.5, f64::MAX, f64::NAN] {
            all.add(&number.to_string(), number);
        }
        for character in ['x', '\u{10ffff}'] {
            all.add(&character.to_string(), character);
        }
        all.add("0..MAX", 0..INT::MAX);
        all.add("0..=MAX", 0..=INT::MAX);
        all.add("MIN..MAX", INT::MIN..INT::MAX);
        all.add("true", true);
        all.add("unit", ());
        for name in ["make", "grow", "list", "yes", "no"] {
            all.add(name, FnPtr::new(name).unwrap());
        }
        all.numbers();
        all
    }

    fn texts(&mut self, bytes: usize) {
        let texts: [(&str, String); 7] = [
            ("nothing", String::new()),
            ("x", "x".into()),
            ("long", "x".repeat(bytes)),
            ("half", "x".repeat(bytes / 2)),
            ("spaces", " x".repeat(bytes / 2)),
            ("escapes", "\u{1}".repeat(bytes)),
            ("json", format!("[{}1]", "{\"a\":[]},".repeat(bytes / 9 - 1))),
        ];
        for (name, text) in texts {
            self.add(name, ImmutableString::from(text));
        }
        self.add("deep json", ImmutableString::from("[".repeat(bytes)));
        self.add("yes", ImmutableString::from("yes"));
        self.add("grow", ImmutableString::from("grow"));
    }

    fn lists(&mut self, bytes: usize, elements: usize) {
        let numbers = |count: usize| {
            (0..count).map(|n| Dynamic::from_int(INT::try_from(n).unwrap())).collect::<Array>()
        };
        self.add("empty list", Array::new());
        self.add("numbers", numbers(elements));
        let one = bytes / elements;
        self.add("texts", (0..elements).map(|n| format!("{n:0one$}").into()).collect::<Array>());
        let nested = |_| Dynamic::from_array(numbers(99));
        self.add("lists", (0..elements / 100).map(nested).collect::<Array>());
        self.add("one text", vec![Dynamic::from("x".repeat(bytes))]);
        let single = || Map::from([("k".into(), Dynamic::from_int(1))]);
        self.add("maps", (0..elements / 2).map(|_| Dynamic::from_map(single())).collect::<Array>());
        let member = |n: usize| (format!("key {n}").into(), Dynamic::from(format!("{n:0one$}")));
        self.add("map", (0..elements).map(member).collect::<Map>());
        self.add("small map", single());
        self.add("bytes", vec![0xff_u8; elements] as Blob);
    }

    /// Numbers that no script has, but that functions take.
    fn numbers(&mut self) {
        macro_rules! add {
            ($($number:ty)*) => {$({
                self.add("most", <$number>::MAX);
                self.add("range", Range { start: <$number>::MIN, end: <$number>::MAX });
                self.add("range=", RangeInclusive::new(<$number>::MIN, <$number>::MAX));
            })*};
        }
        add!(i8 u8 i16 u16 i32 u32 u64 i128 u128);
        self.add("most", f32::MAX);
        self.add("range", 0.0_f32..f32::MAX);
        self.add("range", 0.0_f64..f64::MAX);
    }

    fn add<T: rhai::Variant + Clone>(&mut self, name: &str, value: T) {
        self.0.push((TypeId::of::<T>(), name.to_owned(), Dynamic::from(value)));
    }

    /// Every choice of arguments of these types. A value of any type is one of a few.
    fn all_for(&self, types: &[TypeId]) -> Vec<Vec<(String, Dynamic)>> {
        const OF_ANY: &[&str] = &["long", "numbers", "maps", "map", "one text", "make", "unit"];
        let mut choices: Vec<Vec<(String, Dynamic)>> = vec![Vec::new()];
        for (index, wanted) in types.iter().enumerate() {
            let any = *wanted == TypeId::of::<Dynamic>();
            let fitting: Vec<_> = self
                .0
                .iter()
                .filter(|(of, name, _)| if any { OF_ANY.contains(&name.as_str()) } else { of == wanted })
                // With many parameters, the later ones have fewer values.
                .step_by([1, 1, 2, 3][index.min(3)])
                .collect();
            assert!(!fitting.is_empty(), "a function takes a type that this test has no value of");
            choices = choices
                .iter()
                .flat_map(|before| {
                    fitting.iter().map(|(_, name, value)| {
                        before.iter().cloned().chain([(name.clone(), value.clone())]).collect()
                    })
                })
                .collect();
        }
        choices
    }
}
