//! Called systems that are to be left alone: closed by the dispatcher, or by what they answered here (DSP-16). A stage
//! that comes to one rests at its action, and no attempt counts.

use std::collections::{BTreeSet, HashMap};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, PoisonError, RwLock};
use std::time::{Duration, Instant};

use jiff::{SignedDuration, Timestamp};
use pagurus_domain::system::SystemNames;
use pagurus_scenario::stage::{Answer, CallMade, Need, system_of_task};
use pagurus_wire::message::{ClosedSystem, SystemsClosed};

/// Orders that rest for one system come back spread over this time.
const SPREAD: Duration = Duration::from_secs(1);
/// Calls of each worker that try a system, and the interval at which one more may: as many as the dispatcher sends.
const PROBES: u32 = 3;
const PROBE_PERIOD: Duration = Duration::from_secs(2);
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
    by_dispatcher: HashMap<String, SystemClosure>,
    /// Systems that the dispatcher lets be called whatever they answer.
    open: Vec<String>,
}

/// The word of the dispatcher about one system.
#[derive(Debug)]
struct SystemClosure {
    until: Instant,
    probing: Option<ProbeBudget>,
}

/// Calls that may try a system.
#[derive(Debug)]
struct ProbeBudget {
    left: AtomicU32,
    filled_at: Instant,
}

impl ProbeBudget {
    /// The budget of a system that is probed now, and had this one before.
    fn after(before: Option<&Self>, now: Instant) -> Self {
        let Some(before) = before else { return Self { left: AtomicU32::new(PROBES), filled_at: now } };
        let left = before.left.load(Ordering::Relaxed);
        if now.duration_since(before.filled_at) < PROBE_PERIOD {
            return Self { left: AtomicU32::new(left), filled_at: before.filled_at };
        }
        Self { left: AtomicU32::new((left + 1).min(PROBES)), filled_at: now }
    }

    /// Takes one call, if there is one.
    fn takes_call(&self) -> bool {
        let less = |left: u32| left.checked_sub(1);
        self.left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, less).is_ok()
    }
}

impl Closed {
    /// Replaces what the dispatcher said before: these systems are closed, and no others.
    pub fn replace(&self, word: SystemsClosed, now: Instant) {
        let mut systems = self.systems.write().unwrap_or_else(PoisonError::into_inner);
        let until = |left_ms| now + Duration::from_millis(left_ms).min(WORD_LASTS);
        let mut before = std::mem::take(&mut systems.by_dispatcher);
        let closure = |closed: ClosedSystem| {
            let probing = closed.probed.then(|| {
                let before = before.remove(&closed.system).and_then(|before| before.probing);
                ProbeBudget::after(before.as_ref(), now)
            });
            (closed.system, SystemClosure { until: until(closed.left_ms), probing })
        };
        systems.by_dispatcher = word.closed.into_iter().map(closure).collect();
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
                // All of them go or none, so those to one system are one try.
                let systems: BTreeSet<String> = calls.iter().map(|call| call.system_by(names)).collect();
                systems.into_iter().filter_map(|system| self.left_of(system)).max()
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
        let left = |until: Instant| Some(until.saturating_duration_since(now)).filter(|left| !left.is_zero());
        let by_answer = systems.by_answer.get(system).copied().and_then(left);
        let by_dispatcher = systems.by_dispatcher.get(system);
        // A pause that the system has asked for holds for probes, too.
        let may_try = by_answer.is_none();
        let is_let = |closure: &&SystemClosure| {
            may_try && closure.probing.as_ref().is_some_and(ProbeBudget::takes_call)
        };
        let by_dispatcher = by_dispatcher.filter(|closure| !is_let(closure)).and_then(|one| left(one.until));
        by_answer.max(by_dispatcher)
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
        let one = |system: &str| ClosedSystem { system: system.to_owned(), left_ms: 5_000, probed: false };
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

    #[test]
    fn dsp_16_a_few_calls_try_a_system_that_is_probed_and_the_others_are_held() {
        let (closed, now) = (Closed::default(), Instant::now());
        let word = |probed| SystemsClosed {
            closed: vec![ClosedSystem { system: "billing".to_owned(), left_ms: 3_000, probed }],
            open: vec![],
        };
        let gone = |calls: usize| (0..calls).filter(|_| closed.left("billing").is_none()).count();
        closed.replace(word(true), now);
        assert_eq!(gone(9), 3);
        closed.replace(word(true), now + Duration::from_secs(1));
        assert_eq!(gone(9), 0, "the notice was only repeated");
        closed.replace(word(true), now + Duration::from_secs(2));
        assert_eq!(gone(9), 1, "those before may hang");
        closed.replace(word(false), now);
        assert_eq!(gone(9), 0);
        closed.replace(word(true), now);
        assert_eq!(gone(9), 3, "the next round");
        closed.note(&[asked_for("billing", 60)], Duration::from_secs(60), now);
        closed.replace(word(false), now);
        closed.replace(word(true), now);
        assert_eq!(gone(9), 0, "it asked to be left alone");
    }
}
