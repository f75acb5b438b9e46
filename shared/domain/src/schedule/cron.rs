//! Cron expressions: five fields, or six with seconds first, as Kubernetes and Quartz write them. An expression names
//! times of a clock on the wall; which moments these are is a matter of the zone (`times.rs`).

mod day;
mod field;

use std::fmt;

use jiff::civil::{Date, DateTime, Time};

use day::{MonthDays, WeekDays};
use field::{FieldText, FieldValues};

/// Years in which a next time is looked for. The rarest day, a fifth given weekday of February, comes after 40 years.
const MOST_YEARS: i16 = 48;

/// Short forms of expressions.
const NAMED: &[(&str, &str)] = &[
    ("@yearly", "0 0 1 1 *"),
    ("@annually", "0 0 1 1 *"),
    ("@monthly", "0 0 1 * *"),
    ("@weekly", "0 0 * * 0"),
    ("@daily", "0 0 * * *"),
    ("@midnight", "0 0 * * *"),
    ("@hourly", "0 * * * *"),
];

/// Form of an expression, for the texts of faults.
const FORM: &str = "write five fields, `minute hour day-of-month month day-of-week`, like `0 3 * * 1-5`; \
                    a sixth one in front of them has the seconds";

/// Fault of an expression: place, what is wrong, and what to write instead.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("character {at}: {message}")]
pub struct CronFault {
    /// Place in characters, from 1.
    pub at: usize,
    /// Fault.
    pub message: String,
    /// Remedy.
    pub hint: String,
}

impl CronFault {
    pub(super) fn new(at: usize, message: impl Into<String>, hint: impl Into<String>) -> Self {
        Self { at, message: message.into(), hint: hint.into() }
    }
}

/// A cron expression that was read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cron {
    text: String,
    seconds: FieldValues,
    minutes: FieldValues,
    hours: FieldValues,
    days: MonthDays,
    months: FieldValues,
    weekdays: WeekDays,
}

impl fmt::Display for Cron {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl Cron {
    /// Reads an expression.
    ///
    /// # Errors
    /// It is none, with the place of the fault.
    pub fn read(text: &str) -> Result<Self, CronFault> {
        let fields = fields_of(text)?;
        let (second, rest) = match fields.len() {
            6 => (Some(&fields[0]), &fields[1..]),
            _ => (None, &fields[..]),
        };
        let [minute, hour, day, month, weekday] = rest else {
            let message =
                format!("an expression must have five or six fields; this one has {}", fields.len());
            let at = fields.get(6).map_or(text.chars().count().max(1), |seventh| seventh.at);
            return Err(CronFault::new(at, message, FORM));
        };
        let cron = Self {
            text: text.to_owned(),
            seconds: second
                .map_or_else(|| Ok(FieldValues::only(0)), |text| field::read(&field::SECOND, text))?,
            minutes: field::read(&field::MINUTE, minute)?,
            hours: field::read(&field::HOUR, hour)?,
            days: MonthDays::read(day)?,
            months: field::read(&field::MONTH, month)?,
            weekdays: WeekDays::read(weekday)?,
        };
        // The year does not matter, as the search is longer than any distance between two times.
        if cron.at_or_after(DateTime::constant(2026, 1, 1, 0, 0, 0, 0)).is_none() {
            let message = format!("there is never a day `{}` in month `{}`", day.text, month.text);
            return Err(CronFault::new(day.at, message, "name a day that one of these months has"));
        }
        Ok(cron)
    }

    /// True if each hour is meant: the expression says nothing about the time of day, so it goes by the time that
    /// passes, whatever the clocks show.
    #[must_use]
    pub fn is_of_each_hour(&self) -> bool {
        self.hours.is_whole(&field::HOUR)
    }

    /// True if this second of a clock is meant.
    #[must_use]
    pub fn matches(&self, at: DateTime) -> bool {
        self.has_date(at.date())
            && self.hours.has(at.hour())
            && self.minutes.has(at.minute())
            && self.seconds.has(at.second())
    }

    /// The first time of a clock that is meant, at this one or later; `None` where there is none in `MOST_YEARS` years.
    #[must_use]
    pub fn at_or_after(&self, from: DateTime) -> Option<DateTime> {
        let last = from.date().year().saturating_add(MOST_YEARS);
        let (mut date, mut time) = (from.date(), Some(from.time()));
        while date.year() <= last {
            if !self.months.has(date.month()) {
                date = date.last_of_month().tomorrow().ok()?;
                time = None;
                continue;
            }
            if self.has_date(date)
                && let Some(found) = self.time_at_or_after(time.unwrap_or(Time::midnight()))
            {
                return Some(date.to_datetime(found));
            }
            date = date.tomorrow().ok()?;
            time = None;
        }
        None
    }

    fn time_at_or_after(&self, from: Time) -> Option<Time> {
        let (mut hour, mut minute, mut second) = (from.hour(), from.minute(), from.second());
        if from.subsec_nanosecond() > 0 {
            second += 1;
        }
        loop {
            let found = self.hours.at_or_after(hour)?;
            if found > hour {
                (hour, minute, second) = (found, 0, 0);
            }
            let Some(found) = self.minutes.at_or_after(minute) else {
                (hour, minute, second) = (hour + 1, 0, 0);
                continue;
            };
            if found > minute {
                (minute, second) = (found, 0);
            }
            match self.seconds.at_or_after(second) {
                Some(second) => return Time::new(hour, minute, second, 0).ok(),
                None => (minute, second) = (minute + 1, 0),
            }
        }
    }

    /// True if this day is meant. Where both fields of days name some, either is enough, as with every cron.
    fn has_date(&self, date: Date) -> bool {
        let (day, weekday) = (self.days.has(date), self.weekdays.has(date));
        let fits = match (self.days.is_any(), self.weekdays.is_any()) {
            (true, _) => weekday,
            (_, true) => day,
            (false, false) => day || weekday,
        };
        fits && self.months.has(date.month())
    }
}

/// The fields of an expression, each with its place.
fn fields_of(text: &str) -> Result<Vec<FieldText>, CronFault> {
    let word = text.trim();
    if word.starts_with('@') {
        let named = NAMED.iter().find(|(name, _)| name.eq_ignore_ascii_case(word));
        let Some((_, fields)) = named else {
            let names: Vec<&str> = NAMED.iter().map(|(name, _)| *name).collect();
            let hint = if word.starts_with("@every") {
                "remove `cron` and write the interval as `every`, such as `15m`".to_owned()
            } else {
                format!("there are {}", names.join(", "))
            };
            return Err(CronFault::new(1, format!("`{}` is not a name of an expression", cut(word)), hint));
        };
        return Ok(split(fields));
    }
    if word.starts_with("TZ=") || word.starts_with("CRON_TZ=") {
        let hint = "remove it and write the zone as `zone`, such as `Europe/Berlin`";
        return Err(CronFault::new(1, "an expression cannot name a zone", hint));
    }
    Ok(split(text))
}

fn split(text: &str) -> Vec<FieldText> {
    let mut fields: Vec<FieldText> = Vec::new();
    let mut is_inside = false;
    for (index, letter) in text.chars().enumerate() {
        if letter.is_whitespace() {
            is_inside = false;
        } else if let (true, Some(field)) = (is_inside, fields.last_mut()) {
            field.text.push(letter);
        } else {
            fields.push(FieldText { at: index + 1, text: letter.to_string() });
            is_inside = true;
        }
    }
    fields
}

/// The part of a text that a message may quote.
fn cut(text: &str) -> String {
    text.chars().take(40).collect()
}
