//! Schedules: expressions, times over changes of the clocks, exceptions, missed times, templates.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod expressions;
mod looks;
mod policies;
mod walk;

use jiff::Timestamp;
use serde_json::{Value, json};

use super::*;

fn at(text: &str) -> Timestamp {
    text.parse().unwrap()
}

fn rule(value: Value) -> ScheduleRule {
    serde_json::from_value(value).unwrap()
}

fn schedule(value: Value) -> Schedule {
    Schedule::read(&rule(value)).unwrap()
}

fn faults(value: Value) -> Vec<String> {
    let faults = Schedule::read(&rule(value)).err().unwrap_or_default();
    faults.iter().map(|found| format!("{} {}", found.pointer, found.message)).collect()
}

/// The next times after one, as they are in ids.
fn next(value: Value, after: &str, count: usize) -> Vec<String> {
    schedule(value).plan.times(at(after)).take(count).map(|at| at.to_string()).collect()
}

#[test]
fn ord_39_a_time_that_the_clocks_skip_is_taken_when_they_go_on_and_one_shown_twice_counts_once() {
    // On 2026-03-29 the clocks of Berlin go from 02:00 to 03:00, on 2026-10-25 from 03:00 back to 02:00.
    let cases = [
        ("30 2 * * *", "2026-03-28T12:00:00Z", vec!["2026-03-29T01:00:00Z", "2026-03-30T00:30:00Z"]),
        ("*/20 2 * * *", "2026-03-28T12:00:00Z", vec!["2026-03-29T01:00:00Z", "2026-03-30T00:00:00Z"]),
        ("0,30 2,3 * * *", "2026-03-28T12:00:00Z", vec!["2026-03-29T01:00:00Z", "2026-03-29T01:30:00Z"]),
        ("30 2 * * *", "2026-10-24T12:00:00Z", vec!["2026-10-25T00:30:00Z", "2026-10-26T01:30:00Z"]),
        ("0 3 * * *", "2026-10-24T12:00:00Z", vec!["2026-10-25T02:00:00Z", "2026-10-26T02:00:00Z"]),
        // Each hour is meant: by the time that passes.
        (
            "30 * * * *",
            "2026-10-25T00:00:00Z",
            vec!["2026-10-25T00:30:00Z", "2026-10-25T01:30:00Z", "2026-10-25T02:30:00Z"],
        ),
        ("30 * * * *", "2026-03-29T00:00:00Z", vec!["2026-03-29T00:30:00Z", "2026-03-29T01:30:00Z"]),
        // Between the two showings of the same time.
        ("30 2 * * *", "2026-10-25T01:10:00Z", vec!["2026-10-26T01:30:00Z"]),
    ];
    for (cron, after, times) in cases {
        let found = next(json!({"cron": cron, "zone": "Europe/Berlin"}), after, times.len());
        assert_eq!(found, times, "{cron} after {after}");
    }
    // A day that Samoa never had: its times come when the next one begins.
    let found = next(json!({"cron": "0 9 30 12 *", "zone": "Pacific/Apia"}), "2011-12-01T00:00:00Z", 1);
    assert_eq!(found, ["2011-12-30T10:00:00Z"]);
}

#[test]
fn ord_39_intervals_are_counted_from_a_start_and_do_not_care_for_clocks() {
    let found = next(json!({"every": "15m"}), "2026-11-26T23:52:07.5Z", 2);
    assert_eq!(found, ["2026-11-27T00:00:00Z", "2026-11-27T00:15:00Z"]);
    let rule = json!({"every": "7h", "from": "2026-03-28T20:00:00Z", "until": "2026-03-29T17:00:00Z"});
    let found = next(rule, "2026-01-01T00:00:00Z", 9);
    assert_eq!(found, ["2026-03-28T20:00:00Z", "2026-03-29T03:00:00Z", "2026-03-29T10:00:00Z"]);
    let rule = json!({"every": "1s", "from": "2026-03-28T20:00:00Z"});
    assert_eq!(next(rule, "2026-03-28T20:00:00Z", 1), ["2026-03-28T20:00:01Z"], "after, not at");
    let fine = json!({"every": "1h", "from": "2026-03-28T20:00:00.7Z"});
    assert_eq!(next(fine, "2026-03-28T00:00:00Z", 1), ["2026-03-28T21:00:00Z"], "never before the start");
}

#[test]
fn ord_39_exceptions_are_dates_of_the_zone_and_ranges() {
    let daily =
        |exceptions: Value| json!({"cron": "0 3 * * *", "zone": "Europe/Moscow", "exceptions": exceptions});
    let found = next(daily(json!(["2026-12-31", "01-01"])), "2026-12-30T12:00:00Z", 2);
    assert_eq!(found, ["2027-01-02T00:00:00Z", "2027-01-03T00:00:00Z"]);
    let range = json!([{"from": "2026-12-30T00:00:00+03:00", "until": "2027-01-02T03:00:00+03:00"}]);
    assert_eq!(next(daily(range), "2026-12-29T12:00:00Z", 1), ["2027-01-02T00:00:00Z"], "its end counts");
    // The second of nine years is passed over in one step.
    let rule = json!({"every": "1s", "exceptions": [{"from": "2027-01-01T00:00:00Z", "until": "2036-01-01T00:00:00Z"}]});
    assert_eq!(next(rule, "2026-12-31T23:59:59Z", 1), ["2036-01-01T00:00:00Z"]);
    let leap = json!({"cron": "0 0 29 2 *", "exceptions": ["2028-02-29"]});
    assert_eq!(next(leap, "2026-01-01T00:00:00Z", 1), ["2032-02-29T00:00:00Z"]);
    let never = json!({"cron": "0 0 25 12 *", "exceptions": ["12-25"]});
    assert_eq!(next(never, "2026-01-01T00:00:00Z", 1), Vec::<String>::new());
    assert_eq!(
        faults(daily(json!(["2026-13-01", "12-32", "2026-12-31T10:00", {"from": "2026-12-31T00:00:00Z", "until": "2026-12-31T00:00:00Z"}]))).len(),
        4
    );
}

#[test]
fn ord_39_every_fault_of_a_rule_is_reported_with_its_place() {
    let rule = json!({"cron": "0 25 * * *", "zone": "Mars/Olympus", "from": "2026-12-01T00:00:00Z",
        "until": "2026-12-01T00:00:00Z", "exceptions": ["x"], "catchUp": {"policy": "all", "within": "0"}});
    let found = faults(rule);
    let pointers: Vec<&str> = found.iter().map(|found| found.split(' ').next().unwrap()).collect();
    assert_eq!(pointers, ["/zone", "/cron", "/exceptions/0", "/until", "/catchUp/within"], "{found:?}");
    assert!(found[1].contains("character 3"), "{}", found[1]);
    assert_eq!(faults(json!({}))[0], "/cron is missing");
    assert!(faults(json!({"cron": "@daily", "every": "1h"}))[0].starts_with("/every"));
    for every in ["0", "500ms", "1500ms", "5000d", "fast"] {
        assert_eq!(faults(json!({"every": every})).len(), 1, "{every}");
    }
    assert!(
        faults(json!({"every": "1h", "catchUp": {"policy": "skip", "within": "1h"}}))[0]
            .contains("has no effect")
    );
}

#[test]
fn ord_39_a_name_leaves_room_for_the_time_and_needs_no_escape() {
    for good in ["a", "nightly-load_2.x", "sales:daily", "ночной-расчёт", &"x".repeat(128)] {
        assert!(check_name(good).is_ok(), "{good}");
        assert!(order_id(good, at("2026-12-01T03:00:00Z")).len() <= 255);
    }
    for bad in ["", "-a", ".", "a@b", "a b", "a/b", "a\n", "a%2F", &"x".repeat(129)] {
        assert!(check_name(bad).is_err(), "{bad}");
    }
}

#[test]
fn ord_39_ids_have_one_form() {
    assert_eq!(order_id("nightly", at("2026-12-01T03:00:00+03:00")), "nightly@2026-12-01T00:00:00Z");
    assert_eq!(
        order_id_by_hand("nightly", at("2026-12-01T03:00:00.0456Z")),
        "nightly@2026-12-01T03:00:00.045Z"
    );
    assert_eq!(order_id_by_hand("nightly", at("2026-12-01T03:00:00Z")), "nightly@2026-12-01T03:00:00.000Z");
}

#[test]
fn ord_39_placeholders_stand_for_the_time_in_all_texts() {
    let template = OrderTemplate::read(
        json!({"scenario": "load", "params": {"day": "${schedule.date}", "list": ["${schedule.time} ${schedule.name}", 5],
            "other": "${params.x}"}, "transactionId": "${schedule.localTime}"}),
        "nightly",
    );
    let zone = TimeZone::get("Europe/Moscow").unwrap();
    let due = at("2026-12-01T22:30:00Z");
    let request = template.unwrap().request("nightly", order_id("nightly", due), due, &zone).unwrap();
    assert_eq!(request.id, "nightly@2026-12-01T22:30:00Z");
    let params =
        json!({"day": "2026-12-02", "list": ["2026-12-01T22:30:00Z nightly", 5], "other": "${params.x}"});
    assert_eq!(*request.params, params);
    assert_eq!(request.transaction_id.as_deref(), Some("2026-12-02T01:30:00+03:00"));
}

#[test]
fn ord_39_a_template_is_a_registration_without_what_a_time_decides() {
    let pointers = |template: Value| {
        let faults = OrderTemplate::read(template, "n").err().unwrap_or_default();
        faults.iter().map(|found| found.pointer.clone()).collect::<Vec<_>>()
    };
    assert_eq!(pointers(json!({"scenario": "s"})), Vec::<String>::new());
    assert_eq!(pointers(json!("s")), [""]);
    let template = json!({"id": "a", "scenario": "s", "lifecycle": {"startAt": "2026-12-01T00:00:00Z"},
        "params": {"a": ["${schedule.tme}"]}});
    assert_eq!(pointers(template), ["/id", "/lifecycle/startAt", "/params/a/0"]);
    assert_eq!(
        pointers(json!({"scenario": "s", "priority": "urgent", "colour": 1})),
        ["/colour", "/priority"]
    );
    assert_eq!(pointers(json!({"params": {}})), ["/scenario"]);
}

proptest::proptest! {
    #[test]
    fn ord_39_qlt_8_no_rule_breaks_the_reader_and_one_that_is_taken_has_times_in_their_order(
        body in crate::any::changed(json!({
            "cron": "*/5 * * * *", "zone": "Europe/Berlin", "from": "2026-01-01T00:00:00Z", "until": "2027-01-01T00:00:00Z",
            "exceptions": ["2026-12-25", "01-01"], "catchUp": "all", "overlap": "skip",
        })),
    ) {
        if let Ok(rule) = serde_json::from_value::<ScheduleRule>(body) {
            match Schedule::read(&rule) {
                Err(faults) => proptest::prop_assert!(!faults.is_empty()),
                Ok(schedule) => {
                    let start = "2026-06-01T00:00:00Z".parse().unwrap();
                    let times: Vec<_> = schedule.plan.times(start).take(3).collect();
                    proptest::prop_assert!(times.is_sorted(), "{:?}", times);
                }
            }
        }
    }
}
