//! Random schedules against a naive walk that looks at a clock minute by minute.

use std::collections::BTreeSet;

use jiff::SignedDuration;
use jiff::civil::DateTime;
use jiff::tz::TimeZone;
use proptest::prelude::*;

use super::*;

/// Zones, each with days on which its clocks change: by an hour, by half of one, at midnight, by a whole day, not at all.
pub const ZONES: &[(&str, &str)] = &[
    ("Europe/Berlin", "2026-03-28"),
    ("Europe/Berlin", "2026-10-24"),
    ("Europe/Moscow", "2014-10-25"),
    ("America/New_York", "2028-03-11"),
    ("America/New_York", "2027-11-06"),
    ("Australia/Lord_Howe", "2026-04-04"),
    ("Australia/Lord_Howe", "2026-10-03"),
    ("America/Sao_Paulo", "2018-11-03"),
    ("America/Sao_Paulo", "2018-02-17"),
    ("Pacific/Apia", "2011-12-29"),
    ("Asia/Kathmandu", "2028-02-28"),
    ("UTC", "2100-02-27"),
];

/// A field: what is written, and which values are meant.
pub type Field = (String, BTreeSet<i8>);

/// A field of values in this range.
pub fn field(least: i8, most: i8) -> impl Strategy<Value = Field> {
    let all = (least..=most).collect::<BTreeSet<i8>>();
    prop_oneof![
        3 => Just(("*".to_owned(), all)),
        2 => (1..=(most - least)).prop_map(move |step| {
            (format!("*/{step}"), (least..=most).step_by(step.unsigned_abs().into()).collect())
        }),
        3 => proptest::collection::btree_set(least..=most, 1..5).prop_map(|values| {
            let text: Vec<String> = values.iter().map(ToString::to_string).collect();
            (text.join(","), values)
        }),
        2 => (least..=most, least..=most).prop_map(move |(first, last)| {
            let is_in = |value: &i8| {
                if first <= last { (first..=last).contains(value) } else { *value >= first || *value <= last }
            };
            (format!("{first}-{last}"), (least..=most).filter(is_in).collect())
        }),
    ]
}

/// A cron expression by the values of its fields.
pub struct NaiveCron {
    minutes: BTreeSet<i8>,
    hours: BTreeSet<i8>,
    days: BTreeSet<i8>,
    months: BTreeSet<i8>,
    weekdays: BTreeSet<i8>,
}

impl NaiveCron {
    /// The expression of these fields, for every day and month.
    pub fn of_days(minutes: &Field, hours: &Field, weekdays: &Field) -> Self {
        let [minutes, hours, weekdays] = [minutes, hours, weekdays].map(|field| field.1.clone());
        Self { minutes, hours, days: (1..=31).collect(), months: (1..=12).collect(), weekdays }
    }

    fn has(&self, clock: DateTime) -> bool {
        let day = self.days.contains(&clock.day());
        let weekday = self.weekdays.contains(&clock.weekday().to_sunday_zero_offset());
        let is_of_day = match (self.days.len() == 31, self.weekdays.len() == 7) {
            (false, false) => day || weekday,
            _ => day && weekday,
        };
        is_of_day
            && self.months.contains(&clock.month())
            && self.hours.contains(&clock.hour())
            && self.minutes.contains(&clock.minute())
    }

    /// Every time within these minutes.
    pub fn walk(&self, zone: &TimeZone, start: Timestamp, minutes: i64) -> Vec<Timestamp> {
        let mut found = Vec::new();
        let mut seen = BTreeSet::new();
        let minute = SignedDuration::from_mins(1);
        let is_of_each_hour = self.hours.len() == 24;
        // The clocks of the day before: what they showed then they show again.
        for step in -1440..=minutes {
            let now = start + minute * i32::try_from(step).unwrap();
            let clock = zone.to_datetime(now);
            let is_new = seen.insert(clock);
            if step <= 0 {
                continue;
            }
            let mut is_meant = self.has(clock) && (is_new || is_of_each_hour);
            // What the clocks have passed over since the minute before.
            let mut skipped = zone.to_datetime(now - minute) + minute;
            while skipped < clock && !is_of_each_hour {
                is_meant |= self.has(skipped);
                skipped += minute;
            }
            if is_meant {
                found.push(now);
            }
        }
        found
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn ord_39_times_are_those_of_a_walk_minute_by_minute(
        minutes in field(0, 59), hours in field(0, 23), days in field(1, 31), months in field(1, 12),
        weekdays in field(0, 6), zone in 0..ZONES.len(), offset in 0i64..1440,
    ) {
        let text = [&minutes.0, &hours.0, &days.0, &months.0, &weekdays.0].map(String::as_str).join(" ");
        let (name, day) = ZONES[zone];
        let naive = NaiveCron { minutes: minutes.1, hours: hours.1, days: days.1, months: months.1, weekdays: weekdays.1 };
        let Ok(schedule) = Schedule::read(&rule(json!({"cron": text, "zone": name}))) else {
            // No month has one of these days: nothing is found by walking either.
            prop_assert!(naive.days.iter().all(|day| *day > 29), "{text}");
            return Ok(());
        };
        let start = at(&format!("{day}T00:00:00Z")) + SignedDuration::from_mins(offset);
        let length = 3 * 1440;
        let end = start + SignedDuration::from_mins(length);
        let found: Vec<Timestamp> = schedule.plan.times(start).take_while(|at| *at <= end).collect();
        prop_assert_eq!(&found, &naive.walk(schedule.plan.zone(), start, length), "{} {}", text, name);
        // The last one of a stretch is found from its end.
        prop_assert_eq!(schedule.plan.last_within(start, end), found.iter().copied().rfind(|at| *at < end));
    }

    #[test]
    fn ord_39_no_text_breaks_the_reader(text in "[-0-9*/?,L#W@a-zé ]{0,24}") {
        if let Err(found) = Cron::read(&text) {
            prop_assert!(found.at >= 1 && found.at <= text.chars().count().max(1) + 1, "{text}: {found:?}");
        }
    }
}
