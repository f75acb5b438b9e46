//! Bulk operations: pace, bounds and refusals.

use super::*;

fn now() -> Timestamp {
    "2026-01-02T12:00:00Z".parse().unwrap()
}

fn progress(total: u64) -> Progress {
    Progress {
        counts: Counts { total, ..Counts::default() },
        selecting: false,
        awaits_ends: true,
        rate: None,
        ramp: None,
        allowance: 0.0,
        allowed_at: now(),
        acted_at: None,
    }
}

fn ramp() -> Ramp {
    serde_json::from_str(r#"{"start": 1, "factor": 3, "stop_if": {"failed_share": 0.2}}"#).unwrap()
}

#[test]
fn rec_12_without_bounds_a_batch_is_next_and_the_end_comes_when_nothing_is_open() {
    assert_eq!(progress(500).next(now(), 200), Next::Act { orders: 200, allowance: 0.0 });
    assert_eq!(progress(7).next(now(), 200), Next::Act { orders: 7, allowance: 0.0 });
    assert_eq!(progress(0).next(now(), 200), Next::End);
    assert_eq!(Progress { selecting: true, ..progress(0) }.next(now(), 200), Next::Wait(LOOK_AGAIN));
}

#[test]
fn rec_12_a_rate_is_kept_over_any_time_and_never_saved_up_for_long() {
    let mut one = Progress { rate: Some(10.0), ..progress(1_000_000) };
    let mut acted = 0;
    for tick in 1..=1000_i64 {
        let at = now() + Duration::from_millis(37 * tick as u64);
        if let Next::Act { orders, allowance } = one.next(at, 200) {
            acted += orders;
            (one.allowance, one.allowed_at) = (allowance, at);
            one.counts.done += orders;
        }
    }
    // 37 seconds of ten a second.
    assert!((360..=371).contains(&acted), "{acted}");
    let late = now() + Duration::from_secs(3600);
    assert!(matches!(one.next(late, 200), Next::Act { orders: 10, .. }));
    let slow = Progress { rate: Some(0.5), ..progress(5) };
    assert!(matches!(slow.next(now(), 200), Next::Wait(pause) if pause == Duration::from_secs(2)));
    assert!(matches!(slow.next(now() + Duration::from_secs(2), 200), Next::Act { orders: 1, .. }));
}

#[test]
fn rec_12_a_ramp_grows_by_steps_once_the_orders_before_have_ended() {
    let mut one = Progress { ramp: Some(ramp()), ..progress(100) };
    let mut steps = Vec::new();
    while let Next::Act { orders, .. } = one.next(now(), 200) {
        steps.push(orders);
        one.counts.done += orders;
        one.acted_at = Some(now());
        if one.counts.open() > 0 {
            assert_eq!(one.next(now(), 200), Next::Wait(LOOK_AGAIN), "{steps:?}");
        }
        one.counts.succeeded += orders;
    }
    assert_eq!(steps, [1, 3, 9, 27, 60]);
    // Half a step is not a bound: another activator goes on with it.
    let half = Counts { total: 100, done: 2, ..Counts::default() };
    assert!(matches!(Progress { counts: half, ..one }.next(now(), 200), Next::Act { orders: 2, .. }));
}

#[test]
fn rec_12_a_ramp_pauses_where_too_many_fail_and_does_not_wait_for_ever() {
    let counts =
        Counts { total: 100, done: 3, failed: 1, succeeded: 2, failed_again: 1, ..Counts::default() };
    let one = Progress { ramp: Some(ramp()), counts, acted_at: Some(now()), ..progress(100) };
    assert!(matches!(one.next(now(), 200), Next::Pause(reason) if reason.starts_with("50 %")), "{one:?}");
    let well =
        Progress { counts: Counts { failed: 0, done: 4, succeeded: 3, failed_again: 0, ..counts }, ..one };
    assert_eq!(well.next(now(), 200), Next::Wait(LOOK_AGAIN), "one has not ended");
    assert!(matches!(well.next(now() + Duration::from_secs(60), 200), Next::Act { orders: 9, .. }));
}

#[test]
fn rec_12_a_ramp_that_makes_no_sense_is_refused() {
    for (bad, field) in [
        (Ramp { start: 0, ..ramp() }, "start"),
        (Ramp { factor: 0.5, ..ramp() }, "factor"),
        (Ramp { factor: f64::NAN, ..ramp() }, "factor"),
        (Ramp { stop_if: Some(StopIf { failed_share: 1.5 }), ..ramp() }, "stop_if/failed_share"),
    ] {
        assert_eq!(bad.check().unwrap_err().0, field);
    }
    assert!(ramp().check().is_ok());
    let level = Ramp { factor: 1.0, ..ramp() };
    assert_eq!(level.bound_after(10), Some(11));
    assert_eq!(Ramp { factor: 1000.0, ..ramp() }.bound_after(u64::MAX - 1), None.or(Some(u64::MAX)));
}

#[test]
fn rec_12_the_speed_follows_what_is_done() {
    let steady = (0..400).fold(0.0, |former, _| speed(former, 50, Duration::from_millis(100)));
    assert!((steady - 500.0).abs() < 5.0, "{steady}");
    assert!(speed(500.0, 0, Duration::from_secs(60)) < 1.0);
}
