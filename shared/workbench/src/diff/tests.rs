//! Differences that people look for, and orders that can or cannot be moved.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

use pagurus_domain::order::Status;
use pagurus_scenario::migration::move_to;
use pagurus_scenario::script::Scripting;
use pagurus_scenario::stage::Snapshot;
use pagurus_scenario::{Bounds, Scenario, source};

use super::*;

const OLD: &str = r#"
scenario: s
params: {type: object, required: [a]}
initialState: ask
states:
  ask:
    actions:
      - log: begins
      - http: {url: "http://h/one", request: r}
      - wait: {timeout: 1m}
    on: {wait: asked, fail: failed}
  asked: {kind: waiting, on: {callback: rest, timeout: failed}}
  rest: {actions: [{sleep: {for: 1d}}], on: {sleep: resting}}
  resting: {kind: sleeping, on: {timeout: done}}
  done: {kind: terminal}
  failed: {kind: terminal, outcome: fail}
"#;

fn lines(from: &str, to: &str) -> Vec<String> {
    let difference = diff(from, to).unwrap();
    let whole = difference.whole.iter().map(ToString::to_string);
    let states = difference.changed.iter().flat_map(|state| {
        state.changes.iter().map(|change| format!("{}: {change}", state.state)).collect::<Vec<_>>()
    });
    whole.chain(states).collect()
}

#[test]
fn scn_13_layout_and_comments_are_no_difference() {
    let other = OLD
        .replace("scenario: s", "# said\nscenario: 's'")
        .replace("type: object, required: [a]", "required: [a], type: object");
    assert!(diff(OLD, &other).unwrap().is_empty());
}

#[test]
fn scn_13_states_transitions_actions_and_schema_are_reported_separately() {
    let new = OLD
        .replace("required: [a]", "required: [a, b]")
        .replace("http://h/one", "http://h/two")
        .replace("      - log: begins\n", "")
        .replace("timeout: failed}}", "timeout: gone}}")
        .replace("  rest: ", "  gone: {kind: terminal}\n  pause: ")
        .replace("callback: rest", "callback: pause");
    let difference = diff(OLD, &new).unwrap();
    assert_eq!((difference.added.len(), difference.removed.as_slice()), (2, ["rest".to_owned()].as_slice()));
    assert_eq!(
        lines(OLD, &new),
        [
            "params.required[1]: \"b\" is new",
            "ask: actions[0] before: {\"log\":\"begins\"} is gone",
            "ask: actions[0].http.url: \"http://h/one\" -> \"http://h/two\"",
            "asked: on.callback: \"rest\" -> \"pause\"",
            "asked: on.timeout: \"failed\" -> \"gone\"",
        ]
    );
    assert_eq!(diff("a: [", OLD).unwrap_err().0, 1);
    assert_eq!(diff(OLD, "a: [").unwrap_err().0, 2);
}

fn scenario(text: &str) -> Scenario {
    let scripting = Scripting::new(Bounds::default().script);
    source::read(text, &scripting, &Bounds::default()).unwrap_or_else(|faults| panic!("{faults:#?}"))
}

fn moved(new: &str, status: Status, state: Option<&str>, action: usize) -> Result<(), String> {
    let begun = |state| Snapshot::entering(state, serde_json::Map::new());
    let mut order = state.map_or_else(Snapshot::default, begun);
    order.main.action = action;
    move_to(&scenario(OLD), &scenario(new), status, &order).map_err(|hindrance| hindrance.to_string())
}

#[test]
fn scn_13_an_order_moves_where_its_state_is_the_same_in_both() {
    let renamed = OLD.replace("resting", "pausing").replace("asked", "answered");
    assert_eq!(moved(&renamed, Status::New, None, 0), Ok(()));
    assert_eq!(moved(&renamed, Status::Retry, Some("ask"), 1), Ok(()));
    assert!(moved(&renamed, Status::Sleep, Some("resting"), 0).unwrap_err().contains("no state `resting`"));
    assert!(moved(&renamed, Status::Wait, Some("asked"), 0).unwrap_err().contains("no state `asked`"));
    assert_eq!(moved(OLD, Status::Sleep, Some("resting"), 0), Ok(()));
    for status in [Status::Running, Status::Success, Status::Fail, Status::Interrupted, Status::Canceled] {
        assert!(moved(OLD, status, Some("resting"), 0).unwrap_err().contains("does not rest"), "{status}");
    }
}

#[test]
fn scn_13_an_order_stays_where_its_state_means_something_else() {
    let other = OLD
        .replace(
            "  rest: {actions: [{sleep: {for: 1d}}], on: {sleep: resting}}\n",
            "  rest: {actions: [log: x], on: {success: resting}}\n",
        )
        .replace(
            "resting: {kind: sleeping, on: {timeout: done}}",
            "resting: {actions: [log: x], on: {success: done}}",
        );
    let error = moved(&other, Status::Sleep, Some("resting"), 0).unwrap_err();
    assert!(error.contains("sleeping in the old version and plain in the new one"), "{error}");
    let shorter = OLD.replace("      - log: begins\n", "");
    let error = moved(&shorter, Status::Retry, Some("ask"), 1).unwrap_err();
    assert!(error.contains("before action 1 of state `ask`"), "{error}");
    assert_eq!(moved(&shorter, Status::Retry, Some("ask"), 0), Ok(()));
}
