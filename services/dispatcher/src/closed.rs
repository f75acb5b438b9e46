//! Notices to the workers about systems that are closed, or open by decision: sent on each change, and repeated as long as
//! there is one, because a worker that starts has heard none.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use jiff::{SignedDuration, Timestamp};
use pagurus_domain::flow::{SystemOrder, SystemOverride, SystemRecord, SystemState};
use pagurus_domain::number::saturated;
use pagurus_wire::message::{ClosedSystem, SystemsClosed};

/// Interval between two notices while there is something to say.
const AGAIN_AFTER: Duration = Duration::from_secs(1);
/// A system without a time for its reopening is looked at again by workers after this. Longer than the interval between
/// two notices, with room for one that is late: a worker whose last notice has run out calls the system.
const UNTIL_PROBED: SignedDuration = SignedDuration::from_secs(3);

/// The systems that are closed now.
#[derive(Debug, Default)]
pub(crate) struct ClosedSystems {
    closed: BTreeMap<String, Option<Timestamp>>,
    /// Decisions that a system is called whatever it answers, also those for later.
    forced: Vec<SystemOverride>,
    said: Option<(Instant, Vec<String>, Vec<String>)>,
}

impl ClosedSystems {
    /// Notes systems that have changed.
    pub fn note(&mut self, systems: &[SystemRecord]) {
        for system in systems {
            if system.state == SystemState::Stopped {
                self.closed.insert(system.system.clone(), system.closed_until);
            } else {
                self.closed.remove(&system.system);
            }
        }
    }

    /// Notes what operators decided.
    pub fn decided(&mut self, overrides: &[SystemOverride]) {
        let forced = overrides.iter().filter(|one| one.order == SystemOrder::ForceOpen);
        self.forced = forced.cloned().collect();
    }

    /// Returns the notice that is to be sent now; `None` if nothing has changed and it is not time to repeat it.
    pub fn word(&mut self, now: Timestamp, at: Instant) -> Option<SystemsClosed> {
        let names: Vec<String> = self.closed.keys().cloned().collect();
        let holds = |one: &&SystemOverride| one.from <= now && one.until.is_none_or(|until| now < until);
        let open: Vec<String> = self.forced.iter().filter(holds).map(|one| one.system.clone()).collect();
        let says_nothing = names.is_empty() && open.is_empty();
        let is_said = match &self.said {
            Some((said, before, open_before)) => {
                (before, open_before) == (&names, &open)
                    && (says_nothing || at.duration_since(*said) < AGAIN_AFTER)
            }
            // Workers may know more from the dispatcher before this one.
            None => false,
        };
        if is_said {
            return None;
        }
        self.said = Some((at, names, open.clone()));
        let left = |until: Option<Timestamp>| {
            let left = until.map_or(UNTIL_PROBED, |until| until.duration_since(now));
            saturated::<u64>(left.as_millis())
        };
        let closed = self.closed.iter();
        let closed =
            closed.map(|(system, until)| ClosedSystem { system: system.clone(), left_ms: left(*until) });
        Some(SystemsClosed { closed: closed.collect(), open })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(system: &str, state: SystemState) -> SystemRecord {
        SystemRecord { system: system.to_owned(), state, ..SystemRecord::default() }
    }

    #[test]
    fn dsp_16_a_notice_holds_until_the_next_one_where_nobody_knows_when_the_system_opens_again() {
        let mut systems = ClosedSystems::default();
        systems.note(&[record("billing", SystemState::Stopped)]);
        let word = systems.word(Timestamp::UNIX_EPOCH, Instant::now());
        let holds_ms = word.map_or(0, |word| word.closed[0].left_ms);
        assert!(u128::from(holds_ms) > 2 * AGAIN_AFTER.as_millis(), "{holds_ms} ms");
    }

    #[test]
    fn dsp_16_workers_learn_of_a_system_that_is_open_by_decision_as_long_as_that_holds() {
        let second = |second| Timestamp::from_second(second).unwrap_or_default();
        let forced = SystemOverride {
            system: "billing".to_owned(),
            order: SystemOrder::ForceOpen,
            from: second(10),
            until: Some(second(20)),
        };
        let mut systems = ClosedSystems::default();
        systems.decided(&[forced]);
        let begin = Instant::now();
        let mut open = |now: u64| {
            let at = begin + Duration::from_secs(now);
            systems.word(second(now.try_into().unwrap_or_default()), at).map(|word| word.open)
        };
        assert_eq!(open(8), Some(vec![]), "whatever the dispatcher before said");
        assert_eq!(open(9), None, "it is for later");
        for now in 10..20 {
            assert_eq!(open(now), Some(vec!["billing".to_owned()]), "a worker may have started");
        }
        assert_eq!(open(20), Some(vec![]));
        assert_eq!(open(21), None);
    }

    #[test]
    fn dsp_16_workers_learn_of_closed_systems_when_that_changes_and_again_while_it_holds() {
        let mut systems = ClosedSystems::default();
        let (begin, now) = (Instant::now(), Timestamp::UNIX_EPOCH);
        let word = |systems: &mut ClosedSystems, seconds: u64| {
            let word = systems.word(now, begin + Duration::from_secs(seconds))?;
            Some(word.closed.into_iter().map(|closed| closed.system).collect::<Vec<_>>())
        };
        assert_eq!(word(&mut systems, 0), Some(vec![]), "whatever the dispatcher before said");
        assert_eq!(word(&mut systems, 0), None, "nothing is closed");
        systems.note(&[record("billing", SystemState::Stopped), record("crm", SystemState::Healthy)]);
        assert_eq!(word(&mut systems, 0), Some(vec!["billing".to_owned()]));
        assert_eq!(word(&mut systems, 0), None);
        assert_eq!(word(&mut systems, 1), Some(vec!["billing".to_owned()]));
        systems.note(&[record("billing", SystemState::Probing)]);
        assert_eq!(word(&mut systems, 1), Some(vec![]), "it is open again");
        assert_eq!(word(&mut systems, 60), None);
    }
}
