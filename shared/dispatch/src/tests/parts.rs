//! What holds of the parts of flows after each turn of [`super::property`]. There the orders of one
//! priority are one flow.

use pagurus_domain::flow::*;

use super::super::*;

/// Two of three parallel places, one of two sequential ones.
const FLOW_SHARE: FlowShare = FlowShare { percentage: 50 };

/// Settings with these capacities, and a part for each flow that is reached all the time.
pub(super) fn settings(parallel: u32, sequential: u32) -> DispatchSettings {
    DispatchSettings { flow_share: FLOW_SHARE, ..super::settings(parallel, sequential) }
}

/// No flow has more than its part, unless it had it before. And where some have theirs they are in
/// nobody's way: if this was all, nobody stands in line while there is a place for it.
pub(super) fn verify(dispatcher: &Dispatcher, before: &Stats, after: &Stats, all: bool) {
    let places: u32 = after.nodes.iter().map(|node| node.allowance).sum();
    for flow in &after.flows {
        let had = before.flows.iter().find(|one| one.flow == flow.flow).map_or(0, |one| one.in_progress);
        assert!(flow.in_progress <= FLOW_SHARE.of(places).max(had).max(1), "{flow:?} of {places}");
    }
    if !all || !dispatcher.nodes.any_open() || !dispatcher.progress.was_read() {
        return;
    }
    for (mode, in_progress) in [(Mode::Parallel, after.parallel), (Mode::Sequential, after.sequential)] {
        if dispatcher.settings.capacity.admits(mode, in_progress) {
            let waits = dispatcher.waiting.waits(MODES.map(|one| [one == mode; 2]));
            assert_eq!(waits, [[[false; 2]; 2]; 3], "a {mode} stage stands in line, and a place is free");
        }
    }
    for (index, flow) in dispatcher.flows.iter() {
        for mode in MODES {
            let capacity = dispatcher.settings.capacity;
            let admits = FLOW_SHARE.admits(capacity, places, mode, flow.in_progress);
            let aside = dispatcher.waiting.is_shut(index, mode);
            assert_eq!(aside, !admits && flow.in_progress != [0; 2], "{flow:?} {mode}");
        }
    }
}
