//! The naive way through a story: one loop, without snapshots, cursors, passes or time.
//! Must share nothing with the engine but its words.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use super::plan::{Ask, Callback, GATE, Kind, Story, When, Word};
use super::text::{ASKED_AGAIN, attempts};

/// A request: its state, its index there, the number of its pass, and the number of the try.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Made {
    /// Index of the state.
    pub at: usize,
    /// Index of the request within its state.
    pub slot: usize,
    /// Number of keys that the same request had before.
    pub pass: usize,
    /// Number of tries that this key had before.
    pub tried: usize,
}

impl Made {
    /// True if a call is made from elsewhere than this one: what this one asked for is over. The repeat of a call is
    /// not, since a process that died may have made calls behind it.
    #[must_use]
    pub fn is_passed_by(&self, call: &Self) -> bool {
        let (here, there) = ((self.at, self.slot), (call.at, call.slot));
        let elsewhere = self.at != call.at || there < here || (there == here && self.pass != call.pass);
        elsewhere && call.tried == 0
    }
}

/// A callback as it is kept: its request, its number, and what was made of it.
pub type Kept = (String, i64, &'static str);

/// All that must be seen of a story.
#[derive(Clone, Debug, Default)]
pub struct Expected {
    /// `from event to`.
    pub path: Vec<String>,
    /// Calls over HTTP, in their order.
    pub calls: Vec<Made>,
    /// Answers known to each first try of a call that sends them.
    pub knew: Vec<BTreeMap<String, i64>>,
    /// Messages, in their order.
    pub questions: Vec<Made>,
    /// Callbacks with their verdicts, in the order of their numbers.
    pub callbacks: Vec<Kept>,
    /// `success` or `fail`.
    pub status: &'static str,
    /// The class of the last failure, of an order that failed.
    pub class: Option<&'static str>,
    /// Numbers of the answers that the order knew when it last sent them; `None` if it never did.
    pub result: Option<BTreeMap<String, i64>>,
    /// The states whose wait runs out at least once.
    pub in_vain: BTreeSet<usize>,
    /// Number of messages sent before the gate of a state was passed, by state and pass.
    pub gates: HashMap<(usize, usize), usize>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Standing {
    Open,
    Answered(Word, i64),
    Over,
}

struct Request {
    made: Made,
    standing: Standing,
}

struct Walk<'a> {
    story: &'a Story,
    seen: Expected,
    requests: Vec<Request>,
    /// Callbacks sent when the order goes on or ends, each with the request that it answers.
    pending: Vec<(usize, Callback)>,
    /// Answers that the scenario sees: those that had come when it was woken.
    known: BTreeMap<String, i64>,
    passes: HashMap<(usize, usize), usize>,
    /// Requests that the next wait is for.
    open: Vec<usize>,
    kept: BTreeSet<(usize, usize)>,
    entry: usize,
    /// The waiting state from which answers are asked for again, and how often for each class.
    again: Option<(usize, BTreeMap<&'static str, u32>)>,
    class: Option<&'static str>,
}

/// The way of a story.
#[must_use]
pub fn expect(story: &Story) -> Expected {
    let mut walk = Walk {
        story,
        seen: Expected::default(),
        requests: Vec::new(),
        pending: Vec::new(),
        known: BTreeMap::new(),
        passes: HashMap::new(),
        open: Vec::new(),
        kept: BTreeSet::new(),
        entry: 0,
        again: None,
        class: None,
    };
    let mut at = 0;
    while let Some(state) = story.states.get(at) {
        if state.entry {
            walk.entry = at;
        }
        at = match state.kind {
            Kind::Tell => {
                let (event, to) = if walk.tell(at) { ("success", at + 1) } else { ("fail", state.fail) };
                walk.moved(&format!("s{at}"), event, to)
            }
            Kind::Ask(ask) => walk.ask(at, ask, state.fail),
        };
    }
    walk.end(at)
}

impl Walk<'_> {
    fn tell(&mut self, at: usize) -> bool {
        let (known, sum) = (self.known.clone(), self.known.values().sum::<i64>());
        self.seen.result = Some(known);
        self.call(at, 0, false) && self.call(at, if sum % 2 == 1 { 1 } else { 2 }, false)
    }

    /// Makes a call until it goes through, or fails for good.
    fn call(&mut self, at: usize, slot: usize, asks: bool) -> bool {
        let pass = self.pass(at, slot);
        let meeting = self.story.meeting(at, slot, pass);
        let most = attempts(self.story.steady);
        let mut failed: Option<(&'static str, u32)> = None;
        for tried in 0.. {
            let made = Made { at, slot, pass, tried };
            if tried == 0 && asks {
                self.requests.push(Request { made, standing: Standing::Open });
            }
            self.goes_on(&made);
            if tried == 0 && slot == 0 && !asks {
                self.seen.knew.push(self.known.clone());
            }
            self.seen.calls.push(made);
            if tried == 0 && asks {
                self.answer(&meeting.callbacks);
            }
            let (class, most) = match meeting.status(tried) {
                200 => return true,
                503 => ("busy", most.busy),
                0 => ("down", most.down),
                _ => {
                    self.class = None;
                    return false;
                }
            };
            let before = failed.filter(|(other, _)| *other == class).map_or(0, |(_, count)| count);
            if before == most {
                self.class = Some(class);
                return false;
            }
            failed = Some((class, before + 1));
            self.wake();
        }
        false
    }

    fn message(&mut self, at: usize, slot: usize) {
        let pass = self.pass(at, slot);
        let made = Made { at, slot, pass, tried: 0 };
        self.requests.push(Request { made, standing: Standing::Open });
        self.goes_on(&made);
        self.seen.questions.push(made);
        self.answer(&self.story.meeting(at, slot, pass).callbacks);
    }

    fn pass(&mut self, at: usize, slot: usize) -> usize {
        let passes = self.passes.entry((at, slot)).or_default();
        *passes += 1;
        *passes - 1
    }

    /// The last request is answered now, or later.
    fn answer(&mut self, callbacks: &[Callback]) {
        let request = self.requests.len() - 1;
        for callback in callbacks {
            match callback.when {
                When::Early | When::InTime => self.deliver(request, callback),
                When::Next | When::End => self.pending.push((request, *callback)),
            }
        }
    }

    /// A call was made: what waited for it is sent.
    fn goes_on(&mut self, call: &Made) {
        let requests = &self.requests;
        let due = |(request, callback): &(usize, Callback)| {
            callback.when == When::Next && requests[*request].made.is_passed_by(call)
        };
        let (due, left) = std::mem::take(&mut self.pending).into_iter().partition(due);
        self.pending = left;
        let due: Vec<(usize, Callback)> = due;
        for (request, callback) in due {
            self.deliver(request, &callback);
        }
    }

    fn deliver(&mut self, request: usize, callback: &Callback) {
        let request = &mut self.requests[request];
        for _ in 0..if callback.twin { 2 } else { 1 } {
            let verdict = match request.standing {
                Standing::Open => {
                    request.standing = Standing::Answered(callback.word, callback.number);
                    "accepted"
                }
                Standing::Answered(..) => "duplicate",
                Standing::Over => "late",
            };
            self.seen.callbacks.push((name(&request.made), callback.number, verdict));
        }
    }

    /// The order was woken: it sees the answers to the last request of each name.
    fn wake(&mut self) {
        let mut last: BTreeMap<String, Standing> = BTreeMap::new();
        for request in &self.requests {
            last.insert(name(&request.made), request.standing);
        }
        let answers = last.into_iter().filter_map(|(name, standing)| match standing {
            Standing::Answered(_, number) => Some((name, number)),
            _ => None,
        });
        self.known = answers.collect();
    }

    fn ask(&mut self, at: usize, ask: Ask, fail: usize) -> usize {
        for slot in 0..ask.http + ask.amqp {
            if self.kept.contains(&(at, slot)) {
                continue;
            }
            if slot >= ask.http {
                self.message(at, slot);
            } else if !self.call(at, slot, true) {
                return self.moved(&format!("s{at}"), "fail", fail);
            }
            self.open.push(self.requests.len() - 1);
        }
        if ask.gate {
            let before = self.seen.questions.len();
            self.call(at, GATE, false);
            let pass = self.passes[&(at, GATE)] - 1;
            self.seen.gates.insert((at, pass), before);
        }
        self.seen.path.push(format!("s{at} wait r{at}"));
        self.wait(at, ask, fail)
    }

    fn wait(&mut self, at: usize, ask: Ask, fail: usize) -> usize {
        let open = std::mem::take(&mut self.open);
        let silent: Vec<usize> =
            open.iter().copied().filter(|index| self.requests[*index].standing == Standing::Open).collect();
        for index in &silent {
            self.requests[*index].standing = Standing::Over;
            self.seen.in_vain.insert(at);
        }
        self.wake();
        let failed: Vec<(usize, &'static str)> = open
            .iter()
            .filter_map(|index| {
                let class = match self.requests[*index].standing {
                    Standing::Answered(Word::Good, _) => return None,
                    Standing::Answered(Word::Refused, _) => "refused",
                    Standing::Answered(Word::Odd, _) => "odd",
                    _ => "async.timeout",
                };
                Some((*index, class))
            })
            .collect();
        let here = format!("r{at}");
        if !failed.is_empty() {
            match self.asks_again(at, &failed) {
                Ok(()) => {
                    for index in open.iter().filter(|index| failed.iter().all(|(bad, _)| bad != *index)) {
                        let made = self.requests[*index].made;
                        if ask.only {
                            self.kept.insert((made.at, made.slot));
                        }
                    }
                    self.wake();
                    self.seen.path.push(format!("{here} retry s{}", self.entry));
                    return self.entry;
                }
                Err(class) => self.class = Some(class),
            }
        }
        // Nothing is asked for again any more.
        if self.again.as_ref().is_some_and(|(state, _)| *state == at) {
            self.again = None;
            self.kept.clear();
        }
        match (silent.is_empty(), failed.is_empty() || !ask.fails) {
            (false, _) => self.moved(&here, "timeout", ask.late),
            (true, true) => self.moved(&here, "callback", at + 1),
            (true, false) => self.moved(&here, "fail", fail),
        }
    }

    /// Counts what failed; returns an error with the class that may not be asked for once more, if there is one.
    fn asks_again(&mut self, at: usize, failed: &[(usize, &'static str)]) -> Result<(), &'static str> {
        // It goes on until the state in which it began is passed, whatever fails on the way there.
        let (began, before) = self.again.take().unwrap_or((at, BTreeMap::new()));
        let mut counts = BTreeMap::new();
        for (_, class) in failed {
            let most = match *class {
                "refused" => ASKED_AGAIN,
                "async.timeout" if self.story.again => ASKED_AGAIN,
                _ => 0,
            };
            let count = before.get(class).copied().unwrap_or(0);
            if count >= most {
                self.kept.clear();
                return Err(class);
            }
            counts.insert(*class, count + 1);
        }
        self.again = Some((began, counts));
        Ok(())
    }

    fn moved(&mut self, from: &str, event: &str, to: usize) -> usize {
        if self.story.states.get(to).is_some_and(|state| state.entry) {
            self.again = None;
            self.kept.clear();
        }
        self.seen.path.push(format!("{from} {event} {}", self.story.name(to)));
        to
    }

    fn end(mut self, at: usize) -> Expected {
        let success = at == self.story.states.len();
        for request in &mut self.requests {
            if request.standing == Standing::Open {
                request.standing = Standing::Over;
            }
        }
        for (request, callback) in std::mem::take(&mut self.pending) {
            self.deliver(request, &callback);
        }
        let mut seen = self.seen;
        seen.callbacks.sort_by(|one, two| (one.1, one.2).cmp(&(two.1, two.2)));
        (seen.status, seen.class) = if success { ("success", None) } else { ("fail", self.class) };
        seen
    }
}

/// The name of a request in its scenario.
#[must_use]
pub fn name(made: &Made) -> String {
    format!("q{}_{}", made.at, made.slot)
}
