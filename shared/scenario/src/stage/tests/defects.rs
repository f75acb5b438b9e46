//! Handling of what must not happen: wrong answers, a stage broken off, a position
//! that cannot be taken up, the same question asked again.

use pagurus_domain::classes::PANIC;

use super::*;

const CALL: &str = "  a: {actions: [{http: {url: 'http://h/a'}}], on: {success: done, fail: failed}}
  done: {kind: terminal}
  failed: {kind: terminal, outcome: fail}\n";
const MESSAGE: &str =
    "  a: {actions: [{amqp: {exchange: e, key: k, request: r}}, wait], on: {wait: w, fail: done}}
  w: {kind: waiting, on: {callback: done, timeout: done}}
  done: {kind: terminal}\n";

fn now() -> Timestamp {
    START.parse().unwrap()
}

fn resumed(states: &str, snapshot: Snapshot) -> Result<Stage, SnapshotError> {
    let play = Play::of(states);
    let settings = Arc::new(play.settings);
    let input = input(&play.params, &serde_json::Map::new(), snapshot, Wake::Start, now());
    Stage::resume(play.scenario, settings, play.facts, input, now())
}

fn fresh(states: &str) -> Stage {
    resumed(states, Snapshot::default()).unwrap()
}

fn end(need: Need) -> StageEnd {
    match need {
        Need::Done(end) => *end,
        other => panic!("it goes on: {other:?}"),
    }
}

fn registered() -> Answer {
    Answer::Registered(RequestId(Uuid::from_u128(1)))
}

#[test]
fn an_answer_to_another_question_ends_the_order_visibly() {
    for (states, answer) in [
        (CALL, Answer::Published),
        (CALL, Answer::Unpublished("no".into())),
        (CALL, registered()),
        (MESSAGE, Answer::Held { until: now(), system: "billing".into() }),
        (MESSAGE, said("200")),
        (MESSAGE, said("down")),
        (MESSAGE, Answer::Published),
    ] {
        let mut stage = fresh(states);
        let asked = stage.next(now());
        let end = end(stage.answer(answer.clone(), now(), 0.5));
        let Then::End { status, scenario_status, error: Some(error) } = end.then else { panic!("{end:?}") };
        assert_eq!((status, scenario_status), (Status::Fail, ScenarioStatus::Failed));
        assert_eq!(error.class.as_deref(), Some(PANIC), "{answer:?} to {asked:?}");
    }
}

#[test]
fn an_answer_without_a_question_and_one_after_the_end_change_nothing_that_stood() {
    let mut early = fresh(CALL);
    let need = early.answer(said("200"), now(), 0.5);
    assert!(matches!(end(need).then, Then::End { status: Status::Fail, .. }));
    let mut late = fresh(CALL);
    late.next(now());
    let first = end(late.answer(said("200"), now(), 0.5));
    assert_eq!(end(late.answer(said("503"), now(), 0.5)).then, first.then);
    assert_eq!(end(late.next(now())), end(late.next(now())), "it has ended for ever");
    assert_eq!(end(late.next(now())), first, "with all that it had to tell");
}

#[test]
fn the_same_question_is_asked_until_it_is_answered() {
    let mut stage = fresh(MESSAGE);
    assert_eq!(stage.next(now()), stage.next(now()));
    let asked = stage.answer(registered(), now(), 0.5);
    assert!(matches!(asked, Need::Publish(_)), "{asked:?}");
}

#[test]
fn scn_7_a_request_is_registered_again_under_its_id_when_the_stage_is_done_again() {
    let mut stage = fresh(MESSAGE);
    for _ in 0..2 {
        let need = stage.next(now());
        assert!(matches!(need, Need::Register { visit: 1, action: 0, .. }), "{need:?}");
        stage.answer(registered(), now(), 0.5);
    }
    let Then::Wait { requests, .. } = end(stage.answer(Answer::Published, now(), 0.5)).then else {
        panic!("no wait")
    };
    assert_eq!(requests.len(), 1);
}

#[test]
fn a_position_that_this_version_does_not_have_is_refused() {
    let visit = Visit { state: Some("gone".into()), number: 3, ..Visit::default() };
    let snapshot = Snapshot { visit, ..Snapshot::default() };
    let error = resumed(CALL, snapshot).unwrap_err();
    assert_eq!(error.to_string(), "the stored position cannot be resumed: the scenario has no state `gone`");
}

#[test]
fn a_stored_position_with_a_wrong_field_is_refused() {
    for value in [
        json!([]),
        json!({"state": 1}),
        json!({"action": -1}),
        json!({"visit": "x"}),
        json!({"visit": 4_294_967_296_u64}),
        json!({"vars": []}),
        json!({"responses": 1}),
        json!({"cycle": {}}),
        json!({"retryingSince": "soon"}),
        json!({"error": "x"}),
        json!({"message": 1}),
        json!({"requests": "x"}),
        json!({"requests": [{"name": "r"}]}),
        json!({"rest": {"status": "asleep", "until": START}}),
    ] {
        let error = Snapshot::from_value(&value).unwrap_err();
        assert!(error.to_string().starts_with("the stored position cannot be resumed: "), "{value}");
    }
    assert_eq!(Snapshot::from_value(&json!({})), Ok(Snapshot::default()));
}
