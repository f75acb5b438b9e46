//! A story: a small scenario of an order, and what the called system does at each of its requests.
//! Never depends on anything but its seed, so that a story that failed can be repeated.

use rand::rngs::StdRng;
use rand::seq::IndexedRandom;
use rand::{Rng, SeedableRng};

/// The slot of the call by which a state makes sure that its messages have been answered.
pub const GATE: usize = 9;

/// An order with its scenario.
#[derive(Clone, Debug)]
pub struct Story {
    /// Names the order and its scenario.
    pub id: String,
    /// Seed of the behaviour of the called system.
    seed: u64,
    /// True if all goes the same way when calls are repeated after a process died.
    pub steady: bool,
    /// True if a policy handles answers that did not come.
    pub again: bool,
    /// True if the order owns a queue.
    pub sequential: bool,
    /// The states in their order; behind the last one stand `done` and `failed`.
    pub states: Vec<State>,
}

/// A state, with the waiting one behind it if it asks.
#[derive(Clone, Copy, Debug)]
pub struct State {
    /// True if a repeat begins here.
    pub entry: bool,
    /// Kind of the state.
    pub kind: Kind,
    /// Target of `fail`.
    pub fail: usize,
}

/// Behaviour of a state.
#[derive(Clone, Copy, Debug)]
pub enum Kind {
    /// Makes requests and waits.
    Ask(Ask),
    /// Sends what has been answered so far, and branches by it.
    Tell,
}

/// The requests of a state, and how its wait is left.
#[derive(Clone, Copy, Debug)]
pub struct Ask {
    /// Requests over HTTP, first.
    pub http: usize,
    /// Requests over AMQP, behind them.
    pub amqp: usize,
    /// True if a call follows that is answered when the messages are: their callbacks are early then.
    pub gate: bool,
    /// `retryFailedOnly`.
    pub only: bool,
    /// Target of `timeout`.
    pub late: usize,
    /// True if the waiting state takes `fail`.
    pub fails: bool,
    /// True if every request is answered in time, however long that takes.
    answered: bool,
}

/// Behaviour of the called system on one request, whose repeats all have one key.
#[derive(Clone, Debug)]
pub struct Meeting {
    /// The answers to its tries, of which the last one stays; 0 breaks the connection.
    statuses: Vec<u16>,
    /// The callbacks, in the order in which they are sent.
    pub callbacks: Vec<Callback>,
}

/// A callback to be sent.
#[derive(Clone, Copy, Debug)]
pub struct Callback {
    /// Time of the callback.
    pub when: When,
    /// True if sent over AMQP, else over HTTP.
    pub amqp: bool,
    /// Step status of the callback.
    pub word: Word,
    /// A number that no other callback of the order has.
    pub number: i64,
    /// True if sent twice at once.
    pub twin: bool,
}

/// Time at which a callback is sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum When {
    /// Before its request is answered.
    Early,
    /// Soon after that.
    InTime,
    /// At the next call of the order from elsewhere, before that is answered.
    Next,
    /// Time at which the order has ended.
    End,
}

/// Step status of a callback.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Word {
    /// No step status.
    Good,
    /// A class that is repeated.
    Refused,
    /// A class that no policy takes.
    Odd,
}

impl Word {
    /// The step status, if there is one.
    #[must_use]
    pub const fn as_str(self) -> Option<&'static str> {
        match self {
            Self::Good => None,
            Self::Refused => Some("refused"),
            Self::Odd => Some("odd"),
        }
    }
}

impl Meeting {
    /// Status that a try, counted from 0, is answered with.
    #[must_use]
    pub fn status(&self, tried: usize) -> u16 {
        self.statuses.get(tried).or(self.statuses.last()).copied().unwrap_or(200)
    }
}

impl Story {
    /// The first `count` stories of a seed.
    #[must_use]
    pub fn of(seed: u64, count: usize, steady: bool) -> Vec<Self> {
        let mut dice = StdRng::seed_from_u64(seed);
        (0..count).map(|number| Self::new(&mut dice, format!("s{seed}-{number}"), steady)).collect()
    }

    fn new(dice: &mut StdRng, id: String, steady: bool) -> Self {
        let count = dice.random_range(2..=4);
        let mut states: Vec<State> = (0..count).map(|at| state(dice, at, count, steady)).collect();
        // What an order knows in the end is its result.
        states.push(State { entry: dice.random_bool(0.3), kind: Kind::Tell, fail: count + 2 });
        let (again, sequential) = (dice.random_bool(0.5), dice.random_bool(0.3));
        Self { id, seed: dice.random(), steady, again, sequential, states }
    }

    /// Returns how a request is met, by state, index of the request, and number of the pass, from 0.
    #[must_use]
    pub fn meeting(&self, at: usize, slot: usize, pass: usize) -> Meeting {
        let place = (at * 100 + slot) * 100 + pass;
        let mut dice = StdRng::seed_from_u64(self.seed.wrapping_add(place as u64));
        let first = i64::try_from(place * 10).unwrap_or(i64::MAX);
        // Nothing goes wrong for ever: a story has an end.
        let calm = pass >= 2;
        match self.states[at].kind {
            Kind::Tell => Meeting { statuses: statuses(&mut dice, self.steady, calm), callbacks: Vec::new() },
            Kind::Ask(_) if slot == GATE => Meeting { statuses: vec![200], callbacks: Vec::new() },
            Kind::Ask(ask) => {
                let over_http = slot < ask.http;
                // A repeat of a stage would know an answer to what the stage before it asked in vain.
                let calls = |dice: &mut StdRng| statuses(dice, self.steady, calm || self.steady);
                let statuses = if over_http { calls(&mut dice) } else { vec![200] };
                let fine = statuses == [200];
                Meeting { statuses, callbacks: self.callbacks(&mut dice, ask, fine, calm, first) }
            }
        }
    }

    fn callbacks(&self, dice: &mut StdRng, ask: Ask, fine: bool, calm: bool, first: i64) -> Vec<Callback> {
        let silent = match (calm, self.steady) {
            (true, _) => false,
            (_, false) => dice.random_bool(0.25),
            (_, true) => !ask.answered && dice.random_bool(0.5),
        };
        // A callback on its way while its request fails would be seen by a repeat, or not.
        let quick = !fine || (self.steady && !ask.answered) || dice.random_bool(0.5);
        let answer = match (silent, quick) {
            (true, _) => None,
            (_, true) => Some(When::Early),
            (_, false) => Some(When::InTime),
        };
        let more = [0, 0, 0, 1, 1, 2].choose(dice).copied().unwrap_or(0);
        let later = answer.into_iter().chain([When::Next, When::Next, When::End]).collect::<Vec<_>>();
        let mut times: Vec<When> = answer.into_iter().collect();
        times.extend((0..more).filter_map(|_| later.choose(dice).copied()));
        times.sort_unstable();
        let numbered = times.into_iter().zip(first..);
        numbered
            .map(|(when, number)| Callback {
                when,
                amqp: dice.random_bool(0.4),
                word: if calm {
                    Word::Good
                } else {
                    *[Word::Good, Word::Good, Word::Good, Word::Refused, Word::Odd]
                        .choose(dice)
                        .unwrap_or(&Word::Good)
                },
                number,
                twin: dice.random_bool(0.1),
            })
            .collect()
    }
}

fn state(dice: &mut StdRng, at: usize, count: usize, steady: bool) -> State {
    // Forward only, so that nothing but a repeat comes back.
    let ahead = |dice: &mut StdRng| dice.random_range(at + 1..=count + 2);
    let kind = if dice.random_bool(0.7) {
        let answered = dice.random_bool(0.5);
        let requests = dice.random_range(1..=3);
        // A message is answered when it has come, and no sooner: not where the wait is short and a node may be away.
        let amqp = if steady && !answered { 0 } else { dice.random_range(0..=1).min(requests) };
        let gate = amqp > 0 && dice.random_bool(0.5);
        let (only, fails) = (dice.random_bool(0.5), dice.random_bool(0.5));
        Kind::Ask(Ask { http: requests - amqp, amqp, gate, only, late: ahead(dice), fails, answered })
    } else {
        Kind::Tell
    };
    State { entry: dice.random_bool(0.5), kind, fail: ahead(dice) }
}

fn statuses(dice: &mut StdRng, steady: bool, calm: bool) -> Vec<u16> {
    let common: [&[u16]; 8] =
        [&[200], &[200], &[200], &[200], &[200], &[503, 200], &[503, 503, 200], &[0, 200]];
    let wrong: [&[u16]; 4] = [&[404], &[503, 503, 503], &[0, 0], &[503, 503, 0, 200]];
    // Where tries may be lost, only what is always the same fails for good.
    let known = if steady { 1 } else { wrong.len() };
    let among = if calm || dice.random_bool(0.8) { &common[..] } else { &wrong[..known] };
    among.choose(dice).map_or_else(|| vec![200], |statuses| statuses.to_vec())
}
