//! A stage: the interpreter, and the only place where it meets the world.

mod meeting;

use jiff::Timestamp;
use pagurus_domain::activation::AgeGroups;
use pagurus_domain::classes::{DEADLINE_EXCEEDED, INCONSISTENT, SCENARIO_UNREADABLE};
use pagurus_domain::folded::Folded;
use pagurus_domain::order::stage::Then;
use pagurus_domain::order::{OrderError, ScenarioStatus, Status};
use pagurus_scenario::stage::{
    Answer, Callback, Facts, Input as StageInput, Need, Reached, Snapshot, Stage, StageEnd,
};
use serde_json::json;

use crate::core::{Core, Millis, Trouble, millis, stamp};
use crate::effects::Effects;
use crate::message::Input;
use crate::outside::World;
use crate::plan::WORK;
use crate::scenarios::Library;
use crate::store::{CallbackContent, Claimed, Finished, is_suspended};
use meeting::Met;

/// Rest after trouble with the store.
const AGAIN: Millis = 250;

/// Activity of a stage.
#[derive(Debug)]
enum Doing {
    /// Nothing was begun.
    Nothing,
    /// Reads its callbacks.
    Reading,
    /// Needs this.
    Needs(Need),
    /// The world is asked.
    Asks,
    /// Writes its end.
    Ends(Box<Finished>),
}

/// A stage with a worker.
#[derive(Debug)]
pub struct Driven {
    claimed: Claimed,
    stage: Option<Stage>,
    doing: Doing,
    begun: Millis,
    question: u32,
    /// Visit at its begin, and transitions that were saved on the way.
    visit: u32,
    saved_moves: u32,
    poll: u32,
    until: Millis,
}

impl Driven {
    /// A stage that was just claimed.
    #[must_use]
    pub fn new(claimed: Claimed, now: Millis) -> Self {
        Self {
            claimed,
            stage: None,
            doing: Doing::Nothing,
            begun: now,
            question: 0,
            visit: 1,
            saved_moves: 0,
            poll: 1,
            until: now + millis(WORK),
        }
    }

    /// True if the answer to this question is awaited.
    #[must_use]
    pub const fn waits_for(&self, question: u32) -> bool {
        self.question == question && matches!(self.doing, Doing::Asks)
    }

    /// Times of orders come from the database's clock, carried on by the worker's own.
    fn now(&self, core: &Core) -> Timestamp {
        let began = self.claimed.now;
        began.checked_add(jiff::SignedDuration::from_millis(core.now - self.begun)).unwrap_or(Timestamp::MAX)
    }

    /// Begins the stage; false where it is over.
    pub fn begin(&mut self, core: &mut Core, world: &mut World, library: &Library) -> bool {
        let claimed = &self.claimed;
        let waits = matches!(claimed.order.status, Status::New | Status::Postponed | Status::Reopen);
        let is_late = claimed.order.start_deadline.is_some_and(|deadline| deadline < claimed.now);
        if waits && claimed.order.started_at.is_none() && claimed.restarts == 0 && is_late {
            self.fails(OrderError::new(DEADLINE_EXCEEDED, "too late"));
        } else {
            self.doing = Doing::Reading;
        }
        self.go_on(core, world, library)
    }

    /// The world has answered.
    pub fn answer(&mut self, core: &mut Core, world: &mut World, library: &Library, answer: Answer) -> bool {
        let (now, dice) = (self.now(core), core.chance.part());
        let Some(stage) = &mut self.stage else { return false };
        self.doing = Doing::Needs(stage.answer(answer, now, dice));
        self.go_on(core, world, library)
    }

    /// Goes on until the world is asked, or the store gives no answer; false where the stage is over.
    pub fn go_on(&mut self, core: &mut Core, world: &mut World, library: &Library) -> bool {
        loop {
            let key = (self.claimed.no, self.claimed.attempt);
            let again = |core: &mut Core| {
                core.later(AGAIN, Input::Again(key));
                true
            };
            match std::mem::replace(&mut self.doing, Doing::Asks) {
                Doing::Nothing | Doing::Asks => return true,
                Doing::Reading => match self.read(core, library) {
                    Ok(()) => {}
                    Err(Trouble::Died) => return false,
                    Err(_) => {
                        self.doing = Doing::Reading;
                        return again(core);
                    }
                },
                Doing::Ends(end) => match write(core, &end) {
                    Ok(_) => return false,
                    Err(Trouble::Died) => return false,
                    Err(_) => {
                        self.doing = Doing::Ends(end);
                        return again(core);
                    }
                },
                Doing::Needs(need) => match self.meet(core, world, need) {
                    Met::Answered(answer) => {
                        let (now, dice) = (self.now(core), core.chance.part());
                        let Some(stage) = &mut self.stage else { return false };
                        self.doing = Doing::Needs(stage.answer(answer, now, dice));
                    }
                    Met::Asked => return true,
                    Met::Ended(end) => {
                        // The end is written with others, a moment later, unless those are under way.
                        self.doing = Doing::Ends(end);
                        if core.chance.happens(700_000) {
                            core.later(2, Input::Again(key));
                            return true;
                        }
                    }
                    Met::Stale => {
                        core.tables.witness.saw("a stale pass was refused");
                        core.note(format_args!("{}.{} is somebody else's", key.0, key.1));
                        return false;
                    }
                    Met::Dead => return false,
                    Met::Trouble(need) => {
                        self.doing = Doing::Needs(*need);
                        return again(core);
                    }
                },
            }
        }
    }

    /// Reads what the stage needs, and takes it up where it rests.
    fn read(&mut self, core: &mut Core, library: &Library) -> Result<(), Trouble> {
        let no = self.claimed.no;
        let has_snapshot = self.claimed.snapshot.is_some();
        let results =
            if has_snapshot { core.call("results", |tables| tables.results(no))? } else { Vec::new() };
        let callbacks: Vec<Callback> = results.into_iter().map(callback).collect();
        let snapshot = match self.claimed.snapshot.as_deref().map(Snapshot::from_text) {
            Some(Ok(snapshot)) => snapshot,
            None if !is_suspended(self.claimed.order.status) => Snapshot::default(),
            _ => {
                self.fails(OrderError::new(INCONSISTENT, "the stored position is missing"));
                return Ok(());
            }
        };
        self.visit = snapshot.visit.number.max(1);
        self.poll = snapshot.visit.poll.as_ref().map_or(1, |poll| poll.attempt.max(1));
        let order = &self.claimed.order;
        let facts = Facts {
            id: order.id.clone(),
            transaction_id: None,
            labels: Default::default(),
            life: order.life.0,
            mode: order.mode,
            queue: order.queue.clone(),
            holds_queue: self.claimed.queue.is_some(),
            attempt: self.claimed.attempt.0,
            created_at: order.created_at,
        };
        let now = self.now(core);
        let input = StageInput {
            params: Folded::from((*order.params).clone()),
            callbacks,
            calls: Vec::new(),
            snapshot,
            wake: self.claimed.wake,
            due_at: self.claimed.since,
            dice: core.chance.part(),
        };
        match Stage::resume(library.scenario(order.scenario), library.settings(), facts, input, now) {
            Ok(mut stage) => {
                self.doing = Doing::Needs(stage.next(now));
                self.stage = Some(stage);
            }
            Err(error) => self.fails(OrderError::new(SCENARIO_UNREADABLE, error.to_string())),
        }
        Ok(())
    }

    fn fails(&mut self, error: OrderError) {
        let end = Finished {
            then: Some(Then::failed(error)),
            scenario_status: ScenarioStatus::Failed,
            snapshot: self.claimed.snapshot.clone(),
            had_snapshot: false,
            ..self.finished()
        };
        self.doing = Doing::Ends(Box::new(end));
    }

    /// An end without any content.
    fn finished(&self) -> Finished {
        let claimed = &self.claimed;
        Finished {
            no: claimed.no,
            pass: claimed.pass,
            life: claimed.order.life,
            attempt: claimed.attempt,
            wake: claimed.wake,
            then: None,
            scenario_status: ScenarioStatus::OnTarget,
            step: None,
            entry_point: None,
            visited: 0,
            started_at: claimed.now,
            result: None,
            snapshot: None,
            had_snapshot: claimed.snapshot.is_some(),
            queue: claimed.queue.clone(),
            released: false,
            moves: Vec::new(),
            until: stamp(self.until),
        }
    }

    fn of_end(&self, end: StageEnd) -> Finished {
        let visited = end.snapshot.visited();
        let result = end.snapshot.result.as_ref().map(ToString::to_string);
        let kept = end.snapshot.kept_behind(&end.then);
        Finished {
            then: Some(end.then),
            scenario_status: end.scenario_status,
            step: Some(end.step),
            entry_point: end.entry_point,
            visited,
            result,
            snapshot: kept.map(|snapshot| snapshot.to_text()),
            had_snapshot: self.claimed.snapshot.is_some() || end.saved,
            released: end.released,
            moves: end.transitions,
            ..self.finished()
        }
    }

    fn of_reached(&self, reached: &Reached) -> Finished {
        Finished {
            scenario_status: reached.scenario_status,
            step: Some(reached.step.clone()),
            visited: reached.snapshot.visited(),
            snapshot: Some(reached.snapshot.to_text()),
            moves: reached.transitions.clone(),
            ..self.finished()
        }
    }
}

/// The callback as a stage gets it.
fn callback((name, content): (String, CallbackContent)) -> Callback {
    let CallbackContent { step_status, class } = content;
    Callback {
        name,
        // That of a child tells how it ended.
        value: json!({"stepStatus": step_status, "body": {"status": step_status, "error": {"class": class}}})
            .into(),
        received_at: None,
        body: String::new(),
        step_status: Some(step_status.to_owned()),
    }
}

/// Writes the end of a stage; returns if it was still the caller's.
fn write(core: &mut Core, end: &Finished) -> Result<bool, Trouble> {
    let groups = AgeGroups::default();
    let (applied, ready) = core.call("finish", |tables| tables.finish(std::slice::from_ref(end), &groups))?;
    let applied = applied.first() == Some(&true);
    let status = end.then.as_ref().map(Then::status);
    core.note(format_args!("order {}.{} ends {status:?}, written: {applied}", end.no, end.attempt));
    if !applied {
        core.tables.witness.saw("the end of a stage came too late");
        return Ok(false);
    }
    let mut effects = Effects::of_ready(ready);
    effects.news.requests = std::mem::take(&mut core.tables.moves);
    let left = end.queue.clone().filter(|_| end.leaves_queue());
    effects.news.ended.push((end.no, end.attempt, left));
    if status.is_some_and(Status::is_final) {
        effects.ended.push((end.no, end.life));
    }
    effects.send(core);
    Ok(true)
}
