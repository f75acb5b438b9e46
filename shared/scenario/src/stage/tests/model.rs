//! Small scenarios, a world that answers them, and the naive way to walk through them: one loop
//! without snapshots, cursors or needs. Must share nothing with the interpreter but the vocabulary.

use std::fmt::Write as _;

use proptest::prelude::*;

use super::super::super::Event;

/// Transitions of one stage, before it is broken off.
pub const MAX_MOVES: u32 = 12;
/// Stages after which a play that goes round and round is left.
pub const MAX_STAGES: usize = 40;

/// Action of a state.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Act {
    Http { request: bool },
    Amqp { request: bool },
    Note,
    Succeed,
    Fail,
    FailBusy,
    Overrun,
    Log,
    Release,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Rest {
    Sleep,
    Wait,
}

/// A plain state, with the resting state behind it if it has one.
#[derive(Clone, Debug)]
pub struct Small {
    acts: Vec<Act>,
    rest: Option<Rest>,
    /// Target of `fail`; counted from the first state, then `done`, then `failed`.
    fail: usize,
    /// Target of the `timeout` of a wait.
    timeout: usize,
}

pub fn scenarios() -> impl Strategy<Value = Vec<Small>> {
    let act = prop_oneof![
        4 => any::<bool>().prop_map(|request| Act::Http { request }),
        2 => any::<bool>().prop_map(|request| Act::Amqp { request }),
        3 => Just(Act::Note),
        1 => Just(Act::Succeed),
        1 => Just(Act::Fail),
        1 => Just(Act::FailBusy),
        1 => Just(Act::Overrun),
        1 => Just(Act::Log),
        1 => Just(Act::Release),
    ];
    let rest = prop_oneof![2 => Just(None), 1 => Just(Some(Rest::Sleep)), 1 => Just(Some(Rest::Wait))];
    let state = (prop::collection::vec(act, 0..5), rest, 0..6_usize, 0..6_usize);
    let state = state.prop_map(|(mut acts, rest, fail, timeout)| {
        if rest == Some(Rest::Wait) {
            acts.insert(0, Act::Http { request: true });
        }
        Small { acts, rest, fail, timeout }
    });
    prop::collection::vec(state, 1..5)
}

/// Answers of the world, by visit, action and stage.
#[derive(Clone, Debug)]
pub struct World {
    pub dice: Vec<u8>,
}

impl World {
    fn die(&self, visit: u32, action: usize, stage: usize) -> u8 {
        let at = visit as usize * 7 + action * 3 + stage * 5;
        self.dice[at % self.dice.len()]
    }

    /// A status; 0 is no connection.
    pub fn status(&self, visit: u32, action: usize, stage: usize) -> u16 {
        [200, 200, 200, 200, 404, 503, 504, 0][usize::from(self.die(visit, action, stage) % 8)]
    }

    pub fn takes(&self, visit: u32, action: usize, stage: usize) -> bool {
        !self.die(visit, action, stage).is_multiple_of(4)
    }

    /// True if the callbacks come in time.
    pub fn calls_back(&self, visit: u32, stage: usize) -> bool {
        self.die(visit, 0, stage) < 128
    }

    /// Number in a good answer, which distinguishes it from all others.
    pub fn number(visit: u32, action: usize) -> i64 {
        i64::from(visit) * 100 + i64::try_from(action).unwrap()
    }
}

/// The scenario as a file.
pub fn text(states: &[Small]) -> String {
    let mut out = String::from("scenario: s\ninitialState: s0\nstates:\n");
    let mut fails = false;
    for (at, state) in states.iter().enumerate() {
        let mut on = Vec::new();
        let mut to = |event: &str, index: usize| {
            let name = place(states, index);
            fails |= name == "failed";
            on.push(format!("{event}: {name}"));
        };
        if state.rest.is_none() || state.acts.contains(&Act::Succeed) {
            to("success", at + 1);
        }
        if !state.acts.iter().all(|act| matches!(act, Act::Log | Act::Release)) {
            to("fail", state.fail);
        }
        let mut acts: Vec<String> = (0..state.acts.len()).map(|action| written(state, at, action)).collect();
        match state.rest {
            None => {}
            Some(Rest::Sleep) => {
                acts.push("{sleep: {for: 1m}}".into());
                on.push(format!("sleep: r{at}"));
            }
            Some(Rest::Wait) => {
                acts.push("{wait: {timeout: 5m}}".into());
                on.push(format!("wait: r{at}"));
            }
        }
        let _ = writeln!(out, "  s{at}: {{actions: [{}], on: {{{}}}}}", acts.join(", "), on.join(", "));
        let next = place(states, at + 1);
        match state.rest {
            None => {}
            Some(Rest::Sleep) => {
                let _ = writeln!(out, "  r{at}: {{kind: sleeping, on: {{timeout: {next}}}}}");
            }
            Some(Rest::Wait) => {
                let late = place(states, state.timeout);
                fails |= late == "failed";
                let _ =
                    writeln!(out, "  r{at}: {{kind: waiting, on: {{callback: {next}, timeout: {late}}}}}");
            }
        }
    }
    out.push_str("  done: {kind: terminal}\n");
    if fails {
        out.push_str("  failed: {kind: terminal, outcome: fail}\n");
    }
    out
}

fn place(states: &[Small], index: usize) -> String {
    match index.checked_sub(states.len()) {
        None => format!("s{index}"),
        Some(0) => "done".into(),
        Some(_) => "failed".into(),
    }
}

fn written(state: &Small, at: usize, action: usize) -> String {
    let name = |request: bool| if request { format!(", request: q{at}_{action}") } else { String::new() };
    match state.acts[action] {
        Act::Http { request } => {
            let earlier = state.acts[..action].iter().rposition(|act| matches!(act, Act::Http { .. }));
            let body = earlier.map_or(String::new(), |earlier| {
                format!(", body: ['${{response.body.n}}', '${{responses.h{earlier}.body.n}}']")
            });
            format!("{{http: {{url: 'http://h/{at}/{action}', name: h{action}{body}{}}}}}", name(request))
        }
        Act::Amqp { request } => format!("{{amqp: {{exchange: e, key: k{}}}}}", name(request)),
        Act::Note => format!(
            "{{script: 'vars.notes = (if \"notes\" in vars {{ vars.notes }} else {{ \"\" }}) + \"{at}.{action};\"'}}"
        ),
        Act::Succeed => "{script: 'success()'}".into(),
        Act::Fail => "{script: 'fail(\"no\")'}".into(),
        Act::FailBusy => "{script: 'fail(\"no\", \"busy\")'}".into(),
        Act::Overrun => "{script: 'loop {}'}".into(),
        Act::Log => "{log: here}".into(),
        Act::Release => "release".into(),
    }
}

/// A call, with the numbers of the earlier answers that it must carry.
#[derive(Clone, Debug, PartialEq)]
pub struct Made {
    pub visit: u32,
    pub action: usize,
    pub body: Option<i64>,
}

/// All that can be seen of a play.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Seen {
    pub path: Vec<(String, Event, String)>,
    pub calls: Vec<Made>,
    pub notes: String,
    /// `done`, `failed`, `loop`, or `open` where it was left.
    pub end: String,
}

/// The naive walk.
pub struct Walk<'a> {
    states: &'a [Small],
    world: &'a World,
    seen: Seen,
    visit: u32,
    stage: usize,
    moves: u32,
}

impl<'a> Walk<'a> {
    pub fn of(states: &'a [Small], world: &'a World) -> Seen {
        let mut walk = Walk { states, world, seen: Seen::default(), visit: 1, stage: 0, moves: 0 };
        walk.seen.end = walk.walk();
        walk.seen
    }

    fn walk(&mut self) -> String {
        let mut at = 0;
        loop {
            let name = place(self.states, at);
            let Some(state) = self.states.get(at) else { return name };
            let Some(event) = self.event(at, state) else { return "open".into() };
            let resting = format!("r{at}");
            at = match event {
                Event::Success => at + 1,
                Event::Fail => state.fail,
                _ => {
                    if !self.moved(&name, event, &resting) {
                        return "loop".into();
                    }
                    if !self.suspended() {
                        return "open".into();
                    }
                    let came = event == Event::Wait && self.world.calls_back(self.visit, self.stage);
                    let event = if came { Event::Callback } else { Event::Timeout };
                    let late = state.rest == Some(Rest::Wait) && !came;
                    let to = if late { state.timeout } else { at + 1 };
                    self.moved(&resting, event, &place(self.states, to));
                    at = to;
                    continue;
                }
            };
            if !self.moved(&name, event, &place(self.states, at)) {
                return "loop".into();
            }
        }
    }

    /// Returns the event of a state; `None` if the play is left in it.
    fn event(&mut self, at: usize, state: &Small) -> Option<Event> {
        let (mut class, mut repeats) = ("", 0);
        let mut earlier = None;
        let mut action = 0;
        // The last call that was answered, with the answer before it; the script that refused it.
        let (mut answered, mut refused_at) = (None, 0);
        while action < state.acts.len() {
            let failure = match state.acts[action] {
                Act::Http { .. } => {
                    self.seen.calls.push(Made { visit: self.visit, action, body: earlier });
                    match self.world.status(self.visit, action, self.stage) {
                        200 => {
                            answered = Some((action, earlier));
                            earlier = Some(World::number(self.visit, action));
                            None
                        }
                        503 => Some("busy"),
                        504 => Some("slow"),
                        0 => Some("down"),
                        _ => return Some(Event::Fail),
                    }
                }
                Act::Amqp { .. } => {
                    self.seen.calls.push(Made { visit: self.visit, action, body: None });
                    if !self.world.takes(self.visit, action, self.stage) {
                        return Some(Event::Fail);
                    }
                    None
                }
                Act::Note => {
                    let _ = write!(self.seen.notes, "{at}.{action};");
                    None
                }
                Act::Succeed => return Some(Event::Success),
                Act::Fail | Act::Overrun => return Some(Event::Fail),
                Act::FailBusy => Some("busy"),
                Act::Log | Act::Release => None,
            };
            let Some(failure) = failure else {
                if refused_at <= action {
                    (class, repeats) = ("", 0);
                }
                action += 1;
                continue;
            };
            repeats = if class == failure { repeats + 1 } else { 1 };
            class = failure;
            if repeats > allowed(class) {
                return Some(Event::Fail);
            }
            if !self.suspended() {
                return None;
            }
            if let (Act::FailBusy, Some((call, before))) = (state.acts[action], answered) {
                refused_at = refused_at.max(action);
                (action, earlier, answered) = (call, before, None);
            }
        }
        Some(match state.rest {
            None => Event::Success,
            Some(Rest::Sleep) => Event::Sleep,
            Some(Rest::Wait) => Event::Wait,
        })
    }

    /// True if the stage may go on.
    fn moved(&mut self, from: &str, event: Event, to: &str) -> bool {
        self.seen.path.push((from.into(), event, to.into()));
        self.moves += 1;
        self.visit += 1;
        self.moves <= MAX_MOVES
    }

    /// True if the play goes on.
    fn suspended(&mut self) -> bool {
        self.stage += 1;
        self.moves = 0;
        self.stage < MAX_STAGES
    }
}

/// Number of times that a class is repeated, in the configuration of [`super::property`].
const fn allowed(class: &str) -> u32 {
    match class.as_bytes() {
        b"busy" => 3,
        b"slow" => 1,
        _ => 2,
    }
}
