//! Operations (SCN-10): their savepoints, and where a repeat begins.

use super::*;

fn operation(actions: &str) -> Play {
    Play::whole(&format!("scenario: s\nkind: operation\nactions:\n{actions}"))
}

const THREE: &str = "  - http: {url: 'http://h/1'}
  - savepoint: half
  - http: {url: 'http://h/2', save: {two: '${response.body}'}}
  - http: {url: 'http://h/3', body: '${vars.two}'}\n";

fn keys(played: &Played) -> Vec<Uuid> {
    played.http().iter().map(|call| call.idempotency_key).collect()
}

#[test]
fn scn_10_a_repeat_begins_at_the_last_savepoint_with_the_same_keys() {
    let played = operation(THREE).go(&["200", "200 4", "503", "200 5", "200"]);
    assert_eq!(
        (played.paths().as_str(), played.path().as_str()),
        ("1, 2, 3, 2, 3", "success half, success done")
    );
    let keys = keys(&played);
    assert_eq!((keys[1], keys[2]), (keys[3], keys[4]));
    assert_eq!(played.body(4), json!(5));
    let played = operation(THREE).go(&["503", "200", "200 4", "404"]);
    assert_eq!(
        (played.paths().as_str(), played.path().as_str()),
        ("1, 1, 2, 3", "success half, fail failed")
    );
    assert_eq!(played.last().entry_point.as_deref(), Some("half"));
}

#[test]
fn err_9_what_goes_well_again_before_the_failed_action_does_not_end_its_cycle() {
    let played = operation(THREE).go(&["200", "200 4", "503", "200 5", "503", "200 5", "503", "200", "503"]);
    assert_eq!((played.statuses().as_str(), played.class().as_str()), ("retry, retry, retry, fail", "busy"));
    assert_eq!(played.delays(), [10, 20, 40]);
    // One that fails before it, for once, does not make the later one start over.
    let played = operation(THREE).go(&["200", "200 4", "503", "503", "200 5", "503", "200", "503"]);
    assert_eq!(
        (played.statuses().as_str(), played.delays()),
        ("retry, retry, retry, fail", vec![10, 20, 40])
    );
    // Once it went through, the next one has all its attempts.
    let more = format!("{THREE}  - http: {{url: 'http://h/4'}}\n");
    let answers = [
        "200", "200 4", "503", "200 5", "200", "503", "200", "200", "503", "200", "200", "503", "200", "200",
        "503",
    ];
    let played = operation(&more).go(&answers);
    assert_eq!(played.delays(), [10, 10, 20, 40]);
}

#[test]
fn err_9_what_fails_behind_a_rest_is_repeated_behind_it() {
    let rests = "  - http: {url: 'http://h/1', request: r}
  - wait: {timeout: 1h}
  - http: {url: 'http://h/2', body: '${callbacks.r.body}'}\n";
    let came = "callback {\"r\": {\"body\": 3}}";
    let played = operation(rests).go(&["200", came, "503", "503", "503", "503"]);
    assert_eq!((played.delays(), played.paths().as_str()), (vec![10, 20, 40], "1, 2, 2, 2, 2"));
    assert_eq!((played.last().then.status(), played.class().as_str()), (Status::Fail, "busy"));
    assert_eq!(played.requests.len(), 1, "what was answered is not asked again");
}

#[test]
fn scn_10_an_operation_sleeps_succeeds_early_and_fails() {
    let sleeps = "  - sleep: {for: 1h}\n  - savepoint: later\n  - script: 'if params.n == 7 { success() }'\n  - http: {url: 'http://h/1'}\n";
    let played = operation(sleeps).go(&[]);
    assert_eq!(played.path(), "sleep start.sleep, timeout later, success done");
    let fails = operation("  - script: 'fail(\"no\", \"mine\")'\n").go(&[]);
    assert_eq!((fails.path().as_str(), fails.class().as_str()), ("fail failed", "mine"));
    assert_eq!(fails.last().scenario_status, ScenarioStatus::Failed);
}

#[test]
fn err_11_an_asynchronous_retry_of_an_operation_begins_at_the_savepoint_and_asks_again() {
    let text = "  - http: {url: 'http://h/1'}
  - savepoint: ask
  - amqp: {exchange: e, key: k, request: r}
  - wait: {timeout: 5m}
  - http: {url: 'http://h/2'}\n";
    let retries = format!("{ERRORS}{}", super::asynchronous::ASYNC);
    let answers = ["200", "published", "timeout", "published", "callback {\"r\": {\"body\": 1}}", "200"];
    let played = operation(text).errors(&retries).go(&answers);
    assert_eq!(
        played.path(),
        "success ask, wait ask.wait, retry ask, wait ask.wait, callback ask.2, success done"
    );
    assert_eq!((played.paths().as_str(), played.requests.len()), ("1, 2", 2));
}

#[test]
fn scn_10_a_restart_begins_at_a_savepoint() {
    let played = operation(THREE).entering("half", json!({"two": 1})).go(&["200 2", "200"]);
    assert_eq!((played.paths().as_str(), played.path().as_str()), ("2, 3", "success done"));
}
