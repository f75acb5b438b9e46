//! The whole language in small: polling, branches, steps at once, requests whose answers fail, calls
//! from outside. Random scenarios of it, the world that answers them, and what is seen of a play.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use proptest::prelude::*;

/// Rests after which a play that goes round and round is left.
pub const MAX_RESTS: usize = 30;
/// Slots of calls from outside begin here.
pub const CALLS: usize = 1000;

/// What a plain state does.
#[derive(Clone, Copy, Debug)]
pub enum Act {
    Http,
    Choose {
        first: bool,
    },
    Parallel,
    /// Three requests, two at once.
    Each,
}

#[derive(Clone, Debug)]
pub enum Kind {
    Plain(Vec<Act>),
    /// Asks so many times, and waits.
    Ask {
        requests: usize,
        only: bool,
    },
    Poll,
    /// Asks, and goes by the answer: a script raises one of two events of its own, or none.
    Turn,
}

/// A state, with the waiting state behind it if it asks.
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
    ];
    let kind = prop_oneof![
        2 => prop::collection::vec(act, 1..4).prop_map(Kind::Plain),
        2 => (1..3_usize, any::<bool>()).prop_map(|(requests, only)| Kind::Ask { requests, only }),
        1 => Just(Kind::Poll),
        1 => Just(Kind::Turn),
    ];
    let state = (kind, any::<bool>(), 0..6_usize, 0..6_usize);
    let state = state.prop_map(|(kind, entry, fail, late)| Wide { kind, entry, fail, late });
    prop::collection::vec(state, 1..5)
}

/// What an answer to an asynchronous request is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Came {
    Good,
    Refused,
    Odd,
    Nothing,
}

/// What the world answers, at which try of which request of which visit.
#[derive(Clone, Debug)]
pub struct World {
    pub dice: Vec<u8>,
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

    /// What a good answer says; to a polling 0 is not yet, 1 yes, 2 no.
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

    /// How many calls come during a rest.
    pub fn calls(&self, rest: usize) -> usize {
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
    let mut fails = false;
    for (at, state) in states.iter().enumerate() {
        fails |=
            state.fail > states.len() || (state.late > states.len() && !matches!(state.kind, Kind::Plain(_)));
        let (next, fail, late) =
            (place(states, at + 1), place(states, state.fail), place(states, state.late));
        let entry = if state.entry { "entryPoint: true, " } else { "" };
        let _ = match &state.kind {
            Kind::Plain(acts) => {
                let is_answered = |slot: usize| acts[..slot].iter().any(|act| !matches!(act, Act::Each));
                let acts = acts.iter().enumerate();
                let acts: Vec<String> =
                    acts.map(|(slot, act)| written(*act, at, slot, is_answered(slot))).collect();
                writeln!(
                    out,
                    "  s{at}: {{{entry}actions: [{}], on: {{success: {next}, fail: {fail}}}}}",
                    acts.join(", ")
                )
            }
            Kind::Ask { requests, only } => {
                let asks: Vec<String> = (0..*requests)
                    .map(|k| format!("{{http: {{url: 'http://h/{at}/{k}', request: q{at}_{k}}}}}"))
                    .collect();
                let _ = writeln!(
                    out,
                    "  s{at}: {{{entry}actions: [{}, {{wait: {{timeout: 5m}}}}], on: {{wait: r{at}, fail: {fail}}}}}",
                    asks.join(", ")
                );
                writeln!(
                    out,
                    "  r{at}: {{kind: waiting, retryFailedOnly: {only}, on: {{callback: {next}, timeout: {late}, fail: {fail}}}}}"
                )
            }
            Kind::Turn => writeln!(
                out,
                "  s{at}: {{{entry}actions: [{{http: {{url: 'http://h/{at}/0'}}}}, \
                 {{script: 'let way = response.body.n / 10000 % 3; if way == 1 {{ event(\"left\") }} if way == 2 {{ event(\"right\") }}'}}], \
                 on: {{success: {next}, fail: {fail}, left: {late}, right: {fail}}}}}"
            ),
            Kind::Poll => writeln!(
                out,
                "  s{at}: {{{entry}kind: polling, poll: {{interval: 1h, timeout: 150m}}, actions: [{{http: {{url: 'http://h/{at}/0'}}}}, \
                 {{script: 'if response.body.n == 0 {{ poll() }} else if response.body.n == 2 {{ fail() }}'}}], \
                 on: {{success: {next}, fail: {fail}, timeout: {late}}}}}"
            ),
        };
    }
    out.push_str("  done: {kind: terminal}\n");
    if fails {
        out.push_str("  failed: {kind: terminal, outcome: fail}\n");
    }
    out.push_str("calls: {ping: {actions: [{http: {url: 'http://h/call/${event.body}'}}], answer: '${response.body.n}'}}\n");
    out
}

/// The elements of an `each` have answers of their own: there may be none yet behind it.
fn written(act: Act, at: usize, slot: usize, is_answered: bool) -> String {
    let body = if is_answered { ", body: '${response.body.n}'" } else { "" };
    let url = |part: usize| format!("url: 'http://h/{at}/{}'{body}", slot * 10 + part);
    match act {
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

/// A request, with the number of the earlier answer that it must bear.
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
    /// What callers were told: a number, or nothing.
    pub answers: Vec<Option<i64>>,
    pub end: String,
}

/// Number of times that each class was repeated, of those that failed together last.
#[derive(Default)]
pub struct Cycles(BTreeMap<&'static str, u32>);

impl Cycles {
    pub fn made(&self, class: &str) -> u32 {
        self.0.get(class).copied().unwrap_or(0)
    }

    /// True if failures of these classes are repeated once more, each no more often than allowed.
    pub fn repeat(&mut self, failed: &[(&'static str, u32)]) -> bool {
        let before = std::mem::take(&mut self.0);
        failed.iter().all(|(class, allowed)| {
            let made = before.get(class).copied().unwrap_or(0);
            self.0.insert(class, made + 1);
            made < *allowed
        })
    }
}

/// The class of a failed call, and how often it is repeated.
pub fn bound(status: u16) -> Option<(&'static str, u32)> {
    match status {
        503 => Some(("busy", 3)),
        0 => Some(("down", 2)),
        _ => None,
    }
}
