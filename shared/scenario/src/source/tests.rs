//! Tests of reading: texts in, models and faults out. Faults are compared as people see them.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test may panic")]

mod actions;
mod each;
mod editor;
mod every;
mod hostile;
mod inside;
mod places;
mod whole;
mod xml;

use pagurus_domain::document::Fault;

use crate::script::{Limits, Scripting};
use crate::source::read;
use crate::{Bounds, Scenario};

pub(crate) fn outcome(text: &str) -> Result<Scenario, Vec<Fault>> {
    let outcome = read(text, &Scripting::new(Limits::default()), &Bounds::default());
    if outcome.is_ok() {
        assert!(editor::takes(text), "the schema for editors refuses what the reader takes:\n{text}");
    }
    outcome
}

/// The faults of a text, each as `line:column: message; hint`.
pub(crate) fn faults(text: &str) -> Vec<String> {
    match outcome(text) {
        Ok(_) => Vec::new(),
        Err(faults) => faults.iter().map(ToString::to_string).collect(),
    }
}

/// A scenario with one state of actions in which every event has its transition.
///
/// The actions begin in line 6, column 5; after them comes one that may fail.
pub(crate) fn with_actions(actions: &str) -> String {
    let indented: String = actions.lines().map(|line| format!("    {line}\n")).collect();
    format!(
        "scenario: s\ninitialState: a\nstates:\n  a:\n    actions:\n{indented}    \
         - script: vars.z = 1;\n    on: {{success: done, fail: done}}\n  \
         done: {{kind: terminal}}\n"
    )
}

/// Reads a table of bad texts and the one fault that each must bring.
pub(crate) fn check_table(cases: &[(&str, &str)]) {
    let mut wrong = String::new();
    for (text, expected) in cases {
        let found = faults(text);
        if found.first().is_some_and(|fault| !editor::may_take(fault)) && editor::takes(text) {
            wrong.push_str(&format!(
                "{text}\nthe schema for editors takes it, the reader says {}\n\n",
                found[0]
            ));
        }
        let begins = found.first().is_some_and(|fault| fault.starts_with(expected));
        if !begins || found.len() != 1 {
            wrong.push_str(&format!("{text}\nexpected: {expected}\nfound: {found:#?}\n\n"));
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
}

/// Like [`check_table`], for actions inside of [`with_actions`].
fn check_actions(cases: &[(&str, &str)]) {
    let texts: Vec<String> = cases.iter().map(|(actions, _)| with_actions(actions)).collect();
    let expected = cases.iter().map(|(_, expected)| *expected);
    let table: Vec<(&str, &str)> = texts.iter().map(String::as_str).zip(expected).collect();
    check_table(&table);
}

#[test]
fn rec_13_attributes_are_names_for_parameters_that_are_not_masked() {
    let with = |search: &str| {
        let text = format!(
            "scenario: s\nmask: [params.card]\nsearch: {search}\ninitialState: done\nstates:\n  done: {{kind: terminal}}\n"
        );
        read(&text, &Scripting::new(Limits::default()), &Bounds::default())
    };
    let scenario = with("{customer: params.customer.id, sku: params.lines.sku}").unwrap();
    let found: Vec<(&str, &str)> =
        scenario.search.iter().map(|attribute| (&*attribute.name, &*attribute.path)).collect();
    assert_eq!(found, [("customer", "customer.id"), ("sku", "lines.sku")]);
    let many: Vec<String> = (0..11).map(|n| format!("a{n}: params.a")).collect();
    let many = format!("{{{}}}", many.join(", "));
    for (bad, text) in [
        ("[a]", "must be a mapping of names to paths"),
        ("{a: customer.id}", "is not a path of a parameter"),
        ("{a: params.}", "is not a path of a parameter"),
        ("{'a b': params.a}", "not a name for an attribute"),
        ("{a: params.card.number}", "is masked, so no order can be found by it"),
        (many.as_str(), "a scenario has 10 attributes at most"),
    ] {
        let faults = with(bad).unwrap_err();
        assert!(faults.iter().any(|fault| fault.message.contains(text)), "{bad}: {faults:?}");
    }
}
