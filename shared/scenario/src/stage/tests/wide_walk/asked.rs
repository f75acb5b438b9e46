//! Requests of a walk whose answers come later: which are answered, and which are given up by calls (SCN-22).

use std::collections::BTreeMap;

use super::super::wide::{Came, Cancels, GivenUp, World};

/// A request that was registered.
#[derive(Clone, Copy, PartialEq)]
pub(super) struct Asked {
    pub state: usize,
    pub number: usize,
    pub visit: u32,
}

/// The requests of a life.
#[derive(Default)]
pub(super) struct Requests {
    /// Requests without an answer, each with the number that the call sends which gives it up, where that is known.
    open: Vec<(Asked, Option<Option<i64>>)>,
    /// The last request of each state and number, and if it was answered.
    last: BTreeMap<(usize, usize), (u32, bool)>,
    /// State and number of the requests of which answers of the life before are kept.
    kept: Vec<(usize, usize)>,
    given_up: Vec<GivenUp>,
    /// Number of names of which the stage knows an answer.
    pub known: usize,
}

impl Requests {
    /// Requests of a life that keeps earlier answers to these names.
    pub fn keeping(names: &[String]) -> Self {
        let kept: Vec<_> = names.iter().map(|name| place_of(name)).collect();
        Self { known: kept.len(), kept, ..Self::default() }
    }

    pub fn register(&mut self, asked: Asked, cancels: Cancels) {
        let call = (cancels == Cancels::Early).then_some(None);
        self.open.push((asked, call));
        self.last.insert((asked.state, asked.number), (asked.visit, false));
    }

    /// Notes that what was sent got an answer at once, with this number.
    pub fn sent(&mut self, asked: Asked, cancels: Cancels, number: i64) {
        let open = self.open.iter_mut().find(|(other, _)| *other == asked);
        if let Some((_, call)) = open.filter(|_| cancels == Cancels::Later) {
            *call = Some(Some(number));
        }
    }

    /// Ends the wait for these: answered, or given up. True if one is given up by a call.
    pub fn end_wait(&mut self, awaited: &[Asked], world: &World) -> bool {
        for one in awaited.iter().filter(|one| world.came(one.visit, one.number) != Came::Nothing) {
            self.open.retain(|(other, _)| other != one);
            if let Some((visit, is_answered)) = self.last.get_mut(&(one.state, one.number)) {
                *is_answered |= *visit == one.visit;
            }
        }
        self.give_up(|asked| awaited.contains(asked))
    }

    /// Gives these up: true if one is given up by a call.
    pub fn give_up(&mut self, which: impl Fn(&Asked) -> bool) -> bool {
        let before = self.given_up.len();
        for (asked, call) in self.open.extract_if(.., |(asked, _)| which(asked)) {
            self.given_up.extend(call.map(|said| (asked.visit, asked.number, said)));
        }
        self.given_up.len() > before
    }

    /// Begins a stage, which knows what was answered to the last request of each name.
    pub fn begin_stage(&mut self) {
        self.known = self.answered().count();
    }

    fn answered(&self) -> impl Iterator<Item = (usize, usize)> {
        let answered = self.last.iter().filter(|(_, (_, is_answered))| *is_answered).map(|(name, _)| *name);
        answered.chain(self.kept.iter().copied().filter(|name| !self.last.contains_key(name)))
    }

    /// The requests that were answered, and the calls that give up others.
    pub fn over(mut self) -> (Vec<(usize, usize)>, Vec<GivenUp>) {
        self.given_up.sort_unstable();
        let mut answered: Vec<_> = self.answered().collect();
        answered.sort_unstable();
        (answered, self.given_up)
    }
}

/// State and number of the request of a name.
pub fn place_of(name: &str) -> (usize, usize) {
    let (state, number) = name[1..].split_once('_').unwrap();
    (state.parse().unwrap(), number.parse().unwrap())
}
