//! Coverage by tests: each state, transition and error branch counts once, whichever test reaches it.

use super::*;

const TEXT: &str = "scenario: s
initialState: a
states:
  a:
    actions:
      - http: {url: 'http://h/a'}
      - script: 'if params.big == true { event(\"big\") }'
    on: {success: done, fail: failed, big: rest, 'call:stop': failed}
  rest: {actions: [{sleep: {for: 1h}}], on: {sleep: sleeping}}
  sleeping: {kind: sleeping, on: {timeout: done}}
  done: {kind: terminal}
  failed: {kind: terminal, outcome: fail}
";

fn coverage(tests: &str) -> Coverage {
    let bounds = Bounds::default();
    let scripting = Scripting::new(bounds.script.clone());
    let scenario = Arc::new(source::read(TEXT, &scripting, &bounds).unwrap());
    let file = read(tests).unwrap();
    let deployment = Deployment::default();
    let outcomes: Vec<TrialOutcome> =
        file.trials.iter().map(|one| run(&scenario, &deployment, one, &mut || true)).collect();
    Coverage::of(&scenario, &outcomes)
}

#[test]
fn scn_13_coverage_names_what_no_test_reaches() {
    let good = "  - test: good\n    params: {big: false}\n    answers: [{http: 'GET http://h/a'}]\n    expect: {status: success}\n";
    let one = coverage(&format!("tests:\n{good}"));
    assert_eq!(
        (one.states.reached, one.states.missed.join(" ")),
        (2, "`rest` `sleeping` `failed`".to_owned())
    );
    assert_eq!(
        (one.transitions.reached, one.transitions.total(), one.error_branches.total()),
        (1, 6, 2),
        "{one:?}"
    );
    let missed = ["`a` fail to `failed`", "`sleeping` timeout to `done`"];
    assert_eq!(one.error_branches.missed, missed);
    assert_eq!((one.least(), one.transitions.percentage()), (0, 16));
    assert!(one.transitions.missed.contains(&"`a` call:stop to `failed`".to_owned()), "{one:?}");

    let big = "  - test: big\n    params: {big: true}\n    answers: [{http: 'GET http://h/a'}]\n    expect: {status: success}\n";
    let bad = "  - test: bad\n    params: {big: true}\n    answers: [{http: 'GET http://h/a', status: 404}]\n    expect: {status: fail}\n";
    let all = coverage(&format!("tests:\n{good}{good}{big}{bad}").replacen("test: good", "test: again", 1));
    assert_eq!((all.states.percentage(), all.error_branches.percentage()), (100, 100), "{all:?}");
    assert_eq!(all.transitions.missed, ["`a` call:stop to `failed`"]);
    assert_eq!(all.to_value()["transitions"]["total"], 6);
    assert_eq!(CoveredParts::default().percentage(), 100, "where there is no part none is missed");
}
