//! Schedules (ORD-39): rules by which orders are registered at planned times. Each time gives one ordinary order, whose
//! id follows from schedule and time; what is decided about a time follows from the rule and what happened before.

mod cron;
mod exceptions;
mod policy;
mod template;
#[cfg(test)]
mod tests;
mod times;

use std::time::Duration;

use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::document::{Fault, parse_duration};
use crate::order::registration::fault;
use crate::time;

pub use cron::{Cron, CronFault};
use exceptions::Exceptions;
pub use exceptions::ScheduleException;
pub use policy::{
    CatchUp, CatchUpPolicy, DueTimes, MOST_QUEUED, MissedTimes, ON_TIME, Overlap, OverlapVerdict, RunOutcome,
};
pub use template::{OrderTemplate, PLACEHOLDERS, order_id, order_id_by_hand, with_hidden};
use times::PlannedCourse;
pub use times::SchedulePlan;

/// Longest name, in bytes: an id has room for the time behind it.
pub const MAX_NAME_BYTES: usize = 128;
/// The longest interval.
const LONGEST_INTERVAL: Duration = Duration::from_hours(10 * 366 * 24);
/// The longest time by which a missed time may be late and have its order all the same.
const LONGEST_WITHIN: Duration = Duration::from_hours(366 * 24);
/// That time, where a schedule does not say it.
const USUAL_WITHIN: Duration = Duration::from_hours(1);

/// When the orders of a schedule are due, and what is done where one cannot come in time: as people write it, and as it
/// is stored.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct ScheduleRule {
    /// Cron expression: `minute hour day-of-month month day-of-week`, or six fields with seconds first. Either this or `every`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cron: Option<String>,
    /// Interval, like `15m`: counted from `from`, without that from 1970-01-01T00:00Z.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub every: Option<String>,
    /// Time zone of times and dates, like `Europe/Berlin`; default: `UTC`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub zone: Option<String>,
    /// Time before which no order is due.
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "time::serialize")]
    pub from: Option<Timestamp>,
    /// Time from which no order is due.
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "time::serialize")]
    pub until: Option<Timestamp>,
    /// Dates and ranges of time that are left out.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub exceptions: Vec<ScheduleException>,
    /// Policy for times that were missed, as while no activator worked.
    pub catch_up: CatchUpRule,
    /// Policy while an order of the schedule has not ended: `skip`, `queue`, `replace` or `allow`.
    pub overlap: Overlap,
}

/// Policy for times that were missed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct CatchUpRule {
    /// `one`: the last of them has its order now; `all`: each of them; `skip`: none.
    pub policy: CatchUpPolicy,
    /// Longest delay of an order, like `1h`; older times are missed for good. Default: `1h`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub within: Option<String>,
}

/// A schedule that was read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Schedule {
    /// Plan of the times.
    pub plan: SchedulePlan,
    /// Policy for missed ones.
    pub catch_up: CatchUp,
    /// Policy while an order has not ended.
    pub overlap: Overlap,
}

impl Schedule {
    /// Reads a rule.
    ///
    /// # Errors
    /// Everything that is wrong with it, each with a JSON pointer.
    pub fn read(rule: &ScheduleRule) -> Result<Self, Vec<Fault>> {
        let mut faults = Vec::new();
        let zone = read_zone(rule.zone.as_deref(), &mut faults);
        let course = read_course(rule, &mut faults);
        let exceptions = Exceptions::read(&rule.exceptions, &mut faults);
        if let (Some(from), Some(until)) = (rule.from, rule.until)
            && until <= from
        {
            faults.push(fault("/until", "must be after `from`"));
        }
        let catch_up = read_catch_up(&rule.catch_up, &mut faults);
        let (Some(course), true) = (course, faults.is_empty()) else { return Err(faults) };
        let plan = SchedulePlan { course, zone, from: rule.from, until: rule.until, exceptions };
        Ok(Self { plan, catch_up, overlap: rule.overlap })
    }
}

/// Checks the name of a schedule, with which the ids of its orders begin.
///
/// # Errors
/// The fault under `/name`.
pub fn check_name(name: &str) -> Result<(), Fault> {
    let is_good = |letter: char| letter.is_alphanumeric() || matches!(letter, '-' | '_' | '.' | ':');
    let starts_well = name.starts_with(char::is_alphanumeric);
    if starts_well && name.len() <= MAX_NAME_BYTES && name.chars().all(is_good) {
        return Ok(());
    }
    let message = format!(
        "must be 1 to {MAX_NAME_BYTES} bytes of letters, digits, `-`, `_`, `.` and `:`, and start with a letter or a digit"
    );
    Err(fault("/name", message))
}

fn read_zone(name: Option<&str>, faults: &mut Vec<Fault>) -> TimeZone {
    let name = name.unwrap_or("UTC");
    TimeZone::get(name).unwrap_or_else(|_| {
        let shown: String = name.chars().take(40).collect();
        let found = fault("/zone", format!("there is no zone `{shown}`"));
        faults.push(found.hint("use a name of the tz database, such as `Europe/Berlin` or `UTC`"));
        TimeZone::UTC
    })
}

fn read_course(rule: &ScheduleRule, faults: &mut Vec<Fault>) -> Option<PlannedCourse> {
    let read = match (&rule.cron, &rule.every) {
        (Some(cron), None) => {
            Cron::read(cron).map(|cron| PlannedCourse::Cron(Box::new(cron))).map_err(|found| {
                let message = format!("has a fault at character {}: {}", found.at, found.message);
                fault("/cron", message).hint(found.hint)
            })
        }
        (None, Some(every)) => read_interval(every).map(|seconds| {
            let start = rule.from.unwrap_or(Timestamp::UNIX_EPOCH);
            PlannedCourse::Interval { seconds, start }
        }),
        (Some(_), Some(_)) => Err(fault("/every", "cannot be combined with `cron`: write one of them")),
        (None, None) => {
            Err(fault("/cron", "is missing").hint("write `cron`, like `0 3 * * 1-5`, or `every`, like `15m`"))
        }
    };
    read.map_err(|found| faults.push(found)).ok()
}

fn read_interval(text: &str) -> Result<i64, Fault> {
    let length = parse_duration(text).map_err(|message| fault("/every", message))?;
    let seconds = i64::try_from(length.as_secs()).unwrap_or(i64::MAX);
    if length.subsec_nanos() > 0 || seconds < 1 || length > LONGEST_INTERVAL {
        return Err(fault("/every", "must be whole seconds, from 1s to 3660d"));
    }
    Ok(seconds)
}

fn read_catch_up(rule: &CatchUpRule, faults: &mut Vec<Fault>) -> CatchUp {
    let within = rule.within.as_deref().map_or(Ok(USUAL_WITHIN), |text| {
        let read = parse_duration(text).map_err(|message| fault("/catchUp/within", message))?;
        if rule.policy == CatchUpPolicy::Skip {
            return Err(fault("/catchUp/within", "has no effect if missed times are skipped: remove it"));
        }
        let is_good = (Duration::from_secs(1)..=LONGEST_WITHIN).contains(&read);
        if is_good { Ok(read) } else { Err(fault("/catchUp/within", "must be 1s to 366d")) }
    });
    let within = within.map_err(|found| faults.push(found)).unwrap_or(USUAL_WITHIN);
    CatchUp { policy: rule.policy, within: SignedDuration::try_from(within).unwrap_or(SignedDuration::MAX) }
}
