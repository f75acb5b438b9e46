//! `each`: the same actions for every element of a list, several elements at once (SCN-17).
//!
//! In each round every element at work comes as far as it can without the world; what they then call is called at
//! once. One whose failure is worth a repeat is set aside, so that the others come as far as they can before the order
//! rests; where nobody gets through, it rests at once. Elements share nothing that they could change.

mod answers;
mod element;
mod list;

use std::time::Duration;

use pagurus_domain::classes::EACH_TOO_LONG;
use pagurus_domain::order::OrderError;
use pagurus_domain::retry;
use serde_json::{Value, json};

use super::failing::Failing as _;
use super::snapshot::{EachProgress, ElementEnd, ElementProgress, FailedElement};
use super::{Answer, Need, Pending, StageRun, StageTurn, error_value};
use crate::script::RunError;
use crate::{Action, EachAction, Folded};
use element::ToWorld;

/// Actions of a state before its requests are numbered by element: numbers below are those of its other actions.
const ACTIONS: usize = 4096;

/// Request of an `each` to the world.
#[derive(Debug)]
pub(super) enum EachRequest {
    /// The request of this element.
    Registration(usize),
    /// Calls of elements, each with its URL.
    Calls(Vec<(usize, String)>),
    /// The message of this element.
    Publication(usize),
    /// The child order of this element.
    Order(usize),
}

impl EachRequest {
    /// True if this answers it.
    pub const fn takes(&self, answer: &Answer) -> bool {
        matches!(
            (self, answer),
            (Self::Registration(_), Answer::Registered(_))
                | (Self::Calls(_), Answer::Parallel(_))
                | (Self::Publication(_), Answer::Published | Answer::Unpublished(_) | Answer::Forbidden(_))
                | (Self::Order(_), Answer::OrderStarted | Answer::OrderRefused(_))
        )
    }
}

/// Outcome of a round.
enum EachRound {
    /// The world is asked.
    Asks(EachRequest, Need),
    /// No element can go on: those set aside are repeated, or all are over.
    Rests,
    /// An element ends all of them.
    Fails(EachFailure),
}

/// The failure that ends an `each`, its element, and the answer that this saw last.
struct EachFailure {
    index: usize,
    error: OrderError,
    last: Option<Folded>,
}

/// Point to which an element came without the world.
enum ElementPoint {
    /// The element is over, or set aside.
    Over,
    /// The world is next.
    AtWorld,
}

/// A failure of an element.
struct ElementFault {
    error: OrderError,
    /// `None` if it is never repeated; else the time for which the called system asks to be left alone.
    repeat: Option<Option<Duration>>,
    /// True if a script refused an answer, so that the call before it is made again.
    by_script: bool,
}

impl ElementFault {
    const fn for_good(error: OrderError) -> Self {
        Self { error, repeat: None, by_script: false }
    }
}

impl StageRun {
    /// Carries the elements on.
    pub(super) fn go_through(&mut self, each: &EachAction, turn: &StageTurn<'_>) -> Option<Need> {
        if let Err(error) = self.begin_each(each, turn) {
            self.fail(error, turn);
            return None;
        }
        // The answers of the elements are their own.
        let own = self.context.response.take();
        let round = self.round(each, turn);
        (self.context.response, self.context.element) = (own, None);
        match round {
            EachRound::Asks(asked, need) => {
                self.pending = Pending::Each(asked);
                return Some(need);
            }
            EachRound::Rests => self.end_pass(each, turn),
            EachRound::Fails(ended) => self.fail_each(each, ended, turn),
        }
        None
    }

    fn begin_each(&mut self, each: &EachAction, turn: &StageTurn<'_>) -> Result<(), OrderError> {
        let at = (self.cursor.visit.number, self.cursor.frame().action);
        if self.cursor.frame().each.as_ref().is_some_and(|each| each.at == at && !each.again) {
            return Ok(());
        }
        let list = each
            .list
            .render(&self.context, &turn.settings.scripting)
            .map_err(|error| error.into_error(self, turn))?;
        let Value::Array(list) = list else {
            return Err(RunError::new("`in` of an `each` is a list, and this is none").into_error(self, turn));
        };
        let most = turn.settings.bounds.max_each;
        if list.len() > most || at.1 >= ACTIONS {
            let message = format!("the list has {} elements, `scenario.max_each` allows {most}", list.len());
            return Err(OrderError::new(EACH_TOO_LONG, message));
        }
        let numbers = self.number_elements(each, at, &list, turn)?;
        self.begin_round(each, &numbers, turn);
        let frame = self.cursor.frame_mut();
        let former = frame.each.take().filter(|former| former.at == at).map(|former| *former);
        frame.each = Some(Box::new(EachProgress::of(at, list, numbers, former)));
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

    fn round(&mut self, each: &EachAction, turn: &StageTurn<'_>) -> EachRound {
        loop {
            let mut changed = false;
            for index in self.at_work(each) {
                match self.come_far(each, index, turn) {
                    Ok(ElementPoint::AtWorld) => {}
                    Ok(ElementPoint::Over) => changed = true,
                    Err(ended) => return EachRound::Fails(ended),
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
                    Ok(ToWorld::Alone(asked, need)) => return EachRound::Asks(asked, *need),
                    Err(fault) => match self.element_fails(each, index, fault, turn) {
                        // It is another element's turn.
                        None => changed = true,
                        Some(ended) => return EachRound::Fails(ended),
                    },
                }
            }
            if changed {
                continue;
            }
            if calls.is_empty() {
                return EachRound::Rests;
            }
            let asked = calls.iter().map(|(index, call)| (*index, call.url.clone())).collect();
            let calls = calls.into_iter().map(|(_, call)| call).collect();
            return EachRound::Asks(EachRequest::Calls(asked), Need::Parallel(calls));
        }
    }

    /// Ends a pass in which all came as far as possible: what was set aside is repeated, or all is over.
    fn end_pass(&mut self, each: &EachAction, turn: &StageTurn<'_>) {
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

    /// Ends the repeat if all that it was for has gone through.
    fn end_cycle_of_each(&mut self) {
        let frame = self.cursor.frame();
        if frame.each.as_ref().is_some_and(|each| each.is_even()) {
            self.cursor.come_to(self.cursor.visit.number, frame.action + 1);
        }
    }

    /// Sets the variables when all elements are over.
    fn settle_each(&mut self, each: &EachAction, turn: &StageTurn<'_>) {
        let vars = self.context.vars.clone();
        let called = !self.elements().is_empty()
            && each.actions.iter().any(|action| matches!(action, Action::Http(_)));
        let failed = self.cursor.frame().each.as_ref().and_then(|each| each.without_failed());
        self.set_lists(each);
        if let Err(error) = self.check_vars(turn) {
            self.context.vars = vars;
            return self.fail(error, turn);
        }
        if called {
            self.note_answered(turn);
            self.cursor.frame_mut().answered.iter_mut().for_each(|call| call.each.clone_from(&failed));
        }
        self.cursor.advance();
    }

    /// Fails the action. The answers of the elements so far are saved all the same, null where there is none, so that
    /// they can be undone.
    fn fail_each(
        &mut self,
        each: &EachAction,
        EachFailure { index, error, last }: EachFailure,
        turn: &StageTurn<'_>,
    ) {
        self.end_elements_that_went_through(each, turn);
        let mut point = self.failure_point(turn);
        let failed = point.as_mut().and_then(|point| point.element_mut(index));
        failed.into_iter().for_each(|element| element.back_to_call(each));
        self.set_lists_so_far(each, turn);
        self.context.response = last;
        self.fail_at(point, error, turn);
    }

    /// Ends the elements that have nothing left to ask: the failure of another one came first.
    fn end_elements_that_went_through(&mut self, each: &EachAction, turn: &StageTurn<'_>) {
        let own = self.context.response.take();
        let is_through = |element: &ElementProgress| element.is_open() && element.next >= each.actions.len();
        for index in 0..self.elements().len() {
            if self.elements().get(index).is_some_and(is_through) {
                // Its `save` fails again when the others have gone through.
                self.end_element(each, index, turn).unwrap_or_default();
            }
        }
        (self.context.response, self.context.element) = (own, None);
    }

    /// Sets the variables from what the elements have by now, if they have room for it.
    pub(super) fn set_lists_so_far(&mut self, each: &EachAction, turn: &StageTurn<'_>) {
        for index in 0..self.elements().len() {
            self.save_as_far(each, index, turn);
        }
        self.context.element = None;
        let vars = self.context.vars.clone();
        self.set_lists(each);
        if self.check_vars(turn).is_err() {
            self.context.vars = vars;
        }
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

    /// Number of the element that an action is rendered for, with the place of that action.
    pub(super) fn place_in_each(&self) -> Option<(usize, usize)> {
        let index = self.context.element.as_ref()?.index;
        let element = self.cursor.frame().each.as_ref()?.elements.get(index)?;
        Some((self.number(index), element.next))
    }
}
