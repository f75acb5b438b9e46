//! The time that remained from each state to the end of lives that were served: learnt from histories, kept by scenario.
//!
//! The newest lives count most: of those before, each new one lets a small part fade.

use std::collections::BTreeMap;
use std::time::Duration;

use jiff::Timestamp;
use serde_json::{Map, Value, json};

use super::BEYOND_ALL;
use crate::flow::StartEstimate;
use crate::spread::Spread;
use crate::system::step_of;

/// Lives after which one counts half.
const HALF_LIFE: f64 = 500.0;
/// Lives that tell something, at least: five, less what has faded of them meanwhile.
const LEAST_LIVES: f64 = 4.5;
/// States of one scenario that are kept, at most: as many as one may have.
const MOST_STATES: usize = 1000;

/// A state that a life came to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EnteredState {
    /// Name of the state.
    pub state: String,
    /// When.
    pub at: Timestamp,
}

/// Remaining times of the lives of one scenario.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RemainingTimes {
    /// Times from the start of the first stage.
    lives: Spread,
    /// Times from the entry of a state, by its name.
    states: BTreeMap<String, Spread>,
}

impl RemainingTimes {
    /// Learns of a life that was served: the states that it came to, when its first stage began, and its end.
    pub fn learn(&mut self, entered: &[EnteredState], started_at: Option<Timestamp>, ended_at: Timestamp) {
        let Some(started_at) = started_at else { return };
        let factor = (-1.0 / HALF_LIFE).exp2() as f32;
        let rest = |from: Timestamp| Duration::try_from(ended_at.duration_since(from)).unwrap_or_default();
        self.lives.fade(factor);
        self.lives.add(step_of(rest(started_at)), 1.0);
        let mut seen: Vec<&str> = Vec::new();
        for EnteredState { state, at } in entered {
            if !self.states.contains_key(state) && self.states.len() >= MOST_STATES {
                continue;
            }
            let spread = self.states.entry(state.clone()).or_default();
            // A state that one life comes to many times fades once.
            if !seen.contains(&state.as_str()) {
                spread.fade(factor);
                seen.push(state);
            }
            spread.add(step_of(rest(*at)), 1.0);
        }
    }

    /// True where enough lives are known to tell something.
    #[must_use]
    pub fn is_known(&self) -> bool {
        self.lives.total() >= LEAST_LIVES
    }

    /// The time of a whole life.
    #[must_use]
    pub fn of_life(&self) -> Option<StartEstimate> {
        rest_of(&self.lives, Duration::ZERO)
    }

    /// The time that remains of a life that has been in a state for so long.
    #[must_use]
    pub fn of_state(&self, state: &str, passed: Duration) -> Option<StartEstimate> {
        match self.states.get(state) {
            Some(spread) => rest_of(spread, passed),
            None => None,
        }
    }

    /// The time that remains of a life that is in its initial state, since its first stage began.
    #[must_use]
    pub fn since_start(&self, passed: Duration) -> Option<StartEstimate> {
        rest_of(&self.lives, passed)
    }

    /// Returns the form to store.
    #[must_use]
    pub fn to_value(&self) -> Value {
        let states: Map<String, Value> =
            self.states.iter().map(|(name, spread)| (name.clone(), spread.remember())).collect();
        json!({"lives": self.lives.remember(), "states": states})
    }

    /// Parses the stored form; unreadable parts are ignored.
    #[must_use]
    pub fn of_value(value: &Value) -> Self {
        let states = value.get("states").and_then(Value::as_object);
        Self {
            lives: value.get("lives").map(Spread::recall).unwrap_or_default(),
            states: states
                .into_iter()
                .flatten()
                .map(|(name, spread)| (name.clone(), Spread::recall(spread)))
                .collect(),
        }
    }
}

/// Rest of the times of a distribution after some of it has passed.
fn rest_of(spread: &Spread, passed: Duration) -> Option<StartEstimate> {
    if spread.total() < LEAST_LIVES {
        return None;
    }
    let gone = passed.as_secs_f64();
    let left = |part: f64, beyond: f64| {
        let whole = spread.quantile_beyond(part, passed);
        let seconds = whole.map_or(gone * beyond, |whole| (whole - gone).max(0.0));
        Duration::try_from_secs_f64(seconds).unwrap_or(Duration::MAX)
    };
    Some(StartEstimate { p50: left(0.5, BEYOND_ALL.p50), p90: left(0.9, BEYOND_ALL.p90) })
}

/// The states that a stage came to, as its event in the history tells.
#[must_use]
pub fn entries(stage: &Value) -> Vec<EnteredState> {
    let moves = stage.get("transitions").and_then(Value::as_array);
    let read = |moved: &Value| {
        let at = moved.get("at")?.as_str()?.parse().ok()?;
        Some(EnteredState { state: moved.get("to")?.as_str()?.to_owned(), at })
    };
    moves.into_iter().flatten().filter_map(read).collect()
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test may panic")]
mod tests {
    use super::*;

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(second).unwrap()
    }

    #[test]
    fn ord_31_few_lives_tell_nothing_and_the_newest_tell_most() {
        let mut times = RemainingTimes::default();
        for _ in 0..4 {
            times.learn(&[], Some(at(0)), at(1000));
        }
        assert_eq!((times.of_life(), times.is_known()), (None, false));
        times.learn(&[], None, at(1000));
        assert!(!times.is_known(), "a life that never began tells nothing");
        for _ in 0..1000 {
            times.learn(&[], Some(at(0)), at(1000));
        }
        for _ in 0..3000 {
            times.learn(&[], Some(at(0)), at(10));
        }
        let whole = times.of_life().unwrap();
        assert!(whole.p90 < Duration::from_secs(11), "{whole:?}");
        let stored = RemainingTimes::of_value(&times.to_value());
        assert!(stored.of_life().unwrap().p90.abs_diff(whole.p90) < Duration::from_millis(100));
        assert_eq!(RemainingTimes::of_value(&json!("nonsense")), RemainingTimes::default());
    }

    #[test]
    fn ord_31_each_entry_of_a_state_counts_from_its_time() {
        let entered = |state: &str, second| EnteredState { state: state.into(), at: at(second) };
        let mut times = RemainingTimes::default();
        for _ in 0..10 {
            times.learn(&[entered("a", 0), entered("b", 40), entered("a", 90)], Some(at(0)), at(100));
        }
        let near = |found: Option<StartEstimate>, second: f64| {
            (found.unwrap().p50.as_secs_f64() / second - 1.0).abs() < 0.1
        };
        assert!(near(times.of_state("b", Duration::ZERO), 60.0));
        assert!(near(times.of_state("a", Duration::from_secs(20)), 80.0), "those of 10 s have passed");
        assert_eq!(times.of_state("c", Duration::ZERO), None);
    }

    #[test]
    fn ord_31_the_moves_of_a_stage_are_read_from_its_event() {
        let stage = json!({"attempt": 1, "transitions": [
            {"at": "1970-01-01T00:00:05Z", "from": "a", "event": "success", "to": "b"}, {"to": "c"}, 7]});
        assert_eq!(entries(&stage), [EnteredState { state: "b".into(), at: at(5) }]);
        assert_eq!(entries(&json!({})), []);
    }
}
