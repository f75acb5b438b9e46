//! A slow, small, uneven called system, as the laboratory has it, with the real services.

use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use pagurus_harness::world::program::{Program, Step};
use serde_json::json;

use crate::installation::{Installation, call};

/// The mode, and a repeat of what was refused. That a 503 limits is built in.
const LIMITED: &str = "
distribution: {mode: limited_flows}
execution:
  error_handling:
    sync:
      classification:
        rules: {r: {requests: [{path: '/**'}], classes: {busy: {responses: [{status_codes: [503]}]}}}}
      retry:
        policies: {p: {error_classes: [busy], parameters: {initial_interval: 2s, max_interval: 2s}}}
";
const SERVERS: usize = 5;
const QUEUE: usize = 5;
/// Time in which the limit is learnt, and time that is measured.
const LEARNING: Duration = Duration::from_secs(20);
const MEASURED: Duration = Duration::from_secs(60);

/// Servers, a queue before them, and what was answered and refused, with the time at which it was.
#[derive(Debug)]
struct UnevenSystem {
    free_at: Vec<Instant>,
    /// Times at which calls that wait begin to be worked on.
    begins: Vec<Instant>,
    seed: u64,
    answered: Vec<Instant>,
    refused: Vec<Instant>,
}

impl UnevenSystem {
    /// Exponential with a mean of a second: its variation is one.
    fn work(&mut self) -> Duration {
        self.seed = self.seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let part = (self.seed >> 11) as f64 / (1_u64 << 53) as f64;
        Duration::from_secs_f64(-(1.0 - part).ln())
    }

    fn called(&mut self) -> Step {
        let now = Instant::now();
        self.begins.retain(|begin| *begin > now);
        if self.begins.len() >= QUEUE {
            self.refused.push(now);
            return Step::answer(503, json!({}));
        }
        let work = self.work();
        let first = self.free_at.iter_mut().min().unwrap();
        let begin = (*first).max(now);
        *first = begin + work;
        let end = *first;
        if begin > now {
            self.begins.push(begin);
        }
        self.answered.push(end);
        Step { delay: end - now, ..Step::fine() }
    }
}

#[tokio::test]
async fn dsp_7_a_slow_small_uneven_system_is_kept_busy_and_hardly_ever_refuses() {
    let engine = Installation::configured("dsp_7_uneven", LIMITED).await;
    engine.actions("slow", &call("/slow")).await;
    let system = Arc::new(Mutex::new(UnevenSystem {
        free_at: vec![Instant::now(); SERVERS],
        begins: Vec::new(),
        seed: 1,
        answered: Vec::new(),
        refused: Vec::new(),
    }));
    let called = Arc::clone(&system);
    engine.world().program(Program::at("/slow").decided_by(move |_| called.lock().unwrap().called()));
    let begun = Instant::now();
    let mut sent = 0;
    while begun.elapsed() < LEARNING + MEASURED {
        // Eight a second, where five are answered.
        while sent < (begun.elapsed().as_secs_f64() * 8.0) as usize {
            engine.accepted(json!({"id": format!("s{sent}"), "scenario": "slow"})).await;
            sent += 1;
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    let system = system.lock().unwrap();
    let within = |times: &[Instant]| {
        let measured = begun + LEARNING..begun + LEARNING + MEASURED;
        times.iter().filter(|at| measured.contains(*at)).count() as f64
    };
    let (answered, refused) = (within(&system.answered), within(&system.refused));
    let share = answered / (SERVERS as f64 * MEASURED.as_secs_f64());
    // With forty seeds of the laboratory the share is 0.68 to 1.14, and at most 0.6 % are refused.
    assert!(share >= 0.6, "share of the capacity {share}");
    assert!(refused <= 0.03 * answered, "{refused} of {answered} calls were refused");
}
