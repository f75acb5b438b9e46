//! States of the walk in which the order rests, and repeats from the entry point.

use super::super::wide::{Bound, CHILD, Came, Cancels, Kind, Made, OF_CHILD};
use super::asked::Asked as Request;
use super::repeats::Asked;
use super::{Cycles, Left, Open, Rest, Walk};

/// Seconds that an answer to requests is awaited.
const WAIT: i64 = 300;
/// Seconds that the end of a child order is awaited where it was started.
const LONGEST_CHILD: i64 = 3600;

impl Walk<'_> {
    pub(super) fn ask(&mut self, at: usize) -> Result<usize, Left> {
        let Kind::Ask { requests, only, child, cancels, .. } = self.states[at].kind else {
            panic!("state {at} asks for nothing");
        };
        let (here, fail) = (format!("s{at}"), self.states[at].fail);
        for number in 0..requests {
            if self.answered.contains(&(at, number)) {
                continue;
            }
            let asked = Request { state: at, number, visit: self.visit };
            self.asked.register(asked, cancels);
            if !self.all(&[number], None)? {
                self.drop_open(at, number);
                return self.leave(&here, "fail", fail);
            }
            self.asked.sent(asked, cancels, self.world.number(self.visit, number, 0, false));
            self.note_open(at, number);
        }
        if child && !self.answered.contains(&(at, OF_CHILD)) && !self.start_child(at, None) {
            return self.leave(&here, "fail", fail);
        }
        self.moved(&here, "wait", &format!("r{at}"))?;
        let awaited = self.awaited();
        let all_in = awaited.iter().all(|open| self.world.came(open.visit, open.number) != Came::Nothing);
        self.rest(Rest::Wait(if all_in { 0 } else { WAIT }))?;
        self.end_wait(&awaited);
        self.leave_wait(at, &awaited, all_in, only)
    }

    /// The requests since the last sleep; without any, those from before that are still open.
    fn awaited(&self) -> Vec<Open> {
        let late: Vec<Open> = self.open.iter().copied().filter(|open| !open.is_earlier).collect();
        if late.is_empty() { self.open.clone() } else { late }
    }

    fn end_wait(&mut self, awaited: &[Open]) {
        let asked = |open: &Open| Request { state: open.state, number: open.number, visit: open.visit };
        let awaited: Vec<Request> = awaited.iter().map(asked).collect();
        if self.asked.end_wait(&awaited, self.world) {
            self.met.comes("cancel");
        }
        self.asked.begin_stage();
    }

    fn leave_wait(&mut self, at: usize, awaited: &[Open], all_in: bool, only: bool) -> Result<usize, Left> {
        self.open.clear();
        // A request of the same name that was made later is the one whose answer is known.
        let known = |open: &Open| {
            let same =
                awaited.iter().filter(|other| (other.state, other.number) == (open.state, open.number));
            self.world.came(same.map(|other| other.visit).max().unwrap(), open.number)
        };
        let failure = |open: &Open| match known(open) {
            Came::Good => None,
            Came::Nothing => (!all_in).then_some(Bound::LATE),
            // How a child ended is for the scenario to judge.
            _ if open.number == OF_CHILD => None,
            Came::Refused => Some(Bound::REFUSED),
            Came::Odd => Some(Bound::ODD),
        };
        let failed: Vec<Bound> = awaited.iter().filter_map(failure).collect();
        let good: Vec<(usize, usize)> = awaited
            .iter()
            .filter(|open| {
                let same = |other: &&Open| (other.state, other.number) == (open.state, open.number);
                awaited.iter().filter(same).all(|other| failure(other).is_none())
            })
            .map(|open| (open.state, open.number))
            .collect();
        let here = format!("r{at}");
        if !failed.is_empty()
            && let Some(wait) = self.repeats_later(&here, &failed)
        {
            if only {
                self.answered.extend(good);
            }
            return self.again(&here, wait);
        }
        match (failed.is_empty(), all_in) {
            (true, true) => self.leave(&here, "callback", at + 1),
            (false, true) => self.leave(&here, "fail", self.states[at].fail),
            (_, false) => self.leave(&here, "timeout", self.states[at].late),
        }
    }

    fn note_open(&mut self, state: usize, number: usize) {
        self.open.push(Open { state, number, visit: self.visit, is_earlier: false });
    }

    /// Drops an open request that was not sent: nobody awaits it.
    fn drop_open(&mut self, state: usize, number: usize) {
        self.open.retain(|open| (open.state, open.number) != (state, number));
    }

    /// True if the child order is there.
    fn start_child(&mut self, at: usize, body: Option<i64>) -> bool {
        self.seen.calls.push(Made { visit: self.visit, slot: CHILD, body });
        self.given.insert(at, body);
        let asked = Request { state: at, number: OF_CHILD, visit: self.visit };
        self.asked.register(asked, Cancels::Never);
        self.answered.remove(&(at, OF_CHILD));
        match self.world.takes_child(self.visit) {
            true => self.note_open(at, OF_CHILD),
            false => self.drop_open(at, OF_CHILD),
        }
        self.world.takes_child(self.visit)
    }

    /// Asks, awaits a child order right there, and asks once more: whether all went through.
    pub(super) fn child(&mut self, at: usize) -> Result<bool, Left> {
        if !self.all(&[0], None)? {
            return Ok(false);
        }
        let said = Some(self.world.number(self.visit, 0, 0, false));
        let is_same = self.given.get(&at) == Some(&said);
        if !(is_same && self.answered.contains(&(at, OF_CHILD))) {
            if !self.start_child(at, said) {
                return Ok(false);
            }
            let came = self.world.came(self.visit, OF_CHILD);
            self.rest(Rest::Child(if came == Came::Nothing { LONGEST_CHILD } else { 0 }))?;
            self.end_wait(&[Open { state: at, number: OF_CHILD, visit: self.visit, is_earlier: false }]);
            if came != Came::Good {
                self.drop_open(at, OF_CHILD);
                return Ok(false);
            }
        }
        self.all(&[1], said)
    }

    /// Makes requests, and sleeps.
    pub(super) fn sleep(&mut self, at: usize) -> Result<usize, Left> {
        let (here, asleep) = (format!("s{at}"), format!("r{at}"));
        if !self.all(&[0], None)? {
            return self.leave(&here, "fail", self.states[at].fail);
        }
        self.moved(&here, "sleep", &asleep)?;
        self.rest(Rest::Sleep)?;
        self.open.iter_mut().for_each(|open| open.is_earlier = true);
        self.leave(&asleep, "timeout", at + 1)
    }

    pub(super) fn poll(&mut self, at: usize) -> Result<usize, Left> {
        let (fail, late) = (self.states[at].fail, self.states[at].late);
        let here = format!("s{at}");
        let ends_at = self.queue.now + 9000;
        loop {
            let asked = self.asked(&[0], None, Some(ends_at))?;
            if asked == Asked::Failed {
                return self.leave(&here, "fail", fail);
            }
            let tries = self.tries[&(self.visit, 0)];
            let number = match asked {
                Asked::TooLate => 0,
                _ => self.world.number(self.visit, 0, tries, true),
            };
            match number {
                1 => break,
                2 => return self.leave(&here, "fail", fail),
                _ if self.queue.now < ends_at => {
                    self.rest(Rest::Poll(ends_at.min(self.queue.now + 3600)))?;
                }
                _ => {
                    return match self.repeats_later(&here, &[Bound::POLLED]) {
                        Some(wait) => self.again(&here, wait),
                        None => self.leave(&here, "timeout", late),
                    };
                }
            }
        }
        self.leave(&here, "success", at + 1)
    }

    fn repeats_later(&mut self, here: &str, failed: &[Bound]) -> Option<i64> {
        let (first, mut cycles) = self.later.take().unwrap_or_else(|| (here.into(), Cycles::default()));
        let repeats = self.repeats(&mut cycles, failed);
        match repeats {
            Some(_) => self.later = Some((first, cycles)),
            None => self.answered.clear(),
        }
        repeats
    }

    fn again(&mut self, here: &str, wait: i64) -> Result<usize, Left> {
        self.rest(Rest::Later(wait))?;
        self.moved(here, "retry", &format!("s{}", self.entry))?;
        Ok(self.entry)
    }
}
