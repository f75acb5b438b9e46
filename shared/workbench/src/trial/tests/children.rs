//! Children that the engine would refuse, and the queue of the order that starts them.

use super::*;

fn played(actions: &str, order: &str, expect: &str) -> Vec<String> {
    let text = format!(
        "scenario: s\ninitialState: a\nstates:\n  a: {{actions: [{actions}], on: {{success: done, fail: failed}}}}\n  \
         done: {{kind: terminal}}\n  failed: {{kind: terminal, outcome: fail}}\n"
    );
    let tests = format!(
        "tests:\n  - test: t\n    order: {order}\n    answers: [{{order: kid, status: success}}]\n    expect: {expect}\n"
    );
    faults(&text, &tests)
}

const CHILD: &str = "{order: {scenario: kid, mode: sequential, queue: '${order.queue}', wait: true}}";

#[test]
fn ord_13_14_a_child_that_would_wait_for_the_order_that_awaits_it_is_refused_offline_too() {
    let refused = "{status: fail, error: order.refused, duration: 0s}";
    let after = |order: &str| {
        format!(
            "{{order: {{scenario: kid, lifecycle: {{after: [{{order: '{order}', states: [done]}}]}}, wait: true}}}}"
        )
    };
    for (actions, order, expect) in [
        (CHILD.to_owned(), "{queue: q}", refused),
        (format!("release, {CHILD}"), "{queue: q}", "{status: success}"),
        (CHILD.replace("${order.queue}", "other"), "{queue: q}", "{status: success}"),
        (CHILD.replace("${order.queue}", "q"), "{}", "{status: success}"),
        (CHILD.replace(", wait: true", ""), "{queue: q}", "{status: success}"),
        (after("${order.id}"), "{id: mine}", refused),
        (after("other"), "{id: mine}", "{status: success}"),
    ] {
        assert_eq!(played(&actions, order, expect), Vec::<String>::new(), "{actions} {order}");
    }
}

#[test]
fn ord_13_scn_13_a_released_queue_stays_released_until_the_order_has_slept() {
    let text = "scenario: s
initialState: a
states:
  a: {actions: [{script: 'vars.held = []'}, release, {http: {url: 'http://h/a', request: r}}, {wait: {timeout: 1m}}], on: {wait: w, fail: failed}}
  w: {kind: waiting, on: {timeout: b, callback: failed}}
  b: {actions: [{script: 'vars.held += order.queue + order.holdsQueue'}, {sleep: {for: 1h}}], on: {sleep: z, fail: failed}}
  z: {kind: sleeping, on: {timeout: c}}
  c: {actions: [{script: 'vars.held += order.queue + order.holdsQueue'}], on: {success: done, fail: failed}}
  done: {kind: terminal}
  failed: {kind: terminal, outcome: fail}
";
    let tests = "tests: [{test: t, order: {queue: q}, answers: [{http: GET http://h/a, status: 200}], expect: {status: success, vars: {held: [qfalse, qtrue]}}}]";
    assert_eq!(faults(text, tests), Vec::<String>::new());
}
