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
/// Calls of each worker in [`PROBE_PERIOD`] that may try a system while the dispatcher has it tried. All others rest.
const PROBES: u32 = 3;
/// Time after which a few more may.
const PROBE_PERIOD: Duration = Duration::from_secs(1);
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
    /// Systems that a few calls may try, by the word of the dispatcher.
    probed: HashMap<String, Probed>,
    /// Systems that the dispatcher lets be called whatever they answer.
    open: Vec<String>,
}

/// Calls that try a system.
#[derive(Clone, Copy, Debug)]
struct Probed {
    /// Time until which the word of the dispatcher is good.
    until: Instant,
    /// Start of the present period.
    since: Instant,
    /// Number that have gone since.
    gone: u32,
}

impl Closed {
    /// Replaces what the dispatcher said before: these systems are closed, and no others.
    pub fn replace(&self, word: SystemsClosed, now: Instant) {
        let mut systems = self.systems.write().unwrap_or_else(PoisonError::into_inner);
        let until = |left_ms| now + Duration::from_millis(left_ms).min(WORD_LASTS);
        systems.by_dispatcher =
            word.closed.into_iter().map(|closed| (closed.system, until(closed.left_ms))).collect();
        let known = std::mem::take(&mut systems.probed);
        let probed = word.probed.into_iter().map(|system| {
            let begun = known.get(&system).map_or((now, 0), |probed| (probed.since, probed.gone));
            (system, Probed { until: now + WORD_LASTS, since: begun.0, gone: begun.1 })
        });
        systems.probed = probed.collect();
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

    /// Returns how long a call of a system must rest, with its name.
    fn left_of(&self, system: String) -> Option<(Duration, String)> {
        let left = self.left(&system).or_else(|| self.left_to_try(&system, Instant::now()));
        Some((left?, system))
    }

    /// Returns how long a call of a system must rest that a few others try; `None` for one that goes.
    fn left_to_try(&self, system: &str, now: Instant) -> Option<Duration> {
        // Hardly any system is tried at a time.
        if !self.systems.read().unwrap_or_else(PoisonError::into_inner).probed.contains_key(system) {
            return None;
        }
        let mut systems = self.systems.write().unwrap_or_else(PoisonError::into_inner);
        let probed = systems.probed.get_mut(system).filter(|probed| now < probed.until)?;
        if now.saturating_duration_since(probed.since) >= PROBE_PERIOD {
            (probed.since, probed.gone) = (now, 0);
        }
        probed.gone = probed.gone.saturating_add(1);
        (probed.gone > PROBES).then_some(PROBE_PERIOD)
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
        self.by_answer.is_empty() && self.by_dispatcher.is_empty() && self.probed.is_empty()
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
            is_repeat: false,
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
            hand_out: 1,
            work_timeout: Duration::from_secs(60),
            accept_first: false,
            task_ends_at: None,
            force_finish: false,
            wait_ends_at: Timestamp::MAX,
        };
        let held = |name: &str, task: Option<TaskTerms>| {
            let need = Need::Register { name: name.to_owned(), visit: 1, action: 0, task };
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
        closed.replace(
            SystemsClosed { closed: vec![one("billing"), one("crm")], ..SystemsClosed::default() },
            now,
        );
        assert!(closed.left("billing").is_some() && closed.left("crm").is_some());
        closed.note(&[asked_for("stock", 60)], Duration::from_secs(60), now);
        let open = vec!["stock".to_owned()];
        closed.replace(SystemsClosed { closed: vec![one("crm")], open, ..SystemsClosed::default() }, now);
        assert_eq!((closed.left("billing"), closed.left("stock")), (None, None));
        closed.note(&[asked_for("stock", 60)], Duration::from_secs(60), now);
        assert_eq!(closed.left("stock"), None, "an operator had it opened");
        closed.replace(SystemsClosed::default(), now);
        assert!(!closed.any.load(Ordering::Relaxed));
    }

    #[test]
    fn dsp_16_while_a_system_is_tried_a_few_calls_go_and_all_others_rest() {
        let closed = Closed::default();
        let begun = Instant::now();
        let word = || SystemsClosed { probed: vec!["billing".to_owned()], ..SystemsClosed::default() };
        let went = |now: Instant| (0..10).filter(|_| closed.left_to_try("billing", now).is_none()).count();
        assert_eq!(went(begun), 10, "nobody said that it is tried");
        closed.replace(word(), begun);
        assert_eq!(went(begun), 3);
        closed.replace(word(), begun);
        assert_eq!(went(begun), 0, "the same word again says nothing new");
        assert_eq!(went(begun + PROBE_PERIOD), 3);
        assert_eq!(closed.left_to_try("crm", begun), None);
        assert_eq!(went(begun + WORD_LASTS), 10, "a dispatcher that is silent holds nobody");
    }
}
