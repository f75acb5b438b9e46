//! Bodies of `/v1/windows`: maintenance windows of flows and called systems.

use jiff::Timestamp;
use pagurus_domain::maintenance::{CalendarRule, Occurrence, Period};
use pagurus_domain::time;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::flows::ConfirmationView;

/// Body of `POST /v1/windows`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct WindowRequest {
    /// Keyword of all flows whose names contain it, including flows that appear later. Either this or `system`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub flow: Option<String>,
    /// The called system of this name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub system: Option<String>,
    /// Start of a single window; with `every`, no window starts before it. Default: at once.
    #[serde(default, skip_serializing_if = "Option::is_none", serialize_with = "time::serialize")]
    pub from: Option<Timestamp>,
    /// No window starts after it; only with `every`.
    #[serde(default, skip_serializing_if = "Option::is_none", serialize_with = "time::serialize")]
    pub until: Option<Timestamp>,
    /// `day`, `week` or `month`; default: once.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub every: Option<Period>,
    /// Days: of a week `monday` to `sunday`; of a month `1` to `31`, `last`, or such as `second sunday` and `last friday`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub on: Vec<String>,
    /// Time of day at which it starts, such as `22:00`; only with `every`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at: Option<String>,
    /// Time zone, like `Europe/Berlin`; default: `UTC`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub zone: Option<String>,
    /// Length, like `3h`.
    #[serde(rename = "for")]
    pub duration: String,
    /// True if orders of the flows that wait or retry until a time within the window are moved past its end.
    #[serde(default)]
    pub shift: bool,
    /// Reason, for the record.
    #[serde(default)]
    pub reason: String,
    /// True to only report what would be done.
    #[serde(default)]
    pub dry_run: bool,
}

impl WindowRequest {
    /// The calendar that is asked for, of a request at this time.
    #[must_use]
    pub fn calendar(&self, now: Timestamp) -> CalendarRule {
        CalendarRule {
            from: if self.every.is_none() { Some(self.from.unwrap_or(now)) } else { self.from },
            until: self.until,
            every: self.every,
            on: self.on.clone(),
            at: self.at.clone(),
            zone: self.zone.clone(),
            duration: self.duration.clone(),
        }
    }
}

/// Body of `POST /v1/windows/{no}/end`, `…/skip` and `…/remove`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct WindowActionRequest {
    /// Reason, for the record.
    #[serde(default)]
    pub reason: String,
}

/// An occurrence, from start to end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct OccurrenceView {
    /// Start.
    #[serde(serialize_with = "time::serialize")]
    pub from: Timestamp,
    /// End.
    #[serde(serialize_with = "time::serialize")]
    pub until: Timestamp,
}

impl From<Occurrence> for OccurrenceView {
    fn from(one: Occurrence) -> Self {
        Self { from: one.begin, until: one.end }
    }
}

/// A maintenance window.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct WindowView {
    /// Number of the window.
    pub window: i64,
    /// Keyword: every flow whose name contains it is stopped in the window.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub flow: Option<String>,
    /// The called system that is not called in the window.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub system: Option<String>,
    /// Times of the window, as they were written.
    pub calendar: CalendarRule,
    /// True if orders that wait or retry meanwhile are moved past the end.
    pub shift: bool,
    /// The time for which it is open now.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub open: Option<OccurrenceView>,
    /// The next time for which it will be open.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next: Option<OccurrenceView>,
    /// Times that start then or earlier were canceled.
    #[serde(default, skip_serializing_if = "Option::is_none", serialize_with = "time::serialize")]
    pub void_until: Option<Timestamp>,
    /// Reason.
    pub reason: String,
    /// Principal who requested it.
    pub by: Value,
    /// Time at which it was asked.
    #[serde(serialize_with = "time::serialize")]
    pub made_at: Timestamp,
    /// Time at which it was removed.
    #[serde(default, skip_serializing_if = "Option::is_none", serialize_with = "time::serialize")]
    pub removed_at: Option<Timestamp>,
    /// Principal who removed it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub removed_by: Option<Value>,
    /// Reason for removing it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub remove_reason: Option<String>,
}

/// Outcome of a change of the maintenance windows.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct WindowOutcome {
    /// The window; none for a dry run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub window: Option<i64>,
    /// The first times for which it is open from now on.
    pub next: Vec<OccurrenceView>,
    /// The flows that are hit, of those that are known by now.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub flows: Vec<String>,
    /// True if there are more flows than are listed.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub more_flows: bool,
    /// The shift that moved orders past the end of the canceled time: undo it to let them run earlier.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shift: Option<i64>,
    /// Confirmation of the active dispatcher.
    #[serde(flatten)]
    pub confirmation: ConfirmationView,
}
