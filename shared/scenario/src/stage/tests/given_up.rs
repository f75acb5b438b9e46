//! Calls that give requests up: when they are rendered, and what is stored of them (SCN-22).

use super::*;
use crate::value::Secrets;

fn asking(action: &str, cancel: &str) -> String {
    format!(
        "  a: {{entryPoint: true, actions: [{{{action}, request: r, cancel: {{http: {cancel}}}}}}}, {{wait: {{timeout: 5m}}}}], on: {{wait: w, fail: failed}}}}
  w: {{kind: waiting, on: {{callback: done, timeout: failed, 'call:stop': failed}}}}
  done: {{kind: terminal}}
  failed: {{kind: terminal, outcome: fail}}\n"
    )
}

/// The position of the order at each registration, and the end of the stage.
fn first_stage(play: Play, answers: &[&str]) -> (Vec<Cancel>, StageEnd) {
    let input = input(
        &play.params,
        &serde_json::Map::new(),
        Snapshot::default(),
        Wake::Start,
        START.parse().unwrap(),
    );
    let mut stage =
        Stage::resume(play.scenario, Arc::new(play.settings), play.facts, input, START.parse().unwrap())
            .unwrap();
    let (mut cancels, mut answers) = (Vec::new(), answers.iter());
    let mut need = stage.next(START.parse().unwrap());
    loop {
        let answer = match need {
            Need::Register { cancel, .. } => {
                cancels.push(cancel);
                Answer::Registered(RequestId(Uuid::from_u128(cancels.len() as u128)))
            }
            Need::Done(end) => return (cancels, *end),
            _ => said(answers.next().expect("an answer")),
        };
        need = stage.answer(answer, START.parse().unwrap(), 0.25);
    }
}

#[derive(Debug)]
struct Known;

impl Secrets for Known {
    fn secret(&self, name: &str) -> Option<String> {
        (name != "none").then(|| format!("{name}/\"<&>\"/value"))
    }
}

#[test]
fn scn_22_a_call_that_needs_no_answer_is_stored_with_its_request_and_without_secrets() {
    let cancel = "{method: DELETE, url: 'http://h/jobs/${params.n}?k=${secret.key}', headers: {X-Id: '${request.id}', X-Key: 'k ${secret.key}'}, \
                  auth: {username: '${secret.user}', password: '${secret.key}'}, body: {to: '${request.url}', key: '${secret.key}'}, timeout: 3s, expect: 404}";
    let play = Play::of(&asking("http: {url: 'http://h/ask', body: {}", cancel))
        .set(|settings| settings.secrets = Arc::new(Known));
    let (cancels, end) = first_stage(play, &["202"]);
    let stored = cancels[0].call().unwrap();
    assert!(!stored.contains("value") && end.cancels.is_empty() && !end.gives_up, "{stored}");
    let call = CancelCall::read(stored).unwrap();
    let (request, key) = (RequestId(Uuid::from_u128(7)), Uuid::from_u128(9));
    let made = call.call(request, key, &Known).unwrap();
    assert_eq!(
        (made.method.as_str(), made.idempotency_key, made.timeout),
        ("DELETE", key, Duration::from_secs(3))
    );
    assert_eq!(made.url, "http://h/jobs/7?k=key%2F%22%3C%26%3E%22%2Fvalue");
    let header = |name: &str| made.headers.iter().find(|(known, _)| known == name).unwrap().1.clone();
    assert_eq!((header("X-Id"), header("X-Key")), (request.to_string(), "k key/\"<&>\"/value".to_owned()));
    assert_eq!(header("Authorization"), format!("Basic {}", base64("user/\"<&>\"/value:key/\"<&>\"/value")));
    let body: Value = serde_json::from_slice(&made.body.unwrap().bytes).unwrap();
    assert_eq!(
        body,
        json!({"to": format!("http://engine/v1/callbacks/{request}"), "key": "key/\"<&>\"/value"})
    );
    let mut secrets = made.secrets.to_vec();
    secrets.sort();
    assert_eq!(secrets, ["key", "user"]);
    for (status, taken) in [(200, true), (302, true), (404, true), (409, false), (500, false)] {
        assert_eq!(call.is_taken(status), taken, "{status}");
    }
}

fn base64(text: &str) -> String {
    use ::base64::Engine as _;
    ::base64::engine::general_purpose::STANDARD.encode(text)
}

#[test]
fn scn_22_secrets_are_written_as_the_body_wants_them() {
    for (body, expected) in [
        (
            "body: {xml: '<a b=\"${secret.key}\">${secret.key}</a>'}",
            "<a b=\"key/&quot;&lt;&amp;&gt;&quot;/value\">key/&quot;&lt;&amp;&gt;&quot;/value</a>",
        ),
        ("soap: '1.1', body: {xml: '<a>${secret.key}</a>'}", "<a>key/&quot;&lt;&amp;&gt;&quot;/value</a>"),
        (
            "form: {a: '${secret.key}', b: '${request.id}'}",
            "a=key%2F%22%3C%26%3E%22%2Fvalue&b=00000000-0000-0000-0000-000000000007",
        ),
        ("text: 'a ${secret.key}'", "a key/\"<&>\"/value"),
    ] {
        let play = Play::of(&asking(
            "http: {url: 'http://h/ask', body: {}",
            &format!("{{url: 'http://h/x', {body}}}"),
        ))
        .set(|settings| settings.secrets = Arc::new(Known));
        let (cancels, _) = first_stage(play, &["202"]);
        let call = CancelCall::read(cancels[0].call().unwrap()).unwrap();
        let made = call.call(RequestId(Uuid::from_u128(7)), Uuid::from_u128(9), &Known).unwrap();
        let text = String::from_utf8(made.body.unwrap().bytes).unwrap();
        assert!(text.contains(expected), "{text}");
    }
    // One that the deployment does not have is missed when the call is made.
    let play = Play::of(&asking("amqp: {exchange: e, key: k", "{url: 'http://h/x?k=${secret.none}'}"));
    let (cancels, _) = first_stage(play, &["published"]);
    let call = CancelCall::read(cancels[0].call().unwrap()).unwrap();
    let missed = call.call(RequestId(Uuid::from_u128(7)), Uuid::from_u128(9), &Known).unwrap_err();
    assert!(missed.contains("no secret `none`"), "{missed}");
}

#[test]
fn scn_22_a_call_that_needs_the_answer_is_known_when_that_has_come() {
    let states = asking(
        "http: {url: 'http://h/ask', body: {}",
        "{method: DELETE, url: 'http://h/jobs/${response.body.id}'}",
    );
    let (cancels, end) = first_stage(Play::of(&states), &["202 {\"id\": \"j/1\"}"]);
    assert_eq!(cancels, [Cancel::Later]);
    let [(request, call)] = end.cancels.as_slice() else { panic!("{:?}", end.cancels) };
    let made = CancelCall::read(call).unwrap().call(*request, Uuid::nil(), &Known).unwrap();
    assert_eq!((made.url.as_str(), *request), ("http://h/jobs/j%2F1", RequestId(Uuid::from_u128(1))));
    // An answer that says nothing of it costs the order nothing.
    let (_, end) = first_stage(Play::of(&states), &["202 {}"]);
    assert!(end.cancels.is_empty() && matches!(end.then, Then::Wait { .. }), "{:?}", end.then);
    assert!(end.log.iter().any(|line| line.text.contains("`cancel` cannot be rendered")), "{:?}", end.log);
}

#[test]
fn scn_22_elements_of_an_each_are_given_up_one_by_one() {
    let states = "  a: {entryPoint: true, actions: [{each: {in: [x, y], as: one, actions: [{http: {url: 'http://h/ask', body: {}, request: r, cancel: {http: {method: DELETE, url: 'http://h/${one}/${response.body.id}'}}}}]}}, {wait: {timeout: 5m}}], on: {wait: w, fail: done}}
  w: {kind: waiting, on: {callback: done, timeout: done}}
  done: {kind: terminal}\n";
    let input = |play: &Play| {
        input(&play.params, &serde_json::Map::new(), Snapshot::default(), Wake::Start, START.parse().unwrap())
    };
    let play = Play::of(states);
    let input = input(&play);
    let now: Timestamp = START.parse().unwrap();
    let mut stage = Stage::resume(play.scenario, Arc::new(play.settings), play.facts, input, now).unwrap();
    let (mut registered, mut need) = (0_u128, stage.next(now));
    let end = loop {
        let answer = match need {
            Need::Register { cancel, .. } => {
                assert_eq!(cancel, Cancel::Later);
                registered += 1;
                Answer::Registered(RequestId(Uuid::from_u128(registered)))
            }
            Need::Parallel(calls) => said_at_once("202 {\"id\": 1} | 202 {\"id\": 2}", calls.len()),
            Need::Done(end) => break end,
            other => panic!("{other:?}"),
        };
        need = stage.answer(answer, now, 0.5);
    };
    let urls: Vec<String> = end
        .cancels
        .iter()
        .map(|(id, call)| CancelCall::read(call).unwrap().call(*id, Uuid::nil(), &Known).unwrap().url)
        .collect();
    assert_eq!(urls, ["http://h/x/1", "http://h/y/2"]);
}

#[test]
fn scn_22_an_end_gives_up_what_is_open_where_the_scenario_says_how() {
    let states = asking("amqp: {exchange: e, key: k", "{url: 'http://h/x'}");
    let ended = Play::of(&states).go(&["published", "call stop"]);
    assert!(ended.last().gives_up, "{:?}", ended.last().then);
    let without = "  a: {actions: [{log: x}], on: {success: done}}\n  done: {kind: terminal}\n";
    assert!(!play(without, &[]).last().gives_up);
}

/// A call with request `r`, which is given up by the id in the answer.
fn job(path: &str) -> String {
    format!(
        "{{http: {{url: 'http://h/{path}', request: r, cancel: {{http: {{method: DELETE, url: 'http://h/jobs/${{response.body.id}}'}}}}}}}}"
    )
}

/// The calls that give up what the first stage has sent.
fn given_up(play: Play, answers: &[&str]) -> Vec<String> {
    let (_, end) = first_stage(play, answers);
    let url = |(id, call): &(RequestId, String)| {
        CancelCall::read(call).unwrap().call(*id, Uuid::nil(), &Known).unwrap().url
    };
    end.cancels.iter().map(url).collect()
}

#[test]
fn scn_22_what_was_sent_is_given_up_although_its_name_was_asked_again_in_vain() {
    let states = format!(
        "  a: {{actions: [{}, {{http: {{url: 'http://h/2'}}}}], on: {{success: done, fail: b}}}}
  b: {{actions: [{}], on: {{success: done, fail: done}}}}
  done: {{kind: terminal}}\n",
        job("1"),
        job("3")
    );
    let answers = ["202 {\"id\": 1}", "404", "404"];
    assert_eq!(given_up(Play::of(&states), &answers), ["http://h/jobs/1"]);
}

#[test]
fn scn_22_scn_19_requests_around_and_inside_of_an_operation_are_given_up_as_well() {
    let states = format!(
        "  a: {{actions: [{}, {{do: {{operation: op}}}}], on: {{success: done, fail: done}}}}\n  done: {{kind: terminal}}\n",
        job("1")
    );
    let text = format!("scenario: s\ninitialState: a\nstates:\n{states}");
    let asks = format!("scenario: op\nkind: operation\nactions: [{}, {{wait: {{timeout: 5m}}}}]\n", job("2"));
    let answers = ["202 {\"id\": 1}", "202 {\"id\": 2}"];
    let mut calls = given_up(Play::with_operations(&text, &[&asks]), &answers);
    calls.sort();
    assert_eq!(calls, ["http://h/jobs/1", "http://h/jobs/2"], "the order rests in the operation");
    let fails = asks.replace("{wait: {timeout: 5m}}", "{http: {url: 'http://h/3'}}, {wait: {timeout: 5m}}");
    let answers = ["202 {\"id\": 1}", "202 {\"id\": 2}", "404"];
    let mut calls = given_up(Play::with_operations(&text, &[&fails]), &answers);
    calls.sort();
    assert_eq!(calls, ["http://h/jobs/1", "http://h/jobs/2"], "the operation has failed");
}
