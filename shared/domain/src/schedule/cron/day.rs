//! The fields of days: beside numbers the last day of a month, and days of the week by their place in it.

use jiff::civil::{Date, Weekday};

use super::field::{DAY, FieldText, FieldValues, WEEKDAY, read_item, read_value};
use super::{CronFault, cut};

/// Days of a month.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub(super) struct MonthDays {
    days: FieldValues,
    /// Distances from the last day.
    from_last: FieldValues,
    is_any: bool,
}

impl MonthDays {
    pub fn read(field: &FieldText) -> Result<Self, CronFault> {
        let mut days = Self::default();
        for item in field.items() {
            let upper = item.text.to_ascii_uppercase();
            if let Some(distance) = upper.strip_prefix('L') {
                days.from_last.join(FieldValues::only(distance_of(distance, &item)?));
            } else if upper.ends_with('W') {
                let hint = "name the days of the week in the last field, and dates to skip as `exceptions`";
                return Err(CronFault::new(item.at, "the nearest working day (`W`) is not supported", hint));
            } else {
                days.days.join(read_item(&DAY, &item)?);
            }
        }
        days.is_any = days.days.is_whole(&DAY);
        Ok(days)
    }

    pub const fn is_any(&self) -> bool {
        self.is_any
    }

    pub fn has(&self, date: Date) -> bool {
        let is_from_last =
            !self.from_last.is_empty() && self.from_last.has(date.days_in_month() - date.day());
        is_from_last || self.days.has(date.day())
    }
}

fn distance_of(text: &str, item: &FieldText) -> Result<i8, CronFault> {
    if text.is_empty() {
        return Ok(0);
    }
    let days = text.strip_prefix('-').filter(|days| days.chars().all(|letter| letter.is_ascii_digit()));
    let days = days.and_then(|days| days.parse().ok()).filter(|days| (1..=30).contains(days));
    days.ok_or_else(|| {
        let message = format!("`{}` is not a day counted from the last", cut(&item.text));
        CronFault::new(item.at, message, "write `L` for the last day, `L-2` for the second before it")
    })
}

/// Days of the week.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub(super) struct WeekDays {
    days: FieldValues,
    /// The first to the fifth of a month, each a set of weekdays.
    nth: [FieldValues; 5],
    /// The last of a month.
    last: FieldValues,
    is_any: bool,
}

impl WeekDays {
    pub fn read(field: &FieldText) -> Result<Self, CronFault> {
        let mut days = Self::default();
        for item in field.items() {
            if let Some((day, nth)) = item.text.split_once('#') {
                let day = read_value(&WEEKDAY, &FieldText { at: item.at, text: day.to_owned() })?;
                let index = nth
                    .parse::<usize>()
                    .ok()
                    .filter(|nth| (1..=5).contains(nth) && nth.to_string().len() == 1);
                let Some(index) = index else {
                    let at = item.at + item.text.chars().take_while(|letter| *letter != '#').count() + 1;
                    let message = format!("`{}` is not a position of a weekday in a month", cut(nth));
                    return Err(CronFault::new(
                        at,
                        message,
                        "write 1 to 5, like `fri#2` for the second Friday",
                    ));
                };
                days.nth[index - 1].join(FieldValues::only(day));
            } else if let Some(day) = last_of(&item.text) {
                let day = read_value(&WEEKDAY, &FieldText { at: item.at, text: day.to_owned() }).map_err(
                    |fault| CronFault {
                        hint: format!("{}, like `friL` for the last Friday of a month", fault.hint),
                        ..fault
                    },
                )?;
                days.last.join(FieldValues::only(day));
            } else {
                days.days.join(read_item(&WEEKDAY, &item)?);
            }
        }
        days.is_any = days.days.is_whole(&WEEKDAY);
        Ok(days)
    }

    pub const fn is_any(&self) -> bool {
        self.is_any
    }

    pub fn has(&self, date: Date) -> bool {
        let day = number_of(date.weekday());
        let nth = usize::from((date.day() - 1).unsigned_abs() / 7);
        let is_last = date.day() > date.days_in_month() - 7;
        self.days.has(day)
            || self.nth.get(nth).is_some_and(|days| days.has(day))
            || (is_last && self.last.has(day))
    }
}

/// The weekday of `friL`. No name of a day ends with this letter.
fn last_of(text: &str) -> Option<&str> {
    text.strip_suffix(['L', 'l'])
}

fn number_of(weekday: Weekday) -> i8 {
    weekday.to_sunday_zero_offset()
}
