//! The tables and workers around the dispatcher, as small as they can be: what is ready, running
//! and queued, messages on their way, and the rules of a claim. Must never look into the
//! dispatcher.

use std::collections::BTreeMap;
use std::sync::Arc;

use pagurus_domain::id::{Attempt, Incarnation, OrderNo};
use pagurus_domain::order::{Mode, Priority};

use super::super::{
    DispatchEvent, HandOut, InProgress, Lane, QueueHead, QueueMember, QueuePosition, Ready, Refusal, Running,
};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    Ready(Lane),
    Running { node: Incarnation, mode: Mode },
    Suspended,
    Ended,
}

impl State {
    pub(super) fn is_running(self) -> bool {
        matches!(self, Self::Running { .. })
    }

    pub(super) fn is_suspended(self) -> bool {
        self == Self::Suspended
    }
}

#[derive(Clone, Debug)]
pub(super) struct Order {
    /// The queue it belongs to, and enters again after a sleep.
    queue: Option<Arc<str>>,
    /// Position, as long as it is a member.
    position: Option<i64>,
    attempt: Attempt,
    flow: Arc<str>,
    priority: Priority,
    pub(super) state: State,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Life {
    Up,
    Draining,
    Down,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Message {
    pub(super) hand_out: HandOut,
    pub(super) epoch: u32,
    /// Capacity that it took. The order may be released while the message is under way.
    pub(super) mode: Mode,
}

/// End of a stage.
#[derive(Clone, Copy, Debug)]
pub(super) enum End {
    Finally,
    SuspendedInPlace,
    Sleep,
    ReadyAgain,
}

#[derive(Debug, Default)]
pub(super) struct Model {
    pub(super) orders: BTreeMap<OrderNo, Order>,
    /// Concurrency and life of each node.
    pub(super) nodes: BTreeMap<Incarnation, (u32, Life)>,
    pub(super) epoch: u32,
    last_position: i64,
}

impl Model {
    pub(super) fn register(&mut self, queue: Option<&str>, priority: Priority, flow: &str) -> DispatchEvent {
        let no = OrderNo(i64::try_from(self.orders.len()).unwrap() + 1);
        let order = Order {
            queue: queue.map(Arc::from),
            position: None,
            attempt: Attempt(1),
            flow: Arc::from(flow),
            priority,
            state: State::Ready(Lane::Fresh),
        };
        self.orders.insert(no, order);
        self.enter_queue(no);
        DispatchEvent::Ready(vec![self.row(no)])
    }

    /// The worker's claim. `Ok(true)` if the stage runs by it, `Ok(false)` if it ran already.
    pub(super) fn claim(&mut self, message: Message) -> Result<bool, Option<Refusal>> {
        let HandOut { no, attempt, node, .. } = message.hand_out;
        let (concurrency, life) = self.nodes[&node];
        let order = &self.orders[&no];
        if life == Life::Down {
            return Err(None);
        }
        if let State::Running { node: runs_on, .. } = order.state
            && (runs_on, order.attempt) == (node, attempt)
        {
            return Ok(false);
        }
        if message.epoch != self.epoch {
            return Err(Some(Refusal::Epoch));
        }
        if life == Life::Draining || self.running_on(node) >= concurrency {
            return Err(Some(Refusal::Busy));
        }
        if !matches!(order.state, State::Ready(_)) || order.attempt != attempt {
            return Err(Some(Refusal::Gone));
        }
        if order.position.is_some() && self.head(order.queue.as_ref().unwrap()) != Some(no) {
            return Err(Some(Refusal::Behind));
        }
        self.order(no).state = State::Running { node, mode: message.mode };
        Ok(true)
    }

    /// Ends the stage of a running order; the news of it.
    pub(super) fn end(&mut self, no: OrderNo, how: End) -> Vec<DispatchEvent> {
        let attempt = self.orders[&no].attempt;
        let left_queue = match how {
            End::Finally | End::Sleep => self.leave_queue(no),
            End::SuspendedInPlace | End::ReadyAgain => None,
        };
        self.order(no).state = match how {
            End::Finally => State::Ended,
            _ => State::Suspended,
        };
        let mut news = vec![DispatchEvent::Ended { no, attempt, left_queue, measured: None }];
        if matches!(how, End::ReadyAgain) {
            news.push(self.wake(no));
        }
        news
    }

    /// A suspended order, or one whose node died, is ready again.
    pub(super) fn wake(&mut self, no: OrderNo) -> DispatchEvent {
        let order = self.order(no);
        order.attempt = order.attempt.next();
        order.state = State::Ready(Lane::Woken);
        if order.position.is_none() {
            self.enter_queue(no);
        }
        DispatchEvent::Ready(vec![self.row(no)])
    }

    /// Cancels what is ready or suspended; the news of it.
    pub(super) fn cancel(&mut self, no: OrderNo) -> Vec<DispatchEvent> {
        let order = &self.orders[&no];
        let mut news = Vec::new();
        if matches!(order.state, State::Ready(_)) {
            news.push(DispatchEvent::LeftReady { no, attempt: order.attempt });
        }
        self.order(no).state = State::Ended;
        news.extend(self.leave_queue(no).map(|queue| DispatchEvent::LeftQueue { no, queue }));
        news
    }

    /// Takes the queue away from an order for good; the news of it.
    pub(super) fn release(&mut self, no: OrderNo) -> Vec<DispatchEvent> {
        let Some(queue) = self.leave_queue(no) else { return Vec::new() };
        self.order(no).queue = None;
        let mut news = vec![DispatchEvent::LeftQueue { no, queue }];
        if matches!(self.orders[&no].state, State::Ready(_)) {
            news.push(DispatchEvent::Ready(vec![self.row(no)]));
        }
        news
    }

    pub(super) fn ready_rows(&self) -> Vec<Ready> {
        self.in_state(|state| matches!(state, State::Ready(_))).map(|no| self.row(no)).collect()
    }

    pub(super) fn snapshot(&self, doubtful: &[OrderNo]) -> InProgress {
        let running = self.orders.iter().filter_map(|(no, order)| match order.state {
            State::Running { node, .. } => Some(Running {
                no: *no,
                attempt: order.attempt,
                node,
                flow: Arc::clone(&order.flow),
                queue: order.position.and(order.queue.clone()),
            }),
            _ => None,
        });
        let ready = doubtful.iter().filter_map(|no| {
            let order = &self.orders[no];
            matches!(order.state, State::Ready(_)).then_some((*no, order.attempt))
        });
        InProgress { running: running.collect(), ready: ready.collect() }
    }

    pub(super) fn queue_head(&self, queue: &Arc<str>) -> QueueHead {
        let head = self.head(queue).map(|no| {
            let order = &self.orders[&no];
            let ready = matches!(order.state, State::Ready(_)).then(|| self.row(no));
            QueueMember { no, position: order.position.unwrap(), ready }
        });
        QueueHead { queue: Arc::clone(queue), head }
    }

    pub(super) fn in_state(&self, wanted: impl Fn(State) -> bool) -> impl Iterator<Item = OrderNo> {
        self.orders.iter().filter(move |(_, order)| wanted(order.state)).map(|(no, _)| *no)
    }

    fn running_on(&self, node: Incarnation) -> u32 {
        let running = self.in_state(|state| matches!(state, State::Running { node: on, .. } if on == node));
        u32::try_from(running.count()).unwrap()
    }

    fn head(&self, queue: &Arc<str>) -> Option<OrderNo> {
        self.orders
            .iter()
            .filter(|(_, order)| order.queue.as_ref() == Some(queue))
            .filter_map(|(no, order)| order.position.map(|position| (position, *no)))
            .min()
            .map(|(_, no)| no)
    }

    fn enter_queue(&mut self, no: OrderNo) {
        self.last_position += 1;
        let position = self.last_position;
        let order = self.order(no);
        order.position = order.queue.as_ref().map(|_| position);
    }

    fn leave_queue(&mut self, no: OrderNo) -> Option<Arc<str>> {
        let order = self.order(no);
        order.position.take().and(order.queue.clone())
    }

    fn order(&mut self, no: OrderNo) -> &mut Order {
        self.orders.get_mut(&no).unwrap()
    }

    fn row(&self, no: OrderNo) -> Ready {
        let order = &self.orders[&no];
        let State::Ready(lane) = order.state else { panic!("{no} is not ready: {order:?}") };
        Ready {
            no,
            attempt: order.attempt,
            flow: Arc::clone(&order.flow),
            priority: order.priority,
            lane,
            place: order
                .position
                .map(|position| QueuePosition { queue: order.queue.clone().unwrap(), position }),
        }
    }
}
