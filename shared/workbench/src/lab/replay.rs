//! What-if: the recorded minutes of a flow, played through the dispatcher once as it was and once under other settings.
//!
//! A record holds sums of each minute and no single order, so the situation is reckoned from it: [`estimate`] finds what
//! the called systems can do, and [`situation`] makes the orders come as they came. The replay of what was, beside the
//! record, shows how far the reckoning can be trusted. Pure: the same record and changes always give the same replay.

mod estimate;
mod minutes;
mod situation;
#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test may stop at the first surprise")]
mod tests;

use std::collections::BTreeMap;

use pagurus_domain::flow::{FlowChanges, MinuteFigures};

use super::plan::LimitRules;

pub use estimate::SystemEstimate;

/// Stages of a replay at most: of more, only the newest minutes are played.
const MOST_STAGES: f64 = 150_000.0;
/// Happenings of a replay at most: a stage has some ten, and more where it comes again.
const MOST_HAPPENINGS: u64 = 6_000_000;

/// Counts of a flow in a minute.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct FlowMinute {
    /// Stages that became ready.
    pub came: f64,
    /// Stages that ended and did not come again.
    pub ended: f64,
    /// Seconds for which those had waited.
    pub waited: f64,
    /// Seconds that those took.
    pub took: f64,
    /// Stages that failed, or were held before a call, and came again.
    pub repeated: f64,
}

/// Counts of the calls of a system by a flow in a minute.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct CallMinute {
    /// Calls that were answered.
    pub answered: f64,
    /// Seconds that those took.
    pub answer_seconds: f64,
    /// Calls that failed.
    pub failed: f64,
    /// Seconds that those took.
    pub failure_seconds: f64,
}

impl FlowMinute {
    /// Sum of minutes.
    fn sum(minutes: &[Self]) -> Self {
        minutes.iter().fold(Self::default(), |sum, one| Self {
            came: sum.came + one.came,
            ended: sum.ended + one.ended,
            waited: sum.waited + one.waited,
            took: sum.took + one.took,
            repeated: sum.repeated + one.repeated,
        })
    }
}

impl CallMinute {
    /// Both together.
    fn and(self, other: &Self) -> Self {
        Self {
            answered: self.answered + other.answered,
            answer_seconds: self.answer_seconds + other.answer_seconds,
            failed: self.failed + other.failed,
            failure_seconds: self.failure_seconds + other.failure_seconds,
        }
    }

    /// Sum of minutes.
    fn sum(minutes: &[Self]) -> Self {
        minutes.iter().fold(Self::default(), Self::and)
    }
}

/// Record of a flow.
#[derive(Clone, Debug, PartialEq)]
pub struct RecordedFlow {
    /// Name.
    pub name: String,
    /// Weight in what it shares with others.
    pub weight: u32,
    /// Greatest limit that the rules allow it.
    pub max_limit: Option<u32>,
    /// Minutes, the oldest first.
    pub minutes: Vec<FlowMinute>,
    /// The minutes of its calls, by the place of the system in the record.
    pub calls: BTreeMap<usize, Vec<CallMinute>>,
}

/// A system that was called.
#[derive(Clone, Debug, PartialEq)]
pub struct RecordedSystem {
    /// Name.
    pub name: String,
    /// True if the configuration names it, so that it has a limit of its own.
    pub is_named: bool,
    /// True if it answers by callback.
    pub is_asynchronous: bool,
}

/// Record of a flow, of the systems that it calls, and of the flows that call these, too.
#[derive(Clone, Debug, PartialEq)]
pub struct Recording {
    /// The present rules.
    pub rules: LimitRules,
    /// The flows; the first is the one that is asked about.
    pub flows: Vec<RecordedFlow>,
    /// The called systems.
    pub systems: Vec<RecordedSystem>,
}

/// Outcome of a replay.
#[derive(Clone, Debug, PartialEq)]
pub struct Replay {
    /// Minutes at the start of the record that were not played, because the stages were too many.
    pub skipped: usize,
    /// Conclusions about the systems that the flow calls.
    pub systems: Vec<(String, SystemEstimate)>,
    /// The record of the flow.
    pub recorded: Vec<MinuteFigures>,
    /// The replay of what was.
    pub replayed: Vec<MinuteFigures>,
    /// The replay with the changes.
    pub changed: Vec<MinuteFigures>,
    /// Likeness of the replay of what was to the record: 1 if as many stages ended in each minute, 0 if nothing fits.
    pub likeness: f64,
}

/// The reason why a record cannot be played.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NoReplay {
    /// No flow, or no minute.
    #[error("the record is empty")]
    Empty,
    /// More happenings than a replay takes.
    #[error("more would happen than a replay takes: ask for less load, or for quicker calls")]
    TooMuch,
}

/// Plays a record as it was and with changes.
///
/// # Errors
/// A record that cannot be played.
pub fn replay(recording: &Recording, changes: &FlowChanges) -> Result<Replay, NoReplay> {
    let length = recording.flows.first().map_or(0, |flow| flow.minutes.len());
    let recording = newest(recording, changes.load.unwrap_or(1.0).max(1.0))?;
    let asked = recording.flows.first().ok_or(NoReplay::Empty)?;
    let estimates: Vec<SystemEstimate> =
        (0..recording.systems.len()).map(|system| estimate::of(&recording, system)).collect();
    let recorded = minutes::recorded(asked);
    let play = |changes: &FlowChanges| {
        let played = minutes::played(&super::run(&situation::of(&recording, &estimates, changes)));
        if played.len() < recorded.len() { Err(NoReplay::TooMuch) } else { Ok(played) }
    };
    let as_it_was = FlowChanges::default();
    let replayed = play(&as_it_was)?;
    let named = |system: &usize| (recording.systems[*system].name.clone(), estimates[*system].clone());
    Ok(Replay {
        skipped: length - asked.minutes.len(),
        systems: asked.calls.keys().map(named).collect(),
        likeness: minutes::likeness(&recorded, &replayed),
        changed: if *changes == as_it_was { replayed.clone() } else { play(changes)? },
        recorded,
        replayed,
    })
}

/// The newest minutes of a record whose stages are few enough to be played.
fn newest(recording: &Recording, load: f64) -> Result<Recording, NoReplay> {
    let length = recording.flows.first().map_or(0, |flow| flow.minutes.len());
    let came = |minute: usize| -> f64 {
        let of_flow = |flow: &RecordedFlow| flow.minutes.get(minute).map_or(0.0, |counts| counts.came);
        recording.flows.iter().map(of_flow).sum()
    };
    let mut stages = 0.0;
    let kept = (0..length).rev().take_while(|minute| {
        stages += came(*minute) * load;
        stages <= MOST_STAGES
    });
    let skipped = length - kept.count();
    if length == 0 {
        return Err(NoReplay::Empty);
    } else if skipped == length {
        return Err(NoReplay::TooMuch);
    }
    let flows = recording.flows.iter().map(|flow| RecordedFlow {
        minutes: flow.minutes[skipped.min(flow.minutes.len())..].to_vec(),
        calls: flow
            .calls
            .iter()
            .map(|(system, calls)| (*system, calls[skipped.min(calls.len())..].to_vec()))
            .collect(),
        ..flow.clone()
    });
    Ok(Recording { flows: flows.collect(), ..recording.clone() })
}
