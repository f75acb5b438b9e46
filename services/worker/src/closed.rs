//! Called systems that are to be left alone: closed by the dispatcher, or by what they answered here (DSP-16). A stage
//! that comes to one rests at its action, and no attempt counts.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, PoisonError, RwLock};
use std::time::{Duration, Instant};

use jiff::{SignedDuration, Timestamp};
use pagurus_domain::system::SystemNames;
use pagurus_scenario::stage::{Answer, CallMade, Need, system_of_task};
use pagurus_wire::message::SystemsClosed;

/// Orders that rest for one system come back spread over this time.
const SPREAD: Duration = Duration::from_secs(1);
/// Time for which the word of the dispatcher is good: it repeats it as long as it holds.
const WORD_LASTS: Duration = Duration::from_secs(15);

/// The systems that are closed now. Cheap to clone.
#[derive(Clone, Debug, Default)]
pub(crate) struct Closed {
    /// True while any system may be closed, so that hardly any call looks further.
    any: Arc<AtomicBool>,
    systems: Arc<RwLock<Systems>>,
}

#[derive(Debug, Default)]
struct Systems {
    /// Systems closed by what they answered to this worker.
    by_answer: HashMap<String, Instant>,
    /// Systems closed by the dispatcher.
    by_dispatcher: HashMap<String, Instant>,
    /// Systems that the dispatcher lets be called whatever they answer.
    open: Vec<String>,
}

impl Closed {
    /// Replaces what the dispatcher said before: these systems are closed, and no others.
    pub fn replace(&self, word: SystemsClosed, now: Instant) {
        let mut systems = self.systems.write().unwrap_or_else(PoisonError::into_inner);
        let until = |left_ms| now + Duration::from_millis(left_ms).min(WORD_LASTS);
        systems.by_dispatcher =
            word.closed.into_iter().map(|closed| (closed.system, until(closed.left_ms))).collect();
        systems.by_answer.retain(|system, until| *until > now && !word.open.contains(system));
        systems.open = word.open;
        self.any.store(!systems.is_empty(), Ordering::Relaxed);
    }

    /// Closes the systems that asked in their answers to be left alone, for no longer than is believed.
    pub fn note(&self, calls: &[CallMade], longest: Duration, now: Instant) {
        for call in calls {
            let Some(left) = call.retry_after.filter(|left| !left.is_zero()) else { continue };
            let mut systems = self.systems.write().unwrap_or_else(PoisonError::into_inner);
            if systems.open.contains(&call.system) {
                continue;
            }
            let until = systems.by_answer.entry(call.system.clone()).or_insert(now);
            *until = (*until).max(now + left.min(longest));
            self.any.store(true, Ordering::Relaxed);
        }
    }

    /// Returns the answer to a need that calls a closed system; `None` if it may go out. `dice` is a random number in
    /// `0.0..1.0`.
    pub fn holds(
        &self,
        need: &Need,
        names: &SystemNames,
        vhost: &str,
        now: Timestamp,
        dice: f64,
    ) -> Option<Answer> {
        if !self.any.load(Ordering::Relaxed) {
            return None;
        }
        let (left, system) = match need {
            Need::Http(call) => self.left_of(call.system_by(names)),
            Need::Parallel(calls) => {
                calls.iter().filter_map(|call| self.left_of(call.system_by(names))).max()
            }
            Need::Publish(message) => self.left_of(message.system_by(names, vhost)),
            // A task is held before its hand-out is registered, so that no work time-out runs.
            Need::Register { name, task: Some(_), .. } => self.left_of(system_of_task(name)?),
            _ => None,
        }?;
        let rest = left + SPREAD.mul_f64(dice.clamp(0.0, 1.0));
        let until = SignedDuration::try_from(rest).ok().and_then(|rest| now.checked_add(rest).ok());
        Some(Answer::Held { until: until?, system })
    }

    /// Returns how long a system is still closed, with its name.
    fn left_of(&self, system: String) -> Option<(Duration, String)> {
        Some((self.left(&system)?, system))
    }

    /// Returns how long a system is still closed.
    fn left(&self, system: &str) -> Option<Duration> {
        let now = Instant::now();
        let systems = self.systems.read().unwrap_or_else(PoisonError::into_inner);
        let until = systems.by_answer.get(system).max(systems.by_dispatcher.get(system))?;
        Some(until.saturating_duration_since(now)).filter(|left| !left.is_zero())
    }
}

impl Systems {
    fn is_empty(&self) -> bool {
        self.by_answer.is_empty() && self.by_dispatcher.is_empty()
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test may panic")]
mod tests {
    use pagurus_domain::system::{CallFailure, CallKind, CallOutcome};
    use pagurus_scenario::stage::TaskTerms;
    use pagurus_wire::message::ClosedSystem;

    use super::*;

    fn asked_for(system: &str, seconds: u64) -> CallMade {
        CallMade {
            system: system.to_owned(),
            kind: CallKind::Direct,
            outcome: CallOutcome::Failed(CallFailure::of_class("throttling")),
            took: None,
            retry_after: Some(Duration::from_secs(seconds)),
        }
    }

    #[test]
    fn dsp_16_a_system_that_asks_to_be_left_alone_is_closed_for_all_no_longer_than_is_believed() {
        let closed = Closed::default();
        let now = Instant::now();
        closed.note(&[asked_for("billing", 3600), asked_for("crm", 0)], Duration::from_secs(60), now);
        let left = closed.left("billing").unwrap();
        assert!(left <= Duration::from_secs(60) && left > Duration::from_secs(55), "{left:?}");
        assert_eq!(closed.left("crm"), None);
    }

    #[test]
    fn dsp_16_the_hand_out_of_a_task_is_held_while_its_actor_is_closed_and_no_other_request() {
        let closed = Closed::default();
        closed.note(&[asked_for("actor:scoring", 60)], Duration::from_secs(60), Instant::now());
        let terms = TaskTerms {
            work_timeout: Duration::from_secs(60),
            accept_first: false,
            task_ends_at: None,
            force_finish: false,
            wait_ends_at: Timestamp::MAX,
        };
        let held = |name: &str, task: Option<TaskTerms>| {
            let need = Need::Register {
                name: name.to_owned(),
                visit: 1,
                action: 0,
                hand_out: 0,
                task,
                cancel: pagurus_scenario::stage::Cancel::Never,
            };
            closed.holds(&need, &SystemNames::default(), "/", Timestamp::UNIX_EPOCH, 0.0)
        };
        let Some(Answer::Held { until, system }) = held("actor.scoring", Some(terms)) else {
            panic!("not held")
        };
        assert_eq!(system, "actor:scoring");
        assert!(until > Timestamp::UNIX_EPOCH && until.as_second() <= 60, "{until}");
        assert_eq!((held("actor.other", Some(terms)), held("scoring", None)), (None, None));
    }

    #[test]
    fn dsp_16_the_word_of_the_dispatcher_replaces_its_last_and_opens_what_an_operator_opened() {
        let closed = Closed::default();
        let now = Instant::now();
        let one = |system: &str| ClosedSystem { system: system.to_owned(), left_ms: 5_000 };
        closed.replace(SystemsClosed { closed: vec![one("billing"), one("crm")], open: vec![] }, now);
        assert!(closed.left("billing").is_some() && closed.left("crm").is_some());
        closed.note(&[asked_for("stock", 60)], Duration::from_secs(60), now);
        closed.replace(SystemsClosed { closed: vec![one("crm")], open: vec!["stock".to_owned()] }, now);
        assert_eq!((closed.left("billing"), closed.left("stock")), (None, None));
        closed.note(&[asked_for("stock", 60)], Duration::from_secs(60), now);
        assert_eq!(closed.left("stock"), None, "an operator had it opened");
        closed.replace(SystemsClosed::default(), now);
        assert!(!closed.any.load(Ordering::Relaxed));
    }
}
