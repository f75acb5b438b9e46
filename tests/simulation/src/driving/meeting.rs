//! Needs of a stage, and the answers of the world: requests are stored, calls are made, positions are saved.

use pagurus_domain::invariants::traffic::ObservedCall;
use pagurus_domain::order::registration::Request;
use pagurus_scenario::stage::{Answer, ChildOrder, Happened, HttpCall, HttpFailure, Need, Response};
use uuid::Uuid;

use super::Driven;
use crate::core::{Core, Millis, Trouble, millis, stamp};
use crate::effects::Effects;
use crate::message::Input;
use crate::outside::{DEADLY, World, new_order};
use crate::plan::{CALL_TIMEOUT, WORK};
use crate::planted::Planted;
use crate::store::{Finished, Registered};

/// Outcome of a need.
pub(super) enum Met {
    Answered(Answer),
    Asked,
    Ended(Box<Finished>),
    Stale,
    Dead,
    Trouble(Box<Need>),
}

impl Driven {
    pub(super) fn meet(&mut self, core: &mut Core, world: &mut World, need: Need) -> Met {
        let (no, pass) = (self.claimed.no, self.claimed.pass);
        let answered = |done: Result<Option<Answer>, Trouble>, need: Need| match done {
            Ok(Some(answer)) => Met::Answered(answer),
            Ok(None) => Met::Stale,
            Err(Trouble::Died) => Met::Dead,
            Err(_) => Met::Trouble(Box::new(need)),
        };
        match need {
            Need::Register { ref name, visit, action, .. } => {
                let life = self.claimed.order.life;
                let done = core.call("request", |tables| {
                    tables.register_request((no, pass), life, (visit, action), name)
                });
                answered(done.map(|id| id.map(Answer::Registered)), need)
            }
            Need::Release => {
                let queue = self.claimed.queue.clone();
                let done = core.call("release", |tables| tables.give_queue_up(no, pass));
                if done == Ok(true) {
                    let mut effects = Effects::default();
                    effects.news.left.push((no, None, queue));
                    effects.send(core);
                }
                answered(done.map(|ours| ours.then_some(Answer::Released)), need)
            }
            Need::Save(reached) => {
                self.until = core.now + millis(WORK);
                let advance = self.of_reached(&reached);
                let done = core.call("save", |tables| tables.advance(std::slice::from_ref(&advance))[0]);
                if done == Ok(true) {
                    self.saved_moves += u32::try_from(reached.transitions.len()).unwrap_or(0);
                    core.tables.witness.saw("a stage saved how far it has come");
                }
                answered(done.map(|ours| ours.then_some(Answer::Saved)), Need::Save(reached))
            }
            Need::Done(end) => Met::Ended(Box::new(self.of_end(*end))),
            Need::Http(call) => {
                let answer = |mut answers: Vec<Result<Response, HttpFailure>>| {
                    answers.pop().map_or(Answer::Saved, |one| match one {
                        Ok(response) => Answer::Response(response),
                        Err(failure) => Answer::Failed(failure),
                    })
                };
                let asked = self.ask(core, world, std::slice::from_ref(&call), answer);
                asked.unwrap_or_else(|| Met::Trouble(Box::new(Need::Http(call))))
            }
            Need::Parallel(calls) => {
                let asked = self.ask(core, world, &calls, Answer::Parallel);
                asked.unwrap_or_else(|| Met::Trouble(Box::new(Need::Parallel(calls))))
            }
            Need::Publish(message) => {
                if let Some(request) = message.request {
                    world.published(core, request.0, &message);
                }
                self.asks(core, 3, Answer::Published)
            }
            Need::Order(child) => self.start_child(core, child),
            Need::Task(_) => Met::Answered(Answer::Unpublished("none here".to_owned())),
        }
    }

    /// Registers a child; the same again is no second one.
    fn start_child(&mut self, core: &mut Core, mut child: ChildOrder) -> Met {
        if core.has(Planted::ChildIdOfHandOut) {
            let id =
                format!("{}.{}", child.registration["id"].as_str().unwrap_or_default(), self.claimed.attempt);
            child.registration["id"] = id.into();
        }
        let order = match Request::read(child.registration.clone()) {
            Ok(request) => new_order(request, child.request, None),
            Err(faults) => return Met::Answered(Answer::OrderRefused(format!("{faults:?}"))),
        };
        let (id, digest) = (order.request.id.clone(), order.request.digest.to_vec());
        core.children.entry(id.clone()).or_default().push(digest.clone());
        let parent = self.claimed.no;
        match core.call("register child", |tables| tables.register_child(parent, &order)) {
            Ok(Registered::Conflict(_)) => {
                Met::Answered(Answer::OrderRefused("another order has the id".to_owned()))
            }
            Ok(Registered::Behind) => {
                core.tables.witness.saw("a child was refused that would stand behind its parent");
                Met::Answered(Answer::OrderRefused("it would stand behind its parent".to_owned()))
            }
            Ok(became) => {
                core.note(format_args!("order {parent} starts {id}: {became:?}"));
                core.confirmed_children.insert(id, digest);
                if let Registered::Accepted { ready, .. } = became {
                    core.tables.witness.saw("an order started another");
                    Effects::of_ready(ready.into_iter().collect()).send(core);
                } else {
                    core.tables.witness.saw("a child was started again, and was there");
                }
                Met::Answered(Answer::OrderStarted)
            }
            Err(Trouble::Died) => Met::Dead,
            Err(_) => Met::Trouble(Box::new(Need::Order(child))),
        }
    }

    /// Keeps its own time-out in mind, and makes calls; `None` where the store gave no answer.
    fn ask(
        &mut self,
        core: &mut Core,
        world: &mut World,
        calls: &[HttpCall],
        answer: impl FnOnce(Vec<Result<Response, HttpFailure>>) -> Answer,
    ) -> Option<Met> {
        if core.faulty && core.chance.happens(10_000) {
            let wait = core.chance.between(500, 4_000);
            core.tables.witness.saw("a call was held back");
            let until = stamp(core.now + wait);
            return Some(Met::Answered(Answer::Held { until, system: "called".into() }));
        }
        let wanted = core.now + millis(WORK).max(millis(CALL_TIMEOUT) + 30_000);
        if self.until + millis(WORK) / 4 < wanted {
            let advance = Finished { until: stamp(wanted), ..self.finished() };
            match core.call("prolong", |tables| tables.advance(std::slice::from_ref(&advance))[0]) {
                Ok(true) => self.until = wanted,
                Ok(false) => return Some(Met::Stale),
                Err(Trouble::Died) => return Some(Met::Dead),
                Err(_) => return None,
            }
        }
        if self.claimed.order.params["n"] == DEADLY {
            core.note(format_args!("order {} kills its worker", self.claimed.no));
            core.died = true;
            return Some(Met::Dead);
        }
        let mut answers = Vec::with_capacity(calls.len());
        let mut takes = 1;
        for call in calls {
            self.observe(core, call);
            let (answer, after) = world.http(core, (self.claimed.order.retries, self.poll), call);
            takes = takes.max(after);
            answers.push(answer);
        }
        let answer = answer(answers);
        Some(self.asks(core, takes, answer))
    }

    fn asks(&mut self, core: &mut Core, takes: Millis, answer: Answer) -> Met {
        self.question = core.question();
        let key = (self.claimed.no, self.claimed.attempt);
        core.later(takes, Input::GoOn(key, self.question, Box::new(answer)));
        Met::Asked
    }

    /// A called system notes what it was asked.
    fn observe(&self, core: &mut Core, call: &HttpCall) {
        let moves = self.stage.as_ref().map_or(0, |stage| {
            let moved = |one: &Happened<'_>| matches!(one, Happened::Moved(_));
            stage.happened().filter(moved).count()
        });
        let visit = self.visit + self.saved_moves + u32::try_from(moves).unwrap_or(0);
        // An attempt of a polling is an action of its own, but only in the visit that the stage began in.
        let poll = if visit == self.visit { self.poll } else { 1 };
        let key = if core.has(Planted::KeyOfHandOut) {
            Uuid::new_v5(&call.idempotency_key, &self.claimed.attempt.0.to_be_bytes())
        } else {
            call.idempotency_key
        };
        let observed = ObservedCall {
            no: self.claimed.no,
            life: self.claimed.order.life,
            action: format!("{visit}/{poll} {}", call.url),
            attempt: self.claimed.attempt.0,
            key,
            at: core.stamp(),
        };
        core.note(format_args!("order {}.{} calls {}", observed.no, observed.attempt, observed.action));
        core.calls.push(observed);
    }
}
