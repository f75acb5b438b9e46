//! Policies and cycles: ERR-8 to ERR-11.

use proptest::prelude::*;
use serde_json::json;

use super::*;

/// Policies in short: name, error classes, scenarios.
fn policies(lines: &[(&str, &str, &str)]) -> String {
    let mut text = String::from("sync:\n  retry:\n    policies:\n");
    for (name, classes, scenarios) in lines {
        let scenarios = match *scenarios {
            "" => String::new(),
            name => format!(", scenarios: [{{name: '{name}'}}]"),
        };
        text.push_str(&format!("      {name}: {{error_classes: ['{classes}']{scenarios}}}\n"));
    }
    text
}

#[test]
fn err_8_most_specific_policy_wins() {
    let errors = read(&policies(&[
        ("all", "*", ""),
        ("class", "shop.down", ""),
        ("masked", "shop.*", ""),
        ("orders", "shop.down", "order-*"),
        ("mobile", "shop.down", "order-mobile-*"),
        ("exact", "*", "order-mobile-sim"),
    ]))
    .unwrap();
    for (scenario, class, expected) in [
        ("x", "other", "all"),
        ("x", "shop.down", "class"),
        ("x", "shop.slow", "masked"),
        ("order-fixed", "shop.down", "orders"),
        ("order-fixed", "shop.slow", "masked"),
        ("order-mobile-a", "shop.down", "mobile"),
        ("order-mobile-sim", "shop.down", "exact"),
    ] {
        let found = errors.policy_for(scenario, class).unwrap();
        assert_eq!(found.name, expected, "{scenario} {class}");
    }
    assert!(example().policy_for("refund", "shop.unavailable").is_none());
    assert!(example().policy_for("order-1", "shop.others").is_none());
}

#[test]
fn err_8_equally_specific_policies_are_refused() {
    type Lines = &'static [(&'static str, &'static str, &'static str)];
    let cases: &[(Lines, bool)] = &[
        (&[("a", "c", ""), ("b", "c", "")], true),
        (&[("a", "c", "s"), ("b", "c", "s")], true),
        (&[("a", "c", "s-*"), ("b", "c", "*-t")], true),
        (&[("a", "c.*", ""), ("b", "*.d", "")], true),
        (&[("a", "c", ""), ("b", "d", "")], false),
        (&[("a", "c", "s"), ("b", "c", "t")], false),
        (&[("a", "c", "s"), ("b", "c", "")], false),
        (&[("a", "c", "sa*"), ("b", "c", "sb*")], false),
        (&[("a", "c", "s*"), ("b", "c", "st*")], false),
    ];
    for (lines, refused) in cases {
        assert_eq!(read(&policies(lines)).is_err(), *refused, "{lines:?}");
    }
    let found = faults(&policies(&[("a", "c", ""), ("b", "c", "")]));
    assert_eq!(
        found,
        [
            "5:7: equally specific as the policy `a` for scenario `*` and class `c`; make one of the two more specific"
        ]
    );
}

#[test]
fn dsp_9_names_have_1_to_64_characters() {
    assert!(read(&policies(&[(&"n".repeat(64), "c", "")])).is_ok());
    assert!(faults(&policies(&[(&"n".repeat(65), "c", "")]))[0].contains("1 to 64 characters"));
    assert!(faults(&policies(&[("''", "c", "")]))[0].contains("1 to 64 characters"));
}

pub(super) const NOW: Timestamp = Timestamp::constant(1_800_000_000, 0);

/// A moment `seconds` after [`NOW`].
pub(super) fn at(seconds: i64) -> Timestamp {
    Timestamp::from_second(NOW.as_second() + seconds).unwrap()
}

pub(super) fn failure<'a>(class: &'a ErrorClass) -> Failure<'a> {
    Failure {
        scenario: "change-tariff",
        class: Some(class),
        retry_after: None,
        sequential_since: None,
        max_acquisition: Duration::from_secs(3600),
        latest: None,
    }
}

/// Returns a policy for class `c`: 5 s, 10 s, 20 s … without jitter.
fn steady(parameters: &str) -> ErrorPolicy {
    read(&format!(
        "sync: {{retry: {{max_cycle_duration: 2h, policies: {{p: {{error_classes: [c, d], parameters: {{initial_interval: 5s, multiplier: 2, max_interval: 60s, jitter: 0, {parameters}}}}}}}}}}}"
    ))
    .unwrap()
}

fn next(
    errors: &ErrorPolicy,
    failure: &Failure<'_>,
    cycle: Option<&Cycle>,
    now: Timestamp,
) -> Result<(i64, Cycle), GiveUp> {
    match on_failure(errors, failure, cycle, now, 0.5) {
        Verdict::RetryAt { at, cycle } => Ok((at.as_second() - now.as_second(), cycle)),
        Verdict::GiveUp { why } => Err(why),
    }
}

#[test]
fn err_8_intervals_grow_to_their_cap_and_attempts_end() {
    let errors = steady("max_attempts: 6");
    let class = ErrorClass::from("c");
    let (mut cycle, mut now, mut waits) = (None, NOW, Vec::new());
    let why = loop {
        match next(&errors, &failure(&class), cycle.as_ref(), now) {
            Ok((wait, next)) => {
                waits.push(wait);
                now = at(now.as_second() - NOW.as_second() + wait);
                assert_eq!(next.attempts as usize, waits.len());
                cycle = Some(next);
            }
            Err(why) => break why,
        }
    };
    assert_eq!(waits, [5, 10, 20, 40, 60, 60]);
    assert_eq!(why, GiveUp::AttemptsExhausted);
}

#[test]
fn err_8_retry_after_is_a_lower_bound() {
    let errors = steady("max_attempts: 6");
    let class = ErrorClass::from("c");
    for (wish, expected) in [(1, 5), (30, 30), (120, 120), (3600, 3600)] {
        let asked = Failure { retry_after: Some(Duration::from_secs(wish)), ..failure(&class) };
        assert_eq!(next(&errors, &asked, None, NOW).unwrap().0, expected);
    }
}

#[test]
fn err_9_another_class_begins_another_cycle() {
    let errors = steady("max_attempts: 6");
    let (class, other) = (ErrorClass::from("c"), ErrorClass::from("d"));
    let (_, first) = next(&errors, &failure(&class), None, NOW).unwrap();
    assert_eq!((first.number, first.attempts, first.started_at), (1, 1, NOW));
    let (_, second) = next(&errors, &failure(&class), Some(&first), at(5)).unwrap();
    assert_eq!((second.number, second.attempts, second.started_at), (1, 2, NOW));
    let (wait, third) = next(&errors, &failure(&other), Some(&second), at(15)).unwrap();
    assert_eq!((third.number, third.attempts, third.started_at, wait), (2, 1, at(15), 5));
}

#[test]
fn err_9_cycles_end() {
    let class = ErrorClass::from("c");
    let begun = |seconds: i64| Cycle {
        class: class.clone(),
        policy: "p".into(),
        number: 1,
        attempts: 9,
        started_at: at(-seconds),
        failing_since: at(-seconds),
        suspended: Duration::ZERO,
        beside: Vec::new(),
    };
    let bounded = steady("max_duration: 1h");
    let ends = |errors: &ErrorPolicy, failure: &Failure<'_>, seconds: i64| {
        next(errors, failure, Some(&begun(seconds)), NOW).err()
    };
    assert_eq!(ends(&bounded, &failure(&class), 3540), None);
    assert_eq!(ends(&bounded, &failure(&class), 3541), Some(GiveUp::DurationExhausted));
    let general = steady("max_attempts: 99");
    assert_eq!(ends(&general, &failure(&class), 7140), None);
    assert_eq!(ends(&general, &failure(&class), 7141), Some(GiveUp::CycleDurationExhausted));
    for (seconds, expected) in [(3540, None), (3541, Some(GiveUp::AcquisitionExhausted))] {
        let held = Failure { sequential_since: Some(at(-seconds)), ..failure(&class) };
        assert_eq!(ends(&general, &held, 10), expected);
    }
    let stranger = ErrorClass::from("x");
    assert_eq!(next(&general, &failure(&stranger), None, NOW), Err(GiveUp::NoPolicy));
    let unclassified = Failure { class: None, ..failure(&class) };
    assert_eq!(next(&general, &unclassified, None, NOW), Err(GiveUp::NoClass));
    let off = read("sync: {mode: none}").unwrap();
    assert_eq!(next(&off, &failure(&class), None, NOW), Err(GiveUp::Disabled));
}

#[test]
fn err_10_time_that_the_order_was_due_may_be_left_out() {
    let class = ErrorClass::from("c");
    let total = steady("max_duration: 10m");
    let running = total.clone().with_duration_control(DurationControl::RunAndSuspending);
    let (_, first) = next(&total, &failure(&class), None, NOW).unwrap();
    // Due after 5 s, taken up after 705 s, failed at 706 s.
    let mut late = first.clone();
    late.begin_attempt(Duration::from_secs(700));
    assert_eq!(next(&total, &failure(&class), Some(&late), at(706)), Err(GiveUp::DurationExhausted));
    let (_, second) = next(&running, &failure(&class), Some(&late), at(706)).unwrap();
    assert_eq!(second.suspended, Duration::from_secs(700));
    let read_back = Cycle::from_value(&second.to_value());
    assert_eq!(read_back, Some(second));
    let mode = read("retry_duration_control: {mode: run_and_suspending_durations}").unwrap();
    assert_eq!(mode.duration_control, DurationControl::RunAndSuspending);
}

#[test]
fn err_11_a_cycle_survives_being_stored() {
    let errors = steady("max_attempts: 6");
    let (_, cycle) = next(&errors, &failure(&ErrorClass::from("c")), None, NOW).unwrap();
    assert_eq!(Cycle::from_value(&cycle.to_value()), Some(cycle));
    assert_eq!(Cycle::from_value(&json!({"class": "c"})), None);
}

#[test]
fn err_14_a_cycle_shows_how_far_it_may_go() {
    let class = ErrorClass::from("c");
    let errors = steady("max_attempts: 6, max_duration: 1h");
    let (_, cycle) = next(&errors, &failure(&class), None, NOW).unwrap();
    assert_eq!(
        ErrorRules::from(&errors).standing("s", &cycle),
        Standing { max_attempts: Some(6), ends_at: at(3600) }
    );
    // The policy is gone, and the general limit alone is left.
    let stranger = Cycle { class: ErrorClass::from("x"), ..cycle.clone() };
    assert_eq!(
        ErrorRules::from(&errors).standing("s", &stranger),
        Standing { max_attempts: None, ends_at: at(7200) }
    );
    assert_eq!(ErrorRules::from(&errors).async_standing("s", &cycle).ends_at, at(24 * 3600));
}

proptest! {
    /// The end that is shown is the one that judges: an attempt begins until the end that a cycle shows, and none after it.
    #[test]
    fn err_14_no_attempt_begins_after_the_end_that_is_shown(
        begun in 0_i64..8000,
        waited in 0_u64..4000,
        attempts in 0_u32..8,
        bound in prop::sample::select(vec!["", ", max_duration: 1h", ", max_duration: 9h"]),
        running in any::<bool>(),
    ) {
        let class = ErrorClass::from("c");
        let mut errors = steady(&format!("max_attempts: 99{bound}"));
        if running {
            errors = errors.with_duration_control(DurationControl::RunAndSuspending);
        }
        let cycle = Cycle {
            class: class.clone(),
            policy: "p".into(),
            number: 1,
            attempts,
            started_at: at(-begun),
            failing_since: at(-begun),
            suspended: Duration::from_secs(waited.min(u64::try_from(begun).unwrap_or(0))),
            beside: Vec::new(),
        };
        let shown = ErrorRules::from(&errors).standing("s", &cycle).ends_at;
        let wait = Duration::from_secs(60).min(Duration::from_secs(5 << attempts));
        let due = at(i64::try_from(wait.as_secs()).unwrap_or(0));
        let verdict = on_failure(&errors, &failure(&class), Some(&cycle), NOW, 0.5);
        prop_assert_eq!(matches!(verdict, Verdict::RetryAt { .. }), due <= shown);
    }

    #[test]
    fn err_8_intervals_stay_within_their_bounds(
        initial in 1_u64..100_000,
        cap in 1_u64..1_000_000,
        multiplier in 1.0_f64..1000.0,
        jitter in 0.0_f64..=1.0,
        attempt in 1_u32..=u32::MAX,
        dice in 0.0_f64..=1.0,
    ) {
        let policy = Policy {
            name: "p".into(),
            classes: Vec::new(),
            scenarios: Vec::new(),
            initial_interval: Duration::from_millis(initial.min(cap)),
            multiplier,
            max_interval: Duration::from_millis(cap),
            jitter,
            max_attempts: None,
            max_duration: None,
        };
        let interval = policy.interval(attempt, dice);
        let close = Duration::from_micros(1);
        prop_assert!(interval <= policy.max_interval + close);
        let least = policy.initial_interval.as_secs_f64() * (1.0 - jitter);
        prop_assert!(interval.as_secs_f64() + 1e-6 >= least);
        // Without chance, waits never become shorter.
        let plain = Policy { jitter: 0.0, ..policy };
        prop_assert!(plain.interval(attempt, 0.0) <= plain.interval(attempt.saturating_add(1), 1.0));
    }
}
