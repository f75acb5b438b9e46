//! States that are left in the middle of their work: what went through is saved (SCN-17, SCN-9).

use super::again::{Course, fine, json_of, refused};
use super::*;

/// Actions that do something for `x` and for `y`; that for `y` is answered 503.
const KINDS: [(&str, &str, &str); 4] = [
    (
        "each of calls",
        "each: {in: [x, y, z], atOnce: 2, actions: [{http: {url: 'http://h/${item}'}}], save: {got: '${response.body}'}}",
        r#"["r-1", null, null]"#,
    ),
    (
        "each of requests",
        "each: {in: [x, y, z], atOnce: 2, actions: [{http: {url: 'http://h/${item}', request: r}}], save: {got: '${response.body}'}}",
        r#"["r-1", null, null]"#,
    ),
    (
        "each of orders",
        "each: {in: [x, y, z], atOnce: 2, actions: [{order: {scenario: c, wait: true}}, {http: {url: 'http://h/${item}'}}], save: {got: '${response.body}'}}",
        r#"["r-1", null, null]"#,
    ),
    (
        "parallel",
        "parallel: [{http: {name: p, url: 'http://h/x', save: {got: '${response.body}'}}}, {http: {name: q, url: 'http://h/y', save: {more: 1}}}]",
        r#""r-1""#,
    ),
];

fn leaving(action: &str) -> String {
    format!(
        "scenario: s\ninitialState: a\ntimeouts: {{process: 1h}}\ncalls: {{look: {{actions: [{{each: {{in: [1, 2], actions: [{{script: 'item += 1'}}], save: {{looked: '${{item}}'}}}}}}], answer: '${{vars.looked}}'}}}}\nstates:
  a: {{actions: [{{{action}}}], on: {{success: done, fail: undo, 'call:stop': undo, 'timeout:process': undo}}}}
  undo: {{actions: [{{http: {{url: 'http://h/undo', body: '${{vars}}'}}}}], on: {{success: failed, fail: failed}}}}
  done: {{kind: terminal}}
  failed: {{kind: terminal, outcome: fail}}\n"
    )
}

fn left(need: &Need, y: u16, undone: &mut Vec<Value>) -> Answer {
    let call = |call: &HttpCall| match call.url.rsplit('/').next() {
        Some("undo") => {
            undone.push(json_of(call));
            fine(&Value::Null)
        }
        Some("y") => Response { status: y, ..fine(&json!("r-2")) },
        _ => fine(&json!("r-1")),
    };
    let mut call = call;
    match need {
        Need::Http(one) => Answer::Response(call(one)),
        Need::Parallel(calls) => {
            // The last of the list is not reached before the order rests.
            let z = |one: &HttpCall| if one.url.ends_with("/z") { refused() } else { call(one) };
            Answer::Parallel(calls.iter().map(z).map(Ok).collect())
        }
        Need::Register { visit, action, .. } => {
            Answer::Registered(RequestId(Uuid::from_u128((u128::from(*visit) << 32) | u128::from(*action))))
        }
        Need::Order(_) => Answer::OrderStarted,
        other => panic!("{other:?}"),
    }
}

#[test]
fn scn_17_whatever_leaves_the_state_finds_what_went_through_saved() {
    for (kind, action, got) in KINDS {
        let got: Value = serde_json::from_str(got).unwrap();
        let resting = || {
            let mut course = Course::of(Play::whole(&leaving(action)));
            let end = course.stage(Wake::Start, &[], &mut |need| left(need, 503, &mut Vec::new()));
            assert!(matches!(end.then, Then::Retry { .. }), "{kind}: {:?}", end.then);
            assert_eq!(course.snapshot.vars.get("got"), None, "{kind}: not before the state is left");
            course
        };
        let mut undone = Vec::new();
        resting().stage(Wake::Call, &["stop"], &mut |need| left(need, 503, &mut undone));
        resting().stage(Wake::ProcessTimeout, &[], &mut |need| left(need, 503, &mut undone));
        resting().stage(Wake::Retry, &[], &mut |need| left(need, 404, &mut undone));
        assert_eq!(undone.len(), 3, "{kind}");
        for vars in undone {
            assert_eq!(vars["got"], got, "{kind}: {vars}");
        }
        // By hand, and in another life.
        let rests = resting().snapshot;
        let vars = rests.known_vars();
        assert_eq!(vars["got"], got, "{kind}");
        assert_eq!(rests.clone().restarted_at("undo").vars["got"], got, "{kind}");
        assert_eq!(rests.remains().unwrap().vars["got"], got, "{kind}");
    }
}

#[test]
fn scn_9_a_call_that_is_handled_leaves_the_progress_of_a_list_as_it_was() {
    for (kind, action, got) in KINDS {
        let mut course = Course::of(Play::whole(&leaving(action)));
        course.stage(Wake::Start, &[], &mut |need| left(need, 503, &mut Vec::new()));
        let before = course.snapshot.clone();
        let end = course.stage(Wake::Call, &["look"], &mut |need| panic!("{need:?}"));
        assert_eq!(end.answers[0].outcome, Ok(json!([2, 3])), "{kind}");
        assert!(matches!(end.then, Then::Retry { .. }), "{kind}");
        assert_eq!(
            (&course.snapshot.main.each, &course.snapshot.main.parallel_done),
            (&before.main.each, &before.main.parallel_done),
            "{kind}"
        );
        assert_eq!(
            course.snapshot.known_vars()["got"],
            serde_json::from_str::<Value>(got).unwrap(),
            "{kind}"
        );
        let mut undone = Vec::new();
        let mut again = Vec::new();
        course.stage(Wake::Retry, &[], &mut |need| {
            if let Need::Parallel(calls) = need {
                again.extend(calls.iter().map(|call| call.url.clone()));
            }
            left(need, 404, &mut undone)
        });
        assert!(!again.contains(&"http://h/x".to_owned()), "{kind}: {again:?}");
    }
}

#[test]
fn scn_15_nothing_that_is_kept_for_leaving_holds_a_secret() {
    let action = "each: {in: [x, y], actions: [{http: {url: 'http://h/${item}', headers: {X: '${secret.key}'}}}], save: {got: '${response.body}'}}";
    let mut course = Course::of(Play::whole(&leaving(action)).secret("key", "r-1-secret"));
    course.stage(Wake::Start, &[], &mut |need| match need {
        Need::Parallel(calls) => Answer::Parallel(
            calls
                .iter()
                .map(|call| Ok(if call.url.ends_with('y') { refused() } else { fine(&json!("r-1-secret")) }))
                .collect(),
        ),
        other => panic!("{other:?}"),
    });
    let stored = course.snapshot.to_text();
    assert!(stored.contains("soFar") && !stored.contains("r-1-secret"), "{stored}");
}
