//! A called system with a real capacity, for the demo: a number of servers, a queue before them, refusals beyond it, and
//! switches by which it becomes slower or goes away.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use pagurus_harness::world::program::{Program, Step};
use pagurus_harness::world::{Call, World};
use serde_json::{Value, json};

/// Work is asked for here.
pub const WORK: &str = "/storm/work";
/// `POST` changes it: `servers`, `ms`, `away`.
pub const SWITCH: &str = "/storm/switch";
/// Number of times that it answered and refused.
pub const COUNTS: &str = "/storm/counts";

/// Calls that wait for a server at most, for each of them.
const QUEUE: u32 = 4;

#[derive(Debug)]
struct Capacity {
    /// Time at which each server is free.
    free_at: Vec<Instant>,
    /// Time of one call.
    takes: Duration,
    is_away: bool,
    answered: u64,
    refused: u64,
}

/// Serves it in this world.
pub fn serve(world: &World) {
    let capacity = Capacity {
        free_at: vec![Instant::now(); 10],
        takes: Duration::from_millis(50),
        is_away: false,
        answered: 0,
        refused: 0,
    };
    let capacity = Arc::new(Mutex::new(capacity));
    let with =
        |path: &str, act: fn(&mut Capacity, &Call) -> Step| {
            let capacity = capacity.clone();
            world.program(Program::at(path).decided_by(move |call| {
                act(&mut capacity.lock().unwrap_or_else(PoisonError::into_inner), call)
            }));
        };
    with(WORK, |capacity, _| capacity.work(Instant::now()));
    with(SWITCH, |capacity, call| capacity.switch(&call.body));
    with(COUNTS, |capacity, _| {
        Step::answer(200, json!({"answered": capacity.answered, "refused": capacity.refused}))
    });
}

impl Capacity {
    fn work(&mut self, now: Instant) -> Step {
        let refusal = Step::answer(503, json!({"error": "no capacity"}));
        let longest = self.takes * QUEUE;
        let is_away = self.is_away;
        let Some(server) = self.free_at.iter_mut().min() else { return refusal };
        let begin = (*server).max(now);
        if is_away || begin.duration_since(now) > longest {
            self.refused += 1;
            return refusal;
        }
        *server = begin + self.takes;
        let delay = server.duration_since(now);
        self.answered += 1;
        Step { delay, ..Step::fine() }
    }

    fn switch(&mut self, asked: &Value) -> Step {
        if let Some(servers) = asked["servers"].as_u64() {
            self.free_at.resize(usize::try_from(servers).unwrap_or(1).clamp(1, 1000), Instant::now());
        }
        if let Some(ms) = asked["ms"].as_u64() {
            self.takes = Duration::from_millis(ms);
        }
        if let Some(away) = asked["away"].as_bool() {
            self.is_away = away;
        }
        Step::fine()
    }
}
