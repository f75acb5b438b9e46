//! The naive walk through the small language of [`super::wide`]: one loop without snapshots, cursors
//! or needs. Shares nothing with the interpreter but its words.

use std::collections::{BTreeMap, BTreeSet};

use super::model::MAX_MOVES;
use super::wide::{Act, CALLS, Came, Cycles, Kind, MAX_RESTS, Made, Seen, Wide, World, bound, place};

/// The present state is left without a transition.
enum Left {
    /// The play is over: too many rests, or too many moves without one.
    Play(&'static str),
    /// An operator lets the order go on from this state.
    Repaired(usize),
}

/// What came of requests that were made at once.
#[derive(Clone, Copy, PartialEq)]
enum Asked {
    Through,
    Failed,
    /// One is to be repeated, and the time is over.
    TooLate,
}

/// The naive walk.
pub struct Walk<'a> {
    states: &'a [Wide],
    world: &'a World,
    seen: Seen,
    visit: u32,
    rests: usize,
    moves: u32,
    tries: BTreeMap<(u32, usize), usize>,
    /// Requests without an answer: state, number, visit.
    open: Vec<(usize, usize, u32)>,
    answered: BTreeSet<(usize, usize)>,
    entry: usize,
    /// Where asynchronous failures began that were not passed yet, and their cycles.
    later: Option<(String, Cycles)>,
    called: usize,
    /// The rest in which an operator repairs the order, and the state from which it goes on.
    repair: Option<(usize, usize)>,
}

impl<'a> Walk<'a> {
    /// A life from the initial state.
    pub fn of(states: &'a [Wide], world: &'a World) -> Seen {
        Self::from(states, world, 0)
    }

    /// A life from this state, which is what its repeats go back to.
    pub fn from(states: &'a [Wide], world: &'a World, begin: usize) -> Seen {
        Self::life(states, world, begin, None)
    }

    /// A life in which an operator repairs the order in this rest, so that it goes on from this state.
    pub fn repaired(states: &'a [Wide], world: &'a World, repair: Option<(usize, usize)>) -> Seen {
        Self::life(states, world, 0, repair)
    }

    fn life(states: &'a [Wide], world: &'a World, begin: usize, repair: Option<(usize, usize)>) -> Seen {
        let mut walk = Walk {
            states,
            world,
            seen: Seen::default(),
            visit: 1,
            rests: 0,
            moves: 0,
            tries: BTreeMap::new(),
            open: Vec::new(),
            answered: BTreeSet::new(),
            entry: begin,
            later: None,
            called: 0,
            repair,
        };
        let mut at = begin;
        let end = loop {
            match walk.walk(at) {
                Ok(end) => break end,
                Err(Left::Play(why)) => break why.into(),
                Err(Left::Repaired(to)) => at = walk.forget(to),
            }
        };
        Seen { end, ..walk.seen }
    }

    /// A repair is a visit of its own, with nothing asked, nothing failed, and repeats that go back to it.
    fn forget(&mut self, to: usize) -> usize {
        self.visit += 1;
        self.entry = to;
        self.later = None;
        self.open.clear();
        self.answered.clear();
        to
    }

    fn walk(&mut self, begin: usize) -> Result<String, Left> {
        let mut at = begin;
        while let Some(state) = self.states.get(at) {
            if state.entry {
                self.entry = at;
            }
            at = match &state.kind {
                Kind::Plain(acts) => {
                    let event = if self.acts(acts)? { "success" } else { "fail" };
                    self.leave(
                        &format!("s{at}"),
                        event,
                        if event == "success" { at + 1 } else { state.fail },
                    )?
                }
                Kind::Ask { requests, only } => self.ask(at, *requests, *only)?,
                Kind::Poll => self.poll(at)?,
                Kind::Turn => {
                    let (event, to) = match (self.all(&[0], None)?, self.visit % 3) {
                        (false, _) => ("fail", state.fail),
                        (true, 1) => ("left", state.late),
                        (true, 2) => ("right", state.fail),
                        (true, _) => ("success", at + 1),
                    };
                    self.leave(&format!("s{at}"), event, to)?
                }
            };
        }
        Ok(place(self.states, at))
    }

    /// True if all went through.
    fn acts(&mut self, acts: &[Act]) -> Result<bool, Left> {
        let mut earlier = None;
        for (slot, act) in acts.iter().enumerate() {
            if matches!(act, Act::Each) {
                if !self.each([slot * 10, slot * 10 + 1, slot * 10 + 2])? {
                    return Ok(false);
                }
                continue;
            }
            let parts: &[usize] = match act {
                Act::Http | Act::Choose { first: true } => &[0],
                Act::Choose { first: false } => &[1],
                Act::Parallel => &[0, 1],
                Act::Each => &[],
            };
            let slots: Vec<usize> = parts.iter().map(|part| slot * 10 + part).collect();
            if !self.all(&slots, earlier)? {
                return Ok(false);
            }
            earlier = slots.last().map(|slot| self.world.number(self.visit, *slot, 0, false));
        }
        Ok(true)
    }

    /// Makes these requests at once until none fails, or one fails for good: whether all went through.
    fn all(&mut self, slots: &[usize], body: Option<i64>) -> Result<bool, Left> {
        Ok(self.asked(slots, body, false)? == Asked::Through)
    }

    /// Makes these requests two at a time: whether all went through.
    fn each(&mut self, slots: [usize; 3]) -> Result<bool, Left> {
        let mut open = slots.to_vec();
        let (mut aside, mut again): (Vec<usize>, Vec<usize>) = (Vec::new(), Vec::new());
        let mut classes = Vec::new();
        let mut cycles = Cycles::default();
        loop {
            if aside.is_empty() && again.is_empty() {
                cycles = Cycles::default();
            }
            let now: Vec<usize> = open.iter().copied().take(2).collect();
            let (mut through, mut ended) = (false, false);
            for slot in &now {
                let (status, _) = self.call(*slot, None);
                open.retain(|other| other != slot);
                if status == 200 {
                    through = true;
                    again.retain(|other| other != slot);
                    continue;
                }
                match bound(status).filter(|(class, allowed)| cycles.made(class) < *allowed) {
                    Some(class) => {
                        aside.push(*slot);
                        classes.push(class);
                    }
                    None => ended = true,
                }
            }
            if ended {
                return Ok(false);
            }
            if through || (aside.is_empty() && !open.is_empty()) {
                continue;
            }
            if aside.is_empty() {
                return Ok(true);
            }
            if !cycles.repeat(&std::mem::take(&mut classes)) {
                return Ok(false);
            }
            again.extend(&aside);
            open.append(&mut aside);
            open.sort_unstable();
            self.rest()?;
        }
    }

    /// The same; there may be no time left for repeats.
    fn asked(&mut self, slots: &[usize], body: Option<i64>, is_last: bool) -> Result<Asked, Left> {
        let mut left = slots.to_vec();
        let mut cycles = Cycles::default();
        loop {
            let outcomes: Vec<u16> = left.iter().map(|slot| self.call(*slot, body).0).collect();
            let failed: Vec<u16> = outcomes.iter().copied().filter(|status| *status != 200).collect();
            if failed.is_empty() {
                return Ok(Asked::Through);
            }
            let classes: Option<Vec<_>> = failed.into_iter().map(bound).collect();
            if !classes.is_some_and(|classes| cycles.repeat(&classes)) {
                return Ok(Asked::Failed);
            }
            if is_last {
                return Ok(Asked::TooLate);
            }
            let mut good = outcomes.iter().map(|status| *status == 200);
            left.retain(|_| !good.next().unwrap());
            self.rest()?;
        }
    }

    fn call(&mut self, slot: usize, body: Option<i64>) -> (u16, usize) {
        let tries = self.tries.entry((self.visit, slot)).or_default();
        *tries += 1;
        self.seen.calls.push(Made { visit: self.visit, slot, body });
        (self.world.status(self.visit, slot, *tries), *tries)
    }

    fn ask(&mut self, at: usize, requests: usize, only: bool) -> Result<usize, Left> {
        let state = &self.states[at];
        for k in 0..requests {
            if self.answered.contains(&(at, k)) {
                continue;
            }
            if !self.all(&[k], None)? {
                self.open.retain(|(of, number, _)| (*of, *number) != (at, k));
                return self.leave(&format!("s{at}"), "fail", state.fail);
            }
            self.open.push((at, k, self.visit));
        }
        self.moved(&format!("s{at}"), "wait", &format!("r{at}"))?;
        self.rest()?;
        let open = std::mem::take(&mut self.open);
        let all_in = open.iter().all(|(_, k, visit)| self.world.came(*visit, *k) != Came::Nothing);
        // A request of the same name that was made later is the one whose answer is known.
        let known = |of: usize, k: usize| {
            let visit =
                open.iter().filter(|other| (other.0, other.1) == (of, k)).map(|other| other.2).max().unwrap();
            self.world.came(visit, k)
        };
        let failed: Vec<(usize, usize, Came)> = open
            .iter()
            .map(|(of, k, _)| (*of, *k, known(*of, *k)))
            .filter(|(_, _, came)| match came {
                Came::Good => false,
                Came::Nothing => !all_in,
                _ => true,
            })
            .collect();
        let here = format!("r{at}");
        let classes: Vec<(&'static str, u32)> = failed
            .iter()
            .map(|(_, _, came)| match came {
                Came::Refused => ("refused", 2),
                Came::Odd => ("odd", 0),
                _ => ("async.timeout", 2),
            })
            .collect();
        if !failed.is_empty() && self.repeats_later(&here, &classes) {
            let good = open
                .iter()
                .map(|(of, k, _)| (*of, *k))
                .filter(|(of, k)| !failed.iter().any(|bad| (bad.0, bad.1) == (*of, *k)));
            if only {
                self.answered.extend(good);
            }
            return self.again(&here);
        }
        match (failed.is_empty(), all_in) {
            (true, true) => self.leave(&here, "callback", at + 1),
            (false, true) => self.leave(&here, "fail", state.fail),
            (_, false) => self.leave(&here, "timeout", state.late),
        }
    }

    fn poll(&mut self, at: usize) -> Result<usize, Left> {
        let state = &self.states[at];
        let here = format!("s{at}");
        for attempt in 1.. {
            // At once, after one and two hours, and at the end.
            let is_last = attempt == 4;
            let asked = self.asked(&[0], None, is_last)?;
            if asked == Asked::Failed {
                return self.leave(&here, "fail", state.fail);
            }
            let tries = self.tries[&(self.visit, 0)];
            let number = match asked {
                Asked::TooLate => 0,
                _ => self.world.number(self.visit, 0, tries, true),
            };
            match number {
                1 => break,
                2 => return self.leave(&here, "fail", state.fail),
                _ if !is_last => self.rest()?,
                _ if self.repeats_later(&here, &[("polling.timeout", 2)]) => return self.again(&here),
                _ => return self.leave(&here, "timeout", state.late),
            }
        }
        self.leave(&here, "success", at + 1)
    }

    fn repeats_later(&mut self, here: &str, failed: &[(&'static str, u32)]) -> bool {
        let (first, mut cycles) = self.later.take().unwrap_or_else(|| (here.into(), Cycles::default()));
        let repeats = cycles.repeat(failed);
        if repeats {
            self.later = Some((first, cycles));
        } else {
            self.answered.clear();
        }
        repeats
    }

    fn again(&mut self, here: &str) -> Result<usize, Left> {
        self.rest()?;
        self.moved(here, "retry", &format!("s{}", self.entry))?;
        Ok(self.entry)
    }

    fn leave(&mut self, here: &str, event: &str, to: usize) -> Result<usize, Left> {
        let enters = self.states.get(to).is_some_and(|state| state.entry);
        if enters || self.later.as_ref().is_some_and(|(state, _)| state == here) {
            self.later = None;
            self.answered.clear();
        }
        self.moved(here, event, &place(self.states, to))?;
        Ok(to)
    }

    fn moved(&mut self, from: &str, event: &str, to: &str) -> Result<(), Left> {
        self.seen.path.push(format!("{from} {event} {to}"));
        self.moves += 1;
        self.visit += 1;
        if self.moves > MAX_MOVES { Err(Left::Play("loop")) } else { Ok(()) }
    }

    /// The order rests, and is called meanwhile.
    fn rest(&mut self) -> Result<(), Left> {
        self.rests += 1;
        self.moves = 0;
        if self.rests >= MAX_RESTS {
            return Err(Left::Play("open"));
        }
        for _ in 0..self.world.calls(self.rests) {
            let slot = CALLS + self.called;
            self.called += 1;
            let mut cycles = Cycles::default();
            let answer = loop {
                let (status, _) = self.call(slot, None);
                if status == 200 {
                    break Some(self.world.number(self.visit, slot, 0, false));
                }
                if !bound(status).is_some_and(|class| cycles.repeat(&[class])) {
                    break None;
                }
            };
            self.seen.answers.push(answer);
        }
        match self.repair.take_if(|(rest, _)| *rest == self.rests) {
            Some((_, to)) => Err(Left::Repaired(to)),
            None => Ok(()),
        }
    }
}
