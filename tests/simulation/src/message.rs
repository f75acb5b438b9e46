//! Events of a run: timers, messages, answers of called systems, actions of people. Plain data.

use std::sync::Arc;
use std::time::Duration;

use pagurus_dispatch::HandOut;
use pagurus_domain::id::{Attempt, Epoch, Life, OrderNo};
use pagurus_domain::order::Status;
use pagurus_domain::order::registration::NewOrder;
use pagurus_scenario::stage::Answer;
use uuid::Uuid;

use crate::moment::ProcessId;
use crate::store::{CallbackContent, ReadyStage};

/// News for dispatchers.
#[derive(Clone, Debug, Default)]
pub struct News {
    /// Orders that are not ready, or in no queue, any more.
    pub left: Vec<(OrderNo, Option<Attempt>, Option<String>)>,
    /// Stages that may run.
    pub ready: Vec<ReadyStage>,
    /// Stages that ended, with the queue that was left.
    pub ended: Vec<(OrderNo, Attempt, Option<String>)>,
    /// Hand-outs that were not taken, and why, under which epoch.
    pub refused: Vec<(HandOut, crate::store::Unclaimed, bool, Epoch)>,
    /// Requests of flows that are waited for, or not any more.
    pub requests: Vec<(String, i32)>,
    /// Workers came, changed or went.
    pub workers_changed: bool,
}

/// A message that may be lost.
#[derive(Clone, Debug)]
pub enum Message {
    /// To the dispatcher.
    News(Arc<News>),
    /// To a worker: what it is to run, under which epoch.
    HandOuts(Arc<Vec<HandOut>>, Epoch),
    /// To all workers: stages that are over.
    BreakOff(Arc<Vec<(OrderNo, Attempt)>>),
    /// To a notifier: lives that have ended.
    Ended(Arc<Vec<(OrderNo, Life)>>),
}

/// A message that is never lost once it is confirmed.
#[derive(Clone, Debug)]
pub enum Durable {
    /// An order.
    Order(Arc<NewOrder>),
    /// An answer.
    Callback {
        /// The request.
        request: Uuid,
        /// Content of the answer.
        content: CallbackContent,
    },
}

/// An action of an operator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// Gives an order up.
    Cancel,
    /// Stops one before it begins.
    Interrupt,
    /// Stops one that runs or waits.
    Kill,
    /// Begins a new life, at the last entry point.
    Restart,
    /// Begins a new life, at the initial state.
    RestartFromStart,
}

impl Action {
    /// True if an operator would choose an order in this status for it.
    #[must_use]
    pub const fn fits(self, status: Status) -> bool {
        match self {
            Self::Restart | Self::RestartFromStart => matches!(status, Status::Fail),
            Self::Cancel => matches!(status, Status::Fail | Status::New | Status::Postponed),
            Self::Interrupt => matches!(status, Status::New | Status::Postponed | Status::Reopen),
            Self::Kill => matches!(status, Status::Running | Status::Sleep | Status::Wait | Status::Retry),
        }
    }
}

/// Input of a process.
#[derive(Clone, Debug)]
pub enum Input {
    /// The process starts.
    Begin,
    /// A sign of life is due.
    Beat,
    /// The first periodic work of the process.
    Tick,
    /// The second periodic work.
    Look,
    /// The third periodic work.
    Round,
    /// A message.
    Message(Message),
    /// Something durable waits.
    Consume,
    /// An order over HTTP.
    Post(Arc<NewOrder>),
    /// An answer over HTTP.
    Answered(Uuid, &'static str),
    /// An action over HTTP.
    Act(Action, OrderNo),
    /// A bulk operation over HTTP.
    Operate(usize, Action),
    /// A stop of the flow of this number over HTTP, and its length.
    StopFlow(u64, Duration),
    /// A stage goes on: key, number of the question, answer.
    GoOn((OrderNo, Attempt), u32, Box<Answer>),
    /// A stage tries again what it could not write.
    Again((OrderNo, Attempt)),
    /// The process is asked to stop.
    Stop,
    /// The grace period of the stop is over.
    Grace,
}

/// An event of the simulation.
#[derive(Clone, Debug)]
pub enum Event {
    /// A process gets something, if it is still in that life.
    To {
        /// The process.
        process: ProcessId,
        /// Life of the process.
        life: u32,
        /// The input.
        input: Input,
    },
    /// A client sends an order, with the number of the try.
    Submit(usize, u32),
    /// An operator acts on an order of this index.
    Act(Action, usize),
    /// An operator begins a bulk operation, under the key of this request.
    Operate(usize, Action),
    /// An operator stops the flow of this number, for a time in milliseconds.
    StopFlow(u64, i64),
    /// A system answers a request.
    Callback(Uuid, &'static str),
    /// A fault.
    Fault(Fault),
    /// A process starts.
    Start(ProcessId),
    /// A frozen process goes on.
    Thaw(ProcessId, u32),
    /// Faults are over.
    Heal,
    /// The rows are judged.
    Judge,
}

/// A fault.
#[derive(Clone, Copy, Debug)]
pub enum Fault {
    /// A process is killed, and started again after a time in milliseconds.
    Kill(ProcessId, i64),
    /// A process is stopped in good order, and started again.
    Stop(ProcessId, i64),
    /// A process is frozen for a time.
    Freeze(ProcessId, i64),
    /// A process cannot reach the database for a time.
    Cut(ProcessId, i64),
    /// The database is away for a time.
    Database(i64),
    /// The broker is away for a time; what may be lost is lost.
    Broker(i64),
}
