//! Cron expressions as people write them, and the faults that they make.

use super::*;

#[test]
fn ord_39_expressions_name_their_times() {
    // Of Tuesday, 2026-12-01, in UTC.
    let cases = [
        ("* * * * *", "2026-12-01T00:01:00Z 2026-12-01T00:02:00Z"),
        ("0 3 * * 1-5", "2026-12-01T03:00:00Z 2026-12-02T03:00:00Z"),
        ("0 3 * * mon,Friday", "2026-12-04T03:00:00Z 2026-12-07T03:00:00Z"),
        ("*/7 5 * * *", "2026-12-01T05:00:00Z 2026-12-01T05:07:00Z"),
        ("10-40/15 5 * * *", "2026-12-01T05:10:00Z 2026-12-01T05:25:00Z"),
        ("50/5 5 * * *", "2026-12-01T05:50:00Z 2026-12-01T05:55:00Z"),
        ("0 22-1 * * *", "2026-12-01T01:00:00Z 2026-12-01T22:00:00Z"),
        ("0 0 * * sat-mon", "2026-12-05T00:00:00Z 2026-12-06T00:00:00Z"),
        ("0 0 * * 7", "2026-12-06T00:00:00Z 2026-12-13T00:00:00Z"),
        ("0 0 * * 5-7", "2026-12-04T00:00:00Z 2026-12-05T00:00:00Z"),
        ("0 0 31 * *", "2026-12-31T00:00:00Z 2027-01-31T00:00:00Z"),
        ("0 0 L * ?", "2026-12-31T00:00:00Z 2027-01-31T00:00:00Z"),
        ("0 0 L-1,15 2 *", "2027-02-15T00:00:00Z 2027-02-27T00:00:00Z"),
        ("0 0 ? * 2#2", "2026-12-08T00:00:00Z 2027-01-12T00:00:00Z"),
        ("0 0 * * fri#5", "2027-01-29T00:00:00Z 2027-04-30T00:00:00Z"),
        ("0 0 * * 5L", "2026-12-25T00:00:00Z 2027-01-29T00:00:00Z"),
        ("0 0 * nov-feb *", "2026-12-02T00:00:00Z 2026-12-03T00:00:00Z"),
        ("0 0 29 FEB *", "2028-02-29T00:00:00Z 2032-02-29T00:00:00Z"),
        // Both fields of days: either counts.
        ("0 0 13 * 5", "2026-12-04T00:00:00Z 2026-12-11T00:00:00Z"),
        ("15 0 3 * * *", "2026-12-01T03:00:15Z 2026-12-02T03:00:15Z"),
        ("*/30 * * * * *", "2026-12-01T00:00:30Z 2026-12-01T00:01:00Z"),
        ("@daily", "2026-12-02T00:00:00Z 2026-12-03T00:00:00Z"),
        ("@Hourly", "2026-12-01T01:00:00Z 2026-12-01T02:00:00Z"),
        ("  0\t3 * *  * ", "2026-12-01T03:00:00Z 2026-12-02T03:00:00Z"),
        ("@yearly", "2027-01-01T00:00:00Z 2028-01-01T00:00:00Z"),
        // The rarest day: a fifth Sunday of February.
        ("0 0 * 2 0#5", "2032-02-29T00:00:00Z 2060-02-29T00:00:00Z"),
    ];
    for (cron, times) in cases {
        let found = next(json!({"cron": cron}), "2026-12-01T00:00:00Z", 2);
        assert_eq!(found.join(" "), times, "{cron}");
    }
}

#[test]
fn ord_39_a_fault_says_where_it_stands_and_what_to_write() {
    let cases = [
        ("", 1, "five or six"),
        ("* * * *", 7, "five or six"),
        ("* * * * * * *", 13, "five or six"),
        ("60 * * * *", 1, "`60` is not a minute"),
        ("* 24 * * *", 3, "`24` is not an hour"),
        ("* * 0 * *", 5, "`0` is not a day of a month"),
        ("* * * 13 *", 7, "`13` is not a month"),
        ("* * * * 8", 9, "`8` is not a day of the week"),
        ("* * * * mon,frid", 13, "`frid` is not"),
        ("1,,2 * * * *", 3, "is missing here"),
        ("1-x * * * *", 3, "`x` is not a minute"),
        ("+5 * * * *", 1, "`+5` is not a minute"),
        ("*/0 * * * *", 3, "`0` is not a step"),
        ("*/90 * * * *", 3, "`90` is not a step"),
        ("*/ * * * *", 3, "not a step"),
        ("* * L-31 * *", 5, "counted from the last"),
        ("* * 15W * *", 5, "nearest working day"),
        ("* * * * fri#6", 13, "not a position of a weekday"),
        ("* * * * L", 9, "not a day of the week"),
        ("0 0 31 feb,apr *", 5, "there is never a day"),
        ("@every 5m", 1, "not a name"),
        ("@reboot", 1, "not a name"),
        ("TZ=UTC 0 3 * * *", 1, "cannot name a zone"),
        ("é * * * *", 1, "`é` is not a minute"),
    ];
    for (cron, at, message) in cases {
        let found = Cron::read(cron).unwrap_err();
        assert!(
            found.at == at && found.message.contains(message) && !found.hint.is_empty(),
            "{cron}: {found:?}"
        );
    }
}
