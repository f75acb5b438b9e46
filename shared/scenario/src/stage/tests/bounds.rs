//! Bounds of a scenario: it does not circle, gather or compute without end (SCN-5).

use super::*;

/// The states of a scenario whose first state runs this code.
fn scripted(code: &str) -> String {
    format!(
        "  a: {{actions: [{{script: '{code}'}}], on: {{success: done, fail: failed}}}}
  done: {{kind: terminal}}
  failed: {{kind: terminal, outcome: fail}}\n"
    )
}

#[test]
fn scn_5_a_scenario_that_circles_without_resting_is_broken_off() {
    let text = "  a: {actions: [{script: 'fail()'}], on: {success: done, fail: b}}
  b: {actions: [{script: 'fail()'}], on: {success: done, fail: a}}
  done: {kind: terminal}\n";
    let played = Play::of(text).set(|settings| settings.bounds.max_transitions_per_stage = 10).go(&[]);
    assert_eq!((played.class().as_str(), played.last().then.status()), ("scenario.loop", Status::Fail));
    assert_eq!(
        (played.last().transitions.len(), played.last().scenario_status),
        (11, ScenarioStatus::Failed)
    );
}

#[test]
fn scn_5_a_loop_that_rests_is_none() {
    let text = "  a: {actions: [{script: 'if \"n\" in vars { vars.n += 1 } else { vars.n = 1 } if vars.n > 20 { fail() }'}, \
                   {sleep: {for: 1m}}], on: {sleep: b, fail: done}}
  b: {kind: sleeping, on: {timeout: a}}
  done: {kind: terminal}\n";
    let played = Play::of(text).set(|settings| settings.bounds.max_transitions_per_stage = 3).go(&[]);
    assert_eq!((played.ends.len(), played.last().then.status()), (21, Status::Success));
}

#[test]
fn scn_5_vars_over_the_bound_are_a_failure_and_are_not_kept() {
    let big = "x".repeat(100);
    for (action, answers) in [
        (format!("script: 'vars.big = \"{big}\"'"), vec![]),
        (
            "http: {url: 'http://h/a', save: {small: 1, big: '${response.body}'}}".to_owned(),
            vec![big.as_str()],
        ),
    ] {
        let text = format!(
            "  a: {{actions: [{{script: vars.a = 1}}, {{{action}}}], on: {{success: done, fail: b}}}}
  b: {{actions: [{{script: vars.b = 1}}], on: {{success: done, fail: failed}}}}
  done: {{kind: terminal}}
  failed: {{kind: terminal, outcome: fail}}\n"
        );
        let answers: Vec<String> = answers.iter().map(|body| format!("200 {body}")).collect();
        let answers: Vec<&str> = answers.iter().map(String::as_str).collect();
        let played = Play::of(&text).set(|settings| settings.bounds.max_vars_bytes = 60).go(&answers);
        assert_eq!(played.path(), "fail b, success done", "{action}");
        assert!(played.last().log[0].text.starts_with("failed (scenario.vars): "), "{:?}", played.last().log);
        assert_eq!(Value::Object(played.last().snapshot.vars.clone()), json!({"a": 1, "b": 1}), "{action}");
    }
}

#[test]
fn scn_5_a_saved_value_that_cannot_be_made_leaves_no_half_of_it() {
    let text =
        "  a: {actions: [{http: {url: 'http://h/a', save: {one: 1, two: '${response.body.absent}'}}}], \
                on: {success: done, fail: failed}}
  done: {kind: terminal}
  failed: {kind: terminal, outcome: fail}\n";
    let played = play(text, &["200 {}"]);
    assert_eq!(played.class(), "script.error");
    let message = played.error().message;
    assert!(
        message.ends_with("action 1 (`http`): save `two`: there is no `response.body.absent`"),
        "{message}"
    );
    assert!(played.last().snapshot.vars.is_empty());
}

#[test]
fn scn_5_a_script_over_its_bounds_fails_its_state_and_changes_nothing() {
    for code in [
        "vars.a = 1; loop {}",
        "fn f(n) { f(n + 1) } vars.a = 1; f(0)",
        "vars.a = []; loop { vars.a.push(1) }",
    ] {
        let played = play(&scripted(code), &[]);
        assert_eq!(
            (played.path().as_str(), played.class().as_str()),
            ("fail failed", "script.limit"),
            "{code}"
        );
        assert!(played.last().snapshot.vars.is_empty(), "{code}");
    }
}

#[test]
fn scn_5_an_expression_is_bounded_like_a_script() {
    let text =
        scripted("").replace("{script: ''}", "{log: '${[1, 2, 3, 4, 5, 6, 7, 8].map(|x| x + 1).len}'}");
    assert_eq!(play(&text, &[]).path(), "success done");
    let narrow = script::Limits { max_operations: 10, ..script::Limits::default() };
    let played = Play::of(&text).set(|settings| settings.scripting = Scripting::new(narrow)).go(&[]);
    assert_eq!((played.path().as_str(), played.class().as_str()), ("fail failed", "script.limit"));
}

#[test]
fn scn_5_the_log_of_a_stage_is_bounded() {
    let text =
        "  a: {actions: [{script: 'for i in 0..200 { log(i) } log(\"x\")'}], on: {success: done, fail: done}}
  done: {kind: terminal}\n";
    assert_eq!(play(text, &[]).last().log.len(), 101);
}
