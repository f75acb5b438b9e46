//! The steps that [`super::property`] is made of. Must never know what they do.

use proptest::prelude::*;
use proptest::sample::Index;

/// An event in the tables, the workers, the news or the dispatcher. An index picks one of whatever there is at that moment.
#[derive(Clone, Debug)]
pub(super) enum Step {
    Register(Option<u8>, u8),
    Claim(Index),
    LoseMessage(Index),
    Return(Index),
    EndStage(Index, u8),
    Wake(Index),
    Cancel(Index),
    Release(Index),
    NodeUp(u8),
    NodeDraining(Index),
    NodeDown(Index),
    Hear(Index),
    HearTwice(Index),
    LoseNews(Index),
    ReadReady,
    BeginReading,
    FinishReading,
    AskHeads,
    Poll(u8),
    Pass(u8),
    Failover,
}

/// Any step; those that keep the work going are the more likely ones.
pub(super) fn step() -> impl Strategy<Value = Step> {
    let index = any::<Index>;
    prop_oneof![
        6 => (proptest::option::of(0..3_u8), 0..3_u8).prop_map(|(q, p)| Step::Register(q, p)),
        8 => index().prop_map(Step::Claim),
        1 => index().prop_map(Step::LoseMessage),
        1 => index().prop_map(Step::Return),
        6 => (index(), 0..6_u8).prop_map(|(i, how)| Step::EndStage(i, how)),
        3 => index().prop_map(Step::Wake),
        1 => index().prop_map(Step::Cancel),
        1 => index().prop_map(Step::Release),
        1 => (1..4_u8).prop_map(Step::NodeUp),
        1 => index().prop_map(Step::NodeDraining),
        1 => index().prop_map(Step::NodeDown),
        12 => index().prop_map(Step::Hear),
        1 => index().prop_map(Step::HearTwice),
        1 => index().prop_map(Step::LoseNews),
        1 => Just(Step::ReadReady),
        2 => Just(Step::BeginReading),
        2 => Just(Step::FinishReading),
        2 => Just(Step::AskHeads),
        8 => (1..5_u8).prop_map(Step::Poll),
        2 => (0..8_u8).prop_map(Step::Pass),
        1 => Just(Step::Failover),
    ]
}
