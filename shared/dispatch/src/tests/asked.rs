//! Open requests in the random world of `policy`: the rows, news of them that may be lost, and counts.

use pagurus_domain::{flow::*, system::*};

use super::super::*;
use super::policy::{FLOWS, SYSTEMS, World, calls};

impl World {
    /// A flow asks `count` requests from now on, which are answered quickly. Of an odd number no news comes.
    pub(super) fn ask(&mut self, flow: usize, count: u8) {
        let asked = calls(FLOWS[flow], flow % 3, CallOutcome::Answered);
        self.tell(DispatchEvent::Called(vec![CallSamples { kind: CallKind::Asynchronous, ..asked }]));
        let before = self.asked.insert(flow, u32::from(count)).unwrap_or_default();
        if count.is_multiple_of(2) {
            let (flow, system) = (Arc::from(FLOWS[flow]), Arc::from(SYSTEMS[flow % 3]));
            let moved = RequestsMoved { flow, system, by: i32::from(count) - before.cast_signed() };
            self.tell(DispatchEvent::RequestsMoved(vec![moved]));
        }
        self.count_requests();
        self.count_requests();
        self.judge_requests();
    }

    pub(super) fn count_requests(&mut self) {
        self.tell(DispatchEvent::RequestsMarked);
        let rows = self.requests();
        self.tell(DispatchEvent::OpenRequests(rows));
    }

    pub(super) fn requests(&self) -> Vec<OpenRequests> {
        let rows = self.asked.iter().map(|(flow, open)| OpenRequests {
            flow: Arc::from(FLOWS[*flow]),
            system: Arc::from(SYSTEMS[flow % 3]),
            open: *open,
            recent: *open,
        });
        rows.collect()
    }

    /// Two counts make what is known equal to the rows, whatever happened to the news.
    pub(super) fn judge_requests(&self) {
        for (flow, open) in &self.asked {
            let known =
                self.dispatcher.flows.find(FLOWS[*flow]).and_then(|flow| self.dispatcher.flows.get(flow));
            assert_eq!(known.map_or(0, |flow| flow.open_requests()), *open, "{}", FLOWS[*flow]);
        }
    }

    /// Each system has the sum of what its flows have open there.
    pub(super) fn judge_systems(&self) {
        for (index, system) in self.dispatcher.systems.iter() {
            let open = system.flows.iter().filter_map(|flow| {
                let links = &self.dispatcher.flows.get(*flow)?.links;
                links.iter().find(|link| link.system == index).map(|link| link.open.all.value())
            });
            assert_eq!(system.open.all.value(), open.sum::<u32>(), "{}", system.name);
        }
    }
}
