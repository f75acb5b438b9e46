//! Times at which a schedule has no order: dates, dates of each year, and ranges of time.

use jiff::Timestamp;
use jiff::civil::Date;
use jiff::tz::TimeZone;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::document::Fault;
use crate::order::registration::fault;
use crate::time;

/// Exceptions of one schedule, at most.
const MOST: usize = 400;

/// An exception as people write it, and as it is stored.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum ScheduleException {
    /// A date of the zone, like `2026-12-31`, or `12-31` for that day of each year.
    Date(String),
    /// A range of time.
    Range {
        /// Start.
        #[serde(serialize_with = "time::serialize")]
        from: Timestamp,
        /// End; a time that is equal to it counts again.
        #[serde(serialize_with = "time::serialize")]
        until: Timestamp,
    },
}

/// Exceptions that were read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Exceptions {
    dates: Vec<Date>,
    /// Month and day.
    of_each_year: Vec<(i8, i8)>,
    ranges: Vec<(Timestamp, Timestamp)>,
}

impl Exceptions {
    pub fn read(list: &[ScheduleException], faults: &mut Vec<Fault>) -> Self {
        let mut exceptions = Self::default();
        if list.len() > MOST {
            faults.push(fault("/exceptions", format!("a schedule can have at most {MOST} exceptions")));
            return exceptions;
        }
        for (index, one) in list.iter().enumerate() {
            let at = format!("/exceptions/{index}");
            match one {
                ScheduleException::Date(text) => match (date_of(text), of_each_year(text)) {
                    (Some(date), _) => exceptions.dates.push(date),
                    (_, Some(day)) => exceptions.of_each_year.push(day),
                    (None, None) => {
                        let message = "must be a date like `2026-12-31`, a day of each year like `12-31`, \
                                       or a range with `from` and `until`";
                        faults.push(fault(&at, message));
                    }
                },
                ScheduleException::Range { from, until } if until <= from => {
                    faults.push(fault(&format!("{at}/until"), "must be after `from`"));
                }
                ScheduleException::Range { from, until } => exceptions.ranges.push((*from, *until)),
            }
        }
        exceptions
    }

    /// The end of the exception in which this moment lies.
    pub fn end_of(&self, at: Timestamp, zone: &TimeZone) -> Option<Timestamp> {
        let range = self.ranges.iter().find(|(from, until)| *from <= at && at < *until);
        if let Some((_, until)) = range {
            return Some(*until);
        }
        if self.dates.is_empty() && self.of_each_year.is_empty() {
            return None;
        }
        let date = zone.to_datetime(at).date();
        let is_left_out =
            self.dates.contains(&date) || self.of_each_year.contains(&(date.month(), date.day()));
        if !is_left_out {
            return None;
        }
        Some(
            date.tomorrow()
                .and_then(|next| next.to_zoned(zone.clone()))
                .map_or(Timestamp::MAX, |next| next.timestamp()),
        )
    }
}

/// The date of `2026-12-31`, and of no longer text that begins so.
fn date_of(text: &str) -> Option<Date> {
    text.parse().ok().filter(|_| text.len() == "2026-12-31".len())
}

/// Month and day of `12-31`. A leap day is one.
fn of_each_year(text: &str) -> Option<(i8, i8)> {
    let (month, day) = text.split_once('-')?;
    let number = |part: &str| part.parse::<i8>().ok().filter(|_| part.len() == 2);
    let date = Date::new(2024, number(month)?, number(day)?).ok()?;
    Some((date.month(), date.day()))
}
