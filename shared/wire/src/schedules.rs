//! Bodies of `/v1/schedules`: orders at planned times.

use jiff::Timestamp;
use pagurus_domain::schedule::{CatchUpRule, Overlap, ScheduleException, ScheduleRule};
use pagurus_domain::time;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// Body of `POST /v1/schedules` and `PUT /v1/schedules/{name}`: a whole schedule.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ScheduleBody {
    /// Name, with which the ids of its orders start: letters, digits, `-`, `_`, `.` and `:`. `PUT` has it in its path.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The order: a registration without its `id`. Its texts may have `${schedule.time}`, `${schedule.localTime}`,
    /// `${schedule.date}` and `${schedule.name}`.
    pub order: Map<String, Value>,
    /// Cron expression: `minute hour day-of-month month day-of-week`, or six fields with seconds first. Either this or `every`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cron: Option<String>,
    /// Interval, like `15m`: counted from `from`, without that from 1970-01-01T00:00Z.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub every: Option<String>,
    /// Time zone of times and dates, like `Europe/Berlin`; default: `UTC`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub zone: Option<String>,
    /// Time before which no order is due.
    #[serde(default, skip_serializing_if = "Option::is_none", serialize_with = "time::serialize")]
    pub from: Option<Timestamp>,
    /// Time from which no order is due.
    #[serde(default, skip_serializing_if = "Option::is_none", serialize_with = "time::serialize")]
    pub until: Option<Timestamp>,
    /// Dates like `2026-12-31`, days of each year like `12-31`, and ranges of time that are left out.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub exceptions: Vec<ScheduleException>,
    /// Policy for times that were missed, as while no activator worked.
    #[serde(default)]
    pub catch_up: CatchUpRule,
    /// Policy while an order of the schedule has not ended: `skip`, `queue`, `replace` or `allow`.
    #[serde(default)]
    pub overlap: Overlap,
    /// True to pause it, false to resume it; default: unchanged.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub paused: Option<bool>,
    /// Note for those who read it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    /// Reason of the change, for the record.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

impl ScheduleBody {
    /// The rule that is asked for.
    #[must_use]
    pub fn rule(&self) -> ScheduleRule {
        ScheduleRule {
            cron: self.cron.clone(),
            every: self.every.clone(),
            zone: self.zone.clone(),
            from: self.from,
            until: self.until,
            exceptions: self.exceptions.clone(),
            catch_up: self.catch_up.clone(),
            overlap: self.overlap,
        }
    }
}

/// Body of `POST /v1/schedules/{name}/pause` and `…/resume`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ScheduleActionRequest {
    /// Reason, for the record.
    #[serde(default)]
    pub reason: String,
}

/// Body of `POST /v1/schedules/{name}/run`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ScheduleRunRequest {
    /// A planned time that has passed without an order; default: now.
    #[serde(default, skip_serializing_if = "Option::is_none", serialize_with = "time::serialize")]
    pub at: Option<Timestamp>,
    /// Reason, for the record.
    #[serde(default)]
    pub reason: String,
}

/// Outcome of a change of a schedule.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ScheduleOutcome {
    /// Name of the schedule.
    pub schedule: String,
    /// Change that was made: `created`, `changed`, `unchanged`, `paused` or `resumed`; of a dry run, the change that would be made.
    pub change: String,
    /// Tag of the schedule by now; none of a dry run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tag: Option<String>,
    /// True while it is paused.
    pub paused: bool,
    /// The next times.
    #[serde(serialize_with = "time::serialize")]
    pub next: Vec<Timestamp>,
}

/// Outcome of an order that was requested by hand.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ScheduleRunOutcome {
    /// Id of the order.
    pub order: String,
    /// `accepted`, or `duplicate` if it was registered before.
    pub status: String,
    /// Status of the order by now.
    pub order_status: String,
}

/// A time of a schedule that has come.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ScheduleRunView {
    /// The time.
    #[serde(serialize_with = "time::serialize")]
    pub time: Timestamp,
    /// Decision: `registered`, `queued` behind an order that has not ended, `skipped` because of one, `missed`, or
    /// `refused`.
    pub outcome: String,
    /// The order.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub order: Option<String>,
    /// Present status of the order; absent if it no longer exists.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub order_status: Option<String>,
    /// Reason, if there is no order.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Missed times up to this one, of many that were missed together; more than that where it is 10000.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub missed: Option<i32>,
    /// The first of them.
    #[serde(default, skip_serializing_if = "Option::is_none", serialize_with = "time::serialize")]
    pub missed_from: Option<Timestamp>,
    /// Time at which it was decided.
    #[serde(serialize_with = "time::serialize")]
    pub decided_at: Timestamp,
}

/// Times of a schedule by outcome since it was made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ScheduleCounts {
    /// Orders that were registered.
    pub registered: i64,
    /// Times without an order, because one of before had not ended.
    pub skipped: i64,
    /// Times without an order, because no activator handled them in time.
    pub missed: i64,
    /// Times whose orders were refused.
    pub refused: i64,
}

/// A problem of a schedule.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ScheduleProblem {
    /// Description of the problem.
    pub message: String,
    /// When it was found.
    #[serde(serialize_with = "time::serialize")]
    pub at: Timestamp,
    /// True if no order was registered since then.
    pub lasts: bool,
}

/// A schedule.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ScheduleView {
    /// Name.
    pub name: String,
    /// Tag of the schedule, for `If-Match`.
    pub tag: String,
    /// The order, without what its scenario hides.
    pub order: Value,
    /// When, and what is done about missed times and orders that have not ended.
    #[serde(flatten)]
    pub rule: ScheduleRule,
    /// Note.
    pub note: String,
    /// `active`, `paused`, or `over` if there is no further time.
    pub state: String,
    /// True while it is paused.
    pub paused: bool,
    /// Start of the pause.
    #[serde(default, skip_serializing_if = "Option::is_none", serialize_with = "time::serialize")]
    pub paused_at: Option<Timestamp>,
    /// Principal who paused it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub paused_by: Option<Value>,
    /// Reason of the pause.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pause_reason: Option<String>,
    /// The next five times; while it is paused, those that it would have.
    #[serde(serialize_with = "time::serialize")]
    pub next: Vec<Timestamp>,
    /// Times whose orders wait for one of before to end.
    pub queued: i32,
    /// The last time that has come.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last: Option<ScheduleRunView>,
    /// Times by outcome.
    pub counts: ScheduleCounts,
    /// The last problem.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub problem: Option<ScheduleProblem>,
    /// Principal who made it.
    pub by: Value,
    /// When.
    #[serde(serialize_with = "time::serialize")]
    pub made_at: Timestamp,
    /// Principal who changed it last.
    pub changed_by: Value,
    /// When.
    #[serde(serialize_with = "time::serialize")]
    pub changed_at: Timestamp,
}

/// The next times of a schedule.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ScheduleTimesView {
    /// The times, the earliest first.
    #[serde(serialize_with = "time::serialize")]
    pub times: Vec<Timestamp>,
}
