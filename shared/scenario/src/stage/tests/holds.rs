//! Time for which a sequential order may hold its queue, and what it can still do when that is over (ORD-12).

use pagurus_domain::classes::ACTOR_TIMEOUT;

use super::*;

/// A call, and its compensation.
const UNDOES: &str = "  a:
    actions: [{http: {url: 'http://h/1', timeout: 4m}}, {http: {url: 'http://h/2', timeout: 4m}}]
    on: {success: done, fail: undo}
  undo: {actions: [{http: {method: DELETE, url: 'http://h/undo', timeout: 2m}}], on: {success: failed, fail: stuck}}
  done: {kind: terminal}
  failed: {kind: terminal, outcome: fail}
  stuck: {kind: terminal, outcome: fail}\n";

const MINUTE: Duration = Duration::from_secs(60);

fn timeouts(played: &Played) -> Vec<u64> {
    let timeouts = played.http().into_iter().map(|call| call.timeout);
    timeouts.map(|timeout| u64::try_from(timeout.as_millis()).unwrap()).collect()
}

#[test]
fn ord_12_a_stage_is_broken_off_once_and_what_follows_has_a_time_of_its_own() {
    // Of a stage that is shorter than its first call may be.
    let short = || Play::of(UNDOES).sequential().set(|settings| settings.max_sync_duration = MINUTE * 2);
    let played = short().go(&["+2m dark", "200"]);
    assert_eq!(played.path(), "fail undo, success failed");
    assert_eq!(timeouts(&played), [120_000, 120_000], "what there is, and then a bound of its own");
    assert_eq!(played.statuses(), "wait, fail");
    let Then::Hold { until } = played.ends[0].then else { panic!("{:?}", played.ends[0].then) };
    assert_eq!(until.as_second() - START.parse::<Timestamp>().unwrap().as_second(), 120, "at once");
    let error = played.error();
    assert_eq!((error.class, error.system), (None, None), "the called system is not to blame");
    assert!(error.message.contains("max_sync_duration"), "{}", error.message);
    // A repeat has a stage of its own anyway.
    let text = UNDOES.replace("timeout: 4m", "timeout: 5m");
    let played = Play::of(&text).sequential().go(&["+5m down", "+5m 200", "200"]);
    assert_eq!((played.statuses().as_str(), timeouts(&played)), ("retry, wait, success", vec![300_000; 3]));
    // Nothing of it concerns parallel orders.
    assert_eq!(Play::of(UNDOES).go(&["+4m 200", "+4m 200"]).statuses(), "success");
}

#[test]
fn ord_12_a_call_from_outside_is_handled_on_in_a_stage_of_its_own() {
    let text = "  a: {actions: [{sleep: {for: 1h}}], on: {sleep: w}}
  w: {kind: sleeping, on: {timeout: done}}
  done: {kind: terminal}
calls: {ask: {actions: [{http: {url: 'http://h/1'}}, {http: {url: 'http://h/2'}}], answer: 1}}\n";
    let played = Play::of(text).sequential().go(&["call ask", "+5m 200", "200"]);
    assert_eq!(
        (played.statuses().as_str(), played.replies()),
        ("sleep, wait, sleep, success", vec![json!(1)])
    );
}

#[test]
fn ord_12_the_budget_of_retries_starts_again_when_the_queue_was_given_up() {
    let text =
        "  a: {actions: [{http: {url: 'http://h/1'}}, {sleep: {for: 1d}}], on: {sleep: b, fail: failed}}
  b: {kind: sleeping, on: {timeout: c}}
  c: {actions: [{http: {url: 'http://h/2'}}], on: {success: done, fail: failed}}
  done: {kind: terminal}
  failed: {kind: terminal, outcome: fail}\n";
    let play = || {
        Play::of(text)
            .sequential()
            .set(|settings| settings.max_acquisition_duration = Duration::from_secs(45))
    };
    let played = play().go(&["503", "503", "200", "503", "503", "200"]);
    assert_eq!(played.statuses(), "retry, retry, sleep, retry, retry, success");
    // Without the sleep it is one hold.
    let one = text
        .replace(", {sleep: {for: 1d}}", "")
        .replace("sleep: b", "success: c")
        .replace("  b: {kind: sleeping, on: {timeout: c}}\n", "");
    let play = Play::of(&one)
        .sequential()
        .set(|settings| settings.max_acquisition_duration = Duration::from_secs(45));
    assert_eq!(play.go(&["503", "503", "200", "503", "503"]).statuses(), "retry, retry, retry, fail");
}

#[test]
fn ord_12_err_10_the_time_of_delivery_counts_only_where_the_mode_says_so() {
    let one = "  a: {actions: [{http: {url: 'http://h/1'}}], on: {success: done, fail: failed}}
  done: {kind: terminal}
  failed: {kind: terminal, outcome: fail}\n";
    let answers = ["503", "late 40s", "503", "200"];
    let play = |rules: &str| {
        Play::of(one)
            .sequential()
            .errors(rules)
            .set(|settings| settings.max_acquisition_duration = Duration::from_secs(45))
    };
    assert_eq!(play(ERRORS).go(&answers[..3]).statuses(), "retry, fail");
    let text = format!("retry_duration_control: {{mode: run_and_suspending_durations}}{ERRORS}");
    assert_eq!(play(&text).go(&answers).statuses(), "retry, retry, success");
    // Over an earlier retry as well: its time is kept as a sum.
    let two = one
        .replace("{http: {url: 'http://h/1'}}", "{http: {url: 'http://h/1'}}, {http: {url: 'http://h/2'}}");
    let play = Play::of(&two)
        .sequential()
        .errors(&text)
        .set(|settings| settings.max_acquisition_duration = Duration::from_secs(45));
    assert_eq!(
        play.go(&["503", "late 1h", "200", "503", "late 1h", "503", "late 1h", "200"]).statuses(),
        "retry, retry, retry, success"
    );
}

#[test]
fn ord_12_waiting_for_an_actor_is_bounded_over_all_its_hand_outs() {
    let acting = |times: &str| {
        format!(
            "  a: {{actions: [{{actor: {{name: scoring{times}}}}}], on: {{success: done, fail: failed}}}}
  done: {{kind: terminal}}
  failed: {{kind: terminal, outcome: fail}}\n"
        )
    };
    let waited = |played: &Played| {
        let until = played.ends.iter().filter_map(|end| end.then.due_at()).next_back().unwrap();
        until.as_second() - START.parse::<Timestamp>().unwrap().as_second()
    };
    let played = Play::of(&acting(", workTimeout: 3h")).sequential().go(&["published", "timeout"]);
    assert_eq!((waited(&played), played.class().as_str()), (3600, ACTOR_TIMEOUT));
    let again = ["published", "timeout", "published", "timeout", "published", "timeout"];
    let played = Play::of(&acting(", workTimeout: 25m")).sequential().go(&again);
    assert_eq!(
        (waited(&played), played.class().as_str()),
        (3600, ACTOR_TIMEOUT),
        "the third one is cut short"
    );
    let played = Play::of(&acting(", workTimeout: 3h"))
        .set(|settings| settings.max_wait_parallel = Duration::from_secs(7200))
        .go(&["published", "timeout"]);
    assert_eq!(waited(&played), 7200, "parallel orders have a longer bound");
}

#[test]
fn ord_12_a_stage_ends_before_a_call_that_might_not_end_in_it() {
    let played = Play::of(UNDOES).sequential().go(&["+3m 200", "+3m 200"]);
    assert_eq!((played.statuses().as_str(), timeouts(&played)), ("wait, success", vec![240_000; 2]));
    // Many short ones, none of which is cut: 25 elements of 11 s are done in a stage, and the others in the next.
    let many = "  a: {actions: [{each: {in: '${params.list}', atOnce: 1, actions: [{http: {url: 'http://h/1', timeout: 20s}}]}}], on: {success: done, fail: done}}
  done: {kind: terminal}\n";
    let mut play = Play::of(many).sequential();
    play.params = Arc::new(json!({"list": (0..39).collect::<Vec<_>>()}));
    let played = play.go(&["+11s 200"; 39]);
    assert_eq!((played.statuses().as_str(), timeouts(&played)), ("wait, success", vec![20_000; 39]));
    // The same where the limit is that of the deployment, 30 s.
    let plain = UNDOES.replace(", timeout: 4m", "");
    let played = Play::of(&plain).sequential().go(&["+10s 200", "+10s 200"]);
    assert_eq!((played.statuses().as_str(), timeouts(&played)), ("success", vec![30_000; 2]));
}
