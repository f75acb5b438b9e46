//! Notices to the workers about systems that are closed, or open by decision: sent on each change, and repeated as long as
//! there is one, because a worker that starts has heard none.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use jiff::{SignedDuration, Timestamp};
use pagurus_dispatch::AwaySystem;
use pagurus_domain::flow::{SystemOrder, SystemOverride};
use pagurus_domain::number::saturated;
use pagurus_wire::message::{ClosedSystem, SystemsClosed};

/// Closed systems from which on a notice is long.
const MANY: usize = 100;
/// Shortest interval between two long notices: systems that are probed open and close all the time.
const NOT_BEFORE: Duration = Duration::from_millis(100);
/// Interval between two notices while there is something to say.
const AGAIN_AFTER: Duration = Duration::from_secs(1);
/// A system without a time for its reopening is looked at again by workers after this. Longer than the interval between
/// two notices, with room for one that is late: a worker whose last notice has run out calls the system.
const UNTIL_PROBED: SignedDuration = SignedDuration::from_secs(3);

/// Notices about closed systems, with the last one.
#[derive(Debug, Default)]
pub(crate) struct ClosedSystems {
    /// Decisions that a system is called whatever it answers, also those for later.
    forced: Vec<SystemOverride>,
    said: Option<SaidNotice>,
}

/// The notice that was sent last.
#[derive(Debug)]
struct SaidNotice {
    at: Instant,
    /// Closed systems; true for those that are probed.
    closed: Vec<(String, bool)>,
    open: Vec<String>,
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
        self.said.take_if(|said| !said.closed.is_empty() || !said.open.is_empty());
    }

    /// Returns the notice that is to be sent now, of these closed systems; `None` if nothing has changed and it is not time to
    /// repeat it.
    pub fn word<'a>(
        &mut self,
        closed: impl IntoIterator<Item = AwaySystem<'a>>,
        now: Timestamp,
        at: Instant,
    ) -> Option<SystemsClosed> {
        let closed: BTreeSet<AwaySystem<'_>> = closed.into_iter().collect();
        let names: Vec<(String, bool)> =
            closed.iter().map(|one| (one.system.to_owned(), one.is_probed)).collect();
        let holds = |one: &&SystemOverride| one.from <= now && one.until.is_none_or(|until| now < until);
        let open: Vec<String> = self.forced.iter().filter(holds).map(|one| one.system.clone()).collect();
        let says_nothing = names.is_empty() && open.is_empty();
        let is_said = match &self.said {
            Some(said) => {
                let has_changed = (&said.closed, &said.open) != (&names, &open);
                let pause = match has_changed {
                    true if names.len() < MANY => Duration::ZERO,
                    true => NOT_BEFORE,
                    false => AGAIN_AFTER,
                };
                (says_nothing && !has_changed) || at.duration_since(said.at) < pause
            }
            // Workers may know more from the dispatcher before this one.
            None => false,
        };
        if is_said {
            return None;
        }
        self.said = Some(SaidNotice { at, closed: names, open: open.clone() });
        let left = |until: Option<Timestamp>| {
            let left = until.map_or(UNTIL_PROBED, |until| until.duration_since(now));
            saturated::<u64>(left.as_millis())
        };
        let closed = closed.into_iter().map(|AwaySystem { system, until, is_probed }| ClosedSystem {
            system: system.to_owned(),
            left_ms: left(until),
            probed: is_probed,
        });
        Some(SystemsClosed { closed: closed.collect(), open })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stopped(system: &str) -> AwaySystem<'_> {
        AwaySystem { system, until: None, is_probed: false }
    }

    #[test]
    fn dsp_16_a_notice_holds_until_the_next_one_where_nobody_knows_when_the_system_opens_again() {
        let mut systems = ClosedSystems::default();
        let word = systems.word([stopped("billing")], Timestamp::UNIX_EPOCH, Instant::now());
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
            let closed = closed.iter().copied().map(stopped);
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
    fn dsp_16_a_change_is_said_at_once_and_a_long_list_is_not_said_all_the_time() {
        let begin = Instant::now();
        let names: Vec<String> = (0..MANY + 1).map(|no| format!("system-{no}")).collect();
        let mut systems = ClosedSystems::default();
        let mut said = |count: usize, ms: u64| {
            let closed = names[..count].iter().map(|name| stopped(name));
            systems.word(closed, Timestamp::UNIX_EPOCH, begin + Duration::from_millis(ms)).is_some()
        };
        assert!(said(1, 0) && said(2, 1) && !said(2, 2), "a short one");
        assert!(said(MANY, 200) && !said(MANY + 1, 250) && said(MANY + 1, 300), "a long one");
        systems.decided(&[]);
        let closed = names.iter().map(|name| stopped(name));
        let at = begin + Duration::from_millis(301);
        assert!(systems.word(closed, Timestamp::UNIX_EPOCH, at).is_some(), "somebody waits for it");
    }
}
