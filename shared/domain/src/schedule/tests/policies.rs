//! Missed times, and orders of before that have not ended.

use super::*;

const HOURLY: &str = "0 * * * *";

fn due(
    policy: Value,
    decided: &str,
    now: &str,
    most: usize,
) -> (Vec<String>, Option<(usize, String)>, String, bool) {
    let found = schedule(json!({"cron": HOURLY, "catchUp": policy})).due(at(decided), at(now), most);
    (
        found.due.iter().map(|at| at.to_string()).collect(),
        found.missed.map(|missed| (missed.count, format!("{} {}", missed.first, missed.last))),
        found.decided_until.to_string(),
        found.has_more,
    )
}

#[test]
fn ord_39_a_time_that_comes_within_a_minute_is_kept_by_every_policy() {
    for policy in ["skip", "one", "all"] {
        let found = due(json!({"policy": policy}), "2026-12-01T02:30:00Z", "2026-12-01T03:00:59Z", 100);
        assert_eq!(
            found,
            (vec!["2026-12-01T03:00:00Z".to_owned()], None, "2026-12-01T03:00:59Z".to_owned(), false)
        );
        let nothing = due(json!({"policy": policy}), "2026-12-01T03:00:59Z", "2026-12-01T03:30:00Z", 100);
        assert_eq!((nothing.0.len(), nothing.1), (0, None));
        // A clock that was set back decides nothing again.
        let back = due(json!({"policy": policy}), "2026-12-01T03:00:59Z", "2026-12-01T02:00:30Z", 100);
        assert_eq!((back.0.len(), back.2.as_str()), (0, "2026-12-01T03:00:59Z"));
    }
}

#[test]
fn ord_39_missed_times_are_skipped_or_made_up_for_once_or_each() {
    // Nobody was there from 02:30 to 06:30.
    let ask = |policy: Value| due(policy, "2026-12-01T02:30:00Z", "2026-12-01T06:30:00Z", 100);
    let (runs, missed, ..) = ask(json!({"policy": "skip"}));
    assert_eq!((runs.len(), missed.unwrap().0), (0, 4));
    let (runs, missed, ..) = ask(json!({"policy": "one", "within": "2h"}));
    assert_eq!(runs, ["2026-12-01T06:00:00Z"]);
    assert_eq!(missed.unwrap(), (3, "2026-12-01T03:00:00Z 2026-12-01T05:00:00Z".to_owned()));
    let (runs, missed, ..) = ask(json!({"policy": "one", "within": "10m"}));
    assert_eq!((runs.len(), missed.unwrap().0), (0, 4), "too late for all of them");
    let (runs, missed, ..) = ask(json!({"policy": "all", "within": "2h"}));
    assert_eq!(runs, ["2026-12-01T05:00:00Z", "2026-12-01T06:00:00Z"]);
    assert_eq!(missed.unwrap().0, 2);
    // One is due on time, which makes up for those before it.
    let (runs, missed, ..) =
        due(json!({"policy": "one", "within": "2h"}), "2026-12-01T02:30:00Z", "2026-12-01T06:00:02Z", 100);
    assert_eq!(runs, ["2026-12-01T06:00:00Z"]);
    assert_eq!(missed.unwrap().0, 3);
}

#[test]
fn ord_39_many_missed_times_come_piece_by_piece_and_are_counted_within_a_bound() {
    let policy = json!({"policy": "all", "within": "366d"});
    let (mut decided, mut runs) = ("2026-12-01T00:00:00Z".to_owned(), Vec::new());
    loop {
        let (more, missed, until, has_more) = due(policy.clone(), &decided, "2026-12-04T00:30:00Z", 10);
        assert!(missed.is_none() && more.len() <= 10);
        runs.extend(more);
        decided = until;
        if !has_more {
            break;
        }
    }
    assert_eq!(
        (runs.len(), runs[0].as_str(), decided.as_str()),
        (72, "2026-12-01T01:00:00Z", "2026-12-04T00:30:00Z")
    );
    let each_second = schedule(json!({"every": "1s", "catchUp": {"policy": "one", "within": "1h"}}));
    let found = each_second.due(at("2025-12-01T00:00:00Z"), at("2026-12-01T00:00:00Z"), 100);
    let missed = found.missed.unwrap();
    assert_eq!(
        (missed.count, missed.is_complete, found.due.len(), found.has_more),
        (10_000, false, 61, false)
    );
}

#[test]
fn ord_39_an_order_of_before_decides_about_the_next() {
    use OverlapVerdict::{Queue, Register, Replace, Skip};
    let cases = [
        (Overlap::Allow, true, 0, Register),
        (Overlap::Skip, false, 0, Register),
        (Overlap::Skip, true, 0, Skip),
        (Overlap::Queue, false, 0, Register),
        (Overlap::Queue, true, 0, Queue),
        (Overlap::Queue, false, 1, Queue),
        (Overlap::Queue, true, MOST_QUEUED, Skip),
        (Overlap::Replace, false, 0, Register),
        (Overlap::Replace, true, 0, Replace),
    ];
    for (overlap, is_busy, queued, verdict) in cases {
        assert_eq!(overlap.verdict(is_busy, queued), verdict, "{overlap} {is_busy} {queued}");
    }
}
