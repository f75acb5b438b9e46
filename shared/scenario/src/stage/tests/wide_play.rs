//! Plays the interpreter through a small scenario of the whole language, in a world that answers, calls, and kills workers.

mod said;
mod store;

use std::collections::BTreeMap;

use pagurus_domain::retry::sample::{SampleTimes, sample_rules};

use super::model::MAX_MOVES;
use super::wide::{CALLS, CHILD, Came, Life, MAX_RESTS, Made, OF_CHILD, Seen, World, sequential, text};
use super::*;
use said::{Form, envelope, fault};
use store::Requests;

const TIMES: SampleTimes =
    SampleTimes { longest: "100d", busy: ("10s", "1m", 0.0), down: "8s", refused: "30s", late: ("60s", 2) };

/// A key belongs to one request of one attempt of one visit.
pub type Keys = BTreeMap<(u32, usize, u32), Uuid>;

/// An operator repairs the order.
pub struct Repair {
    /// The rest in which it is.
    pub rest: usize,
    /// The state from which it goes on.
    pub state: String,
    /// Variables from there on; without any the order keeps its own.
    pub vars: Option<serde_json::Map<String, Value>>,
}

/// A scenario that is to be played, and what happens to its order.
pub struct Trial<'a> {
    pub text: String,
    /// The operations that it runs.
    pub operations: Vec<String>,
    pub world: &'a World,
    /// Position in which the order begins.
    pub begin: Snapshot,
    pub repair: Option<Repair>,
    /// Seconds for which a sequential order may hold its queue in retries; `None` for a parallel order.
    pub longest: Option<i64>,
    /// Deaths of workers: one number for each question of the stage, over and over.
    pub crashes: &'a [u8],
    /// True if the stage is held instead, where it asks the world.
    pub holds: bool,
    /// Names of the requests of which answers of the life before are kept.
    pub kept: &'a [String],
}

/// Outcome of a run.
pub struct Ran {
    pub seen: Seen,
    pub keys: Keys,
    /// The position at its end, or where it was left.
    pub last: Snapshot,
    /// Names of the requests that were answered.
    pub answered: Vec<String>,
}

struct Runner<'a> {
    play: Play,
    settings: Arc<StageSettings>,
    world: &'a World,
    crashes: &'a [u8],
    asked: usize,
    crashes_left: u32,
    /// True if the stage is held instead, where it asks the world.
    holds: bool,
    seen: Seen,
    keys: Keys,
    /// Number of times that each request was made in stages that were written.
    tries: BTreeMap<(u32, usize), usize>,
    requests: Requests,
    /// Position at which the next worker goes on if this one dies in the middle of the stage.
    saved: Option<Snapshot>,
    waiting: Vec<Call>,
    called: usize,
    repair: Option<Repair>,
}

impl Runner<'_> {
    #[allow(clippy::too_many_lines, reason = "one loop, an arm for each way a stage can end")]
    fn run(mut self, mut snapshot: Snapshot) -> Ran {
        let mut wake = Wake::Start;
        let (mut due, mut now): (Timestamp, Timestamp) = (START.parse().unwrap(), START.parse().unwrap());
        let (mut rests, mut stages) = (0, 0);
        // The rest of the order itself, while calls are handled.
        let mut resting: Option<Then> = None;
        loop {
            stages += 1;
            assert!(stages < 1000, "the play does not end");
            let end = loop {
                // A crash takes its time; the order stays due as it was.
                now = later(now, Duration::from_secs(1));
                if let Some(end) = self.stage(&snapshot, wake, due, now) {
                    break end;
                }
                if let Some(saved) = self.saved.take() {
                    (snapshot, wake) = (saved, Wake::Start);
                }
            };
            self.saved = None;
            snapshot = Snapshot::from_value(&end.snapshot.to_value()).unwrap();
            assert_eq!(snapshot, end.snapshot);
            self.written(&end.transitions, &end.answers);
            self.requests.finish(&end);
            let handled = resting.is_some();
            let held = matches!(end.then, Then::Hold { .. });
            if snapshot.handling.is_none() && !held && !matches!(end.then, Then::End { .. }) {
                if let Some(before) = &resting {
                    assert_eq!(before, &end.then, "the rest goes on as it was");
                    assert!(self.waiting.is_empty(), "a call was passed over: {:?}", self.waiting);
                } else {
                    rests += 1;
                    if rests >= MAX_RESTS {
                        self.seen.end = "open".into();
                        break;
                    }
                    for _ in 0..self.world.calls(rests) {
                        let no = i64::try_from(self.called).unwrap();
                        self.waiting.push(Call {
                            no,
                            name: "ping".into(),
                            body: json!(CALLS + self.called).into(),
                        });
                        self.called += 1;
                    }
                    if !self.waiting.is_empty() {
                        resting = Some(end.then.clone());
                        wake = Wake::Call;
                        due = now;
                        continue;
                    }
                }
                resting = None;
                if let Some(Repair { state, vars, .. }) = self.repair.take_if(|repair| repair.rest == rests) {
                    let vars = vars.unwrap_or_else(|| snapshot.vars.clone());
                    snapshot = snapshot.repaired_at(&state, vars, self.play.scenario.kind);
                    self.requests.give_up();
                    (wake, due) = (Wake::Start, now);
                    continue;
                }
            }
            (wake, due) = match end.then {
                Then::Sleep { until } => (Wake::Timer, until),
                Then::Retry { at, .. } => (Wake::Retry, at),
                Then::Poll { at } => (Wake::Poll, at),
                Then::Hold { until } => (Wake::Timer, until),
                Then::Wait { until, ref requests } => {
                    let came = |id: &RequestId| {
                        let (number, visit) = self.requests.place(*id);
                        self.world.came(visit, number)
                    };
                    let is_answered = requests.iter().all(|id| came(id) != Came::Nothing);
                    self.requests.end_wait(self.world);
                    if is_answered { (Wake::Callback, now) } else { (Wake::Timer, until) }
                }
                Then::End { status, error, .. } => {
                    assert!(!handled, "a call does not end the order");
                    let class = error.and_then(|error| error.class).unwrap_or_default();
                    self.seen.end = match (status, class.as_str()) {
                        (Status::Success, _) => "done".into(),
                        (_, "scenario.loop") => "loop".into(),
                        _ => "failed".into(),
                    };
                    break;
                }
            };
            now = now.max(due);
        }
        let answered = self.requests.answered();
        self.seen.given_up = self.requests.made();
        Ran { seen: self.seen, keys: self.keys, last: snapshot, answered }
    }

    /// Counts what a stage did, when its end or its position is written.
    fn written(&mut self, transitions: &[Transition], answers: &[CallAnswer]) {
        self.seen.path.extend(transitions.iter().map(|t| format!("{} {} {}", t.from, t.event, t.to)));
        for answer in answers {
            let reply = answer.outcome.as_ref().ok().map(|value| value.as_i64().unwrap());
            self.seen.answers.push(reply);
            let before = self.waiting.len();
            self.waiting.retain(|call| call.no != answer.no);
            assert_eq!(self.waiting.len() + 1, before, "each call is answered once");
        }
    }

    fn stage(&mut self, from: &Snapshot, wake: Wake, due: Timestamp, now: Timestamp) -> Option<StageEnd> {
        let mut input = input(&self.play.params, &serde_json::Map::new(), from.clone(), wake, due);
        input.callbacks = self.requests.callbacks(self.world);
        input.calls.clone_from(&self.waiting);
        let (scenario, facts) = (self.play.scenario.clone(), self.play.facts.clone());
        let mut stage = Stage::resume(scenario, self.settings.clone(), facts, input, now).unwrap();
        let (mut tries, mut latest) = (self.tries.clone(), self.requests.latest.clone());
        let mut need = stage.next(now);
        loop {
            let asks = matches!(need, Need::Http(_) | Need::Parallel(_));
            let crash = if asks || !self.holds { self.crash() } else { None };
            if self.holds && crash.is_some() {
                let until = later(now, Duration::from_secs(1));
                need = stage.answer(Answer::Held { until, system: "billing".into() }, now, 0.5);
                continue;
            }
            if crash == Some(true) {
                return None;
            }
            let visit = stage.run.cursor.visit.number;
            let attempt = stage.run.cursor.visit.poll.as_ref().map_or(0, |polling| polling.attempt);
            let answer = match need {
                Need::Done(end) => {
                    if crash.is_some() {
                        return None;
                    }
                    (self.tries, self.requests.latest) = (tries, latest);
                    return Some(*end);
                }
                Need::Save(reached) => {
                    self.written(&reached.transitions, &reached.answers);
                    let snapshot = Snapshot::from_value(&reached.snapshot.to_value()).unwrap();
                    assert_eq!(snapshot, reached.snapshot);
                    self.saved = Some(snapshot);
                    (self.tries, self.requests.latest) = (tries.clone(), latest.clone());
                    Answer::Saved
                }
                Need::Register { name, visit, action, cancel, .. } => {
                    let id = self.requests.register((&name, visit, action), cancel);
                    latest.insert(name, self.requests.place(id));
                    Answer::Registered(id)
                }
                Need::Release => {
                    // It is done at once, however the stage ends.
                    self.seen.released += 1;
                    self.play.facts.holds_queue = false;
                    Answer::Released
                }
                Need::Order(child) => self.child(&child.registration, visit),
                Need::Http(call) => match self.http(&call, visit, attempt, &mut tries) {
                    Ok(response) => Answer::Response(response),
                    Err(failure) => Answer::Failed(failure),
                },
                Need::Parallel(calls) => {
                    Answer::Parallel(calls.iter().map(|call| self.http(call, visit, 0, &mut tries)).collect())
                }
                other => panic!("no action of the model needs {other:?}"),
            };
            if crash.is_some() {
                return None;
            }
            need = stage.answer(answer, now, 0.5);
        }
    }

    /// Starts a child, once for a visit, however often it is asked for.
    fn child(&mut self, registration: &Value, visit: u32) -> Answer {
        let slot = CHILD + usize::try_from(registration["params"]["number"].as_u64().unwrap_or(0)).unwrap();
        let id = Uuid::new_v5(&Uuid::NAMESPACE_OID, registration["id"].as_str().unwrap().as_bytes());
        let known = *self.keys.entry((visit, slot, 0)).or_insert(id);
        assert_eq!(known, id, "one child for visit {visit}");
        self.seen.calls.push(Made { visit, slot, body: registration["params"]["n"].as_i64() });
        match self.world.takes_child(visit) {
            true => Answer::OrderStarted,
            false => Answer::OrderRefused("nobody knows its scenario".into()),
        }
    }

    fn http(
        &mut self,
        call: &HttpCall,
        visit: u32,
        attempt: u32,
        tries: &mut BTreeMap<(u32, usize), usize>,
    ) -> Result<Response, HttpFailure> {
        let slot: usize = call.url.rsplit('/').next().unwrap().parse().unwrap();
        let attempt = if slot < CALLS { attempt } else { 0 };
        let known = *self.keys.entry((visit, slot, attempt)).or_insert(call.idempotency_key);
        assert_eq!(
            known, call.idempotency_key,
            "one key for visit {visit}, request {slot}, attempt {attempt}"
        );
        let form = Form::of(call);
        self.seen.calls.push(Made { visit, slot, body: form.said(call) });
        let tries = tries.entry((visit, slot)).or_default();
        *tries += 1;
        match self.world.status(visit, slot, *tries) {
            0 => Err(HttpFailure { chain: vec!["ConnectError"], message: "refused".into() }),
            status => {
                let number = self.world.number(visit, slot, *tries, attempt > 0);
                Ok(form.answer(status, number))
            }
        }
    }

    /// True to crash: before the question is answered, or after.
    fn crash(&mut self) -> Option<bool> {
        let die = *self.crashes.get(self.asked % self.crashes.len().max(1))?;
        self.asked += 1;
        if die >= 128 {
            return None;
        }
        self.crashes_left = self.crashes_left.checked_sub(1)?;
        Some(die < 64)
    }
}

/// Plays a life of the small language.
pub fn run(life: &Life<'_>, crashes: &[u8], holds: bool) -> (Seen, Keys) {
    let Ran { seen, keys, .. } = whole(life, crashes, holds);
    (seen, keys)
}

/// The same, with what the life leaves.
pub fn whole(life: &Life<'_>, crashes: &[u8], holds: bool) -> Ran {
    let begin = life.begin.map_or_else(Snapshot::default, |state| {
        Snapshot::entering(&format!("s{state}"), serde_json::Map::new())
    });
    let repair = life.repair.map(|(rest, state)| Repair { rest, state: format!("s{state}"), vars: None });
    let (text, world) = (text(life.states), life.world);
    trial(Trial {
        text,
        operations: Vec::new(),
        world,
        begin,
        repair,
        longest: life.longest,
        crashes,
        holds,
        kept: life.kept,
    })
}

pub fn trial(trial: Trial<'_>) -> Ran {
    let Trial { text, operations, world, begin, repair, longest, crashes, holds, kept } = trial;
    let text = if longest.is_some() { sequential(&text) } else { text };
    let operations: Vec<&str> = operations.iter().map(String::as_str).collect();
    let mut play = Play::with_operations(&text, &operations).errors(&sample_rules(&TIMES)).set(|settings| {
        settings.bounds.max_transitions_per_stage = MAX_MOVES;
    });
    if let Some(longest) = longest {
        play = play.sequential().set(|settings| {
            settings.max_acquisition_duration = Duration::from_secs(longest.unsigned_abs());
        });
        let queue = play.scenario.queue.as_ref().map(|queue| queue.queue(&play.params).unwrap());
        assert_eq!(queue.as_deref(), Some("q-7"));
        play.facts.queue = queue;
    }
    let none = Play::of("  a: {on: {success: done}}\n  done: {kind: terminal}\n").settings;
    let settings = Arc::new(std::mem::replace(&mut play.settings, none));
    let runner = Runner {
        play,
        settings,
        world,
        crashes,
        asked: 0,
        crashes_left: 40,
        holds,
        seen: Seen::default(),
        keys: Keys::new(),
        tries: BTreeMap::new(),
        requests: Requests::keeping(kept),
        saved: None,
        waiting: Vec::new(),
        called: 0,
        repair,
    };
    runner.run(begin)
}

pub fn distinct(calls: &[Made]) -> Vec<Made> {
    let mut out: Vec<Made> = Vec::new();
    for call in calls {
        if !out.contains(call) {
            out.push(call.clone());
        }
    }
    out
}
