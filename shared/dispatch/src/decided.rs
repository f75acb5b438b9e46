//! Rules of operators as time passes: stops by hand, orders about called systems, and maintenance windows. Must never
//! decide anything by itself: what holds follows from the rules and the time.

use std::sync::Arc;

use jiff::Timestamp;
use pagurus_domain::flow::{FlowStop, SystemOrder, SystemOverride};
use pagurus_domain::maintenance::{MaintenanceWindow, Occurrence, WindowTarget};

use super::Dispatcher;
use super::index::FlowIndex;

/// The rules, and when one of them begins or ends next.
#[derive(Debug, Default)]
pub(super) struct Decided {
    /// Stops by hand; `None` before they are known.
    stops: Option<Vec<FlowStop>>,
    overrides: Vec<SystemOverride>,
    windows: Vec<MaintenanceWindow>,
    /// The windows that were open when the time was looked at last: up to the next due time these are all.
    open: Vec<(WindowTarget, Occurrence)>,
    due: Option<Timestamp>,
}

/// Order that holds a system, until when; `None` if nothing holds it.
type OrderInForce = Option<(SystemOrder, Option<Timestamp>)>;

impl Decided {
    /// False before the stops are known.
    pub(super) const fn are_stops_known(&self) -> bool {
        self.stops.is_some()
    }

    /// Returns the time at which a rule begins or ends next.
    pub(super) const fn due(&self) -> Option<Timestamp> {
        self.due
    }

    /// True if a stop or a window holds this flow back.
    pub(super) fn stops_flow(&self, flow: &str, now: Timestamp) -> bool {
        self.stops.iter().flatten().any(|stop| stop.holds(flow, now))
            || self.open.iter().any(|(target, one)| one.holds(now) && target.has_flow(flow))
    }

    /// Finds what holds a called system. The word that was given last goes: an order to call it, given while a window is
    /// open, opens it; one from before the window does not.
    fn of_system(&self, system: &str, now: Timestamp) -> OrderInForce {
        let holds = |one: &&SystemOverride| {
            one.system == system && one.from <= now && one.until.is_none_or(|until| now < until)
        };
        // To keep stopped goes before to force open.
        let order = self.overrides.iter().filter(holds).min_by_key(|one| one.order);
        let open = self.open.iter().filter(|(target, one)| one.holds(now) && target.has_system(system));
        let (begin, end) = (open.clone().map(|(_, one)| one.begin).max(), open.map(|(_, one)| one.end).max());
        let Some((begin, end)) = begin.zip(end) else { return order.map(|one| (one.order, one.until)) };
        match order {
            Some(one) if one.order == SystemOrder::ForceOpen && one.from >= begin => {
                Some((one.order, one.until))
            }
            Some(one) if one.order == SystemOrder::KeepStopped => {
                Some((one.order, one.until.map(|until| until.max(end))))
            }
            _ => Some((SystemOrder::KeepStopped, Some(end))),
        }
    }

    /// Looks at the time: which windows are open, and when to look again.
    fn look(&mut self, now: Timestamp) {
        let open =
            self.windows.iter().filter_map(|window| Some((window.target.clone(), window.open_at(now)?)));
        self.open = open.collect();
        let stops = self.stops.iter().flatten().flat_map(|stop| [Some(stop.from), stop.until]);
        let overrides = self.overrides.iter().flat_map(|order| [Some(order.from), order.until]);
        let fixed = stops.chain(overrides).flatten().filter(|time| *time > now);
        self.due = fixed.chain(self.windows.iter().filter_map(|window| window.due(now))).min();
    }
}

impl Dispatcher {
    /// Sets all stops that hold now or later.
    pub(super) fn set_stops(&mut self, stops: Vec<FlowStop>) {
        self.decided.stops = Some(stops);
        self.apply_stops();
    }

    /// Sets all orders about systems that hold now or later.
    pub(super) fn set_overrides(&mut self, overrides: Vec<SystemOverride>) {
        self.decided.overrides = overrides;
        self.apply_overrides();
    }

    /// Sets all maintenance windows that are open now or later. They are applied with the stops and orders that come
    /// after them, so that what one takes over from another does not go on for a moment.
    pub(super) fn set_windows(&mut self, windows: Vec<MaintenanceWindow>) {
        self.decided.windows = windows;
        self.decided.look(self.now);
        self.decided.due = Some(self.now);
    }

    /// Rules that began or ended by time.
    pub(super) fn apply_decided(&mut self) {
        self.apply_stops();
        self.apply_overrides();
    }

    /// Applies what holds flows by now.
    fn apply_stops(&mut self) {
        let now = self.now;
        self.decided.look(now);
        let changed: Vec<(FlowIndex, bool)> = self
            .flows
            .iter()
            .map(|(index, flow)| (index, flow.is_stopped, self.decided.stops_flow(&flow.name, now)))
            .filter(|(_, was, is)| was != is)
            .map(|(index, _, is)| (index, is))
            .collect();
        for (index, is_stopped) in changed {
            let Some(flow) = self.flows.get_mut(index) else { continue };
            flow.is_stopped = is_stopped;
            flow.known.queue_waits.forget_watched();
            if is_stopped {
                let load = flow.load();
                flow.control.hold(load, now, "stopped by hand or by a maintenance window");
            } else {
                flow.control.begin(flow.bounds, now, "the last stop by hand or maintenance window is over");
            }
            self.moved_flow(index);
        }
    }

    /// Applies what holds called systems by now.
    fn apply_overrides(&mut self) {
        let now = self.now;
        self.decided.look(now);
        let ordered = self.decided.overrides.iter().map(|order| order.system.as_str());
        let open = self.decided.open.iter().filter_map(|(target, _)| target.system());
        let named: Vec<Arc<str>> = ordered.chain(open).map(Arc::from).collect();
        for name in &named {
            self.enter_system(name);
        }
        for index in self.systems.all() {
            let Some(system) = self.systems.get_mut(index) else { continue };
            let order = self.decided.of_system(&system.name, now);
            if order == system.order {
                continue;
            }
            let before = std::mem::replace(&mut system.order, order);
            let (in_use, bounds) = (system.load(), system.bounds);
            match (before, order) {
                (_, Some((SystemOrder::ForceOpen, _))) => {
                    system.control.release(bounds, now, "forced open by an operator");
                }
                (Some((SystemOrder::KeepStopped, _)), None) => {
                    let why = "an operator's order or a maintenance window that kept it stopped is over";
                    system.control.close(now, in_use, bounds, now, why);
                }
                (None, Some((SystemOrder::KeepStopped, _))) => {
                    system.control.hold(in_use, now, "kept stopped by an operator or a maintenance window");
                }
                _ => {}
            }
            self.moved_system(index);
        }
    }
}
