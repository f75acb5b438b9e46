//! Planted bugs: each a single wrong line, as somebody might write it. They show that the simulation finds what it is for.

/// A bug.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Planted {
    /// A claim asks for no epoch.
    ClaimIgnoresEpoch,
    /// A claim asks for no head of the queue.
    ClaimIgnoresHead,
    /// The end of a stage asks for no pass.
    EndIgnoresPass,
    /// A stage that is handed out again keeps its pass.
    ReissueKeepsPass,
    /// A stage that is handed out again keeps its number.
    ReissueKeepsNumber,
    /// Hand-outs by recovery are not counted.
    RestartsUncounted,
    /// Activation wakes a moment before the time.
    WakesEarly,
    /// The end of a stage does not look for answers that came before.
    EarlyAnswerOverlooked,
    /// A second answer to the same request is accepted, too.
    SecondAnswerAccepted,
    /// Answers to a life that is over count for the present one.
    FormerLifeAnswered,
    /// A notification is removed before it is confirmed.
    RemovedBeforeConfirm,
    /// Each copy of a notification has an id of its own.
    FreshMessageId,
    /// The end of a stage writes no notification.
    EndUnreported,
    /// Intake acknowledges an order before its commit.
    AcknowledgedEarly,
    /// The same id registers twice.
    IdNotUnique,
    /// A kill leaves the stage with its worker.
    KillLeavesRunning,
    /// An interrupt leaves the stage ready.
    InterruptLeavesReady,
    /// A sleep keeps its queue.
    SleepKeepsQueue,
    /// An end keeps its queue.
    EndKeepsQueue,
    /// A restart does not begin another life.
    RestartKeepsLife,
    /// The dispatcher does not read again what is ready.
    NothingReread,
    /// A take-over keeps the epoch.
    EpochKept,
    /// Waking is two transactions.
    WakingInTwo,
    /// A stage whose node is lost is found by nobody.
    LostNodeOverlooked,
    /// Workers take more than they have places for.
    PlacesIgnored,
    /// Keys of calls are those of the hand-out.
    KeyOfHandOut,
    /// The event of a reissue takes no number.
    ReissueUnnumbered,
    /// The hand-out after a rest has the number of the one before.
    NumberNotRaised,
    /// A position saved within a stage does not reset the tries, and the order goes back to where it began.
    SavedPositionLost,
    /// An end of a child by hand is not reported to its parent.
    ChildEndUnreported,
    /// The id of a child is that of the hand-out.
    ChildIdOfHandOut,
    /// Any end of an order that another waits for starts that one.
    AnyEndStarts,
    /// The look never holds expected states against a scenario.
    FoundIsNeverHeld,
    /// The results of an operation are noted in a second transaction.
    PieceNotedAfterwards,
    /// The results of an operation are noted in a transaction before.
    PieceNotedBefore,
    /// A dispatcher that takes over reads the stops only later.
    StopsForgottenByNext,
    /// A dispatcher reads stops once.
    StopsNotReread,
    /// A dispatcher counts open requests by news alone.
    RequestsNotCounted,
}

impl Planted {
    /// All of them.
    pub const ALL: [Self; 38] = [
        Self::ClaimIgnoresEpoch,
        Self::ClaimIgnoresHead,
        Self::EndIgnoresPass,
        Self::ReissueKeepsPass,
        Self::ReissueKeepsNumber,
        Self::RestartsUncounted,
        Self::WakesEarly,
        Self::EarlyAnswerOverlooked,
        Self::SecondAnswerAccepted,
        Self::FormerLifeAnswered,
        Self::RemovedBeforeConfirm,
        Self::FreshMessageId,
        Self::EndUnreported,
        Self::AcknowledgedEarly,
        Self::IdNotUnique,
        Self::KillLeavesRunning,
        Self::InterruptLeavesReady,
        Self::SleepKeepsQueue,
        Self::EndKeepsQueue,
        Self::RestartKeepsLife,
        Self::NothingReread,
        Self::EpochKept,
        Self::WakingInTwo,
        Self::LostNodeOverlooked,
        Self::PlacesIgnored,
        Self::KeyOfHandOut,
        Self::ReissueUnnumbered,
        Self::NumberNotRaised,
        Self::SavedPositionLost,
        Self::ChildEndUnreported,
        Self::ChildIdOfHandOut,
        Self::AnyEndStarts,
        Self::FoundIsNeverHeld,
        Self::PieceNotedAfterwards,
        Self::PieceNotedBefore,
        Self::StopsForgottenByNext,
        Self::StopsNotReread,
        Self::RequestsNotCounted,
    ];
}
