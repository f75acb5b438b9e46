//! Maintenance windows of flows and called systems, set ahead once or by a calendar (DSP-16). A window is a rule, and
//! whether it holds follows from the rule and the time alone: nobody opens or closes one, so no death and no take-over
//! can miss it.

mod calendar;
#[cfg(test)]
mod tests;

use jiff::Timestamp;

pub use calendar::{Calendar, CalendarFault, CalendarRule, Occurrence, Period};

/// A maintenance window.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MaintenanceWindow {
    /// Number of the window: overlapping windows are independent.
    pub no: i64,
    /// Flows or system that it is for.
    pub target: WindowTarget,
    /// Times of it.
    pub calendar: Calendar,
    /// Occurrences that begin at this time or earlier are called off.
    pub void_until: Option<Timestamp>,
}

/// Flows or system that a window holds back.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum WindowTarget {
    /// Every flow whose name contains it.
    Flows(String),
    /// The called system of this name.
    System(String),
}

impl WindowTarget {
    /// True if this flow is meant.
    #[must_use]
    pub fn has_flow(&self, flow: &str) -> bool {
        matches!(self, Self::Flows(keyword) if flow.contains(keyword))
    }

    /// The called system, where one is meant.
    #[must_use]
    pub fn system(&self) -> Option<&str> {
        match self {
            Self::Flows(_) => None,
            Self::System(name) => Some(name),
        }
    }

    /// True if this called system is meant.
    #[must_use]
    pub fn has_system(&self, system: &str) -> bool {
        self.system() == Some(system)
    }
}

impl MaintenanceWindow {
    /// The occurrence that lasts at this time, unless it was called off.
    #[must_use]
    pub fn open_at(&self, now: Timestamp) -> Option<Occurrence> {
        self.calendar.at(now).filter(|one| self.void_until.is_none_or(|void| one.begin > void))
    }

    /// The first occurrence that begins after this time and was not called off.
    #[must_use]
    pub fn next_after(&self, now: Timestamp) -> Option<Occurrence> {
        self.calendar.after(self.void_until.map_or(now, |void| void.max(now)))
    }

    /// Time at which it begins or ends next.
    #[must_use]
    pub fn due(&self, now: Timestamp) -> Option<Timestamp> {
        // The next one begins after the end of this one.
        let open = self.open_at(now).map(|one| one.end);
        open.or_else(|| self.next_after(now).map(|one| one.begin))
    }
}
