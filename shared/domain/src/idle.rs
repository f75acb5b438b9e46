//! Orders that stand still for a whole idle period (REC-4): why, and whether anything is to be done.
//!
//! A stage that only waits in a backlog is never reported again: it has its place among the others, and news of it would
//! not bring it forward.

use crate::id::spelled;

/// Why an order stands still.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum IdleCause {
    /// The time of the order has come, and nobody woke it.
    NotWoken,
    /// No dispatcher leads.
    NoDispatcher,
    /// A dispatcher leads for less than an idle period: it is about to get round.
    NewDispatcher,
    /// No worker takes stages.
    NoWorker,
    /// Another order owns its queue.
    BehindInQueue,
    /// The flow of the order is stopped or limited.
    FlowHeld,
    /// Every place is taken, and none that came later was handed out before it.
    Backlog,
    /// Stages of its flow that came later were handed out before it.
    PassedOver,
    /// Not handed out although there was room for it.
    NotHandedOut,
    /// The task waits in the queue of an actor that no program takes tasks from.
    NoConsumer,
    /// The task waits in the queue of an actor, and programs take tasks from it.
    ActorBusy,
}

spelled!(IdleCause {
    NotWoken => "not_woken",
    NoDispatcher => "no_dispatcher",
    NewDispatcher => "new_dispatcher",
    NoWorker => "no_worker",
    BehindInQueue => "behind_in_queue",
    FlowHeld => "flow_held",
    Backlog => "backlog",
    PassedOver => "passed_over",
    NotHandedOut => "not_handed_out",
    NoConsumer => "no_consumer",
    ActorBusy => "actor_busy",
});

impl IdleCause {
    /// True where the command to run, or to wake, is to be given again.
    #[must_use]
    pub const fn acts(self) -> bool {
        matches!(self, Self::NotWoken | Self::PassedOver | Self::NotHandedOut)
    }

    /// The cause in words.
    #[must_use]
    pub const fn text(self) -> &'static str {
        match self {
            Self::NotWoken => "its time has come, and nobody woke it; the activators are notified again",
            Self::NoDispatcher => "no dispatcher leads",
            Self::NewDispatcher => "the dispatcher leads for less than an idle period",
            Self::NoWorker => "no worker is alive that takes stages",
            Self::BehindInQueue => "another order owns its queue",
            Self::FlowHeld => "its flow is stopped or limited",
            Self::Backlog => "it waits in a backlog: every place is taken",
            Self::PassedOver => {
                "stages of its flow that came later were handed out before it; the dispatcher is notified again"
            }
            Self::NotHandedOut => {
                "there was room for it, and it was not handed out; the dispatcher is notified again"
            }
            Self::NoConsumer => "its task waits in the queue of an actor that no program takes tasks from",
            Self::ActorBusy => "its task waits in the queue of an actor, and programs take tasks from it",
        }
    }
}

/// Facts about a stage that may run, and about those who would run it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IdleStage {
    /// True while a dispatcher leads.
    pub has_leader: bool,
    /// True where the same one leads for a whole idle period.
    pub is_leader_settled: bool,
    /// True where a worker is alive and takes stages.
    pub has_worker: bool,
    /// True where it is not the head of its queue.
    pub is_behind: bool,
    /// True where its flow is stopped or limited.
    pub is_flow_held: bool,
    /// True where a stage of its flow is in progress that may run for a shorter time than it.
    pub was_passed_over: bool,
    /// True where there is a free place for it.
    pub has_room: bool,
}

impl IdleStage {
    /// Why it stands still.
    #[must_use]
    pub const fn cause(self) -> IdleCause {
        match self {
            Self { has_leader: false, .. } => IdleCause::NoDispatcher,
            Self { has_worker: false, .. } => IdleCause::NoWorker,
            Self { is_leader_settled: false, .. } => IdleCause::NewDispatcher,
            Self { is_behind: true, .. } => IdleCause::BehindInQueue,
            Self { is_flow_held: true, .. } => IdleCause::FlowHeld,
            Self { was_passed_over: true, .. } => IdleCause::PassedOver,
            Self { has_room: false, .. } => IdleCause::Backlog,
            Self { .. } => IdleCause::NotHandedOut,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rec_4_the_causes_of_standing_still_are_distinguished_and_a_backlog_is_left_alone() {
        let lost = IdleStage {
            has_leader: true,
            is_leader_settled: true,
            has_worker: true,
            is_behind: false,
            is_flow_held: false,
            was_passed_over: false,
            has_room: true,
        };
        let cases = [
            (lost, IdleCause::NotHandedOut),
            (IdleStage { has_room: false, ..lost }, IdleCause::Backlog),
            (IdleStage { has_room: false, was_passed_over: true, ..lost }, IdleCause::PassedOver),
            (IdleStage { was_passed_over: true, is_flow_held: true, ..lost }, IdleCause::FlowHeld),
            (IdleStage { is_behind: true, ..lost }, IdleCause::BehindInQueue),
            (IdleStage { is_leader_settled: false, ..lost }, IdleCause::NewDispatcher),
            (IdleStage { has_worker: false, is_leader_settled: false, ..lost }, IdleCause::NoWorker),
            (IdleStage { has_leader: false, has_worker: false, ..lost }, IdleCause::NoDispatcher),
        ];
        for (stage, cause) in cases {
            assert_eq!(stage.cause(), cause, "{stage:?}");
        }
        let acting: Vec<&str> =
            IdleCause::ALL.iter().filter(|cause| cause.acts()).map(|cause| cause.as_str()).collect();
        assert_eq!(acting, ["not_woken", "passed_over", "not_handed_out"]);
    }
}
