//! Failures as a scenario sees them: `response` and `error` (SCN-5), and durations that it computes (SCN-8).

use pagurus_domain::classes::ACTOR_TIMEOUT;

use super::*;

#[test]
fn scn_5_a_call_without_an_answer_leaves_none_of_the_call_before_it() {
    let text = "  a: {actions: [{http: {url: 'http://h/1', name: one}}, {http: {url: 'http://h/2', name: one}}], on: {success: done, fail: b}}
  b: {actions: [{script: 'result(#{none: response == (), named: \"one\" in responses})'}, {http: {url: 'http://h/3', body: '${response}'}}], on: {success: done, fail: done}}
  done: {kind: terminal}\n";
    let played = play(text, &["200 {\"id\": 1}", "dark", "200"]);
    assert_eq!(played.last().snapshot.result, Some(json!({"none": true, "named": false})));
    assert_eq!(played.body(2), Value::Null);
    let steps = text.replace(
        "{http: {url: 'http://h/2', name: one}}",
        "{parallel: [{http: {name: one, url: 'http://h/2'}}]}",
    );
    let played = play(&steps, &["200 {\"id\": 1}", "dark", "200"]);
    assert_eq!(played.last().snapshot.result, Some(json!({"none": true, "named": false})));
}

#[test]
fn scn_5_error_tells_the_failure_that_led_here() {
    let text = "  a: {actions: [{script: 'vars.before = error == ()'}, {http: {url: 'http://h/1'}}], on: {success: done, fail: b}}
  b: {actions: [{sleep: {for: 1m}}], on: {sleep: c}}
  c: {kind: sleeping, on: {timeout: d}}
  d: {actions: [{script: 'result(#{before: vars.before, error: error})'}, {script: 'if error.status == 404 { message(error.message) }'}], on: {success: done, fail: done}}
  done: {kind: terminal}\n";
    let played = play(text, &["404 gone"]);
    let expected = json!({"before": true, "error": {"class": null, "message": "GET h/1 answered 404: gone", "system": "h", "status": 404}});
    assert_eq!(played.last().snapshot.result, Some(expected), "over a rest, too");
    assert_eq!(played.last().snapshot.message.as_deref(), Some("GET h/1 answered 404: gone"));
    let played =
        play(&text.replace("{http: {url: 'http://h/1'}}", "{script: 'fail(\"no\", \"mine\")'}"), &[]);
    assert_eq!(
        played.last().snapshot.result.as_ref().unwrap()["error"],
        json!({"class": "mine", "message": "no", "system": null, "status": null})
    );
}

#[test]
fn scn_8_retries_inside_a_polling_count_in_its_time() {
    let text = "  a: {kind: polling, poll: {interval: 10s, timeout: 25s}, actions: [{http: {url: 'http://h/1'}}, {script: 'if response.body == \"no\" { poll() }'}], on: {success: done, fail: failed, timeout: late}}
  done: {kind: terminal}
  late: {kind: terminal, outcome: fail}
  failed: {kind: terminal, outcome: fail}\n";
    let ended_after = |played: &Played| {
        let due = played.ends.iter().filter_map(|end| end.then.due_at()).next_back().unwrap();
        due.as_second() - START.parse::<Timestamp>().unwrap().as_second()
    };
    // The second repeat would begin after 30 seconds: it is made when the time is over, as the last try.
    let played = play(text, &["503", "503", "503"]);
    assert_eq!((played.path().as_str(), played.class().as_str()), ("timeout late", "polling.timeout"));
    assert_eq!((ended_after(&played), played.statuses().as_str()), (25, "retry, retry, fail"));
    assert!(played.error().message.contains("503"), "{}", played.error().message);
    assert_eq!(play(text, &["503", "503", "200 yes"]).path(), "success done");
    // One that nothing repeats fails as ever, also in the last try.
    assert_eq!(play(text, &["200 no", "200 no", "200 no", "404"]).path(), "fail failed");
    let script = text.replace(
        "if response.body == \"no\" { poll() }",
        "if response.body == \"no\" { poll() } fail(\"\", \"busy\")",
    );
    assert_eq!(play(&script, &["200 no", "200 no", "200 no", "200 x"]).path(), "timeout late");
}

#[test]
fn scn_8_durations_are_computed_when_the_order_comes_to_them() {
    let waits = |timeout: &str| {
        format!(
        "  a: {{actions: [{{script: 'vars.m = 10'}}, {{http: {{url: 'http://h/1', timeout: '${{params.n}}s', request: r}}}}, {{wait: {{timeout: '{timeout}'}}}}], on: {{wait: w, fail: failed}}}}
  w: {{kind: waiting, on: {{callback: done, timeout: late}}}}
  late: {{kind: terminal, outcome: fail}}
  done: {{kind: terminal}}
  failed: {{kind: terminal, outcome: fail}}\n"
    )
    };
    let until = |played: &Played| {
        played.ends[0].then.due_at().unwrap().as_second() - START.parse::<Timestamp>().unwrap().as_second()
    };
    let played = play(&waits("${vars.m}m"), &["200", "timeout"]);
    assert_eq!((until(&played), played.http()[0].timeout), (600, Duration::from_secs(7)));
    let played = Play::of(&waits("${vars.m}h")).sequential().go(&["200", "timeout"]);
    assert_eq!(until(&played), 3600, "the bounds hold all the same");
    for timeout in ["${vars.m}", "${vars.none}s", "${vars.m - 10}s", "${vars.m}99999999999d"] {
        assert_eq!(play(&waits(timeout), &["200"]).class(), "script.error", "{timeout}");
    }
    let long = waits("1m").replace("${params.n}s", "${params.n}m");
    assert_eq!(play(&long, &[]).class(), "script.error", "no call lasts longer than five minutes");

    let polls = "  a: {kind: polling, poll: {delay: '${params.n}s', interval: '${params.n * 2}s', timeout: '${params.n}m'}, actions: [{http: {url: 'http://h/1'}}, {script: 'if response.body == \"no\" { poll() }'}], on: {success: done, fail: done, timeout: done}}
  done: {kind: terminal}\n";
    let played = play(polls, &["200 no", "200 no", "200 yes"]);
    let due: Vec<i64> = played
        .ends
        .iter()
        .filter_map(|end| {
            Some(end.then.due_at()?.as_second() - START.parse::<Timestamp>().unwrap().as_second())
        })
        .collect();
    assert_eq!(due, [7, 21, 35]);
}

#[test]
fn scn_11_the_times_of_a_task_stay_as_they_were_when_it_was_handed_out_first() {
    let text = "  a: {actions: [{script: 'vars.m = 2'}, {actor: {name: scoring, workTimeout: '${vars.m}m', taskTimeout: '${vars.m * 3}m'}}], on: {success: done, fail: failed}}
  done: {kind: terminal}
  failed: {kind: terminal, outcome: fail}
calls: {ask: {actions: [{script: 'vars.m = 100'}]}}\n";
    let played =
        play(text, &["published", "call ask", "timeout", "published", "timeout", "published", "timeout"]);
    assert_eq!((played.class().as_str(), played.calls.len()), (ACTOR_TIMEOUT, 3));
    let last = played.ends.iter().filter_map(|end| end.then.due_at()).next_back().unwrap();
    assert_eq!(last.as_second() - START.parse::<Timestamp>().unwrap().as_second(), 360);
}
