//! Polling states (SCN-8): their rhythm, their end, and retries within them.

use super::*;

/// Polls as given until the answer is `true`; `false` is asked again, anything else is a failure.
fn polling(poll: &str) -> String {
    format!(
        "  a: {{actions: [{{http: {{url: 'http://h/start'}}}}], on: {{success: p, fail: failed}}, entryPoint: true}}
  p:
    kind: polling
    poll: {{{poll}}}
    actions:
      - http: {{url: 'http://h/1'}}
      - http: {{url: 'http://h/2', body: '${{response.body}}'}}
      - script: 'if response.body == true {{ success() }} else if response.body == false {{ poll() }} else {{ fail(\"odd\") }}'
    on: {{success: done, fail: failed, timeout: late}}
  done: {{kind: terminal}}
  late: {{kind: terminal, outcome: fail}}
  failed: {{kind: terminal, outcome: fail}}\n"
    )
}

const RHYTHM: &str = "delay: 5s, interval: 30s, timeout: 1m";

/// Seconds from the beginning to each rest's end.
fn moments(played: &Played) -> Vec<i64> {
    let start: Timestamp = START.parse().unwrap();
    played.ends.iter().filter_map(|end| Some(end.then.due_at()?.as_second() - start.as_second())).collect()
}

#[test]
fn scn_8_attempts_follow_the_delay_and_the_interval_and_the_last_comes_at_the_end() {
    let text = polling(RHYTHM);
    let played = play(&text, &["200", "200", "200 false", "200", "200 true"]);
    assert_eq!((moments(&played), played.statuses().as_str()), (vec![5, 35], "polling, polling, success"));
    let never = ["200", "200", "200 false", "200", "200 false", "200", "200 false"];
    let played = play(&text, &never);
    assert_eq!((moments(&played), played.path().as_str()), (vec![5, 35, 60], "success p, timeout late"));
    assert_eq!(played.class(), "polling.timeout");
    assert!(played.error().message.contains("3 times"), "{:?}", played.error());
    assert_eq!(play(&text, &["200", "200", "200 7"]).path(), "success p, fail failed");
    // Polling attempts are no transitions.
    assert_eq!(played.ends.iter().map(|end| end.transitions.len()).collect::<Vec<_>>(), [1, 0, 0, 1]);
}

#[test]
fn scn_8_without_a_delay_the_first_attempt_is_made_at_once_and_none_is_made_after_the_end() {
    let played = play(&polling("interval: 30s, timeout: 1m"), &["200", "200", "200 true"]);
    assert_eq!((played.ends.len(), played.path().as_str()), (1, "success p, success done"));
    let played = play(&polling("delay: 1h, interval: 30s, timeout: 1m"), &["200", "200", "200 false"]);
    assert_eq!((moments(&played), played.path().as_str()), (vec![60], "success p, timeout late"));
    // An attempt that takes its time is followed by one at the end, and that one by none.
    let slow = ["200", "200", "+50s 200 false", "200", "+9s 200 false"];
    assert_eq!(moments(&play(&polling(RHYTHM), &slow)), [5, 60]);
}

#[test]
fn scn_14_each_attempt_has_keys_of_its_own_and_its_repeats_have_them_too() {
    let played = play(&polling(RHYTHM), &["200", "200", "503", "200 false", "200", "down", "200 true"]);
    assert_eq!(played.paths(), "start, 1, 2, 2, 1, 2, 2");
    let keys: Vec<Uuid> = played.http().iter().map(|call| call.idempotency_key).collect();
    assert_eq!((keys[2], keys[5]), (keys[3], keys[6]), "a repeat is the same request");
    assert!(keys[1] != keys[4] && keys[2] != keys[5], "an attempt is not");
}

#[test]
fn scn_8_a_retry_within_an_attempt_resumes_at_the_failed_action_with_the_answers_before_it() {
    let played = play(&polling(RHYTHM), &["200", "200 5", "503", "200 false", "200 6", "200 true"]);
    assert_eq!(played.statuses(), "polling, retry, polling, success");
    assert_eq!((played.body(2), played.body(3), played.body(5)), (json!(5), json!(5), json!(6)));
    // Each attempt has all the repeats of the policy.
    let all = ["200", "200", "503", "503", "200 false", "200", "503", "503", "200 true"];
    assert_eq!(play(&polling("interval: 30s, timeout: 1h"), &all).delays(), [10, 20, 10, 20]);
    let fails = play(&polling(RHYTHM), &["200", "200", "404"]);
    assert_eq!(fails.path(), "success p, fail failed");
}

#[test]
fn err_7_a_polling_that_ended_is_begun_again_from_the_entry_point_where_a_policy_says_so() {
    let rules = format!("{ERRORS}{}", super::asynchronous::ASYNC);
    let text = polling("interval: 1m, timeout: 1m");
    let round = ["200", "200", "200 false", "200", "200 false"];
    let answers = [&round[..], &round[..], &round[..]].concat();
    let played = Play::of(&text).errors(&rules).go(&answers);
    assert_eq!(played.path(), "success p, retry a, success p, retry a, success p, timeout late");
    assert_eq!(moments(&played), [60, 120, 180, 300, 360]);
    assert_eq!(played.class(), "polling.timeout");
    // Each round polls as long as the first, and its requests are new ones.
    let mut keys: Vec<Uuid> = played.http().iter().map(|call| call.idempotency_key).collect();
    keys.sort_unstable();
    keys.dedup();
    assert_eq!(keys.len(), 15);
    // Success ends the cycle.
    let mut well = [&round[..], &["200", "200", "200 true"][..]].concat();
    let played = Play::of(&text).errors(&rules).go(&well);
    assert_eq!(played.last().snapshot.asynchronous, None);
    // So does a failure of another kind: what follows is bound by it no more.
    well.splice(5.., ["200", "200", "404"]);
    let played = Play::of(&text).errors(&rules).go(&well);
    assert_eq!(
        (played.path().as_str(), &played.last().snapshot.asynchronous),
        ("success p, retry a, success p, fail failed", &None)
    );
}

#[test]
fn scn_9_a_call_between_two_attempts_leaves_the_rhythm_alone() {
    let text = format!("{}calls: {{ask: {{actions: [{{http: {{url: 'http://h/x'}}}}]}}}}\n", polling(RHYTHM));
    let played = play(&text, &["200", "200", "200 false", "+3s call ask", "503", "200", "200", "200 true"]);
    assert_eq!((moments(&played), played.path().as_str()), (vec![5, 35, 18, 35], "success p, success done"));
    let moved = text.replace("timeout: late}", "timeout: late, 'call:stop': done}");
    let played = play(&moved, &["200", "200", "200 false", "call stop"]);
    assert_eq!(
        (played.path().as_str(), &played.last().snapshot.visit.poll),
        ("success p, call:stop done", &None)
    );
}
