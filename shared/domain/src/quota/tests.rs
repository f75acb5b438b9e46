//! Limits of clients: examples, and properties of any sequence of requests.

#![allow(clippy::unwrap_used, reason = "a test may stop at the first surprise")]

use proptest::prelude::*;

use super::*;

fn rate(per_second: u64, burst: u64) -> QuotaRate {
    let number = |number| NonZeroU64::new(number).unwrap();
    QuotaRate { per_second: number(per_second), burst: number(burst) }
}

fn requests(per_second: u64, burst: u64) -> QuotaLimits {
    QuotaLimits { requests: Some(rate(per_second, burst)), ..QuotaLimits::default() }
}

fn bytes(per_second: u64, burst: u64) -> QuotaLimits {
    QuotaLimits { bytes: Some(rate(per_second, burst)), ..QuotaLimits::default() }
}

const fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

/// A client.
const ONE: u8 = 1;

#[test]
fn qlt_15_a_burst_is_taken_at_once_and_the_rate_after_it() {
    for (per_second, burst) in [(3, 3), (7, 1), (10, 5), (1_000_000_007, 9)] {
        let (mut quotas, limits) = (Quotas::of_at_most(9), requests(per_second, burst));
        for taken in 0..burst {
            assert_eq!(quotas.begin(ONE, 0, &limits, ms(5)), Ok(()), "{taken} of {burst}");
        }
        let refused = quotas.begin(ONE, 0, &limits, ms(5)).unwrap_err();
        let wait = refused.retry_after.unwrap();
        assert_eq!(refused.measure, QuotaMeasure::Requests);
        assert!(wait <= Duration::from_nanos(1_000_000_000 / per_second + 1), "{wait:?}");
        if let Some(early) = wait.checked_sub(Duration::from_nanos(2)) {
            assert!(quotas.begin(ONE, 0, &limits, ms(5) + early).is_err());
        }
        assert_eq!(quotas.begin(ONE, 0, &limits, ms(5) + wait), Ok(()));
    }
}

#[test]
fn qlt_15_open_requests_are_bounded_until_they_end() {
    let mut quotas = Quotas::of_at_most(9);
    let limits = QuotaLimits { open: NonZeroU64::new(2), ..QuotaLimits::default() };
    quotas.begin(ONE, 0, &limits, ms(0)).unwrap();
    quotas.begin(ONE, 0, &limits, ms(0)).unwrap();
    let refused = QuotaExceeded { measure: QuotaMeasure::Open, retry_after: None };
    assert_eq!(quotas.begin(ONE, 0, &limits, ms(9)), Err(refused));
    assert_eq!(quotas.begin(2, 0, &limits, ms(9)), Ok(()), "another client is another");
    quotas.end(&ONE);
    assert_eq!(quotas.begin(ONE, 0, &limits, ms(9)), Ok(()));
    let left = quotas.left(&ONE, &limits, ms(9));
    assert_eq!(left, [QuotaLeft { measure: QuotaMeasure::Open, units: 0, full_after: None }]);
}

#[test]
fn qlt_15_a_body_longer_than_a_burst_waits_for_a_full_bucket_and_is_paid_off_afterwards() {
    let (mut quotas, limits) = (Quotas::of_at_most(9), bytes(1000, 1000));
    quotas.begin(ONE, 100, &limits, ms(0)).unwrap();
    let refused = quotas.begin(ONE, 5000, &limits, ms(0)).unwrap_err();
    assert_eq!(refused, QuotaExceeded { measure: QuotaMeasure::Bytes, retry_after: Some(ms(100)) });
    quotas.begin(ONE, 5000, &limits, ms(100)).unwrap();
    assert_eq!(quotas.begin(ONE, 1, &limits, ms(4000)).unwrap_err().retry_after, Some(ms(101)));
    quotas.begin(ONE, 1, &limits, ms(4101)).unwrap();
    // A request without a body takes none.
    quotas.begin(ONE, 0, &limits, ms(4101)).unwrap();
}

#[test]
fn qlt_15_a_body_of_unknown_length_is_counted_as_it_comes() {
    let (mut quotas, limits) = (Quotas::of_at_most(9), bytes(1000, 1000));
    quotas.begin(ONE, 0, &limits, ms(0)).unwrap();
    quotas.read(&ONE, 3000, &limits, ms(0));
    assert_eq!(quotas.begin(ONE, 0, &limits, ms(0)).unwrap_err().retry_after, Some(ms(2000)));
    let [left] = quotas.left(&ONE, &limits, ms(2500))[..] else { panic!() };
    assert_eq!((left.units, left.full_after), (500, Some(ms(500))));
}

#[test]
fn qlt_15_a_refusal_takes_nothing_of_any_measure() {
    let mut quotas = Quotas::of_at_most(9);
    let limits =
        QuotaLimits { requests: Some(rate(1, 9)), bytes: Some(rate(1, 9)), open: NonZeroU64::new(1) };
    quotas.begin(ONE, 9, &limits, ms(0)).unwrap();
    let before = quotas.left(&ONE, &limits, ms(0));
    for _ in 0..100 {
        quotas.begin(ONE, 0, &limits, ms(0)).unwrap_err();
    }
    quotas.end(&ONE);
    for _ in 0..100 {
        quotas.begin(ONE, 9, &limits, ms(0)).unwrap_err();
    }
    assert_eq!(quotas.left(&ONE, &limits, ms(0))[..2], before[..2]);
}

#[test]
fn qlt_15_of_too_many_clients_the_idle_are_forgotten_first_and_those_at_work_never() {
    let (mut quotas, limits) = (Quotas::of_at_most(100), requests(1, 1));
    for client in 0..50_u32 {
        quotas.begin(client, 0, &limits, ms(0)).unwrap();
    }
    for client in 50..100_u32 {
        quotas.begin(client, 0, &limits, ms(0)).unwrap();
        quotas.end(&client);
    }
    // The bucket of a client with nothing in progress is full again by now.
    quotas.begin(1000, 0, &limits, ms(1000)).unwrap();
    assert_eq!(quotas.clients.len(), 51);
    assert!((0..50).all(|client| quotas.clients.contains_key(&client)));
    // Those that are at work keep their places, and another one is taken all the same.
    let mut full = Quotas::of_at_most(2);
    for client in 0..9 {
        full.begin(client, 0, &limits, ms(0)).unwrap();
        assert!(full.clients.len() <= 2);
    }
    full.end(&8);
}

/// A request of a client after a pause in microseconds, with bytes.
fn asked() -> impl Strategy<Value = (u8, u64, u64)> {
    (0..4_u8, prop_oneof![Just(0_u64), 0..3000_u64, 0..3_000_000_u64], 0..200_u64)
}

proptest! {
    /// In any stretch of time: of units up to a burst, never more than the rate gives in it, and a burst.
    #[test]
    fn qlt_15_no_client_gets_more_than_its_rate_and_a_burst(
        asked in proptest::collection::vec(asked(), 1..200),
        per_second in 1..2000_u64,
        burst in 200..2000_u64,
    ) {
        let limits = QuotaLimits { bytes: Some(rate(per_second, burst)), ..requests(per_second, burst) };
        let (mut quotas, mut now) = (Quotas::of_at_most(9), Duration::ZERO);
        let mut taken: Vec<(u8, Duration, u64)> = Vec::new();
        for (client, pause, bytes) in asked {
            now += Duration::from_micros(pause);
            if quotas.begin(client, bytes, &limits, now).is_ok() {
                quotas.end(&client);
                taken.push((client, now, bytes));
            }
        }
        for (from, (client, begun, _)) in taken.iter().enumerate() {
            let (mut number, mut bytes) = (0.0, 0.0);
            for (_, at, more) in taken[from..].iter().filter(|(of, ..)| of == client) {
                number += 1.0;
                bytes += *more as f64;
                let most = (*at - *begun).as_secs_f64() * per_second as f64 + burst as f64;
                prop_assert!(number <= most + 1e-6 && bytes <= most + 1e-6, "{number}, {bytes} of {most}");
            }
        }
    }

    #[test]
    fn qlt_15_a_client_within_its_rate_is_never_refused(
        pauses in proptest::collection::vec(0..5_000_000_u64, 1..200),
        per_second in 1..100_000_u64,
        burst in 1..20_u64,
    ) {
        let (mut quotas, limits) = (Quotas::of_at_most(9), requests(per_second, burst));
        let interval = Duration::from_nanos(1_000_000_000_u64.div_ceil(per_second));
        let mut now = Duration::ZERO;
        for pause in pauses {
            now += interval + Duration::from_nanos(pause);
            prop_assert_eq!(quotas.begin(ONE, 0, &limits, now), Ok(()));
            // Another one that is far beyond its rate.
            for _ in 0..3 {
                let _ = quotas.begin(2, 0, &limits, now);
            }
        }
    }

    #[test]
    fn qlt_15_what_others_ask_changes_nothing_for_a_client(
        asked in proptest::collection::vec(asked(), 1..200),
        per_second in 1..2000_u64,
        burst in 1..300_u64,
    ) {
        let limits = QuotaLimits { bytes: Some(rate(per_second, burst)), ..requests(per_second, burst) };
        let (mut together, mut alone) = (Quotas::of_at_most(9), Quotas::of_at_most(9));
        let mut now = Duration::ZERO;
        for (client, pause, bytes) in asked {
            now += Duration::from_micros(pause);
            let outcome = together.begin(client, bytes, &limits, now);
            if client == ONE {
                prop_assert_eq!(outcome, alone.begin(client, bytes, &limits, now));
                prop_assert_eq!(together.left(&ONE, &limits, now), alone.left(&ONE, &limits, now));
            }
        }
    }

    #[test]
    fn qlt_15_no_more_clients_are_remembered_than_there_is_room_for(
        asked in proptest::collection::vec((0..500_u16, 0..2_000_000_u64, any::<bool>()), 1..400),
        most in 1..60_usize,
    ) {
        let (mut quotas, limits) = (Quotas::of_at_most(most), requests(2, 3));
        let mut now = Duration::ZERO;
        for (client, pause, ends) in asked {
            now += Duration::from_micros(pause);
            if quotas.begin(client, 0, &limits, now).is_ok() && ends {
                quotas.end(&client);
            }
            prop_assert!(quotas.clients.len() <= most);
        }
    }
}
