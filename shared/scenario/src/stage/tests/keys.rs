//! Stable keys (SCN-14): the same for every repeat of an action, another for everything else.

use super::*;

/// Keys of the calls, in order.
fn keys(played: &Played) -> Vec<Uuid> {
    let keys = played.calls.iter().map(|(_, _, need)| match need {
        Need::Http(call) => call.idempotency_key,
        Need::Publish(message) => message.message_id,
        other => panic!("{other:?}"),
    });
    keys.collect()
}

/// Two calls and a message; the state begins again when it fails.
const TEXT: &str = "  a:
    actions: [{http: {url: 'http://h/1'}}, {http: {url: 'http://h/2', request: r}}, {amqp: {exchange: e, key: k}}]
    on: {success: done, fail: a}
  done: {kind: terminal}\n";

#[test]
fn scn_14_the_key_stays_the_same_over_retries_and_reissues() {
    let played = play(TEXT, &["503", "down", "200", "504", "200", "published"]);
    let all = keys(&played);
    assert_eq!((all[0], all[0], all[3]), (all[1], all[2], all[4]));
    let again = play(TEXT, &["200", "200", "published"]);
    assert_eq!(keys(&again), [all[0], all[3], all[5]], "a stage that is handed out again sends the same");
    assert_eq!(played.requests.len(), 1, "a repeat keeps its request: {:?}", played.requests);
}

#[test]
fn scn_14_every_action_visit_life_and_order_has_keys_of_its_own() {
    let answers = ["200", "404", "200", "200", "published"];
    let two_visits = play(TEXT, &answers);
    assert_eq!(two_visits.requests.len(), 2);
    let mut all = keys(&two_visits);
    let mut second_life = Play::of(TEXT);
    second_life.facts.life = 2;
    all.extend(keys(&second_life.go(&answers)));
    let mut other_order = Play::of(TEXT);
    other_order.facts.id = "o-2".into();
    all.extend(keys(&other_order.go(&answers)));
    let count = all.len();
    all.sort_unstable();
    all.dedup();
    assert_eq!((count, all.len()), (15, 15));
}

#[test]
fn scn_14_a_restart_at_the_initial_state_has_keys_of_its_life() {
    let first = keys(&play(TEXT, &["200", "200", "published"]));
    let second = keys(&Play::of(TEXT).entering("a", json!({})).go(&["200", "200", "published"]));
    assert!(first.iter().all(|key| !second.contains(key)));
}
