//! Stops of flows by operators.

use std::time::Duration;

use jiff::Timestamp;
use pagurus_domain::flow::FlowStop;

use super::Tables;

impl Tables {
    /// Stops flows for a while.
    pub fn stop_flows(&mut self, keyword: &str, length: Duration) {
        let until = Some(self.now.checked_add(length).unwrap_or(Timestamp::MAX));
        let no = i64::try_from(self.stops.len()).unwrap_or(i64::MAX);
        self.stops.push(FlowStop { no, keyword: keyword.to_owned(), from: self.now, until });
    }

    /// Stops that hold now.
    #[must_use]
    pub fn held_stops(&self) -> Vec<FlowStop> {
        let holds = |stop: &&FlowStop| stop.until.is_none_or(|until| until > self.now);
        self.stops.iter().filter(holds).cloned().collect()
    }

    /// A stop of this flow that has held for this time.
    #[must_use]
    pub fn stopped_since(&self, flow: &str, at_least: Duration) -> Option<&FlowStop> {
        let since = self.now.checked_sub(at_least).unwrap_or(Timestamp::MIN);
        self.stops.iter().find(|stop| stop.holds(flow, self.now) && stop.from <= since)
    }
}
