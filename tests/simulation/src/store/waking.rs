//! Waking: orders that are due go from `due` back to `ready`, and commands are repeated.

use std::collections::BTreeMap;
use std::time::Duration;

use jiff::Timestamp;
use pagurus_domain::activation::{Stream, repeat_at};
use pagurus_domain::id::OrderNo;
use pagurus_domain::order::change::Waking;

use super::Tables;
use super::rows::{ReadyStage, RequestStatus};
use crate::planted::Planted;

impl Tables {
    /// Orders that are due in a stream, the oldest first, with the flow of each.
    #[must_use]
    pub fn due_now(&self, stream: Stream, limit: usize) -> Vec<(OrderNo, &str)> {
        let early = if self.has(Planted::WakesEarly) { Duration::from_secs(1) } else { Duration::ZERO };
        let until = self.now.checked_add(early).unwrap_or(self.now);
        let mut due: Vec<(Timestamp, OrderNo)> = self
            .due
            .iter()
            .filter(|(_, due)| due.stream == stream && due.at <= until)
            .map(|(no, due)| (due.at, *no))
            .collect();
        due.sort_unstable();
        due.truncate(limit);
        due.into_iter().filter_map(|(_, no)| Some((no, self.orders.get(&no)?.flow.as_str()))).collect()
    }

    /// Wakes those of these orders that are due in a stream.
    pub fn wake(
        &mut self,
        stream: Stream,
        orders: &[OrderNo],
        repeat_at: Option<Timestamp>,
    ) -> Vec<ReadyStage> {
        orders.iter().filter_map(|no| self.wake_one(stream, *no, repeat_at)).collect()
    }

    fn wake_one(&mut self, stream: Stream, no: OrderNo, repeat_at: Option<Timestamp>) -> Option<ReadyStage> {
        let due = *self.due.get(&no)?;
        let is_due = due.at <= self.now || self.has(Planted::WakesEarly);
        if due.stream != stream || !is_due {
            return None;
        }
        self.due.remove(&no);
        self.witness.woken(no, due.at, self.now);
        if self.has(Planted::WakingInTwo) && self.chance.happens(2_000) {
            return None;
        }
        let by = Waking::Due(stream);
        if by.times_requests_out() {
            let (awaited, answered) = self.awaited_by_position(no);
            self.witness.timed_out(no, awaited, answered);
            let closed = self.time_out(no);
            let is_held = self.snapshot_of(no).is_some_and(|snapshot| snapshot.hold().is_some());
            self.witness.hold_ended(no, if is_held { closed } else { 0 });
        }
        self.make_ready(no, by, Some(due.at), repeat_at)
    }

    /// Closes the requests that an order awaited in vain: their answers are too late from now on. Returns how many.
    pub(super) fn time_out(&mut self, no: OrderNo) -> usize {
        self.close_requests(no, RequestStatus::Timeout, |_, request| request.awaited)
    }

    /// Stages that were woken and not begun, by flow.
    #[must_use]
    pub fn woken_by_flow(&self) -> Vec<(String, u64)> {
        let mut counts: BTreeMap<&str, u64> = BTreeMap::new();
        for (no, _) in self.ready.iter().filter(|(_, ready)| ready.repeat_at.is_some()) {
            *counts.entry(self.orders[no].flow.as_str()).or_default() += 1;
        }
        counts.into_iter().map(|(flow, count)| (flow.to_owned(), count)).collect()
    }

    /// Commands that nobody followed, to be sent again.
    pub fn repeat(&mut self, limit: usize, min_shift: Duration) -> Vec<ReadyStage> {
        let now = self.now;
        let late: Vec<OrderNo> = self
            .ready
            .iter()
            .filter(|(_, ready)| ready.repeat_at.is_some_and(|at| at <= now))
            .map(|(no, _)| *no)
            .take(limit)
            .collect();
        for no in &late {
            if let Some(ready) = self.ready.get_mut(no) {
                let lag = now.duration_since(ready.since).unsigned_abs();
                ready.repeat_at = Some(repeat_at(now, lag, min_shift));
            }
        }
        late.iter().map(|no| self.stage_of(*no, &self.ready[no])).collect()
    }
}
