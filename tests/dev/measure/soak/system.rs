//! The called system of a soak: answers by the kind of the order, and notes each call in a few bytes.
//! Never lets a call hang: when a call is over is known when it comes.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use pagurus_harness::client::lock;
use pagurus_harness::world::program::{CallBack, Program, Step};
use pagurus_harness::world::{Call, World};
use serde_json::json;

/// Duration of a call.
const CALL: Duration = Duration::from_millis(150);
/// Number of times that a flaky call is refused before it is taken.
const REFUSALS: usize = 2;

/// A call that came in.
#[derive(Clone, Copy, Debug)]
pub struct Noted {
    /// The path: `d`o, `a`sk or `c`onfirm.
    pub path: u8,
    /// The idempotency key, which is equal in all repeats of an action.
    pub key: u128,
    /// Time at which it came.
    pub from: Instant,
    /// Earliest time at which its answer went out.
    pub until: Instant,
}

/// A call in a queue: the order, and the call.
pub type InQueue = (String, Noted);

/// All calls so far.
#[derive(Debug, Default)]
pub struct System {
    calls: Mutex<HashMap<String, Vec<Noted>>>,
    queues: Mutex<HashMap<String, Vec<InQueue>>>,
    keyless: Mutex<u64>,
}

impl System {
    /// Answers all calls of a world from now on.
    pub fn at(world: &World) -> Arc<Self> {
        let system = Arc::new(Self::default());
        let answering = Arc::clone(&system);
        world.program(Program::at("/**").decided_by(move |call| answering.answer(call)));
        system
    }

    /// The calls of each order.
    pub fn calls(&self) -> HashMap<String, Vec<Noted>> {
        lock(&self.calls).clone()
    }

    /// The calls in each queue, as they came.
    pub fn queues(&self) -> HashMap<String, Vec<InQueue>> {
        lock(&self.queues).clone()
    }

    /// Calls without a key that a system could know repeats by.
    pub fn keyless(&self) -> u64 {
        *lock(&self.keyless)
    }

    fn answer(&self, call: &Call) -> Step {
        let text = |key: &str| call.body[key].as_str().unwrap_or_default().to_owned();
        let (order, kind, queue) = (text("order"), text("kind"), text("queue"));
        let key = call.headers.get("idempotency-key").and_then(|key| number(key));
        if key.is_none() {
            *lock(&self.keyless) += 1;
        }
        let delay = if kind == "early" { 2 * CALL } else { CALL };
        let noted = Noted {
            path: call.path.as_bytes().get(1).copied().unwrap_or_default(),
            key: key.unwrap_or_default(),
            from: call.started,
            until: call.started + delay,
        };
        let tries = {
            let mut calls = lock(&self.calls);
            let calls = calls.entry(order.clone()).or_default();
            calls.push(noted);
            calls.iter().filter(|other| other.key == noted.key).count()
        };
        if !queue.is_empty() {
            lock(&self.queues).entry(queue).or_default().push((order, noted));
        }
        let mut step = match kind.as_str() {
            "flaky" if tries <= REFUSALS => Step::answer(503, json!({"busy": true})),
            "failing" => Step::answer(422, json!({"code": "E7"})),
            _ => Step::answer(200, json!({"ok": true})),
        };
        step.delay = delay;
        if noted.path == b'a' {
            let early = kind == "early";
            let answer = CallBack::with(json!({"code": 0}));
            step.callback =
                Some(if early { answer.times(2) } else { answer.after(Duration::from_millis(200)) });
        }
        step
    }
}

/// The hexadecimal digits of a key, as far as they fit.
fn number(key: &str) -> Option<u128> {
    use std::hash::{DefaultHasher, Hash, Hasher};
    if key.is_empty() {
        return None;
    }
    // Keys are compared within one order only: 128 bits of two hashes are more than enough.
    let hash = |salt: u8| {
        let mut hasher = DefaultHasher::new();
        (salt, key).hash(&mut hasher);
        u128::from(hasher.finish())
    };
    Some(hash(0) << 64 | hash(1))
}
