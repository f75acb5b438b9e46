//! The whole language in small: polling, branches, steps at once, requests whose answers fail, sleeps, child
//! orders, queues, calls from outside. Random scenarios of it, the world that answers them, and what is seen of a play.

use std::collections::BTreeMap;

use proptest::prelude::*;

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
}

#[derive(Clone, Debug)]
pub enum Kind {
    Plain(Vec<Act>),
    /// Makes requests, starts a child or none, and waits.
    Ask {
        requests: usize,
        only: bool,
        child: bool,
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
    ];
    let kind = prop_oneof![
        2 => prop::collection::vec(act, 1..4).prop_map(Kind::Plain),
        3 => (1..3_usize, any::<bool>(), any::<bool>())
            .prop_map(|(requests, only, child)| Kind::Ask { requests, only, child }),
        2 => Just(Kind::Poll),
        1 => Just(Kind::Turn),
        2 => Just(Kind::Sleep),
        3 => Just(Kind::Child),
    ];
    let state = (kind, prop::bool::weighted(0.2), 0..8_usize, 0..8_usize);
    let state = state.prop_map(|(kind, entry, fail, late)| Wide { kind, entry, fail, late });
    prop::collection::vec(state, 1..8)
}

/// Answer to an asynchronous request.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Came {
    Good,
    Refused,
    Odd,
    Nothing,
}

/// Answers of the world, by visit, request and try.
#[derive(Clone, Debug)]
pub struct World {
    pub dice: Vec<u8>,
    /// True if nobody calls from outside.
    pub is_quiet: bool,
}

impl From<Vec<u8>> for World {
    fn from(dice: Vec<u8>) -> Self {
        Self { dice, is_quiet: false }
    }
}

impl World {
    fn die(&self, visit: u32, slot: usize, tries: usize) -> u8 {
        self.dice[(visit as usize * 7 + slot * 3 + tries * 5) % self.dice.len()]
    }

    pub fn status(&self, visit: u32, slot: usize, tries: usize) -> u16 {
        // Classes that take turns begin a new cycle each time; a call has no other end.
        if slot >= CALLS && tries > 6 {
            return 200;
        }
        [200, 200, 200, 200, 200, 404, 503, 0][usize::from(self.die(visit, slot, tries) % 8)]
    }

    /// Number in a good answer; to a polling 0 is not yet, 1 yes, 2 no.
    pub fn number(&self, visit: u32, slot: usize, tries: usize, polls: bool) -> i64 {
        if polls {
            return i64::from(self.die(visit, slot, tries) / 8 % 3);
        }
        i64::from(visit) * 10_000 + i64::try_from(slot).unwrap()
    }

    pub fn came(&self, visit: u32, request: usize) -> Came {
        [
            Came::Good,
            Came::Good,
            Came::Refused,
            Came::Nothing,
            Came::Good,
            Came::Refused,
            Came::Odd,
            Came::Good,
        ][usize::from(self.die(visit, request, 1) / 8 % 8)]
    }

    /// True if a child order can be started.
    pub fn takes_child(&self, visit: u32) -> bool {
        !self.die(visit, CHILD, 0).is_multiple_of(8)
    }

    /// Number of calls during a rest.
    pub fn calls(&self, rest: usize) -> usize {
        if self.is_quiet {
            return 0;
        }
        [0, 0, 1, 2][usize::from(self.die(0, rest, 2) % 4)]
    }
}

pub fn place(states: &[Wide], index: usize) -> String {
    match index.checked_sub(states.len()) {
        None => format!("s{index}"),
        Some(0) => "done".into(),
        Some(_) => "failed".into(),
    }
}

/// The scenario as a file.
pub fn text(states: &[Wide]) -> String {
    let mut out = String::from("scenario: s\ninitialState: s0\nstates:\n");
    for (at, state) in states.iter().enumerate() {
        out.push_str(&state_text(states, at, state));
    }
    out.push_str("  done: {kind: terminal}\n");
    if out.contains(": failed") {
        out.push_str("  failed: {kind: terminal, outcome: fail}\n");
    }
    out.push_str("calls: {ping: {actions: [{http: {url: 'http://h/call/${event.body}'}}], answer: '${response.body.n}'}}\n");
    out
}

fn state_text(states: &[Wide], at: usize, state: &Wide) -> String {
    let (next, fail, late) = (place(states, at + 1), place(states, state.fail), place(states, state.late));
    let entry = if state.entry { "entryPoint: true, " } else { "" };
    let ask = format!("{{http: {{url: 'http://h/{at}/0'}}}}");
    match &state.kind {
        Kind::Plain(acts) => {
            let answers = |act: &Act| !matches!(act, Act::Each | Act::Release);
            let list: Vec<String> = acts
                .iter()
                .enumerate()
                .map(|(slot, act)| written(*act, at, slot, acts[..slot].iter().any(answers)))
                .collect();
            let can_fail = acts.iter().any(|act| !matches!(act, Act::Release));
            let fails = if can_fail { format!(", fail: {fail}") } else { String::new() };
            format!("  s{at}: {{{entry}actions: [{}], on: {{success: {next}{fails}}}}}\n", list.join(", "))
        }
        Kind::Ask { requests, only, child } => {
            let mut asks: Vec<String> = (0..*requests)
                .map(|k| format!("{{http: {{url: 'http://h/{at}/{k}', request: q{at}_{k}}}}}"))
                .collect();
            if *child {
                asks.push(format!("{{order: {{scenario: c, wait: true, request: c{at}_{OF_CHILD}}}}}"));
            }
            format!(
                "  s{at}: {{{entry}actions: [{}, {{wait: {{timeout: 5m}}}}], on: {{wait: r{at}, fail: {fail}}}}}\n  \
                 r{at}: {{kind: waiting, retryFailedOnly: {only}, on: {{callback: {next}, timeout: {late}, fail: {fail}}}}}\n",
                asks.join(", ")
            )
        }
        Kind::Turn => format!(
            "  s{at}: {{{entry}actions: [{ask}, \
             {{script: 'let way = response.body.n / 10000 % 3; if way == 1 {{ event(\"left\") }} if way == 2 {{ event(\"right\") }}'}}], \
             on: {{success: {next}, fail: {fail}, left: {late}, right: {fail}}}}}\n"
        ),
        Kind::Poll => format!(
            "  s{at}: {{{entry}kind: polling, poll: {{interval: 1h, timeout: 150m}}, actions: [{ask}, \
             {{script: 'if response.body.n == 0 {{ poll() }} else if response.body.n == 2 {{ fail() }}'}}], \
             on: {{success: {next}, fail: {fail}, timeout: {late}}}}}\n"
        ),
        Kind::Sleep => format!(
            "  s{at}: {{{entry}actions: [{ask}, {{sleep: {{for: 1h}}}}], on: {{sleep: r{at}, fail: {fail}}}}}\n  \
             r{at}: {{kind: sleeping, on: {{timeout: {next}}}}}\n"
        ),
        Kind::Child => format!(
            "  s{at}: {{{entry}actions: [{ask}, \
             {{order: {{scenario: c, params: {{n: '${{response.body.n}}'}}, wait: true, request: c{at}_{OF_CHILD}, timeout: 1h}}}}, \
             {{http: {{url: 'http://h/{at}/1', body: '${{response.body.n}}'}}}}], on: {{success: {next}, fail: {fail}}}}}\n"
        ),
    }
}

/// Writes an action. The elements of an `each` have answers of their own: there may be none yet behind it.
fn written(act: Act, at: usize, slot: usize, is_answered: bool) -> String {
    let body = if is_answered { ", body: '${response.body.n}'" } else { "" };
    let url = |part: usize| format!("url: 'http://h/{at}/{}'{body}", slot * 10 + part);
    match act {
        Act::Release => "release".into(),
        Act::Http => format!("{{http: {{{}}}}}", url(0)),
        Act::Choose { first } => format!(
            "{{choose: [{{when: 'params.n == {}', actions: [{{http: {{{}}}}}]}}, {{otherwise: [{{http: {{{}}}}}]}}]}}",
            if first { 7 } else { 8 },
            url(0),
            url(1)
        ),
        Act::Each => format!(
            "{{each: {{in: [{}, {}, {}], atOnce: 2, actions: [{{http: {{url: 'http://h/{at}/${{item}}'}}}}]}}}}",
            slot * 10,
            slot * 10 + 1,
            slot * 10 + 2
        ),
        Act::Parallel => format!(
            "{{parallel: [{{http: {{name: n{slot}a, {}}}}}, {{http: {{name: n{slot}b, {}}}}}]}}",
            url(0),
            url(1)
        ),
    }
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
}

impl<'a> Life<'a> {
    /// The life of a parallel order from the initial state.
    pub fn of(states: &'a [Wide], world: &'a World) -> Self {
        Self { states, world, begin: None, repair: None, longest: None }
    }
}

/// A request, with the number of the earlier answer that it must carry.
#[derive(Clone, Debug, PartialEq)]
pub struct Made {
    pub visit: u32,
    pub slot: usize,
    pub body: Option<i64>,
}

/// All that can be seen of a play.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Seen {
    pub path: Vec<String>,
    pub calls: Vec<Made>,
    /// Replies to callers: a number, or nothing.
    pub answers: Vec<Option<i64>>,
    /// Number of times that the scenario gave up the queue.
    pub released: u32,
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
