//! The calendar of a maintenance window: once, or again and again by days of a zone. Times are those of a clock on the
//! wall there, so that "at 22:00" stays at 22:00 when the clocks change. Must never be asked what is held back by it.

use crate::time;
use jiff::civil::{Date, Time, Weekday};
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Span, Timestamp};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::document::parse_duration;
use crate::id::spelled;

/// The longest occurrence. One that begins each month has an end before the next.
const LONGEST: SignedDuration = SignedDuration::from_hours(27 * 24);
/// Days on which a next occurrence is looked for: the 31st of a month comes after 62 days at the most.
const MOST_DAYS: usize = 100;
/// Days over which the distance of occurrences is measured: a leap year and two others.
const MEASURED_DAYS: usize = 3 * 366;
/// Start of 2026, in seconds of Unix time. From there on the distance of occurrences is measured where a calendar has no
/// begin: zones go by other rules in times that are long past.
const MEASURED_FROM: i64 = 1_767_225_600;
/// Days that one calendar names at most.
const MOST_NAMED: usize = 31;

/// Period in which occurrences come.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Period {
    /// On every day.
    Day,
    /// On days of the week.
    Week,
    /// On days of the month.
    Month,
}

spelled!(Period { Day => "day", Week => "week", Month => "month" });

/// A calendar as people write it, and as it is stored.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct CalendarRule {
    /// Start of the only occurrence; with `every`, none starts before it.
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "time::serialize")]
    pub from: Option<Timestamp>,
    /// No window starts at or after it; only with `every`.
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "time::serialize")]
    pub until: Option<Timestamp>,
    /// `day`, `week` or `month`; default: once.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub every: Option<Period>,
    /// Days: of a week `monday` to `sunday`; of a month `1` to `31`, `last`, or such as `second sunday` and `last friday`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub on: Vec<String>,
    /// Time of day at which it starts, such as `22:00`; only with `every`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub at: Option<String>,
    /// Time zone, like `Europe/Berlin`; default: `UTC`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub zone: Option<String>,
    /// Length of each occurrence, like `3h`: time that passes, whatever the clocks show.
    #[serde(rename = "for")]
    pub duration: String,
}

/// A part of a calendar that cannot be, and why.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("/{field}: {message}")]
pub struct CalendarFault {
    /// Name of the field.
    pub field: &'static str,
    /// Fault, and what to write instead.
    pub message: String,
}

/// Time from the start to the end of a window.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Occurrence {
    /// Start.
    pub begin: Timestamp,
    /// Before this.
    pub end: Timestamp,
}

impl Occurrence {
    /// True if it lasts at this time.
    #[must_use]
    pub fn holds(self, now: Timestamp) -> bool {
        self.begin <= now && now < self.end
    }
}

/// A calendar that was read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Calendar {
    rule: CalendarRule,
    length: SignedDuration,
    course: Course,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Course {
    Once(Timestamp),
    Repeated { days: Days, at: Time, zone: TimeZone },
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Days {
    Every,
    OfWeek(Vec<Weekday>),
    OfMonth(Vec<DayOfMonth>),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum DayOfMonth {
    Number(i8),
    Last,
    /// From 1 on.
    Nth(i8, Weekday),
    LastOf(Weekday),
}

impl Calendar {
    /// Reads a calendar.
    ///
    /// # Errors
    /// Some part of it cannot be.
    pub fn read(rule: &CalendarRule) -> Result<Self, CalendarFault> {
        let length = read_length(&rule.duration)?;
        let course = match rule.every {
            None => once(rule)?,
            Some(period) => {
                let days = read_days(period, &rule.on)?;
                let at =
                    rule.at.as_deref().ok_or_else(|| fault("at", "give the time of day, such as `22:00`"))?;
                let zone = rule.zone.as_deref().unwrap_or("UTC");
                Course::Repeated { days, at: read_time(at)?, zone: read_zone(zone)? }
            }
        };
        let calendar = Self { rule: rule.clone(), length, course };
        calendar.check()?;
        Ok(calendar)
    }

    /// The calendar as it was written.
    #[must_use]
    pub const fn rule(&self) -> &CalendarRule {
        &self.rule
    }

    /// The occurrence that lasts at this time.
    #[must_use]
    pub fn at(&self, now: Timestamp) -> Option<Occurrence> {
        let earliest = now.checked_sub(self.length).unwrap_or(Timestamp::MIN);
        // One that ends now does not hold any more.
        self.beginning_at(earliest).take_while(|one| one.begin <= now).find(|one| one.holds(now))
    }

    /// The first occurrence that begins after this time.
    #[must_use]
    pub fn after(&self, now: Timestamp) -> Option<Occurrence> {
        self.beginning_at(now).find(|one| one.begin > now)
    }

    /// End of the last occurrence; none of a calendar that goes on for ever. No occurrence ends later.
    #[must_use]
    pub fn end(&self) -> Option<Timestamp> {
        let last = match self.course {
            Course::Once(begin) => Some(begin),
            Course::Repeated { .. } => self.rule.until,
        };
        last.map(|begin| begin.checked_add(self.length).unwrap_or(Timestamp::MAX))
    }

    /// The occurrences that begin at this time or later, in their order.
    fn beginning_at(&self, earliest: Timestamp) -> Box<dyn Iterator<Item = Occurrence> + '_> {
        let occurrence = |begin: Timestamp| {
            let end = begin.checked_add(self.length).unwrap_or(Timestamp::MAX);
            Occurrence { begin, end }
        };
        match &self.course {
            Course::Once(begin) => {
                Box::new(Some(*begin).into_iter().filter(move |begin| *begin >= earliest).map(occurrence))
            }
            Course::Repeated { days, at, zone } => {
                let earliest = self.rule.from.map_or(earliest, |from| from.max(earliest));
                // Where the clocks go forward a start may fall on the next day.
                let first = earliest.to_zoned(zone.clone()).date().saturating_sub(Span::new().days(1));
                let begins = dates(first).take(MOST_DAYS).filter(|date| days.has(*date)).filter_map(|date| {
                    // A time that the clocks skip is as much later, and of one that they show twice the first counts.
                    Some(date.to_datetime(*at).to_zoned(zone.clone()).ok()?.timestamp())
                });
                let until = self.rule.until.unwrap_or(Timestamp::MAX);
                let begins = begins.skip_while(move |begin| *begin < earliest);
                Box::new(begins.take_while(move |begin| *begin < until).map(occurrence))
            }
        }
    }

    /// Refuses a calendar that never begins, or whose occurrences run into each other.
    fn check(&self) -> Result<(), CalendarFault> {
        let Course::Repeated { days, at, zone } = &self.course else { return Ok(()) };
        let start = self.rule.from.unwrap_or(Timestamp::from_second(MEASURED_FROM).unwrap_or_default());
        let Some(first) = self.beginning_at(start).next() else {
            let field = if self.rule.until.is_some() { "until" } else { "on" };
            return Err(fault(field, "the window never starts"));
        };
        let begins: Vec<Timestamp> = dates(first.begin.to_zoned(zone.clone()).date())
            .take(MEASURED_DAYS)
            .filter(|date| days.has(*date))
            .filter_map(|date| Some(date.to_datetime(*at).to_zoned(zone.clone()).ok()?.timestamp()))
            .collect();
        let shortest = begins.windows(2).map(|pair| pair[1].duration_since(pair[0])).min();
        if shortest.is_some_and(|shortest| self.length >= shortest) {
            let text = "the window would start again before it ends: make it shorter, or stop the flow or the system by hand";
            return Err(fault("for", text));
        }
        Ok(())
    }
}

impl Days {
    fn has(&self, date: Date) -> bool {
        match self {
            Self::Every => true,
            Self::OfWeek(days) => days.contains(&date.weekday()),
            Self::OfMonth(days) => days.iter().any(|day| day.is(date)),
        }
    }
}

impl DayOfMonth {
    fn is(self, date: Date) -> bool {
        let is_last_week = date.day() > date.days_in_month() - 7;
        match self {
            Self::Number(day) => date.day() == day,
            Self::Last => date.day() == date.days_in_month(),
            Self::Nth(nth, weekday) => date.weekday() == weekday && (date.day() - 1) / 7 + 1 == nth,
            Self::LastOf(weekday) => date.weekday() == weekday && is_last_week,
        }
    }

    fn read(text: &str) -> Option<Self> {
        if let Ok(day) = text.parse::<i8>() {
            return (1..=31).contains(&day).then_some(Self::Number(day));
        }
        let Some((which, weekday)) = text.split_once(' ') else {
            return (text == "last").then_some(Self::Last);
        };
        let weekday = read_weekday(weekday.trim())?;
        let nth = ["first", "second", "third", "fourth"].iter().position(|word| *word == which);
        match nth {
            Some(nth) => Some(Self::Nth(i8::try_from(nth).ok()? + 1, weekday)),
            None => (which == "last").then_some(Self::LastOf(weekday)),
        }
    }
}

/// The days from this one on.
fn dates(first: Date) -> impl Iterator<Item = Date> {
    first.series(Span::new().days(1))
}

fn once(rule: &CalendarRule) -> Result<Course, CalendarFault> {
    let only_repeated = [
        ("on", !rule.on.is_empty()),
        ("at", rule.at.is_some()),
        ("zone", rule.zone.is_some()),
        ("until", rule.until.is_some()),
    ];
    if let Some((field, _)) = only_repeated.into_iter().find(|(_, is_there)| *is_there) {
        return Err(fault(
            field,
            "it needs `every`: without that, a window happens once, from `from`, for `for`",
        ));
    }
    let from = rule.from.ok_or_else(|| fault("from", "give the start of the window, or `every`"))?;
    // The database keeps no more of it.
    Ok(Course::Once(Timestamp::from_microsecond(from.as_microsecond()).unwrap_or(from)))
}

fn read_length(text: &str) -> Result<SignedDuration, CalendarFault> {
    let bad = |message: String| CalendarFault { field: "for", message };
    let length = parse_duration(text).map_err(bad)?;
    let length = SignedDuration::try_from(length).unwrap_or(SignedDuration::MAX);
    if length < SignedDuration::from_secs(1) {
        return Err(fault("for", "a window must last at least one second"));
    }
    if length > LONGEST {
        return Err(fault(
            "for",
            "a window can last at most 27 days: for longer, stop the flow or the system by hand",
        ));
    }
    Ok(length)
}

fn read_time(text: &str) -> Result<Time, CalendarFault> {
    let parts: Vec<&str> = text.split(':').collect();
    let number = |part: &str| part.parse::<i8>().ok().filter(|_| part.len() == 2);
    let time = match parts[..] {
        [hour, minute] => {
            number(hour).zip(number(minute)).and_then(|(hour, minute)| Time::new(hour, minute, 0, 0).ok())
        }
        _ => None,
    };
    time.ok_or_else(|| fault("at", "write a time of day like `22:00`, from `00:00` to `23:59`"))
}

fn read_zone(name: &str) -> Result<TimeZone, CalendarFault> {
    TimeZone::get(name).map_err(|_| CalendarFault {
        field: "zone",
        message: format!(
            "there is no zone `{name}`: use a name of the tz database, such as `Europe/Berlin` or `UTC`"
        ),
    })
}

fn read_days(period: Period, on: &[String]) -> Result<Days, CalendarFault> {
    let words = on.iter().map(|word| word.trim().to_lowercase());
    if on.len() > MOST_NAMED {
        return Err(fault("on", "a calendar can name at most 31 days"));
    }
    let unknown = |word: &str, known: &str| CalendarFault {
        field: "on",
        message: format!("`{word}` is not a valid day: {known}"),
    };
    match period {
        Period::Day if on.is_empty() => Ok(Days::Every),
        Period::Day => Err(fault("on", "a daily window cannot name days: to choose days, use `every: week`")),
        _ if on.is_empty() => Err(fault("on", "name the days on which the window starts")),
        Period::Week => {
            let read =
                |word: String| read_weekday(&word).ok_or_else(|| unknown(&word, "use `monday` to `sunday`"));
            Ok(Days::OfWeek(words.map(read).collect::<Result<_, _>>()?))
        }
        Period::Month => {
            let known = "use `1` to `31`, `last`, or days such as `second sunday` and `last friday`";
            let read = |word: String| DayOfMonth::read(&word).ok_or_else(|| unknown(&word, known));
            Ok(Days::OfMonth(words.map(read).collect::<Result<_, _>>()?))
        }
    }
}

fn read_weekday(word: &str) -> Option<Weekday> {
    Some(match word {
        "monday" => Weekday::Monday,
        "tuesday" => Weekday::Tuesday,
        "wednesday" => Weekday::Wednesday,
        "thursday" => Weekday::Thursday,
        "friday" => Weekday::Friday,
        "saturday" => Weekday::Saturday,
        "sunday" => Weekday::Sunday,
        _ => return None,
    })
}

fn fault(field: &'static str, message: &str) -> CalendarFault {
    CalendarFault { field, message: message.to_owned() }
}
