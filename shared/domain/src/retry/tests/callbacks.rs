//! Asynchronous requests: their rules, policies and cycles (ERR-6, ERR-7, ERR-12).

use proptest::prelude::*;

use super::cycles::{NOW, at, failure};
use super::*;
use crate::classes::{ASYNC_TIMEOUT, POLLING_TIMEOUT};

/// The example of the specification.
const CALLBACKS: &str = r#"
async:
  mode: retry
  classification:
    rules:
      test-rule:
        requests:
          http: [{path: /test}]
          amqp:
            - path: "/a?exchange=a&key=a"
            - path: "%2F?exchange=a&key=*"
        classes:
          technical: {timeout: true}
          refused:
            responses:
              - step_status_keywords: [k2, k21]
                body_keywords: [["k1"], ["k2", "k3"]]
"#;

fn message<'a>(vhost: &'a str, exchange: &'a str, key: &'a str) -> Asked<'a> {
    Asked::Amqp { vhost, exchange, key }
}

fn http(path: &str) -> Asked<'_> {
    Asked::Http(Interaction { method: "POST", host: "shop.example", path })
}

/// Rule and class; `-` for no rule.
fn of(errors: &ErrorPolicy, asked: Asked<'_>, reply: Reply<'_>) -> Option<String> {
    let classified = errors.classify_async(&asked, &reply)?;
    Some(format!("{} {}", classified.rule.as_deref().unwrap_or("-"), classified.class))
}

#[test]
fn err_6_the_example_of_the_specification() {
    let errors = read(CALLBACKS).unwrap();
    let callback = |step_status, body| Reply::Callback { step_status, body, fault: None };
    let refused = Some("test-rule refused");
    for (reply, expected) in [
        (Reply::TimedOut, Some("test-rule technical")),
        (callback(Some("k2"), "k1"), refused),
        (callback(Some("k21"), "k3 and k2"), refused),
        (callback(Some("k2"), "k2 alone"), None),
        (callback(Some("k3"), "k1"), None),
        (callback(None, "k1"), None),
        (callback(Some(""), "k1"), None),
        (callback(Some("k2"), ""), None),
    ] {
        for asked in [http("/test"), message("a", "a", "a"), message("/", "a", "whatever.it.is")] {
            assert_eq!(of(&errors, asked, reply).as_deref(), expected, "{asked:?} {reply:?}");
        }
    }
    let elsewhere = [
        http("/test/1"),
        http("/"),
        message("a", "a", "b"),
        message("/a", "a", "a"),
        message("/", "b", "a"),
        message("%2F", "a", "a"),
    ];
    for asked in elsewhere {
        assert_eq!(of(&errors, asked, callback(Some("k2"), "k1")), None, "{asked:?}");
        assert_eq!(of(&errors, asked, Reply::TimedOut).as_deref(), Some("- async.timeout"), "{asked:?}");
    }
}

#[test]
fn err_6_what_is_given_must_hold_and_one_condition_suffices() {
    let errors = read(
        "async: {classification: {rules: {r: {requests: {http: [{path: /a}]}, classes: {
          status: {responses: [{step_status_keywords: [fail, error]}]},
          body: {responses: [{body_keywords: [[declined]]}, {step_status_keywords: [late]}]},
          both: {timeout: true, responses: [{body_keywords: [[slow]]}]}}}}}}",
    )
    .unwrap();
    for (status, body, expected) in [
        (Some("failed"), "", Some("r status")),
        (Some("technical error"), "declined", Some("r status")),
        (Some("done"), "declined", Some("r body")),
        (None, "declined", Some("r body")),
        (Some("late"), "", Some("r body")),
        (None, "slow", Some("r both")),
        (Some("done"), "paid", None),
    ] {
        let reply = Reply::Callback { step_status: status, body, fault: None };
        assert_eq!(of(&errors, http("/a"), reply).as_deref(), expected, "{reply:?}");
    }
    assert_eq!(of(&errors, http("/a"), Reply::TimedOut).as_deref(), Some("r both"));
}

/// Rules in short: a line `name = mask` of messages each, every one with the class `c` for time-outs.
fn rules(lines: &[(&str, &str)]) -> String {
    let mut text = String::from("async:\n  classification:\n    rules:\n");
    for (name, path) in lines {
        text.push_str(&format!(
            "      {name}: {{requests: {{amqp: [{{path: '{path}'}}]}}, classes: {{c: {{timeout: true}}}}}}\n"
        ));
    }
    text
}

#[test]
fn err_7_the_most_specific_mask_of_messages_wins() {
    let lines = [
        ("any", "?key=*"),
        ("root", "%2F"),
        ("exchange", "/?exchange=orders"),
        ("shop", "%2F?exchange=orders&key=shop.*"),
        ("items", "/%2F?exchange=orders&key=shop.items.*"),
        ("one", "%2f?exchange=orders&key=shop.items.one"),
        ("default", "%2F?exchange=&key=*"),
        ("named", "team%2Fa?exchange=o%20p"),
    ];
    let cases = [
        (("b", "orders", "shop.items.one"), "any"),
        (("/", "other", "shop.items.one"), "root"),
        (("/", "orders", "cart"), "exchange"),
        (("/", "orders", "shop.cart"), "shop"),
        (("/", "orders", "shop.items.two"), "items"),
        (("/", "orders", "shop.items.one"), "one"),
        (("/", "", "queue"), "default"),
        (("team/a", "o p", "x"), "named"),
    ];
    let mut reversed = lines;
    reversed.reverse();
    for order in [lines, reversed] {
        let errors = read(&rules(&order)).unwrap();
        for ((vhost, exchange, key), expected) in cases {
            let found = errors.classify_async(&message(vhost, exchange, key), &Reply::TimedOut).unwrap();
            assert_eq!(found.rule.as_deref(), Some(expected), "{vhost} {exchange} {key}");
        }
    }
}

#[test]
fn err_7_equally_specific_masks_of_messages_are_refused() {
    for (left, right, refused) in [
        ("/a?exchange=a&key=a", "a?key=a&exchange=a", true),
        ("/a?exchange=a", "/a?key=a", true),
        ("/a?exchange=a*", "/a?exchange=*b", true),
        ("/a?exchange=a*", "/a?exchange=b*", false),
        ("/a?exchange=a", "/b?exchange=a", false),
        ("/a?exchange=a", "/a?exchange=a&key=a", false),
        ("/a?exchange=a*", "/a?exchange=ab*", false),
    ] {
        assert_eq!(read(&rules(&[("l", left), ("r", right)])).is_err(), refused, "{left} {right}");
    }
    let found = faults(&rules(&[("l", "/a?exchange=a"), ("r", "/a?key=a")]));
    assert_eq!(
        found,
        [
            "5:36: the rule `l` takes some of the same messages and is equally specific; make one of the two masks more specific"
        ]
    );
    // One rule may name the same messages twice: it gives the same classes.
    assert!(read("async: {classification: {rules: {r: {requests: {amqp: [{path: /a}, {path: a}]}, classes: {c: {timeout: true}}}}}}").is_ok());
}

#[test]
fn err_7_http_masks_of_callbacks_are_as_specific_as_the_others() {
    let errors = read(
        "async: {classification: {rules: {
          all: {requests: {http: [{path: '/**'}]}, classes: {slow: {timeout: true}}},
          none: {requests: {http: [{path: '/shop/**'}]}, classes: {}},
          one: {requests: {http: [{path: '/shop/pay', method: post}]}, classes: {pay: {timeout: true}}}}}}",
    )
    .unwrap();
    let timed_out = |asked| of(&errors, asked, Reply::TimedOut);
    assert_eq!(timed_out(http("/x")).as_deref(), Some("all slow"));
    assert_eq!(timed_out(http("/shop/x")).as_deref(), Some("- async.timeout"));
    assert_eq!(timed_out(http("/shop/pay")).as_deref(), Some("one pay"));
    let twice = "async: {classification: {rules: {
        a: {requests: {http: [{path: /x}]}, classes: {}}, b: {requests: {http: [{path: /x}]}, classes: {}}}}}";
    assert!(faults(twice)[0].contains("the rule `a` takes the same requests"));
}

#[test]
fn err_7_older_names_mean_the_built_in_classes() {
    let errors = read(
        "async:
  classification:
    rules:
      r: {requests: {http: [{path: /a}]}, classes: {crab.async.timeout: {timeout: true}}}
  retry:
    policies:
      wait: {error_classes: [crab.async.timeout]}
      poll: {error_classes: ['crab.polling.*']}
",
    )
    .unwrap();
    let found = errors.classify_async(&http("/a"), &Reply::TimedOut).unwrap();
    assert_eq!((found.rule.as_deref(), found.class.as_str()), (Some("r"), ASYNC_TIMEOUT));
    for (class, policy) in [
        (ASYNC_TIMEOUT, Some("wait")),
        ("crab.async.timeout", Some("wait")),
        (POLLING_TIMEOUT, Some("poll")),
        ("crab.polling.timeout", Some("poll")),
        ("polling.other", None),
    ] {
        let found = errors.async_policy_for("s", class).map(|policy| policy.name.as_str());
        assert_eq!(found, policy, "{class}");
        assert_eq!(errors.policy_for("s", class), None, "the halves have policies of their own");
    }
}

/// Both halves with a policy for class `c` without jitter: 5 s each time, and one cycle of 10 s,
/// 20 s, 40 s.
fn both(more: &str) -> ErrorPolicy {
    read(&format!(
        "sync: {{retry: {{max_cycle_duration: 1h, policies: {{s: {{error_classes: [c], parameters: {{initial_interval: 5s, multiplier: 1, jitter: 0, max_attempts: 3}}}}}}}}}}
async: {{retry: {{max_cycle_duration: 10m, policies: {{a: {{error_classes: [c, async.timeout], parameters: {{initial_interval: 10s, jitter: 0, max_attempts: 3}}}}}}}}}}
{more}"
    ))
    .unwrap()
}

#[test]
fn err_12_callbacks_are_judged_by_their_own_policies() {
    let errors = both("");
    let class = ErrorClass::from("c");
    let sync = on_failure(&errors, &failure(&class), None, NOW, 0.5);
    let asynchronous = on_async_failure(&errors, &failure(&class), None, NOW, 0.5);
    let due = |verdict: &Verdict| match verdict {
        Verdict::RetryAt { at, cycle } => (at.as_second() - NOW.as_second(), cycle.policy.clone()),
        Verdict::GiveUp { why } => (0, why.as_str().to_owned()),
    };
    assert_eq!(due(&sync), (5, "s".to_owned()));
    assert_eq!(due(&asynchronous), (10, "a".to_owned()));

    let timeout = ErrorClass::from(ASYNC_TIMEOUT);
    let none = Verdict::GiveUp { why: GiveUp::NoPolicy };
    assert_eq!(on_failure(&errors, &failure(&timeout), None, NOW, 0.5), none);
    let off = read("async: {mode: none}").unwrap();
    let disabled = Verdict::GiveUp { why: GiveUp::Disabled };
    assert_eq!(on_async_failure(&off, &failure(&class), None, NOW, 0.5), disabled);
    assert_ne!(on_failure(&off, &failure(&class), None, NOW, 0.5), disabled);
}

#[test]
fn err_12_an_asynchronous_cycle_bounds_the_synchronous_retries_inside_it() {
    let errors = both("");
    let class = ErrorClass::from("c");
    let Verdict::RetryAt { cycle: outer, .. } = on_async_failure(&errors, &failure(&class), None, NOW, 0.5)
    else {
        panic!("no retry");
    };
    let latest = ErrorRules::from(&errors).async_cycle_ends_at("s", &outer);
    assert_eq!(latest, at(600));
    let inside = Failure { latest: Some(latest), ..failure(&class) };
    for (second, expected) in [(594, None), (595, None), (596, Some(GiveUp::AsyncCycleDurationExhausted))] {
        let why = match on_failure(&errors, &inside, None, at(second), 0.5) {
            Verdict::RetryAt { .. } => None,
            Verdict::GiveUp { why } => Some(why),
        };
        assert_eq!(why, expected, "{second}");
    }
    // The own counters of the outer cycle go on where they were.
    let verdict = on_async_failure(&errors, &failure(&class), Some(&outer), at(300), 0.5);
    let Verdict::RetryAt { at: due, cycle } = verdict else { panic!("no retry") };
    assert_eq!((due, cycle.attempts, cycle.number, cycle.started_at), (at(320), 2, 1, NOW));
    let late = on_async_failure(&errors, &failure(&class), Some(&outer), at(581), 0.5);
    assert_eq!(late, Verdict::GiveUp { why: GiveUp::CycleDurationExhausted });
}

#[test]
fn err_12_the_end_of_a_cycle_moves_where_waiting_to_be_taken_up_does_not_count() {
    let cycle = Cycle {
        class: ErrorClass::from("c"),
        policy: "a".into(),
        number: 1,
        attempts: 1,
        started_at: NOW,
        failing_since: NOW,
        suspended: Duration::from_secs(30),
        beside: Vec::new(),
    };
    assert_eq!(ErrorRules::from(&both("")).async_cycle_ends_at("s", &cycle), at(600));
    let running = both("retry_duration_control: {mode: run_and_suspending_durations}");
    assert_eq!(ErrorRules::from(&running).async_cycle_ends_at("s", &cycle), at(630));
    // The first end counts of those that go on together.
    let older = Cycle { class: ErrorClass::from("d"), started_at: at(-60), ..cycle.clone() };
    let together = Cycle { beside: vec![older], ..cycle };
    assert_eq!(ErrorRules::from(&running).async_cycle_ends_at("s", &together), at(570));
    assert_eq!(Cycle::from_value(&together.to_value()), Some(together));
}

proptest! {
    /// Whatever the failures inside are, nothing is scheduled after the end of the cycle around.
    #[test]
    fn err_12_no_synchronous_retry_outlives_the_cycle_around_it(
        pauses in prop::collection::vec(0_i64..200, 1..40),
        around in 0_i64..600,
        dice in 0.0_f64..=1.0,
    ) {
        let errors = both("");
        let class = ErrorClass::from("c");
        let inside = Failure { latest: Some(at(around)), ..failure(&class) };
        let (mut cycle, mut now) = (None, 0);
        for pause in pauses {
            let Verdict::RetryAt { at: due, cycle: next } =
                on_failure(&errors, &inside, cycle.as_ref(), at(now), dice)
            else {
                break;
            };
            prop_assert!(due <= at(around));
            prop_assert!(next.attempts <= 3);
            now = due.as_second() - NOW.as_second() + pause;
            cycle = Some(next);
        }
    }
}
