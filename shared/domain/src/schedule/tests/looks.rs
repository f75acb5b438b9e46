//! Random schedules, looked at by two activators whose clocks differ and who die before they commit, against a naive account
//! of each time.

use std::collections::BTreeMap;

use jiff::SignedDuration;
use jiff::civil::Date;
use proptest::prelude::*;

use super::walk::{Field, NaiveCron, ZONES, field};
use super::*;

/// Minutes that a naive walk goes through.
const LENGTH: i64 = 3 * 1440;

/// A course of times.
#[derive(Clone, Debug)]
enum Course {
    /// Minutes, hours and weekdays.
    Cron([Field; 3]),
    /// Minutes between two times.
    Every(i64),
}

/// An exception: minutes and days are counted from the start.
#[derive(Clone, Copy, Debug)]
enum LeftOut {
    Range { from: i64, length: i64 },
    Day(i64),
    DayOfEachYear(i64),
}

/// A schedule that was drawn.
#[derive(Clone, Debug)]
struct Drawn {
    course: Course,
    zone: usize,
    left_out: Vec<LeftOut>,
    /// Bounds of the times, in minutes from the start.
    from: Option<i64>,
    until: Option<i64>,
    policy: CatchUpPolicy,
    /// Minutes by which an order may be late.
    within: Option<i64>,
}

/// A look of an activator.
#[derive(Clone, Copy, Debug)]
struct Look {
    /// True for the second activator.
    is_second: bool,
    /// Seconds since the look before.
    pause: i64,
    /// True if the activator dies before it commits.
    dies: bool,
}

fn drawn() -> impl Strategy<Value = Drawn> {
    let course = prop_oneof![
        3 => [field(0, 59), field(0, 23), field(0, 6)].prop_map(Course::Cron),
        2 => (1..600_i64).prop_map(Course::Every),
    ];
    let left_out = prop_oneof![
        2 => (0..LENGTH, 1..600_i64).prop_map(|(from, length)| LeftOut::Range { from, length }),
        1 => (0..4_i64).prop_map(LeftOut::Day),
        1 => (0..4_i64).prop_map(LeftOut::DayOfEachYear),
    ];
    let left_out = proptest::collection::vec(left_out, 0..4);
    let bounds = (prop::option::weighted(0.3, 0..2000_i64), prop::option::weighted(0.3, 2001..LENGTH));
    let policies = (0..3_usize, prop::option::of(1..600_i64));
    (course, 0..ZONES.len(), left_out, bounds, policies).prop_map(
        |(course, zone, left_out, (from, until), (policy, within))| {
            let policy = CatchUpPolicy::ALL[policy];
            let within = within.filter(|_| policy != CatchUpPolicy::Skip);
            Drawn { course, zone, left_out, from, until, policy, within }
        },
    )
}

fn looks() -> impl Strategy<Value = Vec<Look>> {
    // Most looks come within the minute in which a time counts as kept, some after hours.
    let pause = prop_oneof![4 => 0..90_i64, 3 => 90..4_000_i64, 2 => 4_000..20_000_i64];
    let look = (any::<bool>(), pause, prop::bool::weighted(0.3));
    let look = look.prop_map(|(is_second, pause, dies)| Look { is_second, pause, dies });
    proptest::collection::vec(look, 1..13)
}

fn minutes(count: i64) -> SignedDuration {
    SignedDuration::from_mins(count)
}

impl Drawn {
    fn start(&self) -> Timestamp {
        at(&format!("{}T00:00:00Z", ZONES[self.zone].1))
    }

    fn day(&self, number: i64) -> Date {
        let date: Date = ZONES[self.zone].1.parse().unwrap();
        date + jiff::Span::new().days(number)
    }

    fn rule(&self) -> Value {
        let time = |from_start: i64| (self.start() + minutes(from_start)).to_string();
        let left_out = self.left_out.iter().map(|one| match one {
            LeftOut::Range { from, length } => json!({"from": time(*from), "until": time(from + length)}),
            LeftOut::Day(number) => json!(self.day(*number).to_string()),
            LeftOut::DayOfEachYear(number) => json!(self.day(*number).strftime("%m-%d").to_string()),
        });
        let mut rule = json!({
            "zone": ZONES[self.zone].0, "exceptions": left_out.collect::<Vec<_>>(),
            "catchUp": {"policy": self.policy, "within": self.within.map(|within| format!("{within}m"))},
        });
        match &self.course {
            Course::Every(period) => rule["every"] = json!(format!("{period}m")),
            Course::Cron([minutes, hours, weekdays]) => {
                rule["cron"] = json!(format!("{} {} * * {}", minutes.0, hours.0, weekdays.0));
            }
        }
        for (key, bound) in [("from", self.from), ("until", self.until)] {
            if let Some(bound) = bound {
                rule[key] = json!(time(bound));
            }
        }
        rule
    }

    /// Every time of the walk.
    fn times(&self, schedule: &Schedule) -> Vec<Timestamp> {
        let (start, zone) = (self.start(), schedule.plan.zone());
        let mut times = match &self.course {
            Course::Cron([minutes, hours, weekdays]) => {
                NaiveCron::of_days(minutes, hours, weekdays).walk(zone, start, LENGTH)
            }
            Course::Every(period) => {
                let counted_from = self.from.map_or(0, |from| start.as_second() / 60 + from);
                let is_meant = |at: &Timestamp| (at.as_second() / 60 - counted_from) % period == 0;
                (1..=LENGTH).map(|minute| start + minutes(minute)).filter(is_meant).collect()
            }
        };
        times.retain(|at| {
            let passed = (*at - start).total(jiff::Unit::Minute).unwrap();
            let clock = zone.to_datetime(*at);
            let is_left_out = self.left_out.iter().any(|one| match one {
                LeftOut::Range { from, length } => (*from as f64..(from + length) as f64).contains(&passed),
                LeftOut::Day(number) => clock.date() == self.day(*number),
                LeftOut::DayOfEachYear(number) => {
                    let day = self.day(*number);
                    (clock.month(), clock.day()) == (day.month(), day.day())
                }
            });
            let is_in = self.from.is_none_or(|from| passed >= from as f64)
                && self.until.is_none_or(|until| passed < until as f64);
            is_in && !is_left_out
        });
        times
    }

    /// The times of these that have their orders at this moment; the others are missed.
    fn kept(&self, come: &[Timestamp], now: Timestamp) -> Vec<Timestamp> {
        let late = |at: Timestamp| (now - at).total(jiff::Unit::Second).unwrap();
        let within = self.within.map_or(3600.0, |within| within as f64 * 60.0);
        let is_on_time = |at: &Timestamp| late(*at) <= 60.0;
        let kept = come.iter().copied().filter(|at| match self.policy {
            CatchUpPolicy::All => late(*at) <= within.max(60.0),
            CatchUpPolicy::One | CatchUpPolicy::Skip => is_on_time(at),
        });
        let kept: Vec<Timestamp> = kept.collect();
        let makes_up = self.policy == CatchUpPolicy::One && kept.is_empty();
        let last = come.last().copied().filter(|at| makes_up && late(*at) <= within);
        if kept.is_empty() { last.into_iter().collect() } else { kept }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn ord_39_two_activators_whose_clocks_differ_and_who_die_decide_each_time_once(
        drawn in drawn(), looks in looks(), ahead in [-300..300_i64, -300..300_i64], most in 1..6_usize,
    ) {
        let schedule = schedule(drawn.rule());
        let planned = drawn.times(&schedule);
        let end = drawn.start() + minutes(LENGTH);
        let (mut decided, mut clock) = (drawn.start(), drawn.start());
        let mut account: BTreeMap<Timestamp, &str> = BTreeMap::new();
        for look in looks {
            clock += SignedDuration::from_secs(look.pause);
            let now = (clock + SignedDuration::from_secs(ahead[usize::from(look.is_second)])).min(end);
            loop {
                let found = schedule.due(decided, now, most);
                // Who dies has decided nothing: the next look comes to the same, or to what is late by then.
                if look.dies {
                    break;
                }
                let come: Vec<Timestamp> = planned.iter().copied().filter(|at| *at > decided && *at <= now).collect();
                let kept = drawn.kept(&come, now);
                let missed: Vec<Timestamp> = come.iter().copied().filter(|at| !kept.contains(at)).collect();
                let due = &kept[..kept.len().min(most)];
                prop_assert_eq!(&found.due[..], due, "at {} of {}", now, drawn.rule());
                let expected = missed.first().map(|first| (missed.len(), *first, *missed.last().unwrap()));
                prop_assert_eq!(found.missed.map(|found| (found.count, found.first, found.last)), expected, "at {}", now);
                prop_assert_eq!(found.has_more, kept.len() > most);
                decided = if found.has_more { *due.last().unwrap() } else { decided.max(now) };
                prop_assert_eq!(found.decided_until, decided);
                for (at, what) in missed.iter().map(|at| (at, "missed")).chain(due.iter().map(|at| (at, "due"))) {
                    prop_assert_eq!(account.insert(*at, what), None, "{} is decided twice", at);
                }
                if !found.has_more {
                    break;
                }
            }
        }
        let decided_times: Vec<Timestamp> = planned.into_iter().filter(|at| *at <= decided).collect();
        prop_assert_eq!(account.into_keys().collect::<Vec<_>>(), decided_times, "each time is decided");
    }
}
