//! Calls that hang: the dispatcher hears of them before their time-out is over (DSP-16). Otherwise a system that accepts calls and
//! answers none would get more of them for as long as a time-out lasts.
//!
//! A call is late if it takes several times as long as almost all calls of its scenario to that system. Late calls are reported
//! as failed if there are several and the system has answered nothing for as long. At its end a call is reported once more,
//! whatever its outcome.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use pagurus_domain::spread::Spread;
use pagurus_domain::system::{BuiltInClass, step_of};
use pagurus_runtime::task::{BackgroundTask, NextTurn, TurnPause};
use pagurus_runtime::{Effects, Host};
use pagurus_wire::message::{CallNews, CallNewsOutcome};

use crate::Worker;

/// Interval between two looks. A call is reported at the second look that finds it late, so that a worker that stood still
/// itself takes in the answers first.
const EVERY: Duration = Duration::from_millis(250);
/// No call is late before: systems stand still for a moment when they collect garbage or are redeployed.
const SHORTEST: Duration = Duration::from_millis(2500);
/// A late call takes this many times longer than 99 of 100, and longer than any.
const LATE: f64 = 3.0;
/// Answers from which on the times of calls are known.
const KNOWN: f64 = 50.0;
/// Late calls that are no chance.
const SEVERAL: usize = 5;
/// Answers that are looked back on.
const ANSWERS: f64 = 5000.0;
/// Systems, and scenarios of each, whose times are kept.
const MOST: usize = 1000;

/// The flow and the scenario of a call.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CallOrigin<'a> {
    pub flow: &'a str,
    pub scenario: &'a str,
}

/// The calls that are open, by system, and the times that those before took.
#[derive(Debug, Default)]
pub(crate) struct OpenCalls(Mutex<CallsBySystem>);

#[derive(Debug, Default)]
struct CallsBySystem {
    last: u64,
    systems: HashMap<String, SystemCalls>,
}

#[derive(Debug, Default)]
struct SystemCalls {
    open: BTreeMap<u64, OpenCall>,
    answered_at: Option<Instant>,
    /// Times of answers, by scenario.
    times: HashMap<String, Spread>,
}

#[derive(Debug)]
struct OpenCall {
    flow: String,
    scenario: String,
    /// Time since which the system has it; `None` while this worker has no room for it, or for its answer.
    since: Option<Instant>,
    /// Number of looks that found it late.
    late: u8,
}

/// A call that is open as long as this lives.
#[derive(Debug)]
pub(crate) struct OpenCallGuard<'a> {
    calls: &'a OpenCalls,
    system: String,
    number: u64,
}

impl OpenCalls {
    /// Notes that a call is made; `None` where there are too many systems.
    pub fn open(&self, system: &str, caller: CallOrigin<'_>, now: Instant) -> Option<OpenCallGuard<'_>> {
        let mut calls = self.lock();
        if !calls.systems.contains_key(system) {
            if calls.systems.len() >= MOST {
                return None;
            }
            calls.systems.insert(system.to_owned(), SystemCalls::default());
        }
        calls.last += 1;
        let number = calls.last;
        let (flow, scenario) = (caller.flow.to_owned(), caller.scenario.to_owned());
        let call = OpenCall { flow, scenario, since: Some(now), late: 0 };
        calls.systems.get_mut(system)?.open.insert(number, call);
        Some(OpenCallGuard { calls: self, system: system.to_owned(), number })
    }

    /// Takes a look: returns the calls that have become late, as news of calls that failed.
    pub fn late(&self, now: Instant) -> Vec<CallNews> {
        let mut news: BTreeMap<(String, String, String), CallNews> = BTreeMap::new();
        for (system, calls) in &mut self.lock().systems {
            for (flow, scenario) in calls.late(now) {
                let key = (flow.clone(), scenario.clone(), system.clone());
                let one = news.entry(key).or_insert_with(|| late_news(flow, scenario, system));
                one.count += 1;
            }
        }
        news.into_values().collect()
    }

    fn lock(&self) -> MutexGuard<'_, CallsBySystem> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl SystemCalls {
    /// Returns flow and scenario of the calls that have become late.
    fn late(&mut self, now: Instant) -> Vec<(String, String)> {
        let Self { open, answered_at, times } = self;
        let is_late = |call: &OpenCall| {
            // Both the call and the silence of the system last for so long.
            let Some(since) = call.since else { return false };
            let since = answered_at.map_or(since, |at| at.max(since));
            let open = now.saturating_duration_since(since);
            open > SHORTEST && times.get(&call.scenario).and_then(patience).is_some_and(|most| open > most)
        };
        let late: Vec<u64> =
            open.iter().filter(|(_, call)| is_late(call)).map(|(number, _)| *number).collect();
        if late.len() < SEVERAL {
            return Vec::new();
        }
        let mut reported = Vec::new();
        for number in late {
            let Some(call) = open.get_mut(&number) else { continue };
            call.late = call.late.saturating_add(1);
            if call.late == 2 {
                reported.push((call.flow.clone(), call.scenario.clone()));
            }
        }
        reported
    }

    fn note_answer(&mut self, number: u64, took: Duration) {
        let Some(OpenCall { scenario, .. }) = self.open.get(&number) else { return };
        if !self.times.contains_key(scenario) {
            if self.times.len() >= MOST {
                return;
            }
            self.times.insert(scenario.clone(), Spread::default());
        }
        if let Some(times) = self.times.get_mut(scenario) {
            times.add(step_of(took), 1.0);
            if times.total() > ANSWERS {
                times.fade(0.5);
            }
        }
    }
}

/// Returns the time after which a call of these times is late; `None` while too little is known.
fn patience(times: &Spread) -> Option<Duration> {
    let usual = times.quantile(0.99).filter(|_| times.total() >= KNOWN)?;
    let longest = times.quantile(1.0)?;
    Some(Duration::from_secs_f64(longest.max(usual * LATE)).max(SHORTEST))
}

fn late_news(flow: String, scenario: String, system: &str) -> CallNews {
    CallNews {
        flow,
        scenario,
        system: system.to_owned(),
        asynchronous: false,
        outcome: CallNewsOutcome::Failed,
        class: None,
        built_in: Some(BuiltInClass::Timeout.to_string()),
        count: 0,
        stages: Some(0),
        held: false,
        took: Vec::new(),
        retry_after_ms: None,
    }
}

impl OpenCallGuard<'_> {
    /// The system has the call since then, or does not have it: this worker has no room.
    pub fn is_there_since(&self, since: Option<Instant>) {
        let mut calls = self.calls.lock();
        let call = calls.systems.get_mut(&self.system).and_then(|system| system.open.get_mut(&self.number));
        if let Some(call) = call {
            call.since = since;
        }
    }

    /// The system has answered, after this time if the answer is no error: those are quick, however long others take.
    pub fn answered(&self, took: Option<Duration>, now: Instant) {
        if let Some(system) = self.calls.lock().systems.get_mut(&self.system) {
            system.answered_at = Some(now);
            took.into_iter().for_each(|took| system.note_answer(self.number, took));
        }
    }
}

impl Drop for OpenCallGuard<'_> {
    fn drop(&mut self) {
        let mut calls = self.calls.lock();
        let Some(system) = calls.systems.get_mut(&self.system) else { return };
        system.open.remove(&self.number);
        // Nothing is known of a system that has never answered.
        if system.open.is_empty() && system.times.is_empty() {
            calls.systems.remove(&self.system);
        }
    }
}

/// The look at the calls that are open.
pub(crate) struct ReportLate(pub Arc<Worker>);

impl BackgroundTask for ReportLate {
    const PAUSE: TurnPause = |_| EVERY;
    const TAKES_WORK: bool = false;

    async fn turn(&mut self, host: &Host) -> NextTurn {
        let calls = self.0.outbound.open.late(Instant::now());
        if !calls.is_empty() {
            Effects { calls, ..Effects::default() }.send(host).await;
        }
        NextTurn::AfterPause
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test may panic")]
mod tests {
    use super::*;

    const ORIGIN: CallOrigin<'static> = CallOrigin { flow: "order", scenario: "order" };

    /// Calls of a system that has answered this many of them in a tenth of a second each.
    fn answering(answers: u32, begin: Instant) -> OpenCalls {
        let calls = OpenCalls::default();
        for _ in 0..answers {
            calls.open("stock", ORIGIN, begin).unwrap().answered(Some(Duration::from_millis(100)), begin);
        }
        calls
    }

    fn open(calls: &OpenCalls, count: usize, now: Instant) -> Vec<OpenCallGuard<'_>> {
        (0..count).map(|_| calls.open("stock", ORIGIN, now).unwrap()).collect()
    }

    fn looks(calls: &OpenCalls, begin: Instant, millis: impl IntoIterator<Item = u64>) -> Vec<u32> {
        let at = |ms| calls.late(begin + Duration::from_millis(ms)).iter().map(|one| one.count).sum();
        millis.into_iter().map(at).collect()
    }

    #[test]
    fn dsp_16_calls_that_hang_are_reported_once_and_before_their_time_out() {
        let begin = Instant::now();
        let calls = answering(50, begin);
        let hanging = open(&calls, 6, begin);
        assert_eq!(
            looks(&calls, begin, [500, 2400, 2600, 2850, 3100]),
            [0, 0, 0, 6, 0],
            "at the second look"
        );
        let more = open(&calls, 1, begin + Duration::from_secs(4));
        assert_eq!(looks(&calls, begin, [6400, 6550, 6800]), [0, 0, 1]);
        drop((hanging, more));
        assert_eq!(looks(&calls, begin, [9000, 9250]), [0, 0], "none is open");
    }

    #[test]
    fn dsp_16_slow_calls_are_no_hanging_ones() {
        let begin = Instant::now();
        // A few are chance, an unknown system may be slow, and one that answers any call does not hang.
        for (answers, count) in [(50, 4), (49, 20), (0, 20)] {
            let calls = answering(answers, begin);
            let _open = open(&calls, count, begin);
            assert_eq!(looks(&calls, begin, [3000, 4000, 9000]), [0, 0, 0], "{answers} {count}");
        }
        let calls = answering(50, begin);
        let _open = open(&calls, 20, begin);
        for second in 1..9 {
            let now = begin + Duration::from_secs(second);
            open(&calls, 1, now).pop().unwrap().answered(Some(Duration::from_millis(100)), now);
            assert_eq!(looks(&calls, begin, [1000 * second + 400, 1000 * second + 800]), [0, 0]);
        }
        // Calls of a scenario that take their time are late when they take three times as long.
        let long = CallOrigin { scenario: "long", ..ORIGIN };
        let calls = answering(50, begin);
        for _ in 0..50 {
            calls.open("stock", long, begin).unwrap().answered(Some(Duration::from_secs(4)), begin);
        }
        let _open: Vec<_> = (0..9).map(|_| calls.open("stock", long, begin).unwrap()).collect();
        assert_eq!(looks(&calls, begin, [5000, 11_000, 11_250, 13_000, 13_250]), [0, 0, 0, 0, 9]);
    }

    #[test]
    fn dsp_16_a_call_for_which_its_worker_has_no_room_does_not_hang() {
        let begin = Instant::now();
        let calls = answering(50, begin);
        let waiting = open(&calls, 6, begin);
        waiting.iter().for_each(|call| call.is_there_since(None));
        assert_eq!(looks(&calls, begin, [3000, 4000, 5000]), [0, 0, 0]);
        waiting.iter().for_each(|call| call.is_there_since(Some(begin + Duration::from_secs(5))));
        assert_eq!(looks(&calls, begin, [7000, 7600, 7850]), [0, 0, 6]);
    }

    #[test]
    fn dsp_16_quick_errors_do_not_make_a_slow_system_hang() {
        let begin = Instant::now();
        let calls = OpenCalls::default();
        for _ in 0..50 {
            calls.open("stock", ORIGIN, begin).unwrap().answered(Some(Duration::from_secs(2)), begin);
        }
        for _ in 0..5000 {
            calls.open("stock", ORIGIN, begin).unwrap().answered(None, begin);
        }
        let _open = open(&calls, 9, begin);
        assert_eq!(looks(&calls, begin, [3000, 5000, 5500]), [0, 0, 0]);
        assert_eq!(looks(&calls, begin, [7000, 7250]), [0, 9]);
    }
}
