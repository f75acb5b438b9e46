//! Orders that rest inside an operation (SCN-13, SCN-19): they move where they go on with the very operation that they have begun.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, json};

use super::*;
use crate::script::{Limits, Scripting};
use crate::stage::{Answers, OpenOperation, OperationSavepoint};
use crate::{Bounds, Library, LibraryEntry, OperationUse, source};

const CALL: &str = "http: {url: 'http://h/1', timeout: 1s}";
/// Actions of an operation in which the order waits.
const ASKS: &str =
    "[{http: {url: 'http://h/ask', timeout: 1s, request: r}}, {wait: {timeout: 1h}}, {log: b}]";
/// The same, with another action behind the wait.
const LONGER: &str =
    "[{http: {url: 'http://h/ask', timeout: 1s, request: r}}, {wait: {timeout: 1h}}, {log: b}, {log: c}]";
/// The same, with another action before the wait.
const LATER: &str =
    "[{log: a}, {http: {url: 'http://h/ask', timeout: 1s, request: r}}, {wait: {timeout: 1h}}]";
/// The numbers of the actions of [`workflow`]: the entry of the operation, its wait, and what follows it.
const ENTRY: usize = 1;
const WAIT: usize = 3;
const BEHIND: usize = 7;

/// A version of an operation.
struct Version(&'static str, i32, &'static str);

/// A workflow with these actions in its first state, which runs these operations.
fn workflow(actions: &str, versions: &[Version]) -> Scenario {
    let text = format!(
        "scenario: w\ninitialState: a\nstates:\n  a: {{actions: {actions}, on: {{success: done, fail: done}}}}\n  done: {{kind: terminal}}\n"
    );
    let entry = |Version(name, version, actions): &Version| LibraryEntry {
        name: (*name).to_owned(),
        version: Some(*version),
        file: None,
        text: format!("scenario: {name}\nkind: operation\nactions: {actions}\n"),
    };
    let entries: Vec<(i32, LibraryEntry)> = (1..).zip(versions.iter().map(entry)).collect();
    let users = 0..=i32::try_from(versions.len()).unwrap();
    let means = |user: i32| {
        let used = |(no, entry): &(i32, LibraryEntry)| {
            (OperationUse { user, name: entry.name.clone(), wanted: None }, *no)
        };
        entries.iter().map(used).collect::<Vec<_>>()
    };
    let pins: Vec<_> = users.flat_map(means).collect();
    let library = Library::pinned(Library::UNSTORED, entries, pins);
    source::read_with(&text, &library, &Scripting::new(Limits::default()), &Bounds::default())
        .unwrap_or_else(|faults| panic!("{}", source::explain_faults(&text, "w.yaml", &faults)))
}

/// The position before this action of state `a`, in the operations that began at these.
fn standing(action: usize, entries: &[usize]) -> Snapshot {
    let mut order = Snapshot::entering("a", Map::new());
    order.visit.number = 1;
    order.main.action = action;
    let vars = || json!({}).into();
    order.operations = entries
        .iter()
        .map(|entry| OpenOperation {
            entry: *entry,
            params: vars(),
            vars: vars(),
            answers: Answers::default(),
            asked: BTreeSet::new(),
            result: None,
            has_failed: false,
            savepoint: OperationSavepoint {
                visit: 1,
                action: entry + 1,
                vars: vars(),
                answers: Answers::default(),
            },
            requests_around: Vec::new(),
            rounds_around: BTreeMap::new(),
        })
        .collect();
    order
}

/// Number of the action for which an order in this position stays on its version; `None` if it is moved.
fn stays_for(old: &Scenario, new: &Scenario, order: &Snapshot) -> Option<usize> {
    match move_to(old, new, Status::Wait, order) {
        Ok(()) => None,
        Err(Hindrance::OtherAction { state, number }) if state == "a" => Some(number),
        Err(other) => panic!("{other}"),
    }
}

fn of_version(version: i32, actions: &'static str) -> [Version; 1] {
    [Version("ask", version, actions)]
}

#[test]
fn scn_13_scn_19_an_order_in_an_operation_moves_where_it_goes_on_with_that_very_operation() {
    let actions = "[{log: x}, {do: {operation: ask}}, {log: y}]";
    let old = workflow(actions, &of_version(1, ASKS));
    let words: Vec<&str> = old.state(old.initial).actions.iter().map(crate::Action::word).collect();
    assert_eq!(words, ["log", "do", "http", "wait", "savepoint", "log", "do", "log"]);
    let behind = format!("[{{log: x}}, {{do: {{operation: ask}}}}, {{{CALL}}}]");
    let before = format!("[{{{CALL}}}, {{do: {{operation: ask}}}}, {{log: y}}]");
    let more = format!("[{{log: x}}, {{{CALL}}}, {{do: {{operation: ask}}}}, {{log: y}}]");
    let other_name = "[{log: x}, {do: {operation: other}}, {log: y}]";
    let cases: [(&str, Scenario, Option<usize>); 10] = [
        ("the same", workflow(actions, &of_version(1, ASKS)), None),
        (
            "other texts and parameters",
            workflow("[{log: z}, {do: {operation: ask, params: {n: 1}}}, {log: y}]", &of_version(1, ASKS)),
            None,
        ),
        ("other actions behind it", workflow(&behind, &of_version(1, ASKS)), None),
        ("another version of the same actions", workflow(actions, &of_version(2, ASKS)), Some(2)),
        ("a version that goes on otherwise", workflow(actions, &of_version(2, LONGER)), Some(2)),
        ("a version that began otherwise", workflow(actions, &of_version(2, LATER)), Some(3)),
        ("another operation", workflow(other_name, &[Version("other", 1, ASKS)]), Some(2)),
        ("another action before it", workflow(&before, &of_version(1, ASKS)), Some(1)),
        ("one more action before it", workflow(&more, &of_version(1, ASKS)), Some(2)),
        ("no operation", workflow(&format!("[{{log: x}}, {{{CALL}}}, {{log: y}}]"), &[]), Some(2)),
    ];
    for (what, new, stays) in &cases {
        assert_eq!(stays_for(&old, new, &standing(WAIT, &[ENTRY])), *stays, "{what}");
    }
}

#[test]
fn scn_13_scn_19_outside_of_an_operation_its_version_hinders_nobody() {
    let actions = "[{log: x}, {do: {operation: ask}}, {log: y}]";
    let old = workflow(actions, &of_version(1, ASKS));
    let second = workflow(actions, &of_version(2, ASKS));
    let longer = workflow(actions, &of_version(2, LONGER));
    for (action, new, stays) in
        [(ENTRY, &second, None), (BEHIND, &second, None), (ENTRY, &longer, None), (BEHIND, &longer, Some(7))]
    {
        assert_eq!(stays_for(&old, new, &standing(action, &[])), stays, "before action {action}");
    }
}

#[test]
fn scn_13_scn_19_each_operation_around_the_order_is_held_against_the_new_version() {
    let around = "[{log: x}, {do: {operation: outer}}, {log: y}]";
    let outer = "[{log: o}, {do: {operation: ask}}]";
    let versions = |outer_version, version| {
        workflow(around, &[Version("ask", version, ASKS), Version("outer", outer_version, outer)])
    };
    let old = versions(1, 1);
    // The entries are the second action and the fourth: between them stands `log`.
    let order = standing(5, &[1, 3]);
    for (outer, inner, stays) in [(1, 1, None), (2, 1, Some(2)), (1, 2, Some(4)), (2, 2, Some(2))] {
        assert_eq!(stays_for(&old, &versions(outer, inner), &order), stays, "{outer} {inner}");
    }
    let order = standing(2, &[1]);
    assert_eq!(stays_for(&old, &versions(1, 2), &order), None, "the inner one has not begun");
}
