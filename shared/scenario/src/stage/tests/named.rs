//! Events that scripts raise by names of their own (SCN-16).

use super::*;

const STATES: &str = "  a:
    actions:
      - http: {url: 'http://h/1'}
      - script: |
          fn far() { event(\"far\") }
          log(\"looks\");
          vars.n = response.body.n;
          switch response.body.n {
            1 => event(\"near\"),
            2 => far(),
            3 => Fn(\"event\").call(\"nowhere\"),
            _ => ()
          }
      - http: {url: 'http://h/2'}
    on: {near: b, far: c, success: done, fail: failed}
  b: {actions: [{http: {url: 'http://h/b/${vars.n}'}}], on: {success: done, fail: failed}}
  c: {actions: [{http: {url: 'http://h/c/${vars.n}'}}], on: {success: done, fail: failed}}
  done: {kind: terminal}
  failed: {kind: terminal, outcome: fail}
";

#[test]
fn scn_16_a_script_leads_in_three_directions() {
    for (answer, path, paths) in [
        ("200 {\"n\": 1}", "near b, success done", "1, b/1"),
        ("200 {\"n\": 2}", "far c, success done", "1, c/2"),
        ("200 {\"n\": 0}", "success done", "1, 2"),
    ] {
        let played = play(STATES, &[answer, "200"]);
        assert_eq!((played.path().as_str(), played.paths().as_str()), (path, paths));
    }
}

#[test]
fn scn_16_a_name_made_at_run_time_that_leads_nowhere_is_a_failure_of_the_scenario() {
    let played = play(STATES, &["200 {\"n\": 3}"]);
    assert_eq!((played.path().as_str(), played.class().as_str()), ("fail failed", "scenario.incomplete"));
}

#[test]
fn scn_16_an_event_of_its_own_ends_a_polling_and_the_repeat_before_it() {
    let states = "  a:
    kind: polling
    poll: {interval: 30s, timeout: 5m}
    actions:
      - http: {url: 'http://h/1'}
      - script: if response.body.n == 0 { poll() } else if response.body.n == 1 { event(\"lost\") }
    on: {lost: b, success: done, fail: failed, timeout: failed}
  b: {actions: [{http: {url: 'http://h/b'}}], on: {success: done, fail: failed}}
  done: {kind: terminal}
  failed: {kind: terminal, outcome: fail}
";
    let played = play(states, &["200 {\"n\": 0}", "503", "200 {\"n\": 1}", "200"]);
    assert_eq!((played.path().as_str(), played.paths().as_str()), ("lost b, success done", "1, 1, 1, b"));
    assert_eq!(played.last().snapshot.main.retry, None);
}
