//! Calendars over days, months and changes of the clocks.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

use jiff::{SignedDuration, Timestamp};
use proptest::prelude::*;

use super::*;

fn at(text: &str) -> Timestamp {
    text.parse().unwrap()
}

fn rule(text: &str) -> CalendarRule {
    serde_json::from_str(text).unwrap()
}

fn calendar(text: &str) -> Calendar {
    Calendar::read(&rule(text)).unwrap()
}

fn window(text: &str) -> MaintenanceWindow {
    let target = WindowTarget::Flows("tariff".to_owned());
    MaintenanceWindow { no: 1, target, calendar: calendar(text), void_until: None }
}

/// The next occurrences after a time, as `BEGIN/END`.
fn next(calendar: &Calendar, after: &str, count: usize) -> Vec<String> {
    let mut now = at(after);
    let mut periods = Vec::new();
    for _ in 0..count {
        let Some(one) = calendar.after(now) else { break };
        periods.push(format!("{}/{}", one.begin, one.end));
        now = one.begin;
    }
    periods
}

#[test]
fn dsp_16_a_window_once_lasts_from_its_start_to_its_end() {
    let once = window(r#"{"from": "2026-12-01T22:00:00Z", "for": "3h"}"#);
    let end = at("2026-12-02T01:00:00Z");
    assert_eq!(once.open_at(at("2026-12-01T21:59:59Z")), None);
    assert_eq!(once.open_at(at("2026-12-01T22:00:00Z")).map(|one| one.end), Some(end));
    assert_eq!(once.open_at(at("2026-12-02T00:59:59.999Z")).map(|one| one.end), Some(end));
    assert_eq!(once.open_at(end), None);
    assert_eq!(once.due(at("2026-11-01T00:00:00Z")), Some(at("2026-12-01T22:00:00Z")));
    assert_eq!(once.due(at("2026-12-01T22:00:00Z")), Some(end));
    assert_eq!((once.due(end), once.calendar.end()), (None, Some(end)));
    let finer = window(r#"{"from": "2026-12-01T22:00:00.123456789Z", "for": "3h"}"#);
    let begin = finer.next_after(at("2026-12-01T00:00:00Z")).map(|one| one.begin);
    assert_eq!(begin, Some(at("2026-12-01T22:00:00.123456Z")), "what is stored of it must be equal to it");
}

#[test]
fn dsp_16_calendars_come_again_by_day_week_and_month() {
    let cases = [
        (
            r#"{"every": "day", "at": "22:30", "for": "90m"}"#,
            "2026-12-01T22:30:00Z",
            vec!["2026-12-02T22:30:00Z/2026-12-03T00:00:00Z", "2026-12-03T22:30:00Z/2026-12-04T00:00:00Z"],
        ),
        (
            r#"{"every": "week", "on": ["Saturday", "wednesday"], "at": "01:00", "zone": "Asia/Tokyo", "for": "2h"}"#,
            "2026-12-01T00:00:00Z",
            vec!["2026-12-01T16:00:00Z/2026-12-01T18:00:00Z", "2026-12-04T16:00:00Z/2026-12-04T18:00:00Z"],
        ),
        (
            r#"{"every": "month", "on": ["31", "last sunday"], "at": "00:00", "for": "23h"}"#,
            "2026-09-01T00:00:00Z",
            vec![
                "2026-09-27T00:00:00Z/2026-09-27T23:00:00Z",
                "2026-10-25T00:00:00Z/2026-10-25T23:00:00Z",
                "2026-10-31T00:00:00Z/2026-10-31T23:00:00Z",
                "2026-11-29T00:00:00Z/2026-11-29T23:00:00Z",
            ],
        ),
        (
            r#"{"every": "month", "on": ["last", "second tuesday"], "at": "12:00", "for": "1h"}"#,
            "2028-02-01T00:00:00Z",
            vec!["2028-02-08T12:00:00Z/2028-02-08T13:00:00Z", "2028-02-29T12:00:00Z/2028-02-29T13:00:00Z"],
        ),
    ];
    for (text, after, expected) in cases {
        assert_eq!(next(&calendar(text), after, expected.len()), expected, "{text}");
    }
}

#[test]
fn dsp_16_a_window_keeps_its_hour_when_the_clocks_change_and_its_length_is_time_that_passes() {
    // Berlin goes to summer time on 29 March 2026 at 02:00, and back on 25 October at 03:00.
    let nightly = calendar(r#"{"every": "day", "at": "02:30", "zone": "Europe/Berlin", "for": "1h"}"#);
    assert_eq!(
        next(&nightly, "2026-03-27T12:00:00Z", 3),
        [
            "2026-03-28T01:30:00Z/2026-03-28T02:30:00Z",
            // 02:30 is not shown that day: an hour later by the clocks, at the same distance.
            "2026-03-29T01:30:00Z/2026-03-29T02:30:00Z",
            "2026-03-30T00:30:00Z/2026-03-30T01:30:00Z",
        ]
    );
    assert_eq!(
        next(&nightly, "2026-10-24T12:00:00Z", 2),
        [
            // 02:30 is shown twice: the first counts, and there is no second window.
            "2026-10-25T00:30:00Z/2026-10-25T01:30:00Z",
            "2026-10-26T01:30:00Z/2026-10-26T02:30:00Z",
        ]
    );
    let evening = calendar(
        r#"{"every": "week", "on": ["saturday"], "at": "23:00", "zone": "Europe/Berlin", "for": "6h"}"#,
    );
    assert_eq!(
        next(&evening, "2026-03-25T00:00:00Z", 2),
        ["2026-03-28T22:00:00Z/2026-03-29T04:00:00Z", "2026-04-04T21:00:00Z/2026-04-05T03:00:00Z"]
    );
    assert_eq!(evening.at(at("2026-03-29T03:59:00Z")).map(|one| one.begin), Some(at("2026-03-28T22:00:00Z")));
}

#[test]
fn dsp_16_a_calendar_begins_and_ends_at_its_bounds() {
    let bounded = calendar(
        r#"{"every": "day", "at": "04:00", "for": "1h", "from": "2026-12-03T04:00:00Z", "until": "2026-12-05T04:00:00Z"}"#,
    );
    let expected = ["2026-12-03T04:00:00Z/2026-12-03T05:00:00Z", "2026-12-04T04:00:00Z/2026-12-04T05:00:00Z"];
    assert_eq!(next(&bounded, "2026-01-01T00:00:00Z", 9), expected);
    assert_eq!(bounded.at(at("2026-12-02T04:30:00Z")), None);
    assert_eq!(bounded.at(at("2026-12-05T04:30:00Z")), None);
    assert!(bounded.end() >= Some(at("2026-12-04T05:00:00Z")));
}

#[test]
fn dsp_16_an_occurrence_that_was_called_off_is_not_and_the_next_one_is() {
    let mut nightly = window(r#"{"every": "day", "at": "22:00", "for": "2h"}"#);
    let now = at("2026-12-01T23:00:00Z");
    assert!(nightly.open_at(now).is_some());
    nightly.void_until = Some(at("2026-12-01T22:00:00Z"));
    assert_eq!(nightly.open_at(now), None);
    assert_eq!(nightly.due(now), Some(at("2026-12-02T22:00:00Z")));
    nightly.void_until = Some(at("2026-12-02T22:00:00Z"));
    assert_eq!(
        nightly.due(now),
        Some(at("2026-12-03T22:00:00Z")),
        "one that has not begun can be called off, too"
    );
}

#[test]
fn dsp_16_what_cannot_be_is_refused_with_its_field() {
    let cases = [
        (r#"{"for": "1h"}"#, "from"),
        (r#"{"from": "2026-12-01T22:00:00Z", "for": "soon"}"#, "for"),
        (r#"{"from": "2026-12-01T22:00:00Z", "for": "0s"}"#, "for"),
        (r#"{"from": "2026-12-01T22:00:00Z", "for": "40d"}"#, "for"),
        (r#"{"from": "2026-12-01T22:00:00Z", "for": "1h", "at": "22:00"}"#, "at"),
        (r#"{"every": "day", "for": "1h"}"#, "at"),
        (r#"{"every": "day", "at": "24:00", "for": "1h"}"#, "at"),
        (r#"{"every": "day", "at": "9:00", "for": "1h"}"#, "at"),
        (r#"{"every": "day", "at": "22:00", "on": ["monday"], "for": "1h"}"#, "on"),
        (r#"{"every": "day", "at": "22:00", "for": "24h"}"#, "for"),
        (r#"{"every": "week", "at": "22:00", "for": "1h"}"#, "on"),
        (r#"{"every": "week", "on": ["mon"], "at": "22:00", "for": "1h"}"#, "on"),
        (r#"{"every": "week", "on": ["saturday", "sunday"], "at": "22:00", "for": "24h"}"#, "for"),
        (r#"{"every": "month", "on": ["32"], "at": "22:00", "for": "1h"}"#, "on"),
        (r#"{"every": "month", "on": ["fifth sunday"], "at": "22:00", "for": "1h"}"#, "on"),
        (r#"{"every": "month", "on": ["1", "last"], "at": "22:00", "for": "30h"}"#, "for"),
        (r#"{"every": "day", "at": "22:00", "zone": "Mars/Base", "for": "1h"}"#, "zone"),
        (
            r#"{"every": "day", "at": "22:00", "for": "1h", "from": "2026-12-01T00:00:00Z", "until": "2026-12-01T01:00:00Z"}"#,
            "until",
        ),
    ];
    for (text, field) in cases {
        let refused = Calendar::read(&rule(text)).unwrap_err();
        assert_eq!(refused.field, field, "{text}: {refused}");
    }
    // A day of 23 hours is in every year, and a window that fits into it is taken.
    assert!(
        Calendar::read(&rule(r#"{"every": "day", "at": "22:00", "zone": "Europe/Berlin", "for": "23h"}"#))
            .is_err()
    );
    assert!(
        Calendar::read(&rule(r#"{"every": "day", "at": "22:00", "zone": "Europe/Berlin", "for": "22h"}"#))
            .is_ok()
    );
}

const ZONES: [&str; 6] =
    ["UTC", "Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "Asia/Kathmandu", "Pacific/Apia"];

proptest! {
    /// Whatever the zone and the clocks do: who walks from due time to due time sees each occurrence begin and end, in
    /// their order, and none lasts longer or shorter than its length.
    #[test]
    fn dsp_16_walking_from_due_time_to_due_time_misses_nothing(
        zone in proptest::sample::select(&ZONES[..]),
        hour in 0_u8..24,
        minute in 0_u8..60,
        period in proptest::sample::select(&["day", "week", "month"][..]),
        minutes in 1_i64..20 * 60,
        start in 1_700_000_000_i64..1_900_000_000,
    ) {
        let on = match period {
            "day" => "[]",
            "week" => r#"["sunday"]"#,
            _ => r#"["last", "second sunday"]"#,
        };
        let text = format!(
            r#"{{"every": "{period}", "on": {on}, "at": "{hour:02}:{minute:02}", "zone": "{zone}", "for": "{minutes}m"}}"#
        );
        let window = window(&text);
        let mut now = Timestamp::from_second(start).unwrap();
        let mut was = window.open_at(now);
        for _ in 0..40 {
            let due = window.due(now).unwrap();
            prop_assert!(due > now);
            // Nothing happens in between.
            let middle = now + due.duration_since(now) / 2;
            prop_assert_eq!(window.open_at(middle), was);
            let is = window.open_at(due);
            match (was, is) {
                (Some(one), None) => prop_assert_eq!(one.end, due),
                (None, Some(one)) => {
                    prop_assert_eq!(one.begin, due);
                    prop_assert_eq!(one.end.duration_since(one.begin), SignedDuration::from_mins(minutes));
                }
                other => prop_assert!(false, "{:?} at {}", other, due),
            }
            (now, was) = (due, is);
        }
    }
}
