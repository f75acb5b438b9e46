//! Effect of each event on what waits and what is in progress. Must never hand anything out.
//!
//! Two rules run through all of it. A greater attempt proves that the smaller ones are over,
//! whatever their own news says later. And what frees a permit needs proof: the end itself, a
//! refusal of the only message there was, or a reading of the tables.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use jiff::Timestamp;
use pagurus_domain::id::{Attempt, Incarnation, OrderNo};
use pagurus_domain::order::Mode;

use super::Dispatcher;
use super::event::{
    HandOut, InProgress, Lane, QueueHead, QueueMember, Ready, Refusal, Running, StageMeasured,
};
use super::index::StageSlot;
use super::progress::{Record, SentStage, StageStanding};
use super::queue::Gate;
use super::ready::{DispatchStage, LineEnd};

/// Rest of a node that could not take a hand-out. Its permits and the news of its ended
/// stages cross now and then, so it is short; it is there lest a node that nobody reaches gets
/// the same stage a thousand times a second.
const REST: Duration = Duration::from_millis(250);

impl Dispatcher {
    pub(super) fn ready(&mut self, row: &Ready) {
        if self.progress.has_ended(row.no, row.attempt) {
            return;
        }
        if let Some(record) = self.progress.get(row.no) {
            if record.stage.attempt >= row.attempt {
                return;
            }
            let attempt = record.stage.attempt;
            self.finish(row.no, Gate::Open);
            self.progress.ended(row.no, attempt);
        }
        if let Some(slot) = self.waiting.find(row.no) {
            if self.waiting.stage(slot).attempt > row.attempt || self.is_same(slot, row) {
                return;
            }
            self.remove_waiting(slot);
        }
        let flow = self.enter_flow(&row.flow);
        self.flows.wait(flow, row.priority);
        self.file_again(flow, row.priority);
        self.flow_changed(flow);
        let place = row.place.as_ref();
        let place = place.map(|place| (self.queues.enter(&place.queue), place.position));
        let stage = DispatchStage::new(row.no, row.attempt, flow, row.priority, row.lane);
        self.watch(&stage.in_queue(place));
        self.add_waiting(stage.in_queue(place), LineEnd::Back);
    }

    /// Some of those that wait in queues are watched.
    fn watch(&mut self, stage: &DispatchStage) {
        let now = self.now;
        let Some(queue) = stage.queue() else { return };
        let Some(flow) = self.flows.get_mut(stage.flow) else { return };
        if flow.is_stopped || !flow.known.queue_waits.has_room(now) {
            return;
        }
        let before = self.queues.before(&self.waiting, queue, stage.position);
        if before > 0 {
            flow.known.queue_waits.ready(stage.no, before, now);
        }
    }

    pub(super) fn left_ready(&mut self, no: OrderNo, attempt: Attempt) {
        if let Some(slot) = self.waiting.find(no)
            && self.waiting.stage(slot).attempt <= attempt
        {
            self.remove_waiting(slot);
        }
        // One that was handed out meanwhile will be refused by its claim.
    }

    pub(super) fn left_queue(&mut self, no: OrderNo, name: &str) {
        // A ready member is dropped as a whole: the re-reading brings it back with its new place,
        // or with none.
        if let Some(slot) = self.waiting.find(no)
            && self.waiting.stage(slot).queue() == self.queues.find(name)
            && self.waiting.stage(slot).queue().is_some()
        {
            self.remove_waiting(slot);
        }
        let Some(queue) = self.queues.find(name) else { return };
        if let Some(record) = self.progress.get_mut(no)
            && record.stage.queue() == Some(queue)
        {
            record.stage = record.stage.in_queue(None);
            self.queues.finish(queue, Gate::Open);
        } else {
            self.queues.left(queue, no);
        }
        self.settle(queue, LineEnd::Back);
    }

    pub(super) fn ended(
        &mut self,
        no: OrderNo,
        attempt: Attempt,
        left: Option<&str>,
        measured: Option<&StageMeasured>,
    ) {
        if let Some(record) = self.progress.get(no) {
            if record.stage.attempt > attempt {
                return;
            }
            if let Some(measured) = measured.filter(|_| record.stage.attempt == attempt) {
                let (stage, expected) = (record.stage, record.expected);
                if let StageStanding::Sent(sent) = record.standing {
                    let since = Duration::try_from(self.now.duration_since(sent.at)).unwrap_or_default();
                    self.woken.spent(since.saturating_sub(measured.took));
                }
                self.measured(stage.flow, measured);
                if stage.lane == Lane::Fresh {
                    self.order_began(stage.flow);
                }
                if expected > 0 {
                    let took = i64::try_from(measured.took.as_micros()).unwrap_or(i64::MAX);
                    let more = took.saturating_sub_unsigned(expected);
                    self.charge(&stage, more);
                }
            }
            let gate = if left.is_some() { Gate::Open } else { Gate::Held(no) };
            self.finish(no, gate);
        }
        if let Some(slot) = self.waiting.find(no) {
            if self.waiting.stage(slot).attempt > attempt {
                return;
            }
            self.remove_waiting(slot);
        }
        self.progress.ended(no, attempt);
        if let Some(queue) = left.and_then(|name| self.queues.find(name)) {
            self.queues.left(queue, no);
            self.settle(queue, LineEnd::Back);
        }
    }

    pub(super) fn refused(&mut self, hand_out: HandOut, why: Refusal, now: Timestamp) {
        let HandOut { no, node, serial, .. } = hand_out;
        let Some(record) = self.progress.get_mut(no) else { return };
        let StageStanding::Sent(sent) = &mut record.standing else { return };
        if sent.serial != serial || record.node != Some(node) {
            return;
        }
        let again = sent.again;
        match why {
            // Another message of this stage may have been taken.
            Refusal::Gone if again => sent.doubted = true,
            Refusal::Gone => self.finish(no, Gate::Unclear),
            Refusal::Behind => self.put_back(no, Gate::Unclear),
            Refusal::Busy | Refusal::Epoch => {
                self.nodes.pause(node, now.checked_add(REST).unwrap_or(Timestamp::MAX));
                if again {
                    self.hold_back(no);
                } else {
                    self.put_back(no, Gate::Open);
                }
            }
        }
    }

    pub(super) fn in_progress(&mut self, snapshot: InProgress) {
        let InProgress { running, ready } = snapshot;
        let reading = self.progress.next_reading();
        for row in &running {
            self.runs(row, reading);
        }
        let ready: BTreeSet<(OrderNo, Attempt)> = ready.into_iter().collect();
        let unseen: BTreeMap<OrderNo, bool> = self
            .progress
            .iter()
            .filter(|record| match record.standing {
                StageStanding::Running(seen) => seen < reading,
                StageStanding::Sent(sent) => sent.asked,
            })
            .map(|record| (record.stage.no, ready.contains(&(record.stage.no, record.stage.attempt))))
            .collect();
        for (no, still_ready) in unseen {
            if still_ready {
                self.hold_back(no);
            } else {
                // It ended unheard, or was never taken and is not there to be taken any more.
                self.finish(no, Gate::Unclear);
            }
        }
    }

    pub(super) fn queue_head(&mut self, head: QueueHead) {
        let QueueHead { queue: name, head } = head;
        if let Some(QueueMember { ready: Some(row), .. }) = &head {
            self.ready(row);
        }
        let Some(queue) = self.queues.find(&name) else { return };
        if !self.queues.take_asked(queue) {
            return;
        }
        let Some(QueueMember { no, position, .. }) = head else {
            // No member at all: the claim tells about each that is held here.
            self.queues.set_gate(queue, Gate::Open);
            return self.settle(queue, LineEnd::Back);
        };
        // Positions only grow, so a member held with a smaller one has left.
        while let Some(queue) = self.queues.find(&name)
            && let Some(front) = self.queues.front(queue)
            && self.waiting.stage(front).position < position
        {
            self.remove_waiting(front);
        }
        let Some(queue) = self.queues.find(&name) else { return };
        let front = self.queues.front(queue).map(|front| self.waiting.stage(front).no);
        let gate = if front == Some(no) { Gate::Open } else { Gate::Held(no) };
        self.queues.set_gate(queue, gate);
        self.settle(queue, LineEnd::Back);
    }

    /// Notes that this stage was seen running.
    fn runs(&mut self, row: &Running, reading: u64) {
        if self.progress.has_ended(row.no, row.attempt) {
            return;
        }
        if let Some(record) = self.progress.get_mut(row.no) {
            let attempt = record.stage.attempt;
            if attempt == row.attempt {
                record.standing = StageStanding::Running(reading);
                let node = record.node.replace(row.node);
                self.moved(node, row.node);
            }
            if attempt >= row.attempt {
                return;
            }
            self.finish(row.no, Gate::Open);
            self.progress.ended(row.no, attempt);
        }
        if let Some(slot) = self.waiting.find(row.no) {
            if self.waiting.stage(slot).attempt > row.attempt {
                return;
            }
            self.remove_waiting(slot);
        }
        self.start_unforeseen(row, reading);
    }

    /// Counts a stage that runs without this dispatcher having sent it: a former one did.
    fn start_unforeseen(&mut self, row: &Running, reading: u64) {
        let mode = if row.queue.is_some() { Mode::Sequential } else { Mode::Parallel };
        let flow = self.enter_flow(&row.flow);
        self.count_start(flow, mode);
        let queue = row.queue.as_ref().map(|name| self.queues.enter(name));
        // Neither priority nor lane matters for what will not be put back in line.
        let stage = DispatchStage::new(
            row.no,
            row.attempt,
            flow,
            pagurus_domain::order::Priority::Normal,
            super::Lane::Woken,
        );
        self.nodes.hold(row.node);
        self.progress.insert(Record {
            stage: stage.in_queue(queue.map(|queue| (queue, 0))),
            mode,
            node: Some(row.node),
            standing: StageStanding::Running(reading),
            expected: 0,
        });
        self.freed(flow);
        if let Some(queue) = queue {
            self.queues.start(queue);
            self.settle(queue, LineEnd::Back);
        }
    }

    fn moved(&mut self, from: Option<Incarnation>, to: Incarnation) {
        if from != Some(to) {
            self.nodes.hold(to);
            if let Some(from) = from {
                self.nodes.release(from);
            }
        }
    }

    /// Lets a stage in progress go, after which this is known of its queue.
    fn finish(&mut self, no: OrderNo, gate: Gate) {
        if let Some(record) = self.release(no)
            && let Some(queue) = record.stage.queue()
        {
            self.queues.finish(queue, gate);
            self.settle(queue, LineEnd::Back);
        }
    }

    /// A stage in progress is ready again as it was, and had its turn already.
    fn put_back(&mut self, no: OrderNo, gate: Gate) {
        let Some(Record { stage, mode, expected, .. }) = self.progress.get(no).copied() else { return };
        if mode != stage.mode() || (gate == Gate::Unclear && stage.queue().is_none()) {
            // Its queue is not what it was when the row was read. The re-reading knows better.
            return self.finish(no, gate);
        }
        self.flows.wait(stage.flow, stage.priority);
        let back = i64::try_from(expected).unwrap_or(i64::MAX);
        self.charge(&stage, -back);
        self.release(no);
        self.add_waiting(stage, LineEnd::Front);
        if let Some(queue) = stage.queue() {
            self.queues.finish(queue, gate);
            self.settle(queue, LineEnd::Front);
        }
    }

    /// A stage keeps its permit of the mode and waits to be sent again.
    fn hold_back(&mut self, no: OrderNo) {
        let Some(record) = self.progress.get_mut(no) else { return };
        let node = record.node.take();
        if let StageStanding::Sent(sent) = &mut record.standing {
            *sent = SentStage { again: true, asked: false, doubted: false, ..*sent };
        }
        if let Some(node) = node {
            self.nodes.release(node);
        }
        self.progress.send_again(no);
    }

    /// Gives back the permits of a stage in progress; its queue is left to the caller.
    fn release(&mut self, no: OrderNo) -> Option<Record> {
        let record = self.progress.remove(no)?;
        if let Some(node) = record.node {
            self.nodes.release(node);
        }
        self.count_finish(record.stage.flow, record.mode);
        self.choose_sharing();
        Some(record)
    }

    fn is_same(&self, slot: StageSlot, row: &Ready) -> bool {
        let held = self.waiting.stage(slot);
        let place = held.queue().map(|queue| (self.queues.name(queue), held.position));
        held.attempt == row.attempt
            && held.priority == row.priority
            && held.lane == row.lane
            && *self.flows.name(held.flow) == row.flow
            && place == row.place.as_ref().map(|place| (&*place.queue, place.position))
    }
}
