//! Pictures: everything of the workflow is in them, nothing of it breaks them.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

use pagurus_scenario::script::Scripting;
use pagurus_scenario::{Bounds, Library, LibraryEntry, OperationUse, source};

use super::layout::layout;
use super::*;

const SCENARIO: &str = r#"
scenario: s
initialState: ask
targetStates: [done]
states:
  ask:
    entryPoint: true
    actions: [{http: {url: "http://h", request: r}}, {wait: {timeout: 1m}}]
    on: {wait: waits, fail: failed}
  waits: {kind: waiting, on: {callback: again, timeout: failed}}
  again:
    actions: [{script: 'if order.attempt > 3 { success() }'}, {sleep: {for: 1m}}]
    on: {success: ask, sleep: sleeps, fail: failed}
  sleeps: {kind: sleeping, on: {timeout: loop}}
  loop: {actions: [{script: 'if order.attempt > 9 { fail() }'}], on: {success: done, fail: loop}}
  done: {kind: terminal}
  failed: {kind: terminal, outcome: fail}
"#;

/// Reads a scenario with strange names: the reader lets none pass, but a picture does not rely on it.
fn scenario(text: &str) -> Scenario {
    let scripting = Scripting::new(Bounds::default().script);
    let read = source::read(text, &scripting, &Bounds::default());
    let mut read = read.unwrap_or_else(|faults| panic!("{}", source::explain_faults(text, "s", &faults)));
    read.states[0].name = "a<&\"b".to_owned();
    read
}

#[test]
fn scn_16_events_of_scripts_are_drawn_by_their_names() {
    let text = "scenario: s\ninitialState: a\nstates:\n  a: {actions: [{script: 'event(\"far-off\")'}], \
                on: {success: done, fail: done, far-off: b}}\n  b: {on: {success: done}}\n  done: {kind: terminal}\n";
    let drawn = mermaid(&scenario(text));
    assert!(drawn.contains("s0 --> s1 : far-off") && drawn.contains("s0 --> s2 : success, fail"), "{drawn}");
}

#[test]
fn scn_13_a_mermaid_diagram_names_every_state_and_way() {
    let text = mermaid(&scenario(SCENARIO));
    assert_eq!(
        text,
        "stateDiagram-v2\n    \
         state \"a#60;#38;#34;b\" as s0\n    \
         state \"waits (waiting)\" as s1\n    \
         state \"again\" as s2\n    \
         state \"sleeps (sleeping)\" as s3\n    \
         state \"loop\" as s4\n    \
         state \"done (terminal)\" as s5\n    \
         state \"failed (terminal)\" as s6\n    \
         [*] --> s0\n    \
         s0 --> s1 : wait\n    \
         s0 --> s6 : fail\n    \
         s1 --> s2 : callback\n    \
         s1 --> s6 : timeout\n    \
         s2 --> s0 : success\n    \
         s2 --> s3 : sleep\n    \
         s2 --> s6 : fail\n    \
         s3 --> s4 : timeout\n    \
         s4 --> s5 : success\n    \
         s4 --> s4 : fail\n    \
         s5 --> [*]\n    \
         s6 --> [*]\n    \
         classDef target fill:#d7f0dd,stroke:#1a7f37,color:#0b3d1b\n    \
         class s5 target\n    \
         classDef fail fill:#fbdcdc,stroke:#b42318,color:#5a120c\n    \
         class s6 fail\n"
    );
}

#[test]
fn scn_13_a_picture_shows_every_state_and_way_and_obeys_no_text() {
    let read = scenario(SCENARIO);
    let picture = svg(&read);
    assert_eq!(picture, svg(&scenario(SCENARIO)), "the same scenario, the same picture");
    assert!(picture.contains("a&lt;&amp;&quot;b") && !picture.contains("a<&"), "{picture}");
    assert_eq!(picture.matches("class=\"name\"").count(), read.states.len());
    assert_eq!(picture.matches("class=\"label\"").count(), ways(&read).len());
    for part in ["state target", "state fail", "state rest", "class=\"entry\"", "way back", "dark"] {
        assert!(picture.contains(part), "{part}");
    }
    for bad in ["<script", "href", "NaN", "inf"] {
        assert!(!picture.contains(bad), "{bad}: {picture}");
    }
}

#[test]
fn scn_19_an_operation_is_one_word_of_its_state_and_is_named_for_pages() {
    let charge =
        "scenario: charge\nkind: operation\nactions: [{http: {url: \"http://h\"}}, {log: charged}]\n";
    let stored = LibraryEntry { name: "charge".into(), version: Some(3), file: None, text: charge.into() };
    let library = Library::pinned(
        9,
        [(4, stored)],
        [(OperationUse { user: 9, name: "charge".into(), wanted: None }, 4)],
    );
    let text = "scenario: s\ninitialState: a\nstates:\n  a: {actions: [{log: x}, {do: {operation: charge}}], on: {success: done, fail: done}}\n  \
                done: {kind: terminal}\n";
    let scripting = Scripting::new(Bounds::default().script);
    let picture = svg(&source::read_with(text, &library, &scripting, &Bounds::default()).unwrap());
    assert!(picture.contains("<g data-state=\"a\" data-operations=\"charge@3\"><title>a: plain state; runs charge version 3</title>"), "{picture}");
    let line = "log · <tspan class=\"operation\" data-operation=\"charge@3\">do charge</tspan></text>";
    assert!(picture.contains(line), "{picture}");
    assert_eq!(picture.matches("data-operations").count(), 1, "{picture}");
}

#[test]
fn scn_13_states_never_cover_one_another() {
    // Any graph: a small generator instead of chance.
    for seed in 1..200_usize {
        let states = 2 + seed % 12;
        let ways: Vec<(usize, usize)> =
            (0..states * 2).map(|at| (at / 2, (seed * 7 + at * at * 3 + at) % states)).collect();
        let mut ways = ways;
        ways.extend((1..states).map(|at| (at - 1, at)));
        ways.sort_unstable();
        ways.dedup();
        let widths: Vec<f64> = (0..states).map(|at| 90.0 + (at * 37 % 80) as f64).collect();
        let layout = layout(&widths, 46.0, &ways, 0);
        for (at, one) in layout.places.iter().enumerate() {
            assert!(one.x - one.width / 2.0 >= -0.01 && one.x + one.width / 2.0 <= layout.width + 0.01);
            for other in &layout.places[at + 1..] {
                let beside = (one.x - other.x).abs() >= f64::midpoint(one.width, other.width);
                assert!(beside || (one.y - other.y).abs() >= 46.0, "{seed}: {one:?} {other:?}");
            }
        }
        for ((from, to), line) in ways.iter().zip(&layout.lines) {
            assert_eq!(line.is_empty(), from == to, "{seed}");
        }
    }
}
