//! Features that met in a walk.

use std::collections::BTreeSet;

/// Rest of an order.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Rest {
    /// A repeat right where it failed, after these seconds.
    Retry(i64),
    /// A repeat from the entry point, after these seconds.
    Later(i64),
    Sleep,
    /// A wait for callbacks, for these seconds.
    Wait(i64),
    /// A pause between attempts, until this second.
    Poll(i64),
    /// A child order, awaited for these seconds.
    Child(i64),
}

impl Rest {
    fn name(self) -> &'static str {
        match self {
            Self::Retry(_) => "retry",
            Self::Later(_) => "retry from the entry point",
            Self::Sleep => "sleep",
            Self::Wait(_) => "wait",
            Self::Poll(_) => "polling",
            Self::Child(_) => "child",
        }
    }
}

/// Pairs of features: rests and actions that came one behind the other in one life, and what came to a rest.
#[derive(Debug)]
pub struct Met {
    pub pairs: BTreeSet<(&'static str, &'static str)>,
    /// Rests and actions so far.
    before: BTreeSet<&'static str>,
    is_restarted: bool,
    keeps_callbacks: bool,
    is_operation: bool,
}

impl Met {
    pub fn new(is_restarted: bool, keeps_callbacks: bool, is_operation: bool) -> Self {
        let (pairs, before) = (BTreeSet::new(), BTreeSet::new());
        Self { pairs, before, is_restarted, keeps_callbacks, is_operation }
    }

    /// Notes a rest: the order was called, holds a queue, repeats something from its entry point.
    pub fn rest(&mut self, rest: Rest, is_called: bool, is_queued: bool, is_repeated: bool) {
        let name = rest.name();
        self.comes(name);
        let with = [
            ("call", is_called),
            ("queue", is_queued),
            ("repeated", is_repeated),
            ("restart", self.is_restarted),
            ("keepCallbacks", self.keeps_callbacks),
        ];
        for (with, _) in with.into_iter().filter(|(_, met)| *met) {
            self.pairs.insert((name, with));
            self.behind_savepoint(with);
        }
        self.behind_savepoint(name);
    }

    /// Notes an action, by its keyword, behind what there was before it.
    pub fn comes(&mut self, name: &'static str) {
        self.pairs.extend(self.before.iter().map(|before| (*before.min(&name), *before.max(&name))));
        self.before.insert(name);
    }

    /// Notes that an operator repairs the order in this rest.
    pub fn repair(&mut self, rest: Rest) {
        self.pairs.insert((rest.name(), "repair"));
        self.behind_savepoint("repair");
    }

    /// Notes that all that an operation does is behind a savepoint.
    fn behind_savepoint(&mut self, met: &'static str) {
        if self.is_operation {
            self.pairs.insert((met, "savepoint"));
        }
    }
}
