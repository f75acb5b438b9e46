//! The naive walk through the small language of [`super::wide`]: one loop without snapshots, cursors
//! or needs. Shares nothing with the interpreter but its words.

mod asked;
mod met;
mod queue;
mod repeats;
mod rests;

pub use asked::place_of;
pub use met::{Met, Rest};
pub use queue::Queue;

use std::collections::{BTreeMap, BTreeSet};

use super::model::MAX_MOVES;
use super::wide::{Act, CALLS, Cycles, Kind, Life, MAX_RESTS, Made, Seen, Wide, World, bound, place};
use asked::Requests;

/// The present state is left without a transition.
enum Left {
    /// The play is over: too many rests, or too many moves without one.
    Play(&'static str),
    /// An operator lets the order go on from this state.
    Repaired(usize),
}

/// A request without an answer.
#[derive(Clone, Copy, PartialEq)]
struct Open {
    state: usize,
    number: usize,
    visit: u32,
    /// A sleep lies between the request and now.
    is_earlier: bool,
}

/// Result of a walk.
pub struct Walked {
    pub seen: Seen,
    pub met: Met,
    /// State and number of the requests that were answered.
    pub answered: Vec<(usize, usize)>,
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
    open: Vec<Open>,
    answered: BTreeSet<(usize, usize)>,
    /// Number that the last child order of each state was given.
    given: BTreeMap<usize, Option<i64>>,
    entry: usize,
    /// State in which asynchronous failures began that were not passed yet, and their cycles.
    later: Option<(String, Cycles)>,
    called: usize,
    /// The rest in which an operator repairs the order, and the state from which it goes on.
    repair: Option<(usize, usize)>,
    queue: Queue,
    met: Met,
    asked: Requests,
    /// True while a call tells how many answers its stage knows.
    tells_known: bool,
}

impl<'a> Walk<'a> {
    /// Returns what is seen of this life.
    pub fn of(life: &Life<'a>) -> Seen {
        Self::through(life).seen
    }

    /// The same, with what met in it and what it leaves.
    pub fn through(life: &Life<'a>) -> Walked {
        let begin = life.begin.unwrap_or(0);
        let mut walk = Walk {
            states: life.states,
            world: life.world,
            seen: Seen::default(),
            visit: 1,
            rests: 0,
            moves: 0,
            tries: BTreeMap::new(),
            open: Vec::new(),
            answered: BTreeSet::new(),
            given: BTreeMap::new(),
            entry: begin,
            later: None,
            called: 0,
            repair: life.repair,
            queue: Queue::new(life.longest),
            met: Met::new(life.begin.is_some(), !life.kept.is_empty(), false),
            asked: Requests::keeping(life.kept),
            tells_known: false,
        };
        let mut at = begin;
        let end = loop {
            match walk.walk(at) {
                Ok(end) => break end,
                Err(Left::Play(why)) => break why.into(),
                Err(Left::Repaired(to)) => at = walk.forget(to),
            }
        };
        // An end gives up what is open, where the scenario says how.
        if end != "open" {
            walk.give_up_all();
        }
        let (answered, given_up) = walk.asked.over();
        Walked { seen: Seen { end, given_up, ..walk.seen }, met: walk.met, answered }
    }

    /// Starts the visit of a repair, with nothing asked, nothing failed, and repeats that go back to it.
    fn forget(&mut self, to: usize) -> usize {
        self.visit += 1;
        self.entry = to;
        (self.later, self.tells_known) = (None, false);
        self.open.clear();
        self.answered.clear();
        self.give_up_all();
        self.asked.begin_stage();
        self.queue.begin_again();
        self.queue.pass(self.queue.now);
        to
    }

    fn give_up_all(&mut self) {
        if self.asked.give_up(|_| true) {
            self.met.comes("cancel");
        }
    }

    fn walk(&mut self, begin: usize) -> Result<String, Left> {
        let mut at = begin;
        while let Some(state) = self.states.get(at) {
            if state.entry {
                self.entry = at;
            }
            let here = format!("s{at}");
            at = match &state.kind {
                Kind::Plain(acts) => {
                    let good = self.acts(acts)?;
                    self.leave_plain(&here, good, at)?
                }
                Kind::Ask { .. } => self.ask(at)?,
                Kind::Poll => self.poll(at)?,
                Kind::Sleep => self.sleep(at)?,
                Kind::Child => {
                    let good = self.child(at)?;
                    self.leave_plain(&here, good, at)?
                }
                Kind::Turn => {
                    let (event, to) = match (self.all(&[0], None)?, self.visit % 3) {
                        (false, _) => ("fail", state.fail),
                        (true, 1) => ("left", state.late),
                        (true, 2) => ("right", state.fail),
                        (true, _) => ("success", at + 1),
                    };
                    self.leave(&here, event, to)?
                }
            };
        }
        Ok(place(self.states, at))
    }

    fn released(&mut self) {
        if self.queue.release() {
            self.seen.released += 1;
            self.met.comes("release");
        }
    }

    /// True if all went through.
    fn acts(&mut self, acts: &[Act]) -> Result<bool, Left> {
        let mut earlier = None;
        for (slot, act) in acts.iter().enumerate() {
            let parts: &[usize] = match act {
                Act::Http | Act::Choose { first: true } => &[0],
                Act::Choose { first: false } => &[1],
                Act::Parallel => &[0, 1],
                Act::Each => {
                    self.met.comes("each");
                    if self.each([slot * 10, slot * 10 + 1, slot * 10 + 2])? {
                        continue;
                    }
                    return Ok(false);
                }
                Act::Release => {
                    self.released();
                    continue;
                }
                Act::Xml { .. } => {
                    self.met.comes("xml");
                    &[0]
                }
                Act::Knows => {
                    self.met.comes("callbacks");
                    self.tells_known = true;
                    &[0]
                }
            };
            let slots: Vec<usize> = parts.iter().map(|part| slot * 10 + part).collect();
            let is_through = self.all(&slots, earlier)?;
            self.tells_known = false;
            if !is_through {
                return Ok(false);
            }
            earlier = slots.last().map(|slot| self.world.number(self.visit, *slot, 0, false));
        }
        Ok(true)
    }

    fn call(&mut self, slot: usize, body: Option<i64>) -> (u16, usize) {
        let tries = self.tries.entry((self.visit, slot)).or_default();
        *tries += 1;
        // Each repeat tells what its own stage knows.
        let known = (self.tells_known && slot < CALLS).then(|| i64::try_from(self.asked.known).unwrap());
        self.seen.calls.push(Made { visit: self.visit, slot, body: known.or(body) });
        (self.world.status(self.visit, slot, *tries), *tries)
    }

    fn leave_plain(&mut self, here: &str, good: bool, at: usize) -> Result<usize, Left> {
        match good {
            true => self.leave(here, "success", at + 1),
            false => self.leave(here, "fail", self.states[at].fail),
        }
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
        self.settle();
        self.seen.path.push(format!("{from} {event} {to}"));
        self.moves += 1;
        self.visit += 1;
        if self.moves > MAX_MOVES { Err(Left::Play("loop")) } else { Ok(()) }
    }

    /// Ends a repeat at once. Those from the entry point may go on.
    fn settle(&mut self) {
        if self.later.is_none() {
            self.queue.settle();
        }
    }

    /// Rests, and takes the calls meanwhile.
    fn rest(&mut self, rest: Rest) -> Result<(), Left> {
        let due = self.queue.rest(rest);
        self.rests += 1;
        self.moves = 0;
        if self.rests >= MAX_RESTS {
            return Err(Left::Play("open"));
        }
        let calls = self.world.calls(self.rests);
        self.met.rest(rest, calls > 0, self.queue.is_held(), self.later.is_some());
        for _ in 0..calls {
            self.answer_call();
        }
        if let Some((_, to)) = self.repair.take_if(|(rest, _)| *rest == self.rests) {
            self.met.repair(rest);
            return Err(Left::Repaired(to));
        }
        self.queue.pass(due);
        self.asked.begin_stage();
        Ok(())
    }

    fn answer_call(&mut self) {
        let slot = CALLS + self.called;
        self.called += 1;
        let mut cycles = Cycles::default();
        let answer = loop {
            let (status, _) = self.call(slot, None);
            if status == 200 {
                break Some(self.world.number(self.visit, slot, 0, false));
            }
            if bound(status).is_none_or(|class| cycles.repeat(&[class]).is_none()) {
                break None;
            }
        };
        self.seen.answers.push(answer);
    }
}
