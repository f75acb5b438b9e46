//! Data that the dispatcher reads, as the events that it takes.

use std::sync::Arc;

use pagurus_dispatch::{InProgress, Lane, QueueHead, QueueMember, QueuePosition, Ready, Running};
use pagurus_domain::id::{Attempt, OrderNo};

use super::Tables;
use super::rows::ReadyStage;

impl ReadyStage {
    /// The stage as the dispatcher takes it in.
    #[must_use]
    pub fn to_ready(&self) -> Ready {
        Ready {
            no: self.no,
            attempt: self.attempt,
            flow: Arc::from(self.flow.as_str()),
            priority: self.priority,
            lane: if self.woken { Lane::Woken } else { Lane::Fresh },
            place: self.place.as_ref().map(|(queue, position)| QueuePosition {
                queue: Arc::from(queue.as_str()),
                position: *position,
            }),
        }
    }
}

impl Tables {
    /// All that may run, by ascending number.
    #[must_use]
    pub fn ready_stages(&self) -> Vec<Ready> {
        let stage = |no: &OrderNo, row| self.stage_of(*no, row);
        self.ready.iter().map(|(no, row)| stage(no, row).to_ready()).collect()
    }

    /// Stages that run, and the doubtful orders that are still ready.
    #[must_use]
    pub fn in_progress(&self, doubtful: &[OrderNo]) -> InProgress {
        let running = |(no, row): (&OrderNo, &super::RunningRow)| Running {
            no: *no,
            attempt: row.attempt,
            node: row.node,
            flow: Arc::from(self.orders[no].flow.as_str()),
            queue: row.queue.as_deref().map(Arc::from),
        };
        InProgress { running: self.running.iter().map(running).collect(), ready: self.still_ready(doubtful) }
    }

    /// Returns the given orders that are ready, with the number that their hand-out will have.
    #[must_use]
    pub fn still_ready(&self, nos: &[OrderNo]) -> Vec<(OrderNo, Attempt)> {
        nos.iter().filter_map(|no| Some((*no, self.ready.get(no)?.attempt))).collect()
    }

    /// The heads of these queues.
    #[must_use]
    pub fn heads(&self, queues: &[Arc<str>]) -> Vec<QueueHead> {
        let head = |queue: &Arc<str>| {
            let (position, no) = self.head(queue)?;
            let ready = self.ready.get(&no).map(|row| self.stage_of(no, row).to_ready());
            Some(QueueMember { no, position, ready })
        };
        queues.iter().map(|queue| QueueHead { queue: queue.clone(), head: head(queue) }).collect()
    }
}
