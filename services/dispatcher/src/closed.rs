//! Notices to the workers about systems that are closed, or open by decision: sent on each change, and repeated as long as
//! there is one, because a worker that starts has heard none.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use jiff::{SignedDuration, Timestamp};
use pagurus_domain::flow::{SystemOrder, SystemOverride};
use pagurus_domain::number::saturated;
use pagurus_wire::message::{ClosedSystem, SystemsClosed};

/// Shortest interval between two notices: systems that are probed open and close all the time.
const NOT_BEFORE: Duration = Duration::from_millis(100);
/// Interval between two notices while there is something to say.
const AGAIN_AFTER: Duration = Duration::from_secs(1);
/// A system without a time for its reopening is looked at again by workers after this. Longer than the interval between
/// two notices, with room for one that is late: a worker whose last notice has run out calls the system.
const UNTIL_PROBED: SignedDuration = SignedDuration::from_secs(3);

/// What the workers heard last of closed systems.
#[derive(Debug, Default)]
pub(crate) struct ClosedSystems {
    /// Decisions that a system is called whatever it answers, also those for later.
    forced: Vec<SystemOverride>,
    said: Option<(Instant, Vec<String>, Vec<String>)>,
}

impl ClosedSystems {
    /// Notes what operators decided.
    pub fn decided(&mut self, overrides: &[SystemOverride]) {
        let forced = overrides.iter().filter(|one| one.order == SystemOrder::ForceOpen);
        self.forced = forced.cloned().collect();
        // Who decided waits for it.
        self.said = None;
    }

    /// Has the notice sent at once, if it says anything: there may be workers that have not heard it.
    pub fn repeat(&mut self) {
        self.said.take_if(|(_, closed, open)| !closed.is_empty() || !open.is_empty());
    }

    /// Returns the notice that is to be sent now, of these closed systems, each with its end where that is known; `None` if nothing
    /// has changed and it is not time to repeat it.
    pub fn word<'a>(
        &mut self,
        closed: impl IntoIterator<Item = (&'a str, Option<Timestamp>)>,
        now: Timestamp,
        at: Instant,
    ) -> Option<SystemsClosed> {
        let closed: BTreeMap<&str, Option<Timestamp>> = closed.into_iter().collect();
        let names: Vec<String> = closed.keys().map(|name| (*name).to_owned()).collect();
        let holds = |one: &&SystemOverride| one.from <= now && one.until.is_none_or(|until| now < until);
        let open: Vec<String> = self.forced.iter().filter(holds).map(|one| one.system.clone()).collect();
        let says_nothing = names.is_empty() && open.is_empty();
        let is_said = match &self.said {
            Some((said, before, open_before)) => {
                let has_changed = (before, open_before) != (&names, &open);
                let pause = if has_changed { NOT_BEFORE } else { AGAIN_AFTER };
                (says_nothing && !has_changed) || at.duration_since(*said) < pause
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
        let closed = closed.into_iter();
        let closed =
            closed.map(|(system, until)| ClosedSystem { system: system.to_owned(), left_ms: left(until) });
        Some(SystemsClosed { closed: closed.collect(), open })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dsp_16_a_notice_holds_until_the_next_one_where_nobody_knows_when_the_system_opens_again() {
        let mut systems = ClosedSystems::default();
        let word = systems.word([("billing", None)], Timestamp::UNIX_EPOCH, Instant::now());
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
            systems.word([], second(now.try_into().unwrap_or_default()), at).map(|word| word.open)
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
        let word = |systems: &mut ClosedSystems, closed: &[&'static str], seconds: u64| {
            let closed = closed.iter().map(|name| (*name, None));
            let word = systems.word(closed, now, begin + Duration::from_secs(seconds))?;
            Some(word.closed.into_iter().map(|closed| closed.system).collect::<Vec<_>>())
        };
        let billing = &["billing"];
        assert_eq!(word(&mut systems, &[], 0), Some(vec![]), "whatever the dispatcher before said");
        assert_eq!(word(&mut systems, &[], 1), None, "nothing is closed");
        systems.repeat();
        assert_eq!(word(&mut systems, &[], 2), None, "to nobody");
        assert_eq!(word(&mut systems, billing, 2), Some(vec!["billing".to_owned()]));
        assert_eq!(word(&mut systems, billing, 2), None);
        assert_eq!(word(&mut systems, billing, 3), Some(vec!["billing".to_owned()]));
        assert_eq!(word(&mut systems, &[], 4), Some(vec![]), "it is open again");
        assert_eq!(word(&mut systems, &[], 60), None);
    }

    #[test]
    fn dsp_16_a_change_is_said_soon_and_at_once_where_somebody_waits_for_it() {
        let (mut systems, begin) = (ClosedSystems::default(), Instant::now());
        let said = |systems: &mut ClosedSystems, name: &'static str, ms: u64| {
            let at = begin + Duration::from_millis(ms);
            systems.word([(name, None)], Timestamp::UNIX_EPOCH, at).is_some()
        };
        assert!(said(&mut systems, "billing", 0));
        assert!(!said(&mut systems, "crm", 50) && said(&mut systems, "crm", 100));
        assert!(!said(&mut systems, "crm", 1000) && said(&mut systems, "crm", 1100));
        systems.decided(&[]);
        assert!(said(&mut systems, "billing", 1101));
        systems.repeat();
        assert!(said(&mut systems, "billing", 1102));
    }
}
