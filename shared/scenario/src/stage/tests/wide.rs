//! The whole language in small: polling, branches, steps at once, XML and SOAP, requests whose answers fail and which are
//! given up, sleeps, child orders, queues, calls from outside. Random scenarios of it, and what is seen of a play.

mod world;
mod written;

use std::collections::BTreeMap;

use proptest::prelude::*;

pub use world::{Came, World};
pub use written::{place, sequential, text};

/// Rests after which a play that goes round and round is left.
pub const MAX_RESTS: usize = 30;
/// Slots of calls from outside begin here.
pub const CALLS: usize = 1000;
/// Slot of the child order that a state starts.
pub const CHILD: usize = 90;
/// Number of its request among those of the state.
pub const OF_CHILD: usize = 9;

/// Action of a plain state.
#[derive(Clone, Copy, Debug)]
pub enum Act {
    Http,
    Choose {
        first: bool,
    },
    Parallel,
    /// Three requests, two at once.
    Each,
    /// The queue is given up.
    Release,
    /// A request in XML, whose answer is XML: in an envelope of SOAP or not.
    Xml {
        soap: bool,
    },
    /// A request with the number of callbacks that the scenario knows.
    Knows,
}

/// The way in which a request is given up.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Cancels {
    Never,
    /// By a call that is known before the request is sent.
    Early,
    /// By a call with the number of the answer to what was sent.
    Later,
}

#[derive(Clone, Debug)]
pub enum Kind {
    Plain(Vec<Act>),
    /// Makes requests, starts a child or none, and waits.
    Ask {
        requests: usize,
        only: bool,
        child: bool,
        soap: bool,
        cancels: Cancels,
    },
    Poll,
    /// Makes requests, and sleeps.
    Sleep,
    /// Asks, awaits a child order right there, and asks once more.
    Child,
    /// Asks, and goes by the answer: a script raises one of two events of its own, or none.
    Turn,
}

/// A state, with the state behind it in which the order rests, if it has one.
#[derive(Clone, Debug)]
pub struct Wide {
    pub kind: Kind,
    pub entry: bool,
    pub fail: usize,
    pub late: usize,
}

pub fn scenarios() -> impl Strategy<Value = Vec<Wide>> {
    let act = prop_oneof![
        2 => Just(Act::Http),
        1 => any::<bool>().prop_map(|first| Act::Choose { first }),
        1 => Just(Act::Parallel),
        1 => Just(Act::Each),
        1 => Just(Act::Release),
        1 => any::<bool>().prop_map(|soap| Act::Xml { soap }),
        1 => Just(Act::Knows),
    ];
    let cancels = prop_oneof![Just(Cancels::Never), Just(Cancels::Early), Just(Cancels::Later)];
    let kind = prop_oneof![
        2 => prop::collection::vec(act, 1..4).prop_map(Kind::Plain),
        3 => (1..3_usize, any::<bool>(), any::<bool>(), prop::bool::weighted(0.3), cancels).prop_map(
            |(requests, only, child, soap, cancels)| Kind::Ask { requests, only, child, soap, cancels }
        ),
        2 => Just(Kind::Poll),
        1 => Just(Kind::Turn),
        2 => Just(Kind::Sleep),
        3 => Just(Kind::Child),
    ];
    let state = (kind, prop::bool::weighted(0.2), 0..8_usize, 0..8_usize);
    let state = state.prop_map(|(kind, entry, fail, late)| Wide { kind, entry, fail, late });
    prop::collection::vec(state, 1..8)
}

/// A life of an order, as it is played and as it is walked.
#[derive(Clone, Copy, Debug)]
pub struct Life<'a> {
    pub states: &'a [Wide],
    pub world: &'a World,
    /// The state at which a restart lets it begin.
    pub begin: Option<usize>,
    /// The rest in which an operator repairs the order, and the state from which it goes on.
    pub repair: Option<(usize, usize)>,
    /// Seconds for which a sequential order may hold its queue in retries; `None` for a parallel order.
    pub longest: Option<i64>,
    /// The names of the requests of which the life has answers of the one before it.
    pub kept: &'a [String],
}

impl<'a> Life<'a> {
    /// The life of a parallel order from the initial state.
    pub fn of(states: &'a [Wide], world: &'a World) -> Self {
        Self { states, world, begin: None, repair: None, longest: None, kept: &[] }
    }
}

/// A request, with the number of the earlier answer that it must carry.
#[derive(Clone, Debug, PartialEq)]
pub struct Made {
    pub visit: u32,
    pub slot: usize,
    pub body: Option<i64>,
}

/// The same states without [`Act::Knows`]. The answer to a request that is asked again is known until the stage ends, and
/// where that is, deaths and holds decide.
pub fn without_knowledge(states: &[Wide]) -> Vec<Wide> {
    let known = |act: &Act| if matches!(act, Act::Knows) { Act::Http } else { *act };
    let other = |state: &Wide| match &state.kind {
        Kind::Plain(acts) => Wide { kind: Kind::Plain(acts.iter().map(known).collect()), ..state.clone() },
        _ => state.clone(),
    };
    states.iter().map(other).collect()
}

/// A call that gives a request up: visit and number of the request, and the number that the call sends.
pub type GivenUp = (u32, usize, Option<i64>);

/// All that can be seen of a play.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Seen {
    pub path: Vec<String>,
    pub calls: Vec<Made>,
    /// Replies to callers: a number, or nothing.
    pub answers: Vec<Option<i64>>,
    /// Number of times that the scenario gave up the queue.
    pub released: u32,
    pub given_up: Vec<GivenUp>,
    pub end: String,
}

/// Number of times that each class was repeated, of those that failed together last.
#[derive(Default)]
pub struct Cycles(BTreeMap<&'static str, u32>);

impl Cycles {
    pub fn made(&self, class: &str) -> u32 {
        self.0.get(class).copied().unwrap_or(0)
    }

    /// Returns the time until failures of these classes are repeated once more, each no more often than allowed: the
    /// longest of the waits, in seconds.
    pub fn repeat(&mut self, failed: &[Bound]) -> Option<i64> {
        let before = std::mem::take(&mut self.0);
        let mut longest = 0;
        for Bound { class, allowed, .. } in failed {
            let made = before.get(class).copied().unwrap_or(0);
            self.0.insert(class, made + 1);
            if made >= *allowed {
                return None;
            }
        }
        for bound in failed {
            longest = longest.max(bound.wait(before.get(bound.class).copied().unwrap_or(0)));
        }
        Some(longest)
    }
}

/// A class of failures, how often they are repeated, and after how many seconds the first time and at most.
#[derive(Clone, Copy, Debug)]
pub struct Bound {
    pub class: &'static str,
    pub allowed: u32,
    pub waits: (i64, i64),
}

impl Bound {
    pub const REFUSED: Self = Self { class: "refused", allowed: 2, waits: (30, 30) };
    pub const ODD: Self = Self { class: "odd", allowed: 0, waits: (0, 0) };
    pub const LATE: Self = Self { class: "async.timeout", allowed: 2, waits: (60, 60) };
    pub const POLLED: Self = Self { class: "polling.timeout", allowed: 2, waits: (60, 60) };

    /// Wait after `made` repeats.
    pub fn wait(&self, made: u32) -> i64 {
        let (first, most) = self.waits;
        (first << made).min(most)
    }
}

/// The class of a failed call.
pub fn bound(status: u16) -> Option<Bound> {
    match status {
        503 => Some(Bound { class: "busy", allowed: 3, waits: (10, 60) }),
        0 => Some(Bound { class: "down", allowed: 2, waits: (8, 8) }),
        _ => None,
    }
}
