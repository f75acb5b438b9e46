//! The log of an order: its lines, from the rows of the history.

use serde_json::json;

use super::*;

const AT: &str = "2026-01-01T00:00:00.000Z";

/// Lines and moves of a stage; moves are given as `FROM EVENT TO`, with the lines before each, and answers with the lines
/// and moves before each.
fn stage(said: &[&str], moves: &[(&str, usize)], answers: &[(&str, usize, usize)]) -> Vec<String> {
    let said: Vec<Value> = said.iter().map(|text| json!({"at": AT, "text": text})).collect();
    let moves = moves.iter().map(|(moved, said)| {
        let words: Vec<&str> = moved.split(' ').collect();
        json!({"at": AT, "from": words[0], "event": words[1], "to": words[2], "saidBefore": said})
    });
    let steps = answers.iter().map(|(target, said, moved)| {
        json!({"kind": "amqp", "target": target, "at": AT, "ms": 0, "outcome": "sent", "saidBefore": said, "movedBefore": moved})
    });
    let (moves, steps): (Vec<Value>, Vec<Value>) = (moves.collect(), steps.collect());
    let detail = json!({"log": said, "transitions": moves, "steps": steps});
    of_stage(&detail).into_iter().map(|(_, text)| text).collect()
}

#[test]
fn ord_25_lines_moves_and_answers_of_one_moment_stand_in_the_order_in_which_they_came() {
    let lines = stage(
        &["in a", "in b", "failed (x.y): no"],
        &[("a success b", 1), ("b fail c", 3), ("c success d", 3)],
        &[("first", 0, 0), ("asked", 2, 1), ("last", 3, 2)],
    );
    let expected = [
        "message to first: taken in 0 ms",
        "in a",
        "a --success--> b",
        "in b",
        "message to asked: taken in 0 ms",
        "failed (x.y): no",
        "b --fail--> c",
        "message to last: taken in 0 ms",
        "c --success--> d",
    ];
    assert_eq!(lines, expected);
    assert_eq!(stage(&[], &[("a success b", 7)], &[("x", 7, 7)]).len(), 2, "beyond what there is");
}

#[test]
fn ord_25_lines_and_moves_of_former_versions_stand_in_the_order_of_their_time() {
    let at = |second: u8| format!("2026-01-01T00:00:{second:02}Z");
    let detail = json!({
        "log": [{"at": at(1), "text": "in a"}, {"at": at(3), "text": "in b"}],
        "transitions": [{"at": at(2), "from": "a", "event": "success", "to": "b"}],
        "steps": [{"kind": "http", "target": "GET x/y", "at": at(2), "ms": 500, "outcome": "answered", "status": 200}],
    });
    let lines: Vec<String> = of_stage(&detail).into_iter().map(|(_, text)| text).collect();
    assert_eq!(lines, ["in a", "a --success--> b", "GET x/y: 200 in 500 ms", "in b"]);
}

#[test]
fn rec_10_the_line_of_a_failover_says_from_where_to_where() {
    let lost =
        json!({"attempt": 1, "finding": "node_lost", "node": 7, "nodeName": "worker-1", "startedAt": "T"});
    let line = "FAILOVER from worker-1 (life 7) to worker-2: hand-out 1 had been there since T";
    assert_eq!(failover(&lost, Some("worker-2")), line);
    assert!(failover(&lost, None).contains("to the next free worker"));
}

#[test]
fn ord_25_what_happened_outside_of_stages_is_said_in_words() {
    let started =
        json!({"attempt": 1, "finding": "overdue", "node": 7, "nodeName": "worker-1", "startedAt": "T"});
    assert_eq!(
        in_words("reissued", "activator-1", &started),
        "handed out again by activator-1, because its work time-out had passed: hand-out 1 had been with worker-1 (life 7) since T"
    );
    assert_eq!(
        in_words("canceled", "api", &json!({"reason": null, "from": "fail"})),
        "canceled by api in `fail`"
    );
    let changed = json!({"reason": "r", "changed": {
        "params": {"was": {"a": 1}, "is": {"a": 2}}, "priority": {"was": "low", "is": "high"}}});
    assert_eq!(
        in_words("updated", "api", &changed),
        "updated by api: parameters, priority from low to high: r"
    );
    let poisoned = json!({"class": "poison", "message": "too often", "from": "running"});
    assert_eq!(in_words("poisoned", "a-1", &poisoned), "poisoned by a-1 in `running` (poison): too often");
    let restarted = json!({"reason": "why", "from": "initial", "formerParams": {"pin": "4321"}});
    assert_eq!(
        in_words("restarted", "api", &restarted),
        "restarted by api from the initial state, with new parameters: why"
    );
}
