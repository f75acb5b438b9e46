//! Failures and their retries: ERR-4, ERR-5, ERR-8 to ERR-11, ORD-12.

use super::*;

/// A scenario with one call; its state fails to `failed`.
const ONE: &str = "  a: {actions: [{http: {url: 'http://h/a'}}], on: {success: done, fail: failed}}
  done: {kind: terminal}
  failed: {kind: terminal, outcome: fail}\n";

/// The actions in place of that call.
fn actions(list: &str) -> String {
    ONE.replace("{http: {url: 'http://h/a'}}", list)
}

fn script(code: &str) -> String {
    actions(&format!("{{script: '{code}'}}"))
}

#[test]
fn err_4_the_first_class_that_fits_decides_and_without_one_nothing_is_retried() {
    for (answers, statuses, class) in [
        // 503 fits `busy` and `slow`; `busy` stands first.
        (&["503", "503", "503", "503"][..], "retry, retry, retry, fail", "busy"),
        (&["504", "504"][..], "retry, fail", "slow"),
        (&["500"][..], "fail", "lost"),
        (&["404"][..], "fail", "none"),
        (&["dark"][..], "fail", "none"),
    ] {
        let played = play(ONE, answers);
        assert_eq!((played.statuses().as_str(), played.class().as_str()), (statuses, class), "{answers:?}");
    }
}

#[test]
fn err_5_a_class_of_the_scenario_is_retried_by_its_policy() {
    let busy = play(&script(r#"fail("no", "busy")"#), &[]);
    assert_eq!((busy.statuses().as_str(), busy.class().as_str()), ("retry, retry, retry, fail", "busy"));
    assert_eq!((busy.delays(), busy.error().message.as_str()), (vec![10, 20, 40], "no"));
    for (code, class) in [(r#"fail("no", "other")"#, "other"), (r#"fail("no")"#, "none"), ("fail()", "none")]
    {
        let played = play(&script(code), &[]);
        assert_eq!((played.statuses().as_str(), played.class().as_str()), ("fail", class), "{code}");
    }
}

#[test]
fn err_5_what_a_script_set_before_it_failed_is_there_at_its_repeat() {
    let code =
        r#"if "n" in vars { vars.n += 1; } else { vars.n = 1; } if vars.n < 3 { fail("not yet", "busy"); }"#;
    let played = play(&script(code), &[]);
    assert_eq!(
        (played.statuses().as_str(), &played.last().snapshot.vars["n"]),
        ("retry, retry, success", &json!(3))
    );
}

#[test]
fn err_8_waits_grow_and_retry_after_is_their_lower_bound() {
    for (answers, delays) in [
        (&["503", "503", "503", "200"][..], vec![10, 20, 40]),
        (&["503 retry-after=60", "503", "200"][..], vec![60, 20]),
        (&["429 retry-after=3", "200"][..], vec![10]),
        (&["503 retry-after=Thu, 01 Jan 2026 00:02:00 GMT", "200"][..], vec![120]),
        (&["503 retry-after=Wed, 31 Dec 2025 00:00:00 GMT", "200"][..], vec![10]),
        // Only 429 and 503 may ask.
        (&["504 retry-after=60", "200"][..], vec![10]),
    ] {
        let played = play(ONE, answers);
        assert_eq!((played.delays(), played.path().as_str()), (delays, "success done"), "{answers:?}");
    }
}

#[test]
fn err_8_a_pause_is_believed_as_far_as_the_deployment_believes_it() {
    for (believed, delay) in [(300, 300), (900, 900), (3600, 3600), (7200, 4000)] {
        let play = Play::of(ONE).set(|settings| settings.max_retry_after = Duration::from_secs(believed));
        let played = play.go(&["503 retry-after=4000", "200"]);
        assert_eq!(played.delays(), [delay], "{believed}");
    }
}

#[test]
fn err_8_jitter_follows_the_dice() {
    let text = ERRORS.replace("jitter: 0, max_attempts: 3", "jitter: 0.5, max_attempts: 3");
    for (dice, expected) in [(0.0, 5), (0.5, 10), (1.0, 15)] {
        let play = Play::of(ONE).errors(&text);
        let now: Timestamp = START.parse().unwrap();
        let nothing = serde_json::Map::new();
        let input = input(&play.params, &nothing, Snapshot::default(), Wake::Start, now);
        let mut stage =
            Stage::resume(play.scenario.clone(), Arc::new(play.settings), play.facts, input, now).unwrap();
        assert!(matches!(stage.next(now), Need::Http(_)));
        let Need::Done(end) = stage.answer(said("503"), now, dice) else { panic!("it goes on") };
        let Then::Retry { at, .. } = end.then else { panic!("{end:?}") };
        assert_eq!(at.as_second() - now.as_second(), expected, "{dice}");
    }
}

#[test]
fn err_9_a_cycle_ends_with_success_another_class_its_attempts_or_its_time() {
    let two = actions("{http: {url: 'http://h/1'}}, {http: {url: 'http://h/2'}}");
    for (answers, statuses, class) in [
        // Attempts count from 1 for the second action: the first one's success ended its cycle.
        (
            &["503", "503", "503", "200", "503", "503", "503", "200"][..],
            "retry, retry, retry, retry, retry, retry, success",
            "",
        ),
        // Another class begins another cycle, with attempts of its own.
        (&["504", "503", "504", "503", "200", "200"][..], "retry, retry, retry, retry, success", ""),
        (&["504", "503", "504", "504"][..], "retry, retry, retry, fail", "slow"),
        // A class without a policy.
        (&["503", "500"][..], "retry, fail", "lost"),
        (&["503", "dark"][..], "retry, fail", "none"),
        // `max_duration: 20s`, 8 seconds each: the third would begin after 24.
        (&["down", "down", "down"][..], "retry, retry, fail", "down"),
        (&["down", "+5s down"][..], "retry, fail", "down"),
    ] {
        let played = play(&two, answers);
        assert_eq!(played.statuses(), statuses, "{answers:?}");
        if !class.is_empty() {
            assert_eq!(
                (played.class().as_str(), played.path().as_str()),
                (class, "fail failed"),
                "{answers:?}"
            );
        }
    }
}

#[test]
fn err_9_the_general_limit_of_a_cycle_holds_for_every_policy() {
    let text = ERRORS.replace("max_cycle_duration: 1d", "max_cycle_duration: 35s");
    let played = Play::of(ONE).errors(&text).go(&["503", "503", "503"]);
    assert_eq!((played.statuses().as_str(), played.delays()), ("retry, retry, fail", vec![10, 20]));
}

#[test]
fn err_9_classes_that_come_by_turns_end_with_the_total_of_their_place() {
    let text = ERRORS.replace("max_cycle_duration: 1d", "max_cycle_duration: 1d, max_total_duration: 45s");
    let text = text.replace(
        "    max_cycle_duration: 1d, max_total_duration: 45s",
        "    max_cycle_duration: 1d\n    max_total_duration: 45s",
    );
    // Each change of class begins a cycle of its own, and none of them is over.
    let turns = ["503", "504", "503", "504", "503"];
    let played = Play::of(ONE).errors(&text).go(&turns);
    assert_eq!(
        (played.statuses().as_str(), played.class().as_str()),
        ("retry, retry, retry, retry, fail", "busy")
    );
    assert_eq!(play(ONE, &[&turns[..], &["200"]].concat()).path(), "success done", "a week is far away");
    // What went through in between ends it.
    let two = actions("{http: {url: 'http://h/1'}}, {http: {url: 'http://h/2'}}");
    let played = Play::of(&two).errors(&text).go(&["503", "504", "503", "200", "503", "504", "503", "200"]);
    assert_eq!(played.path(), "success done");
}

#[test]
fn err_9_a_failure_is_handled_by_a_branch_of_the_scenario() {
    let text = "  a: {actions: [{http: {url: 'http://h/a'}}], on: {success: done, fail: b}}
  b: {actions: [{http: {url: 'http://h/b', body: '${response.status}'}}], on: {success: done, fail: a}}
  done: {kind: terminal}\n";
    let played = play(text, &["503", "503", "503", "503", "404", "503", "200"]);
    assert_eq!((played.path().as_str(), played.body(4)), ("fail b, fail a, success done", json!(503)));
    assert!(matches!(&played.last().then, Then::End { error: None, .. }), "it ended well");
}

#[test]
fn ord_12_a_sequential_order_holds_its_queue_in_retries_for_so_long_in_all() {
    let held = |play: Play, answers: &[&str]| {
        play.set(|settings| settings.max_acquisition_duration = Duration::from_secs(45))
            .go(answers)
            .statuses()
    };
    let busy = ["503", "503", "503"];
    assert_eq!(held(Play::of(ONE).sequential(), &busy), "retry, retry, fail");
    assert_eq!(held(Play::of(ONE), &["503", "503", "503", "200"]), "retry, retry, retry, success");
    // Every change of class begins a new cycle, but no new hold of the queue.
    let mixed = ["503", "504", "503", "504", "503"];
    assert_eq!(held(Play::of(ONE).sequential(), &mixed), "retry, retry, retry, retry, fail");
    // Nor does a success in between: the second action has what the first one left, in another state, too.
    let two = actions("{http: {url: 'http://h/1'}}, {http: {url: 'http://h/2'}}");
    let parts = ["503", "503", "200", "503", "503"];
    assert_eq!(held(Play::of(&two).sequential(), &parts), "retry, retry, retry, fail");
    let states = "  a: {actions: [{http: {url: 'http://h/1'}}], on: {success: b, fail: bad}}
  b: {actions: [{http: {url: 'http://h/2'}}], on: {success: done, fail: bad}}
  done: {kind: terminal}
  bad: {kind: terminal, outcome: fail}\n";
    assert_eq!(held(Play::of(states).sequential(), &parts), "retry, retry, retry, fail");
    // An order that gave its queue up holds nobody back.
    let free = actions("release, {http: {url: 'http://h/1'}}");
    let more = ["503", "503", "503", "200"];
    assert_eq!(held(Play::of(&free).sequential(), &more), "retry, retry, retry, success");
}

#[test]
fn err_10_the_mode_says_whether_time_in_the_ready_queue_counts() {
    let answers = ["down", "late 15s", "down", "late 1h", "down"];
    assert_eq!(play(ONE, &answers[..3]).statuses(), "retry, fail");
    let text = format!("retry_duration_control: {{mode: run_and_suspending_durations}}{ERRORS}");
    assert_eq!(Play::of(ONE).errors(&text).go(&answers).statuses(), "retry, retry, fail");
}

/// Three calls; the second and third use answers of those before them.
const CHAIN: &str = "{http: {url: 'http://h/1', name: one, save: {id: '${response.body.id}'}}}, \
     {http: {url: 'http://h/2/${response.body.id}', body: {id: '${response.body.id}'}, name: two}}, \
     {http: {url: 'http://h/3', body: ['${responses.one.body.id}', '${responses.two.body.id}', '${vars.id}']}}";

#[test]
fn err_11_a_retry_resumes_at_the_failed_action_with_all_that_came_before() {
    let answers =
        ["200 {\"id\": 1}", "503 {\"id\": 8}", "down", "504", "200 {\"id\": 2}", "503 {\"id\": 9}", "200"];
    let played = play(&actions(CHAIN), &answers);
    let urls: Vec<&str> = played.http().iter().map(|call| call.url.as_str()).collect();
    assert_eq!(
        urls,
        [
            "http://h/1",
            "http://h/2/1",
            "http://h/2/1",
            "http://h/2/1",
            "http://h/2/1",
            "http://h/3",
            "http://h/3"
        ]
    );
    for call in 1..=4 {
        assert_eq!(played.body(call), json!({"id": 1}), "repeat {call} is the same call");
    }
    assert_eq!((played.body(5), played.body(6)), (json!([1, 2, 1]), json!([1, 2, 1])));
    assert_eq!(played.path(), "success done");
    let cursor = &played.ends[0].snapshot;
    assert_eq!((cursor.visit.state.as_deref(), cursor.main.action), (Some("a"), 1));
}

#[test]
fn err_11_a_call_is_classified_by_the_url_that_was_called() {
    // Rendered after the answer, the URLs would be others, or none at all.
    for list in [
        "{http: {url: 'http://h/1'}}, {http: {url: 'http://h/${response.body.id}'}}",
        "{http: {url: 'http://h/1', request: r}}, {http: {url: 'http://h/2?to=${request.id}', request: s}}",
    ] {
        let played = play(&actions(list), &["200 {\"id\": 1}", "503", "404"]);
        assert_eq!(played.statuses(), "retry, fail", "{list}");
        assert!(played.error().message.starts_with("GET h/"), "{}", played.error().message);
    }
}

#[test]
fn err_2_what_the_scenario_expects_is_no_failure() {
    let text = actions("{http: {url: 'http://h/a', expect: [404, 503]}}");
    for answer in ["404", "503", "200"] {
        assert_eq!(play(&text, &[answer]).statuses(), "success", "{answer}");
    }
    assert_eq!(play(&text, &["504", "200"]).statuses(), "retry, success");
    let text = ERRORS.replace("[503, 504]", "[200]").replace("\"/**\"", "/a");
    assert_eq!(Play::of(ONE).errors(&text).go(&["200", "200"]).statuses(), "retry, fail");
}

#[test]
fn err_1_a_parameter_cannot_lead_a_call_to_another_path() {
    for (value, is_sent) in [("..", false), (".", false), ("%2e%2E", true), ("...", true), ("a.b", true)] {
        let mut one = Play::of(&actions("{http: {url: 'http://h/a/${params.p}/b'}}"));
        one.params = Arc::new(json!({"p": value}));
        let played = one.go(if is_sent { &["200"] } else { &[] });
        assert_eq!(played.http().len(), usize::from(is_sent), "{value}");
        assert!(is_sent || played.class() == "script.error", "{value}");
    }
}

#[test]
fn ord_20_an_error_holds_no_character_that_the_database_refuses() {
    let played = play(ONE, &["500 \"a\u{0}b\""]);
    assert!(!played.error().message.contains('\0'), "{:?}", played.error());
    let said = play(&actions("{script: 'message(\"m\\u0000\"); fail(\"x\\u0000\", \"c\\u0000\")'}"), &[]);
    let error = said.error();
    assert_eq!((error.message.as_str(), error.class.as_deref()), ("x\u{fffd}", Some("c\u{fffd}")));
    assert_eq!(said.last().snapshot.message.as_deref(), Some("m\u{fffd}"));
}

/// A call with another way, which may refuse.
const BACKUP: &str = "  a: {actions: [{http: {url: 'http://h/1'}}], on: {success: done, fail: backup}}
  backup: {actions: [{http: {url: 'http://h/2'}}, {script: 'if response.body == \"no\" { event(\"refuse\") }'}], on: {success: tell, refuse: refused, fail: undo}}
  tell: {actions: [{http: {url: 'http://h/3', body: '${error}'}}, {script: 'if response.body == \"no\" { event(\"refuse\") }'}], on: {success: done, refuse: refused, fail: undo}}
  undo: {actions: [{http: {url: 'http://h/undo'}}], on: {success: failed, fail: failed}}
  done: {kind: terminal}
  refused: {kind: terminal, outcome: fail}
  failed: {kind: terminal, outcome: fail}\n";

#[test]
fn ord_20_an_end_has_the_failure_that_led_to_it_and_none_that_was_got_over() {
    let error = |answers: &[&str]| {
        let played = play(BACKUP, answers);
        let Then::End { status: Status::Fail, error, .. } = &played.last().then else { panic!("{played:?}") };
        (played.path(), error.as_ref().map(|error| error.message.clone()))
    };
    let (path, led) = error(&["500", "200 no"]);
    assert_eq!((path.as_str(), led), ("fail backup, refuse refused", None), "a decision");
    let (path, led) = error(&["500", "200 yes", "200 no"]);
    assert_eq!((path.as_str(), led), ("fail backup, success tell, refuse refused", None), "got over");
    let (_, led) = error(&["500", "500", "200"]);
    assert!(led.unwrap().contains("h/2"), "undoing what was done is no way around the failure");
    assert_eq!(play(BACKUP, &["500", "200 yes", "200"]).body(2), Value::Null, "nothing failed that led here");
}

#[test]
fn ord_18_a_failure_is_exhausted_where_its_own_repeats_did_not_help() {
    let text = "  a: {actions: [{http: {url: 'http://h/1'}}, {script: 'if response.body == \"no\" { fail(\"credit refused\", \"biz.refused\") }'}], on: {success: done, fail: failed}}
  done: {kind: terminal}
  failed: {kind: terminal, outcome: fail}\n";
    let exhausted = |answers: &[&str]| play(text, answers).error().exhausted;
    assert!(exhausted(&["503", "503", "503", "503"]));
    assert!(!exhausted(&["503", "200 no"]), "the repeat helped, and the business refused");
    assert!(!exhausted(&["500"]), "no policy repeats it");
    assert!(!exhausted(&["503", "500"]), "another failure, which nobody repeated");
    let polls = "  a: {kind: polling, poll: {interval: 1m, timeout: 15s}, actions: [{http: {url: 'http://h/1'}}, {script: 'poll()'}], on: {success: done, fail: failed, timeout: failed}}
  done: {kind: terminal}
  failed: {kind: terminal, outcome: fail}\n";
    assert!(
        play(polls, &["503", "503", "503"]).error().exhausted,
        "it was repeated until the polling was over"
    );
    assert!(!play(polls, &["200", "200"]).error().exhausted);
}

#[test]
fn ord_18_an_answer_that_never_came_is_exhausted_after_its_repeats() {
    let asks = "  a: {entryPoint: true, actions: [{amqp: {exchange: e, key: k, request: r}}, {wait: {timeout: 1m}}], on: {wait: w, fail: failed}}
  w: {kind: waiting, on: {callback: done, timeout: failed}}
  done: {kind: terminal}
  failed: {kind: terminal, outcome: fail}\n";
    let repeated = super::asynchronous::with_rules(asks);
    let played = repeated.go(&["published", "timeout", "published", "timeout", "published", "timeout"]);
    assert!(played.error().exhausted, "{:?}", played.error());
    assert!(!play(asks, &["published", "timeout"]).error().exhausted);
}
