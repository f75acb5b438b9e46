//! `choose`: the first branch whose condition holds.

use super::*;

fn chosen(list: &str) -> String {
    format!(
        "  a: {{actions: [{{script: 'vars.way = \"\"'}}, {{choose: {list}}}, {{script: 'vars.way += \"z\"'}}], \
             on: {{success: done, fail: failed}}}}
  done: {{kind: terminal}}
  failed: {{kind: terminal, outcome: fail}}\n"
    )
}

/// An action that leaves a letter.
fn mark(letter: &str) -> String {
    format!("{{script: 'vars.way += \"{letter}\"'}}")
}

#[test]
fn scn_4_the_first_branch_that_holds_is_taken_and_no_other() {
    let branch = |when: &str, letter: &str| format!("{{when: '{when}', actions: [{}]}}", mark(letter));
    let otherwise = |letter: &str| format!("{{otherwise: [{}, {}]}}", mark(letter), mark(letter));
    for (branches, way) in [
        (vec![branch("params.n == 7", "a"), branch("true", "b"), otherwise("c")], "az"),
        (vec![branch("params.n == 8", "a"), branch("${params.n > 6}", "b"), otherwise("c")], "bz"),
        (vec![branch("params.n == 8", "a"), branch("params.n == 9", "b"), otherwise("c")], "ccz"),
        (vec![branch("params.n == 8", "a")], "z"),
        (vec!["{when: 'true', actions: []}".into(), otherwise("c")], "z"),
    ] {
        let played = play(&chosen(&format!("[{}]", branches.join(", "))), &[]);
        assert_eq!(played.last().snapshot.vars["way"], way, "{branches:?}");
        assert_eq!(played.path(), "success done");
    }
}

#[test]
fn scn_4_branches_may_hold_branches() {
    let inner = format!(
        "{{choose: [{{when: 'params.n == 1', actions: [{}]}}, {{otherwise: [{}]}}]}}",
        mark("x"),
        mark("y")
    );
    let outer = format!(
        "[{{when: 'params.n == 7', actions: [{}, {inner}, {}]}}, {{otherwise: [{}]}}]",
        mark("a"),
        mark("b"),
        mark("c")
    );
    assert_eq!(play(&chosen(&outer), &[]).last().snapshot.vars["way"], "aybz");
    for (branch, path) in [("success()", "success done"), ("fail()", "fail failed")] {
        let list = format!("[{{when: 'true', actions: [{{script: '{branch}'}}]}}]");
        let played = play(&chosen(&list), &[]);
        assert_eq!((played.path().as_str(), &played.last().snapshot.vars["way"]), (path, &json!("")));
    }
}

#[test]
fn scn_4_a_condition_that_is_neither_true_nor_false_is_a_failure() {
    for when in ["params.n", "params.absent.x", "\"true\""] {
        let played = play(&chosen(&format!("[{{when: '{when}', actions: []}}]")), &[]);
        assert_eq!(
            (played.path().as_str(), played.class().as_str()),
            ("fail failed", "script.error"),
            "{when}"
        );
    }
}

#[test]
fn err_11_a_retry_inside_a_branch_stays_in_it_though_its_condition_holds_no_more() {
    let list = "[{when: '!(\"x\" in vars)', actions: [{script: 'vars.x = 1'}, {http: {url: 'http://h/a'}}]}, \
                {otherwise: [{http: {url: 'http://h/b'}}]}]";
    let played = play(&chosen(list), &["503", "down", "200"]);
    assert_eq!((played.paths().as_str(), played.path().as_str()), ("a, a, a", "success done"));
}

#[test]
fn scn_7_a_rest_inside_a_branch_leaves_the_state() {
    let text = "  a: {actions: [{choose: [{when: 'params.n == 7', actions: [{sleep: {for: 1h}}]}]}], \
                on: {success: done, sleep: s, fail: failed}}
  s: {kind: sleeping, on: {timeout: done}}
  done: {kind: terminal}
  failed: {kind: terminal, outcome: fail}\n";
    assert_eq!(play(text, &[]).path(), "sleep s, timeout done");
}
