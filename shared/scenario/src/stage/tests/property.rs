//! Property for any small scenario and any answers: the interpreter takes the way of the naive walk, and a crash
//! at any point changes neither the way nor the end nor any key.

use std::collections::BTreeMap;

use proptest::prelude::*;

use super::model::{MAX_MOVES, MAX_STAGES, Made, Seen, Walk, World, scenarios, text};
use super::*;

/// Result of a run, and the keys of its calls.
#[derive(Debug, Default)]
struct Run {
    seen: Seen,
    keys: BTreeMap<(u32, usize), Uuid>,
}

struct Runner<'a> {
    play: Play,
    settings: Arc<StageSettings>,
    world: &'a World,
    /// Times of crashes: one number for each question of the run, over and over.
    crashes: &'a [u8],
    asked: usize,
    crashes_left: u32,
    run: Run,
}

impl Runner<'_> {
    /// Runs until the end, or until the play is left.
    fn run(mut self) -> Run {
        let mut snapshot = Snapshot::default();
        let (mut wake, mut due, mut now) = (Wake::Start, START.parse().unwrap(), START.parse().unwrap());
        for stage in 0..MAX_STAGES {
            let mut end = None;
            while end.is_none() {
                // A crash takes its time; the order stays due as it was.
                now = later(now, Duration::from_secs(1));
                end = self.stage(&snapshot, wake, due, now, stage);
            }
            let end = end.unwrap();
            let moves =
                end.transitions.iter().map(|t| (t.from.clone(), t.event.parse().unwrap(), t.to.clone()));
            self.run.seen.path.extend(moves);
            snapshot = Snapshot::from_value(&end.snapshot.to_value()).unwrap();
            assert_eq!(snapshot, end.snapshot);
            self.run.seen.notes =
                snapshot.vars.get("notes").map_or("", |notes| notes.as_str().unwrap()).into();
            (wake, due) = match end.then {
                Then::Sleep { until } | Then::Hold { until } => (Wake::Timer, until),
                Then::Retry { at, .. } => (Wake::Retry, at),
                Then::Poll { at } => (Wake::Poll, at),
                Then::Wait { .. } if self.world.calls_back(snapshot.visit.number, stage + 1) => {
                    (Wake::Callback, now)
                }
                Then::Wait { until, .. } => (Wake::Timer, until),
                Then::End { status, error, .. } => {
                    let class = error.and_then(|error| error.class).unwrap_or_default();
                    self.run.seen.end = match (status, class.as_str()) {
                        (Status::Success, _) => "done".into(),
                        (_, "scenario.loop") => "loop".into(),
                        _ => "failed".into(),
                    };
                    return self.run;
                }
            };
            now = due;
        }
        self.run.seen.end = "open".into();
        self.run
    }

    /// The end of the stage; none if it crashed.
    fn stage(
        &mut self,
        from: &Snapshot,
        wake: Wake,
        due: Timestamp,
        now: Timestamp,
        number: usize,
    ) -> Option<StageEnd> {
        let (scenario, settings) = (self.play.scenario.clone(), self.settings.clone());
        let (facts, params) = (self.play.facts.clone(), self.play.params.clone());
        let input = input(&params, &serde_json::Map::new(), from.clone(), wake, due);
        let mut stage = Stage::resume(scenario, settings, facts, input, now).unwrap();
        let mut need = stage.next(now);
        loop {
            let crash = self.crash();
            if crash == Some(Crash::BeforeCall) {
                return None;
            }
            let (visit, action) = (stage.run.cursor.visit.number, stage.run.cursor.main.action);
            let answer = match need {
                Need::Done(end) => return crash.is_none().then_some(*end),
                Need::Register { visit, action, .. } => {
                    let id = u128::from(visit) << 32 | u128::from(action);
                    Answer::Registered(RequestId(Uuid::from_u128(id)))
                }
                Need::Http(call) => {
                    self.note(visit, action, call.idempotency_key, call.body.as_ref());
                    self.http(visit, action, number)
                }
                Need::Publish(message) => {
                    self.note(visit, action, message.message_id, None);
                    said(if self.world.takes(visit, action, number) { "published" } else { "unroutable" })
                }
                other => panic!("no action of the model needs {other:?}"),
            };
            if crash == Some(Crash::BeforeAnswer) {
                return None;
            }
            need = stage.answer(answer, now, 0.5);
        }
    }

    fn http(&self, visit: u32, action: usize, stage: usize) -> Answer {
        match self.world.status(visit, action, stage) {
            0 => said("down"),
            200 => said(&format!("200 {{\"n\": {}}}", World::number(visit, action))),
            status => said(&format!("{status} {{\"n\": -1}}")),
        }
    }

    fn note(&mut self, visit: u32, action: usize, key: Uuid, body: Option<&HttpBody>) {
        let known = *self.run.keys.entry((visit, action)).or_insert(key);
        assert_eq!(known, key, "one key for visit {visit}, action {action}");
        let body = body.map(|body| {
            let numbers: [i64; 2] = serde_json::from_slice(&body.bytes).unwrap();
            assert_eq!(numbers[0], numbers[1]);
            numbers[0]
        });
        self.run.seen.calls.push(Made { visit, action, body });
    }

    fn crash(&mut self) -> Option<Crash> {
        let die = *self.crashes.get(self.asked % self.crashes.len().max(1))?;
        self.asked += 1;
        let crash = match die {
            0..64 => Crash::BeforeCall,
            64..128 => Crash::BeforeAnswer,
            _ => return None,
        };
        self.crashes_left = self.crashes_left.checked_sub(1)?;
        Some(crash)
    }
}

#[derive(Clone, Copy, PartialEq)]
enum Crash {
    BeforeCall,
    BeforeAnswer,
}

fn run(text: &str, world: &World, crashes: &[u8]) -> Run {
    let limits = "initial_interval: 8s, multiplier: 1, max_interval: 8s, jitter: 0, ";
    let errors = ERRORS.replace(&format!("{limits}max_duration: 20s"), &format!("{limits}max_attempts: 2"));
    let mut play = Play::whole(text).errors(&errors).set(|settings| {
        settings.scripting =
            Scripting::new(script::Limits { max_operations: 300, ..script::Limits::default() });
        settings.bounds.max_transitions_per_stage = MAX_MOVES;
    });
    let none = Play::of("  a: {on: {success: done}}\n  done: {kind: terminal}\n").settings;
    let settings = Arc::new(std::mem::replace(&mut play.settings, none));
    Runner { play, settings, world, crashes, asked: 0, crashes_left: 30, run: Run::default() }.run()
}

/// Each call once, in the order of its first time.
fn distinct(calls: &[Made]) -> Vec<Made> {
    let mut out: Vec<Made> = Vec::new();
    for call in calls {
        if !out.contains(call) {
            out.push(call.clone());
        }
    }
    out
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]

    #[test]
    fn scn_4_the_way_is_that_of_the_naive_walk(
        states in scenarios(),
        dice in prop::collection::vec(any::<u8>(), 1..40),
    ) {
        let (text, world) = (text(&states), World { dice });
        let run = run(&text, &world, &[]);
        prop_assert_eq!(run.seen, Walk::of(&states, &world), "{}", text);
    }

    #[test]
    fn scn_14_a_crash_at_any_point_changes_neither_the_end_nor_a_key(
        states in scenarios(),
        dice in prop::collection::vec(any::<u8>(), 1..40),
        crashes in prop::collection::vec(any::<u8>(), 1..30),
    ) {
        let (text, world) = (text(&states), World { dice });
        let (smooth, bumpy) = (run(&text, &world, &[]), run(&text, &world, &crashes));
        prop_assert_eq!(distinct(&smooth.seen.calls), distinct(&bumpy.seen.calls), "{}", text);
        prop_assert_eq!(&smooth.keys, &bumpy.keys);
        let unlike = Seen { calls: smooth.seen.calls.clone(), ..bumpy.seen };
        prop_assert_eq!(smooth.seen, unlike);
    }
}
