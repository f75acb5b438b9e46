//! `parallel`: several requests at once, of which only the failed ones are made again.

use super::*;

const DONE: &str = "  done: {kind: terminal}\n  failed: {kind: terminal, outcome: fail}\n";

/// A scenario with one request, then two at once, then one that sends what is known.
fn two(a: &str, b: &str) -> String {
    format!(
        "  a:
    actions:
      - http: {{url: 'http://h/1'}}
      - parallel: [{{http: {{name: a, url: 'http://h/a/${{response.body.id}}'{a}}}}}, \
                   {{http: {{name: b, url: 'http://h/b/${{response.body.id}}'{b}}}}}]
      - http: {{url: 'http://h/3', body: ['${{responses.a.body}}', '${{responses.b.body}}', '${{response.body}}']}}
    on: {{success: done, fail: b}}
  b: {{actions: [{{http: {{url: 'http://h/b', body: ['${{response.status}}', '${{vars}}']}}}}], on: {{success: failed, fail: failed}}}}
{DONE}"
    )
}

#[test]
fn scn_4_all_answers_of_a_parallel_are_kept() {
    let played = play(&two("", ""), &["200 {\"id\": 7}", "200 1 | 200 2", "200"]);
    assert_eq!(played.paths(), "1, a/7, b/7, 3");
    assert_eq!(played.body(3), json!([1, 2, 2]), "`response` is the last of them");
}

#[test]
fn err_11_only_the_failed_steps_are_repeated_and_as_they_were() {
    let answers = ["200 {\"id\": 7}", "503 8 | 200 {\"id\": 9}", "down", "200 1", "200"];
    let played = play(&two("", ", save: {id: '${response.body.id}'}"), &answers);
    assert_eq!(played.paths(), "1, a/7, b/7, a/7, a/7, 3", "the repeat renders what the first attempt did");
    assert_eq!(played.body(5), json!([1, {"id": 9}, {"id": 9}]), "the answers are those of one attempt");
    assert_eq!(played.last().snapshot.vars["id"], 9);
    let keys: Vec<Uuid> = played.http().iter().map(|call| call.idempotency_key).collect();
    assert_eq!((keys[1], keys[1]), (keys[3], keys[4]));
    let mut distinct = keys.clone();
    distinct.sort_unstable();
    distinct.dedup();
    assert_eq!(distinct.len(), 4, "each step has a key of its own");
}

#[test]
fn err_8_the_longest_of_the_waits_counts_and_one_without_a_policy_ends_them_all() {
    let played = play(&two("", ""), &["200 {\"id\": 7}", "down | 503", "200 | 200", "200"]);
    assert_eq!((played.delays(), played.path().as_str()), (vec![10], "success done"));
    let save = (", save: {a: '${response.body}'}", ", save: {b: '${response.body}'}");
    let played = play(&two(save.0, save.1), &["200 {\"id\": 7}", "200 5 | 404 no", "200"]);
    assert_eq!(played.path(), "fail b, success failed");
    assert_eq!(
        played.body(3),
        json!([404, {"a": 5}]),
        "what went through is saved, so that it can be undone"
    );
}

#[test]
fn err_11_what_went_through_in_an_earlier_attempt_is_saved_when_the_rest_fails() {
    let save = (", save: {a: '${response.body}'}", ", save: {b: '${response.body}'}");
    let played = play(&two(save.0, save.1), &["200 {\"id\": 7}", "200 5 | 503", "404 no", "200"]);
    assert_eq!(played.body(4), json!([404, {"a": 5}]));
}

#[test]
fn scn_5_a_save_of_a_parallel_that_cannot_be_made_is_a_failure_of_it() {
    let played = play(
        &two("", ", save: {b: '${response.body.none.at.all}'}"),
        &["200 {\"id\": 7}", "200 1 | 200 2", "200"],
    );
    assert_eq!((played.path().as_str(), played.class().as_str()), ("fail b, success failed", "script.error"));
}

#[test]
fn err_5_a_step_that_cannot_be_written_fails_before_anything_is_sent() {
    let played = play(&two("", ", body: '${params.absent.x}'"), &["200 {\"id\": 7}", "200"]);
    assert_eq!((played.paths().as_str(), played.class().as_str()), ("1, b", "script.error"));
}
