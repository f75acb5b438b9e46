//! One hand-out after the other: what is due by time, who is next, and the step from waiting to in progress.
//! Must never hand out what stands aside.

use jiff::{SignedDuration, Timestamp};
use pagurus_domain::flow::DistributionMode;
use pagurus_domain::id::Incarnation;

use super::event::{HandOut, Lane};
use super::index::StageSlot;
use super::line::OpenLines;
use super::progress::{Record, SentStage, StageStanding};
use super::{Dispatcher, MODES};

/// Interval at which what was measured is taken in.
const SETTLE_PERIOD: SignedDuration = SignedDuration::from_secs(1);

impl Dispatcher {
    /// Does what is due by time alone.
    pub(super) fn pass_time(&mut self, now: Timestamp) {
        self.nodes.resume(now);
        if self.decided.due().is_some_and(|due| due <= now) {
            self.apply_decided();
        }
        self.wake_controls(now);
        self.settle_known(now);
        self.woken.settle(now);
    }

    /// Takes in what was measured, once a second.
    pub(super) fn settle_known(&mut self, now: Timestamp) {
        if now.duration_since(self.settled_at) < SETTLE_PERIOD && now >= self.settled_at {
            return;
        }
        self.settled_at = now;
        self.flows.settle(now);
        self.systems.settle(now);
        self.look_at_answers();
        self.forget_flows();
        // Who was due may be kept from going by something that is nobody's news here, as the head of its queue.
        self.systems.all().into_iter().for_each(|system| self.unblock(system));
    }

    /// Sends once more what may have been lost; it kept its permit of the mode all the while.
    pub(super) fn send_again(&mut self, now: Timestamp) -> Option<HandOut> {
        for _ in 0..self.progress.to_send_again() {
            let stage = self.progress.next_again()?.stage;
            if self.is_halted(stage.flow) {
                self.progress.send_again(stage.no);
                continue;
            }
            // Several nodes get what one did not take: that one may be the least loaded again.
            self.nodes.start_batch();
            let (node, sent) = self.send(now)?;
            let record = self.progress.get_mut(stage.no)?;
            record.node = Some(node);
            record.standing = StageStanding::Sent(SentStage { again: true, ..sent });
            return Some(HandOut { no: stage.no, attempt: record.stage.attempt, node, serial: sent.serial });
        }
        None
    }

    /// Takes the next in line and moves it from waiting to in progress.
    pub(super) fn send_next(&mut self, now: Timestamp) -> Option<HandOut> {
        let slot = self.next_in_line()?;
        self.hand_out(slot, now)
    }

    /// Moves a stage from waiting to in progress.
    pub(super) fn hand_out(&mut self, slot: StageSlot, now: Timestamp) -> Option<HandOut> {
        let (node, sent) = self.send(now)?;
        let stage = *self.waiting.stage(slot);
        if let Some(queue) = stage.queue() {
            // Before the slot goes, or the queue would put the next one in line.
            self.queues.start(queue);
        }
        if let Some(flow) = self.flows.get_mut(stage.flow) {
            flow.known.queue_waits.starts(stage.no, now);
        }
        let expected = self.flows.get(stage.flow).map_or(0, |flow| flow.known.expected());
        let cost = self.pay(stage.flow, expected);
        self.count_start(stage.flow, stage.mode());
        self.remove_waiting(slot);
        self.waiting.lines().pass(stage.line(), cost);
        self.judge(stage.flow);
        self.freed(stage.flow);
        self.progress.insert(Record {
            stage,
            mode: stage.mode(),
            node: Some(node),
            standing: StageStanding::Sent(sent),
            expected,
        });
        self.choose_sharing();
        Some(HandOut { no: stage.no, attempt: stage.attempt, node, serial: sent.serial })
    }

    /// A permit of the node that is next, and a serial.
    pub(super) fn send(&mut self, now: Timestamp) -> Option<(Incarnation, SentStage)> {
        let node = self.nodes.take()?;
        self.serial += 1;
        let sent = SentStage { at: now, serial: self.serial, again: false, doubted: false, asked: false };
        Some((node, sent))
    }

    /// Whose turn it is: by priority, then by flow or by mode and lane.
    pub(super) fn next_in_line(&mut self) -> Option<StageSlot> {
        let open = self.open_lines();
        loop {
            let waits = self.waiting.waits(open);
            let priority = self.share.priority(waits)?;
            let lines = match self.by_time {
                true => self.waiting.cheapest(priority, open),
                false => waits[priority as usize],
            };
            let (mode, lane) = self.share.line(priority, lines);
            let slot = self.waiting.next(mode, priority, lane)?;
            // A flow that may not stands aside from now on, so that this comes to an end.
            if self.may_go(self.waiting.stage(slot).flow) {
                self.share.pay(priority, mode, lane);
                return Some(slot);
            }
        }
    }

    /// The modes that have capacity left, and in each the lanes of which one more may go.
    fn open_lines(&mut self) -> OpenLines {
        let admits = |mode| self.settings.capacity.admits(mode, self.progress.of_mode(mode));
        let modes = MODES.map(admits);
        let admits_woken = self.admits_lane(Lane::Woken);
        let holds = !admits_woken && self.waiting.woken_waits(modes);
        self.woken.note(self.progress.of_lane(Lane::Woken), holds);
        modes.map(|mode| [mode, mode && admits_woken])
    }

    /// True if one more stage of a lane may go, whatever its mode and flow.
    pub(super) fn admits_lane(&self, lane: Lane) -> bool {
        let [fresh, woken] = [Lane::Fresh, Lane::Woken].map(|lane| self.progress.of_lane(lane));
        lane == Lane::Fresh || self.woken.admits(woken, fresh)
    }

    /// Lets flows share by time where the mode says so, and in the others while the capacity is nearly used up (DSP-8).
    pub(super) fn choose_sharing(&mut self) {
        let by_time = match self.settings.flows.mode {
            DistributionMode::Simple => false,
            DistributionMode::RatedFlows => true,
            DistributionMode::StoppedFlows | DistributionMode::LimitedFlows => self.is_overloaded(),
        };
        if by_time != self.by_time {
            self.by_time = by_time;
            self.waiting.lines().share_by_time(by_time);
        }
    }

    /// True while the capacity of a mode, or the places of all nodes, are nearly used up.
    fn is_overloaded(&self) -> bool {
        let percentage = u64::from(self.settings.flows.overload_threshold_percentage);
        // A little less than the threshold ends it, lest it change with each stage.
        let percentage = if self.by_time { percentage * 95 / 100 } else { percentage };
        let is_used_up = |in_use: u32, places: u32| {
            places > 0 && u64::from(in_use) * 100 >= u64::from(places) * percentage
        };
        let in_use = MODES.map(|mode| self.progress.of_mode(mode));
        MODES.iter().any(|mode| is_used_up(in_use[*mode as usize], self.settings.capacity.of(*mode)))
            || is_used_up(in_use.iter().sum(), self.nodes.places())
    }
}
