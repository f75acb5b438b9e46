//! Tests of the rules of the state machine, one bad example for each.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test may panic")]

use crate::source::tests::{check_table, faults, outcome};

mod functions;

/// Begins every table entry; the states follow from line 4 on.
const HEAD: &str = "scenario: s\ninitialState: a\nstates:\n";

fn check(cases: &[(&str, &str)]) {
    for (states, expected) in cases {
        check_table(&[(&format!("{HEAD}{states}"), expected)]);
    }
}

const PLAIN: &str = "  a: {on: {success: d}}\n  d: {kind: terminal}\n";

#[test]
fn scn_1_the_least_scenario_is_sound() {
    assert_eq!(faults(&format!("{HEAD}{PLAIN}")), Vec::<String>::new());
}

#[test]
fn scn_1_names_of_states_must_exist() {
    let initial = format!("scenario: s\ninitialState: b\nstates:\n{PLAIN}");
    check_table(&[(&initial, "2:15: there is no state `b`; did you mean `a`?")]);
    check(&[
        (
            "  a: {on: {success: dnoe}}\n  done: {kind: terminal}\n",
            "4:21: there is no state `dnoe`; did you mean `done`?",
        ),
        (
            "  a: {on: {success: elsewhere}}\n  done: {kind: terminal}\n",
            "4:21: there is no state `elsewhere`; there are: a, done",
        ),
        ("  a: {on: {success: [d]}}\n  d: {kind: terminal}\n", "4:21: `success` must be a text"),
    ]);
    check_table(&[(
        &format!("targetStates: [e]\n{HEAD}{PLAIN}"),
        "1:16: there is no state `e`; did you mean `a`?",
    )]);
}

#[test]
fn scn_1_names_and_kinds_have_their_form() {
    check(&[
        ("  a: {on: {success: d e}}\n  d e: {kind: terminal}\n", "5:3: `d e` is not a name for a state"),
        ("  a: {on: {success: '1'}}\n  1: {kind: terminal}\n", "5:3: `1` is not a name for a state"),
        (
            "  a: {on: {success: d}}\n  d: {kind: termnal}\n",
            "5:13: there is no kind of state `termnal`; did you mean `terminal`?",
        ),
        (
            "  a: {on: {success: d}}\n  d: {kind: terminal, outcome: failed}\n",
            "5:32: there is no outcome `failed`; did you mean `fail`?",
        ),
        (
            "  a: {entryPoint: yes, on: {success: d}}\n  d: {kind: terminal}\n",
            "4:19: `entryPoint` must be `true` or `false`, not a text",
        ),
        (
            "  a: {actions: release, on: {success: d}}\n  d: {kind: terminal}\n",
            "4:16: `actions` must be a list of actions, not a text; start each action with `- `",
        ),
        ("  a: {on: d}\n  d: {kind: terminal}\n", "4:11: `on` must be a mapping of events to states"),
        ("  a: {om: {success: d}}\n  d: {kind: terminal}\n", "4:7: unknown key `om`; did you mean `on`?"),
    ]);
}

#[test]
fn scn_8_polling_states_are_checked() {
    let ends = "  d: {kind: terminal}\n";
    let polls = "actions: [{script: 'poll()'}]";
    check(&[
        (
            &format!("  a: {{kind: polling, {polls}, on: {{success: d, fail: d, timeout: d}}}}\n{ends}"),
            "4:3: a polling state does not say how often it polls; add `poll: {delay: 5s",
        ),
        (
            &format!("  a: {{poll: {{interval: 1s, timeout: 1m}}, on: {{success: d}}}}\n{ends}"),
            "4:7: a plain state does not poll; add `kind: polling`, or remove `poll`",
        ),
        (
            &format!(
                "  a: {{kind: polling, poll: {{interval: 1s, timeout: 1m}}, on: {{success: d, timeout: d}}}}\n{ends}"
            ),
            "4:3: `a` never polls again; call `poll()`",
        ),
        (
            &format!(
                "  a: {{kind: polling, poll: {{interval: 1s}}, {polls}, on: {{success: d, fail: d, timeout: d}}}}\n{ends}"
            ),
            "4:28: `timeout` is missing; write `timeout: 1h`",
        ),
        (
            &format!(
                "  a: {{kind: polling, poll: {{interval: 1s, timeout: 1m}}, {polls}, on: {{success: d, fail: d}}}}\n{ends}"
            ),
            "4:88: `a` has no transition for `timeout`: the time of the polling may be over",
        ),
        (
            &format!(
                "  a: {{kind: polling, poll: {{interval: 1s, timeout: 1m}}, {polls}, on: {{success: d, fail: d, timeout: d, poll: a}}}}\n{ends}"
            ),
            "4:126: `poll` is not a transition: the order stays in the state and tries again",
        ),
        (
            &format!("  a: {{{polls}, on: {{success: d, fail: d}}}}\n{ends}"),
            "4:17: `poll()` is called in a state that does not poll",
        ),
        (
            &format!(
                "  a: {{kind: polling, poll: {{interval: 1s, timeout: 1m}}, actions: [{{script: 'poll()'}}, {{sleep: {{for: 1m}}}}], on: {{fail: d, timeout: d, sleep: z}}}}\n  z: {{kind: sleeping, on: {{timeout: d}}}}\n{ends}"
            ),
            "4:87: a polling state makes only calls that are answered at once; move the action that suspends",
        ),
    ]);
}

#[test]
fn scn_9_calls_are_checked() {
    let ends = "  d: {kind: terminal}\n";
    let sleep = "  a: {actions: [{sleep: {for: 1m}}], on: {sleep: z}}\n";
    check(&[
        (&format!("  a: {{on: {{success: d, 'call:1': d}}}}\n{ends}"), "4:24: `1` is not a name for a call"),
        (&format!("  a: {{on: {{success: d, 'call:x': e}}}}\n{ends}"), "4:34: there is no state `e`"),
        (
            &format!("{sleep}  z: {{kind: sleeping, on: {{timeout: d, 'call:x': z}}}}\n{ends}"),
            "5:50: `call:x` must not lead to `z`, which is sleeping",
        ),
        (
            &format!("  a: {{retryFailedOnly: true, on: {{success: d}}}}\n{ends}"),
            "4:7: `a` has no requests that could be sent again",
        ),
    ]);
    let call = |actions: &str| {
        format!(
            "scenario: s\ncalls: {{x: {{actions: [{actions}]}}}}\ninitialState: d\nstates: {{d: {{kind: terminal}}}}\n"
        )
    };
    check_table(&[
        (&call("{sleep: {for: 1m}}"), "2:23: a call must not suspend the order; use a transition to a state"),
        (&call("{amqp: {exchange: e, key: k, request: r}}"), "2:23: a call must not suspend the order"),
        (&call("{script: 'poll()'}"), "2:23: `poll()` is called in a call, which does not poll"),
    ]);
}

#[test]
fn scn_10_operations_are_checked() {
    let operation = |actions: &str| format!("scenario: s\nkind: operation\nactions: {actions}\n");
    check_table(&[
        (&operation("[]"), "3:10: an operation without actions does nothing"),
        (&operation("[{savepoint: 'a b'}]"), "3:23: `a b` is not a name for a savepoint"),
        (&operation("[{savepoint: done}]"), "3:23: `done` is a step of every operation"),
        (&operation("[{log: a}, {savepoint: x}, {savepoint: x}]"), "3:49: the savepoint `x` is given twice"),
        (
            &operation("[{choose: [{when: 'params.a', actions: [{sleep: {for: 1m}}]}]}]"),
            "3:50: an operation may suspend between its actions, not inside a `choose`",
        ),
        ("scenario: s\nkind: operation\n", "1:1: `actions` is missing"),
    ]);
    assert_eq!(
        faults(&operation("[{log: a}, {savepoint: x}, {sleep: {for: 1m}}, {log: b}]")),
        Vec::<String>::new()
    );
}

#[test]
fn scn_1_states_are_bounded_in_number() {
    let states = |count: usize| {
        let plain = (1..count).map(|n| format!("  s{n}: {{on: {{success: s{}}}}}\n", n + 1));
        let plain: String = plain.collect();
        format!("scenario: s\ninitialState: s1\nstates:\n{plain}  s{count}: {{kind: terminal}}\n")
    };
    assert_eq!(faults(&states(30)), Vec::<String>::new());
    check_table(&[(
        &states(31),
        "4:3: the scenario has 31 states, 30 are allowed; split it, or raise `scenario.max_states`",
    )]);
}

#[test]
fn scn_1_every_kind_of_state_has_its_own_keys() {
    let waiting =
        "  a: {actions: [{amqp: {exchange: e, key: k, request: r}}, wait], on: {wait: w, fail: d}}\n";
    let sleeping = "  a: {actions: [{sleep: {for: 1m}}], on: {sleep: z}}\n  d: {kind: terminal}\n";
    check(&[
        (
            &format!(
                "{waiting}  w: {{kind: waiting, actions: [], on: {{callback: d, timeout: d}}}}\n  d: {{kind: terminal}}\n"
            ),
            "5:22: a waiting state cannot have actions; move them to a plain state",
        ),
        (
            &format!("{sleeping}  z: {{kind: sleeping, actions: [release], on: {{timeout: d}}}}\n"),
            "6:23: a sleeping state cannot have actions",
        ),
        (
            "  a: {on: {success: d}}\n  d: {kind: terminal, actions: [release]}\n",
            "5:23: a terminal state cannot have actions",
        ),
        (
            "  a: {on: {success: d}}\n  d: {kind: terminal, on: {success: a}}\n",
            "5:23: a terminal state cannot have transitions; remove `on`, or `kind: terminal`",
        ),
        (
            "  a: {outcome: fail, on: {success: d}}\n  d: {kind: terminal}\n",
            "4:7: a plain state cannot have an outcome; write `outcome` in the terminal state",
        ),
        (
            &format!("{sleeping}  z: {{kind: sleeping, entryPoint: true, on: {{timeout: d}}}}\n"),
            "6:23: a sleeping state cannot be an entry point",
        ),
    ]);
}

#[test]
fn scn_1_every_event_that_can_arise_needs_its_transition() {
    let end = "  d: {kind: terminal}\n";
    let cases = [
        (
            "[release]}",
            "4:3: `a` has no transition for `success`: its actions may all go through; add `on: {",
        ),
        (
            "[{http: {url: 'http://h'}}], on: {success: d}}",
            "4:45: `a` has no transition for `fail`: its `http` may fail; add `fail: STATE` here",
        ),
        (
            "[{amqp: {exchange: e, key: k}}], on: {success: d}}",
            "4:49: `a` has no transition for `fail`: its `amqp` may fail",
        ),
        (
            "[{script: vars.a = 1;}], on: {success: d}}",
            "4:41: `a` has no transition for `fail`: its `script` may fail",
        ),
        (
            "[{log: '${params.a}'}], on: {success: d}}",
            "4:40: `a` has no transition for `fail`: its `log` may fail",
        ),
        (
            "[{sleep: {for: '${params.a}'}}], on: {sleep: z}}\n  z: {kind: sleeping, on: {timeout: d}}",
            "4:49: `a` has no transition for `fail`: its `sleep` may fail",
        ),
    ];
    for (actions, expected) in cases {
        // A state without any transition leaves the terminal state unreached as well.
        let text = format!("{HEAD}  a: {{actions: {actions}\n{end}");
        let found = faults(&text);
        assert!(found[0].starts_with(expected), "{text}\n  expected: {expected}\n{found:#?}");
    }
    let waiting =
        "  a: {actions: [{amqp: {exchange: e, key: k, request: r}}, wait], on: {wait: w, fail: d}}\n";
    check(&[(
        &format!("{waiting}  w: {{kind: waiting, on: {{callback: d}}}}\n{end}"),
        "5:22: `w` has no transition for `timeout`: the callbacks may not come in time",
    )]);
    let early = "  a: {actions: [{amqp: {exchange: e, key: k, request: r}}, {script: 'if params.a { success() }'}, wait], on: {wait: w, fail: d}}\n  w: {kind: waiting, on: {callback: d, timeout: d}}\n  d: {kind: terminal}\n";
    let found = faults(&format!("{HEAD}{early}"));
    assert!(found[0].contains("`a` has no transition for `success`: its script calls"), "{found:?}");
    let sounds = early.replace("success()", "let b = \"success()\"; /* success() */");
    assert_eq!(faults(&format!("{HEAD}{sounds}")), Vec::<String>::new());
}

#[test]
fn scn_1_no_transition_waits_for_an_event_that_cannot_arise() {
    let sleeping = "  a: {actions: [{sleep: {for: 1m}}], on: {sleep: z}}\n  d: {kind: terminal}\n";
    check(&[
        (
            "  a: {on: {success: d, fail: d}}\n  d: {kind: terminal}\n",
            "4:24: the event `fail` cannot arise in `a`; remove it: none of the actions can fail",
        ),
        (
            "  a: {on: {success: d, timeout: d}}\n  d: {kind: terminal}\n",
            "4:24: the event `timeout` cannot arise in `a`; remove it",
        ),
        (
            &format!(
                "{}  z: {{kind: sleeping, on: {{timeout: d}}}}\n",
                sleeping.replace("sleep: z}", "sleep: z, success: d}")
            ),
            "4:53: the event `success` cannot arise in `a`; remove it: the actions always end",
        ),
        (
            &format!("{sleeping}  z: {{kind: sleeping, on: {{timeout: d, callback: d}}}}\n"),
            "6:40: the event `callback` cannot arise in `z`; a sleeping state has only the event `timeout`",
        ),
    ]);
}

#[test]
fn scn_1_misspelt_events_name_the_nearest() {
    check(&[(
        "  a: {on: {succes: d}}\n  d: {kind: terminal}\n",
        "4:12: there is no event `succes`; did you mean `success`?",
    )]);
}

#[test]
fn scn_1_actions_after_the_end_of_the_stage_never_run() {
    check(&[(
        "  a: {actions: [{sleep: {for: 1m}}, release], on: {sleep: z}}\n  z: {kind: sleeping, on: {timeout: d}}\n  d: {kind: terminal}\n",
        "4:37: this action never runs: the `sleep` before it ends the stage; move it before",
    )]);
}

#[test]
fn scn_1_states_of_rest_are_entered_by_their_event_only() {
    let sleeping = "  z: {kind: sleeping, on: {timeout: d}}\n  d: {kind: terminal}\n";
    check(&[
        (
            &format!("  a: {{on: {{success: z}}}}\n{sleeping}"),
            "4:21: `success` must not lead to `z`, which is sleeping; use a plain state with the action `sleep`",
        ),
        (
            &format!("  a: {{actions: [{{sleep: {{for: 1m}}}}], on: {{sleep: d}}}}\n{sleeping}")
                .replace("  z: {kind: sleeping, on: {timeout: d}}\n", ""),
            "4:50: `sleep` leads to a sleeping state, but `d` is terminal; name a sleeping state",
        ),
    ]);
    check_table(&[(
        "scenario: s\ninitialState: z\nstates:\n  z: {kind: sleeping, on: {timeout: d}}\n  d: {kind: terminal}\n",
        "2:15: the initial state `z` is sleeping; start with a plain state",
    )]);
}

#[test]
fn scn_1_every_state_is_reached_and_can_end() {
    check(&[
        (
            "  a: {on: {success: d}}\n  b: {on: {success: d}}\n  d: {kind: terminal}\n",
            "5:3: `b` cannot be reached from the initial state; add a transition to it",
        ),
        ("  a: {on: {success: a}}\n", "4:3: there is no terminal state; add `done: {kind: terminal}`"),
    ]);
    let circle = "  a: {actions: [{log: '${params.a}'}], on: {success: b, fail: d}}\n  b: {on: {success: c}}\n  c: {on: {success: b}}\n  d: {kind: terminal}\n";
    let found = faults(&format!("{HEAD}{circle}"));
    assert_eq!(found.len(), 2, "{found:#?}");
    assert!(found[0].starts_with("5:3: no terminal state can be reached from `b`"), "{found:#?}");
    assert!(found[1].starts_with("6:3: no terminal state can be reached from `c`"), "{found:#?}");
    // A name that means nothing hides no circle that it has no part in, and is blamed for none.
    let found = faults(&format!("{HEAD}{}", circle.replace("fail: d", "fail: elsewhere")));
    assert_eq!(found.len(), 3, "{found:#?}");
    assert!(found.iter().any(|fault| fault.contains("there is no state `elsewhere`")), "{found:#?}");
}

#[test]
fn scn_2_targets_are_terminal() {
    let with_targets = |targets: &str| format!("targetStates: {targets}\n{HEAD}{PLAIN}");
    check_table(&[
        (&with_targets("[a]"), "1:16: the target state `a` is plain; name terminal states only"),
        (&with_targets("[d, d]"), "1:19: the target state `d` is given twice"),
        (&with_targets("[5]"), "1:16: `targetStates` must be a text, not a whole number"),
    ]);
}

#[test]
fn scn_7_a_wait_has_something_to_wait_for_and_names_do_not_clash() {
    let waiting = "  w: {kind: waiting, on: {callback: d, timeout: d}}\n  d: {kind: terminal}\n";
    let amqp = "{amqp: {exchange: e, key: k, request: r}}";
    check(&[
        (
            &format!("  a: {{actions: [wait], on: {{wait: w}}}}\n{waiting}"),
            "4:17: there is nothing to wait for: no action registers a request; add `request: NAME`",
        ),
        (
            &format!("  a: {{actions: [{amqp}, {amqp}, wait], on: {{wait: w, fail: d}}}}\n{waiting}"),
            "4:98: the request `r` is registered twice before one wait; give it another name than the one in line 4",
        ),
        (
            &format!(
                "  a: {{actions: [{amqp}], on: {{success: b, fail: d}}}}\n  b: {{actions: [{amqp}, wait], on: {{wait: w, fail: d}}}}\n{waiting}"
            ),
            "5:55: the request `r` is registered twice before one wait",
        ),
    ]);
    let earlier = format!(
        "{HEAD}  a: {{actions: [{amqp}], on: {{success: b, fail: d}}}}\n  b: {{actions: [wait], on: {{wait: w}}}}\n{waiting}"
    );
    assert!(outcome(&earlier).is_ok(), "{:?}", faults(&earlier));
}
