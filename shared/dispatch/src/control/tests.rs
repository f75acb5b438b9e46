//! What the rule of the policy makes of windows, one rule each.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

use pagurus_domain::system::step_of;

use super::*;
use crate::timing::Spread;

fn at(second: i64) -> Timestamp {
    Timestamp::from_second(second).unwrap()
}

/// A window in which calls took `millis` milliseconds while `in_use` were in use.
fn window(second: i64, in_use: u32, millis: u64, good: u32, limiting: u32) -> LimitWindow {
    let mut spread = Spread::default();
    spread.add(step_of(Duration::from_millis(millis)), good as f32);
    let path = PathTimes { path: Arc::from("order"), kind: CallKind::Direct, spread };
    LimitWindow {
        now: at(second),
        in_use: f64::from(in_use),
        mean_use: f64::from(in_use),
        good,
        accepted: 0,
        limiting,
        paths: vec![path],
        most: 1000.0,
        adapts: true,
    }
}

/// A rule that has a limit and has seen that calls take a tenth of a second.
fn rule(limit: f64) -> Adaptive {
    let mut rule = Adaptive::default();
    let times = serde_json::json!([[step_of(Duration::from_millis(100)), 100.0]]);
    let base = serde_json::json!({"good": 100.0, "failed": 0.0, "times": times});
    rule.recall(&serde_json::json!({"limit": limit, "borne": limit, "base": base, "isBaseProven": true}));
    rule
}

fn limit(rule: &Adaptive) -> u32 {
    rule.limit().unwrap() as u32
}

#[test]
fn dsp_7_a_limit_moves_only_where_it_was_reached() {
    let mut unused = rule(20.0);
    for second in 2..30 {
        assert_eq!(unused.learn(&window(second, 19, 100, 100, 0)), None);
        assert_eq!(unused.learn(&window(second, 19, 300, 100, 0)), None, "others press the system");
    }
    assert_eq!(limit(&unused), 20);
    let mut used = rule(20.0);
    for second in 2..12 {
        let in_use = limit(&used);
        used.learn(&window(second, in_use, 100, 100, 0));
    }
    assert!(limit(&used) >= 30, "{used:?}");
}

#[test]
fn dsp_7_a_limit_falls_with_latency_and_with_limiting_failures() {
    let cases = [
        // (milliseconds, good, limiting) -> limit after a window at 40
        ((110, 100, 0), 40..=80),
        ((125, 100, 0), 40..=41),
        ((200, 100, 0), 20..=25),
        ((1000, 100, 0), 20..=20),
        ((100, 100, 1), 39..=80),
        ((100, 60, 40), 20..=30),
    ];
    for ((millis, good, limiting), expected) in cases {
        let mut rule = rule(40.0);
        let why = rule.learn(&window(2, 40, millis, good, limiting));
        assert!(expected.contains(&limit(&rule)), "{millis} ms, {good}, {limiting}: {why:?} {rule:?}");
    }
}

#[test]
fn dsp_7_a_slower_system_keeps_its_limit_and_a_pressed_one_does_not() {
    let mut slower = rule(40.0);
    slower.learn(&window(2, 40, 300, 100, 0));
    assert_eq!(limit(&slower), 20);
    let in_use = limit(&slower);
    slower.learn(&window(4, in_use, 300, 100, 0));
    assert_eq!(limit(&slower), 40, "fewer calls take as long");
    assert!((slower.base().unwrap() - 0.3).abs() < 0.03, "{slower:?}");

    let mut pressed = rule(40.0);
    pressed.learn(&window(2, 40, 300, 100, 0));
    let in_use = limit(&pressed);
    pressed.learn(&window(4, in_use, 105, 100, 0));
    assert!(limit(&pressed) <= in_use + 2 && pressed.base().unwrap() < 0.11, "{pressed:?}");
}

#[test]
fn dsp_7_two_hours_of_slow_overload_do_not_move_the_base() {
    let mut rule = rule(20.0);
    for second in 2..7200 {
        let in_use = limit(&rule);
        // Ten servers: calls wait for the others.
        let millis = (u64::from(in_use) * 10).max(100);
        rule.learn(&window(second, in_use, millis, 100, 0));
    }
    assert!((0.09..=0.11).contains(&rule.base().unwrap()), "{rule:?}");
    assert!((9..=14).contains(&limit(&rule)), "{rule:?}");
}

#[test]
fn dsp_7_what_is_tried_in_vain_is_taken_back() {
    let mut rule = rule(20.0);
    // The system refuses the twenty-first call.
    let mut refused = 0;
    for second in 2..600 {
        let in_use = limit(&rule);
        let limiting = in_use.saturating_sub(20) * 3;
        refused += limiting;
        rule.learn(&window(second, in_use, 100, 200, limiting));
        if second > 60 {
            assert!((16..=22).contains(&limit(&rule)), "{second}: {rule:?}");
        }
    }
    assert!(refused < 600, "{refused} of 120 000 calls");
}

#[test]
fn dsp_7_failures_that_come_whatever_the_limit_is_do_not_hold_it_down() {
    let mut rule = rule(40.0);
    for second in 2..120 {
        let in_use = rule.limit().map_or(100, |limit| limit as u32);
        rule.learn(&window(second, in_use, 100, 90, 10));
    }
    assert!(rule.limit().is_none_or(|limit| limit >= 30.0), "{rule:?}");
}

#[test]
fn dsp_7_a_start_into_a_backlog_does_not_pass_for_calm() {
    let mut rule = Adaptive::default();
    rule.begin(40.0, Some(40.0), at(1));
    // Ten servers: the very first calls wait for each other.
    for second in 2..200 {
        let in_use = limit(&rule);
        let millis = (u64::from(in_use) * 10).max(100);
        rule.learn(&window(second, in_use, millis, 100, 0));
    }
    assert!((0.09..=0.11).contains(&rule.base().unwrap()), "{rule:?}");
    assert!((8..=14).contains(&limit(&rule)), "{rule:?}");
}

#[test]
fn dsp_16_what_was_learnt_is_restored() {
    let mut first = rule(40.0);
    first.learn(&window(2, 40, 200, 100, 0));
    let mut second = Adaptive::default();
    second.recall(&first.remember());
    assert_eq!((second.limit(), second.base(), second.borne()), (first.limit(), first.base(), first.borne()));
    second.recall(&serde_json::json!({"limit": "many", "bases": 3}));
    assert_eq!((second.limit(), second.base()), (None, None), "what cannot be read is forgotten");
}
