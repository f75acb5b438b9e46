//! SCN-1: every rule has a bad example. The table holds those that no other test of the rules is
//! about; the last test reads the sources, so that no rule comes without an example.

#![allow(clippy::disallowed_methods, reason = "reads the sources that it is a test of")]

use std::path::{Path, PathBuf};

use super::{check_actions, check_table, faults};

#[test]
fn scn_1_rules_of_the_whole_file() {
    let long = format!("scenario: s\n{}: 1\n", "k".repeat(300));
    check_table(&[
        (
            "scenario: s\ninitialState: a\nstates: []\n",
            "3:9: `states` must be a mapping of names to states, not a list",
        ),
        ("scenario: s\ninitialState: a\nstates: {}\n", "3:9: `states` must be a mapping of names to states"),
        (&long, "2:1: a key is longer than 256 bytes; shorten it; a line may have lost its indentation"),
    ]);
    let many: String = (0..1100).map(|n| format!("key{n}: 1\n")).collect();
    let found = faults(&format!("scenario: s\n{many}"));
    assert!(found.last().unwrap().contains("more faults are not listed"), "{:?}", found.last());
}

#[test]
fn scn_1_rules_of_states() {
    let state =
        |state: &str| format!("scenario: s\ninitialState: a\nstates:\n{state}  done: {{kind: terminal}}\n");
    for (text, expected) in [
        (
            "  a: {actions: [{script: vars.a = 1}], on: {success: done, fail: b}}\n  b: {}\n",
            "5:3: `b` has no transition for `success`: its actions may all go through; add `on: {success: STATE}` to it",
        ),
        (
            "  a: {kind: polling, poll: {interval: 1s, timeout: 1m}, actions: [{script: 'poll()'}], on: {success: done, fail: done, timeout: done, poll: a}}\n",
            "4:135: `poll` is not a transition: the order stays in the state and tries again after the interval; remove it; `timeout` says",
        ),
        (
            "  a: {on: {success: b}}\n  b: {actions: [{sleep: {for: '${params.n}s'}}], on: {fail: done}}\n",
            "5:50: `b` has no transition for `sleep`: it has the action `sleep`; add `sleep: STATE` here",
        ),
        (
            "  a: {on: {success: done, callback: done}}\n",
            "4:27: the event `callback` cannot arise in `a`; remove it: `callback` occurs only in waiting",
        ),
        (
            "  a: {on: {success: done, sleep: s}}\n  s: {kind: sleeping, on: {timeout: done}}\n",
            "4:27: the event `sleep` cannot arise in `a`; remove it, or end the actions with `sleep`",
        ),
        (
            "  a: {actions: [{sleep: {for: 1m}}, {log: x}], on: {sleep: s}}\n  s: {kind: sleeping, on: {timeout: done}}\n",
            "4:37: this action never runs: the `sleep` before it ends the stage; move it before the `sleep`, or to the state after it",
        ),
    ] {
        check_table(&[(&state(text), expected)]);
    }
}

#[test]
fn scn_1_rules_of_actions() {
    check_actions(&[
        (
            "- http: {url: \"http://h\"}\n  method: GET",
            "7:7: `method` stands beside `http`; indent it further if it belongs to `http`",
        ),
        ("- choose: x", "6:15: `choose` must be a list of branches, not a text"),
        (
            "- choose: [{otherwise: []}]",
            "6:15: `choose` has nothing to choose: its first branch has no condition",
        ),
        (
            "- http: {url: \"http://h/${secret.a + 1}\"}",
            "6:19: a secret must stand alone between the braces; write `${secret.NAME}`",
        ),
    ]);
    // An action that rests ends its state, so that it stands last.
    let sleeps = "scenario: s\ninitialState: a\nstates:\n  a: {actions: [{sleep: {for: \"in ${params.n} ways\"}}], on: {sleep: s, fail: done}}\n  \
                  s: {kind: sleeping, on: {timeout: done}}\n  done: {kind: terminal}\n";
    check_table(&[(
        sleeps,
        "4:31: this is not a duration, whatever the expression yields; write it like `${params.days}d`",
    )]);
}

/// The texts of the rules in one file: each literal that begins a fault.
fn rules(source: &str) -> Vec<String> {
    let mut rules = Vec::new();
    for begin in [".fault(", "must_be(", "let message =", "let wanted ="] {
        for (at, _) in source.match_indices(begin) {
            let rest = source[at + begin.len()..].trim_start();
            let rest = rest.strip_prefix("format!(").unwrap_or(rest).trim_start();
            let Some(literal) = rest.strip_prefix('"') else { continue };
            let end = literal.match_indices('"').find(|(end, _)| !literal[..*end].ends_with('\\'));
            rules.extend(end.map(|(end, _)| literal[..end].replace("\\\"", "\"")));
        }
    }
    rules
}

/// The longest part of a text that no value stands in.
fn fixed_part(rule: &str) -> &str {
    let parts = rule.split(['{', '}']).step_by(2);
    parts.max_by_key(|part| part.len()).unwrap_or_default().trim_matches([' ', '`'])
}

fn rust_files(folder: &Path, into: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            rust_files(&path, into);
        } else {
            into.push(path);
        }
    }
}

#[test]
fn scn_1_every_rule_has_a_bad_example() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut files = vec![folder.join("source.rs")];
    rust_files(&folder.join("source"), &mut files);
    let (tests, sources): (Vec<PathBuf>, Vec<PathBuf>) = files.into_iter().partition(|path| {
        path.components().any(|part| part.as_os_str().to_string_lossy().starts_with("tests"))
    });
    let examples: String =
        tests.iter().map(|path| std::fs::read_to_string(path).unwrap().replace("\\\"", "\"")).collect();
    let mut count = 0;
    let mut without = Vec::new();
    for path in &sources {
        for rule in rules(&std::fs::read_to_string(path).unwrap()) {
            count += 1;
            if !examples.contains(fixed_part(&rule)) {
                without.push(format!("{}: {rule}", path.file_name().unwrap().display()));
            }
        }
    }
    assert!(count > 100, "the rules are not found any more: {count}");
    assert!(without.is_empty(), "rules without an example:\n{}", without.join("\n"));
}
