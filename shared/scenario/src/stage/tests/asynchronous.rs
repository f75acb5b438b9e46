//! Failed callbacks and their retries: ERR-6, ERR-7, ERR-9, ERR-11 to ERR-13.

use super::*;

/// Rules and policies for callbacks, to be put behind those of [`ERRORS`].
pub(super) const ASYNC: &str = r#"async:
  classification:
    rules:
      any:
        requests:
          http: [{path: "/**"}]
          amqp: [{path: "%2F?exchange=*&key=*"}]
        classes:
          refused: {responses: [{step_status_keywords: [k2], body_keywords: [["no"]]}]}
          odd: {responses: [{body_keywords: [["odd"]]}]}
          slow.answer: {responses: [{step_status_keywords: [slow]}]}
      own:
        requests: {http: [{path: "/own"}]}
        classes: {own.late: {timeout: true}}
  retry:
    max_cycle_duration: 1d
    policies:
      late:
        error_classes: [async.timeout, polling.timeout]
        parameters: {initial_interval: 1m, multiplier: 2, max_interval: 1h, jitter: 0, max_attempts: 2}
      refused:
        error_classes: [refused]
        parameters: {initial_interval: 30s, multiplier: 1, max_interval: 30s, jitter: 0, max_attempts: 2}
      slow:
        error_classes: [slow.answer]
        parameters: {initial_interval: 2m, multiplier: 1, max_interval: 2m, jitter: 0, max_attempts: 5}
"#;

/// The play with rules for callbacks.
pub(super) fn with_rules(text: &str) -> Play {
    Play::of(text).errors(&format!("{ERRORS}{ASYNC}"))
}

/// Asks twice and waits; `on` and `more` are for the waiting state.
pub(super) fn asking(on: &str, more: &str) -> String {
    format!(
        "  a:
    entryPoint: true
    actions: [{{http: {{url: 'http://h/r', request: r}}}}, {{amqp: {{exchange: e, key: k, request: q}}}}, {{wait: {{timeout: 5m}}}}]
    on: {{wait: w, fail: failed}}
  w: {{kind: waiting, {more} on: {{callback: done, timeout: late{on}}}}}
  late: {{kind: terminal, outcome: fail}}
  bad: {{kind: terminal, outcome: fail}}
  done: {{kind: terminal}}
  failed: {{kind: terminal, outcome: fail}}\n"
    )
    .replace("  bad", if on.is_empty() { "# bad" } else { "  bad" })
}

pub(super) const GOOD: &str = r#"callback {"r": {"body": "yes"}, "q": {"body": "yes"}}"#;
const BAD: &str = r#"callback {"r": {"body": "yes"}, "q": {"body": "no", "stepStatus": "k21"}}"#;
const ODD: &str = r#"callback {"r": {"body": "yes"}, "q": {"body": "odd"}}"#;

/// Returns the requests, in order.
fn asked(played: &Played) -> String {
    let asked = played.calls.iter().map(|(_, _, need)| if matches!(need, Need::Http(_)) { "r" } else { "q" });
    asked.collect::<Vec<_>>().join("")
}

#[test]
fn err_6_an_answer_of_a_class_with_a_policy_is_asked_for_again_from_the_entry_point() {
    let played = with_rules(&asking("", "")).go(&["200", "published", BAD, "200", "published", GOOD]);
    assert_eq!(played.path(), "wait w, retry a, wait w, callback done");
    assert_eq!((played.statuses().as_str(), asked(&played).as_str()), ("wait, retry, wait, success", "rqrq"));
    assert_eq!((played.delays(), played.requests.len()), (vec![30], 4));
    // Without both of the keywords it is no error.
    for callback in [
        r#"callback {"r": {"body": 1}, "q": {"body": "no"}}"#,
        r#"callback {"r": {"body": 1}, "q": {"body": 1, "stepStatus": "k2"}}"#,
    ] {
        assert_eq!(
            with_rules(&asking("", "")).go(&["200", "published", callback]).path(),
            "wait w, callback done"
        );
    }
}

#[test]
fn err_6_a_failed_answer_without_a_policy_is_distinguished_where_the_scenario_asks_for_it() {
    let apart = with_rules(&asking(", fail: bad", "")).go(&["200", "published", ODD]);
    assert_eq!((apart.path().as_str(), apart.class().as_str()), ("wait w, fail bad", "odd"));
    let together = with_rules(&asking("", "")).go(&["200", "published", ODD]);
    assert_eq!(together.path(), "wait w, callback done");
    let late = with_rules(&asking(", fail: bad", "")).go(&[
        "200",
        "published",
        "timeout",
        "200",
        "published",
        "timeout",
        "200",
        "published",
        "timeout",
    ]);
    assert_eq!(late.path(), "wait w, retry a, wait w, retry a, wait w, timeout late", "a time-out stays one");
    assert_eq!((late.class().as_str(), late.delays()), ("async.timeout", vec![60, 120]));
}

#[test]
fn err_7_each_request_is_classified_by_where_it_went() {
    let own = asking("", "").replace("http://h/r", "http://h/own?x=1");
    let played = with_rules(&own).go(&["200", "published", "timeout"]);
    assert_eq!(played.class(), "own.late", "the rule's class has no policy, so that nothing is repeated");
    // An answer that came before the time-out is no failure of its request.
    let played = with_rules(&own).go(&["200", "published", "call x", r#"callback {"r": {"body": 1}}"#]);
    assert_eq!(played.path(), "wait w, callback done");
    let retries = format!("{ERRORS}{}", ASYNC.replace("any:", "else:").replace("\"/**\"", "/elsewhere"));
    let played = Play::of(&asking("", "")).errors(&retries).go(&[
        "200",
        "published",
        r#"callback {"r": {"body": "odd"}, "q": {"body": 1}}"#,
    ]);
    assert_eq!(played.path(), "wait w, callback done");
}

#[test]
fn err_9_a_cycle_ends_with_its_attempts_another_class_or_success() {
    let round = |answer: &'static str| ["200", "published", answer];
    for (answers, delays, path) in [
        (vec![BAD, BAD, BAD], vec![30, 30], "callback done"),
        (vec![BAD, "timeout", BAD, BAD, BAD], vec![30, 60, 30, 30], "callback done"),
        (vec![BAD, ODD], vec![30], "callback done"),
        (vec!["timeout", "timeout", GOOD], vec![60, 120], "callback done"),
    ] {
        let answers: Vec<&str> = answers.into_iter().flat_map(round).collect();
        // A callback of the round before is no answer to a later request: a time-out follows none.
        let played = with_rules(&asking("", "")).forgetting().go(&answers);
        assert_eq!(
            (played.delays(), played.path().ends_with(path)),
            (delays, true),
            "{answers:?}: {}",
            played.path()
        );
    }
}

#[test]
fn err_12_synchronous_retries_inside_count_for_themselves_and_the_cycle_goes_on() {
    let answers = [
        "200",
        "published",
        "timeout",
        "503",
        "503",
        "200",
        "published",
        "timeout",
        "503",
        "503",
        "503",
        "200",
        "published",
        "timeout",
    ];
    let played = with_rules(&asking("", "")).go(&answers);
    assert_eq!(played.delays(), [60, 10, 20, 120, 10, 20, 40]);
    assert_eq!((played.class().as_str(), played.last().then.status()), ("async.timeout", Status::Fail));
    // The total stays under the limit of the asynchronous cycle: the second of the waits would end after it.
    let rules = ASYNC.replace("max_cycle_duration: 1d", "max_cycle_duration: 85s");
    let played = Play::of(&asking("", "")).errors(&format!("{ERRORS}{rules}")).go(&[
        "200",
        "published",
        "timeout",
        "503",
        "503",
    ]);
    assert_eq!((played.delays(), played.class().as_str()), (vec![60, 10], "busy"));
}

#[test]
fn ord_12_a_sequential_order_is_not_held_longer_by_classes_that_take_turns() {
    let round = |answer: &'static str| ["200", "published", answer];
    let answers = [BAD, "timeout", BAD, "timeout"].into_iter().flat_map(round);
    let answers: Vec<&str> = answers.collect();
    // 30 seconds, a time-out of 5 minutes, 1 minute, 30 seconds, 5 minutes: more than 10 minutes.
    let play = with_rules(&asking("", "")).forgetting().sequential();
    let played =
        play.set(|settings| settings.max_acquisition_duration = Duration::from_secs(600)).go(&answers);
    assert_eq!((played.delays(), played.class().as_str()), (vec![30, 60, 30], "async.timeout"));
}

#[test]
fn err_9_waits_that_fail_by_turns_are_one_cycle() {
    let text = "  a:
    entryPoint: true
    actions: [{http: {url: 'http://h/1', request: r}}, {wait: {timeout: 5m}}]
    on: {wait: w1, fail: late}
  w1: {kind: waiting, on: {callback: b, timeout: late}}
  b:
    actions: [{http: {url: 'http://h/2', request: q}}, {wait: {timeout: 5m}}]
    on: {wait: w2, fail: late}
  w2: {kind: waiting, on: {callback: done, timeout: late}}
  late: {kind: terminal, outcome: fail}
  done: {kind: terminal}\n";
    let first = r#"callback {"r": {"body": "yes"}}"#;
    // The second wait fails, then the first, then the second again: two attempts are all there are.
    let turns = ["200", first, "200", "timeout", "200", "timeout", "200", first, "200", "timeout"];
    let played = with_rules(text).forgetting().go(&turns);
    assert_eq!((played.delays(), played.class().as_str()), (vec![60, 120], "async.timeout"));
    // What was passed is over: the second wait has two attempts of its own.
    let on = [
        "200", "timeout", "200", first, "200", "timeout", "200", first, "200", "timeout", "200", first, "200",
    ];
    let played = with_rules(text).forgetting().go(&[&on[..], &["timeout"]].concat());
    assert_eq!(played.delays(), [60, 60, 120]);
    // From another entry point on, what failed before it is not repeated any more.
    let text = text.replace("on: {wait: w1, fail: late}", "on: {wait: w1, fail: b}");
    let text = text.replace("  b:\n", "  b:\n    entryPoint: true\n");
    let round = ["200", "timeout"];
    let played =
        with_rules(&text).forgetting().go(&[&["200", "timeout", "404"][..], &round, &round, &round].concat());
    assert_eq!(played.delays(), [60, 60, 120]);
}

#[test]
fn err_13_all_failed_requests_need_a_policy_and_the_longest_wait_counts() {
    let both =
        r#"callback {"r": {"body": 1, "stepStatus": "slow"}, "q": {"body": "no", "stepStatus": "k2"}}"#;
    let played = with_rules(&asking("", "")).go(&["200", "published", both, "200", "published", GOOD]);
    assert_eq!(played.delays(), [120]);
    let one_without = r#"callback {"r": {"body": "odd"}, "q": {"body": "no", "stepStatus": "k2"}}"#;
    let played = with_rules(&asking(", fail: bad", "")).go(&["200", "published", one_without]);
    assert_eq!((played.path().as_str(), played.class().as_str()), ("wait w, fail bad", "odd"));
}

#[test]
fn err_13_classes_that_fail_together_have_a_cycle_each() {
    let both =
        r#"callback {"r": {"body": 1, "stepStatus": "slow"}, "q": {"body": "no", "stepStatus": "k2"}}"#;
    let slow = r#"callback {"r": {"body": 1, "stepStatus": "slow"}, "q": {"body": 1}}"#;
    let refused = r#"callback {"r": {"body": 1}, "q": {"body": "no", "stepStatus": "k2"}}"#;
    for (answers, delays, class) in [
        // The shorter wait has two attempts, though it is never the one that is waited for.
        (vec![both, both, both], vec![120, 120], "refused"),
        (vec![both, refused, refused], vec![120, 30], "refused"),
        // One that did not come back begins again.
        (vec![both, slow, both, both, both], vec![120, 120, 120, 120], "refused"),
        (vec![both, slow, slow, slow, slow, slow], vec![120; 5], "slow.answer"),
    ] {
        let answers: Vec<&str> =
            answers.into_iter().flat_map(|answer| ["200", "published", answer]).collect();
        let played = with_rules(&asking(", fail: bad", "")).go(&answers);
        assert!(played.path().ends_with("fail bad"), "{}", played.path());
        assert_eq!((played.delays(), played.class().as_str()), (delays, class));
    }
}

#[test]
fn err_13_only_what_failed_is_sent_again_where_the_state_says_so() {
    let only = asking("", "retryFailedOnly: true,");
    let q_only = r#"callback {"q": {"body": "yes"}}"#;
    let played = with_rules(&only).go(&["200", "published", BAD, "published", BAD, "published", q_only]);
    assert_eq!((asked(&played).as_str(), played.last().then.status()), ("rqqq", Status::Success));
    let Then::Wait { requests, .. } = &played.ends[2].then else { panic!("{played:?}") };
    assert_eq!(requests.len(), 1, "nobody waits for the good answer twice");
    assert!(played.last().snapshot.asynchronous.is_none());
    // Marked at the state that registers them, it is the same.
    let plain = asking("", "").replace("entryPoint: true", "entryPoint: true\n    retryFailedOnly: true");
    assert_eq!(asked(&with_rules(&plain).go(&["200", "published", BAD, "published", q_only])), "rqq");
}

#[test]
fn err_13_a_good_answer_is_kept_for_its_own_request_alone() {
    // The repeat fails before the wait; another state asks under the same name.
    let text = "  a:
    entryPoint: true
    actions: [{http: {url: 'http://h/r', request: r}}, {amqp: {exchange: e, key: k, request: q}}, {wait: {timeout: 5m}}]
    on: {wait: w, fail: b}
  w: {kind: waiting, retryFailedOnly: true, on: {callback: done, timeout: done}}
  b: {actions: [{http: {url: 'http://h/other', request: r}}, {wait: {timeout: 5m}}], on: {wait: v, fail: done}}
  v: {kind: waiting, on: {callback: done, timeout: done}}
  done: {kind: terminal}\n";
    let played = with_rules(text).go(&["200", "published", BAD, "unroutable", "200", GOOD]);
    assert_eq!(
        (asked(&played).as_str(), played.path().as_str()),
        ("rqqr", "wait w, retry a, fail b, wait v, callback done")
    );
}

/// Two waits behind one entry point.
const TWO_WAITS: &str = "  a:
    entryPoint: true
    actions: [{amqp: {exchange: e, key: k, request: p}}, {wait: {timeout: 5m}}]
    on: {wait: v, fail: done}
  v: {kind: waiting, on: {callback: b, timeout: done}}
  b:
    actions: [{http: {url: 'http://h/r', request: r}}, {amqp: {exchange: e, key: k, request: q}}, {wait: {timeout: 5m}}]
    on: {wait: w, fail: done}
  w: {kind: waiting, retryFailedOnly: true, on: {callback: done, timeout: late}}
  late: {kind: terminal}
  done: {kind: terminal}\n";

#[test]
fn err_9_a_wait_that_goes_well_again_on_the_way_does_not_end_the_cycle_of_a_later_one() {
    let first = r#"callback {"p": {"body": 1}}"#;
    let answers = [
        "published",
        first,
        "200",
        "published",
        BAD,
        "published",
        first,
        "published",
        BAD,
        "published",
        first,
        "published",
        BAD,
    ];
    let played = with_rules(TWO_WAITS).go(&answers);
    assert_eq!(played.delays(), [30, 30], "two attempts, and no more");
    assert_eq!(asked(&played), "qrqqqqq", "the good answer of the later wait is kept over the earlier one");
}

#[test]
fn scn_9_a_call_that_moves_the_order_ends_the_cycle_and_what_it_kept() {
    let text =
        asking("", "retryFailedOnly: true,").replace("timeout: late", "timeout: late, 'call:again': a");
    let played = with_rules(&text).go(&[
        "200",
        "published",
        BAD,
        "call again",
        "200",
        "published",
        BAD,
        "published",
        BAD,
        "published",
        BAD,
    ]);
    assert_eq!((asked(&played).as_str(), played.delays()), ("rqrqqq", vec![30, 30, 30]));
    assert!(played.path().starts_with("wait w, call:again a, wait w, retry a"), "{}", played.path());
}

#[test]
fn err_11_without_an_entry_point_it_begins_at_the_initial_state() {
    let text = asking("", "").replace("    entryPoint: true\n", "");
    let played = with_rules(&text).go(&["200", "published", BAD, "200", "published", GOOD]);
    assert_eq!(played.path(), "wait w, retry a, wait w, callback done");
}

#[test]
fn scn_7_a_request_that_was_not_sent_is_not_awaited() {
    let text = "  a: {actions: [{http: {url: 'http://h/r', request: r}}], on: {success: done, fail: b}}
  b: {actions: [{http: {url: 'http://h/q', request: q}}, wait], on: {wait: w, fail: done}}
  w: {kind: waiting, on: {callback: done, timeout: done}}
  done: {kind: terminal}\n";
    let played = with_rules(text).go(&["404", "200", r#"callback {"q": {"body": 1}}"#]);
    let Then::Wait { requests, .. } = &played.ends[0].then else { panic!("{played:?}") };
    assert_eq!(requests.len(), 1);
}

#[test]
fn scn_7_a_wait_is_for_the_requests_of_its_own_stage() {
    let text = "  a: {actions: [{amqp: {exchange: e, key: k, request: old}}, {sleep: {for: 1h}}], on: {sleep: s, fail: done}}
  s: {kind: sleeping, on: {timeout: b}}
  b: {actions: [{http: {url: 'http://h/r', request: new}}, {http: {url: 'http://h/x'}}, {wait: {timeout: 5m}}], on: {wait: w, fail: done}}
  w: {kind: waiting, on: {callback: done, timeout: done}}
  done: {kind: terminal}\n";
    let played = Play::of(text).go(&["published", "200", "503", "200", r#"callback {"new": {"body": 1}}"#]);
    assert_eq!(played.path(), "sleep s, timeout b, wait w, callback done");
    let Then::Wait { requests, .. } = &played.ends[2].then else { panic!("{:?}", played.ends[2]) };
    assert_eq!(requests.len(), 1, "the one before the retry counts, the one before the sleep does not");
}

#[test]
fn err_10_time_in_the_ready_queue_may_be_left_out_of_an_asynchronous_cycle_too() {
    let rules = ASYNC.replace("max_cycle_duration: 1d", "max_cycle_duration: 10m");
    let round = ["200", "published", "timeout"];
    // The retries are due after 1 and 2 minutes, a time-out takes 5: without the time in which
    // nobody took the order up, the second begins after 8 minutes.
    let answers = [&round[..], &["late 0s", "late 20m"], &round[..]].concat();
    let total = Play::of(&asking("", "")).errors(&format!("{ERRORS}{rules}")).forgetting().go(&answers);
    assert_eq!(total.delays(), [60]);
    let text = format!("retry_duration_control: {{mode: run_and_suspending_durations}}{ERRORS}{rules}");
    let answers =
        [&round[..], &["late 0s", "late 20m"], &round[..], &["late 0s", "late 20m"], &round[..]].concat();
    let running = Play::of(&asking("", "")).errors(&text).forgetting().go(&answers);
    assert_eq!(running.delays(), [60, 120]);
}
