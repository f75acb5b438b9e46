//! Statistics: ranges, steps and sums.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

use super::*;

fn at(text: &str) -> Timestamp {
    text.parse().unwrap()
}

fn query(since: Option<&str>, step: Option<&str>) -> StatsQuery {
    StatsQuery { since: since.map(str::to_owned), step: step.map(str::to_owned) }
}

#[test]
fn http_the_time_of_figures_begins_with_a_minute_and_has_few_steps() {
    let now = at("2026-01-01T12:00:30Z");
    assert_eq!(window(&query(None, None), now).unwrap(), (at("2026-01-01T11:00:00Z"), 120));
    assert_eq!(window(&query(Some("10m"), None), now).unwrap(), (at("2026-01-01T11:50:00Z"), 60));
    assert_eq!(window(&query(Some("1d"), Some("1h")), now).unwrap(), (at("2025-12-31T12:00:00Z"), 3600));
    for (asked, pointer) in [
        (query(Some("8d"), None), "/since"),
        (query(Some("2026-01-01T13:00:00Z"), None), "/since"),
        (query(Some("soon"), None), "/since"),
        (query(None, Some("90s")), "/step"),
        (query(Some("7d"), Some("1m")), "/step"),
    ] {
        assert_eq!(window(&asked, now).unwrap_err().pointer.as_deref(), Some(pointer), "{asked:?}");
    }
}

#[test]
fn http_a_status_is_counted_where_orders_of_it_stand() {
    let measured = |count, is_estimated| Measured { count, is_estimated };
    let rows = |are| vec![("success".into(), measured(9.0, are)), ("wait".into(), measured(7.0, are))];
    let waiting = [
        ("wait", measured(5.0, false)),
        ("sleep_youngest", measured(1.0, false)),
        ("sleep_oldest", measured(2.0, true)),
        ("dependent", measured(0.0, false)),
        ("worker", measured(4.0, false)),
        ("running", measured(2.0, false)),
    ];
    let counted = |are| {
        let counts = statuses(&rows(are), &waiting).into_iter();
        counts.map(|one| (one.name, one.count.count, one.count.estimated)).collect::<Vec<_>>()
    };
    assert_eq!(
        counted(false),
        [("running".to_owned(), 2, false), ("wait".into(), 7, false), ("success".into(), 9, false)],
        "few rows are counted as they are"
    );
    assert_eq!(
        counted(true),
        [
            ("running".to_owned(), 2, false),
            ("sleep".into(), 3, true),
            ("wait".into(), 5, false),
            ("success".into(), 9, true)
        ]
    );
}

#[test]
fn http_what_was_counted_is_reported_by_step_scenario_and_system() {
    let minute = at("2026-01-01T12:00:00Z");
    let of = |key: &str, count: i64, sum: f64| Totals {
        steps: vec![(minute, count, sum)],
        keys: vec![(key.to_owned(), count, sum)],
        cut_at: None,
    };
    let totals: SeriesTotals = [
        ("registered", of("s", 120, 0.0)),
        ("ended.success", of("s", 50, 0.0)),
        ("ended.fail", of("t", 10, 0.0)),
        ("stages", of("success", 200, 50.0)),
        ("calls", of("h:1", 300, 30.0)),
        ("errors.system", of("h:1", 4, 0.0)),
        ("errors.class", of("http.5xx", 4, 0.0)),
    ]
    .into_iter()
    .map(|(what, totals)| (what.to_owned(), totals))
    .collect();
    let steps = steps(&totals);
    assert_eq!((steps.len(), steps[0].registered, steps[0].ended.total()), (1, 120, 60));
    assert_eq!((steps[0].stages, steps[0].stage_seconds), (200, Some(0.25)));
    let rates = rates(&totals, minute);
    assert!((rates.registered - 2.0).abs() < 1e-9 && (rates.ended - 1.0).abs() < 1e-9, "{rates:?}");
    let scenarios = scenarios(&totals);
    let ended: Vec<(&str, i64)> =
        scenarios.iter().map(|one| (one.scenario.as_str(), one.ended.total())).collect();
    assert_eq!(ended, [("s", 50), ("t", 10)]);
    let systems = systems(&totals);
    assert_eq!((systems[0].calls, systems[0].errors), (300, 4));
    assert!((systems[0].mean_seconds - 0.1).abs() < 1e-9, "{systems:?}");
}
