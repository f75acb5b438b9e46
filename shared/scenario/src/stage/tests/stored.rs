//! The stored form of a position: what orders in flight were stored as is read and written as ever.

use pagurus_domain::retry::{Cycle, ErrorClass};
use proptest::collection::{btree_map, vec};
use proptest::option;
use proptest::prelude::*;

use super::*;

/// Positions as they were written before their parts were put together in frames: every field, and every
/// two fields that were ever seen together in the plays of these tests.
const FORMER: &str = include_str!("snapshots.jsonl");

#[test]
fn positions_of_orders_in_flight_are_read_and_written_as_they_were() {
    for line in FORMER.lines() {
        let read = Snapshot::from_text(line).unwrap();
        assert_eq!(read.to_text(), line);
        let value: Value = serde_json::from_str(line).unwrap();
        assert_eq!((Snapshot::from_value(&value), read.to_value()), (Ok(read), value));
    }
    assert!(FORMER.lines().count() > 40);
}

#[test]
fn what_a_later_version_adds_is_passed_over_and_what_a_former_one_did_not_have_is_absent() {
    for line in FORMER.lines() {
        let mut value: Value = serde_json::from_str(line).unwrap();
        value["later"] = json!({"x": [1]});
        assert_eq!(Snapshot::from_value(&value), Snapshot::from_text(line));
    }
    assert_eq!(Snapshot::default().to_text(), "{}");
    assert_eq!(Snapshot::from_value(&json!({"result": null, "rest": null})), Ok(Snapshot::default()));
}

fn time() -> impl Strategy<Value = Timestamp> + Clone {
    (0..4_000_000_000_i64).prop_map(|second| Timestamp::from_second(second).unwrap())
}

fn word() -> impl Strategy<Value = String> + Clone {
    "[a-z]{1,3}"
}

fn some_value() -> impl Strategy<Value = Value> + Clone {
    prop_oneof![any::<i32>().prop_map(|n| json!(n)), word().prop_map(|word| json!({word: [true]}))]
}

fn folded() -> impl Strategy<Value = Folded> + Clone {
    some_value().prop_map(Folded::from)
}

fn cycles() -> impl Strategy<Value = Cycle> + Clone {
    let one =
        (word(), 1..9_u32, 0..9_u32, time(), 0..100_000_u64).prop_map(|(class, number, attempts, at, ms)| {
            Cycle {
                class: ErrorClass::from(class.as_str()),
                policy: class,
                number,
                attempts,
                started_at: at,
                failing_since: at,
                suspended: Duration::from_millis(ms),
                beside: Vec::new(),
            }
        });
    (one.clone(), vec(one, 0..2)).prop_map(|(cycle, beside)| Cycle { beside, ..cycle })
}

fn errors() -> impl Strategy<Value = OrderError> + Clone {
    let (class, system, state) = (option::of(word()), option::of(word()), option::of(word()));
    let parts = (class, word(), system, state, option::of(100..600_u16), any::<bool>());
    parts.prop_map(|(class, message, system, state, status, exhausted)| OrderError {
        class,
        message,
        system,
        state,
        status,
        exhausted,
    })
}

fn answers() -> impl Strategy<Value = Answers> + Clone {
    let parts = (option::of(folded()), btree_map(word(), folded(), 0..3));
    parts.prop_map(|(last, named)| Answers { last, named })
}

fn elements() -> impl Strategy<Value = ElementProgress> {
    let id = option::of(any::<u128>().prop_map(|id| RequestId(Uuid::from_u128(id))));
    let failed = (errors(), option::of(any::<u64>()))
        .prop_map(|(error, retry_after_ms)| FailedElement { error, retry_after_ms });
    let end =
        prop_oneof![vec(folded(), 0..3).prop_map(ElementEnd::Done), errors().prop_map(ElementEnd::Failed),];
    let call = (0..9_usize, option::of(folded()));
    let call = call.prop_map(|(action, before)| AnsweredCall { action, before, hand_out: 0, each: None });
    let answers = (option::of(folded()), option::of(call));
    let parts = (
        option::of(folded()),
        0..9_usize,
        answers,
        id,
        option::of(failed),
        option::of(0..9_usize),
        option::of(end),
    );
    parts.prop_map(|(value, next, (last, answered), request, failed, repeated, end)| ElementProgress {
        value,
        next,
        last,
        answered,
        request,
        failed,
        repeated,
        end,
    })
}

fn frames() -> BoxedStrategy<Frame> {
    let each = ((0..9_u32, 0..9_usize), vec(elements(), 0..3), vec(0..9_usize, 0..3), any::<bool>());
    let each = each
        .prop_map(|(at, elements, numbers, again)| Box::new(EachProgress { at, elements, numbers, again }));
    // Boxed, because a test has a small stack.
    let each = each.boxed();
    let numbers = ((0..9_u32, 0..9_usize), vec(option::of(digests()), 0..3))
        .prop_map(|(at, elements)| ElementNumbers { at, elements });
    let so_far = (vec(numbers, 0..2), option::of(folded())).boxed();
    let failed_at = option::of((0..9_u32, 0..9_usize));
    let answered = (0..9_usize, option::of(folded()), 0..3_u32);
    let answered =
        answered.prop_map(|(action, before, hand_out)| AnsweredCall { action, before, hand_out, each: None });
    let status = prop::sample::select(vec![Status::Sleep, Status::Wait, Status::Polling, Status::Retry]);
    let rest = (status, time(), option::of(time()), option::of(errors()));
    let rest = rest.prop_map(|(status, until, planned, error)| Rest { status, until, planned, error });
    let retry = (cycles(), failed_at).prop_map(|(cycle, failed_at)| SyncRetry { cycle, failed_at });
    let steps = (vec(0..9_usize, 0..3), option::of(answered), option::of(each), so_far);
    let hold = (time(), time(), option::of(word())).prop_map(|(since, first, system)| ActionHold {
        since,
        first,
        system,
    });
    (0..9_usize, answers(), steps, option::of(retry), option::of(rest), option::of(hold))
        .prop_map(
            |(action, answers, (parallel_done, answered, each, (numbers, so_far)), retry, rest, held)| {
                Frame { action, answers, parallel_done, answered, each, numbers, so_far, retry, rest, held }
            },
        )
        .boxed()
}

fn entry_points() -> impl Strategy<Value = EntryPoint> {
    let saved = (btree_map(word(), some_value(), 0..2), answers())
        .prop_map(|(vars, answers)| Box::new(Savepoint { vars: json!(vars).into(), answers }));
    let parts = (word(), 1..9_u32, option::of(saved));
    parts.prop_map(|(state, visit, savepoint)| EntryPoint { state, visit, savepoint })
}

fn visits() -> impl Strategy<Value = Visit> {
    let poll = (time(), 1..9_u32).prop_map(|(ends_at, attempt)| Polling { ends_at, attempt });
    let id = option::of(any::<u128>().prop_map(|id| RequestId(Uuid::from_u128(id))));
    let task =
        (0..9_000_u64, option::of(time())).prop_map(|(work_ms, ends_at)| TaskTimes { work_ms, ends_at });
    let awaiting = (word(), id, time(), option::of(task)).prop_map(|(name, id, queued_at, task)| Awaiting {
        name,
        id,
        queued_at,
        task,
    });
    let parts =
        (option::of(word()), 0..9_u32, option::of(poll), option::of(awaiting), 0..3_u32, option::of(word()));
    parts.prop_map(|(state, number, poll, awaiting, hand_out, called)| Visit {
        state,
        number,
        poll,
        awaiting,
        hand_out,
        called,
    })
}

fn handlings() -> impl Strategy<Value = Box<Handling>> {
    let before = (btree_map(word(), some_value(), 0..2), option::of(some_value()), option::of(word()));
    let before =
        before.prop_map(|(vars, result, message)| Remembered { vars: json!(vars).into(), result, message });
    let parts = (any::<i64>(), word(), folded(), frames(), option::of(before), option::of(some_value()));
    parts.prop_map(|(no, name, body, frame, before, answer)| {
        Box::new(Handling { no, name, body, frame, before, answer })
    })
}

fn digests() -> impl Strategy<Value = Digest> + Clone {
    word().prop_map(|word| Digest::of(&word))
}

/// Kept answers; those without a content come first.
fn kept_answers() -> impl Strategy<Value = Vec<KeptAnswer>> {
    let known = vec((word(), digests()), 0..3);
    (vec(word(), 0..3), known).prop_map(|(places, known)| {
        let places = places.into_iter().map(|place| KeptAnswer { place, content: None });
        let known = known.into_iter().map(|(place, content)| KeptAnswer { place, content: Some(content) });
        places.chain(known).collect()
    })
}

fn requests() -> BoxedStrategy<OpenRequest> {
    let asked = prop_oneof![
        (word(), word(), word()).prop_map(|(method, host, path)| Destination::Http { method, host, path }),
        (word(), word(), word()).prop_map(|(vhost, exchange, key)| Destination::Amqp {
            vhost,
            exchange,
            key
        }),
    ];
    let times = option::of(time());
    let parts = (word(), word(), any::<u128>(), option::of(asked), times, any::<bool>(), any::<bool>());
    let parts = (parts, option::of(digests()));
    parts
        .prop_map(|((name, state, id, asked, sent_at, keep_answer, earlier), content)| {
            let id = RequestId(Uuid::from_u128(id));
            let cancel = earlier.then(|| json!({"url": "http://h"}));
            OpenRequest {
                name,
                state,
                id,
                asked,
                sent_at,
                content,
                keep_answer,
                earlier,
                cancel,
                over: false,
            }
        })
        .boxed()
}

prop_compose! {
    fn open_operations()(
        entry in 0..9_usize,
        (params, vars, answers) in (folded(), folded(), answers()),
        asked in vec(word(), 0..3),
        result in option::of(some_value()),
        has_failed in any::<bool>(),
        (visit, action, saved_vars, saved_answers) in (0..9_u32, 0..9_usize, folded(), answers()),
        requests_around in vec(requests(), 0..2),
        rounds_around in btree_map(word(), vec(option::of(0..9_usize), 0..3), 0..2),
    ) -> OpenOperation {
        let savepoint = OperationSavepoint { visit, action, vars: saved_vars, answers: saved_answers };
        let asked = asked.into_iter().collect();
        OpenOperation { entry, params, vars, answers, asked, result, has_failed, savepoint, requests_around, rounds_around }
    }
}

fn failure_points() -> impl Strategy<Value = FailurePoint> {
    let parts = (visits(), frames(), vec(open_operations(), 0..2), digests());
    parts.prop_map(|(visit, main, operations, actions)| {
        let position = Box::new(Snapshot { visit, main, operations, ..Snapshot::default() });
        FailurePoint { position, actions }
    })
}

prop_compose! {
    fn positions()(
        visit in visits(),
        main in frames(),
        handling in option::of(handlings()),
        mover in option::of((any::<i64>(), folded(), option::of(some_value()))),
        later in option::of((cycles(), word(), option::of(0..9_usize), kept_answers(), any::<bool>())),
        operations in vec(open_operations(), 0..3),
        (over_ms, span) in (0..9_000_u64, option::of((time(), time()))),
        entry_point in option::of(entry_points()),
        requests in vec(requests(), 0..3),
        rounds in btree_map(word(), vec(option::of(0..9_usize), 0..3), 0..2),
        vars in btree_map(word(), some_value(), 0..3),
        (error, failed) in (option::of(errors()), option::of(failure_points())),
        (result, message) in (option::of(some_value()), option::of(word())),
    ) -> Snapshot {
        Snapshot {
            visit,
            main,
            operations,
            mover: mover.map(|(no, event, answer)| Mover { no, event, answer }),
            handling,
            asynchronous: later.map(|(cycle, state, action, answered, from_entry_point)| AsyncRetry { cycle, state, action, answered, from_entry_point }),
            retry_time: RetryTime { over_ms, span },
            entry_point,
            requests,
            rounds,
            vars: vars.into_iter().collect(),
            error,
            failed,
            result,
            message,
        }
    }
}

proptest! {
    #[test]
    fn any_position_is_read_as_it_was_written(position in positions()) {
        let text = position.to_text();
        prop_assert_eq!(Snapshot::from_text(&text).unwrap(), position.clone(), "{}", text);
        let value = position.to_value();
        prop_assert_eq!(&serde_json::from_str::<Value>(&text).unwrap(), &value);
        prop_assert_eq!(Snapshot::from_value(&value).unwrap(), position);
    }
}
