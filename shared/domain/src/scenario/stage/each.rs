//! `each`: the same actions for every element of a list, so many elements at once (SCN-17).
//!
//! In each round every element at work comes as far as it can without the world; what they then call is called at
//! once. One whose failure is worth a repeat is set aside, so that the others come as far as they can before the order
//! rests; where nobody gets through, it rests at once. Elements share nothing that they could change.

use std::time::Duration;

use serde_json::{Value, json};

use super::super::script::{Raised, RunError, Script};
use super::super::source::each::MOST_ACTIONS;
use super::super::value::Element;
use super::super::{Action, EachAction, Folded};
use super::failing::Failing as _;
use super::need::{ChildOrder, HttpCall, HttpFailure, Publication, Response};
use super::perform::{asked_by_amqp, request_value};
use super::response::{Failed, asked_by_http, response_value};
use super::snapshot::{AnsweredCall, EachProgress, ElementEnd, ElementProgress, FailedElement};
use super::task::ORDER_REFUSED;
use super::{Answer, Need, Pending, Run, Turn, error_value};
use crate::id::RequestId;
use crate::order::OrderError;
use crate::retry::{self, Verdict};

/// Error class of a list that is too long.
pub const EACH_TOO_LONG: &str = "scenario.each";

/// Actions of a state before its requests are numbered by element: numbers below are those of its other actions.
const ACTIONS: usize = 4096;

/// What an `each` asks the world for.
#[derive(Debug)]
pub(super) enum Asked {
    /// The request of this element.
    Registration(usize),
    /// Calls of elements, each with its URL.
    Calls(Vec<(usize, String)>),
    /// The message of this element.
    Publication(usize),
    /// The child order of this element.
    Order(usize),
}

impl Asked {
    /// True if this answers it.
    pub const fn takes(&self, answer: &Answer) -> bool {
        matches!(
            (self, answer),
            (Self::Registration(_), Answer::Registered(_))
                | (Self::Calls(_), Answer::Parallel(_))
                | (Self::Publication(_), Answer::Published | Answer::Unpublished(_))
                | (Self::Order(_), Answer::OrderStarted | Answer::OrderRefused(_))
        )
    }
}

/// What follows a round.
enum Round {
    /// The world is asked.
    Asks(Asked, Need),
    /// Nobody can go on: what was set aside is repeated, or all is over.
    Rests,
    /// An element ends all of them.
    Fails(Ended),
}

/// The failure that ends an `each`, and the answer that its element saw last.
struct Ended {
    error: OrderError,
    last: Option<Folded>,
}

/// How far an element came without the world.
enum Came {
    /// It is over, or set aside.
    Over,
    /// The world is next.
    AtWorld,
}

/// A failure of an element.
struct ElementFault {
    error: OrderError,
    /// None where it is never repeated; else how long the called system asks to be left alone.
    repeat: Option<Option<Duration>>,
    /// True if a script refused an answer, so that the call before it is made again.
    by_script: bool,
}

impl ElementFault {
    const fn for_good(error: OrderError) -> Self {
        Self { error, repeat: None, by_script: false }
    }
}

impl Run {
    /// Carries the elements on.
    pub(super) fn go_through(&mut self, each: &EachAction, turn: &Turn<'_>) -> Option<Need> {
        if let Err(error) = self.begin_each(each, turn) {
            self.fail(error, turn);
            return None;
        }
        // The answers of the elements are their own.
        let own = self.context.response.take();
        let round = self.round(each, turn);
        (self.context.response, self.context.element) = (own, None);
        match round {
            Round::Asks(asked, need) => {
                self.pending = Pending::Each(asked);
                return Some(need);
            }
            Round::Rests => self.end_pass(each, turn),
            Round::Fails(ended) => self.fail_each(each, ended, turn),
        }
        None
    }

    fn begin_each(&mut self, each: &EachAction, turn: &Turn<'_>) -> Result<(), OrderError> {
        let at = (self.cursor.visit.number, self.cursor.frame().action);
        if self.cursor.frame().each.as_ref().is_some_and(|each| each.at == at) {
            return Ok(());
        }
        let list = each.list.render(&self.context, &turn.settings.scripting).map_err(|error| error.told(self, turn))?;
        let Value::Array(list) = list else {
            return Err(RunError::new("`in` of an `each` is a list, and this is none").told(self, turn));
        };
        let most = turn.settings.bounds.max_each;
        if list.len() > most || at.1 >= ACTIONS {
            let message = format!("the list has {} elements, `scenario.max_each` allows {most}", list.len());
            return Err(OrderError::new(EACH_TOO_LONG, message));
        }
        self.cursor.frame_mut().each = Some(Box::new(EachProgress::of(at, list)));
        Ok(())
    }

    fn elements(&mut self) -> &mut [ElementProgress] {
        self.cursor.frame_mut().each.as_mut().map_or(&mut [], |each| &mut each.elements)
    }

    fn element(&mut self, index: usize) -> Option<&mut ElementProgress> {
        self.elements().get_mut(index)
    }

    /// The elements that are at work.
    fn at_work(&mut self, each: &EachAction) -> Vec<usize> {
        let elements = self.elements().iter().enumerate();
        elements.filter(|(_, element)| element.is_open()).map(|(at, _)| at).take(each.at_once).collect()
    }

    fn round(&mut self, each: &EachAction, turn: &Turn<'_>) -> Round {
        loop {
            let mut changed = false;
            for index in self.at_work(each) {
                match self.come_far(each, index, turn) {
                    Ok(Came::AtWorld) => {}
                    Ok(Came::Over) => changed = true,
                    Err(ended) => return Round::Fails(ended),
                }
            }
            self.end_cycle_of_each();
            if changed {
                continue;
            }
            let mut calls = Vec::new();
            for index in self.at_work(each) {
                match self.ask(each, index, turn) {
                    Ok(ToWorld::Call(call)) => calls.push((index, *call)),
                    Ok(ToWorld::Alone(asked, need)) => return Round::Asks(asked, need),
                    Err(fault) => match self.element_fails(each, index, fault, turn) {
                        // It is another element's turn.
                        None => changed = true,
                        Some(ended) => return Round::Fails(ended),
                    },
                }
            }
            if changed {
                continue;
            }
            if calls.is_empty() {
                return Round::Rests;
            }
            let asked = calls.iter().map(|(index, call)| (*index, call.url.clone())).collect();
            let calls = calls.into_iter().map(|(_, call)| call).collect();
            return Round::Asks(Asked::Calls(asked), Need::Parallel(calls));
        }
    }

    /// Shows the actions their element, with its answer.
    fn show(&mut self, each: &EachAction, index: usize) {
        let Some(element) = self.element(index) else { return };
        let value = element.value.as_ref().map_or(Value::Null, |value| value.value().clone());
        let last = element.last.clone();
        self.context.element = Some(Element { name: each.name.clone(), value, index });
        self.context.response = last;
    }

    /// Runs the scripts of an element up to what it asks the world for, or to its end.
    fn come_far(&mut self, each: &EachAction, index: usize, turn: &Turn<'_>) -> Result<Came, Ended> {
        loop {
            let Some(next) = self.element(index).map(|element| element.next) else { return Ok(Came::Over) };
            let outcome = match each.actions.get(next) {
                None => self.end_element(each, index, turn).map(|()| true),
                Some(Action::Script(script)) => self.run_for_element(each, script, index, turn),
                Some(action) => {
                    let request = action.request().map(|name| name_of(name, index));
                    if !request.is_some_and(|name| self.is_answered(&name, turn)) {
                        return Ok(Came::AtWorld);
                    }
                    // Its answer was good: only what failed is sent again.
                    self.element(index).into_iter().for_each(ElementProgress::advance);
                    Ok(false)
                }
            };
            match outcome {
                Ok(false) => {}
                Ok(true) => return Ok(Came::Over),
                Err(fault) => return self.element_fails(each, index, fault, turn).map_or(Ok(Came::Over), Err),
            }
        }
    }

    /// All actions of the element have gone through.
    fn end_element(&mut self, each: &EachAction, index: usize, turn: &Turn<'_>) -> Result<(), ElementFault> {
        self.show(each, index);
        let mut values = Vec::with_capacity(each.save.len());
        for (name, template) in &each.save {
            let value = template.render(&self.context, &turn.settings.scripting).map_err(|error| {
                let message = format!("save `{name}`: {}", error.message);
                ElementFault::for_good(RunError { message, ..error }.told(self, turn))
            })?;
            values.push(Folded::from(value).folded());
        }
        if let Some(element) = self.element(index) {
            element.over(ElementEnd::Done(values));
        }
        let most = turn.settings.bounds.max_vars_bytes;
        let bytes: usize = self.elements().iter().map(ElementProgress::bytes_of_end).sum();
        if bytes > most {
            let message = format!("what the elements have for `save` has more than {most} bytes");
            return Err(ElementFault::for_good(OrderError::new("scenario.vars", message)));
        }
        Ok(())
    }

    /// True if the element is over.
    fn run_for_element(
        &mut self,
        each: &EachAction,
        script: &Script,
        index: usize,
        turn: &Turn<'_>,
    ) -> Result<bool, ElementFault> {
        self.show(each, index);
        let vars = script.may_name("vars").then(|| self.context.vars.clone());
        let said = turn.settings.scripting.run(script, &mut self.context);
        let said = said.map_err(|error| ElementFault::for_good(error.told(self, turn)))?;
        said.log.into_iter().for_each(|line| self.end.log(turn.now, line));
        self.cursor.hear(said.result, said.message, said.answer);
        if let Some(vars) = vars.filter(|vars| *vars != self.context.vars) {
            self.context.vars = vars;
            let error = RunError::new("a script inside `each` sets no variables; change the element instead");
            return Err(ElementFault::for_good(error.told(self, turn)));
        }
        let value = self.context.element.take().map(|element| element.value).filter(|value| !value.is_null());
        let Some(element) = self.element(index) else { return Ok(true) };
        element.value = value.map(Folded::from);
        match said.raised {
            None => {
                element.advance();
                Ok(false)
            }
            Some(Raised::Success) => {
                element.next = each.actions.len();
                element.advance();
                Ok(false)
            }
            Some(Raised::Fail { message, class }) => {
                let message = message.unwrap_or_else(|| "the scenario said so".into());
                let system = self.cursor.visit.called.clone();
                let error = OrderError { class, message, system, status: None };
                Err(ElementFault { error, repeat: Some(None), by_script: true })
            }
            Some(Raised::Poll | Raised::Event(_)) => {
                let message = "a script inside `each` does not move the order";
                Err(ElementFault::for_good(OrderError::new("scenario.incomplete", message)))
            }
        }
    }

    /// What the element asks the world for next.
    fn ask(&mut self, each: &EachAction, index: usize, turn: &Turn<'_>) -> Result<ToWorld, ElementFault> {
        let element = self.element(index).map(|element| (element.next, element.request));
        let Some((next, request)) = element else { return Err(ElementFault::for_good(no_action())) };
        let Some(action) = each.actions.get(next) else { return Err(ElementFault::for_good(no_action())) };
        if let (Some(name), None) = (action.request(), request) {
            let need = Need::Register {
                name: name_of(name, index),
                visit: self.cursor.visit.number,
                action: number_of(self.cursor.frame().action, index, next),
                task: None,
            };
            return Ok(ToWorld::Alone(Asked::Registration(index), need));
        }
        self.show(each, index);
        let rendered = self.render_for_element(action, index, request, turn);
        (self.context.request, self.context.element) = (None, None);
        rendered.map_err(|error| ElementFault::for_good(error.told(self, turn)))
    }

    fn render_for_element(
        &mut self,
        action: &Action,
        index: usize,
        request: Option<RequestId>,
        turn: &Turn<'_>,
    ) -> Result<ToWorld, RunError> {
        self.context.request = request.map(|id| request_value(id, turn));
        match action {
            Action::Http(http) => {
                self.conceal_secrets(&http.secrets, turn);
                let call = self.render_http(http, turn)?;
                let asked = asked_by_http(http, &call.url);
                self.note_asked(asked, request, turn);
                Ok(ToWorld::Call(Box::new(call)))
            }
            Action::Amqp(amqp) => {
                self.conceal_secrets(&amqp.secrets, turn);
                let message = self.render_amqp(amqp, turn)?;
                self.note_asked(asked_by_amqp(&message, turn), request, turn);
                let need = Need::Publish(Publication { request, ..message });
                Ok(ToWorld::Alone(Asked::Publication(index), need))
            }
            Action::Order(order) => {
                let registration = self.render_order(order, turn)?;
                let need = Need::Order(ChildOrder { registration, request });
                Ok(ToWorld::Alone(Asked::Order(index), need))
            }
            other => Err(RunError::new(format!("`{}` has no place inside `each`", other.word()))),
        }
    }

    /// Takes what the world answered.
    pub(super) fn take_each(&mut self, asked: Asked, answer: Answer, turn: &Turn<'_>) {
        let Some(Action::Each(each)) = self.present(turn) else { return };
        let fault = match (asked, answer) {
            (Asked::Registration(index), Answer::Registered(id)) => {
                let name = self.element(index).and_then(|element| each.actions.get(element.next)?.request());
                self.note_request(name_of(name.unwrap_or_default(), index), id, turn);
                self.element(index).into_iter().for_each(|element| element.request = Some(id));
                return;
            }
            (Asked::Calls(made), Answer::Parallel(outcomes)) => {
                return self.take_calls_of_each(each, &made, &outcomes, turn);
            }
            (Asked::Publication(index), Answer::Unpublished(message)) => {
                let error = OrderError::new("amqp.unroutable", message);
                (index, error.about(self.cursor.visit.called.clone()))
            }
            (Asked::Order(index), Answer::OrderRefused(message)) => {
                (index, OrderError::new(ORDER_REFUSED, message))
            }
            (Asked::Publication(index) | Asked::Order(index), _) => {
                self.note_sent_of(index, turn);
                return self.element(index).into_iter().for_each(ElementProgress::advance);
            }
            (Asked::Registration(_) | Asked::Calls(_), _) => return,
        };
        let (index, error) = fault;
        if let Some(ended) = self.element_fails(each, index, ElementFault::for_good(error), turn) {
            self.fail_each(each, ended, turn);
        }
    }

    fn take_calls_of_each(
        &mut self,
        each: &EachAction,
        made: &[(usize, String)],
        outcomes: &[Result<Response, HttpFailure>],
        turn: &Turn<'_>,
    ) {
        let (mut through, mut ended) = (0, None);
        for ((index, url), outcome) in made.iter().zip(outcomes) {
            let next = self.element(*index).map_or(usize::MAX, |element| element.next);
            let Some(Action::Http(http)) = each.actions.get(next) else { continue };
            let judged = self.judge(http, url, outcome.as_ref(), turn);
            self.sample_judged(&asked_by_http(http, url), &judged, turn);
            match judged {
                Ok(response) => {
                    through += 1;
                    self.note_sent_of(*index, turn);
                    let is_judged =
                        each.actions[next + 1..].iter().any(|action| matches!(action, Action::Script(_)));
                    let Some(element) = self.element(*index) else { continue };
                    let before = element.last.replace(response_value(response).folded());
                    element.answered =
                        is_judged.then_some(AnsweredCall { action: next, before, hand_out: 0 });
                    element.advance();
                }
                Err(Failed { error, retry_after }) => {
                    let fault = ElementFault { error, repeat: Some(retry_after), by_script: false };
                    if let Some(failure) = self.element_fails(each, *index, fault, turn) {
                        let last = outcome.as_ref().ok().map(|response| response_value(response).folded());
                        ended.get_or_insert(Ended { last, ..failure });
                    }
                }
            }
        }
        match ended {
            Some(ended) => self.fail_each(each, ended, turn),
            // Nobody got through: to call for all the others, too, would help no one.
            None if through == 0 && self.elements().iter().any(|element| element.failed.is_some()) => {
                self.end_pass(each, turn);
            }
            None => {}
        }
    }

    /// The request of the element, if it has one, has gone out.
    fn note_sent_of(&mut self, index: usize, turn: &Turn<'_>) {
        if let Some(id) = self.element(index).and_then(|element| element.request) {
            self.note_sent_request(id, turn);
        }
    }

    /// Sets the element aside to be repeated, or keeps its failure; else the end of all.
    fn element_fails(
        &mut self,
        each: &EachAction,
        index: usize,
        fault: ElementFault,
        turn: &Turn<'_>,
    ) -> Option<Ended> {
        let ElementFault { error, repeat, by_script } = fault;
        let error = OrderError { message: format!("element {index}: {}", error.message), ..error };
        if let Some(retry_after) = repeat
            && matches!(self.verdict(&error, retry_after, turn), Verdict::RetryAt { .. })
        {
            self.end.log(turn.now, format!("{}; to be repeated", error.message));
            let retry_after_ms = retry_after.and_then(|after| u64::try_from(after.as_millis()).ok());
            let element = self.element(index)?;
            element.repeated = Some(element.next);
            element.failed = Some(FailedElement { error, retry_after_ms });
            if by_script && let Some(call) = element.answered.take() {
                (element.next, element.last) = (call.action, call.before);
            }
            return None;
        }
        self.give_element_up(each, index, error.storable(), turn)
    }

    /// The failure has no repeat left: it is kept beside the others, or ends them all.
    fn give_element_up(
        &mut self,
        each: &EachAction,
        index: usize,
        error: OrderError,
        turn: &Turn<'_>,
    ) -> Option<Ended> {
        // What was not sent will not be answered.
        let request = each.actions.iter().find_map(Action::request).map(|name| name_of(name, index));
        let element = self.element(index)?;
        let is_open = element.request.is_some();
        let last = element.last.clone();
        if is_open {
            self.cursor.requests.retain(|open| Some(&open.name) != request.as_ref());
        }
        if !each.collects {
            return Some(Ended { error, last });
        }
        let class = error.class.as_deref().unwrap_or("unclassified");
        self.end.log(turn.now, format!("kept ({class}): {}", error.message));
        self.element(index)?.over(ElementEnd::Failed(error));
        None
    }

    /// Everyone has come as far as possible: what was set aside is repeated, or all is over.
    fn end_pass(&mut self, each: &EachAction, turn: &Turn<'_>) {
        loop {
            let aside: Vec<(usize, FailedElement)> = self
                .elements()
                .iter()
                .enumerate()
                .filter_map(|(index, element)| Some((index, element.failed.clone()?)))
                .collect();
            let verdicts = aside.iter().map(|(_, failed)| {
                self.verdict(&failed.error, failed.retry_after_ms.map(Duration::from_millis), turn)
            });
            match retry::together(verdicts.collect()) {
                None if self.elements().iter().all(|element| element.end.is_some()) => {
                    return self.settle_each(each, turn);
                }
                // The last of those that were set aside is kept as it failed: the others go on.
                None => return,
                Some(Ok((place, at, cycle))) => {
                    for element in self.elements() {
                        element.failed = None;
                    }
                    return self.rest_until_retry(at, cycle, &aside[place].1.error, turn);
                }
                Some(Err(place)) => {
                    let (index, failed) = &aside[place];
                    if let Some(ended) = self.give_element_up(each, *index, failed.error.clone(), turn) {
                        return self.fail_each(each, ended, turn);
                    }
                }
            }
        }
    }

    /// The repeat is over when all that it was for has gone through.
    fn end_cycle_of_each(&mut self) {
        let frame = self.cursor.frame_mut();
        if frame.each.as_ref().is_some_and(|each| each.is_even()) && frame.retry.take().is_some() {
            self.cursor.sum_up_retries();
        }
    }

    /// All elements are over: the variables are set.
    fn settle_each(&mut self, each: &EachAction, turn: &Turn<'_>) {
        let vars = self.context.vars.clone();
        self.set_lists(each);
        if let Err(error) = self.check_vars(turn) {
            self.context.vars = vars;
            return self.fail(error, turn);
        }
        self.cursor.advance();
    }

    /// What went through is saved all the same, with null in the place of the others, so that it can be undone.
    fn fail_each(&mut self, each: &EachAction, Ended { error, last }: Ended, turn: &Turn<'_>) {
        let through = |element: &ElementProgress| element.end.is_none() && element.next == each.actions.len();
        for index in 0..self.elements().len() {
            if self.element(index).is_some_and(|element| through(element)) {
                // One that cannot be saved is no more to be seen than one that did not go through.
                let _ = self.end_element(each, index, turn);
            }
        }
        self.context.element = None;
        let vars = self.context.vars.clone();
        self.set_lists(each);
        if self.check_vars(turn).is_err() {
            self.context.vars = vars;
        }
        self.context.response = last;
        self.fail(error, turn);
    }

    fn set_lists(&mut self, each: &EachAction) {
        let progress = self.cursor.frame_mut().each.take();
        let elements = progress.map_or_else(Vec::new, |progress| progress.elements);
        for (place, (name, _)) in each.save.iter().enumerate() {
            let values = elements.iter().map(|element| match &element.end {
                Some(ElementEnd::Done(values)) => values.get(place).map(|value| value.value().clone()),
                Some(ElementEnd::Failed(error)) => Some(json!({"error": error_value(error)})),
                None => None,
            });
            let list: Vec<Value> = values.map(Option::unwrap_or_default).collect();
            self.context.vars.insert(name.clone(), list.into());
        }
    }

    /// The element that an action is rendered for, with the place of that action.
    pub(super) fn place_in_each(&self) -> Option<(usize, usize)> {
        let index = self.context.element.as_ref()?.index;
        let element = self.cursor.frame().each.as_ref()?.elements.get(index)?;
        Some((index, element.next))
    }
}

/// What an element asks for.
enum ToWorld {
    /// A call, which is made together with those of others.
    Call(Box<HttpCall>),
    /// What is asked for alone.
    Alone(Asked, Need),
}

/// The name of an element's request: no scenario can name one like this.
fn name_of(request: &str, index: usize) -> String {
    format!("{request}.{index}")
}

/// A number for an action of an element that no other action of the state has.
fn number_of(action: usize, index: usize, next: usize) -> u32 {
    let number = action + ACTIONS * (1 + index * MOST_ACTIONS + next);
    u32::try_from(number).unwrap_or(u32::MAX)
}

/// Never reached: elements without a next action are over.
fn no_action() -> OrderError {
    OrderError::new(crate::order::PANIC, "a defect of the engine left an element without its action")
}
