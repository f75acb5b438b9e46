//! Repeats over other lists: what was answered is kept with what was asked (SCN-17, SCN-7, ERR-13).

use std::collections::BTreeSet;

use proptest::collection::vec;
use proptest::prelude::*;

use super::asynchronous::with_rules;
use super::*;

/// A world that answers the needs of one stage after another.
pub(super) type World<'w> = &'w mut dyn FnMut(&Need) -> Answer;

pub(super) struct Course {
    scenario: Arc<Scenario>,
    settings: Arc<StageSettings>,
    facts: Facts,
    params: Arc<Value>,
    pub(super) snapshot: Snapshot,
    /// Answers to requests, as the store shows them.
    callbacks: serde_json::Map<String, Value>,
}

impl Course {
    pub(super) fn of(play: Play) -> Self {
        let Play { scenario, settings, facts, params, snapshot, .. } = play;
        Self {
            scenario,
            settings: Arc::new(settings),
            facts,
            params,
            snapshot,
            callbacks: serde_json::Map::new(),
        }
    }

    pub(super) fn stage(&mut self, wake: Wake, calls: &[&str], world: World<'_>) -> StageEnd {
        let now: Timestamp = START.parse().unwrap();
        let mut input = input(&self.params, &self.callbacks, self.snapshot.clone(), wake, now);
        let call = |(no, name): (i64, &&str)| Call { no, name: (*name).into(), body: Value::Null.into() };
        input.calls = (1..).zip(calls).map(call).collect();
        let stage =
            Stage::resume(self.scenario.clone(), self.settings.clone(), self.facts.clone(), input, now);
        let mut stage = stage.unwrap();
        let mut need = stage.next(now);
        loop {
            let answer = match &need {
                Need::Done(end) => {
                    self.snapshot = Snapshot::from_text(&end.snapshot.to_text()).unwrap();
                    return (**end).clone();
                }
                Need::Save(_) => Answer::Saved,
                other => world(other),
            };
            need = stage.answer(answer, now, 0.5);
        }
    }
}

pub(super) fn fine(body: &Value) -> Response {
    Response { status: 200, headers: Vec::new(), body: body.to_string(), duration: Duration::ZERO }
}

pub(super) fn refused() -> Response {
    Response { status: 503, ..fine(&Value::Null) }
}

pub(super) fn json_of(call: &HttpCall) -> Value {
    serde_json::from_slice(&call.body.as_ref().unwrap().bytes).unwrap()
}

/// Asks each element of a list that a called system says, waits, and tells the answers.
const ASKS: &str = "  a:
    entryPoint: true
    actions:
      - http: {url: 'http://h/list'}
      - each: {in: '${response.body}', atOnce: 3, actions: [{amqp: {exchange: e, key: '${item}', body: '${request.id}', request: r}}]}
      - wait: {timeout: 5m}
    on: {wait: w, fail: failed}
  w: {kind: waiting, retryFailedOnly: true, on: {callback: b, timeout: failed}}
  b: {actions: [{http: {url: 'http://h/told', body: '${callbacks.r}'}}], on: {success: done, fail: failed}}
  done: {kind: terminal}
  failed: {kind: terminal, outcome: fail}\n";

/// A request as the store has it.
struct Asked {
    name: String,
    place: (u32, u32),
    content: String,
    answered: bool,
}

/// All that was asked in the rounds of a play, and what was sent in the end.
#[derive(Default)]
struct Rounds {
    asked: BTreeMap<u128, Asked>,
    /// Contents that each round asked for.
    by_round: Vec<Vec<String>>,
    keys: Vec<Uuid>,
    sent: Value,
}

impl Rounds {
    fn answer(&mut self, need: &Need, list: &[u8]) -> Answer {
        match need {
            Need::Http(call) if call.url.ends_with("/told") => {
                self.sent = json_of(call);
                Answer::Response(fine(&Value::Null))
            }
            Need::Http(_) => {
                self.by_round.push(Vec::new());
                let list: Vec<String> = list.iter().map(|item| format!("x{item}")).collect();
                Answer::Response(fine(&json!(list)))
            }
            Need::Register { name, visit, action, .. } => {
                let id = (u128::from(*visit) << 32) | u128::from(*action);
                let fresh = Asked {
                    name: name.clone(),
                    place: (*visit, *action),
                    content: String::new(),
                    answered: false,
                };
                assert!(self.asked.insert(id, fresh).is_none(), "two requests at one place");
                Answer::Registered(RequestId(Uuid::from_u128(id)))
            }
            Need::Publish(message) => {
                let asked = self.asked.get_mut(&message.request.unwrap().0.as_u128()).unwrap();
                asked.content.clone_from(&message.key);
                self.by_round.last_mut().unwrap().push(message.key.clone());
                self.keys.push(message.message_id);
                Answer::Published
            }
            other => panic!("{other:?}"),
        }
    }

    /// The last answer to the last request of each name.
    fn callbacks(&self) -> serde_json::Map<String, Value> {
        let newest = |asked: &Asked| {
            let same = self.asked.values().filter(|other| other.name == asked.name);
            same.map(|other| other.place).max() == Some(asked.place)
        };
        let shown = self.asked.iter().filter(|(_, asked)| asked.answered && newest(asked));
        let callback = |(id, asked): (&u128, &Asked)| {
            (asked.name.clone(), json!({"body": [asked.content, id.to_string()]}))
        };
        shown.map(callback).collect()
    }
}

/// Counts how often each value stands in the list.
fn counted<T: Ord + Clone>(list: &[T]) -> BTreeMap<T, usize> {
    let mut counts = BTreeMap::new();
    list.iter().for_each(|item| *counts.entry(item.clone()).or_default() += 1);
    counts
}

fn often(course: &str) -> String {
    course.replace("max_attempts: 2", "max_attempts: 50").replace("max_attempts: 3", "max_attempts: 50")
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn scn_17_a_repeat_over_another_list_asks_what_was_not_answered_and_nothing_else(
        plan in vec((vec(0..4_u8, 0..5), vec(any::<bool>(), 5)), 1..6),
    ) {
        let errors = often(&format!("{ERRORS}{}", asynchronous::ASYNC));
        let mut course = Course::of(Play::of(ASKS).errors(&errors));
        let mut rounds = Rounds::default();
        let (mut wake, mut round) = (Wake::Start, 0);
        // The reference: how many good answers there are for each content.
        let mut good: BTreeMap<String, usize> = BTreeMap::new();
        loop {
            let (list, is_silent) = plan[round.min(plan.len() - 1)].clone();
            let end = course.stage(wake, &[], &mut |need| rounds.answer(need, &list));
            match end.then {
                Then::Wait { requests, .. } => {
                    let list: Vec<String> = list.iter().map(|item| format!("x{item}")).collect();
                    let mut needed = counted(&list);
                    for (content, count) in &mut needed {
                        *count = count.saturating_sub(good.get(content).copied().unwrap_or(0));
                    }
                    needed.retain(|_, count| *count > 0);
                    prop_assert_eq!(counted(rounds.by_round.last().unwrap()), needed);
                    let mut all_in = true;
                    for (at, id) in requests.iter().enumerate() {
                        let asked = rounds.asked.get_mut(&id.0.as_u128()).unwrap();
                        let silent = round < plan.len() && is_silent[at % 5];
                        all_in &= !silent;
                        if !silent {
                            asked.answered = true;
                            *good.entry(asked.content.clone()).or_default() += 1;
                        }
                    }
                    course.callbacks = rounds.callbacks();
                    wake = if all_in { Wake::Callback } else { Wake::Timer };
                    round += 1;
                }
                Then::Retry { .. } => wake = Wake::Retry,
                Then::End { status, .. } => {
                    prop_assert_eq!(status, Status::Success);
                    let (list, _) = &plan[(round - 1).min(plan.len() - 1)];
                    let sent = rounds.sent.as_array().unwrap();
                    let contents: Vec<Value> = sent.iter().map(|one| one["body"][0].clone()).collect();
                    let wanted: Vec<Value> = list.iter().map(|item| json!(format!("x{item}"))).collect();
                    prop_assert_eq!(contents, wanted);
                    let ids: BTreeSet<String> = sent.iter().map(|one| one["body"][1].to_string()).collect();
                    prop_assert_eq!(ids.len(), list.len(), "each element has an answer of its own");
                    break;
                }
                other => panic!("{other:?}"),
            }
        }
        let distinct: BTreeSet<&Uuid> = rounds.keys.iter().collect();
        prop_assert_eq!(distinct.len(), rounds.keys.len(), "each question has a key of its own");
    }

    #[test]
    fn scn_17_an_operation_that_comes_to_another_list_keeps_what_is_done_and_every_key(
        plan in vec((vec(0..4_u8, 0..5), vec(any::<bool>(), 5)), 1..6),
    ) {
        let text = "scenario: s\nkind: operation\nactions:\n  - http: {url: 'http://h/list'}\n  \
            - each: {in: '${response.body}', atOnce: 3, actions: [{http: {url: 'http://h/x/${item}'}}], save: {got: '${response.body}'}}\n  \
            - http: {url: 'http://h/told', body: '${vars.got}'}\n";
        let mut course = Course::of(Play::whole(text).errors(&often(ERRORS)));
        let (mut wake, mut round) = (Wake::Start, 0);
        let mut content_of: BTreeMap<Uuid, u8> = BTreeMap::new();
        let (mut done, mut sent) = (Vec::<u8>::new(), Value::Null);
        loop {
            let (list, fails) = plan[round.min(plan.len() - 1)].clone();
            let is_last = round >= plan.len();
            // Kept is what is done and stands in this list, too.
            let (kept, wanted) = (counted(&done), counted(&list));
            done = wanted.iter().flat_map(|(item, count)| {
                vec![*item; (*count).min(kept.get(item).copied().unwrap_or(0))]
            }).collect();
            let (kept, mut asked) = (counted(&done), Vec::new());
            let end = course.stage(wake, &[], &mut |need| match need {
                Need::Http(call) if call.url.ends_with("/told") => {
                    sent = json_of(call);
                    Answer::Response(fine(&Value::Null))
                }
                Need::Http(_) => Answer::Response(fine(&json!(list))),
                Need::Parallel(calls) => Answer::Parallel(calls.iter().map(|call| {
                    let item: u8 = call.url.rsplit('/').next().unwrap().parse().unwrap();
                    let known = content_of.insert(call.idempotency_key, item);
                    assert!(known.is_none_or(|known| known == item), "a key of another element");
                    asked.push(item);
                    let fails = !is_last && fails[usize::from(item)];
                    if !fails { done.push(item); }
                    Ok(if fails { refused() } else { fine(&json!(item)) })
                }).collect()),
                other => panic!("{other:?}"),
            });
            for (item, count) in counted(&asked) {
                let needed = wanted[&item] - kept.get(&item).copied().unwrap_or(0);
                prop_assert!(count <= needed, "{item} was asked {count} times, {needed} are needed");
            }
            match end.then {
                Then::Retry { .. } => (wake, round) = (Wake::Retry, round + 1),
                Then::End { status, .. } => {
                    prop_assert_eq!((status, sent), (Status::Success, json!(list)));
                    break;
                }
                other => panic!("{other:?}"),
            }
        }
        // As many keys as ever stood in one list, and no more.
        for (item, keys) in counted(&content_of.into_values().collect::<Vec<_>>()) {
            let most = plan.iter().map(|(list, _)| counted(list).get(&item).copied().unwrap_or(0)).max();
            prop_assert!(keys <= most.unwrap_or(0), "{item} has {keys} keys");
        }
    }
}

#[test]
fn err_13_an_element_that_was_silent_is_asked_though_another_has_its_place_in_the_repeat() {
    let silent = "callback {\"r.0\": {\"body\": \"a\"}, \"r.2\": {\"body\": \"c\"}}";
    let mut course = Course::of(with_rules(ASKS));
    let mut rounds = Rounds::default();
    let end = course.stage(Wake::Start, &[], &mut |need| rounds.answer(need, &[1, 2, 3]));
    let Then::Wait { requests, .. } = end.then else { panic!("{silent}") };
    for id in [requests[0], requests[2]] {
        rounds.asked.get_mut(&id.0.as_u128()).unwrap().answered = true;
    }
    course.callbacks = rounds.callbacks();
    course.stage(Wake::Timer, &[], &mut |need| rounds.answer(need, &[]));
    let end = course.stage(Wake::Retry, &[], &mut |need| rounds.answer(need, &[2]));
    assert_eq!(rounds.by_round, [vec!["x1", "x2", "x3"], vec!["x2"]]);
    let Then::Wait { requests, .. } = end.then else { panic!("the order does not wait for it") };
    assert_eq!(requests.len(), 1);
}

#[test]
fn err_13_a_request_whose_address_or_body_is_another_is_asked_again() {
    for (changed, same) in [
        ("url: 'http://h/${vars.n}', body: {}", "url: 'http://h/r', body: {n: '${params.n}'}"),
        (
            "url: 'http://h/r', body: {n: '${vars.n}'}",
            "url: 'http://h/r', body: {at: '${now}', to: '${request.url}'}",
        ),
    ] {
        for (request, asks) in [(changed, 2), (same, 1)] {
            let text = format!(
                "  a:
    entryPoint: true
    actions:
      - script: 'vars.n = (if \"n\" in vars {{ vars.n }} else {{ 0 }}) + 1'
      - http: {{{request}, method: POST, request: r}}
      - amqp: {{exchange: e, key: k, request: q}}
      - wait: {{timeout: 5m}}
    on: {{wait: w, fail: done}}
  w: {{kind: waiting, retryFailedOnly: true, on: {{callback: done, timeout: done}}}}
  done: {{kind: terminal}}\n"
            );
            let bad = "callback {\"r\": {\"body\": 1}, \"q\": {\"body\": \"no\", \"stepStatus\": \"k2\"}}";
            let fine = "callback {\"r\": {\"body\": 1}, \"q\": {\"body\": 2}}";
            let mut answers = vec!["200", "published", bad, "200", "published", fine];
            if asks == 1 {
                answers.remove(3);
            }
            assert_eq!(with_rules(&text).go(&answers).http().len(), asks, "{request}");
        }
    }
}

#[test]
fn err_13_good_answers_of_an_older_version_are_asked_for_again() {
    let mut course = Course::of(with_rules(ASKS));
    let mut rounds = Rounds::default();
    course.stage(Wake::Start, &[], &mut |need| rounds.answer(need, &[1, 2]));
    rounds.asked.values_mut().take(1).for_each(|asked| asked.answered = true);
    course.callbacks = rounds.callbacks();
    course.stage(Wake::Timer, &[], &mut |need| rounds.answer(need, &[]));
    let mut stored = course.snapshot.to_value();
    assert!(stored.as_object_mut().unwrap().remove("kept").is_some());
    stored["answered"] = json!(["a/r.0"]);
    course.snapshot = Snapshot::from_value(&stored).unwrap();
    course.stage(Wake::Retry, &[], &mut |need| rounds.answer(need, &[1, 2]));
    assert_eq!(rounds.by_round[1], ["x1", "x2"]);
}

#[test]
fn scn_7_callbacks_have_the_answers_of_the_latest_round_only() {
    let text = ASKS.replace("success: done, fail: failed}}\n  done", "success: a, fail: failed}}\n  done");
    let text = text
        .replace("entryPoint: true", "on: {wait: w, fail: done}")
        .replace("    on: {wait: w, fail: failed}\n", "");
    let mut course = Course::of(Play::of(&text));
    let mut rounds = Rounds::default();
    for (list, sent) in [(&[1, 2, 3][..], vec!["x1", "x2", "x3"]), (&[3][..], vec!["x3"]), (&[], vec![])] {
        let end = course.stage(
            if rounds.by_round.is_empty() { Wake::Start } else { Wake::Callback },
            &[],
            &mut |need| rounds.answer(need, list),
        );
        let Then::Wait { requests, .. } = end.then else { panic!() };
        for id in requests {
            rounds.asked.get_mut(&id.0.as_u128()).unwrap().answered = true;
        }
        course.callbacks = rounds.callbacks();
        let mut after = course.snapshot.clone();
        std::mem::swap(&mut after, &mut course.snapshot);
        let mut seen =
            Course { snapshot: after, callbacks: course.callbacks.clone(), ..Course::of(Play::of(&text)) };
        let mut copy = Value::Null;
        seen.stage(Wake::Callback, &[], &mut |need| match need {
            Need::Http(call) if call.url.ends_with("/told") => {
                copy = json_of(call);
                Answer::Response(Response { status: 404, ..fine(&Value::Null) })
            }
            other => panic!("{other:?}"),
        });
        let contents: Vec<Value> =
            copy.as_array().unwrap().iter().map(|one| one["body"][0].clone()).collect();
        assert_eq!(contents, sent.iter().map(|one| json!(one)).collect::<Vec<_>>());
    }
}
