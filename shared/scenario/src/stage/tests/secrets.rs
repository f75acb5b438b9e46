//! Secrets (SCN-15): what is sent may hold them, what is reported must not.

use super::*;

/// A secret with characters that URLs and JSON spell in another way.
const SECRET: &str = "p\"a/ss wörd";

fn states(list: &str) -> String {
    format!(
        "  a: {{actions: [{list}], on: {{success: b, fail: failed}}}}
  b: {{actions: [{{http: {{url: 'http://h/b'}}}}, {{script: 'log(\"\" + vars); result(vars); message(\"\" + vars)'}}], on: {{success: done, fail: failed}}}}
  done: {{kind: terminal}}
  failed: {{kind: terminal, outcome: fail}}\n"
    )
}

fn known(list: &str, answers: &[&str]) -> Played {
    Play::of(&states(list)).secret("key", SECRET).go(answers)
}

/// Everything that a play reported: history, errors, results, suspensions.
fn reported(played: &Played) -> String {
    let lines = played.ends.iter().map(|end| {
        let snapshot = &end.snapshot;
        let rest = snapshot.main.rest.as_ref().map(|rest| &rest.error);
        format!(
            "{} {:?} {:?} {rest:?} {:?} {:?} {:?}\n",
            json!([end.transitions, end.log, end.steps]),
            end.then,
            end.answers,
            snapshot.error,
            snapshot.result,
            snapshot.message
        )
    });
    lines.collect()
}

/// Fails if any spelling of the secret, or a part of it, is reported.
#[track_caller]
fn assert_kept(played: &Played) {
    let text = reported(played);
    for part in ["a/ss", "a%2Fss", "ss wörd", "ss%20w", "p\\\"a"] {
        assert!(!text.contains(part), "`{part}` in {text}");
    }
    assert!(text.contains("***"), "{text}");
}

#[test]
fn scn_15_a_secret_is_sent_and_not_reported() {
    let list = "{http: {url: 'http://h/${secret.key}/x', headers: {X-Key: 'k ${secret.key}'}, auth: {bearer: '${secret.key}'}, body: {k: '${secret.key}'}}}";
    // The error names the URL, and quotes an answer that echoes the secret.
    let echo = format!("503 {}", json!({"you said": SECRET}));
    for answers in [&["down", "down", "down"][..], &[&echo, "404 nothing"], &["404 nothing"]] {
        let sent = known(list, answers);
        let call = sent.http()[0];
        assert_eq!(call.headers[0].1, format!("k {SECRET}"));
        assert_eq!(
            (sent.body(0), call.url.as_str()),
            (json!({"k": SECRET}), "http://h/p%22a%2Fss%20w%C3%B6rd/x")
        );
        assert_kept(&sent);
    }
}

#[test]
fn scn_15_a_constant_that_is_a_secret_is_sent_and_not_reported() {
    let list = "{script: 'log(config.crm.api_key); vars.key = config.crm.api_key'}, {http: {url: 'http://h/a', headers: {X-Key: '${config.crm.api_key}'}, save: {echo: '${response.body}'}}}";
    let echo = json!({"you said": SECRET});
    for answers in [&[&*format!("503 {echo}"), "404 nothing"][..], &[&*format!("200 {echo}"), "200"]] {
        let constants = json!({"crm": {"api_key": SECRET}});
        let play = Play::of(&states(list)).set(|settings| {
            settings.secret_constants = Arc::new(crate::Concealed::of_constants(&constants));
            settings.constants = Arc::new(constants);
        });
        let played = play.go(answers);
        assert_eq!(played.http()[0].headers[0].1, SECRET);
        assert_kept(&played);
        assert_eq!(played.last().snapshot.vars["key"], "***");
    }
}

#[test]
fn scn_15_a_quotation_never_ends_in_the_middle_of_a_secret() {
    let list = "{http: {url: 'http://h/a', headers: {X-Key: '${secret.key}'}}}";
    for before in 180..198 {
        assert_kept(&known(list, &[&format!("404 {}{SECRET}", "x".repeat(before))]));
    }
}

#[test]
fn scn_15_what_was_saved_from_an_echo_is_not_reported_by_a_later_stage_either() {
    let list =
        "{http: {url: 'http://h/a', headers: {X-Key: '${secret.key}'}, save: {echo: '${response.body}'}}}";
    let echo = format!("200 {}", json!({ SECRET: [SECRET] }));
    let played = known(list, &[&echo, "503", "200"]);
    assert_kept(&played);
    assert_eq!(played.last().snapshot.result, Some(json!({"echo": {"***": ["***"]}})));
    let long = format!("200 {}", json!("y".repeat(1990) + SECRET));
    assert_kept(&known(list, &[&long, "200"]));
}

#[test]
fn scn_15_a_call_that_finds_the_order_in_a_retry_is_not_given_its_secret() {
    let text = "  a: {actions: [{http: {url: 'http://h/a', auth: {bearer: '${secret.key}'}}}], on: {success: done, fail: failed}}
  done: {kind: terminal}
  failed: {kind: terminal, outcome: fail}
calls: {ask: {actions: [{parallel: [{http: {name: x, url: 'http://h/${secret.key}'}}]}], answer: '${responses.x.body}'}}\n";
    let echo = json!({"you said": SECRET}).to_string();
    let answers = [format!("503 {echo}"), "call ask".into(), format!("200 {echo}"), "200".into()];
    let answers: Vec<&str> = answers.iter().map(String::as_str).collect();
    let played = Play::of(text).secret("key", SECRET).go(&answers);
    assert_eq!(played.replies(), [json!({"you said": "***"})]);
    assert_kept(&played);
}

#[test]
fn scn_15_a_secret_that_is_not_there_is_a_failure_of_its_class_before_anything_is_sent() {
    for list in [
        "{http: {url: 'http://h/${secret.other}'}}",
        "{http: {url: 'http://h/a', headers: {X: '${secret.other}'}}}",
        "{http: {url: 'http://h/a', form: {x: '${secret.other}'}}}",
        "{parallel: [{http: {name: a, url: 'http://h/a', auth: {bearer: '${secret.other}'}}}]}",
        "{amqp: {exchange: e, key: k, body: ['${secret.other}']}}",
    ] {
        let played = known(list, &[]);
        assert_eq!((played.calls.len(), played.class().as_str()), (0, "secret.missing"), "{list}");
        assert!(played.error().message.contains("`other`"), "{:?}", played.error());
    }
}

#[test]
fn scn_15_a_secret_that_is_kept_from_a_target_is_a_failure_of_its_class_that_no_policy_repeats() {
    let rules = "{sync: {classification: {rules: {all: {requests: [{path: '/**'}], classes: {down: {exceptions: [{name_keyword: HttpError}]}}}}}, retry: {max_cycle_duration: 1d, policies: {all: {error_classes: ['*'], parameters: {initial_interval: 10s, multiplier: 2, max_interval: 1m, jitter: 0, max_attempts: 3}}}}}}";
    let call = "http: {url: 'http://h/a', headers: {X: '${secret.key}'}}";
    let message = "amqp: {exchange: e, key: k, body: ['${secret.key}']}";
    for (list, answer) in [
        (format!("{{{call}}}"), "kept"),
        (format!("{{{message}}}"), "withheld"),
        ("{parallel: [{http: {name: a, url: 'http://h/a', auth: {bearer: '${secret.key}'}}}, {http: {name: b, url: 'http://h/b'}}]}".to_owned(), "kept | 503"),
        (format!("{{script: 'vars.list = [1]'}}, {{each: {{in: '${{vars.list}}', actions: [{{{call}}}]}}}}"), "kept"),
        (format!("{{script: 'vars.list = [1]'}}, {{each: {{in: '${{vars.list}}', actions: [{{{message}}}]}}}}"), "withheld"),
    ] {
        let played = Play::of(&states(&list)).errors(rules).secret("key", SECRET).go(&[answer]);
        assert_eq!((played.calls.len(), played.class().as_str()), (1, "secret.forbidden"), "{list}");
        let message = &played.error().message;
        assert!(message.ends_with("the secret `key` may not be sent"), "{message}");
        // Only what was sent beside it counts as a call.
        assert_eq!(played.last().calls.len(), answer.matches('|').count(), "{:?}", played.last().calls);
    }
}

#[test]
fn scn_15_a_child_made_from_an_echo_is_registered_without_the_secret() {
    let list = "{http: {url: 'http://h/a', headers: {X-Key: '${secret.key}'}}}, {order: {scenario: c, transactionId: 't ${response.body.said}', flow: {by: '${response.body.said}'}, params: {it: '${response.body}', n: 7}}}";
    let echo = format!("200 {}", json!({"said": SECRET, SECRET: [format!("x {SECRET}"), 1.5]}));
    let played = known(list, &[&echo, "started", "200"]);
    let Need::Order(ChildOrder { registration, .. }) = &played.calls[1].2 else { panic!("{played:?}") };
    let expected = json!({
        "id": "o-1.1.1.1",
        "scenario": "c",
        "transactionId": "t ***",
        "flow": {"by": "***"},
        "params": {"it": {"said": "***", "***": ["x ***", 1.5]}, "n": 7},
    });
    assert_eq!(*registration, expected);
}

#[test]
fn scn_15_a_short_secret_that_is_a_word_of_a_child_leaves_the_child_what_it_is() {
    let text = "  a: {actions: [{http: {url: 'http://h/a', auth: {bearer: '${secret.key}'}}}, {order: {scenario: high, priority: high, params: {p: high, q: 'so high'}}}], on: {success: done, fail: done}}
  done: {kind: terminal}\n";
    let played = Play::of(text).secret("key", "high").go(&["200", "started"]);
    let Need::Order(ChildOrder { registration, .. }) = &played.calls[1].2 else { panic!("{played:?}") };
    assert_eq!((&registration["scenario"], &registration["priority"]), (&json!("high"), &json!("high")));
    assert_eq!(registration["params"], json!({"p": "***", "q": "so high"}));
}

#[test]
fn scn_15_what_an_order_finds_again_after_a_call_holds_no_secret() {
    let text = "scenario: s
initialState: a
states:
  a: {actions: [{sleep: {for: 1d}}], on: {sleep: s}}
  s: {kind: sleeping, on: {timeout: done}}
  done: {kind: terminal}
calls:
  one: {actions: [{http: {url: 'http://h/${secret.key}', save: {echo: '${response.body}'}}}, {script: 'result(vars.echo); message(vars.echo)'}]}
  two: {actions: [{http: {url: 'http://h/2'}}]}\n";
    let echo = format!("200 {}", json!(SECRET));
    let played = Play::whole(text).secret("key", SECRET).go(&["call one; two", &echo, "503", "200"]);
    assert_eq!(played.statuses(), "sleep, retry, sleep, success");
    for end in &played.ends {
        let kept = end.snapshot.to_text();
        assert!(!kept.contains("a/ss"), "{kept}");
    }
}
