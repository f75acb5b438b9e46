//! The naive walk through the small operations of [`super::wide_operation`]: a loop over the parts, each done again
//! from its start, with the variables that it had there.

use std::collections::BTreeMap;

use super::model::MAX_MOVES;
use super::wide::{Bound, CALLS, CHILD, Came, Cycles, MAX_RESTS, Made, OF_CHILD, Seen, World, bound};
use super::wide_operation::{Course, Part, Step, Vars, behind_answers, parts};
use super::wide_walk::{Met, Queue, Rest};

enum Left {
    /// The play is over: too many rests, or too many moves without one.
    Play(&'static str),
    /// An operator lets the order go on from this part.
    Repaired(usize, Vars),
}

/// End of a part.
enum Done {
    Through,
    Failed,
    /// The part is done again from the wait at its end.
    Again,
}

/// Progress of the repeat of a part.
#[derive(Default)]
struct Repeat {
    cycles: Cycles,
    /// The step that failed furthest: the repeat is over when it has gone through.
    failed_at: Option<usize>,
}

/// Result of a walk, and what a restart finds.
pub struct Walked {
    pub seen: Seen,
    pub met: Met,
    /// The part to which the next life goes back, with the variables of its savepoint.
    pub entry: (usize, Vars),
    pub vars: Vars,
}

pub struct Walk<'a> {
    parts: Vec<Part>,
    /// True for each step that tells the answer before it.
    tells_answer: Vec<bool>,
    world: &'a World,
    seen: Seen,
    visit: u32,
    rests: usize,
    moves: u32,
    tries: BTreeMap<(u32, usize), usize>,
    /// Step, number and visit of each request without an answer; true if a sleep lies between.
    open: Vec<(usize, usize, u32, bool)>,
    vars: Vars,
    answer: Option<i64>,
    entry: (usize, Vars),
    later: Option<Cycles>,
    called: usize,
    repair: Option<(usize, usize, Vars)>,
    queue: Queue,
    met: Met,
}

impl<'a> Walk<'a> {
    pub fn of(course: &Course<'a>) -> Walked {
        let begin = course.begin.unwrap_or(0);
        let mut walk = Walk {
            parts: parts(course.steps),
            tells_answer: behind_answers(course.steps),
            world: course.world,
            seen: Seen::default(),
            visit: 1,
            rests: 0,
            moves: 0,
            tries: BTreeMap::new(),
            open: Vec::new(),
            vars: course.vars,
            answer: None,
            entry: (begin, course.vars),
            later: None,
            called: 0,
            repair: course.repair,
            queue: Queue::new(course.longest),
            met: Met::new(course.begin.is_some(), false, true),
        };
        let mut at = begin;
        let end = loop {
            match walk.walk(at) {
                Ok(end) => break end,
                Err(Left::Play(why)) => break why,
                Err(Left::Repaired(to, vars)) => {
                    walk.repaired(vars);
                    at = to;
                }
            }
        };
        let seen = Seen { end: end.into(), ..walk.seen };
        Walked { seen, met: walk.met, entry: walk.entry, vars: walk.vars }
    }

    fn repaired(&mut self, vars: Vars) {
        self.visit += 1;
        (self.vars, self.answer, self.later) = (vars, None, None);
        self.open.clear();
        self.queue.begin_again();
        self.queue.pass(self.queue.now);
    }

    fn walk(&mut self, begin: usize) -> Result<&'static str, Left> {
        let mut at = begin;
        while let Some(part) = self.parts.get(at).cloned() {
            self.entry = (at, self.vars);
            match self.part(&part)? {
                Done::Through => {
                    self.later = None;
                    at += 1;
                }
                Done::Again => {}
                Done::Failed => return Ok("failed"),
            }
        }
        Ok("done")
    }

    fn part(&mut self, part: &Part) -> Result<Done, Left> {
        let begun = self.answer;
        let mut repeat = Repeat::default();
        let mut step = 0;
        while let Some((index, what)) = part.steps.get(step).copied() {
            match self.step(part, index, what, &mut repeat.cycles)? {
                Ok(()) => {
                    if repeat.failed_at.is_none_or(|failed_at| failed_at <= step) {
                        repeat = Repeat::default();
                        self.settle();
                    }
                    step += 1;
                }
                // All of the part is done again, with what it had.
                Err(Some(wait)) => {
                    repeat.failed_at = repeat.failed_at.max(Some(step));
                    // What a call from outside sets meanwhile stays.
                    (self.vars.own, self.answer) = (self.entry.1.own, begun);
                    self.rest(Rest::Retry(wait))?;
                    step = 0;
                }
                Err(None) => {
                    self.moved(&part.name, "fail", "failed")?;
                    return Ok(Done::Failed);
                }
            }
        }
        self.leave(part, begun)
    }

    /// Walks one step: it went through, is repeated after some seconds, or has failed for good.
    fn step(
        &mut self,
        part: &Part,
        index: usize,
        step: Step,
        cycles: &mut Cycles,
    ) -> Result<Result<(), Option<i64>>, Left> {
        let sent = self.vars.sent(self.answer);
        // A life and a repair begin without answers: a step that sends one there has none to send.
        let tells = !matches!(step, Step::Add | Step::Release | Step::Sleep | Step::Savepoint);
        if tells && self.tells_answer[index] && self.answer.is_none() {
            return Ok(Err(None));
        }
        match step {
            Step::Add => self.vars.own += 1,
            Step::Release => {
                if self.queue.release() {
                    self.seen.released += 1;
                    self.met.comes("release");
                }
            }
            Step::Http { .. } | Step::Ask | Step::Wait => {
                let status = self.call(index, Some(sent));
                if status != 200 {
                    let wait = bound(status).and_then(|class| self.repeats(cycles, &[class]));
                    return Ok(Err(wait));
                }
                self.answer = Some(self.world.number(self.visit, index, 0, false));
                match step {
                    Step::Http { saves: true } => self.vars.own += 100,
                    Step::Http { saves: false } => {}
                    _ => self.note_open(index, 0),
                }
            }
            Step::Child => {
                self.seen.calls.push(Made { visit: self.visit, slot: CHILD + index, body: Some(sent) });
                if !self.world.takes_child(self.visit) {
                    return Ok(Err(None));
                }
                self.note_open(index, OF_CHILD);
                // The wait at the end of the part is for it, too.
                if !part.has(Step::Wait) {
                    let came = self.world.came(self.visit, OF_CHILD);
                    self.rest(Rest::Child(if came == Came::Nothing { 3600 } else { 0 }))?;
                    return Ok(if came == Came::Good { Ok(()) } else { Err(None) });
                }
            }
            Step::Sleep | Step::Savepoint => {}
        }
        Ok(Ok(()))
    }

    fn note_open(&mut self, index: usize, number: usize) {
        self.open.retain(|open| (open.0, open.1, open.2) != (index, number, self.visit));
        self.open.push((index, number, self.visit, false));
    }

    /// Leaves a part whose steps all went through.
    fn leave(&mut self, part: &Part, begun: Option<i64>) -> Result<Done, Left> {
        let here = part.name.clone();
        let at = self.parts.iter().position(|other| other.name == here).unwrap();
        let next = self.parts.get(at + 1).map_or("done".into(), |part| part.name.clone());
        if part.has(Step::Sleep) {
            let asleep = format!("{here}.sleep");
            self.moved(&here, "sleep", &asleep)?;
            self.answer = None;
            self.rest(Rest::Sleep)?;
            self.open.iter_mut().for_each(|open| open.3 = true);
            self.later = None;
            self.moved(&asleep, "timeout", &next)?;
        } else if part.has(Step::Wait) {
            return self.wait(&here, &next, begun);
        } else {
            self.later = None;
            self.moved(&here, "success", &next)?;
        }
        Ok(Done::Through)
    }

    fn wait(&mut self, here: &str, next: &str, begun: Option<i64>) -> Result<Done, Left> {
        let waits = format!("{here}.wait");
        self.moved(here, "wait", &waits)?;
        let has_late = self.open.iter().any(|open| !open.3);
        let awaited: Vec<_> = self.open.iter().copied().filter(|open| !open.3 || !has_late).collect();
        let all_in = awaited.iter().all(|open| self.world.came(open.2, open.1) != Came::Nothing);
        self.answer = None;
        self.rest(Rest::Wait(if all_in { 0 } else { 300 }))?;
        self.open.clear();
        let failure =
            |(_, number, visit, _): &(usize, usize, u32, bool)| match self.world.came(*visit, *number) {
                Came::Good => None,
                Came::Nothing => Some(Bound::LATE),
                _ if *number == OF_CHILD => None,
                Came::Refused => Some(Bound::REFUSED),
                Came::Odd => Some(Bound::ODD),
            };
        let failed: Vec<Bound> = awaited.iter().filter_map(failure).collect();
        if !failed.is_empty() {
            let mut cycles = self.later.take().unwrap_or_default();
            if let Some(wait) = self.repeats(&mut cycles, &failed) {
                self.later = Some(cycles);
                self.rest(Rest::Later(wait))?;
                // Goes back with what it had at its savepoint, but for what calls from outside have set.
                (self.vars.own, self.answer) = (self.entry.1.own, begun);
                self.moved(&waits, "retry", here)?;
                return Ok(Done::Again);
            }
        }
        self.later = None;
        if all_in {
            self.moved(&waits, "callback", next)?;
            return Ok(Done::Through);
        }
        self.moved(&waits, "timeout", "failed")?;
        Ok(Done::Failed)
    }

    fn repeats(&self, cycles: &mut Cycles, failed: &[Bound]) -> Option<i64> {
        cycles.repeat(failed).filter(|wait| self.queue.allows(*wait))
    }

    fn settle(&mut self) {
        if self.later.is_none() {
            self.queue.settle();
        }
    }

    fn moved(&mut self, from: &str, event: &str, to: &str) -> Result<(), Left> {
        self.settle();
        self.seen.path.push(format!("{from} {event} {to}"));
        self.moves += 1;
        self.visit += 1;
        if self.moves > MAX_MOVES { Err(Left::Play("loop")) } else { Ok(()) }
    }

    fn call(&mut self, slot: usize, body: Option<i64>) -> u16 {
        let tries = self.tries.entry((self.visit, slot)).or_default();
        *tries += 1;
        self.seen.calls.push(Made { visit: self.visit, slot, body });
        self.world.status(self.visit, slot, *tries)
    }

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
        if let Some((_, to, vars)) = self.repair.take_if(|(rest, ..)| *rest == self.rests) {
            self.met.repair(rest);
            return Err(Left::Repaired(to, vars));
        }
        self.queue.pass(due);
        Ok(())
    }

    fn answer_call(&mut self) {
        let slot = CALLS + self.called;
        self.called += 1;
        let mut cycles = Cycles::default();
        let answer = loop {
            let status = self.call(slot, None);
            if status == 200 {
                // What was answered stays, whatever is repeated.
                self.vars.called += 1;
                self.entry.1.called = self.vars.called;
                break Some(self.world.number(self.visit, slot, 0, false));
            }
            if bound(status).is_none_or(|class| cycles.repeat(&[class]).is_none()) {
                break None;
            }
        };
        self.seen.answers.push(answer);
    }
}
